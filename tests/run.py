#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the test stages, prints the time each took, and closes with one line:
`N passed, N failed, N skipped`. With words after it, only the stages or e2e files named."""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
FUZZ_SECONDS = {False: 10, True: 180}
UNIT_TIMEOUT_S = 300


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.stages = []

    def stage(self, name, began, passed, failed, skipped=0):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        self.stages.append((name, time.monotonic() - began, passed, failed, skipped))


def run_unit(program):
    """cmocka prints its counts on stderr; a crash without counts is one failure."""
    try:
        done = subprocess.run([program], capture_output=True, text=True, errors="replace",
                              timeout=UNIT_TIMEOUT_S, check=False)
        text, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        text, code = str(late), -1
    passed = sum(map(int, re.findall(r"\[  PASSED  \] (\d+) test", text)))
    failed = sum(map(int, re.findall(r"\[  FAILED  \] (\d+) test", text)))
    skipped = sum(map(int, re.findall(r"\[  SKIPPED \] (\d+) test", text)))
    if code != 0 and failed == 0:
        failed = 1
    if failed:
        print(f"--- {program.name} (exit {code})\n{text[-6000:]}", flush=True)
    elif skipped:
        print(f"{program.name}: {skipped} skipped\n" +
              "\n".join(line for line in text.splitlines() if "skip" in line.lower()))
    return passed, failed, skipped


def stage_unit(tally):
    began = time.monotonic()
    programs = sorted(p for p in (BUILD / "unit").glob("test_*") if p.suffix == "")
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(run_unit, programs))
    # Nothing built is nothing tested, which is a failure.
    passed, failed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 1, 0)
    tally.stage("unit", began, passed, failed, skipped)


def run_fuzz(program, seconds):
    corpus = BUILD / "fuzz" / "corpus" / program.name
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = ROOT / "tests" / "fuzz" / "seeds" / program.name.removeprefix("fuzz_")
    done = subprocess.run(
        [program, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
         f"-artifact_prefix={BUILD}/fuzz/{program.name}-", corpus]
        + ([seeds] if seeds.is_dir() else []),
        capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        print(f"--- {program.name} (exit {done.returncode})\n{done.stderr[-6000:]}", flush=True)
        return False
    executed = re.findall(r"Done (\d+) runs", done.stderr)
    print(f"{program.name}: {executed[-1] if executed else '?'} inputs in {seconds} s", flush=True)
    return True


def stage_fuzz(tally, soak):
    began = time.monotonic()
    programs = sorted(p for p in (BUILD / "fuzz" / "bin").glob("fuzz_*") if p.suffix == "")
    with ThreadPoolExecutor(2) as pool:
        ok = list(pool.map(lambda p: run_fuzz(p, FUZZ_SECONDS[soak]), programs))
    tally.stage("fuzz", began, ok.count(True), ok.count(False) if ok else 1)


def stage_e2e(tally, soak, files):
    began = time.monotonic()
    report = BUILD / "e2e.xml"
    report.unlink(missing_ok=True)
    env = dict(os.environ)
    if not files and not soak:
        env["MICROAGENT_TEST_WHOLE_SUITE"] = "1"  # messages that no test has met fail it
    subprocess.run(
        ["/usr/bin/python3", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
         "--durations=15", f"--junitxml={report}", "-m", "soak" if soak else "not soak"]
        + (files or [str(ROOT / "tests" / "e2e")]),
        cwd=ROOT / "tests" / "e2e", env=env, check=False)
    if not report.exists():
        tally.stage("e2e", began, 0, 1)
        return
    suite = ElementTree.parse(report).getroot().find("testsuite")
    total, failed = int(suite.get("tests")), int(suite.get("failures")) + int(suite.get("errors"))
    skipped = int(suite.get("skipped"))
    tally.stage("e2e", began, max(0, total - failed - skipped), failed, skipped)


def build_slow_things():
    """The tuned kernel and the debian image are built once into the cache, at idle priority; the
    tests that name them wait for the builder's lock."""
    children = []
    for words in (["image", "build", "debian"], ["kernel", "build"]):
        log = open(BUILD / f"background-{words[0]}.log", "wb")
        children.append(subprocess.Popen(
            ["nice", "-n", "19", BUILD / "bin" / "microagent", *words],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log))
    return children


def main():
    words = sys.argv[1:]
    soak = "--soak" in words
    words = [w for w in words if w != "--soak"]
    stages = [w for w in words if w in ("unit", "fuzz", "e2e")]
    files = [str(Path(w).resolve()) if "::" not in w else str(ROOT / w) for w in words
             if w not in stages]
    if not stages:
        stages = ["e2e"] if files else ["unit", "fuzz", "e2e"]
    if os.environ.get("SANITIZE") and "fuzz" in stages:
        print("fuzz: skipped with SANITIZE, since fuzz targets carry sanitizers always", flush=True)
        stages.remove("fuzz")
    tally = Tally()
    background = build_slow_things() if "e2e" in stages and not files else []
    if "unit" in stages:
        stage_unit(tally)
    if "fuzz" in stages:
        stage_fuzz(tally, soak)
    if "e2e" in stages:
        stage_e2e(tally, soak, files)
    for child in background:
        child.wait()
    print(f"\n{'stage':8} {'time':>8} {'passed':>7} {'failed':>7} {'skipped':>8}")
    for name, took, passed, failed, skipped in tally.stages:
        print(f"{name:8} {took:7.0f}s {passed:7} {failed:7} {skipped:8}")
    print(f"\n{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed or (tally.stages and not tally.passed) else 0


if __name__ == "__main__":
    sys.exit(main())
