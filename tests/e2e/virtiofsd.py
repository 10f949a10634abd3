# SPDX-License-Identifier: MIT
"""The virtiofsd of this host: the one in C of Debian 12, or the one in Rust of newer distributions. Tests of features
that only one of them has, and of its options, ask which it is."""

import os
from pathlib import Path

import pytest

PROGRAM = next(place for place in (os.environ.get("MICROAGENT_VIRTIOFSD"), "/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd")
               if place and Path(place).exists())
IS_C = PROGRAM == "/usr/lib/qemu/virtiofsd"
in_c = pytest.mark.skipif(not IS_C, reason="the virtiofsd in Rust has neither locks nor a time for what is kept")


def cache_word(cache):
    """Returns the option for a share's cache."""
    return f"cache={cache}" if IS_C else f"--cache={'never' if cache == 'none' else cache}"
