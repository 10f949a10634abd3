# SPDX-License-Identifier: MIT
"""A directory in that of another user, who replaces a part of its path."""

import os

import pytest

EVIL = 4242


def owned(path):
    os.chown(path, EVIL, EVIL, follow_symlinks=False)
    return path


class Exchanged:
    """Makes `way`, in a home of that user, and `victim`, which the user may not even look into. The caller, who is
    root, makes the contents of both."""

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
        return f"{self.way} is a link that user {EVIL} owns, who could make it lead to another place: name the target of the link"

    def put_back(self):
        self.way.unlink()
        self.kept.rename(self.way)
