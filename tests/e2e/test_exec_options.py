# SPDX-License-Identifier: MIT
"""Tests `microagent exec`: sources of stdin, signals on their way to the command, and the one object of --json."""

import base64
import json
import os
import signal
import subprocess

import pytest

import schema_check
from conftest import BIN

# Prints a line when it is ready, then one for each signal, and ends by none of them.
TRAPS = "".join(f"trap 'echo {name}' {name}; " for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"))
LISTEN = TRAPS + "echo ready; while :; do sleep 0.05; done"


def answer(done):
    document = json.loads(done.stdout)
    schema_check.validate_cli(["exec"], document)
    assert document["exitCode"] == done.returncode
    return document


# --- stdin ---------------------------------------------------------------------------------------

def test_a_loop_keeps_its_input(vm):
    """`while read` around exec: without -i the command's stdin is empty, and the loop gets the next line."""
    script = 'while read line; do "$0" exec vm -- sh -c "echo got $line; cat"; done'
    done = subprocess.run(["/bin/sh", "-c", script, BIN / "microagent"], input="one\ntwo\n", text=True, check=True,
                          capture_output=True, env=vm.env, timeout=60)
    assert done.stdout == "got one\ngot two\n"


def test_stdin_of_a_file(vm, tmp_path):
    file = tmp_path / "in"
    file.write_bytes(os.urandom(300000))
    assert vm("exec", "--stdin", file, "vm", "--", "cat", text=False, check=0).stdout == file.read_bytes()
    assert vm("exec", "--stdin", "/dev/null", "vm", "--", "wc", "-c", check=0).stdout == "0\n"


def test_stdin_that_cannot_be(vm, tmp_path):
    missing = tmp_path / "no-such"
    assert f"--stdin: cannot open {missing}" in vm("exec", "--stdin", missing, "vm", "--", "cat", check=125).stderr
    assert f"--stdin: {tmp_path} is a directory" in vm("exec", "--stdin", tmp_path, "vm", "--", "cat", check=125).stderr
    assert "--stdin and --interactive" in vm("exec", "-i", "--stdin", "f", "vm", "--", "cat", check=2).stderr
    assert "--json" in vm("--json", "exec", "-t", "vm", "--", "cat", check=2).stderr


# --- signals -------------------------------------------------------------------------------------

def listening(vm):
    child = vm.popen("exec", "vm", "--", "sh", "-c", LISTEN)
    assert child.stdout.readline() == b"ready\n"
    return child


def test_signals_go_to_the_command(vm):
    child = listening(vm)
    for name in ("HUP", "QUIT", "USR1", "USR2", "HUP", "TERM"):
        child.send_signal(getattr(signal, f"SIG{name}"))
        assert child.stdout.readline() == f"{name}\n".encode()
    child.kill()
    child.communicate()


@pytest.mark.parametrize("first,second", [("INT", "INT"), ("TERM", "TERM"), ("INT", "TERM")])
def test_the_second_one_ends_it_for_sure(vm, first, second):
    child = listening(vm)
    child.send_signal(getattr(signal, f"SIG{first}"))
    assert child.stdout.readline() == f"{first}\n".encode()
    child.send_signal(getattr(signal, f"SIG{second}"))
    out, _ = child.communicate(timeout=60)  # stderr: the shell may report its sleep
    assert (child.returncode, out) == (128 + getattr(signal, f"SIG{second}"), b"")


def test_a_command_that_obeys_is_ended_by_the_first(vm):
    child = vm.popen("exec", "vm", "--", "sh", "-c", "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.05; done")
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=60)
    assert (child.returncode, out) == (9, b"bye\n")
    # Without a shell, which ignores SIGQUIT until it has become another program.
    child = vm.popen("exec", "-i", "vm", "--", "cat", stdin=subprocess.PIPE)
    child.stdin.write(b"ready\n")
    child.stdin.flush()
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGQUIT)
    child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGQUIT


# --- one object ----------------------------------------------------------------------------------

def test_json_has_it_all(vm):
    done = answer(vm("--json", "exec", "vm", "--", "sh", "-c", "echo grüß dich; echo no >&2; exit 3", check=3))
    assert (done["stdout"], done["stderr"]) == ("grüß dich\n", "no\n")
    assert (done["stdoutEncoding"], done["stdoutTruncated"]) == ("utf-8", False)
    done = answer(vm("exec", "--json", "vm", "--", "printf", "a\\000\\377", check=0))
    assert (done["stdoutEncoding"], base64.b64decode(done["stdout"])) == ("base64", b"a\0\xff")
    done = answer(vm("exec", "--json", "-i", "vm", "--", "wc", "-c", input="12345", check=0))
    assert done["stdout"].strip() == "5"


def test_json_tells_the_ends_apart(vm):
    done = answer(vm("--json", "exec", "vm", "--", "no-such-program", check=127))
    assert "no-such-program" in done["startError"]
    done = answer(vm("--json", "exec", "--timeout", 1, "vm", "--", "sleep", "1000", check=124))
    assert (done["timedOut"], done["killed"]) == (True, True) and done["elapsedMs"] >= 1000
    done = answer(vm("--json", "exec", "vm", "--", "sh", "-c", "kill -USR1 $$", check=138))
    assert done["signal"] == signal.SIGUSR1 and "killed" not in done
    child = vm.popen("--json", "exec", "vm", "--", "sh", "-c", TRAPS + "echo ready >/tmp/ready; while :; do sleep 0.05; done")
    vm("exec", "vm", "--", "sh", "-c", "while ! test -e /tmp/ready; do sleep 0.05; done; rm /tmp/ready", check=0, timeout=60)
    for _ in range(2):
        child.send_signal(signal.SIGTERM)
        child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    document = json.loads(out)
    schema_check.validate_cli(["exec"], document)
    assert child.returncode == document["exitCode"] > 128 and document["killed"] is True


def test_json_says_what_is_cut(vm):
    done = answer(vm("--json", "exec", "vm", "--", "sh", "-c",
                     "printf x; yes é | head -c 9000000; yes | head -c 1000000 >&2", check=0))
    assert (done["stdoutTruncated"], done["stderrTruncated"]) == (True, False)
    assert (done["stdoutEncoding"], len(done["stderr"])) == ("utf-8", 1000000)
    assert len(done["stdout"].encode()) == (8 << 20) - 1  # without the half of the last character


# --- limits --------------------------------------------------------------------------------------

@pytest.mark.parametrize("words", [("exec", "vm"), ("session", "exec", "session-2026-05-10T14-22-00Z-a7f3")])
def test_a_line_for_the_shell_is_one_word(vm, words):
    done = vm(*words, "--shell", "true", "true", check=2)
    assert "--shell takes one word: put the whole line in quotes" in done.stderr and not done.stdout


def test_a_line_for_the_shell(vm):
    done = vm("exec", "vm", "--shell", "-e", "X=a b", "echo \"$X\"; echo two >&2; exit 3", check=3)
    assert (done.stdout, done.stderr) == ("a b\n", "two\n")


def test_rlimits(vm):
    done = vm("exec", "--rlimit", "nofile=123:456", "--rlimit", "core=unlimited", "--rlimit=cpu=77", "vm", "--",
              "sh", "-c", "ulimit -Sn; ulimit -Hn; ulimit -c; ulimit -t", check=0)
    assert done.stdout.split() == ["123", "456", "unlimited", "77"]
    assert "bogus" in vm("exec", "--rlimit", "bogus=1", "vm", "--", "true", check=125).stderr
    for word in ("nofile", "=1", "nofile=", "nofile=x", "nofile=1:", "nofile=-1", "nofile=1:2:3"):
        assert f'and is "{word}"' in vm("exec", "--rlimit", word, "vm", "--", "true", check=2).stderr
