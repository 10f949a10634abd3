# SPDX-License-Identifier: MIT
"""Tests FIFOs without a writer in the place of files: a deadline and Ctrl-C work while a command opens and reads them."""

import os
import signal
import subprocess

import pytest

from conftest import wait_until


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def test_a_deadline_holds_for_stdin(vm, fifo):
    done = vm("exec", "--timeout", 1, "--stdin", fifo, "vm", "--", "cat", check=124)
    assert "its timeout of 1 s passed" in done.stderr


def test_a_signal_ends_the_wait_for_stdin(vm, fifo):
    child = vm.popen("exec", "--stdin", fifo, "vm", "--", "sh", "-c", "echo up; exec cat")
    assert child.stdout.readline() == b"up\n"
    child.terminate()
    child.communicate()
    assert child.returncode == 128 + signal.SIGTERM


def test_a_fifo_whose_writer_comes_late(vm, fifo):
    """The FIFO's bytes are stdin, and its end is the end of stdin."""
    child = vm.popen("exec", "--stdin", fifo, "vm", "--", "sh", "-c", "echo up; exec cat")
    assert child.stdout.readline() == b"up\n"
    with open(fifo, "wb") as writer:
        writer.write(b"words\n" * 50000)
    out, err = child.communicate()
    assert (child.returncode, out, err) == (0, b"words\n" * 50000, b"")


def test_a_writer_that_says_nothing(vm, fifo):
    child = vm.popen("exec", "--stdin", fifo, "vm", "--", "sh", "-c", "echo up; exec cat")
    assert child.stdout.readline() == b"up\n"
    with open(fifo, "wb"):
        pass
    assert child.communicate() == (b"", b"") and child.returncode == 0


def test_a_device_as_stdin(vm):
    assert vm("exec", "--stdin", "/dev/zero", "vm", "--", "head", "-c", 5, check=0).stdout == "\0" * 5
    assert vm("exec", "--stdin", "/dev/null", "vm", "--", "wc", "-c", check=0).stdout == "0\n"


# A file that is not regular is refused at once.
REFUSED = {
    "kernel": ("run", "--kernel", "FIFO", "--", "true"),
    "initrd": ("run", "--initrd", "FIFO", "--", "true"),
    "image": ("run", "--image", "FIFO", "--", "true"),
    "disk": ("run", "--disk", "d=FIFO:/d:ro", "--", "true"),
    "bundle": ("run", "--bundle", "b=FIFO:/b", "--", "true"),
    "egress list": ("run", "--network", "nat", "--egress-from", "FIFO", "--", "true"),
    "base of an image": ("base", "create", "b", "--image", "FIFO"),
    "recipe": ("base", "create", "b", "--provision", "FIFO"),
    "archive of an image": ("image", "import", "new", "FIFO"),
    "archive of an image by its kind": ("image", "import", "new", "docker-archive:FIFO"),
    "guest bundle": ("guest-bundle", "import", "FIFO"),
    "kernel file": ("kernel", "install", "--from", "FIFO"),
    "package of a kernel": ("kernel", "install", "--from", "PACKAGE"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_fifo_in_the_place_of_a_file_is_refused(host, fifo, what):
    package = fifo.with_name("linux-image-x.deb")
    package.symlink_to(fifo)
    words = [word.replace("FIFO", str(fifo)).replace("PACKAGE", str(package)) for word in REFUSED[what]]
    done = host(*words, env={"XDG_CACHE_HOME": str(host.base / "cache")} if words[0] in ("image", "kernel", "guest-bundle") else {})
    assert done.returncode in (1, 2, 125) and (str(fifo) in done.stderr or str(package) in done.stderr), done


def test_a_source_of_a_copy_is_refused(vm, fifo):
    assert f"{fifo} is neither a file nor a directory" in vm("cp", fifo, "vm:/tmp/x", check=1).stderr
    assert "already exists and is not a regular file" in vm("cp", "vm:/etc/passwd", fifo, check=1).stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_reading_of_variables(host, fifo, number):
    """Here a pipe is as good as a file, and is waited for: `--env-file <(pass show agent)`."""
    child = host.popen("run", "--env-file", fifo, "--", "true")
    writer = os.open(fifo, os.O_WRONLY)  # it returns when the other end is open
    child.send_signal(number)
    child.communicate()
    os.close(writer)
    assert child.returncode == -number


def test_a_signal_ends_the_wait_for_who_has_the_variables(host, fifo):
    child = host.popen("run", "--env-file", fifo, "--", "true")

    def waits():
        with open(f"/proc/{child.pid}/wchan", encoding="ascii") as name:
            return "wait_for_partner" in name.read()
    wait_until(waits, "the FIFO to be opened")
    child.terminate()
    child.communicate()
    assert child.returncode == -signal.SIGTERM


def test_a_request_that_does_not_come(host, fifo):
    with subprocess.Popen([host.bin / "microagent-qemu-supervisor"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=host.env) as child:
        child.send_signal(signal.SIGINT)
        child.communicate()
    assert child.returncode == -signal.SIGINT
