# SPDX-License-Identifier: MIT
"""Tests exit code 2 for each name that is not valid and each number that is none. Nothing is made or booted."""

import re
import subprocess

import pytest

from conftest import BIN

SESSION = "session-2026-05-10T14-22-00Z-a7f3"
WORD = r"^  ([a-z][a-z-]*) "
BAD_NAMES = ("", "../x", ".")
BAD_NUMBERS = ("", "-1", "0", "x", "1x", "1.5", "99999999999999999999")

# The word in front of a name says what it names. Each command is tried with every bad name in the place of NAME.
NAMES = """
workspace: run --name NAME -- true
workspace: create NAME
workspace: clone NAME w
workspace: clone w NAME
workspace: delete NAME
workspace: changes --shared NAME
workspace: delete w NAME
session or workspace: start NAME
session or workspace: stop NAME
session or workspace: halt NAME
session or workspace: kill NAME
session or workspace: quarantine NAME
session or workspace: status NAME
session or workspace: inspect NAME
session or workspace: result NAME
session or workspace: events NAME
session or workspace: logs NAME
session or workspace: network NAME
session or workspace: balloon NAME 100
session or workspace: artifacts NAME
session or workspace: artifacts get NAME out .
session or workspace: exec NAME -- true
session or workspace: connect --send true NAME
session or workspace: connect --serial NAME
session or workspace: ls NAME /
session or workspace: cp NAME:/etc/hosts .
session or workspace: cp . NAME:/etc
session: session exec NAME -- true
session: session stream NAME -- true
session: session shell --send true NAME
session: session share NAME /
session: session quota NAME 100
session: session destroy NAME
session: session fork NAME
session: session snapshot NAME point
session: session snapshots NAME
session: session restore NAME point
session: session snapshot-delete NAME point
snapshot: session snapshot session-2026-05-10T14-22-00Z-a7f3 NAME
snapshot: session restore session-2026-05-10T14-22-00Z-a7f3 NAME
snapshot: session snapshot-delete session-2026-05-10T14-22-00Z-a7f3 NAME
session: audit show NAME
session: audit telemetry NAME
session: audit verify NAME
base: base create NAME
base: base show NAME
base: base verify NAME
base: base delete NAME
base: base warm NAME
base: base cool NAME
base: perf boot --base NAME
base: perf restore --base NAME
base: perf exec --base NAME
base: perf claim --base NAME
base: perf footprint --base NAME
base: session create --base NAME
base: mcp --base NAME
pool: pool set --size 1 --base NAME
pool: pool drain --base NAME
pool: pool fill --base NAME
image: image build NAME
image: image import NAME /nowhere.tar
image: image remove NAME
kernel: kernel install --from /nowhere --name NAME
profile: run --profile NAME -- true
profile: create --profile NAME w
""".strip().splitlines()
# These may be paths, which may have any name.
EMPTY = """
image: run --image NAME -- true
image: create --image NAME w
image: base create --image NAME w
image: image verify NAME
kernel: run --kernel NAME -- true
kernel: create --kernel NAME w
kernel: base create --kernel NAME w
kernel: kernel verify NAME
initrd: run --initrd NAME -- true
kernel: guest-bundle make --kernel NAME /nowhere/bundle
image: guest-bundle make --image NAME /nowhere/bundle
kernel: setup --kernel NAME
image: setup --image NAME
""".strip().splitlines()
# Words without which the command is wrong for another reason; numbers stand in front of them.
NEEDED = {"run": "-- true", "create": "w", "exec": "w -- true", "connect": "w --send true", "cp": "w:/a b", "artifacts": "get w a b",
          "session create": "--base web", "session exec": f"{SESSION} -- true", "session stream": f"{SESSION} -- true",
          "session shell": f"{SESSION} --send true", "base create": "web", "pool set": "--base web --size 1",
          "pool fill": "--base web-v1", "image import": "n /nowhere.tar"}
NUMBER_WORDS = {"balloon": "w", "session quota": SESSION}
MAY_BE_NOUGHT = {("pool set", "--size")}


def said(*words):
    return subprocess.run([BIN / "microagent", *words], capture_output=True, text=True, check=True).stdout


def leaves():
    for command in re.findall(WORD, said("--help"), re.M):
        below = re.search(r"^Commands:\n(.*?)\n\n", said(command, "--help"), re.M | re.S)
        yield from ([f"{command} {name}" for name in re.findall(WORD, below[1], re.M)] if below else [command])


def with_number():
    """Yields (command, option) for each option whose value is a number, by the command's own help."""
    return [(command, option) for command in leaves() for option in re.findall(
        r"^  (?:-\w, )?(--[a-z-]+) (?:MIB|N|SECONDS|SIZE|AGE|FD)\b", said(*command.split(), "--help"), re.M)]


def refused(host, words):
    done = host(*words)
    assert done.returncode == 2 and done.stderr.startswith("microagent: "), (words, done.returncode, done.stderr)
    assert not host.state.exists() and not done.stdout


@pytest.mark.parametrize("row", NAMES + EMPTY)
def test_a_bad_name(host, row):
    words = row.split(": ", 1)[1].split(" ")
    for name in BAD_NAMES if row in NAMES else BAD_NAMES[:1]:
        if name or ":/" not in row:  # ":/etc" is a path of the host
            refused(host, [name if word == "NAME" else word.replace("NAME:", f"{name}:") for word in words])


def test_every_command_that_takes_a_name_is_above(host):
    rows = [row.split(": ", 1)[1] for row in NAMES + EMPTY]
    nameless = {"list", "doctor", "host", "profiles", "contract", "version", "help", "kernel build", "kernel refresh",
                "session gc", "pool status", "guest-bundle import", *(c for c in leaves() if c.endswith(" list"))}
    assert {c for c in leaves() if not any(f"{row} ".startswith(f"{c} ") for row in rows)} == nameless


@pytest.mark.parametrize("command,option", with_number())
def test_a_bad_number(host, command, option):
    for number in BAD_NUMBERS:
        if number != "0" or (command, option) not in MAY_BE_NOUGHT:
            refused(host, [*command.split(), f"{option}={number}", *NEEDED.get(command, "").split()])


@pytest.mark.parametrize("command", NUMBER_WORDS)
def test_a_bad_number_that_is_a_word(host, command):
    for number in BAD_NUMBERS:
        refused(host, [*command.split(), NUMBER_WORDS[command], "--", number])


def test_numbers_that_fit_nothing(host):
    """A fault of these is known only later: when the host, the image or another option is known."""
    host("base", "create", "web", check=0)
    much = 2 ** 31 - 1
    for words, option in (
            (("run", "--memory", much, "--", "true"), "--memory is"), (("run", "--cpus", much, "--", "true"), "--cpus is"),
            (("create", "--memory", 1, "w"), "--memory must"), (("create", "--timeout", much, "w"), "--timeout must"),
            (("base", "create", "--size", 1, "x"), "--size: a disk of 1 MiB is too small: image"),
            (("base", "create", "--size", much, "x"), f"--size: a disk of {much} MiB is too large: a file in "),
            (("image", "import", "--size", 1, "n", "/nowhere.tar"), "--size is 1 MiB"),
            (("pool", "set", "--base", "web", "--size", much), f"--size: {much} sessions are too many"),
            (("pool", "set", "--base", "web", "--size", 1, "--memory", much), "--memory: a session with "),
            (("pool", "set", "--base", "web", "--size", 1, "--memory", 1), "--memory must"),
            (("pool", "set", "--base", "web", "--size", 1, "--cpus", much), f"--cpus is {much}, but this host has"),
            (("session", "create", "--base", "web", "--memory", much), "--memory is"),
            (("session", "create", "--base", "web", "--disk-quota", much), "--disk-quota: the quota of a disk must be between 1 and ")):
        done = host(*words, check=2)
        assert done.stderr.splitlines()[-1].startswith(f"microagent: {option}"), done.stderr
    assert host.json("session", "list") == {"sessions": []} and host.json("list") == {"workspaces": []}
    assert len(host.json("base", "list")["bases"]) == 1 and host.json("pool", "status") == {"pools": []}
    assert not host.processes()
    host("base", "delete", "web-v1", check=0)
