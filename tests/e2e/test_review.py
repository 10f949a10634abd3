# SPDX-License-Identifier: MIT
"""Tests a directory that is shared for a review: the guest changes a layer of its own, and nothing is on the host until a
person takes it."""

import hashlib
import json
import os
import shutil
import subprocess

import pytest

from conftest import BACKEND
from python_package import library_env
from test_share_git import git, repository

pytestmark = pytest.mark.skipif(BACKEND in ("apple-vf", "hyperv"), reason="no overlay was tried in a guest of this backend")


def digest(tree):
    """Returns a digest of all names, modes, targets and contents below a directory."""
    total = hashlib.sha256()
    for path in sorted(tree.rglob("*"), key=os.fsencode):
        found = path.lstat()
        total.update(f"{path} {found.st_mode} ".encode(errors="surrogateescape"))
        total.update(os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b"")
    return total.hexdigest()


def project(base):
    """Makes a repository with files to change."""
    main = base / "project"
    repository(main)
    (main / "sub").mkdir()
    (main / "deep/er").mkdir(parents=True)
    for name, text in {"sub/gone": "gone\n", "deep/er/moved": "moved\n", "Makefile": "all:\n", "kept": "kept\n"}.items():
        (main / name).write_text(text)
    (main / "link").symlink_to("kept")
    return main


def rows(host, name, *words):
    """Returns {path: change} of the only reviewed directory."""
    (review,) = host.json("changes", name, *words)["reviews"]
    return {change["path"]: change for change in review["changes"]}


def kinds(changes):
    return {path: change["kind"] for path, change in changes.items() if "leftOut" not in change and change["type"] != "directory"}


@pytest.fixture
def box(host):
    """A running workspace with a reviewed repository."""
    main = project(host.base)
    host("create", "box", "--memory", 256, "--network", "isolated", "--share", f"{main}:/w:review", check=0)
    host("start", "box", check=0)
    yield main
    host("kill", "box")
    host("delete", "box", check=0)
    assert not host.processes()


def test_what_a_person_takes_of_what_a_guest_did(host, box):
    before = digest(box)
    script = ("cd /w && echo more >>file && rm sub/gone && mv deep renamed && echo new >new && echo x: >>Makefile && "
              "echo '[core]' >>.git/config && chmod 700 kept && ln -s /etc/passwd out && ln -sf new link && mkfifo fifo && "
              "mkdir -p nested/.git && touch nested/.git/config")
    host("exec", "box", "--", "sh", "-c", script, check=0)
    assert digest(box) == before
    assert "kind" in host.json("artifacts", "box")["ingress"][0] and host.json("artifacts", "box")["ingress"][0]["kind"] == "review"
    done = host("changes", "--limit", "10", "box", check=1)
    assert "10 bytes" in done.stderr and not list(host.state.glob("box/*.tak*")), done.stderr
    # Nothing was listed, so nothing can be taken.
    done = host("changes", "apply", "box", check=1)
    assert "the changes of \"box\" were not listed yet" in done.stderr and "`microagent changes box` lists them" in done.stderr, done.stderr
    changes = rows(host, "box")
    assert kinds(changes) == {"file": "changed", "sub/gone": "removed", "renamed/er/moved": "renamed", "new": "added", "Makefile": "changed",
                              ".git/config": "changed", "kept": "mode", "link": "changed", "nested/.git/config": "added"}, changes
    assert changes["renamed/er/moved"]["from"] == "deep/er/moved" and changes["out"]["leftOut"] and changes["fifo"]["leftOut"]
    assert changes["Makefile"]["by"] == "make runs it" and changes[".git/config"]["by"] and changes["nested/.git/config"]["by"]
    assert set(rows(host, "box", "renamed", "/w/new")) >= {"renamed/er/moved", "new"} and "file" not in rows(host, "box", "renamed")
    done = host("changes", "box", "/elsewhere/file", check=1)
    assert '/elsewhere/file is in no directory that is shared with "box" for a review' in done.stderr, done.stderr
    # What the guest changes after the list is not taken.
    host("exec", "box", "--", "sh", "-c", "echo later >>/w/file; echo later >/w/new", check=0)
    rows(host, "box", "file")  # a new list, with what the guest did until now
    host("exec", "box", "--", "sh", "-c", "echo last >>/w/file", check=0)
    taken = host.json("changes", "apply", "box", "file", "/w/new")["reviews"][0]
    assert [one["path"] for one in taken["applied"]] == ["file", "new"] and not taken["conflicts"], taken
    assert (box / "file").read_text() == "first\nmore\nlater\n" and (box / "new").read_text() == "later\n"
    # A file of the host that was changed meanwhile stays.
    (box / "sub/gone").write_text("changed on the host\n")
    taken = host("changes", "apply", "box", check=1)
    assert "conflict: sub/gone" in taken.stderr and (box / "sub/gone").read_text() == "changed on the host\n", taken.stderr
    assert "not applied, since it is not named: Makefile: make runs it" in taken.stderr and "left out: out" in taken.stderr
    assert (box / "Makefile").read_text() == "all:\n" and "[core]" not in (box / ".git/config").read_text().splitlines()[1:]
    assert (box / "renamed/er/moved").read_text() == "moved\n" and not (box / "deep/er/moved").exists()
    assert not os.path.lexists(box / "out") and not os.path.lexists(box / "fifo") and not (box / "nested/.git/config").exists()
    assert os.readlink(box / "link") == "new" and (box / "kept").stat().st_mode & 0o777 == 0o700
    # A directory takes its autorun files with it, but below .git each file must be named.
    host("changes", "apply", "box", "Makefile", check=0)
    assert (box / "Makefile").read_text() == "all:\nx:\n"
    host("changes", "apply", "box", "nested", check=0)
    assert not (box / "nested/.git/config").exists()
    host("changes", "apply", "box", "nested/.git/config", check=0)
    assert (box / "nested/.git/config").read_text() == ""


def test_a_patch(host, box):
    host("exec", "box", "--", "sh", "-c", "cd /w && echo more >>file && rm sub/gone && mv deep renamed && head -c 3000 /dev/urandom >binary", check=0)
    done = host("changes", "--diff", "box", check=0, text=False)
    other = host.base / "other"
    shutil.copytree(box, other, symlinks=True)
    subprocess.run(["git", "apply", "-"], cwd=other, input=done.stdout, check=True)
    assert (other / "file").read_text() == "first\nmore\n" and not (other / "sub/gone").exists()
    assert (other / "renamed/er/moved").read_text() == "moved\n" and (other / "binary").stat().st_size == 3000
    assert b"rename from deep/er/moved\n" in done.stdout and b"GIT binary patch" in done.stdout
    only = host("changes", "--diff", "box", "file", check=0).stdout
    assert "+more\n" in only and "binary" not in only
    # The repository's own config decides nothing.
    git(box, "config", "diff.external", f"touch {host.base}/ran")
    host("changes", "--diff", "box", "file", check=0)
    assert not (host.base / "ran").exists()


def test_a_stopped_workspace_keeps_its_changes(host, box):
    host("exec", "box", "--", "sh", "-c", "echo more >>/w/file", check=0)
    host("stop", "box", check=0)
    done = host("cp", "box:/w/file", host.base / "copy", check=1)
    assert "is in /w, a directory that is shared for a review" in done.stderr, done.stderr
    assert kinds(rows(host, "box")) == {"file": "changed"}
    (review,) = host.json("changes", "box")["reviews"]
    done = host("changes", "apply", "--digest", "0" * 64, "box", check=1)
    assert f"have the digest {review['digest'][:12]}" in done.stderr, done.stderr
    assert host("changes", "--stat", "box", check=0).stdout == f"{box} (/w): 1 file: 1 changed\n"
    # Another list, by which a file of the host would count as unchanged, is not believed; a FIFO in its place holds nobody up.
    listed = host.state / "box/bundle-review-0.list"
    kept = listed.read_bytes()
    listed.write_bytes(kept.replace(b" 644 ", b" 600 ", 1))
    assert "is not the file that was recorded" in host("changes", "apply", "box", check=1).stderr
    listed.unlink()
    os.mkfifo(listed)
    assert "is not a regular file" in host("changes", "apply", "box", check=1).stderr
    listed.unlink()
    listed.write_bytes(kept)
    listed.chmod(0o600)
    assert (box / "file").read_text() == "first\n"
    host("changes", "apply", "--digest", review["digest"], "box", check=0)
    assert (box / "file").read_text() == "first\nmore\n"
    assert rows(host, "box")["file"]["host"] == "done"
    # What is forgotten is gone for the guest too.
    host.json("changes", "drop", "box")
    done = host("changes", "apply", "box", check=1)
    assert "were not listed yet" in done.stderr, done.stderr
    host("start", "box", check=0)
    done = host("changes", "drop", "box", check=1)
    assert "box" in done.stderr and "running" in done.stderr, done.stderr
    assert host("exec", "box", "--", "cat", "/w/file", check=0).stdout == "first\n"
    assert not rows(host, "box")


def test_files_of_now(host, box):
    """A refresh takes the files anew, unless changes of the guest would be lost."""
    done = host("changes", "refresh", "box", check=1)
    assert "running" in done.stderr, done.stderr
    host("exec", "box", "--", "sh", "-c", "echo more >>/w/file", check=0)
    host("stop", "box", check=0)
    (box / "kept").write_text("edited here\n")
    done = host("changes", "refresh", "box", check=1)
    assert '"box" has 1 changes in /w that this host does not have' in done.stderr, done.stderr
    host("changes", "apply", "box", "file", check=0)
    host.json("changes", "refresh", "box")
    host("start", "box", check=0)
    assert host("exec", "box", "--", "cat", "/w/file", "/w/kept", check=0).stdout == "first\nmore\nedited here\n"
    assert not rows(host, "box")


def test_a_run_keeps_what_was_changed_and_nothing_else(host):
    main = project(host.base)
    before = digest(main)
    done = host("run", "--network", "isolated", "--share", f"{main}:/w:review", "--", "cat", "/w/file", check=0)
    assert done.stdout == "first\n" and not host.machines(), done
    done = host("run", "--network", "isolated", "--name", "box", "--share", f"{main}:/w:review", "--", "sh", "-c", "echo new >/w/new; exit 3", check=3)
    assert f"changes in {main}: 1 file: 1 added" in done.stderr and "`microagent changes apply box` brings them here" in done.stderr, done.stderr
    assert digest(main) == before and host.machines() == {"box"}
    host("changes", "apply", "box", check=0)
    assert (main / "new").read_text() == "new\n"
    host("delete", "box", check=0)
    assert not host.machines() and not list(host.left())


def test_by_python(host):
    main = project(host.base)
    host("base", "create", "b", "--image", "busybox", check=0)
    script = f"""
import json, microagent
with microagent.Sandbox("b", shares=["{main}:/w:review"], state_dir="{host.state}") as box:
    box.run(["sh", "-c", "echo more >>/w/file; echo new >/w/new; echo x: >>/w/Makefile"])
    (review,) = box.changes()
    (only,) = box.changes(["/w/new"])
    review, = box.changes()
    patch = box.patch(["file"]).decode()
    (applied,) = box.apply_changes(["new"], digest=review["digest"])
    try:
        box.drop_changes()
        dropped = True
    except microagent.ConflictError:
        dropped = False
    print(json.dumps([sorted(one["path"] for one in review["changes"]), len(only["changes"]), patch, applied, dropped]))
"""
    done = subprocess.run(["/usr/bin/python3", "-c", script], env={**host.env, **library_env()},
                          capture_output=True, text=True, check=True)
    paths, only, patch, applied, dropped = json.loads(done.stdout)
    assert paths == ["Makefile", "file", "new"] and only == 1 and "+more\n" in patch and not dropped
    assert [one["path"] for one in applied["applied"]] == ["new"] and (main / "new").read_text() == "new\n"
    assert (main / "file").read_text() == "first\n" and not host.json("session", "list")["sessions"]
    host("base", "delete", "b-v1", check=0)


def test_five_agents_on_one_repository(host):
    """Each has its own layer on the same image, and one is taken."""
    main = project(host.base)
    names = [f"agent-{n}" for n in range(3)]
    for name in names:
        host("create", name, "--memory", 256, "--network", "isolated", "--share", f"{main}:/w:review", check=0)
    images = {hashlib.sha256((host.state / name / "bundle-review-0.ext4").read_bytes()).hexdigest() for name in names}
    assert len(images) == 1
    for n, name in enumerate(names):
        host("start", name, check=0)
        host("exec", name, "--", "sh", "-c", f"for i in $(seq {n + 1}); do echo {name} >/w/by-$i; done", check=0)
        host("stop", name, check=0)
    for n, name in enumerate(names):
        assert f"{n + 1} file{'s' if n else ''}: {n + 1} added" in host("changes", "--stat", name, check=0).stdout
    host("changes", "apply", "agent-1", check=0)
    assert (main / "by-2").read_text() == "agent-1\n" and not (main / "by-3").exists()
    for name in names:
        host("delete", name, check=0)


def test_a_session(host):
    main = project(host.base)
    host("base", "create", "b", "--image", "busybox", check=0)
    name = host("session", "create", "--base", "b", "--share", f"{main}:/w:review", check=0).stdout.strip()
    host("exec", name, "--", "sh", "-c", "echo more >>/w/file", check=0)
    assert kinds(rows(host, name)) == {"file": "changed"} and (main / "file").read_text() == "first\n"
    host("changes", "apply", name, check=0)
    assert (main / "file").read_text() == "first\nmore\n"
    host("session", "destroy", name, check=0)
    # A run in a session keeps the session if it has changed something, and stops it.
    words = ("run", "--base", "b", "--share", f"{main}:/w:review", "--", "sh", "-c")
    done = host(*words, "cat /w/file", check=0)
    assert done.stdout == "first\nmore\n" and not host.json("session", "list")["sessions"], done
    done = host(*words, "echo new >/w/new; exit 4", check=4)
    (session,) = host.json("session", "list")["sessions"]
    assert session["state"] == "stopped" and f"`microagent session destroy {session['name']}` removes them" in done.stderr, done.stderr
    host("changes", "apply", session["name"], check=0)
    assert (main / "new").read_text() == "new\n"
    host("session", "destroy", session["name"], check=0)
    host("base", "delete", "b-v1", check=0)


@pytest.mark.parametrize("words, code, text", [
    (["changes", "plain"], 1, '"plain" has no directory that is shared for a review'),
    (["changes", "apply", "plain"], 1, '"plain" has no directory that is shared for a review'),
    (["changes", "--diff", "--stat", "plain"], 2, "exclude each other"),
    (["changes", "--digest", "0", "plain"], 2, "--digest is for"),
    (["changes", "drop", "plain", "x"], 2, "takes NAME alone"),
    (["create", "w", "--no-disk", "--initrd", "/dev/null", "--share", "/tmp:/x:review"], 2, "the guest's changes are kept on the root disk"),
    (["create", "w", "--share", "/x:/x:review,rw"], 2, "ro, rw and review exclude each other"),
    (["create", "w", "--share", "/x:/x:review,cache=none"], 2, "the guest of a review has its own copy"),
])
def test_refusals(host, words, code, text):
    host("create", "plain", check=0)
    done = host(*words, check=code)
    assert text in done.stderr, done.stderr
    assert host.machines() == {"plain"}
    host("delete", "plain", check=0)


def test_directories_that_are_not_taken(host):
    """The rules of shared directories hold, and too large a directory is refused."""
    main = project(host.base)
    for path, code, text in (("/etc", 2, "nothing in /etc is ever shared"), (host.base / "none", 1, "does not exist"), (main / "file", 2, "not a directory")):
        done = host("create", "w", "--share", f"{path}:/w:review", check=code)
        assert f"--share: " in done.stderr and text in done.stderr, done.stderr
    done = host("create", "w", "--share", f"{main}:/w:review", env={"MICROAGENT_TEST_LIMIT_REVIEW_FILES": "3"}, check=75)
    assert "more than 3 files, the most that are taken for a review" in done.stderr, done.stderr
    assert not host.machines() and not list(host.left())
