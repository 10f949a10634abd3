# SPDX-License-Identifier: MIT
"""Mounts below a shared directory. A mount that existed when the directory was shared is part of it. A later mount is
the host's only."""

import subprocess
from pathlib import Path


def inside(broker, *words):
    """Returns where a machine's programs see files: in the mount namespace of its broker."""
    subprocess.run(["nsenter", "--mount", "--target", str(broker), *words], check=True)


def own_mount(uid, path):
    """Returns the line of a shell. It makes path a mount that tells its copies of later mounts, as every mount does
    under systemd, with a mount below it."""
    before = path / "before"
    before.mkdir()
    return (f"mount --bind {path} {path} && mount --make-shared {path} && "
            f"mount -t tmpfs -o mode=755,uid={uid},gid={uid} before {before} && echo before > {before}/marker")


def check_mounts(say, broker, servers, path, at, writable):
    """say(line, user, code) returns the output of a line in the guest. path is shared at `at`."""
    assert say(f"cat {at}/before/marker", "agent", 0) == "before\n"
    wrote = say(f"mount -o remount,rw {at} 2>&1; touch {at}/before/x 2>&1 && rm {at}/before/x && echo written", "root",
                0 if writable else 1)
    assert ("written" in wrote) == writable, wrote
    (path / "later").mkdir()
    inside(broker, "mount", "-t", "tmpfs", "later", path / "later")
    inside(broker, "mkdir", "-m", "777", path / "later" / "of-the-host")
    assert say(f"ls -A {at}/later", "agent", 0) == ""
    inside(broker, "umount", path / "later")
    (path / "later").rmdir()
    for server in servers:
        mounts = [line.split(" - ")[0].split() for line in Path(f"/proc/{server}/mountinfo").read_text().splitlines()]
        assert [mount[4] for mount in mounts] == ["/", "/before"], mounts  # as these programs see them
        assert not any(mount[6:] for mount in mounts), mounts  # it neither gets nor gives mounts
        assert {"ro" in mount[5].split(",") for mount in mounts} == {not writable}, mounts
