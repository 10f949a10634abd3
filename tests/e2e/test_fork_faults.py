# SPDX-License-Identifier: MIT
"""Tests forks and snapshots with failures meanwhile: no room, a paused machine, processes that are killed. The session
goes on if its machine does, its origin is unchanged, and nothing is left."""

import json
import os
import signal
import subprocess

import pytest

from conftest import BACKEND, wait_until
from test_fork import bundle, create, digests, points, refused, run

pytestmark = pytest.mark.skipif(BACKEND != "qemu", reason="no other backend saves machines")
MIB = 1 << 20
# The host's own reserve of free space would refuse a session in so small a place before anything is written.
NO_RESERVE = {"MICROAGENT_TEST_LIMIT_STATE_FREE_BYTES": "0"}


def names(host):
    return [s["name"] for s in host.json("session", "list")["sessions"]]


def free_bytes(host):
    place = os.statvfs(host.state)
    return place.f_bavail * place.f_frsize


@pytest.fixture
def narrow(host):
    """Makes a warm base in a state directory that has room for it and half as much again."""
    if os.getuid():
        pytest.skip("mounting a small tmpfs needs root")
    host.state.mkdir(0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m,mode=700", "none", host.state], check=True)
    host.env.update(NO_RESERVE)
    try:
        host("base", "create", "web", check=0)
        host("base", "warm", "web", check=0)
        yield host
        host("session", "destroy", "--all", check=0)
        assert host.json("session", "gc") == {"removed": [], "adopted": []}
    finally:
        host.sweep()
        wait_until(lambda: not host.processes(), "the end of all processes")
        subprocess.run(["umount", host.state], check=True)


def fill(host, leaving):
    """Fills the place except for so many bytes."""
    with open(host.state / "logs-of-others", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, free_bytes(host) - leaving)
    return host.state / "logs-of-others"


@pytest.mark.parametrize("room", (0, 16 * MIB, 40 * MIB), ids=lambda room: f"{room >> 20} MiB")
def test_no_room(narrow, room):
    before, name = digests(narrow), create(narrow)
    run(narrow, name, "echo kept > /home/agent/file; head -c 20000000 /dev/urandom > /dev/shm/much; sync")
    filler = fill(narrow, room)
    for words in (("fork", name), ("fork", name, "--count", "3"), ("snapshot", name, "first")):
        left = free_bytes(narrow)
        said = narrow("session", *words, check=1).stderr
        assert "No space left on device" in said and name in said, said
        assert free_bytes(narrow) > left - MIB and names(narrow) == [name] and points(narrow, name) == []
        assert run(narrow, name, "cat /home/agent/file") == "kept\n"
    filler.unlink()
    children = [s["name"] for s in narrow.json("session", "fork", name)["sessions"]]
    assert run(narrow, children[0], "cat /home/agent/file") == "kept\n" and digests(narrow) == before


def test_no_room_to_go_back(narrow):
    """The session is as before, and goes back when there is room."""
    name = create(narrow)
    run(narrow, name, "echo first > /home/agent/file; sync")
    narrow("session", "snapshot", name, "first", check=0)
    run(narrow, name, "echo second > /home/agent/file; sync")
    filler = fill(narrow, 0)
    said = narrow("session", "restore", name, "first", check=1).stderr
    assert "No space left on device" in said and name in said, said
    assert [p["name"] for p in narrow.json("session", "snapshots", name)["snapshots"]] == ["first"]
    assert run(narrow, name, "cat /home/agent/file") == "second\n"
    filler.unlink()
    narrow("session", "restore", name, "first", check=0)
    assert run(narrow, name, "cat /home/agent/file") == "first\n"


def test_too_little_room_to_start_what_was_gone_back_to(narrow):
    """There is room for a copy of the snapshot's disk, and none to start a machine beside it: nothing has happened."""
    name = create(narrow)
    run(narrow, name, "echo first > /home/agent/file; sync")
    narrow("session", "snapshot", name, "first", check=0)
    run(narrow, name, "echo second > /home/agent/file; sync")
    said = narrow("session", "restore", name, "first", check=75, env={"MICROAGENT_TEST_LIMIT_STATE_FREE_BYTES": str(1 << 40)}).stderr
    assert "no space left where the session is: " in said and "make room and try again" in said, said
    assert [p for p in points(narrow, name) if "/." in p or p.startswith(".")] == []
    assert run(narrow, name, "cat /home/agent/file") == "second\n"
    narrow("session", "restore", name, "first", check=0)
    assert run(narrow, name, "cat /home/agent/file") == "first\n"


def test_a_paused_one(web):
    name = create(web, "--disk-quota", "64")
    writer = web.popen("session", "exec", "--user", "root", name, "--", "sh", "-c", "head -c 100000000 /dev/zero > /big; sync")
    wait_until(lambda: "paused" in web.json("status", name)["event"].get("detail", ""), "the pause")
    for words in (("fork", name), ("snapshot", name, "first")):
        error = json.loads(web("--json", "session", *words, check=75).stdout)
        assert error["error"] == f"session {name} is paused: its disk has grown to its quota of 64 MiB", error
        assert (error["errorReason"], error["errorSubject"]) == ("session-at-quota", name)
        assert f"microagent session quota {name} MIB" in error["hint"]
    assert points(web, name) == [] and names(web) == [name]
    web("session", "quota", name, "200", check=0)
    assert writer.wait() == 0, writer.communicate()
    writer.communicate()
    assert len(web.json("session", "fork", name)["sessions"]) == 1


def test_a_quarantine_during_a_save(web):
    """A quarantined machine is not copied, also if a save had begun. That its commands go on is test_guest_saved.c's."""
    name = create(web)
    # An earlier fork has had a copy of the disk, whose descriptor another file may have now.
    assert len(web.json("session", "fork", name)["sessions"]) == 1
    saving = web.popen("session", "snapshot", name, "first")
    wait_until(lambda: points(web, name), "the save to begin")
    wait_until(lambda: (bundle(web, name) / "fork.state").exists() or saving.poll() is not None, "the state")
    web("quarantine", name, check=0)
    out, err = saving.communicate()
    if saving.returncode:
        assert b"was quarantined before it was saved" in err or b"is quarantined" in err, err
        assert not list(bundle(web, name).glob("fork.*"))
    record = web.json("status", name)
    assert record["event"]["state"] == "quarantined", record


def test_a_halt_during_a_save(web):
    """A machine that is saved while it ends could not be started from the save. So either it is saved before, or not at all."""
    name = create(web)
    assert len(web.json("session", "fork", name)["sessions"]) == 1
    saving = web.popen("session", "fork", name)
    wait_until(lambda: points(web, name), "the save to begin")
    ended = web("halt", name)
    out, err = saving.communicate()
    assert ended.returncode == 0, ended.stderr
    if saving.returncode == 0:
        assert run(web, out.decode().split()[0], "echo up") == "up\n"
    else:
        assert b"ended before it was saved" in err or b"is ending or not yet running" in err or b"another command" in err, err
    assert web.json("status", name)["event"]["state"] == "halted"


def test_one_with_a_directory_of_the_host(web):
    given = web.base / "given"
    given.mkdir(exist_ok=True)
    name = create(web, "--share", given)
    for words in (("fork", name), ("snapshot", name, "first")):
        refused(web, name, f"microagent: session {name} has a shared directory of the host, which cannot be saved\n"
                "microagent: hint: `microagent session create` without --share makes one that can be saved\n", *words)
    assert points(web, name) == [] and names(web) == [name]


def process_of(host, name, comm):
    return next((pid for pid, line in host.processes().items() if name in line and comm in line), None)


@pytest.mark.parametrize("victim", ("live", "qemu-system"))
@pytest.mark.parametrize("words", (("fork", "--count", "3"), ("snapshot", "first")), ids=lambda words: words[0])
def test_the_machine_is_killed_meanwhile(web, victim, words):
    """A snapshot that was not saved by then does not exist, and one that was saved is whole."""
    before, name = digests(web), create(web)
    # Enough memory that the saving takes its time.
    run(web, name, "mount -o remount,size=60m /dev/shm; head -c 40000000 /dev/urandom > /dev/shm/much", user="root")
    child = web.popen("session", words[0], name, *words[1:])
    wait_until(lambda: (bundle(web, name) / "fork.state").exists() or child.poll() is not None, "the saving")
    pid = process_of(web, name, victim)
    if pid:
        os.kill(int(pid), signal.SIGKILL)
    out, err = child.communicate()
    assert child.returncode in (0, 1, 75), err  # 75: the supervisor is gone, and the request may be repeated
    wait_until(lambda: process_of(web, name, "qemu-system") is None, "the end of the machine")
    web("session", "gc", check=0)
    alive = [one for one in names(web) if one != name]
    assert len(alive) == (0 if child.returncode else 3 * (words[0] == "fork"))
    for one in alive:
        assert run(web, one, "wc -c < /dev/shm/much") == "40000000\n"
    kept = [] if child.returncode or words[0] == "fork" else ["first"]
    assert points(web, name) == kept and digests(web) == before
    web("session", "destroy", name, check=0)


def test_a_chain_of_forks(web):
    """Each goes on when those before it are gone. A snapshot of one in the middle is its own."""
    before, chain = digests(web), [create(web)]
    for depth in range(2):
        run(web, chain[-1], f"echo {depth} >> /home/agent/file; sync")
        if depth == 1:
            web("session", "snapshot", chain[-1], "middle", check=0)
            run(web, chain[-1], "echo lost >> /home/agent/file; sync")
            web("session", "restore", chain[-1], "middle", check=0)
        chain.append(web.json("session", "fork", chain[-1])["sessions"][0]["name"])
    for one in chain[:-1]:
        web("session", "destroy", one, check=0)
    assert run(web, chain[-1], "cat /home/agent/file") == "0\n1\n" and digests(web) == before
