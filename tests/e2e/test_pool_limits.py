# SPDX-License-Identifier: MIT
"""Tests when a pool makes its members: what it waits for, and what ends it."""

import contextlib
import datetime
import fcntl
import json
import os
import re
import signal
import subprocess
from pathlib import Path

from conftest import pid_lines, wait_until
from pools import FULL, LATER, NOW, create_refused, marks, pool_of, wait_full


def filler_log(host, base="web-v1"):
    return (host.state / "pool" / base / "filler.log").read_text()


def kept_by_nobody(host, base, size=1, **kw):
    """A pool that is set, and whose filler is gone before it has made anything."""
    host("pool", "set", "--base", base, "--size", size, "--network", "isolated", check=0, env=LATER, **kw)
    lock = host.state / "pool" / f"{base}-v1" / "filler.lock"
    wait_until(lock.read_text, "the filler's name")
    os.kill(int(lock.read_text().split()[0]), signal.SIGKILL)  # it waits, and is there
    wait_filler_ended(host, base)


def wait_filler_ended(host, base):
    wait_until(lambda: not any(p["filling"] for p in host.json("pool", "status")["pools"] if p["base"] == f"{base}-v1"),
               "the filler's end")


def first_words(host):
    """Returns the time of a filler's first line."""
    return datetime.datetime.fromisoformat(filler_log(host).split()[0].replace("Z", "+00:00")).timestamp()


def detail(host):
    return pool_of(host).get("detail", "")


def test_a_pool_waits_for_room(host):
    host("base", "create", "web", check=0)
    kept_by_nobody(host, "web")
    assert (detail(host), pool_of(host)["reason"]) == ("no process fills it", "pool-unattended")
    assert "no process fills it: `microagent session gc` starts the process of the pool again" in host("pool", "status", check=0).stdout
    for limit, value, text in (("POOL_FREE_MIB", "100000000", "MiB of memory are available, and the next session needs"),
                               ("POOL_MEMBERS_PER_CPU", "0", "which is the most for"),
                               ("POOL_FREE_DISK_MIB", "1000000000", "of disk are free where the state directory is")):
        less = {f"MICROAGENT_TEST_LIMIT_{limit}": value}
        child = host.popen("pool", "fill", "--base", "web-v1", env={**NOW, **less})
        # The output of an earlier filler is still there.
        wait_until(lambda: any("waiting for room" in line and text in line for line in filler_log(host).splitlines()), "the filler's word")
        told = host.json("pool", "status", env=less)["pools"][0]
        assert told["filling"] and told["detail"].startswith("waits for room: ") and text in told["detail"]
        assert text in host("pool", "status", env=less, check=0).stdout
        assert os.sched_getscheduler(child.pid) & ~os.SCHED_RESET_ON_FORK == os.SCHED_IDLE
        assert subprocess.run(["ionice", "-p", str(child.pid)], capture_output=True, text=True, check=True).stdout == "idle\n"
        child.kill()
        child.communicate()
        (host.state / "pool" / "web-v1" / "filler.log").write_text("")
    assert host.json("session", "list") == {"sessions": []}
    # A member that cannot be started is tried three times, and the failure is reported.
    assert host("pool", "fill", "--base", "web-v1", env={**NOW, **FULL}).returncode == 75
    assert filler_log(host).count("a member could not be made: no space left where the state directory is") == 3
    assert detail(host).startswith("given up: no space left where the state") and pool_of(host)["reason"] == "pool-given-up"
    assert ": `microagent session gc` tries again" in host("pool", "status", check=0).stdout
    assert host.json("session", "list") == {"sessions": []} and not marks(host)
    host("pool", "drain", "--base", "web", check=0)
    host("base", "delete", "web-v1", check=0)


def test_nothing_is_made_within_two_seconds_of_a_claim(host):
    """A claim on any pool counts; the times come from the filler's log and from the claims."""
    for base in ("web", "other"):
        host("base", "create", base, check=0)
        kept_by_nobody(host, base)
    # A claim finds no member and starts the filler, which starts nothing for now.
    assert create_refused(host, "web", FULL)
    wait_until(lambda: host.json("pool", "status")["pools"][1]["filling"], "the filler")
    assert create_refused(host, "other", {**FULL, **LATER})
    last = (host.state / "pool" / "other-v1" / "claimed").stat().st_mtime
    wait_until(lambda: "could not be made" in filler_log(host), "its first member")
    assert first_words(host) - last >= 2.0, (filler_log(host), last)
    # A filler that begins only now starts none either.
    wait_filler_ended(host, "web")
    (host.state / "pool" / "web-v1" / "filler.log").unlink()
    assert create_refused(host, "other", {**FULL, **LATER})
    last = (host.state / "pool" / "other-v1" / "claimed").stat().st_mtime
    assert host("pool", "fill", "--base", "web-v1", env=FULL).returncode == 75
    assert first_words(host) - last >= 2.0, (filler_log(host), last)
    host("pool", "drain", check=0)
    for base in ("web", "other"):
        host("base", "delete", f"{base}-v1", check=0)


def test_one_member_is_made_at_a_time(host):
    """The fillers of all pools look at the room together, so no two use the same room."""
    host("base", "create", "web", check=0)
    kept_by_nobody(host, "web")
    turn = os.open(host.state / "pool", os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    child = host.popen("pool", "fill", "--base", "web-v1", env={**NOW, **FULL})
    wait_until(lambda: re.search(rf"-> FLOCK .* {child.pid} ", Path("/proc/locks").read_text()), "it to wait for its turn")
    assert filler_log(host) == "" and not marks(host)
    os.close(turn)
    assert child.wait(60) == 75 and "could not be made" in filler_log(host)
    child.communicate()
    # The limit for all pools holds for their members together.
    host("base", "create", "other", check=0)
    total = int(re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text())[1]) // 1024
    words = ("--size", 1, "--network", "isolated", "--memory", total // 2)
    host("pool", "set", "--base", "other", *words, check=0, env=LATER)
    least = {"MICROAGENT_TEST_LIMIT_POOL_LEAST_MIB": str(total // 2)}
    done = host("pool", "set", "--base", "web", *words, env=least)
    assert done.returncode == 1 and f"other pools have {total // 2}" in done.stderr, done
    host("pool", "drain", check=0)
    for base in ("web", "other"):
        host("base", "delete", f"{base}-v1", check=0)


def test_a_full_disk(host):
    """The pool waits, fills itself when there is room, and is drained without room."""
    host("base", "create", "web", check=0)
    small = host.base / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100M,mode=700", "none", small], check=True)
    env = {**NOW, "MICROAGENT_TEST_LIMIT_POOL_ROOM_MS": "100"}
    try:
        (small / "bases").symlink_to(host.state / "bases")
        (small / "fill").write_bytes(b"\0" * (60 << 20))
        at = ("--state-dir", small)
        host(*at, "pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0, env=env)

        def pool():
            return json.loads(host(*at, "--json", "pool", "status", check=0).stdout)["pools"][0]

        assert "of disk are free where the state directory is, and 64 MiB must stay free" in pool()["detail"]
        (small / "fill").unlink()
        wait_until(lambda: pool() == {"base": "web-v1", "backend": "qemu", "size": 1, "ready": 1, "filling": False}, "the member")
        with contextlib.suppress(OSError), open(small / "fill", "wb", buffering=0) as fill:
            while fill.write(b"\0" * 4096):
                pass
        host(*at, "pool", "drain", check=0)
        assert not list((small / "pool").iterdir()) and not pid_lines(str(small))
        assert not [p for p in (small / "sessions").iterdir() if p.name not in (".locks", ".microagent-state")]
    finally:
        subprocess.run(["umount", small], check=True)
    host("base", "delete", "web-v1", check=0)


def test_a_pool_whose_base_is_gone(host):
    host("base", "create", "web", check=0)
    host("pool", "set", "--base", "web", "--size", 1, check=0, env=LATER)
    (host.state / "bases" / "web-v1.bundle").rename(host.state / "bases" / "gone")
    assert host.json("session", "gc")["removed"] == [{"name": "pool/web-v1", "why": "a pool whose base does not exist any more"}]
    assert not list((host.state / "pool").iterdir()) and not pid_lines(f"{host.state} pool fill")
    (host.state / "bases" / "gone").rename(host.state / "bases" / "web-v1.bundle")
    claimed = host.state / "pool" / "web-v1" / "claimed"
    claimed.mkdir(parents=True, mode=0o700)
    (claimed / "session-2026-05-10T14-22-00Z-a7f3").touch()
    assert host.json("session", "gc")["removed"] == [
        {"name": "session-2026-05-10T14-22-00Z-a7f3", "why": "it was claimed from the pool, and its directory is gone"}]
    assert not list((host.state / "pool").iterdir())
    host("base", "delete", "web-v1", check=0)


def test_members_count_by_what_they_take(host):
    """The next member is expected to take what waiting members take, and not all that it is given. So more are kept
    than could all use their whole memory."""
    free = 1 << 24
    less = {**NOW, "MICROAGENT_TEST_LIMIT_POOL_FREE_MIB": str(free)}
    host("base", "create", "web", check=0)
    host("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", env=NOW, check=0)
    wait_full(host, 1)
    record = host.state / "pool" / "web-v1" / "pool.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "size": 2}))
    child = host.popen("pool", "fill", "--base", "web-v1", env=less)
    wait_until(lambda: "waiting for room" in filler_log(host), "the filler's word")
    told = host.json("pool", "status", env=less)["pools"][0]["detail"]
    child.kill()
    child.communicate()
    needs = int(re.search(r"the next session needs (\d+)", told)[1]) - free
    assert 32 <= needs < json.loads(record.read_text())["memoryMiB"] + 128, told
    host("pool", "drain", check=0)
    # Three members that could not all have that much.
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    host("pool", "set", "--base", "web", "--size", 3, "--memory", total // 2, "--network", "isolated", env=LATER, check=0)
    host("pool", "drain", check=0)
    host("base", "delete", "web-v1", check=0)


def test_refusals(host):
    assert host.json("pool", "status") == {"pools": []} and host.json("pool", "drain") == {"pools": []}
    assert "there is no pool" in host("pool", "status", check=0).stderr and not host.state.exists()
    host("base", "create", "web", check=0)
    most = os.sysconf("SC_NPROCESSORS_ONLN") * 8
    for words, text, code in (
            (("set",), "--base NAME", 2),
            (("set", "--base", "web"), "--size N", 2),
            (("set", "--base", "web", "--size", 0), "size", 2),
            (("set", "--base", "nothing", "--size", 1), "there is no base \"nothing\"", 1),
            (("set", "--base", "web", "--size", most + 1), "are too many: with", 2),
            (("set", "--base", "web", "--size", 1, "--memory", 100000000), "--memory: a session with 100000000 MiB takes", 2),
            (("set", "--base", "web", "--size", 1, "--memory", 8), "--memory must be at least 64 MiB, and is 8", 2),
            (("fill", "--base", "web-v1"), "there is no pool of base web-v1\n", 1),
            (("fill", "--base", "web-v1"), "`microagent pool set --base web-v1 --size N` makes one", 1),
            (("set", "--base", "web", "--size", 1, "--cpus", 10000), "--cpus is 10000, but this host has", 2),
            (("set", "--base", "web", "--size", 1, "--network", "bridged"), "--network must be nat or isolated, and is \"bridged\"", 2),
            (("drain", "--base", "web"), "there is no pool of base web", 1),
            (("fill", "--base", "web"), "web is not one version of a base", 1)):
        done = host("pool", *words)
        assert done.returncode == code and text in done.stderr, (words, done)
    place = host.state / "pool" / "web-v1"
    assert not place.exists()
    place.mkdir(parents=True, mode=0o700)
    (place / "pool.json").write_text('{"format":1}')
    for words in (("pool", "status"), ("session", "create", "--base", "web")):
        done = host(*words)
        assert done.returncode == 1 and "pool.json: size is required\n" in done.stderr, done
        assert "`microagent pool set --base web-v1 --size N` writes it again" in done.stderr, done
    host("pool", "drain", check=0)
    assert not place.exists()
    host("base", "delete", "web-v1", check=0)
