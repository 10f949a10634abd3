# SPDX-License-Identifier: MIT
"""An internet, a LAN and a host of the tests' own, in network namespaces.

    world  a machine that is everything else: an internet service, a resolver, LANs, a metadata service
    host   where the supervisor runs, with a link to the internet and one to each LAN, services of
           its own on every address. A LAN is a LAN also where its addresses are public.

Everything that the guest must not reach is reachable from `host`, as `probe` shows."""

import contextlib
import ctypes
import os
import subprocess
import sys

INTERNET = "198.51.100.7"
INTERNET_LATER_OURS = "198.51.100.8"
INTERNET6 = "2001:db8:ffff::7"
HOST_ADDRESSES = ("203.0.113.2", "192.168.77.2")
LAN = "192.168.77.1"
LAN_OPENED = "192.168.78.1"
PUBLIC_LAN = ("203.0.113.1", "192.0.2.1", "192.0.2.130")  # neighbours with public addresses
PUBLIC_LAN_OPENED = "192.0.2.129"
PUBLIC_LAN_LATER = "198.51.100.129"
LINE_END = "198.51.100.65"  # the other end of a point-to-point line
OTHERS = ("169.254.169.254", "100.64.0.1", "10.9.0.1", "172.20.0.1")
PORT = 8080
PORT_AFTER_END = 8081
IP_PKTINFO = 8
NAME = "service.test"
CLONE_NEWNET = 0x40000000

LARGE, LARGEST = "large.test", "largest.test"  # names with 40 and 120 addresses: more than 512 bytes, and more than any datagram may have

# Prints its own address to every client of PORT. At PORT_AFTER_END it reads to the end before that. Answers every
# question for an A record with INTERNET, by UDP and TCP. An answer that is too long for the asker's UDP is sent as cut.
SERVICES = r"""
import socket, socketserver, struct, sys, threading
class Say(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"reached " + self.request.getsockname()[0].encode() + b"\n")
class SayAfterEnd(Say):
    def handle(self):
        while self.request.recv(4096):
            pass
        super().handle()
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    address_family = socket.AF_INET6
    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()
    daemon_threads = True
def reply(data, longest):
    end = data.index(b"\0", 12) + 5
    count = {b"large": 40, b"largest": 120}.get(data[13:13 + data[12]], 1) if data[end - 4:end - 2] == b"\0\1" else 0
    answers = b"".join(struct.pack("!HHHLH4s", 0xC00C, 1, 1, 60, 4, struct.pack("!L", struct.unpack("!L", socket.inet_aton("%s"))[0] + i)) for i in range(count))
    # An OPT record behind the question says how much may come: its class.
    if data[end:end + 3] == b"\0\0\x29" and longest < 65535:
        longest = struct.unpack("!H", data[end + 3:end + 5])[0]
    if end + len(answers) > longest:
        return data[:2] + b"\x87\x80" + struct.pack("!HHHH", 1, 0, 0, 0) + data[12:end]
    return data[:2] + b"\x85\x80" + struct.pack("!HHHH", 1, count, 0, 0) + data[12:end] + answers
class Resolve(socketserver.StreamRequestHandler):
    def handle(self):
        while len(head := self.rfile.read(2)) == 2:
            whole = reply(self.rfile.read(struct.unpack("!H", head)[0]), 65535)
            self.wfile.write(struct.pack("!H", len(whole)) + whole)
for port, handler in (%d, Say), (%d, SayAfterEnd), (53, Resolve):
    threading.Thread(target=Server(("::", port), handler).serve_forever, daemon=True).start()
dns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
dns.setsockopt(socket.IPPROTO_IP, %d, 1)
dns.bind(("", 53))
print("up", flush=True)
while True:
    data, ((_, _, info),), _, peer = dns.recvmsg(4096, 64)
    # From the address that was asked, as a resolver does: a socket that is connected takes no other answer.
    dns.sendmsg([reply(data, 512)], [(socket.IPPROTO_IP, %d, bytes(4) + info[8:12] + bytes(4))], 0, peer)
""" % (INTERNET, PORT, PORT_AFTER_END, IP_PKTINFO, IP_PKTINFO)


def sh(*words):
    subprocess.run(words, check=True, capture_output=True)


class Lan:
    service = ("-c", SERVICES)  # of each side, by Python

    def __init__(self, base):
        self.names = {side: f"ma-{side}-{os.getpid()}" for side in ("host", "world")}
        self.services = []
        self.resolv_conf = base / "resolv.conf"
        self.resolv_conf.write_text("nameserver 127.0.0.53\nnameserver 203.0.113.1\n")

    def inside(self, side="host"):
        """Words before a command that runs there."""
        enter = ["nsenter", f"--net=/run/netns/{self.names[side]}"]
        if side == "host":
            enter += ["unshare", "-m", "sh", "-c", f'mount --bind {self.resolv_conf} /etc/resolv.conf && exec "$@"', "sh"]
        return enter

    @contextlib.contextmanager
    def entered(self, side="host"):
        """Sockets that this thread makes meanwhile stay in that namespace for ever."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/thread-self/ns/net", "rb") as ours, open(f"/run/netns/{self.names[side]}", "rb") as there:
            assert libc.setns(there.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            try:
                yield
            finally:
                assert libc.setns(ours.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())

    def ip(self, side, *words):
        sh("ip", "-n", self.names[side], *words)

    def link(self, name, host, world):
        self.ip("host", "link", "add", name, "type", "veth", "peer", "name", name, "netns", self.names["world"])
        for side, address in (("host", host), ("world", world)):
            self.ip(side, "addr", "add", address, "dev", name, *(("nodad",) if ":" in address else ()))
            self.ip(side, "link", "set", name, "up")

    def build(self):
        for side in ("host", "world"):
            sh("ip", "netns", "add", self.names[side])
            self.ip(side, "link", "set", "lo", "up")
        self.link("inet", "203.0.113.2/24", "203.0.113.1/24")
        self.link("lan", "192.168.77.2/24", LAN + "/24")
        self.link("lan2", "192.168.78.2/24", LAN_OPENED + "/24")
        self.link("lan3", "192.0.2.2/24", PUBLIC_LAN[1] + "/24")
        for address in (PUBLIC_LAN[2], PUBLIC_LAN_OPENED):
            self.ip("world", "addr", "add", address + "/24", "dev", "lan3")
        self.ip("host", "addr", "add", "198.51.100.66", "peer", LINE_END + "/32", "dev", "lan3")
        self.ip("world", "route", "add", "198.51.100.66", "dev", "lan3")
        for address in (INTERNET, INTERNET_LATER_OURS, PUBLIC_LAN_LATER, LINE_END, *OTHERS):
            self.ip("world", "addr", "add", address + "/32", "dev", "lo")
        self.ip("world", "addr", "add", INTERNET6 + "/128", "dev", "lo")
        for dev, host, world in (("inet", "2001:db8::2/64", "2001:db8::1/64"),):
            self.ip("host", "addr", "add", host, "dev", dev, "nodad")
            self.ip("world", "addr", "add", world, "dev", dev, "nodad")
        self.ip("host", "route", "add", "default", "via", "203.0.113.1")
        self.ip("host", "-6", "route", "add", "default", "via", "2001:db8::1")
        for side in ("host", "world"):
            service = subprocess.Popen([*self.inside(side), sys.executable, *self.service], stdout=subprocess.PIPE)
            self.services.append(service)
            assert service.stdout.readline() == b"up\n"

    def remove(self):
        for service in self.services:
            service.kill()
            service.wait()
        for name in self.names.values():
            with contextlib.suppress(subprocess.CalledProcessError):
                sh("ip", "netns", "del", name)

    def probe(self, address):
        """Returns the answer to a connection from the host itself."""
        code = (f"import socket; print(socket.create_connection(('{address}', {PORT}), 10)"
                ".makefile().readline(), end='')")
        return subprocess.run([*self.inside(), sys.executable, "-c", code], capture_output=True, text=True,
                              check=True).stdout
