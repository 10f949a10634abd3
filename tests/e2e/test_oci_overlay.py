# SPDX-License-Identifier: MIT
"""Tests containers whose root is an overlay (io.microagent.rootfs): what they write to it stays in the machine's memory."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

import bundles

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="containers of engines are root's")
OVERLAY = {"io.microagent.rootfs": "overlay"}
FOREVER = ("sleep", "1000")
NO_SPACE = "No space left on device"


@pytest.fixture
def oci(request):
    it = bundles.Runtime(Path(tempfile.mkdtemp(prefix="o-")))
    yield it
    it.close(not getattr(request.node, "failed", False))


@pytest.fixture(scope="module")
def pod():
    """A machine in which each test makes further containers."""
    it = bundles.Runtime(Path(tempfile.mkdtemp(prefix="o-")))
    it.pid = it.started(*FOREVER, name="pod", annotations=bundles.of_pod("sandbox") | OVERLAY)
    yield it
    it("delete", "--force", "pod", check=0)
    it.close(True)


def joining(pod, memory=None, **annotations):
    linux = bundles.in_pod(pod.pid) | ({"resources": {"memory": {"limit": memory}}} if memory else {})
    return {"annotations": bundles.of_pod("container") | OVERLAY | annotations, "linux": linux, "hostname": None}


def made(it, *args, **changes):
    """Makes a bundle with files to change in its root."""
    bundle = it.bundle(*args, **changes)
    root = bundle / "rootfs"
    (root / "dir/below").mkdir(parents=True)
    for name in ("etc/gone", "etc/changed", "dir/below/file"):
        (root / name).write_text("of the host\n")
    (root / "bin/su").write_bytes((root / "bin/busybox").read_bytes())
    (root / "bin/su").chmod(0o4755)
    os.chown(root / "etc/changed", 7, 8)
    root.chmod(0o751)
    os.chown(root, 5, 6)
    return bundle


def begin(it, bundle, name):
    it("create", "-b", bundle, name, check=0, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    it("start", name, check=0)


def tree(root):
    """Returns all facts of the files, except the time when they were last read."""
    seen = {}
    for path in sorted([root, *root.rglob("*")]):
        st = path.lstat()
        what = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        seen[str(path)] = (st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns, st.st_ctime_ns, st.st_ino, what)
    return seen


def changed(bundle, **parts):
    whole = json.loads((bundle / "config.json").read_text())
    for key, value in parts.items():
        whole[key] = whole[key] + value if isinstance(value, list) else value
    (bundle / "config.json").write_text(json.dumps(whole))
    return bundle


def test_what_it_writes_is_not_the_hosts(pod):
    bundle = made(pod, *FOREVER, **joining(pod))
    before = tree(bundle / "rootfs")
    begin(pod, bundle, "one")
    script = ("stat -c '%a %u %g' /; rm /etc/gone; echo more >>/etc/changed; stat -c '%a %u %g' /etc/changed; chmod 600 /bin/su; mv /dir /moved; "
              "mkdir -p /new/deep; echo new >/new/deep/file; ln /etc/changed /linked; echo x >/etc/gone; rm /etc/gone; rm -r /tmp; mkdir /tmp; sync")
    assert pod("exec", "one", "sh", "-ec", script, check=0).stdout == "751 5 6\n644 7 8\n"
    # Another command sees the root as it was left.
    script = "cat /etc/changed /moved/below/file /new/deep/file /linked; ls -d /dir /etc/gone; stat -c %a /bin/su; head -1 /proc/self/mounts"
    said = pod("exec", "one", "sh", "-c", script, check=0)
    assert said.stdout.startswith("of the host\nmore\nof the host\nnew\nof the host\nmore\n600\noverlay / overlay rw"), said.stdout
    assert said.stderr.count("No such file") == 2 and "microagent" not in said.stdout
    assert tree(bundle / "rootfs") == before
    # Another container of the same root begins with the original files.
    pod("run", "-b", changed(bundle, process=bundles.config("sh", "-c", "cat /etc/gone && ls /new")["process"]), "two", check=1)
    pod("delete", "--force", "one", check=0)
    assert tree(bundle / "rootfs") == before


def test_two_of_a_pod(pod):
    """Each container has its own root, and works beside one whose root is the host's."""
    here, there = made(pod, "sh", "-ec", "echo 1 >/mine; ls /", **joining(pod)), made(pod, *FOREVER, **joining(pod))
    plain = made(pod, "sh", "-ec", "echo 3 >/kept; head -1 /proc/self/mounts", **joining(pod, **{"io.microagent.rootfs": "virtiofs"}))
    begin(pod, there, "there")
    pod("exec", "there", "touch", "/theirs", check=0)
    assert {"mine", "theirs"} & set(pod("run", "-b", here, "here", check=0).stdout.split()) == {"mine"}
    assert "/ virtiofs rw" in pod("run", "-b", plain, "plain", check=0).stdout
    assert (plain / "rootfs/kept").read_text() == "3\n"
    assert not (here / "rootfs/mine").exists() and not (there / "rootfs/theirs").exists()
    pod("delete", "--force", "there", check=0)


def test_a_read_only_root(pod):
    bundle = made(pod, "sh", "-c", "echo x >/file; echo x >>/etc/changed; ls -d /missing/*; cat /etc/gone", root={"readonly": True}, **joining(pod))
    changed(bundle, mounts=[{"destination": "/missing/place", "type": "tmpfs", "source": "t"}])
    before = tree(bundle / "rootfs")
    done = pod("run", "-b", bundle, "readonly", check=0)
    assert done.stdout == "/missing/place\nof the host\n" and done.stderr.count("Read-only file system") == 2
    assert tree(bundle / "rootfs") == before


def test_volumes_below(pod):
    """The volumes are the host's, and the directories that they are mounted on are not."""
    volume = pod.base / "volume"
    volume.mkdir()
    (volume / "one").write_text("one\n")
    bundle = made(pod, "sh", "-ec", "cat /data/deep/one /single; echo two >/data/deep/two; echo x >>/single || echo refused", **joining(pod))
    changed(bundle, mounts=[{"destination": "/data/deep", "type": "bind", "source": str(volume), "options": ["rbind", "rw"]},
                            {"destination": "/single", "type": "bind", "source": str(volume / "one"), "options": ["bind", "ro"]}])
    before = tree(bundle / "rootfs")
    assert pod("run", "-b", bundle, "volumes", check=0).stdout == "one\none\nrefused\n"
    assert (volume / "two").read_text() == "two\n" and tree(bundle / "rootfs") == before


def test_a_hostile_root(pod):
    outside = pod.base / "outside"
    outside.mkdir()
    bundle = made(pod, "sh", "-ec", "ls -d /link/x /up/y; echo z >/up/file; cat /up/file", **joining(pod))
    (bundle / "rootfs/link").symlink_to(outside)
    (bundle / "rootfs/up").symlink_to("../../../.." + str(outside))
    changed(bundle, mounts=[{"destination": place, "type": "tmpfs", "source": "t"} for place in ("/link/x", "/up/y")])
    before = tree(bundle / "rootfs")
    assert pod("run", "-b", bundle, "hostile", check=0).stdout == "/link/x\n/up/y\nz\n"
    assert list(outside.iterdir()) == [] and tree(bundle / "rootfs") == before


def test_a_guest_that_goes_behind_it(pod):
    """Its root is read-only for the machine too, outside of any container."""
    done = pod.in_the_guest("touch", f"{pod.seen('pod')}/own", name="pod")
    assert done.returncode == 1 and "Read-only file system" in done.stderr, done


def test_programs_that_are_another_users(pod):
    process = {**bundles.config()["process"], "user": {"uid": 1000, "gid": 1000}, "noNewPrivileges": False,
               "args": ["sh", "-c", "id -u; /bin/su -c 'id -u'"]}
    bundle = made(pod, process=process, **joining(pod))
    (bundle / "rootfs/etc/passwd").write_text("root::0:0:root:/:/bin/sh\nuser::1000:1000:user:/:/bin/sh\n")
    assert pod("run", "-b", bundle, "users", check=0).stdout == "1000\n0\n"


@pytest.mark.parametrize("what,fill", [("bytes", "dd if=/dev/zero of=/fill/1 bs=1M count=40"),
                                       ("files", "i=0; while : >/fill/$i; do i=$((i + 1)); done")])
def test_it_is_full(pod, what, fill):
    """The limit is half of its memory limit, in bytes or in files for as many pages. No container is killed for it."""
    name = f"full-{what}"
    bundle = made(pod, *FOREVER, **joining(pod, memory=32 << 20))
    begin(pod, bundle, name)
    done = pod("exec", name, "sh", "-c", f"mkdir /fill; {fill}")
    assert done.returncode != 0 and NO_SPACE in done.stderr, done
    done = pod("exec", name, "sh", "-c", "df -k / | grep overlay; ls /fill | wc -l; echo x >>/etc/changed || echo full; rm -r /fill; echo x >/again && cat /etc/changed")
    total, used = done.stdout.split()[1:3]
    assert int(total) == 16 << 10 and (int(used) == 16 << 10) == (what == "bytes"), done.stdout
    assert done.stdout.endswith("full\nof the host\n"), done
    assert (pod.status(name), pod.status("pod")) == ("running", "running")
    pod("delete", "--force", name, check=0)


def test_a_machine_of_its_own_is_full(oci):
    """The limit is half of all memory, in the smallest machine."""
    oci.started(*FOREVER, annotations=OVERLAY | {"io.microagent.memory-mib": "128"})
    done = oci("exec", "c", "dd", "if=/dev/zero", "of=/fill", "bs=1M", "count=128")
    assert done.returncode == 1 and NO_SPACE in done.stderr, done
    assert oci("exec", "c", "sh", "-c", "rm /fill; echo x >/more; cat /more", check=0).stdout == "x\n"
    assert oci.status() == "running"
    oci("delete", "--force", "c", check=0)


@pytest.mark.parametrize("word", ["ext4", "", "Overlay"])
def test_a_word_that_is_none(oci, word):
    assert oci("create", "-b", oci.bundle(*FOREVER, annotations={"io.microagent.rootfs": word}), "c").returncode == 1
    assert oci.last_error().split(": ", 1)[1].startswith(f"annotations.io.microagent.rootfs {word} is not supported")
    assert not (oci.root / "c").exists()
