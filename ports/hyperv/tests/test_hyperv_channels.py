# SPDX-License-Identifier: MIT
"""Tests the channels between a guest of microagent-hyperv-supervisor and this host: mediation, listeners and published
ports, under Wine with the stand-in for Hyper-V."""

import contextlib
import socket
import subprocess

import pytest

import hyperv
from conftest import wait_until

from hyperv import run_in_guest
from test_mediation import Target, echo, free_port, guest_program, mediation
from test_publish import ask, refuses


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    yield from hyperv.bench_in(tmp_path_factory.mktemp("hyperv"))


@pytest.fixture(scope="module")
def config(place, tmp_path_factory):
    """Makes a root with a program that dials the host's vsock ports, and serves TCP ports."""
    root = tmp_path_factory.mktemp("root") / "busybox.ext4"
    config = hyperv.config_of(place, root)
    program = root.parent / "gc"
    program.write_bytes(guest_program())
    subprocess.run(["debugfs", "-w", "-f", "-", root], input=f"write {program} /usr/bin/gc\nsif /usr/bin/gc mode 0100755\n", text=True, check=True,
                   capture_output=True)
    return config


@pytest.fixture(name="vm")
def the_supervisor(bench, config, tmp_path):
    yield from hyperv.supervisor_on(bench, tmp_path / "state", config)


@pytest.fixture(name="broker")
def the_broker(bench):
    return bench[0]


@pytest.fixture
def target():
    made = Target(echo)
    yield made
    with contextlib.suppress(OSError):
        made.close()


def dial(broker, address, port, text):
    return run_in_guest(broker, address, "sh", "-c", f"printf '{text}' | gc dial {port}")


def test_channels(vm, broker, target):
    """All three work in one machine. The end of one side is told to the other side, and a port that is not declared leads nowhere."""
    port, dead = free_port(), free_port()
    channels = {"mediation": mediation(target.port),
                "vsockListeners": [{"port": 3000, "target": f"localhost:{target.port}"}, {"port": 3001, "target": f"127.0.0.1:{dead}"}],
                "network": {"portForwards": [{"hostPort": port, "guestPort": 80}]}}
    for command in ("check", "prepare", "start"):
        answer = vm.ok(command, **channels)
        assert answer["mediation"] == channels["mediation"]
    assert answer["readiness"]["mediationReady"]["ready"] and f"127.0.0.1:{target.port}" in answer["readiness"]["mediationReady"]["detail"]
    assert answer["network"]["mode"] == "isolated" and answer["network"]["portForwards"][0]["hostPort"] == port
    address = answer["hvSocket"]
    assert dial(broker, address, 2048, "mediated") == (0, "mediatedbye")
    assert dial(broker, address, 3000, "by name") == (0, "by namebye")
    assert dial(broker, address, 3001, "x")[1] == ""
    assert dial(broker, address, 3002, "x") == (3, "")
    assert ask(port, b"x") == b""  # nobody serves that port of the guest yet
    run_in_guest(broker, address, "sh", "-c", "setsid gc serve 127.0.0.1 80 > /tmp/served 2>&1 & until grep listening /tmp/served; do :; done")
    payload = bytes(range(256)) * 2048
    assert ask(port, b"e" + payload) == payload
    target.close()
    assert dial(broker, address, 2048, "x")[1] == ""
    told = vm.ok("inspect")
    assert told["mediation"] == channels["mediation"] and not told["readiness"]["mediationReady"]["ready"]
    assert f"127.0.0.1:{target.port}: connect" in told["readiness"]["mediationReady"]["error"]
    vm.ok("stop")
    told = vm.ok("inspect")["readiness"]["mediationReady"]
    assert told["error"] == "required mediation is not ready" and "workspace is stopped" in told["detail"]
    assert refuses(port)
    assert f"listener on port 3001: 127.0.0.1:{dead}: connect" in vm.file("supervisor.log").read_text()


def greet(peer):
    """Sends a word, and holds the connection until the client has gone."""
    with peer:
        peer.sendall(b"hello\n")
        while peer.recv(1):
            pass


HOLD = "setsid sh -c 'sleep 1000 | gc dial 3000 > /tmp/held%d' > /dev/null 2>&1 & until [ -s /tmp/held%d ]; do :; done"


@pytest.mark.soak
def test_bounds(vm, broker):
    """A connection above the limit is closed, and when others have gone there is room again. A kill ends the existing
    ones. A guest that tries a dead target again and again fills no log."""
    served = Target(greet)
    config = {"vsockListeners": [{"port": 3000, "target": f"127.0.0.1:{served.port}"}, {"port": 3001, "target": f"127.0.0.1:{free_port()}"}]}
    vm.ok("prepare", **config)
    address = vm.ok("start", env={"MICROAGENT_TEST_LIMIT_LISTENER_CONNECTIONS": "2"}, **config)["hvSocket"]
    for number in (1, 2):
        assert run_in_guest(broker, address, "sh", "-c", HOLD % (number, number))[0] == 0
    assert dial(broker, address, 3000, "") == (0, "") and served.count == 2
    assert run_in_guest(broker, address, "sh", "-c", "for i in $(seq 20); do gc dial 3001 < /dev/null; done; killall sleep")[0] == 0
    assert run_in_guest(broker, address, "sh", "-c", "until gc dial 3000 < /dev/null | grep hello; do :; done") == (0, "hello\n")
    assert run_in_guest(broker, address, "sh", "-c", HOLD % (3, 3))[0] == 0
    assert vm.ok("kill")["event"]["detail"] == "killed"
    wait_until(lambda: all(peer.fileno() < 0 for peer in served.open), "the end of all connections")
    assert vm.file("supervisor.log").read_text().count("listener on port 3001: ") == 1
    served.close()


@pytest.mark.soak
def test_a_port_that_is_taken(vm, broker):
    """start names the port before there is a machine; the next start is an ordinary one."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        network = {"mode": "isolated", "portForwards": [{"hostPort": port, "guestPort": 80}]}
        vm.ok("prepare", network=network)
        before = len(broker.calls())
        code, text = vm.refused("start", network=network)
        assert code == "unavailable" and text.startswith(f"cannot publish 127.0.0.1:{port}: the port is taken"), text
        assert vm.ok("inspect")["event"]["state"] == "failed"
        assert "HcsCreateComputeSystem" not in [call["call"] for call in broker.calls()[before:]]
    address = vm.ok("start", network=network)["hvSocket"]
    assert run_in_guest(broker, address, "echo", "on") == (0, "on\n")
    vm.ok("halt")
    with socket.create_server(("127.0.0.1", port)):
        pass
    code, text = vm.refused("prepare", network={"portForwards": [{"host": "192.0.2.1", "hostPort": port, "guestPort": 80}]})
    assert (code, text) == ("invalid", "config.network.portForwards[0].host: the address must be one of this host, and 192.0.2.1 is not")
