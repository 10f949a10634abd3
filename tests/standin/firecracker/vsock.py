# SPDX-License-Identifier: MIT
"""The vsock device, which is vsock.c in a thread of this process. It listens from the PUT on, as Firecracker does, and
answers when the machine runs. The guest's dials go to uds_path_PORT. The program looks once, at the start, which of
these sockets exist, so it does not see a later one (Firecracker looks at each dial). A relay between the host's
sockets and the device loses the end of one side, as Firecracker does
(src/vmm/src/devices/virtio/vsock/csm/connection.rs). If the host ends its side, both sides end. If the guest ends
its side, the host is not told. While the guest has no room, nobody looks at the host's socket."""

import contextlib
import ctypes
import os
import select
import socket
import threading

PATH_BYTES = 108
CHUNK = 65536


class HostPort(ctypes.Structure):
    _fields_ = [("port", ctypes.c_uint32), ("path", ctypes.c_char * PATH_BYTES)]


def load(library):
    loaded = ctypes.CDLL(str(library))
    loaded.standin_vsock.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(HostPort), ctypes.c_uint]
    return loaded


def listen(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    listener.setblocking(False)
    return listener


def host_ports(path):
    above, name = os.path.split(path)
    for entry in os.listdir(above or "."):
        digits = entry.removeprefix(name + "_")
        if entry.startswith(name + "_") and digits.isascii() and digits.isdigit():
            yield int(digits), f"{path}_{digits}"


def listen_without_name(beside):
    """Returns a listener that only this process can reach, and the second path, by which it reaches the listener."""
    path = f"{beside}.inner"
    listener = listen(path)
    held = os.open(path, os.O_PATH)
    os.unlink(path)
    return listener, f"/proc/self/fd/{held}"


class Side:
    def __init__(self, sock, is_host):
        sock.setblocking(False)
        self.sock, self.is_host, self.other = sock, is_host, None
        self.unsent = b""     # bytes that the other side has sent
        self.is_read = True   # False: the end of the stream has come
        self.watched = None   # the events that it waits for, if any


class Relay(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.epoll, self.called = select.epoll(), {}

    def watch_listener(self, listener, connect):
        """Joins connections. connect() returns a connection for each one that comes in."""
        self.called[listener.fileno()] = lambda _: self.join(listener, connect)
        self.epoll.register(listener, select.EPOLLIN)

    def join(self, listener, connect):
        with contextlib.suppress(OSError):
            first, _ = listener.accept()
            try:
                second = connect()
            except OSError:
                first.close()
                return
            sides = Side(first, connect.from_host), Side(second, not connect.from_host)
            sides[0].other, sides[1].other = sides[1], sides[0]
            for side in sides:
                self.called[side.sock.fileno()] = lambda events, side=side: self.move(side, events)
            for side in sides:
                self.watch(side)

    def watch(self, side):
        """Sets the events to wait for. A host's socket that is neither read nor written gets no events, so its end is
        not seen. The device's socket is always watched, since Firecracker has no such socket."""
        wanted = (select.EPOLLIN if side.is_read and not side.other.unsent else 0) | (select.EPOLLOUT if side.unsent else 0)
        if not wanted and side.is_host:
            wanted = None
        if wanted == side.watched:
            return
        if side.watched is None:
            self.epoll.register(side.sock, wanted)
        elif wanted is None:
            self.epoll.unregister(side.sock)
        else:
            self.epoll.modify(side.sock, wanted)
        side.watched = wanted

    def move(self, side, events):
        try:
            if side.unsent:
                side.unsent = side.unsent[side.sock.send(side.unsent):]
            elif events & select.EPOLLIN and side.is_read and not side.other.unsent:
                self.take(side, events)
            elif events & (select.EPOLLHUP | select.EPOLLERR):
                raise ConnectionResetError
        except BlockingIOError:
            pass
        except OSError:
            self.end(side)
            return
        self.watch(side)
        self.watch(side.other)

    def take(self, side, events):
        data = side.sock.recv(CHUNK)
        if not data and (side.is_host or events & select.EPOLLHUP):
            raise ConnectionResetError
        side.is_read = bool(data)
        side.other.unsent = data
        if data:
            with contextlib.suppress(BlockingIOError):
                side.other.unsent = data[side.other.sock.send(data):]

    def end(self, side):
        for one in (side, side.other):
            if one.watched is not None:
                self.epoll.unregister(one.sock)
            del self.called[one.sock.fileno()]
            one.sock.close()

    def run(self):
        while True:
            for fd, events in self.epoll.poll():
                if fd in self.called:  # an earlier event of this round may have ended it
                    self.called[fd](events)


class Connect:
    def __init__(self, path, from_host):
        self.path, self.from_host = path, from_host

    def __call__(self):
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(self.path)
        except OSError:
            sock.close()
            raise
        return sock


def serve(library, vhost, listener, config):
    path, relay, found, kept = config["uds_path"], Relay(), [], [listener]
    for port, target in host_ports(path):
        inner, name = listen_without_name(path)
        relay.watch_listener(inner, Connect(target, from_host=False))
        found.append(HostPort(port, name.encode()))
        kept.append(inner)
    inner, name = listen_without_name(path)
    relay.watch_listener(listener, Connect(name, from_host=True))
    ports = (HostPort * max(len(found), 1))(*found)

    def run():
        library.standin_vsock(vhost.detach(), inner.fileno(), config["guest_cid"], ports, len(found))
        for one in kept:
            one.close()

    relay.start()
    threading.Thread(target=run, daemon=True).start()
