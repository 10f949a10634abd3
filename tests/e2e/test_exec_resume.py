# SPDX-License-Identifier: MIT
"""Tests `microagent exec --resume`: the connection to the guest breaks at any byte, and nobody notices."""

import hashlib
import random

import pytest

from conftest import wait_until
from cutting_proxy import CuttingProxy

MIB = 1 << 20


def cuts(seed):
    """Most cuts are far into the streams, and many are in the dial, the attach and the answers to them."""
    chance = random.Random(seed)
    # Without a first connection no command has begun, and the failure to dial is the answer.
    return lambda n: chance.randint(20 if n == 0 else 1, 600) if chance.random() < 0.3 \
        else chance.randint(1000, 400000)


@pytest.mark.parametrize("seed", range(2))
def test_no_byte_is_lost_or_doubled(vm, seed):
    data = random.Random(seed).randbytes(4 * MIB)
    with CuttingProxy(vm.state / "vm", cuts(seed)) as proxy:
        done = vm("exec", "-i", "--resume", 60, "vm", "--", "sh", "-c", "cat; exit 7", input=data,
                  text=False)
    assert (done.returncode, done.stderr) == (7, b"")
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()
    assert proxy.cuts > 20, proxy.cuts


def test_both_streams_come_whole(vm):
    script = "i=0; while [ $i -lt 3000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"
    # A connection makes progress if it carries a whole frame, which may have 64 KiB.
    with CuttingProxy(vm.state / "vm", lambda n: 90000 if n % 4 == 3 else 5000) as proxy:
        done = vm("exec", "--resume", 60, "vm", "--", "sh", "-c", script, check=0)
    assert done.stdout == "".join(f"out {i}\n" for i in range(3000))
    assert done.stderr == "".join(f"err {i}\n" for i in range(3000))
    assert proxy.cuts >= 3, proxy.cuts


def gone(vm, word):
    return word not in vm("exec", "--user", "root", "vm", "--", "ps", check=0).stdout


def test_a_killed_client_is_waited_for_and_then_its_command_dies(vm):
    child = vm.popen("exec", "--resume", 1, "vm", "--", "sh", "-c", "echo up; exec sleep 45679")
    assert child.stdout.readline() == b"up\n"
    child.kill()
    child.communicate()
    wait_until(lambda: gone(vm, "45679"), "the grace time to be over")


def test_without_resume_a_break_is_an_error(vm):
    with CuttingProxy(vm.state / "vm", lambda n: 3000):
        done = vm("exec", "vm", "--", "sh", "-c", "cat /dev/zero", text=False, check=125)
    assert b"the connection to the guest was lost" in done.stderr
    wait_until(lambda: gone(vm, "/dev/zero"), "the command to be killed")


def test_a_machine_that_dies_is_no_broken_connection(host):
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    host("start", "w", check=0)
    child = host.popen("exec", "--resume", 3600, "w", "--", "sh", "-c", "echo up; exec sleep 9999")
    assert child.stdout.readline() == b"up\n"
    host("kill", "w", check=0)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 125 and b"microagent status w" in err, err
    host("delete", "w", check=0)
