# SPDX-License-Identifier: MIT
"""Two sockets as one connection: bytes, and the end of each side by itself."""

import contextlib
import socket
import threading

CHUNK = 65536


def pour(source, sink):
    try:
        while data := source.recv(CHUNK):
            sink.sendall(data)
    except OSError:
        for stream in (source, sink):  # broken: then both are
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        return
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def join(one, other):
    """Until both sides have ended; closes both."""
    back = threading.Thread(target=pour, args=(other, one), daemon=True)
    back.start()
    pour(one, other)
    back.join()
    one.close()
    other.close()


def read_line(stream, limit=256):
    line = b""
    while not line.endswith(b"\n"):
        byte = stream.recv(1)
        if not byte or len(line) == limit:
            raise EOFError
        line += byte
    return line[:-1].decode()
