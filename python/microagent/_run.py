# SPDX-License-Identifier: MIT
"""One machine for one command."""

from __future__ import annotations

import ctypes
import tempfile
from typing import Any, Mapping, Optional, Sequence

from ._calls import Cancel, call, opened
from ._library import command_words, environment, filled, lib, must, structs, text_of, whole
from ._result import Result, checked
from ._sandbox import Bytes, Command, Egress, Path, bytes_of, egress_of

CAP = 8 << 20


class Kept:
    """The first bytes of a stream."""

    def __init__(self, cap: int, name: str) -> None:
        self.cap, self.data, self.truncated = whole(cap, name, ctypes.c_size_t), bytearray(), False

    def take(self, at: int, length: int) -> None:
        room = min(length, self.cap - len(self.data))
        self.data += ctypes.string_at(at, room)
        self.truncated = self.truncated or room < length


def sink_of(stdout: Kept, stderr: Kept) -> Any:
    def take(_data: Any, is_stderr: bool, at: int, length: int) -> None:
        (stderr if is_stderr else stdout).take(at, length)
    kind = structs["microagent_sink"]
    return kind(take=dict(kind._fields_)["take"](take))


def run(command: Optional[Command] = None, *, stdin: Optional[Bytes] = None, timeout_seconds: Optional[int] = None,
        env: Optional[Mapping[str, str]] = None, user: Optional[str] = None, stdout_cap: int = CAP,
        stderr_cap: int = CAP, check: bool = False, image: Optional[Path] = None, kernel: Optional[Path] = None,
        initrd: Optional[Path] = None, no_disk: bool = False,
        # The parameters for the machine, which scripts/python-table.py writes:
        architecture: Optional[str] = None, network: Optional[str] = None, network_interface: Optional[str] = None,
        allow: Optional[Sequence[str]] = None, egress: Optional[Egress] = None, publish: Optional[Sequence[str]] = None,
        mediation: Optional[str] = None, mediation_optional: bool = False, vsock: Optional[Sequence[str]] = None,
        disks: Optional[Sequence[str]] = None, shares: Optional[Sequence[str]] = None, share_anyway: bool = False,
        share_git: bool = False, rates: Optional[Mapping[str, int]] = None, memory_mib: Optional[int] = None,
        cpus: Optional[int] = None, accelerator: Optional[str] = None,
        # All other parameters:
        bundles: Optional[Sequence[str]] = None, backend: Optional[str] = None, state_dir: Optional[Path] = None) -> Result:
    """A machine for one command: made, booted, run and ended, of which nothing stays, also when this process is killed.

    command: a string is a line for `sh -c`, a list an argument vector; None: the image's own. stdin: all that it reads;
    None: nothing. timeout_seconds: of the command, counted by the guest (Result.timed_out). stdout_cap, stderr_cap: bytes
    that are kept. check: CommandError when it does not end with 0. image: a name in the cache, or a path with a '/'.
    memory_mib in MiB, 512 by default; cpus: 2. network: "nat" (None), "isolated" or "bridged". egress: as of Sandbox.
    disks, shares, bundles: "NAME=PATH:/MOUNTPOINT:ro", "DIR[:/PLACE[:ro]]" (on /workspace where no place is named),
    "NAME=ARCHIVE:/MOUNTPOINT". The rest is as microagent.h has it.

    An Error where the machine could not be had or went: NotFoundError without the image or kernel, InvalidError,
    UnsupportedError, UnavailableError. An exception of a signal's handler ends the machine."""
    cancel, outcome = Cancel(), structs["microagent_outcome"]()
    out, err = Kept(stdout_cap, "stdout_cap"), Kept(stderr_cap, "stderr_cap")
    given = bytes_of(stdin) or b""
    words = None if command is None else command_words(command)
    spec = filled("microagent_spec", {**locals(), "command": words, "env": environment(env), "egress": egress_of(egress)})
    sink, options = sink_of(out, err), structs["microagent_run_options"]()

    def machine() -> None:
        with opened(state_dir, backend) as agent, tempfile.TemporaryFile() as file:
            file.write(given)
            file.seek(0)
            streams = filled("microagent_streams", {"in": file.fileno(), "out": -1, "err": -1, "cancel": cancel.fd,
                                                    "sink": ctypes.pointer(sink)})
            must(lib.run, agent, ctypes.byref(spec), ctypes.byref(options), ctypes.byref(streams), ctypes.byref(outcome))
    call(machine, cancel)
    return checked(Result(outcome.exit_code, bytes(out.data), bytes(err.data), out.truncated, err.truncated,
                          outcome.signal, outcome.timed_out, outcome.end == 1, outcome.killed, outcome.elapsed_ms,
                          text_of(outcome.start_error)), check)
