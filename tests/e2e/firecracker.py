# SPDX-License-Identifier: MIT
"""Machines of the Firecracker supervisor, with the stand-in in Firecracker's place (tests/standin/firecracker)."""

from conftest import BUILD, ROOT
from supervised import Supervised

HERE = ROOT / "tests" / "standin" / "firecracker"

LAUNCHER = """#!/usr/bin/python3 -ISB
import sys
sys.path.insert(0, {here!r})
import program
program.end(sys.argv[1:], {settings!r})
"""


class Firecracker(Supervised):
    BACKEND = "firecracker"
    DEFAULTS = {"library": str(BUILD / "standin/libvsock.so")}

    def __init__(self, host):
        super().__init__(host)
        self.vmm = self.place / "firecracker"
        self.vmm.write_text(LAUNCHER.format(here=str(HERE), settings=str(self.settings)))
        self.vmm.chmod(0o755)
        host.env["MICROAGENT_FIRECRACKER"] = str(self.vmm)

    def calls(self):
        """What it was told since the last look: [(name, body)]."""
        return [(line["call"], line["body"]) for line in self.recorded() if "call" in line]


def firecracker(host):
    """For a fixture."""
    it = Firecracker(host)
    yield it
    it.end()
