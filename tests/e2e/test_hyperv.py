# SPDX-License-Identifier: MIT
"""microagent-hyperv-supervisor: a real guest, driven by a program of Windows under Wine through the stand-in for Hyper-V."""

import json
import os
import struct
import subprocess
import threading
from pathlib import Path

import pytest

import hyperv
import schema_check
from conftest import BIN, default_kernel, image, wait_until
from hyperv import SHIPPED, Supervisor, Wine, fault, is_empty, run_in_guest
from hyperv_standin import Broker, footer, prefix, windows_path

ADDRESS_KEYS = {"vmId", "agentServiceId"}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The service, and a Wine that has its DLL."""
    place = tmp_path_factory.mktemp("hyperv")
    with Broker(place / "broker") as broker:
        wine = Wine(hyperv.own_prefix(place / "prefix"), **broker.env)
        wine.start()
        yield broker, wine
        wine.end()


def config_of(place):
    return {"kernelPath": windows_path(default_kernel(place)["path"]), "rootfsPath": windows_path(image(place, "busybox")["path"]),
            "memoryMiB": 256, "cpuCount": 1, "network": {"mode": "isolated"}}


@pytest.fixture(name="vm")
def the_supervisor(bench, place, tmp_path):
    broker, wine = bench
    made = Supervisor(wine, tmp_path / "state", **config_of(place))
    yield made
    for directory in (tmp_path / "state").glob("[!.]*"):
        made("kill", directory.name)
    broker.settings()


@pytest.fixture(name="broker")
def the_broker(bench):
    return bench[0]


def names_of_calls(broker):
    return [call["call"] for call in broker.calls()]


def machines_of(broker):
    """That the service keeps: the workers of QEMU in its place."""
    return [name for name in os.listdir(broker.place) if name.startswith("hcs-") and any((broker.place / name).iterdir())]


# --- in make test --------------------------------------------------------------------------------------------------------


def test_lifecycle(vm, broker):
    """From nothing to nothing: what the guest writes stays from one boot to the next, and its agent is reached."""
    raw = Path(vm.given["rootfsPath"][2:].replace("\\", "/"))
    before = raw.stat().st_mtime_ns
    assert vm.ok("check")["event"]["state"] == "unknown"
    assert is_empty(vm.state)
    prepared = vm.ok("prepare")
    assert prepared["event"]["state"] == "prepared"
    assert prepared["verification"]["rootfs"]["sha256"] == prepared["verification"]["rootfs"]["recordedSHA256"]
    assert vm.file("rootfs.vhd").stat().st_size == raw.stat().st_size + 512
    started = vm.ok("start")
    assert started["event"]["state"] == "running"
    assert started["readiness"]["guestReady"]["ready"] and started["readiness"]["shellReady"]["ready"]
    assert set(started["hvSocket"]) == ADDRESS_KEYS
    code, text = run_in_guest(broker, started["hvSocket"], "sh", "-c", "echo $((6*7)) | tee /root/kept; sync")
    assert (code, text) == (0, "42\n")
    granted = {call["path"] for call in broker.calls() if call["call"] == "HcsGrantVmAccess"}
    assert granted == {vm.given["kernelPath"], vm.given["kernelPath"] + ".initrd", windows_path(vm.file("rootfs.vhd"))}
    inspected = vm.ok("inspect")
    assert inspected["hvSocket"] == started["hvSocket"] and inspected["verification"]["ok"]
    assert vm.ok("stop")["event"]["detail"] == "the guest switched itself off when asked"
    again = vm.ok("start")
    assert again["hvSocket"]["vmId"] != started["hvSocket"]["vmId"]
    assert run_in_guest(broker, again["hvSocket"], "cat", "/root/kept") == (0, "42\n")
    assert vm.ok("kill")["event"]["detail"] == "killed"
    assert vm.events() == ["prepared", "starting", "running", "stopping", "stopped", "starting", "running", "stopped"]
    assert "hvSocket" not in vm.ok("inspect") and not machines_of(broker)
    vm.ok("delete")
    assert is_empty(vm.state) and raw.stat().st_mtime_ns == before


def test_refused_by_hcs(vm, broker):
    """A document that HCS refuses: the workspace has failed and says why, nothing runs, and the next start is an ordinary one."""
    vm.ok("prepare")
    with fault(broker, HcsCreateComputeSystem={"hresult": "0x8037010d", "words": "no such chipset"}):
        code, text = vm.refused("start")
    assert code == "invalid" and text == ("HcsCreateComputeSystem: the document of the machine is refused (0x8037010d): no such chipset")
    answer = vm.ok("inspect")
    assert answer["event"]["state"] == "failed" and answer["event"]["detail"] == text
    assert not machines_of(broker)
    assert vm.ok("start")["event"]["state"] == "running"
    assert vm.ok("stop")["event"]["state"] == "stopped"


def test_no_hyperv(place, tmp_path):
    """A Windows without computecore.dll, and the shipped program: host says so, and the rest is unavailable."""
    wine = Wine(prefix(), TMPDIR=str(tmp_path))
    wine.start()
    bare = Supervisor(wine, tmp_path / "state", SHIPPED, **config_of(place))
    told = bare.ok("host")["host"]
    schema_check.validate("host", told)
    assert not told["frameworkAvailable"] and not told["virtualizationSupported"] and told["binaryPath"] == ""
    assert told["acceleratorReason"] == "computecore.dll, by which Hyper-V is spoken to: Module not found (126)"
    for command in ("check", "prepare", "start", "run"):
        assert bare.refused(command) == ("unavailable", told["acceleratorReason"])
    assert bare.ok("inspect")["event"]["state"] == "unknown"
    assert is_empty(tmp_path / "state")
