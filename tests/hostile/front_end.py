# SPDX-License-Identifier: MIT
"""A vhost-user front-end in the hands of an attacker: what a VMM that a guest has taken over can say to
microagent-vsockd, and write into the memory and the rings that both share (vhost-user.rst of QEMU; virtio 1.2, 2.7)."""

import array
import contextlib
import ctypes
import mmap
import os
import random
import socket
import struct

SET_FEATURES, SET_MEM_TABLE, SET_VRING_NUM, SET_VRING_ADDR = 2, 5, 8, 9
SET_VRING_BASE, SET_VRING_KICK, SET_VRING_CALL, SET_VRING_ENABLE = 10, 12, 13, 18
GET_FEATURES, GET_VRING_BASE = 1, 11
VERSION_1, PROTOCOL = 1 << 32, 1 << 30
RX, TX = 0, 1
GUEST, USER = 0x100000, 0x7f0000000000  # the addresses of the memory for the guest and for the VMM
SIZE, NUM = 1 << 20, 64
DESC, AVAIL, USED = 0, 0x1000, 0x2000  # the size of a ring; each part is RING bytes after the one before
RING, DATA = 0x4000, 0x10000
NEXT, WRITE, INDIRECT = 1, 2, 4

libc = ctypes.CDLL(None, use_errno=True)


def eventfd():
    return os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)


class FrontEnd:
    """A connection with one region of memory and two rings, unless others are asked for."""

    def __init__(self, path, seed=1):
        self.random = random.Random(seed)
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(str(path))
        self.memfd = os.memfd_create("guest")
        os.ftruncate(self.memfd, SIZE)
        self.memory = mmap.mmap(self.memfd, SIZE)
        self.kick, self.call = [eventfd(), eventfd()], [eventfd(), eventfd()]

    def close(self):
        for fd in (self.memfd, *self.kick, *self.call):
            os.close(fd)
        with contextlib.suppress(BufferError):
            self.memory.close()
        self.sock.close()

    def say(self, request, payload=b"", fds=(), size=None, flags=1):
        """Sends. Returns False if the back-end has hung up."""
        data = struct.pack("<III", request, flags, len(payload) if size is None else size) + payload
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            self.sock.sendmsg([data], rights)
        except OSError:
            return False
        return True

    def ask(self, request, payload=b""):
        """Returns the answer's payload. Returns None if the back-end has hung up."""
        if not self.say(request, payload):
            return None
        try:
            head = self.sock.recv(12, socket.MSG_WAITALL)
        except ConnectionError:
            head = b""
        if len(head) < 12:
            return None
        return self.sock.recv(struct.unpack("<III", head)[2], socket.MSG_WAITALL)

    def answers(self):
        """Waits until the back-end has read everything. Returns False if it has hung up."""
        return self.ask(GET_FEATURES) is not None

    def table(self, regions, fds=None):
        payload = struct.pack("<II", len(regions), 0) + b"".join(struct.pack("<QQQQ", *region) for region in regions)
        self.say(SET_MEM_TABLE, payload, [self.memfd] * len(regions) if fds is None else fds)

    def plug(self, memory=True, **addresses):
        """Does the set-up that QEMU does."""
        self.say(SET_FEATURES, struct.pack("<Q", VERSION_1 | PROTOCOL))
        if memory:
            self.table([(GUEST, SIZE, USER, 0)])
        for ring in (RX, TX):
            self.ring(ring, **addresses)

    def ring(self, ring, num=NUM, base=0, desc=None, avail=None, used=None):
        at = USER + ring * RING
        self.say(SET_VRING_NUM, struct.pack("<II", ring, num))
        self.say(SET_VRING_BASE, struct.pack("<II", ring, base))
        self.say(SET_VRING_ADDR, struct.pack("<IIQQQQ", ring, 0, at + DESC if desc is None else desc,
                                             at + USED if used is None else used, at + AVAIL if avail is None else avail, 0))
        self.say(SET_VRING_CALL, struct.pack("<Q", ring), [self.call[ring]])
        self.say(SET_VRING_KICK, struct.pack("<Q", ring), [self.kick[ring]])
        self.say(SET_VRING_ENABLE, struct.pack("<II", ring, 1))

    # --- the rings, as a driver would fill them --------------------------------------------------

    def descriptor(self, ring, index, addr, length, flags=0, following=0):
        struct.pack_into("<QIHH", self.memory, ring * RING + DESC + index * 16, addr, length, flags, following)

    def offer(self, ring, heads, index=None):
        """Writes chains that begin at heads, and the index behind them."""
        at = ring * RING + AVAIL
        first = struct.unpack_from("<H", self.memory, at + 2)[0]
        for i, head in enumerate(heads):
            struct.pack_into("<H", self.memory, at + 4 + (first + i) % NUM * 2, head)
        struct.pack_into("<H", self.memory, at + 2, (first + len(heads)) % 65536 if index is None else index)
        os.eventfd_write(self.kick[ring], 1)

    def used(self, ring):
        return struct.unpack_from("<H", self.memory, ring * RING + USED + 2)[0]

    def packet(self, at, op, **fields):
        """Writes a header into the data (virtio 1.2, 5.10.6)."""
        values = {"src": 3, "dst": 2, "src_port": 5, "dst_port": 1024, "len": 0, "type": 1, "flags": 0, "alloc": 65536, "fwd": 0,
                  **fields}
        struct.pack_into("<QQIIIHHIII", self.memory, DATA + at, values["src"], values["dst"], values["src_port"],
                         values["dst_port"], values["len"], values["type"], op, values["flags"], values["alloc"], values["fwd"])
        return GUEST + DATA + at

    def noise_in(self, start, length):
        self.memory[start:start + length] = self.random.randbytes(length)

    def shrink(self):
        """Makes the memory that both sides have mapped smaller, which no filter sees."""
        os.ftruncate(self.memfd, 4096)
