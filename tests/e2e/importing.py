# SPDX-License-Identifier: MIT
"""A cache of its own for imported images, and an independent reader for the files in them."""

import json
import os
import subprocess

import pytest

import schema_check
from conftest import default_kernel
from oci import Layout, layer

SIZE = ("--size", 128)
RUN = ("--memory", 256, "--cpus", 1)


@pytest.fixture
def cache(host):
    """Makes a cache with the shared kernels and no image; host.env points to it."""
    kernel = default_kernel(host)
    path = host.base / "cache"
    path.mkdir()
    (path / "kernels").symlink_to(os.path.dirname(kernel["path"]))
    host.env["MICROAGENT_CACHE_DIR"] = str(path)
    return path


def disk(cache, name="box"):
    return cache / "images" / f"{name}.ext4"


def record(cache, name="box"):
    document = json.loads((cache / "images" / f"{name}.json").read_text())
    schema_check.validate("cache-image", document)
    return document


def debugfs(cache, request, name="box"):
    """Returns the files of the disk, by a reader that is not ours."""
    return subprocess.run(["debugfs", "-R", request, disk(cache, name)], capture_output=True, text=True, check=True).stdout


def listing(cache, path="/", name="box"):
    """Returns {name: (inode, mode, uid, gid)}."""
    rows = [line.split("/") for line in debugfs(cache, f"ls -p {path}", name).splitlines() if line.startswith("/")]
    return {r[5]: (int(r[1]), int(r[2], 8), int(r[3]), int(r[4])) for r in rows if r[5] not in (".", "..", "lost+found")}


def assert_no_image(host, cache):
    """Requires that there is no entry and nothing half-made."""
    assert host.json("image", "list") == {"images": []}
    assert not (cache / "images").exists() or not list((cache / "images").iterdir())
    assert not (cache / "tmp").exists() or not list((cache / "tmp").iterdir())


def refused(host, cache, ref, *words, code="invalid"):
    answer = host.json("image", "import", *(words or SIZE), "box", ref, check=1)
    assert answer["errorCode"] == code, answer
    assert_no_image(host, cache)
    return answer["error"]


def simple(host, *entries, name="layout", config=None, packed=False):
    layout = Layout(host.base / name)
    layout.image([layer(*entries)], config, packed=packed)
    return layout
