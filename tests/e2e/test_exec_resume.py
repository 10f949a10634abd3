# SPDX-License-Identifier: MIT
"""`microagent exec --resume`: the connection to the guest breaks, at any byte, and nobody notices."""

import hashlib
import os
import random

import pytest

from conftest import wait_until
from cutting_proxy import CuttingProxy

MIB = 1 << 20


def cuts(seed):
    """Mostly far into the streams, often in the dial, the attach and the answers to them."""
    chance = random.Random(seed)
    # Without its first connection a command has not begun, and the failure to dial is the answer.
    return lambda n: chance.randint(20 if n == 0 else 1, 600) if chance.random() < 0.3 \
        else chance.randint(1000, 400000)


@pytest.mark.parametrize("seed", range(3))
def test_no_byte_is_lost_or_doubled(vm, seed):
    data = random.Random(seed).randbytes(4 * MIB)
    with CuttingProxy(vm.state / "vm", cuts(seed)) as proxy:
        done = vm("exec", "-i", "--resume", 60, "vm", "--", "sh", "-c", "cat; exit 7", input=data,
                  text=False)
    assert (done.returncode, done.stderr) == (7, b"")
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()
    assert proxy.cuts > 20, proxy.cuts
