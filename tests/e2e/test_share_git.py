# SPDX-License-Identifier: MIT
"""A git worktree as a shared directory: what its repository has in common is outside of it, and is shared along when asked."""

import os
import shutil
import subprocess

import pytest

from conftest import BACKEND

pytestmark = pytest.mark.skipif(BACKEND == "firecracker", reason="Firecracker shares no directories")
WHO = ("-c", "user.name=host", "-c", "user.email=host@example.org", "-c", "init.defaultBranch=main")


def git(place, *words):
    env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(["git", *WHO, "-C", place, *words], env=env, check=True, capture_output=True, text=True).stdout


def worktree(host):
    """A repository, and a worktree of it elsewhere."""
    main, tree = host.base / "main", host.base / "trees" / "task"
    main.mkdir()
    tree.parent.mkdir()
    git(main, "init", "-q")
    (main / "file").write_text("first\n")
    git(main, "add", "file")
    git(main, "commit", "-qm", "first")
    git(main, "worktree", "add", "-q", "-b", "task", tree)
    return main, tree


def hint(tree, common):
    return f"{tree} is a git worktree, and git does not work in the guest without {common}, to which its .git leads: --share-git shares that too"


def test_git_works_in_the_guest(host, debian_image):
    main, tree = worktree(host)
    line = ("cd /work && git status --short && echo by the guest > file && git -c user.name=g -c user.email=g@example.org "
            f"commit -qam 'by the guest' && git log --format=%s && grep -c virtiofs /proc/mounts && ls {main}")
    done = host("run", "--image", debian_image, "--memory", 512, "--cpus", 1, "--network", "isolated", "--share", f"{tree}:/work",
                "--share-git", "--", "sh", "-c", line, check=0)
    assert done.stdout == "by the guest\nfirst\n2\n" and "git worktree" not in done.stderr, done
    # In the guest it was at its own path, without what else is there.
    assert git(tree, "log", "-1", "--format=%s") == git(main, "log", "-1", "--format=%s", "task") == "by the guest\n"
    assert git(main, "fsck", "--strict") == "" and git(main, "status", "--short") == ""


def test_the_words(host):
    """A hint where it is due, and nothing else than a worktree's repository is shared along."""
    main, tree = worktree(host)
    common, small = main / ".git", ("--memory", 256, "--cpus", 1)

    def shares(*words):
        made = host("create", *small, "--share", f"{tree}:/work", *words, "w", check=0)
        told = host.json("inspect", "w")["sharedAnyway"] if "--share-anyway" in words else None
        host("delete", "w", check=0)
        return made.stderr, told
    assert hint(f"{tree}:/work", common) in shares()[0]
    assert "git worktree" not in shares("--share", f"{common}:{common}")[0]
    said, told = shares("--share-git", "--share-anyway")
    assert "git worktree" not in said
    assert [(one["path"], one["mountpoint"], one["mode"], one["tag"]) for one in told] == [
        (str(tree), "/work", "rw", "share-0"), (str(common), str(common), "rw", "git-1")]
    # Of one that is no worktree nothing is lacking.
    assert "git worktree" not in host("create", *small, "--share", f"{main}:/work", "--share-git", "w", check=0).stderr
    host("delete", "w", check=0)
    assert host("create", *small, "--share-git", "w").returncode == 2
    # Where .git leads to what does not lead back, it is another's word, and nothing is hinted at or shared.
    (host.base / "secret").mkdir()
    (tree / ".git").write_text(f"gitdir: {host.base}/secret\n")
    done = host("create", *small, "--share", f"{tree}:/work", "--share-git", "w")
    assert done.returncode == 2 and f"{tree}/.git leads to {host.base}/secret, which is no worktree's of a repository" in done.stderr, done
    assert not (host.state / "w").exists()
    assert "git worktree" not in host("create", *small, "--share", f"{tree}:/work", "w", check=0).stderr
    host("delete", "w", check=0)
    shutil.rmtree(tree)
