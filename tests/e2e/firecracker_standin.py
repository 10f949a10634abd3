# SPDX-License-Identifier: MIT
"""The stand-in for Firecracker (tests/standin/firecracker) with the settings of a test, and a client of its API."""

import json
import os
import socket
import subprocess
import sys
import time

from conftest import BUILD, HANG_S, ROOT, Child, wait_until

STANDIN = ROOT / "tests" / "standin" / "firecracker"
LAUNCHER = f"""#!/usr/bin/python3 -ISB
import sys
sys.path.insert(0, {str(STANDIN)!r})
import program
program.end(sys.argv[1:], %r)
"""
sys.path.append(str(STANDIN))


def make_launcher(place, **values):
    """Makes one executable file, for MICROAGENT_FIRECRACKER, and its settings beside it."""
    assert (BUILD / "standin" / "libvsock.so").exists(), "`make standin` builds what the stand-in needs"
    place.mkdir(exist_ok=True)
    set_values(place, **values)
    launcher = place / "firecracker"
    launcher.write_text(LAUNCHER % str(place / "settings.json"))
    launcher.chmod(0o755)
    return launcher


def set_values(place, **values):
    whole = {"library": str(BUILD / "standin" / "libvsock.so"), "record": str(place / "calls"), **values}
    (place / "settings.new").write_text(json.dumps(whole))
    os.replace(place / "settings.new", place / "settings.json")


def calls(place):
    return [json.loads(line) for line in (place / "calls").read_text().splitlines()]


class Api:
    """One connection. The answers are (status, object or text)."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(HANG_S)
        wait_until(lambda: self.socket.connect_ex(str(path)) == 0, "the API")
        self.data = b""

    def send(self, method, path, body=None):
        if not isinstance(body, bytes):
            body = b"" if body is None else json.dumps(body).encode()
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    def receive(self):
        head = self.until(lambda: b"\r\n\r\n" in self.data).partition(b"\r\n\r\n")[0].decode()
        length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("Content-Length")), 0)
        start = len(head) + 4
        body = self.until(lambda: len(self.data) >= start + length)[start:start + length]
        self.data = self.data[start + length:]
        return int(head.split()[1]), body.decode()

    def until(self, enough):
        while not enough():
            got = self.socket.recv(65536)
            if not got:
                raise EOFError(self.data)
            self.data += got
        return self.data

    def __call__(self, method, path, body=None):
        self.send(method, path, body)
        status, text = self.receive()
        return status, json.loads(text) if text else None

    def fault(self, method, path, body=None):
        status, answer = self(method, path, body)
        assert status == 400, (status, answer)
        return answer["fault_message"]

    def put(self, path, body):
        assert self("PUT", path, body) == (204, None)


class Running:
    """Runs the program with its socket in place, for the time of a `with`: the stand-in, or another program that is named."""

    def __init__(self, place, words=(), wrap=(), program=None, **values):
        self.place, self.sock = place, place / "api.sock"
        self.launcher = program or make_launcher(place, **values)
        self.output = open(place / "out", "wb")
        self.child = Child([*wrap, self.launcher, "--api-sock", self.sock, "--id", "test-1", *words], stdin=subprocess.DEVNULL,
                           stdout=self.output, stderr=self.output)
        wait_until(lambda: self.sock.exists() or self.child.poll() is not None, "the API's socket")
        self.api = Api(self.sock)

    def text(self):
        return (self.place / "out").read_text(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        self.output.close()
        self.api.socket.close()


def listen(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(8)
    listener.settimeout(HANG_S)
    return listener


def read_until(stream, wanted, seconds=HANG_S):
    end, got = time.monotonic() + seconds, b""
    while wanted not in got and time.monotonic() < end:
        data = stream.recv(4096)
        if not data:
            break
        got += data
    return got
