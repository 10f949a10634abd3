# SPDX-License-Identifier: MIT
"""What the supervisor of each backend prints of itself, as src/api/backends.json has it for hosts that lack the supervisor.

Run by itself, after `make standin standin-hyperv`, it writes that file anew."""

import json
import subprocess
import sys
import tempfile

import schema_check
from conftest import APPLEVF, BIN, ROOT

import hyperv  # of ports/, where conftest has it looked for

STORED = ROOT / "src" / "api" / "backends.json"
LISTS = ("commands", "networks", "features", "refusals")
NATIVE = {"apple-vf": APPLEVF, "firecracker": BIN / "microagent-firecracker-supervisor", "qemu": BIN / "microagent-qemu-supervisor"}


def printed(*words, **how):
    done = subprocess.run([*words, "--print-capabilities"], stdin=subprocess.DEVNULL, capture_output=True, check=True, **how)
    said = json.loads(done.stdout)
    schema_check.validate("capabilities", said)
    return said


def lists_of(said):
    return {name: said[name] for name in LISTS}


def of_windows(place):
    """place: a directory, which is the one that a Wine's server is known by."""
    with hyperv.Wine(TMPDIR=str(place)) as wine:
        return lists_of(printed(hyperv.WINE, hyperv.SHIPPED, env=wine.env))


def write():
    document = {name: lists_of(printed(program)) for name, program in NATIVE.items()}
    with tempfile.TemporaryDirectory() as place:
        document["windows-hyperv"] = of_windows(place)
    STORED.write_text(json.dumps(document))
    subprocess.run([sys.executable, ROOT / "scripts" / "layout-schemas.py", STORED], check=True)


if __name__ == "__main__":
    write()
