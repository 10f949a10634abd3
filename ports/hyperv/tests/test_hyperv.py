# SPDX-License-Identifier: MIT
"""Tests microagent-hyperv-supervisor: a program of Windows under Wine drives a real guest through the stand-in for Hyper-V."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import hyperv
import schema_check
from conftest import BUILD, HANG_S, default_kernel, wait_until
from hyperv import SHIPPED, Supervisor, Wine, fault, is_empty, run_in_guest
from hyperv_standin import windows_path
from test_looking import check_supervisor, listing

ADDRESS_KEYS = {"vmId", "agentServiceId"}


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


def names_of_calls(broker):
    return [call["call"] for call in broker.calls()]


def machines_of(broker):
    """Returns the machines that the service keeps. Each has a directory in the place of the broker."""
    return [name for name in os.listdir(broker.place) if name.startswith("hcs-") and any((broker.place / name).iterdir())]


# --- in make test --------------------------------------------------------------------------------------------------------


def test_lifecycle(vm, broker, place):
    """A workspace from the beginning to its end: the guest's files stay from one boot to the next, and its agent is reached."""
    raw = Path(vm.given["rootfsPath"][2:].replace("\\", "/"))
    before = raw.stat().st_mtime_ns
    assert vm.ok("check")["event"]["state"] == "unknown"
    assert is_empty(vm.state)
    prepared = vm.ok("prepare")
    assert prepared["event"]["state"] == "prepared"
    assert prepared["verification"]["rootfs"]["sha256"] == prepared["verification"]["rootfs"]["recordedSHA256"]
    found = subprocess.run([BUILD / "bin" / "microagent-artifact", "init-sha256", f"{default_kernel(place)['path']}.initrd"], capture_output=True,
                           text=True, check=True).stdout
    assert found.split()[0] == prepared["verification"]["init"]["sha256"] != prepared["verification"]["initrd"]["sha256"]
    assert vm.file("rootfs.vhd").stat().st_size == raw.stat().st_size + 512
    started = vm.ok("start")
    assert started["event"]["state"] == "running" and started["network"] == {"mode": "isolated"}
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
    assert vm.ok("halt")["event"] == {**vm.ok("inspect")["event"], "state": "halted", "detail": "the guest switched itself off when asked"}
    again = vm.ok("start")
    assert run_in_guest(broker, again["hvSocket"], "cat", "/root/kept") == (0, "42\n")
    assert vm.ok("kill")["event"]["detail"] == "killed"
    assert vm.ok("stop")["event"]["detail"] == "unclean: killed"  # which is not forgotten
    assert vm.events() == ["prepared", "starting", "running", "stopping", "stopped", "starting", "running", "stopping", "halted",
                           "starting", "running", "stopped", "stopped"]
    assert "hvSocket" not in vm.ok("inspect") and not machines_of(broker)
    vm.ok("delete")
    assert is_empty(vm.state) and raw.stat().st_mtime_ns == before


def test_a_run_that_is_killed(vm):
    """The command has no result, so it has not succeeded."""
    request = vm.request("run", command=["sleep", "1000"])
    child = vm.begin(request)
    wait_until(lambda: vm.file("event.json").exists() and vm.events()[-1] == "running", "the guest of run")
    killed = vm.ok("kill")["event"]
    code, answer = vm.end(child, request)
    assert (code, answer["errorCode"], answer["error"]) == (1, "conflict", "workspace agent-1 ended before its command ended: killed")
    assert answer["event"] == killed and "result" not in answer
    vm.ok("delete")


def test_looking_leaves_no_trace(vm):
    """The state directory may be any directory, and a directory of something else may have the name."""
    (vm.state / "src").mkdir(parents=True)
    (vm.state / "src" / "main.c").write_text("int main(void) { return 0; }\n")
    check_supervisor(vm.state, vm)
    before = listing(vm.state / "src")
    for command in ("delete", "prepare"):
        assert vm.refused(command, "src") == ("conflict", f"{windows_path(vm.state / 'src')} is a directory of something else; "
                                              "choose another name or another state directory")
    assert listing(vm.state / "src") == before


def spoil(vhd):
    """Changes one byte that no file uses."""
    with open(vhd, "r+b") as file:
        file.seek(7 << 20)
        byte = file.read(1)
        file.seek(7 << 20)
        file.write(bytes([byte[0] ^ 1]))


def test_the_root_is_enforced_until_a_guest_has_had_it(vm, broker):
    """After a stop, a kill, or a start that HCS refuses, the VHD is not yet the guest's own."""
    def refused_start():
        with fault(broker, HcsStartComputeSystem={"hresult": "0x8037011b"}):
            vm.refused("start")

    for state, end in (("stopped", lambda: vm.ok("stop")), ("stopped", lambda: vm.ok("kill")), ("failed", refused_start)):
        prepared = vm.ok("prepare")
        recorded = prepared["verification"]["rootfs"]["sha256"]
        end()
        spoil(vm.file("rootfs.vhd"))
        seen = vm.ok("inspect")
        assert seen["event"]["state"] == state and not seen["verification"]["ok"], (state, seen)
        assert [(d["artifact"], d["expected"]) for d in seen["verification"]["divergence"]] == [("rootfs", recorded)]
        code, text = vm.refused("start")
        assert code == "conflict" and "rootfs.vhd" in text and "has changed since the workspace was prepared" in text, text
    vm.ok("prepare")  # makes it anew
    vm.ok("start")
    vm.ok("kill")
    spoil(vm.file("rootfs.vhd"))
    assert vm.ok("inspect")["verification"]["ok"]
    with fault(broker, HcsStartComputeSystem={"hresult": "0x8037011b"}):
        assert vm.refused("start")[0] != "conflict"
    assert vm.ok("inspect")["verification"]["ok"]  # it stays the guest's own
    vm.file("rootfs.vhd").unlink()
    vm.ok("stop")
    vm.ok("delete")


def test_refused_by_hcs(vm, broker):
    """HCS refuses the document: the workspace has failed and says why, nothing runs, and the next start is an ordinary one."""
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
    """A Windows without computecore.dll, with the shipped program: host says so, and the rest is unavailable."""
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

AT_REST = ("prepared", "halted", "stopped", "failed")
LIVE = ("starting", "running", "stopping")
LEGAL = {  # the table of seed 003, as far as this backend has it: the states in which a command may act
    "check": ("unknown", *AT_REST, *LIVE), "inspect": ("unknown", *AT_REST, *LIVE), "prepare": ("unknown", *AT_REST),
    "run": ("unknown", *AT_REST), "start": AT_REST, "halt": (*AT_REST, *LIVE), "stop": (*AT_REST, *LIVE), "kill": (*AT_REST, *LIVE),
    "delete": ("unknown", *AT_REST)}
AFTER = {"prepare": "prepared", "start": "running", "stop": "stopped", "kill": "stopped", "delete": "stopped", "run": "stopped"}
UNSUPPORTED = ("quarantine", "console")


class Moment:
    """Brings a workspace into one of the states. A change that is under way goes on with release()."""

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

    def halted(self):
        self.running()
        self.vm.ok("halt")

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
        """Stops the guest's agent, and a command is its child. So the guest does not hear that it should end."""
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
        """Returns (exit code, answer) of the command that was under way."""
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
    wanted = AFTER.get(command, "halted" if (command, state) == ("halt", "running") else state)
    assert answer["event"]["state"] == wanted, answer
    if command == "halt" and state in AT_REST:
        assert answer["event"]["detail"].startswith("no machine was running, and the workspace stays as it was")


@pytest.mark.soak
@pytest.mark.parametrize("state", ["unknown", *AT_REST, "running"])
def test_each_command_in_each_state(vm, broker, state):
    """A command that is refused says why and changes nothing. A command that is allowed leads to the right state."""
    for command in LEGAL:
        moment = Moment(vm, broker, state)
        if state in LEGAL[command]:
            expect_legal(vm, broker, command, state)
        else:
            code, text = vm.refused(command)
            assert code == ("not-found" if state == "unknown" and command in ("halt", "stop", "kill", "start") else "conflict"), text
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
    """There is one machine, and the others get conflicts."""
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
    """The command that began it was killed, and the workspace went on without it. It makes no machine and leaves
    everything as it is."""
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
    """Each kind of code, as the function's and as the operation's answer: the start failed with the reason, and nothing is left."""
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
    """A user who is no administrator is told before anything is touched."""
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
    """While HCS does not answer, the keeper is ended, the machine ends with it, and the next start is an ordinary one."""
    vm.ok("prepare")
    moment = Moment(vm, broker, "prepared")
    moment.hold(call, "start")
    wait_until(lambda: vm.events()[-1] == "starting", "starting")
    answer = vm.ok("kill", env={"MICROAGENT_TEST_LIMIT_KILL_MS": "5000"})
    assert answer["event"]["state"] == "stopped"
    assert answer["event"]["detail"] == "unclean: the live supervisor did not answer and was killed"
    code, answer = moment.end()
    assert code == 1 and answer["event"]["state"] in ("stopped", "failed"), answer  # by the command that looked first
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
    """The machine ends with it, and the next command that looks says so."""
    vm.ok("prepare")
    vm.ok("start")
    keeper, = keepers(vm)
    os.kill(keeper, 9)
    wait_until(lambda: not machines_of(broker), "the end of the machine")
    event = vm.ok("inspect")["event"]
    assert event["state"] == "failed"
    assert event["detail"] == "the live supervisor ended unexpectedly while the workspace was running"
    assert vm.ok("start")["event"]["state"] == "running"


@pytest.mark.soak
def test_service_goes(vm, broker):
    """Its handles are lost, and the kept ones are not kept any more."""
    vm.ok("prepare")
    vm.ok("start")
    with fault(broker, HcsEnumerateComputeSystems={"do": "gone"}):
        vm("host", env={"MICROAGENT_TEST_LIMIT_HCS_MS": "3000"})
        wait_until(lambda: vm.events()[-1] == "failed", "failed")
    assert "the Host Compute Service went away" in vm.ok("inspect")["event"]["detail"]
    wait_until(lambda: not machines_of(broker), "the end of the machine")


@pytest.mark.soak
def test_guest_does_not_end(vm, broker):
    """A guest that was asked to stop and does not hear is terminated when its time is over, and the event says so."""
    vm.wine.env["MICROAGENT_TEST_LIMIT_HALT_MS"] = "2000"
    try:
        moment = Moment(vm, broker, "stopping")
    finally:
        del vm.wine.env["MICROAGENT_TEST_LIMIT_HALT_MS"]
    code, answer = moment.end()
    assert code == 0 and answer["event"]["detail"] == "unclean: the guest did not switch itself off in time"
