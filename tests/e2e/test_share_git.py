# SPDX-License-Identifier: MIT
"""Tests a git worktree as a shared directory. The common part of its repository is outside of it, and is shared too if asked for."""

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


def repository(main):
    main.mkdir(parents=True)
    git(main, "init", "-q")
    (main / "file").write_text("first\n")
    git(main, "add", "file")
    git(main, "commit", "-qm", "first")


def add_worktree(main, tree):
    git(main, "worktree", "add", "-q", "-b", tree.name, tree)
    return tree


def worktree(host):
    """Makes a repository, and a worktree of it elsewhere."""
    main, tree = host.base / "main", host.base / "trees" / "task"
    repository(main)
    return main, add_worktree(main, tree)


def hint(tree, common):
    return f"{tree} is a git worktree, and git does not work in the guest without {common}, to which its .git leads: --share-git shares that directory too"


def test_git_works_in_the_guest(host, debian_image):
    main, tree = worktree(host)
    # Makes it as `git worktree add --relative-paths` of git 2.48 does.
    second = add_worktree(main, tree.with_name("second"))
    (second / ".git").write_text("gitdir: ../../main/.git/worktrees/second\n")
    (main / ".git" / "worktrees" / "second" / "gitdir").write_text("../../../../trees/second/.git\n")
    line = ("cd /work && git status --short && echo by the guest > file && git -c user.name=g -c user.email=g@example.org "
            f"commit -qam 'by the guest' && git log --format=%s && grep -c virtiofs /proc/mounts && ls {main} && "
            "cd /second && git status --short --branch && ls -A /main")
    done = host("run", "--image", debian_image, "--memory", 512, "--cpus", 1, "--network", "isolated", "--share", f"{tree}:/work",
                "--share", f"{second}:/second", "--share-git", "--", "sh", "-c", line, check=0)
    assert done.stdout == "by the guest\nfirst\n4\n## second\n.git\n" and "git worktree" not in done.stderr, done
    # The guest had it at its own path, without the other files there.
    assert git(tree, "log", "-1", "--format=%s") == git(main, "log", "-1", "--format=%s", "task") == "by the guest\n"
    assert git(main, "fsck", "--strict") == "" and git(main, "status", "--short") == ""


def test_the_words(host):
    """A hint appears only where it helps, and only a worktree's repository is shared too."""
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
    # A directory that is no worktree lacks nothing.
    assert "git worktree" not in host("create", *small, "--share", f"{main}:/work", "--share-git", "w", check=0).stderr
    host("delete", "w", check=0)
    assert host("create", *small, "--share-git", "w").returncode == 2
    bare = host.base / "bare"
    git(host.base, "clone", "-q", "--bare", main, bare)
    assert "git" not in host("create", *small, "--share", f"{bare}:/work", "--share-git", "w", check=0).stderr
    host("delete", "w", check=0)
    git(main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", bare, "sub")
    done = host("create", *small, "--share", f"{main / 'sub'}:/work", "--share-git", "w")
    assert done.returncode == 2 and done.stderr.strip().endswith(
        "/sub/.git leads to ../.git/modules/sub, where no repository has this worktree: the git repository is not shared; "
        "add it as a share of its own, or share a directory that holds both"), done
    # Where .git leads to what does not lead back, it is another's word, and nothing is hinted at or shared.
    (host.base / "secret").mkdir()
    (tree / ".git").write_text(f"gitdir: {host.base}/secret\n")
    done = host("create", *small, "--share", f"{tree}:/work", "--share-git", "w")
    assert done.returncode == 2 and f"{tree}/.git leads to {host.base}/secret, where no repository has this worktree" in done.stderr, done
    assert not (host.state / "w").exists()
    assert "git worktree" not in host("create", *small, "--share", f"{tree}:/work", "w", check=0).stderr
    host("delete", "w", check=0)
    shutil.rmtree(tree)


def test_a_guest_chooses_no_other_directory(host, debian_image):
    """The guest has written to all that it has been given. The next machine with the same options gives it nothing more."""
    linked, detour = host.base / "linked", host.base / "detour"
    for main in (linked / "main", detour / "main", host.base / "secret" / "repo", host.base / "project"):
        repository(main)
    own, other, wt = (add_worktree(*pair) for pair in (
        (linked / "main", linked / "task"), (host.base / "secret" / "repo", host.base / "secret" / "y"), (detour / "main", detour / "wt")))
    project, (f1, f2) = host.base / "project", (add_worktree(host.base / "project", host.base / "project" / "worktrees" / name)
                                                for name in ("f1", "f2"))
    trees = [("--share", f"{own}:/linked"), ("--share", f"{wt}:/detour"), ("--share", f"{f1}:/f1", "--share", f"{f2}:/f2")]
    line = " && ".join((
        # Another worktree's .git.
        f"rm /linked/.git && ln -s {other}/.git /linked/.git",
        # The right repository by a path that is another one in the guest: there it would be /bin.
        f"cd /detour && mkdir -p p/q && ln -s p/q L && ln -s {detour}/main/.git bin && echo 'gitdir: L/../../bin/worktrees/wt' > .git",
        # The guest's own directory as that of a worktree, in one that is called worktrees.
        f"echo {f2}/.git > /f1/gitdir && echo ../.. > /f1/commondir && echo 'gitdir: {f1}' > /f2/.git"))
    host("run", "--image", debian_image, "--memory", 512, "--cpus", 1, "--network", "isolated", *sum(trees, ()), "--share-git", "--",
         "sh", "-c", line, check=0)
    assert (own / ".git").is_symlink() and (f2 / ".git").read_text() == f"gitdir: {f1}\n"

    def check_refused(words, why):
        done = host("create", "--memory", 256, "--cpus", 1, *words, "--share-git", "--share-anyway", "w")
        assert done.returncode == 2 and done.stdout == "" and why in done.stderr, (words, done)
        assert not (host.state / "w").exists()
    check_refused(trees[0], f"{own}/.git is a symbolic link, but git makes a regular file there")
    check_refused(trees[1], f"{wt}/.git leads to L/../../bin/worktrees/wt, which is {detour}/main/.git/worktrees/wt, but git writes the path without")
    check_refused(trees[2], f"{f2}/.git leads to {f1}, where no repository has this worktree")
    # Nor does a hint lead there; that of f1 is right.
    hints = host("create", "--memory", 256, "--cpus", 1, *sum(trees, ()), "w", check=0).stderr
    assert hints.count("git worktree") == 1 and hint(f"{f1}:/f1", project / ".git") in hints, hints
    host("delete", "w", check=0)
    # Not even if the directory above is a repository.
    for name in ("objects", "refs"):
        (project / name).mkdir()
    (project / "HEAD").write_text("ref: refs/heads/main\n")
    check_refused(trees[2], f"its .git leads to {project}, which holds {f1}, a directory that is shared")


def test_a_link_that_is_put_on_the_way_later(host):
    """A guest that has the repository has made another one in it. This one is checked when the next machine is made.
    Then the guest leads its path to a place that it was not given."""
    main, tree = worktree(host)
    inner, secret = main / ".git" / "a" / "b", host.base / "secret" / "b"
    for name in ("objects", "refs", "worktrees/w"):
        (inner / name).mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "worktrees" / "w" / "commondir").write_text("../..\n")
    (inner / "worktrees" / "w" / "gitdir").write_text(f"{tree}/.git\n")
    (tree / ".git").write_text(f"gitdir: {inner}/worktrees/w\n")
    secret.mkdir(parents=True)
    host("create", "--memory", 256, "--cpus", 1, "--share", f"{tree}:/work", "--share-git", "w", check=0)
    inner.parent.rename(main / ".git" / "old")
    inner.parent.symlink_to(secret.parent)
    done = host("start", "w")
    assert done.returncode != 0 and f"a symbolic link is on the way to {inner}, and it is not followed, because a guest could have made it" in done.stderr, done
    assert host.json("status", "w")["event"]["state"] == "prepared" and os.listdir(secret) == []
    host("delete", "w", check=0)
