# SPDX-License-Identifier: MIT
"""Tests containers of containerd by `ctr`, with the OCI runtime."""

import json
import os
import signal

import pytest

from conftest import wait_until
from engines.terminal import SIZES, try_size

soak = pytest.mark.soak
# The first process goes on until a signal wakes it: it is a shell.
WAITING = "sleep infinity & wait"


def test_exit_code_and_output(ctr):
    done = ctr.container("/bin/sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert not ctr.containers()


def test_exec(ctr):
    """A command has an exit code of its own, beside the first process and in its files."""
    name = ctr.detached("/bin/sh", "-c", f"echo kept > /tmp/file; {WAITING}")
    done = ctr.exec(name, "/bin/sh", "-c", "until test -s /tmp/file; do :; done; cat /tmp/file; ls -d /proc/1; exit 5")
    assert (done.returncode, done.stdout) == (5, "kept\n/proc/1\n"), done.stderr
    absent = ctr.run(*ctr.exec_words(name, "/bin/nothing"))
    assert absent.returncode != 0 and "/bin/nothing" in absent.stderr, absent.stderr


def test_killed_by_the_raw_pid(ctr):
    name = ctr.name()
    child = ctr.popen(*ctr.run_words(name=name, command=("/bin/sh", "-c", f"echo ready; {WAITING}")))
    assert child.stdout.readline() == b"ready\n"
    os.kill(ctr.tasks()[name][0], signal.SIGKILL)
    child.communicate()
    assert child.returncode == 137
    assert not ctr.containers()


@soak
def test_stdin(ctr):
    """ctr gets one line, since it tells no container that its input has ended."""
    child = ctr.popen(*ctr.run_words(name=ctr.name(), command=("/bin/sh", "-c", "echo ready; read line; echo got $line")), stdin=-1)
    assert child.stdout.readline() == b"ready\n"
    child.stdin.write(b"a line\n")
    child.stdin.flush()
    assert child.stdout.read() == b"got a line\n"
    assert child.wait() == 0


@soak
def test_environment_folder_and_user(ctr):
    done = ctr.container("/bin/sh", "-c", "echo $OF_IMAGE $ADDED; pwd", options=("--env", "ADDED=a b", "--cwd", "/var/data"), check=0)
    assert done.stdout == "yes a b\n/var/data\n"
    name = ctr.detached("/bin/sh", "-c", WAITING)
    done = ctr.exec(name, "/bin/sh", "-c", "id -u; id -g; pwd; touch /etc/motd || echo refused", options=("--user", "user", "--cwd", "/home/user"))
    assert done.stdout == "1000\n1000\n/home/user\nrefused\n", done.stderr


@soak
def test_exec_with_a_terminal(ctr):
    name = ctr.detached("/bin/sh", "-c", WAITING)
    try_size(ctr.exec_terminal(name, *SIZES))


@soak
def test_a_signal_that_is_handled(ctr):
    name = ctr.name()
    child = ctr.popen(*ctr.run_words(name=name, command=("/bin/sh", "-c", f"trap 'echo told; exit 4' TERM; echo ready; {WAITING}")))
    assert child.stdout.readline() == b"ready\n"
    ctr("task", "kill", "--signal", "SIGTERM", name, check=0)
    out, err = child.communicate()
    assert (child.returncode, out) == (4, b"told\n"), err


@soak
def test_pause_and_resume(ctr):
    """Input that is written while the container is frozen is answered after that."""
    name = ctr.name()
    child = ctr.popen(*ctr.run_words(name=name, command=("/bin/sh", "-c", "echo ready; read line; echo got $line")), stdin=-1)
    assert child.stdout.readline() == b"ready\n"
    ctr("task", "pause", name, check=0)
    assert ctr.tasks()[name][1] == "PAUSED"
    child.stdin.write(b"a line\n")
    child.stdin.flush()
    assert ctr.tasks()[name][1] == "PAUSED"
    ctr("task", "resume", name, check=0)
    assert child.stdout.read() == b"got a line\n"
    assert child.wait() == 0


@soak
def test_two_at_once(ctr):
    command = ("/bin/sh", "-c", "touch /tmp/$1; echo ready; read line; ls /tmp; exit $line")
    names = [ctr.name(), ctr.name()]
    children = [ctr.popen(*ctr.run_words(name=name, command=(*command, "sh", name)), stdin=-1) for name in names]
    for child in children:
        assert child.stdout.readline() == b"ready\n", child.communicate()
    assert {name: status for name, (_, status) in ctr.tasks().items()} == dict.fromkeys(names, "RUNNING")
    for code, child in enumerate(children, 3):
        child.stdin.write(b"%d\n" % code)
        child.stdin.flush()
    for code, name, child in zip((3, 4), names, children):
        assert child.stdout.read() == f"{name}\n".encode()
        assert child.wait() == code


@soak
def test_volumes(ctr):
    """One volume is writable, one is read-only, and one is a single file."""
    for name in ("rw", "ro"):
        (ctr.base / name).mkdir(exist_ok=True)
        (ctr.base / name / "file").write_text(f"of the host, {name}\n")
    mounts = [f"type=bind,src={ctr.base}/{src},dst={dst},options=rbind:{mode}"
              for src, dst, mode in (("rw", "/var/data", "rw"), ("ro", "/made/by/runtime", "ro"), ("ro/file", "/etc/motd", "ro"))]
    done = ctr.container("/bin/sh", "-c", "cat /var/data/file /made/by/runtime/file /etc/motd; echo of the container > /var/data/new; "
                         "touch /made/by/runtime/new || echo refused; echo x > /etc/motd || echo refused",
                         options=[word for mount in mounts for word in ("--mount", mount)], check=0)
    assert done.stdout == "of the host, rw\nof the host, ro\nof the host, ro\nrefused\nrefused\n"
    assert (ctr.base / "rw/new").read_text() == "of the container\n"
    assert (ctr.base / "ro/file").read_text() == "of the host, ro\n"


@soak
def test_detached_and_deleted(ctr):
    """A second container of the name is refused. After its end it is deleted, and the name is free."""
    name = ctr.detached("/bin/sh", "-c", f"trap 'exit 6' TERM; touch /tmp/ready; {WAITING}")
    ctr.exec(name, "/bin/sh", "-c", "until test -e /tmp/ready; do :; done", check=0)
    assert ctr.run(*ctr.run_words(name=name, command=("/bin/true",), rm=False)).returncode != 0
    assert ctr("task", "rm", name).returncode != 0
    ctr("task", "kill", "--signal", "SIGTERM", name, check=0)
    wait_until(lambda: ctr.tasks()[name][1] == "STOPPED", "the end of the task")
    assert "exit code 6" in ctr("task", "rm", name, check=0).stderr
    ctr("container", "rm", name, check=0)
    assert ctr.run(*ctr.run_words(name=name, command=("/bin/true",))).returncode == 0


@soak
def test_metrics(ctr):
    name = ctr.detached("/bin/sh", "-c", WAITING)
    figures = json.loads(ctr("task", "metrics", "--format", "json", name, check=0).stdout)
    memory, cpu = figures["memory"]["usage"], figures["cpu"]
    if isinstance(memory, dict):  # in the first version of cgroups
        memory, cpu = memory["usage"], {"usage_usec": cpu["usage"]["total"]}
    assert memory > 0 and cpu["usage_usec"] > 0, figures
