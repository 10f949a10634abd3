#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The figures, as ratios measured in one run on one machine; every sample goes to build/bench.
Usage: run.py [--store] [STAGE...]   without stages those of the table, `further` the rest; --store writes the table into
docs/benchmarks.md and its ratios into tests/bench/ratios.json, by which later runs are judged. Both have a part for each
accelerator: ACCEL=kvm or tcg in the environment says which it is to be, and MICROAGENT_KVM_KERNEL is what it is for the tests.

In the environment, to see whether all of it works: ROUNDS (20), COPY_MIB (16), BULK_MIB (64), SESSIONS (1000), BASE_GB (60),
FILES (10000). What was measured with fewer is not stored."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "e2e"))
import backend
import binding
import kvm_host
import models
import nat
import restores
import runtimes
import sessions
import starts
import table
import traffic
from harness import BIN, OUT, ROOT, SETTINGS, kernel

TABLE = ("boot", "run", "restore", "fork", "oneshot", "cell", "backend", "memory", "clone", "claim", "exec", "echo", "ssh", "publish",
         "nat", "names", "share", "python", "mcp", "oci", "ocimachine")
FURTHER = ("ready", "cpus", "arm64", "rerun", "density", "ocifiles")
STORED = ROOT / "tests/bench/ratios.json"
DOCUMENT = ROOT / "docs/benchmarks.md"


def stages():
    return {name.removeprefix("bench_"): fn for module in (starts, restores, backend, traffic, nat, sessions, binding, models, runtimes)
            for name, fn in vars(module).items() if name.startswith("bench_")}


def wanted_stages(words):
    known = stages()
    assert sorted(known) == sorted(TABLE + FURTHER), "each stage is in one of the two lists"
    wanted = [name for word in words or TABLE for name in (FURTHER if word == "further" else [word])]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"no stage {', '.join(unknown)}: {' '.join(TABLE + FURTHER)}")
    return {name: known[name] for name in wanted}


def accelerator():
    host = json.loads(subprocess.run([BIN / "microagent", "--json", "host"], capture_output=True, check=True).stdout)
    return "kvm" if host["host"]["kvmAvailable"] else "tcg"


def measure(wanted):
    for name, stage in wanted.items():
        began = time.monotonic()
        print(f"{name}:", flush=True)
        stage()
        print(f"  {time.monotonic() - began:.0f} s", flush=True)


def store(facts, whole):
    why = table.why_not_to_store(table.rows, whole, [name for name, (value, usual) in SETTINGS.items() if value != usual])
    if why:
        print(f"not stored: {why}")
        return 1
    table.store_ratios(STORED, table.rows, facts)
    DOCUMENT.write_text(table.put_into(DOCUMENT.read_text(), table.rows, facts))
    print(f"stored: {STORED.relative_to(ROOT)}, {DOCUMENT.relative_to(ROOT)}")
    return 0


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that stages end the processes that they began
    words = [word for word in sys.argv[1:] if word != "--store"]
    wanted = wanted_stages(words)
    with contextlib.ExitStack() as stack:
        choose_accelerator(os.environ.get("ACCEL"), stack)
        run(wanted)


def choose_accelerator(wanted, stack):
    if wanted == "tcg":
        os.environ["MICROAGENT_TEST_KVM"] = "/nonexistent"
    elif wanted == "kvm":
        try:
            os.environ.update(stack.enter_context(kvm_host.prepared(BIN, ["*"])))
        except (kvm_host.NoKvm, kvm_host.KernelRefused) as why:
            sys.exit(f"ACCEL=kvm: no Linux runs under KVM here: {why}")


def run(wanted):
    whole = set(TABLE) <= set(wanted)
    OUT.mkdir(parents=True, exist_ok=True)
    began, load = time.monotonic(), os.getloadavg()
    used = kernel()["name"]
    print(f"kernel {used}, {SETTINGS['ROUNDS'][0]} rounds, load {load[0]:.1f}")
    measure(wanted)
    facts = table.facts_of(used, accelerator(), began, load)
    print("\n" + "\n".join(table.lines_of(table.rows)) + "\n")
    raw = OUT / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    table.keep(raw, facts)
    print(f"raw data: {os.path.relpath(raw, ROOT)}; {facts['seconds'] / 60:.1f} minutes")
    code = table.guard(table.rows, STORED, facts, whole)
    if "--store" in sys.argv[1:]:
        code = store(facts, whole)
    sys.exit(code)


if __name__ == "__main__":
    main()
