# SPDX-License-Identifier: MIT
"""Tests docs/state-and-identity.md against the supervisors. tests/unit/test_contract_page.c compares it with their table."""

import json
import os
import signal

from conftest import ROOT, wait_until
from test_matrix import AT_REST, LEGAL, after
from test_supervisor import DEAF, answer_of, await_deaf, begin, events_of, request, sparse

TEXT = (ROOT / "docs/state-and-identity.md").read_text()


def rows(head):
    lines = TEXT[TEXT.index(f"| {head} |"):].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]


def test_where_commands_lead():
    """The page agrees with the matrix of commands and states, which is tested in each state. start and run answer with
    the state after `starting`."""
    (_, *commands), *table = rows("from")
    assert sorted(commands) == sorted(LEGAL.keys() - {"console"}) and len(table) == 9
    for state, *cells in table:
        for command, cell in zip(commands, cells):
            if command == "delete":
                assert (cell != "alive") == (state in LEGAL[command]), (state, cell)
            elif state not in LEGAL[command]:
                assert cell == "-", (command, state)
            elif command in ("start", "run"):
                assert cell == ("prepared" if state == "unknown" else "starting"), (command, state)
            else:
                assert cell == (after(command, state) if state in (*AT_REST, "quarantined", "unknown") or command != "halt" else "halted"), (command, state)


def test_what_delete_answers(host):
    """The page says: `stopped` from any state, and the record is gone after it."""
    assert "says `stopped` (nothing of the workspace runs) whatever the state was, also where there was no workspace" in TEXT
    for before in ((), ("prepare",), ("prepare", "quarantine"), ("prepare", "quarantine", "halt")):
        for command in before:
            assert host.supervisor(request(command, host.config() if command == "prepare" else sparse(host)))[0] == 0
        for command, state in (("delete", "stopped"), ("inspect", "unknown")):
            code, answer, _ = host.supervisor(request(command, sparse(host)))
            assert (code, answer["event"]["state"]) == (0, state), (before, command)
        assert not (host.state / "agent-1").exists()


def test_which_refusals_have_an_event(host):
    """docs/protocol.md: a request that is refused for itself has no event of the workspace, and one that is refused for
    a file has one."""
    made = host.supervisor(request("prepare", host.config()))[1]["event"]
    _, answer, _ = host.supervisor(request("start", host.config(memoryMiB=1)))
    assert answer["errorCode"] == "invalid" and "event" not in answer
    _, answer, _ = host.supervisor(request("check", host.config(kernelPath=str(host.base / "nothing"))))
    assert answer["errorCode"] == "not-found" and answer["event"] == made
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def test_whose_id_an_answer_carries(host):
    """The last table of the page, row by row."""
    listed = [row[0] for row in rows("request")[1:]]
    assert len(listed) == 9, listed
    roles = {}  # requestID: the role beside it

    def ask(command, expected=None, config=None, ok=True, state=None):
        """expected: whose id the event has; None: its own."""
        own = f"r{len(roles)}"
        roles[own] = ("workload", "enforcer")[len(roles) % 2]
        full = command in ("check", "prepare", "start", "run", "console")
        body = (config or host.config()) if full else sparse(host)
        _, answer, _ = host.supervisor(request(command, body, requestID=own, role=roles[own]))
        assert answer["ok"] == ok, answer
        if expected != "none":
            identity = answer["event"]["identity"]
            assert (identity["requestID"], identity["role"]) == (expected or own, roles[expected or own]), (command, answer["event"])
            assert state in (None, answer["event"]["state"]), answer["event"]
        return own

    ask("inspect", state="unknown")
    ask("check", state="unknown")
    ask("halt", "none", ok=False)
    made = ask("prepare")
    ask("check", made)
    ask("inspect", made)
    ask("halt", made, state="prepared")
    ask("inspect", made)
    up = ask("start", state="running")
    ask("console")
    ask("start", up, ok=False)
    ask("inspect", up)
    down = ask("halt", state="halted")
    ask("inspect", down)
    ask("stop")
    ask("quarantine")
    ask("halt", state="halted")
    ask("kill")
    ask("delete")
    config = host.config(command=["sleep", "1000"])
    ask("prepare", config=config)
    up = ask("start", config=config, state="running")
    os.kill(json.loads((host.state / "agent-1" / "runtime.json").read_text())["pid"], signal.SIGKILL)
    event = host.state / "agent-1" / "event.json"
    wait_until(lambda: json.loads(event.read_text())["state"] == "failed", "the end by itself")
    ask("inspect", up, state="failed")
    up = ask("start", config=config, state="running")
    cut = ask("quarantine", state="quarantined")
    ask("inspect", cut)
    os.kill(json.loads((host.state / "agent-1" / "runtime.json").read_text())["pid"], signal.SIGKILL)
    wait_until(lambda: json.loads(event.read_text())["detail"].startswith("unclean"), "the end by itself in quarantine")
    ask("inspect", up, state="quarantined")
    ask("halt", state="halted")
    ask("start", config=config, state="running")
    live = json.loads((host.state / "agent-1" / "runtime.json").read_text())["supervisorPid"]
    os.kill(live, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{live}"), "its end")
    ask("inspect", state="failed")
    ask("delete")


def test_whose_end_several_answer_with(host):
    """The row of the table about a machine that several commands end. Its guest takes a few seconds for its own end."""
    config = host.config(**DEAF)
    assert host.supervisor(request("prepare", config))[0] == 0
    log = host.state / "agent-1" / "supervisor.log"
    cases = ((("halt", "halt"), 0), (("halt", "stop"), 1), (("stop", "stop"), 0), (("stop", "kill"), 1))
    for times, (commands, stands) in enumerate(cases, 1):
        assert host.supervisor(request("start", config))[0] == 0
        await_deaf(host, times)
        asked = log.read_text().count("by control.sock")
        children = []
        for number, command in enumerate(commands):
            children.append(begin(host, command, requestID=f"{command}-{number}"))
            wait_until(lambda: log.read_text().count("by control.sock") == asked + len(children), "its word")
        answers = [answer_of(child) for child in children]
        assert [code for code, _ in answers] == [0, 0], answers
        assert answers[0][1]["event"] == answers[1][1]["event"] == events_of(host)[-1], commands
        assert events_of(host)[-1]["identity"]["requestID"] == f"{commands[stands]}-{stands}", commands
    assert host.supervisor(request("delete", sparse(host)))[0] == 0
