# SPDX-License-Identifier: MIT
"""Tests a reader that does not read a command's output: the command's deadline holds for our clients too, and one
signal ends them."""

import array
import fcntl
import json
import os
import select
import signal
import termios
import threading

import pytest

from conftest import BACKEND, wait_until

DROPPED = "s passed, and output that nobody had read was dropped"
ENDED = "the command was ended, and output that nobody had read was dropped"


def is_running(vm, what):
    return what in vm("exec", "--user", "root", "vm", "--", "ps", check=0).stdout


def is_full(pipe):
    """Nothing more fits into it."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0] > fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) - select.PIPE_BUF


@pytest.mark.parametrize("words", [("exec", "--timeout", 1, "vm", "--", "yes", "9861"),
                                   ("exec", "--resume", 5, "--timeout", 1, "vm", "--", "yes", "9861"),
                                   ("--json", "exec", "--timeout", 1, "vm", "--", "yes", "9861"),
                                   ("exec", "-t", "--timeout", 5, "vm", "--", "yes", "9861"),
                                   ("connect", "vm", "--timeout", 1, "--send", "yes 9861")],
                         ids=["plain", "resumable", "json", "terminal", "line"])
def test_a_deadline_holds_for_an_unread_output(vm, words):
    reading, writing = os.pipe()
    # An emulated terminal takes seconds to fill the 64 KiB that a pipe usually holds.
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    child = vm.popen(*words, stdout=writing)
    os.close(writing)
    assert child.wait() == 124
    os.close(reading)
    said = child.stderr.read().decode()
    assert f"the timeout of {words[words.index('--timeout') + 1]} {DROPPED}" in said, said
    wait_until(lambda: not is_running(vm, "9861"), "the command to be killed")


def test_a_command_that_was_over_before(vm):
    """Its output is longer than the buffers on the way, so its exit is not read either."""
    child = vm.popen("exec", "--timeout", 2, "vm", "--", "dd", "if=/dev/zero", "bs=65536", "count=12", "status=none")
    assert child.wait() == 124
    assert DROPPED in child.stderr.read().decode()


def test_a_reader_that_reads_gets_all_of_it(vm):
    """The same holds for output after the deadline: it is about a reader that does not read."""
    done = vm("exec", "--timeout", 1, "vm", "--", "sh", "-c", "while :; do echo y; done", check=124)
    assert "its timeout of 1 s passed" in done.stderr and DROPPED not in done.stderr
    assert done.stdout == "y\n" * (len(done.stdout) // 2)


def test_nobody_reads_stderr_either(vm):
    reading, writing = os.pipe()
    child = vm.popen("exec", "--timeout", 1, "vm", "--", "yes", stdout=writing, stderr=writing)
    os.close(writing)
    assert child.wait() == 124
    os.close(reading)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", ["exec yes 9862", "trap '' TERM INT; yes 9862"], ids=["obeys", "ignores it"])
def test_one_signal_ends_a_client_that_is_not_read(vm, command, number):
    child = vm.popen("exec", "vm", "--", "sh", "-c", command)
    wait_until(lambda: is_full(child.stdout), "an output that is not read")
    child.send_signal(number)
    assert child.wait() == 128 + number
    said = child.stderr.read().decode()
    assert ENDED in said, said
    wait_until(lambda: not is_running(vm, "9862"), "the command to be killed")


def test_a_signal_ends_a_client_whose_document_is_not_read(vm):
    """The command is over, and our client is in its last write."""
    child = vm.popen("--json", "exec", "vm", "--", "dd", "if=/dev/zero", "bs=65536", "count=4", "status=none")
    assert os.read(child.stdout.fileno(), 1) == b"{"
    child.terminate()
    assert child.wait() == -signal.SIGTERM


def test_a_signal_is_still_the_command_s_where_it_is_read(vm):
    child = vm.popen("exec", "vm", "--", "sh", "-c", "trap 'echo got it; exit 7' TERM; echo up; while :; do :; done")
    assert child.stdout.readline() == b"up\n"
    child.terminate()
    out, err = child.communicate()
    assert (child.returncode, out, err) == (7, b"got it\n", b"")


def test_a_document_that_is_read_late(vm):
    """Until its timeout has passed the reader has all the time it wants."""
    child = vm.popen("--json", "exec", "--timeout", 600, "vm", "--", "dd", "if=/dev/zero", "bs=65536", "count=4", "status=none")
    assert os.read(child.stdout.fileno(), 1) == b"{"
    out, _ = child.communicate()
    assert child.returncode == 0 and len(json.loads(b"{" + out)["stdout"]) > 4 * 65536


def test_run(host):
    """Requires that nothing of its machine is left."""
    child = host.popen("run", "--memory", 256, "--cpus", 1, "--timeout", 1, "--", "yes")
    assert child.wait() == 124
    assert DROPPED in child.stderr.read().decode()


def test_session_stream(web):
    name = web.json("session", "create", "--base", "web")["name"]
    for words in ((), ("--json",)):
        child = web.popen(*words, "session", "stream", "--timeout", 1, name, "--", "yes")
        assert child.wait() == 124
        assert DROPPED in child.stderr.read().decode()


needs_python = pytest.mark.skipif(bool(os.environ.get("SANITIZE")) or BACKEND != "qemu",
                                  reason="no sanitizer's runtime is in a Python, and no other backend saves machines")


@needs_python
def test_the_streams_of_a_python_program(box):
    reading, writing = os.pipe()
    result = box.exec(["yes"], stdout=writing, timeout=1)
    assert (result.exit_code, result.timed_out, result.unread, result.cancelled) == (124, True, True, False)
    os.close(reading)
    os.close(writing)


@needs_python
def test_a_python_program_that_does_not_loop(box):
    """Output that it has not taken is dropped; the file's earlier contents are not."""
    stream = box.stream("yes", timeout=1)
    wait_until(lambda: not [one for one in threading.enumerate() if one.name == "microagent-stream"], "the end of the command")
    assert {piece.text for piece in stream} == {"y\n"}
    result = stream.result
    assert (result.exit_code, result.timed_out, result.unread, result.cancelled) == (124, True, True, False)
    with box.stream("echo 1; sleep 0.2; echo 2", timeout=600) as stream:
        assert [piece.text for piece in stream] == ["1\n", "2\n"] and not stream.result.unread
