# SPDX-License-Identifier: MIT
"""Machines of the Firecracker supervisor, with the stand-in in Firecracker's place (tests/standin/firecracker)."""

import json
import os
import socket
import subprocess
from pathlib import Path

import schema_check
import strays
from conftest import BIN, BUILD, ROOT, wait_until

HERE = ROOT / "tests" / "standin" / "firecracker"
IDENTITY = {"requestID": "req-1", "runtimeID": "w", "role": "workload", "backend": "firecracker"}

LAUNCHER = """#!/usr/bin/python3 -ISB
import sys
sys.path.insert(0, {here!r})
import program
program.end(sys.argv[1:], {settings!r})
"""


class Firecracker:
    """The supervisor on one state directory; the settings of its stand-in can be changed at any time."""

    def __init__(self, host):
        self.host, self.place = host, host.base / "standin"
        self.place.mkdir(mode=0o755)
        self.program = self.place / "firecracker"
        self.settings, self.record = self.place / "settings.json", self.place / "calls"
        os.mkfifo(self.record)
        self.record.chmod(0o666)
        self.calls_fd = os.open(self.record, os.O_RDWR | os.O_NONBLOCK)
        self.set()
        self.program.write_text(LAUNCHER.format(here=str(HERE), settings=str(self.settings)))
        self.program.chmod(0o755)
        host.env["MICROAGENT_FIRECRACKER"] = str(self.program)

    def set(self, **settings):
        self.settings.write_text(json.dumps({"library": str(BUILD / "standin/libvsock.so"), "record": str(self.record), **settings}))
        self.settings.chmod(0o644)

    def calls(self):
        """What it was told since the last look: [(name, body)]."""
        text = b""
        while True:
            try:
                text += os.read(self.calls_fd, 65536)
            except BlockingIOError:
                lines = [json.loads(line) for line in text.splitlines()]
                return [(line["call"], line["body"]) for line in lines if "call" in line]

    def ask(self, command, config=None, env=None, args=(), wrap=(), **identity):
        """(exit code, answer, stderr)"""
        document = {"command": command}
        if command != "host":
            document["identity"] = {**IDENTITY, **identity}
            document["config"] = config or {"stateDir": str(self.host.state)}
        done = subprocess.run([*wrap, BIN / "microagent-firecracker-supervisor", *args], input=json.dumps(document).encode(),
                              capture_output=True, env={**self.host.env, **(env or {})}, check=False, timeout=300)
        answer = json.loads(done.stdout)
        assert answer["ok"] == (done.returncode == 0), (done.returncode, answer)
        if answer["ok"]:
            schema_check.validate("request", document)
            schema_check.validate_response(command, answer)
        else:
            schema_check.validate("response", answer, "failure")
        return done.returncode, answer, done.stderr.decode(errors="replace")

    def do(self, command, config=None, **kw):
        code, answer, err = self.ask(command, config, **kw)
        assert code == 0, (command, answer, err)
        return answer

    def start(self, **changes):
        """A machine that runs."""
        config = self.host.config(**changes)
        self.do("prepare", config)
        return self.do("start", config)

    def refused(self, command="start", config=None, **kw):
        code, answer, _ = self.ask(command, config, **kw)
        assert code != 0, answer
        return answer["error"]

    @property
    def workspace(self):
        return self.host.state / "w"

    @property
    def runtime(self):
        return json.loads((self.workspace / "runtime.json").read_text())

    @property
    def event(self):
        return json.loads((self.workspace / "event.json").read_text())

    def wait_for(self, state):
        wait_until(lambda: self.event["state"] == state, f"the state {state}")
        return self.event

    def exec(self, *words, check=0):
        done = self.host("exec", "--user", "root", "w", "--", *words)
        assert done.returncode == check, (words, done.stdout, done.stderr)
        return done.stdout

    def balloon(self, mib):
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.workspace / "control.sock"))
            control.sendall(json.dumps({"command": "balloon", "memoryMiB": mib}).encode() + b"\n")
            control.settimeout(60)
            return json.loads(control.makefile().readline())

    def nothing_is_left(self):
        assert [name for name in os.listdir(self.workspace) if "sock" in name or name == "vmm"] == []
        wait_until(lambda: not strays.running(self.host.base), "the end of its processes")

    def end(self):
        os.close(self.calls_fd)
        if (self.host.state / "w").exists():
            self.ask("kill")
            self.do("delete")


def shown(path):
    return Path(path).read_text(errors="replace") if Path(path).exists() else ""


def firecracker(host):
    """For a fixture."""
    it = Firecracker(host)
    yield it
    it.end()
