# SPDX-License-Identifier: MIT
"""Guests with two CPUs under TCG always boot and go on. With a thread for each CPU 7 of 478 boots failed, and a kernel
that patches its own code panicked or stood still within seconds."""

import json
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import smp
from conftest import make_host
from test_supervisor import request as document

KERNELS = ["tuned_kernel", "debian_kernel"]


@pytest.fixture(scope="module")
def two_cpus():
    """The words of a machine of the product with two CPUs, and an initrd of the tests."""
    base = Path(tempfile.mkdtemp(prefix="e-"))
    it = make_host(base)
    try:
        it("create", "w", "--memory", 256, "--cpus", 2, "--accelerator", "tcg", check=0)
        it("start", "w", check=0)
        pid = json.loads((it.state / "w" / "runtime.json").read_text())["pid"]
        words = Path("/proc", str(pid), "cmdline").read_bytes().decode().split("\0")[:-1]
        it("kill", "w", check=0)
        it("delete", "w", check=0)
        it.assert_clean()
        yield smp.machine(words), smp.initrd(base)
    finally:
        it.sweep()
        shutil.rmtree(base, ignore_errors=True)


@pytest.mark.parametrize("times", [300, pytest.param(20000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_patches_its_own_code(two_cpus, kernel, times, request):
    words, initrd = two_cpus
    said = smp.boot(words, request.getfixturevalue(kernel)["path"], initrd, "patch", times)
    assert "GUEST-DONE" in said, said[-3000:]


@pytest.mark.soak
@pytest.mark.alone
@pytest.mark.parametrize("quarter", range(4))
@pytest.mark.parametrize("kernel", KERNELS)
def test_two_thousand_boots(two_cpus, kernel, quarter, request):
    """In quarters, each with the hour that a test may take, since all of them take longer than that."""
    words, initrd = two_cpus
    path = request.getfixturevalue(kernel)["path"]
    with ThreadPoolExecutor(2) as pool:  # each takes one of the host's processors
        for number, said in enumerate(pool.map(lambda _: smp.boot(words, path, initrd), range(500))):
            assert "GUEST-DONE" in said, (quarter, number, said[-3000:])


def test_one_cpu_where_the_number_is_left_open(host):
    """Two CPUs under KVM. The choice stays when the request that leaves it open comes again."""
    config = host.config(accelerator="tcg")
    del config["cpuCount"]

    def ask(command, config):
        code, answer, _ = host.supervisor(document(command, config))
        assert code == 0, answer

    ask("prepare", config)
    assert json.loads((host.state / "agent-1" / "workspace.json").read_text())["config"]["cpuCount"] == 1
    ask("prepare", {**config, "cpuCount": 2})
    ask("start", config)
    assert host("exec", "agent-1", "--", "nproc", check=0).stdout == "2\n"
    ask("kill", {"stateDir": config["stateDir"]})
    ask("delete", {"stateDir": config["stateDir"]})
