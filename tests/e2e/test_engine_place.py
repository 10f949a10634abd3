# SPDX-License-Identifier: MIT
"""Tests the check for what is left of an engine: it finds such things, and ending the engine by force leaves nothing."""

import os
import subprocess

import pytest

from engines.place import CGROUPS, Place, cgroups, members


@pytest.fixture
def place():
    if os.geteuid() != 0:
        pytest.skip("cgroups and mounts are root's")
    it = Place()
    yield it
    it.sweep()


def test_what_is_left_is_found_and_ended(place):
    assert not place.left(0)
    place.daemon("sleep", "infinity", answers=("true",))
    hierarchy = CGROUPS / "pids" if (CGROUPS / "pids").is_dir() else CGROUPS
    inside = hierarchy / place.cgroup / "engine" / "container"
    inside.mkdir(parents=True)
    stray = subprocess.Popen(["sleep", "infinity"])  # it names nothing of the place
    (inside / "cgroup.procs").write_text(str(stray.pid))
    (place.base / "mounted").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place.base / "mounted"], check=True)
    found = place.left(0)
    for kind in (f"process {place.daemons['sleep'].pid}:", f"process {stray.pid}:", f"cgroup {inside}", f"cgroup {inside.parent}", "mount "):
        assert any(line.startswith(kind) for line in found), (kind, found)
    place.sweep()
    stray.wait()
    assert not members(place.cgroup) and cgroups(place.cgroup) == ([], []) and not place.base.exists()
