# SPDX-License-Identifier: MIT
"""microagent-hyperv-supervisor: a real guest, driven by a program of Windows under Wine through the stand-in for Hyper-V."""

import json
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

import hyperv
import schema_check
from conftest import HANG_S, default_kernel, image, wait_until
from hyperv import SHIPPED, Supervisor, Wine, fault, is_empty, run_in_guest
from hyperv_standin import Broker, footer, windows_path

ADDRESS_KEYS = {"vmId", "agentServiceId"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The service, and a Wine that has its DLL."""
    place = tmp_path_factory.mktemp("hyperv")
    with Broker(place / "broker", hyperv.own_prefix(place / "prefix")) as broker:
        yield broker, Wine(**broker.env)


@pytest.fixture(scope="module")
def config(place, tmp_path_factory):
    """A config; its root is the busybox image made as small as it gets, since it is copied and hashed each time."""
    root = tmp_path_factory.mktemp("root") / "busybox.ext4"
    subprocess.run(["cp", "--sparse=always", image(place, "busybox")["path"], root], check=True)
    root.chmod(0o600)
    subprocess.run(["resize2fs", "-f", root, "16M"], check=True, capture_output=True)
    return {"kernelPath": windows_path(default_kernel(place)["path"]), "rootfsPath": windows_path(root),
            "memoryMiB": 256, "cpuCount": 1, "network": {"mode": "isolated"}}


@pytest.fixture(name="vm")
def the_supervisor(bench, config, tmp_path):
    broker, wine = bench
    made = Supervisor(wine, tmp_path / "state", **config)
    yield made
    for directory in (tmp_path / "state").glob("[!.]*"):
        made("kill", directory.name)
    broker.settings()


@pytest.fixture(name="broker")
def the_broker(bench):
    return bench[0]


def names_of_calls(broker):
    return [call["call"] for call in broker.calls()]


def machines_of(broker):
    """That the service keeps: the workers of QEMU in its place."""
    return [name for name in os.listdir(broker.place) if name.startswith("hcs-") and any((broker.place / name).iterdir())]


# --- in make test --------------------------------------------------------------------------------------------------------


def test_lifecycle(vm, broker):
    """From nothing to nothing: what the guest writes stays from one boot to the next, and its agent is reached."""
    raw = Path(vm.given["rootfsPath"][2:].replace("\\", "/"))
    before = raw.stat().st_mtime_ns
    assert vm.ok("check")["event"]["state"] == "unknown"
    assert is_empty(vm.state)
    prepared = vm.ok("prepare")
    assert prepared["event"]["state"] == "prepared"
    assert prepared["verification"]["rootfs"]["sha256"] == prepared["verification"]["rootfs"]["recordedSHA256"]
    assert vm.file("rootfs.vhd").stat().st_size == raw.stat().st_size + 512
    started = vm.ok("start")
    assert started["event"]["state"] == "running"
    assert started["readiness"]["guestReady"]["ready"] and started["readiness"]["shellReady"]["ready"]
    assert set(started["hvSocket"]) == ADDRESS_KEYS
    code, text = run_in_guest(broker, started["hvSocket"], "sh", "-c", "echo $((6*7)) | tee /root/kept; sync")
    assert (code, text) == (0, "42\n")
    granted = {call["path"] for call in broker.calls() if call["call"] == "HcsGrantVmAccess"}
    assert granted == {vm.given["kernelPath"], vm.given["kernelPath"] + ".initrd", windows_path(vm.file("rootfs.vhd"))}
    inspected = vm.ok("inspect")
    assert inspected["hvSocket"] == started["hvSocket"] and inspected["verification"]["ok"]
    assert vm.ok("stop")["event"]["detail"] == "the guest switched itself off when asked"
    again = vm.ok("start")
    assert again["hvSocket"]["vmId"] != started["hvSocket"]["vmId"]
    assert run_in_guest(broker, again["hvSocket"], "cat", "/root/kept") == (0, "42\n")
    assert vm.ok("kill")["event"]["detail"] == "killed"
    assert vm.events() == ["prepared", "starting", "running", "stopping", "stopped", "starting", "running", "stopped"]
    assert "hvSocket" not in vm.ok("inspect") and not machines_of(broker)
    vm.ok("delete")
    assert is_empty(vm.state) and raw.stat().st_mtime_ns == before


def test_refused_by_hcs(vm, broker):
    """A document that HCS refuses: the workspace has failed and says why, nothing runs, and the next start is an ordinary one."""
    vm.ok("prepare")
    with fault(broker, HcsCreateComputeSystem={"hresult": "0x8037010d", "words": "no such chipset"}):
        code, text = vm.refused("start")
    assert code == "invalid" and text == ("HcsCreateComputeSystem: the document of the machine is refused (0x8037010d): no such chipset")
    answer = vm.ok("inspect")
    assert answer["event"]["state"] == "failed" and answer["event"]["detail"] == text
    assert not machines_of(broker)
    assert vm.ok("start")["event"]["state"] == "running"
    assert vm.ok("stop")["event"]["state"] == "stopped"


def test_no_hyperv(config, tmp_path):
    """A Windows without computecore.dll, and the shipped program: host says so, and the rest is unavailable."""
    with Wine(TMPDIR=str(tmp_path)) as wine:
        bare = Supervisor(wine, tmp_path / "state", SHIPPED, **config)
        told = bare.ok("host")["host"]
        schema_check.validate("host", told)
        assert not told["frameworkAvailable"] and not told["virtualizationSupported"] and told["binaryPath"] == ""
        assert told["acceleratorReason"] == "computecore.dll, by which Hyper-V is spoken to: Module not found (126)"
        for command in ("check", "prepare", "start", "run"):
            assert bare.refused(command) == ("unavailable", told["acceleratorReason"])
        assert bare.ok("inspect")["event"]["state"] == "unknown"
    assert is_empty(tmp_path / "state")


# --- in make soak: commands and states -----------------------------------------------------------------------------------

AT_REST = ("prepared", "stopped", "failed")
LIVE = ("starting", "running", "stopping")
LEGAL = {  # seed 003's table, as far as this backend goes: the states in which a command may act
    "check": ("unknown", *AT_REST, *LIVE), "inspect": ("unknown", *AT_REST, *LIVE), "prepare": ("unknown", *AT_REST),
    "run": ("unknown", *AT_REST), "start": AT_REST, "stop": (*AT_REST, *LIVE), "kill": (*AT_REST, *LIVE),
    "delete": ("unknown", *AT_REST)}
AFTER = {"prepare": "prepared", "start": "running", "stop": "stopped", "kill": "stopped", "delete": "stopped", "run": "stopped"}
UNSUPPORTED = ("halt", "quarantine", "console")


class Moment:
    """A workspace in one of the states; what is under way goes on with release()."""

    def __init__(self, vm, broker, state):
        self.vm, self.broker, self.child, self.request, self.fifo = vm, broker, None, None, None
        getattr(self, state)()

    def unknown(self):
        pass

    def prepared(self):
        self.vm.ok("prepare")

    def stopped(self):
        self.vm.ok("prepare")
        self.vm.ok("stop")

    def failed(self):
        self.vm.ok("prepare")
        with fault(self.broker, HcsCreateComputeSystem={"hresult": "0x80070057"}):
            self.vm.refused("start")

    def running(self):
        self.vm.ok("prepare")
        self.vm.ok("start")

    def hold(self, call, command):
        self.fifo = self.vm.state.parent / "held"
        os.mkfifo(self.fifo)
        self.broker.settings(faults={call: {"wait": str(self.fifo)}})
        before = len(self.broker.calls())
        self.request = self.vm.request(command)
        self.child = self.vm.begin(self.request)
        return before

    def starting(self):
        self.vm.ok("prepare")
        self.hold("HcsStartComputeSystem", "start")
        wait_until(lambda: self.vm.events()[-1] == "starting", "starting")

    def stopping(self):
        """The guest's agent, whose child a command is, is stopped: it does not hear that it should end."""
        self.vm.ok("prepare")
        address = self.vm.ok("start")["hvSocket"]
        with hyperv.dial(self.broker, address) as stream:
            stream.sendall(json.dumps({"op": "exec", "payload": {"command": ["sh", "-c", "kill -STOP $PPID"], "user": "root"}}).encode() + b"\n")
            wait_until(lambda: not self.vm.ok("inspect", env={"MICROAGENT_TEST_LIMIT_SHELL_PROBE_MS": "500"})["readiness"]["shellReady"]["ready"],
                       "an agent that does not answer")
        self.request = self.vm.request("stop")
        self.child = self.vm.begin(self.request)
        wait_until(lambda: self.vm.events()[-1] == "stopping", "stopping")

    def release(self):
        self.broker.settings()
        if self.fifo:
            self.fifo.write_bytes(b"go")
            self.fifo.unlink()
            self.fifo = None

    def end(self):
        """(exit code, answer) of what was under way."""
        self.release()
        return self.vm.end(self.child, self.request) if self.child else None


def expect_legal(vm, broker, command, state):
    if command == "run":
        request = vm.request("run")
        child = vm.begin(request)
        wait_until(lambda: vm.file("event.json").exists() and vm.events()[-1] == "running", "the guest of run")
        vm.ok("kill")
        answer = vm.end(child, request)[1]
    else:
        answer = vm.ok(command)
    assert answer["event"]["state"] == AFTER.get(command, state), answer


@pytest.mark.soak
@pytest.mark.parametrize("state", ["unknown", *AT_REST, "running"])
def test_each_command_in_each_state(vm, broker, state):
    """What is refused says why and changes nothing; what is legal has the state that it should."""
    for command in LEGAL:
        moment = Moment(vm, broker, state)
        if state in LEGAL[command]:
            expect_legal(vm, broker, command, state)
        else:
            code, text = vm.refused(command)
            assert code == ("not-found" if state == "unknown" and command in ("stop", "kill") else "conflict"), text
            assert "agent-1" in text
            assert vm.ok("inspect")["event"]["state"] == state
        for missing in UNSUPPORTED:
            assert vm.refused(missing, **(vm.given if missing == "console" else {}))[0] == "unsupported"
        moment.end()
        if vm.state.exists():
            vm("kill")
            vm.ok("delete")
        assert is_empty(vm.state) and not machines_of(broker)


@pytest.mark.soak
def test_commands_while_starting(vm, broker):
    moment = Moment(vm, broker, "starting")
    assert vm.ok("inspect")["readiness"]["guestReady"] == {"ready": False, "detail": "the guest has not reported ready"}
    for command in ("prepare", "start", "run", "delete"):
        assert vm.refused(command)[0] == "conflict"
    assert vm.events()[-1] == "starting"
    assert moment.end()[1]["event"]["state"] == "running"


@pytest.mark.soak
def test_two_starts_at_once(vm, broker):
    """One machine, and conflicts."""
    vm.ok("prepare")
    before = names_of_calls(broker).count("HcsStartComputeSystem")
    requests = [vm.request("start") for _ in range(4)]
    answers = [vm.end(child, request)[1] for child, request in [(vm.begin(request), request) for request in requests]]
    assert sorted(answer["ok"] for answer in answers) == [False, False, False, True]
    assert {answer["errorCode"] for answer in answers if not answer["ok"]} == {"conflict"}
    assert names_of_calls(broker).count("HcsStartComputeSystem") == before + 1


@pytest.mark.soak
@pytest.mark.parametrize("after", ["stopped", "prepared"])
def test_keeper_that_comes_late(vm, broker, after):
    """Whoever began it was killed, and the workspace went on without it: it makes no machine and leaves all as it is."""
    vm.ok("prepare")
    vm.ok("start")
    vm.ok("stop")
    runtime = vm.file("runtime.json").read_text()
    if after == "prepared":
        vm.ok("prepare")
        vm.file("runtime.json").write_text(runtime)
    events, made = vm.events(), names_of_calls(broker).count("HcsCreateComputeSystem")
    late = subprocess.Popen([hyperv.WINE, vm.program, "--keeper-reports-to=0", windows_path(vm.state), "agent-1"], env=vm.wine.env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with late:
        try:
            assert late.wait(HANG_S) == 1
        finally:
            late.kill()
    assert vm.events() == events and vm.file("runtime.json").read_text() == runtime
    assert names_of_calls(broker).count("HcsCreateComputeSystem") == made


# --- calls that fail -----------------------------------------------------------------------------------------------------

MAKING = ("HcsGrantVmAccess", "HcsCreateComputeSystem", "HcsGetComputeSystemProperties", "HcsStartComputeSystem")
CODES = {"0x8037011b": "denied", "0x80370102": "unavailable", "0x80370105": "conflict", "0x80370109": "timeout", "0x80370106": "io",
         "0x80070002": "not-found", "0x80070032": "unsupported", "0xc03a0002": "invalid"}


@pytest.mark.soak
@pytest.mark.parametrize("call", MAKING)
def test_each_call_fails(vm, broker, call):
    """By each kind of code, as the function's and as the operation's answer: failed, with the reason, and nothing is left."""
    vm.ok("prepare")
    for number, (hresult, code) in enumerate(CODES.items()):
        when = {"when": "call"} if number % 2 else {}
        with fault(broker, **{call: {"hresult": hresult, "words": "as asked", **when}}):
            told, text = vm.refused("start")
        assert told == code and text.startswith(f"{call}: ") and hresult in text, text
        event = vm.ok("inspect")["event"]
        assert event["state"] == "failed" and event["detail"].startswith(text)
        assert not machines_of(broker)
    vm.ok("start")
    vm.ok("stop")


@pytest.mark.soak
def test_no_rights(vm, broker):
    """Who is no administrator is told before anything is touched."""
    with fault(broker, HcsEnumerateComputeSystems={"hresult": "0x8037011b"}):
        for command in ("check", "prepare", "start", "run"):
            assert vm.refused(command)[0] == "denied"
        told = vm.ok("host")["host"]
    assert told["frameworkAvailable"] and not told["virtualizationSupported"]
    assert "only administrators" in told["acceleratorReason"]
    assert is_empty(vm.state)


@pytest.mark.soak
@pytest.mark.parametrize("call", MAKING)
def test_kill_at_each_moment(vm, broker, call):
    """While HCS does not answer: the keeper is ended, the machine with it, and the next start is an ordinary one."""
    vm.ok("prepare")
    moment = Moment(vm, broker, "prepared")
    moment.hold(call, "start")
    wait_until(lambda: vm.events()[-1] == "starting", "starting")
    answer = vm.ok("kill", env={"MICROAGENT_TEST_LIMIT_KILL_MS": "5000"})
    assert answer["event"]["state"] == "stopped"
    assert answer["event"]["detail"] == "unclean: the live supervisor did not answer and was killed"
    code, answer = moment.end()
    assert code == 1 and answer["event"]["state"] in ("stopped", "failed"), answer  # by who looked first
    assert vm.ok("inspect")["event"]["state"] == "stopped"
    wait_until(lambda: not machines_of(broker), "the end of the machine")
    assert vm.ok("start")["event"]["state"] == "running"


@pytest.mark.soak
def test_terminate_fails(vm, broker):
    """The handle is closed, which ends the machine too."""
    vm.ok("prepare")
    vm.ok("start")
    with fault(broker, HcsTerminateComputeSystem={"hresult": "0x80370105"}):
        assert vm.ok("kill")["event"]["state"] == "stopped"
    wait_until(lambda: not machines_of(broker), "the end of the machine")
    assert "HcsTerminateComputeSystem: the machine is in no state for it" in vm.file("supervisor.log").read_text()


# --- ends that nobody asked for ------------------------------------------------------------------------------------------


@pytest.mark.soak
@pytest.mark.parametrize("how, state, detail", [("poweroff", "stopped", "the guest switched itself off"),
                                                ("reboot -f", "failed", "the guest panicked or rebooted")])
def test_guest_ends(vm, broker, how, state, detail):
    vm.ok("prepare")
    address = vm.ok("start")["hvSocket"]
    with hyperv.dial(broker, address) as stream:
        stream.sendall(json.dumps({"op": "exec", "payload": {"command": ["sh", "-c", how], "user": "root"}}).encode() + b"\n")
        wait_until(lambda: vm.events()[-1] == state, state)
    assert vm.ok("inspect")["event"]["detail"].startswith(detail)
    assert not machines_of(broker)


def keepers(vm):
    found = subprocess.run(["pgrep", "-f", "--", f"--keeper-reports-to=[0-9]+ .{{0,3}}{vm.state}".replace("/", ".")], capture_output=True, text=True,
                           check=False)
    return [int(word) for word in found.stdout.split()]


@pytest.mark.soak
def test_keeper_dies(vm, broker):
    """The machine with it; whoever looks next says so."""
    vm.ok("prepare")
    vm.ok("start")
    keeper, = keepers(vm)
    os.kill(keeper, 9)
    wait_until(lambda: not machines_of(broker), "the end of the machine")
    event = vm.ok("inspect")["event"]
    assert event["state"] == "failed"
    assert event["detail"] == "the live supervisor ended without a word while the workspace was running"
    assert vm.ok("start")["event"]["state"] == "running"


@pytest.mark.soak
def test_service_goes(vm, broker):
    """Its handles are lost, and what was kept is not kept any more."""
    vm.ok("prepare")
    vm.ok("start")
    with fault(broker, HcsEnumerateComputeSystems={"do": "gone"}):
        vm("host", env={"MICROAGENT_TEST_LIMIT_HCS_MS": "3000"})
        wait_until(lambda: vm.events()[-1] == "failed", "failed")
    assert "the Host Compute Service went away" in vm.ok("inspect")["event"]["detail"]
    wait_until(lambda: not machines_of(broker), "the end of the machine")


@pytest.mark.soak
def test_guest_does_not_end(vm, broker):
    """Asked to stop and deaf: it is terminated when its time is over, and that is told."""
    vm.wine.env["MICROAGENT_TEST_LIMIT_HALT_MS"] = "2000"
    try:
        moment = Moment(vm, broker, "stopping")
    finally:
        del vm.wine.env["MICROAGENT_TEST_LIMIT_HALT_MS"]
    code, answer = moment.end()
    assert code == 0 and answer["event"]["detail"] == "unclean: the guest did not switch itself off in time"


# --- what a machine is made of -------------------------------------------------------------------------------------------


@pytest.mark.soak
def test_run(vm):
    """A command's result, in the foreground."""
    answer = vm.ok("run", command=["sh", "-c", "echo out; echo err >&2; exit 3"])
    result = answer["result"]
    assert (result["exitCode"], result["stdout"], result["stderr"]) == (3, "out\n", "err\n")
    assert result["backend"] == "windows-hyperv" and answer["event"]["state"] == "failed"
    assert vm.ok("inspect")["result"] == result
    slow = vm.ok("run", "slow", command=["sleep", "100"], timeoutSeconds=1)
    assert slow["result"]["timedOut"] and slow["event"]["detail"] == "the command was ended: its timeout of 1 s passed"
    assert vm.ok("run", "none", command=["/nonexistent"])["result"]["exitCode"] == 127


def make_disk(path, label):
    """An ext4 in a fixed VHD."""
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", label, path, "8M"], check=True, capture_output=True)
    with open(path, "ab") as file:
        file.write(footer(8 << 20))
    return path


@pytest.mark.soak
def test_disks(vm, broker, tmp_path):
    """Further disks by their LUNs, for reading alone or for writing too; what is no virtual hard disk is refused."""
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
    for name, contents, why in (("raw.img", bytes(8 << 20), "end in .vhd or .vhdx"), ("none.vhd", bytes(8 << 20), "no footer"),
                                ("none.vhdx", bytes(8 << 20), "no VHDX"), ("short.vhd", bytes(1 << 20) + footer(8 << 20), "speaks of")):
        (tmp_path / name).write_bytes(contents)
        code, text = vm.refused("check", disks=[{**disks[0], "path": windows_path(tmp_path / name)}])
        assert code == "invalid" and text.startswith("config.disks[0].path: ") and why in text, text


FIELDS = {
    "network.mode": {"network": {"mode": "nat"}}, "shares": {"shares": [{"tag": "t", "path": "Z:\\tmp", "mountpoint": "/t", "mode": "ro"}]},
    "bundles": {"bundles": [{"name": "b", "path": "b.tar", "mountpoint": "/b"}]}, "outputs": {"outputs": [{"name": "o", "path": "/o"}]},
    "mediation": {"mediation": {"enabled": True, "required": True, "port": 2048, "target": "127.0.0.1:1", "failClosed": True}},
    "vsockListeners": {"vsockListeners": [{"port": 2048, "target": "127.0.0.1:1"}]}, "cgroup": {"cgroup": "inherit"},
    "limits": {"limits": {"diskOpsPerSecond": 10}}, "hotplug": {"hotplug": True}, "confinement": {"confinement": "seccomp"},
    "console": {"console": "shell"}, "architecture": {"architecture": "arm64"}, "accelerator": {"accelerator": "kvm"},
    "rootfsBase": {"rootfsBase": "base.ext4"}, "rootfsPath": {"rootfsPath": None, "initrdPath": "i"},
    "macos": {"kernelPath": None, "macos": {f"{name}Path": "m" for name in ("hardwareModel", "auxiliaryStorage", "machineIdentifier")}}}


@pytest.mark.soak
def test_what_is_not_given(vm):
    """Each field that no machine can have is refused by its name, with the reason that --print-capabilities prints."""
    said = json.loads(subprocess.run([hyperv.WINE, SHIPPED, "--print-capabilities"], env=vm.wine.env, capture_output=True, check=True).stdout)
    schema_check.validate("capabilities", said)
    reasons = [(row["field"], row["limitation"]) for row in said["refusals"]]
    assert {field for field, _ in reasons} == set(FIELDS)
    for field, changes in FIELDS.items():
        code, text = vm.refused("prepare", **changes)
        assert code == "unsupported" and any(text == f"config.{name}: {why}" for name, why in reasons if name == field), text
    assert is_empty(vm.state)


@pytest.mark.soak
def test_bad_requests(vm, tmp_path):
    (tmp_path / "odd.img").write_bytes(bytes(1000))
    (tmp_path / "text").write_text("no kernel\n" * 100)
    for changes, code, why in (({"memoryMiB": 255}, "invalid", "steps of 2 MiB"),
                               ({"stateDir": "state"}, "invalid", "absolute"), ({"stateDir": "/state"}, "invalid", "absolute"),
                               ({"stateDir": "C:\\a\\..\\..\\b"}, "invalid", "absolute"), ({"kernelPath": "Z:\\none"}, "not-found", "config.kernelPath"),
                               ({"kernelPath": windows_path(tmp_path / "text")}, "invalid", "no kernel"),
                               ({"initrdPath": "Z:\\none"}, "not-found", "config.initrdPath"), ({"rootfsPath": "Z:\\none"}, "not-found", "config.rootfsPath"),
                               ({"rootfsPath": windows_path(tmp_path / "odd.img")}, "invalid", "whole sectors")):
        told, text = vm.refused("prepare", **changes)
        assert told == code and why in text, text
    for name, why in (("NUL", "the name of a device"), ("com1.txt", "the name of a device"), ("a:b", "characters"), ("end.", "characters")):
        code, text = vm.refused("prepare", name)
        assert code == "invalid" and why in text, text
    assert is_empty(vm.state)


@pytest.mark.soak
def test_verification(vm, place, tmp_path):
    """What is booted is what was prepared: kernel and initrd always, the root until its first boot; a damaged VHD is no disk."""
    kernel = tmp_path / "kernel"
    for end in ("", ".initrd"):
        Path(f"{kernel}{end}").write_bytes(Path(f"{default_kernel(place)['path']}{end}").read_bytes())
    given = {"kernelPath": windows_path(kernel)}
    vm.ok("prepare", **given)
    vhd = vm.file("rootfs.vhd")
    with open(vhd, "rb") as file:
        file.seek(4096)
        other = bytes([file.read(1)[0] ^ 1])
    for at, byte, code, why in ((4096, other, "conflict", "the rootfs"), (vhd.stat().st_size - 1, b"x", "invalid", "checksum")):
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
    inode = vhd.stat().st_ino
    vm.ok("prepare", **given)  # the disk is of the same image, and stays
    assert vhd.stat().st_ino == inode
    assert vm.ok("start", **given)["verification"]["ok"]


@pytest.mark.soak
def test_prepare_again(vm, broker):
    """The disk is of the same image: what the guest has written stays in it, and it is booted."""
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
    """Between the disk and what is recorded of it: the next one makes the disk anew, and not of the other image."""
    vm.ok("prepare")
    vhd, before = vm.file("rootfs.vhd"), vm.file("rootfs.vhd").read_bytes()
    with open(vhd, "r+b") as file:
        file.write(b"another image")
    vm.ok("prepare")
    assert vhd.read_bytes()[:-512] == before[:-512]
    assert vm.ok("inspect")["verification"]["ok"]


@pytest.mark.soak
def test_names_that_windows_does_not_tell_apart(vm):
    """A workspace is found by its own name alone."""
    vm.ok("prepare")
    before = vm.file("workspace.json").read_bytes()
    for command in ("check", "prepare", "start", "run", "inspect", "stop", "kill", "delete"):
        code, text = vm.refused(command, "AGENT-1")
        assert code == "conflict" and text.startswith("the directory of the workspace AGENT-1 is another's, agent-1"), text
    assert vm.file("workspace.json").read_bytes() == before
    assert os.listdir(vm.state / ".locks") == ["agent-1"]


@pytest.mark.soak
def test_backslash_at_the_end(vm):
    """Of the state directory: Windows takes a path with two in it for none."""
    for name in ("prepare", "start", "inspect", "stop", "delete"):
        vm.ok(name, stateDir=windows_path(vm.state) + "\\")
        if name == "prepare":
            assert json.loads(vm.file("workspace.json").read_text())["config"]["stateDir"] == windows_path(vm.state)
    assert is_empty(vm.state)


@pytest.mark.soak
def test_serial_log_that_cannot_be_moved(vm, broker):
    """It is cut off, or a guest would fill the host's disk."""
    vm.ok("prepare")
    (vm.file("serial.log.1") / "in the way").mkdir(parents=True)
    address = vm.ok("start", env={"MICROAGENT_TEST_LIMIT_SERIAL_LOG_BYTES": "16384"})["hvSocket"]
    words = "echo on > /proc/sys/kernel/printk_devkmsg; for i in $(seq 50); do printf '<0>%0300d\\n' $i > /dev/kmsg; done"
    assert run_in_guest(broker, address, "sh", "-c", words)[0] == 0
    vm.ok("stop")
    assert 4096 < vm.file("serial.log").stat().st_size <= 8192


class Dribbler:
    """In the place of the stand-in's broker: an agent that says a byte now and then, and no line."""

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
    """inspect asks the agent, and does not wait for a guest that makes it."""
    vm.ok("prepare")
    vm.ok("start")
    fake = Dribbler()
    told = vm.ok("inspect", env={"MICROAGENT_STANDIN_HCS_PORT": str(fake.listener.getsockname()[1]), "MICROAGENT_TEST_LIMIT_SHELL_PROBE_MS": "1000"})
    fake.listener.close()
    assert told["readiness"]["shellReady"]["error"] == "the agent does not answer"
