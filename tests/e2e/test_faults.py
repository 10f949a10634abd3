# SPDX-License-Identifier: MIT
"""Tests disks that fill and fail, missing descriptors and memory, and kills, one at a time and anywhere in a command.
Afterwards everything is in a state of the table. A command that said it was done has done it. The ordinary commands
can remove what is left."""

import os
import time
from pathlib import Path

import pytest

import importing
import oci
import pools
import strays
from faults import Faults, chosen, rule
from importing import simple

cache = importing.cache

STATES = {"prepared", "starting", "running", "paused", "stopping", "stopped", "halted", "failed", "quarantined"}
# The seed changes every day and is the same all day long, so that a failure can be repeated.
SEED = int(os.environ.get("MICROAGENT_TEST_SEED", time.strftime("%j")))
# All eleven commands take less than half an hour on two cores. The seed brings the other places on another day.
MANY = int(os.environ.get("MICROAGENT_TEST_FAULTS", 60))
SMALL = ("--memory", 256, "--cpus", 1)


class Command:
    """The steps before the command, its promise when it ends well, and how its place is cleared."""

    program = "microagent-qemu-supervisor"
    nth = 1

    def before(self, faults):
        pass

    def promised(self, faults):
        pass

    def clear(self, faults):
        """The next delete goes on with one that was interrupted."""
        faults.nth.write_text("0")
        for entry in faults.host.json("list")["workspaces"]:
            assert entry["state"] in STATES, entry
            faults.plainly("kill", entry["name"])
            faults.plainly("delete", entry["name"], check=0)
        faults.plainly("create", "next", *SMALL, check=0)
        faults.plainly("delete", "next", check=0)


def state(faults):
    faults.nth.write_text("0")
    return faults.host.json("status", "w")["event"]["state"]


class Prepare(Command):
    words = ("create", "w", *SMALL)

    def promised(self, faults):
        assert state(faults) == "prepared"


class Start(Command):
    words = ("start", "w")

    def before(self, faults):
        faults.plainly("create", "w", *SMALL, check=0)

    def promised(self, faults):
        assert state(faults) == "running"
        faults.plainly("exec", "w", "--", "true", check=0)


class Stop(Command):
    words = ("stop", "w")

    def before(self, faults):
        faults.plainly("create", "w", *SMALL, check=0)
        faults.plainly("start", "w", check=0)

    def promised(self, faults):
        assert state(faults) == "stopped"


class Delete(Command):
    words = ("delete", "w")

    def before(self, faults):
        faults.plainly("create", "w", *SMALL, check=0)

    def promised(self, faults):
        assert not (faults.host.state / "w").exists()


class Sessions(Command):
    program = "microagent"

    def clear(self, faults):
        faults.plainly("session", "gc", check=0)
        for entry in faults.host.json("session", "list")["sessions"]:
            assert entry["state"] in STATES, entry
            faults.plainly("session", "destroy", entry["name"], check=0)
        faults.plainly("session", "gc", check=0)


class SessionCreate(Sessions):
    words = ("session", "create", "--base", "web", "--network", "isolated")

    def promised(self, faults):
        entry, = faults.host.json("session", "list")["sessions"]
        assert entry["state"] == "running"


class SessionDestroy(Sessions):
    @property
    def words(self):
        return ("session", "destroy", self.name)

    def before(self, faults):
        self.name = faults.plainly("session", "create", "--base", "web", "--network", "isolated", check=0).stdout.strip()

    def promised(self, faults):
        assert faults.host.json("session", "list")["sessions"] == []


class BaseCreate(Command):
    program = "microagent"
    words = ("base", "create", "other")

    def promised(self, faults):
        assert faults.plainly("base", "verify", "other-v1", check=0)

    def clear(self, faults):
        for entry in faults.host.json("base", "list")["bases"]:
            if entry["name"] != "web-v1":
                faults.plainly("base", "delete", entry["name"], check=0)
        faults.plainly("session", "gc", check=0)


class SessionStart(SessionCreate):
    program = "microagent-qemu-supervisor"


class PoolSet(Sessions):
    words = ("pool", "set", "--base", "web", "--size", 1, "--network", "isolated")

    def promised(self, faults):
        pool, = faults.host.json("pool", "status")["pools"]
        assert pool["size"] == 1

    def clear(self, faults):
        faults.plainly("pool", "drain", check=0)
        super().clear(faults)


class PoolDrain(PoolSet):
    """For a pool with one member that is ready."""

    words = ("pool", "drain")

    def before(self, faults):
        faults.plainly(*PoolSet.words, env=pools.NOW, check=0)
        pools.wait_full(faults.host, 1)

    def promised(self, faults):
        assert faults.host.json("pool", "status") == {"pools": []}


class ImageImport(Command):
    program = "microagent-artifact"

    def before(self, faults):
        layout = faults.host.base / "layout"
        if not layout.exists():
            simple(faults.host, *oci.busybox("sh"))
        self.words = ("image", "import", "--size", 128, "box", layout)

    def promised(self, faults):
        assert faults.host.json("image", "verify", "box")["ok"]

    def clear(self, faults):
        """The next import of that name removes what a killed import had begun."""
        faults.plainly("image", "remove", "box")
        faults.plainly(*self.words, check=0)
        faults.plainly("image", "remove", "box", check=0)


def try_one(faults, command, place, fault, kept):
    """Returns what is wrong after that fault. Returns None if nothing is."""
    command.before(faults)
    done = faults.run(command.words, command.nth, rule(place, fault))
    try:
        had = faults.had()
        if done.returncode == 0:
            command.promised(faults)
        else:
            assert had and (done.stderr or fault == "kill"), "an error without a word"
        command.clear(faults)
        assert not strays.processes(faults.host.state), "processes are left"
        assert kept_files(faults.host) == kept
    except AssertionError as wrong:
        return f"{fault} at {place.call} {place.count}: {place.line[:200]}\nexit {done.returncode}\n{done.stderr[-2000:]}\n{wrong}"
    return None


def have_at(faults, command, most):
    """Runs every chosen fault once."""
    command.before(faults)
    assert faults.run(command.words, command.nth).returncode == 0
    places = faults.places()
    command.promised(faults)
    command.clear(faults)
    kept = kept_files(faults.host)
    pairs = chosen(places, SEED, most)
    print(f"{' '.join(map(str, command.words))}: {len(pairs)} of {len(places)} places, seed {SEED}")
    wrong = []
    for place, fault in pairs:
        wrong += filter(None, [try_one(faults, command, place, fault, kept)])
        if wrong and kept_files(faults.host) != kept:
            break  # files that are left would count for every later fault
    assert not wrong, f"seed {SEED}: {len(wrong)} faults\n" + "\n---\n".join(wrong)


def kept_files(host):
    """Finds what outlives everything, except the logs and the archives, which should, and a cache that others use too."""
    cache = host.env.get("MICROAGENT_CACHE_DIR")
    cache = None if cache == os.environ.get("MICROAGENT_CACHE_DIR") else cache
    return sorted(map(str, [*(host.left() if host.state.exists() else []), *(Path(cache).glob("*/*") if cache else [])]))


@pytest.fixture
def faulty(host, request):
    """The command, with a base if it needs one, and the number of faults."""
    command = request.param()
    if isinstance(command, ImageImport):
        request.getfixturevalue("cache")
    host.env.update(pools.LATER)
    faults = Faults(host, command.program)
    based = isinstance(command, Sessions)
    if based:
        faults.plainly("base", "create", "web", check=0)
    yield faults, command
    if based:
        faults.plainly("base", "delete", "web-v1", check=0)


# Commands that need a machine for each fault have fewer faults in `make test`.
QUICK = [Prepare, Delete, BaseCreate, ImageImport, PoolSet]
SLOW = [Start, Stop, SessionCreate, SessionStart, SessionDestroy, PoolDrain]


@pytest.mark.parametrize("faulty", QUICK, indirect=True, ids=lambda c: c.__name__)
def test_a_fault(faulty):
    have_at(*faulty, 6)


@pytest.mark.parametrize("faulty", SLOW, indirect=True, ids=lambda c: c.__name__)
def test_a_fault_around_a_machine(faulty):
    have_at(*faulty, 2)


@pytest.mark.soak
@pytest.mark.parametrize("faulty", QUICK + SLOW, indirect=True, ids=lambda c: c.__name__)
def test_many_faults(faulty):
    have_at(*faulty, MANY)
