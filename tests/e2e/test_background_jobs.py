# SPDX-License-Identifier: MIT
"""Tests a command of ours in the background of a terminal, as `timeout 10 microagent exec -i …` and a shell's `&` start
it. It stops when it needs the terminal, goes on in the foreground, and a signal ends it in both."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios

import pytest

from conftest import BIN

# The shell of a terminal. It leads the session, starts the command as a job in the background, and reports the state of
# the job. Its words: "term" sends SIGTERM and SIGCONT, as timeout(1) does; "fg" gives the terminal to the job; "ignore"
# starts the job without SIGTTIN.
LEADER = """
import fcntl, os, signal, sys, termios
how, *words = sys.argv[1:]
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
report = os.fdopen(3, "w", buffering=1)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    if how == "ignore":
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)
    os.close(3)
    os.execvp(words[0], words)
while True:
    status = os.waitpid(job, os.WUNTRACED)[1]
    if not os.WIFSTOPPED(status):
        break
    print("stopped by", signal.Signals(os.WSTOPSIG(status)).name, file=report)
    if how == "fg":
        os.tcsetpgrp(0, job)
        os.kill(-job, signal.SIGCONT)
    else:
        os.kill(-job, signal.SIGTERM)
        os.kill(-job, signal.SIGCONT)
print("ended with", os.waitstatus_to_exitcode(status), file=report)
"""
HANG_S = 60  # only bounds a hang


def run_job(host, how, *words, typed=b""):
    """Returns the leader's reports, and the terminal's output."""
    master, slave = pty.openpty()
    told, report = os.pipe()
    attributes = termios.tcgetattr(slave)
    os.write(master, typed)

    def prepare():
        os.dup2(report, 3)
        os.set_inheritable(3, True)
    with subprocess.Popen([sys.executable, "-c", LEADER, how, BIN / "microagent", *map(str, words)], env=host.env, stdin=slave,
                          stdout=slave, stderr=slave, start_new_session=True, pass_fds=(3,), preexec_fn=prepare) as leader:
        os.close(report)
        try:
            leader.wait(HANG_S)
        except subprocess.TimeoutExpired:
            leader.kill()
            raise
        finally:
            with os.fdopen(told) as file:
                lines = file.read().splitlines()
            fcntl.fcntl(master, fcntl.F_SETFL, os.O_NONBLOCK)
            screen = os.read(master, 65536).decode()
            after = termios.tcgetattr(slave)
            os.close(master)
            os.close(slave)
    assert after == attributes, "the terminal is not as it was"
    return lines, screen


@pytest.mark.parametrize("words, stop, end", [
    (("exec", "-i", "vm", "--", "cat"), "SIGTTIN", 143), (("exec", "-t", "vm", "--", "sleep", 1000), "SIGTTOU", -signal.SIGTERM),
    (("connect", "vm"), "SIGTTOU", 143), (("connect", "--serial", "vm"), "SIGTTOU", 143)])
def test_a_signal_ends_it(vm, words, stop, end):
    lines, screen = run_job(vm, "term", *words, typed=b"typed\n")
    assert lines == [f"stopped by {stop}", f"ended with {end}"], (lines, screen)
    assert ("another job has the terminal, and this command was told to end" in screen) == (words[0] == "connect"), screen
    assert "cat" not in vm("exec", "vm", "--", "ps", check=0).stdout


def test_it_goes_on_in_the_foreground(vm):
    lines, screen = run_job(vm, "fg", "exec", "-i", "vm", "--", "sed", "s/y/Y/", typed=b"typed\n\x04")
    assert lines == ["stopped by SIGTTIN", "ended with 0"] and "tYped" in screen, (lines, screen)
    lines, screen = run_job(vm, "fg", "exec", "-t", "vm", "--", "sh", "-c", "test -t 0 && echo on-one; exit 3")
    assert lines == ["stopped by SIGTTOU", "ended with 3"] and "on-one" in screen, (lines, screen)


def test_one_that_cannot_be_stopped_has_no_input(vm):
    lines, screen = run_job(vm, "ignore", "exec", "-i", "vm", "--", "wc", "-c", typed=b"typed\n")
    assert lines == ["ended with 0"] and "0" in screen, (lines, screen)
