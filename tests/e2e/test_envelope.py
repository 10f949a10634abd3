# SPDX-License-Identifier: MIT
"""Tests the agent's envelope form with a client that knows only its description: a line of JSON to vsock port 2222, and
a line back. Requests and answers are validated, except those of hostile clients."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

import schema_check
from conftest import wait_until
from test_messages import dial


class Client:
    """A connection. say() sends bytes as they are, ask() sends a valid request and returns its answer."""

    def __init__(self, host, name="vm"):
        self.stream = dial(host, name)
        self.lines = self.stream.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lines.close()
        self.stream.close()

    def say(self, line):
        self.stream.sendall(line)

    def line(self):
        return self.lines.readline()

    def ask(self, op, **payload):
        request = {"op": op, "payload": payload}
        schema_check.validate("agent-envelope-request", request)
        self.say(json.dumps(request).encode() + b"\n")
        answer = json.loads(self.line())
        schema_check.validate("agent-envelope-answer", answer)
        return answer

    def sh(self, script, user="root"):
        answer = self.ask("exec", command=["sh", "-c", script], user=user)
        assert answer["exit_code"] == 0, answer
        return answer["stdout"]

    # a terminal

    def pty(self, **payload):
        request = {"op": "pty", "payload": payload}
        schema_check.validate("agent-envelope-request", request)
        self.say(json.dumps(request).encode() + b"\n")

    def event(self, event, **rest):
        if "data" in rest:
            rest["data"] = base64.b64encode(rest["data"].encode()).decode()
        message = {"event": event, **rest}
        schema_check.validate("agent-envelope-pty-input", message)
        self.say(json.dumps(message).encode() + b"\n")

    def until(self, text=None):
        """Returns the terminal's output up to text, or to its end, and then the last event."""
        screen = b""
        while text is None or text.encode() not in screen:
            message = json.loads(self.line())
            schema_check.validate("agent-envelope-pty-event", message)
            if message["event"] != "stdout":
                assert text is None, (message, screen)
                return screen.decode(), message
            screen += base64.b64decode(message["data"])
        return screen.decode()


@pytest.fixture(scope="module", autouse=True)
def tidy(vm):
    yield
    vm("exec", "-u", "root", "vm", "--", "sh", "-c", "rm -rf /root/in /tmp/* /usr/local/bin/go /workspace/*", check=0)


@pytest.fixture()
def client(vm):
    with Client(vm) as it:
        yield it


# ---- the published examples, byte for byte ------------------------------------------------------

def test_published_examples(client):
    client.sh("mkdir -p /usr/local/bin && cat > /usr/local/bin/go <<'END'\n#!/bin/sh\n"
              "[ \"$GOOS $PWD $*\" = 'linux /workspace test ./...' ] || exit 1\n"
              "printf 'PASS\\nok github.com/yanurag-dev/sandforge/internal/policy\\n'\nEND\n"
              "chmod 755 /usr/local/bin/go; printf 'hello world' > /workspace/log.txt")
    client.say(b'{"op": "exec","payload": {"command": ["go", "test", "./..."],"cwd": "/workspace",'
               b'"env": {"GOOS": "linux"},"timeout_sec": 30}}\n')
    assert client.line() == (b'{"exit_code":0,"stdout":"PASS\\nok github.com/yanurag-dev/sandforge/'
                             b'internal/policy\\n","stderr":""}\n')
    client.say(b'{"op": "copyout","payload": {"guest_path": "/workspace/log.txt"}}\n')
    assert client.line() == b'{"data":"aGVsbG8gd29ybGQ=","error":""}\n'


@pytest.mark.parametrize("payload, code, more", [
    ({"command": ["sh", "-c", "exit 255"]}, 255, {}),
    ({"command": ["sh", "-c", "kill -SEGV $$"]}, 139, {}),
    ({"command": ["sh", "-c", "kill -9 $$"]}, 137, {}),
    ({"command": ["sleep", "99"], "timeout_sec": 1}, 124, {"timed_out": True}),
    ({"command": ["/etc/passwd"]}, 126,
     {"start_error": "cannot execute /etc/passwd: Permission denied"}),
    ({"command": ["/none"]}, 127, {"start_error": "cannot execute /none: No such file or directory"}),
    ({"command": ["none"]}, 127, {"start_error": "none: not found in PATH: install this program in the guest, or give its whole path"}),
    ({"command": ["true"], "cwd": "/none"}, 125,
     {"start_error": "cannot enter the directory /none: No such file or directory"}),
    ({"command": ["true"], "rlimits": {"nofile": {"hard": 2 ** 40}}}, 125,
     {"start_error": "cannot set the limit nofile: Operation not permitted"}),
])
def test_exit_codes(client, payload, code, more):
    """Further keys appear only if they are true."""
    answer = client.ask("exec", **payload)
    stderr = f"microagent: {more['start_error']}\n" if "start_error" in more else ""
    assert answer == {"exit_code": code, "stdout": "", "stderr": stderr, **more}


def test_rlimits(client):
    answer = client.ask("exec", command=["sh", "-c", "ulimit -Sn; ulimit -Hn; ulimit -Hv"],
                        rlimits={"nofile": {"soft": 5000, "hard": 6000}, "as": {"hard": "unlimited"}})
    assert answer["stdout"] == "5000\n6000\nunlimited\n", answer
    assert client.ask("exec", command=["sh", "-c", "ulimit -n"])["stdout"] == "1024\n"


# ---- the connection -----------------------------------------------------------------------------

def test_envelopes_in_a_row(vm):
    with Client(vm) as client:
        client.say(b'{"op":"exec","payload":{"command":["sh","-c","sleep 0.3; echo 1"]}}'
                   b'{"op":"stat","payload":{"guest_path":"/"}}\n\n{"op":"dance"}\n')
        assert json.loads(client.line())["stdout"] == "1\n"
        assert json.loads(client.line())["name"] == "/"
        assert json.loads(client.line()) == {"error": "unknown op: dance"}
        assert client.sh("echo later") == "later\n"
        client.stream.shutdown(socket.SHUT_WR)
        assert client.line() == b""  # the client's end is the end of the connection


# ---- files --------------------------------------------------------------------------------------

def test_write_list_stat_copyout(client):
    data = bytes(range(256))
    assert client.ask("write", guest_path="/workspace/d/e/f.bin",
                      data=base64.b64encode(data).decode()) == {"size": 256, "error": ""}
    assert client.ask("copyout", guest_path="/workspace/d/e/f.bin") == {
        "data": base64.b64encode(data).decode(), "error": ""}
    assert client.sh("cd /workspace/d; stat -c '%a %U %n' . e e/f.bin") == (
        "750 agent .\n750 agent e\n600 agent e/f.bin\n")
    client.sh("cd /workspace/d; touch -d @1700000000 e/f.bin; ln -s e/f.bin link; ln -s none dangling;"
              "mkfifo fifo; mkdir -m 1777 tmp; printf x > $(printf 'not-utf8-\\377')", user="agent")
    answer = client.ask("list", guest_path="/workspace/d")
    assert answer["error"] == ""
    entries = {entry.pop("name"): entry for entry in answer["entries"]}
    assert list(entries) == ["dangling", "e", "fifo", "link", "not-utf8-\ufffd", "tmp"]
    assert {name: entry["mode"] for name, entry in entries.items()} == {
        "dangling": 1 << 27 | 0o777, "link": 1 << 27 | 0o777, "fifo": 1 << 25 | 0o644,
        "e": 1 << 31 | 0o750, "tmp": 1 << 31 | 1 << 20 | 0o777, "not-utf8-\ufffd": 0o644}
    assert [name for name, entry in entries.items() if entry["is_dir"]] == ["e", "tmp"]
    assert client.ask("stat", guest_path="/workspace/d/link") == {
        "name": "link", "size": 256, "mode": 0o600, "is_dir": False, "mod_time": 1700000000, "error": ""}
    assert client.ask("stat", guest_path="/workspace/d/dangling")["error"] == (
        "/workspace/d/dangling: No such file or directory")


def test_megabytes(client):
    """Makes many reads and writes of the connection each way; the unit tests have the longest ones."""
    text = base64.b64encode(os.urandom(2 << 20)).decode()
    assert client.ask("write", guest_path="/tmp/big", data=text) == {"size": 2 << 20, "error": ""}
    assert client.ask("copyout", guest_path="/tmp/big") == {"data": text, "error": ""}
    client.sh("truncate -s 16777217 /tmp/big", user="agent")
    assert client.ask("copyout", guest_path="/tmp/big")["error"] == (
        "/tmp/big in the guest has 16777217 bytes, and copyout returns at most 16777216: run a command that writes the file to its stdout")
    client.sh("rm /tmp/big")


def test_rights(client):
    """Paths are followed with the rights of the asking user, wherever a link leads."""
    client.sh("mkdir -m 700 /root/in; echo secret > /root/in/file; chmod 600 /root/in/file;"
              "ln -sf /root/in/file /workspace/out; ln -sfn /root/in /workspace/outdir")
    denied = {"copyout": "out", "stat": "outdir/file", "list": "outdir", "write": "out"}
    for op, path in denied.items():
        answer = client.ask(op, guest_path=f"/workspace/{path}")
        assert answer["error"] == f"/workspace/{path}: Permission denied", (op, answer)
    answer = client.ask("write", guest_path="/workspace/outdir/new/file")
    assert answer["error"] == "/workspace/outdir/new: Permission denied"
    assert client.sh("cat /root/in/file; ls /root/in") == "secret\nfile\n"
    answer = client.ask("copyout", guest_path="/workspace/out", user="root")
    assert base64.b64decode(answer["data"]) == b"secret\n"
    assert "nobody-here" in client.ask("list", guest_path="/", user="nobody-here")["error"]


@pytest.mark.parametrize("path, what", [
    ("/tmp/odd/fifo", " in the guest is not a regular file"), ("/tmp/odd", " in the guest is not a regular file"),
    ("/dev/null", " in the guest is not a regular file"), ("/dev/tty", ""), ("/tmp/odd/loop", ": Too many levels"),
    ("/tmp/odd/socket", "")])
def test_odd_files(client, path, what):
    """Neither of them waits or changes anything."""
    client.sh("[ -d /tmp/odd ] || { mkdir -m 777 /tmp/odd; mkfifo -m 666 /tmp/odd/fifo;"
              "ln -s loop /tmp/odd/loop; mknod /tmp/odd/socket p; }")
    for op in ("copyout", "write"):
        error = client.ask(op, guest_path=path, **({"data": "eA=="} if op == "write" else {}))["error"]
        assert error.startswith((f"{path}: ", f"{path} in the guest is not a regular file")) and what in error, (op, error)
    assert client.ask("list", guest_path=path)["error"] if path != "/tmp/odd" else True


# ---- terminals ----------------------------------------------------------------------------------

def test_terminal(client):
    client.pty(cols=100, rows=30)  # the shell of the guest, in its user's home
    client.event("stdin", data="stty size; id -un; echo at $((40 + 2))\n")
    assert "30 100\r\nagent\r\nat 42\r\n" in client.until("\r\nat 42\r\n")
    client.event("resize", cols=132, rows=50)
    client.event("stdin", data="stty size; exit 4\n")
    screen, last = client.until()
    assert "50 132\r\n" in screen and last == {"event": "exit", "code": 4}
    assert client.sh("echo and on") == "and on\n"
    client.pty(command=["sh", "-c", "kill -9 $$"])
    assert client.until()[1] == {"event": "exit", "code": 137}
    client.pty(command=["sleep", "99"], timeout_sec=1)
    assert client.until()[1] == {"event": "exit", "code": 124, "timed_out": True}
    for command, code in (["/none"], 127), (["/etc/passwd"], 126):
        client.pty(command=command)
        last = client.until()[1]
        assert (last["event"], last["code"]) == ("error", code) and command[0] in last["msg"], last
    client.pty(command=["sleep", "99"])
    client.say(b'{"event":"dance"}\n')
    assert client.until()[1] == {"event": "error", "msg": 'the guest\'s agent does not know the event "dance" of a terminal: send "stdin" or "resize"'}
    assert client.line() == b""


KILLED = """
import base64, json, socket, sys, time
stream = socket.socket(socket.AF_UNIX)
stream.connect(sys.argv[1])
stream.sendall(b'CONNECT 2222\\n')
left = "trap '' HUP; sleep 1000 & echo $! > /tmp/left"  # deaf from its first moment
script = left + "; trap 'echo hung up > /tmp/hung; exit' HUP; echo on; while :; do sleep 0.1; done"
stream.sendall(json.dumps({"op": "pty", "payload": {"command": ["sh", "-c", script]}}).encode() + b'\\n')
seen = b""
while b"stdout" not in seen:
    seen += stream.recv(100)
print("on", flush=True)
time.sleep(1000)
"""


def test_client_killed_in_a_terminal(vm, client):
    client.sh("rm -f /tmp/hung")
    with subprocess.Popen([sys.executable, "-c", KILLED, str(vm.state / "vm" / "vsock.sock")],
                          stdout=subprocess.PIPE) as victim:
        assert victim.stdout.readline() == b"on\n"
        os.kill(victim.pid, signal.SIGKILL)
    wait_until(lambda: client.sh("cat /tmp/hung 2>/dev/null; true") == "hung up\n",
               "the word of the terminal's program")
    client.sh("kill $(cat /tmp/left)")  # it had left the terminal, and such children live on


# ---- hostile clients ----------------------------------------------------------------------------

@pytest.mark.parametrize("line, answer", [
    (b'{"op":"write","payload":{"guest_path":"/tmp/x","data":"=bad="}}', "payload.data"),
    (b'{"op":"write","payload":{"guest_path":"/tmp/x","data":{"a":1}}}', "payload.data must be a string"),
    (b'{"op":"write","payload":{"guest_path":["/tmp/x"]}}', "payload.guest_path must be a string"),
    (b'{"op":"stat","payload":{"guest_path":"tmp"}}', "payload.guest_path must be an absolute path, like /root/file"),
    (b'{"op":"stat","payload":{"guest_path":"/a\\u0000b"}}', None),
    (b'{"op":"list","payload":[]}', "payload must be an object"),
    (b'{"op":"list"}', "payload is required"),
    (b'{"op":"list","payload":{"guest_path":"/","user":5}}', "payload.user must be a string"),
    (b'{"op":"pty","payload":{"command":["sh"],"cols":"wide"}}', "payload.cols must be an integer"),
    (b'{"op":"pty","payload":{"rlimits":{"nofiles":{}}}}', "payload.rlimits.nofiles"),
    (b'{"op":"pty","payload":{"command":[true]}}', "payload.command[0] must be a string"),
    (b'{"op":7,"payload":{}}', "decode envelope: op must be a string"),
    (b'{"op":"list","op":"stat"}', "decode envelope: "),
    (b'{"op":"\xff\xfe"}', "decode envelope: "),
    (b'{"op":"list","payload":' + b'[' * 5000 + b']' * 5000 + b'}', "decode envelope: "),
    (b'{"op":"list","payload":' + b'{"a":' * 200 + b'1' + b'}' * 201, "decode envelope: "),
    (b'{"event":"stdin","data":""}', "decode envelope: op is required"),
    (b' "just text"', "decode envelope: "),
], ids=range(18))
def test_hostile_lines(vm, line, answer):
    with Client(vm) as client:
        client.say(line + b"\n")
        said = json.loads(client.line())
        assert (answer or "") in json.dumps(said), said
        if answer and answer.startswith("decode envelope"):
            assert client.line() == b""  # input that is no envelope ends the connection


def test_too_long_line(vm):
    """A line is refused when it is too long, and not only at its end. The agent gives the memory back."""
    with Client(vm) as hostile:
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            hostile.say(b'{"op":"write","payload":{"data":"')
            for _ in range(64):
                hostile.say(b"A" * (1 << 20))
    with Client(vm) as hostile:
        hostile.say(b'{"op":"write","payload":{"data":"' + b"A" * (24 << 20))
        assert json.loads(hostile.line()) == {"error": "decode envelope: a request to the guest's agent is longer than 25165824 bytes, which is the limit: send less in one request"}
    with Client(vm) as after:
        status = after.sh("for p in /proc/[0-9]*; do grep -qx microagent $p/comm 2>/dev/null &&"
                          " cat $p/status; done; true")
    resident = [int(part.split()[0]) for part in status.split("VmRSS:")[1:]]
    assert resident and max(resident) < 20 << 10, f"the agent holds {resident} KiB"
