# SPDX-License-Identifier: MIT
"""Stage: what netgate costs, on the way from the guest to passt."""

import os
import shutil
import socket
import struct
import subprocess
import time

from harness import BIN, HANG_S, ROUNDS
from table import record, skip

# A way out that swallows everything: what is measured is the way there.
NOWHERE = """ip link add out type veth peer name away && ip addr add 203.0.113.2/24 dev out && ip link set out up &&
ip link set away up && ip neigh add 203.0.113.1 lladdr 02:00:00:00:00:09 dev out nud permanent &&
ip route add default via 203.0.113.1 && exec "$@" """
NAT_MIB = 128


def datagrams(size):
    """About 256 KiB of UDP frames as QEMU's stream has them: each behind its length."""
    udp = struct.pack(">HHHH", 40000, 9, 8 + size, 0) + b"x" * size
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0x4000, 64, 17, 0,
                     socket.inet_aton("10.0.2.15"), socket.inet_aton("198.51.100.7"))
    frame = bytes(6) + bytes([2, 0, 0, 0, 0, 1]) + b"\x08\x00" + ip + udp
    return (struct.pack(">I", len(frame)) + frame) * max(1, (256 << 10) // len(frame))


def start_passt(end):
    passt = subprocess.Popen(["unshare", "-n", "sh", "-c", NOWHERE, "sh", "passt", "--quiet", "--foreground", "--ipv4-only",
                              "--no-map-gw", "--no-dhcp", "--address", "10.0.2.15", "--netmask", "24", "--gateway",
                              "10.0.2.2", "--fd", str(end.fileno())], pass_fds=[end.fileno()],
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end.close()
    return passt


def push(size, gated):
    """MB/s from a guest's first byte to the end of passt, which has then sent them all."""
    guest, vm = socket.socketpair()
    frames = datagrams(size)
    gate = None
    if gated:
        near, far = socket.socketpair()
        passt = start_passt(far)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ends = [vm.fileno(), near.fileno(), theirs.fileno()]
        ours.send(struct.pack(">III", 0x7F000000, 8, 0))  # an address of the host's own
        gate = subprocess.Popen([BIN / "microagent-netgate", "--vm-fd", str(ends[0]), "--passt-fd", str(ends[1]),
                                 "--supervisor-fd", str(ends[2]), "--guest-address", "10.0.2.15", "--guest-mac",
                                 "02:00:00:00:00:01"], pass_fds=ends)
        for end in (vm, near, theirs):
            end.close()
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
