# SPDX-License-Identifier: MIT
"""Tests Docker's containers with the OCI runtime."""

import os
import re
import signal

import pytest

from engines.cases import WAITING, RunAndExec

soak = pytest.mark.soak
HANDLED = f"trap 'exit 4' TERM; touch /tmp/ready; {WAITING}"


@pytest.fixture
def engine(docker):
    return docker


class TestRunAndExec(RunAndExec):
    pass


def test_address_of_the_bridge(docker):
    """The container's programs have the address that libnetwork gave, and reach the bridge."""
    name = docker.detached("/bin/sh", "-c", WAITING, network="bridge")
    address = docker.inspect(name)["NetworkSettings"]["IPAddress"]
    shown = docker("exec", name, "ip", "-4", "address", "show", "eth0", check=0).stdout
    assert re.search(rf"inet {re.escape(address)}/24", shown), shown
    docker("exec", name, "ping", "-c", "1", "10.99.0.1", check=0)
    docker.in_network("busybox", "ping", "-c", "1", address, check=0)


@soak
def test_volumes(docker):
    """One volume of the host is writable, one is read-only, and one is docker's own."""
    for name in ("rw", "ro"):
        (docker.base / name).mkdir(exist_ok=True)
        (docker.base / name / "file").write_text(f"of the host, {name}\n")
    options = ("--volume", f"{docker.base}/rw:/var/data", "--volume", f"{docker.base}/ro:/made/by/runtime:ro", "--volume", "kept:/kept")
    done = docker.container("/bin/sh", "-c", "cat /var/data/file /made/by/runtime/file; echo of the container | tee /var/data/new > /kept/file; "
                            "touch /made/by/runtime/new || echo refused", options=options, check=0)
    assert done.stdout == "of the host, rw\nof the host, ro\nrefused\n"
    assert (docker.base / "rw/new").read_text() == "of the container\n"
    assert docker.container("cat", "/kept/file", options=options, check=0).stdout == "of the container\n"


@soak
def test_stop_and_raw_kill(docker):
    """It ends by its handler, by force if it does not listen, and without docker knowing why."""
    name = docker.detached("/bin/sh", "-c", HANDLED)
    docker("exec", name, "/bin/sh", "-c", "until test -e /tmp/ready; do :; done", check=0)
    docker("stop", "--time", "60", name, check=0)
    assert docker("wait", name, check=0).stdout == "4\n"
    deaf = docker.detached("/bin/sleep", "infinity")
    docker("stop", "--time", "1", deaf, check=0)
    assert docker("wait", deaf, check=0).stdout == "137\n"
    killed = docker.detached("/bin/sleep", "infinity")
    os.kill(docker.inspect(killed)["State"]["Pid"], signal.SIGKILL)
    assert docker("wait", killed, check=0).stdout == "137\n"


@soak
def test_files_restart_and_pause(docker):
    """Files of a container are kept while it is stopped, and the host reads them."""
    name = docker.detached("/bin/sh", "-c", f"echo more >> /tmp/file; echo began; {HANDLED}")
    waits = ("exec", name, "/bin/sh", "-c", "until test -e /tmp/ready; do :; done; rm /tmp/ready; cat /tmp/file")
    assert docker(*waits, check=0).stdout == "more\n"
    docker("pause", name, check=0)
    assert docker.inspect(name)["State"]["Paused"]
    docker("unpause", name, check=0)
    docker("restart", "--time", "60", name, check=0)
    assert docker(*waits, check=0).stdout == "more\nmore\n"
    assert docker("logs", name, check=0).stdout == "began\nbegan\n"
    docker("cp", f"{name}:/tmp/file", docker.base / "copied", check=0)
    assert (docker.base / "copied").read_text() == "more\nmore\n"
