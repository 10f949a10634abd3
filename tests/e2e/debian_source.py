# SPDX-License-Identifier: MIT
"""Source trees of Debian's packages, as upstream published them. apt fetches each once, with a source list and a state
of our own, and it stays below build/. Later runs need no network."""

import errno
import os
import subprocess
import tempfile
from pathlib import Path

from conftest import ROOT

KEEP = ROOT / "build" / "sources"
SUITE = "bookworm"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def archive_uri():
    """Returns the mirror of Debian that apt is configured with."""
    told = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(CODENAME)|$(REPO_URI)", "Created-By: Packages"],
                          capture_output=True, text=True, check=True).stdout.splitlines()
    return next((line.split("|")[2] for line in told if line.startswith(f"Debian|{SUITE}|")), "http://deb.debian.org/debian")


def fetch(package, into):
    """apt checks the archive's signature of what it fetches."""
    with tempfile.TemporaryDirectory(dir=KEEP) as own:
        for part in ("state/lists/partial", "cache/archives/partial"):
            Path(own, part).mkdir(parents=True)
        Path(own, "sources.list").write_text(f"deb-src [signed-by={KEYRING}] {archive_uri()} {SUITE} main\n")
        apt = ["apt-get", "-qq", "-o", f"Dir::State={own}/state", "-o", "Dir::State::status=/var/lib/dpkg/status",
               "-o", f"Dir::Cache={own}/cache", "-o", f"Dir::Etc::sourcelist={own}/sources.list",
               "-o", "Dir::Etc::sourceparts=/dev/null", "-o", "APT::Sandbox::User=root",
               "-o", "APT::Update::Error-Mode=any"]
        for words in (["update"], ["source", "--download-only", package]):
            done = subprocess.run([*apt, *words], cwd=into, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"apt-get {' '.join(words)}: {done.stderr}"


def upstream_archive(package):
    """Returns the upstream .tar of a source package, and fetches it if it is not there."""
    there = KEEP / package
    if not there.exists():
        KEEP.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEEP) as fresh:
            whole = Path(fresh, package)
            whole.mkdir()
            fetch(package, whole)
            try:
                os.rename(whole, there)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):  # another process has fetched it meanwhile
                    raise
    return next(there.glob(f"{package}_*.orig.tar.*"))


def unpack(package, into):
    """Makes a fresh tree of the package in `into`. The files are the caller's."""
    into.mkdir()
    subprocess.run(["tar", "-xf", upstream_archive(package), "-C", into, "--strip-components=1", "--no-same-owner"],
                   check=True)
    return into
