# SPDX-License-Identifier: MIT
"""Machines of the supervisor of Macs, on the stand-in for Virtualization.framework (tests/standin/virtualization)."""

from conftest import APPLEVF
from supervised import Supervised


class AppleVF(Supervised):
    BACKEND = "apple-vf"
    program = APPLEVF

    def __init__(self, host):
        super().__init__(host)
        host.env["MICROAGENT_STANDIN_VZ"] = str(self.settings)
        host.env["MICROAGENT_APPLE_VF_SUPERVISOR"] = str(APPLEVF)

    def fault(self, point, **how):
        """At the next time that the framework comes to this point: an error of its own with a text that is told from all others."""
        self.set(faults={point: {"message": f"The fault at {point}.", **how}})

    def calls(self):
        """What it was told since the last look, by name."""
        return [line["call"] for line in self.recorded()]


def applevf(host):
    """For a fixture."""
    it = AppleVF(host)
    yield it
    it.set()
    it.end()
