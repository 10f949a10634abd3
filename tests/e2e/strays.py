# SPDX-License-Identifier: MIT
"""Finds what is left of a test, by the place of the test. Every test has a directory of its own. Its path is in the
command line, the environment, the socket or the mount of everything that belongs to the test. So tests that run
beside each other do not take another's things for theirs."""

import contextlib
import os
import stat
import time
from pathlib import Path


def running(place):
    """Returns processes whose command line or environment names the place: {pid: command line}."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            line = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ")
            ended = Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            continue
        try:
            environment = Path("/proc", entry, "environ").read_bytes()
        except OSError:  # another user's
            environment = b""
        if not ended and os.fsencode(place) in line + environment:
            found[int(entry)] = line.decode(errors="replace")
    return found


def processes(place, seconds=60):
    """A process that was told to end gets seconds to do it."""
    end = time.monotonic() + seconds
    while (found := running(place)) and time.monotonic() < end:
        time.sleep(0.02)
    return [f"process {pid}: {line[:300]}" for pid, line in found.items()]


def descriptors(pid):
    """Returns the open files of a process: {number: target}. A file that is closed while the list is made is left out."""
    found = {}
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found[int(number)] = os.readlink(f"/proc/{pid}/fd/{number}")
    return found


def has_open(pid, number, path):
    """Returns whether a descriptor of a process is this file. A descriptor that was closed meanwhile is not."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samefile(f"/proc/{pid}/fd/{number}", path)
    return False


def sockets(place):
    return [f"socket {top}/{name}" for top, _, names in os.walk(place) for name in names
            if stat.S_ISSOCK(os.lstat(os.path.join(top, name)).st_mode)]


def mounts(place):
    return [f"mount {line}" for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(place) in line]
