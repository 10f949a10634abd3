# SPDX-License-Identifier: MIT
"""Tests runtime.json and the lease as a live supervisor that was taken over may leave them. Commands signal no other
process because of them, and find the machine without them."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

import inject
import strays
from conftest import BACKEND, held, make_host, wait_until
from test_session_share import ORDINARY, as_ordinary
from test_supervisor import request

NOBODY = 4194303  # the highest number that a process may have here, and none has it
START_TIME = 21  # fields of /proc/PID/stat, from 0; the name of `sleep` has no blanks


@pytest.fixture
def stranger():
    """Another user's process, if root runs the tests, as the record has one: its pid and when it began."""
    words = ["setpriv", "--reuid", "65534", "--clear-groups"] if os.getuid() == 0 else []
    process = subprocess.Popen([*words, "sleep", "600"])

    def name():
        with open(f"/proc/{process.pid}/comm", encoding="ascii") as comm:
            return comm.read()

    wait_until(lambda: name() == "sleep\n", "the stranger to be itself")
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        process.named = {"pid": process.pid, "startTime": int(stat.read().split()[START_TIME])}
    yield process
    alive = process.poll() is None
    process.kill()
    process.wait()
    assert alive, "a process of nobody's machine was ended"


@pytest.fixture(scope="module")
def user():
    """A host whose commands run as an ordinary user."""
    if os.getuid() != 0:
        pytest.skip("already an ordinary user: the other tests prove it")
    it = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    as_ordinary(it)
    yield it
    it.assert_clean()
    it.sweep()
    subprocess.run(["rm", "-rf", it.base], check=True)


def started(host, *words):
    host("create", "w", "--memory", 256, "--cpus", 1, *words, check=0)
    host("start", "w", check=0)
    record = host.state / "w" / "runtime.json"
    return record, json.loads(record.read_text())


def forge(record, facts, process):
    """Puts this process in the place of each process in a record."""
    facts = dict(facts, supervisorPid=process["pid"], supervisorStartTime=process["startTime"], broker=process, **process,
                 companions=[dict(process, name="passt 2"), dict(process, name="bwrap")])
    record.write_text(json.dumps(facts))


def check_gone(host, facts):
    numbers = [facts["supervisorPid"], facts["pid"], facts["broker"]["pid"], *(c["pid"] for c in facts["companions"])]
    assert not [number for number in numbers if os.path.exists(f"/proc/{number}")]
    assert not host.processes()


@pytest.mark.parametrize("command", ("status", "start", "delete"))
def test_a_process_of_others_that_it_names_lives_on(host, stranger, command):
    """Its supervisor has ended without a message. The next command ends what it has left."""
    record, facts = started(host)
    forge(record, facts, stranger.named)
    os.kill(facts["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: not host.processes(), "every process to end")
    host(command, "w", check=0)
    assert stranger.poll() is None
    if command == "start":
        host("kill", "w", check=0)
    if command != "delete":
        host("delete", "w", check=0)


def test_it_names_another_in_the_place_of_its_supervisor(host, stranger):
    """A supervisor that does not answer is killed with its machine, and the foreign process is not."""
    record, facts = started(host)
    forge(record, facts, stranger.named)
    os.kill(facts["supervisorPid"], signal.SIGSTOP)
    done = host("kill", "w", env={"MICROAGENT_TEST_LIMIT_CONTROL_REQUEST_MS": "500"}, check=0)
    assert "the live supervisor did not answer and was killed" in done.stderr
    check_gone(host, facts)
    host("delete", "w", check=0)


QUICK = {"MICROAGENT_TEST_LIMIT_CONTROL_REQUEST_MS": "500", "MICROAGENT_TEST_LIMIT_SEVER_MS": "500"}
HAS_GUARD = pytest.mark.skipif(BACKEND == "apple-vf", reason="a supervisor of Macs has no guard")


def locked(lease):
    lease.unlink()
    file = os.open(lease, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def kept_from_others(lease):
    """Opening it fails with EAGAIN."""
    file = locked(lease)
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    return file


def moved(lease):
    lease.rename(lease.with_name("x"))


def directory(lease):
    lease.unlink()
    (lease / "in" / "it").mkdir(parents=True)


def link(lease):
    lease.unlink()
    lease.symlink_to("/dev/null")


# Makes what stands at the first name of the lease when the command comes. The returned object is open meanwhile.
FIRST_NAMES = {
    "its lease": lambda lease: None,
    "nothing": lambda lease: lease.unlink(),
    "its lease elsewhere": moved,
    "a locked file": locked,
    "a file with a lease of the kernel": kept_from_others,
    "a directory": directory,
    "a link": link,
    "a lease without rights": lambda lease: lease.chmod(0),
}


def check_ended_by(host, command, change):
    """Its supervisor does not answer, and has changed its lease. It has also removed all pids, except for quarantine,
    which would take the machine for one that ended before."""
    record, facts = started(host)
    if command != "quarantine":
        forge(record, facts, {"pid": NOBODY, "startTime": 1})
    os.kill(facts["supervisorPid"], signal.SIGSTOP)
    file = change(host.state / "w" / "lease")
    done = host(command, "w", env=QUICK)
    if command == "quarantine":
        assert done.returncode != 0 and "quarantine failed and the machine was killed: " in done.stderr, done
    else:
        assert done.returncode == 0, done
    check_gone(host, facts)
    if command in ("status", "quarantine"):
        assert host.json("status", "w")["event"]["state"] == "failed"
    return file


@HAS_GUARD
@pytest.mark.parametrize(("command", "first"), [
    *(("kill", first) for first in FIRST_NAMES),
    *((command, first) for command in ("status", "delete", "quarantine") for first in ("its lease", "nothing", "a locked file"))])
def test_it_names_nobody(host, command, first):
    """Another kind of file may be in the place of its lease."""
    file = check_ended_by(host, command, FIRST_NAMES[first])
    if command != "delete":
        host("delete", "w", check=0)
    assert not list((host.state / ".locks").iterdir())
    if file is not None:
        os.close(file)


@HAS_GUARD
@pytest.mark.parametrize("command", ("kill", "status", "delete", "quarantine"))
def test_a_users_lease_without_rights(user, command):
    """Both names are of the same file."""
    check_ended_by(user, command, FIRST_NAMES["a lease without rights"])
    if command != "delete":
        user("delete", "w", check=0)


@HAS_GUARD
def test_a_companion_of_a_user_takes_the_rights_of_the_lease(user):
    """A virtiofsd that was taken over can change the mode of inherited files. The workspace can still be used."""
    work = user.base / "work"
    work.mkdir()
    os.chown(work, ORDINARY, ORDINARY)
    _, facts = started(user, "--network", "isolated", "--share", f"{work}:/work")
    outer, = (c["pid"] for c in facts["companions"] if c["name"].startswith("virtiofsd"))
    server = int(Path(f"/proc/{outer}/task/{outer}/children").read_text(encoding="ascii").split()[0])
    lease, = (fd for fd, path in strays.descriptors(server).items() if path.endswith("/lease"))
    assert inject.system_call(server, inject.FCHMOD, lease, 0) == 0
    assert user.json("status", "w")["event"]["state"] == "running"
    assert "running" in user("delete", "w", check=1).stderr
    assert inject.system_call(server, inject.FCHMOD, lease, 0) == 0
    user("kill", "w", check=0)
    check_gone(user, facts)
    user("start", "w", check=0)
    user("kill", "w", check=0)
    user("delete", "w", check=0)


@HAS_GUARD
def test_quarantine_does_not_call_killed_what_lives(host, stranger):
    """An attacker has killed the guard, by which a command finds a supervisor that names another process in its own place."""
    record, facts = started(host)
    forge(record, facts, stranger.named)
    os.kill(facts["supervisorPid"], signal.SIGSTOP)
    with open(f"/proc/{facts['supervisorPid']}/stat", encoding="ascii") as stat:
        guard = int(stat.read().rsplit(")", 1)[1].split()[1])
    os.kill(guard, signal.SIGKILL)
    said = host("quarantine", "w", env={**QUICK, "MICROAGENT_TEST_LIMIT_KILL_MS": "500"}, check=1).stderr
    assert "quarantine failed, and processes of the workspace are still alive" in said and "was killed" not in said, said
    assert os.path.exists(f"/proc/{facts['supervisorPid']}")
    os.kill(facts["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: not held(host), "every process to end")
    host("delete", "w", check=0)


@HAS_GUARD
def test_the_path_in_a_title_is_not_looked_at(host):
    """A process of the machine calls itself a guard. No command follows the path in its title."""
    _, facts = started(host)
    (host.base / "ma-guard").symlink_to("/bin/sleep")
    named, trace = host.base / "named" / "w", host.base / "trace"
    lease = os.open(host.state / "w" / "lease", os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen([f"microagent-qemu-supervisor: guard {named}", "600"], executable=host.base / "ma-guard", stdin=lease) as impostor:
        os.close(lease)
        wait_until(lambda: Path(f"/proc/{impostor.pid}/comm").read_text() == "ma-guard\n", "the impostor to be itself")
        os.kill(facts["supervisorPid"], signal.SIGSTOP)
        host.wrap = ["strace", "-f", "-s", "4096", "-o", trace, "-e", "trace=%file,read"]
        killing = host.popen("kill", "w", env=QUICK)
        wait_until(lambda: not os.path.exists(f"/proc/{facts['supervisorPid']}"), "the supervisor to be killed")
        impostor.kill()
        assert killing.wait() == 0, killing.stderr.read()
        host.wrap = []
    looked = [line for line in trace.read_text(errors="replace").splitlines() if str(named) in line]
    assert looked and not [line for line in looked if "read(" not in line], looked
    check_gone(host, facts)
    host("delete", "w", check=0)


@contextmanager
def in_place_of_its_ear(path, answer=None, state=None, remove=False, first=False):
    """Answers one client of the live supervisor. Without an answer of its own it passes on the supervisor's, which is
    also asked if its turn is first. Before that the event says that the workspace is in the given state, or the
    event is removed."""
    real = path.with_name("ear")
    path.rename(real)
    with socket.socket(socket.AF_UNIX) as ear:
        ear.bind(str(path))
        ear.listen()

        def say():
            asked, _ = ear.accept()
            with asked, socket.socket(socket.AF_UNIX) as ask:
                question = asked.makefile("rb").readline()
                said = b""
                if first or answer is None:
                    ask.connect(str(real))
                    ask.sendall(question)
                    said = ask.makefile("rb").readline()
                event = json.loads((path.parent / "event.json").read_text())
                if state:
                    (path.parent / "event.json").write_text(json.dumps(dict(event, state=state)))
                if remove:
                    (path.parent / "event.json").unlink()
                asked.sendall(said if answer is None else json.dumps(answer).encode() + b"\n")

        liar = threading.Thread(target=say)
        liar.start()
        yield
        liar.join()
    real.rename(path)


LIES = {
    "it was killed": {"ok": False, "errorCode": "io", "error": "quarantine failed and the machine was killed: it is not so"},
    "it has ended": {"ok": False, "errorCode": "conflict", "error": "w ended before the quarantine was complete"},
    "it cannot": {"ok": False, "errorCode": "unsupported", "error": "quarantine is not supported"},
}


@pytest.mark.parametrize("lie", LIES)
def test_quarantine_believes_no_answer(host, lie):
    """The machine goes on whatever its supervisor says, so it is killed."""
    _, facts = started(host)
    with in_place_of_its_ear(host.state / "w" / "control.sock", LIES[lie]):
        said = host("quarantine", "w", env={"MICROAGENT_TEST_LIMIT_KILL_MS": "2000"}, check=1).stderr
    assert f"quarantine failed and the machine was killed: the workspace's machine was still running after this error: {LIES[lie]['error']}" in said, said
    check_gone(host, facts)
    assert host.json("status", "w")["event"]["state"] == "failed"
    host("delete", "w", check=0)


def test_quarantine_beside_another_one(host):
    """This comes first, and is no reason to wait for an end."""
    _, facts = started(host)
    forever = {"MICROAGENT_TEST_LIMIT_KILL_MS": "1000000000"}
    with in_place_of_its_ear(host.state / "w" / "control.sock", LIES["it has ended"], first=True):
        assert "workspace w is already quarantined" in host("quarantine", "w", env=forever, check=1).stderr
    host("kill", "w", check=0)
    check_gone(host, facts)
    host("delete", "w", check=0)


def test_quarantine_beside_an_end(host):
    """An end that has begun meanwhile is not overwritten."""
    _, facts = started(host)
    with in_place_of_its_ear(host.state / "w" / "control.sock", state="stopping"):
        host("quarantine", "w", check=0)
    assert json.loads((host.state / "w" / "event.json").read_text())["state"] == "stopping"
    host("kill", "w", check=0)
    check_gone(host, facts)
    host("delete", "w", check=0)


@pytest.mark.parametrize("lie", ["removed", "running", "halted"])
def test_quarantine_records_what_its_supervisor_does_not(host, lie):
    """The machine is cut off, and its event comes after the answer, or says something else. The command writes another event."""
    _, facts = started(host)
    what = {"remove": True} if lie == "removed" else {"state": lie}
    with in_place_of_its_ear(host.state / "w" / "control.sock", **what):
        host("quarantine", "w", check=0)
    assert json.loads((host.state / "w" / "event.json").read_text())["state"] == "quarantined"
    assert host.json("status", "w")["event"]["state"] == "quarantined"
    host("kill", "w", check=0)
    check_gone(host, facts)
    host("delete", "w", check=0)


@HAS_GUARD
@pytest.mark.parametrize("answer", [True, "conflict"])
def test_quarantine_is_proven_by_the_broker(host, answer):
    """The supervisor has ended the companions, and records a quarantine or says that there is one. Its broker has cut
    nothing. The machine is killed."""
    _, facts = started(host)
    event = json.loads((host.state / "w" / "event.json").read_text())
    os.kill(facts["supervisorPid"], signal.SIGSTOP)
    for companion in facts["companions"]:
        if companion["name"] != "bwrap":
            os.kill(companion["pid"], signal.SIGKILL)
    said = {"ok": True, "event": dict(event, state="quarantined")} if answer is True else \
        {"ok": False, "errorCode": answer, "error": "workspace w is quarantined or is being quarantined"}
    with in_place_of_its_ear(host.state / "w" / "control.sock", said, state="quarantined"):
        told = host("quarantine", "w", env={"MICROAGENT_TEST_LIMIT_KILL_MS": "2000"}, check=1).stderr
    why = "this could not be proven" if answer is True else "the workspace's machine was still running"
    assert "quarantine failed and the machine was killed: " in told and why in told, told
    check_gone(host, facts)
    host("delete", "w", check=0)


@HAS_GUARD
@pytest.mark.parametrize("state", ["quarantined", "halted", "stopped", "failed"])
def test_quarantine_of_a_machine_that_is_said_to_need_none(host, state):
    """The supervisor has recorded that its machine is in quarantine, or has ended, while the machine runs."""
    _, facts = started(host)
    place = host.state / "w" / "event.json"
    place.write_text(json.dumps(dict(json.loads(place.read_text()), state=state)))
    said = host.json("quarantine", "w")
    assert said["event"]["state"] == "quarantined" and "severed: " in said["event"]["detail"], said
    assert "workspace w is already quarantined" in host("quarantine", "w", check=1).stderr
    assert os.path.exists(f"/proc/{facts['pid']}")
    host("kill", "w", check=0)
    check_gone(host, facts)
    host("delete", "w", check=0)


def test_quarantine_without_an_ear(host):
    _, facts = started(host)
    (host.state / "w" / "control.sock").unlink()
    said = host("quarantine", "w", env={"MICROAGENT_TEST_LIMIT_KILL_MS": "2000"}, check=1).stderr
    assert "quarantine failed and the machine was killed: the workspace's machine was still running" in said, said
    check_gone(host, facts)
    host("delete", "w", check=0)


def test_a_session_has_no_directory_by_an_answer(host):
    """The shares that a supervisor claims to have are neither shown nor recorded, since the next machine would get them."""
    host("base", "create", "web", check=0)
    name = host.json("session", "create", "--network", "isolated", "--base", "web")["name"]
    given, other = host.base / "given", host.base / "other"
    given.mkdir()
    other.mkdir()
    own = host.state / "sessions" / f"{name}.bundle"
    lie = {"tag": "workspace", "path": f"{other}\x1b[31m", "mountpoint": "/workspace", "mode": "rw", "anyway": True}
    for shares in ([lie], [{}], []):
        with in_place_of_its_ear(own / "control.sock", {"ok": True, "shares": shares}):
            told = host.json("session", "share", name, given, "--ro")["shares"]
        assert told == [{"path": str(given), "mountpoint": "/workspace", "mode": "ro", "direct": True}]
        assert json.loads((own / "session.json").read_text())["shares"] == told
    host("session", "destroy", name, check=0)
    host("base", "delete", "web-v1", check=0)


def test_a_record_of_more_companions_than_there_are(host, stranger):
    """No command runs out of descriptors, and none of these processes is ended. A record that is too long is not read."""
    record, facts = started(host)
    record.write_text(json.dumps(dict(facts, companions=[stranger.named] * 25000)))
    said = host("quarantine", "w", check=1).stderr
    assert "quarantine failed and the machine was killed: runtime.json in the workspace is damaged: it names 25000 companions, and a machine cannot have so many" in said, said
    check_gone(host, facts)
    host("start", "w", check=0)
    facts = json.loads(record.read_text())
    record.write_text(json.dumps(dict(facts, companions=[stranger.named] * 100000)))
    host("kill", "w", check=0)
    check_gone(host, facts)
    host("delete", "w", check=0)


def test_a_state_directory_that_cannot_be_made(user):
    """`check` refuses it as `prepare` does, and makes nothing."""
    config = {**user.config(), "stateDir": "/root-only/x", "kernelPath": user.json("kernel", "list")["kernels"][0]["path"]}
    os.chown(config["rootfsPath"], ORDINARY, ORDINARY)
    for command in ("check", "prepare"):
        code, answer, _ = user.supervisor(request(command, config))
        assert code == 1 and answer["errorCode"] == "denied", (command, answer)
        assert answer["error"].startswith("state directory: /root-only/x: ") and "Permission denied" in answer["error"], answer
    assert not os.path.exists("/root-only")


@pytest.mark.parametrize("name", ["", "event.json"])
def test_rights_that_it_has_taken(user, name):
    """The supervisor has taken the rights from its directory or its record, so that an ordinary user may not read them.
    The machine is seen, and is ended."""
    _, facts = started(user, "--network", "isolated")
    os.kill(facts["supervisorPid"], signal.SIGSTOP)
    (user.state / "w" / name).chmod(0o400 if not name else 0)
    assert [row["name"] for row in user.json("list")["workspaces"]] == ["w"]
    user("kill", "w", env=QUICK)
    check_gone(user, facts)
    user("delete", "w", check=0)
