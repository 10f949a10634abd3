# SPDX-License-Identifier: MIT
"""Runs fifty commands of all kinds on one workspace at once, from as many processes. Each gets one well-formed answer,
the history is one that the state table allows, and in the end nothing is left."""

import concurrent.futures
import json
import random

from conftest import held, wait_until
from test_supervisor import request, sparse

COMMANDS = {  # how often, and whether the command takes the whole config
    "inspect": (12, False), "check": (5, True), "prepare": (4, True), "start": (13, True), "console": (2, True),
    "stop": (4, False), "halt": (4, False), "kill": (4, False), "quarantine": (2, False)}
AT_REST = {"prepared", "halted", "stopped", "failed"}
ENDS = {"stopping", "halted", "stopped", "failed"}
AFTER = {  # the states that may follow each state
    "starting": {"running", *ENDS}, "running": {"running", "quarantined", *ENDS}, "stopping": ENDS,
    "quarantined": {"quarantined", *ENDS},
    **{state: {"prepared", "starting", "quarantined", *ENDS} for state in AT_REST}}
# A halt of a guest that is not ready yet waits in vain, and this test has no time for that.
SHORT = {"MICROAGENT_TEST_LIMIT_HALT_MS": "3000"}


def one(host, command, config):
    """Any answer that the protocol knows is right. Its contents are checked by the caller."""
    code, answer, _ = host.supervisor(request(command, config), env=SHORT)
    if code:
        assert answer["errorCode"] in ("conflict", "unavailable", "timeout", "io"), (command, answer)
        assert answer["error"], (command, answer)
    return code


def test_fifty_commands_at_once(host):
    config = host.config()
    assert host.supervisor(request("prepare", config))[0] == 0
    assert host.supervisor(request("start", config))[0] == 0
    words = [name for name, (times, _) in COMMANDS.items() for _ in range(times)]
    random.Random(50).shuffle(words)
    assert len(words) == 50
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        codes = list(pool.map(lambda word: one(host, word, config if COMMANDS[word][1] else sparse(host)), words))
    told = dict(zip(words, codes))
    assert told["inspect"] == told["check"] == 0
    events = json.loads((host.state / "agent-1" / "events.json").read_text())
    states = [event["state"] for event in events]
    for earlier, later in zip(states, states[1:]):
        assert later in AFTER[earlier], states
    code, answer, _ = host.supervisor(request("inspect", sparse(host)))
    assert code == 0 and answer["event"]["state"] in AT_REST | {"running", "quarantined"}, answer
    if answer["event"]["state"] in AT_REST:
        wait_until(lambda: not held(host, "agent-1"), "nothing to live of what is at rest")
        assert not host.processes()
    # Whatever came of it, the workspace is as good as before.
    assert host.supervisor(request("kill", sparse(host)))[0] == 0
    assert not host.processes()
    code, answer, _ = host.supervisor(request("start", config))
    assert (code, answer["event"]["state"]) == (0, "running"), answer
    assert host("exec", "agent-1", "--", "echo", "here", check=0).stdout == "here\n"
    assert host.supervisor(request("kill", sparse(host)))[0] == 0
    assert host.supervisor(request("delete", sparse(host)))[0] == 0
