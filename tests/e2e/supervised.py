# SPDX-License-Identifier: MIT
"""Machines of one backend's supervisor, which is asked directly. A stand-in for the VMM takes its settings from a file
and writes the calls that it gets to a FIFO."""

import json
import os
import socket
import subprocess
from pathlib import Path

import schema_check
import strays
from conftest import BIN, wait_until


class Supervised:
    """The supervisor on one state directory. The settings of its stand-in can be changed at any time."""

    BACKEND = None
    DEFAULTS = {}

    def __init__(self, host):
        self.host, self.place = host, host.base / "standin"
        self.place.mkdir(mode=0o755)
        self.settings, self.record = self.place / "settings.json", self.place / "calls"
        os.mkfifo(self.record)
        self.record.chmod(0o666)
        self.calls_fd = os.open(self.record, os.O_RDWR | os.O_NONBLOCK)
        self.set()

    @property
    def program(self):
        return BIN / f"microagent-{self.BACKEND}-supervisor"

    def set(self, **settings):
        new = self.settings.with_suffix(".new")
        new.write_text(json.dumps({**self.DEFAULTS, "record": str(self.record), **settings}))
        new.chmod(0o644)
        new.replace(self.settings)

    def recorded(self):
        """Returns the lines since the last look."""
        text = b""
        while True:
            try:
                text += os.read(self.calls_fd, 65536)
            except BlockingIOError:
                return [json.loads(line) for line in text.splitlines()]

    def ask(self, command, config=None, env=None, args=(), wrap=(), **identity):
        """Returns (exit code, answer, stderr)."""
        document = {"command": command}
        if command != "host":
            document["identity"] = {"requestID": "req-1", "runtimeID": "w", "role": "workload", "backend": self.BACKEND, **identity}
            document["config"] = config or {"stateDir": str(self.host.state)}
        done = subprocess.run([*wrap, self.program, *args], input=json.dumps(document).encode(),
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

    def control(self, **request):
        """Sends one request to the live supervisor. Returns its answer."""
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.workspace / "control.sock"))
            control.sendall(json.dumps(request).encode() + b"\n")
            control.settimeout(60)
            return json.loads(control.makefile().readline())

    def balloon(self, mib):
        return self.control(command="balloon", memoryMiB=mib)

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
