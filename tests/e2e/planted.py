# SPDX-License-Identifier: MIT
"""Programs that a guest has put into the working directory of its user, so that they may be run instead of the host's."""

PROGRAMS = ("apt-cache", "apt-get", "busybox", "bwrap", "curl", "depmod", "dpkg", "dpkg-deb", "e2fsck", "microagent",
            "microagent-artifact", "microagent-qemu-supervisor", "mke2fs", "newgidmap", "newuidmap", "nice", "passt", "python3", "qemu-system-aarch64",
            "qemu-system-x86_64", "sh", "skopeo", "tar", "true", "unshare", "xz")


def plant(directory):
    """Each leaves the file "ran" beside itself."""
    directory.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        (directory / program).write_text(f"#!/bin/sh\n: >{directory}/ran\nexit 1\n")
        (directory / program).chmod(0o755)
