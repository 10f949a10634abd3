# SPDX-License-Identifier: MIT
"""Tests failures of each call of Firecracker's API, by a stand-in that fails as a test says (its README.md), and a
Firecracker that ends without being asked."""

import json
import os
import signal
import socket
import subprocess

import pytest

from conftest import BIN, wait_until
from firecracker import firecracker, standin


@pytest.fixture(name="fc")
def any_firecracker(host):
    yield from firecracker(host)


@pytest.fixture(name="standin")
def the_standin(host):
    yield from standin(host)


# --- before the guest runs -----------------------------------------------------------------------
CALLS = ("PUT /logger", "PUT /metrics", "PUT /machine-config", "PUT /boot-source", "PUT /drives/rootfs", "PUT /vsock",
         "PUT /network-interfaces/eth0", "PUT /entropy", "PUT /balloon", "PUT /actions")
FAULTS = {
    "refuse": "Firecracker refused {}: refused because a test wants it (status 400)",
    "500": "Firecracker refused {}: refused because a test wants it (status 500)",
    "garbage": "Firecracker's API: {}: the status line of Firecracker's answer is malformed: this is a bug, or Firecracker was taken over",
    "half": "Firecracker's API: {}: the answer ends in the middle: Firecracker has crashed, or was taken over",
    "hang": "Firecracker's API: {}: no answer within 300 ms",
    "close": "Firecracker closed its API without an answer to {}",
    "die": "Firecracker died by signal 9",
}
SHORTER = {"hang": {"MICROAGENT_TEST_LIMIT_API_MS": "300"}, "close": {"MICROAGENT_TEST_LIMIT_VMM_END_MS": "300"}}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", CALLS)
def test_a_fault_of_each_call_ends_the_start(standin, call, fault):
    """The state is `failed` with the call and the reason, and nothing is left."""
    standin.set(faults={call: {"do": fault}})
    config = standin.host.config(network={"mode": "nat" if "network" in call else "isolated"})
    standin.do("prepare", config)
    error = standin.refused("start", config, env=SHORTER.get(fault))
    assert FAULTS[fault].format(call) in error, error
    assert standin.event["state"] == "failed"
    standin.nothing_is_left()


@pytest.mark.parametrize("code,words,said", [
    (148, "", "Firecracker's own system call filter ended it"),
    (156, "", "Firecracker was ended by the signal SIGHUP"),
    (1, "Error: RunWithApi(MicroVMStoppedWithError(GenericError))\n",
     "Firecracker ended by itself with code 1: Error: RunWithApi(MicroVMStoppedWithError(GenericError))"),
])
def test_an_end_in_the_middle_of_a_call_says_more_than_the_call(standin, code, words, said):
    standin.set(faults={"PUT /vsock": {"do": "die", "code": code, "words": words}})
    config = standin.host.config()
    standin.do("prepare", config)
    error = standin.refused("start", config)
    assert said in error and "closed its API" not in error, error
    standin.nothing_is_left()


def test_a_slow_api_is_waited_for(standin):
    standin.set(faults={"PUT /vsock": {"do": "slow", "seconds": 1}})
    assert standin.start()["event"]["state"] == "running"


def test_it_dies_while_the_guest_boots(standin):
    standin.set(faults={"boot": {"seconds": 0.2}})
    config = standin.host.config()
    standin.do("prepare", config)
    assert "the virtual machine monitor died" in standin.refused("start", config)
    assert standin.event["state"] == "failed"
    standin.nothing_is_left()
    standin.set()
    standin.do("start", config)  # a failed workspace can be started again
    assert standin.exec("id", "-u") == "0\n"


def test_it_dies_while_a_command_runs(fc):
    fc.start()
    with subprocess.Popen([BIN / "microagent", "exec", "--user", "root", "w", "--", "sh", "-c", "echo begun; sleep 300"], env=fc.host.env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert command.stdout.readline() == "begun\n"
        os.kill(fc.runtime["pid"], signal.SIGKILL)
        _, said = command.communicate(timeout=60)
    assert command.returncode not in (0, None) and said.strip(), said
    assert "Firecracker died by signal 9" in fc.wait_for("failed")["detail"]
    fc.nothing_is_left()


def test_it_has_died_when_a_quarantine_is_asked_for(fc):
    """Both messages are there when the supervisor goes on: it proves nothing about a machine that has gone."""
    fc.start()
    supervisor, vmm = fc.runtime["supervisorPid"], fc.runtime["pid"]
    os.kill(supervisor, signal.SIGSTOP)
    with socket.socket(socket.AF_UNIX) as asking:  # by hand, since a command does not say when it has asked
        asking.settimeout(60)
        asking.connect(str(fc.workspace / "control.sock"))
        asking.sendall(b'{"command":"quarantine"}\n')
        os.kill(vmm, signal.SIGKILL)
        os.kill(supervisor, signal.SIGCONT)
        try:
            answer = json.loads(asking.makefile().readline())
        except ConnectionResetError:  # it saw the death first, and ended without reading the question
            answer = {"ok": False, "error": "reset"}
    assert not answer["ok"] and answer["error"], answer
    fc.wait_for("failed")
    fc.nothing_is_left()


@pytest.mark.parametrize("call", ("PATCH /balloon", "GET /balloon/statistics"))
def test_a_balloon_that_is_refused_leaves_the_machine(standin, call):
    standin.start(memoryMiB=512)
    for fault in ("refuse", "500"):
        standin.set(faults={call: {"do": fault}})
        assert f"Firecracker refused {call}: refused because a test wants it" in standin.balloon(384)["error"]
    standin.set()
    assert standin.balloon(384)["ok"] and standin.event["state"] == "running"
    standin.set(faults={call: {"do": "half"}})
    assert f"Firecracker's API: {call}: the answer ends in the middle: Firecracker has crashed, or was taken over" in standin.balloon(448)["error"]
    assert f"{call}: the answer ends in the middle: Firecracker has crashed, or was taken over" in standin.wait_for("failed")["detail"]
    standin.nothing_is_left()


def test_a_call_waits_behind_what_the_guest_wants_of_its_disk(standin):
    """The thread that answers the API also does a guest's flush. A flush that takes long is no fault."""
    config = standin.host.config(memoryMiB=512)
    standin.do("prepare", config)
    standin.do("start", config, env={"MICROAGENT_TEST_LIMIT_API_MS": "2000"})
    standin.set(faults={"PATCH /balloon": {"do": "slow", "seconds": 3}})
    assert standin.balloon(384)["ok"] and standin.event["state"] == "running"


def test_a_balloon_of_which_nothing_is_said(standin):
    standin.start(memoryMiB=512)
    standin.set(faults={"GET /balloon/statistics": {"do": "empty"}})
    answer = standin.balloon(384)
    assert (answer["errorCode"], answer["error"]) == ("io", "Firecracker's API: GET /balloon/statistics: the answer has no body: this is a bug, or Firecracker was taken over")
    standin.set()
    assert standin.balloon(384)["ok"]


@pytest.mark.parametrize("call", ("PATCH /balloon", "GET /balloon/statistics"))
@pytest.mark.parametrize("fault,words,detail", [
    ("hang", "Firecracker's API: {}: no answer within 1000 ms", None),
    ("garbage", "Firecracker's API: {}: the status line of Firecracker's answer is malformed: this is a bug, or Firecracker was taken over", None),
    ("close", "Firecracker closed its API without an answer to {}", None),
    ("die", "Firecracker closed its API without an answer to {}", "Firecracker died by signal 9"),
])
def test_a_balloon_without_an_answer_ends_the_machine(standin, call, fault, words, detail):
    config = standin.host.config(memoryMiB=512)
    standin.do("prepare", config)
    standin.do("start", config, env={"MICROAGENT_TEST_LIMIT_API_RUNNING_MS": "1000", "MICROAGENT_TEST_LIMIT_VMM_END_MS": "300"})
    standin.set(faults={call: {"do": fault}})
    assert words.format(call) in standin.balloon(384)["error"]
    assert (detail or words.format(call)) in standin.wait_for("failed")["detail"]
    standin.nothing_is_left()


def test_it_never_opens_its_api(standin):
    silent = standin.place / "silent"
    silent.write_text(standin.vmm.read_text().replace("program.end", "import time\nif 'api' in str(sys.argv): time.sleep(300)\nprogram.end"))
    silent.chmod(0o755)
    config = standin.host.config()
    env = {"MICROAGENT_FIRECRACKER": str(silent), "MICROAGENT_TEST_LIMIT_API_START_MS": "500"}
    standin.do("prepare", config, env=env)
    assert "did not open its API within 500 ms" in standin.refused("start", config, env=env)


# --- a session at its quota -----------------------------------------------------------------------


class Session:
    """Makes a session with a quota of 16 MiB, in which a program writes more. Its disk is a copy of the base's."""

    def __init__(self, fc, **limits):
        self.fc, host = fc, fc.host
        host("base", "create", "web", check=0)
        env = {f"MICROAGENT_TEST_LIMIT_{name}": str(value) for name, value in limits.items()}
        self.name = host.json("session", "create", "--backend", "firecracker", "--base", "web", "--network", "isolated", "--memory", 256,
                              "--disk-quota", 16, env=env)["name"]
        self.place = host.state / "sessions" / f"{self.name}.bundle"

    def write(self):
        """Starts a writer that goes beyond the quota, with a line on the console each second. It says when it is done."""
        script = "(while echo tick; do sleep 1; done) >/dev/console 2>&1 & dd if=/dev/urandom of=/root/f bs=1M count=32 conv=fsync 2>/dev/null"
        return self.fc.host.popen("session", "exec", "--user", "root", self.name, "--", "sh", "-c", script)

    def quota(self, mib):
        return self.fc.host("session", "quota", self.name, mib)

    def wait_for(self, words):
        wait_until(lambda: words in self.detail, words)

    @property
    def detail(self):
        return json.loads((self.place / "event.json").read_text()).get("detail", "")

    @property
    def log(self):
        return (self.place / "supervisor.log").read_text()

    @property
    def serial(self):
        return (self.place / "serial.log").stat().st_size

    def told(self):
        """Returns the states that it was told to have, without calls that nobody received."""
        return [body["state"] for call, body in self.fc.calls() if call == "PATCH /vm" and isinstance(body, dict)]

    def end(self):
        self.fc.host("session", "destroy", self.name, check=0)
        self.fc.host("base", "delete", "web-v1", check=0)


PAUSED = "paused: its disk has grown to its quota of 16 MiB"


def test_a_session_waits_at_its_quota(standin):
    """A pause that is refused is tried again, and the writer goes on when it may."""
    session = Session(standin)
    standin.set(faults={"PATCH /vm": {"do": "refuse", "times": 2}})
    with session.write() as writer:
        session.wait_for(PAUSED)
        assert "quota: Firecracker refused PATCH /vm: refused because a test wants it (status 400)" in session.log
        assert session.quota(256).returncode == 0
        session.wait_for("resumed: its disk may grow to 256 MiB")
        writer.communicate(timeout=60)
    # The writer may be done before the third try. Then nobody waits for it.
    told = []
    wait_until(lambda: told.extend(session.told()) or "Resumed" in told, "the machine to be resumed")
    assert writer.returncode == 0 and told == ["Paused", "Resumed"]
    session.end()


def test_quarantine_of_a_session_at_its_quota(fc):
    """The quarantine is proven for a machine that stands still. It goes on when it may, and says so only on its console."""
    session = Session(fc)
    with session.write() as writer:
        session.wait_for(PAUSED)
        severed = fc.host.json("quarantine", session.name)["event"]["severed"]
        assert "vsock" in severed and not (session.place / "vsock.sock").exists()
        before = session.serial
        assert session.quota(256).returncode == 0
        wait_until(lambda: session.serial > before, "the guest to go on")
        writer.communicate(timeout=60)
    if not fc.is_real:
        assert session.told() == ["Paused", "Resumed"]
    session.end()


@pytest.mark.parametrize("after,fault,words", [
    (0, "hang", "Firecracker's API: PATCH /vm: no answer within 500 ms"),
    (1, "refuse", "Firecracker refused PATCH /vm: refused because a test wants it (status 400)"),
    (1, "half", "Firecracker's API: PATCH /vm: the answer ends in the middle: Firecracker has crashed, or was taken over"),
])
def test_a_session_that_cannot_be_paused_or_go_on_fails(standin, after, fault, words):
    """No user is left with a machine that stands still and counts as running."""
    session = Session(standin, **({"API_RUNNING_MS": 500} if fault == "hang" else {}))  # otherwise a busy host is too slow for that
    standin.set(faults={"PATCH /vm": {"do": fault, "after": after}})
    with session.write() as writer:
        if after:
            session.wait_for(PAUSED)
            session.quota(256)
        session.wait_for(words)
        writer.communicate(timeout=60)
    session.end()
