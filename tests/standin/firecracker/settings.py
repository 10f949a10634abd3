# SPDX-License-Identifier: MIT
"""Settings that a test gives to the stand-in in a JSON file (README.md): its version, the file for the record of calls,
and the faults. The file is read again at every call, so that a test can change it."""

import json
import os
import signal
import time

VARIABLE = "MICROAGENT_STANDIN"


class Settings:
    def __init__(self, path):
        self.path, self.defaults, self.values, self.counts = path, {}, {}, {}

    def read(self):
        self.values = dict(self.defaults)
        if self.path:
            with open(self.path, encoding="utf-8") as file:
                self.values.update(json.load(file))
        return self.values

    def get(self, name, default=None):
        return self.values.get(name, default)

    def __getitem__(self, name):
        return self.values[name]

    def fault(self, name, alternatives):
        """Returns the fault of this call, by the call's own name or its row's, if the turn of the fault has come."""
        faults = self.read().get("faults", {})
        key = next((key for key in (name, alternatives) if key in faults), None)
        if not key:
            return None
        self.counts[key] = self.counts.get(key, 0) + 1
        fault = faults[key]
        first = fault.get("after", 0)
        return fault if first < self.counts[key] <= first + fault.get("times", 2**31) else None

    def record(self, **what):
        """Writes a line in one write, since the record may be a FIFO, or a file with several writers."""
        if not self.get("record"):
            return
        fd = os.open(self["record"], os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        os.write(fd, json.dumps({"time": time.time(), **what}).encode() + b"\n")
        os.close(fd)


def die(fault):
    """Ends the process as a bug or a kill does. The first process of a cell cannot be killed from inside."""
    os.write(2, fault.get("words", "").encode())
    if "code" not in fault:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(fault.get("code", 137))
