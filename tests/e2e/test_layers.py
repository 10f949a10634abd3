# SPDX-License-Identifier: MIT
"""Tests a root disk that is a layer over a base, which many workspaces share (config.rootfsBase)."""

import hashlib
import json
import os
import subprocess

import pytest

import schema_check
from conftest import copy_disk, image
from digests import contents, sha256

IDENTITY = {"requestID": "req-1", "runtimeID": "w", "role": "workload", "backend": "qemu"}


def ask(host, command, config=None, name="w"):
    code, answer, _ = host.supervisor({"command": command, "identity": {**IDENTITY, "runtimeID": name},
                                       "config": config or {"stateDir": str(host.state)}})
    return code, answer


def make_layer(path, size, *options):
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *options, path, str(size)], check=True)
    return path


@pytest.fixture
def base(host):
    """Makes a copy of the image, sealed as a base is."""
    path = host.base / "base.ext4"
    copy_disk(image(host, "busybox")["path"], path)
    path.chmod(0o444)
    return path


def layered(host, base, name="w"):
    layer = make_layer(host.base / f"{name}.qcow2", base.stat().st_size)
    return layer, host.config(rootfsPath=str(layer), rootfsBase=str(base))


def test_a_layer_takes_what_is_written(host, base):
    before, sealed = sha256(base), contents(base)
    layer, config = layered(host, base)
    code, answer = ask(host, "prepare", config)
    assert code == 0, answer
    assert answer["verification"]["base"] == {"path": str(base), "sha256": before, "recordedSHA256": before}
    recorded = json.loads((host.state / "w" / "workspace.json").read_text())
    schema_check.validate("workspace", recorded)
    assert recorded["artifacts"]["base"]["sha256"] == before

    assert ask(host, "start", config)[0] == 0
    host("exec", "w", "--", "sh", "-c", "echo mine > /workspace/own; head -c 3000000 /dev/urandom > /workspace/big; "
         "md5sum /workspace/big | cut -c1-32 > /workspace/md5; sync", check=0)
    host("cp", "w:/workspace/md5", host.base / "md5.running", check=0)
    host("kill", "w", check=0)  # the journal is not clean
    assert layer.stat().st_size > 3000000 and contents(base) == sealed

    # The reader has the layer below its own layer, and nothing is written to either.
    after = contents(layer)
    for name in ("own", "big", "md5"):
        host("cp", f"w:/workspace/{name}", host.base / name, check=0)
    assert (host.base / "own").read_text() == "mine\n"
    assert hashlib.md5((host.base / "big").read_bytes()).hexdigest() == (host.base / "md5").read_text().strip()
    assert (contents(layer), contents(base)) == (after, sealed)
    # Files that are put there from outside go into the layer.
    (host.base / "given").write_text("given\n")
    host("cp", host.base / "given", "w:/workspace/given", check=0)
    assert contents(layer) != after and contents(base) == sealed

    host("clone", "w", "twin", check=0)
    config = json.loads((host.state / "twin" / "workspace.json").read_text())["config"]
    assert config["rootfsBase"] == str(base) and config["rootfsPath"] == str(host.state / "twin" / "rootfs.qcow2")
    host("start", "twin", check=0)
    assert host("exec", "twin", "--", "cat", "/workspace/own", "/workspace/given", check=0).stdout == "mine\ngiven\n"
    host("kill", "twin", check=0)
    host("delete", "twin", check=0)
    host("delete", "w", check=0)
    assert contents(base) == sealed


def test_a_running_layer_is_read_frozen(host, base):
    layer, config = layered(host, base)
    config["outputs"] = [{"name": "own", "path": "/workspace/own"}]
    assert ask(host, "prepare", config)[0] == 0 and ask(host, "start", config)[0] == 0
    host("exec", "w", "--", "sh", "-c", "echo written > /workspace/own", check=0)
    host("artifacts", "get", "w", "own", host.base / "own", check=0)
    assert (host.base / "own").read_text() == "written\n"
    assert host("exec", "w", "--", "cat", "/workspace/own", check=0).stdout == "written\n"
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def test_a_changed_base_is_a_divergence(host, base):
    layer, config = layered(host, base)
    assert ask(host, "prepare", config)[0] == 0
    base.chmod(0o644)
    with open(base, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"x")
    code, answer = ask(host, "inspect")
    assert [e["artifact"] for e in answer["verification"]["divergence"]] == ["base"]
    code, answer = ask(host, "start", config)
    assert code == 1 and answer["errorCode"] == "conflict" and f"the base {base} has changed since the workspace was prepared" in answer["error"]
    base.unlink()
    code, answer = ask(host, "start", config)
    assert code == 1 and answer["error"].startswith("config.rootfsBase: ") and "does not exist" in answer["error"]
    host("delete", "w", check=0)


@pytest.mark.parametrize("options,size,words", [
    (["-b", "base.ext4", "-F", "raw"], None, "a backing file"),
    (["-o", "data_file=other.raw"], None, "a backing file"),
    (["-o", "cluster_size=4k"], None, "not a qcow2 layer"),
    (["-o", "compat=0.10"], None, "not a qcow2 layer"),
    ([], 1 << 20, "but the base has"),
])
def test_layers_that_are_none(host, base, options, size, words):
    layer = host.base / "w.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *options, layer.name, str(size or base.stat().st_size)],
                   cwd=host.base, check=True)
    for command in ("check", "prepare"):
        code, answer = ask(host, command, host.config(rootfsPath=str(layer), rootfsBase=str(base)))
        assert code == 1 and answer["errorCode"] == "invalid", answer
        assert answer["error"].startswith("config.rootfsPath: ") and words in answer["error"], answer
    assert not (host.state / "w").exists()


def test_a_layer_without_its_base_and_a_base_without_a_layer(host, base):
    layer = make_layer(host.base / "w.qcow2", base.stat().st_size)
    code, answer = ask(host, "check", host.config(rootfsPath=str(layer)))
    assert code == 1 and "a qcow2 image" in answer["error"]
    code, answer = ask(host, "check", host.config(rootfsPath=str(layer), rootfsBase=str(layer)))
    assert code == 1 and answer["error"].startswith("config.rootfsBase: ") and "qcow2" in answer["error"]
    code, answer = ask(host, "check", host.config(rootfsPath=str(base), rootfsBase=str(base)))
    assert code == 1 and answer["error"].startswith("config.rootfsPath: ")
    config = host.config(initrdPath="/i", rootfsBase=str(base))
    del config["rootfsPath"]
    code, answer = ask(host, "check", config)
    assert code == 1 and "config.rootfsBase needs config.rootfsPath" in answer["error"]
