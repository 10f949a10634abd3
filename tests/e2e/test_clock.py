# SPDX-License-Identifier: MIT
"""Tests the clock of a guest: it is right within a second after each jump, and the jump is reported. A library that the
live supervisor is started with makes the host's jumps. Nothing here touches the clock of this host."""

import os
import struct
import subprocess
import time

import pytest

from conftest import BACKEND, HANG_S, wait_until
from test_session_quota import audited, check_waiting, create, paused

# Two clocks are ahead by the number in a file, and a FIFO replaces the descriptor that tells that the clock was set.
LIBRARY = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const struct { int64_t real_s, boot_s; } *ahead;
static int fifo = -1;

__attribute__((constructor)) static void begin(void)
{
        int fd = open(getenv("TEST_CLOCK"), O_RDONLY | O_CLOEXEC);
        void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

        ahead = at == MAP_FAILED ? NULL : at;
        close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
        int status = (int)syscall(SYS_clock_gettime, clock, out);

        if (ahead && clock == CLOCK_REALTIME)
                out->tv_sec += ahead->real_s;
        if (ahead && clock == CLOCK_BOOTTIME)
                out->tv_sec += ahead->boot_s;
        return status;
}

int timerfd_create(int clock, int flags)
{
        if (clock != CLOCK_REALTIME)
                return (int)syscall(SYS_timerfd_create, clock, flags);
        return fifo = open(getenv("TEST_CLOCK_SET"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new_value, struct itimerspec *old)
{
        return fd == fifo ? 0 : (int)syscall(SYS_timerfd_settime, fd, flags, new_value, old);
}
"""


class Clock:
    """The host's clock, as the live supervisor sees it."""

    def __init__(self, place):
        self.file, self.fifo = place / "clock", place / "clock-set"
        library = place / "clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-x", "c", "-"], input=LIBRARY.encode(), check=True)
        os.mkfifo(self.fifo)
        self.file.write_bytes(bytes(4096))
        self.real = self.boot = 0
        # Only events set the guest's clock.
        self.env = {"LD_PRELOAD": str(library), "TEST_CLOCK": str(self.file), "TEST_CLOCK_SET": str(self.fifo),
                    "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", ""),
                    "MICROAGENT_TEST_LIMIT_TIME_PUSH_MS": "86400000"}

    def jump(self, slept=0, was_set=0):
        self.real, self.boot = self.real + slept + was_set, self.boot + slept
        with open(self.file, "r+b") as file:
            file.write(struct.pack("qq", self.real, self.boot))
        with open(self.fifo, "wb", buffering=0) as fifo:
            fifo.write(b"!")

    def check(self, host, name):
        before = time.time()
        said = int(host("session", "exec", name, "--", "date", "+%s", check=0).stdout)
        assert before + self.real - 1 <= said <= time.time() + self.real + 1, (said - before, self.real)


def told(host, name):
    return [(data["why"], round(data["ms"] / 1000)) for _, data in audited(host, name, "session.clock-set")]


def latest(host, name):
    event = host.json("events", name)["events"][-1]
    return event["state"], event.get("detail")


@pytest.mark.skipif(BACKEND == "apple-vf", reason="its supervisor is told of the clock by another system's means")
def test_a_guest_whose_clock_is_behind(host):
    clock = Clock(host.base)
    host("base", "create", "web", check=0)
    name = create(host, "--disk-quota", 24, env=clock.env)["name"]
    clock.check(host, name)

    clock.jump(slept=8 * 3600)
    wait_until(lambda: told(host, name) == [("host-slept", 28800)], "the word of it")
    clock.check(host, name)
    # The event comes behind the line of the audit log.
    wait_until(lambda: latest(host, name) == ("running", "the host slept for 28800 s; the guest's clock was set forward"), "its event")
    clock.jump(was_set=-3600)
    wait_until(lambda: told(host, name)[1:] == [("host-set", -3600)], "the word of it")
    clock.check(host, name)
    wait_until(lambda: latest(host, name) == ("running", "the host's clock was set back by 3600 s; the guest's clock was set with it"), "its event")

    # The guest's machine is paused and reads no time meanwhile. It has the right time when it goes on.
    writer = host.popen("session", "exec", "--user", "root", name, "--", "dd", "if=/dev/zero", "of=/root/f", "bs=1M", "count=32")
    wait_until(lambda: paused(host, name), "the pause")
    clock.jump(slept=86400)
    # QEMU may stand still for a moment before this. A busy host makes that a second, which is reported too.
    wait_until(lambda: [jump for jump in told(host, name)[2:] if jump[0] != "paused"] == [("host-slept", 86400)], "the word of it")
    before = len(told(host, name))
    assert check_waiting(host, name, 24, 1) <= 24 << 20  # its last event is the pause
    host("session", "quota", name, 64, check=0)
    clock.check(host, name)
    assert writer.wait(timeout=HANG_S) == 0
    (why, seconds), = told(host, name)[before:]
    assert why == "paused" and 86400 <= seconds < 86400 + HANG_S, seconds
    assert host.json("audit", "verify", name)["ok"]
    host("session", "destroy", name, check=0)
    host("base", "delete", "web-v1", check=0)
