# SPDX-License-Identifier: MIT
"""`run --base`: one command in a session that is made for it, and of which nothing stays."""

import json
import os
import signal

import pytest

from conftest import wait_until

RUN = ("run", "--base", "web", "--network", "isolated")
NONE = {"sessions": []}


def sessions(host):
    return host.json("session", "list")["sessions"]


@pytest.fixture
def clean(place):
    """A host with a base; each test leaves no session."""
    yield place
    assert place.json("session", "list") == NONE


def test_streams_and_exit_code(clean):
    ran = clean(*RUN, "-i", "--env", "A=b", "--cwd", "/tmp", "--user", "root", "--", "sh", "-c", "id -u; pwd; echo $A; cat; echo no >&2; exit 7", input="given\n")
    assert (ran.returncode, ran.stdout) == (7, "0\n/tmp\nb\ngiven\n")
    assert ran.stderr.endswith("no\n")


def test_json(clean):
    ran = clean("--json", *RUN, "--timeout", "1", "--", "sh", "-c", "echo out; sleep 1000")
    told = json.loads(ran.stdout)
    assert ran.returncode == told["exitCode"] == 124
    assert told["stdout"] == "out\n"


def test_restored_and_cold(clean):
    clean("base", "warm", "web", "--run", "echo warmed > /tmp/warm", check=0)
    try:
        assert clean(*RUN, "--", "cat", "/tmp/warm", check=0).stdout == "warmed\n"
        assert clean(*RUN, "--cold", "--", "cat", "/tmp/warm").returncode == 1
    finally:
        clean("base", "cool", "web", check=0)


def running(host):
    """The command runs: its first word has come."""
    it = host.popen(*RUN, "--", "sh", "-c", "echo runs; sleep 1000")
    assert it.stdout.readline().strip() in ("runs", b"runs")
    assert len(sessions(host)) == 1
    return it


def test_signal_is_the_commands(clean):
    it = running(clean)
    it.send_signal(signal.SIGTERM)
    assert it.wait() == 128 + signal.SIGTERM


def test_killed_leaves_no_session(clean):
    it = running(clean)
    os.kill(it.pid, signal.SIGKILL)
    it.wait()

    def gone():
        clean("session", "gc", check=0)
        return not sessions(clean)

    wait_until(gone, "the end of a session that nobody uses")


def test_no_such_base(clean):
    ran = clean("run", "--base", "nothing", "--", "true")
    assert ran.returncode == 125 and "nothing" in ran.stderr


@pytest.mark.parametrize(
    "words",
    [("--image", "busybox"), ("--kernel", "k"), ("--arch", "amd64"), ("--disk", "a=b:/c:ro"), ("--share", "/a:/b"), ("--name", "w"), ("--keep",)],
    ids=lambda words: words[0],
)
def test_what_does_not_go_with_a_base(clean, words):
    ran = clean(*RUN, *words, "--", "true")
    assert ran.returncode == 2
    assert f"{words[0]} does not go with --base" in ran.stderr


@pytest.mark.parametrize("words", [("--cold",), ("--tty",), ("--cwd", "/")], ids=lambda words: words[0])
def test_what_goes_with_a_base_alone(clean, words):
    ran = clean("run", *words, "--", "true")
    assert ran.returncode == 2
    assert f"{words[0]} goes with --base" in ran.stderr


def test_no_command(clean):
    assert clean(*RUN).returncode == 2
