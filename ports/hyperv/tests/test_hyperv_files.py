# SPDX-License-Identifier: MIT
"""Tests the files of machines of microagent-hyperv-supervisor: which are used, how they are checked, and what is refused."""

import json
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

import hyperv
import schema_check
from conftest import default_kernel
from hyperv import SHIPPED, is_empty, run_in_guest
from hyperv_standin import footer, windows_path


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    yield from hyperv.bench_in(tmp_path_factory.mktemp("hyperv"))


@pytest.fixture(scope="module")
def config(place, tmp_path_factory):
    return hyperv.config_of(place, tmp_path_factory.mktemp("root") / "busybox.ext4")


@pytest.fixture(name="vm")
def the_supervisor(bench, config, tmp_path):
    yield from hyperv.supervisor_on(bench, tmp_path / "state", config)


@pytest.fixture(name="broker")
def the_broker(bench):
    return bench[0]


@pytest.mark.soak
def test_run(vm):
    """A run in the foreground answers with the result of its command."""
    answer = vm.ok("run", command=["sh", "-c", "echo out; echo err >&2; exit 3"])
    result = answer["result"]
    assert (result["exitCode"], result["stdout"], result["stderr"]) == (3, "out\n", "err\n")
    assert result["backend"] == "windows-hyperv" and answer["event"]["state"] == "failed"
    assert vm.ok("inspect")["result"] == result
    slow = vm.ok("run", "slow", command=["sleep", "100"], timeoutSeconds=1)
    assert slow["result"]["timedOut"] and slow["event"]["detail"] == "the command was ended: its timeout of 1 s passed"
    assert vm.ok("run", "none", command=["/nonexistent"])["result"]["exitCode"] == 127


def make_disk(path, label):
    """Makes an ext4 in a fixed VHD."""
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", label, path, "8M"], check=True, capture_output=True)
    with open(path, "ab") as file:
        file.write(footer(8 << 20))
    return path


@pytest.mark.soak
def test_disks(vm, broker, tmp_path):
    """Further disks are found by their LUNs, read-only or writable. A file that is no virtual hard disk is refused."""
    read, write = make_disk(tmp_path / "read.vhd", "read"), make_disk(tmp_path / "write.VHD", "write")
    disks = [{"name": "r", "path": windows_path(read), "mountpoint": "/mnt/r", "mode": "ro"},
             {"name": "w", "path": windows_path(write), "mountpoint": "/mnt/w", "mode": "rw"}]
    before = read.read_bytes()
    vm.ok("prepare", disks=disks)
    address = vm.ok("start", disks=disks)["hvSocket"]
    code, text = run_in_guest(broker, address, "sh", "-c", "touch /mnt/r/x || echo refused; echo kept > /mnt/w/x && sync && grep /mnt/ /proc/mounts")
    assert code == 0 and "refused" in text and "/mnt/r ext4 ro" in text and "/mnt/w ext4 rw" in text, text
    vm.ok("stop")
    assert read.read_bytes() == before and b"kept\n" in write.read_bytes()
    for name, contents, why in (("raw.img", bytes(8 << 20), "ends in .vhd or .vhdx"), ("none.vhd", bytes(8 << 20), "no footer"),
                                ("none.vhdx", bytes(8 << 20), "the file is not a VHDX file"), ("short.vhd", bytes(1 << 20) + footer(8 << 20), "its footer says")):
        (tmp_path / name).write_bytes(contents)
        code, text = vm.refused("check", disks=[{**disks[0], "path": windows_path(tmp_path / name)}])
        assert code == "invalid" and text.startswith("config.disks[0].path: ") and why in text, text


# How a config asks for a field: by the schema's example, and by a row where the example is not for Windows or the refusal is
# of a part.
FIELDS = {
    **{name: {name: field["examples"][0]} for name, field in schema_check.load("defs")["$defs"]["config"]["properties"].items()
       if "examples" in field},
    "network.mode": {"network": {"mode": "nat"}}, "shares": {"shares": [{"tag": "t", "path": "Z:\\tmp", "mountpoint": "/t", "mode": "ro"}]},
    "bundles": {"bundles": [{"name": "b", "path": "b.tar", "mountpoint": "/b"}]},
    "mediation.port": {"mediation": {"enabled": True, "required": True, "port": 1 << 31, "target": "127.0.0.1:1", "failClosed": True}},
    "vsockListeners[].port": {"vsockListeners": [{"port": 1 << 31, "target": "127.0.0.1:1"}]},
    "limits": {"limits": {"diskOpsPerSecond": 10}}, "accelerator": {"accelerator": "kvm"},
    "rootfsBase": {"rootfsBase": "base.ext4"}, "rootfsPath": {"rootfsPath": None, "initrdPath": "i"},
    "macos": {"kernelPath": None, "macos": {f"{name}Path": "m" for name in ("hardwareModel", "auxiliaryStorage", "machineIdentifier")}}}


@pytest.mark.soak
def test_what_is_not_given(vm):
    """Each field that no machine can have is refused by its name, with the reason that --print-capabilities prints."""
    said = json.loads(subprocess.run([hyperv.WINE, SHIPPED, "--print-capabilities"], env=vm.wine.env, capture_output=True, check=True).stdout)
    schema_check.validate("capabilities", said)
    reasons = [(row["field"], row["limitation"]) for row in said["refusals"]]
    assert {field for field, _ in reasons} <= set(FIELDS)
    for field in {field for field, _ in reasons}:
        code, text = vm.refused("prepare", **FIELDS[field])
        assert code == "unsupported" and any(text.replace("[0]", "[]") == f"config.{name}: {why}" for name, why in reasons if name == field), text
    assert is_empty(vm.state)


@pytest.mark.soak
def test_bad_requests(vm, tmp_path):
    (tmp_path / "odd.img").write_bytes(bytes(1000))
    (tmp_path / "text").write_text("no kernel\n" * 100)
    (tmp_path / "junk.img").write_bytes(b"x" * 51200)
    for changes, code, why in (({"memoryMiB": 255}, "invalid", "must be a multiple of 2 MiB"),
                               ({"stateDir": "state"}, "invalid", "absolute"), ({"stateDir": "/state"}, "invalid", "absolute"),
                               ({"stateDir": "C:\\a\\..\\..\\b"}, "invalid", "absolute"), ({"kernelPath": "Z:\\none"}, "not-found", "config.kernelPath"),
                               ({"kernelPath": windows_path(tmp_path / "text")}, "invalid", "no kernel"),
                               ({"initrdPath": "Z:\\none"}, "not-found", "config.initrdPath"), ({"rootfsPath": "Z:\\none"}, "not-found", "config.rootfsPath"),
                               ({"rootfsPath": windows_path(tmp_path / "odd.img")}, "invalid", "whole sectors"),
                               ({"rootfsPath": windows_path(tmp_path / "junk.img")}, "invalid", "junk.img: the file is not an ext4 file system image")):
        told, text = vm.refused("prepare", **changes)
        assert told == code and why in text, text
    for name, why in (("NUL", "the name of a device"), ("com1.txt", "the name of a device"), ("a:b", "characters"), ("end.", "characters")):
        code, text = vm.refused("prepare", name)
        assert code == "invalid" and why in text, text
    assert is_empty(vm.state)


@pytest.mark.soak
def test_verification(vm, place, tmp_path):
    """The machine boots what was prepared: kernel and initrd always, and the root until its first boot. A damaged VHD is no disk."""
    kernel = tmp_path / "kernel"
    for end in ("", ".initrd"):
        Path(f"{kernel}{end}").write_bytes(Path(f"{default_kernel(place)['path']}{end}").read_bytes())
    given = {"kernelPath": windows_path(kernel)}
    vm.ok("prepare", **given)
    vhd = vm.file("rootfs.vhd")
    with open(vhd, "rb") as file:
        file.seek(4096)
        other = bytes([file.read(1)[0] ^ 1])
    for at, byte, code, why in ((4096, other, "conflict", "the workspace's rootfs.vhd, a copy of"), (vhd.stat().st_size - 1, b"x", "invalid", "checksum")):
        with open(vhd, "r+b") as file:
            file.seek(at)
            before = file.read(1)
            file.seek(at)
            file.write(byte)
        told, text = vm.refused("start", **given)
        assert told == code and why in text, text
        with open(vhd, "r+b") as file:
            file.seek(at)
            file.write(before)
    with open(f"{kernel}.initrd", "ab") as file:
        file.write(bytes(512))
    told, text = vm.refused("start", **given)
    assert told == "conflict" and "the initrd" in text
    assert vm.ok("inspect")["verification"]["divergence"][0]["artifact"] == "initrd"
    for name, path in (("kernel", kernel), ("initrd", Path(f"{kernel}.initrd"))):
        path.rename(tmp_path / "away")
        found = vm.ok("inspect")["verification"]
        assert found["divergence"][0]["artifact"] == name and f"config.{name}Path" in found["divergence"][0]["error"], found
        (tmp_path / "away").rename(path)
    vhd.rename(tmp_path / "away")
    assert vm.ok("inspect")["verification"]["divergence"][0]["artifact"] == "rootfs"
    (tmp_path / "away").rename(vhd)
    inode = vhd.stat().st_ino
    vm.ok("prepare", **given)  # the disk is made from the same image, and stays
    assert vhd.stat().st_ino == inode
    assert vm.ok("start", **given)["verification"]["ok"]


@pytest.mark.soak
def test_prepare_again(vm, broker):
    """The disk is made from the same image. So the guest's files stay in it, and it is booted."""
    vm.ok("prepare")
    address = vm.ok("start")["hvSocket"]
    assert run_in_guest(broker, address, "sh", "-c", "echo kept > /root/kept; sync")[0] == 0
    vm.ok("stop")
    for _ in range(2):
        vm.ok("prepare")
        assert vm.ok("inspect")["verification"]["ok"]
    assert run_in_guest(broker, vm.ok("start")["hvSocket"], "cat", "/root/kept") == (0, "kept\n")
    vm.ok("stop")


@pytest.mark.soak
def test_prepare_was_killed(vm, tmp_path):
    """A kill between the disk and its record: the next command makes the disk anew, and from the new image."""
    vm.ok("prepare")
    vhd, before = vm.file("rootfs.vhd"), vm.file("rootfs.vhd").read_bytes()
    with open(vhd, "r+b") as file:
        file.write(b"another image")
    vm.ok("prepare")
    assert vhd.read_bytes()[:-512] == before[:-512]
    assert vm.ok("inspect")["verification"]["ok"]


@pytest.mark.soak
def test_names_that_windows_does_not_tell_apart(vm):
    """A workspace is found by its own name only."""
    vm.ok("prepare")
    before = vm.file("workspace.json").read_bytes()
    for command in ("check", "prepare", "start", "run", "inspect", "stop", "kill", "delete"):
        code, text = vm.refused(command, "AGENT-1")
        assert code == "conflict" and text.startswith("there is no workspace AGENT-1, but there is a workspace agent-1, and Windows does not tell the two names apart: name that one, or choose another name"), text
    assert vm.file("workspace.json").read_bytes() == before
    assert os.listdir(vm.state / ".locks") == ["agent-1"]


@pytest.mark.soak
def test_backslash_at_the_end(vm):
    """In the state directory's path: Windows refuses a path with two separators in it."""
    for name in ("prepare", "start", "inspect", "stop", "delete"):
        vm.ok(name, stateDir=windows_path(vm.state) + "\\")
        if name == "prepare":
            assert json.loads(vm.file("workspace.json").read_text())["config"]["stateDir"] == windows_path(vm.state)
    assert is_empty(vm.state)


@pytest.mark.soak
def test_serial_log_that_cannot_be_moved(vm, broker):
    """The log is cut off, since a guest could fill the host's disk otherwise."""
    vm.ok("prepare")
    (vm.file("serial.log.1") / "in the way").mkdir(parents=True)
    address = vm.ok("start", env={"MICROAGENT_TEST_LIMIT_SERIAL_LOG_BYTES": "16384"})["hvSocket"]
    words = "echo on > /proc/sys/kernel/printk_devkmsg; for i in $(seq 50); do printf '<0>%0300d\\n' $i > /dev/kmsg; done"
    assert run_in_guest(broker, address, "sh", "-c", words)[0] == 0
    vm.ok("stop")
    assert 4096 < vm.file("serial.log").stat().st_size <= 8192


class Dribbler:
    """Replaces the stand-in's broker by an agent that sends a byte now and then, and no line."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                stream = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.talk, args=(stream,), daemon=True).start()

    @staticmethod
    def talk(stream):
        if not stream.recv(160).startswith(b"connect "):
            stream.recv(1)
            return
        stream.sendall(b"ok\n")
        stream.recv(160)
        stop = threading.Event()
        with stream:
            for _ in range(100):
                try:
                    stream.sendall(b"x")
                except OSError:
                    return
                stop.wait(0.1)


@pytest.mark.soak
def test_agent_that_dribbles(vm):
    """inspect asks the agent, and does not wait for a guest that keeps it waiting."""
    vm.ok("prepare")
    vm.ok("start")
    fake = Dribbler()
    told = vm.ok("inspect", env={"MICROAGENT_STANDIN_HCS_PORT": str(fake.listener.getsockname()[1]), "MICROAGENT_TEST_LIMIT_SHELL_PROBE_MS": "1000"})
    fake.listener.close()
    assert told["readiness"]["shellReady"]["error"] == "the guest's agent accepted a connection, but did not answer in time"
