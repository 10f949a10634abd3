# SPDX-License-Identifier: MIT
"""Tests the schemas without a VM: they are valid, and schema/request.json accepts and refuses what the decoder accepts
and refuses (both use tests/unit/contract_requests.json)."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest

import schema_check

DATA = json.loads((Path(__file__).resolve().parent.parent / "unit" / "contract_requests.json").read_text())
FULL = DATA["full"]


def holder(document, path):
    *parents, last = path.split(".")
    for key in parents:
        document = document[key]
    return document, last


def expanded(value):
    """"@N" stands for N letters."""
    if isinstance(value, str) and value.startswith("@"):
        return "a" * int(value[1:])
    if isinstance(value, list):
        return [expanded(part) for part in value]
    if isinstance(value, dict):
        return {key: expanded(part) for key, part in value.items()}
    return value


def changed(case):
    document = copy.deepcopy(FULL)
    for path, value in case["set"].items():
        parent, key = holder(document, path)
        parent[key] = expanded(value)
    for path in case.get("remove", []):
        parent, key = holder(document, path)
        del parent[key]
    return document


def places(value, path=""):
    """Yields (container, key or index, JSON path) of every value below."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    for key, part in entries:
        here = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        yield value, key, here
        yield from places(part, here)


def kind(value):
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value)


@pytest.mark.parametrize("name", schema_check.names(all_files=True))
def test_schemas_are_valid(name):
    schema = schema_check.load(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema") and schema["title"]
    if name not in schema_check.NOT_MESSAGES:
        assert schema_check.problems(name, 17), "accepts a number"


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["name"])
def test_request_cases(case):
    found = schema_check.problems("request", changed(case))
    if case.get("written"):
        assert found
    elif case["error"] is None or case.get("schema"):
        assert not found, found
    else:
        assert found


def test_every_field_may_stand_where_the_state_directory_is_enough():
    names = [rule["then"]["properties"]["config"]["propertyNames"]["enum"] for rule in schema_check.load("request")["allOf"]
             if "propertyNames" in rule.get("then", {}).get("properties", {}).get("config", {})]
    assert names and all(set(listed) == set(schema_check.load("defs")["$defs"]["config"]["properties"]) for listed in names)


def test_request_of_every_wrong_type():
    for container, key, path in places(document := copy.deepcopy(FULL)):
        right = container[key]
        for wrong in (None, True, 7.5, "text", [], {}):
            if kind(wrong) == kind(right):
                continue
            container[key] = wrong
            assert schema_check.problems("request", document), (path, wrong)
        container[key] = right


def test_request_with_foreign_members():
    for container, key, path in places(document := copy.deepcopy(FULL)):
        if isinstance(container[key], dict) and path != "config.env":
            container[key]["bogus"] = True
            assert schema_check.problems("request", document), path
            del container[key]["bogus"]
    assert schema_check.problems("request", {**FULL, "bogus": True})


def test_request_with_empty_strings():
    for container, key, path in places(document := copy.deepcopy(FULL)):
        may_be_empty = ".env." in path or (".command[" in path and key > 0)
        if isinstance(container[key], str):
            right, container[key] = container[key], ""
            assert bool(schema_check.problems("request", document)) != may_be_empty, path
            container[key] = right


EVENT = {"identity": FULL["identity"], "state": "prepared", "observedAt": "2026-05-02T00:00:00.000Z"}
SEED_RESPONSE = {  # the answer in the protocol's own description, with digests of full length
    "ok": True, "backend": "firecracker",
    "event": {**EVENT, "identity": {**FULL["identity"], "backend": "firecracker"}},
    "verification": {
        "ok": True, "imageRef": "docker.io/library/busybox:1.36",
        "resolvedRef": "docker.io/library/busybox@sha256:00", "imageDigest": "sha256:00",
        "kernel": {"path": "/tmp/Image", "sha256": "0" * 64},
        "rootfs": {"path": "/tmp/rootfs.ext4", "sha256": "0" * 64, "recordedSHA256": "0" * 64}},
    "readiness": {
        "guestReady": {"ready": True, "observedAt": "2026-05-02T00:00:00Z", "detail": "up"},
        "shellReady": {"ready": True, "detail": "console input is available"},
        "resultReady": {"ready": False},
        "mediationReady": {"ready": True, "observedAt": "2026-05-02T00:00:00Z"}},
    "result": {
        "identity": {**FULL["identity"], "backend": "firecracker"}, "backend": "firecracker",
        "resultPath": "/tmp/microagent/agent-1/result.json", "startedAt": "2026-05-02T00:00:00Z",
        "completedAt": "2026-05-02T00:00:01Z", "exitCode": 0, "stdout": "", "stderr": ""},
    "artifacts": {
        "ingress": [{"name": "config", "path": "./config.tar", "mountpoint": "/config", "mode": "ro",
                     "kind": "bundle"}],
        "egress": [{"name": "report", "path": "/workspace/report.json", "kind": "output"}]},
    "mediation": {"enabled": True, "required": True, "port": 2048, "target": "127.0.0.1:9900",
                  "failClosed": True}}


def test_the_described_response():
    for part in (None, "inspect", "start", "run"):
        assert not schema_check.problems("response", SEED_RESPONSE, part)
    # No other command may have as much.
    for part in ("host", "check", "prepare", "console", "halt", "quarantine", "stop", "kill", "delete"):
        assert schema_check.problems("response", SEED_RESPONSE, part), part


FAILURE = {"ok": False, "backend": "qemu", "error": "no", "errorCode": "invalid"}


@pytest.mark.parametrize("answer,good", [
    (FAILURE, True),
    ({**FAILURE, "event": {**EVENT, "state": "failed"}}, True),
    ({**FAILURE, "errorCode": "bad"}, False),
    ({**FAILURE, "error": ""}, False),
    ({key: FAILURE[key] for key in ("ok", "backend", "error")}, False),
    ({"ok": False}, False),
    ({"ok": True, "backend": "qemu"}, False),
    ({"ok": True, "backend": "qemu", "event": EVENT}, True),
    ({"ok": True, "backend": "qemu", "event": EVENT, "error": "no"}, False),
    ({"ok": True, "backend": "qemu", "event": {**EVENT, "state": "paused"}}, False),
    ({"ok": True, "backend": "qemu", "event": {**EVENT, "observedAt": "today"}}, False),
    ({"backend": "qemu", "event": EVENT}, False),
])
def test_responses(answer, good):
    assert bool(schema_check.problems("response", answer)) != good
