# SPDX-License-Identifier: MIT
"""Tests that a user is told of autorun files: files that a guest left in a shared directory, and that programs of the host run."""

import json

import pytest

from conftest import BACKEND
from test_share_git import git, repository, worktree

pytestmark = pytest.mark.skipif(BACKEND == "firecracker", reason="Firecracker shares no directories")
LOOK = "`git -c core.fsmonitor=false -c core.hooksPath=/dev/null status` runs no hook"
READ = "read these files (`cat -v`) before you use the directory"


def warnings(done):
    return [line.removeprefix("microagent: warning: ") for line in done.stderr.splitlines() if "warning: " in line]


def changed(done):
    """Returns {path: which program uses it} of the warnings of a run."""
    found = [line.split(" has changed while the guest could write to it: ") for line in warnings(done) if " has changed while the guest could write to it: " in line]
    return dict(found)


def test_a_run_names_what_the_guest_left(host):
    main = host.base / "main"
    repository(main)
    (main / "Makefile").write_text("all:\n")
    (main / ".envrc").write_text("\n")
    script = ("cd /workspace && echo x >>Makefile && echo y >new.c && mkdir -p sub/.git/hooks deep/.vscode && "
              "touch sub/.git/config sub/.git/hooks/post-checkout deep/.vscode/tasks.json && echo '[core]' >>.git/config; exit 3")
    done = host("run", "--share", main, "--", "sh", "-c", script, check=3)
    assert changed(done) == {
        f"{main}/Makefile": "make runs it",
        f"{main}/.git/config": "git runs commands that it names",
        f"{main}/deep/.vscode/tasks.json": "editors run tasks and programs that it names",
        f"{main}/sub/.git": "git runs commands that the config of this nested repository names",
        f"{main}/sub/.git/config": "git runs commands that it names",
        f"{main}/sub/.git/hooks/post-checkout": "git runs it",
    }, done.stderr
    assert any(line.startswith(READ) for line in warnings(done)) and any(line.startswith(LOOK) for line in warnings(done))
    # The command that the warning proposes does not run what the config names as a monitor; git alone does.
    git(main, "config", "core.fsmonitor", f"touch {host.base}/ran; false")
    git(main, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "status")
    assert not (host.base / "ran").exists()
    git(main, "status")
    assert (host.base / "ran").exists()


def test_nothing_is_said_where_nothing_changed(host):
    main = host.base / "main"
    repository(main)
    done = host("run", "--share", f"{main}:/w", "--", "sh", "-c", "cat /w/file; echo >/w/other.c", check=0)
    assert not changed(done) and READ not in done.stderr and LOOK not in done.stderr, done.stderr
    # A directory that the guest only reads is not searched: what changes in it was changed on the host.
    done = host("run", "--share", f"{main}:/w:ro", "--", "true", check=0)
    assert not changed(done) and "searched" not in done.stderr, done.stderr


def test_json_of_a_run(host):
    shared = host.base / "shared"
    shared.mkdir()
    done = host("--json", "run", "--share", shared, "--", "sh", "-c", "echo >/workspace/.envrc", check=0)
    told = [json.loads(line)["warning"] for line in done.stderr.splitlines()]
    assert f"{shared}/.envrc has changed while the guest could write to it: direnv runs it" in told, done.stderr


def test_the_repository_of_a_worktree(host):
    main, tree = worktree(host)
    done = host("run", "--share", tree, "--share-git", "--", "sh", "-c", f"echo '[a]' >>{main}/.git/config", check=0)
    assert changed(done) == {f"{main}/.git/config": "git runs commands that it names"}, done.stderr


def test_of_a_workspace(host):
    shared, read = host.base / "shared", host.base / "read"
    for path in (shared, read):
        path.mkdir()
        (path / "Makefile").write_text("all:\n")
    host("create", "box", "--share", f"{shared}:/w", "--share", f"{read}:/r:ro", check=0)
    told = host.json("changes", "--shared", "box")
    assert [(share["path"], share["files"]) for share in told["shares"]] == [(str(shared), [])]
    text = host("changes", "--shared", "box", check=0)
    assert text.stdout == f"{shared}, no autorun file has changed since {told['shares'][0]['since']}\n" and not text.stderr
    (shared / "sub").mkdir()
    (shared / "sub" / "e\nvil.mk").write_text("")
    (shared / "sub" / "conftest.py").write_text("")
    told = host.json("changes", "--shared", "box")
    assert told["shares"][0]["files"] == [{"path": "sub/conftest.py", "by": "pytest runs it"}, {"path": "sub/e\nvil.mk", "by": "make runs it"}]
    text = host("changes", "--shared", "box", check=0)
    assert text.stdout.splitlines() == [f"{shared}, changed since {told['shares'][0]['since']}", "changed file     which program uses it",
                                        "sub/conftest.py  pytest runs it", "sub/e?vil.mk     make runs it"]
    assert READ in text.stderr and LOOK not in text.stderr
    # A directory that is gone is said, and the others are still searched.
    shared.rename(host.base / "elsewhere")
    gone = host("changes", "--shared", "box", check=1)
    assert gone.stdout == f"{shared}: not searched\n" and f"{shared} does not exist" in gone.stderr
    told = host.json("changes", "--shared", "box", check=1)
    assert told["shares"][0]["files"] == [] and f"{shared} does not exist" in told["shares"][0]["error"]
    host("delete", "box", check=0)


def test_what_is_refused(host):
    assert "there is no workspace \"box\"" in host("changes", "--shared", "box", check=1).stderr
    host("create", "box", check=0)
    assert '"box" has no directory that is shared for a review' in host("changes", "box", check=1).stderr
    none = host("changes", "--shared", "box", check=0)
    assert not none.stdout and '"box" has no writable directory of the host' in none.stderr
    assert host.json("changes", "--shared", "box") == {"shares": []}
    host("delete", "box", check=0)
