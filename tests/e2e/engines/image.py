# SPDX-License-Identifier: MIT
"""The image of the containers: busybox, two users and a few files. umoci makes it, and the build folder keeps it as an
archive that every engine reads."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from conftest import BUILD

NAME = "docker.io/library/microagent-test:latest"
PAUSE = "docker.io/library/microagent-pause:latest"  # for a pod: it goes on until it is killed
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n",
    "etc/group": "root:x:0:\nuser:x:1000:\nextra:x:2000:user\n",
    "etc/hostname": "of-the-image\n",
    "etc/motd": "a file of the image\n",
}
FOLDERS = ("bin", "dev", "etc", "home/user", "proc", "root", "sys", "tmp", "var/data")


def fill(root):
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    os.chown(root / "home/user", 1000, 1000)
    for name, text in FILES.items():
        (root / name).write_text(text)
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    for applet in subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")


def make(place, archive, pause):
    layout, bundle = place / "layout", place / "bundle"

    def umoci(*words):
        subprocess.run(["umoci", *map(str, words)], check=True, capture_output=True)
    umoci("init", "--layout", layout)
    umoci("new", "--image", f"{layout}:latest")
    umoci("unpack", "--image", f"{layout}:latest", bundle)
    fill(bundle / "rootfs")
    umoci("repack", "--image", f"{layout}:latest", bundle)
    umoci("config", "--image", f"{layout}:latest", "--config.env", "PATH=/bin", "--config.env", "OF_IMAGE=yes",
          "--config.cmd", "/bin/sh", "--config.workingdir", "/")
    umoci("config", "--image", f"{layout}:latest", "--tag", "pause", "--config.cmd", "/bin/sleep", "--config.cmd", "infinity")
    for tag, name, path in (("latest", NAME, archive), ("pause", PAUSE, pause)):
        subprocess.run(["skopeo", "--tmpdir", place, "copy", f"oci:{layout}:{tag}", f"docker-archive:{path}:{name}"], check=True,
                       capture_output=True)


def archives():
    """Returns the archives of the image and of the pods' image."""
    version = hashlib.sha256(Path(__file__).read_bytes() + Path(shutil.which("busybox")).read_bytes()).hexdigest()[:12]
    kept = BUILD / "engines" / version
    kept.parent.mkdir(parents=True, exist_ok=True)
    with open(kept.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            place = Path(tempfile.mkdtemp(prefix="image-"))
            try:
                (place / "made").mkdir()
                make(place, place / "made" / "image.tar", place / "made" / "pause.tar")
                shutil.copytree(place / "made", kept.with_suffix(".new"), dirs_exist_ok=True)
                kept.with_suffix(".new").rename(kept)
            finally:
                shutil.rmtree(place)
    return kept / "image.tar", kept / "pause.tar"
