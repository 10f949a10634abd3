# SPDX-License-Identifier: MIT
"""Tests pods as Kubernetes' engines make them, by `ctr`: a container that is the sandbox, and others that name it in
their annotations and have the paths of its namespaces."""

import contextlib
import os
import signal

import pytest

from conftest import wait_until
from engines import image

soak = pytest.mark.soak
KIND, SANDBOX = "io.kubernetes.cri.container-type", "io.kubernetes.cri.sandbox-id"
WAITING = "sleep infinity & wait"


class Pod:
    def __init__(self, ctr):
        self.ctr = ctr
        self.id = ctr.name()
        words = ("--annotation", f"{KIND}=sandbox", "--annotation", f"{SANDBOX}={self.id}")
        ctr.detached("/bin/sleep", "infinity", options=words, of=image.PAUSE, name=self.id)
        self.pid = ctr.tasks()[self.id][0]

    def options(self):
        """Options of a container, as containerd's CRI plugin gives them."""
        spaces = [word for kind, name in (("network", "net"), ("ipc", "ipc"), ("uts", "uts"))
                  for word in ("--with-ns", f"{kind}:/proc/{self.pid}/ns/{name}")]
        return ("--annotation", f"{KIND}=container", "--annotation", f"{SANDBOX}={self.id}", *spaces)

    def container(self, *command, more=(), **kw):
        return self.ctr.container(*command, options=(*self.options(), *more), **kw)

    def detached(self, *command):
        return self.ctr.detached(*command, options=self.options())


@pytest.fixture
def pod(ctr):
    return Pod(ctr)


def test_a_container_in_a_pod(pod, ctr):
    done = pod.container("/bin/sh", "-c", "cat /etc/motd; exit 3")
    assert (done.returncode, done.stdout) == (3, "a file of the image\n"), done.stderr
    assert ctr.tasks()[pod.id][1] == "RUNNING"


def test_two_containers_share_a_network(pod, ctr):
    """The loopback belongs to the pod; each container has files of its own."""
    server = pod.detached("/bin/sh", "-c", "touch /tmp/own; while :; do echo of-the-pod | nc -l -p 8080; done")
    done = pod.container("/bin/sh", "-c", "until nc 127.0.0.1 8080 < /dev/null > /tmp/said 2> /dev/null && test -s /tmp/said; do :; done; "
                         "cat /tmp/said; ls /tmp")
    assert done.stdout == "of-the-pod\nsaid\n", done.stderr
    assert ctr.tasks()[server][1] == "RUNNING"


def test_the_sandbox_outlives_its_containers(pod, ctr):
    """A kill of one process ends one container only. Then another one begins in the same pod."""
    names = [pod.detached("/bin/sh", "-c", WAITING) for _ in range(2)]
    os.kill(ctr.tasks()[names[0]][0], signal.SIGKILL)
    wait_until(lambda: ctr.tasks()[names[0]][1] == "STOPPED", "the end of the first")
    assert ctr.exec(names[1], "/bin/echo", "here", check=0).stdout == "here\n"
    assert "exit code 137" in ctr("task", "rm", names[0], check=0).stderr
    assert pod.container("/bin/true").returncode == 0
    assert ctr.tasks()[pod.id][1] == "RUNNING"


@soak
def test_processes_are_each_ones_own(pod):
    pod.detached("/bin/sh", "-c", "exec sleep 12345 & wait")
    done = pod.container("/bin/sh", "-c", "ps; echo pid $$", check=0)
    assert "12345" not in done.stdout and done.stdout.endswith("pid 1\n"), done.stdout


@soak
def test_the_end_of_the_sandbox(ctr):
    """The pod is removed after its containers, as an engine does it, and the other way round."""
    for first in (True, False):
        pod = Pod(ctr)
        name = pod.detached("/bin/sh", "-c", WAITING)
        for which in ((name, pod.id) if first else (pod.id, name)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(ctr.tasks()[which][0], signal.SIGKILL)
            wait_until(lambda which=which: ctr.tasks()[which][1] == "STOPPED", f"the end of {which}")
            ctr.remove(which)
        assert not ctr.containers()


@soak
def test_a_pod_that_is_not_there(ctr):
    """A container names a sandbox that does not belong to this runtime, by annotation and by path."""
    gone = Pod(ctr)
    options = gone.options()
    ctr.remove(gone.id)
    assert ctr.container("/bin/true", options=options).returncode != 0
    assert not ctr.tasks()
