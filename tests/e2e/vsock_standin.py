# SPDX-License-Identifier: MIT
"""Replaces the socket by which clients reach the agent of a workspace's guest."""

import os
import socket
import threading

from conftest import HANG_S


class VsockStandIn:
    """A context manager: inside, <directory>/agent.sock, or vsock.sock if there is none, is ours, and the real one is
    at self.real. Each connection is handled in a thread of its own; count is their number."""

    def __init__(self, directory):
        self.path = next(path for path in (directory / "agent.sock", directory / "vsock.sock") if path.exists())
        self.real = self.path.with_name(f"{self.path.name}-behind")
        self.count, self.threads = 0, []

    def plan(self, number):
        """Returns the arguments of handle() for the connection of that number, from 0. It is called in their order."""

    def handle(self, stream, plan):
        raise NotImplementedError

    def __enter__(self):
        os.rename(self.path, self.real)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(64)
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()
        return self

    def __exit__(self, *_):
        os.rename(self.real, self.path)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.accepting.join(HANG_S)
        self.listener.close()
        for thread in self.threads:
            thread.join(HANG_S)
        assert not any(thread.is_alive() for thread in self.threads), "a connection that nobody has closed"

    def accept(self):
        while True:
            try:
                stream = self.listener.accept()[0]
            except OSError:
                return
            self.threads.append(threading.Thread(target=self.handle, args=(stream, self.plan(self.count)), daemon=True))
            self.count += 1
            self.threads[-1].start()
