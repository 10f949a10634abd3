# SPDX-License-Identifier: MIT
"""Tests what the host sees of a session by itself: connections, a VMM with forbidden files or processes, memory
pressure, and a base and a kernel that were changed."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

import inject
import lan as places
from conftest import make_host, wait_until, with_base
from test_audit import bundle, destroy, events, supervisor, verdict
from test_session_share import own_cache

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces, traces the VMM, changes a sealed base")


@pytest.fixture(scope="module")
def place():
    """A host with a network and a cache of its own."""
    it = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    own_cache(it)
    lan = places.Lan(it.base)
    try:
        lan.build()
        it.wrap = lan.inside()
        yield from with_base(it)
    finally:
        lan.remove()


@pytest.fixture(scope="module")
def session(place):
    name = place.json("session", "create", "--base", "web", "--network", "nat", env={
        "MICROAGENT_TEST_LIMIT_AUDIT_LOOK_MS": "50", "MICROAGENT_TEST_LIMIT_PRESSURE_US": "1000",
        "MICROAGENT_TEST_LIMIT_NETGATE_LINES": "8",
        "MICROAGENT_TEST_LIMIT_PRESSURE_AGAIN_MS": "500"})["name"]
    yield name
    destroy(place, name)
    answer = verdict(place, name)
    assert answer["verdict"] == "closed" and answer["confirmed"] == answer["lines"]


def told(place, name, event):
    return [(line["severity"], line["data"]) for line in events(place, name, event)]


def security(place):
    return "".join(log.read_text() for log in (place.state / "logs").iterdir())


def test_connections(place, session):
    """Connections of both kinds are listed once, by address and port. If there are too many, the rest is counted."""
    # The command runs in the background, since passt keeps half-closed connections.
    place("session", "exec", session, "--", "sh", "-c", f"for a in {places.INTERNET} {places.LAN}; do "
          f"(nc -w 60 $a {places.PORT} </dev/null >/dev/null 2>&1 &); done; nslookup {places.NAME}; true", check=0, timeout=60)

    def ends(event):
        return [(severity, data["protocol"], data["to"]) for severity, data in told(place, session, event)]

    wait_until(lambda: {"tcp", "udp"} == {end[1] for end in ends("net.connect")} and ends("net.refused"), "all of them")
    assert ("INFO", "udp", "10.0.2.3:53") in ends("net.connect")
    assert ends("net.connect").count(("INFO", "tcp", f"{places.INTERNET}:{places.PORT}")) == 1
    assert ends("net.refused") == [("WARNING", "tcp", f"{places.LAN}:{places.PORT}")]
    assert all(data["from"].startswith("10.0.2.15:") for _, data in told(place, session, "net.connect"))
    assert f"{places.LAN}:{places.PORT}" in security(place)  # a warning is there with its data
    count, before = 30, len(ends("net.refused"))
    place("session", "exec", session, "--", "sh", "-c", f"for n in $(seq {count}); do "
          f"(nc -w 60 {places.LAN} $((9000 + n)) </dev/null >/dev/null 2>&1 &); done", check=0, timeout=60)

    def listed_and_not():
        more = sum(data["connections"] for _, data in told(place, session, "net.unlisted"))
        return len(ends("net.refused")) - before + more

    wait_until(lambda: listed_and_not() == count, "all of them, listed or counted")
    assert told(place, session, "net.unlisted") and told(place, session, "net.unlisted")[0][0] == "WARNING"


def test_a_vmm_that_was_taken_over(place, session):
    """Sockets that the VMM was not given are reported once each. It can make only pairs. No other action of it counts
    as one: it has had a guest with a network."""
    pid = supervisor(place, session)["pid"]
    assert not events(place, session, "vmm.unexpected")
    at = inject.put(pid, bytes(8))
    assert inject.system_call(pid, inject.SOCKETPAIR, socket.AF_UNIX, socket.SOCK_STREAM, 0, at) == 0
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(at)
        pair = struct.unpack("ii", memory.read(8))
    inodes = {int(os.readlink(f"/proc/{pid}/fd/{fd}").removeprefix("socket:[").removesuffix("]")) for fd in pair}
    wait_until(lambda: len(events(place, session, "vmm.unexpected")) == 2, "the sockets to be told")
    place("session", "exec", session, "--", "true", check=0)  # it goes on, and is looked at again
    seen = told(place, session, "vmm.unexpected")
    assert {severity for severity, _ in seen} == {"CRITICAL"} and {what["what"] for _, what in seen} == {"socket"}
    assert len(seen) == 2 and {what["inode"] for _, what in seen} == inodes


@contextlib.contextmanager
def small_cgroup(limit):
    """Returns a memory cgroup of either version, and its cgroup.procs."""
    old = Path("/sys/fs/cgroup/memory")
    path = (old if old.is_dir() else Path("/sys/fs/cgroup")) / f"microagent-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no memory cgroup is to be had here: {error}")
    try:
        limits = path / ("memory.limit_in_bytes" if old.is_dir() else "memory.max")
        if not limits.exists():
            pytest.skip("the memory controller is not given to cgroups here")
        limits.write_text(str(limit))
        yield path / "cgroup.procs"
    finally:
        path.rmdir()


def test_memory_pressure(place, session):
    """Real pressure: a program writes and reads, again and again, a file three times as large as its cgroup's memory.
    Only the threshold is lowered, from half a second of waiting in two seconds to a thousandth of that."""
    coverage = events(place, session, "audit.coverage")[0]["data"]
    if "memory-pressure" not in coverage["observed"]:
        pytest.skip(f"this host's kernel does not tell of it: {coverage['unobserved']}")
    known = len(events(place, session, "host.memory-pressure"))  # it may have been real already
    with small_cgroup(16 << 20) as procs:
        reader = subprocess.Popen(["sh", "-c", f"echo $$ > {procs}; head -c {48 << 20} /dev/zero > {place.base}/large; "
                                   f"while :; do cat {place.base}/large; done"], stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            wait_until(lambda: len(events(place, session, "host.memory-pressure")) > known, "the pressure to be told")
        finally:
            os.killpg(reader.pid, signal.SIGKILL)
            reader.wait()
            wait_until(lambda: not procs.read_text(), "the readers' end")
    for severity, data in told(place, session, "host.memory-pressure"):
        assert severity == "CRITICAL" and data["some"].startswith("avg10=") and data["full"].startswith("avg10="), data
    (place.base / "large").unlink()


def in_sessions(place, *words, **kw):
    return place("--state-dir", place.state / "sessions", *words, **kw)


def test_a_base_and_a_kernel_that_are_changed(place, session):
    """Bytes of the base change under a running session. Then neither this session nor one with another kernel starts."""
    disk = place.state / "bases" / "web-v1.bundle" / "disk.img"
    assert not events(place, session, "base.changed")
    subprocess.run(["chattr", "-i", disk], check=False, stderr=subprocess.DEVNULL)
    with open(disk, "r+b") as file:
        file.seek(-4096, os.SEEK_END)
        was = file.read(4096)
        file.seek(-4096, os.SEEK_END)
        file.write(b"\xff" * 4096)
    written = ("CRITICAL", {"path": str(disk), "how": "was written"})
    wait_until(lambda: written in told(place, session, "base.changed"), "the change to be told")
    found = told(place, session, "base.changed")
    assert found[-1] == written and len(found) <= 2, found  # the event before this one: other attributes, which came first
    in_sessions(place, "stop", f"{session}.bundle", check=0)
    refused = in_sessions(place, "start", f"{session}.bundle", check=1).stderr
    more = told(place, session, "base.changed")[len(found):]
    assert len(more) == 1 and more[0][1]["divergence"]["artifact"] == "base" and more[0][1]["why"] in refused
    with open(disk, "r+b") as file:
        file.seek(-4096, os.SEEK_END)
        file.write(was)
    kernel = Path(place.json("kernel", "list")["kernels"][0]["path"])
    with open(kernel, "ab") as file:
        file.write(b"\0")
    refused = in_sessions(place, "start", f"{session}.bundle", check=1).stderr
    (severity, data), = told(place, session, "artifact.changed")
    assert severity == "CRITICAL" and data["divergence"]["artifact"] == "kernel" and data["why"] in refused
    assert verdict(place, session)["verdict"] == "open" and data["why"] in security(place)
    assert bundle(place, session).exists()
