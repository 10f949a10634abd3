# SPDX-License-Identifier: MIT
"""Tests messages between our own programs, each by its schema: the agent's forms as a client writes and reads them, and
the messages of the live supervisor on its sockets, seen by strace."""

import base64
import json
import os
import re
import socket
import struct
import subprocess

import pytest

import schema_check
from conftest import wait_until
from test_mediation import free_port


def dial(host, name, port=2222):
    stream = socket.socket(socket.AF_UNIX)
    stream.settimeout(60)
    stream.connect(str(host.state / name / "vsock.sock"))
    stream.sendall(b"CONNECT %d\n" % port)
    line = b""
    while not line.endswith(b"\n"):
        line += stream.recv(1) or pytest.fail("the agent's port is closed")
    return stream


class Frames:
    """A connection to the agent in its frame form. Every JSON frame is validated."""

    def __init__(self, host, name, sent, got):
        self.stream, self.sent, self.got = dial(host, name), sent, got

    def send(self, message):
        if isinstance(message, dict):
            schema_check.validate(self.sent, message)
            message = json.dumps(message).encode()
        self.stream.sendall(struct.pack(">I", len(message)) + message)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            part = self.stream.recv(size - len(data))
            assert part, "the agent closed the connection"
            data += part
        return data

    def frame(self):
        data = self.exactly(struct.unpack(">I", self.exactly(4))[0])
        if not data.startswith(b"{"):
            return data
        message = json.loads(data)
        schema_check.validate(self.got, message)
        return message

    def until(self, event):
        """Returns the events up to the wanted one, without binary frames."""
        while True:
            message = self.frame()
            if isinstance(message, dict) and message["event"] == event:
                return message


def test_envelopes(vm):
    def ask(request):
        schema_check.validate("agent-envelope-request", request)
        with dial(vm, "vm") as stream:
            stream.sendall(json.dumps(request).encode() + b"\n")
            stream.shutdown(socket.SHUT_WR)
            answer = json.loads(stream.makefile("rb").read())
        schema_check.validate("agent-envelope-answer", answer)
        return answer

    answer = ask({"op": "exec", "payload": {"command": ["sh", "-c", "echo $A; exit 3"], "cwd": "/",
                                            "env": {"A": "b"}, "timeout_sec": 30, "user": "root"}})
    assert answer == {"exit_code": 3, "stdout": "b\n", "stderr": ""}
    assert ask({"op": "exec", "payload": {"command": ["/none"]}})["start_error"]
    assert ask({"op": "exec", "payload": {"command": ["sleep", "99"], "timeout_sec": 1}})["timed_out"]
    answer = ask({"op": "copyout", "payload": {"guest_path": "/etc/passwd"}})
    assert b"root" in base64.b64decode(answer["data"]) and answer["error"] == ""
    assert "dance" in ask({"op": "dance", "payload": {}})["error"]


def test_buffered_frames(vm):
    agent = Frames(vm, "vm", "agent-exec-request", "agent-exec-answer")
    requests = [{"id": "c", "cmd": ["sleep", "99"], "timeoutSeconds": 1},
                {"id": "a", "cmd": ["cat"], "stdin": base64.b64encode(b"bytes").decode(), "env": {},
                 "cwd": "/", "timeoutSeconds": 30},
                {"id": "b", "cmd": ["sh", "-c", "kill -9 $$"]},
                {"id": "d", "cmd": ["/none"]}]
    for request in requests:  # the agent closes when it has nothing left to answer: the longest first
        agent.send(request)
    answers = {answer["id"]: answer for answer in (agent.frame() for _ in requests)}
    assert base64.b64decode(answers["a"]["stdout"]) == b"bytes"
    assert (answers["b"]["signal"], answers["b"]["exitCode"]) == (9, 137)
    assert answers["c"]["timedOut"] and answers["d"]["startError"]


def test_streams(vm):
    agent = Frames(vm, "vm", "agent-stream-request", "agent-stream-event")
    agent.send({"id": "a", "request": 1, "stream": True, "cmd": ["cat"], "stdin": True})
    assert agent.until("start")["id"] == "a"
    agent.send(b"\1" + struct.pack(">Q", 1) + b"hello")
    assert agent.frame() == b"\2" + struct.pack(">Q", 1) + b"hello"
    agent.send({"event": "stdin-close", "request": 1})
    assert agent.until("exit")["exitCode"] == 0
    agent.send({"id": "b", "request": 2, "stream": True, "cmd": ["sh"], "pty": {"rows": 24, "cols": 80}})
    agent.until("start")
    agent.send({"event": "resize", "request": 2, "rows": 50, "cols": 132})
    agent.send(b"\1" + struct.pack(">Q", 2) + b"stty size; exit 4\n")
    assert agent.until("exit")["exitCode"] == 4
    for number, ending, signal in ((3, {"event": "signal", "request": 3, "signal": 15}, 15),
                                   (4, {"event": "cancel", "request": 4}, 9)):
        agent.send({"id": "c", "request": number, "stream": True, "cmd": ["sleep", "99"]})
        agent.until("start")
        agent.send(ending)
        event = agent.until("exit")
        assert event["signal"] == signal and event["killed"] == (signal == 9), event
    agent.send({"event": "attach", "request": 5, "exec": "workload"})
    assert "this machine's config has no command, so no client can attach to one: run a command in the guest instead" in agent.until("error")["error"]


def test_resumable_exec_goes_on_over_a_new_connection(vm):
    def connect():
        return Frames(vm, "vm", "agent-stream-request", "agent-stream-event")

    agent = connect()
    agent.send({"id": "a", "request": 1, "stream": True, "cmd": ["cat"], "stdin": True, "resume": 60,
                "exec": "messages"})
    start = agent.until("start")
    assert (start["exec"], start["stdinOffset"]) == ("messages", 0)
    text = bytes(range(256)) * 256
    for part in (text[:40000], text[40000:]):
        agent.send(b"\1" + struct.pack(">Q", 1) + part)
    got, told = b"", 0
    while not got or not told:
        frame = agent.frame()
        if isinstance(frame, bytes):
            got += frame[9:]
        else:
            told = frame["stdinOffset"]
    assert 32768 <= told <= len(text)
    agent.stream.close()
    agent = connect()
    agent.send({"event": "attach", "request": 7, "exec": "messages", "stdoutOffset": len(got),
                "stderrOffset": 0})
    start = agent.until("start")
    assert (start["request"], start["id"]) == (7, "messages")
    agent.send(b"\1" + struct.pack(">Q", 7) + text[start["stdinOffset"]:])
    agent.send({"event": "stdin-close", "request": 7})
    while isinstance(frame := agent.frame(), bytes) or frame["event"] == "ack":
        if isinstance(frame, bytes):
            got += frame[9:]
            agent.send({"event": "ack", "request": 7, "stdoutOffset": len(got)})
    assert got == text and frame["event"] == "exit" and frame["exitCode"] == 0
    agent.send({"event": "release", "request": 7})
    agent.send({"event": "attach", "request": 8, "exec": "messages"})
    assert agent.until("detached")["errorCode"] == "not-found"


# ---- between the live supervisor, its guest and its commands ------------------------------------

def conversations(trace):
    """Returns the bytes that were read and written on each descriptor, from its opening to its end: {(descriptor, how
    often it was closed before, "in" or "out"): bytes}."""
    found, closed = {}, {}
    for line in trace.read_text(errors="replace").splitlines():
        line = re.sub(r"^\d+ +", "", line)
        match = re.match(r"(read|recv|write|send|close)\w*\((\d+)", line)
        result = re.search(r"\)\s+= (\d+)", line)
        if not match or not result:
            continue
        if match[1] == "close":
            closed[match[2]] = closed.get(match[2], 0) + 1
            continue
        way = "in" if match[1] in ("read", "recv") else "out"
        text = "".join(re.findall(r'"((?:\\x[0-9a-f]{2})*)"', line))
        data = bytes.fromhex(text.replace("\\x", ""))[:int(result[1])]
        found.setdefault((match[2], closed.get(match[2], 0), way), bytearray()).extend(data)
    return found


def frames(data):
    """Yields the JSON of length-prefixed frames, as far as the data consists of them."""
    found = []
    while len(data) >= 4:
        size = struct.unpack(">I", data[:4])[0]
        if not 1 <= size <= len(data) - 4 or data[4:5] != b"{":
            break
        found.append(json.loads(data[4:4 + size]))
        data = data[4 + size:]
    return found


def documents(data):
    """Yields the JSON objects at the beginning of a stream."""
    text, found = bytes(data).decode(errors="replace"), []
    while text.startswith("{"):
        try:
            document, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            break
        found.append(document)
        text = text[end:].lstrip()
    return found


def test_control_stream_and_control_socket(host):
    """A life from hello to power-off."""
    host("create", "w", "--memory", 256, "--cpus", 1, "--network", "nat", "--egress", "pypi.org", "--", "sleep", "1000", check=0)
    trace = host.base / "trace"
    starting = host.popen("start", "w")
    runtime = host.state / "w" / "runtime.json"
    # Long before the guest says anything, since a kernel must boot first.
    wait_until(runtime.exists, "the live supervisor")
    pid = json.loads(runtime.read_text())["supervisorPid"]
    # Only the supervisor itself is traced. Its later children carry the same words both ways.
    tracer = subprocess.Popen(["strace", "-xx", "-s", "2000000", "-o", trace, "-e",
                               "trace=close,read,write,recvfrom,sendto,recvmsg,sendmsg,readv,writev",
                               "-p", str(pid)], stderr=subprocess.PIPE)
    assert b"attached" in tracer.stderr.readline()
    out, err = starting.communicate()
    assert starting.returncode == 0, (out, err)
    host.json("network", "allow", "w", "example.org")
    port = free_port()
    host.json("network", "publish", "w", f"{port}:80")
    host.json("network", "unpublish", "w", str(port))
    host.json("stop", "w")
    tracer.communicate()
    assert "Power down" in host.json("logs", "w")["logs"]
    assert host.json("delete", "w", "nobody")["responses"]
    heard = conversations(trace)
    types, commands = {}, []
    for (_, _, way), data in heard.items():
        for message in frames(bytes(data)):
            name = f"control-{message.get('type')}"
            assert name in schema_check.names(), message
            schema_check.validate(name, message)
            types.setdefault(way, set()).add(message["type"])
        for message in documents(data):
            if message.get("command") in ("power", "network"):
                schema_check.validate("control-sock-request", message)
                commands.append(message.get("change", "power"))
            elif set(message) <= {"ok", "error", "errorCode"} and "ok" in message:
                schema_check.validate("control-sock-answer", message)
    assert types == {"in": {"hello", "ready", "result", "ending", "published", "listening"}, "out": {"config", "time", "power", "publish", "unpublish"}}, types
    assert sorted(commands) == ["allow", "power", "publish", "unpublish"]


def test_what_the_guest_of_a_session_tells(host):
    """The guest reports its commands on the control stream."""
    host("base", "create", "web", check=0)
    name = host.json("session", "create", "--base", "web", "--network", "isolated")["name"]
    runtime = json.loads((host.state / "sessions" / f"{name}.bundle" / "runtime.json").read_text())
    trace = host.base / "trace"
    tracer = subprocess.Popen(["strace", "-f", "-xx", "-s", "2000000", "-o", trace, "-e",
                               "trace=close,read,write,recvfrom,sendto,recvmsg,sendmsg,readv,writev", "-p", str(runtime["supervisorPid"])],
                              stderr=subprocess.PIPE)
    assert b"attached" in tracer.stderr.readline()
    host("session", "exec", name, "--", "sh", "-c", "exit 3", check=3)
    host("session", "destroy", name, check=0)
    tracer.communicate()
    messages = [m for data in conversations(trace).values() for m in frames(bytes(data)) if "type" in m]
    for message in messages:
        schema_check.validate(f"control-{message['type']}", message)
    # It reports the rest before it is killed.
    assert [m["type"] for m in messages if m["type"] in ("settle", "settled")] in (["settle", "settled"], ["settled", "settle"])
    started, = [m for m in messages if m["type"] == "exec-started" and m["argv"] == ["sh", "-c", "exit 3"]]
    finished, = [m for m in messages if m["type"] == "exec-finished" and m["exec"] == started["exec"]]
    assert finished["code"] == 3
    host("base", "delete", "web-v1", check=0)


def test_small_documents_of_the_command_line(host):
    env = {"MICROAGENT_CACHE_DIR": str(host.base / "cache")}
    assert host.json("kernel", "refresh", env=env) == {"refreshed": 0}
    assert host.json("version")["version"] in host("version", check=0).stdout


def test_control_socket_by_hand(vm):
    """This is the last test of the file, since the workspace is cut off afterwards."""
    vm.spent = True

    def ask(request):
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(60)
            stream.connect(str(vm.state / "vm" / "control.sock"))
            stream.sendall(json.dumps(request).encode())
            stream.shutdown(socket.SHUT_WR)
            answer = json.loads(stream.makefile("rb").read())
        schema_check.validate("control-sock-answer", answer)
        return answer

    refused = ask({"command": "dance"})
    assert refused["ok"] is False and refused["errorCode"] == "unsupported"
    request = {"command": "balloon", "memoryMiB": 200}
    schema_check.validate("control-sock-request", request)
    assert ask(request)["ok"] is True
    request = {"command": "quarantine"}
    schema_check.validate("control-sock-request", request)
    assert ask(request)["event"]["state"] == "quarantined"


@pytest.mark.whole_suite
@pytest.mark.skipif(os.environ.get("ACCEL") == "kvm", reason="some messages come only from tests that need Debian's kernel or an emulated machine")
def test_every_message_was_met():
    """If no test exercises a message, nobody knows whether its schema is right."""
    unseen = schema_check.unseen()
    assert not unseen, ", ".join(f"{name} ({form})" if form is not None else name
                                 for name, form in unseen)
