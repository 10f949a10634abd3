# SPDX-License-Identifier: MIT
"""Tests bad requests against the whole program: the cases of tests/unit/contract_requests.json, and cases made of a
request that has every field. Each command that takes the full config refuses each request, in words that name the
field, before anything is touched."""

import copy
import itertools
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import schema_check
from conftest import BIN
from test_schema import DATA, FULL, changed, kind, places

FULL_CONFIG = ("check", "prepare", "start", "run", "console")
# The facts of this host differ from those of the unit test's host.
OF_THE_HOST = ("beyond the host", "absurd")


@pytest.fixture(name="ask")
def asking(host):
    """Sends requests two at a time. Afterwards the file system is as before."""
    built = host.support()["commands"]
    host.state = host.base / "never-made"
    before = sorted(host.base.rglob("*"))

    def one(request):
        done = subprocess.run([str(BIN / "microagent-qemu-supervisor")], env=host.env, check=False,
                              input=json.dumps(request).encode(), capture_output=True)
        answer = json.loads(done.stdout)
        assert answer["ok"] == (done.returncode == 0), (request, answer, done.returncode)
        assert answer["ok"] or done.stderr, "a failure is told on stderr as well"
        return answer

    def ask(requests):
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(one, requests))

    ask.commands = [command for command in FULL_CONFIG if command in built]
    yield ask
    assert sorted(host.base.rglob("*")) == before
    assert not host.processes()


def refused(answers, cases, requests):
    for answer, (name, words), request in zip(answers, cases, requests):
        assert answer["ok"] is False, (name, request)
        assert answer["errorCode"] == "invalid" and words in answer["error"], (name, words, answer)
        assert "event" not in answer, name
        schema_check.validate("response", answer, "failure")


def placed(request, host):
    """The state directory must not be made, unless the case is about it."""
    config = request.get("config")
    if isinstance(config, dict) and config.get("stateDir") == FULL["config"]["stateDir"]:
        config["stateDir"] = str(host.state)
    return request


def test_the_table_of_refusals(host, ask):
    """Runs every row with every command. A row that names its command runs with that one."""
    cases, requests = [], []
    for case in DATA["cases"]:
        if case["error"] is None or any(words in case["name"] for words in OF_THE_HOST):
            continue
        own = "command" in case["set"] or "command" in case.get("remove", ())
        for command in [None] if own else ask.commands:
            request = placed(changed(case), host)
            if command:
                request["command"] = command
            cases.append((case["name"], case["error"]))
            requests.append(request)
    assert len(cases) > 400
    refused(ask(requests), cases, requests)


def test_more_than_the_host_has(host, ask):
    cases, requests = [], []
    for command, (key, value) in itertools.product(
            ask.commands, (("memoryMiB", 10**9), ("cpuCount", 100_000), ("memoryMiB", 2**62))):
        request = placed(copy.deepcopy(FULL), host)
        request["command"] = command
        request["config"][key] = value
        cases.append((key, f"config.{key}"))
        requests.append(request)
    refused(ask(requests), cases, requests)


def test_more_than_a_machine_has_room_for(host, ask):
    limits = {row["name"]: row["value"] for row in host.json("contract")["limits"]}
    disks = [{"name": f"d{i}", "path": "/srv/disk", "mountpoint": f"/d{i}", "mode": "ro"} for i in range(17)]
    forwards = [{"hostPort": 20000 + i, "guestPort": 80} for i in range(limits["PUBLISHES"] + 1)]
    listeners = [{"port": 3000 + i, "target": "127.0.0.1:9"} for i in range(limits["VSOCK_HOST_PORTS"])]
    cases, requests = [], []
    for command, (path, values, code) in itertools.product(ask.commands, (
            ("disks", disks, "invalid"), ("network.portForwards", forwards, "invalid"),
            ("vsockListeners", listeners, "unsupported"))):
        request = placed(copy.deepcopy(FULL), host)
        request["command"] = command
        *holder, key = path.split(".")
        (request["config"][holder[0]] if holder else request["config"])[key] = values
        cases.append((f"config.{path}", code))
        requests.append(request)
    for answer, (words, code), request in zip(ask(requests), cases, requests):
        assert answer["errorCode"] == code and words in answer["error"], (request["command"], words, answer)
        assert "event" not in answer


def variants(host, command_of):
    """Yields (case, request): each value of the full request with every other type, each unknown neighbour, and each
    object without each field that its schema requires."""
    document = placed(copy.deepcopy(FULL), host)

    def made(name, path):
        request = copy.deepcopy(document)
        if path != "command" and not path.startswith("command"):
            request["command"] = next(command_of)
        return (name, path), request

    for container, key, path in list(places(document)):
        right = container[key]
        for wrong in (None, True, 7.5, "text", [], {}):
            absent = wrong is None and isinstance(container, dict) and ".env." not in path
            if kind(wrong) != kind(right) and not absent:
                container[key] = wrong
                yield made(f"{path} = {wrong!r}", path)
        container[key] = right
        if isinstance(right, dict) and path != "config.env":
            right["bogus"] = 1
            yield made(f"{path} with bogus", f"{path}.bogus")
            del right["bogus"]
    for path in required_fields():
        *parents, last = path.replace("[0]", ".0").split(".")
        holder = document
        for part in parents:
            holder = holder[int(part)] if part == "0" else holder[part]
        right = holder.pop(last)
        # Without a root disk the initial RAM disk would be the root.
        ram_root = holder.pop("initrdPath", None) if last == "rootfsPath" else None
        yield made(f"without {path}", path)
        holder[last] = right
        if ram_root:
            holder["initrdPath"] = ram_root


def required_fields():
    """Returns the JSON paths that schema/request.json requires in a full request."""
    defs = schema_check.load("defs")["$defs"]
    found = ["command", "identity", "config"]
    found += [f"identity.{key}" for key in defs["identity"]["required"]]
    found += [f"config.{key}" for key in ("kernelPath", "rootfsPath", "stateDir")]
    for name, part in (("disks", "disk"), ("shares", "share"), ("bundles", "bundle"),
                       ("outputs", "output"), ("vsockListeners", "vsockListener")):
        found += [f"config.{name}[0].{key}" for key in defs[part]["required"]]
    found += [f"config.network.portForwards[0].{key}" for key in defs["portForward"]["required"]]
    return found


def test_every_field_of_every_wrong_type_and_every_required_one_missing(host, ask):
    cases, requests = [], []
    for case, request in variants(host, itertools.cycle(ask.commands)):
        cases.append(case)
        requests.append(request)
    assert len(cases) > 300
    refused(ask(requests), cases, requests)


def test_names_that_are_none(host, ask):
    """Unsafe and reserved runtimeIDs, with every command that needs one."""
    cases, requests = [], []
    commands = [c for c in schema_check.load("defs")["$defs"]["command"]["enum"] if c != "host"
                and (c in ask.commands or c not in FULL_CONFIG)]
    for command, name in itertools.product(commands, ("", ".", "..", "a/b", "/etc", "a\\b", "a\0b",
                                                      "x" * 129, "bases", "sessions", "pool",
                                                      "archive", "logs", ".locks", ".microagent-state")):
        request = placed(copy.deepcopy(FULL), host)
        request["command"], request["identity"]["runtimeID"] = command, name
        cases.append((name, "identity.runtimeID"))
        requests.append(request)
    refused(ask(requests), cases, requests)


def test_a_request_cut_anywhere(host, ask):
    text = json.dumps(placed(copy.deepcopy(FULL), host)).encode()
    for length in range(0, len(text), 97):
        done = subprocess.run([str(BIN / "microagent-qemu-supervisor")], env=host.env, check=False,
                              input=text[:length], capture_output=True)
        assert done.returncode == 1 and json.loads(done.stdout)["errorCode"] == "invalid"
