# SPDX-License-Identifier: MIT
"""Tests the firmware of QEMU's machines: qboot if QEMU has it, and otherwise QEMU's default. qboot sets up no PCI device."""

import shutil
from pathlib import Path

import pytest

from conftest import BACKEND
from test_devices import disk, make_disk, sh
from test_supervisor import request

pytestmark = pytest.mark.skipif(BACKEND != "qemu", reason="the machines of the other backends have no such firmware")
QEMU = Path("/usr/bin/qemu-system-x86_64")
DISKS = 16  # most disks beside a machine's root (MACHINE_EXTRAS_MAX)


def firmware_of(host, name):
    """Returns QEMU's words about it."""
    line = next(line for line in host.processes().values() if "-machine" in line and f"{host.state}/{name} " in line)
    return line.split("-bios ")[1].split()[0] if "-bios " in line else None


def start(host, config, name):
    for command in ("prepare", "start"):
        code, answer, _ = host.supervisor(request(command, config, runtimeID=name))
        assert code == 0, (command, answer)


def test_a_full_machine_with_a_spare_port(host):
    """Memory on both sides of the PCI devices' addresses, and as many devices as possible."""
    data = make_disk(host.base / "data.ext4", which="data")
    config = host.config(hotplug=True, memoryMiB=3072, disks=[disk(data, f"/data/{i}", name=f"data{i}") for i in range(DISKS)])
    start(host, config, "full")
    assert firmware_of(host, "full") == "qboot.rom"
    assert sh(host, "full", "cat /data/*/which") == "data" * DISKS
    assert int(sh(host, "full", "awk '/MemTotal/ { print $2 }' /proc/meminfo")) > 2816 * 1024
    # The kernel has addresses for all of them, and for a device that is plugged in later.
    assert sh(host, "full", "dmesg | grep -i 'no space for\\|failed to assign\\|not assigned' || true") == ""
    host("stop", "full", check=0)  # by the power button, which ACPI tells of
    assert host.json("status", "full")["event"]["state"] == "stopped"
    host("delete", "full", check=0)


def test_without_qboot(host):
    """A QEMU without qboot beside it boots the same machines, by SeaBIOS."""
    prefix = host.base / "prefix"
    (prefix / "bin").mkdir(parents=True)
    shutil.copy(QEMU, prefix / "bin")
    for data in ("qemu", "seabios"):  # bios-microvm.bin of this QEMU is a link to qboot.rom
        shutil.copytree(f"/usr/share/{data}", prefix / "share" / data, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*arm*", "*aarch64*", "*.lid", *(["qboot*", "bios-microvm*"] if data == "qemu" else [])))
    modules = next(Path("/usr/lib").glob("*-linux-gnu/qemu"))
    shutil.copytree(modules, prefix / modules.relative_to("/usr"))
    host.env["MICROAGENT_QEMU"] = str(prefix / "bin" / QEMU.name)
    for name, hotplug in (("plain", None), ("pluggable", True)):
        config = host.config(hotplug=hotplug)
        start(host, config, name)
        assert firmware_of(host, name) is None
        assert sh(host, name, "echo up") == "up\n"
        host("kill", name, check=0)
        host("delete", name, check=0)
