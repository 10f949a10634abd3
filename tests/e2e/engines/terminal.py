# SPDX-License-Identifier: MIT
"""A terminal for the client of an engine."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import termios
import time

from conftest import HANG_S

SIZES = ("/bin/sh", "-c", "trap 'stty size' WINCH; tty; stty size; until test \"$x\" = end; do read -t 1 x; done; exit 9")


class Terminal:
    """The child that popen(words, **kw) makes has the terminal as its controlling terminal."""

    def __init__(self, popen, *words, rows=40, columns=123):
        self.master, slave = pty.openpty()
        self.text = ""
        self.resize(rows, columns)
        self.child = popen(*words, stdin=slave, stdout=slave, stderr=slave, preexec_fn=lambda: os.login_tty(os.dup(slave)))
        os.close(slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, text):
        """Reads until the text is there."""
        end = time.monotonic() + HANG_S
        while text not in self.text:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            assert ready, f"still waiting for {text!r}: {self.text!r}"
            try:
                self.text += os.read(self.master, 4096).decode(errors="replace")
            except OSError:  # its other end is closed
                raise AssertionError(f"no {text!r} in {self.text!r}") from None

    def end(self):
        """Returns the exit code of the child, whose output is read to the end."""
        with contextlib.suppress(OSError):
            while piece := os.read(self.master, 4096):
                self.text += piece.decode(errors="replace")
        os.close(self.master)
        return self.child.wait()


def try_size(terminal):
    """With SIZES in it: the container has a terminal of the client's size, also when the size changes."""
    terminal.until("/dev/pts/")
    terminal.until("40 123")
    terminal.resize(50, 99)
    terminal.until("50 99")
    terminal.type("end\n")
    assert terminal.end() == 9, terminal.text
