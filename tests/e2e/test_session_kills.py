# SPDX-License-Identifier: MIT
"""Commands that end sessions and bases, killed at each of their steps: what is there afterwards is whole or gone."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

import schema_check
from conftest import make_host
from killing import Killer, cloner
from test_session_crash import orphans

NOTHING = {"removed": [], "adopted": []}
KEPT = {"audit.log", "events.json", "session.json", "telemetry.jsonl"}


@pytest.fixture(scope="module")
def place():
    """A state directory with a base, what makes sessions of it, and what kills commands."""
    base = Path(tempfile.mkdtemp(prefix="microagent-e2e-"))
    it = make_host(base)
    try:
        it("base", "create", "web", check=0)
        it.clone = cloner(it)
        it.killer = Killer(it)
        yield it
        it("base", "delete", "web-v1", check=0)
        it.assert_clean()
    finally:
        it.sweep()
        shutil.rmtree(base, ignore_errors=True)


def bundle(host, name):
    return host.state / "sessions" / f"{name}.bundle"


def names(path):
    return sorted(os.listdir(path)) if path.exists() else []


def trail(host, name):
    lines = [json.loads(line) for line in (host.state / "archive" / name / "audit.log").read_text().splitlines()]
    for line in lines:
        schema_check.validate("audit-line", line)
    return [line["event"] for line in lines]


def assert_gone(host, name):
    """Nothing of it but its archive, once and whole and closed."""
    assert not bundle(host, name).exists() and names(host.state / "archive") == [name]
    assert set(names(host.state / "archive" / name)) == KEPT
    events = trail(host, name)
    assert [events.count(e) for e in ("audit.opened", "session.destroyed", "audit.closed")] == [1, 1, 1], events
    assert host.json("audit", "verify", name)["verdict"] == "closed"
    assert names(host.state / "sessions" / ".locks") == [] and names(host.state / "sessions") == [".locks"]


def test_a_destroy_killed_at_each_step(place):
    seen = set()
    for step in range(1, 1000):
        name, = place.clone()
        (bundle(place, name) / "telemetry.jsonl").touch(0o600)
        killed = place.killer.at(step, "session", "destroy", name)
        whole = bundle(place, name).exists()
        archived = names(place.state / "archive")
        seen.add((whole, tuple(a.removeprefix(".making").replace(name, "") for a in archived)))
        if whole:  # a bundle under its name is whole, and so is an archive
            assert {"session.json", "workspace.json", "audit.log", "telemetry.jsonl"} <= set(names(bundle(place, name)))
        if name in archived:
            assert set(names(place.state / "archive" / name)) == KEPT
            assert trail(place, name)[-2:] == ["session.destroyed", "audit.closed"]
        if not killed:
            break
        if step % 2:
            again = place("session", "destroy", name)
            assert again.returncode == 0 or (not whole and f"there is no session {name}" in again.stderr), again.stderr
        else:
            done = place.json("session", "gc")
            assert done["adopted"] == [] and [r["name"] for r in done["removed"]] in ([], [name])
            if not done["removed"]:  # killed before it began, or after its end
                assert not whole or place("session", "destroy", name).returncode == 0
        assert place.json("session", "gc") == NOTHING
        assert_gone(place, name)
        assert step % 2 or not done["removed"] or ("half-destroyed", "removed") in orphans(place, name)
        shutil.rmtree(place.state / "archive" / name)
    print(f"{step - 1} steps")
    assert step > 20 and len(seen) >= 4, seen
    assert_gone(place, name)
    shutil.rmtree(place.state / "archive" / name)


def test_a_pool_that_was_left(place):
    """A claimer that was killed before it had its member: it is in the pool still, and dead there."""
    name, = place.clone()
    tokens = place.state / "pool" / "web-v1" / "ready"
    for path in (tokens / name, place.state / "sessions" / ".locks" / ".making" / f"{name}.bundle", bundle(place, name) / ".making"):
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        path.touch(0o600)
    (tokens.parent / "claimed").mkdir()
    for part in (tokens, tokens.parent / "claimed", tokens.parent, tokens.parent.parent):
        part.chmod(0o700)
    done = place.json("session", "gc")
    assert done == {"removed": [{"name": name, "why": "its machine ended in the pool"}], "adopted": []}
    told = [json.loads(line)["data"] for line in (place.state / "archive" / name / "audit.log").read_text().splitlines()
            if '"session.orphaned"' in line]
    assert [(d["kind"], d["action"]) for d in told] == [("half-made", "adopted"), ("bundle-without-process", "removed")]
    assert place.json("session", "gc") == NOTHING
    shutil.rmtree(place.state / "archive" / name)
