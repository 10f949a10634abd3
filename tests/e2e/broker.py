# SPDX-License-Identifier: MIT
"""Asks the broker as a live supervisor that was taken over does. The supervisor is stopped, and a copy of its socket is used."""

import contextlib
import ctypes
import json
import os
import platform
import signal
import socket
import struct
import time
from pathlib import Path

import pytest

import inject

PIDFD_GETFD, CLONE3 = 438, 435
RECVMSG = "47"  # the system call in which the broker waits
# The rows of list_duties() in src/supervisor/live/linux/live_broker.c, in their order.
ROWS = ("kill", "start time", "sever", "socket", "share", "proc", "dial", "target", "connecting", "port", "vmm", "base", "opens",
        "security log", "cgroup", "remove")
MESSAGE = 65 * 1024  # BROKER_BYTES
libc = ctypes.CDLL(None, use_errno=True)


def copy_of(pid, descriptor):
    process = os.pidfd_open(pid)
    copy = libc.syscall(PIDFD_GETFD, process, descriptor, 0)
    os.close(process)
    assert copy >= 0, os.strerror(ctypes.get_errno())
    return copy


class Broker:
    """without: rows that this machine does not have."""

    def __init__(self, directory, without=()):
        if platform.machine() != "x86_64":
            pytest.skip("the table of rows is that of x86-64 here")
        self.record = directory / "runtime.json"
        self.facts = json.loads(self.record.read_text())
        self.supervisor, self.pid, self.vmm = self.facts["supervisorPid"], self.facts["broker"]["pid"], self.facts["pid"]
        self.rows = [row for row in ROWS if row not in without]
        os.kill(self.supervisor, signal.SIGSTOP)
        way, = inject.sockets_between(self.supervisor, self.pid).values()
        self.socket = socket.socket(fileno=copy_of(self.supervisor, way))
        self.take_last_answer()
        self.socket.settimeout(60)

    def take_last_answer(self):
        """The supervisor may have asked something just before it was stopped. The broker waits for the next question
        when its answer is there."""
        end = time.monotonic() + 60
        while not (self.state(self.supervisor) == "T" and self.state(self.pid) == "S" and
                   Path(f"/proc/{self.pid}/syscall").read_text(encoding="ascii").split()[0] == RECVMSG):
            assert time.monotonic() < end, "the broker does not come to rest"
            time.sleep(0.01)
        with contextlib.suppress(BlockingIOError):
            _, passed, _, _ = self.socket.recvmsg(2 * MESSAGE, socket.CMSG_SPACE(8 * 4), socket.MSG_DONTWAIT)  # recv_fds() takes no flags
            for _, _, numbers in passed:
                for descriptor, in struct.iter_unpack("i", numbers[:len(numbers) // 4 * 4]):
                    os.close(descriptor)

    @staticmethod
    def state(pid):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[0]

    def ask(self, row, data=b"", descriptors=()):
        """Returns 0 or -1, the bytes of the answer or the words of the error, and the descriptors that came."""
        question = struct.pack("<I", self.rows.index(row)) + data
        socket.send_fds(self.socket, [question], descriptors)
        answer, passed, _, _ = socket.recv_fds(self.socket, 2 * MESSAGE, 8)
        status, = struct.unpack_from("<i", answer)
        if status == 0:
            return status, answer[-MESSAGE:] if len(answer) > MESSAGE else answer, passed
        return status, answer[4:].replace(b"\0", b"").decode(errors="replace"), passed

    def kill_vmm(self):
        """Kills a process and waits for its end. The supervisor, which is stopped, is not its parent."""
        process = os.pidfd_open(self.vmm)
        assert self.ask("kill", b"", [process])[0] == 0
        os.close(process)
        end = time.monotonic() + 60
        while os.path.exists(f"/proc/{self.vmm}"):
            assert time.monotonic() < end
            time.sleep(0.01)

    def close(self):
        self.socket.setblocking(True)
        self.socket.close()
        os.kill(self.supervisor, signal.SIGCONT)


def run_as(number, *words):
    """Does fork() and exec() with a pid of our choice, which root may choose."""
    wanted = (ctypes.c_int * 1)(number)
    args = (ctypes.c_uint64 * 11)(0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(wanted), 1, 0)
    while True:
        pid = libc.syscall(CLONE3, args, ctypes.sizeof(args))
        if pid == 0:
            try:
                os.execvp(words[0], [str(word) for word in words])
            finally:
                os._exit(127)
        if pid > 0:
            return pid
        assert ctypes.get_errno() == 17, os.strerror(ctypes.get_errno())  # EEXIST: another process has the number for a moment
