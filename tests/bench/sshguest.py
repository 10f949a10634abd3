# SPDX-License-Identifier: MIT
"""A machine to compare with, which is reached by ssh. It has the same QEMU words, kernel, memory and debian image.
dropbear is in it, QEMU's user network has a forwarded port, and one connection of OpenSSH's client carries all
further calls (ControlMaster)."""

import os
import re
import shutil
import subprocess
import time

INIT = """#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev; $b mount -t ext4 /dev/vda /root
$b mount -t proc proc /root/proc; $b mount -t sysfs sys /root/sys; $b mount -t devtmpfs dev /root/dev
$b mkdir -p /root/dev/pts /root/etc/dropbear /root/root/.ssh; $b mount -t devpts pts /root/dev/pts
$b mount -t tmpfs tmp /root/tmp; $b mkdir -p /root/dev/shm; $b mount -t tmpfs shm /root/dev/shm
$b cp /key /root/root/.ssh/authorized_keys; $b chmod 700 /root/root /root/root/.ssh; $b cp /scp /root/usr/bin/scp
$b ip addr add 10.0.2.15/24 dev eth0; $b ip link set eth0 up; $b ip link set lo up
$b chroot /root /usr/bin/dropbearkey -t ed25519 -f /etc/dropbear/dropbear_ed25519_host_key
$b echo BENCH-READY
exec $b chroot /root /usr/sbin/dropbear -F -E -s -p 22
"""


def lacking():
    """Returns what is missing on this host, or ""."""
    for program in ("ssh", "scp", "ssh-keygen", "busybox", "cpio"):
        if not shutil.which(program):
            return f"{program} is not installed (scripts/install-packages.sh run bench)"
    return ""


def make_initrd(base):
    tree, target = base / "tree", base / "ssh.initrd"
    for name in ("bin", "dev", "root"):
        (tree / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
    shutil.copy(shutil.which("scp"), tree / "scp")  # needs only libc; the image has no ssh client
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", base / "id"], check=True)
    shutil.copy(base / "id.pub", tree / "key")
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    os.mknod(tree / "dev/console", 0o600 | 0o020000, os.makedev(5, 1))
    names = subprocess.run(["find", "."], cwd=tree, capture_output=True, check=True).stdout
    with open(target, "wb") as out:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, input=names, stdout=out, check=True)
    return target


def qemu_words(words, initrd, image, port):
    """words comes from bare_words() of run.py."""
    words = list(words)
    words[words.index("-initrd") + 1] = str(initrd)
    words[words.index("-append") + 1] = re.sub(r"\b(root|init|rdinit)=\S+ ?", "", words[words.index("-append") + 1])
    return words + ["-global", "virtio-mmio.force-legacy=false",
                    "-drive", f"file={image},format=raw,if=none,id=disk,snapshot=on", "-device", "virtio-blk-device,drive=disk",
                    "-netdev", f"user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22", "-device",
                    "virtio-net-device,netdev=n"]


class Ssh:
    """Calls of ssh over one open connection."""

    def __init__(self, base, port):
        self.options = ["-F", "none", "-i", base / "id", "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={base}/known",
                        "-o", "LogLevel=ERROR", "-o", f"ControlPath={base}/mux", "-o", "BatchMode=yes"]
        self.port = str(port)
        self.master = None

    def words(self, *command):
        return list(map(str, ["ssh", *self.options, "-p", self.port, "root@127.0.0.1", *command]))

    def __enter__(self):
        end = time.monotonic() + 60
        while subprocess.run([*self.words(), "-o", "ControlMaster=yes", "-o", "ControlPersist=yes", "-f", "-N"], check=False,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            if time.monotonic() > end:
                raise SystemExit("no ssh into the machine")
            time.sleep(0.2)
        return self

    def __exit__(self, *_):
        subprocess.run([*self.words()[:-1], "-O", "exit", "root@127.0.0.1"], check=False, capture_output=True)

    def __call__(self, *command, **kw):
        return subprocess.run(self.words(*command), check=True, capture_output=True, **kw).stdout

    def check(self):
        """Measures the client's own start and its message to the master, and nothing more."""
        subprocess.run([*self.words()[:-1], "-O", "check", "root@127.0.0.1"], check=True, capture_output=True)

    def copy(self, source, target):
        """Copies in the form that needs no sftp server in the guest."""
        subprocess.run(["scp", "-O", "-q", *map(str, self.options), "-P", self.port, str(source), f"root@127.0.0.1:{target}"],
                       check=True, capture_output=True)
