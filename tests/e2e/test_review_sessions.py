# SPDX-License-Identifier: MIT
"""Tests that a reviewed directory and what its guest changed go along with copies of the machine: clones, restored sessions,
forks and snapshots."""

import hashlib
import json
import shutil

import pytest

import schema_check
from conftest import BACKEND
from pools import wait_full

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


def create(web, *words):
    told = web.json("session", "create", "--base", "web", "--network", "isolated", *words)
    assert told["boot"] == {"how": "restored"}, told
    return told["name"]


def run(web, name, line, user="agent"):
    return web("session", "exec", "--user", user, name, "--", "sh", "-c", line, check=0).stdout


def bundle(web, name):
    return web.state / "sessions" / f"{name}.bundle"


@pytest.fixture
def mine(place):
    path = tree(place.base / "mine")
    yield path
    shutil.rmtree(path)


def test_a_restored_session_has_its_reviews(web, mine):
    """It is restored although it has disks that the template lacks. Shared directories come beside them."""
    other, given = tree(web.base / "other"), web.base / "given"
    given.mkdir()
    try:
        name = create(web, "--share", f"{mine}:/workspace:review", "--share", f"{other}:/other:review", "--share", f"{given}:/given:rw")
        assert run(web, name, "cat /workspace/sub/three.txt /other/one.txt && echo changed >/workspace/one.txt && rm -r /other/sub && "
                   "echo here >/given/file && sync") == "three\none\n"
        assert (given / "file").read_text() == "here\n"
        assert (mine / "one.txt").read_text() == "one\n" and (other / "sub" / "three.txt").exists()
        # What was changed stays when the session is booted later.
        web("stop", name, check=0)
        web("start", name, check=0)
        assert run(web, name, "cat /workspace/one.txt /workspace/two.txt; ls /other; cat /given/file") == "changed\ntwo\none.txt\ntwo.txt\nhere\n"
    finally:
        shutil.rmtree(other)
        shutil.rmtree(given)


def test_directories_come_later(web, mine):
    """The port for directories is free in a session with a review alone, and its memory may be the template's."""
    given = web.base / "given"
    given.mkdir()
    name = create(web, "--share", f"{mine}:/workspace:review")
    assert run(web, name, "cat /workspace/one.txt") == "one\n"
    done = web("session", "share", name, given, check=1)
    assert "shares its memory with other machines of its template" in done.stderr, done
    assert run(web, name, "cat /workspace/two.txt") == "two\n"
    given.rmdir()


def test_more_than_the_port_has_room_for(web, mine):
    words = [word for i in range(9) for word in ("--share", f"{mine}:/w{i}:review")]
    told = web.json("session", "create", "--base", "web", "--network", "isolated", *words)
    assert told["cold"] == "it has more reviewed directories than a running machine can get", told
    assert run(web, told["name"], "cat /w0/one.txt /w8/two.txt") == "one\ntwo\n"
    web("session", "destroy", told["name"], check=0)
    name = create(web, *words[:16])
    assert run(web, name, "cat /w0/one.txt /w7/two.txt; grep -c '^overlay ' /proc/mounts") == "one\ntwo\n8\n"


def test_a_pool_has_no_member_with_a_review(web, mine):
    """A member runs already when it is claimed, and the image is made before the start."""
    web("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0)
    try:
        wait_full(web, 1)
        name = create(web, "--share", f"{mine}:/workspace:review")
        assert run(web, name, "cat /workspace/one.txt") == "one\n"
    finally:
        web("pool", "drain", check=0)


def anew(web, name):
    """Takes the directory of a session at rest anew, as the supervisor's prepare does unless it is told to keep it."""
    record = json.loads((bundle(web, name) / "workspace.json").read_text())
    request = {"command": "prepare", "identity": record["identity"], "config": record["config"]}
    code, answer, _ = web.supervisor(request)
    assert code == 0, answer


def forge(point):
    """Puts another list into a snapshot, with the digest of it."""
    (point / "bundle-review-0.list").rename(point / "list")
    (point / "bundle-review-0.list").write_bytes((point / "list").read_bytes().replace(b"one.txt", b"two.txt"))
    (point / "template.json").rename(point / "record")
    record = json.loads((point / "record").read_text())
    record["reviews"][0]["sha256"] = hashlib.sha256((point / "bundle-review-0.list").read_bytes()).hexdigest()
    (point / "template.json").write_text(json.dumps(record))


def repair(point):
    (point / "list").rename(point / "bundle-review-0.list")
    (point / "record").rename(point / "template.json")


SEEN = "cd /workspace && cat one.txt moved/three.txt; ls | sort | tr '\\n' ' '"


def test_a_fork_has_a_copy(web, mine):
    parent = create(web, "--share", f"{mine}:/workspace:review")
    run(web, parent, "cd /workspace && echo changed >one.txt && rm two.txt && mv sub moved")
    shutil.rmtree(mine)  # a fork needs only what the session has
    children = [child["name"] for child in web.json("session", "fork", "--count", 2, parent)["sessions"]]
    mine.mkdir()
    for child in children:
        same_contents(review_files(bundle(web, parent)), review_files(bundle(web, child)))
        assert run(web, child, SEEN) == "changed\nthree\nmoved one.txt "
        run(web, child, f"echo {child} >/workspace/one.txt")
        # What is no longer in its memory is read from its own disk.
        assert run(web, child, "sync && echo 3 >/proc/sys/vm/drop_caches && cat /workspace/moved/three.txt", user="root") == "three\n"
    assert run(web, parent, SEEN) == "changed\nthree\nmoved one.txt "
    # A child is forked as its parent was, and boots with its changes later.
    grandchild = web.json("session", "fork", children[0])["sessions"][0]["name"]
    assert run(web, grandchild, "cat /workspace/one.txt") == f"{children[0]}\n"
    run(web, children[1], "sync")
    web("stop", children[1], check=0)
    web("start", children[1], check=0)
    assert run(web, children[1], "cat /workspace/one.txt /workspace/moved/three.txt") == f"{children[1]}\nthree\n"


def test_a_forked_list_that_was_changed(web, mine):
    """A live supervisor that was taken over gives no other session a list of its own."""
    parent = create(web, "--share", f"{mine}:/workspace:review")
    before = web.machines()
    with (bundle(web, parent) / "bundle-review-0.list").open("ab") as f:
        f.write(b"x")
    done = web("session", "fork", parent, check=1)
    assert "bundle-review-0.list is not the file that was recorded" in done.stderr, done
    assert web.machines() == before and run(web, parent, "cat /workspace/one.txt") == "one\n"


def test_a_snapshot_carries_it(web, mine):
    name = create(web, "--share", f"{mine}:/workspace:review")
    run(web, name, "cd /workspace && echo changed >one.txt && mv sub moved")
    web("session", "snapshot", name, "first", check=0)
    schema_check.validate("session", json.loads((bundle(web, name) / "session.json").read_text()))
    schema_check.validate("point", json.loads((bundle(web, name) / "points" / "first" / "template.json").read_text()))
    run(web, name, "cd /workspace && echo later >one.txt && rm -r moved two.txt")
    before = review_files(bundle(web, name))
    assert web.json("session", "restore", name, "first")["snapshot"]["boot"] == {"how": "restored"}
    assert run(web, name, SEEN) == "changed\nthree\nmoved one.txt two.txt "
    assert review_files(bundle(web, name)) == before
    # The directory is taken anew for a later start, with an empty layer. The snapshot has the image that belongs to it.
    web("stop", name, check=0)
    (mine / "one.txt").write_text("of the host\n")
    anew(web, name)
    web("start", name, check=0)
    assert run(web, name, "cat /workspace/one.txt; ls /workspace | tr '\\n' ' '") == "of the host\none.txt sub two.txt "
    # A live supervisor that was taken over brings no list of its own into the workspace by a snapshot.
    point = bundle(web, name) / "points" / "first"
    forge(point)
    done = web("session", "restore", name, "first", check=1)
    assert "bundle-review-0.list is not the file that was recorded" in done.stderr, done
    assert run(web, name, "cat /workspace/one.txt") == "of the host\n"
    repair(point)
    assert web.json("session", "restore", name, "first")["snapshot"]["boot"] == {"how": "restored"}
    assert run(web, name, SEEN) == "changed\nthree\nmoved one.txt two.txt "
    assert {k: v[0] for k, v in review_files(bundle(web, name)).items()} == {k: v[0] for k, v in before.items()}
    # It goes on at the next boot too.
    run(web, name, "sync")
    web("stop", name, check=0)
    web("start", name, check=0)
    assert run(web, name, SEEN) == "changed\nthree\nmoved one.txt two.txt "
    web("session", "snapshot-delete", name, "first", check=0)
    assert "snapshotReviews" not in json.loads((bundle(web, name) / "session.json").read_text())
