# SPDX-License-Identifier: MIT
"""Tests the guest's network: what it reaches, what it does not reach, and what the host is told."""

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import inject
import lan as places
from conftest import BIN, ended, held, wait_until
from test_crash import pid_of

SMALL = ("--memory", 256, "--cpus", 1)


class InLan:
    """A host whose microagent runs in the namespace `host`."""

    def __init__(self, host, lan):
        self.host, self.lan = host, lan

    def __call__(self, *words, check=0):
        done = subprocess.run([*self.lan.inside(), str(BIN / "microagent"), *map(str, words)], env=self.host.env,
                              capture_output=True, text=True, timeout=120, check=False)
        assert check is None or done.returncode == check, f"{words}: {done.stdout}{done.stderr}"
        return done

    def log(self, name="w"):
        return (self.host.state / name / "supervisor.log").read_text()


@pytest.fixture(name="net")
def own_net(host):
    if os.geteuid() != 0:
        pytest.skip("only root makes network namespaces")
    lan = places.Lan(host.base)
    try:
        lan.build()
        yield InLan(host, lan)
    finally:
        lan.remove()


def reached(net, *addresses, name="w"):
    """Returns the addresses that answer the guest with their own word. All are tried at once. Nobody ends a side before
    the answer has come: what_a_half_closed_connection_gets()."""
    script = "mkfifo /tmp/open 2>/dev/null; exec 3<>/tmp/open; " + \
        "".join(f"(timeout 8 nc -w 4 {a} {places.PORT} <&3) & " for a in addresses) + "wait"
    out = net("exec", name, "--", "sh", "-c", script, check=None).stdout
    return {line.split()[1].removeprefix("::ffff:") for line in out.splitlines() if line.startswith("reached ")}


SHUT = (places.LAN, *places.PUBLIC_LAN, places.LINE_END, *places.HOST_ADDRESSES, *places.OTHERS, "10.0.2.2", "10.0.2.3")


def put_program(net, name):
    """Puts guest_NAME.c into the guest as /tmp/NAME."""
    program = net.host.base / name
    subprocess.run(["gcc", "-static", "-w", "-o", program, Path(__file__).parent / f"guest_{name}.c"], check=True)
    net("cp", program, f"w:/tmp/{name}")


def answers_of_dns_that_are_large(net, by_tcp):
    """An answer of more than 512 bytes comes by EDNS. If it is too long for that it comes by TCP. If the host's
    resolver is on its loopback, which a guest reaches by UDP only, the answer comes at once and is marked as cut."""
    put_program(net, "resolve")
    assert net("exec", "w", "--", "/tmp/resolve", places.LARGE).stdout == "40\n"
    said = net("exec", "w", "--", "/tmp/resolve", places.LARGEST).stdout
    assert (said == "120\n") == by_tcp and (by_tcp or "fail" in said), said


def the_guest_reaches_what_it_should(net):
    reachable = {places.INTERNET, places.LAN_OPENED, places.PUBLIC_LAN_OPENED, places.PUBLIC_LAN_LATER}
    for address in (*SHUT[:-2], *reachable, places.INTERNET6, "127.0.0.1", "::1"):
        assert net.lan.probe(address).startswith("reached"), address
    assert reached(net, *reachable, *SHUT) == reachable
    refused = net("exec", "w", "--", "nc", "-w", "60", places.LAN, places.PORT, check=None)
    assert refused.returncode == 1 and "Connection refused" in refused.stderr, refused
    put_program(net, "udp")
    for address in (places.LAN, "10.0.2.2", "169.254.169.254"):
        assert net("exec", "w", "--", "/tmp/udp", address, 9).stdout == "No route to host\n"
    answer = net("exec", "w", "--", "nslookup", places.NAME).stdout
    assert places.INTERNET in answer and "10.0.2.3" in answer
    six = (f"ip -6 addr add 2001:db8::15/64 dev eth0 nodad; ip -6 route add default dev eth0; "
           f"timeout 8 nc -w 4 {places.INTERNET6} {places.PORT} </dev/null & timeout 8 nc -w 4 2001:db8::2 {places.PORT} </dev/null; wait")
    assert "reached" not in net("exec", "-u", "root", "w", "--", "sh", "-c", six, check=None).stdout


def the_host_was_told(net):
    def lines():
        return [line.split("network: ")[1] for line in net.log().splitlines() if "network: " in line]

    def told(protocol, address, port, verdict=""):
        return any(line.startswith(f"{protocol} 10.0.2.15:") and line.endswith(f"-> {address}:{port}{verdict}")
                   for line in lines())

    wait_until(lambda: told("tcp", places.INTERNET, places.PORT), "the connection to be listed")
    assert told("tcp", places.LAN, places.PORT, " refused")
    assert told("tcp", "169.254.169.254", places.PORT, " refused")
    assert told("udp", "10.0.2.3", 53)


def an_address_that_becomes_the_hosts_is_shut(net):
    later = places.INTERNET_LATER_OURS
    assert reached(net, later) == {later}
    net.lan.ip("host", "addr", "add", later + "/32", "dev", "lo")
    wait_until(lambda: reached(net, later) == set(), "the new address of the host to be shut")
    net.lan.ip("host", "addr", "del", later + "/32", "dev", "lo")
    wait_until(lambda: reached(net, later) == {later}, "the address to be the internet's again")


def a_link_that_the_host_comes_to_be_on_is_shut(net):
    """The gateway is an address, with a route of its own for the link and without."""
    later = places.PUBLIC_LAN_LATER
    for more in ((), ("noprefixroute",)):
        net.lan.ip("host", "addr", "add", "198.51.100.130/26", "dev", "lan3", *more)
        wait_until(lambda: reached(net, later) == set(), f"the new link to be shut ({more})")
        assert reached(net, later, places.INTERNET) == {places.INTERNET}
        net.lan.ip("host", "addr", "del", "198.51.100.130/26", "dev", "lan3")
        wait_until(lambda: reached(net, later) == {later}, "the link's addresses to be the internet's again")


def what_a_half_closed_connection_gets(net):
    """The client gets the answer and the end. Debian 12's passt loses that end: CAVEATS of microagent-netgate(1), and a
    sentence of the README."""
    options = subprocess.run(["passt", "--help"], capture_output=True, text=True, check=False)
    code_of_end = "0" if "--map-host-loopback" in options.stdout + options.stderr else "143"  # newer ones have that
    code = ("import socket; s = socket.create_connection(('%s', %d), 10); s.shutdown(socket.SHUT_WR); "
            "print(s.makefile().read(), end='')") % (places.INTERNET, places.PORT_AFTER_END)
    right = subprocess.run([*net.lan.inside(), sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert right.stdout == f"reached ::ffff:{places.INTERNET}\n"
    script = f"echo q | timeout 5 nc -w 60 {places.INTERNET} {places.PORT_AFTER_END}; echo $?"
    *answer, status = net("exec", "w", "--", "sh", "-c", script).stdout.splitlines()
    assert set(answer) == {right.stdout.strip()} and status == code_of_end, (answer, status)


def network_json(net):
    answer = json.loads(net("--json", "network", "w").stdout)
    places_of = answer["runtime"]
    import schema_check
    schema_check.validate("cli-network", answer)
    return answer["network"], places_of


def no_rights_are_left(host):
    """A process also cannot get capabilities by a program that it runs. This holds for every process that serves the machine."""
    for who in (host.backend, *("vsockd",) * (host.backend == "qemu"), "netgate"):
        status = dict(line.split(":\t", 1) for line in open(f"/proc/{pid_of(host, who)}/status", encoding="ascii") if ":\t" in line)
        left = {key: status[key].strip() for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
        assert set(left.values()) == {"0" * 16} and status["NoNewPrivs"].strip() == "1", (who, left)


def test_nat(net):
    opened = ["192.168.78.0/24", f"{places.PUBLIC_LAN_OPENED}/32"]
    said = net("create", "wide", *SMALL, "--allow", "10.0.0.0/8").stderr
    assert "warning: --allow 10.0.0.0/8 opens more than one network" in said
    net("delete", "wide")
    assert "--allow" not in net("create", "w", *SMALL, *(word for prefix in opened for word in ("--allow", prefix))).stderr
    net("start", "w")
    the_guest_reaches_what_it_should(net)
    answers_of_dns_that_are_large(net, by_tcp=False)
    the_host_was_told(net)
    an_address_that_becomes_the_hosts_is_shut(net)
    a_link_that_the_host_comes_to_be_on_is_shut(net)
    what_a_half_closed_connection_gets(net)
    network, runtime = network_json(net)
    assert network == {"mode": "nat", "allow": opened, "portForwards": []}
    assert {k: runtime[k] for k in ("mode", "ip", "subnet", "gateway", "dns")} == {
        "mode": "nat", "ip": "10.0.2.15", "subnet": "10.0.2.0/24", "gateway": "10.0.2.2", "dns": ["10.0.2.3"]}
    assert "10.0.2.15" in net("network", "w").stdout
    # The VMM and the filter are in empty network namespaces, and passt has no rights.
    links = {who: os.readlink(f"/proc/{pid_of(net.host, who)}/ns/net") for who in (net.host.backend, "netgate", "passt")}
    assert len(set(links.values())) == 3
    no_rights_are_left(net.host)
    status = open(f"/proc/{pid_of(net.host, 'passt')}/status", encoding="ascii").read()
    assert "Uid:\t0" not in status and "CapEff:\t0000000000000000" in status
    os.kill(pid_of(net.host, "passt"), signal.SIGKILL)
    event = ended(net.host)
    assert event["state"] == "failed" and "passt died by signal 9" in event["detail"]
    net.lan.ip("host", "route", "del", "default")
    without_a_way_out(net)
    net("delete", "w")


def without_a_way_out(net):
    """The same workspace on a host without a default route; then its filter dies."""
    net("start", "w")
    event = net.host.json("status", "w")["event"]
    assert event["state"] == "running" and "no default route" in event["detail"]
    assert "no default route" in json.loads(net("--json", "network", "w").stdout)["detail"]
    assert reached(net, places.LAN_OPENED) == set()
    assert "no default route" in net("doctor", check=None).stdout
    os.kill(pid_of(net.host, "netgate"), signal.SIGKILL)
    event = ended(net.host)
    assert event["state"] == "failed" and "microagent-netgate died by signal 9" in event["detail"]


REFUSED_TO_PASST = {
    "a daemon's socket": (socket.AF_UNIX, socket.SOCK_STREAM, 0), "the host's log": (socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, 0),
    "other guests": (socket.AF_VSOCK, socket.SOCK_STREAM, 0), "packets": (socket.AF_PACKET, socket.SOCK_RAW, 0),
    "raw addresses": (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW), "another transport": (socket.AF_INET, socket.SOCK_STREAM, 132),
    **{f"netlink {protocol}": (socket.AF_NETLINK, socket.SOCK_RAW, protocol) for protocol in (4, 9, 12, 15, 16)}}


def test_what_a_passt_makes_that_was_taken_over(net):
    """passt can make sockets of the Internet, and of netlink's addresses and routes, and nat works."""
    net("create", "w", *SMALL)
    net("start", "w")
    passt = pid_of(net.host, "passt")
    for what, asked in REFUSED_TO_PASST.items():
        assert inject.system_call(passt, inject.SOCKET, *asked) == -errno.EAFNOSUPPORT, what
    for family, kind, protocol in ((socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP), (socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDP),
                                   (socket.AF_NETLINK, socket.SOCK_RAW, 0)):
        made = inject.system_call(passt, inject.SOCKET, family, kind, protocol)
        assert made >= 0 and inject.system_call(passt, inject.CLOSE, made) == 0, (family, made)
    assert reached(net, places.INTERNET) == {places.INTERNET}
    assert places.INTERNET in net("exec", "w", "--", "nslookup", places.NAME).stdout
    net("kill", "w")
    net("delete", "w")


def test_nothing_is_left_of_a_killed_supervisor(net):
    net("create", "w", *SMALL)
    net("start", "w")
    passt = pid_of(net.host, "passt")
    os.kill(pid_of(net.host, "supervisor"), signal.SIGKILL)
    wait_until(lambda: not held(net.host) and not os.path.exists(f"/proc/{passt}"), "every process to end")
    net("delete", "w")


def test_a_resolver_that_is_not_on_the_hosts_loopback(net):
    """TCP to it is let through, and nothing else to it."""
    resolver = places.PUBLIC_LAN[0]
    net.lan.resolv_conf.write_text(f"nameserver {resolver}\n")
    net("create", "w", *SMALL)
    net("start", "w")
    answers_of_dns_that_are_large(net, by_tcp=True)
    assert net("exec", "w", "--", "nc", "-w", "60", resolver, "53", check=None).returncode == 1
    wait_until(lambda: [line for line in net.log().splitlines() if "network: tcp" in line and line.endswith("-> 10.0.2.3:53")], "the connection to be listed")
    net("kill", "w")
    net("delete", "w")


def test_a_resolver_file_that_is_a_link(net):
    """The file is elsewhere, as where systemd-resolved writes it."""
    etc = net.host.base / "etc"
    shutil.copytree("/etc", etc, symlinks=True)
    (etc / "resolv.conf").unlink()
    (etc / "resolv.conf").symlink_to(net.lan.resolv_conf)
    inside = ["nsenter", f"--net=/run/netns/{net.lan.names['host']}", "unshare", "-m", "sh", "-c", f'mount --bind {etc} /etc && exec "$@"', "sh"]
    for words in (("create", "w", *SMALL), ("start", "w")):
        subprocess.run([*inside, str(BIN / "microagent"), *map(str, words)], env=net.host.env, capture_output=True, timeout=120, check=True)
    assert places.INTERNET in net("exec", "w", "--", "nslookup", places.NAME).stdout
    assert "no IPv4 resolver" not in net.log()
    net("kill", "w")
    net("delete", "w")


def test_nat_without_passt(host):
    """Refused with the package's name, before anything is made."""
    tools = host.base / "bin"
    tools.mkdir()
    for name in ("qemu-system-x86_64", "bwrap", "true"):
        (tools / name).symlink_to(subprocess.run(["which", name], capture_output=True, text=True,
                                                 check=True).stdout.strip())
    done = host("--json", "create", "w", *SMALL, "--network", "nat", env={"PATH": str(tools)})
    assert done.returncode == 75, done.stdout
    error = json.loads(done.stdout)["error"]
    assert "passt" in error and "apt-get install passt" in error
    assert not (host.state / "w").exists()
    facts = host.json("host", env={"PATH": str(tools)})["host"]
    assert facts["natAvailable"] is False and "passt" in facts["natReason"]


def test_isolated_has_no_card(vm):
    # A kernel may make interfaces of its own (dummy0). A card has a device.
    cards = vm("exec", "vm", "--", "sh", "-c", "ls -d /sys/class/net/lo /sys/class/net/*/device", check=None).stdout
    assert cards.split() == ["/sys/class/net/lo"]
    answer = vm.json("network", "vm")
    assert answer["network"]["mode"] == "isolated" and answer["runtime"] == {"mode": "isolated"}


# A server for one client: OFFER and ACK of one address, with the options that the client needs.
DHCP = r"""
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"br-test")
s.bind(("", 67))
print("up", flush=True)
while True:
    data = s.recv(2000)
    kind = data[data.index(b"\x35\x01", 240) + 2]
    me = socket.inet_aton("192.168.90.1")
    options = (b"\x35\x01" + bytes([2 if kind == 1 else 5]) + b"\x36\x04" + me + b"\x01\x04\xff\xff\xff\x00"
               + b"\x03\x04" + me + b"\x06\x04" + me + b"\xff")
    s.sendto(b"\x02" + data[1:16] + socket.inet_aton("192.168.90.50") + me + data[24:236] + b"\x63\x82\x53\x63" + options,
             ("255.255.255.255", 68))
"""


def test_bridged(net):
    """A card on a bridge of the host, with the address that is given there; what cannot be is refused."""
    refusals = (("br-none", 1, "no interface br-none"), ("lan", 2, "the interface lan is not a bridge"))
    for name, code, text in refusals:
        done = net("--json", "create", "w", *SMALL, "--network", "bridged", "--network-interface", name, check=None)
        assert done.returncode == code and text in json.loads(done.stdout)["error"], done.stdout
    nameless = net("--json", "create", "w", *SMALL, "--network", "bridged", check=None)
    assert "--network-interface is missing: " in json.loads(nameless.stdout)["error"]
    assert not (net.host.state / "w").exists()
    net.lan.ip("host", "link", "add", "br-test", "type", "bridge")
    net.lan.ip("host", "addr", "add", "192.168.90.1/24", "dev", "br-test")
    net.lan.ip("host", "link", "set", "br-test", "up")
    server = subprocess.Popen([*net.lan.inside(), "/usr/bin/python3", "-c", DHCP], stdout=subprocess.PIPE)
    net.lan.services.append(server)
    assert server.stdout.readline() == b"up\n"
    net("create", "w", *SMALL, "--network", "bridged", "--network-interface", "br-test")
    net("start", "w")
    assert "192.168.90.50/24" in net("exec", "w", "--", "ip", "addr").stdout
    assert net("exec", "w", "--", "cat", "/etc/resolv.conf").stdout == "nameserver 192.168.90.1\noptions edns0\n"
    assert reached(net, "192.168.90.1") == {"192.168.90.1"}
    assert "network" in json.loads(net("--json", "quarantine", "w").stdout)["event"]["severed"]
    # Later versions of QEMU keep the tap open as long as the card exists. The tap leads nowhere.
    links = subprocess.run([*net.lan.inside(), "ip", "link", "show", "up"], capture_output=True, text=True, check=True).stdout
    assert "br-test" in links and "microagent" not in links
    net("kill", "w")
    left = subprocess.run([*net.lan.inside(), "ip", "link"], capture_output=True, text=True, check=True).stdout
    assert "microagent" not in left
    net("delete", "w")
