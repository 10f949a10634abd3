# SPDX-License-Identifier: MIT
"""Tests every state with every command: 9 by 12. A refusal says why, changes nothing and leaves nothing behind. An
allowed command leads to the right state, and its answer has exactly the blocks of the command. The table here is
written independently of the program."""

import json
import os
import signal

import pytest

from conftest import BACKEND, wait_until
from test_crash import dead_initrd

IDENTITY = {"requestID": "req-1", "runtimeID": "w", "role": "workload", "backend": "qemu"}
FULL = ("check", "prepare", "run", "start", "console")
COMMANDS = ("host", *FULL, "inspect", "halt", "quarantine", "stop", "kill", "delete")
READS = ("host", "check", "inspect")
AT_REST = ("prepared", "halted", "stopped", "failed")
LEGAL = {  # command: the states in which it may act, beside those of READS, which may act in all
    "prepare": ("unknown", *AT_REST), "run": ("unknown", *AT_REST), "start": AT_REST,
    "console": ("running",), "quarantine": (*AT_REST, "running"),
    "halt": ("starting", "running", "stopping", "quarantined", *AT_REST),
    "stop": ("starting", "running", "stopping", "quarantined", *AT_REST),
    "kill": ("starting", "running", "stopping", "quarantined", *AT_REST),
    "delete": ("unknown", "quarantined", *AT_REST),  # with nothing alive
}
AFTER = {"prepare": "prepared", "halt": "halted", "stop": "stopped", "kill": "stopped",
         "quarantine": "quarantined", "delete": "stopped", "run": "failed", "start": "failed"}


def after(command, state):
    """Returns the state of a workspace without a machine after a command. halt ends a quarantine, and changes nothing else."""
    return state if command == "halt" and state != "quarantined" else AFTER[command]


# The table of seed 003: the blocks that each answer must have and may have, beside ok and backend.
LIVE = ({"event", "verification", "readiness"}, {"result", "artifacts", "mediation", "network", "architecture", "consoleMode"})
BLOCKS = {"host": ({"host", "kernel"}, set()), "check": ({"event", "verification"}, {"mediation"}),
          "prepare": ({"event", "verification"}, {"artifacts", "mediation"}),
          "run": LIVE, "start": LIVE, "inspect": LIVE, "console": ({"event"}, set()),
          "halt": ({"event"}, set()), "quarantine": ({"event"}, set()), "stop": ({"event"}, set()),
          "kill": ({"event"}, set()), "delete": ({"event"}, set())}


def refusal(state, command, place):
    """Returns (errorCode, error) of a command that the state does not allow."""
    if state == "unknown":
        return ("not-found", f"workspace w is not prepared in {place}: prepare it first") \
            if command in ("start", "console") else ("not-found", f"there is no workspace w in {place}")
    if command == "delete" and state in ("starting", "running"):
        return "conflict", f"workspace w is {state}; stop or kill it before delete"
    if command == "console":
        return "conflict", f"workspace w is {state}; its console can be used only while it is running"
    if command == "quarantine" and state == "quarantined":
        return "conflict", "workspace w is already quarantined"
    if command == "quarantine" and state == "starting":
        return "conflict", "workspace w is starting; kill it, or wait until it is running, before quarantine"
    if state in ("starting", "running"):
        return "conflict", f"workspace w is already {state}; stop or kill it before {command}"
    if state == "quarantined":
        return "conflict", f"workspace w is quarantined; halt, stop or kill it before {command}"
    return "conflict", f"workspace w is {state}; wait until it has ended, or kill it, before {command}"


class Workspace:
    def __init__(self, host, **changes):
        self.host = host
        self.config = host.config(**changes)
        self.directory = host.state / "w"

    def request(self, command):
        document = {"command": command}
        if command != "host":
            document["identity"] = IDENTITY
            document["config"] = self.config if command in FULL else {"stateDir": str(self.host.state)}
        return document

    def ask(self, command, **env):
        code, answer, said = self.host.supervisor(self.request(command), env=env)
        assert "\0" not in said
        return code, answer

    def go(self, command, **env):
        code, answer = self.ask(command, **env)
        assert code == 0, (command, answer)
        return answer["event"]["state"]

    def begin(self, command, **env):
        """Runs a command that takes long as a process of its own."""
        child = self.host.popen(program=self.host.program, stdin=-1, env=env)
        child.stdin.write(self.host.own(self.request(command)))
        child.stdin.close()
        child.stdin = None
        return child

    def recorded(self):
        path = self.directory / "events.json"
        return json.loads(path.read_text()) if path.exists() else []

    def state(self):
        events = self.recorded()
        return events[-1]["state"] if events else "unknown"

    def check_read(self, state, command):
        code, answer = self.ask(command)
        assert code == 0, (state, command, answer)
        if command != "host":
            assert answer["event"]["state"] == state, (command, answer)
        if not (state == "unknown" and command == "inspect"):
            check_blocks(command, answer)

    def check_refused(self, state, command):
        before = self.recorded()
        code, answer = self.ask(command)
        assert (code, answer["errorCode"], answer["error"]) == \
            (1, *refusal(state, command, self.host.state)), (state, command)
        # The error comes with the blocks that exist.
        assert set(answer) - {"event"} == {"ok", "backend", "error", "errorCode"}
        assert answer.get("event") == (before[-1] if before else None)
        assert self.recorded() == before, (state, command)

    def check_all_but_ends(self, state, skip=()):
        """Tests all commands that a state refuses, and all that only read."""
        for command in COMMANDS:
            if command in READS:
                self.check_read(state, command)
            elif command not in skip and state not in LEGAL[command]:
                self.check_refused(state, command)


def check_blocks(command, answer):
    must, may = BLOCKS[command]
    blocks = set(answer) - {"ok", "backend"} - ({"confinement"} if answer.get("confinement") == "platform" else set())
    assert must <= blocks <= must | may, (command, blocks)


def make(ws, state):
    ws.go("delete")
    if state == "unknown":
        return
    assert ws.go("prepare") == "prepared"
    if state == "failed":
        assert ws.ask("start", **ws.host.without_vmm())[0] != 0
    elif state != "prepared":
        for word in {"halted": ("quarantine", "halt"), "stopped": ("stop",), "quarantined": ("quarantine",)}[state]:
            ws.go(word)
    assert ws.state() == state


@pytest.mark.parametrize("state", ["unknown", *AT_REST, "quarantined"])
def test_states_without_a_machine(host, state):
    ws = Workspace(host)
    make(ws, state)
    ws.check_all_but_ends(state)
    if state == "unknown":
        assert not ws.directory.exists()
    for command in COMMANDS:
        if command in READS or state not in LEGAL[command]:
            continue
        if ws.state() != state:
            make(ws, state)
        code, answer = ws.ask(command, **ws.host.without_vmm())
        assert (code == 0) == (command not in ("start", "run")), (command, answer)
        assert answer["event"]["state"] == after(command, state), (command, answer)
        if command == "halt":
            assert ("no machine was running" in answer["event"].get("detail", "")) == (state != "quarantined")
        if code == 0:
            check_blocks(command, answer)
        else:
            assert [e["state"] for e in ws.recorded()[-2:]] == ["starting", "failed"]
        assert ws.state() == ("unknown" if command == "delete" else after(command, state))
    ws.go("delete")


@pytest.mark.skipif(BACKEND == "apple-vf", reason="what stands still there is the supervisor itself")
def test_states_with_a_machine(host):
    ws = Workspace(host)
    ws.go("prepare")
    # Long enough for all requests that come while the machine stands still.
    code, answer = ws.ask("start", MICROAGENT_TEST_LIMIT_HALT_MS="120000")
    assert (code, answer["event"]["state"]) == (0, "running"), answer
    check_blocks("start", answer)
    ws.check_all_but_ends("running")
    code, answer = ws.ask("console")
    assert (code, answer["event"]["detail"]) == (0, str(ws.directory / "console.sock"))
    check_blocks("console", answer)
    assert ws.state() == "running"
    # A machine that cannot answer keeps its workspace in stopping.
    pid = json.loads((ws.directory / "runtime.json").read_text())["pid"]
    os.kill(pid, signal.SIGSTOP)
    stopper = ws.begin("stop")
    wait_until(lambda: ws.state() == "stopping", "the stop to begin")
    ws.check_all_but_ends("stopping")
    halter = ws.begin("halt")  # allowed: it waits for the same end
    assert ws.go("kill") == "stopped"
    for child in (stopper, halter):
        out, err = child.communicate(timeout=120)
        assert child.returncode == 0, (out, err)
        assert json.loads(out)["ok"] is True
        assert json.loads(out)["event"] == ws.recorded()[-1], "the end is the kill's, whoever else waited for it"
    assert [e["state"] for e in ws.recorded()[-3:]] == ["running", "stopping", "stopped"]
    assert ws.recorded()[-1]["detail"] == "killed"
    assert not host.processes()
    # Brings a workspace into quarantine, with the machine alive.
    assert ws.ask("start")[0] == 0
    assert ws.go("quarantine") == "quarantined"
    ws.check_all_but_ends("quarantined", skip=("delete",))
    ws.check_refused("quarantined", "delete")
    assert ws.go("stop") == "stopped"
    # A tuned kernel does not hear Firecracker's power button.
    assert ("unclean" in ws.recorded()[-1]["detail"]) == (host.backend == "firecracker")
    ws.go("delete")


@pytest.mark.parametrize("command,after,detail", [("halt", "halted", "unclean"), ("stop", "stopped", "unclean"),
                                                  ("kill", "stopped", "killed")])
def test_starting(host, command, after, detail):
    """A guest that never gets ready; one for each command that ends it."""
    ws = Workspace(host, initrdPath=str(dead_initrd(host)))
    ws.go("prepare")
    starter = ws.begin("start", MICROAGENT_TEST_LIMIT_BOOT_TCG_MS="120000", MICROAGENT_TEST_LIMIT_HALT_MS="300")
    wait_until(lambda: ws.state() == "starting" and (ws.directory / "runtime.json").exists(), "the boot")
    if command == "kill":
        ws.check_all_but_ends("starting")
    code, answer = ws.ask(command)
    assert (code, answer["event"]["state"]) == (0, after), answer
    assert detail in answer["event"]["detail"]
    check_blocks(command, answer)
    out, err = starter.communicate(timeout=120)
    assert starter.returncode == 1, (out, err)
    assert json.loads(out)["event"]["state"] == after
    assert not host.processes()
    ws.go("delete")


def test_run_from_nothing_and_again(host):
    """run prepares a workspace that does not exist, and is allowed in every state of rest: with a real end."""
    ws = Workspace(host, command=["true"])
    for _ in range(2):
        code, answer = ws.ask("run")
        assert (code, answer["event"]["state"]) == (0, "stopped"), answer
        check_blocks("run", answer)
        assert answer["result"]["exitCode"] == 0
    assert [e["state"] for e in ws.recorded()] == ["prepared", *["starting", "running", "stopped"] * 2]
    ws.go("delete")
