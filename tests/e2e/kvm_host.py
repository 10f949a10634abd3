# SPDX-License-Identifier: MIT
"""The KVM of this host, for tests whose machines run Linux under it (`make test ACCEL=kvm` and the stage kvm). They
need a device node that a machine's user may open, and a kernel that this KVM runs. Every KVM but a paravirtual one
runs the kernels of the cache. MICROAGENT_KVM_KERNEL names the vmlinux of another kernel. Then that is the only one
in a cache of the tests' own."""

import contextlib
import grp
import json
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

NUMBER = os.makedev(10, 232)  # MISC_MAJOR and KVM_MINOR of Linux
PARAVIRTUAL = Path("/sys/module/kvm_pvm")
# A KVM that emulates whatever is not the named kernel is slow in the firmware, ...
BOOT_PATIENCE = {"MICROAGENT_TEST_LIMIT_BOOT_KVM_MS": "60000"}
# ... and in the probe's loop, which does not count for that kernel. With these the loop ends.
LOOP_PATIENCE = {"MICROAGENT_TEST_LIMIT_PROBE_LOOP_MS": "60000", "MICROAGENT_TEST_LIMIT_PROBE_MS": "90000"}
# The variable says that the kernel is built for this KVM.
INSTALL = ["kernel", "install", *(["--for-pvm"] if PARAVIRTUAL.exists() else [])]
# Where the tests of the stage find a kernel that is not built for this KVM.
OWN_CACHE = "MICROAGENT_TEST_OWN_CACHE"


class NoKvm(Exception):
    """No Linux runs under KVM here; the text says why."""


class KernelRefused(Exception):
    """The kernel that MICROAGENT_KVM_KERNEL names cannot be installed."""


def named_kernel():
    """The kernel that MICROAGENT_KVM_KERNEL names, or None."""
    name = os.environ.get("MICROAGENT_KVM_KERNEL")
    return Path(name).resolve() if name else None


def runs_named_kernel_alone():
    """The tests' machines run under KVM, and the cache has no kernel but the named one."""
    return os.environ.get("ACCEL") == "kvm" and named_kernel() is not None


def or_stalled():
    """Causes of a hang that are no fault of ours."""
    return ", or the test kernel stalled, which MICROAGENT_KVM_KERNEL names" if runs_named_kernel_alone() else ""


def find_node(place):
    """Returns a KVM node that a machine's user may open, or why there is none. The mode of /dev/kvm is not changed. If
    only root may open it, root makes a node in the directory. The node belongs to the group kvm if there is such a
    group."""
    node = Path("/dev/kvm")
    if os.geteuid() != 0:
        return node if os.access(node, os.R_OK | os.W_OK) else "/dev/kvm is not this user's to open"
    with contextlib.suppress(OSError):
        found = node.stat()
        if found.st_gid or found.st_mode & 0o006 == 0o006:
            os.close(os.open(node, os.O_RDWR))
            return node
    return make_node(place / "kvm", 0o660 if kvm_group() else 0o666)


def kvm_group():
    """Returns the number of the group kvm; 0 if there is none."""
    with contextlib.suppress(KeyError):
        return grp.getgrnam("kvm").gr_gid
    return 0


def make_node(node, mode, group=None):
    """Makes the node as root. Returns its path, or why KVM does not open by it."""
    try:
        os.mknod(node, stat.S_IFCHR | 0o600, NUMBER)
        os.chown(node, 0, kvm_group() if group is None else group)
        os.chmod(node, mode)
        os.close(os.open(node, os.O_RDWR))
    except OSError as why:
        return f"KVM does not open: {why.strerror}"
    return node


def make_cache(place, programs, images):
    """Makes a cache with the named kernel, with the user's own files for arm64, and with the images that match the
    patterns. Returns the user's own cache."""
    listed = subprocess.run([programs / "microagent", "--json", "image", "list"], capture_output=True, check=True)
    own = Path(json.loads(listed.stdout)["images"][0]["path"]).parent.parent
    cache = place / "microagent"
    env = {**os.environ, "XDG_CACHE_HOME": str(place), "MICROAGENT_CACHE_DIR": ""}
    words = [*INSTALL, "--from", named_kernel(), "--name", "kvm"]
    done = subprocess.run([programs / "microagent", *words], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KernelRefused(f"MICROAGENT_KVM_KERNEL={named_kernel()}: {done.stderr.strip()}")
    (cache / "images").mkdir(mode=0o700, exist_ok=True)
    for part, patterns in (("images", images), ("kernels", ("*-arm64*",))):
        files = sorted(file for pattern in patterns for file in (own / part).glob(pattern))
        if files:
            subprocess.run(["cp", "-p", "--sparse=always", "--reflink=auto", *files, cache / part], check=True)
    return own


@contextlib.contextmanager
def prepared(programs, images):
    """The environment of tests whose machines run Linux under KVM. Raises NoKvm and KernelRefused."""
    place = Path(tempfile.mkdtemp(prefix="ma-kvm-"))
    place.chmod(0o755)
    env = {"ACCEL": "kvm"}
    try:
        if PARAVIRTUAL.exists() and not named_kernel():
            raise NoKvm("the KVM here is the paravirtual kvm_pvm, which runs a kernel that is built for it alone, and "
                        "MICROAGENT_KVM_KERNEL names none")
        if "MICROAGENT_TEST_KVM" not in os.environ:
            node = find_node(place)
            if isinstance(node, str):
                raise NoKvm(node)
            env["MICROAGENT_TEST_KVM"] = str(node)
        if named_kernel():
            env[OWN_CACHE] = str(make_cache(place / "cache", programs, images))
            env.update({key: value for key, value in BOOT_PATIENCE.items() if key not in os.environ})
            env.update({"XDG_CACHE_HOME": str(place / "cache"), "MICROAGENT_CACHE_DIR": ""})
        told = subprocess.run([programs / "microagent-qemu-supervisor"], input=b'{"command":"host"}', env={**os.environ, **env},
                              capture_output=True, check=True)
        facts = json.loads(told.stdout)["host"]
        if not facts["kvmAvailable"]:
            raise NoKvm(facts["acceleratorReason"])
        yield env
    finally:
        shutil.rmtree(place, ignore_errors=True)
