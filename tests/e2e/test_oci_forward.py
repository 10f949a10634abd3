# SPDX-License-Identifier: MIT
"""Tests connections to the loopback of a container's network namespace. They reach the guest's loopback, as the
port-forward of engines needs it."""

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import bundles
import test_publish
from conftest import OWN, wait_until
from engines import websocket
from test_mediation import guest_program

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="containers of engines are root's")
FOREVER = ("sleep", "1000")
V4, V6, NOBODY = 8080, 8086, 7999
LEAST, GREATEST = 1, 65535

# Runs its words with bpf(2) refused by a filter.
WITHOUT_BPF = """
import ctypes, os, sys
seccomp = ctypes.CDLL("libseccomp.so.2")
seccomp.seccomp_init.restype = ctypes.c_void_p
rules = ctypes.c_void_p(seccomp.seccomp_init(0x7fff0000))
bpf = seccomp.seccomp_syscall_resolve_name(b"bpf")
assert seccomp.seccomp_rule_add(rules, 0x50000 | int(sys.argv[1]), bpf, 0) == 0 and seccomp.seccomp_load(rules) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


@contextlib.contextmanager
def runtime(request):
    it = bundles.Runtime(Path(tempfile.mkdtemp(prefix="o-")))
    yield it
    it.close(not getattr(request.node, "failed", False))


@pytest.fixture
def oci(request):
    with runtime(request) as it:
        yield it


def mounts():
    """A root with the program that listens, at /gc."""
    guest_program()
    return [*bundles.config()["mounts"], {"destination": "/gc", "type": "bind", "source": str(OWN / "guest_channels"), "options": ["bind", "ro"]}]


def space_of(pid):
    return f"/proc/{pid}/ns/net"


def connect_in(pid, host, port):
    return websocket.connect_in(space_of(pid), host, port)


class Pod:
    """A sandbox with a container in it, whose programs the test reaches at the namespace's loopback."""

    def __init__(self, oci):
        self.oci = oci
        self.pid = oci.started(*FOREVER, name="pod", annotations=bundles.of_pod("sandbox"))
        oci.started(*FOREVER, annotations=bundles.of_pod("container"), linux=bundles.in_pod(self.pid), mounts=mounts())

    def serve(self, address, port):
        child = self.oci.popen("exec", "c", "/gc", "serve", address, port)
        assert child.stdout.readline() == b"listening\n"
        return child

    def end(self, *servers):
        self.oci("exec", "c", "/bin/busybox", "killall", "gc", check=0)
        for server in servers:
            server.communicate()

    def host(self, *words, check):
        """Acts as test_publish's host: exec, a name, --, and the words to execute."""
        return self.oci("exec", "c", *words[3:], check=check)

    def connect(self, port, host="127.0.0.1"):
        return connect_in(self.pid, host, port)

    def unaccepted(self, port):
        """Connections to the one listener for all ports."""
        for line in Path(f"/proc/{self.pid}/net/tcp6").read_text().splitlines()[1:]:
            row = line.split()
            if row[3] == "0A":
                return int(row[4].split(":")[1], 16)
        raise AssertionError(port)


@pytest.fixture(scope="module")
def machine(request):
    with runtime(request) as oci:
        yield Pod(oci)
        for name in ("c", "pod"):
            oci("delete", "--force", name, check=0)


@pytest.fixture
def pod(machine, monkeypatch):
    """The tests of published ports hold for these too."""
    monkeypatch.setattr(test_publish, "connect", machine.connect)
    monkeypatch.setattr(test_publish, "unaccepted", machine.unaccepted)
    return machine


def test_as_published_ports(pod):
    servers = [pod.serve("127.0.0.1", V4), pod.serve("::1", V6)]
    test_publish.half_close_both_ways({"v4": V4, "v6": V6, "again": V4})
    test_publish.bulk(V4)
    test_publish.nobody_listens(NOBODY)
    test_publish.client_killed_half_way(V4)
    test_publish.slow_reader(V4)
    test_publish.many_at_once(V4)
    test_publish.more_wait(V4)
    test_publish.uploads_that_end_early(pod.host, V4, servers[0])
    pod.end(*servers)


def test_any_port(pod):
    for port in (LEAST, GREATEST):
        server = pod.serve("127.0.0.1", port)
        assert test_publish.ask(port, b"e" + b"there") == b"there"
        pod.end(server)
        test_publish.nobody_listens(port)


def test_who_comes_first_has_nothing_of_the_others(pod):
    """Connections to ports where nobody listens, and connections that are given up, block none."""
    server = pod.serve("127.0.0.1", V4)
    for _ in range(20):
        test_publish.nobody_listens(NOBODY)
        pod.connect(V4).close()
    assert test_publish.ask(V4, b"e" + b"still there") == b"still there"
    pod.end(server)


def served(oci, **changes):
    """Returns the pid of a container that listens."""
    said = oci.base / "said"
    with open(said, "wb") as out:
        pid = oci.started("/gc", "serve", "127.0.0.1", str(V4), out=out, mounts=mounts(), **changes)
    wait_until(lambda: said.read_text() == "listening\n", "the server")
    return pid


def refused(pid, host, port):
    with pytest.raises(ConnectionRefusedError):
        connect_in(pid, host, port)


@contextlib.contextmanager
def network():
    """Makes a network namespace with a process in it, and a path, as an engine does."""
    space = subprocess.Popen(["unshare", "-n", "sh", "-c", "ip link set lo up; echo up; exec sleep 1000"], stdout=subprocess.PIPE)
    try:
        assert space.stdout.readline() == b"up\n"
        yield space.pid
    finally:
        space.kill()
        space.communicate()


def in_network(pid):
    spaces = [{"type": kind} for kind in bundles.SPACES if kind != "network"]
    return {**bundles.config()["linux"], "namespaces": [*spaces, {"type": "network", "path": f"/proc/{pid}/ns/net"}]}


@pytest.mark.parametrize("end", ("delete", "kill"))
def test_it_ends_with_the_machine(oci, end):
    """Whichever way: nothing is left in a namespace that is there for longer, and a listener of the host is found again."""
    with network() as space:
        refused(space, "127.0.0.1", V4)
        pid = served(oci, linux=in_network(space))
        stream = connect_in(space, "127.0.0.1", V4)
        stream.sendall(b"e")
        if end == "kill":
            os.kill(pid, signal.SIGKILL)
            oci.await_status("stopped")
        oci("delete", "--force", "c", check=0)
        with contextlib.suppress(ConnectionResetError):
            assert stream.recv(1) == b""
        refused(space, "127.0.0.1", V4)
        refused(space, "::1", V4)
        with websocket.in_network(space_of(space), socket.create_server, ("127.0.0.1", V4)) as other, connect_in(space, "127.0.0.1", V4) as client:
            assert other.accept()[1] == client.getsockname()


def test_quarantine(oci):
    pid = served(oci)
    stream = connect_in(pid, "127.0.0.1", V4)
    stream.sendall(b"ex")
    assert stream.recv(1) == b"x"
    oci("quarantine", "c", check=0)
    with contextlib.suppress(ConnectionResetError):
        assert stream.recv(1) == b""
    refused(pid, "127.0.0.1", V4)
    oci("delete", "--force", "c", check=0)


def test_quarantine_beside_another_machine(oci):
    """In one network their processes can have the same pids, each in a namespace of its own, and their sockets the same names."""
    with network() as space:
        for name in ("c", "d"):
            oci.create(*FOREVER, name=name, linux=in_network(space))
        for name in ("c", "d"):
            oci("quarantine", name, check=0)
            assert oci.status(name) == "created"
        for name in ("c", "d"):
            oci("delete", "--force", name, check=0)


@pytest.mark.parametrize("why", (errno.EPERM, pytest.param(errno.ENOSYS, marks=pytest.mark.soak)))
def test_without_bpf(oci, why):
    """The missing part is reported, and everything else works."""
    oci.wrap = [sys.executable, "-c", WITHOUT_BPF, str(why)]
    pid = served(oci)
    missing = [line for line in oci.logged("warning") if line.startswith("port-forward does not work: ")]
    assert missing == [f"port-forward does not work: bpf: cannot make a map of sockets: {os.strerror(why)}"]
    refused(pid, "127.0.0.1", V4)
    done = oci("exec", "c", "sh", "-c", "cat /proc/net/tcp")
    assert done.returncode == 0 and f"0100007F:{V4:04X}" in done.stdout, done
    oci("delete", "--force", "c", check=0)
