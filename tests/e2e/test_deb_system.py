# SPDX-License-Identifier: MIT
"""Builds, installs, upgrades and purges the Debian packages, in systems that are made for it."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import pytest

import packages
from conftest import ROOT, default_kernel, image, make_host
from packages import NEXT, VERSION, System, export, run

pytestmark = [pytest.mark.soak, pytest.mark.skipif(os.geteuid() != 0, reason="mounts, and becomes another user")]
# Of two builds each has its own place.
PLACES = {"one": {"TZ": "UTC", "LC_ALL": "C", "HOME": "/root", "DEB_BUILD_OPTIONS": "parallel=2"},
          "another/and/deeper": {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "HOME": "/nowhere", "DEB_BUILD_OPTIONS": "parallel=1"}}


@contextlib.contextmanager
def made_of(tar):
    place = Path(tempfile.mkdtemp(prefix="s-"))
    it = None
    try:
        it = System(tar, place / "root")
        yield it
    finally:
        if it:
            it.end()
        shutil.rmtree(place)


@pytest.fixture(scope="module")
def fresh():
    with tempfile.TemporaryDirectory(prefix="f-") as place:
        packages.bootstrap(Path(place) / "fresh.tar")
        yield Path(place) / "fresh.tar"


@pytest.fixture(scope="module")
def builder(fresh):
    """A system with the build dependencies of debian/control, and with lintian. Both builds are in it."""
    with made_of(fresh) as system:
        system.install("build-essential", "fakeroot", "lintian")
        inside = {name: f"/build/{name}/microagent-{VERSION}" for name in PLACES}
        for path in inside.values():
            export(system.root / path[1:])
        system(f"apt-get -q -y --no-install-recommends build-dep {inside['one']}")
        for name, env in PLACES.items():
            words = " ".join(f"{key}='{value}'" for key, value in env.items())
            system(f"cd {inside[name]}; umask {'022' if name == 'one' else '002'}; env {words} dpkg-buildpackage -us -uc")
        yield system


@pytest.fixture(scope="module")
def debs(builder):
    return packages.by_package(builder.root / "build" / "one")


def test_two_builds_are_the_same(builder):
    places = [(builder.root / "build" / name) for name in PLACES]
    names = [{path.name for path in place.glob("*.*") if path.suffix in (".deb", ".dsc", ".xz")} for place in places]
    assert names[0] == names[1] and len(names[0]) >= 4 + 2
    differ = [name for name in sorted(names[0]) if (places[0] / name).read_bytes() != (places[1] / name).read_bytes()]
    assert not differ


def test_lintian_has_nothing_to_say(builder):
    said = builder("cd /build/one; lintian --pedantic --fail-on error,warning --allow-root *.changes")
    assert not [line for line in said.splitlines() if line[:2] in ("E:", "W:")], said


PYTHON = """{} -c 'import microagent; print(microagent.run("id -un", network="isolated").text, end="")'"""


def cache_for(system, user):
    """Puts the tests' kernel and image into the user's own cache."""
    host = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    kernel, disk = Path(default_kernel(host)["path"]), Path(image(host, "busybox")["path"])
    shutil.rmtree(host.base)
    cache = system.root / "home" / user / ".cache" / "microagent"
    for folder, path in (("kernels", kernel), ("images", disk)):
        (cache / folder).mkdir(parents=True)
        for part in (path, *(path.with_suffix(end) for end in (".json",)), *path.parent.glob(f"{path.name}.*")):
            if part.exists():
                run("cp", "--sparse=always", part, cache / folder)
    shutil.copy(kernel.parent.parent / ".microagent-cache", cache)
    system(f"chown -R {user}:{user} /home/{user}/.cache")


def files_of_ours(system):
    return set(system("find / -xdev -name '*microagent*' -not -path '/home/*' -not -path '/debs*' -not -path '/proc/*'").split())


@pytest.fixture
def system(fresh, debs):
    with made_of(fresh) as it:
        it.put(debs.values(), "debs")
        yield it


def test_installed_used_upgraded_and_purged(system, debs, tmp_path):
    system.put(packages.next_of(debs, tmp_path).values(), "debs/next")
    before = files_of_ours(system)
    system.install("/debs/*.deb")
    system("useradd --create-home --shell /bin/sh someone")
    cache_for(system, "someone")
    system.user("microagent kernel refresh; microagent run -- true")
    assert system.user("microagent run -- id -un 2>/dev/null") == "agent\n"
    assert f"microagent {VERSION}" in system.user("microagent --version")
    assert system.user(PYTHON.format("python3")) == "agent\n"
    # Nobody says where the programs are, and they are not beside this one.
    system("cp $(readlink -f /usr/bin/python3) /opt/python3")
    assert system.user(PYTHON.format("env -i HOME=$HOME /opt/python3")) == "agent\n"
    system.user("set -e; mkdir -m 700 work given; microagent create box --memory 256 --cpus 1 --share $PWD/work:/work; microagent start box;"
                "microagent base create web; microagent base warm web; microagent session create --base web >session;"
                "microagent session snapshot $(cat session) early")
    system.install("/debs/next/*.deb")
    assert f"microagent {NEXT}" in system.user("microagent --version")
    said = system.user("set -e; microagent status box; microagent exec box -- touch /work/by-the-next; S=$(cat session);"
                       "microagent session fork $S --count 2; microagent session restore $S early; microagent session share $S $PWD/given;"
                       "microagent session exec $S -- touch /workspace/by-the-next; microagent quarantine box; microagent status box;"
                       "microagent halt box; microagent delete box; ls work given; microagent kernel refresh; microagent run -- echo anew;"
                       "microagent session destroy --all; microagent base delete web-v1")
    assert said.count("by-the-next") == 2 and "quarantined" in said and "\nanew\n" in said, said
    names = " ".join(debs)
    # A machine also outlives the package.
    system.user("microagent create last --memory 256; microagent start last")
    system(f"apt-get -q -y purge {names}")
    assert files_of_ours(system) == before
    system.install("/debs/next/*.deb")
    system.user("microagent exec last -- true && microagent stop last && microagent delete last")
    system(f"apt-get -q -y purge {names}")
    assert files_of_ours(system) == before


def test_a_program_of_the_library(system):
    """A program is compiled in a system that has the development package, with the words of pkg-config."""
    system.install("/debs/*.deb", "gcc", "libc6-dev", "pkgconf")
    for words in ("", "--static"):
        system(f"cd /root; gcc -o exec /usr/share/doc/libmicroagent-dev/examples/exec.c $(pkg-config {words} --cflags --libs microagent); ldd exec")
    assert "libmicroagent.so.0" in system("ldd /root/exec")


def test_the_packages_own_test(system):
    """Runs debian/tests/run as a new user, with only the packages and the archive."""
    system.put([ROOT / "debian" / "tests" / "run"], "root")
    needs = next(line for line in (ROOT / "debian" / "tests" / "control").read_text().splitlines() if line.startswith("Depends:"))
    system.install("/debs/*.deb", needs.removeprefix("Depends: microagent,").replace(",", " "))
    system("sh -x /root/run")
