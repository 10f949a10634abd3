# SPDX-License-Identifier: MIT
"""Tests channels from guest to host: mediation and further listeners, and the readiness signals about them."""

import concurrent.futures
import contextlib
import json
import random
import socket
import subprocess
import threading

import pytest

import schema_check
from conftest import OWN, ROOT, wait_until
from test_supervisor import request, sparse


PORTS = iter(random.sample(range(10000, 30000), 20000))  # each process of pytest uses another order
MOST = 5  # connections of the guest at once to one listener, by a shortened limit


class Target:
    """A TCP server of the host that counts its connections and serves each by a function."""

    def __init__(self, serve, address="127.0.0.1"):
        self.serve = serve
        self.count = 0
        self.open = []
        self.listener = socket.create_server((address, 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.count += 1
            self.open.append(peer)
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def close(self):
        # A listener that is only closed lives on in the thread's accept().
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for peer in self.open:
            peer.close()


def echo(peer):
    """Reads until the client's end, then says goodbye: the answer shows both half-closes. The client may be gone by then."""
    with peer, contextlib.suppress(ConnectionError):
        while data := peer.recv(65536):
            peer.sendall(data)
        peer.sendall(b"bye")


def hold(peer):
    """Neither reads nor writes."""
    del peer


def free_port():
    """Returns a port below those that the kernel gives to connections (ip(7), ip_local_port_range). So no connection of
    another test takes it before it is used. One process returns no port twice."""
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True):
            return port
    raise AssertionError("no port from 10000 to 29999 is free")


def guest_program():
    program = OWN / "guest_channels"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-static", "-o", program,
                    ROOT / "tests/e2e/guest_channels.c"], check=True)
    return program.read_bytes()


def install_guest_program(host, name):
    host("exec", "-i", name, "--", "sh", "-c", "cat > /tmp/gc && chmod 755 /tmp/gc", input=guest_program(),
         text=False, check=0)


def mediation(to, **changes):
    return {"enabled": True, "required": True, "port": 2048, "target": f"127.0.0.1:{to}",
            "failClosed": True, **changes}


@pytest.fixture
def targets():
    made = {"mediation": Target(echo), "stalled": Target(hold), "named": Target(echo)}
    yield made
    for target in made.values():
        target.close()


def hands_on_ends(host):
    return "halfClose" in host.support()["features"]


def answered(host, port, data):
    """Returns whether all bytes come back and, if the host hears that the guest sends no more, the target's word after them."""
    if hands_on_ends(host):
        return dial(host, port, data) == data + b"bye"
    child = host.popen("exec", "-i", "agent-1", "--", "/tmp/gc", "dial", port, stdin=subprocess.PIPE)
    threading.Thread(target=lambda: (child.stdin.write(data), child.stdin.flush()), daemon=True).start()
    came = child.stdout.read(len(data))
    child.kill()
    child.wait()
    return came == data


def dial(host, port, data, check=0):
    return host("exec", "-i", "agent-1", "--", "/tmp/gc", "dial", port, input=data, text=False, check=check).stdout


def inspect(host):
    code, answer, _ = host.supervisor(request("inspect", sparse(host)))
    assert code == 0, answer
    return answer


def control_sock(host, document, valid=True):
    if valid:
        schema_check.validate("control-sock-request", document)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(host.state / "agent-1" / "control.sock"))
        client.sendall(json.dumps(document).encode() + b"\n")
        answer = json.loads(client.makefile().readline())
    schema_check.validate("control-sock-answer", answer)
    return answer


def test_channels_of_one_guest(host, targets):
    dead = free_port()
    config = host.config(
        mediation=mediation(targets["mediation"].port),
        vsockListeners=[{"port": 3000, "target": f"localhost:{targets['named'].port}"},
                        {"port": 3001, "target": f"127.0.0.1:{dead}"},
                        {"port": 3002, "target": f"[::1]:{dead}"},
                        {"port": 3003, "target": "no-such-host.invalid:80"},
                        {"port": 3004, "target": f"127.0.0.1:{targets['stalled'].port}"}])
    for command in ("prepare", "start"):
        code, answer, _ = host.supervisor(request(command, config),
                                          env={"MICROAGENT_TEST_LIMIT_PROBE_KEPT_MS": "600000",
                                               "MICROAGENT_TEST_LIMIT_LISTENER_CONNECTIONS": str(MOST)})
        assert code == 0, answer
        assert answer["mediation"] == config["mediation"]
    check_readiness(answer["readiness"], targets["mediation"].port)
    install_guest_program(host, "agent-1")
    check_channels(host, targets)
    check_most(host, targets)
    check_remembered(host, targets)
    code, answer, _ = host.supervisor(request("kill", sparse(host)))
    assert code == 0 and not [p for p in (host.state / "agent-1").iterdir() if p.is_socket()]
    signals = inspect(host)["readiness"]
    for key in ("guestReady", "shellReady", "mediationReady"):
        assert signals[key]["ready"] is False and "workspace is stopped" in signals[key]["detail"]
    assert signals["mediationReady"]["error"]
    host.supervisor(request("delete", sparse(host)))


def check_readiness(signals, port):
    assert set(signals) == {"guestReady", "shellReady", "resultReady", "mediationReady"}
    for key in ("guestReady", "shellReady", "mediationReady"):
        assert signals[key]["ready"] is True and signals[key]["observedAt"] and signals[key]["detail"]
    assert f"127.0.0.1:{port}" in signals["mediationReady"]["detail"]
    assert signals["resultReady"] == {"ready": False, "detail": "no result of a command was delivered"}


def check_channels(host, targets):
    payload = bytes(range(256)) * 4096
    assert answered(host, 2048, payload)
    assert answered(host, 3000, b"by name")
    for refused in (3001, 3002, 3003):
        assert dial(host, refused, b"") == b"", refused  # a target that is down: closed
    for undeclared in (3005, 2222, 9900):
        assert dial(host, undeclared, b"", check=3) == b""
    # A target that does not read blocks its own connection and nothing else.
    stalled = host.popen("exec", "agent-1", "--", "sh", "-c", "/tmp/gc dial 3004 < /dev/zero")
    wait_until(lambda: targets["stalled"].count == 1, "the stalled connection")
    assert answered(host, 2048, b"meanwhile")
    stalled.kill()
    stalled.communicate()


def check_most(host, targets):
    """A connection above the limit is closed, and the target does not hear of it. When another has gone there is room again."""
    before = targets["named"].count
    held = [host.popen("exec", "-i", "agent-1", "--", "/tmp/gc", "dial", "3000", stdin=subprocess.PIPE) for _ in range(MOST)]
    for one in held:
        one.stdin.write(b"in\n")
        one.stdin.flush()
        assert one.stdout.readline() == b"in\n"
    assert dial(host, 3000, b"") == b"" and targets["named"].count == before + MOST
    assert answered(host, 2048, b"another")
    for one in held:
        if hands_on_ends(host):
            assert one.communicate(b"out")[0] == b"outbye"
        else:
            one.kill()
            one.communicate()
    wait_until(lambda: answered(host, 3000, b"again"), "room for another")


def check_remembered(host, targets):
    """However often and from however many sides readiness is asked, the target sees one probe."""
    before = targets["mediation"].count
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: inspect(host)["readiness"]["mediationReady"], range(100)))
    assert {a["ready"] for a in answers} == {True} and len({a["observedAt"] for a in answers}) == 1
    assert targets["mediation"].count == before
    assert control_sock(host, {"command": "readiness"})["readiness"]["mediationReady"] == answers[0]
    assert control_sock(host, {"command": "power", "action": "dance"}, False)["errorCode"] == "invalid"


def test_a_target_that_is_down(host):
    """The guest starts and is not ready. When the target comes, it is ready without any action."""
    port = free_port()
    config = host.config(mediation=mediation(port))
    env = {"MICROAGENT_TEST_LIMIT_PROBE_KEPT_MS": "1"}
    host.supervisor(request("prepare", config))
    code, answer, _ = host.supervisor(request("start", config), env=env)
    assert code == 0, answer
    signal = answer["readiness"]["mediationReady"]
    assert signal["ready"] is False and f"127.0.0.1:{port}" in signal["error"], signal
    assert answer["readiness"]["guestReady"]["ready"] and answer["readiness"]["shellReady"]["ready"]
    # A person also sees the reason, and only about channels that were asked for.
    rows = [line for line in host("status", "agent-1", check=0).stdout.splitlines() if line.startswith("not ready")]
    assert len(rows) == 1 and "mediation: " in rows[0] and signal["error"] in rows[0], rows
    with socket.create_server(("127.0.0.1", port)) as listener:
        assert inspect(host)["readiness"]["mediationReady"]["ready"] is True
        peer, _ = listener.accept()
        assert peer.recv(1) == b""  # connected, and nothing said
        peer.close()
    assert inspect(host)["readiness"]["mediationReady"]["ready"] is False
    host.supervisor(request("kill", sparse(host)))
    host.supervisor(request("delete", sparse(host)))


LISTENER = {"port": 3000, "target": "127.0.0.1:1"}


@pytest.mark.parametrize("changes,word", [
    ({"mediation": mediation(1, failClosed=False)}, "config.mediation.failClosed"),
    ({"mediation": mediation(1, enabled=False)}, "config.mediation.enabled"),
    ({"mediation": mediation(1, port=1024)}, "config.mediation.port"),
    ({"mediation": mediation(1, port=1023)}, "config.mediation.port"),
    ({"mediation": mediation(1, port=0)}, "config.mediation.port"),
    ({"mediation": mediation(1, port=2**30)}, "config.mediation.port"),
    ({"mediation": mediation(1, target="nowhere")}, "config.mediation.target"),
    ({"vsockListeners": [{**LISTENER, "port": 1024}]}, "config.vsockListeners[0].port"),
    ({"vsockListeners": [{**LISTENER, "port": 1023}]}, "config.vsockListeners[0].port"),
    ({"vsockListeners": [LISTENER, LISTENER]}, "config.vsockListeners[1]"),
    ({"vsockListeners": [{**LISTENER, "target": "127.0.0.1:0"}]}, "config.vsockListeners[0].target"),
    ({"vsockListeners": [{**LISTENER, "port": 2048}], "mediation": mediation(2)}, "config.mediation.port"),
    ({"vsockListeners": [{**LISTENER, "port": 2048}], "mediation": mediation(1)}, "config.mediation.port"),
    ({"vsockListeners": [{**LISTENER, "port": 3000 + i} for i in range(63)]}, "config.vsockListeners"),
])
def test_refusals(host, changes, word):
    if changes.get("mediation", {}).get("port") == 2**30 and "mediation.port" not in {row["field"] for row in host.support()["refusals"]}:
        pytest.skip("this backend's own connections have no ports of their own")
    config = host.config(**changes)
    for command in ("check", "prepare", "start", "run"):
        code, answer, _ = host.supervisor(request(command, config))
        assert code == 1 and word in answer["error"], (command, answer)
    assert not [p for p in host.state.iterdir() if p.name not in (".locks", ".microagent-state")]
