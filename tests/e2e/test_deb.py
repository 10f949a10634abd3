# SPDX-License-Identifier: MIT
"""Tests the Debian packages, and machines that run while another version is installed. test_deb_system.py builds and
installs whole systems."""

import json
import os
import re
import shutil
import socket
import tempfile
from pathlib import Path

import pytest

import bundles
import packages
from conftest import ROOT, wait_until
from packages import NEXT, VERSION, run

NAMES = {"microagent", "microagent-oci", "libmicroagent0", "libmicroagent-dev", "python3-microagent"}


@pytest.fixture(scope="module")
def debs():
    with tempfile.TemporaryDirectory(prefix="d-") as place:
        yield packages.of_what_is_built(Path(place))


@pytest.fixture
def versions(debs, host):
    """A host whose programs are those of the packages. Returns it and the place of the next version."""
    host.bin = packages.extract(debs, host.base / "root")
    later = packages.extract(debs, host.base / "later")
    packages.make_next(later)
    return host, later


def test_what_is_in_them(debs):
    assert set(debs) == NAMES
    files = {name: run("dpkg-deb", "-c", deb) for name, deb in debs.items()}
    for name, deb in debs.items():
        assert f"/usr/share/doc/{name}/copyright" in files[name]
        assert run("dpkg-deb", "-f", deb, "Version").strip() == VERSION, "debian/changelog and the Makefile differ"
        # The installation does nothing and fetches nothing, except that triggers run the linker's cache and Python's
        # compiler.
        inside = run("sh", "-c", 'dpkg-deb --ctrl-tarfile "$0" | tar -t', deb)
        assert name == "python3-microagent" or not re.search("(pre|post)(inst|rm)", inside), inside
    everything = "\n".join(files.values())
    for stranger in ("vmlinux", "initrd", ".ext4", "microagent-init-arm64", "applevf", "hyperv"):
        assert stranger not in everything
    assert "/usr/bin/microagent-oci" not in files["microagent"] and "/usr/share/man/man5/" in files["microagent"]
    assert f"/dist-packages/microagent-{VERSION}.dist-info" in files["python3-microagent"], "python/pyproject.toml has another version"
    assert "/usr/bin/microagent-perf" in files["python3-microagent"] and "microagent-perf" not in files["microagent"]
    assert re.search(r"/usr/lib/[^/]+/libmicroagent\.so\.0\n?", files["libmicroagent0"])


def test_the_profile_for_apparmor():
    """Its own rule needs AppArmor 4; any parser reads the rest."""
    parser = shutil.which("apparmor_parser") or "/sbin/apparmor_parser"
    if not Path(parser).exists():
        pytest.skip("no apparmor_parser here")
    text = (ROOT / "debian" / "apparmor" / "microagent").read_text()
    assert "\n  userns,\n" in text and "\nabi <abi/4.0>,\n" in text
    if int(re.search(r"version (\d+)", run(parser, "--version"))[1]) < 4:
        text = text.replace("  userns,\n", "").replace("abi <abi/4.0>,\n", "")
    with tempfile.NamedTemporaryFile("w", suffix=".profile") as file:
        file.write(text)
        file.flush()
        run(parser, "--skip-kernel-load", "--skip-cache", file.name)
        listed = run(parser, "--names", "--skip-cache", file.name)
    assert "microagent\n" in listed
    # Each program of ours that makes namespaces, or has bwrap make them, is in the profile.
    named = set(re.search(r"microagent-\{([^}]*)\}", text)[1].split(","))
    assert named == {"artifact", "firecracker-supervisor", "netgate", "oci", "qemu-supervisor", "vsockd"}


def test_machines_go_on_when_another_version_is_installed(versions):
    host, later = versions
    shared = [host.base / name for name in ("work", "given")]
    for path in shared:
        path.mkdir()
    host("create", "box", "--memory", 256, "--cpus", 1, "--network", "nat", "--share", f"{shared[0]}:/work", check=0)
    host("start", "box", check=0)
    host("base", "create", "web", check=0)
    session = host("session", "create", "--base", "web", check=0).stdout.strip()
    packages.replace(host.bin, later)
    assert host("--version").stdout == f"microagent {NEXT}\n"
    assert host.json("status", "box")["event"]["state"] == "running"
    assert host("exec", "box", "--", "sh", "-c", "echo kept | tee /work/file", check=0).stdout == "kept\n"
    # A supervisor that goes on does not know the requests that the later version may send.
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(str(host.state / "box" / "control.sock"))
        control.sendall(b'{"command":"of-the-next"}\n')
        refused = json.loads(control.makefile().readline())["error"]
    assert refused == f"the live supervisor of this machine does not know the request of-the-next: stop the machine and start it again, because it was started by another version, microagent {VERSION}"
    host("session", "share", session, shared[1], check=0)
    host("session", "exec", session, "--", "sh", "-c", "echo given >/workspace/file", check=0)
    assert [(path / "file").read_text() for path in shared] == ["kept\n", "given\n"]
    host("quarantine", "box", check=0)
    status = host.json("status", "box")
    assert status["event"]["state"] == "quarantined" and "virtiofsd" in status["event"]["detail"], status
    host("halt", "box", check=0)
    # The kernel's initrd is still of the other version, and its agent still works.
    host("start", "box", check=0)
    assert host("exec", "box", "--", "cat", "/work/file", check=0).stdout == "kept\n"
    assert "from another build of microagent: `microagent kernel refresh`" in host("run", "--", "true", check=0).stderr
    for words in (("stop", "box"), ("delete", "box"), ("session", "destroy", session), ("base", "delete", "web-v1")):
        host(*words, check=0)


def test_machines_go_on_when_the_packages_are_removed(versions):
    host, later = versions
    host("create", "box", "--memory", 256, "--cpus", 1, check=0)
    host("start", "box", check=0)
    shutil.rmtree(host.bin)
    host.bin = later
    assert host("exec", "box", "--", "echo", "here", check=0).stdout == "here\n"
    host("stop", "box", check=0)
    host("delete", "box", check=0)


@pytest.mark.skipif(os.geteuid() != 0, reason="containers of engines are root's")
def test_containers_go_on_when_another_version_is_installed(versions, request):
    host, later = versions
    oci = bundles.Runtime(Path(tempfile.mkdtemp(prefix="o-")))
    request.addfinalizer(lambda: oci.close(True))
    oci.bin = host.bin
    oci.started("sh", "-c", "trap 'exit 7' TERM; while :; do sleep 1; done")
    packages.replace(host.bin, later)
    assert oci("exec", "c", "echo", "in it", check=0).stdout == "in it\n"
    oci("kill", "c", "TERM", check=0)
    wait_until(lambda: oci.status() == "stopped", "the container to end")
    oci("delete", "c", check=0)


@pytest.mark.parametrize("program", ["microagent-netgate", "microagent-vsockd"])
def test_halves_of_two_versions_say_so(versions, program):
    """In the middle of an installation a supervisor may start programs of the other version."""
    host, later = versions
    shutil.copy2(later / program, host.bin / program)
    refused = host("run", "--network", "nat", "--", "true", check=125)
    assert f"{program}: --caller: microagent {VERSION} has started this program of microagent {NEXT}" in refused.stderr, refused.stderr
    packages.replace(host.bin, later)
    host("run", "--network", "nat", "--", "true", check=0)
