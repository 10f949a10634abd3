# SPDX-License-Identifier: MIT
"""How a command ended, and what it said."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from ._errors import CommandError
from ._library import lib, text_of


@dataclass(frozen=True)
class Result:
    """How a command ended. What it said is the guest's word: data, and nothing to be trusted."""

    exit_code: int
    """0 to 255: 124 timed out, 125 not begun for a reason of ours, 126 not executable, 127 not found, 128+n ended by
    signal n."""
    stdout: bytes = b""
    """What was kept of it, the first bytes; of a stream nothing."""
    stderr: bytes = b""
    stdout_truncated: bool = False
    """More was said than was kept."""
    stderr_truncated: bool = False
    signal: int = 0
    """That ended it; 0: none."""
    timed_out: bool = False
    cancelled: bool = False
    """It was ended from here."""
    killed: bool = False
    elapsed_ms: int = 0
    """Milliseconds in the guest, from its start to its end."""
    start_error: str = ""
    """Why it never ran; "" when it did."""
    unread: bool = False
    """Output was dropped, since nobody had taken it when its time was over (timed_out) or it was ended."""

    @property
    def text(self) -> str:
        """stdout as UTF-8; what is none is U+FFFD."""
        return self.stdout.decode(errors="replace")

    def check(self) -> Result:
        """Itself, or CommandError when it did not end with 0."""
        if self.exit_code != 0 or self.cancelled:
            raise CommandError(self)
        return self


def result_of(out: Any) -> Result:
    """Of a struct microagent_result, which is freed."""
    def kept(at: int, length: int) -> bytes:
        return ctypes.string_at(at, length) if at and length else b""
    try:
        return Result(out.exit_code, kept(out.stdout_bytes, out.stdout_len), kept(out.stderr_bytes, out.stderr_len),
                      out.stdout_truncated, out.stderr_truncated, out.signal, out.timed_out, out.cancelled, out.killed,
                      out.elapsed_ms, text_of(out.start_error))
    finally:
        lib.result_free(ctypes.byref(out))


def checked(result: Result, check: bool) -> Result:
    return result.check() if check else result
