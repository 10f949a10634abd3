# SPDX-License-Identifier: MIT
"""Tests a kernel of the user without an initrd beside it. The supervisor makes one from the microagent-init beside itself."""

import json
import os
import shutil
import subprocess

import pytest

from conftest import BACKEND, BIN
from digests import sha256
from killing import Killer

INIT = BIN / "microagent-init"


@pytest.fixture
def alone(host, tuned_kernel):
    """A host with an empty cache of its own, the path of a kernel that stands alone, and a function that sends a request."""
    path = tuned_kernel["path"] if BACKEND == "qemu" else f"{tuned_kernel['path']}.vmlinux"
    if not os.path.exists(path):
        path = tuned_kernel["path"]
    host.cache = host.base / "cache"
    host.kernel = host.base / "Image"
    shutil.copy(path, host.kernel)

    def ask(what, **changes):
        """Writes it as seed 003 does."""
        config = host.config(kernelPath=str(host.kernel), **changes)
        identity = {"requestID": "req-1", "runtimeID": "agent-1", "role": "workload", "backend": "qemu"}
        return host.supervisor({"command": what, "identity": identity, "config": config},
                               env={"MICROAGENT_CACHE_DIR": str(host.cache)})[:2]

    host.ask = ask
    return host


def kept(host):
    """Returns the cache's initrds."""
    assert not [path for path in host.cache.glob("tmp/**/*") if not path.is_dir()]
    return sorted(os.listdir(host.cache / "initrds")) if (host.cache / "initrds").exists() else []


def test_the_request_of_the_seed_boots(alone):
    code, answer = alone.ask("run", command=["sh", "-c", "exit 3"])
    assert code == 0 and answer["result"]["exitCode"] == 3, answer
    assert kept(alone) == [f"{sha256(INIT)}.initrd"]
    made = alone.cache / "initrds" / kept(alone)[0]
    assert made.stat().st_mode & 0o777 == 0o444
    seen = answer["verification"]
    assert seen["initrd"] == {"path": str(made), "sha256": sha256(made), "recordedSHA256": sha256(made)}
    assert seen["init"]["sha256"] == sha256(INIT)
    before = made.stat()
    code, answer = alone.ask("inspect")
    assert code == 0 and answer["verification"]["ok"], answer
    assert made.stat().st_ino == before.st_ino  # made once
    gone = alone.kernel.rename(alone.base / "gone")
    code, answer = alone.ask("inspect")
    assert code == 0 and [entry["artifact"] for entry in answer["verification"]["divergence"]] == ["kernel"], answer
    gone.rename(alone.kernel)
    shutil.rmtree(alone.cache)  # a cache may be emptied
    code, answer = alone.ask("inspect")
    assert code == 0 and answer["verification"]["ok"] and answer["verification"]["init"] == told_of_init(recorded=True), answer
    assert kept(alone) == []
    assert alone.ask("delete")[0] == 0
    code, answer = alone.ask("run", command=["sh", "-c", "exit 4"])
    assert code == 0 and answer["result"]["exitCode"] == 4, answer
    assert len(kept(alone)) == 1 and not (alone.base / "Image.initrd").exists()
    assert alone.ask("delete")[0] == 0


def test_the_command_line_takes_such_a_kernel(alone):
    env = {"MICROAGENT_CACHE_DIR": str(alone.cache)}
    done = alone("run", "--kernel", alone.kernel, "--image", alone.disk(), "--memory", "256", "--network", "isolated", "--", "echo", "up", env=env, check=0)
    assert done.stdout == "up\n" and kept(alone) == [f"{sha256(INIT)}.initrd"]


def test_many_at_once_make_one(alone):
    words = [str(BIN / "microagent-artifact"), "initrd", "--json"]
    env = {**alone.env, "MICROAGENT_CACHE_DIR": str(alone.cache)}
    children = [subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)]
    said = {(child.communicate()[0], child.returncode) for child in children}
    assert len(said) == 1 and said.pop()[1] == 0
    assert kept(alone) == [f"{sha256(INIT)}.initrd"]


def told_of_init(recorded=False):
    """Returns what is said of the microagent-init that an initrd will be made from."""
    return {"path": str(INIT), "sha256": sha256(INIT), **({"recordedSHA256": sha256(INIT)} if recorded else {})}


def test_check_writes_nothing(alone):
    """Nothing is made: no initrd, no list of digests, and no directory for them. An existing cache stays as it is."""
    alone.disk()
    alone.state.mkdir(mode=0o700)
    here = sorted(alone.base.rglob("*"))
    for made in (False, True):
        if made:
            alone.cache.mkdir(mode=0o700)
        code, answer = alone.ask("check")
        assert code == 0 and answer["event"]["state"] == "unknown", answer
        assert answer["verification"]["init"] == told_of_init() and "initrd" not in answer["verification"]
        assert answer["verification"]["rootfs"]["sha256"] == sha256(alone.disk())
        assert sorted(alone.base.rglob("*")) == sorted([*here, *([alone.cache] if made else [])])
    assert alone.ask("prepare")[0] == 0 and kept(alone)  # which makes it
    before = {path: path.stat().st_mtime_ns for path in alone.cache.rglob("*")}
    code, answer = alone.ask("check")
    assert code == 0 and answer["verification"]["initrd"]["path"] == str(alone.cache / "initrds" / kept(alone)[0])
    assert {path: path.stat().st_mtime_ns for path in alone.cache.rglob("*")} == before
    assert alone.ask("delete")[0] == 0


def test_check_looks_at_the_init(alone):
    """It refuses an init of which no initrd could be made."""
    spy = alone.base / "bin"
    shutil.copytree(BIN, spy)
    (spy / "microagent-init").unlink()
    (spy / "microagent-init").write_text("#!/bin/sh\n")
    (spy / "microagent-init").chmod(0o755)
    supervisor = spy / alone.program
    request = alone.own({"command": "check", "config": alone.config(kernelPath=str(alone.kernel)),
                         "identity": {"requestID": "req-1", "runtimeID": "agent-1", "role": "workload", "backend": "qemu"}})
    done = subprocess.run([supervisor], input=request, capture_output=True, check=False,
                          env={**alone.env, "MICROAGENT_CACHE_DIR": str(alone.cache)})
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["errorCode"]) == (1, "invalid"), answer
    assert f"microagent cannot make one for it: {spy}/microagent-init is not a program for " in answer["error"], answer
    assert not alone.cache.exists() and not (alone.state / "agent-1").exists()


def refused(host, code, *words, command="check"):
    status, answer = host.ask(command)
    assert (status, answer["errorCode"]) == (1, code), answer
    assert answer["error"].startswith(f"config.kernelPath: the kernel {host.kernel} has no initrd beside it, and microagent cannot make one for it: ")
    for word in words:
        assert word in answer["error"], answer
    assert not (host.state / "agent-1").exists()


def test_a_cache_that_others_can_change_is_refused(alone):
    alone.cache.mkdir()
    alone.cache.chmod(0o777)
    refused(alone, "denied", str(alone.cache))
    assert os.listdir(alone.cache) == []
    alone.cache.chmod(0o700)
    (alone.cache / "initrds").mkdir()
    (alone.cache / "initrds").chmod(0o777)
    (alone.cache / "initrds" / f"{sha256(INIT)}.initrd").write_bytes(b"theirs")
    refused(alone, "denied", str(alone.cache / "initrds"))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs needs root")
def test_a_full_disk_leaves_nothing(alone):
    alone.cache.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "none", alone.cache], check=True)
    try:
        assert alone.ask("check")[0] == 0
        refused(alone, "io", "No space left on device", command="prepare")
        assert kept(alone) == []
        subprocess.run(["mount", "-o", "remount,size=8m", alone.cache], check=True)
        assert alone.ask("prepare")[0] == 0 and len(kept(alone)) == 1
        assert alone.ask("delete")[0] == 0
    finally:
        subprocess.run(["umount", alone.cache], check=True)


def test_one_that_is_killed_at_any_step_leaves_none_or_a_whole_one(alone):
    """The next command makes it."""
    killer = Killer(alone)
    alone.env["MICROAGENT_CACHE_DIR"] = str(alone.cache)
    whole = alone.base / "whole"
    subprocess.run([BIN / "microagent-artifact", "initrd", "--out", whole], check=True)
    assert not killer.at(0, "initrd", program="microagent-artifact")
    count = killer.steps.stat().st_size  # most are writes of a block
    assert count > 20
    for step in (*range(1, 9), count // 2, *range(count - 7, count + 1)):
        shutil.rmtree(alone.cache)
        assert killer.at(step, "initrd", program="microagent-artifact"), (step, count)
        there = list(alone.cache.glob("initrds/*"))
        assert [sha256(path) for path in there] in ([], [sha256(whole)]), step
        assert alone.ask("prepare")[0] == 0
        assert [sha256(alone.cache / "initrds" / name) for name in kept(alone)] == [sha256(whole)]
    assert alone.ask("delete")[0] == 0
