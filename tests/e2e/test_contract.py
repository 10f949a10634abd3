# SPDX-License-Identifier: MIT
"""Tests `microagent contract` against the programs of this host, as far as possible without a VM."""

import json
import os
import re
import subprocess

import pytest

import capabilities
import schema_check
import virtiofsd
from conftest import BACKEND, BIN, ROOT
from test_supervisor import request



@pytest.fixture(name="contract")
def the_contract(host):
    return host.json("contract")


def names(items):
    return [item["name"] for item in items]


def properties(schema):
    return list(schema_check.load(schema)["properties"])


def test_field_order(contract):
    assert contract["version"] == "agent-runtime.v1"
    assert list(contract) == ["version", "backends", "commands", "states", "readinessSignals",
                              "resultFields", "artifactChannels", "mediation", "verification",
                              "parity", "backendSupport", "limits"]
    assert names(contract["commands"]) == ["prepare", "start", "run", "inspect", "halt", "quarantine", "stop", "kill", "delete"]
    assert names(contract["states"]) == ["prepared", "starting", "running", "halted", "quarantined",
                                         "stopped", "failed"]
    assert [s["name"] for s in contract["states"] if s.get("runtimeMayContinue")] == [
        "running", "quarantined"]


def test_names_are_those_of_the_messages(contract):
    """The schemas that check the answers of every test have the names that the contract promises."""
    assert names(contract["readinessSignals"]) == properties("readiness")
    assert set(names(contract["resultFields"])) <= set(properties("result"))
    assert names(contract["artifactChannels"]) == list(
        schema_check.load("response")["$defs"]["artifacts"]["properties"])
    assert set(contract["mediation"]["fields"]) == set(
        schema_check.load("defs")["$defs"]["mediation"]["properties"])


def test_limits_are_those_of_the_code(host):
    users = {key: value for key, value in host.env.items() if not key.startswith("MICROAGENT_TEST_LIMIT_")}
    contract = json.loads(subprocess.run([BIN / "microagent", "--json", "contract"], capture_output=True, check=True, env=users).stdout)
    source = (ROOT / "src" / "base" / "limits.h").read_text()
    rows = dict(re.findall(r"\bX\((\w+),\s*(\d+),", source))
    assert {row["name"]: row["value"] for row in contract["limits"]} == {
        name: int(value) for name, value in rows.items()}
    changed = host.json("contract", env={"MICROAGENT_TEST_LIMIT_QMP_MS": "77"})
    assert next(row["value"] for row in changed["limits"] if row["name"] == "QMP_MS") == 77


STORED = json.loads(capabilities.STORED.read_text())
SYSTEMS = {"apple-vf": "macOS", "firecracker": "Linux", "windows-hyperv": "Windows", "qemu": "Linux"}
HERE = {"firecracker", "qemu", BACKEND}


def lists_of(entry):
    return {name: entry[name] for name in capabilities.LISTS}


def test_capabilities(host, contract):
    """For every backend on every host: the words of its supervisor, or those of the time of the build."""
    assert set(contract["backendSupport"]) == set(contract["backends"]) == set(SYSTEMS)
    for name, entry in contract["backendSupport"].items():
        assert entry["available"] == (name in HERE) and entry["system"] == SYSTEMS[name]
        assert entry["commands"] and entry["networks"] and entry["features"] and entry["refusals"] and entry["triedOn"]
        # A stable backend has every command of the contract. If only a stand-in of it was run, the contract says so.
        assert (entry["stability"] == "stable") == (set(names(contract["commands"])) <= set(entry["commands"])), name
        assert any(trial["real"] for trial in entry["triedOn"]) == (name in ("firecracker", "qemu"))
        assert all(trial["real"] or "stand-in" in trial["what"] for trial in entry["triedOn"])
    for name in HERE:
        assert lists_of(contract["backendSupport"][name]) == lists_of(capabilities.printed(capabilities.NATIVE[name]))
    missing = host.json("contract", env={"MICROAGENT_QEMU_SUPERVISOR": "/nonexistent"})["backendSupport"]["qemu"]
    assert missing == {**contract["backendSupport"]["qemu"], "available": False}


@pytest.mark.parametrize("name", capabilities.NATIVE)
def test_what_is_stored_of_a_backend(name):
    """The stored file is what the supervisor prints: `make lists` writes it anew."""
    printed = lists_of(capabilities.printed(capabilities.NATIVE[name]))
    if os.uname().machine == "aarch64":  # there Firecracker has no power button; the stored file is for amd64
        printed["features"] = [f for f in STORED[name]["features"] if f in (*printed["features"], "powerButton")]
    assert STORED[name] == printed


def test_what_is_stored_of_hyper_v(tmp_path):
    assert STORED["windows-hyperv"] == capabilities.of_windows(tmp_path)


def test_a_supervisor_of_another_version_speaks_for_itself(host):
    """The stored file is for hosts that have no supervisor of that backend."""
    said = {"backend": "apple-vf", "commands": ["host"], "networks": [], "features": ["disks"], "refusals": []}
    other = host.base / "supervisor"
    other.write_text(f"#!/bin/sh\necho '{json.dumps(said)}'\n")
    other.chmod(0o755)
    entry = host.json("contract", env={"MICROAGENT_APPLE_VF_SUPERVISOR": str(other)})["backendSupport"]["apple-vf"]
    assert entry["available"] is True and lists_of(entry) == lists_of(said)


def test_what_is_compared(contract):
    """Fields of a verification block, and the effect of a difference."""
    fields = contract["verification"]["fields"]
    assert set(names(fields)) == set(properties("verification")) - {"ok"}
    divergence = schema_check.load("verification")["properties"]["divergence"]["items"]["properties"]["artifact"]["pattern"]
    for field in fields:
        word = "bundle:x" if field["name"] == "bundles" else field["name"]
        assert (field["compared"] != "never") == bool(re.match(divergence, word)), field
    assert [f["name"] for f in fields if f["compared"] == "untilStarted"] == ["auxiliaryStorage", "rootfs"]


def test_words_have_descriptions(contract):
    """A program uses the names, and a person reads the rest."""
    mediation, parity = contract["mediation"], contract["parity"]
    assert mediation["requiredMode"] in mediation["fields"] and mediation["breakMode"] == "closed"
    assert list(mediation["descriptions"]) == ["requiredMode", "breakMode"]
    assert list(parity["descriptions"]) == parity["rules"]
    assert all(re.fullmatch(r"[a-z][A-Za-z]+", word) for word in (mediation["requiredMode"], *parity["rules"]))


def test_unlisted_commands_are_refused_and_listed_ones_are_not(host):
    listed = host.support()["commands"]
    for command in schema_check.load("defs")["$defs"]["command"]["enum"]:
        _, answer, _ = host.supervisor(request(command, {"stateDir": str(host.state)},
                                               runtimeID="nobody"))
        unsupported = answer.get("errorCode") == "unsupported"
        assert unsupported == (command not in listed), answer


MACOS = {"kernelPath": None, "macos": {"hardwareModelPath": "/nonexistent", "auxiliaryStoragePath": "/nonexistent",
                                       "machineIdentifierPath": "/nonexistent"}}
def examples_of_config():
    """How a config asks for each field of which the schema has an example."""
    properties = schema_check.load("defs")["$defs"]["config"]["properties"]
    return {name: {name: field["examples"][0]} for name, field in properties.items() if "examples" in field}


EXAMPLES = examples_of_config()
SHARE = EXAMPLES["shares"]["shares"][0]
# How a config asks for each feature: a field by its example, and what is a part of a field, or needs another field, by a row.
ASKING = {
    **EXAMPLES,
    "macos": MACOS,
    "shares[].cache": {"shares": [{**SHARE, "cache": "always"}]},
    "shares[].locks": {"shares": [{**SHARE, "locks": True}]},
    "limits": {"limits": {"diskBytesPerSecond": 1, "diskOpsPerSecond": 1, "netBytesPerSecond": 1}, "network": {"mode": "nat"}},
    "network.portForwards": {"network": {"mode": "nat", "portForwards": [
        {"hostPort": 1, "guestPort": 1}]}},
    "network.allow": {"network": {"mode": "nat", "allow": ["10.0.0.0/8"]}},
    "network.egress": {"network": {"mode": "nat", "egress": {}}},
}


def test_features_are_those_that_check_lets_pass(host):
    support = host.support()
    # The virtiofsd in Rust keeps no locks.
    features = set(support["features"]) - (set() if virtiofsd.IS_C else {"shares[].locks"})
    for feature, fields in ASKING.items():
        _, answer, _ = host.supervisor(request("check", host.config(**fields)))
        refused = answer.get("errorCode") == "unsupported" and answer["error"].startswith(f"config.{feature.partition('[')[0]}")
        assert refused == (feature not in features), (feature, answer)
    for mode in ("nat", "isolated", "bridged"):
        network = {"mode": mode, **({"interface": "none0"} if mode == "bridged" else {})}
        _, answer, _ = host.supervisor(request("check", host.config(network=network)))
        assert (answer.get("errorCode") == "unsupported") == (mode not in support["networks"]), answer


def test_each_field_is_of_all_or_a_feature():
    """The row of a field says which backends honour it: every one, or those that have it as a feature."""
    of_all = {field["key"] for field in capabilities.printed_by("print_fields") if field["everyBackend"]}
    fields = set(schema_check.load("defs")["$defs"]["config"]["properties"])
    features = set(schema_check.load("capabilities")["$defs"]["features"]["items"]["enum"])
    assert features == {name for entry in STORED.values() for name in entry["features"]}, "run make lists"
    assert fields == set(capabilities.names_of_config(schema_check.load("request"))["enum"]), "run make lists"
    assert fields - of_all <= features
    assert not of_all & features and "kernelPath" in of_all <= fields


LISTENER = {"target": "127.0.0.1:1"}
WRITABLE_DISK = {"disks": [{**EXAMPLES["disks"]["disks"][0], "mode": "rw"}]}
SECOND_SHARE = {"tag": "second", "path": "/nonexistent", "mountpoint": "/second", "mode": "ro"}
# What a backend may refuse, as a config asks for it, where that is more than the feature.
REFUSED = {
    **ASKING,
    "accelerator": {"accelerator": "tcg"},
    "architecture": {"architecture": {"x86_64": "arm64", "aarch64": "amd64"}[os.uname().machine]},
    "limits.diskBytesPerSecond": {"limits": {"diskBytesPerSecond": 1}, **WRITABLE_DISK},
    "limits.diskOpsPerSecond": {"limits": {"diskOpsPerSecond": 1}, **WRITABLE_DISK},
    **{field: {**MACOS, **ASKING[field]} for field in ("disks", "bundles", "console", "network.portForwards")},
    "command": {**MACOS, "command": ["true"]},
    "shares[].cache": {"shares": [SHARE, {**SECOND_SHARE, "cache": "always"}]},
    "shares[].locks": {"shares": [SHARE, {**SECOND_SHARE, "locks": True}]},
    "cgroup": {"cgroup": "systemd"},
    "limits.netBytesPerSecond": {"limits": {"netBytesPerSecond": 1},
                                 "network": {"mode": "bridged", "interface": "none0"}},
    "vsockListeners[].port": {"vsockListeners": [{"port": 2049, **LISTENER}, {"port": 1 << 30, **LISTENER}]},
    "mediation.port": {"mediation": {"enabled": True, "required": False, "port": 1 << 30, "failClosed": True,
                                     **LISTENER}},
}


def test_each_refusal_names_its_limitation(host):
    refusals = {row["field"]: row["limitation"] for row in host.support()["refusals"]}
    assert refusals and set(refusals) <= set(REFUSED)
    for field, limitation in refusals.items():
        assert len(limitation.split()) > 3, limitation
        # A row may be about machines of another architecture alone.
        asked = (REFUSED[field], {**REFUSED["architecture"], **REFUSED[field]})
        fields = next(one for one in asked if host.supervisor(request("check", host.config(**one)))[1].get("errorCode") == "unsupported")
        for command in ("check", "prepare", "start", "run"):
            code, answer, _ = host.supervisor(request(command, host.config(**fields)))
            assert code == 1 and answer["errorCode"] == "unsupported", (command, answer)
            assert answer["error"] == f"config.{field.replace('[]', '[1]')}: {limitation}", (command, answer)
            assert not (host.state / request(command, {})["identity"]["runtimeID"]).exists()


def test_text(host, contract):
    text = host("contract", check=0).stdout
    for word in (contract["version"], *contract["backends"], *names(contract["commands"]),
                 *names(contract["states"]), *names(contract["resultFields"]), "QMP_MS"):
        assert re.search(rf"(^|\s){re.escape(word)}($|[\s,])", text, re.M), word
    mediation, verification, parity = (contract[key] for key in ("mediation", "verification", "parity"))
    for line in (mediation["primitive"], ", ".join(mediation["fields"]), *mediation["descriptions"].values(), parity["scope"],
                 *parity["descriptions"].values(), *(field["description"] for field in verification["fields"]),
                 *(trial["what"] for entry in contract["backendSupport"].values() for trial in entry["triedOn"])):
        assert f"  {line}\n" in text, line
    assert re.search(r"^windows-hyperv +system +Windows, experimental, not on this host$", text, re.M)
    assert re.search(r"^qemu +system +Linux, stable$", text, re.M)
