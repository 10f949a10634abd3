# SPDX-License-Identifier: MIT
"""Stages: the cost of netgate on the way from the guest to passt, also if netgate goes by names."""

import os
import shutil
import socket
import struct
import subprocess
import threading
import time

from harness import BIN, HANG_S, ROUNDS
from table import record, skip

# A peer that drops everything: only the way to it is measured.
NOWHERE = """ip link add out type veth peer name away && ip addr add 203.0.113.2/24 dev out && ip link set out up &&
ip link set away up && ip neigh add 203.0.113.1 lladdr 02:00:00:00:00:09 dev out nud permanent &&
ip route add default via 203.0.113.1 && exec "$@" """
NAT_MIB = 128


GUEST, RESOLVER, PEER = "10.0.2.15", "10.0.2.3", "198.51.100.7"
MAC = bytes([2, 0, 0, 0, 0, 1])
PINS = 4096
AN_ANSWER = 74  # addresses that fit into 1,232 bytes


def frame_of(protocol, sender, to, body):
    """Puts the frame behind its length, as QEMU's stream has it. MAC is the guest's address, whoever sends."""
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 1, 0x4000, 64, protocol, 0, socket.inet_aton(sender), socket.inet_aton(to))
    frame = bytes(6) + MAC + b"\x08\x00" + ip + body
    return struct.pack(">I", len(frame)) + frame


def datagram(sender, port, to, to_port, payload):
    return frame_of(17, sender, to, struct.pack(">HHHH", port, to_port, 8 + len(payload), 0) + payload)


def datagrams(size):
    """About 256 KiB of UDP frames."""
    frame = datagram(GUEST, 40000, PEER, 9, b"x" * size)
    return frame * max(1, (256 << 10) // len(frame))


def start_passt(end):
    passt = subprocess.Popen(["unshare", "-n", "sh", "-c", NOWHERE, "sh", "passt", "--quiet", "--foreground", "--ipv4-only",
                              "--no-map-gw", "--no-dhcp", "--address", "10.0.2.15", "--netmask", "24", "--gateway",
                              "10.0.2.2", "--fd", str(end.fileno())], pass_fds=[end.fileno()],
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end.close()
    return passt


def start_netgate(vm, passt, *words):
    """Starts netgate. It is told one address of the host, and nobody reads its lines."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ends = [vm.fileno(), passt.fileno(), theirs.fileno()]
    ours.send(b"h" + struct.pack(">III", 0x7F000000, 8, 0))
    gate = subprocess.Popen([BIN / "microagent-netgate", "--vm-fd", str(ends[0]), "--passt-fd", str(ends[1]), "--supervisor-fd", str(ends[2]),
                             "--guest-address", GUEST, "--guest-mac", "02:00:00:00:00:01", "--dns-address", RESOLVER, *words], pass_fds=ends)
    for end in (vm, passt, theirs):
        end.close()
    return gate, ours


def push(size, gated):
    """Returns the MB/s from the guest's first byte to the end of passt, which has sent all bytes then."""
    guest, vm = socket.socketpair()
    frames = datagrams(size)
    gate = None
    if gated:
        near, far = socket.socketpair()
        passt = start_passt(far)
        gate, supervisor = start_netgate(vm, near)
    else:
        passt = start_passt(vm)
    guest.sendall(frames)  # until both have started
    rounds = (NAT_MIB << 20) // len(frames)
    begin = time.monotonic()
    for _ in range(rounds):
        guest.sendall(frames)
    guest.close()
    passt.wait(HANG_S)
    took = time.monotonic() - begin
    if gate:
        gate.wait(HANG_S)
        supervisor.close()
    return rounds * len(frames) / took / 1e6


def bench_nat():
    if os.geteuid() != 0 or not shutil.which("passt"):
        skip("nat, datagrams out", "it needs root, for a network namespace, and passt")
        return
    for name, size in (("1400-byte", 1400), ("60000-byte", 60000)):
        ours, alone = [], []
        for _ in range(ROUNDS):
            alone.append(push(size, False))
            ours.append(push(size, True))
        record(f"nat, {name} datagrams out", ours, "MB/s", "passt alone", alone, ">= 0.8x", better="more")


class Gate:
    """Measures netgate alone between a guest and a passt that drops everything, both in this process."""

    def __init__(self, *words):
        self.guest, vm = socket.socketpair()
        self.passt, far = socket.socketpair()
        self.gate, self.supervisor = start_netgate(vm, far, *words)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in (self.guest, self.passt, self.supervisor):
            end.close()
        self.gate.wait(HANG_S)

    def pin(self):
        """Pins as many addresses as netgate keeps; PEER is the last of them."""
        for first in range(0, PINS, AN_ANSWER):
            addresses = [socket.inet_ntoa(struct.pack(">I", 0x05000000 + n)) for n in range(first, min(first + AN_ANSWER, PINS))]
            if first + AN_ANSWER >= PINS:
                addresses[-1] = PEER
            question = b"\x04name\x05bench\x07example\0" + struct.pack(">HH", 1, 1)
            asked = datagram(GUEST, 5353, RESOLVER, 53, struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + question)
            said = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 3600, 4) + socket.inet_aton(address) for address in addresses)
            answer = datagram(RESOLVER, 53, GUEST, 5353, struct.pack(">HHHHHH", 7, 0x8180, 1, len(addresses), 0, 0) + question + said)
            self.guest.sendall(asked)
            assert len(self.passt.recv(len(asked), socket.MSG_WAITALL)) == len(asked)
            self.passt.sendall(answer)
            assert len(self.guest.recv(len(answer), socket.MSG_WAITALL)) == len(answer)

    def carry(self, frames, rounds):
        """Returns the seconds of processor time that netgate takes until the other side has all frames. Wall time would
        count other programs too."""
        left, room = rounds * len(frames), bytearray(1 << 20)

        def swallow():
            nonlocal left
            while left:
                left -= self.passt.recv_into(room, min(len(room), left))

        taker = threading.Thread(target=swallow)
        begin = self.processor_seconds()
        taker.start()
        for _ in range(rounds):
            self.guest.sendall(frames)
        taker.join()
        return self.processor_seconds() - begin

    def processor_seconds(self):
        with open(f"/proc/{self.gate.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9


def calls():
    """Returns the first frames of as many connections as there are ports."""
    return b"".join(frame_of(6, GUEST, PEER, struct.pack(">HHIIBBHHH", 1024 + n, 443, 1, 0, 0x50, 2, 65535, 0, 0)) for n in range(PINS))


def bench_names():
    """Compares with the same filter without names: the frames of one connection, and the first frames of many."""
    work = {"1400-byte": (datagrams(1400), NAT_MIB * 4), "60000-byte": (datagrams(60000), NAT_MIB * 4), "call": (calls(), 4)}
    took = {(name, by): [] for name in work for by in (False, True)}
    with Gate() as plain, Gate("--egress-name", "*.bench.example:9,443") as named:
        named.pin()
        for _ in range(ROUNDS):
            for name, (frames, rounds) in work.items():
                for by, gate in ((False, plain), (True, named)):
                    took[name, by].append(gate.carry(frames, rounds))
    for name in ("1400-byte", "60000-byte"):
        frames, rounds = work[name]
        ours, theirs = ([took_s / (rounds * len(frames)) * 1e12 for took_s in took[name, by]] for by in (True, False))
        record(f"nat by name, {PINS:,} addresses known, {name} datagrams", ours, "ms of netgate a GB", "without names", theirs, "<= 1.05x")
    ours, theirs = ([took_s / PINS / work["call"][1] * 1e6 for took_s in took["call", by]] for by in (True, False))
    record("a connection judged by name", ours, "us of netgate", "without names", theirs, "<= +100 us")
