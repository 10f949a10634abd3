# SPDX-License-Identifier: MIT
"""Tests a stand-in for the guest's agent on vsock.sock that lies, floods or says nothing. Each case costs the host a
bounded amount of memory, and ends in an error that says what happened."""

import json
import re
import select
import struct
import sys
from pathlib import Path

import pytest

import growth
from conftest import wait_until
from vsock_standin import VsockStandIn

START = {"event": "start", "request": 1, "id": "1", "pid": 7}
EXIT = {"event": "exit", "request": 1, "id": "1", "exitCode": 5, "killed": False, "elapsedMs": 1}


def frame(message):
    data = json.dumps(message).encode() if isinstance(message, dict) else message
    return struct.pack(">I", len(data)) + data


def output(size, request=1, kind=b"\2"):
    return frame(kind + struct.pack(">Q", request) + b"x" * size)


class StandIn(VsockStandIn):
    """Answers every connection in the guest's place, by serve(stream)."""

    def __init__(self, directory, serve, line=b"OK 1\n"):
        super().__init__(directory)
        self.serve, self.line = serve, line

    def handle(self, stream, plan):
        with stream:
            try:
                while not stream.recv(1) in (b"\n", b""):
                    pass
                stream.sendall(self.line)
                self.serve(stream)
            except OSError:
                pass  # the host has closed, as it should


def until_closed(stream):
    while stream.recv(65536):
        pass


def say(*messages):
    def serve(stream):
        for message in messages:
            stream.sendall(message)
        until_closed(stream)
    return serve


@pytest.mark.parametrize("said, error", [
    ((b"\xff\xff\xff\xff",), "the guest agent sent a malformed frame"),
    ((b"\0\0\0\0",), "the guest agent sent a malformed frame"),
    ((struct.pack(">I", 65536 + 10),), "the guest agent sent a malformed frame"),  # one byte above the limit
    ((frame(START), struct.pack(">I", 1 << 24), b"\2"), "the guest agent sent a malformed frame"),
    ((frame(b"\2short"),), "malformed data frame"),
    ((frame(b"{" * 3000),), "the guest agent sent a malformed message"),
    ((frame(b'{"event":"start","request":1,"id":"\xff"}'),), "the guest agent sent a malformed message"),
    ((output(5),), "output for request 1, which has not started"),
    ((frame(START), output(5, request=2)), "output for request 2, which was not made"),
    ((frame({**START, "request": 2}),), "about request 2, which was not made"),
    ((frame(START), frame(START)), "message reports a second start"),
    ((frame({**EXIT, "exitCode": 256}),), "exitCode"),
    ((frame({"event": "error", "error": "not today"}),), "the guest agent reports: not today"),
    ((frame({"event": "detached", "request": 1, "error": "mine", "errorCode": "conflict"}),),
     "gave up the command: mine"),
], ids=str)
def test_lies_are_errors(vm, said, error):
    with StandIn(vm.state / "vm", say(*said)):
        assert error in vm("exec", "vm", "--", "true", check=125).stderr
    assert vm("exec", "vm", "--", "echo", "well", check=0).stdout == "well\n"


def test_nothing_counts_behind_the_exit(vm):
    with StandIn(vm.state / "vm", say(frame(START), output(3), frame(EXIT), frame(EXIT), output(9),
                                      b"\xff" * 99)):
        assert vm("exec", "vm", "--", "true", check=5).stdout == "xxx"


# ---- silence ------------------------------------------------------------------------------------

def test_no_answer_to_the_dial(vm):
    with StandIn(vm.state / "vm", until_closed, line=b""):
        hasty = {"MICROAGENT_TEST_LIMIT_DIAL_MS": "300"}
        done = vm("exec", "vm", "--", "true", check=125, env=hasty)
        copied = vm("cp", "vm:/etc/passwd", vm.base / "copied", check=75, env=hasty)
    next_step = "microagent: hint: `microagent status vm` shows its state, `microagent kill vm` ends it at once\n"
    assert done.stderr == f'microagent: workspace "vm": the guest cannot be reached: the deadline passed\n{next_step}', done.stderr
    assert copied.stderr.endswith(next_step) and not (vm.base / "copied").exists(), copied.stderr


def test_no_answer_to_the_request(vm):
    with StandIn(vm.state / "vm", until_closed):
        done = vm("exec", "vm", "--", "true", check=125,
                  env={"MICROAGENT_TEST_LIMIT_AGENT_ANSWER_MS": "300"})
    assert "the guest agent has not answered within 300 ms" in done.stderr


def test_no_answer_ends_with_the_timeout(vm):
    """The command's own timeout, if it is the smaller one."""
    with StandIn(vm.state / "vm", until_closed):
        done = vm("exec", "--timeout", 1, "vm", "--", "true", check=125,
                  env={"MICROAGENT_TEST_LIMIT_EXEC_LATE_MS": "200"})
    assert "the guest agent has not answered within 1200 ms" in done.stderr


def deaf(stream):
    """Sends the file server's greeting, and then neither sends nor reads until the host has gone."""
    stream.recv(4096)
    stream.sendall(b"+")
    gone = select.poll()
    gone.register(stream, select.POLLRDHUP)
    gone.poll(60_000)


@pytest.mark.parametrize("words, said", [
    (("ls", "vm:/"), "the list was not complete within 300 ms"),
    (("cp", "vm:/etc", "copy"), "neither sent nor taken any data of the copy for 300 ms"),
    (("cp", "small", "vm:/tmp/f"), "neither sent nor taken any data of the copy for 300 ms"),
    (("cp", "large", "vm:/tmp/f"), "neither sent nor taken any data of the copy for 300 ms"),
], ids=["list", "out", "in, unanswered", "in, untaken"])
def test_silence_within_a_copy(vm, tmp_path, words, said):
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "large").write_bytes(bytes(range(256)) * (64 << 10))
    with StandIn(vm.state / "vm", deaf):
        done = vm(*words, check=75, cwd=tmp_path, env={"MICROAGENT_TEST_LIMIT_TRANSFER_SILENCE_MS": "300"})
    assert said in done.stderr, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large", "small"]


def endless(message):
    def serve(stream):
        stream.sendall(frame(START))
        while True:
            stream.sendall(message)
    return serve


@pytest.mark.parametrize("serve", [say(frame(START)), endless(frame({"event": "?", "request": 1})),
                                   endless(output(100))], ids=["silence", "events", "output"])
def test_no_end_after_the_timeout(vm, serve):
    with StandIn(vm.state / "vm", serve):
        done = vm("exec", "--timeout", 1, "vm", "--", "true", check=125, text=False,
                  env={"MICROAGENT_TEST_LIMIT_EXEC_LATE_MS": "200"})
    assert b"has not reported the end of the command, whose timeout of 1 s has passed" in done.stderr


# ---- floods -------------------------------------------------------------------------------------

def peak_kib(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


@pytest.mark.parametrize("resume", [(), ("--resume", 60)], ids=["plain", "resumable"])
def test_floods_cost_no_memory(vm, resume):
    """Sends megabytes of each kind. While the client lives, its highest use of memory is measured."""
    peaks, child = {}, []

    def serve(stream):
        request = json.loads(stream.recv(65536)[4:])
        start = {**START, "exec": request["exec"], "stdinOffset": 0} if resume else START
        stream.sendall(frame(start))
        for what, message in (("little", output(1)), ("events", frame({"event": "?", "request": 1})),
                              ("small output", output(1)), ("output", output(65536)),
                              ("long events", frame({"event": "?" * 60000, "request": 1}))):
            size = (16 if len(message) > 1000 else 2) << 20
            count = 1 if what == "little" else size // len(message)
            batch = max((1 << 20) // len(message), 1)
            for _ in range(0, count, batch):
                stream.sendall(message * min(batch, count))
            wait_until(lambda: child, "the child, which may be here before whoever made it knows it")
            peaks[what] = peak_kib(child[0].pid)
        stream.sendall(frame(EXIT))
        until_closed(stream)

    with StandIn(vm.state / "vm", serve):
        child.append(vm.popen("exec", *resume, "vm", "--", "true", stdout=-3))
        assert child[0].wait(timeout=120) == 5, child[0].stderr.read()
    child[0].stderr.close()
    assert all(peak <= peaks["little"] + growth.SLACK_KIB for peak in peaks.values()), peaks


# Runs a command, and prints the most memory that it had, in KiB. A child of pytest itself would begin with pytest's peak.
METER = """import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)"""


ENTRY = {"name": "", "type": "file", "mode": 0, "size": 0, "mtime": 0, "mtimeNs": 0, "uid": 0, "gid": 0, "links": 0}


@pytest.mark.parametrize("head, piece, count, tail, error", [
    (b'{"end":true,"x":[', b"{},", 10 << 20, b"{}]}\n", "the guest's list of files is malformed: a line has 31457302 bytes, but a line for one file has at most 32768"),
    (b"", json.dumps(ENTRY, separators=(",", ":")).encode() + b"\n", 340_000, b"",
     "the guest's list of the files in /tmp cannot be read, because it has more than the limit of 100000 entries: list a smaller directory"),
], ids=["one line", "entries"])
def test_a_listing_costs_little_memory(vm, monkeypatch, head, piece, count, tail, error):
    """Both listings are shorter than the 32 MiB that a client reads. The one line would need 2.5 GB when it is parsed."""
    def serve(stream):
        stream.recv(4096)
        stream.sendall(b"+" + head + piece * count + tail)

    monkeypatch.setattr(vm, "wrap", [sys.executable, "-c", METER])
    with StandIn(vm.state / "vm", serve):
        done = vm("ls", "vm:/tmp")
    assert done.returncode == 1 and error in done.stderr, done
    assert int(done.stdout) < 200 << 10, done.stdout


# ---- resumable execs ----------------------------------------------------------------------------

def test_connections_that_always_break_are_given_up(vm):
    with StandIn(vm.state / "vm", lambda stream: stream.recv(65536)) as guest:
        done = vm("exec", "--resume", 60, "vm", "--", "true", check=125,
                  env={"MICROAGENT_TEST_LIMIT_REDIAL_MS": "1"})
    assert "the connection to the guest was lost" in done.stderr
    assert guest.count == 13, guest.count  # LIMIT_REDIALS and the first


def test_lies_to_a_resumable_exec(vm):
    def serve(stream):
        stream.recv(65536)
        stream.sendall(frame({**START, "exec": "0" * 32, "stdinOffset": 0}))
        until_closed(stream)

    with StandIn(vm.state / "vm", serve):
        done = vm("exec", "--resume", 60, "vm", "--", "true", check=125)
    assert "message reports the start of another command than was asked for: this is a bug, or the guest attacks its host" in done.stderr
