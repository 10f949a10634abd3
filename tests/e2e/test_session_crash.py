# SPDX-License-Identifier: MIT
"""Tests sessions whose maker, machine or directory is lost, and what `session gc` does about them."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import schema_check
from conftest import held, pid_lines, wait_until
from killing import cloner

NAME = "session-2026-05-10T14-22-00Z-a7f3"
NOTHING = {"removed": [], "adopted": []}


@pytest.fixture
def base(host):
    yield host.json("base", "create", "web")
    host("base", "delete", "web-v1", check=0)


def create(host, **kw):
    return host.json("session", "create", "--base", "web", "--network", "isolated", **kw)["name"]


def bundle(host, name):
    return host.state / "sessions" / f"{name}.bundle"


def bundles(host):
    place = host.state / "sessions"
    return [p for p in place.iterdir() if p.name not in (".locks", ".microagent-state")] if place.exists() else []


def gc(host, **kw):
    return host.json("session", "gc", **kw)


def orphans(host, name):
    """Returns what the security log says about a session that was not whole: [(kind, action)]."""
    told = []
    for log in sorted((host.state / "logs").glob("security-*.log")):
        for line in map(json.loads, log.read_text().splitlines()):
            schema_check.validate("audit-security", line)
            if line["event"] == "session.orphaned" and line["session"] == name:
                assert line["severity"] == "WARNING" and line["data"]["why"]
                told.append((line["data"]["kind"], line["data"]["action"]))
    return told


def audited(directory, event="session.orphaned"):
    """Returns [(kind, action)] from an audit.log."""
    lines = map(json.loads, (directory / "audit.log").read_text().splitlines())
    found = [line for line in lines if line["event"] == event]
    for line in found:
        schema_check.validate("audit-line", line)
    return [(line["data"]["kind"], line["data"]["action"]) for line in found]


# --- a maker that is killed ---------------------------------------------------------------------------


def stage(file):
    return lambda host: any((bundle / file).exists() for bundle in bundles(host))


STAGES = {
    "mark": lambda host: list((host.state / "sessions" / ".locks").glob(".making/*")),
    "directory": lambda host: bool(bundles(host)),
    "disk": lambda host: any((b / "rootfs.qcow2").exists() or (b / "rootfs.ext4").exists() for b in bundles(host)),
    "record": stage("session.json"),
    "prepared": stage("workspace.json"),
    "starting": stage("lease"),
    "booting": stage("runtime.json"),
    "control": stage("control.sock"),
}


def spin_until(condition, child):
    """Waits until just after the event, since the next stage is a millisecond away."""
    while not condition() and child.poll() is None:
        pass


def ended_by_itself(host, name):
    """By its live supervisor, which has seen its maker's end."""
    log = host.state / "archive" / name / "audit.log"
    return log.exists() and '"why":"the process that it belonged to is gone"' in log.read_text()


def kill_at(host, condition):
    """Kills a session in the state that condition names. Nothing of it may be left after a sweep."""
    child = host.popen("--state-dir", host.state, "session", "create", "--base", "web", "--network", "isolated")
    spin_until(condition, child)
    child.kill()
    out = child.communicate()[0].decode()
    assert child.returncode == -signal.SIGKILL and not out
    # A copy of the process that has not become its supervisor yet holds the same descriptors.
    wait_until(lambda: not pid_lines(f"{host.state} session create"), "the end of the maker")
    half = [b.name.removesuffix(".bundle") for b in bundles(host)]
    recorded = [n for n in half if (bundle(host, n) / "audit.log").exists()]
    done = gc(host)
    for name in half:
        told, its_own = orphans(host, name), ended_by_itself(host, name)
        assert told == [("half-made", "removed")] or its_own and not told
        assert name not in recorded or its_own or audited(host.state / "archive" / name) == told
    assert not done["adopted"] and all(r["why"] == "its creation was interrupted" for r in done["removed"])
    assert not bundles(host), (done, [[p.name for p in b.iterdir()] for b in bundles(host)])
    assert not (host.state / "sessions" / ".locks" / ".making").exists()
    wait_until(lambda: not host.processes(), "the end of all its processes")
    assert gc(host) == NOTHING


def test_a_killed_maker_leaves_no_machine(host, base):
    """This needs neither a command nor a sweep."""
    child = host.popen("session", "create", "--base", "web", "--network", "isolated")
    spin_until(lambda: STAGES["control"](host), child)
    (name,) = [b.name.removesuffix(".bundle") for b in bundles(host)]
    child.kill()
    child.communicate()
    wait_until(lambda: not bundles(host) and not host.processes(), "the end of the session")
    assert ended_by_itself(host, name)
    assert gc(host) == NOTHING


def test_a_killed_maker_leaves_nothing(host, base):
    for condition in STAGES.values():
        kill_at(host, lambda c=condition: c(host))
    for _ in range(4):
        wait = random.uniform(0, 0.3)
        end = os.times().elapsed + wait
        kill_at(host, lambda t=end: os.times().elapsed >= t)


def test_the_next_one_sweeps_too(host, base):
    child = host.popen("session", "create", "--base", "web", "--network", "isolated")
    spin_until(lambda: STAGES["booting"](host), child)
    lost = bundles(host)[0].name
    child.kill()
    child.communicate()
    name = create(host)
    assert [b.name for b in bundles(host)] == [f"{name}.bundle"] and not pid_lines(lost)
    # Several at once: one gets it, the others say so, and nothing of it is left.
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(lambda _: host("session", "destroy", name), range(4)))
    assert sorted(d.returncode for d in done) == [0, 1, 1, 1], done
    assert all(d.returncode == 0 or f"session {name} is being destroyed by another command: wait until that command has ended" in d.stderr
               or f"there is no session {name}" in d.stderr for d in done), done
    assert not bundles(host)


# --- machines and directories that are lost -----------------------------------------------------------


def test_a_lost_machine_and_a_lost_directory(host, base):
    name = create(host)
    runtime = json.loads((bundle(host, name) / "runtime.json").read_text())
    assert gc(host) == NOTHING
    assert host("session", "gc", check=0).stdout == "nothing was left behind\n"
    os.kill(runtime["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: not held(host, f"sessions/{name}.bundle"), "the machine's end")
    assert gc(host) == {"removed": [], "adopted": [{"name": name, "why": "its machine is gone, which is recorded now"}]}
    assert [s["state"] for s in host.json("session", "list")["sessions"]] == ["failed"] and gc(host) == NOTHING
    assert audited(bundle(host, name)) == orphans(host, name) == [("bundle-without-process", "adopted")]
    shown = " ".join(host("audit", "show", name, check=0).stdout.split())
    assert "session.orphaned kind=bundle-without-process action=adopted" in shown
    # Links that a guest or a user has put into the bundle lead nowhere when it is removed.
    outside = host.base / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (bundle(host, name) / "link").symlink_to(outside)
    (bundle(host, name) / "deep").mkdir()
    (bundle(host, name) / "deep" / "up").symlink_to("../../../../outside/kept")
    os.link(outside / "kept", bundle(host, name) / "hard")
    host("session", "destroy", name, check=0)
    assert (outside / "kept").read_text() == "kept" and not bundles(host)


def preload(host):
    """A library that sets the wall clock back by a day for a program that is started with it."""
    source, library = host.base / "back.c", host.base / "back.so"
    source.write_text("""
        #define _GNU_SOURCE
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        int clock_gettime(clockid_t clock, struct timespec *out)
        {
                int status = (int)syscall(SYS_clock_gettime, clock, out);

                if (clock == CLOCK_REALTIME)
                        out->tv_sec -= 86400;
                return status;
        }
        """)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return {"LD_PRELOAD": str(library), "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}


def test_a_clock_set_back_and_a_process_without_directory(host, base):
    ahead = host.json("session", "list")["sessions"]
    name = create(host, env=preload(host))
    day = json.loads((bundle(host, name) / "session.json").read_text())["createdAt"]
    assert not ahead and day[:10] in name and gc(host) == NOTHING
    assert host("session", "exec", name, "--", "echo", "here", check=0).stdout == "here\n"
    bundle(host, name).rename(host.base / "elsewhere")  # in one step, since its supervisor writes into it
    other = gc(host)
    assert other == {"removed": [{"name": name, "why": "its machine still ran after its directory was removed"}], "adopted": []}
    wait_until(lambda: not pid_lines(name), "the end of what ran without its directory")
    assert orphans(host, name) == [("process-without-bundle", "removed")] and gc(host) == NOTHING
    shutil.rmtree(host.base / "elsewhere")


@pytest.mark.parametrize("file", ("session.json", "workspace.json"))
def test_a_clone_that_the_disk_never_had(host, base, file):
    """Makes a session as a loss of power leaves one that was made just before: its files have names and no contents."""
    made = create(host)
    host("--state-dir", host.state / "sessions", "kill", f"{made}.bundle", check=0)
    name, other = cloner(host)(2)
    for one in (name, other, made):
        (bundle(host, one) / file).write_text("" if one != other else (bundle(host, one) / file).read_text())
    assert gc(host) == {"removed": [{"name": name, "why": "made just before the host lost power, and never run"}],
                        "adopted": []}
    assert orphans(host, name) == audited(host.state / "archive" / name) == [("half-made", "removed")]
    # A session that has run belongs to its user, who may look at it and destroy it.
    assert sorted(b.name for b in bundles(host)) == sorted(f"{one}.bundle" for one in (made, other))
    host("--state-dir", host.state / "sessions", "delete", f"{made}.bundle", check=0)
    host("session", "destroy", other, check=0)


# --- what is not ours, and what is much ---------------------------------------------------------------


def test_a_foreign_directory_is_left_alone(host, base):
    foreign = bundle(host, NAME)
    foreign.mkdir(parents=True, mode=0o700)
    host.state.chmod(0o700)
    foreign.parent.chmod(0o700)
    (foreign / "letter").write_text("mine")
    (foreign.parent / "notes").mkdir()
    making = foreign.parent / ".locks" / ".making"
    making.mkdir(parents=True, mode=0o700)
    (making / foreign.name).touch()  # its maker found the name taken, and was killed
    done = host("session", "destroy", NAME)
    assert done.returncode == 1 and "is not a session of microagent, and is left as it is" in done.stderr
    assert gc(host) == NOTHING and orphans(host, NAME) == [("half-made", "left")]
    assert gc(host) == NOTHING and len(orphans(host, NAME)) == 1  # once
    assert not making.exists() and host.json("session", "list") == {"sessions": []}
    assert (foreign / "letter").read_text() == "mine" and (foreign.parent / "notes").exists()
    shutil.rmtree(foreign)
    (foreign.parent / "notes").rmdir()


def destroy_all(host, names):
    """While sweeps look for sessions that nobody ends any more: none of these."""
    with ThreadPoolExecutor(3) as threads:
        ended = [threads.submit(host, "session", "destroy", name, check=0) for name in names]
        while not all(one.done() for one in ended):
            assert gc(host) == NOTHING
        for one in ended:
            one.result()


def check_many(host, count):
    """That many sessions at rest are listed, looked at, swept, and destroyed. Returns the seconds of each step."""
    seconds = {}

    def timed(what, do):
        began = time.monotonic()
        result = do()
        seconds[what] = round(time.monotonic() - began, 2)
        return result

    clone = cloner(host)
    names = sorted(timed("clone", lambda: clone(count)))
    assert len(set(names)) == count and sorted(b.name for b in bundles(host)) == [f"{n}.bundle" for n in names]
    listed = timed("list --json", lambda: host.json("session", "list"))["sessions"]
    assert [s["name"] for s in listed] == names
    assert {(s["state"], s["base"], s["source"], s["memoryMiB"]) for s in listed} == {("prepared", "web-v1", "new", 256)}
    lines = timed("list", lambda: host("session", "list", check=0).stdout).splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [[name, "web-v1", "prepared", "new"] for name in names]
    some = names[::max(1, count // 20)]
    for name in timed("status of 20", lambda: [
            host("--state-dir", host.state / "sessions", "--json", "status", f"{name}.bundle", check=0) for name in some]):
        assert json.loads(name.stdout)["event"]["state"] == "prepared"
    assert timed("gc", lambda: gc(host)) == NOTHING
    refused = timed("base delete", lambda: host("base", "delete", "web-v1"))
    assert refused.returncode == 1 and names[0] in refused.stderr
    # The machine of some sessions is gone, and the making of another was interrupted.
    for name in names[:3]:
        event = bundle(host, name) / "event.json"
        event.write_text(event.read_text().replace('"prepared"', '"running"'))
    (host.state / "sessions" / ".locks" / ".making").mkdir()
    (host.state / "sessions" / ".locks" / ".making" / f"{names[3]}.bundle").touch()
    (bundle(host, names[3]) / ".making").touch()
    found = timed("gc that finds some", lambda: gc(host))
    assert sorted(a["name"] for a in found["adopted"]) == names[:3] and [r["name"] for r in found["removed"]] == [names[3]]
    del names[3]
    states = {s["name"]: s["state"] for s in host.json("session", "list")["sessions"]}
    assert states == {name: "failed" if name in names[:3] else "prepared" for name in names}
    timed("destroy", lambda: destroy_all(host, names))
    assert not bundles(host) and gc(host) == NOTHING and host.json("session", "list") == {"sessions": []}
    return seconds


def test_fifty_sessions(host, base):
    """`make soak` has a thousand."""
    check_many(host, 50)
