# SPDX-License-Identifier: MIT
"""What the Python package costs beyond the library: the same command by a handle of each, in the same session."""

import os
import subprocess
import sys

from harness import BUILD, ROOT, ROUNDS, running
from sessions import Place, session_program
from table import record

TURNS = 10 * ROUNDS
PROGRAM = """
import sys, time, microagent
box = microagent.Sandbox.open(sys.argv[1])
while sys.stdin.buffer.read(1):
    began = time.perf_counter()
    box.run(["/bin/true"])
    print((time.perf_counter() - began) * 1e3, flush=True)
"""


def python_env(place):
    library, = (BUILD / "lib").glob("libmicroagent.so.*")
    return {**place.env, "MICROAGENT_LIBRARY": str(library), "PYTHONPATH": os.fspath(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}


def turn(child):
    child.stdin.write(b".")
    return float(child.stdout.readline())


def bench_python():
    """Runs one command of each in turn, so that a busy moment of the host affects both. The first one connects."""
    ours, theirs = [], []
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
    with Place() as place:
        place("base", "create", "web")
        name = place.json("session", "create", "--base", "web", "--network", "isolated")["name"]
        with running([sys.executable, "-c", PROGRAM, name], env=python_env(place), **pipes) as python, \
             running([session_program(), "run", name], env=place.env, **pipes) as program:
            for _ in range(TURNS + 1):
                ours.append(turn(python))
                theirs.append(turn(program))
    record("run() of the Python package", ours[1:], "ms", "microagent_session_run() of a C program", theirs[1:], "<= +0.2 ms")
