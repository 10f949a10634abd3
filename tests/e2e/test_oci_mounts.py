# SPDX-License-Identifier: MIT
"""Tests the mounts of a container against the host kernel's own file systems. root in a container changes no setting of
the host, wherever and whenever the host has mounted such a file system."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

import bundles

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="containers of engines are root's")
FOREVER = ("sleep", "1000")
SETTING = Path("/proc/sys/kernel/printk_ratelimit")
HANDLER = ":microagent-test:M::MICROAGENT-TEST::/bin/false:"


@pytest.fixture
def oci(request):
    it = bundles.Runtime(Path(tempfile.mkdtemp(prefix="o-")))
    yield it
    it.close(not getattr(request.node, "failed", False))


@pytest.fixture
def setting():
    """A setting's value, and the value that it must not get."""
    was = SETTING.read_text()
    yield was, str(int(was) + 1)
    now = SETTING.read_text()
    SETTING.write_text(was)
    assert now == was


@pytest.fixture
def mount(request):
    def mount(*words):
        point = Path(words[-1])
        if not point.exists():
            point.mkdir(parents=True)
        subprocess.run(["mount", *map(str, words)], check=True)
        request.addfinalizer(lambda: subprocess.run(["umount", "--lazy", str(point)], check=True))
    return mount


def volume(source, *options):
    return [*bundles.config()["mounts"], {"destination": "/m", "type": "bind", "source": str(source), "options": ["rbind", *options]}]


def kernels(mount, at):
    """Mounts file systems of the kernel, and single files of them, below a directory, as a chroot tree and a host's
    root have them."""
    mount("-t", "proc", "proc", at / "proc")
    mount("-t", "sysfs", "sysfs", at / "sys")
    mount("--rbind", "/dev", at / "dev")
    subprocess.run(["mount", "--make-rprivate", at / "dev"], check=True)
    (at / "one").touch()
    mount("--bind", SETTING, at / "one")
    mount("-t", "tmpfs", "tmpfs", at / "tmp")
    (at / "tmp" / "file").write_text("of the host\n")


def attack(to):
    """Tries what each of them would change. Returns what is seen below."""
    return (f"for it in {{m}}/proc/sys/kernel/{SETTING.name} {{m}}/one {{m}}/proc/../proc/sys/kernel/{SETTING.name}; do "
            f"echo {to} >$it && echo WRITTEN $it; done 2>/dev/null; "
            "mknod {m}/dev/forged c 1 3 2>/dev/null && echo FORGED; echo {m}/proc/* {m}/sys/* {m}/dev/* {m}/one/*; "
            "ls -a {m}/proc/.. {m}/dev/.. | grep -E 'usr|share' && echo OUT; ls {m}; cat {m}/tmp/file; touch {m}/new && echo MADE")


def nothing_but_files(said, at="/m"):
    lines = said.splitlines()
    assert lines[0] == f"{at}/proc/* {at}/sys/* {at}/dev/* {at}/one/*", said
    assert set(lines[1:]) - {"new"} == {"dev", "one", "proc", "sys", "tmp", "of the host", "MADE"}, said
    assert not Path("/dev/forged").exists()


def test_the_hosts_kernel_below_a_volume(oci, setting, mount):
    """A container sees all of a tree with /proc in it except /proc, and so does root of the guest."""
    tree = oci.base / "tree"
    kernels(mount, tree)
    mounts = volume(tree, "rw")
    oci.started(*FOREVER, mounts=mounts)
    script = attack(setting[1])
    nothing_but_files(oci("exec", "c", "sh", "-c", script.replace("{m}", "/m")).stdout)
    there = f"{oci.seen().removesuffix('rootfs')}{len(mounts) - 1}"
    script = f"PATH={oci.seen()}/bin; " + script.replace("{m}", there)
    nothing_but_files(oci.in_the_guest("sh", "-c", script).stdout, there)
    assert (tree / "new").exists() and SETTING.read_text() == setting[0]
    oci("delete", "--force", "c", check=0)


def test_the_hosts_kernel_below_a_root(oci, setting, mount):
    bundle = oci.bundle("sh", "-c", attack(setting[1]).replace("{m}", "/m"))
    kernels(mount, bundle / "rootfs" / "m")
    nothing_but_files(oci("run", "-b", bundle, "c").stdout)


def test_the_hosts_kernel_mounted_below_a_volume_later(oci, setting, mount):
    """Mounts on a directory that the guest has not looked at yet, on one that it has, and on the volume itself."""
    tree = oci.base / "tree"
    for name in ("known", "unknown"):
        (tree / name).mkdir(parents=True)
    mount("--bind", tree, tree)
    subprocess.run(["mount", "--make-shared", tree], check=True)
    oci.started(*FOREVER, mounts=volume(tree, "rw"))
    oci("exec", "c", "sh", "-c", "cd /m/known && touch file", check=0)
    for name in ("known", "unknown", "."):
        mount("-t", "proc", "proc", tree / name)
        # The guest keeps a name for a second.
        script = (f"sleep 2; for i in 1 2 3; do echo {setting[1]} >/m/{name}/sys/kernel/{SETTING.name}; done 2>/dev/null; cd /m/{name} && ls; "
                  "ls /m/known /m/unknown")
        said = oci("exec", "c", "sh", "-c", script).stdout
        assert "sys" not in said and "kcore" not in said, said
        assert SETTING.read_text() == setting[0]
    oci("delete", "--force", "c", check=0)


def test_handlers_of_programs_are_not_the_containers(oci, mount):
    """binfmt_misc, as the volume and below it: a program that writes there makes the host execute any program."""
    if "binfmt_misc" not in Path("/proc/filesystems").read_text():
        pytest.skip("the host's kernel has no binfmt_misc")
    tree = oci.base / "tree"
    mount("-t", "binfmt_misc", "binfmt_misc", tree / "formats")
    assert oci("create", "-b", oci.bundle(*FOREVER, mounts=volume(tree / "formats", "rw")), "c").returncode == 1
    assert "is not supported: it gives access to the host's kernel" in oci.last_error()
    handler = tree / "formats" / HANDLER.split(":")[1]
    try:
        said = oci.run("sh", "-c", f"echo '{HANDLER}' >/m/formats/register; ls -a /m/formats", mounts=volume(tree, "rw"))[1]
        assert not handler.exists() and said.split() == [".", ".."], said
    finally:
        if handler.exists():
            handler.write_text("-1")


def test_a_root_that_is_the_hosts_kernels(oci, setting, mount):
    mount("-t", "proc", "proc", oci.base / "proc")
    for path in ("/proc", "/sys", "/dev", str(oci.base / "proc/sys")):
        bundle = oci.bundle(*FOREVER)
        whole = json.loads((bundle / "config.json").read_text())
        whole["root"]["path"] = path
        (bundle / "config.json").write_text(json.dumps(whole))
        assert oci("create", "-b", bundle, "c").returncode == 1
        assert oci.last_error().startswith("root.path is not supported: it gives access to the host's kernel"), oci.last_error()
