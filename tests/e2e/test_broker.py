# SPDX-License-Identifier: MIT
"""Tests what the broker refuses to a live supervisor that was taken over."""

import contextlib
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import strays
from broker import Broker, copy_of, run_as
from conftest import BACKEND, HANG_S, wait_until
from test_mediation import free_port, mediation
from test_publish import await_server, connect

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the broker's socket is taken by pidfd_getfd() of root's")
PLAIN = ("socket", "proc", "opens", "security log")  # rows that a machine of `create` does not have

# A process that has the VMM's pid now, with a child. Both write and read a socket pair until it breaks.
OWNER = """
import os, socket, sys
ours, theirs = socket.socketpair()
child = os.fork() == 0
with open(sys.argv[1] + "/" + ("child" if child else "owner"), "w") as told: told.write(str(os.getpid()))
mine, other = (ours, theirs) if child else (theirs, ours)
other.close()
mine.send(b"x")
while mine.recv(1): mine.send(b"x")
"""


# Connects from a port to a listener of its own, as another user, as soon as the port is free.
CLIENT = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
listener = socket.create_server(("127.0.0.1", 0))
while True:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        client.bind(("127.0.0.1", int(sys.argv[1])))
        client.connect(listener.getsockname())
        break
    except OSError:
        client.close()
print("bound", flush=True)
sys.stdin.read()
"""

# Binds a socket, as nobody, to a name that looks like a console's.
FORGER = """
import os, socket, sys
name = f"/proc/{sys.argv[1]}/fd/{sys.argv[2]}/console.sock"
forged = socket.socket(socket.AF_UNIX)
if sys.argv[3] == "abstract":
    os.setuid(65534)
    forged.bind("\\0x\\n0: 00000002 00000000 00010000 0001 01 1 " + name)
else:
    os.makedirs(os.path.dirname(sys.argv[4] + name))
    os.chroot(sys.argv[4])
    forged.bind(name)
forged.listen()
print("bound", flush=True)
sys.stdin.read()
"""


QUICK = {"MICROAGENT_TEST_LIMIT_KILL_MS": "2000"}


def start(host, env=None, **changes):
    identity = {"requestID": "r", "runtimeID": "w", "role": "workload", "backend": BACKEND}
    config = host.config(**changes)
    for command in ("prepare", "start"):
        code, answer, _ = host.supervisor({"command": command, "identity": identity, "config": config}, env)
        assert code == 0, answer


@contextlib.contextmanager
def broker_of(directory, without=PLAIN):
    broker = Broker(directory, without)
    try:
        yield broker
    finally:
        broker.close()


@pytest.fixture
def started(host):
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    host("start", "w", check=0)
    yield host
    wait_until(lambda: not host.processes(), "every process to end")
    host("delete", "w", check=0)


@pytest.mark.skipif(BACKEND != "qemu", reason="the rows are those of a machine of QEMU's")
def test_who_has_the_number_of_a_vmm_that_has_ended(started, tmp_path):
    """The supervisor kills the VMM and waits until another process has its pid. The broker does not look into that
    process, stop it, or shut its sockets down."""
    with broker_of(started.state / "w") as broker:
        broker.kill_vmm()
        owner = run_as(broker.vmm, sys.executable, "-c", OWNER, tmp_path)
        try:
            for name in ("owner", "child"):
                wait_until(lambda name=name: (tmp_path / name).exists() and (tmp_path / name).read_text(), f"the {name}")
            cut = False
            for row, data in (("vmm", b"\0" * 8), ("sever", b"\1"), ("sever", b"\0"), ("sever", b"\1")):
                status, said, _ = broker.ask(row, data)
                cut = cut or data == b"\0"
                if data == b"\0":  # the companions are ended
                    assert status == 0, said
                elif (row, cut) == ("sever", False):
                    assert status == -1 and "the broker is asked whether the machine is cut off, but it was never told to cut it off: this is a bug, or the live supervisor was taken over" in said, said
                else:
                    assert status == -1 and f"process {broker.vmm} has ended" in said, (row, said)
            assert os.waitpid(owner, os.WNOHANG) == (0, 0), "a socket of who has the number now was shut"
        finally:
            os.kill(owner, signal.SIGKILL)
            os.waitpid(owner, 0)


@pytest.fixture
def group():
    """A cgroup of version 2 in which a machine may have one of its own."""
    mounted = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - cgroup2 " in line]
    if not mounted:
        pytest.skip("no cgroup file system of version 2 is mounted here")
    path = Path(mounted[0], f"microagent-test-{os.getpid()}")
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup is to be had here: {error}")
    yield path
    path.rmdir()


def test_the_cgroup_that_a_machine_came_from_is_the_brokers(group, host):
    """A process that has its cgroup.procs open, as root opened it, can move any process of the host there."""
    start(host, cgroup=str(group), cgroupLimits="optional")
    facts = json.loads((host.state / "w" / "runtime.json").read_text())
    assert facts["cgroup"].startswith(str(group))

    def open_groups(pid):
        return [link for link in strays.descriptors(pid).values() if "cgroup" in link]

    assert open_groups(facts["supervisorPid"]) == []
    assert [Path(link).name for link in open_groups(facts["broker"]["pid"])] == ["cgroup.procs"]
    host("stop", "w", check=0)  # its broker moves it back there
    assert not list(group.glob("microagent.*"))
    host("delete", "w", check=0)


def test_nobody_lives_on_without_limits(group, host):
    """The supervisor has moved itself out of its cgroup while its machine runs, and then does not end. Until then the
    broker does the work of a machine's end."""
    start(host, QUICK, cgroup=str(group), cgroupLimits="optional")
    broker = Broker(host.state / "w", PLAIN)
    try:
        assert Path(broker.facts["cgroup"]).exists()
        status, said, _ = broker.ask("cgroup")
        assert status == 0 and not Path(broker.facts["cgroup"]).exists(), said
        assert has_ended(broker.vmm)
        status, said, _ = broker.ask("remove")
        assert status == -1 and "the broker refuses to remove the workspace, because the workspace is to be kept after the machine's end" in said
        wait_until(lambda: has_ended(broker.supervisor) and has_ended(broker.pid), "the supervisor to be killed, and its broker")
    finally:
        broker.socket.close()
    host("delete", "w", check=0)


def test_no_way_out_after_a_quarantine(host):
    """What the quarantine has proven stays true: the broker connects to nothing, looks nothing up, and lets nothing listen."""
    with socket.create_server(("127.0.0.1", 0)) as target, socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        place = target.getsockname()[1]
        address = struct.pack("<HH4s", socket.AF_INET, socket.htons(place), socket.inet_aton("127.0.0.1")).ljust(128, b"\0")
        ways = (("dial", struct.pack("<I", 2222), []), ("target", f"127.0.0.1:{place}".encode(), []), ("connecting", address, []),
                ("port", b"l", [port.fileno()]))
        start(host, mediation=mediation(place))
        for refused in (False, True):
            if refused:
                host("quarantine", "w", check=0)
            with broker_of(host.state / "w") as broker:
                for row, data, given in ways:
                    status, said, passed = broker.ask(row, data, given)
                    for descriptor in passed:
                        os.close(descriptor)
                    assert status == (-1 if refused else 0), (row, said)
                    assert not refused or (passed == [] and "the machine is cut off" in said), (row, said, passed)
            assert port.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == (0 if refused else 1)
            if not refused:
                port.shutdown(socket.SHUT_RDWR)
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def is_proven(host):
    """Asks whether a machine is cut off, as a command does."""
    with open(host.state / ".locks" / ".cut-w", "rb") as proof:
        try:
            fcntl.flock(proof, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_no_proof_while_the_supervisor_holds_a_connection(host):
    """The broker has cut the machine off, and the supervisor keeps the connection of a published port."""
    port = free_port()
    host("create", "w", "--memory", 256, "--cpus", 1, "--network", "nat", "-p", f"{port}:8080", check=0)
    host("start", "w", check=0)
    server = host.popen("exec", "w", "--", "nc", "-ll", "-p", "8080", "-e", "cat")
    await_server(port)
    with connect(port) as client, broker_of(host.state / "w") as broker:
        assert "the broker is asked whether the machine is cut off, but it was never told to cut it off: this is a bug, or the live supervisor was taken over" in broker.ask("sever", b"\1")[1]
        assert broker.ask("sever", b"\0")[0] == 0 and not is_proven(host)

        def left():
            status, said, _ = broker.ask("sever", b"\1")
            assert status == 0 and said, said
            return said.decode()

        wait_until(lambda: "connections that the live supervisor had are still open" in left(), "the machine alone to be cut off")
        assert not is_proven(host)
        client.close()
    host("kill", "w", check=0)
    server.communicate()
    assert not host.processes()
    host("delete", "w", check=0)


def test_a_port_that_is_another_programs_now(host):
    """The port was published, and a server of the host has it since. Its connections do not belong to the machine."""
    port = free_port()
    host("create", "w", "--memory", 256, "--cpus", 1, "--network", "nat", "-p", f"{port}:8080", check=0)
    host("start", "w", check=0)
    server = host.popen("exec", "w", "--", "nc", "-ll", "-p", "8080", "-e", "cat")
    await_server(port)
    host("network", "unpublish", "w", str(port), check=0)
    with socket.create_server(("127.0.0.1", port)) as other, connect(port), other.accept()[0]:
        host("quarantine", "w", check=0)
        assert is_proven(host)
    host("kill", "w", check=0)
    server.communicate()
    host("delete", "w", check=0)


@pytest.mark.parametrize("listener", (None, 0, 12345), ids=("nobody", "same-user", "another-user"))
def test_no_proof_while_a_connection_of_an_ended_port_is_hidden(host, listener):
    """A process holds a connection of a published port for the supervisor. Then the port is not published any more, and
    another program listens on it. The connection still belongs to the machine."""
    port = free_port()
    host("create", "w", "--memory", 256, "--cpus", 1, "--network", "nat", "-p", f"{port}:8080", check=0)
    host("start", "w", check=0)
    server = host.popen("exec", "w", "--", "nc", "-ll", "-p", "8080", "-e", "cat")
    await_server(port)
    supervisor = json.loads((host.state / "w" / "runtime.json").read_text())["supervisorPid"]
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inode, = [row[9] for row in rows if row[1] == f"0100007F:{port:04X}" and row[3] == "0A"]
    os.kill(supervisor, signal.SIGSTOP)
    try:
        with socket.socket(fileno=copy_of(supervisor, sockets_of(supervisor)[f"socket:[{inode}]"])) as theirs:
            client = socket.create_connection(("127.0.0.1", port))
            theirs.setblocking(True)
            hidden = theirs.accept()[0]
    finally:
        os.kill(supervisor, signal.SIGCONT)
    host("network", "unpublish", "w", str(port), check=0)
    with contextlib.ExitStack() as stack:
        if listener is not None:
            code = "import os, socket, sys; os.setuid(int(sys.argv[2])); it = socket.create_server(('127.0.0.1', int(sys.argv[1]))); print('listens', flush=True); sys.stdin.read()"
            other = stack.enter_context(subprocess.Popen([sys.executable, "-c", code, str(port), str(listener)], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            assert other.stdout.readline() == b"listens\n"
        done = host("quarantine", "w", check=1)
        assert "quarantine failed and the machine was killed: 1 connections that the live supervisor had are still open" in done.stderr, done.stderr
        assert not is_proven(host)
    client.close()
    hidden.close()
    server.communicate()
    host("delete", "w", check=0)


@pytest.mark.parametrize("uid", (0, 12345))
def test_a_port_that_is_another_programs_client_now(host, uid):
    """A client, which does not listen, is bound to the port. This happens by chance, since the kernel gives such ports
    to clients. Another user can do it on purpose, at the moment when the quarantine closes the port."""
    port = free_port()
    host("create", "w", "--memory", 256, "--cpus", 1, "--network", "nat", "-p", f"{port}:8080", check=0)
    host("start", "w", check=0)
    server = host.popen("exec", "w", "--", "nc", "-ll", "-p", "8080", "-e", "cat")
    await_server(port)
    with subprocess.Popen([sys.executable, "-c", CLIENT, str(port), str(uid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        if uid == 0:
            host("network", "unpublish", "w", str(port), check=0)
            assert client.stdout.readline() == b"bound\n"
        host("quarantine", "w", check=0)
        assert is_proven(host) and (uid == 0 or client.stdout.readline() == b"bound\n")
    host("kill", "w", check=0)
    server.communicate()
    host("delete", "w", check=0)


@pytest.mark.parametrize("by", ("abstract", "file"))
def test_a_name_like_a_consoles(host, by):
    """Every user can bind a socket to such a name. A machine is known by the files of its sockets."""
    start(host)
    supervisor = json.loads((host.state / "w" / "runtime.json").read_text())["supervisorPid"]
    words = [sys.executable, "-c", FORGER, str(supervisor), "5", by, str(host.base / "root")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as forger:
        assert forger.stdout.readline() == b"bound\n"
        assert f"/proc/{supervisor}/fd/5/console.sock\n" in Path("/proc/net/unix").read_text()
        host("quarantine", "w", check=0)
        assert is_proven(host)
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def open_ways(broker):
    """Returns how many connections the look finds. Returns None while something of the machine itself is left."""
    status, said, _ = broker.ask("sever", b"\1")
    assert status == 0, said
    words = said.replace(b"\0", b"").decode()
    return int(words.split()[0]) if "connections that the live supervisor had are still open" in words else None if words else 0


def test_no_proof_while_a_connection_is_hidden(host):
    """The broker has opened a connection to a declared target. Another process has it, as it would if it waited unread
    in a socket."""
    with socket.create_server(("127.0.0.1", 0)) as target:
        place = target.getsockname()[1]
        address = struct.pack("<HH4s", socket.AF_INET, socket.htons(place), socket.inet_aton("127.0.0.1")).ljust(128, b"\0")
        start(host, mediation=mediation(place))
        with broker_of(host.state / "w") as broker:
            status, _, passed = broker.ask("connecting", address)
            assert status == 0 and len(passed) == 1
            assert broker.ask("sever", b"\0")[0] == 0

            wait_until(lambda: open_ways(broker), "the machine alone to be cut off")
            count = open_ways(broker)  # the supervisor is stopped, and may have a connection of its own
            assert not is_proven(host)
            os.close(passed[0])
            wait_until(lambda: open_ways(broker) == count - 1, "it to be closed")
            assert is_proven(host) == (count == 1)
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def sockets_of(pid):
    """Returns the sockets of a process by their identity, since a closed socket leaves its number to the next one."""
    return {to: fd for fd, to in strays.descriptors(pid).items() if to.startswith("socket:[")}


def test_no_proof_while_a_console_is_hidden(host):
    """A connection to the console that the supervisor has given away: it can wait unread in the VMM's monitor socket."""
    start(host, console="shell")
    workspace = host.state / "w"
    supervisor = json.loads((workspace / "runtime.json").read_text())["supervisorPid"]

    def taken():
        return set(sockets_of(supervisor)) - before

    before = set(sockets_of(supervisor))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(workspace / "console.sock"))
        wait_until(lambda: len(taken()) == 1, "the console to be taken")
        console, = taken()
        hidden = copy_of(supervisor, sockets_of(supervisor)[console])
    wait_until(lambda: console not in sockets_of(supervisor), "the supervisor to close it")
    with broker_of(workspace) as broker:
        assert broker.ask("sever", b"\0")[0] == 0

        wait_until(lambda: open_ways(broker), "the machine alone to be cut off")
        count = open_ways(broker)  # with the listener of the supervisor, which is stopped
        assert count >= 2 and not is_proven(host)
        os.close(hidden)
        wait_until(lambda: open_ways(broker) == count - 1, "it to be closed")
    host("kill", "w", check=0)
    host("delete", "w", check=0)


@pytest.mark.skipif(BACKEND != "qemu", reason="the vsock.sock of Firecracker is the VMM's, which is looked at by itself")
def test_no_proof_while_a_connection_to_the_agent_is_hidden(host):
    """A command's connection that vsockd has accepted, and that another process has too."""
    start(host)
    workspace = host.state / "w"
    vsockd = next(c["pid"] for c in json.loads((workspace / "runtime.json").read_text())["companions"] if c["name"] == "microagent-vsockd")

    def accepted():
        return [fd for to, fd in sockets_of(vsockd).items() if to not in before]

    before = set(sockets_of(vsockd))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(workspace / "vsock.sock"))
        wait_until(lambda: len(accepted()) == 1, "the connection to be accepted")
        hidden = copy_of(vsockd, *accepted())
    with broker_of(workspace) as broker:
        assert broker.ask("sever", b"\0")[0] == 0

        wait_until(lambda: open_ways(broker), "the machine alone to be cut off")
        count = open_ways(broker)
        assert not is_proven(host)
        os.close(hidden)
        wait_until(lambda: open_ways(broker) == count - 1, "it to be closed")
    host("kill", "w", check=0)
    host("delete", "w", check=0)


@pytest.fixture
def run(host):
    """`microagent run`, whose workspace is removed with the machine. Returns its process and the workspace."""
    child = host.popen("run", "--name", "w", "--memory", 256, "--cpus", 1, "--", "sh", "-c", "echo ready; sleep 1000",
                       env={**QUICK, "MICROAGENT_TEST_LIMIT_CONTROL_REQUEST_MS": str(HANG_S * 10 * 1000)})
    assert child.stdout.readline() == b"ready\n"
    yield child, host.state / "w"
    child.kill()
    child.communicate()
    wait_until(lambda: not host.processes(), "every process to end")


def has_ended(pid):
    """Its parent may be stopped, and does not reap it then."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.skipif(BACKEND != "qemu", reason="the rows are those of a machine of QEMU's")
def test_no_workspace_goes_before_its_machine(run):
    """The supervisor asks for the removal while its machine runs, and then does not end."""
    _, workspace = run
    broker = Broker(workspace, PLAIN)
    try:
        status, said, _ = broker.ask("remove")
        living = [process for process in (broker.vmm, *(c["pid"] for c in broker.facts["companions"])) if not has_ended(process)]
        assert status == 0 and living == [] and not workspace.exists(), (said, living)
        wait_until(lambda: has_ended(broker.supervisor) and has_ended(broker.pid), "the supervisor to be killed, and its broker")
    finally:
        broker.socket.close()


def break_the_protocol(broker):
    broker.socket.send(b"x")


def ask_without_end(broker):
    """The supervisor takes no answer. The broker takes no question then, or it stops where its answers find no room."""
    with contextlib.suppress(TimeoutError, BrokenPipeError):
        while True:
            broker.socket.send(struct.pack("<I", len(broker.rows)))


@pytest.mark.skipif(BACKEND != "qemu", reason="the rows are those of a machine of QEMU's")
@pytest.mark.parametrize("behind", (break_the_protocol, ask_without_end))
def test_no_supervisor_outlives_its_workspace(run, behind):
    """The supervisor has put other requests into the broker's queue behind the request to remove the workspace."""
    _, workspace = run
    broker = Broker(workspace, PLAIN)
    processes = [os.pidfd_open(pid) for pid in (broker.supervisor, broker.pid)]
    try:
        broker.socket.settimeout(3)
        broker.socket.send(struct.pack("<I", broker.rows.index("remove")))
        behind(broker)
        wait_until(lambda: has_ended(broker.supervisor) and has_ended(broker.pid), "the supervisor to be killed, and its broker")
        assert not workspace.exists()
    finally:
        broker.socket.close()
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, signal.SIGKILL)
            os.close(process)


@pytest.mark.skipif(BACKEND != "qemu", reason="the rows are those of a machine of QEMU's")
def test_no_supervisor_lives_on_while_its_workspace_is_removed(run):
    """The removal waits as long as needed: here for as long as somebody has the command lock."""
    _, workspace = run
    broker = Broker(workspace, PLAIN)
    try:
        with open(workspace.parent / ".locks" / "w", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            broker.socket.send(struct.pack("<I", broker.rows.index("remove")))
            wait_until(lambda: has_ended(broker.supervisor) and has_ended(broker.pid), "the supervisor to be killed, and its broker")
            assert workspace.exists()
    finally:
        broker.socket.close()


@pytest.mark.skipif(BACKEND != "qemu", reason="the rows are those of a machine of QEMU's")
def test_what_is_in_quarantine_is_kept(run, host):
    _, workspace = run
    host("quarantine", "w", check=0)
    with broker_of(workspace) as broker:
        status, said, _ = broker.ask("remove")
        assert status == -1 and "the workspace is not removed: the broker refuses to end the machine, because a quarantined machine is kept: end the quarantine first" in said
        assert not has_ended(broker.vmm)
    assert host.json("status", "w")["event"]["state"] == "quarantined"
    host("kill", "w", check=0)
    host("delete", "w", check=0)
