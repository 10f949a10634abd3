# SPDX-License-Identifier: MIT
"""Tests engines that are killed while their containers run, and come back; and the processes between an engine and a container."""

import os
import signal
from pathlib import Path

import pytest

import strays
from conftest import wait_until
from engines.cri import EXITED, NOT_READY, READY, RUNNING
from engines.docker import Docker
from engines.fixtures import engine

soak = pytest.mark.soak
WAITING = "sleep infinity & wait"
HANDLED = f"trap 'exit 4' TERM; touch /tmp/ready; {WAITING}"
READ = ("/bin/sh", "-c", "until test -s /tmp/file; do :; done; cat /tmp/file")


@pytest.fixture
def live_docker(request):
    """Its containers outlive it."""
    yield from engine(request, lambda: Docker(**{"live-restore": True}), "docker")


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def machines(place):
    return [line for line in strays.running(place.base).values() if "qemu-system" in line]


def test_containerd(ctr):
    """The container goes on with its files. The engine knows it as before, and it ends as before."""
    name = ctr.detached("/bin/sh", "-c", f"echo kept > /tmp/file; {WAITING}")
    before = ctr.tasks()
    ctr.crash("containerd")
    assert ctr.tasks() == before and before[name][1] == "RUNNING"
    assert ctr.exec(name, *READ, check=0).stdout == "kept\n"
    ctr("task", "kill", "--signal", "SIGKILL", name, check=0)
    wait_until(lambda: ctr.tasks()[name][1] == "STOPPED", "the end of the task")
    assert "exit code 137" in ctr("task", "rm", name, check=0).stderr
    ctr("container", "rm", name, check=0)
    assert not machines(ctr)


def test_its_shim(ctr):
    """containerd cleans up by itself, by delete --force."""
    name = ctr.detached("/bin/sh", "-c", WAITING)
    pid = ctr.tasks()[name][0]
    os.kill(parent(pid), signal.SIGKILL)
    wait_until(lambda: name not in ctr.tasks(), "the end of the task")
    wait_until(lambda: not machines(ctr) and not Path(f"/proc/{pid}").exists(), "the end of the machine")
    ctr("container", "rm", name, check=0)


def test_conmon(podman):
    """podman then calls no delete, with any runtime. The machine has ended, and its files are left to the host's
    administrator. podman 5 does not know the exit code without conmon, and says so once before it removes the
    container."""
    name = podman.detached("/bin/sh", "-c", WAITING)
    os.kill(int(podman.inspect(name)["State"]["ConmonPid"]), signal.SIGKILL)
    removed = podman("rm", "--force", "--time", "0", name)
    if removed.returncode == 125 and "conmon exited prematurely, exit code could not be retrieved" in removed.stderr:
        removed = podman("rm", "--force", "--time", "0", name)
    assert removed.returncode == 0, removed
    assert not machines(podman) and not podman("ps", "--all", "--quiet", check=0).stdout
    podman.run(podman.runtime, "delete", "--force", name, check=0)


@soak
def test_containerd_while_a_container_ends(ctr):
    """The engine reports ends that happened meanwhile when it is back."""
    names = [ctr.detached("/bin/sh", "-c", WAITING) for _ in range(2)]
    pids = [ctr.tasks()[name][0] for name in names]
    daemon = ctr.daemons["containerd"]
    daemon.kill()
    daemon.wait()
    os.kill(pids[0], signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{pids[0]}").exists(), "the end of the first")
    daemon.again()
    wait_until(lambda: ctr.tasks().get(names[0], (0, "STOPPED"))[1] == "STOPPED", "the end of the first")
    assert ctr.tasks()[names[1]] == (pids[1], "RUNNING")
    assert ctr.exec(names[1], "/bin/echo", "here", check=0).stdout == "here\n"


@soak
def test_containerd_and_the_shim_with_it(ctr):
    """Nobody is there to clean up; containerd does it when it is back."""
    name = ctr.detached("/bin/sh", "-c", WAITING)
    shim, daemon = parent(ctr.tasks()[name][0]), ctr.daemons["containerd"]
    daemon.kill()
    daemon.wait()
    os.kill(shim, signal.SIGKILL)
    daemon.again()
    wait_until(lambda: name not in ctr.tasks(), "the end of the task")
    wait_until(lambda: not machines(ctr), "the end of the machine")
    ctr("container", "rm", name, check=0)


@soak
def test_dockerd_with_live_restore(live_docker):
    docker = live_docker
    name = docker.detached("/bin/sh", "-c", f"echo kept > /tmp/file; {HANDLED}", network="bridge")
    address, pid = docker.inspect(name)["NetworkSettings"]["IPAddress"], docker.inspect(name)["State"]["Pid"]
    docker.crash("dockerd")
    state = docker.inspect(name)["State"]
    assert (state["Running"], state["Pid"]) == (True, pid), state
    assert docker("exec", name, *READ, check=0).stdout == "kept\n"
    docker.in_network("busybox", "ping", "-c", "1", address, check=0)
    docker("stop", "--time", "60", name, check=0)
    assert docker("wait", name, check=0).stdout == "4\n"
    docker("rm", name, check=0)
    assert not machines(docker)


@soak
def test_dockerd_without_live_restore(docker):
    """When it is back it ends the containers that it finds."""
    name = docker.detached("/bin/sh", "-c", HANDLED)
    docker("exec", name, "/bin/sh", "-c", "until test -e /tmp/ready; do :; done", check=0)
    docker.crash("dockerd")
    state = docker.inspect(name)["State"]
    assert not state["Running"] and not machines(docker), state
    docker("start", name, check=0)
    assert docker("exec", name, "/bin/echo", "here", check=0).stdout == "here\n"
    docker("rm", "--force", name, check=0)


@soak
def test_containerd_below_dockerd(docker):
    """Its containers go on, and dockerd finds them again."""
    name = docker.detached("/bin/sh", "-c", f"echo kept > /tmp/file; {HANDLED}")
    docker.crash("containerd")
    wait_until(lambda: docker("exec", name, *READ).stdout == "kept\n", "dockerd to have its containerd again")
    docker("stop", "--time", "60", name, check=0)
    assert docker("wait", name, check=0).stdout == "4\n"


@soak
def test_containerd_below_a_pod(cri):
    """One of two containers ends when it is back."""
    pod = cri.pod()
    first, log = cri.start(pod, "/bin/sh", "-c", f"trap 'exit 4' TERM; echo ready; {WAITING}")
    second, _ = cri.start(pod, "/bin/sh", "-c", f"echo kept > /tmp/file; {WAITING}")
    wait_until(lambda: cri.logged(log) == ["ready"], "the handler")
    address = cri.status(pod).network.ip
    cri.crash("containerd")
    assert (cri.status(pod).state, cri.status(pod).network.ip) == (READY, address)
    assert (cri.state(first).state, cri.state(second).state) == (RUNNING, RUNNING)
    assert cri.exec_sync(second, *READ)[1] == "kept\n"
    cri.call("StopContainer", container_id=first, timeout=60)
    assert cri.ended(first) == 4
    third, log = cri.start(pod, "/bin/echo", "later")
    assert cri.ended(third) == 0 and cri.logged(log) == ["later"]
    cri.remove_pod(pod)
    assert not cri.containers() and not machines(cri)


@soak
def test_the_shim_of_a_pod(cri):
    """The process belongs to all its containers."""
    pod = cri.pod()
    container, _ = cri.start(pod, "/bin/sh", "-c", WAITING)
    os.kill(parent(cri.tasks()[container][0]), signal.SIGKILL)
    wait_until(lambda: cri.state(container).state == EXITED and cri.status(pod).state == NOT_READY, "the end of the pod")
    wait_until(lambda: not machines(cri), "the end of the machine")
    cri.remove_pod(pod)
    assert not cri.containers()
