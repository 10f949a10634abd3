# SPDX-License-Identifier: MIT
"""Tests files of root in a place that nobody else can reach (below its home): our programs, and others that a variable
names. The users of cells have no path to them."""

import os
import shutil
from pathlib import Path

import pytest

import virtiofsd
from conftest import BIN, BACKEND

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root has users of cells that are not itself"),
              pytest.mark.skipif(BACKEND != "qemu", reason="it is QEMU's machines that have shares")]


def test_programs_in_a_directory_of_mode_0700(host):
    home = host.base / "home"
    home.mkdir(mode=0o700)
    for part in ("bin", "prefix/bin", "prefix/share", "work"):
        (home / part).mkdir(parents=True)
    for program in BIN.glob("microagent*"):
        shutil.copy(program, home / "bin")
    shutil.copy("/usr/bin/qemu-system-x86_64", home / "prefix/bin")
    for data in ("qemu", "seabios"):
        shutil.copytree(f"/usr/share/{data}", home / "prefix/share" / data, ignore=shutil.ignore_patterns("*arm*", "*aarch64*", "*.lid"))
    modules = next(Path("/usr/lib").glob("*-linux-gnu/qemu"))
    shutil.copytree(modules, home / "prefix" / modules.relative_to("/usr"))
    shutil.copy(virtiofsd.PROGRAM, home / "virtiofsd")
    host.env.update(MICROAGENT_QEMU=str(home / "prefix/bin/qemu-system-x86_64"), MICROAGENT_VIRTIOFSD=str(home / "virtiofsd"))
    host.bin = home / "bin"
    host("run", "--share", f"{home}/work:/work", "--", "sh", "-c", "echo made >/work/file", check=0)
    assert (home / "work/file").read_text() == "made\n"
