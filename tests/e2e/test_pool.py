# SPDX-License-Identifier: MIT
"""Tests pools: sessions that are kept ready, and are claimed by one rename."""

import contextlib
import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import schema_check
from conftest import default_kernel, pid_lines, skip_without_own_kernels, wait_until
from made import made
from pools import LATER, NOT_NEW, NOW, create, create_refused, filler, kill_filler, marks, pool_of, runtime, tokens, wait_full
from test_pool_claims import kill_a_drain

SIZE, CLAIMERS = 3, 8


def check_members(host):
    """The members have run commands and wait as they would run for their user, and no filler works any more."""
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
    """Returns the sessions, without the growth of their disks."""
    return [{k: v for k, v in s.items() if k != "grownBytes"} for s in host.json("session", "list")["sessions"]]


def kill_the_filler_at_work(host):
    """A filler that waits makes nothing. A filler that is killed while it makes a member leaves nothing that stays."""
    before = told(host)
    assert pool_of(host) == {"base": "web-v1", "backend": host.backend, "size": SIZE, "ready": 0, "filling": True}
    kill_filler(host)
    assert told(host) == before
    assert host.json("session", "gc", env=NOW) == {"removed": [], "adopted": [
        {"name": "pool/web-v1", "why": "a pool that no process fills"}]}
    wait_until(lambda: any((host.state / "sessions" / id / "lease").exists() for id in marks(host)), "a member being made")
    half_made = marks(host)[0]
    wait_until(lambda: pid_lines(half_made), "a process that has its name")  # it has the lease first
    if os.geteuid() == 0:  # it can be raised again once it is ready: check_members
        policies = {pid: os.sched_getscheduler(pid) for pid in pid_lines(half_made)}
        assert policies and set(policies.values()) == {os.SCHED_IDLE}, policies
    # The processes that the filler had started go on, and would destroy the session whose maker is gone before `gc`
    # looks.
    os.kill(filler(host), signal.SIGSTOP)
    for pid in pid_lines(half_made):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    kill_filler(host)
    done = host.json("session", "gc", env=LATER)
    assert {"name": half_made.removesuffix(".bundle"), "why": "its creation was interrupted"} in done["removed"]
    assert told(host) == before and not pid_lines(half_made) and not marks(host)


def wait_gone(host, *names):
    """Their end is the filler's work."""
    places = [host.state / "sessions" / f"{name}.bundle" for name in names]

    def left():
        return {name for kind in ("ready", "claimed", "ending") for name in tokens(host, kind)} & set(names)

    wait_until(lambda: not any(place.exists() for place in places) and not left(), "the members' end")


def lose_a_member(host):
    """A token whose machine has ended is passed over, and discarded with the rest of its session."""
    host("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0)
    kill_filler(host)  # the one that waits; the next one does not
    host("session", "gc", check=0, env=NOW)
    wait_full(host, 1)
    dead = tokens(host, "ready")[0]
    os.kill(runtime(host, dead)["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: pool_of(host)["ready"] == 0, "the member's end")
    session = create(host, env=LATER)
    assert session["source"] == "new" and dead not in tokens(host, "claimed")
    wait_gone(host, dead)
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
       ("--allow", "192.0.2.0/24"), ("--egress", "pypi.org"), ("--disk-quota", 64), ("--publish", "127.0.0.1:47119:80"), ("--mediation", "2048=127.0.0.1:9"),
       ("--vsock", "5000=127.0.0.1:9"), ("--network", "bridged", "--network-interface", "lo"))


def check_unseen(host, members):
    """Members of which nobody can tell whether they run: nobody gets them, and nobody takes them away."""
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
    """A request for something that members do not have gets none, and a request that is refused uses up none."""
    before = tokens(host, "ready")
    for words in ODD:
        done = host("session", "create", "--base", "web", *words, env=NOT_NEW)
        assert done.returncode in (1, 2, 75), (words, done)
        assert "no space left where the state directory is" in done.stderr or words[1:2] == ("bridged",), (words, done)
        assert tokens(host, "ready") == before and not tokens(host, "claimed"), words
    # Members no longer match the record.
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
    # A base that was changed since is refused, though it has members.
    kernel = host.base / "kernel"
    whole = kernel.read_bytes()
    kernel.write_bytes(whole + b"x")
    done = host("session", "create", "--base", "web", env=NOT_NEW)
    assert done.returncode == 1 and "base web-v1 is damaged: its kernel" in done.stderr, done
    assert tokens(host, "ready") == before and not tokens(host, "claimed")
    kernel.write_bytes(whole)
    refused = (((host.base / "none",), "--share %s: %s does not exist: `mkdir` makes it"),
               (("/var",), "--share %s: nothing in %s is ever shared: copy what"),
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
    """The share is as from the start: recorded, mounted, the only one, and there again after another boot."""
    told = {"path": str(work), "mountpoint": "/work", "mode": "ro", "direct": True}
    more = {"path": str(host.base / "more"), "mountpoint": "/more", "mode": "rw", "direct": True}
    (host.base / "more").mkdir()
    new = host.json("session", "create", "--base", "web", "--share", f"{work}:/work:ro", "--share", f"{more['path']}:/more",
                    "--memory", 256, "--cpus", 1, "--accelerator", "auto", "--network", "nat", env=NOT_NEW)
    name = new["name"]
    assert (new["source"], new["shares"]) == ("pool", [told, more]) and "bootMs" not in new["timings"]
    record = json.loads((host.state / "sessions" / f"{name}.bundle" / "session.json").read_text())
    schema_check.validate("session", record)
    listed = next(s for s in host.json("session", "list")["sessions"] if s["name"] == name)
    assert record["shares"] == listed["shares"] == [told, more] and "pooled" not in listed
    assert look(host, name) == SEEN
    done = host("session", "share", name, host.tmp)
    assert done.returncode == 1 and "the machine already has its shared directories" in done.stderr
    assert "share.added" in host("audit", "show", name, check=0).stdout
    host("--state-dir", host.state / "sessions", "kill", f"{name}.bundle", check=0)
    assert made(host, "boot", name) == f"{name}\n" and look(host, name) == SEEN
    host("session", "exec", name, "--", "touch", "/more/file", check=0)
    assert (host.base / "more" / "file").exists()
    host("session", "destroy", name, check=0)


def test_a_member_is_given_a_directory(host):
    skip_without_own_kernels("the user's own copy of a")
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
    # Nothing is left of a member that cannot get the directory.
    done = host("session", "create", "--base", "web", "--share", work, "--share-at", "/etc/passwd/x", env=LATER)
    assert done.returncode == 1 and "the guest cannot mount the directory: " in done.stderr, done
    waiting = tokens(host, "ready")
    assert len(waiting) == 2 and not tokens(host, "claimed") and not marks(host)
    assert [s["name"] for s in host.json("session", "list")["sessions"]] == waiting
    check_claimed_with(host, work)
    assert "does not exist: `mkdir`" in made(host, "share", "web", host.base / "none", check=1, env=NOT_NEW)
    kill_a_drain(host)
    host("base", "delete", "web-v1", check=0)


HASTY = {"MICROAGENT_TEST_LIMIT_POOL_ANSWER_MS": "100"}  # as it is for users
NO_ROOM = {**NOW, "MICROAGENT_TEST_LIMIT_POOL_FREE_MIB": str(1 << 40)}  # a filler that ends members, and makes none


def stop_its_agent(host, name):
    """The guest's kernel accepts connections as before, and nobody answers on them."""
    line = "kill -STOP $(grep -l '[m]icroagent-agent' /proc/[0-9]*/cmdline | cut -d/ -f3)"
    child = host.popen("session", "exec", "--user", "root", name, "--", "sh", "-c", line)  # it does not hear of its end
    wait_until(lambda: not host.json("status", name)["readiness"]["shellReady"]["ready"],
               "an agent that does not answer")
    child.kill()
    child.communicate()


def test_members_that_do_not_answer(host):
    """Whichever process of a member is dead or stopped: nobody gets the member, its claimer does not wait for its end,
    and it ends."""
    host("base", "create", "web", check=0)
    host("pool", "set", "--base", "web", "--size", 4, "--network", "isolated", check=0, env=NOW)
    wait_full(host, 4)
    dead, hangs, mute, good = tokens(host, "ready")
    os.kill(runtime(host, dead)["pid"], signal.SIGKILL)
    os.kill(runtime(host, hangs)["pid"], signal.SIGSTOP)
    stop_its_agent(host, mute)
    claimed = create(host, env={**LATER, "MICROAGENT_TEST_LIMIT_POOL_ANSWER_MS": "2000"})
    assert (claimed["name"], claimed["source"]) == (good, "pool")
    made_anew = create(host, env={**LATER, **HASTY})
    assert made_anew["source"] == "new" and tokens(host, "claimed") == [good]
    wait_gone(host, dead)
    assert tokens(host, "ready") == sorted((hangs, mute))  # members may be slow: a claimer does not judge that
    kill_filler(host)
    assert host.json("session", "gc", env={**NO_ROOM, "MICROAGENT_TEST_LIMIT_POOL_SILENT_MS": "2000"})["adopted"]
    wait_gone(host, hangs, mute)
    log = (host.state / "pool" / "web-v1" / "filler.log").read_text()
    assert all(f"{name} does not answer, so it is ended\n" in log for name in (hangs, mute))
    host("pool", "drain", check=0)
    assert host.json("session", "destroy", "--all")["responses"] == [
        {"ok": True, "name": name} for name in sorted((good, made_anew["name"]))]
    assert not list((host.state / "pool").iterdir())
    host("base", "delete", "web-v1", check=0)
