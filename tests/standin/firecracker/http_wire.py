# SPDX-License-Identifier: MIT
"""HTTP as Firecracker's own small server speaks it. A request is a line, headers and a counted body, and each line has
at most 1024 bytes. An answer always says keep-alive. A request that breaks the rules gets 400 with the key `error`.
Its string contains a newline, which makes it bad JSON, as in Firecracker."""

import facts

METHODS = ("GET", "PUT", "PATCH")


class Bad(Exception):
    pass


class Request:
    def __init__(self, method, path):
        self.method, self.path, self.body, self.wanted, self.expects = method, path, b"", 0, False


def parse_line(line):
    words = line.split(b" ", 2)
    if len(words) != 3:
        raise Bad("Invalid request.")
    method, uri, version = words
    if method.decode("latin-1") not in METHODS:
        raise Bad("Invalid HTTP Method: Unsupported HTTP method.")
    if not uri:
        raise Bad("Invalid URI: Empty URI not allowed.")
    try:
        path = uri.decode()
    except UnicodeDecodeError:
        raise Bad("Invalid URI: Cannot parse URI as UTF-8.") from None
    if version not in (b"HTTP/1.0", b"HTTP/1.1"):
        raise Bad("Invalid HTTP Version: Unsupported HTTP version.")
    if path.startswith("http://"):
        _, slash, rest = path.removeprefix("http://").partition("/")
        path = slash + rest
    return Request(method.decode(), path if path.startswith("/") else "")


def parse_header(request, line, limit):
    try:
        name, colon, value = line.decode().partition(":")
    except UnicodeDecodeError as not_text:
        raise Bad(f"Invalid header. Reason: Header contains invalid characters. Key: {not_text}") from None
    if not colon:
        raise Bad(f"Invalid header. Reason: Header is incorrectly formatted. Key: {name}")
    word = name.strip().lower()
    if word == "expect" and value.strip() == "100-continue":
        request.expects = True
    if word != "content-length":
        return
    if not value.strip().isascii() or not value.strip().isdigit() or int(value) > 2**32 - 1:
        raise Bad(f"Invalid header. Reason: Invalid value. Key:{name}; Value:{value}")
    request.wanted = int(value)
    if request.wanted > limit:
        raise Bad(f"Request payload with size {request.wanted} is larger than the limit of {limit} allowed by server.")


class Reader:
    """Turns the bytes of a connection into requests."""

    def __init__(self, limit):
        self.limit, self.buffer, self.request, self.in_body = limit, b"", None, False

    def take_line(self):
        line, end, rest = self.buffer.partition(b"\r\n")
        if len(line) >= facts.LINE_LIMIT:
            raise Bad("Invalid request." if not self.request else
                      f"Invalid header. Reason: Invalid content length. Header: {line.decode(errors='replace')}")
        if not end:
            return None
        self.buffer = rest
        return line

    def take_body(self):
        if len(self.buffer) < self.request.wanted:
            return None
        done, self.request, self.in_body = self.request, None, False
        done.body, self.buffer = self.buffer[:done.wanted], self.buffer[done.wanted:]
        return done

    def feed(self, data):
        """Yields whole requests. Raises Bad for a request that breaks the rules; the rest of the connection is then lost."""
        self.buffer += data
        while True:
            if self.in_body:
                done = self.take_body()
                if not done:
                    return
                yield done
                continue
            line = self.take_line()
            if line is None:
                return
            if not self.request:
                self.request = parse_line(line)
            elif line:
                parse_header(self.request, line, self.limit)
            else:
                self.in_body = True
                if self.request.expects and self.request.wanted:
                    yield "continue"

    def reset(self):
        self.buffer, self.request, self.in_body = b"", None, False


def answer(status, body=None, deprecated=False):
    head = f"HTTP/1.1 {status} \r\nServer: Firecracker API\r\nConnection: keep-alive\r\n"
    if deprecated:
        head += "Deprecation: true\r\n"
    if body is None:
        return (head + "\r\n").encode()
    return (head + f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


CONTINUE = b"HTTP/1.1 100 \r\nServer: Firecracker API\r\nConnection: keep-alive\r\n\r\n"
FULL = (b"HTTP/1.1 503\r\nServer: Firecracker API\r\nConnection: close\r\nContent-Length: 40\r\n\r\n"
        b'{ "error": "Too many open connections" }')


def bad(why):
    return answer(400, f'{{ "error": "{why}\nAll previous unanswered requests will be dropped." }}'.encode())
