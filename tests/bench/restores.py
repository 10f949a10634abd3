# SPDX-License-Identifier: MIT
"""Stages: sessions that are restored from their base's template, compared with booted ones and with containers; and forks."""

import contextlib
import json
import os
import subprocess
from pathlib import Path

import containers
from harness import ROUNDS, timed
from sessions import Place
from table import other, record, skip

SESSION = "restored session to first exec (`session create`, `session exec`)"
CONTAINER = "the same restored session, beside a container"
PRIVATE = "private memory of a restored session beside a sibling, all processes"
RUN = "`microagent run --base`, restored"


def create_and_exec(cli, *words):
    """Returns the milliseconds to the end of the session's first command. The end of the session is not measured."""
    names = []

    def both():
        names.append(cli("session", "create", "--base", "web", "--network", "isolated", *words).decode().strip())
        cli.exec(names[0], "/bin/true")
    took = timed(both)
    cli("session", "destroy", names[0])
    return took


def was_restored(cli):
    """Requires that the session was restored. Otherwise the figures would be of something else."""
    made = cli.json("session", "create", "--base", "web", "--network", "isolated")
    cli("session", "destroy", made["name"])
    if made.get("boot", {}).get("how") != "restored":
        raise SystemExit(f"restore: a session of a warm base is not restored: {made}")


def measure_starts(cli, ctr):
    took = {"restored": [], "booted": [], "run": [], "ctr": []}
    for _ in range(ROUNDS):
        took["restored"].append(create_and_exec(cli) / 1e3)
        took["booted"].append(create_and_exec(cli, "--cold") / 1e3)
        if ctr:
            took["ctr"].append(timed(ctr) / 1e3)
        took["run"].append(timed(cli, "run", "--base", "web", "--network", "isolated", "--", "/bin/true") / 1e3)
    record(SESSION, took["restored"], "s", "the same, booted (`--cold`)", took["booted"], "<= 0.3x")
    if ctr:
        record(CONTAINER, took["restored"], "s", "`ctr run` of the same command", took["ctr"], "<= 1.5x")
        record(RUN, took["run"], "s", "`ctr run` of the same command", took["ctr"], "<= 1.5x")


def footprint(cli):
    """Returns the MiB of each process of machines, one after the other, just after their first command."""
    told = json.loads(cli("--json", "perf", "footprint", "--base", "web", "--network", "isolated", "--count", ROUNDS))
    return {row["name"]: row["private"]["samples"] for row in told["rows"]}


def measure_memory(cli):
    """Measures a restored machine beside a sibling, which keeps the memory that all of them share, and says where the
    time of a restore goes."""
    words = ("--base", "web", "--network", "isolated")
    other["stages of a restore"] = json.loads(cli("--json", "perf", "restore", *words, "--count", ROUNDS))["rows"]
    alone = footprint(cli)
    sibling = cli("session", "create", *words).decode().strip()
    beside = footprint(cli)
    cli("session", "destroy", sibling)
    record(PRIVATE, beside["whole"], "MiB", "its VMM", beside["vmm"], "<= 45 MiB")
    record("the same of the only one, and the template with it", alone["whole"], "MiB", "its VMM", alone["vmm"])
    record("private memory of our own processes of a restored session", beside["ours"], "MiB", "its VMM", beside["vmm"], "<= 3 MiB")


def bench_restore():
    with Place() as cli, contextlib.ExitStack() as stack:
        if b" warm " not in cli("base", "--help"):
            skip(SESSION, "no base of this build has a template")
            return
        cli("base", "create", "web")
        cli("base", "warm", "web")
        was_restored(cli)
        why = containers.lacking("containerd", "ctr", "runc", "busybox")
        if why:
            skip(CONTAINER, why)
            skip(RUN, why)
        measure_starts(cli, None if why else stack.enter_context(containers.ctr(cli.base)))
        measure_memory(cli)


# ---- fork -------------------------------------------------------------------------------------------

DIRTY_MIB = 256
FORK = f"fork, the parent's pause, {DIRTY_MIB} MiB of its memory written"
# Bytes that a save cannot leave out, as it leaves out zeros.
DIRTY = f"""mount -o remount,size={DIRTY_MIB + 16}m /dev/shm && head -c 1048576 /dev/urandom > /tmp/piece && i=0
while [ $i -lt {DIRTY_MIB} ]; do cat /tmp/piece; i=$((i + 1)); done > /dev/shm/written"""


def copy_in_memory(cli):
    """Copies the same number of bytes from memory to memory on the host."""
    source, target = Path("/dev/shm", f"{cli.base.name}-1"), Path("/dev/shm", f"{cli.base.name}-2")
    try:
        source.write_bytes(os.urandom(1 << 20) * DIRTY_MIB)
        return [timed(lambda: subprocess.run(["cp", source, target], check=True)) for _ in range(ROUNDS)]
    finally:
        source.unlink(missing_ok=True)
        target.unlink(missing_ok=True)


def bench_fork():
    pauses, whole = [], []
    with Place() as cli:
        if b" fork " not in cli("session", "--help"):
            skip(FORK, "no session of this build can be forked")
            return
        cli("base", "create", "web", "--memory", DIRTY_MIB + 128)
        cli("base", "warm", "web")
        parent = cli("session", "create", "--base", "web", "--network", "isolated").decode().strip()
        cli.as_root(parent, "sh", "-c", DIRTY)
        for _ in range(ROUNDS):
            whole.append(timed(lambda: pauses.append(cli.json("session", "fork", parent))))
            cli("session", "destroy", pauses[-1]["sessions"][0]["name"])
        copies = copy_in_memory(cli)
    small = [told["saved"]["stateBytes"] for told in pauses if told["saved"]["stateBytes"] < DIRTY_MIB << 20]
    if small:
        raise SystemExit(f"fork: what was written is not in what was saved: {small} bytes")
    other["fork, the whole command (ms)"] = whole
    record(FORK, [told["saved"]["pauseMs"] for told in pauses], "ms", f"`cp` of {DIRTY_MIB} MiB in the host's memory", copies,
           "<= 150 ms")
