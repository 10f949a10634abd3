# SPDX-License-Identifier: MIT
"""Stage: our share of a start on each backend, from the request to a VMM that runs. For QEMU it is the time between the
marks begun and vmm in runtime.json, since QEMU runs by itself after that. Firecracker waits for calls that tell it
what to run. So the time in which its stand-in waited for our next call counts as ours. The time that the stand-in
needs to begin and to answer is its own. So is the time that Python takes to print its version; the launcher here
prints it by dash, which is about as fast as a static program."""

import json
import os
import shlex
import subprocess
import sys

from harness import BUILD, ROOT, ROUNDS, Cli
from starts import ask, plain_config
from table import other, record

STANDIN = ROOT / "tests/standin/firecracker"
MARKS = ("begun", "vmm")
LAUNCHER = """#!/bin/sh
if [ "$1" = --version ]; then
	echo {version}
	exit
fi
exec {python} -ISBc {program} "$@"
"""
PROGRAM = """
import sys
sys.path.insert(0, {here!r})
import program
program.end(sys.argv[1:], {settings!r})
"""


def launcher(place):
    """Makes the stand-in one executable file, and the FIFO for its record of calls."""
    calls, settings, target = (place / name for name in ("calls", "settings.json", "firecracker"))
    library = BUILD / "standin/libvsock.so"
    if not library.exists():
        raise SystemExit("`make standin` builds what the stand-in needs")
    place.mkdir(mode=0o755)
    os.mkfifo(calls)
    calls.chmod(0o666)
    settings.write_text(json.dumps({"library": str(library), "record": str(calls)}))
    code = PROGRAM.format(here=str(STANDIN), settings=str(settings))
    version = subprocess.run([sys.executable, "-ISBc", code, "--version"], capture_output=True, check=True, text=True).stdout
    target.write_text(LAUNCHER.format(version=shlex.quote(version.strip() + ":/bin/sh"), python=sys.executable,
                                      program=shlex.quote(code)))
    target.chmod(0o755)
    return target, os.open(calls, os.O_RDWR | os.O_NONBLOCK)


def waited_ms(calls):
    """Returns the times for which the stand-in waited for us, up to the call that starts the machine."""
    lines = [json.loads(line) for line in os.read(calls, 1 << 16).splitlines()]
    assert lines[-1]["body"] == {"action_type": "InstanceStart"}, lines
    return sum(line["waited_ns"] for line in lines) / 1e6


def bench_backend():
    share, waits = {"qemu": [], "firecracker": []}, []
    with Cli() as cli:
        cli.base.chmod(0o755)
        program, calls = launcher(cli.base / "standin")
        cli.env["MICROAGENT_FIRECRACKER"] = str(program)
        config = plain_config(cli)
        for backend in share:  # the first start compares the disk's digest
            ask(cli, "prepare", config, backend, backend)
            ask(cli, "start", config, backend, backend)
            ask(cli, "kill", {"stateDir": config["stateDir"]}, backend, backend)
        waited_ms(calls)
        for _ in range(ROUNDS):
            for backend, took in share.items():
                ask(cli, "start", config, backend, backend)
                timings = json.loads((cli.base / "state" / backend / "runtime.json").read_text())["timings"]
                took.append((timings["vmm"] - timings["begun"]) / 1e6)
                if backend == "firecracker":
                    waits.append(waited_ms(calls))
                    took[-1] += waits[-1]
                ask(cli, "kill", {"stateDir": config["stateDir"]}, backend, backend)
        os.close(calls)
    other["the stand-in's waits for us"] = waits
    record("our share of a start, Firecracker's stand-in", share["firecracker"], "ms", "QEMU", share["qemu"], "<= 1.2x")
