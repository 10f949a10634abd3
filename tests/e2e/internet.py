# SPDX-License-Identifier: MIT
"""A program that is an internet of names: DNS, HTTP and TLS on every address that it has, and the messages of a hostile
resolver. Run as `internet.py KEY CERT`. It prints a line for each question, with its port and all of its bytes, and
for each request."""

import socket
import socketserver
import ssl
import struct
import sys
import threading

REAL, OTHER, HIDDEN = "198.51.100.7", "198.51.100.8", "198.51.100.129"
# name: its alias, or its addresses
NAMES = {
    "pypi.org": [REAL], "files.pythonhosted.org": "a.cdn.example", "a.cdn.example": "b.cdn.example", "b.cdn.example": [REAL],
    "evil.example": [OTHER], "twin.example": [REAL], "later.example": [OTHER],
    "rebind.example": ["192.168.77.1"], "ours.example": ["203.0.113.2"], "metadata.example": ["169.254.169.254"],
    "both.example": ["192.168.77.1", OTHER], "unasked.example": [REAL], "wrongid.example": [REAL], "loop.example": [REAL],
    "forward.example": [REAL], "forged.example": [REAL], "cut.example": [REAL], "other.example": [REAL],
    **{f"n{i}.long.example": f"n{i + 1}.long.example" for i in range(12)}, "n12.long.example": [OTHER],
    "a.wild.example": [OTHER], "b.a.wild.example": [OTHER], "wild.example": [OTHER],
}
TYPES = {1: "A", 28: "AAAA", 16: "TXT", 65: "HTTPS"}
TTL = 1
IP_PKTINFO, IP_FREEBIND = 8, 15
# Number and port of a question, on which a guest and its accomplice have agreed.
AGREED = (0x4242, 40123)


def say(*words):
    print(*words, flush=True)


def encoded(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def record(owner, kind, data, ttl=TTL):
    return owner + struct.pack("!HHLH", kind, 1, ttl, len(data)) + data


def records(name):
    """Returns the chain of aliases and the addresses at its end."""
    out = []
    while isinstance(NAMES.get(name), str):
        out.append(record(encoded(name), 5, encoded(NAMES[name])))
        name = NAMES[name]
    return out + [record(encoded(name), 1, socket.inet_aton(address)) for address in NAMES.get(name, [])]


def answer(query, question, items, code=0, flags=0x8180):
    return query[:2] + struct.pack("!HHHHH", flags | code, 1, len(items), 0, 0) + question + b"".join(items)


def lie(name, query, question):
    """Messages that a hostile resolver sends before the true answer, or instead of it."""
    poison = [record(encoded(name), 1, socket.inet_aton(HIDDEN))]
    other_id = bytes([query[0] ^ 0xFF]) + query[1:]
    return {
        "wrongid.example": [answer(other_id, question, poison)],
        "other.example": [answer(query, encoded("evil.example") + question[-4:], poison)],
        # After the true answers it adds an address of a name that nobody asked for.
        "unasked.example": [answer(query, question, [*records(name), record(encoded("evil.example"), 1, socket.inet_aton(HIDDEN))])],
        # One name points to itself, and one points beyond itself.
        "loop.example": [answer(query, question, [b"\xc0" + bytes([12 + len(question)]) + record(b"", 1, socket.inet_aton(HIDDEN))])],
        "forward.example": [answer(query, question, [b"\xc0\xff" + record(b"", 1, socket.inet_aton(HIDDEN))])],
        "cut.example": [answer(query, question, [], flags=0x8380)],
    }.get(name, [])


class Resolver:
    """Answers from the address that was asked last, since a socket that is connected to it takes no other answer."""

    def __init__(self):
        self.socket, self.asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), bytes(4)
        self.socket.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        self.socket.bind(("", 53))

    def take(self):
        query, ((_, _, info),), _, peer = self.socket.recvmsg(4096, 64)
        self.asked = info[8:12]
        return query, peer

    def send(self, message, peer):
        self.socket.sendmsg([message], [(socket.IPPROTO_IP, IP_PKTINFO, bytes(4) + self.asked + bytes(4))], 0, peer)


def forge(dns, name, host):
    """Messages of an accomplice of the guest, who can send with the resolver's address but sees no question."""
    question = encoded(name) + struct.pack("!HH", 1, 1)
    poison = [record(encoded(name), 1, socket.inet_aton(HIDDEN))]
    dns.send(answer(struct.pack("!H", AGREED[0]), question, poison), (host, AGREED[1]))


def serve_echo():
    """Sends by UDP the bytes that have come, after a message from another port, for which nobody has asked."""
    echo, stray = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for one, port in ((echo, 8080), (stray, 8081)):
        one.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)  # one side has the address, and both run this program
        one.bind((OTHER, port))
    while True:
        data, peer = echo.recvfrom(4096)
        stray.sendto(b"stray", peer)
        echo.sendto(data, peer)


def serve_dns():
    dns = Resolver()
    while True:
        query, peer = dns.take()
        end = query.index(b"\0", 12) + 5
        question, labels, at = query[12:end], [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
            at += 1 + query[at]
        name, kind = ".".join(labels).lower(), struct.unpack("!H", query[end - 4:end - 2])[0]
        say("dns", name, TYPES.get(kind, kind))
        say("question", peer[1], query.hex())
        if name == "forged.example":
            forge(dns, name, peer[0])
        lies = lie(name, query, question) if kind == 1 else []
        for message in lies:
            dns.send(message, peer)
        if not lies or name in ("wrongid.example", "other.example"):
            known = name in NAMES
            dns.send(answer(query, question, records(name) if kind == 1 else [], 0 if known else 3), peer)


class Http(socketserver.BaseRequestHandler):
    """Prints, for each request of a connection, which host was asked for and by what."""
    scheme = "http"

    def handle(self):
        with self.request.makefile("rb") as lines:
            while (first := lines.readline()):
                headers = dict(line.decode("latin-1").rstrip().lower().split(": ", 1)
                               for line in iter(lines.readline, b"\r\n") if b": " in line)
                where, host = self.request.getsockname()[0].removeprefix("::ffff:"), headers.get("host", "-")
                say(self.scheme, where, host, first.split()[1].decode("latin-1"))
                body = f"{self.scheme} {host} at {where}\n".encode()
                self.request.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                if headers.get("connection") == "close":
                    return


class Https(Http):
    scheme = "https"

    def setup(self):
        address = self.request.getsockname()[0].removeprefix("::ffff:")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("ALL:@SECLEVEL=0")  # what busybox has
        context.load_cert_chain(sys.argv[2], sys.argv[1])
        context.sni_callback = lambda _stream, name, _context: say("tls", address, name)
        self.request = context.wrap_socket(self.request, server_side=True)

    def handle(self):
        super().handle()
        self.request.unwrap()


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    address_family = socket.AF_INET6
    request_queue_size = 64

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def handle_error(self, request, client_address):
        pass  # a connection that was reset


if __name__ == "__main__":
    for port, handler in ((80, Http), (8080, Http), (443, Https)):
        threading.Thread(target=Server(("::", port), handler).serve_forever, daemon=True).start()
    for serve in (serve_dns, serve_echo):
        threading.Thread(target=serve, daemon=True).start()
    say("up")
    threading.Event().wait()
