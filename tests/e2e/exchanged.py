# SPDX-License-Identifier: MIT
"""A directory in that of another user, who leads what goes through it elsewhere."""

import os

import pytest

EVIL = 4242


def owned(path):
    os.chown(path, EVIL, EVIL, follow_symlinks=False)
    return path


class Exchanged:
    """`way`, in a home of his, and `victim`, where he may not even look; what is in both is the caller's to make, root."""

    def __init__(self, base):
        if os.getuid() != 0:
            pytest.skip("files of another user are made by root alone")
        self.home, self.victim = base / "evil", base / "victim"
        self.way, self.kept = self.home / "d", self.home / "d2"
        for path in (self.home, self.way):
            path.mkdir()
            owned(path)
        self.victim.mkdir(mode=0o700)

    def lead_to_victim(self):
        self.way.rename(self.kept)
        self.way.symlink_to(self.victim)
        owned(self.way)
        return f"{self.way} is a link of user {EVIL}'s, who could have it lead elsewhere: name what it leads to"

    def put_back(self):
        self.way.unlink()
        self.kept.rename(self.way)
