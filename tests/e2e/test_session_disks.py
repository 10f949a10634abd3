# SPDX-License-Identifier: MIT
"""Tests the disk of a session on file systems with and without reflinks."""

import contextlib
import json
import os
import subprocess

import pytest

from conftest import wait_until
from digests import sha256


def run(*words):
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout


def mount_xfs(host):
    image = host.base / "xfs.img"
    with open(image, "wb") as file:
        file.truncate(400 << 20)
    run("mkfs.xfs", "-q", "-m", "reflink=1", image)
    run("mount", "-o", "loop", image, host.state)


def mount_tmpfs(host):
    run("mount", "-t", "tmpfs", "-o", "size=400M", "none", host.state)


def unmount(host):
    """Removes everything that the test left of it."""
    if any(host.processes()):
        host.sweep()
        wait_until(lambda: not host.processes(), "the end of its processes")
    run("umount", host.state)


@contextlib.contextmanager
def mounted(host, how):
    """The state directory is a file system of its own."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system for the state directory needs root")
    host.state.mkdir()
    try:
        how(host)
    except subprocess.CalledProcessError as failed:
        pytest.skip(f"this host cannot have such a file system: {failed.stderr.strip()}")
    try:
        host.state.chmod(0o700)
        yield
    finally:
        unmount(host)


@pytest.mark.parametrize("how, clone, disk", ((mount_xfs, "reflink", "rootfs.ext4"), (mount_tmpfs, "overlay", "rootfs.qcow2")),
                         ids=("xfs", "tmpfs"))
def test_a_session_writes_to_its_own_disk(host, how, clone, disk):
    with mounted(host, how):
        sealed = host.json("base", "create", "web")["disk"]
        base = host.state / "bases/web-v1.bundle/disk.img"
        made = host.json("session", "create", "--base", "web", "--network", "isolated", "--no-share")
        bundle = host.state / "sessions" / f"{made['name']}.bundle"
        config = json.loads((bundle / "workspace.json").read_text())["config"]
        assert made["clone"] == clone and config["rootfsPath"] == str(bundle / disk)
        told = next(check for check in host.json("doctor")["checks"] if check["name"] == "session disks")
        assert (told["status"], told["detail"].split(":")[0]) == ("ok", clone)
        assert config.get("rootfsBase") == (str(base) if clone == "overlay" else None)

        before = (bundle / disk).stat().st_blocks
        host("session", "exec", made["name"], "--", "sh", "-c", "head -c 1000000 /dev/urandom > /workspace/own; sync", check=0)
        if clone == "reflink":
            extents = run("filefrag", "-v", bundle / disk).splitlines()
            assert any("shared" in line for line in extents) and sha256(bundle / disk) != sealed["sha256"]
        else:
            assert (bundle / disk).stat().st_blocks >= before + 1000000 // 512
        assert sha256(base) == sealed["sha256"] and host.json("base", "verify", "web")["ok"]

        host("session", "destroy", made["name"], check=0)
        assert not bundle.exists() and host.json("session", "list") == {"sessions": []}
        assert sha256(base) == sealed["sha256"]
        host("base", "delete", "web-v1", check=0)
