# SPDX-License-Identifier: MIT
"""A session in quarantine is evidence. Only these end it: `session destroy` with its name, `delete`, and the commands
that end a quarantine. No pool, no end of a run or of an MCP server, no restore and no sweep ends it."""

import json
import os
import signal

import pytest

from conftest import BACKEND, wait_until
from mcp_client import Server
from pools import LATER
from test_fork import children_in_the_making, create, points, run

needs_templates = pytest.mark.skipif(BACKEND != "qemu", reason="no other backend saves machines")
KEPT = "is quarantined, so it is kept as it is"


def check_kept(host, name, file="/home/agent/evidence"):
    """Requires that its machine lives and has the same disk, which is read when the quarantine is over."""
    found, = [s for s in host.json("session", "list")["sessions"] if s["name"] == name]
    assert found["state"] == "quarantined", sorted(found.items())
    host("session", "gc", check=0)
    host("kill", name, check=0)
    host("start", name, check=0)
    assert run(host, name, f"cat {file}") == "evidence\n"
    host("session", "destroy", name, check=0)


def leave_evidence(host, name):
    run(host, name, "echo evidence > /home/agent/evidence; sync", user="root")


def stopped_in(trace):
    return trace.exists() and "stopped by SIGSTOP" in trace.read_text(errors="replace")


@needs_templates
def test_restore_beside_a_quarantine(web, tmp_path):
    """A stand-in for the supervisor stops before it asks for the machine's end, which is the second request, and goes
    on after the quarantine."""
    name = create(web)
    run(web, name, "echo first > /home/agent/file; sync")
    web("session", "snapshot", name, "first", check=0)
    leave_evidence(web, name)
    trace = tmp_path / "trace"
    web.wrap = ["strace", "-D", "-o", trace, "-e", "trace=clone,clone3,vfork", "-e", "inject=clone,clone3,vfork:signal=STOP:when=2"]
    restoring = web.popen("session", "restore", name, "first")
    web.wrap = []
    wait_until(lambda: stopped_in(trace) or restoring.poll() is not None, "the restore to stand still")
    web("quarantine", name, check=0)
    os.kill(restoring.pid, signal.SIGCONT)
    out, err = restoring.communicate()
    assert restoring.returncode == 1 and KEPT in err.decode(), (out, err)
    assert [p for p in points(web, name) if p.startswith(".")] == []
    check_kept(web, name)


def test_a_member_of_a_pool(place):
    place("base", "create", "pooled", check=0)
    place("pool", "set", "--base", "pooled", "--size", "1", "--network", "isolated", check=0)
    wait_until(lambda: place.json("pool", "status")["pools"][0]["ready"] == 1, "the member")
    member, = os.listdir(place.state / "pool" / "pooled-v1" / "ready")
    place("quarantine", member, check=0)
    listed, = [line for line in place("session", "list", check=0).stdout.splitlines() if member in line]
    assert "severed: " in listed and "being made" not in listed, listed
    assert place.json("session", "gc")["removed"] == []
    security = [line for log in (place.state / "audit").glob("security*") for line in log.read_text().splitlines()]
    assert not [line for line in security if "orphaned" in line and member in line], security
    made = place.json("session", "create", "--base", "pooled", "--network", "isolated", env=LATER)["name"]
    assert made != member
    place("pool", "drain", "--base", "pooled", check=0)
    # A member that was being made when the pool was drained goes a moment later.
    wait_until(lambda: {s["name"] for s in place.json("session", "list")["sessions"]} == {member, made}, "the pool to be gone")
    found, = [s for s in place.json("session", "list")["sessions"] if s["name"] == member]
    assert found["state"] == "quarantined" and not found.get("pooled"), found
    for name in (member, made):
        place("session", "destroy", name, check=0)
    place("base", "delete", "pooled-v1", check=0)


@pytest.mark.parametrize("network", ("isolated", "nat"))
def test_a_run_of_a_base(web, network):
    """A waiting call hears that its machine is being cut off before that is proven, and asks for the end at once."""
    child = web.popen("run", "--base", "web", "--network", network, "--", "sh", "-c",
                      "echo evidence > /home/agent/evidence; sync; echo there; sleep 1000")
    assert child.stdout.readline() == b"there\n"
    name, = [s["name"] for s in web.json("session", "list")["sessions"]]
    web("quarantine", name, check=0)
    out, err = child.communicate()
    assert child.returncode != 0 and f"session {name} {KEPT}" in err.decode() and f"`microagent session destroy {name}`" in err.decode(), (out, err)
    check_kept(web, name)


def test_an_mcp_server_and_its_model(web):
    """The tool refuses to end it, and so does the end of the server."""
    with Server(web, "--base", "web") as server:
        name = server.got("session_create")["session"]
        leave_evidence(web, name)
        web("quarantine", name, check=0)
        assert KEPT in server.fails("session_destroy", session=name)
    check_kept(web, name)


@needs_templates
def test_a_child_of_a_fork(web):
    """The guest decides how long the fork's command runs. The fork names the session that it leaves."""
    name = create(web)
    leave_evidence(web, name)
    fork = web.popen("session", "fork", name, "--on-fork", "sleep 1000", "--timeout", "500")
    wait_until(lambda: children_in_the_making(web, name), "the child")
    child, = children_in_the_making(web, name)
    web("quarantine", child, check=0)
    out, err = fork.communicate(timeout=60)
    assert fork.returncode == 1 and f"session {child} {KEPT}" in err.decode(), (out, err)
    assert f"hint: `microagent session destroy {child}` ends it" in err.decode(), err
    listed, = [s for s in web.json("session", "list")["sessions"] if s["name"] == child]
    assert listed["detail"].startswith("severed: ") and points(web, name) == [], listed
    check_kept(web, child)


@needs_templates
def test_a_child_of_a_fork_that_is_killed(web):
    name = create(web)
    leave_evidence(web, name)
    fork = web.popen("session", "fork", name, "--on-fork", "sleep 1000", "--timeout", "500")
    wait_until(lambda: children_in_the_making(web, name), "the child")
    child, = children_in_the_making(web, name)
    fork.send_signal(signal.SIGSTOP)
    web("quarantine", child, check=0)
    fork.kill()
    fork.communicate()
    web("session", "gc", check=0)
    check_kept(web, child)


def test_a_kill_while_it_is_cut_off(web):
    """A library asks for the end when its connection to the guest ends. The quarantine is waited for, and kept."""
    name = create(web)
    leave_evidence(web, name)
    child = web.popen("session", "exec", name, "--", "sleep", "1000")
    record = {"command": "kill", "identity": {"requestID": "k", "runtimeID": f"{name}.bundle", "role": "workload", "backend": BACKEND},
              "config": {"stateDir": str(web.state / "sessions")}}
    wait_until(lambda: "sleep" in run(web, name, "ps"), "the command")
    quarantine = web.popen("quarantine", name)
    child.wait()  # its connection has ended
    code, answer, _ = web.supervisor(record, args=["--keep-quarantined"])
    assert code == 1 and KEPT in answer["error"] and answer["errorReason"] == "session-quarantined", answer
    out, err = quarantine.communicate()
    assert quarantine.returncode == 0, (out, err)
    check_kept(web, name)


@pytest.mark.skipif(BACKEND != "qemu", reason="no other backend proves a quarantine by a broker")
@pytest.mark.parametrize("said", ("running", "halted", "stopped"))
@pytest.mark.parametrize("ends", (False, True))
def test_what_its_supervisor_records_afterwards(web, said, ends):
    """A supervisor that was taken over can write anything into the workspace, and may end. The quarantine is known all the same."""
    name = create(web)
    leave_evidence(web, name)
    web("quarantine", name, check=0)
    own, locks = web.state / "sessions" / f"{name}.bundle", web.state / "sessions" / ".locks"
    record, event = (json.loads((own / file).read_text()) for file in ("session.json", "event.json"))
    (own / "session.json").write_text(json.dumps({**record, "lifetimeSeconds": 60, "endsAt": "2026-01-01T00:00:00.000Z"}))
    (own / "event.json").write_text(json.dumps({**event, "state": said}))
    if ends:
        pid = json.loads((own / "runtime.json").read_text())["supervisorPid"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the supervisor to be gone")
    if (locks / ".ends").exists():
        os.utime(locks / ".ends", (0, 0))
    assert web.json("session", "gc")["removed"] == []
    found, = [s for s in web.json("session", "list")["sessions"] if s["name"] == name]
    assert found["state"] == "quarantined", sorted(found.items())
    assert "is quarantined" in web("start", name, check=1).stderr
    (own / "session.json").write_text(json.dumps(record))
    check_kept(web, name)
