# SPDX-License-Identifier: MIT
"""Checks what must not grow while a machine works: descriptors and memory of all our processes, on the host and in the guest."""

import hashlib
import json
import os
import socket
import struct
from pathlib import Path

from conftest import wait_until


class Agent:
    """One connection to the guest's agent, in the frame form."""

    def __init__(self, workspace):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(120)
        # The path may be longer than a socket's name. So the directory's descriptor is used.
        directory = os.open(workspace, os.O_PATH | os.O_DIRECTORY)
        way = "agent.sock" if (Path(workspace) / "agent.sock").exists() else "vsock.sock"
        self.sock.connect(f"/proc/self/fd/{directory}/{way}")
        os.close(directory)
        self.sock.sendall(b"CONNECT 2222\n")
        line = b""
        while not line.endswith(b"\n"):
            piece = self.sock.recv(1)
            assert piece, "the agent's port is closed"
            line += piece
        assert line.startswith(b"OK "), line

    def exactly(self, count):
        data = b""
        while len(data) < count:
            piece = self.sock.recv(count - len(data))
            assert piece, "the agent closed the connection"
            data += piece
        return data

    def frame(self):
        return self.exactly(struct.unpack(">I", self.exactly(4))[0])

    def send(self, message):
        text = json.dumps(message).encode()
        self.sock.sendall(struct.pack(">I", len(text)) + text)

    def close(self):
        self.sock.close()


def run(workspace, argv):
    """Runs one command on a connection of its own, as each exec of the command line does."""
    agent = Agent(workspace)
    try:
        agent.send({"id": "a", "cmd": argv})
        return json.loads(agent.frame())
    finally:
        agent.close()


def warm(workspace):
    """The agent keeps the cgroup of a command for the next one: as many as ran at once, and at most CGROUP_SPARES (16).
    No command ends before all have begun."""
    agents = [Agent(workspace) for _ in range(20)]
    for agent in agents:
        agent.send({"id": "a", "request": 1, "stream": True, "cmd": ["cat"], "stdin": True})
    for agent in agents:
        assert json.loads(agent.frame())["event"] == "start"
    for agent in agents:
        agent.send({"event": "stdin-close", "request": 1})
    for agent in agents:
        assert json.loads(agent.frame())["exitCode"] == 0
        agent.close()


def stream_digest(workspace, argv, which):
    """Returns SHA-256 and length of a command's stdout (2) or stderr (3), and its exit code."""
    agent = Agent(workspace)
    digest, length = hashlib.sha256(), 0
    try:
        agent.send({"id": "a", "request": 1, "stream": True, "cmd": argv})
        while True:
            payload = agent.frame()
            if payload[0] == which:
                digest.update(payload[9:])
                length += len(payload) - 9
            elif payload[:1] == b"{" and json.loads(payload)["event"] == "exit":
                return digest.hexdigest(), length, json.loads(payload)["exitCode"]
    finally:
        agent.close()


def host_processes(workspace):
    """Returns the live supervisor and its companions, without QEMU (its memory is the guest's)."""
    runtime = json.loads((Path(workspace) / "runtime.json").read_text())
    pids = {"supervisor": runtime["supervisorPid"]}
    pids.update({c["name"]: c["pid"] for c in runtime["companions"] if c["name"] != "bwrap"})
    return pids


def memory_kib(pid):
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no memory")


def look_at_host(workspace):
    seen = {}
    for who, pid in host_processes(workspace).items():
        seen[f"{who} descriptors"] = len(os.listdir(f"/proc/{pid}/fd"))
        seen[f"{who} KiB"] = memory_kib(pid)
    return seen


def look_into_guest(host, name):
    """Counts the processes too, zombies among them. The kernel's own threads come and go. The list is read before the
    pipeline that counts begins, since the number of its processes differs each time."""
    script = ('for p in 1 $(cat /proc/1/task/1/children); do '
              'echo $p $(ls /proc/$p/fd | wc -l) $(awk "/^Anonymous/ {print \\$2}" /proc/$p/smaps_rollup); done; '
              "all=$(cat /proc/[0-9]*/stat 2>/dev/null); "
              "echo total $(echo \"$all\" | sed 's/.*) //' | awk '$2 != 2' | wc -l) 0")
    seen = {}
    for line in host("exec", "--user", "root", name, "--", "sh", "-c", script, check=0).stdout.splitlines():
        who, descriptors, kib = line.split()
        seen[f"guest {who} descriptors"] = int(descriptors)
        seen[f"guest {who} KiB"] = int(kib)
    return seen


def look(host, name):
    """Returns {what: number} of everything that must stay as it is."""
    warm(host.state / name)
    return {**look_at_host(host.state / name), **look_into_guest(host, name)}


# Memory that the agent's allocator keeps after a busy moment: a few queues of a connection (about 1 MiB is reached
# after four streams and never passed). The sanitizers' allocator pads, and keeps some freed memory.
SLACK_KIB = 8192 if os.environ.get("SANITIZE") else 2048


def growth(before, after):
    """Requires the same descriptors as before, and the same memory except for the slack."""
    assert before.keys() == after.keys(), (before, after)
    return [f"{what}: {before[what]} -> {number}" for what, number in after.items()
            if number > before[what] + (SLACK_KIB if what.endswith("KiB") else 0)]


def wait_for_no_growth(before, look_again):
    """A connection that was just closed stays open for a moment. A leak stays for ever."""
    grown = []

    def gone():
        after = look_again()
        grown[:] = growth({key: before[key] for key in after}, after)
        return not grown

    try:
        wait_until(gone, "nothing to have grown", seconds=60)
    except AssertionError:
        raise AssertionError(f"grown: {grown}, before: {before}") from None


def assert_no_growth(host, name, before):
    """Looks at host and guest one after the other. No descriptor is made in the guest while the host is looked at."""
    workspace = host.state / name
    warm(workspace)
    wait_for_no_growth(before, lambda: look_at_host(workspace))
    wait_for_no_growth(before, lambda: look_into_guest(host, name))
