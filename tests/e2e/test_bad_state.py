# SPDX-License-Identifier: MIT
"""Tests state files that are damaged or forged, and a disk that has no room for them."""

import json
import os
import shutil
import signal
import subprocess

import pytest

from conftest import BIN, default_kernel, wait_until
from test_supervisor import IDENTITY, request, sparse

FILES = ("workspace.json", "event.json", "events.json", "runtime.json", "result.json")
# The files that each command must read. It may ignore the others, but never replaces them.
COMMANDS = ("check", "inspect", "prepare", "start", "run", "halt", "stop", "kill")


def snapshot(directory):
    """Returns the readable contents of the directory: {name: bytes or kind}."""
    found = {}
    for path in sorted(directory.iterdir()):
        if path.is_symlink():
            found[path.name] = os.readlink(path)
        elif path.is_dir():
            found[path.name] = "directory"
        elif path.is_file():
            found[path.name] = path.read_bytes()
        else:
            found[path.name] = "something else"
    return found


def damage(path, how):
    good = path.read_bytes()
    path.unlink()
    if how == "a directory":
        path.mkdir()
    elif how == "a link to itself":  # nobody can read it, not even root
        path.symlink_to(path)
    elif how == "a FIFO":
        os.mkfifo(path)
    else:
        path.write_bytes({"empty": b"", "truncated": good[:len(good) // 2], "binary": b"\0\xff\x80" * 99,
                          "of another type": b"17" if good[:1] == b"[" else b"[]",
                          "too deep": b"[" * 100000,
                          "two documents": good + good}[how])


def life(host):
    """A workspace that was prepared and is stopped, with every state file."""
    config = host.config()
    assert host.supervisor(request("prepare", config))[0] == 0
    assert host.supervisor(request("stop", sparse(host)))[0] == 0
    directory = host.state / "agent-1"
    event = json.loads((directory / "event.json").read_text())
    (directory / "runtime.json").write_text(json.dumps({
        "format": 1, "accelerator": "tcg", "isolation": "emulated", "bootId": "0" * 36}))
    (directory / "result.json").write_text(json.dumps({
        "format": 1, "identity": {**IDENTITY, "backend": host.backend}, "backend": host.backend, "exitCode": 0, "stdout": "", "stderr": "",
        "resultPath": str(directory / "result.json"), "startedAt": event["observedAt"],
        "completedAt": event["observedAt"]}))
    for name in ("runtime.json", "result.json"):
        (directory / name).chmod(0o600)
    return config, directory


@pytest.mark.parametrize("how", ["empty", "truncated", "binary", "of another type", "too deep",
                                 "two documents", "a directory", "a link to itself", "a FIFO"])
def test_damaged_files_are_named_and_kept(host, how):
    config, directory = life(host)
    config["kernelPath"] = default_kernel(host)["path"]
    saved = host.base / "saved"
    shutil.copytree(directory, saved)
    told = {}
    for name in FILES:
        for command in COMMANDS:
            shutil.rmtree(directory)
            shutil.copytree(saved, directory)
            directory.chmod(0o700)
            damage(directory / name, how)
            before = snapshot(directory)
            full = command in ("check", "prepare", "start", "run")
            # A boot that is not refused is ended at once: it must not take damage for absence.
            code, answer, _ = host.supervisor(
                request(command, config if full else sparse(host)),
                env={"MICROAGENT_TEST_LIMIT_BOOT_TCG_MS": "1", "MICROAGENT_TEST_LIMIT_BOOT_KVM_MS": "1"})
            after = snapshot(directory)
            assert after[name] == before[name], (name, command, answer)
            if code != 0 and "deadline" not in answer["error"]:
                assert str(directory / name) in answer["error"], (name, command, answer)
                assert after == before, (name, command, answer)
                assert answer["errorCode"] == "io", answer
                told.setdefault(name, []).append(command)
    assert set(told["event.json"]) == set(COMMANDS)
    assert set(told["workspace.json"]) >= {"check", "inspect", "prepare", "start", "run"}
    assert set(told["events.json"]) >= {"prepare", "start", "run", "stop", "kill"}  # halt keeps the state that it finds
    assert set(told["result.json"]) >= {"inspect", "prepare", "start", "run"}
    assert set(told["runtime.json"]) >= {"prepare", "start", "run"}
    # A file that cannot be read is no reason to keep the workspace.
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


@pytest.mark.parametrize("how", ["a directory", "a link to itself", "a link to nothing"])
@pytest.mark.parametrize("name", ["agent-1/lease", ".locks/.lease-agent-1"])
def test_a_damaged_lease_is_named_and_deleted(host, name, how):
    """The lease does not say who lives. So the guard and the record are asked, and nobody lives."""
    config, directory = life(host)
    lease = host.state / name
    lease.mkdir() if how == "a directory" else lease.symlink_to(lease if how == "a link to itself" else host.base / "nothing")
    if how == "a directory":
        (lease / "full").mkdir()
    before = snapshot(directory)
    for command in ("prepare", "start", "run", "halt", "stop", "kill", "quarantine"):
        code, answer, _ = host.supervisor(request(command, config if command in ("prepare", "start", "run") else sparse(host)))
        assert (code, answer["errorCode"]) == (1, "io"), (command, answer)
        assert answer["error"] == f"{lease} is damaged, because it is of another type than the lease of a workspace: something else than microagent has put it there", (command, answer)
        assert (answer["errorReason"], answer["errorSubject"]) == ("workspace-damaged", "agent-1"), (command, answer)
        assert snapshot(directory) == before, command
    for command, body in (("check", config), ("inspect", sparse(host))):
        assert host.supervisor(request(command, body))[0] == 0, command
    assert host.supervisor(request("delete", sparse(host)))[0] == 0
    assert not directory.exists() and not os.path.lexists(lease)


@pytest.mark.parametrize("name", ["agent-1/lease", ".locks/.lease-agent-1"])
def test_a_machine_lives_whatever_became_of_its_lease(host, name):
    """The second name of the lease is gone, or somebody has replaced it."""
    config = host.config()
    for first in ("prepare", "start"):
        assert host.supervisor(request(first, config))[0] == 0
    (host.state / ".locks" / ".lease-agent-1").unlink()
    (host.state / name).unlink(missing_ok=True)
    (host.state / name).mkdir()
    runtime = json.loads((host.state / "agent-1" / "runtime.json").read_text())
    (host.state / "agent-1" / "runtime.json").unlink()  # the guard alone tells
    code, answer, _ = host.supervisor(request("delete", sparse(host)))
    assert code == 1 and answer["error"] == "workspace agent-1 is running; stop or kill it before delete", answer
    (host.state / "agent-1" / "runtime.json").write_text(json.dumps(runtime))
    assert host.supervisor(request("delete", sparse(host)))[1]["error"] == answer["error"]
    assert host.processes()
    host.supervisor(request("kill", sparse(host)))
    wait_until(lambda: not host.processes(), "its end")
    assert host.supervisor(request("delete", sparse(host)))[0] == 0
    assert not os.path.lexists(host.state / name)


def test_a_serial_log_without_end_is_not_printed(host):
    """Only a supervisor that was taken over makes such a log, since the log is halved above 8 MiB."""
    _, directory = life(host)
    with open(directory / "serial.log", "wb") as log:
        log.truncate(1 << 40)
    for words in ((), ("--follow",)):
        done = host("logs", *words, "agent-1")
        assert done.returncode == 1 and done.stdout == "", done
        assert "serial.log has 1099511627776 bytes, but microagent writes at most 8388608 to it: the file is not printed" in done.stderr, done.stderr
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def test_a_record_that_is_gone_is_missed(host):
    """A command that only looks refuses too, since the old contents cannot be compared."""
    config, directory = life(host)
    (directory / "workspace.json").unlink()
    before = snapshot(directory)
    for command, body in (("check", config), ("inspect", sparse(host)), ("start", config)):
        code, answer, _ = host.supervisor(request(command, body))
        assert code == 1 and answer["error"] == f"{directory}/workspace.json does not exist", answer
        assert answer["errorReason"] == "workspace-damaged" and snapshot(directory) == before, answer
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def rewrite(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def forge(directory, how):
    """Records that a live supervisor that was taken over may write."""
    event, runtime = directory / "event.json", directory / "runtime.json"
    if how == "of another backend":
        rewrite(event, identity={**IDENTITY, "backend": "bogus"})
    elif how == "of another boot":
        rewrite(runtime, bootId="0" * 36)
    elif how == "of another directory":
        rewrite(runtime, directory={"device": 1, "inode": 1})
        damage(event, "empty")
    elif how == "of a dead supervisor":
        rewrite(runtime, supervisorPid=os.getpid(), supervisorStartTime=1)
        event.unlink()
    elif how == "gone":
        event.unlink()
    else:
        damage(event, how)


@pytest.mark.parametrize("how, command, state", [
    ("empty", "kill", "stopped"), ("gone", "stop", "stopped"), ("empty", "quarantine", "quarantined"), ("a directory", "halt", None),
    ("of another backend", "kill", "stopped"), ("of another boot", "stop", "stopped"), ("of another boot", "kill", "stopped"),
    ("of another directory", "kill", "stopped"), ("of another backend", "quarantine", "quarantined")])
def test_a_machine_is_ended_whatever_became_of_its_event(host, how, command, state):
    """The lease says that the machine lives. Commands that end it, or cut it off, do not depend on the records."""
    config = host.config()
    for first in ("prepare", "start"):
        assert host.supervisor(request(first, config))[0] == 0
    event = host.state / "agent-1" / "event.json"
    forge(event.parent, how)
    code, answer, _ = host.supervisor(request("delete", sparse(host)))
    assert code == 1 and answer["error"] == "workspace agent-1 is running; stop or kill it before delete", answer
    code, answer, _ = host.supervisor(request("prepare", config))
    assert code == 1 and answer["errorCode"] in ("conflict", "io"), answer
    code, answer, _ = host.supervisor(request(command, sparse(host)))
    if state:
        assert code == 0 and answer["event"]["state"] == state, answer
        assert json.loads(event.read_text())["state"] == state
    else:  # the end cannot be recorded there
        assert code == 1 and answer["error"] == f"{event}: event.json is not a regular file: put a regular file there", answer
    if command == "quarantine":
        assert host.supervisor(request("kill", sparse(host)))[0] == 0
    assert not host.processes()
    assert host.supervisor(request("delete", sparse(host)))[0] == 0
    assert not event.parent.exists()


@pytest.mark.parametrize("how, told", [
    ("of another backend", 'workspace agent-1 uses the backend "bogus", but this is the supervisor of "qemu"'),
    ("of another boot", "unclean: the live supervisor did not answer and was killed"),
    ("of another directory", "event.json: the JSON document is empty"),
    ("of a dead supervisor", "failed: the live supervisor ended unexpectedly while the workspace was running")])
def test_a_stopped_supervisor_is_ended_whatever_it_wrote(host, how, told):
    """It answers nobody, so it is killed by its guard. Its own record may stay as it is."""
    config = host.config()
    for first in ("prepare", "start"):
        assert host.supervisor(request(first, config))[0] == 0
    directory = host.state / "agent-1"
    os.kill(json.loads((directory / "runtime.json").read_text())["supervisorPid"], signal.SIGSTOP)
    forge(directory, how)
    _, answer, _ = host.supervisor(request("kill", sparse(host)), env={"MICROAGENT_TEST_LIMIT_CONTROL_REQUEST_MS": "500"})
    assert (answer["event"]["detail"] if answer["ok"] else answer["error"]).endswith(told), answer
    assert not host.processes()
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def test_unknown_fields_in_state_files_are_ignored(host):
    """A later version may have written these files."""
    config, directory = life(host)
    for name in FILES:
        document = json.loads((directory / name).read_text())
        (document[-1] if isinstance(document, list) else document)["later"] = {"x": [1]}
        (directory / name).write_text(json.dumps(document))
    manifest = json.loads((directory / "workspace.json").read_text())
    manifest["config"]["later"] = True
    (directory / "workspace.json").write_text(json.dumps(manifest))
    for command, body in (("check", config), ("halt", sparse(host)), ("prepare", config)):
        done = subprocess.run([BIN / host.program], env=host.env, check=False, input=host.own(request(command, body)),
                              capture_output=True)
        assert json.loads(done.stdout)["ok"], done.stdout
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


@pytest.fixture(name="small")
def small_disk(host):
    """Mounts the state directory on a file system of half a MiB."""
    if os.getuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    host.state.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", host.state], check=True)
    try:
        yield host.state
    finally:
        subprocess.run(["umount", host.state], check=True)


def fill(directory, left):
    """Fills the file system and leaves so many free pages."""
    filler = directory / "filler"
    with open(filler, "wb", buffering=0) as file:
        free = os.statvfs(directory).f_bavail
        file.write(b"x" * 4096 * max(0, free - left))
    return filler


@pytest.mark.parametrize("command", ["prepare", "halt", "kill"])
def test_no_room_for_a_state_file(host, small, command):
    """Whichever write is the first without room: either all of the change happened, or the old state remains."""
    config, directory = life(host)
    if command == "halt":  # which changes nothing else of what does not run
        for name in ("event.json", "events.json"):
            text = (directory / name).read_text()
            (directory / name).write_text(text.replace('"stopped"', '"quarantined"'))
    changed = {**config, "hostname": "changed", "env": {"FILL": "x" * 30000}}
    saved = host.base / "saved"
    shutil.copytree(directory, saved)
    outcomes = []
    for left in range(0, 26):
        shutil.rmtree(directory)
        shutil.copytree(saved, directory)
        directory.chmod(0o700)
        before = snapshot(directory)
        filler = fill(small, left)
        code, answer, _ = host.supervisor(request(command, changed if command == "prepare" else
                                                  sparse(host)))
        filler.unlink()
        after = snapshot(directory)
        outcomes.append(code == 0)
        if code != 0:
            assert answer["errorCode"] == "io" and "space" in answer["error"], answer
            history = (json.loads(part.pop("events.json")) for part in (after, before))
            new, old = history
            assert new[:len(old)] == old  # it may have the event that was not completed
            assert after == before, (left, answer)
        else:
            state = json.loads(after["event.json"])["state"]
            assert state == {"prepare": "prepared", "halt": "halted", "kill": "stopped"}[command]
            assert ("changed" in after["workspace.json"].decode()) == (command == "prepare")
        assert host.supervisor(request("inspect", sparse(host)))[0] == 0
    assert set(outcomes) == {True, False}, outcomes
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def test_no_room_for_a_boot(host, small):
    """start is refused before it writes anything."""
    config, directory = life(host)
    before = snapshot(directory)
    code, answer, _ = host.supervisor(request("start", config))
    assert code != 0 and "space" in answer["error"], answer
    assert snapshot(directory) == before and small.exists()
    assert host.supervisor(request("delete", sparse(host)))[0] == 0
