# SPDX-License-Identifier: MIT
"""Joins two sockets to one connection: the bytes, and the end of each side by itself."""

import contextlib
import socket
import threading

CHUNK = 65536


def pour(source, sink):
    try:
        while data := source.recv(CHUNK):
            sink.sendall(data)
    except OSError:
        for stream in (source, sink):  # one is broken, so both are
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
    """Runs until both sides have ended, and closes both. TCP does not distinguish a side that has sent all from one
    that has gone. life, an event, is the end of one side. The other side then ends too, when all bytes on their way
    have arrived."""
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
