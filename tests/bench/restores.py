# SPDX-License-Identifier: MIT
"""Stage: machines that are restored from the template of their base, beside the same ones booted, and beside containers."""

import contextlib
import json

import containers
from harness import ROUNDS, timed
from sessions import Place
from table import other, record, skip

RUN = "restore, whole command to first exec (`microagent run --base`)"
MEMORY = "private memory of a restored idle session"


def lacking(cli):
    """What this build does not have yet, or ""."""
    if b" warm " not in cli("base", "--help"):
        return "no base has a template yet"
    return "" if b"--base" in cli("run", "--help") else "`microagent run` makes no session of a base yet"


def measure_runs(cli, ctr):
    took = {"restored": [], "cold": [], "ctr": []}
    for _ in range(ROUNDS):
        took["restored"].append(timed(cli, "run", "--base", "web", "--", "/bin/true") / 1e3)
        took["cold"].append(timed(cli, "run", "--base", "web", "--cold", "--", "/bin/true") / 1e3)
        if ctr:
            took["ctr"].append(timed(ctr) / 1e3)
    record(RUN, took["restored"], "s", "the same, booted (`--cold`)", took["cold"], "<= 0.3x")
    if ctr:
        record("restore beside a container", took["restored"], "s", "`ctr run` of the same command", took["ctr"], "<= 1.5x")


def measure_memory(cli):
    """Of machines one after the other, just after their first command."""
    took = json.loads(cli("--json", "perf", "restore", "--base", "web", "--count", ROUNDS))
    other["restore stages"] = took["rows"]
    told = json.loads(cli("--json", "perf", "footprint", "--base", "web", "--count", ROUNDS))
    rows = {row["name"]: row["private"]["samples"] for row in told["rows"]}
    record(MEMORY, rows["whole"], "MiB", "of that its VMM", rows["vmm"], "<= 45 MiB")
    record("of that our own processes", rows["ours"], "MiB", "the restored VMM", rows["vmm"], "<= 3 MiB")


def bench_restore():
    with Place() as cli, contextlib.ExitStack() as stack:
        why = lacking(cli)
        if why:
            for name in (RUN, MEMORY):
                skip(name, why)
            return
        cli("base", "create", "web")
        cli("base", "warm", "web")
        why = containers.lacking("containerd", "ctr", "runc", "busybox")
        if why:
            skip("restore beside a container", why)
        measure_runs(cli, None if why else stack.enter_context(containers.ctr(cli.base)))
        measure_memory(cli)
