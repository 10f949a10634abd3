# SPDX-License-Identifier: MIT
"""Tests the directory of a session: given while the session runs, or from the start; as root and as an ordinary user."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import schema_check
import strays
import virtiofsd
from attaching import check_passes
from conftest import BIN, cache_dir, default_kernel, ended, image, make_host, pid_lines, wait_until, with_base
from modes import check_modes
from mounts import check_mounts, inside, own_mount
from test_audit import events, opened_by_strangers, verdict
from test_messages import conversations, documents, frames
from test_shares import NOBODY_ELSE

ORDINARY = 4242


@pytest.fixture(scope="module")
def ours():
    """The commands run as the user who runs the tests; as root in a mount namespace of the programs' own."""
    it = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    it.uid = os.getuid()
    it.wrap = ["unshare", "--mount"] if it.uid == 0 else []
    yield from with_base(it)


def own_cache(it):
    """The files that a user without our cache needs."""
    kernel, disk = Path(default_kernel(it)["path"]), Path(image(it, "busybox")["path"])
    for source, kind in ((kernel, "kernels"), (disk, "images")):
        (it.base / "cache" / kind).mkdir(parents=True)
        stem = source.name.removesuffix(".ext4")
        for file in source.parent.iterdir():
            if file.name == stem or file.name.startswith(stem + "."):
                subprocess.run(["cp", "--sparse=always", "-p", file, it.base / "cache" / kind], check=True)
    it.env["MICROAGENT_CACHE_DIR"] = str(it.base / "cache")


def as_ordinary(it):
    """Runs the commands as a user with subordinate ids, of whom only the programs' mount namespace knows. As with every
    user who logs in, the user's own group is a supplementary group too: the virtiofsd in C tries to give such groups
    up."""
    own_cache(it)
    it.uid, it.bin = ORDINARY, it.base / "bin"
    shutil.copytree(BIN, it.bin)
    it.env["HOME"] = str(it.base)
    del it.env["XDG_STATE_HOME"]
    (it.base / ".ssh").mkdir()
    (it.base / "passwd").write_text(f"root:x:0:0::/root:/bin/sh\nsomebody:x:{ORDINARY}:{ORDINARY}::{it.base}:/bin/sh\n")
    (it.base / "subid").write_text("somebody:300000:65536\n")
    subprocess.run(["chown", "-R", f"{ORDINARY}:{ORDINARY}", it.base], check=True)
    binds = [f"mount --bind {it.base}/{ours} /etc/{theirs}" for ours, theirs in
             (("passwd", "passwd"), ("subid", "subuid"), ("subid", "subgid"))]
    it.wrap = ["unshare", "--mount", "sh", "-c", " && ".join(binds) + " && exec setpriv --reuid "
               f'{ORDINARY} --regid {ORDINARY} --groups {ORDINARY} "$@"', "sh"]


@pytest.fixture(scope="module")
def ordinary():
    if os.getuid() != 0:
        pytest.skip("already an ordinary user: the other tests prove it")
    it = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    as_ordinary(it)
    yield from with_base(it)


def create(host, *words, env=None):
    return host.json("session", "create", "--base", "web", "--network", "isolated", *words, env=env)["name"]


def sh(host, name, line, user="agent", check=0):
    return host("session", "exec", "--user", user, name, "--", "sh", "-c", line, check=check).stdout


def directory(host, name):
    path = host.base / name
    path.mkdir(exist_ok=True)
    os.chown(path, host.uid, host.uid)
    return path


def bundle(host, name):
    return host.state / "sessions" / f"{name}.bundle"


def record(host, name, file="runtime"):
    document = json.loads((bundle(host, name) / f"{file}.json").read_text())
    schema_check.validate(file, document)
    return document


def broker(host, name):
    """Returns the process of the machine that sees files as the command did that started it."""
    return record(host, name)["broker"]["pid"]


def servers(host, name):
    """Returns the pids of the virtiofsd itself."""
    return [int(Path(f"/proc/{c['pid']}/task/{c['pid']}/children").read_text().split()[0])
            for c in record(host, name)["companions"] if c["name"].startswith("virtiofsd")]


def words_of(pid):
    return set(Path(f"/proc/{pid}/cmdline").read_text().split("\0"))


def check_gone(pid):
    """Waits until it has ended. Its last parent may not have reaped it yet."""
    def is_gone():
        try:
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
        except FileNotFoundError:
            return True
    wait_until(is_gone, f"the end of virtiofsd {pid}")


def listed(host, name):
    return next(s for s in host.json("session", "list")["sessions"] if s["name"] == name).get("shares")


def refused(host, *words):
    done = host("session", "share", *words)
    assert done.returncode in (1, 2, 75) and done.stdout == "", (words, done)
    return done.stderr


def hide(host, name, program):
    """Hides it from the programs of one session, as if it were not installed. Returns a function that brings it back."""
    inside = ["nsenter", "--mount", "--target", str(broker(host, name))]
    subprocess.run([*inside, "mount", "--bind", "/dev/null", program], check=True)
    return lambda: subprocess.run([*inside, "umount", program], check=True)


def check_refusals(host, name):
    """A refused request leaves nothing behind."""
    work = directory(host, "work")
    sh(host, name, "mkdir /tmp/ours; ln -s /etc /tmp/ours/link")
    cache = cache_dir(host)
    for words, text in (
            ((cache / "images", "--ro"), f"is in the cache directory {cache}: share a directory elsewhere"),
            (("/usr/share",), "nothing in /usr/share is ever shared: copy what"),
            (("/etc",), "nothing in /etc is ever shared: copy what"),
            ((host.state,), "is in the state directory"),
            ((host.state / "bases",), f"is in the state directory {host.state}: share a directory elsewhere"),
            ((host.base,), f"holds the state directory {host.state}"),
            ((host.base / "none",), "does not exist: `mkdir` makes it"),
            ((host.base / "none:ro",), f"{host.base}/none:ro does not exist: `mkdir` makes it"),
            ((work, "--at", "here"), "--at must be an absolute path"),
            ((work, "--at", "/"), "--at must not be"),
            ((work, "--at", "/etc/passwd/x"), "the guest cannot mount the directory: "),
            # The AI agent does not choose what root mounts over.
            ((work, "--at", "/tmp/ours/link/new"), "/tmp/ours/link is a link that user 1000 made"),
    ):
        said = refused(host, name, *words)
        assert f"session {name}: " in said and text in said, (words, said)
    assert host("session", "share", name, "/etc").returncode == 2 and host("session", "share", name, host.base / "none").returncode == 1
    for options, wrong in (("bad", "bad"), ("ro,foo", "foo"), ("timeout=soon,ro", "timeout=soon")):
        done = host("session", "share", name, f"{work}:/one:{options}")
        assert f'{work}:/one:{options}: "{wrong}" is not an option of a share; the options are ro, rw, review, cache=' in done.stderr and done.returncode == 2, done
    check_passes(host, name, work)
    if os.getuid() == 0:
        # root writes the map itself and needs no newuidmap.
        for program, package in ((virtiofsd.PROGRAM, "virtiofsd (on Debian 12 qemu-system-common)"), ("/usr/bin/bwrap", "bubblewrap"),
                                 *([] if host.uid == 0 else [("/usr/bin/newuidmap", "uidmap")])):
            show = hide(host, name, program)
            assert f"apt-get install {package}" in refused(host, name, work)
            show()
    assert not servers(host, name) and listed(host, name) is None
    assert not sh(host, name, "grep virtiofs /proc/mounts; ls -d /etc/new; rm -r /tmp/ours")


def check_owners(host, name, work):
    """Files that the guest's user writes belong to the host's user, who can change and remove them. Owners lead nowhere else."""
    (work / "from-host").write_text("hello\n")
    os.chown(work / "from-host", host.uid, host.uid)
    said = sh(host, name, "cat /workspace/from-host; id -u; stat -c %u:%g /workspace/from-host /workspace; "
                          "mkdir -p /workspace/d/e; echo mine > /workspace/d/e/f; rm /workspace/from-host")
    assert said == "hello\n1000\n1000:1000\n1000:1000\n"
    made = work / "d" / "e" / "f"
    assert (made.read_text(), made.stat().st_uid, made.stat().st_gid) == ("mine\n", host.uid, host.uid)
    assert not (work / "from-host").exists()
    made.write_text("changed by the host\n")
    # The guest keeps its knowledge of a file for a second.
    wait_until(lambda: sh(host, name, "cat /workspace/d/e/f") == "changed by the host\n", "the host's change")
    sh(host, name, f"echo r > /workspace/by-root; ! chown {NOBODY_ELSE} /workspace/by-root && "
                   f"! chgrp {NOBODY_ELSE} /workspace/by-root", "root")
    sh(host, name, "! chown 0 /workspace/d/e/f")
    made_by_root = (work / "by-root").stat()
    assert made_by_root.st_uid not in (0, host.uid) and made_by_root.st_gid not in (0, host.uid)
    # Owner and group are given separately.
    sh(host, name, "chown 1000 /workspace/by-root", "root")
    given = (work / "by-root").stat()
    assert (given.st_uid, given.st_gid) == (host.uid, made_by_root.st_gid)
    remove = ["rm", "-r", work / "d", work / "by-root"]
    if os.getuid() == 0 and host.uid != 0:
        remove = ["setpriv", "--reuid", str(host.uid), "--regid", str(host.uid), "--groups", str(host.uid), *remove]
    subprocess.run(remove, check=True, cwd="/")


def check_links(host, name, work):
    """The guest follows a link that it makes, in the guest."""
    (host.base / "secret").write_text("of the host\n")
    sh(host, name, f"ln -s {host.base}/secret /workspace/abs; ln -s ../secret /workspace/up; ln -s /etc /workspace/etc; "
                   "! cat /workspace/abs /workspace/up && ! ls /workspace/../secret")
    assert "agent:" in sh(host, name, "cat /workspace/etc/passwd")
    for link in ("abs", "up", "etc"):
        (work / link).unlink()


def check_descriptor(host, name, work):
    """The directory stays shared, whatever its name becomes."""
    moved = work.rename(host.base / "moved")
    directory(host, "work")
    sh(host, name, "echo here > /workspace/still")
    assert (moved / "still").read_text() == "here\n" and not list(work.iterdir())
    work.rmdir()
    moved.rename(work)
    (work / "still").unlink()


def check_many(host, name, work, count):
    """Small files, there and back. `make soak` has ten thousand."""
    sh(host, name, f"mkdir /workspace/many && cd /workspace/many && seq {count} | while read i; do echo $i > $i; done")
    made = list((work / "many").iterdir())
    assert len(made) == count and sum(int(p.read_text()) for p in made) == count * (count + 1) // 2
    assert {p.stat().st_uid for p in made} == {host.uid}
    for path in made[:count // 2]:
        path.unlink()
    assert sh(host, name, "ls /workspace/many | wc -l").strip() == str(count // 2)


def told_shares(host, name):
    return [(line["event"], line["data"]) for line in events(host, name) if line["subsystem"] == "share"]


def check_no_alarm(host, name, given, refused_at):
    """The audit log has the directory once, in its place, and no false alarm: not about descriptors that QEMU and the
    virtiofsd got because of it. What this host hides from these rights is reported once."""
    given = {key: value for key, value in given.items() if key != "direct"}
    refused_by_guest = [row for at in refused_at
                        for row in (("share.added", {**given, "mountpoint": at}),
                                    ("share.removed", {"path": given["path"], "mountpoint": at}))]
    *before, now = told_shares(host, name)
    for (event, data), (wanted, facts) in zip(before, refused_by_guest, strict=True):
        why = data.pop("why", None)
        assert (event, data) == (wanted, facts) and (why is None or "the guest cannot mount the directory" in why)
    assert now == ("share.added", given)
    strange = [line for line in events(host, name) if line["event"] in ("vmm.unexpected", "vmm.unobserved")]
    strange += opened_by_strangers(host, name)
    assert not strange, strange
    coverage, = events(host, name, "audit.coverage")
    assert {"exec", "network", "vmm", "base"} <= set(coverage["data"]["observed"])
    unseen = {u["what"]: u["why"] for u in coverage["data"]["unobserved"]}
    assert ("file-opens" in unseen) == (host.uid != 0) and all(unseen.values()), unseen
    if host.uid != 0:
        assert unseen["file-opens"] == "fanotify: Operation not permitted"


def look_at_mounts(host, name, path, at, writable):
    check_mounts(lambda line, user, code: sh(host, name, line, user, code), broker(host, name),
                 servers(host, name), path, at, writable)


def check_given(host):
    name = create(host, env={"MICROAGENT_TEST_LIMIT_AUDIT_LOOK_MS": "5"})
    assert record(host, name, "session").get("shares") is None
    check_refusals(host, name)
    work = directory(host, "work")
    if os.getuid() == 0:
        inside(broker(host, name), "sh", "-c", own_mount(host.uid, work))
    told = {"path": str(work), "mountpoint": "/workspace", "mode": "rw", "direct": True}
    assert host.json("session", "share", name, work)["shares"] == [told] == listed(host, name)
    assert record(host, name)["shares"] == [{**told, "tag": "workspace"}] and len(servers(host, name)) == 1
    assert "workspace /workspace virtiofs rw,nosuid,nodev" in sh(host, name, "cat /proc/mounts")
    assert "the machine already has its shared directories and cannot get more, " in refused(host, name, directory(host, "more"))
    check_owners(host, name, work)
    check_modes(lambda line, user: sh(host, name, line, user), work, "/workspace", host.uid)
    check_links(host, name, work)
    if os.getuid() == 0:
        look_at_mounts(host, name, work, "/workspace", True)
        inside(broker(host, name), "umount", work / "before", work)
        (work / "before").rmdir()
    check_descriptor(host, name, work)
    check_no_alarm(host, name, told, ("/etc/passwd/x", "/tmp/ours/link/new"))
    return name, work


def test_an_ordinary_user_gives_a_directory(ordinary):
    name, _ = check_given(ordinary)
    server = servers(ordinary, name)[0]
    ordinary("session", "destroy", name, check=0)
    check_gone(server)
    assert not ordinary.processes()


def sockets_of(pid):
    """Returns copies of a process's sockets, which stay open when it ends. Without root's rights there are none."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(pid)
    copies = [libc.syscall(438, process, fd, 0)  # pidfd_getfd
              for fd, target in strays.descriptors(pid).items() if target.startswith("socket:")]
    os.close(process)
    assert os.getuid() != 0 or (copies and min(copies) >= 0), os.strerror(ctypes.get_errno())
    return [copy for copy in copies if copy >= 0]


def test_an_ordinary_user_claims_with_a_directory(ordinary):
    """From the pool: the same owners."""
    ordinary("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0)
    full = {"base": "web-v1", "backend": "qemu", "size": 1, "ready": 1, "filling": False}
    wait_until(lambda: ordinary.json("pool", "status")["pools"] == [full], "the member")
    work = directory(ordinary, "work")
    keys = ordinary.base / ".ssh"
    said = ordinary("session", "create", "--base", "web", "--network", "isolated", "--share", keys, check=2).stderr
    assert f"--share {keys}: {keys} is the store of keys {keys}, which is never shared" in said and "--share-anyway gives it" in said
    made = ordinary.json("session", "create", "--base", "web", "--network", "isolated", "--share", work)
    assert made["source"] == "pool" and made["shares"][0]["path"] == str(work) == listed(ordinary, made["name"])[0]["path"]
    check_owners(ordinary, made["name"], work)
    # The next member gets a directory that is read-only, with its mounts.
    wait_until(lambda: ordinary.json("pool", "status")["pools"] == [full], "the next member")
    token, = (ordinary.state / "pool" / "web-v1" / "ready").iterdir()
    ref = directory(ordinary, "ref")
    inside(broker(ordinary, token.name), "sh", "-c", own_mount(ordinary.uid, ref))
    second = ordinary.json("session", "create", "--base", "web", "--network", "isolated", "--share", ref, "--share-ro")
    look_at_mounts(ordinary, second["name"], ref, "/workspace", False)
    ordinary("pool", "drain", check=0)
    ordinary("session", "destroy", made["name"], check=0)
    ordinary("session", "destroy", second["name"], check=0)


def test_a_directory_is_given(ours):
    name, work = check_given(ours)
    check_many(ours, name, work, 200)
    # Quarantine cuts it, also if files of the killed virtiofsd are closed late.
    server = servers(ours, name)[0]
    ends = sockets_of(server)
    ours("--state-dir", ours.state / "sessions", "quarantine", f"{name}.bundle", check=0)
    check_gone(server)
    for end in ends:
        os.close(end)
    assert listed(ours, name) is None
    assert "virtiofsd workspace" in record(ours, name, "event")["detail"]
    assert "the machine is quarantined" in refused(ours, name, work)
    assert told_shares(ours, name)[-1] == ("share.removed", {"path": str(work), "mountpoint": "/workspace", "why": "quarantine"})
    severed, = events(ours, name, "session.quarantined")
    assert severed["severity"] == "WARNING" and severed["data"]["severed"] == record(ours, name, "event")["severed"]
    assert "virtiofsd workspace" in severed["data"]["severed"] and not events(ours, name, "vmm.unexpected")
    ours("session", "destroy", name, check=0)
    assert verdict(ours, name)["verdict"] == "closed"


def check_several(host, name):
    """All directories or none, each as it was asked for, and a worktree's repository with it."""
    (one, two, main, tree), common = (directory(host, part) for part in ("one", "two", "main", "tree")), host.base / "main" / ".git"
    for part in ("worktrees/tree", "objects", "refs"):
        (common / part).mkdir(parents=True)
    (common / "HEAD").write_text("ref: refs/heads/main\n")
    (common / "worktrees" / "tree" / "gitdir").write_text(f"{tree}/.git\n")
    (common / "worktrees" / "tree" / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {common}/worktrees/tree\n")
    subprocess.run(["chown", "-R", f"{host.uid}:{host.uid}", common, tree], check=True)
    (one / "file").write_text("one\n")
    before = told_shares(host, name)
    for words, text in (
            ((one, two), "cannot both be on /workspace: give one of them another path, as in DIR:/PLACE"),
            ((one, f"{two}:/two", "--ro"), "need one DIR without a place"),
            ((*(f"{one}:/{i}" for i in range(9)),), "there must be from 1 to 8 directories"),
            ((f"{one}:/a", f"{two}:/a"), "two shares have the same mountpoint: /a"),
            ((f"{one}:/a", "/etc:/b"), "nothing in /etc is ever shared"),
            # The guest has mounted the first one by then, and has it no more.
            ((f"{one}:/a", f"{two}:/etc/passwd/x"), 'the guest cannot mount the directory: share "workspace-2": /etc/passwd/x'),
    ):
        said = refused(host, name, *words)
        assert text in said, (words, said)
    assert not servers(host, name) and listed(host, name) is None and not sh(host, name, "grep virtiofs /proc/mounts || true")
    assert [event for event, _ in told_shares(host, name)[len(before):]] == ["share.added"] * 2 + ["share.removed"] * 2
    told = host.json("session", "share", name, one, f"{two}:/two:ro", f"{tree}:/tree:cache=none", "--share-git")["shares"]
    assert told == listed(host, name) == [
        {"path": str(one), "mountpoint": "/workspace", "mode": "rw", "direct": True},
        {"path": str(two), "mountpoint": "/two", "mode": "ro", "direct": True},
        {"path": str(tree), "mountpoint": "/tree", "mode": "rw", "direct": True, "cache": "none"},
        {"path": str(common), "mountpoint": str(common), "mode": "rw", "direct": True, "cache": "none"}]
    assert len(servers(host, name)) == 4 and [data["path"] for _, data in told_shares(host, name)[-4:]] == [one["path"] for one in told]
    assert sh(host, name, f"cat /workspace/file $(cut -c9- /tree/.git)/commondir; ! touch /two/x; echo by the guest > {common}/made") == "one\n../..\n"
    assert (common / "made").read_text() == "by the guest\n"
    strange = [line for line in events(host, name) if line["event"] in ("vmm.unexpected", "vmm.unobserved")]
    assert not strange, strange
    assert "cannot get more, " in refused(host, name, main)


def test_several_directories(ours):
    name = create(ours, env={"MICROAGENT_TEST_LIMIT_AUDIT_LOOK_MS": "5"})
    check_several(ours, name)
    tree = ours.base / "tree"
    assert "--share-git shares that directory too" in ours("session", "create", "--base", "none", "--share", tree).stderr
    server = servers(ours, name)[2]
    ours("--state-dir", ours.state / "sessions", "quarantine", f"{name}.bundle", check=0)
    check_gone(server)
    assert [event for event, _ in told_shares(ours, name)[-4:]] == ["share.removed"] * 4
    ours("session", "destroy", name, check=0)
    # From the start, in a machine that is booted for them.
    made = ours.json("session", "create", "--base", "web", "--network", "isolated", "--share", f"{ours.base}/two:/two",
                     "--share", ours.base / "one")
    assert [one["mountpoint"] for one in made["shares"]] == ["/two", "/workspace"]
    assert sh(ours, made["name"], "cat /workspace/file; ls /two") == "one\n"
    ours("session", "destroy", made["name"], check=0)


def test_from_the_start(ours):
    ref = directory(ours, "ref")
    (ref / "f").write_text("kept\n")
    if os.getuid() == 0:
        ours.wrap = ["unshare", "--mount", "sh", "-c", own_mount(ours.uid, ref) + ' && exec "$@"', "sh"]
    for words, text in (
            (("--share", "/var"), "--share /var: nothing in /var is ever shared"),
            (("--share", ours.base / "none"), f"--share {ours.base}/none: {ours.base}/none does not exist: `mkdir` makes it"),
            (("--share", f"{ref}:/one:bad"), f'{ref}:/one:bad: "bad" is not an option of a share; the options are'),
            (("--share", f"{ref}:/one", "--share", f"{ref}:/two:ro,foo"), f'{ref}:/two:ro,foo: "foo" is not an option of a share; the options are'),
    ):
        done = ours("session", "create", "--base", "web", "--network", "isolated", *words)
        assert done.returncode in (1, 2) and text in done.stderr, done.stderr
    assert ours.json("session", "list") == {"sessions": []}
    # If no directory has that very name.
    odd = ours.base / "ref:" / "one:bad"
    odd.mkdir(parents=True)
    assert "--share and --no-share exclude" in ours("session", "create", "--base", "web", "--share", odd, "--no-share", check=2).stderr
    for words in (("--share", ref, "--no-share"), ("--share-ro",), ("--share-anyway",), ("--share-at", "/x"), ("--share-cache", "always"),
                  ("--share-timeout", 9), ("--share", ref, "--share-cache", "never")):
        assert ours("session", "create", "--base", "web", *words).returncode == 2
    # A store of keys, with the option that allows it.
    timeout = ("--share-timeout", 600) if virtiofsd.IS_C else ()
    words = ("session", "create", "--base", "web", "--network", "isolated", "--share", ref, "--share-ro", "--share-at", "/ref",
             "--share-cache", "always", *timeout)
    assert f"{ref} is the store of keys {ref}" in ours(*words, env={"GNUPGHOME": str(ref)}, check=2).stderr
    made = ours("--json", *words, "--share-anyway", env={"GNUPGHOME": str(ref)}, check=0)
    assert "the guest can read all keys in the shared directories" in made.stderr
    created = json.loads(made.stdout)
    name, told = created["name"], {"path": str(ref), "mountpoint": "/ref", "mode": "ro", "anyway": True, "direct": True}
    assert [e["severity"] for e in events(ours, name, "share.added")] == ["WARNING"]
    kept = {**told, "cache": "always", **({"timeoutSeconds": 600} if timeout else {})}
    assert created["shares"] == [kept] == record(ours, name, "session")["shares"] == listed(ours, name)
    assert {virtiofsd.cache_word("always"), *(["timeout=600"] if timeout else [])} <= words_of(servers(ours, name)[0])
    # A guest that removes the mount's option still meets the host's.
    assert told_shares(ours, name) == [("share.added", {key: value for key, value in told.items() if key != "direct"})]
    sh(ours, name, "! touch /ref/x; mount -o remount,rw /ref; ! touch /ref/x; ! rm /ref/f; "
                   "mkdir /again && mount -t virtiofs workspace /again; ! touch /again/x", "root")
    if os.getuid() == 0:
        look_at_mounts(ours, name, ref, "/ref", False)
        ours.wrap = ["unshare", "--mount"]
        (ref / "before").rmdir()
    assert [p.name for p in ref.iterdir()] == ["f"]
    assert "the machine already has its shared directories" in refused(ours, name, directory(ours, "more"))
    server = servers(ours, name)[0]
    ours("session", "destroy", name, check=0)
    check_gone(server)


def test_read_only_while_it_runs_and_its_end(ours):
    ref = directory(ours, "ref2")
    (ref / "f").write_text("kept\n")
    name = create(ours)
    assert "--timeout says how long" in refused(ours, name, ref, "--cache", "none", "--timeout", 5)
    trace, pid = ours.base / "trace", record(ours, name)["supervisorPid"]
    tracer = subprocess.Popen(["strace", "-xx", "-s", "2000000", "-o", trace, "-e",
                               "trace=close,read,write,recvfrom,sendto,recvmsg,sendmsg,readv,writev",
                               "-p", str(pid)], stderr=subprocess.PIPE)
    assert b"attached" in tracer.stderr.readline()
    said = ours("session", "share", name, ref, "--ro", "--at", "/deep/ref", "--cache", "none", check=0).stdout
    # What it does next is traced only after the answer has been.
    assert "the machine already has its shared directories" in refused(ours, name, ref)
    tracer.terminate()
    tracer.communicate()
    check_messages(trace)
    assert said == f"{name}: {ref} is on /deep/ref, read-only\n"
    assert virtiofsd.cache_word("none") in words_of(servers(ours, name)[0]) and record(ours, name)["shares"][0]["cache"] == "none"
    sh(ours, name, "mount -o remount,rw /deep/ref; ! touch /deep/ref/x; ! rm /deep/ref/f", "root")
    assert [p.name for p in ref.iterdir()] == ["f"]
    # A share that breaks ends the machine, which would hang in it.
    os.kill(servers(ours, name)[0], 9)
    sessions = make_view(ours)
    assert "virtiofsd workspace" in ended(sessions, f"{name}.bundle")["detail"]
    lost, = events(ours, name, "vmm.companion-lost")
    assert lost["severity"] == "CRITICAL" and "virtiofsd workspace" in lost["data"]["why"]
    wait_until(lambda: not ours.processes(), "every process to end")
    ours("session", "destroy", name, check=0)


def check_messages(trace):
    """Returns the messages of the live supervisor while it gave the directory."""
    met = set()
    for (_, _, way), data in conversations(trace).items():
        for message in frames(bytes(data)):
            schema_check.validate(f"control-{message['type']}", message)
            assert "path" not in json.dumps(message), "the host's paths are no business of a guest"
            met.add((way, message["type"]))
        for message in documents(data):
            if message.get("command") == "share-attach":
                schema_check.validate("control-sock-request", message)
                met.add((way, "request"))
            elif set(message) == {"ok", "shares"}:
                schema_check.validate("control-sock-answer", message)
                met.add((way, "answer"))
    assert {("in", "request"), ("out", "mount"), ("in", "mounted"), ("out", "answer")} <= met, met


def test_they_come_back(ours):
    """When a session's machine starts again it gets the directories that it was given while it ran, as they were and by
    the same rules, or with a warning."""
    name, given = create(ours), directory(ours, "given")
    ref = directory(ours, "again-ref")
    told = ours.json("session", "share", name, given, f"{ref}:/ref:ro,cache=none")["shares"]
    assert record(ours, name, "session")["shares"] == told == listed(ours, name)
    sh(ours, name, "echo one > /workspace/one")
    status = ours("status", name, check=0).stdout
    assert f"{given} on /workspace, rw" in status and f"{ref} on /ref, ro" in status, status
    added = [("share.added", {key: one[key] for key in ("path", "mountpoint", "mode")}) for one in told]
    gone = [("share.removed", {"path": one["path"], "mountpoint": one["mountpoint"]}) for one in told]

    def check_log(wanted):
        lines = [(event, {key: value for key, value in data.items() if key != "why"}) for event, data in told_shares(ours, name)]
        assert lines == wanted, lines

    ours("stop", name, check=0)
    check_log(added + gone)
    assert listed(ours, name) == told and "shares" not in record(ours, name)
    assert "could not be shared on" not in ours("start", name, check=0).stderr
    assert sh(ours, name, "echo two > /workspace/two; ! touch /ref/x; cat /workspace/one") == "one\n"
    assert (given / "two").read_text() == "two\n" and not list(ref.iterdir())
    assert virtiofsd.cache_word("none") in words_of(servers(ours, name)[1]) and listed(ours, name) == told
    # The machine ended without a message: its supervisor was killed.
    os.kill(record(ours, name)["supervisorPid"], 9)
    ended(make_view(ours), f"{name}.bundle")
    check_log((added + gone) * 2)
    # A cause that can be known before the start refuses it, and nothing has begun.
    given.rename(ours.base / "moved")
    before = events(ours, name)
    done = ours("start", name)
    assert done.returncode == 1 and f"session {name}: {given} does not exist: `mkdir` makes it" in done.stderr, done
    given.symlink_to("/etc")
    assert f"session {name}: {given} is a symbolic link: name the directory itself" in ours("start", name, check=1).stderr
    given.unlink()
    assert events(ours, name) == before and not ours.processes() and listed(ours, name) == told
    (ours.base / "moved").rename(given)
    # A failure when the machine runs is a warning. The machine runs without the directories, and the warning says how
    # it gets them.
    if os.getuid() == 0:
        wrap, ours.wrap = ours.wrap, ["unshare", "--mount", "sh", "-c", f'mount --bind /dev/null {virtiofsd.PROGRAM} && exec "$@"', "sh"]
        done = ours("start", name, check=0)
        said = f"{given}:/workspace:rw {ref}:/ref:ro,cache=none"
        assert f"warning: {given} could not be shared on /workspace in the guest, so what the guest writes there does not reach the host: " in done.stderr, done.stderr
        assert f"warning: {ref} could not be shared on /ref" in done.stderr and f"`microagent session share {name} {said}` shares the directory again" in done.stderr
        assert listed(ours, name) is None and not servers(ours, name)
        check_log((added + gone) * 2 + [("share.missing", data) for _, data in gone])
        assert {line["severity"] for line in events(ours, name, "share.missing")} == {"WARNING"}
        ours.wrap = wrap
        inside(broker(ours, name), "umount", virtiofsd.PROGRAM)
        assert ours.json("session", "share", name, *said.split())["shares"] == told
        assert sh(ours, name, "cat /workspace/two") == "two\n" and listed(ours, name) == told
    ours("session", "destroy", name, check=0)
    assert not ours.processes()


def make_view(host):
    """The sessions under their ids as workspaces."""
    view = object.__new__(type(host))
    view.__dict__ = {**host.__dict__, "state": host.state / "sessions",
                     "env": {**host.env, "MICROAGENT_STATE_DIR": str(host.state / "sessions")}}
    return view


def test_none(ours):
    work = directory(ours, "work")
    name = create(ours, "--no-share")
    assert "hotplug" not in record(ours, name, "workspace")["config"]
    said = refused(ours, name, work)
    assert "(--no-share): make another machine" in said and "without --no-share" in said
    ours("--state-dir", ours.state / "sessions", "kill", f"{name}.bundle", check=0)
    assert f"session {name} is not running" in refused(ours, name, work)
    ours("session", "destroy", name, check=0)


def server_of(host, name):
    """Returns the pid of a virtiofsd that is being started, from outside of the record; 0: not yet."""
    found = [pid for pid, line in pid_lines(name).items() if line.startswith(virtiofsd.PROGRAM)]
    return found[0] if found else 0


@pytest.mark.parametrize("slow", ["QEMU", "virtiofsd"])
def test_quarantine_in_the_middle_of_it(ours, slow):
    """Whichever step the kill meets, no server is left, and a caller that waits for the directory hears of it at once."""
    work = directory(ours, "work")
    name = create(ours)
    machine = record(ours, name)["pid"]
    if slow == "QEMU":
        os.kill(machine, signal.SIGSTOP)
    sharer = ours.popen("session", "share", name, work)
    wait_until(lambda: server_of(ours, name), "a virtiofsd")
    server = server_of(ours, name)
    if slow != "QEMU":
        os.kill(server, signal.SIGSTOP)
    cut = ours.popen("--state-dir", ours.state / "sessions", "quarantine", f"{name}.bundle")
    out, err = sharer.communicate(timeout=20)
    check_gone(server)
    if slow == "QEMU":
        os.kill(machine, signal.SIGCONT)
    assert cut.communicate(timeout=60) and cut.returncode == 0
    assert sharer.returncode in (0, 1), err
    assert sharer.returncode == 0 or b"the directory was not shared, because the machine was quarantined before the guest had mounted the directory" in err, err
    assert record(ours, name, "event")["state"] == "quarantined" and not server_of(ours, name)
    sockets = [target for target in strays.descriptors(machine).values() if target.startswith("socket:")]
    assert len(sockets) == 3 and listed(ours, name) is None
    ours("session", "destroy", name, check=0)
