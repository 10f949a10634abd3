# SPDX-License-Identifier: MIT
"""The file that MICROAGENT_STANDIN_HCS names. It is read at every call, so that a test can change it. It also names the
file for the record of calls."""

import json
import os
import threading
from pathlib import Path

import facts

ROOT = Path(__file__).resolve().parents[3]
KEYS = ("record", "log", "schema", "qemu", "vsockd", "library", "worker", "wine", "scsi", "exit_event_last", "faults", "guest")
FAULT_KEYS = ("hresult", "error", "when", "act", "after", "times", "wait", "do", "words")


class Settings:
    def __init__(self, path, build):
        self.path, self.lock, self.counts = path, threading.Lock(), {}
        self.defaults = {
            "record": None, "log": None, "schema": list(facts.SCHEMA), "qemu": "/usr/bin/qemu-system-x86_64",
            "vsockd": f"{build}/bin/microagent-vsockd", "library": f"{build}/standin/libvsock.so",
            "worker": f"{build}/windows/standin/hcs-worker.exe", "wine": "/usr/lib/wine/wine64", "scsi": False,
            "exit_event_last": False, "faults": {}, "guest": {}}

    def read(self):
        found = json.loads(Path(self.path).read_text()) if self.path else {}
        unknown = set(found) - set(KEYS)
        if unknown:
            raise ValueError(f"settings: {sorted(unknown)} are not known")
        return {**self.defaults, **found}

    def log(self):
        """Returns the directory for the stderr of children."""
        path = self.read()["log"]
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644) if path else os.open(os.devnull, os.O_WRONLY)

    def fault(self, call):
        """Returns the fault of this call, or {}. `after` calls succeed before, and `times` calls fail. A new file
        counts from the beginning."""
        fault = self.read()["faults"].get(call)
        if not fault:
            return {}
        unknown = set(fault) - set(FAULT_KEYS)
        if unknown:
            raise ValueError(f"fault of {call}: {sorted(unknown)} are not known")
        about = os.stat(self.path)
        key = (call, about.st_ino, about.st_mtime_ns)
        with self.lock:
            number = self.counts.get(key, 0)
            self.counts[key] = number + 1
        first = fault.get("after", 0)
        return fault if first <= number < first + fault.get("times", 2**31) else {}

    def record(self, **values):
        path = self.read()["record"]
        if not path:
            return
        line = json.dumps(values).encode() + b"\n"
        with self.lock:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.write(fd, line)
            os.close(fd)


def await_fifo(path):
    """Waits until somebody has opened the file for writing and closed it again."""
    with open(path, "rb") as fifo:
        fifo.read()
