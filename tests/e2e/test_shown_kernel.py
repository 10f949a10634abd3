# SPDX-License-Identifier: MIT
"""Tests the kernel in QEMU's cell. It is the very file that was hashed, and nobody can write to it until QEMU has read
it. If that is not possible, the cell has a copy."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import BACKEND, wait_until
from test_hostile_vmm import vmm
from test_verification import own_kernel

pytestmark = pytest.mark.skipif(BACKEND != "qemu", reason="Firecracker was given its files by mounts from the beginning")

# Acts like a kernel before 5.12 for the programs that follow: mount_setattr(2) does not exist (ENOSYS).
NO_MOUNT_SETATTR = """
import ctypes, os, struct, sys
code = b"".join(struct.pack("HBBI", *row) for row in
                [(0x20, 0, 0, 0), (0x15, 0, 1, 442), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000)])
rows = ctypes.create_string_buffer(code)
libc = ctypes.CDLL(None, use_errno=True)
assert os.geteuid() == 0 or libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HxxxxxxP", 4, ctypes.addressof(rows)), 0, 0) == 0, ctypes.get_errno()
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture(name="kernel")
def a_kernel(host):
    """Makes a kernel that may be written to, on a file system whose files only this system changes."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", host.base], capture_output=True, text=True, check=True).stdout.strip()
    if kind not in ("ext2/ext3", "xfs", "btrfs", "f2fs", "tmpfs"):
        pytest.skip(f"the tests' files are on {kind}, of which kernels are copied")
    kernel = own_kernel(host)
    kernel.chmod(0o644)
    host("create", "w", "--kernel", kernel, "--memory", 256, check=0)
    return kernel


def runtime(host):
    return json.loads((host.state / "w" / "runtime.json").read_text())


def in_cell(host):
    return Path(f"/proc/{runtime(host)['pid']}/root/kernel")


def is_shown(host, kernel):
    """Finds it by its inode, in a mount that nobody can write to."""
    there = in_cell(host)
    assert os.statvfs(there).f_flag & os.ST_RDONLY
    return os.path.samestat(there.stat(), kernel.stat())


def may_write(kernel):
    """Opens it without waiting."""
    try:
        os.close(os.open(kernel, os.O_WRONLY | os.O_NONBLOCK))
    except BlockingIOError:
        return False
    return True


def log(host):
    return (host.state / "w" / "supervisor.log").read_text()


def end(host):
    host("kill", "w", check=0)
    host("delete", "w", check=0)


@pytest.mark.usefixtures("kernel_by_path")
def test_nothing_is_copied(host, kernel):
    """The machine has the file itself. When the machine runs it may be written to again, and a waiting program gets it."""
    host("start", "w", check=0)
    assert is_shown(host, kernel) and may_write(kernel)
    initrd = in_cell(host).with_name("initrd")  # the guest's firmware reads it much later, so it is a copy
    assert not os.path.samestat(initrd.stat(), Path(f"{kernel}.initrd").stat())
    end(host)
    with host.popen("run", "--kernel", kernel, "--memory", 256, "--", "sleep", 1000) as waiting:
        event = lambda: next((p for p in host.state.glob("*/event.json") if json.loads(p.read_text())["state"] == "running"), None)  # noqa: E731
        wait_until(event, "the machine")
        assert may_write(kernel) and not waiting.poll()
        waiting.terminate()


def test_nobody_writes_to_it_meanwhile(host, kernel):
    """From the hash on until QEMU has read it, a program that opens it for writing waits. This QEMU never says that it
    has read it."""
    program = host.base / "bin" / "vmm-qmp-silent"
    program.parent.mkdir(mode=0o755)
    program.write_bytes(vmm().read_bytes())
    program.chmod(0o755)
    with host.popen("start", "w", env={"MICROAGENT_QEMU": str(program)}) as starting:
        wait_until(lambda: (host.state / "w" / "runtime.json").exists() and "pid" in runtime(host) and in_cell(host).exists(),
                   "the stand-in of QEMU in its cell")
        assert is_shown(host, kernel)
        for path in (kernel, f"{kernel}.initrd"):
            assert not may_write(path)
        with open(kernel, "rb") as file:  # other programs may read it
            assert file.read(1)
        host("kill", "w", check=0)
        starting.communicate()
    assert may_write(kernel) and may_write(f"{kernel}.initrd")
    host("delete", "w", check=0)


@pytest.mark.parametrize("how", ["written to", "an old system"])
@pytest.mark.usefixtures("kernel_by_path")
def test_else_it_is_copied(host, kernel, how):
    """If a program has the file open for writing, it may change at any time."""
    writer = open(kernel, "r+b") if how == "written to" else None
    host.wrap = [sys.executable, "-c", NO_MOUNT_SETATTR] if how == "an old system" else []
    host("start", "w", check=0)
    host.wrap = []
    assert not is_shown(host, kernel)
    assert in_cell(host).read_bytes() == kernel.read_bytes()
    assert (f"{kernel}: {os.strerror(errno.ENOSYS)}" in log(host)) == (how == "an old system"), log(host)
    assert may_write(kernel)
    end(host)
    if writer:
        writer.close()


@pytest.mark.usefixtures("kernel_by_path")
def test_of_one_that_few_may_read(host, kernel):
    """Shown or copied, as its file system allows: the cell's user is another one."""
    kernel.chmod(0o400)
    host("start", "w", check=0)
    assert host("exec", "w", "--", "echo", "there", check=0).stdout == "there\n"
    if os.geteuid() == 0:
        assert may_write(kernel)
    end(host)
