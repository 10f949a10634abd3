# SPDX-License-Identifier: MIT
"""Tests published ports: TCP of the host to TCP of the guest, over vsock."""

import concurrent.futures
import contextlib
import errno
import json
import os
import socket
import struct
import threading
import zlib

import pytest

from conftest import BACKEND, wait_until
from test_mediation import free_port, install_guest_program

SMALL = ("--memory", 256, "--cpus", 1)
NOBODY, V4, V6 = 7999, 8080, 8086
MOST = 256  # connections at once to one port
MOST_ALL = 768  # connections at once to all ports of a machine
FILES_KEPT = 256  # descriptors of a supervisor that connections to published ports may not take


def connect(port, host="127.0.0.1"):
    return socket.create_connection((host, port), 60)


def read_all(stream):
    with stream.makefile("rb") as reader:
        return reader.read()


def ask(port, data, host="127.0.0.1"):
    """Sends, ends its side, and reads until the other side's end."""
    with connect(port, host) as stream:
        stream.sendall(data)
        stream.shutdown(socket.SHUT_WR)
        return read_all(stream)


def refuses(port, host="127.0.0.1"):
    """Connects. Fails for a connection that is accepted and ended at once, which connect() may not report."""
    try:
        connect(port, host).close()
    except ConnectionRefusedError:
        return True
    except (BrokenPipeError, ConnectionResetError):
        return False
    return False


def await_server(port, host="127.0.0.1"):
    """The host hears of a server a moment after the server has begun to listen."""
    wait_until(lambda: not refuses(port, host), f"port {port} to have a server")


def await_no_server(port, host="127.0.0.1"):
    wait_until(lambda: refuses(port, host), f"port {port} to have no server")


def is_taken(port, host="127.0.0.1"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for reuse in (0, 1):
        with socket.socket(family) as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
            with pytest.raises(OSError, match="Address already in use"):
                other.bind((host, port))
                other.listen()
    return True


def end(child):
    child.terminate()
    child.communicate()


def serve(host, name, address, port):
    child = host.popen("exec", name, "--", "/tmp/gc", "serve", address, port)
    assert child.stdout.readline() == b"listening\n"
    return child


def test_published_ports_of_one_guest(host):
    ports = {"v4": free_port(), "v6": free_port(), "nobody": free_port(), "again": free_port()}
    host("create", "w", *SMALL, "-p", f"{ports['v4']}:{V4}", "-p", f"127.0.0.1:{ports['v6']}:{V6}/tcp",
         "-p", f"[::1]:{ports['again']}:{V4}", "--publish", f"localhost:{ports['nobody']}:{NOBODY}", check=0)
    host("start", "w", check=0)
    install_guest_program(host, "w")
    servers = [serve(host, "w", "127.0.0.1", V4), serve(host, "w", "::1", V6)]
    declared = host.json("status", "w")["network"]["portForwards"]
    assert [(f["host"], f["hostPort"], f["guestPort"]) for f in declared] == [
        ("127.0.0.1", ports["v4"], V4), ("127.0.0.1", ports["v6"], V6), ("::1", ports["again"], V4),
        ("127.0.0.1", ports["nobody"], NOBODY)]
    assert f"127.0.0.1:{ports['v4']} to port {V4}" in host("status", "w").stdout

    await_server(ports["v4"])
    await_server(ports["v6"])
    await_server(ports["again"], "::1")
    half_close_both_ways(ports)
    bulk(ports["v4"])
    assert refuses(ports["nobody"]) and is_taken(ports["nobody"])
    servers.append(not_on_the_loopback(host, ports["nobody"]))
    client_killed_half_way(ports["v4"])
    slow_reader(ports["v4"])
    many_at_once(ports["v4"])
    more_wait(ports["v4"])
    uploads_that_end_early(host, ports["v4"], servers[0])
    taken_port(host, ports["v4"])
    a_port_that_nobody_listens_at(host)
    bound_port(host)
    http(host, ports["nobody"])

    host("kill", "w", check=0)
    for port in ports.values():  # free again at once
        socket.create_server(("127.0.0.1", port)).close()
    for child in servers:
        child.communicate()
    a_clone_publishes_the_same(host, ports["v4"])
    host("delete", "w", check=0)


def half_close_both_ways(ports):
    assert ask(ports["v4"], b"e" + b"to the loopback") == b"to the loopback"
    assert ask(ports["v6"], b"e" + b"to ::1 of the guest") == b"to ::1 of the guest"
    assert ask(ports["again"], b"e" + b"from ::1", host="::1") == b"from ::1"
    # The guest ends its side first, without having read all.
    with connect(ports["v4"]) as stream:
        stream.sendall(b"r")
        assert read_all(stream) == b"no"


def bulk(port):
    data = os.urandom(1 << 20) * 16
    assert ask(port, b"d" + data) == digest_of(data)
    assert ask(port, b"e" + data[:3_000_001]) == data[:3_000_001]
    with connect(port) as stream:
        stream.sendall(b"s00000016")
        assert read_all(stream) == b"".join(bytes([i]) * (1 << 20) for i in range(16))


def nobody_listens(port):
    """For a listener that stays open, as that of microagent-oci, the connection ends. The end may come before connect()
    has returned: EPIPE then."""
    try:
        with connect(port) as stream:
            assert stream.recv(1) == b""
    except (BrokenPipeError, ConnectionResetError):
        pass



def not_on_the_loopback(host, port):
    """A program that listens only on one other address of the guest."""
    host("exec", "-u", "root", "w", "--", "ip", "addr", "add", "192.0.2.9/32", "dev", "lo", check=0)
    server = serve(host, "w", "192.0.2.9", NOBODY)
    await_server(port)
    assert ask(port, b"e" + b"not to the loopback") == b"not to the loopback"
    return server


def client_killed_half_way(port):
    for _ in range(3):
        stream = connect(port)
        stream.sendall(b"s00000064")
        assert stream.recv(10)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stream.close()
    assert ask(port, b"e" + b"still there") == b"still there"


def slow_reader(port):
    """It blocks its own connection and nothing else."""
    with connect(port) as slow:
        slow.sendall(b"s00000016")
        assert ask(port, b"e" + b"meanwhile") == b"meanwhile"
        assert read_all(slow).count(b"\x0f") == 1 << 20


def many_at_once(port):
    barrier = threading.Barrier(128)

    def one(number):
        with connect(port) as stream:
            text = b"number %d" % number
            stream.sendall(b"e" + text)
            got = b""
            while len(got) < len(text):
                got += stream.recv(100)
            barrier.wait(120)  # all 128 are open now
            stream.shutdown(socket.SHUT_WR)
            return got == text and read_all(stream) == b""

    with concurrent.futures.ThreadPoolExecutor(128) as pool:
        assert all(pool.map(one, range(128)))


def answers(stream, text):
    stream.sendall(text)
    return stream.recv(100) == text


def unaccepted(port):
    """Returns the connections that the kernel holds ready for a listener on 127.0.0.1."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table][1:]
    listening = next(row for row in rows if row[1] == f"0100007F:{port:04X}" and row[3] == "0A")
    return int(listening[4].split(":")[1], 16)


def more_wait(port):
    """As many as may be open come in one burst. One more is not refused, but waits until another has gone."""
    streams = [connect(port) for _ in range(MOST)]
    for stream in streams:
        stream.sendall(b"ein")
    assert all(stream.recv(100) == b"in" for stream in streams)
    with connect(port) as waiting:
        waiting.sendall(b"ewaiting")
        # Each answer takes several rounds of the supervisor, which would have accepted it in the first.
        assert all(answers(stream, b"still") for stream in streams)
        assert unaccepted(port) == 1
        streams.pop().close()
        assert waiting.recv(100) == b"waiting"
        assert unaccepted(port) == 0
    for stream in streams:
        stream.close()


def digest_of(data):
    return b"%d %08x\n" % (len(data), zlib.crc32(data))


def uploads_that_end_early(host, port, server):
    """Clients have sent all and are gone before the first byte is read: nothing is lost. A client that ends its side
    after more than fits into the buffers, and waits for the answer, is not reset."""
    # Sizes around those of pages and of a relay's buffer; all fit into the buffers on the way.
    sizes = (1, 4095, 65535, 65536, 65537, 100_000, 200_000, 300_000)
    uploads = [os.urandom(size) for size in sizes * 4]
    waiting = [os.urandom(1_500_000 + i) for i in range(4)]
    with concurrent.futures.ThreadPoolExecutor(len(waiting)) as pool:
        answered = [pool.submit(ask, port, b"w" + data) for data in waiting]
        for data in uploads:
            with connect(port) as stream:
                stream.sendall(b"w" + data)
        host("exec", "w", "--", "touch", "/tmp/go", check=0)
        assert [answer.result() for answer in answered] == [digest_of(data) for data in waiting]
    told = sorted(server.stdout.readline() for _ in uploads + waiting)
    assert told == sorted(digest_of(data) for data in uploads + waiting)


OTHER_FAMILY = ("cannot publish %s: another program has that port of IPv6, which must be free too, or other users could take over the port; "
                "stop that program (`ss -tanp` shows it, with --bound-inactive if it does not listen), wait a minute if it has just ended, or choose another port")


@contextlib.contextmanager
def bound_by_another_user(host, port):
    """The port is bound and does not listen. It is shared by SO_REUSEADDR until that user takes it back."""
    os.seteuid(65534)
    try:
        other = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((host, port))
    finally:
        os.seteuid(0)
    with other:
        yield


def bound_port(host):
    """Later that user could keep the port closed."""
    if os.getuid() != 0:
        print("not tried: only root can be another user")
        return
    port = free_port()
    host("create", "second", *SMALL, "-p", f"{port}:1", check=0)
    for address, said in (("127.0.0.1", f"cannot publish 127.0.0.1:{port}: the port is taken; "), ("::1", OTHER_FAMILY % f"127.0.0.1:{port}")):
        with bound_by_another_user(address, port):
            done = host("--json", "start", "second")
        error = json.loads(done.stdout)
        assert done.returncode == 75 and error["errorCode"] == "unavailable" and said in error["error"], done
        assert host.json("status", "second")["event"]["state"] == "prepared"
    host("delete", "second", check=0)


HOLDER = 'workspace "w" of %s publishes 127.0.0.1:%s, so that port of both IPv4 and IPv6 is taken even if nothing listens there yet; stop that workspace, or choose another port'


OWN = ('cannot publish %s: workspace "w" already publishes 127.0.0.1:%s to port %s of the guest, so that port of both IPv4 and IPv6 is taken\n'
       "microagent: hint: choose another port, or `microagent network unpublish w 127.0.0.1:%s` first\n")


def taken_port(host, port):
    host("create", "second", *SMALL, "-p", f"{port}:1", check=0)
    done = host("--json", "start", "second")
    error = json.loads(done.stdout)
    assert done.returncode == 75 and error["errorCode"] == "unavailable", done
    assert f"cannot publish 127.0.0.1:{port}: {HOLDER % (host.state, port)}" in error["error"], error
    # Nothing was begun.
    assert host.json("status", "second")["event"]["state"] == "prepared"
    host("delete", "second", check=0)
    other = free_port()
    host("create", "second", *SMALL, "-p", f"{other}:1", check=0)
    with socket.create_server(("::1", other), family=socket.AF_INET6):
        done = host("--json", "start", "second")
    error = json.loads(done.stdout)
    assert done.returncode == 75 and error["errorCode"] == "unavailable", done
    assert error["error"].endswith(OTHER_FAMILY % f"127.0.0.1:{other}"), error
    assert host.json("status", "second")["event"]["state"] == "prepared"
    host("delete", "second", check=0)


def a_port_that_nobody_listens_at(host):
    """ss does not show a port that is kept for a server that does not listen yet. The error names the workspace, with
    any family of its address, and of any state directory."""
    port, elsewhere = free_port(), {"MICROAGENT_STATE_DIR": str(host.base / "elsewhere")}
    host("network", "publish", "w", f"{port}:{NOBODY + 1}", check=0)
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED
    for address in ("127.0.0.1", "[::1]", "0.0.0.0"):
        for env in ({}, elsewhere):
            host("create", "second", *SMALL, "-p", f"{address}:{port}:1", check=0, env=env)
            said = host("start", "second", check=75, env=env).stderr
            assert f"cannot publish {address}:{port}: {HOLDER % (host.state, port)}" in said, said
            host("delete", "second", check=0, env=env)
    host("network", "unpublish", "w", str(port), check=0)
    with socket.create_server(("127.0.0.1", 0)) as server:  # of no machine
        port = server.getsockname()[1]
        host("create", "second", *SMALL, "-p", f"{port}:1", check=0)
        said = host("start", "second", check=75).stderr
    assert f"127.0.0.1:{port}: the port is taken; stop the program that has it (`ss -ltnp` shows one that listens" in said, said
    host("delete", "second", check=0)


def a_clone_publishes_the_same(host, port):
    host("clone", "w", "twin", check=0)
    with socket.create_server(("127.0.0.1", port)):
        error = host("start", "twin", check=75).stderr
    assert f"127.0.0.1:{port}: the port is taken" in error and "workspace" not in error.split(": the port is taken")[1], error
    assert error.rstrip().endswith("or choose another port"), error
    assert host.json("status", "twin")["event"]["state"] == "prepared"
    host("delete", "twin", check=0)


def http(host, port):
    """busybox httpd, as any user of a published port runs it."""
    host("exec", "w", "--", "sh", "-c", "mkdir -p /tmp/www && echo hello > /tmp/www/index.html && "
         f"busybox httpd -p 127.0.0.1:{NOBODY} -h /tmp/www", check=0)
    await_server(port)
    answer = ask(port, b"GET / HTTP/1.0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.") and b"200 OK" in answer and answer.endswith(b"hello\n"), answer


def test_a_port_is_listened_on_while_its_server_listens(host):
    """Before and after that a connect is refused, and no other program gets the port."""
    on_v4, live = free_port(), free_port()
    on_any = on_v4  # one machine has a port in both families
    host("create", "w", *SMALL, "-p", f"{on_v4}:{V4}", "-p", f"[::1]:{on_any}:{V6}", check=0)
    host("start", "w", check=0)
    install_guest_program(host, "w")
    nobody_yet = [(on_v4, "127.0.0.1"), (on_any, "::1")]
    assert all(refuses(*one) and is_taken(*one) for one in nobody_yet)

    server, of_any = serve(host, "w", "127.0.0.1", V4), serve(host, "w", "::", V6)
    await_server(on_v4)
    await_server(on_any, "::1")
    assert ask(on_v4, b"e" + b"one") == b"one" and ask(on_any, b"e" + b"two", "::1") == b"two"
    end(server)
    await_no_server(on_v4)
    assert is_taken(on_v4) and ask(on_any, b"e" + b"still", "::1") == b"still"
    server = serve(host, "w", "127.0.0.1", V4)
    await_server(on_v4)
    assert ask(on_v4, b"e" + b"again") == b"again"
    end(server)
    end(of_any)
    await_no_server(on_v4)

    a_connection_outlives_its_listener(host, on_v4)
    host("network", "publish", "w", f"{live}:{NOBODY}", check=0)
    assert refuses(live) and is_taken(live)
    server = serve(host, "w", "127.0.0.1", NOBODY)
    await_server(live)
    host("network", "unpublish", "w", str(live), check=0)
    assert is_free(live)
    host("network", "publish", "w", f"{live}:{NOBODY}", check=0)  # it has its server already, as the guest's next message says
    await_server(live)
    assert ask(live, b"e" + b"at once") == b"at once"
    end(server)
    await_no_server(live)
    another_is_in_the_way(host, live)
    servers_that_come_and_go(host, on_v4)
    if BACKEND != "apple-vf":  # whose machines end with their agent
        without_an_agent(host, on_v4)
    host("kill", "w", check=0)
    assert is_free(on_v4) and is_free(live)
    host("delete", "w", check=0)


def another_is_in_the_way(host, port):
    """Another program of the same user has the port when the server begins to listen. When that is gone, the supervisor listens."""
    log = host.state / "w" / "supervisor.log"
    with socket.socket() as other, socket.socket() as elsewhere:
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            other.setsockopt(socket.SOL_SOCKET, option, 1)
        other.bind(("127.0.0.1", port))
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            other.setsockopt(socket.SOL_SOCKET, option, 0)
        elsewhere.bind(("127.0.0.3", port))  # makes the kernel look at every socket of the port again
        server = serve(host, "w", "127.0.0.1", NOBODY)
        failed = f"publish 127.0.0.1:{port}: cannot listen: Address already in use; it is tried again\n"
        wait_until(lambda: failed in log.read_text(), "a try to listen that fails")
        assert refuses(port)
    await_server(port)
    assert ask(port, b"e" + b"after all") == b"after all"
    end(server)
    await_no_server(port)


def without_an_agent(host, port):
    """Nobody reports servers any more. The supervisor listens, as for a guest that cannot tell."""
    line = "kill -KILL $(grep -l '[m]icroagent-agent' /proc/[0-9]*/cmdline | cut -d/ -f3)"
    host.popen("exec", "-u", "root", "w", "--", "sh", "-c", line).communicate()
    await_server(port)
    nobody_listens(port)


def a_connection_outlives_its_listener(host, port):
    """nc takes one connection and then stops listening."""
    child = host.popen("exec", "w", "--", "nc", "-l", "-p", str(V4), "-e", "cat")
    stream = None
    while stream is None:  # a look that is closed would be the one
        with contextlib.suppress(ConnectionRefusedError):
            stream = connect(port)
    with stream:
        assert answers(stream, b"first")
        await_no_server(port)
        assert answers(stream, b"second")
    child.communicate()


def servers_that_come_and_go(host, port):
    """However fast the changes are, the host's log stays small, and the last state holds."""
    log = host.state / "w" / "supervisor.log"
    line = f"i=0; while [ $i -lt 300 ]; do nc -l -p {V4} & p=$!; usleep 5000; kill $p; i=$((i+1)); done; wait"
    host("exec", "w", "--", "sh", "-c", line, check=0)
    await_no_server(port)
    assert log.stat().st_size < 100_000
    server = serve(host, "w", "127.0.0.1", V4)
    await_server(port)
    end(server)
    await_no_server(port)


@pytest.mark.parametrize("words,text", [
    (("-p", "80"), "--publish"),
    (("-p", "8080:80/udp"), "--publish"),
    (("-p", ":80:80"), "--publish"),
    (("-p", "0:80"), "--publish"),
    (("-p", "65536:80"), "--publish"),
    (("-p", "8080:80x"), "--publish"),
    (("-p", "8080:80", "-p", "8080:81"), "--publish"),
    (("-p", "example.org:8080:80"), "--publish"),
    (("--mediation", "2048"), "--mediation"),
    (("--mediation", "2048=:80"), "--mediation"),
    (("--mediation", "1024=127.0.0.1:80"), "--mediation"),
    (("--mediation-optional",), "--mediation"),
    (("--vsock", "x=127.0.0.1:80"), "--vsock"),
    (("--vsock", "3000=127.0.0.1:80", "--vsock", "3000=127.0.0.1:80"), "--vsock"),
])
def test_refused_words(host, words, text):
    done = host("create", "w", *SMALL, *words)
    assert done.returncode == 2 and text in done.stderr, done.stderr
    assert not (host.state / "w").exists()


def test_mediation_by_the_command_line(host):
    host("create", "w", *SMALL, "--mediation", "2048=127.0.0.1:9", "--mediation-optional", "--vsock",
         "3000=localhost:10", check=0)
    status = host.json("status", "w")
    assert status["mediation"] == {"enabled": True, "required": False, "port": 2048,
                                   "target": "127.0.0.1:9", "failClosed": True}
    assert "optional, port 2048 to 127.0.0.1:9" in host("status", "w").stdout
    host("delete", "w", check=0)


# --- more connections than there are places ---------------------------------------------------------------


@contextlib.contextmanager
def crowd(host, count, most):
    """Starts the machine w. Each of `count` of its ports gets `most` connections, and no server accepts one. Yields the ports."""
    ports = {free_port(): V4 + i for i in range(count)}
    host("create", "w", *SMALL, *(word for port, inside in ports.items() for word in ("-p", f"{port}:{inside}")), check=0)
    host("start", "w", check=0)
    install_guest_program(host, "w")
    server = host.popen("exec", "w", "--", "/tmp/gc", "idle", "127.0.0.1", *ports.values())
    assert server.stdout.readline() == b"listening\n"
    with contextlib.ExitStack() as open_streams:
        for port in ports:
            await_server(port)  # by the first connection: the machine does not learn that its client has gone
            for _ in range(most - 1):
                open_streams.enter_context(connect(port))
        yield ports
    host("kill", "w", check=0)
    server.communicate()
    host("delete", "w", check=0)


def waiting(ports):
    return sum(map(unaccepted, ports))


def test_connections_leave_room_for_clients_of_the_agent(host):
    """All streams of a machine share one table. Connections to four ports alone could fill it."""
    with crowd(host, 4, MOST) as ports:
        wait_until(lambda: waiting(ports) <= 4 * MOST - MOST_ALL, "the connections to be accepted")
        for _ in range(3):
            assert host("exec", "w", "--", "echo", "there", check=0).stdout == "there\n"
        assert waiting(ports) == 4 * MOST - MOST_ALL


# Each connection takes two descriptors of the supervisor. With one of two such numbers the last connection takes the last descriptor.
@pytest.mark.parametrize("files", [1023, 1024])
def test_connections_leave_descriptors_for_the_supervisor(host, files):
    """A host may allow fewer open files than the connections need that the limits allow."""
    few = (files - FILES_KEPT) // 2
    host.wrap = ["prlimit", f"--nofile={files}"]
    with crowd(host, 3, MOST) as ports:
        wait_until(lambda: waiting(ports) <= 3 * MOST - few, "the connections to be accepted")
        assert host.json("status", "w")["event"]["state"] == "running"
        assert host("exec", "w", "--", "echo", "there", check=0).stdout == "there\n"
        assert waiting(ports) == 3 * MOST - few
        host("quarantine", "w", check=0)
        assert host.json("status", "w")["event"]["state"] == "quarantined"


@pytest.mark.parametrize("files", [63, 64])
def test_a_supervisor_without_a_free_descriptor_is_heard(host, files):
    """With so few files the supervisor's own ones leave too little for the connections."""
    host.wrap = ["prlimit", f"--nofile={files}"]
    with crowd(host, 1, 60):
        own = f"/proc/{json.loads((host.state / 'w/runtime.json').read_text())['supervisorPid']}/fd"
        host.wrap = []
        wait_until(lambda: len(os.listdir(own)) >= files - 1, "the connections to be accepted")
        assert host("exec", "w", "--", "echo", "there", check=0).stdout == "there\n"
        host("quarantine", "w", check=0)
        assert host.json("status", "w")["event"]["state"] == "quarantined"


# --- of a machine that runs ------------------------------------------------------------------------------


def changes(host, name="w"):
    return [event["detail"] for event in host.json("events", name)["events"] if event.get("detail", "").startswith("network: ")]


def is_free(port):
    socket.create_server(("127.0.0.1", port)).close()
    return True


def refusals_of_a_running_machine(host, port):
    for words, why in ((("publish", "w", f"{port}:{V6}"), OWN % (f"127.0.0.1:{port}", port, V4, port)),
                       (("publish", "w", "80"), '"80" does not name ports to publish: write [HOST:]HOSTPORT:GUESTPORT'),
                       (("unpublish", "w", "1:2:3:4"), '"1:2:3:4" does not name a published port: write [HOST:]HOSTPORT'),
                       (("unpublish", "w", str(port + 1)), f'workspace "w": it publishes no port at 127.0.0.1:{port + 1}\nmicroagent: hint: `microagent network w` shows the published ports\n'),
                       (("publish", "nobody", f"{port}:80"), 'no workspace "nobody"'),
                       (("allow", "w", "pypi.org"), "its network has no list of names, and cannot get one while the machine runs: make the machine with --egress"),
                       (("allow", "w"), "allow, deny, publish or unpublish with NAME and WHAT"),
                       (("open", "w", "x"), "allow, deny, publish or unpublish with NAME and WHAT")):
        done = host("network", *words)
        assert done.returncode in (1, 2, 75) and why in done.stderr, (words, done)
    assert host("network", "publish", "w", f"0.0.0.0:{port}:{V6}").returncode != 0


def the_other_family_is_guarded(host, port):
    """Without it another user could have the port while the guest's server does not listen."""
    with socket.create_server(("::1", port), family=socket.AF_INET6):
        done = host("network", "publish", "w", f"{port}:{NOBODY}")
        assert done.returncode == 75 and OTHER_FAMILY % f"127.0.0.1:{port}" in done.stderr, done
    assert is_free(port) and str(port) not in host("network", "w").stdout
    host("network", "publish", "w", f"{port}:{NOBODY}", check=0)
    with pytest.raises(OSError, match="Address already in use"):
        socket.create_server(("::1", port), family=socket.AF_INET6)
    done = host("network", "publish", "w", f"[::1]:{port}:{NOBODY}")
    assert done.returncode == 1 and OWN % (f"[::1]:{port}", port, NOBODY, port) in done.stderr, done
    # As the hint has it.
    host("network", "unpublish", "w", f"127.0.0.1:{port}", check=0)
    socket.create_server(("::1", port), family=socket.AF_INET6).close()


def a_guest_that_does_not_answer(host, port):
    """An earlier agent ignores the question. Then nothing is published or recorded."""
    line = "kill -STOP $(grep -l '[m]icroagent-agent' /proc/[0-9]*/cmdline | cut -d/ -f3)"
    child = host.popen("exec", "-u", "root", "w", "--", "sh", "-c", line)  # it does not hear of its end
    wait_until(lambda: not host.json("status", "w")["readiness"]["shellReady"]["ready"], "an agent that does not answer")
    child.kill()
    child.communicate()
    before = host.json("network", "w")["network"]
    done = host("network", "publish", "w", f"{port}:{V6}")
    assert done.returncode == 75 and "the guest did not confirm within 3000 ms that it listens on the port" in done.stderr, done
    assert is_free(port) and host.json("network", "w")["network"] == before


def test_a_port_of_a_running_machine(host):
    """The port is published, used, and unpublished. The next start has the last state."""
    first, second = free_port(), free_port()
    host("create", "w", *SMALL, "--network", "nat", check=0)
    done = host("network", "publish", "w", f"{first}:{V4}")
    assert done.returncode == 1 and "is prepared, not running" in done.stderr and is_free(first)
    host("start", "w", check=0)
    install_guest_program(host, "w")
    server = serve(host, "w", "127.0.0.1", V4)
    assert host("network", "publish", "w", f"{first}:{V4}", check=0).stdout == f"w: {first}:{V4} is published\n"
    assert host.json("network", "publish", "w", f"[::1]:{second}:{V4}")["network"]["portForwards"][1]["host"] == "::1"
    assert ask(first, b"e" + b"later") == b"later" and ask(second, b"e" + b"twice", host="::1") == b"twice"
    assert f"[::1]:{second} to port {V4}" in host("network", "w", check=0).stdout
    refusals_of_a_running_machine(host, first)
    the_other_family_is_guarded(host, free_port())
    with connect(second, "::1") as stream:
        stream.sendall(b"e" + b"open")
        assert stream.recv(4) == b"open"
        host("network", "unpublish", "w", f"[::1]:{second}", check=0)
        with contextlib.suppress(ConnectionResetError):
            assert read_all(stream) == b""  # its connections end, in one way or the other
    assert "published" in host("network", "w").stdout and str(second) not in host("network", "w").stdout
    assert changes(host)[:2] + changes(host)[-1:] == [f"network: 127.0.0.1:{first} leads to port {V4}", f"network: [::1]:{second} leads to port {V4}",
                             f"network: [::1]:{second} is no longer published"]
    host("stop", "w", check=0)
    server.communicate()
    assert is_free(first)
    host("start", "w", check=0, env={"MICROAGENT_TEST_LIMIT_PUBLISH_MS": "3000", "MICROAGENT_TEST_LIMIT_PUBLISHES": "2"})
    install_guest_program(host, "w")
    server = serve(host, "w", "127.0.0.1", V4)
    await_server(first)
    assert ask(first, b"e" + b"again") == b"again"
    host("network", "unpublish", "w", str(first), check=0)
    host("network", "publish", "w", f"{first}:{V4}", check=0)  # the guest listens for it since before
    assert ask(first, b"e" + b"once more") == b"once more"
    host("network", "publish", "w", f"{second}:{V4}", check=0)
    done = host("network", "publish", "w", f"{free_port()}:{V4}")
    assert done.returncode == 1 and "it already publishes 2 ports, the most for one machine" in done.stderr, done
    host("network", "unpublish", "w", str(second), check=0)
    a_guest_that_does_not_answer(host, second)
    host("quarantine", "w", check=0)
    done = host("network", "publish", "w", f"{second}:{V4}")
    assert done.returncode == 1 and "quarantined" in done.stderr
    host("kill", "w", check=0)
    server.communicate()
    host("delete", "w", check=0)


def test_no_port_of_an_isolated_machine(vm):
    done = vm("network", "publish", "vm", f"{free_port()}:80")
    assert done.returncode == 1 and "microagent: --publish needs --network nat or bridged, and --network is \"isolated\"" in done.stderr, done
    assert vm.json("network", "vm")["network"] == {"mode": "isolated", "allow": [], "portForwards": []}
