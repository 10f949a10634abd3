# SPDX-License-Identifier: MIT
"""Tests containers of podman with the OCI runtime."""

import os
import signal

import pytest

from engines.cases import WAITING, RunAndExec

soak = pytest.mark.soak
HANDLED = f"trap 'exit 4' TERM; touch /tmp/ready; {WAITING}"


@pytest.fixture
def engine(podman):
    return podman


class TestRunAndExec(RunAndExec):
    pass


def test_volumes(podman):
    """One volume is writable, one is read-only, and one is a single file."""
    for name in ("rw", "ro"):
        (podman.base / name).mkdir(exist_ok=True)
        (podman.base / name / "file").write_text(f"of the host, {name}\n")
    options = ("--volume", f"{podman.base}/rw:/var/data", "--volume", f"{podman.base}/ro:/made/by/runtime:ro",
               "--volume", f"{podman.base}/ro/file:/etc/motd:ro")
    done = podman.container("/bin/sh", "-c", "cat /var/data/file /made/by/runtime/file /etc/motd; echo of the container > /var/data/new; "
                            "touch /made/by/runtime/new || echo refused; echo x > /etc/motd || echo refused", options=options, check=0)
    assert done.stdout == "of the host, rw\nof the host, ro\nof the host, ro\nrefused\nrefused\n"
    assert (podman.base / "rw/new").read_text() == "of the container\n"
    assert (podman.base / "ro/file").read_text() == "of the host, ro\n"


@soak
def test_stop(podman):
    """It ends by its handler, and by force if it does not listen."""
    name = podman.detached("/bin/sh", "-c", HANDLED)
    podman("exec", name, "/bin/sh", "-c", "until test -e /tmp/ready; do :; done", check=0)
    podman("stop", "--time", "60", name, check=0)
    assert podman("wait", name, check=0).stdout == "4\n"
    deaf = podman.detached("/bin/sleep", "infinity")
    podman("stop", "--time", "1", deaf, check=0)
    assert podman.inspect(deaf)["State"]["ExitCode"] == 137


@soak
def test_killed_by_the_raw_pid(podman):
    """Nothing of the host is seen in its namespaces, and the end of the first process ends all."""
    name = podman.detached("/bin/sh", "-c", WAITING)
    seen = podman("top", name, "pid", "args")
    assert 1 < len(seen.stdout.splitlines()) <= 4 and "qemu" not in seen.stdout, seen.stdout + seen.stderr
    os.kill(podman.inspect(name)["State"]["Pid"], signal.SIGKILL)
    assert podman("wait", name, check=0).stdout == "137\n"


@soak
def test_restart_and_what_it_wrote(podman):
    """The files of a container are kept while it is stopped, and podman reads them then."""
    name = podman.detached("/bin/sh", "-c", f"echo more >> /tmp/file; echo began; {HANDLED}")
    waits = ("exec", name, "/bin/sh", "-c", "until test -e /tmp/ready; do :; done; rm /tmp/ready; cat /tmp/file")
    assert podman(*waits, check=0).stdout == "more\n"
    podman("restart", "--time", "60", name, check=0)
    assert podman(*waits, check=0).stdout == "more\nmore\n"
    assert podman("logs", name, check=0).stdout == "began\nbegan\n"
    podman("stop", "--time", "60", name, check=0)
    podman("cp", f"{name}:/tmp/file", podman.base / "copied", check=0)
    assert (podman.base / "copied").read_text() == "more\nmore\n"


@soak
def test_copy_from_a_running_one(podman):
    """In the mount namespace of its process."""
    name = podman.detached("/bin/sh", "-c", f"echo written > /tmp/file; {HANDLED}")
    podman("exec", name, "/bin/sh", "-c", "until test -e /tmp/ready; do :; done", check=0)
    podman("cp", f"{name}:/tmp/file", podman.base / "copied", check=0)
    assert (podman.base / "copied").read_text() == "written\n"
