# SPDX-License-Identifier: MIT
"""Kills commands that end sessions and bases at each of their steps. Afterwards everything is whole or gone."""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import schema_check
from conftest import make_host, pid_lines, wait_until, with_base
from killing import Killer, cloner
from test_session_crash import orphans

NOTHING = {"removed": [], "adopted": []}
KEPT = {"audit.log", "events.json", "session.json", "telemetry.jsonl"}


@pytest.fixture(scope="module")
def place():
    """Makes a state directory with a base, and returns functions that make sessions of it and kill commands."""
    it = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    it.clone = cloner(it)
    it.killer = Killer(it)
    yield from with_base(it)


def bundle(host, name):
    return host.state / "sessions" / f"{name}.bundle"


def names(path):
    return sorted(os.listdir(path)) if path.exists() else []


def trail(host, name):
    lines = [json.loads(line) for line in (host.state / "archive" / name / "audit.log").read_text().splitlines()]
    for line in lines:
        schema_check.validate("audit-line", line)
    return [line["event"] for line in lines]


def marks(host):
    """Requires that nothing is half made or half ended, and that no lock is left. The time of the next end stays."""
    return [name for name in names(host.state / "sessions" / ".locks") if name != ".ends"]


def assert_gone(host, name):
    """Requires that only its archive is left, once and whole and closed."""
    assert not bundle(host, name).exists() and names(host.state / "archive") == [name]
    assert set(names(host.state / "archive" / name)) == KEPT
    events = trail(host, name)
    assert [events.count(e) for e in ("audit.opened", "session.destroyed", "audit.closed")] == [1, 1, 1], events
    assert host.json("audit", "verify", name)["verdict"] == "closed"
    assert marks(host) == [] and names(host.state / "sessions") == [".locks"]


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
        # Removes the security log too. Otherwise gc would rightly report an archive that somebody has removed.
        shutil.rmtree(place.state / "archive" / name)
        shutil.rmtree(place.state / "logs")
    print(f"{step - 1} steps")
    assert step > 20 and len(seen) >= 4, seen
    assert_gone(place, name)
    shutil.rmtree(place.state / "archive" / name)
    shutil.rmtree(place.state / "logs")


def test_a_pool_that_was_left(place):
    """A claimer that was killed before it had its member. The member is still in the pool, and dead."""
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


def killed_at(place, condition, *words):
    """Kills it at the first step after which the condition is true. Returns the condition's value."""
    for step in range(1, 1000):
        assert place.killer.at(step, *words), "it came to its end"
        found = condition()
        if found:
            return found


def test_what_cannot_be_removed_is_told_once(place):
    name, = place.clone()
    directory = bundle(place, name) / "directory"
    directory.mkdir()
    mark = place.state / "sessions" / ".locks" / ".making" / f"{name}.bundle.end"
    killed_at(place, mark.exists, "session", "destroy", name)
    subprocess.run(["mount", "-t", "tmpfs", "none", directory], check=True)
    try:
        for _ in range(2):
            left = place.json("session", "gc", check=1)["left"]
            assert left == [{"name": name, "why": f"{directory} is a mount point: unmount it first; nothing was removed"}]
            assert orphans(place, name) == [("half-destroyed", "removed"), ("half-destroyed", "left")]
        assert f"{name}  left " in place("session", "gc", check=1).stdout
    finally:
        subprocess.run(["umount", directory], check=True)
    assert place.json("session", "gc")["removed"] == [{"name": name, "why": "its destruction was interrupted"}]
    assert trail(place, name).count("session.orphaned") == 2 and place.json("session", "gc") == NOTHING
    shutil.rmtree(place.state / "archive" / name)


def flocked(path):
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    file = open(path, "w", opener=lambda p, flags: os.open(p, flags, 0o600))
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def half_made(place, name):
    """Makes a session as a killed maker leaves it."""
    (bundle(place, name) / ".making").touch(0o600)
    mark = place.state / "sessions" / ".locks" / ".making" / f"{name}.bundle"
    mark.parent.mkdir(0o700, exist_ok=True)
    mark.touch(0o600)
    return mark


def test_a_destroy_that_fails_leaves_the_trace_of_others(place):
    """While one command is at work no other is. What they know it by stays until it is gone."""
    name, = place.clone()
    mark = half_made(place, name)
    ending = mark.with_name(f"{name}.bundle.end")
    with flocked(ending):
        assert place.json("session", "gc") == NOTHING and mark.exists()
        ending.unlink()
    assert place.json("session", "gc") == {"removed": [{"name": name, "why": "its creation was interrupted"}], "adopted": []}
    assert names(place.state / "sessions") == [".locks"] and marks(place) == []
    shutil.rmtree(place.state / "archive" / name)


def test_a_destroy_while_another_empties_it(place):
    name, = place.clone()
    gone = place.state / "sessions" / ".locks" / ".gone" / f"{name}.bundle"
    gone.parent.mkdir(0o700)
    bundle(place, name).rename(gone)
    held = os.open(gone, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    said = place("session", "destroy", name, check=1).stderr
    assert f"session {name} is being destroyed by another command: wait until that command has ended" in said, said
    os.close(held)
    assert place.json("session", "gc")["removed"] == [{"name": name, "why": "its destruction was interrupted"}]
    assert place.json("session", "gc") == NOTHING and names(place.state / "archive") == []


def test_a_pool_whose_sessions_were_removed_by_hand(place):
    name, = place.clone()
    tokens = place.state / "pool" / "web-v1" / "ready"
    tokens.mkdir(0o700, parents=True)
    for path in (tokens.parent.parent, tokens.parent):
        path.chmod(0o700)
    (tokens / name).touch(0o600)
    shutil.rmtree(place.state / "sessions")
    assert place.json("session", "gc")["removed"] == [{"name": name, "why": "its machine ended in the pool"}]
    assert place.json("session", "gc") == NOTHING and not names(tokens)


def test_one_member_that_cannot_be_removed_keeps_no_other(place):
    busy, stuck, free = place.clone(3)
    pool = place.state / "pool" / "web-v1"
    for kind, name in (("ready", busy), ("ready", stuck), ("ready", free)):
        (pool / kind).mkdir(0o700, parents=True, exist_ok=True)
        (pool / kind / name).touch(0o600)
    (pool / "claimed").mkdir(0o700)
    for path in (pool.parent, pool):
        path.chmod(0o700)
    directory = bundle(place, stuck) / "directory"
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", directory], check=True)
    why = f"{directory} is a mount point: unmount it first; nothing was removed"
    try:
        with flocked(place.state / "sessions" / ".locks" / ".making" / f"{busy}.bundle.end") as mark:
            done = place.json("session", "gc", check=1)
            assert {"name": free, "why": "its machine ended in the pool"} in done["removed"]
            assert {r["name"] for r in done["removed"]} == {free}
            assert done["left"] == [{"name": stuck, "why": why}]
            assert orphans(place, stuck) == [("bundle-without-process", "removed"), ("bundle-without-process", "left")]
            assert names(pool / "ending") == sorted((busy, stuck)) and names(pool / "ready") == []
            assert ("half-destroyed", "removed") not in orphans(place, busy)
            os.unlink(mark.name)
    finally:
        subprocess.run(["umount", directory], check=True)
    done = place.json("session", "gc")
    assert {(r["name"], r["why"]) for r in done["removed"]} == {(n, "its destruction was interrupted") for n in (busy, stuck)}
    assert place.json("session", "gc") == NOTHING and names(place.state / "sessions") == [".locks"]
    for name in (busy, stuck, free):
        shutil.rmtree(place.state / "archive" / name)


def test_a_running_session_killed_while_it_is_destroyed(place):
    """Its machine may run on, or be gone; the next command ends it."""
    seen = set()
    name = place.json("session", "create", "--base", "web", "--network", "isolated")["name"]
    for step in range(1, 1000):
        place.killer.at(step, "session", "destroy", name)
        running = pid_lines(f"{name}.bundle")
        seen.add(bool(running))
        if not running:
            break
    assert seen == {True, False}
    assert bundle(place, name).exists()
    assert [r["name"] for r in place.json("session", "gc")["removed"]] == [name]
    wait_until(lambda: not place.processes(), "the end of all its processes")
    events = trail(place, name)
    assert [events.count(e) for e in ("audit.opened", "session.destroyed", "audit.closed")] == [1, 1, 1], events
    assert place.json("session", "gc") == NOTHING and not bundle(place, name).exists()


def test_a_destroyed_session_is_not_started(place):
    name, = place.clone()
    killed_at(place, lambda: "session.destroyed" in (bundle(place, name) / "audit.log").read_text(), "session", "destroy", name)
    refused = place("--state-dir", place.state / "sessions", "start", f"{name}.bundle")
    assert refused.returncode == 1 and f"`microagent session destroy {name}` finishes the work" in refused.stderr
    place("session", "destroy", name, check=0)
    assert place.json("session", "gc") == NOTHING


def test_a_workspace_that_is_deleted(place):
    for step in range(1, 1000, 3):
        place("create", "w", check=0)
        killed = place.killer.at(step, "delete", "w")
        if (place.state / "w").exists():
            assert "workspace.json" in names(place.state / "w")
            assert [w["state"] for w in place.json("list")["workspaces"]] == ["prepared"]
        place("delete", "w", check=0)
        assert not (place.state / "w").exists() and not (place.state / ".locks" / ".gone").exists()
        if not killed:
            break


# --- bases --------------------------------------------------------------------------------------------


def bases(host, but=("web-v1",)):
    """Returns the listed bases, each whole, and what else is in their directory."""
    told = [b["name"] for b in host.json("base", "list")["bases"] if b["name"] not in but]
    assert all(host.json("base", "verify", name)["ok"] for name in told)
    there = [f for f in names(host.state / "bases") if f.removesuffix(".bundle") not in but]
    return told, [f for f in there if f.removesuffix(".bundle") not in told]


def test_a_base_create_and_delete_killed_at_each_step(place):
    """Under its name the base is whole, with immutable files. The next command removes the rest."""
    ends = {"create": set(), "delete": set()}
    for step in range(1, 1000):
        killed = place.killer.at(step, "base", "create", "other")
        told, rest = bases(place)
        ends["create"].add((len(told), len(rest)))
        done = place.json("session", "gc") if rest else NOTHING
        assert [r["name"] for r in done["removed"]] == rest and bases(place) == (told, [])
        if told:
            place("base", "delete", "other-v1", check=0)
        if not killed:
            break
    for step in range(1, 1000):
        place("base", "create", "other", check=0)
        killed = place.killer.at(step, "base", "delete", "other-v1")
        told, rest = bases(place)
        ends["delete"].add((len(told), len(rest)))
        again = place("base", "delete", "other-v1")
        assert again.returncode == (0 if told else 1) and (told or 'no base "other-v1"' in again.stderr)
        assert bases(place) == ([], [])
        if not killed:
            break
    assert ends == {"create": {(0, 0), (0, 1), (1, 0)}, "delete": {(1, 0), (0, 1), (0, 0)}}


def test_a_base_is_deleted_while_it_is_used(place):
    """Each session that was made has its whole base. Each base that was deleted had no session."""
    def race(number):
        if number % 4:
            return place("session", "create", "--base", "other", "--network", "isolated")
        return place("base", "delete", "other-v1")

    place("base", "create", "other", check=0)
    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(race, range(8)))
    made = [d.stdout.strip() for n, d in enumerate(done) if n % 4 and d.returncode == 0]
    deleted = [d for n, d in enumerate(done) if n % 4 == 0 and d.returncode == 0]
    assert len(deleted) <= 1 and bool(made) != bool(deleted), done
    for d in done:
        assert d.returncode == 0 or any(text in d.stderr for text in (
            "is being deleted", 'no base "other', "is made of base other-v1", "is being made of base other-v1")), d
    for name in made:
        place("session", "exec", name, "--", "true", check=0)
        place("session", "destroy", name, check=0)
    if not deleted:
        place("base", "delete", "other-v1", check=0)
    assert bases(place) == ([], []) and place.json("session", "gc") == NOTHING


def test_a_base_of_a_pool(place):
    """Nothing of the pool has been made yet, and the pool is kept all the same."""
    pool = place.state / "pool" / "web-v1"
    for part in (pool / "ready", pool / "claimed"):
        part.mkdir(parents=True)
    for part in (pool.parent, pool, *pool.iterdir()):
        part.chmod(0o700)
    record = {"format": 1, "base": "web-v1", "backend": "qemu", "size": 1, "memoryMiB": 256, "cpuCount": 1, "network": "isolated"}
    schema_check.validate("pool", record)
    (pool / "pool.json").write_text(json.dumps(record))
    refused = place("base", "delete", "web-v1")
    assert refused.returncode == 1
    assert "base web-v1 cannot be deleted, because it has a pool\n" in refused.stderr
    assert "hint: `microagent pool drain --base web-v1` first" in refused.stderr
    place("pool", "drain", "--base", "web-v1", check=0)


def test_a_session_that_hides_its_base(place):
    name, = place.clone()
    record = bundle(place, name) / "session.json"
    record.write_text("{")
    refused = place("base", "delete", "web-v1")
    assert refused.returncode == 1 and f"session {name} may be made of base web-v1" in refused.stderr
    place("session", "destroy", name, check=0)  # and it is destroyed all the same
    assert not bundle(place, name).exists()


# --- what somebody has put into a bundle --------------------------------------------------------------


def test_links_and_mounts_lead_nowhere(place):
    outside = place.base / "outside"
    for part in ("file", "directory/file"):
        (outside / part).parent.mkdir(parents=True, exist_ok=True)
        (outside / part).write_text("kept")
    kept = {p: p.stat().st_mode for p in outside.rglob("*")}
    name, = place.clone()
    for file in list(bundle(place, name).iterdir()):
        if file.name != "session.json":
            file.unlink()
            file.symlink_to(outside / "file" if "json" in file.name else outside)
    (bundle(place, name) / "directory").symlink_to(outside / "directory")
    (bundle(place, name) / "telemetry.jsonl").symlink_to(outside / "file")
    place("session", "destroy", name, check=0)
    assert not bundle(place, name).exists() and {p: p.stat().st_mode for p in outside.rglob("*")} == kept
    assert all(p.read_text() == "kept" for p in outside.rglob("file"))
    assert not [p for p in (place.state / "archive" / name).iterdir() if p.is_symlink()]
    answer = json.loads(place("--json", "audit", "verify", name, check=1).stdout)
    assert answer["verdict"] == "broken"  # the security log knows the log that was there

    # The session's own directory is a link: it is not ours, and not followed.
    bundle(place, name).symlink_to(outside)
    refused = place("session", "destroy", name)
    assert refused.returncode == 1 and str(bundle(place, name)) in refused.stderr, refused.stderr
    assert place.json("session", "gc") == NOTHING and bundle(place, name).is_symlink()
    bundle(place, name).unlink()

    for over in ("directory", "rootfs.qcow2", "."):  # a directory, a file, the bundle itself
        name, = place.clone()
        target = bundle(place, name) / over
        if over == "directory":
            target.mkdir()
        what = outside / "file" if target.is_file() else outside
        before = names(bundle(place, name))
        subprocess.run(["mount", "--bind", bundle(place, name) if over == "." else what, target], check=True)
        try:
            refused = place("session", "destroy", name)
            assert refused.returncode == 1 and f"{target} is a mount point: unmount it first" in refused.stderr
            assert names(bundle(place, name)) == before
        finally:
            subprocess.run(["umount", target], check=True)
        place("session", "destroy", name, check=0)
        assert not bundle(place, name).exists() and (outside / "file").read_text() == "kept"
    shutil.rmtree(outside)
