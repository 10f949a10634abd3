# SPDX-License-Identifier: MIT
"""Counts booted machines. The kernel reports each execution of QEMU (fanotify, for root only). Machines with a name
below a given place are counted."""

import ctypes
import os
import shutil
import struct
import threading
import time
from pathlib import Path

FAN_CLOEXEC, FAN_MARK_ADD, FAN_OPEN_EXEC, AT_FDCWD = 0x1, 0x1, 0x1000, -100
EVENT = struct.Struct("=IBBHQii")
EXEC_S = 5  # time between the opening of a program and its command line


class Boots:
    """Raises OSError if the host cannot report executions."""

    def __init__(self, place):
        self.place, self.counted = os.fsencode(place), 0
        libc = ctypes.CDLL(None, use_errno=True)
        program = os.environ.get("MICROAGENT_QEMU") or shutil.which(f"qemu-system-{os.uname().machine}") or "/nonexistent"
        self.fd = libc.fanotify_init(FAN_CLOEXEC, os.O_RDONLY | os.O_CLOEXEC)
        if self.fd < 0 or libc.fanotify_mark(self.fd, FAN_MARK_ADD, ctypes.c_uint64(FAN_OPEN_EXEC), AT_FDCWD,
                                             os.fsencode(program)) < 0:
            raise OSError(ctypes.get_errno(), "fanotify")
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            data = os.read(self.fd, 65536)
            while data:
                length, _, _, _, _, file, pid = EVENT.unpack_from(data)
                data = data[length:]
                if file >= 0:
                    os.close(file)
                threading.Thread(target=self.look, args=(pid,), daemon=True).start()

    def look(self, pid):
        end = time.monotonic() + EXEC_S
        while time.monotonic() < end:
            try:
                words = Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
            except OSError:
                return
            if os.path.basename(words[0]).startswith(b"qemu-system"):
                self.counted += any(self.place in word for word in words) and b"-name" in words
                return
            time.sleep(0.005)

    def count(self):
        return self.counted
