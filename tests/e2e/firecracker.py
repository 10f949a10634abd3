# SPDX-License-Identifier: MIT
"""Machines of the Firecracker supervisor, for tests that ask for what they need: any Firecracker, which is the real one
if MICROAGENT_TEST_FIRECRACKER names it, or the stand-in (tests/standin/firecracker) with its record of calls and its
faults."""

from pathlib import Path

import pytest

import kvm_host
from conftest import BUILD, REAL_FIRECRACKER
from firecracker_standin import LAUNCHER
from supervised import Supervised


class Firecracker(Supervised):
    BACKEND = "firecracker"
    DEFAULTS = {"library": str(BUILD / "standin/libvsock.so")}

    def __init__(self, host, is_real=bool(REAL_FIRECRACKER)):
        super().__init__(host)
        self.is_real = is_real
        self.vmm = Path(REAL_FIRECRACKER) if is_real else self.make_standin()
        host.env["MICROAGENT_FIRECRACKER"] = str(self.vmm)

    def make_standin(self):
        vmm = self.place / "firecracker"
        vmm.write_text(LAUNCHER % str(self.settings))
        vmm.chmod(0o755)
        return vmm

    def calls(self):
        """Returns the calls of the stand-in's API since the last look: [(name, body)]."""
        assert not self.is_real, "the real Firecracker keeps no record of calls"
        return [(line["call"], line["body"]) for line in self.recorded() if "call" in line]


def firecracker(host):
    """For a fixture: any Firecracker."""
    yield from until_its_end(Firecracker(host))


def standin(host):
    """For a fixture: the stand-in."""
    if kvm_host.runs_named_kernel_alone():
        pytest.skip("it needs the stand-in's words, record of calls or faults, and the stand-in emulates: MICROAGENT_KVM_KERNEL runs "
                    "under KVM alone")
    yield from until_its_end(Firecracker(host, is_real=False))


def until_its_end(it):
    yield it
    it.end()
