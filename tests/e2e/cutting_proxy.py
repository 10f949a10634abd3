# SPDX-License-Identifier: MIT
"""Stands between the socket of the agent and its clients, and breaks connections at chosen places."""

import selectors
import socket

from vsock_standin import VsockStandIn


class CuttingProxy(VsockStandIn):
    """budget(n) returns after how many bytes, in both directions together, the n-th connection (from 0) is cut. None: never."""

    def __init__(self, directory, budget):
        super().__init__(directory)
        self.budget, self.cuts = budget, 0

    def plan(self, number):
        return self.budget(number)

    def handle(self, stream, plan):
        far = socket.socket(socket.AF_UNIX)
        far.connect(str(self.real))
        self.carry(stream, far, plan)

    def carry(self, near, far, left):
        """Runs until one side ends, or until `left` bytes have gone through."""
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
