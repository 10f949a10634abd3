# SPDX-License-Identifier: MIT
"""Tests config.console: a shell on the serial console, only if it is asked for."""

import json

import pytest

from test_console import HANG_S, Terminal
from test_supervisor import request


@pytest.fixture
def console(host):
    """Runs `microagent connect --serial` of the one workspace, as a person does."""
    made = []

    def make():
        made.append(Terminal(host, "w", "--serial"))
        made[-1].await_text(rb"Ctrl-\] detaches")
        return made[-1]
    yield make
    for it in made:
        it.close()


def runtime(host):
    return json.loads((host.state / "w" / "runtime.json").read_text())


def detach(it):
    it.type(b"\x1d")
    assert it.wait() == 0 and not it.is_raw()


def ask_id(it):
    """Returns the pid of the shell, which then waits at its prompt."""
    it.type(b"echo id=$$=$(id -u)=$(tty)=\r")
    found = it.await_text(rb"id=(\d+)=(\d+)=([^=]+)=")
    assert (found[2], found[3]) == (b"0", b"/dev/ttyS0")
    it.await_text(rb"# ")
    return found[1]


def test_a_shell_on_the_console(host, console):
    host("create", "w", "--memory", 256, "--cpus", 1, "--console", "shell", check=0)
    assert json.loads((host.state / "w" / "workspace.json").read_text())["config"]["console"] == "shell"
    assert "consoleMode" not in host.json("status", "w")
    assert host.json("start", "w")["consoleMode"] == "interactive"
    assert (runtime(host)["consoleMode"], host.json("status", "w")["consoleMode"]) == ("interactive", "interactive")
    assert ["console", "interactive"] in [line.split() for line in host("status", "w", check=0).stdout.splitlines()]
    it = console()
    it.type(b"echo $((6*7))_\r")
    it.await_text(rb"42_\r\n")
    first = ask_id(it)
    # Ctrl-C interrupts the shell's command, and nothing else.
    it.type(b"sh -c \"echo sl''eeping; exec sleep 1000\"\r")
    it.await_text(rb"sleeping\r\n")
    it.type(b"\x03")
    it.type(b"echo af''ter $?\r")
    assert it.await_text(rb"after (\d+)\r\n")[1] == b"130"
    # The shell belongs to the machine, and not to the client.
    detach(it)
    it = console()
    assert ask_id(it) == first
    # Another shell follows, however the first one ends and in whatever modes it leaves the terminal. It follows at once
    # if the first one has lived for a while.
    for words in (b"exit", b"stty raw -echo; sleep 1; exit", b"sleep 1; kill -9 $$"):
        it.type(words + b"\r")
        it.await_text(rb"# ")  # input that is typed before it would be lost
        after = ask_id(it)
        assert after != first
        first = after
    # If the image has no shell, it is tried again.
    it.type(b"mv /bin/sh /bin/away; exit\r")
    it.await_text(rb"no shell in this guest.*no shell in this guest")
    host("exec", "--user", "root", "w", "--", "mv", "/bin/away", "/bin/sh", check=0)
    it.await_text(rb"# ")
    assert ask_id(it) != first
    # A client of the console hears of the end.
    it.type(b"sh -c \"trap 'echo hung''-up >/dev/ttyS0; exit' HUP; trap '' TERM; echo wai''ting; while :; do sleep 0.1; done\"\r")
    it.await_text(rb"waiting\r\n")
    assert "unclean" not in host.json("stop", "w")["event"]["detail"]
    assert b"hung-up" in (host.state / "w" / "serial.log").read_bytes()
    assert "consoleMode" not in host.json("status", "w")
    # start must be given the recorded value.
    config = json.loads((host.state / "w" / "workspace.json").read_text())["config"]
    del config["console"]
    code, answer, _ = host.supervisor(request("start", config, runtimeID="w"))
    assert (code, answer["errorCode"]) == (1, "conflict") and "config.console" in answer["error"], answer
    host("delete", "w", check=0)


def test_of_a_run_with_debians_kernel(host, console, debian_image, debian_kernel):
    """The console of another kernel, bash, and a machine that ends with its command."""
    child = host.popen("run", "--name", "w", "--image", debian_image, "--kernel", debian_kernel["path"], "--memory", 512, "--cpus", 1,
                       "--console", "shell", "--", "sh", "-c", "echo begun; until [ -s /tmp/said ]; do sleep 0.1; done; cat /tmp/said")
    assert child.stdout.readline() == b"begun\n"
    it = console()
    it.type(b"echo ${BASH_VERSION:+bash} $((6*7)) >/tmp/new && mv /tmp/new /tmp/said\r")
    assert child.communicate(timeout=HANG_S)[0] == b"bash 42\n" and child.returncode == 0


def test_words(host):
    """Only workspaces have it. The commands for sessions, bases and pools have no such option."""
    said = host("create", "w", "--console", "login", check=2).stderr
    assert '--console must be shell, and is "login"' in said
    for words in (("session", "create", "--base", "b"), ("base", "create", "b"), ("pool", "set", "b", "1")):
        assert "--console" in host(*words, "--console", "shell", check=2).stderr
    assert not list(host.state.glob("*"))
