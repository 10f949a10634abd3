# SPDX-License-Identifier: MIT
"""The streams of an exec and of a port-forward as Kubernetes has them over a WebSocket (v4.channel.k8s.io): the first
byte of a message is its channel."""

import ctypes
import json
import os
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from conftest import HANG_S

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
DATA, DATA_ERROR = range(2)
CLONE_NEWNET = 0x40000000


def in_network(network, make, *args):
    """Returns a socket made in the network namespace of a file, by a thread that enters it and does not come back."""
    def there():
        with open(network, "rb") as space:
            assert ctypes.CDLL(None).setns(space.fileno(), CLONE_NEWNET) == 0
        return make(*args)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(there).result()


def connect_in(network, host, port):
    return in_network(network, socket.create_connection, (host, port), HANG_S)


class Channels:
    def __init__(self, network, url):
        parts = urlsplit(url)
        self.socket = connect_in(network, parts.hostname, parts.port)
        self.socket.sendall((f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Origin: http://localhost\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: bWljcm9hZ2VudC10ZXN0cw==\r\n"
                             "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        head = [self.file.readline()]
        while head[-1] not in (b"\r\n", b""):
            head.append(self.file.readline())
        assert b" 101 " in head[0], head

    def send(self, channel, data):
        data, mask = bytes([channel]) + data, os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(data))
        self.socket.sendall(b"\x82" + size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def message(self):
        """Yields the channel and the bytes of each message, until the end."""
        head = self.file.read(2)
        if len(head) < 2 or head[0] & 15 == 8:
            return None
        size = head[1] & 127
        if size >= 126:
            size = struct.unpack(*((">H", self.file.read(2)) if size == 126 else (">Q", self.file.read(8))))[0]
        data = self.file.read(size)
        return data[0] if data else None, data[1:]

    def close(self):
        self.file.close()
        self.socket.close()


class PortStream(Channels):
    """The streams of one port, whose number each channel sends first."""

    def ask(self, data):
        """Returns the answer until the far side's end, and the text of errors."""
        told = {DATA: b"", DATA_ERROR: b""}
        self.send(DATA, data)
        while got := self.message():
            if got[1]:
                told[got[0]] += got[1]
        self.close()
        return told[DATA][2:], told[DATA_ERROR][2:]


class ExecStream(Channels):
    def __init__(self, network, url):
        super().__init__(network, url)
        self.text, self.status = "", None

    def type(self, text):
        self.send(STDIN, text.encode())

    def resize(self, rows, columns):
        self.send(RESIZE, json.dumps({"Width": columns, "Height": rows}).encode())

    def receive(self):
        """Reads one message. Returns False at the end."""
        got = self.message()
        channel, data = got or (None, b"")
        if channel in (STDOUT, STDERR):
            self.text += data.decode(errors="replace")
        elif channel == ERROR and data:
            self.status = json.loads(data)
        return got is not None

    def until(self, text):
        while text not in self.text:
            assert self.receive(), f"no {text!r} in {self.text!r}"

    def end(self):
        """Returns the exit code."""
        while self.status is None and self.receive():
            pass
        self.close()
        if self.status["status"] == "Success":
            return 0
        return int(next(cause["message"] for cause in self.status["details"]["causes"] if cause["reason"] == "ExitCode"))
