# SPDX-License-Identifier: MIT
"""Tests details of the supervisor that a new user meets first."""

import hashlib
import itertools
import json
import shutil
import subprocess
import tarfile

import pytest

from conftest import BIN, HANG_S, default_kernel

IDENTITY = {"requestID": "req-1", "runtimeID": "w", "role": "workload", "backend": "qemu"}


def ask(host, command, config=None):
    return host.supervisor({"command": command, "identity": IDENTITY,
                            "config": config or {"stateDir": str(host.state)}})[:2]


@pytest.mark.parametrize("command", ["check", "prepare", "run"])
def test_a_read_only_root_file_system_is_refused(host, command):
    config = host.config(command=["sh", "-c", "echo mine > /etc/owner"])
    disk = host.disk()
    disk.chmod(0o444)
    before = hashlib.sha256(disk.read_bytes()).hexdigest()
    code, answer = ask(host, command, config)
    assert (code, answer["errorCode"]) == (1, "denied")
    for word in ("config.rootfsPath", str(disk), "cp --sparse=always"):
        assert word in answer["error"]
    assert hashlib.sha256(disk.read_bytes()).hexdigest() == before
    assert not (host.state / "w").exists()


def test_start_refuses_what_became_read_only(host):
    config = host.config()
    assert ask(host, "prepare", config)[0] == 0
    host.disk().chmod(0o444)
    code, answer = ask(host, "start", config)
    assert (code, answer["errorCode"]) == (1, "denied"), answer
    code, answer = ask(host, "inspect")
    assert code == 0 and answer["event"]["state"] == "prepared" and answer["verification"]["ok"]
    assert ask(host, "delete")[0] == 0


def locks(host):
    return sorted(p.name for p in (host.state / ".locks").iterdir()) \
        if (host.state / ".locks").exists() else []


def test_no_lock_file_outlives_its_workspace(host):
    config = host.config(command=["true"])
    assert ask(host, "delete")[0] == 0
    assert ask(host, "stop")[1]["errorCode"] == "not-found"
    assert ask(host, "start", config)[1]["errorCode"] == "not-found"
    assert locks(host) == []
    assert ask(host, "prepare", config)[0] == 0
    assert locks(host) == [".record-w", "w"]
    assert ask(host, "delete")[0] == 0
    assert locks(host) == []
    host("run", "true", check=0)
    assert locks(host) == []


@pytest.mark.parametrize("changes,code,detail", [
    ({"command": ["sleep", "1000"], "timeoutSeconds": 1}, 124,
     "the command was ended: its timeout of 1 s passed"),
    ({"command": ["no-such"]}, 127, "the command did not start: no-such: not found in PATH: install this program in the guest, or give its whole path"),
    ({"command": ["sh", "-c", "exit 124"]}, 124, "the command ended with exit code 124"),
])
def test_the_detail_says_why_a_command_ended(host, changes, code, detail):
    status, answer = ask(host, "run", host.config(**changes))
    assert status == 0 and answer["event"]["state"] == "failed"
    assert answer["result"]["exitCode"] == code
    assert answer["event"]["detail"] == detail
    assert ask(host, "delete")[0] == 0


@pytest.mark.parametrize("artifact,field,reason", [
    ("rootfs", "rootfsPath", "root-missing"),
    ("kernel", "kernelPath", "kernel-missing"),
    ("initrd", "initrdPath", "initrd-missing"),
])
def test_a_missing_file_is_named(host, artifact, field, reason):
    config = host.config()
    kernel = host.base / "kernel"
    shutil.copy(config["kernelPath"], kernel)
    shutil.copy(config["kernelPath"] + ".initrd", host.base / "kernel.initrd")
    config |= {"kernelPath": str(kernel), "initrdPath": str(host.base / "initrd")}
    (host.base / "kernel.initrd").rename(host.base / "initrd")
    assert ask(host, "prepare", config)[0] == 0
    gone = {"rootfs": host.disk(), "kernel": kernel, "initrd": host.base / "initrd"}[artifact]
    gone.unlink()
    code, answer = ask(host, "inspect")
    assert code == 0 and answer["verification"]["ok"] is False
    entry, *more = answer["verification"]["divergence"]
    assert entry["artifact"] == artifact
    assert [e["artifact"] for e in more] == (["init"] if artifact == "initrd" else [])  # which is in it
    assert str(gone) in entry["error"] and "No such file" in entry["error"]
    code, answer = ask(host, "start", config)
    assert (code, answer["errorCode"]) == (1, "not-found")
    assert f"config.{field}: {gone}" in answer["error"]
    assert (answer["errorReason"], answer["errorSubject"]) == (reason, str(gone))
    assert ask(host, "delete")[0] == 0


def test_what_is_no_kernel_is_refused(host):
    """The refusal comes before anything is recorded, and does not depend on the VMM."""
    for path in ("/etc/passwd", str(host.disk())):
        for command in ("check", "prepare", "run"):
            code, answer = ask(host, command, host.config(kernelPath=path, initrdPath=default_kernel(host)["path"] + ".initrd"))
            assert (code, answer["errorCode"]) == (1, "invalid"), answer
            assert answer["error"] == f"config.kernelPath: {path}: the file is not a kernel (neither a bzImage, an ELF image nor an arm64 Image)"
            assert (answer["errorReason"], answer["errorSubject"]) == ("not-a-kernel", path)
            assert not (host.state / "w").exists()


@pytest.mark.parametrize("name", ["workspace.json", "event.json"])
@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 99}'])
def test_a_damaged_record_is_named_with_the_way_out(host, name, text):
    config = host.config()
    assert ask(host, "prepare", config)[0] == 0
    path = host.state / "w" / name
    path.write_text(text)
    for command in ("inspect", "start"):
        code, answer = ask(host, command, config if command == "start" else None)
        assert (code, answer["errorCode"]) == (1, "io"), answer
        assert str(path) in answer["error"]
        assert (answer["errorReason"], answer["errorSubject"]) == ("workspace-damaged", "w"), answer
    assert "hint: `microagent delete w` removes the workspace\n" in host("status", "w", check=1).stderr
    host("delete", "w", check=0)
    assert not (host.state / "w").exists()


def mute(host, request, stdout, *args):
    """Runs the supervisor with a stdout that accepts nothing. Returns (exit code, stderr)."""
    command = ["sh", "-c", f'exec "$0" "$@" {stdout}', str(BIN / host.program), *args]
    done = subprocess.run(command, input=host.own(request).decode(), capture_output=True, text=True,
                          env=host.env, timeout=HANG_S, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("stdout", [">&-", "1</dev/null"])
def test_without_a_stdout_nothing_is_done(host, stdout):
    """If nobody gets the answer, nothing may have been done."""
    config = host.config()
    for request in ({"command": "host"}, {"command": "prepare", "identity": IDENTITY, "config": config}):
        code, said = mute(host, request, stdout)
        assert code == 1 and "stdout is closed" in said, said
    assert not (host.state / "w").exists()
    for option in ("--help", "--version", "--print-capabilities"):
        code, said = mute(host, {}, stdout, option)
        assert code == 1 and "stdout is closed" in said, said


@pytest.mark.parametrize("args", [["--attach"], ["--remove"], ["--reader"], ["--writer"], ["--events-fd", "{fd}"]])
def test_an_option_of_run_is_named(host, args):
    with open("/dev/null", "wb") as null:
        words = [word.format(fd=null.fileno()) for word in args]
        done = subprocess.run([BIN / host.program, *words], input='{"command":"host"}',
                              capture_output=True, text=True, env=host.env, timeout=HANG_S,
                              pass_fds=[null.fileno()], check=False)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["errorCode"]) == (1, "invalid")
    assert answer["error"] == f"{args[0]} works only with the command run, and the command is host"


@pytest.mark.parametrize("below", ["", "sub", "sub/sub"])
@pytest.mark.parametrize("mode", [0o600, 0o700])
def test_a_file_in_the_place_of_the_state_directory(host, tmp_path, below, mode):
    """The answer is the same for check and for prepare, whatever the file's mode is."""
    place = tmp_path / "plain"
    place.touch(mode)
    config = {**host.config(command=["true"]), "stateDir": str(place / below)}
    answers = [ask(host, command, config) for command in ("check", "prepare")]
    assert [(code, answer["errorCode"]) for code, answer in answers] == [(1, "invalid")] * 2, answers
    assert [answer["error"] for _, answer in answers] == [f"state directory {place / below} is not a directory: name another"] * 2


def asked_with(host, option, command):
    request = {"command": command, "identity": IDENTITY, "config": {"stateDir": str(host.state)}}
    done = subprocess.run([BIN / host.program, option], input=json.dumps(request), capture_output=True, text=True, env=host.env,
                          timeout=HANG_S, check=False)
    return done.returncode, json.loads(done.stdout)


def test_the_recorded_config(host):
    """The record is taken if a start asks for it, and is read as a record: an older version's may have unknown fields."""
    code, answer = asked_with(host, "--recorded", "kill")
    assert (code, answer["errorCode"]) == (1, "invalid"), answer
    assert answer["error"] == "--recorded works only with the commands prepare, start and console, and the command is kill"
    code, answer = asked_with(host, "--keep-quarantined", "inspect")
    assert (code, answer["error"]) == (1, "--keep-quarantined works only with the commands halt, stop, kill and delete, and the command is inspect")
    code, answer = asked_with(host, "--recorded", "start")
    assert (code, answer["errorCode"], answer["error"]) == (1, "not-found", "the workspace does not exist: prepare it first"), answer
    assert not (host.state / "w").exists()
    config = host.config(command=["true"])
    assert ask(host, "prepare", config)[0] == 0
    path = host.state / "w" / "workspace.json"
    record = json.loads(path.read_text())
    record["config"]["ofAnOlderVersion"] = True
    path.write_text(json.dumps(record))
    code, answer = asked_with(host, "--recorded", "start")
    assert (code, answer["errorCode"]) == (1, "conflict"), answer
    (host.state / ".locks" / ".record-w").unlink()
    code, answer = asked_with(host, "--recorded", "start")
    assert code == 0 and answer["event"]["state"] == "running", answer
    assert ask(host, "kill")[0] == 0 and ask(host, "delete")[0] == 0


@pytest.mark.parametrize("field", ["kernelPath", "rootfsPath"])
def test_a_workspace_that_never_was_is_not_to_be_deleted(host, field):
    """The answer names what is missing, and nothing else."""
    for command in ("check", "prepare"):
        code, answer = ask(host, command, host.config(**{field: str(host.base / "absent")}))
        assert (code, answer["errorCode"]) == (1, "not-found"), answer
        assert answer["error"] == f"config.{field}: {host.base}/absent does not exist"


def test_what_the_host_has_not(host):
    """An address of another host, an initrd, and the initrd of a kernel that boots with modules only."""
    for address, command in itertools.product(("192.0.2.1", "fe80::1"), ("check", "prepare", "run")):
        forwards = [{"host": address, "hostPort": 8080, "guestPort": 80}]
        code, answer = ask(host, command, host.config(network={"mode": "nat", "portForwards": forwards}))
        assert (code, answer["errorCode"]) == (1, "invalid"), answer
        assert answer["error"] == f"config.network.portForwards[0].host must be an address of this host, and {address} is not one"
    kernel = host.base / "lonely"
    kernel.write_bytes(bytes(0x202) + b"HdrS" + bytes(1024))  # as a bzImage begins
    with open("/bin/true", "rb") as program:  # what is unpacked, of which Firecracker looks at the head
        (host.base / "lonely.vmlinux").write_bytes(program.read(64))
    modules = host.base / "lonely.modules"
    modules.touch()
    code, answer = ask(host, "check", host.config(kernelPath=str(kernel)))
    assert (code, answer["errorCode"], answer["errorReason"]) == (1, "not-found", "no-initrd"), answer
    assert "config.initrdPath" not in answer["error"] and f"{kernel}.initrd" not in answer["error"]
    assert answer["error"] == f"config.kernelPath: the kernel {kernel} has no initrd beside it, and microagent cannot make one " \
        f"for it: an initrd without the modules in {modules} would not boot the kernel"
    named = {"kernelPath": str(kernel), "initrdPath": str(host.base / "other")}
    code, answer = ask(host, "check", host.config(**named))
    assert code == 1 and answer["error"] == f"config.initrdPath: {host.base}/other does not exist"
    assert not (host.state / "w").exists()


def test_the_forms_that_answers_have_are_taken(host):
    """A disabled mediation keeps its port, and entries of artifacts may come back as they were listed."""
    bundle = host.base / "b.tar"
    with tarfile.open(bundle, "w"):
        pass
    config = host.config(
        mediation={"enabled": False, "required": False, "port": 2048, "target": "127.0.0.1:9900", "failClosed": True},
        bundles=[{"name": "b", "path": str(bundle), "mountpoint": "/b", "mode": "ro", "kind": "bundle"}],
        outputs=[{"name": "o", "path": "/o", "kind": "output"}])
    code, answer = ask(host, "prepare", config)
    assert code == 0 and "mediation" not in answer, answer
    assert answer["artifacts"] == {"ingress": config["bundles"], "egress": config["outputs"]}
    code, answer, _ = host.supervisor({"command": "host", "identity": None})
    assert code == 0 and answer["host"]
    assert ask(host, "delete")[0] == 0
