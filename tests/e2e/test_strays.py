# SPDX-License-Identifier: MIT
"""Tests the check that nothing is left of a test: it finds what is left, and does not count another test's things."""

import contextlib
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

import strays
from conftest import make_host, wait_until


@contextlib.contextmanager
def process_by_words(it):
    with contextlib.closing(ended(subprocess.Popen(["sh", "-c", "read x", "sh", it.state], stdin=subprocess.PIPE))):
        yield "process "


@contextlib.contextmanager
def process_by_environment(it):
    """As a process that a command of the test has started and left."""
    with contextlib.closing(ended(it.popen("5", program="/bin/sleep"))):
        yield "process "


def begun(child):
    """Popen() returns when exec() has closed the descriptors. The kernel shows the new words a moment later."""
    wait_until(lambda: Path(f"/proc/{child.pid}/cmdline").read_bytes(), "the words of the process")
    return child


def ended(child):
    begun(child)

    def close():
        child.kill()
        child.communicate()
    child.close = close
    return child


@contextlib.contextmanager
def bound_socket(it):
    path = it.state / "workspace" / "control.sock"
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as stray:
        stray.bind(str(path))
        yield f"socket {path}"
    path.unlink()
    path.parent.rmdir()


@contextlib.contextmanager
def mount(it):
    if os.getuid() != 0:
        pytest.skip("only root mounts")
    place = it.base / "mounted"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    try:
        yield "mount "
    finally:
        subprocess.run(["umount", place], check=True)


@contextlib.contextmanager
def file_of_the_state(it):
    path = it.state / "bases" / "web-v1.bundle"
    path.parent.mkdir(parents=True)
    path.touch()
    yield "left in the state directory: bases/web-v1.bundle"
    path.unlink()


@contextlib.contextmanager
def half_made(it):
    path = it.state / "sessions" / ".locks" / ".making" / "one"
    path.mkdir(parents=True)
    yield "left in the state directory: sessions/.locks/.making/one"
    path.rmdir()


@contextlib.contextmanager
def temporary_file(it):
    path = it.tmp / "stray"
    path.touch()
    yield f"temporary file {path}"
    path.unlink()


@pytest.mark.parametrize("stray", [process_by_words, process_by_environment, bound_socket, mount, file_of_the_state,
                                   half_made, temporary_file], ids=lambda stray: stray.__name__)
def test_a_stray_is_found_by_its_own_test_alone(host, stray, tmp_path):
    other = make_host(tmp_path / "other")
    with stray(host) as said:
        with pytest.raises(AssertionError) as found:
            host.assert_clean(seconds=0)
        assert said in str(found.value)
        other.assert_clean(seconds=0)
    host.assert_clean()


def test_a_process_that_ends_in_time_is_no_stray(host):
    """It ends while it is looked for, after the first look has found it."""
    with begun(host.popen("600", program="/bin/sleep")) as child:
        assert child.pid in strays.running(host.base)
        threading.Timer(0.3, child.kill).start()
        host.assert_clean()


def test_what_is_left_of_a_shared_machine(vm, shared_vm):
    """A process, a file or a mount in the guest, and a process outside."""
    def do(line):
        vm("exec", "--user", "root", "vm", "--", "sh", "-c", line, check=0)

    for leave, mend in (("setsid sleep 4711 >/dev/null 2>&1 </dev/null &", "killall sleep"),
                        ("echo x > /tmp/left", "rm /tmp/left"), ("mount -t tmpfs none /workspace", "umount /workspace"),
                        ("echo >> /etc/passwd", "sed -i '$d' /etc/passwd")):
        do(leave)
        assert shared_vm.look() != shared_vm.found, leave
        do(mend)
        assert shared_vm.look() == shared_vm.found, leave
    follower = vm.popen("logs", "-f", "vm")
    assert shared_vm.look() != shared_vm.found
    follower.kill()
    follower.communicate()
    assert shared_vm.look() == shared_vm.found
