# SPDX-License-Identifier: MIT
"""Lets one system call of one process of a command fail, or makes it the process's last. strace does it, to the named
process only. Its children are not followed, since those of a start become the machine, which lives on."""

import os
import random
import re
import shutil

from conftest import BIN, HANG_S, wait_until

# The errors that each call may return on a machine in trouble.
ERRORS = {
    "EIO": ("read pread64 write pwrite64 fsync fdatasync openat newfstatat renameat renameat2 unlinkat mkdirat linkat ftruncate "
            "flock getdents64 readlinkat copy_file_range"),
    "ENOSPC": "write pwrite64 openat mkdirat linkat symlinkat renameat renameat2 ftruncate fallocate copy_file_range",
    "EMFILE": "openat socket socketpair pipe2 dup fcntl epoll_create1 eventfd2 memfd_create pidfd_open timerfd_create signalfd4 "
              "inotify_init1 accept4",
    "ENOMEM": "mmap clone clone3 vfork fork memfd_create",
}
# The sanitizers end a program that has no memory for them.
NOT_NOW = ["ENOMEM"] if os.environ.get("SANITIZE") else []
LINE = re.compile(r"^(\w+)\((.*)\)\s+= ")
# Numbers, random names, and addresses do not identify a place.
BY_CHANCE = re.compile(r"0x[0-9a-f]+|\d+|\"(?:[^\"\\]|\\.)*\"\.\.\.")


class Place:
    """The count-th time that the process makes the call, counted from 1, and the call's text."""

    def __init__(self, call, count, line):
        self.call, self.count, self.line = call, count, line

    def faults(self):
        yield "kill"
        if self.call != "fcntl" or "DUPFD" in self.line:
            yield from (error for error, calls in ERRORS.items() if self.call in calls.split() and error not in NOT_NOW)


class Faults:
    """The programs of a build whose processes can be reached."""

    def __init__(self, host, program):
        """program: the name of its file. Its n-th process of a command is the traced one."""
        self.host, self.program = host, program
        self.log, self.rule, self.turn, self.nth = (host.base / f"fault.{name}" for name in ("log", "rule", "turn", "nth"))
        host.bin = host.base / "bin"
        shutil.copytree(BIN, host.bin)
        real = host.bin / f"{program}.real"
        (host.bin / program).rename(real)
        # Uses exec and strace -D: the started process is the traced one, so its parent ends it as always.
        (host.bin / program).write_text(f"""#!/bin/sh
turn=$(($(cat {self.turn} 2>/dev/null || echo 0) + 1)); echo $turn >{self.turn}
[ $turn = "$(cat {self.nth})" ] || exec {BIN / program} "$@"
export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" # which traces, and is traced itself here
exec strace -D -q -o {self.log} $(cat {self.rule}) {BIN / program} "$@"
""")
        (host.bin / program).chmod(0o755)
        real.unlink()

    def run(self, words, nth=1, rule=""):
        """Runs the command once, with its n-th process of the program under that rule."""
        self.log.unlink(missing_ok=True)
        self.turn.unlink(missing_ok=True)
        self.rule.write_text(rule)
        self.nth.write_text(str(nth))
        return self.host(*words, timeout=HANG_S)

    def plainly(self, *words, **kw):
        """Runs another command, in which nothing fails."""
        self.nth.write_text("0")
        return self.host(*words, **kw)

    def places(self, nth=1):
        """Returns the places of the last run: one for each distinct call, the first time that it was made. Calls of the
        loader are not the program's; they end when ld.so.cache is unmapped."""
        wait_until(lambda: self.log.exists() and "+++ exited" in self.log.read_text(errors="replace"), "the trace")
        counts, seen, found, loaded = {}, set(), [], False
        for line in self.log.read_text(errors="replace").splitlines():
            if not (match := LINE.match(line)):
                continue
            call, args = match.groups()
            counts[call] = counts.get(call, 0) + 1
            loaded = loaded or call == "munmap"
            key = (call, BY_CHANCE.sub("#", args))
            if loaded and key not in seen:
                seen.add(key)
                found.append(Place(call, counts[call], line))
        return found

    def had(self):
        """Returns whether the fault happened. A run may end before its turn."""
        wait_until(lambda: self.log.exists() and "+++ " in self.log.read_text(errors="replace"), "the trace")
        text = self.log.read_text(errors="replace")
        return "(INJECTED)" in text or "+++ killed by SIGKILL" in text


def rule(place, fault):
    what = "signal=KILL" if fault == "kill" else f"error={fault}"
    return f"-e trace={place.call} -e inject={place.call}:{what}:when={place.count}"


def chosen(places, seed, most):
    """Returns pairs of a place and a fault, each place once, in an order that the seed gives."""
    dice = random.Random(seed)
    pairs = [(place, dice.choice(list(place.faults()))) for place in places if place.call not in ("execve", "exit_group")]
    dice.shuffle(pairs)
    return pairs[:most]

