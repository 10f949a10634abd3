# SPDX-License-Identifier: MIT
"""Tests commands that do not read their stdin. They can be ended, however much of it is on its way."""

import json
import signal
import socket
import struct
import time

import pytest

import growth
from conftest import wait_until

MUCH = 10 << 20
STREAM = {"id": "s", "request": 1, "stream": True}


@pytest.fixture(scope="module")
def much(tmp_path_factory):
    path = tmp_path_factory.mktemp("stdin") / "much"
    path.write_bytes(bytes(MUCH))
    return path


def is_running(vm, seconds):
    """Runs sleep SECONDS; the number identifies it."""
    return f"sleep {seconds}" in vm("exec", "--user", "root", "vm", "--", "ps", check=0).stdout


def stands_still(child):
    """Waits until the client has read as much of its stdin as it can, but not all."""
    def position():
        with open(f"/proc/{child.pid}/fdinfo/0", encoding="ascii") as lines:
            return int(next(lines).split()[1])
    before = position()
    time.sleep(0.2)
    return 0 < before == position() < MUCH


def is_pending(child):
    with open(f"/proc/{child.pid}/status", encoding="ascii") as lines:
        return any(line.startswith("ShdPnd:") and int(line.split()[1], 16) for line in lines)


@pytest.mark.parametrize("resume", [(), ("--resume", 1)], ids=["plain", "resumable"])
@pytest.mark.parametrize("end", ["SIGINT twice", "timeout", "death of the client"])
def test_a_command_that_reads_nothing_is_ended(vm, much, end, resume):
    timeout = ("--timeout", 3) if end == "timeout" else ()
    with open(much, "rb") as data:
        child = vm.popen("exec", "-i", *resume, *timeout, "vm", "--", "sh", "-c",
                         "trap '' INT; echo up; exec sleep 9871", stdin=data)
        assert child.stdout.readline() == b"up\n"
        if end != "timeout":
            wait_until(lambda: stands_still(child), "the client to have sent what it can")
        if end == "SIGINT twice":
            child.send_signal(signal.SIGINT)
            wait_until(lambda: not is_pending(child), "the client to have seen the first signal")
            child.send_signal(signal.SIGINT)
        elif end != "timeout":
            child.kill()
        child.communicate(timeout=60)
    assert child.returncode == {"SIGINT twice": 130, "timeout": 124, "death of the client": -9}[end]
    wait_until(lambda: not is_running(vm, 9871), "the command to be killed")


def test_a_signal_passes_the_stdin(vm, much):
    with open(much, "rb") as data:
        child = vm.popen("exec", "-i", "vm", "--", "sh", "-c", "trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done",
                         stdin=data)
        assert child.stdout.readline() == b"up\n"
        wait_until(lambda: stands_still(child), "the client to have sent what it can")
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
    assert child.returncode == 7


# --- clients of others, which know nothing of windows ---------------------------------------------

def start(vm, *command, **more):
    agent = growth.Agent(vm.state / "vm")
    agent.send({**STREAM, "cmd": list(command), "stdin": True, **more})
    event = json.loads(agent.frame())
    assert event["event"] == "start"
    return agent


def frames(size):
    body = bytes(65536)
    head = struct.pack(">I", 9 + len(body)) + b"\1" + struct.pack(">Q", 1)
    return (head + body) * (size // len(body))


def test_a_client_without_a_window_that_goes_away(vm):
    agent = start(vm, "sleep", "9872")
    agent.sock.settimeout(1)
    with pytest.raises(TimeoutError):
        agent.sock.sendall(frames(MUCH))
    agent.close()
    wait_until(lambda: not is_running(vm, 9872), "the command to be killed")


def test_a_client_without_a_window_that_sends_no_more(vm):
    """The client gets its answer, also if the command began to read late."""
    agent = start(vm, "sh", "-c", "until [ -e /tmp/read ]; do sleep 0.05; done; rm /tmp/read; wc -c")
    agent.sock.settimeout(1)
    sent = 0
    data = memoryview(frames(4 << 20))
    with pytest.raises(TimeoutError):
        while sent < len(data):
            sent += agent.sock.send(data[sent:])
    vm("exec", "vm", "--", "touch", "/tmp/read", check=0)
    agent.sock.settimeout(60)
    agent.sock.sendall(data[sent:])
    agent.sock.shutdown(socket.SHUT_WR)
    assert agent.frame()[9:] == f"{4 << 20}\n".encode()
    assert json.loads(agent.frame())["exitCode"] == 0
    agent.close()


def test_more_than_the_window(vm):
    """A request that asked for a window breaks the protocol if it sends more."""
    agent = start(vm, "sleep", "9873", stdinWindow=True)
    agent.sock.sendall(frames(640 << 10))  # a pipe, the window, and 64 KiB
    while (event := json.loads(agent.frame()))["event"] == "ack":
        pass
    assert event["event"] == "error" and "stdin were sent that the command has not read" in event["error"]
    agent.close()
    wait_until(lambda: not is_running(vm, 9873), "the command to be killed")
