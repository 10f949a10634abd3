# SPDX-License-Identifier: MIT
"""Tests the guest's agent at its limits, in a real machine. A client's breach ends that client's connection, with a
reason and with its commands, and no other connection. Nothing of it stays in guest or host."""

import hashlib
import json
import os
import struct

import pytest

import growth

STREAM = {"id": "a", "request": 1, "stream": True}


def frame(payload):
    return struct.pack(">I", len(payload)) + payload


def stdin(number, data=b"x"):
    return frame(b"\1" + struct.pack(">Q", number) + data)


def last_word(agent):
    """Returns the last document before the agent closes. Returns None if there was none."""
    said = None
    while True:
        try:
            payload = agent.frame()
        except (AssertionError, ConnectionError):
            return said
        if payload[:1] == b"{":
            said = json.loads(payload)


@pytest.fixture(scope="module")
def steady(vm):
    """A client without a fault: its command and its connection live through all the tests."""
    agent = growth.Agent(vm.state / "vm")
    agent.send({**STREAM, "cmd": ["cat"], "stdin": True})
    assert json.loads(agent.frame())["event"] == "start"
    yield agent
    agent.send({"event": "stdin-close", "request": 1})
    assert json.loads(agent.frame())["exitCode"] == 0
    agent.close()


def echoes(agent, text):
    agent.sock.sendall(stdin(1, text))
    assert agent.frame() == b"\2" + struct.pack(">Q", 1) + text


NESTED = b'{"id":"a","env":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}"
BAD = {
    "longer than any frame": (struct.pack(">I", (16 << 20) + 1) + b"{", "frame"),
    "as long as can be said": (b"\x7a\xff\xff\xff" + b"{}", "frame"),
    "empty": (frame(b""), ""),
    "a type that is none": (frame(b"\x07" + bytes(8)), "neither JSON nor stdin"),
    "output, which is not the client's": (frame(b"\2" + struct.pack(">Q", 1) + b"x"), "neither JSON nor stdin"),
    "stdin without a number": (frame(b"\1\0\0"), "neither JSON nor stdin"),
    "no JSON": (frame(b"{oops"), ""),
    "JSON and more": (frame(b'{"id":"a","cmd":["true"]} {}'), ""),
    "a key twice": (frame(b'{"id":"a","cmd":["true"],"cmd":["false"]}'), ""),
    "not UTF-8": (frame(b'{"id":"\xff\xfe","cmd":["true"]}'), ""),
    "a raw NUL": (frame(b'{"id":"a\0","cmd":["true"]}'), ""),
    "deeply nested": (frame(NESTED), ""),
    "an id of another type": (frame(b'{"id":7,"cmd":["true"]}'), "id"),
    "a request number below 1": (frame(b'{"id":"a","request":0,"stream":true,"cmd":["true"]}'), "request"),
    "a request number that is text": (frame(b'{"id":"a","request":"1","stream":true,"cmd":["true"]}'), "request"),
    "a number in use": (frame(json.dumps({**STREAM, "cmd": ["true"]}).encode()), "already running"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_breach_ends_its_connection_alone(vm, steady, what):
    data, said = BAD[what]
    echoes(steady, b"before")
    agent = growth.Agent(vm.state / "vm")
    agent.send({**STREAM, "cmd": ["sleep", "4242"]})
    assert json.loads(agent.frame())["event"] == "start"
    agent.sock.sendall(data)
    event = last_word(agent)
    agent.close()
    assert event["event"] == "error" and said in event["error"], event
    echoes(steady, b"after")


def test_what_is_cut_off(vm, steady):
    whole = frame(json.dumps({**STREAM, "cmd": ["sleep", "4242"]}).encode())
    for length in (1, 3, 4, 5, len(whole) - 1):
        agent = growth.Agent(vm.state / "vm")
        agent.sock.sendall(whole[:length])
        agent.sock.shutdown(1)
        assert last_word(agent) is None
        agent.close()
    echoes(steady, b"after")


def test_words_about_requests_that_are_not(vm, steady):
    """These messages may have crossed an exit on their way, so they are no breach."""
    agent = growth.Agent(vm.state / "vm")
    agent.send({**STREAM, "cmd": ["cat"], "stdin": True})
    assert json.loads(agent.frame())["event"] == "start"
    agent.sock.sendall(stdin(99) + stdin((1 << 63) - 1))
    for event in ("stdin-close", "cancel"):
        agent.send({"event": event, "request": 77})
    agent.send({"event": "signal", "request": 77, "signal": 9})
    echoes(agent, b"still here")
    agent.close()


def test_nothing_of_it_stays(vm, steady):
    """The commands of all those connections are gone, and a second round makes nothing grow."""
    def all_of_it():
        for data, _ in BAD.values():
            agent = growth.Agent(vm.state / "vm")
            agent.send({**STREAM, "cmd": ["sleep", "4242"]})
            agent.sock.sendall(data)
            last_word(agent)
            agent.close()
    all_of_it()
    before = growth.look(vm, "vm")
    all_of_it()
    growth.assert_no_growth(vm, "vm", before)
    assert "4242" not in vm("exec", "-u", "root", "vm", "--", "ps", check=0).stdout


@pytest.mark.parametrize("size", [0, 65536, 1 << 20])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_sizes(vm, size, stream):
    # Returns a pattern whose period fits neither a frame nor a pipe.
    script = f"yes 0123456789abcdef-{size} | head -c {size}"
    done = vm("exec", "vm", "--", "sh", "-c", script + (" >&2" if stream == "stderr" else ""), text=False, check=0)
    line = f"0123456789abcdef-{size}\n".encode()
    other = "stderr" if stream == "stdout" else "stdout"
    assert getattr(done, other) == b""
    assert hashlib.sha256(getattr(done, stream)).digest() == \
        hashlib.sha256((line * (size // len(line) + 1))[:size]).digest()


def test_a_reader_that_stops(vm):
    """The command of a client that does not read stands still. Other commands run, and then all of its output comes.
    test_soak.py has the long version."""
    reading, writing = os.pipe()
    child = vm.popen("exec", "vm", "--", "head", "-c", str(8 << 20), "/dev/zero", stdout=writing)
    os.close(writing)
    assert os.read(reading, 1) == b"\0"
    for _ in range(20):
        growth.run(vm.state / "vm", ["true"])
    total = 1
    while piece := os.read(reading, 1 << 20):
        total += len(piece)
    os.close(reading)
    assert (child.wait(60), total) == (0, 8 << 20)


def test_a_client_killed_half_way(vm):
    child = vm.popen("exec", "vm", "--", "sh", "-c", "exec yes half-way-4343")
    assert child.stdout.read(100000)
    child.kill()
    child.communicate()
    vm("exec", "-u", "root", "vm", "--", "sh", "-c",
       "while pidof yes >/dev/null; do sleep 0.05; done", check=0, timeout=60)


def test_many_on_one_connection(vm):
    """test_soak.py has 512 at once. Here there are as many as one connection may have, and one more."""
    most = int(next(limit["value"] for limit in vm.json("contract")["limits"] if limit["name"] == "AGENT_REQUESTS"))
    agent = growth.Agent(vm.state / "vm")
    for number in range(1, most + 1):
        agent.send({"id": str(number), "request": number, "stream": True, "cmd": ["cat"], "stdin": True})
    for number in range(1, most + 1):
        agent.sock.sendall(stdin(number, str(number).encode()))
        agent.send({"event": "stdin-close", "request": number})
    said, codes = {}, {}
    while len(codes) < most:
        payload = agent.frame()
        if payload[0] == 2:
            number = struct.unpack(">Q", payload[1:9])[0]
            said[number] = said.get(number, b"") + payload[9:]
        elif (event := json.loads(payload))["event"] == "exit":
            codes[event["request"]] = event["exitCode"]
    assert codes == dict.fromkeys(range(1, most + 1), 0)
    assert said == {number: str(number).encode() for number in range(1, most + 1)}
    for number in range(1, most + 2):
        agent.send({"id": str(number), "request": number, "stream": True, "cmd": ["sleep", "4242"]})
    assert f"more than {most} requests" in last_word(agent)["error"]
    agent.close()
