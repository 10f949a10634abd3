# SPDX-License-Identifier: MIT
"""Small clients in Go, Rust and Python. They know the protocol's published fields, and write what their language writes
for a field that nobody has set: null, and in Go "", 0 and false."""

import os
import shutil
import subprocess
import sys

import pytest

from conftest import BACKEND, BIN, BUILD, HANG_S, ROOT, default_kernel

CLIENTS = ROOT / "tests/e2e/clients"
WHOLE_LIFE = ["host true qemu", "check true unknown", "prepare true prepared", "start true running", "inspect true running", "halt true halted",
              "delete true stopped"]
pytestmark = pytest.mark.skipif(BACKEND != "qemu", reason="the clients name qemu as their backend")


def built(language, place):
    """Returns the words that run the client."""
    if language == "python":
        return [sys.executable, CLIENTS / "seed.py"]
    program, source = place / "client", CLIENTS / {"go": "seed.go", "rust": "seed.rs"}[language]
    words = {"go": ["go", "build", "-o", program, source], "rust": ["rustc", "-o", program, source]}[language]
    if not shutil.which(words[0]):
        pytest.skip(f"no {words[0]} is there (scripts/install-packages.sh test)")
    env = {**os.environ, "GOCACHE": str(BUILD / "go"), "GOTOOLCHAIN": "local", "GO111MODULE": "off"}
    subprocess.run(words, cwd=place, env=env, check=True, timeout=HANG_S)
    return [program]


@pytest.mark.parametrize("language", ["go", "rust", "python"])
def test_a_client_of_the_seeds_fields_alone(host, language):
    host.state.mkdir(mode=0o700)
    words = [*built(language, host.base), BIN / host.program, default_kernel(host)["path"], host.disk(), host.state]
    done = subprocess.run(words, capture_output=True, text=True, env=host.env, check=False, timeout=HANG_S)
    assert (done.returncode, done.stdout.splitlines()) == (0, WHOLE_LIFE), (done.stdout, done.stderr)
