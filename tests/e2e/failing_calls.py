# SPDX-License-Identifier: MIT
"""Programs in which one system call fails, as on a kernel that does not have it."""

import errno
import sys


def without(call, errnum):
    """Returns words before a program, in which a system call then fails (a seccomp filter). If root runs the tests,
    programs keep their set-user-ID bit."""
    return [sys.executable, "-c", FILTER % (call, errnum)]


FILTER = """
import ctypes, os, struct, sys
code = b"".join(struct.pack("<HBBI", *op) for op in ((0x20, 0, 0, 0), (0x15, 0, 1, %d), (6, 0, 0, 0x50000 | %d), (6, 0, 0, 0x7fff0000)))
held = ctypes.create_string_buffer(code)
program = struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_ulong]
assert (os.geteuid() == 0 or libc.prctl(38, 1, None, 0, 0) == 0) and libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execvp(sys.argv[1], sys.argv[1:])
"""

NO_LANDLOCK = without(444, errno.ENOSYS)
