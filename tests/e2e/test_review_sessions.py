# SPDX-License-Identifier: MIT
"""Tests that a reviewed directory and what its guest changed go along with copies of the machine: clones, restored sessions,
forks and snapshots."""

import hashlib
import shutil

import pytest

from conftest import BACKEND

pytestmark = pytest.mark.skipif(BACKEND == "firecracker", reason="Firecracker restores no machines")
SUFFIXES = (".ext4", ".list", ".upper")


def tree(path):
    path.mkdir(parents=True)
    (path / "one.txt").write_text("one\n")
    (path / "two.txt").write_text("two\n")
    (path / "sub").mkdir()
    (path / "sub" / "three.txt").write_text("three\n")
    return path


def review_files(workspace):
    """Returns {file: (digest, inode)} of the files of the first review."""
    return {suffix: (hashlib.sha256((workspace / f"bundle-review-0{suffix}").read_bytes()).hexdigest(),
                     (workspace / f"bundle-review-0{suffix}").stat().st_ino) for suffix in SUFFIXES}


def same_contents(a, b):
    """Two workspaces have the same image, list and layer, and share no file of them: a live supervisor may write to its own."""
    assert {k: v[0] for k, v in a.items()} == {k: v[0] for k, v in b.items()}
    assert not {v[1] for v in a.values()} & {v[1] for v in b.values()}


def in_guest(host, name, line):
    return host("exec", name, "--", "sh", "-c", line, check=0).stdout


def test_a_clone_has_the_changes(host):
    mine = tree(host.base / "mine")
    host("create", "box", "--share", f"{mine}:/workspace:review", check=0)
    host("start", "box", check=0)
    in_guest(host, "box", "cd /workspace && echo changed >one.txt && rm two.txt && mv sub moved && echo new >new.txt && sync")
    host("stop", "box", check=0)
    shutil.rmtree(mine)  # the clone needs only what the machine has
    host("clone", "box", "box2", check=0)
    same_contents(review_files(host.state / "box"), review_files(host.state / "box2"))
    # What is copied to a clone before its first start has it recorded once more, with the same image.
    (host.base / "file").write_text("given\n")
    host("cp", host.base / "file", "box2:/tmp/file", check=0)
    host("start", "box2", check=0)
    seen = "cd /workspace && cat one.txt new.txt moved/three.txt && ls | sort | tr '\\n' ' '"
    assert in_guest(host, "box2", seen) == "changed\nnew\nthree\nmoved new.txt one.txt "
    # The two go on apart.
    in_guest(host, "box2", "echo second >/workspace/one.txt")
    host("start", "box", check=0)
    assert in_guest(host, "box", seen) == "changed\nnew\nthree\nmoved new.txt one.txt "
    for name in ("box", "box2"):
        host("kill", name, check=0)
        host("delete", name, check=0)


def test_recording_again_keeps_the_changes(host):
    mine = tree(host.base / "mine")
    host("create", "box", "--share", f"{mine}:/workspace:review", check=0)
    host("start", "box", check=0)
    in_guest(host, "box", "echo changed >/workspace/one.txt && sync")
    host("stop", "box", check=0)
    before = review_files(host.state / "box")
    (mine / "one.txt").write_text("of the host\n")
    host("start", "--prepare", "box", check=0)
    assert review_files(host.state / "box") == before
    assert in_guest(host, "box", "cat /workspace/one.txt") == "changed\n"
    host("stop", "box", check=0)
    # A list that somebody has changed is neither recorded nor copied.
    with (host.state / "box" / "bundle-review-0.list").open("ab") as f:
        f.write(b"x")
    for words in (("start", "--prepare", "box"), ("clone", "box", "box2")):
        done = host(*words)
        assert done.returncode == 1 and "bundle-review-0.list is not the file that was recorded" in done.stderr, done.stderr
    assert not (host.state / "box2").exists()
    host("delete", "box", check=0)
