# SPDX-License-Identifier: MIT
"""Kernels and images come from Debian's archives. Tests the messages if the archives cannot be reached, or lack a package."""

import json
import os
import subprocess

import pytest

import test_kernel_image
from conftest import BIN

cache = test_kernel_image.cache
TAKES_A_FILE = "--from FILE takes a package that is here"
foreign = pytest.mark.skipif(os.uname().machine == "aarch64", reason="this host is arm64 itself, and has lists of its own")


def test_apt_without_lists_says_what_to_do(host, cache):
    lists = host.base / "lists"
    (lists / "partial").mkdir(parents=True)
    config = host.base / "apt.conf"
    config.write_text(f'Dir::State::lists "{lists}";\nDir::State::status "/dev/null";\n'
                      'Dir::Cache::pkgcache "";\nDir::Cache::srcpkgcache "";\n')
    for words in (("kernel", "install"), ("kernel", "build")):
        answer = host.json(*words, check=1, env={"APT_CONFIG": str(config)})
        assert answer["errorCode"] == "not-found"
        assert "apt-get update" in answer["error"] and answer["hint"] == TAKES_A_FILE


@foreign
def test_archives_that_are_not_reached_are_told_as_such(host, cache):
    """The message has apt's own words. If the command has an option for a local file, the message names the option."""
    unshare = ["unshare", "-n"] if os.getuid() == 0 else ["unshare", "-rn"]
    builders = [(words, subprocess.Popen([*unshare, BIN / "microagent", "--json", *words, "--arch", "arm64"], env=host.env,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE))
                for words in (("kernel", "install"), ("image", "build", "busybox"))]
    for words, child in builders:
        out, err = child.communicate(timeout=120)
        assert child.returncode == 1, (out, err)
        answer = json.loads(out)
        assert (answer["errorCode"], answer["errorReason"]) == ("io", "no-package")
        assert "the lists of packages for arm64 cannot be fetched: apt-get failed" in answer["error"] and "E: Some index files failed to download" in answer["error"]
        assert answer.get("hint") == (TAKES_A_FILE if words[0] == "kernel" else None) and "--from" not in answer["error"]
    test_kernel_image.assert_nothing_half(cache)


def test_a_name_is_no_pattern(host, cache):
    """apt takes a name that it does not know for a pattern. As a pattern "linux-source-6.1" also matches another package."""
    tools = host.base / "tools"
    tools.mkdir()
    (tools / "apt-cache").write_text('#!/bin/sh\n[ "$1" = depends ] && echo "  Depends: linux-source-6.1" || printf "Package: %s\\nVersion: 6.12.1-1\\n" '
                                     'linux-source-6.12\n')
    (tools / "apt-cache").chmod(0o755)
    answer = host.json("kernel", "build", check=1, env={"PATH": f"{tools}:{os.environ['PATH']}"})
    assert (answer["errorReason"], answer["errorSubject"]) == ("no-package", "linux-source-6.1")
    assert not list((cache / "tmp").iterdir())


@foreign
def test_a_package_that_no_archive_has_is_told(host, cache):
    tools = host.base / "tools"
    tools.mkdir()
    for name, code in (("apt-get", 0), ("apt-cache", 100)):
        (tools / name).write_text(f"#!/bin/sh\necho 'E: No packages found' >&2\nexit {code}\n")
        (tools / name).chmod(0o755)
    env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    for words, package, hint in ((("kernel", "install"), "linux-image-cloud-arm64", TAKES_A_FILE), (("image", "build", "busybox"), "busybox-static", None)):
        answer = host.json(*words, "--arch", "arm64", check=1, env=env)
        assert (answer["errorCode"], answer["errorReason"], answer["errorSubject"]) == ("not-found", "no-package", package)
        assert answer["error"].endswith(f"the archives in apt's sources have no package {package} for arm64: add an archive that has it")
        assert answer.get("hint") == hint
