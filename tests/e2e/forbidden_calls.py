# SPDX-License-Identifier: MIT
"""System calls that a foreign program must not make, tried by a script in its place. Each must be refused by ENOSYS and
nothing else. Another error would come from the kernel's own code for that call, which the filter of system calls
keeps out of reach."""

import os
import platform

AMD64 = platform.machine() == "x86_64"
AF_UNIX, AF_INET, AF_KEY, AF_PACKET, AF_ALG, AF_VSOCK = 1, 2, 15, 17, 38, 40
CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWUSER = 0x20000, 0x40000000, 0x10000000
SESSION_KEYRING = -3

# A name, the call's number on x86-64 and on arm64, and its arguments.
CALLS = (
    ("keyctl", 250, 219, 0, SESSION_KEYRING, 0),
    ("add_key", 248, 217, b"user", b"microagent", b"x", 1, SESSION_KEYRING),
    ("request_key", 249, 218, b"user", b"microagent", None, 0),
    ("vsock", 41, 198, AF_VSOCK, 1, 0),
    ("alg", 41, 198, AF_ALG, 5, 0),
    ("packet", 41, 198, AF_PACKET, 3, 0),
    ("key-socket", 41, 198, AF_KEY, 3, 2),
    ("vsock-pair", 53, 199, AF_VSOCK, 1, 0, None),
    ("unshare", 272, 97, CLONE_NEWUSER),
    ("clone-user", 56, 220, CLONE_NEWUSER | 17, None, None, None, None),
    ("clone-net", 56, 220, CLONE_NEWNET | 17, None, None, None, None),
    ("clone3", 435, 435, None, 0),
    ("setns", 308, 268, -1, 0),
    ("bpf", 321, 280, 0, None, 0),
    ("ptrace", 101, 117, 0, 0, None, None),
    ("process_vm_readv", 310, 270, 1, None, 0, None, 0, 0),
    ("pidfd_open", 434, 434, 1, 0),
    ("pidfd_getfd", 438, 438, -1, 0, 0),
    ("io_uring", 425, 425, 1, None),
    ("userfaultfd", 323, 282, 1),
    ("perf_event_open", 298, 241, None, 0, -1, -1, 0),
    ("mount", 165, 40, None, b"/", None, CLONE_NEWNS, None),
    ("umount", 166, 39, b"/", 0),
    ("pivot_root", 155, 41, b"/", b"/"),
    ("chroot", 161, 51, b"/"),
    ("fsopen", 430, 430, b"proc", 0),
    ("open_tree", 428, 428, -100, b"/", 1),
    ("open_by_handle_at", 304, 265, -1, None, 0),
    ("name_to_handle_at", 303, 264, -100, b"/", None, None, 0),
    ("syslog", 103, 116, 10, None, 0),
    ("quotactl", 179, 60, 0, None, 0, None),
    ("fanotify", 300, 262, 0, 0),
    ("swapon", 167, 224, b"/", 0),
    ("sysvipc", 29, 194, 0, 0, 0),
    ("mq_open", 240, 180, b"microagent", 0, 0, None),
)


def alone(pid, path):
    """Those that are refused outside of a cell besides: they reach a process or a socket of the host's, or a file by its name."""
    path = os.fsencode(path)
    return (
        ("unix", 41, 198, AF_UNIX, 1, 0),
        ("inet", 41, 198, AF_INET, 1, 0),
        ("pair", 53, 199, AF_UNIX, 1, 0, None),
        ("connect", 42, 203, 0, b"\1\0", 2),
        ("kill", 62, 129, pid, 15),
        ("tkill", 200, 130, pid, 15),
        ("tgkill", 234, 131, pid, pid, 15),
        ("sigqueue", 129, 138, pid, 15, None),
        ("own-signals", 72, 25, 0, 8, pid),
        ("own-signals-too", 72, 25, 0, 15, None),
        ("terminal", 16, 29, 0, 0x5412, b"x"),
        ("signals-of-a-socket", 16, 29, 0, 0x8901, None),
        ("limits", 302, 261, pid, 7, None, None),
        ("priority", 141, 140, 0, pid, 19),
        ("affinity", 203, 122, pid, 8, b"\1" + bytes(7)),
        ("fork", 56, 220, 17, None, None, None, None),
        ("setsid", 112, 157),
        ("chmod", 268, 53, -100, path, 0o777),
        ("chmod2", 452, 452, -100, path, 0o777, 0),
        ("chown", 260, 54, -100, path, 4242, 4242, 0),
        ("xattr", 188, 5, path, b"user.microagent", b"x", 1, 0),
        ("times", 280, 88, -100, path, None, 0),
        ("mknod", 259, 33, -100, path + b".node", 0o010600, 0),
        ("seccomp", 317, 277, 0, 0, None),
    )


def script(calls=CALLS):
    """A program in Python that writes " NAME" for each of the calls which is not refused."""
    rows = [(name, amd64 if AMD64 else arm64, args) for name, amd64, arm64, *args in calls]
    return f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, number, args in {rows!r}:
    ctypes.set_errno(0)
    made = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(word) if isinstance(word, int) else word for word in args))
    if made == 0 and name in ("fork", "clone-user", "clone-net"):
        os._exit(0)  # the child
    if made != -1 or ctypes.get_errno() != 38:
        print(end=" " + name)
"""
