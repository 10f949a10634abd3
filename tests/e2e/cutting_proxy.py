# SPDX-License-Identifier: MIT
"""Stands between vsock.sock and those who dial it, and breaks connections at chosen places."""

import os
import selectors
import socket
import threading


class CuttingProxy:
    """budget(n) says after how many bytes, both ways together, the n-th connection (from 0) is cut;
    None: never. Used as a context manager: inside, <directory>/vsock.sock is the proxy's."""

    def __init__(self, directory, budget):
        self.path, self.real = directory / "vsock.sock", directory / "vsock.sock-behind"
        self.budget, self.count, self.cuts = budget, 0, 0
        self.threads = []

    def __enter__(self):
        os.rename(self.path, self.real)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(64)
        self.accepting = threading.Thread(target=self.accept)
        self.accepting.start()
        return self

    def __exit__(self, *_):
        os.rename(self.real, self.path)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.accepting.join()
        self.listener.close()
        for thread in self.threads:
            thread.join()

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(str(self.real))
            thread = threading.Thread(target=self.carry, args=(near, far, self.budget(self.count)))
            self.count += 1
            self.threads.append(thread)
            thread.start()

    def carry(self, near, far, left):
        """Until either side ends, or left bytes have gone through."""
        with near, far, selectors.DefaultSelector() as wait:
            wait.register(near, selectors.EVENT_READ, far)
            wait.register(far, selectors.EVENT_READ, near)
            while left is None or left > 0:
                for key, _ in wait.select():
                    try:
                        data = key.fileobj.recv(65536 if left is None else max(min(65536, left), 1))
                        key.data.sendall(data)
                    except OSError:
                        return
                    if not data:
                        return
                    left = None if left is None else max(left - len(data), 0)
            self.cuts += 1
