# SPDX-License-Identifier: MIT
"""Makes a system call in another process, as an attacker who has taken it over would: by ptrace, on x86-64 only."""

import ctypes
import errno
import os
import platform
import socket
import struct
import subprocess

import pytest

import strays

PTRACE_PEEKTEXT, PTRACE_SINGLESTEP, PTRACE_GETREGS, PTRACE_SETREGS, PTRACE_ATTACH, PTRACE_DETACH = 1, 9, 12, 13, 16, 17
WALL = 0x40000000
SYSCALL = 0x050F  # the instruction's bytes
WRITE, CLOSE, SOCKET, CONNECT, SENDTO, SENDMSG, BIND, LISTEN, SOCKETPAIR, SETSOCKOPT, FCNTL = 1, 3, 41, 42, 44, 46, 49, 50, 53, 54, 72
FCHMOD, EXIT_GROUP, OPENAT, UNLINKAT, UNSHARE = 91, 231, 257, 263, 272


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in (
        "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs").split()]


def put(pid, data):
    """Returns where the data is in its memory: at the end of its stack, which the process has never reached."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        begin = next(int(line.split("-")[0], 16) for line in maps if line.endswith("[stack]\n"))
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(begin)
        memory.write(data)
    return begin


def system_call(pid, number, *args):
    """Returns the result of the call. Returns None if the kernel has ended the process for it. The first thread of the
    process must wait in a system call now and then."""
    if platform.machine() != "x86_64":
        pytest.skip("no injection of system calls for this processor")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype, libc.ptrace.argtypes = ctypes.c_long, [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def ptrace(what, address=None, data=None):
        ctypes.set_errno(0)
        answer = libc.ptrace(what, pid, address, data)
        assert not ctypes.get_errno(), os.strerror(ctypes.get_errno())
        return answer

    def attach():
        """Waits until the process stops behind a system call. Returns its registers."""
        while True:
            ptrace(PTRACE_ATTACH)
            os.waitpid(pid, WALL)
            was = Registers()
            ptrace(PTRACE_GETREGS, None, ctypes.addressof(was))
            if ptrace(PTRACE_PEEKTEXT, was.rip - 2) & 0xFFFF == SYSCALL:
                return was
            ptrace(PTRACE_DETACH)

    was = attach()
    now = Registers.from_buffer_copy(was)
    now.rip, now.rax, now.orig_rax = was.rip - 2, number, 2 ** 64 - 1
    now.rdi, now.rsi, now.rdx, now.r10, now.r8, now.r9 = (*args, *[0] * 6)[:6]
    ended = False
    try:
        ptrace(PTRACE_SETREGS, None, ctypes.addressof(now))
        ptrace(PTRACE_SINGLESTEP)
        ended = os.WIFSIGNALED(os.waitpid(pid, WALL)[1])
        if ended:
            return None
        ptrace(PTRACE_GETREGS, None, ctypes.addressof(now))
        ptrace(PTRACE_SETREGS, None, ctypes.addressof(was))
    finally:
        if not ended:
            ptrace(PTRACE_DETACH)
    return ctypes.c_longlong(now.rax).value


def open_file(pid, directory, path, flags=os.O_RDONLY):
    """Returns the process's descriptor of a file below one of its directories, or minus an error's number."""
    return system_call(pid, OPENAT, directory, put(pid, os.fsencode(path) + b"\0"), flags, 0)


def send_with(pid, sock, data, descriptor):
    """Lets a process send data with a descriptor of its own."""
    rights = struct.pack("<QiiiI", 20, socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptor, 0)
    at = put(pid, b"")
    vector, control, text = at + 56, at + 72, at + 72 + len(rights)
    put(pid, struct.pack("<QIxxxxQQQQi4x", 0, 0, vector, 1, control, len(rights), 0) + struct.pack("<QQ", text, len(data)) + rights + data)
    return system_call(pid, SENDMSG, sock, at, socket.MSG_NOSIGNAL)


def sockets_between(one, other):
    """Returns descriptors of one process by those of the other that they are connected with."""
    def own(pid):
        return {int(link[8:-1]): fd for fd, link in strays.descriptors(pid).items() if link.startswith("socket:[")}

    lines = map(str.split, subprocess.run(["ss", "-xanH"], capture_output=True, text=True, check=True).stdout.splitlines())
    peers = {int(line[5]): int(line[7]) for line in lines}
    ours, theirs = own(one), own(other)
    return {theirs[peers[inode]]: fd for inode, fd in ours.items() if peers.get(inode) in theirs}


def refuses_mode_of_null(pid, mode=0o666):
    """Its stdin is the null device. It cannot change the mode and the owner of that, although it is the host's root."""
    null = os.stat("/dev/null")
    assert os.stat(f"/proc/{pid}/fd/0").st_rdev == null.st_rdev
    assert system_call(pid, FCHMOD, 0, mode) == -errno.EROFS
