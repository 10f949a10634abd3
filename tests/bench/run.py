#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The figures, as ratios measured in one run on one machine; raw samples go to build/bench.
Usage: run.py [boot] [cpus] [arm64] [backend] [ready] [oneshot] [memory] [cell] [rerun] [echo] [publish] [exec] [ssh] [nat]
[clone] [destroy] [claim] [share] [density]   (all without words; `sessions` means those of the second line)"""

import os
import signal
import sys

import backend
import nat
import sessions
import starts
import traffic
from harness import OUT, ROUNDS, kernel, save


def stages_of(module):
    return {name.removeprefix("bench_"): fn for name, fn in vars(module).items() if name.startswith("bench_")}


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that stages end what they began
    of_sessions = stages_of(sessions)
    stages = stages_of(starts) | stages_of(backend) | stages_of(traffic) | stages_of(nat) | of_sessions
    OUT.mkdir(parents=True, exist_ok=True)
    wanted = [stage for word in sys.argv[1:] or stages for stage in (of_sessions if word == "sessions" else [word])]
    used = kernel()
    print(f"kernel {used['name']}, {ROUNDS} rounds, load {os.getloadavg()[0]:.1f}")
    for name in wanted:
        stages[name]()
    save(used)


if __name__ == "__main__":
    main()
