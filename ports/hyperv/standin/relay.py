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


def end_with(life, stream):
    life.wait()
    with contextlib.suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)


def join(one, other, life=None):
    """Until both sides have ended; closes both. TCP does not tell a side that has sent all from one that has gone: life, an
    event, is the end of the one, and is then the other's too, when all that was on its way has arrived."""
    back = threading.Thread(target=pour, args=(other, one), daemon=True)
    back.start()
    pour(one, other)
    if life:
        threading.Thread(target=end_with, args=(life, other.dup()), daemon=True).start()
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
