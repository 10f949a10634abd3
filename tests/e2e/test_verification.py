# SPDX-License-Identifier: MIT
"""Tests verification: the files of a workspace are compared with prepare's record."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest

import schema_check
import strays
from conftest import BACKEND, BIN, DEFAULT_BACKEND, default_kernel, image, wait_until
from digests import sha256
from test_supervisor import request

F_OFD_SETLK = 37
IDENTITY = {"requestID": "req-1", "runtimeID": "w", "role": "workload", "backend": "qemu"}


def ask(host, command, config=None, args=()):
    config = config or {"stateDir": str(host.state)}
    code, answer, _ = host.supervisor({"command": command, "identity": IDENTITY, "config": config}, args=args)
    return code, answer


def own_kernel(host):
    """Makes a copy of kernel and initrd that a test may change. The kernel is a bzImage if every VMM must take it."""
    kernel, path = host.base / "kernel", default_kernel(host)["path"]
    unpacked = Path(f"{path}.vmlinux")
    shutil.copy(unpacked if host.backend != DEFAULT_BACKEND and unpacked.exists() else path, kernel)
    shutil.copy(f"{path}.initrd", f"{kernel}.initrd")
    os.chmod(f"{kernel}.initrd", 0o600)
    return kernel


def make_initrd(path, init):
    path.unlink()
    subprocess.run([BIN / "microagent-artifact", "initrd", "--out", path, "--init", init], check=True)


def diverging(answer):
    return [(e["artifact"], e.get("field")) for e in answer["verification"]["divergence"]]


def small_disk(host):
    """It is hashed in no time."""
    disk = host.base / "small.ext4"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", disk, "8M"], check=True)
    return disk


def test_every_digest_is_recorded_and_enforced_before_the_first_start(host):
    kernel, disk = own_kernel(host), small_disk(host)
    config = host.config(kernelPath=str(kernel), rootfsPath=str(disk),
                         image={"imageRef": "example", "resolvedRef": "example@1", "imageDigest": "sha256:" + "0" * 64})
    code, answer = ask(host, "check", config)
    assert code == 0 and answer["verification"]["rootfs"]["sha256"] == sha256(disk)
    code, answer = ask(host, "prepare", config)
    assert code == 0
    found = answer["verification"]
    assert found["ok"] is True and found["divergence"] == []
    assert (found["imageRef"], found["resolvedRef"]) == ("example", "example@1")
    assert found["imageDigest"] == "sha256:" + "0" * 64
    expected = {"kernel": sha256(kernel), "initrd": sha256(f"{kernel}.initrd"),
                "init": sha256(BIN / "microagent-init"), "rootfs": sha256(disk)}
    for artifact, digest in expected.items():
        assert found[artifact]["sha256"] == found[artifact]["recordedSHA256"] == digest, artifact
    recorded = json.loads((host.state / "w" / "workspace.json").read_text())
    assert {k: v["sha256"] for k, v in recorded["artifacts"].items()} == expected

    with open(disk, "r+b") as file:  # of one byte nobody reads
        file.seek(7 << 20)
        file.write(b"x")
    with open(kernel, "ab") as file:
        file.write(b"x")
    code, answer = ask(host, "inspect")
    assert code == 0 and answer["verification"]["ok"] is False
    assert diverging(answer) == [("kernel", "sha256"), ("rootfs", "sha256")]
    entry = answer["verification"]["divergence"][1]
    assert (entry["expected"], entry["actual"]) == (expected["rootfs"], sha256(disk))
    code, answer = ask(host, "start", config)
    assert (code, answer["errorCode"]) == (1, "conflict") and str(kernel) in answer["error"]
    with open(kernel, "r+b") as file:
        file.truncate(os.path.getsize(kernel) - 1)
    code, answer = ask(host, "start", config)
    assert (code, answer["errorCode"]) == (1, "conflict") and str(disk) in answer["error"]
    code, answer = ask(host, "inspect")
    assert answer["event"]["state"] == "prepared" and diverging(answer) == [("rootfs", "sha256")]
    assert not host.processes()

    assert ask(host, "prepare", config)[0] == 0  # accepts what is there now
    assert ask(host, "inspect")[1]["verification"]["ok"] is True
    disk.unlink()
    code, answer = ask(host, "inspect")
    assert code == 0 and diverging(answer) == [("rootfs", "sha256")]
    assert "No such file" in answer["verification"]["divergence"][0]["error"]
    assert answer["verification"]["divergence"][0]["actual"] is None
    assert "No such file" in answer["verification"]["rootfs"]["error"]
    assert ask(host, "delete")[0] == 0


def spoil(disk):
    """Changes one byte that no file uses."""
    with open(disk, "r+b") as file:
        file.seek(7 << 20)
        byte = file.read(1)
        file.seek(7 << 20)
        file.write(bytes([byte[0] ^ 1]))


def start_without_vmm(host, config):
    request = {"command": "start", "identity": IDENTITY, "config": config}
    return host.supervisor(request, env=host.without_vmm())[:2]


def ends_that_boot_nothing(host):
    """Ways by which a prepared workspace gets another state although no guest has run: (state, function)."""
    yield "stopped", lambda config: ask(host, "stop")
    yield "stopped", lambda config: ask(host, "kill")
    yield "quarantined", lambda config: ask(host, "quarantine")
    yield "halted", lambda config: ask(host, "quarantine") and ask(host, "halt")
    yield "failed", lambda config: start_without_vmm(host, config)


def test_the_root_is_enforced_until_a_guest_has_had_it(host):
    """A state that a workspace has reached without a boot does not make its disk the guest's own."""
    disk = small_disk(host)
    config = host.config(rootfsPath=str(disk))
    for state, end in ends_that_boot_nothing(host):
        assert ask(host, "prepare", config)[0] == 0
        end(config)
        code, answer = ask(host, "inspect")
        assert answer["event"]["state"] == state and answer["verification"]["ok"] is True, (state, answer)
        spoil(disk)
        for command in ("inspect", "check"):
            code, answer = ask(host, command, config if command == "check" else None)
            assert code == 0 and diverging(answer) == [("rootfs", "sha256")], (state, command, answer)
            assert answer["verification"]["divergence"][0]["actual"] == sha256(disk)
            assert "lastSHA256" not in answer["verification"]["rootfs"]
        if state == "quarantined":
            assert ask(host, "stop")[0] == 0
        code, answer = ask(host, "start", config)
        assert (code, answer["errorCode"], answer["errorReason"]) == (1, "conflict", "not-as-prepared"), (state, answer)
        assert f"the rootfs {disk} has changed since the workspace was prepared" in answer["error"]
        assert not (host.state / "w" / "rootfs.json").exists()
    assert not host.processes()
    assert ask(host, "delete")[0] == 0


def test_a_root_that_a_guest_has_had_is_its_own(host):
    """Also if the workspace was stopped before its first start. An earlier digest does not hold for a disk that was replaced."""
    config = host.config(rootfsPath=str(host.disk()))
    disk = Path(config["rootfsPath"])
    assert ask(host, "prepare", config)[0] == 0 and ask(host, "stop")[0] == 0
    code, answer = ask(host, "start", config)
    assert code == 0 and answer["event"]["state"] == "running", answer
    recorded = answer["verification"]["rootfs"]["recordedSHA256"]
    assert answer["verification"]["rootfs"]["lastSHA256"] == recorded
    assert json.loads((host.state / "w" / "rootfs.json").read_text())["sha256"] == recorded
    assert ask(host, "kill")[0] == 0
    spoil(disk)
    code, answer = ask(host, "check", config)
    assert code == 0 and answer["verification"]["ok"] is True
    # An earlier version wrote no rootfs.json at the first start.
    (host.state / "w" / "rootfs.json").unlink()
    code, answer = ask(host, "inspect")
    assert code == 0 and answer["verification"]["ok"] is True and answer["verification"]["rootfs"]["lastSHA256"] == recorded
    code, answer = start_without_vmm(host, config)
    assert code != 0 and answer["event"]["state"] == "failed"
    assert ask(host, "inspect")[1]["verification"]["ok"] is True

    disk.unlink()
    for args in ((), ("--full",)):
        code, answer = ask(host, "inspect", args=args)
        assert code == 0 and answer["verification"]["ok"] is False
        entry, = answer["verification"]["divergence"]
        assert (entry["artifact"], entry["expected"], entry["actual"]) == ("rootfs", recorded, None), entry
        assert "No such file" in entry["error"]
    assert ask(host, "delete")[0] == 0


def test_an_unreadable_file_is_a_divergence(host):
    kernel = own_kernel(host)
    config = host.config(kernelPath=str(kernel), rootfsPath=str(small_disk(host)))
    assert ask(host, "prepare", config)[0] == 0
    kernel.unlink()
    kernel.mkdir()
    code, answer = ask(host, "inspect")
    assert code == 0 and [e["artifact"] for e in answer["verification"]["divergence"]] == ["kernel"]
    assert "not a regular file" in answer["verification"]["kernel"]["error"]
    assert ask(host, "delete")[0] == 0


def test_relative_paths_lead_to_their_files_from_everywhere(host):
    """The paths are relative to the directory in which prepare was asked, from whichever directory they are looked at."""
    own_kernel(host)
    small_disk(host)
    extra = host.base / "data.ext4"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", extra, "1M"], check=True)
    config = host.config(kernelPath="kernel", rootfsPath="small.ext4",
                         disks=[{"name": "data", "path": "./data.ext4", "mountpoint": "/data", "mode": "ro"}])
    request = json.dumps({"command": "prepare", "identity": {**IDENTITY, "backend": host.backend}, "config": config}).encode()
    done = subprocess.run([BIN / host.program], input=request, env=host.env, cwd=host.base, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    recorded = json.loads((host.state / "w" / "workspace.json").read_text())["config"]
    assert (recorded["kernelPath"], recorded["rootfsPath"]) == (str(host.base / "kernel"), str(host.base / "small.ext4"))
    assert recorded["disks"][0]["path"] == str(extra)
    code, answer = ask(host, "inspect")
    assert code == 0 and answer["verification"]["ok"] and not diverging(answer), answer
    assert ask(host, "delete")[0] == 0


@contextlib.contextmanager
def asked_in_the_middle_of_a_digest(host, command, config):
    """A start or run that stands still while it takes the digest of its root, for the time of a `with`. [its answer] afterwards."""
    request = json.dumps({"command": command, "identity": {**IDENTITY, "requestID": "slow", "backend": host.backend}, "config": config}).encode()
    answers = []
    with subprocess.Popen([BIN / host.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=host.env) as asking:
        asking.stdin.write(request)
        asking.stdin.close()
        children = Path(f"/proc/{asking.pid}/task/{asking.pid}/children")

        def hashing():
            for pid in children.read_text().split():
                with contextlib.suppress(OSError):
                    if "sha256" in Path(f"/proc/{pid}/cmdline").read_text():
                        return int(pid)
            return None

        wait_until(hashing, "the digest to be taken")
        pid = hashing()
        os.kill(pid, signal.SIGSTOP)
        yield answers
        os.kill(pid, signal.SIGCONT)
        answers.append(json.loads(asking.stdout.read()))


@pytest.mark.parametrize("command", ["start", "run"])
def test_a_start_that_is_overtaken_while_it_looks(host, command):
    """A user who has killed a workspace, or removed it, finds no machine of an earlier request afterwards."""
    disk = host.base / "large.ext4"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", disk, "512M"], check=True)
    config = host.config(rootfsPath=str(disk))
    for last in ("kill", "delete"):
        assert ask(host, "prepare", config)[0] == 0
        os.utime(disk)  # nobody remembers its digest
        with asked_in_the_middle_of_a_digest(host, command, config) as answers:
            for also in ("kill", "delete")[:1 + (last == "delete")]:
                assert ask(host, also)[0] == 0
        word = {"kill": "stopped", "delete": "deleted"}[last]
        assert (answers[0]["ok"], answers[0]["errorCode"]) == (False, "conflict"), answers
        assert answers[0]["error"] == f"workspace w was {word} by another command while its files were being checked", answers
        if last == "kill":
            assert ask(host, "inspect")[1]["event"]["state"] == "stopped"
        assert (host.state / "w").exists() == (last == "kill")
    assert not host.processes()


def test_an_upgraded_init_is_said_until_the_next_prepare(host):
    kernel = own_kernel(host)
    config = host.config(kernelPath=str(kernel), rootfsPath=str(small_disk(host)))
    assert ask(host, "prepare", config)[0] == 0
    other = host.base / "init"
    shutil.copy(BIN / "microagent-init", other)
    with open(other, "ab") as file:
        file.write(b"a later version")
    make_initrd(host.base / "kernel.initrd", other)
    code, answer = ask(host, "inspect")
    assert diverging(answer) == [("initrd", "sha256"), ("init", "sha256")]
    assert answer["verification"]["divergence"][1]["actual"] == sha256(other)
    code, answer = ask(host, "start", config)
    assert (code, answer["errorCode"]) == (1, "conflict")
    assert "guest's init" in answer["error"] and "prepare the workspace again" in answer["error"]
    status = host("status", "w", check=0).stdout
    assert "no, not as prepared: initrd init" in status
    assert ask(host, "prepare", config)[0] == 0
    assert ask(host, "inspect")[1]["verification"]["ok"] is True
    # Makes an initrd in which no init of ours can be seen.
    (host.base / "kernel.initrd").write_bytes(b"\x1f\x8b compressed")
    assert "init" in [a for a, _ in diverging(ask(host, "inspect")[1])]
    assert ask(host, "delete")[0] == 0


def test_a_clone_of_an_image_is_not_hashed(host):
    """The digest of an image is computed once. A clone that we make of it has the same digest."""
    hashed = host.base / "hashed"
    spy = host.base / "bin"
    shutil.copytree(BIN, spy)
    (spy / "microagent-artifact").unlink()
    (spy / "microagent-artifact").write_text(f'#!/bin/sh\necho "$@" >>{hashed}\nexec {BIN}/microagent-artifact "$@"\n')
    (spy / "microagent-artifact").chmod(0o755)
    (spy / "microagent-init").unlink()  # a copy would be too young for its digest to be remembered
    (spy / "microagent-init").symlink_to(BIN / "microagent-init")

    def run(*words):
        done = subprocess.run([spy / "microagent", "--json", *words], env=host.env, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    run("create", "warm", "--memory", "256")  # the first one ever with this cache may need it
    if hashed.exists():
        hashed.unlink()
    answer = run("create", "w", "--memory", "256")
    assert not hashed.exists(), hashed.read_text()
    digest = image(host, "busybox")["sha256"]
    assert answer["verification"]["rootfs"]["sha256"] == digest
    assert answer["verification"]["imageRef"] == "busybox"
    assert answer["verification"]["imageDigest"] == "sha256:" + digest
    assert sha256(host.state / "w" / "rootfs.ext4") == digest
    host("delete", "warm", "w", check=0)


WRITES_AFTER_HASHING = """#!/bin/sh
[ -n "$AFTER" ] || exec {real} "$@"
said=$({real} "$@") || exit
if [ "$(readlink /proc/self/fd/3)" = {disk} ] && [ ! -e {disk}.written ]; then
	: >{disk}.written
	printf x | dd of={disk} bs=1 seek=7000000 conv=notrunc 2>/dev/null
fi
printf '%s\\n' "$said"
"""


def test_state_and_digest_are_of_one_moment(host):
    """Writes of a guest while prepare waited for its hash are not taken for a change by another program."""
    disk, spy = small_disk(host), host.base / "bin"
    shutil.copytree(BIN, spy)
    hasher = spy / "microagent-artifact"
    hasher.unlink()
    hasher.write_text(WRITES_AFTER_HASHING.format(real=BIN / "microagent-artifact", disk=disk))
    hasher.chmod(0o755)
    config = host.config(rootfsPath=str(disk))
    supervisor = shutil.copy(BIN / host.program, spy)  # which looks for it beside itself
    done = subprocess.run([supervisor], capture_output=True, check=False, env={**host.env, "AFTER": "1"},
                          input=host.own({"command": "prepare", "identity": IDENTITY, "config": config}))
    assert done.returncode == 0, done.stdout
    assert (host.base / "small.ext4.written").exists()
    recorded = json.loads((host.state / "w" / "workspace.json").read_text())["artifacts"]["rootfs"]["sha256"]
    assert recorded == sha256(disk)
    assert ask(host, "inspect")[1]["verification"]["ok"] is True
    assert ask(host, "delete")[0] == 0


def test_a_root_that_another_workspace_has(vm, host):
    """From another state directory, and as a disk, which may be a file of any workspace."""
    root = str(vm.state / "vm" / "rootfs.ext4")
    for command, config in (("prepare", {"rootfsPath": root}), ("run", {"rootfsPath": root}), ("run", {"disks": [
            {"name": "d", "path": root, "mountpoint": "/d", "mode": "ro"}]})):
        code, answer = ask(host, command, host.config(**config))
        assert (code, answer["errorCode"], answer["errorReason"]) == (1, "conflict", "disk-taken"), answer
        assert f"{root} is used by the workspace {vm.state}/vm, which runs" in answer["error"]
        assert answer["errorSubject"] == root and "fdset" not in answer["error"]
        assert not (host.state / "w").exists()
    # The disk of a running workspace is not an image either, since the copy would be inconsistent.
    for words in (("create", "w"), ("run",), ("base", "create", "b")):
        code = 125 if words == ("run",) else 1
        refused = host("--json", *words, "--image", root, *(("--", "true") if words == ("run",) else ()), check=code)
        answer = json.loads((refused.stdout or refused.stderr).splitlines()[-1])
        assert (answer["errorCode"], answer["errorReason"], answer["errorSubject"]) == ("conflict", "disk-taken", root), answer
        assert f"{root} is used by the workspace {vm.state}/vm, which runs and writes to it" in answer["error"]
    assert not (host.state / "w").exists() and host.json("base", "list") == {"bases": []}
    assert host.json("list") == {"workspaces": []}


@pytest.mark.skipif(BACKEND != "qemu", reason="the locks of a disk that QEMU takes")
def test_a_disk_that_another_program_locks(host):
    """Locks the disk as QEMU does. The error is in our words."""
    disk = small_disk(host)
    with open(disk, "r+b") as file:
        for byte in (100, 201, 203):  # QEMU's own locks
            fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0))
        code, answer = ask(host, "run", host.config(rootfsPath=str(disk)))
    assert code == 1 and "a disk of the machine is in use by another program of the host" in answer["error"], answer
    assert "fdset" not in json.dumps(answer)
    assert "fdset" in (host.state / "w" / "supervisor.log").read_text()
    assert ask(host, "delete")[0] == 0


def rootfs_of(answer):
    """The block's part about the root file system: of now, or of an earlier time, which it names."""
    found = answer["verification"]["rootfs"]
    assert answer["verification"]["ok"] is True and answer["verification"]["divergence"] == []
    assert ("sha256" in found) != ("lastSHA256" in found)
    assert ("observedAt" in found) == ("mayHaveChanged" in found) == ("lastSHA256" in found), found
    return found


def test_a_started_disk_is_told_and_not_compared(host):
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    disk = host.state / "w" / "rootfs.ext4"
    recorded = rootfs_of(host.json("status", "w"))["sha256"]
    # The answer of a ready guest was compared before the guest was ready.
    started = rootfs_of(host.json("start", "w"))
    assert started["lastSHA256"] == recorded
    host("exec", "w", "--", "sh", "-c", "echo written > /workspace/f; sync", check=0)
    running = rootfs_of(host.json("status", "w"))
    assert running == started and running["recordedSHA256"] == recorded
    assert f"may have changed since {running['observedAt']}" in host("status", "w", check=0).stdout
    # The new digest of a disk that is being written to is also one of a past moment.
    assert rootfs_of(host.json("status", "w", "--full"))["observedAt"] > running["observedAt"]
    host("kill", "w", check=0)
    now = sha256(disk)
    assert now != recorded
    full = rootfs_of(host.json("status", "w", "--full"))
    assert full["sha256"] == now and full["recordedSHA256"] == recorded
    assert "may have changed" not in host("status", "w", "--full", check=0).stdout
    last = rootfs_of(host.json("status", "w"))  # which does not hash, and perhaps knows that it is of now
    assert last.get("lastSHA256", last.get("sha256")) == now
    schema_check.validate("rootfs", json.loads((host.state / "w" / "rootfs.json").read_text()))
    (host.state / "w" / "rootfs.json").write_text("{")
    with open(disk, "r+b") as file:  # nobody knows its digest now
        file.seek(7 << 20)
        file.write(b"x")
    now = sha256(disk)
    code, answer = ask(host, "inspect")
    assert (code, answer["errorCode"]) == (1, "io") and "rootfs.json" in answer["error"]
    (host.state / "w" / "rootfs.json").unlink()
    code, answer = ask(host, "halt", args=["--full"])
    assert (code, answer["errorCode"]) == (1, "invalid")
    prepared = rootfs_of(host.json("start", "w", "--prepare"))  # forgets the digest, and takes what is there
    assert prepared["lastSHA256"] == prepared["recordedSHA256"] == now
    host("kill", "w", check=0)
    host("delete", "w", check=0)


SETTLED_AT_ONCE = {"MICROAGENT_TEST_LIMIT_DIGEST_SETTLED_MS": "0"}
NEVER_SETTLED = {"MICROAGENT_TEST_LIMIT_DIGEST_SETTLED_MS": "600000"}


def hashers(host):
    """Returns processes of this test that compute the digest of a disk at rest: {pid: what ps shows}."""
    found = {}
    for pid in strays.running(host.base):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text() == "ma-digest\n":
                found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes()
    return found


def restarted(host, **env):
    """Makes a workspace that has run and was halted."""
    host("start", "w", env=env, check=0)
    host("exec", "w", "--", "sh", "-c", "date > /workspace/f", check=0)
    host("halt", "w", check=0)


@pytest.mark.skipif(BACKEND == "apple-vf", reason="a Mac has no guard, which is who takes it")
def test_a_disk_at_rest_has_its_digest_taken(host):
    """Once, after a clean end, by a process that nobody waits for. The next start takes it for the last one."""
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    restarted(host, **SETTLED_AT_ONCE)
    wait_until(lambda: "sha256" in rootfs_of(host.json("status", "w")), "the digest of the disk")
    now = sha256(host.state / "w" / "rootfs.ext4")
    found = rootfs_of(host.json("status", "w"))
    assert found["sha256"] == now != found["recordedSHA256"]
    wait_until(lambda: not hashers(host), "the guard to end")
    assert "verified" in host("status", "w", check=0).stdout and "may have changed" not in host("status", "w", check=0).stdout
    started = rootfs_of(host.json("start", "w"))
    running = rootfs_of(host.json("status", "w"))
    assert started == running and running["lastSHA256"] == now and running["observedAt"] == json.loads((host.state / "w" / "rootfs.json").read_text())["observedAt"]
    host("kill", "w", check=0)
    host("delete", "w", check=0)


@pytest.mark.skipif(BACKEND == "apple-vf", reason="a Mac has no guard, which is who takes it")
def test_a_command_that_has_failed_leaves_a_disk_at_rest(host):
    """The guest has ended in order all the same."""
    config = host.config(command=["sh", "-c", "echo written > /workspace/f; exit 7"])
    for command in ("prepare", "run"):
        code, answer, _ = host.supervisor(request(command, config), env=SETTLED_AT_ONCE)
        assert code == 0, answer
    assert (answer["event"]["state"], answer["result"]["exitCode"]) == ("failed", 7), answer

    def rootfs():
        return host.supervisor(request("inspect", {"stateDir": config["stateDir"]}))[1]["verification"]["rootfs"]

    wait_until(lambda: "sha256" in rootfs(), "the digest of the disk")
    assert rootfs()["sha256"] == sha256(Path(config["rootfsPath"])) != rootfs()["recordedSHA256"]
    wait_until(lambda: not hashers(host), "the guard to end")
    assert host.supervisor(request("delete", {"stateDir": config["stateDir"]}))[0] == 0


@pytest.mark.skipif(BACKEND == "apple-vf", reason="a Mac has no guard, which is who takes it")
def test_nobody_waits_for_a_digest(host):
    """A process that would take for ever delays neither halt, start, stop nor delete. If it is killed it leaves nothing."""
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    restarted(host, **NEVER_SETTLED)
    wait_until(lambda: hashers(host), "somebody who takes the digest")
    assert not host.processes() and host.json("list")["workspaces"][0]["state"] == "halted"
    (pid, line), = hashers(host).items()
    assert os.fsencode(host.state) not in line
    os.kill(pid, signal.SIGKILL)
    before = rootfs_of(host.json("status", "w"))
    assert before["lastSHA256"] == before["recordedSHA256"]
    # A start: the guest writes, and the process that computes the old digest ends.
    restarted(host, **NEVER_SETTLED)
    wait_until(lambda: hashers(host), "somebody who takes the digest")
    (pid,) = hashers(host)
    host("start", "w", check=0)
    host("exec", "w", "--", "sh", "-c", "date > /workspace/g; sync", check=0)
    wait_until(lambda: pid not in hashers(host), "him to give up")
    assert "lastSHA256" in rootfs_of(host.json("status", "w"))
    host("kill", "w", check=0)
    assert not hashers(host)  # a machine that was cut off needs no digest
    # A delete: the disk belongs to nobody.
    restarted(host, **NEVER_SETTLED)
    wait_until(lambda: hashers(host), "somebody who takes the digest")
    host("delete", "w", check=0)
    wait_until(lambda: not hashers(host), "him to give up")
    # A disk that is removed with its machine is not hashed.
    host("run", "--memory", 256, "--", "true", env=NEVER_SETTLED, check=0)
    assert not hashers(host)
