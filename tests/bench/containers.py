# SPDX-License-Identifier: MIT
"""Containers to compare our machines with: `runc run`, and `ctr run` with a containerd that has its own root, state and socket."""

import contextlib
import json
import os
import shutil
import subprocess
import sys

from harness import ROOT, running, wait_for

sys.path.append(str(ROOT / "tests/e2e"))
import oci

IMAGE = "docker.io/library/bench:1"


def lacking(*programs):
    """Returns what is missing on this host, or ""."""
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        return f"{', '.join(missing)} is not installed (scripts/install-packages.sh bench)"
    return "" if os.geteuid() == 0 else "it needs root"


def runc(base, rootfs):
    """Runs `runc run` of /bin/true in these files."""
    bundle = base / "runc-bundle"
    bundle.mkdir()
    subprocess.run(["runc", "spec"], cwd=bundle, check=True)
    spec = json.loads((bundle / "config.json").read_text())
    spec["process"] |= {"terminal": False, "args": ["/bin/true"]}
    spec["root"]["path"] = str(rootfs)
    (bundle / "config.json").write_text(json.dumps(spec))
    words = ["runc", "--root", base / "runc", "run", "--bundle", bundle]

    def run():
        subprocess.run([*words, f"bench-{os.getpid()}"], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return run


def busybox_files(base):
    target = base / "busybox"
    (target / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), target / "bin/busybox")
    for name in ("true", "sh"):
        os.symlink("busybox", target / "bin" / name)
    return target


CONFIG = """version = 2
root = "{0}/root"
state = "{0}/run"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "{0}/socket"
"""


def image(path):
    program = open(shutil.which("busybox"), "rb").read()
    files = oci.layer(oci.directory("bin"), oci.file("bin/busybox", program, mode=0o755), oci.symlink("bin/true", "busybox"))
    return oci.docker_archive(path, [files], {"Cmd": ["/bin/true"]}, name=IMAGE)


@contextlib.contextmanager
def ctr(base):
    """Runs `ctr run --rm` of /bin/true in an image of busybox. Further words choose the runtime."""
    place = base / "containerd"
    place.mkdir()
    (place / "config.toml").write_text(CONFIG.format(place))
    words, count = ["ctr", "--address", place / "socket"], 0

    def quiet(*more):
        subprocess.run([*words, *more], check=True, stdin=subprocess.DEVNULL, capture_output=True)

    def run(*options):
        nonlocal count
        count += 1
        quiet("run", "--rm", *options, IMAGE, f"bench-{count}", "/bin/true")

    with open(place / "log", "wb") as log, running(["containerd", "--config", place / "config.toml"], stdout=log, stderr=log):
        wait_for((place / "socket").exists, "containerd")
        quiet("images", "import", image(place / "image.tar"))
        run()  # unpacks what is not unpacked yet, and fills caches
        yield run
