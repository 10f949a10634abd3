# SPDX-License-Identifier: MIT
"""What takes minutes: `make soak` runs it. `make test` has a small version of each in other files."""

import hashlib
import os
import subprocess

import pytest

import growth

pytestmark = pytest.mark.soak

GIB = 1 << 30


def test_ten_thousand_execs(vm):
    workspace = vm.state / "vm"
    for _ in range(200):
        growth.run(workspace, ["true"])
    before = growth.look(vm, "vm")
    for number in range(10000):
        answer = growth.run(workspace, ["true"])
        assert answer["exitCode"] == 0, (number, answer)
    growth.assert_no_growth(vm, "vm", before)


@pytest.mark.parametrize("which", [2, 3])
def test_a_gibibyte_out(vm, which):
    workspace = vm.state / "vm"
    script = f"exec 1>&{which - 1}; dd if=/dev/zero bs=1M count=1024 2>/dev/null"
    before = growth.look(vm, "vm")
    digest, length, code = growth.stream_digest(workspace, ["sh", "-c", script], which)
    expected = hashlib.sha256()
    for _ in range(1024):
        expected.update(bytes(1 << 20))
    assert (length, code) == (GIB, 0)
    assert digest == expected.hexdigest()
    growth.assert_no_growth(vm, "vm", before)


def test_a_quarter_of_a_gibibyte_in(vm):
    before = growth.look(vm, "vm")
    feeder = subprocess.Popen(["head", "-c", str(GIB // 4), "/dev/zero"], stdout=subprocess.PIPE)
    child = vm.popen("exec", "-i", "vm", "--", "wc", "-c", stdin=feeder.stdout)
    feeder.stdout.close()
    out, err = child.communicate(timeout=1200)
    feeder.wait()
    assert (child.returncode, out.strip()) == (0, str(GIB // 4).encode()), err
    growth.assert_no_growth(vm, "vm", before)


def test_a_reader_that_stops_for_long(vm):
    """Megabytes wait in the guest, nothing in the host; then all of it comes."""
    before = growth.look(vm, "vm")
    reading, writing = os.pipe()
    child = vm.popen("exec", "vm", "--", "head", "-c", str(64 << 20), "/dev/zero", stdout=writing)
    os.close(writing)
    assert os.read(reading, 1) == b"\0"
    # Nothing is read while a hundred other commands run.
    for _ in range(100):
        growth.run(vm.state / "vm", ["true"])
    held = growth.look(vm, "vm")
    total = 1
    while piece := os.read(reading, 1 << 20):
        total += len(piece)
    os.close(reading)
    assert (child.wait(120), total) == (0, 64 << 20)
    for who in ("supervisor", "microagent-vsockd"):
        assert held[f"{who} KiB"] <= before[f"{who} KiB"] + 1024
    growth.assert_no_growth(vm, "vm", before)


@pytest.mark.parametrize("cpus", [1, 2])
def test_a_hundred_machines_one_after_another(host, cpus):
    for number in range(100):
        done = host("run", "--memory", 256, "--cpus", cpus, "--", "sh", "-c", f"echo {number}; exit {number}")
        assert (done.returncode, done.stdout) == (number, f"{number}\n"), (number, done.stderr)


def test_thirty_machines_at_once(host):
    children = [host.popen("run", "--memory", 128, "--cpus", 1, "--", "echo", str(i)) for i in range(30)]
    for i, child in enumerate(children):
        out, err = child.communicate(timeout=1200)
        assert (child.returncode, out) == (0, f"{i}\n".encode()), err
