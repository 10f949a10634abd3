# SPDX-License-Identifier: MIT
"""Pools: sessions that are kept ready, and are claimed by one rename."""

import contextlib
import datetime
import fcntl
import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import schema_check
from conftest import default_kernel, pid_lines, wait_until
from made import made

SIZE, CLAIMERS = 3, 8
LATER = {"MICROAGENT_TEST_LIMIT_POOL_QUIET_MS": "3600000"}  # a filler that waits for quiet, and makes nothing
NOW = {"MICROAGENT_TEST_LIMIT_POOL_QUIET_MS": "0"}
FULL = {"MICROAGENT_TEST_LIMIT_STATE_FREE_BYTES": str(1 << 60)}  # starts nothing new; a claim starts nothing
NOT_NEW = {**LATER, **FULL}


def create(host, *words, **kw):
    return host.json("session", "create", "--base", "web", "--network", "isolated", *words, **kw)


def pool_of(host):
    pools = host.json("pool", "status")["pools"]
    assert len(pools) == 1 and pools[0]["base"] == "web-v1", pools
    return pools[0]


def wait_full(host, size):
    wait_until(lambda: pool_of(host) == {"base": "web-v1", "size": size, "ready": size, "filling": False},
               f"{size} members of the pool", 120)


def tokens(host, kind):
    try:
        return sorted(os.listdir(host.state / "pool" / "web-v1" / kind))
    except FileNotFoundError:
        return []


def marks(host):
    place = host.state / "sessions" / ".locks" / ".making"
    return sorted(p.name for p in place.iterdir()) if place.exists() else []


def runtime(host, name):
    return json.loads((host.state / "sessions" / f"{name}.bundle" / "runtime.json").read_text())


def filler(host):
    """Its pid, by what it has written into its lock; it is ours."""
    pid = int((host.state / "pool" / "web-v1" / "filler.lock").read_text().split()[0])
    assert str(host.state) in pid_lines("pool fill")[pid]
    return pid


def kill_filler(host):
    wait_until(lambda: (host.state / "pool" / "web-v1" / "filler.lock").read_text(), "the filler's name")
    os.kill(filler(host), signal.SIGKILL)
    wait_until(lambda: not pool_of(host)["filling"], "the filler's end")


def check_members(host):
    """They have run, wait as they would run for their user, and nobody fills any more."""
    schema_check.validate("pool", json.loads((host.state / "pool" / "web-v1" / "pool.json").read_text()))
    waiting = host.json("session", "list")["sessions"]
    assert len(waiting) == SIZE and all(s["pooled"] and s["state"] == "running" and s["source"] == "pool" for s in waiting)
    assert tokens(host, "ready") == [s["name"] for s in waiting] and not marks(host)
    for name in tokens(host, "ready"):
        machine = runtime(host, name)["pid"]
        for thread in os.listdir(f"/proc/{machine}/task"):
            assert os.sched_getscheduler(int(thread)) == os.SCHED_OTHER, (name, thread)
    assert "waits in the pool" in host("session", "list", check=0).stdout
    refused = host("base", "delete", "web-v1")
    assert refused.returncode == 1 and "microagent pool drain --base web-v1" in refused.stderr


def claim_at_once(host):
    with ThreadPoolExecutor(CLAIMERS) as threads:
        made = list(threads.map(lambda _: create(host, env=LATER), range(CLAIMERS)))
    assert len({s["name"] for s in made}) == CLAIMERS
    pooled = [s for s in made if s["source"] == "pool"]
    assert len(pooled) == SIZE and all("claimMs" in s["timings"] and "bootMs" not in s["timings"] for s in pooled)
    assert all(s["source"] == "new" and s["timings"]["bootMs"] > 0 for s in made if s not in pooled)
    assert tokens(host, "claimed") == sorted(s["name"] for s in pooled) and not tokens(host, "ready")
    for session in pooled:
        assert host("session", "exec", session["name"], "--", "echo", "mine", check=0).stdout == "mine\n"
    return [s["name"] for s in made]


def told(host):
    """The sessions, but for what a disk grows by meanwhile."""
    return [{k: v for k, v in s.items() if k != "grownBytes"} for s in host.json("session", "list")["sessions"]]


def kill_the_filler_at_work(host):
    """One that waits makes nothing; one that is killed over a member leaves nothing that stays."""
    before = told(host)
    assert pool_of(host) == {"base": "web-v1", "size": SIZE, "ready": 0, "filling": True}
    kill_filler(host)
    assert told(host) == before
    assert host.json("session", "gc", env=NOW) == {"removed": [], "adopted": [
        {"name": "web-v1", "why": "a pool without a filler"}]}
    wait_until(lambda: any((host.state / "sessions" / id / "lease").exists() for id in marks(host)), "a member in the making")
    half_made = marks(host)[0]
    wait_until(lambda: pid_lines(half_made), "a process that has its name")  # it has the lease first
    if os.geteuid() == 0:  # it can be raised again once it is ready: check_members
        policies = {pid: os.sched_getscheduler(pid) for pid in pid_lines(half_made)}
        assert policies and set(policies.values()) == {os.SCHED_IDLE}, policies
    kill_filler(host)
    done = host.json("session", "gc", env=LATER)
    assert {"name": half_made.removesuffix(".bundle"), "why": "its making broke off"} in done["removed"]
    assert told(host) == before and not pid_lines(half_made) and not marks(host)


def lose_a_member(host):
    """A token whose machine has ended is discarded, and what is left of its session with it."""
    host("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0)
    kill_filler(host)  # the one that waits; the next one does not
    host("session", "gc", check=0, env=NOW)
    wait_full(host, 1)
    dead = tokens(host, "ready")[0]
    os.kill(runtime(host, dead)["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: pool_of(host)["ready"] == 0, "the member's end")
    session = create(host, env=LATER)
    assert session["source"] == "new" and dead not in tokens(host, "ready") + tokens(host, "claimed")
    assert not (host.state / "sessions" / f"{dead}.bundle").exists()
    return session["name"]


def test_the_life_of_a_pool(host):
    host("base", "create", "web", check=0)
    answer = host.json("pool", "set", "--base", "web", "--size", SIZE, "--network", "isolated")
    assert [(p["base"], p["size"], p["filling"]) for p in answer["pools"]] == [("web-v1", SIZE, True)]
    wait_full(host, SIZE)
    check_members(host)
    odd = create(host, "--memory", 192, env=LATER)
    assert odd["source"] == "new" and len(tokens(host, "ready")) == SIZE  # not what the pool has
    names = [odd["name"], *claim_at_once(host)]
    kill_the_filler_at_work(host)
    names.append(lose_a_member(host))
    assert host.json("pool", "drain") == {"pools": []}
    wait_until(lambda: not pid_lines(f"{host.state} pool fill"), "the last filler's end")  # idle, it takes its time
    left = host.json("session", "list")["sessions"]
    assert sorted(s["name"] for s in left) == sorted(names) and not any("pooled" in s for s in left)
    for name in names:
        host("session", "destroy", name, check=0)
    assert not list((host.state / "pool").iterdir())
    host("base", "delete", "web-v1", check=0)


ODD = (("--memory", 192), ("--cpus", 2), ("--accelerator", "tcg"), ("--network", "isolated"), ("--no-share",),
       ("--allow", "192.0.2.0/24"), ("--disk-quota", 64), ("--publish", "127.0.0.1:47119:80"), ("--mediation", "2048=127.0.0.1:9"),
       ("--vsock", "5000=127.0.0.1:9"), ("--network", "bridged", "--network-interface", "lo"))


def check_unseen(host, members):
    """Of which it cannot be told whether they run: nobody gets those, and nobody takes them away."""
    events = [host.state / "sessions" / f"{name}.bundle" / "event.json" for name in members]
    whole = [event.read_bytes() for event in events]
    for event in events:
        event.write_text("{")
    assert pool_of(host)["ready"] == 0 and create_refused(host, words=())
    assert not {r["name"] for r in host.json("session", "gc", env=NOT_NEW)["removed"]} & set(members)
    assert tokens(host, "ready") == members and not tokens(host, "claimed")
    for event, text in zip(events, whole):
        event.write_bytes(text)


def check_odd(host):
    """Who asks for what members have not never gets one; and what is refused costs none."""
    before = tokens(host, "ready")
    for words in ODD:
        done = host("session", "create", "--base", "web", *words, env=NOT_NEW)
        assert done.returncode in (1, 2, 75), (words, done)
        assert "no space left where the state directory is" in done.stderr or words[1:2] == ("bridged",), (words, done)
        assert tokens(host, "ready") == before and not tokens(host, "claimed"), words
    # Members of another kind than the record has become.
    record = host.state / "pool" / "web-v1" / "pool.json"
    kept = record.read_text()
    for key, value, words in (("memoryMiB", 192, ("--memory", 192)), ("cpuCount", 2, ("--cpus", 2)),
                              ("network", "isolated", ("--network", "isolated"))):
        record.write_text(json.dumps({**json.loads(kept), key: value}))
        done = host("session", "create", "--base", "web", *words, env=NOT_NEW)
        assert "no space left where the state directory is" in done.stderr, (words, done)
        assert tokens(host, "ready") == before and not tokens(host, "claimed"), words
    record.write_text(kept)
    check_unseen(host, before)
    # A base that was changed since is refused, though members of it are there.
    kernel = host.base / "kernel"
    whole = kernel.read_bytes()
    kernel.write_bytes(whole + b"x")
    done = host("session", "create", "--base", "web", env=NOT_NEW)
    assert done.returncode == 1 and "base web-v1 is damaged: its kernel" in done.stderr, done
    assert tokens(host, "ready") == before and not tokens(host, "claimed")
    kernel.write_bytes(whole)
    refused = (((host.base / "none",), "--share %s: %s does not exist: `mkdir` makes it"),
               (("/var",), "--share %s: %s is in /var, of which nothing is shared: copy what"),
               ((host.state,), "--share %s: %s is in the state directory"),
               ((host.tmp, "--share-at", "here"), "--share-at must be an absolute path"),
               ((host.tmp, "--share-at", "/"), "--share-at must not be"))
    for (path, *words), text in refused:
        done = host("session", "create", "--base", "web", "--share", path, *words, env=NOT_NEW)
        assert done.returncode in (1, 2) and text.replace("%s", str(path)) in done.stderr, (path, words, done)
        assert tokens(host, "ready") == before and not tokens(host, "claimed"), (path, words)
    assert [s["name"] for s in host.json("session", "list")["sessions"]] == before


SEEN = "workspace /work virtiofs ro,nosuid,nodev,relatime 0 0\nhere\n"


def look(host, name):
    return host("session", "exec", name, "--", "sh", "-c", "grep ' /work ' /proc/mounts; cat /work/f; ! echo x > /work/g",
                check=0).stdout


def check_claimed_with(host, work):
    """As from the start: recorded, mounted, the only one, and there again after another boot."""
    told = {"path": str(work), "mountpoint": "/work", "mode": "ro"}
    new = host.json("session", "create", "--base", "web", "--share", work, "--share-at", "/work", "--share-ro",
                    "--memory", 256, "--cpus", 1, "--accelerator", "auto", "--network", "nat", env=NOT_NEW)
    name = new["name"]
    assert (new["source"], new["share"]) == ("pool", told) and "bootMs" not in new["timings"]
    record = json.loads((host.state / "sessions" / f"{name}.bundle" / "session.json").read_text())
    schema_check.validate("session", record)
    listed = next(s for s in host.json("session", "list")["sessions"] if s["name"] == name)
    assert record["share"] == listed["share"] == told and "pooled" not in listed
    assert look(host, name) == SEEN
    done = host("session", "share", name, host.tmp)
    assert done.returncode == 1 and "it has its shared directory already" in done.stderr
    assert "share.added" in host("audit", "show", name, check=0).stdout
    host("--state-dir", host.state / "sessions", "kill", f"{name}.bundle", check=0)
    assert made(host, "boot", name) == f"{name}\n" and look(host, name) == SEEN
    host("session", "destroy", name, check=0)


def test_a_member_is_given_a_directory(host):
    kernel = host.base / "kernel"
    for end in ("", ".initrd"):
        shutil.copy(default_kernel(host)["path"] + end, f"{kernel}{end}")
    host("base", "create", "web", "--kernel", kernel, check=0)
    host("pool", "set", "--base", "web", "--size", 3, check=0)
    wait_full(host, 3)
    check_odd(host)
    work = host.base / "work"
    work.mkdir()
    (work / "f").write_text("here\n")
    # Nothing of a member that it cannot be given to is left.
    done = host("session", "create", "--base", "web", "--share", work, "--share-at", "/etc/passwd/x", env=LATER)
    assert done.returncode == 1 and "the guest cannot mount it: " in done.stderr, done
    waiting = tokens(host, "ready")
    assert len(waiting) == 2 and not tokens(host, "claimed") and not marks(host)
    assert [s["name"] for s in host.json("session", "list")["sessions"]] == waiting
    check_claimed_with(host, work)
    assert "does not exist: `mkdir`" in made(host, "share", "web", host.base / "none", check=1, env=NOT_NEW)
    kill_a_drain(host)
    host("base", "delete", "web-v1", check=0)


# --- claimers, and who takes members away ---------------------------------------------------------------


def kill_at(host, condition, *words, sig=signal.SIGKILL):
    """As closely behind condition as can be; whether it was still there."""
    child = host.popen("--state-dir", host.state, *words, env=NOT_NEW)
    while not condition() and child.poll() is None:
        pass
    child.send_signal(sig)
    child.communicate()
    wait_until(lambda: not pid_lines(f"{host.state} {words[0]} {words[1]}"), "its end")  # and that of its copies
    return child.returncode == -sig


def fill_up(host, size):
    host("pool", "set", "--base", "web", "--size", size, "--network", "isolated", check=0, env=NOW)
    wait_full(host, size)


def gone(host):
    """Nothing of any pool is left, nor of any session."""
    assert host.json("session", "list") == {"sessions": []} and not marks(host)
    assert not list((host.state / "pool").iterdir())


def kill_a_claimer(host):
    """That has its member, and has told nobody."""
    assert kill_at(host, lambda: tokens(host, "claimed"), "session", "create", "--base", "web", "--network", "isolated",
                   "--share", host.tmp)
    lost = tokens(host, "claimed")
    done = host.json("session", "gc", env=LATER)
    assert {"name": lost[0], "why": "its making broke off"} in done["removed"] and not tokens(host, "claimed")
    waiting = tokens(host, "ready")
    assert lost[0] not in waiting and not marks(host)
    assert [s["name"] for s in host.json("session", "list")["sessions"]] == waiting


def kill_a_drain(host):
    """Over its first member: what it has not come to is nobody's either."""
    waiting = tokens(host, "ready")
    assert kill_at(host, lambda: tokens(host, "ending"), "pool", "drain", sig=signal.SIGTERM)
    assert create_refused(host)
    done = {r["name"]: r["why"] for r in host.json("session", "gc")["removed"]}
    assert set(done) <= {*waiting, "web-v1"} and set(done.values()) <= {
        "its destruction broke off", "members of a pool that is not kept"}
    gone(host)


def create_refused(host, base="web", env=None, words=("--network", "isolated")):
    """Nothing is there to be claimed."""
    done = host("session", "create", "--base", base, *words, env=env or NOT_NEW)
    return done.returncode == 75 and "no space left where the state directory is" in done.stderr


def claim_one(host, tried):
    """It succeeds, and is a session that answers, or there was none."""
    done = host("--json", "session", "create", "--base", "web", "--network", "isolated", env=NOT_NEW)
    tried.append(done.returncode)
    if done.returncode:
        assert "no space left where the state directory is" in done.stdout, done
        return 0
    session = json.loads(done.stdout)
    assert session["source"] == "pool", session
    assert host("session", "exec", session["name"], "--", "echo", "mine", check=0).stdout == "mine\n"
    host("session", "destroy", session["name"], check=0)
    return 1


def kill_after(host, seconds, *words):
    child = host.popen("--state-dir", host.state, *words, env=NOT_NEW)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    child.kill()
    name = child.communicate()[0].decode().strip()
    if words[0] == "session" and name:  # it has told of it
        host("session", "destroy", name, check=0)


def race(host, claimers, after=1, kills=()):
    """Claimers, and after so many claims whatever takes members away. kills: after so many
    seconds each a claimer and a drain are killed, of which nothing may stay."""
    tried = []

    def later(do, *words, **kw):
        wait_until(lambda: len(tried) >= after, "the first claims")
        do(*words, **kw)
        return 0

    create, drain, gc = ("session", "create", "--base", "web", "--network", "isolated"), ("pool", "drain"), ("session", "gc")
    less = ("pool", "set", "--base", "web", "--size", 1, "--network", "isolated")
    jobs = [functools.partial(claim_one, host, tried)] * claimers
    jobs += [functools.partial(later, host, *words, check=0, env=LATER) for words in (less, drain, gc, gc, drain)]
    jobs += [functools.partial(later, kill_after, host, wait, *words) for wait in kills for words in (create, drain)]
    random.shuffle(jobs)
    with ThreadPoolExecutor(len(jobs)) as threads:
        claims = sum(threads.map(lambda job: job(), jobs))
    for words in (create, drain):  # of those that were killed a copy may still be at it
        wait_until(lambda: not pid_lines(f"{host.state} {words[0]} {words[1]}"), "their end")
    host("pool", "drain", check=0)
    host("session", "gc", check=0)
    gone(host)
    assert claims
    return claims


def test_claims_against_all_that_takes_members_away(host):
    """And claimers that are killed. A small one; `make soak` has many."""
    host("base", "create", "web", check=0)
    fill_up(host, 3)
    kill_a_claimer(host)
    race(host, 4)
    host("base", "delete", "web-v1", check=0)


# --- limits ---------------------------------------------------------------------------------------------


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
    """When the first line of a filler was said."""
    return datetime.datetime.fromisoformat(filler_log(host).split()[0].replace("Z", "+00:00")).timestamp()


def detail(host):
    return pool_of(host).get("detail", "")


def test_a_pool_waits_for_room(host):
    host("base", "create", "web", check=0)
    kept_by_nobody(host, "web")
    assert detail(host) == "nobody fills it: `microagent session gc` goes on"
    for limit, value, text in (("POOL_FREE_MIB", "100000000", "MiB of memory are available, and the next one needs"),
                               ("POOL_MEMBERS_PER_CPU", "0", "which is the most for"),
                               ("POOL_FREE_DISK_MIB", "1000000000", "of disk are free where the state directory is")):
        less = {f"MICROAGENT_TEST_LIMIT_{limit}": value}
        child = host.popen("pool", "fill", "--base", "web-v1", env={**NOW, **less})
        wait_until(lambda: "waiting for room" in filler_log(host), "the filler's word")
        assert text in filler_log(host)
        told = host.json("pool", "status", env=less)["pools"][0]
        assert told["filling"] and told["detail"].startswith("waits for room: ") and text in told["detail"]
        assert text in host("pool", "status", env=less, check=0).stdout
        assert os.sched_getscheduler(child.pid) & ~os.SCHED_RESET_ON_FORK == os.SCHED_IDLE
        assert subprocess.run(["ionice", "-p", str(child.pid)], capture_output=True, text=True, check=True).stdout == "idle\n"
        child.kill()
        child.communicate()
        (host.state / "pool" / "web-v1" / "filler.log").write_text("")
    assert host.json("session", "list") == {"sessions": []}
    # What cannot be started is tried three times, and told.
    assert host("pool", "fill", "--base", "web-v1", env={**NOW, **FULL}).returncode == 75
    assert filler_log(host).count("a member could not be made: no space left where the state directory is") == 3
    assert detail(host).startswith("given up; `microagent session gc` tries again: no space left where the state")
    assert host.json("session", "list") == {"sessions": []} and not marks(host)
    host("pool", "drain", "--base", "web", check=0)
    host("base", "delete", "web-v1", check=0)


def test_nothing_is_made_within_two_seconds_of_a_claim(host):
    """From whichever pool; told by the clock of the filler's log and that of the claims."""
    for base in ("web", "other"):
        host("base", "create", base, check=0)
        kept_by_nobody(host, base)
    # It finds none, and starts the filler; that starts nothing for now.
    assert create_refused(host, "web", FULL)
    wait_until(lambda: host.json("pool", "status")["pools"][1]["filling"], "the filler")
    assert create_refused(host, "other", {**FULL, **LATER})
    last = (host.state / "pool" / "other-v1" / "claimed").stat().st_mtime
    wait_until(lambda: "could not be made" in filler_log(host), "its first member")
    assert first_words(host) - last >= 2.0, (filler_log(host), last)
    # Nor by one that begins only now.
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
    """By the fillers of all pools together: so no two find the same room."""
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
    # And what all pools may come to is theirs together.
    host("base", "create", "other", check=0)
    total = int(re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text())[1]) // 1024
    words = ("--size", 1, "--network", "isolated", "--memory", total // 2)
    host("pool", "set", "--base", "other", *words, check=0, env=LATER)
    done = host("pool", "set", "--base", "web", *words)
    assert done.returncode == 1 and f"other pools have {total // 2 + 128}" in done.stderr, done
    host("pool", "drain", check=0)
    for base in ("web", "other"):
        host("base", "delete", f"{base}-v1", check=0)


def test_a_full_disk(host):
    """The pool waits, fills itself when there is room, and is drained without any."""
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

        assert "of disk are free where the state directory is, and 64 are to stay so" in pool()["detail"]
        (small / "fill").unlink()
        wait_until(lambda: pool() == {"base": "web-v1", "size": 1, "ready": 1, "filling": False}, "the member", 120)
        with contextlib.suppress(OSError), open(small / "fill", "wb", buffering=0) as fill:
            while fill.write(b"\0" * 4096):
                pass
        host(*at, "pool", "drain", check=0)
        assert not list((small / "pool").iterdir()) and not pid_lines(str(small))
        assert not [p for p in (small / "sessions").iterdir() if p.name != ".locks"]
    finally:
        subprocess.run(["umount", small], check=True)
    host("base", "delete", "web-v1", check=0)


def test_a_pool_whose_base_is_gone(host):
    host("base", "create", "web", check=0)
    host("pool", "set", "--base", "web", "--size", 1, check=0, env=LATER)
    (host.state / "bases" / "web-v1.bundle").rename(host.state / "bases" / "gone")
    assert host.json("session", "gc")["removed"] == [{"name": "web-v1", "why": "a pool whose base is gone"}]
    assert not list((host.state / "pool").iterdir()) and not pid_lines(f"{host.state} pool fill")
    (host.state / "bases" / "gone").rename(host.state / "bases" / "web-v1.bundle")
    claimed = host.state / "pool" / "web-v1" / "claimed"
    claimed.mkdir(parents=True, mode=0o700)
    (claimed / "session-2026-05-10T14-22-00Z-a7f3").touch()
    assert host.json("session", "gc")["removed"] == [
        {"name": "session-2026-05-10T14-22-00Z-a7f3", "why": "claimed from the pool, and gone since"}]
    assert not list((host.state / "pool").iterdir())
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
            (("set", "--base", "web", "--size", most + 1), "are more than this host keeps ready: with", 1),
            (("set", "--base", "web", "--size", 1, "--memory", 100000000), "do not fit into this host's", 1),
            (("set", "--base", "web", "--size", 1, "--memory", 8), "--memory must be at least 64 MiB, and is 8", 2),
            (("fill", "--base", "web-v1"), "there is no pool of base web-v1: `microagent pool set", 1),
            (("set", "--base", "web", "--size", 1, "--cpus", 10000), "10000 processors are more", 1),
            (("set", "--base", "web", "--size", 1, "--network", "bridged"), "have nat or isolated", 1),
            (("drain", "--base", "web"), "there is no pool of base web", 1),
            (("fill", "--base", "web"), "which version of web?", 1)):
        done = host("pool", *words)
        assert done.returncode == code and text in done.stderr, (words, done)
    place = host.state / "pool" / "web-v1"
    assert not place.exists()
    place.mkdir(parents=True, mode=0o700)
    (place / "pool.json").write_text('{"format":1}')
    for words in (("pool", "status"), ("session", "create", "--base", "web")):
        done = host(*words)
        assert done.returncode == 1 and "pool.json: size is required; `microagent pool set" in done.stderr, done
    host("pool", "drain", check=0)
    assert not place.exists()
    host("base", "delete", "web-v1", check=0)
