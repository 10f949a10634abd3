# SPDX-License-Identifier: MIT
"""Tests files that are copied into a running workspace and out of it: they arrive whole and unchanged, or not at all.
Tests listings too."""

import base64
import hashlib
import json
import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

import schema_check
from conftest import ROOT, wait_until
from test_messages import Frames

MIB = 1 << 20
HOSTILE_NAMES = ["new\nline", "ünïcödé ☃", " leading", "-dash", "tab\there", "*?[", "'\"$(x)\\"]


def guest(vm, script, user="agent"):
    return vm("exec", "-u", user, "vm", "--", "sh", "-c", script, check=0).stdout


@pytest.fixture(scope="module", autouse=True)
def room(vm):
    """Mounts a file system in the guest's memory, since the image's own disk is small."""
    guest(vm, "mkdir /mem && mount -t tmpfs -o size=160m none /mem && chmod 777 /mem", "root")
    yield
    guest(vm, "umount /mem && rmdir /mem", "root")


@pytest.fixture
def target(vm, tmp_path):
    yield tmp_path
    guest(vm, "rm -rf /mem/* /workspace/*", "root")
    assert guest(vm, "find /mem /workspace -name '.microagent*'", "root") == ""
    assert not list(tmp_path.rglob(".microagent*"))


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def describe(top):
    """Returns all of a tree that must survive: {path: (type, mode, mtime, contents or target)}."""
    found = {}
    top = os.fsencode(top)
    for base, dirs, files in os.walk(top):
        for name in [b"."] * (base == top) + dirs + files:
            path = os.path.join(base, name)
            st = os.lstat(path)
            what = os.readlink(path) if stat.S_ISLNK(st.st_mode) else b""
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    what = hashlib.sha256(file.read()).digest()
            found[os.path.relpath(path, top)] = (stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode), st.st_mtime_ns, what)
    return found


@pytest.mark.parametrize("size", [0, 1, 65536, MIB, 8 * MIB + 1, pytest.param(64 * MIB + 1, marks=pytest.mark.soak)])
def test_sizes(vm, target, size):
    source = target / "source"
    source.write_bytes(os.urandom(size))
    os.utime(source, ns=(1, 1_234_567_890_123_456_789))
    source.chmod(0o640)
    vm("cp", source, "vm:/mem/there", check=0)
    seen, mode, mtime = guest(vm, "sha256sum < /mem/there; stat -c %a /mem/there; stat -c %y /mem/there").splitlines()
    assert seen.split()[0] == digest(source) and mode == "640" and mtime.startswith("2009-02-13 23:31:30.123456789")
    vm("cp", "vm:/mem/there", target / "back", check=0)
    assert describe(target)[b"back"] == describe(target)[b"source"]


def test_a_tree_is_what_it_was(vm, target):
    """Modes, times of files, directories and links, links of both kinds, and names of any kind."""
    tree = target / "tree"
    (tree / "deep" / "er").mkdir(parents=True)
    subprocess.run(["cp", "-a", ROOT / "src" / "base", tree / "base"], check=True)
    for i, name in enumerate(HOSTILE_NAMES):
        (tree / name).write_text(name)
        os.utime(tree / name, ns=(i, 10**18 + i))
    Path(os.fsdecode(os.fsencode(tree) + b"/bad\xff\xfe")).write_text("no UTF-8")
    os.link(tree / "-dash", tree / "deep" / "other name")
    os.symlink("../base/fd.c", tree / "deep" / "link")
    os.symlink("no/where", tree / "dangling")
    os.utime(tree / "deep" / "link", ns=(5, 10**18 + 55), follow_symlinks=False)
    (tree / "deep" / "er" / "locked").write_text("x")
    (tree / "deep" / "er" / "locked").chmod(0o000)
    (tree / "deep" / "er").chmod(0o555)
    os.utime(tree / "deep", ns=(7, 10**18 + 777))
    os.utime(tree, ns=(8, -5))  # before 1970
    before = describe(tree)
    assert vm.json("cp", str(tree), "vm:/mem/tree") == {"ok": True, "skipped": []}
    assert guest(vm, "cd /mem/tree; stat -c %h -- -dash; cat 'new\nline'") == "2\nnew\nline"
    assert vm.json("cp", "-u", "root", "vm:/mem/tree", target / "back") == {"ok": True, "skipped": []}
    assert describe(target / "back") == before
    assert os.path.samefile(target / "back" / "-dash", target / "back" / "deep" / "other name")
    # A user who may not read all of it is told what is missing.
    skipped = vm.json("cp", "vm:/mem/tree", target / "partly")["skipped"]
    assert skipped == [{"path": "deep/er/locked", "why": "permission denied"}]


def test_links_are_judged_by_the_guests_root(vm, target):
    guest(vm, "cd /mem; mkdir -p t/a; echo x > t/a/f; ln -s /mem/t/a/f t/a/abs; ln -s /mem/t t/top; ln -s /etc/passwd t/out; "
              "ln -s /mem/t/../x t/sly; for i in $(seq 30); do ln -s /etc/$i t/l$i; done")
    done = vm("cp", "vm:/mem/t", target / "t", check=0)
    assert (target / "t" / "a" / "abs").read_text() == "x\n" and os.readlink(target / "t" / "a" / "abs") == "../a/f"
    assert os.readlink(target / "t" / "top") == "."
    assert not (target / "t" / "out").is_symlink() and not (target / "t" / "sly").is_symlink()
    assert done.stderr.count("left out: ") == 10 and "32 files were left out in all" in done.stderr, done.stderr
    assert len(vm.json("cp", "vm:/mem/t", target / "again")["skipped"]) == 32


def test_why_a_long_path_was_left_out(vm, target):
    guest(vm, "cd /mem; for i in $(seq 130); do d=$d/0123456789; done; mkdir -p long$d; echo x > long/f")
    done = vm("cp", "vm:/mem/long", target / "long", check=0)
    assert "left out: 0123456789/" in done.stderr and "...: too deep\n" in done.stderr, done.stderr
    assert (target / "long" / "f").read_text() == "x\n"


def test_holes_stay_holes(vm, target):
    """A file of 10 GiB with 3 MiB of data."""
    sparse, data = target / "sparse", os.urandom(3 * MIB)
    with open(sparse, "wb") as file:
        for i in range(3):
            file.seek(i * 4 * 1024 * MIB)
            file.write(data[i * MIB:(i + 1) * MIB])
        file.truncate(10 * 1024 * MIB)
    vm("cp", sparse, "vm:/mem/sparse", check=0)
    size, blocks = map(int, guest(vm, "stat -c '%s %b' /mem/sparse").split())
    assert size == 10 * 1024 * MIB and blocks * 512 < 8 * MIB
    vm("cp", "vm:/mem/sparse", target / "back", check=0)
    st = (target / "back").stat()
    assert st.st_size == size and st.st_blocks * 512 < 8 * MIB
    with open(target / "back", "rb") as file:
        for i in range(3):
            file.seek(i * 4 * 1024 * MIB)
            assert file.read(MIB + 1) == data[i * MIB:(i + 1) * MIB] + (b"\0" if i < 2 else b"\0")
    (target / "empty").touch()
    os.truncate(target / "empty", 5 * MIB)  # nothing but a hole
    vm("cp", target / "empty", "vm:/mem/empty", check=0)
    assert guest(vm, "stat -c '%s %b' /mem/empty") == f"{5 * MIB} 0\n"


def test_a_full_disk_leaves_nothing(vm, target):
    big = target / "big"
    big.write_bytes(os.urandom(8 * MIB))
    (target / "tree").mkdir()
    os.link(big, target / "tree" / "big")
    guest(vm, "mkdir /mem/small; mount -t tmpfs -o size=2m none /mem/small; chmod 777 /mem/small; echo old > /mem/small/f", "root")
    for source in (big, target / "tree"):
        done = vm("cp", source, "vm:/mem/small")
        assert done.returncode == 1 and "No space left on device" in done.stderr, done.stderr
    done = vm("cp", big, "vm:/mem/small/f")
    assert "vm:/mem/small/f: No space left on device" in done.stderr, done.stderr
    assert guest(vm, "cat /mem/small/f; ls -A /mem/small; df /mem/small | tail -n1 | awk '{print $3 < 100}'") == "old\nf\n1\n"
    guest(vm, "umount /mem/small", "root")
    vm("cp", big, "vm:/mem/big", check=0)
    mounted = target / "small"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", mounted], check=True)
    try:
        # The message says which side is full, and where.
        for to, named in ((mounted, "big"), (f"{mounted}/", "big"), (mounted / "other", "other")):
            done = vm("cp", "vm:/mem/big", to)
            assert done.returncode == 1 and f"microagent: {mounted}/{named} on this host: No space left on device\n" in done.stderr, done.stderr
        guest(vm, "mkdir /mem/dir; mv /mem/big /mem/dir")
        done = vm("cp", "vm:/mem/dir", mounted)
        assert done.returncode == 1 and f"microagent: {mounted}/dir/big on this host: No space left on device\n" in done.stderr, done.stderr
        assert os.listdir(mounted) == []
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_a_directory_of_this_host_that_is_closed(vm, target):
    """The host's unreadable file is not taken for the guest's, which may be read."""
    guest(vm, "echo text > /mem/f")
    closed = target / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    # root may write into it unless root has given up that right.
    vm.wrap = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-all"] if os.getuid() == 0 else []
    try:
        for to in (closed, closed / "g"):
            done = vm("cp", "vm:/mem/f", to, check=1)
            named = to if to != closed else closed / "f"
            assert done.stderr == f"microagent: {named} on this host: Permission denied\n", done.stderr
    finally:
        vm.wrap = []
    assert os.listdir(closed) == []


def test_what_is_not_there_is_named_with_its_workspace(vm, target):
    (target / "hi").write_text("hi")
    for words, named in ((("vm:/nosuch", target / "x"), "vm:/nosuch: No such file or directory"),
                         (("vm:/mem/no/such", target), "vm:/mem/no/such: No such file or directory"),
                         ((target / "hi", "vm:/mem/nodir/x"), "vm:/mem/nodir: No such file or directory"),
                         ((target / "none", "vm:/mem"), f"{target}/none: No such file or directory")):
        done = vm("cp", *words, check=1)
        assert done.stderr == f"microagent: {named}\n", (words, done.stderr)
    assert sorted(os.listdir(target)) == ["hi"] and guest(vm, "ls -A /mem") == ""


def test_a_limit_and_the_umask(vm, target):
    """The guest's stream is bounded, and only the guest writes it."""
    guest(vm, "mkdir -p /mem/open/d; echo text > /mem/open/d/f; chmod -R 7777 /mem/open; truncate -s 1M /mem/hole")
    copied = f'umask 027; exec {vm.bin}/microagent cp --limit 2K vm:/mem/open {target}/open'
    subprocess.run(["sh", "-c", copied], env=vm.env, check=True)
    modes = {str(p.relative_to(target)): stat.S_IMODE(p.stat().st_mode) for p in (target / "open").rglob("*")}
    assert modes == {"open/d": 0o750, "open/d/f": 0o750} and stat.S_IMODE((target / "open").stat().st_mode) == 0o750
    for words in (("vm:/mem/open", target / "tree"), ("vm:/mem/hole", target / "file"), (target / "open", "vm:/mem/tree")):
        done = vm("cp", "--limit", 1000, *words)
        assert done.returncode == 1 and "the copy is larger than the limit of 1000 bytes" in done.stderr, done.stderr
    assert os.listdir(target) == ["open"]
    wait_until(lambda: guest(vm, "ls -A /mem") == "hole\nopen\n", "the guest to remove what came of the third")
    for limit in ("0", "1MB", "-1", "x"):
        assert "number of bytes" in vm("cp", f"--limit={limit}", "vm:/mem/hole", target, check=2).stderr
    guest(vm, "rm -rf /mem/open /mem/hole")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_client_leaves_nothing_under_the_name(vm, target, how):
    """The other side ends by itself; after SIGTERM our side cleans up too."""
    pipe = target / "log"
    os.mkfifo(pipe)
    with open(target / "big", "wb") as file:
        file.truncate(40 * 1024 * MIB)
        for i in range(300):
            file.seek(i * 128 * MIB)
            file.write(b"x" * MIB)
    client = vm.popen("cp", target / "big", "vm:/mem/big")
    wait_until(lambda: int(guest(vm, "df -k /mem | tail -n1").split()[2]) > 2048, "some of it to arrive")
    client.send_signal(how)
    out, err = client.communicate()
    assert client.returncode == (-9 if how == signal.SIGKILL else 128 + how), (out, err)
    wait_until(lambda: int(guest(vm, "df -k /mem | tail -n1").split()[2]) < 1024, "the guest to let go of it")
    assert guest(vm, "ls -A /mem") == ""
    # A copy out of the guest, into a directory that is listed.
    guest(vm, "mkdir /mem/t; cd /mem/t; for i in $(seq 64); do dd if=/dev/zero of=$i bs=1M count=1 2>/dev/null; done")
    (target / "to").mkdir()
    client = vm.popen("cp", "vm:/mem/t", target / "to" / "t")
    wait_until(lambda: os.listdir(target / "to"), "the copy to begin")
    client.send_signal(how)
    client.communicate()
    left = os.listdir(target / "to")
    if how == signal.SIGTERM and client.returncode != 0:
        assert left == []
    else:  # killed, or too late
        for name in left:
            assert name.startswith(".microagent-") or client.returncode == 0
            subprocess.run(["rm", "-rf", target / "to" / name], check=True)


def stop_copy(vm, to):
    """Starts a copy of /mem/t to `to`, and stops it with SIGSTOP while it writes. Returns it and the file that it writes to."""
    before = set(to.parent.glob(".microagent-*"))
    client = vm.popen("cp", "vm:/mem/t", to)
    while not (new := [path.parent for path in to.parent.glob(".microagent-*/d") if path.parent not in before]):
        assert client.poll() is None, "the copy was over before it was seen"
    client.send_signal(signal.SIGSTOP)
    return client, new[0]


def kill_copy(vm, to):
    client, left = stop_copy(vm, to)
    client.kill()
    client.communicate()
    assert client.returncode == -signal.SIGKILL and left.exists()
    return left


def test_the_next_copy_removes_what_a_killed_one_left(vm, target):
    """It does not touch files that another copy still writes, nor foreign files."""
    guest(vm, "mkdir -p /mem/t/d; cd /mem/t/d; seq 10000 | xargs touch; echo f > /mem/f")
    place = target / "to"
    others = [place / ".microagent-0123456789abcdef", place / ".microagent-mine"]
    for other in others:
        other.mkdir(parents=True)
    left = kill_copy(vm, place / "t")
    live, written = stop_copy(vm, place / "live")
    try:
        assert not left.exists() and left != written
        vm("cp", "vm:/mem/f", place / "f", check=0)
        assert (place / "f").read_text() == "f\n" and written.exists(), "a copy that lives is let be"
    finally:
        live.send_signal(signal.SIGCONT)
    assert live.communicate() and live.returncode == 0
    assert len(os.listdir(place / "live" / "d")) == 10000
    # A copy that fails, and a copy of a file, remove it as well.
    kill_copy(vm, place / "t")
    vm("cp", "vm:/no/such", place / "none", check=1)
    assert sorted(os.listdir(place)) == sorted([*(other.name for other in others), "f", "live"])
    kill_copy(vm, place / "t")
    vm("cp", "vm:/mem/f", place / "f", check=0)
    assert sorted(os.listdir(place)) == sorted([*(other.name for other in others), "f", "live"])
    for other in others:
        other.rmdir()


def test_a_guest_that_changes_what_is_copied(vm, target):
    """Meanwhile directories become links, and files grow and shrink. Nothing of the host is touched."""
    guest(vm, "mkdir /mem/t; cd /mem/t; for i in $(seq 20); do mkdir d$i; echo $i > d$i/f; done; "
              "(while :; do for i in $(seq 20); do rm -rf d$i; ln -s /etc d$i; echo x >> grow; : > shrink; rm d$i; mkdir d$i; "
              "head -c 100000 /dev/zero > shrink; done; done) >/dev/null 2>&1 & echo $! > /mem/pid")
    for i in range(5):
        done = vm("cp", "vm:/mem/t", target / f"t{i}")
        assert done.returncode in (0, 1), done.stderr
        if done.returncode == 0:
            assert not list((target / f"t{i}").rglob("passwd"))
        else:
            assert not (target / f"t{i}").exists()
    guest(vm, "kill -9 $(cat /mem/pid)", "root")


def test_listings(vm, target):
    guest(vm, "mkdir /mem/l; cd /mem/l; echo 12345 > b; ln -s b a; mkfifo p; mkdir d; chmod 1750 d; touch 'c\tx'; touch -d @1 b; "
              "mkdir x; chmod 0 x")
    listed = vm.json("ls", "vm:/mem/l")
    assert listed["path"] == "/mem/l"
    entries = {e["name"]: e for e in listed["entries"]}
    assert [e["name"] for e in listed["entries"]] == ["a", "b", "c\tx", "d", "p", "x"]
    assert entries["a"]["target"] == "b" and entries["a"]["type"] == "link" and entries["p"]["type"] == "fifo"
    assert (entries["b"]["size"], entries["b"]["mtime"], entries["b"]["uid"]) == (6, 1, 1000)
    assert entries["d"]["mode"] == 0o1750 and entries["d"]["type"] == "directory"
    assert vm.json("ls", "vm", "/mem/l") == listed
    assert [e["name"] for e in vm.json("ls", "vm:/mem/l/a")["entries"]] == ["a"]
    assert vm.json("ls", "-d", "vm:/mem/l/a")["entries"][0]["type"] == "link"
    assert vm.json("ls", "-d", "vm:/mem/l/d")["entries"][0] == entries["d"]
    assert vm("ls", "vm:/mem/l", check=0).stdout.splitlines() == ["a@", "b", "c?x", "d/", "p|", "x/"]
    lines = vm("ls", "-l", "vm:/mem/l", check=0).stdout.splitlines()
    assert lines[1].startswith("lrwxrwxrwx  1000:1000") and lines[1].endswith("a -> b")
    assert lines[4].startswith("drwxr-x--T")
    assert "etc/" in vm("ls", "vm", check=0).stdout.splitlines()
    for words, code, text in ((("vm:/none",), 1, "vm:/none: No such file or directory"),
                              (("vm:/mem/l/x",), 1, "vm:/mem/l/x: Permission denied"),
                              (("-u", "nobody-here", "vm:/"), 1, "nobody-here"),
                              (("vm:etc",), 2, "must be absolute"), (("vm", "etc"), 2, "must be absolute"),
                              (("none:/",), 1, "no workspace \"none\"")):
        done = vm("ls", *words)
        assert done.returncode == code and text in done.stderr, (words, done.stderr)


def test_names_that_are_no_text_can_be_told_apart(vm, target):
    guest(vm, r"mkdir /mem/n; cd /mem/n; touch plain; touch $(printf '\377a') $(printf '\376a')")
    entries = vm.json("ls", "vm:/mem/n")["entries"]
    assert [e["name"] for e in entries] == ["plain", "\ufffda", "\ufffda"]
    assert [e.get("nameBase64") for e in entries] == [None, *(base64.b64encode(name).decode() for name in (b"\xfea", b"\xffa"))]


def test_a_listing_is_bounded(vm, target):
    done = vm("ls", "vm:/etc", env={"MICROAGENT_TEST_LIMIT_LISTING_BYTES": "300"})
    assert done.returncode == 1 and "the guest's list of the files in /etc cannot be read: the data has more than the limit of 300 bytes" in done.stderr, done.stderr


def test_ls_of_what_does_not_run(host):
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    assert {"etc", "workspace"} <= {e["name"] for e in host.json("ls", "w:/")["entries"]}
    assert "w:/none: No such file" in host("ls", "w:/none", check=1).stderr
    assert not (host.state / "w" / "reader").exists()
    host("delete", "w", check=0)


def hand_over(vm, *words, **more):
    agent = Frames(vm, "vm", "agent-stream-request", "agent-stream-event")
    agent.send({"id": "f", "request": 1, "stream": True, "cmd": list(words), "handOver": True, **more})
    return agent


def test_the_connection_is_handed_over(vm, target):
    for words in (("list", "/", "/etc"), ("stat", "/", "/etc"), ("stat", "/", "/none")):
        agent = hand_over(vm, "microagent-files", *words)
        assert agent.exactly(1) == b"+"
        text = b""
        while part := agent.stream.recv(65536):
            text += part
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            schema_check.validate("agent-files-line", line)
        assert lines[-1] == {"end": True} or words[2] == "/none" and lines[-1]["errorCode"] == "not-found"
    # Nothing else can have it, and a stream of random bytes makes nothing.
    for words, more in ((("cat",), {}), (("microagent-files", "list", "/", "/"), {"user": "nobody-here"}),
                        (("microagent-files", "list", "/", "/"), {"pty": {"rows": 1, "cols": 1}})):
        assert hand_over(vm, *words, **more).frame()["event"] == "error"
    agent = hand_over(vm, "microagent-files", "receive", "/", "/mem", "noise")
    assert agent.exactly(1) == b"+"
    agent.stream.sendall(b"f" + b"\xff" * 4000)
    assert agent.exactly(1) == b"e"
    agent.stream.close()
    assert guest(vm, "ls /mem") == ""


def test_what_is_not_copied_says_why(vm, target):
    done = vm("cp", "vm:/etc/hosts", "vm:/mem/hosts")
    assert done.returncode == 2 and "takes two steps" in done.stderr, done.stderr
