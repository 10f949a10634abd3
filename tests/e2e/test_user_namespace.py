# SPDX-License-Identifier: MIT
"""Tests commands in a user namespace (`unshare -Ur`, a rootless container). There the kernel has one name for all users
that the namespace does not know: the host's root is one of them, and so are all others."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import BIN, make_host
from exchanged import EVIL
from test_devices import make_disk
from test_session_share import own_cache

CALLER = 4243
NAMELESS = 65534


def given(path, user):
    os.chown(path, user, user, follow_symlinks=False)
    return path


@pytest.fixture(name="inside", params=["root", "ordinary"])
def user_inside(request):
    """The user whose commands run there. An ordinary user's namespace does not know the host's root, and root's does."""
    if os.getuid() != 0:
        pytest.skip("files of another user are made by root alone")
    # The place is directly below /tmp. In another directory, which anybody may have made there, an ordinary user would
    # be refused.
    it = make_host(Path(tempfile.mkdtemp(prefix="ma-e-", dir="/tmp")))
    failed = request.session.testsfailed
    try:
        it.wrap, it.uid = ["unshare", "-Ur"], 0
        own_cache(it)
        it.env.update(HOME=str(it.base), XDG_STATE_HOME=str(it.base / "state-home"))
        if request.param == "ordinary":
            it.bin, it.uid = it.base / "bin", CALLER
            shutil.copytree(BIN, it.bin)
            subprocess.run(["chown", "-R", f"{CALLER}:{CALLER}", it.base], check=True)
            it.wrap = ["setpriv", "--reuid", str(CALLER), "--regid", str(CALLER), "--clear-groups", *it.wrap]
        yield it
        if request.session.testsfailed == failed:
            it.assert_clean()
    finally:
        it.sweep()
        shutil.rmtree(it.base, ignore_errors=True)


def ways(it, beside):
    """The way to the caller's own directory `real`, and the text of the refusal: "" where the way works. beside:
    directories of /tmp itself."""
    real, mine, theirs, open_place = (it.base / name for name in ("real", "mine", "theirs", "open"))
    for path, user in ((real, it.uid), (mine, it.uid), (theirs, EVIL), (open_place, EVIL), (beside["mine"], it.uid), (beside["theirs"], EVIL)):
        path.mkdir()
        given(path, user)
    (real / "deep").mkdir()
    given(real / "deep", it.uid)
    open_place.chmod(0o1777)

    def link(path, user):
        path.symlink_to(real)
        return given(path, user)

    in_his = f"which belongs to user {NAMELESS}, who could make it lead to another place"
    his = f"is a link that user {NAMELESS} owns, who could make it lead to another place"
    return [
        (real, ""),
        (link(mine / "own", it.uid), ""),
        (link(beside["link"], it.uid), ""),
        (link(beside["mine"] / "own", it.uid), ""),
        (link(mine / "his", EVIL), his),
        (link(beside["his"], EVIL), his),
        (link(theirs / "own", it.uid), in_his),
        (link(open_place / "own", it.uid), in_his),
        (link(beside["theirs"] / "own", it.uid), in_his),
        (link(theirs / "his", EVIL), his),
        (link(beside["theirs"] / "his", EVIL), his),
    ]


def test_nobody_else_is_taken_for_root(inside):
    beside = {name: Path(f"{inside.base}-{name}") for name in ("link", "his", "mine", "theirs")}
    try:
        found = ways(inside, beside)
        image = given(make_disk(inside.base / "real" / "data.img"), inside.uid)
        image.chmod(0o600)
        for way, why in found:
            for words in (("--share", f"{way}/deep:/mnt/l:ro"), ("--disk", f"data={way}/data.img:/mnt/d:ro")):
                done = inside("create", "w", "--memory", 256, "--cpus", 1, "--network", "isolated", *words)
                if why:
                    assert done.returncode == 1 and why in done.stderr and f"{way} is a link" in done.stderr, (words, done)
                else:
                    assert done.returncode == 0, (words, done)
                    inside("delete", "w", check=0)
        # Another name of the file itself, which the other user may have made.
        os.link(image, inside.base / "theirs" / "data.img")
        done = inside("create", "w", "--disk", f"data={inside.base}/theirs/data.img:/mnt/d:ro")
        assert done.returncode == 1 and "theirs/data.img has a second name (a hard link), and this one is in" in done.stderr, done
        # And where state is kept.
        (beside["theirs"] / "state").mkdir(mode=0o700)
        given(beside["theirs"] / "state", inside.uid)
        done = inside("list", env={"MICROAGENT_STATE_DIR": str(beside["theirs"] / "state")})
        assert done.returncode == 1 and f"belongs to user {NAMELESS}" in done.stderr, done
    finally:
        for path in beside.values():
            path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)
