# SPDX-License-Identifier: MIT
"""A command that only looks, or that is refused since nothing of that name exists, does not change the directory that
was given as the state directory. It may be any directory of the user, who may want to share it with a guest."""

import json
import subprocess
from pathlib import Path

import pytest

from applevf import applevf
from conftest import BIN

SESSION = "session-2020-01-01T00-00-00Z-abcd"
# "src" is a directory of the user, and "nothing" is no name.
NAMED = tuple((*words[:at], name, *words[at + 1:]) for *words, at in (
    ("status", "", 1), ("inspect", "", 1), ("result", "", 1), ("events", "", 1), ("logs", "", 1), ("network", "", 1),
    ("artifacts", "", 1), ("artifacts", "get", "", "a", "/tmp/a", 2), ("ls", "", 1), ("cp", "", "/tmp/copy", 1),
    ("exec", "", "--", "true", 1), ("connect", "", 1), ("start", "", 1), ("stop", "", 1), ("halt", "", 1), ("kill", "", 1),
    ("quarantine", "", 1), ("balloon", "", "256", 1), ("clone", "", "other", 1), ("network", "allow", "", "example.org", 2),
    ("network", "publish", "", "8080:80", 2)) for name in ("nothing", "src"))
REST = (
    ("list",), ("host",), ("doctor",), ("contract",), ("profiles",), ("version",), ("image", "list"), ("kernel", "list"),
    ("delete", "nothing"), ("delete", "src"),
    ("session", "list"), ("session", "create", "--base", "nothing"), ("session", "exec", SESSION, "--", "true"),
    ("session", "stream", SESSION, "--", "true"), ("session", "share", SESSION, "/tmp"), ("session", "quota", SESSION, "1G"),
    ("session", "fork", SESSION), ("session", "snapshot", SESSION, "s"), ("session", "restore", SESSION, "s"),
    ("session", "snapshots", SESSION), ("session", "snapshot-delete", SESSION, "s"), ("session", "destroy", SESSION),
    ("session", "destroy", "--all"), ("session", "gc"), ("base", "list"), ("base", "show", "nothing"), ("base", "verify", "nothing"),
    ("base", "warm", "nothing"), ("base", "cool", "nothing"), ("base", "delete", "nothing-v1"),
    ("base", "create", "b", "--image", "nothing"), ("pool", "status"), ("pool", "set", "nothing", "1"), ("pool", "drain", "nothing"),
    ("pool", "fill", "nothing"), ("audit", "list"), ("audit", "show", SESSION), ("audit", "verify", SESSION), ("audit", "verify", "--all"),
    ("audit", "telemetry", SESSION), ("create", "w", "--image", "nothing"), ("run", "--image", "nothing", "--", "true"),
    ("create", "w", "--kernel", "nothing"))


def listing(place):
    """Returns each entry below, with all that shows that somebody was there."""
    found = {}
    for path in (place, *sorted(place.rglob("*"))):
        facts = path.lstat()
        found[str(path.relative_to(place))] = (facts.st_mode, facts.st_uid, facts.st_size, facts.st_mtime_ns, facts.st_ino)
    return found


@pytest.fixture
def somewhere(host):
    """A directory of the user in the place of a state directory, with a directory and an empty one in it."""
    place = host.base / "mine"
    (place / "src").mkdir(mode=0o700, parents=True)
    place.chmod(0o700)
    (place / "src" / "main.c").write_text("int main(void) { return 0; }\n")
    (place / "README").write_text("mine\n")
    return place


def known(host):
    """Returns the user's list of state directories."""
    path = Path(host.env.get("XDG_STATE_HOME") or Path(host.env["HOME"]) / ".local/state") / "microagent" / "directories"
    return path.read_bytes().split(b"\0") if path.exists() else []


def test_the_command_line(host, somewhere):
    before = listing(somewhere)
    for words in (*NAMED, *REST):
        done = host(*words, env={"MICROAGENT_STATE_DIR": str(somewhere)})
        assert listing(somewhere) == before, (words, set(listing(somewhere)) ^ set(before), done.stderr)
        if "nothing" in words and words[0] != "delete":
            assert done.returncode != 0, (words, done.stdout)
    assert str(somewhere).encode() not in known(host)
    # So the directory can be shared.
    host("create", "w", "--share", f"{somewhere}:/workspace", "--memory", 256, check=0)
    host("delete", "w", check=0)


def test_a_cache(host, somewhere):
    """The same holds for the directory of kernels and images, if a command has nothing to remember there."""
    before = listing(somewhere)
    for words in (("image", "list"), ("kernel", "list"), ("image", "verify"), ("kernel", "verify"), ("image", "remove", "nothing"),
                  ("create", "w", "--image", "nothing"), ("list",), ("contract",)):
        done = host(*words, env={"MICROAGENT_CACHE_DIR": str(somewhere)})
        assert listing(somewhere) == before, (words, set(listing(somewhere)) ^ set(before), done.stderr)
    assert str(somewhere).encode() not in known(host)


LOOKED_AT = ("inspect", "check", "halt", "quarantine", "stop", "kill", "delete", "console", "start")


def check_supervisor(somewhere, ask):
    before = listing(somewhere)
    for command in LOOKED_AT:
        for name in ("nothing", "src"):
            if (command, name) == ("check", "src"):
                continue
            ask(command, name)
            assert listing(somewhere) == before, (command, name, set(listing(somewhere)) ^ set(before))


@pytest.mark.parametrize("backend", ["qemu", "firecracker"])
def test_supervisors(host, somewhere, backend):
    def ask(command, name):
        document = {"command": command, "config": {"stateDir": str(somewhere)},
                    "identity": {"requestID": "r", "runtimeID": name, "role": "workload", "backend": backend}}
        done = subprocess.run([BIN / f"microagent-{backend}-supervisor"], input=json.dumps(document).encode(), capture_output=True,
                              env=host.env, check=False)
        return json.loads(done.stdout)

    check_supervisor(somewhere, ask)


@pytest.fixture
def vf(host):
    yield from applevf(host)


def test_the_supervisor_of_macs(vf, somewhere):
    check_supervisor(somewhere, lambda command, name: vf.ask(command, {"stateDir": str(somewhere)}, runtimeID=name))
