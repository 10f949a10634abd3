#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the test stages, prints the time of each as it ends and all of them at the end, and closes with one line:
`N passed, N failed, N skipped`. With words after it, only the stages or the files of tests/e2e and ports/ named."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "e2e"))
import kvm_host
import strays
from boots import Boots

ROOT = Path(__file__).resolve().parent.parent
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
FUZZ_SECONDS = {False: 10, True: 180}
UNIT_TIMEOUT_S = 300
HOSTILE = "test_hostile_*.py"  # stage_sanitized() runs these in `make soak` with the sanitizers
TEST_STAGES = ("unit", "fuzz", "e2e", "ports", "kvm", "debian13")
# Files that have machines of QEMU and test what every backend does. test_parity.py runs a part of them in `make test`.
PARITY = {"firecracker": ("test_supervisor.py", "test_supervisor_details.py", "test_lifecycle.py", "test_run.py", "test_matrix.py",
                          "test_verification.py", "test_bad_state.py", "test_half_start.py", "test_exec.py", "test_exec_stdin.py",
                          "test_exec_resume.py", "test_exec_options.py", "test_envelope.py", "test_files.py", "test_mediation.py",
                          "test_publish.py", "test_console.py", "test_bundles.py", "test_artifacts.py", "test_audit.py",
                          "test_audit_execs.py", "test_sessions.py", "test_session_end.py", "test_session_crash.py",
                          "test_session_quota.py", "test_network.py", "test_devices.py", "test_contract.py"),
          # The files without those that make networks and devices of Linux for machines of their own.
          "apple-vf": ("test_supervisor.py", "test_supervisor_details.py", "test_lifecycle.py", "test_run.py", "test_matrix.py",
                       "test_verification.py", "test_bad_state.py", "test_exec.py", "test_exec_stdin.py", "test_exec_resume.py",
                       "test_exec_options.py", "test_envelope.py", "test_files.py", "test_mediation.py", "test_publish.py",
                       "test_console.py", "test_bundles.py", "test_artifacts.py", "test_audit_execs.py", "test_sessions.py",
                       "test_session_end.py", "test_session_quota.py", "test_contract.py")}
# Files that test the channel to the guest. Their machines have a vsock device. They run once more over the port that
# saved machines have.
FACE = ("test_exec.py", "test_exec_stdin.py", "test_exec_resume.py", "test_exec_options.py", "test_exec_terminal.py", "test_envelope.py",
        "test_files.py", "test_agent_limits.py", "test_agent_task.py", "test_publish.py", "test_quarantine.py", "test_sessions.py",
        "test_session_share.py", "test_telemetry.py", "test_audit_execs.py", "test_seed_client.py")
SOAK_STAGES = ("unit", "fuzz", "e2e", "alone", "ports", "sanitized", "parity", "face", "newer-qemu", "debian13")  # there e2e is what goes beside others, alone what does not
# Files that newer programs of the host may change (docs/tested.md). `make soak` runs the whole suite with them.
DEBIAN13 = ("test_shares.py::test_shares", "test_shares.py::test_what_the_guest_keeps",
            "test_session_share.py::test_an_ordinary_user_claims_with_a_directory", "test_session_share.py::test_from_the_start",
            "test_session_share.py::test_quarantine_in_the_middle_of_it", "test_share_races.py::test_both_create_one_name",
            "test_network.py::test_nat", "test_egress.py::test_names", "test_fork.py::test_a_command_in_each_child",
            "test_oci.py::test_volumes", "test_oci.py::test_each_state_and_command", "test_backends.py::test_doctor_says_what_was_never_run")
# Files in which the accelerator makes a difference: the verdict and the processor, a boot, commands, restored machines,
# forks, quarantine with its proof, a machine that KVM gives up, and who may use KVM.
KVM = ("test_kvm_linux.py", "test_kvm.py::test_a_machine_that_stands_still", "test_run.py::test_first_light", "test_run.py::test_vms_at_once",
       "test_lifecycle.py::test_life_of_a_workspace", "test_exec.py", "test_crash.py::test_kill_9_of_one_process",
       "test_crash.py::test_guest_ends_itself", "test_templates.py::test_what_is_recorded", "test_templates.py::test_a_session_is_restored",
       "test_templates.py::test_siblings_share_nothing", "test_fork.py::test_a_server_answers_from_parent_and_children",
       "test_fork.py::test_a_command_in_each_child", "test_quarantine.py::test_every_channel_ends_and_the_machine_goes_on")
# The part of ports/ that `make test` runs; `make soak` runs all. A machine of each port is made, runs a command, is
# refused something and ends.
PORTS = ("hyperv/tests/test_hyperv.py::test_lifecycle", "hyperv/tests/test_hyperv.py::test_refused_by_hcs",
         "hyperv/tests/test_hyperv.py::test_no_hyperv",
         "applevf/tests/test_applevf.py::test_a_life", "applevf/tests/test_applevf.py::test_the_published_requests",
         "applevf/tests/test_applevf.py::test_quarantine", "applevf/tests/test_applevf.py::test_refusals",
         "applevf/tests/test_applevf_macos.py::test_a_base_is_what_was_installed",
         "guest-macos/tests/test_macos_agent.py", "guest-macos/tests/test_macos_agent_vsock.py")
TWO_WORKERS = ("-n", "2", "--dist", "loadfile")
FOUR_WORKERS = ("-n", "4", "--dist", "loadfile")  # on two processors; for two fifths of its time a test runs nothing


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.stages = []

    def stage(self, name, began, passed, failed, skipped=0):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        self.stages.append((name, time.monotonic() - began, passed, failed, skipped))
        print(f"--- {name}: {self.stages[-1][1]:.0f} s: {passed} passed, {failed} failed, {skipped} skipped", flush=True)


def run_unit(program):
    """Counts cmocka's results, which are on stderr. A crash without counts is one failure."""
    try:
        done = subprocess.run([program], capture_output=True, text=True, errors="replace",
                              env={**os.environ, "XDG_STATE_HOME": str(BUILD / "unit" / "state-home")},
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
    with ThreadPoolExecutor(4) as pool:  # many workers wait
        counts = list(pool.map(run_unit, programs))
    # If nothing was built, nothing was tested, and that is a failure.
    passed, failed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 1, 0)
    tally.stage("unit", began, passed, failed, skipped)


def run_fuzz(program, seconds):
    corpus = BUILD / "fuzz" / "corpus" / program.name
    corpus.mkdir(parents=True, exist_ok=True)
    name = program.name.removeprefix("fuzz_")
    seeds = [place for place in (ROOT / "tests/fuzz/seeds" / name, *ROOT.glob(f"ports/*/tests/fuzz/seeds/{name}")) if place.is_dir()]
    done = subprocess.run(
        [program, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
         f"-artifact_prefix={BUILD}/fuzz/{program.name}-", corpus, *seeds],
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


def pytest(words, report, env):
    """Runs pytest once. Returns what it has written into the report."""
    report.unlink(missing_ok=True)
    subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--durations=15",
                    f"--junitxml={report}", *words], cwd=ROOT / "tests" / "e2e", env=env, check=False)
    return ElementTree.parse(report).getroot().find("testsuite") if report.exists() else None


def pytest_of_ports(words, report, env):
    """Runs pytest for tests of ports/, with the settings and the conftest.py of tests/e2e. The fixtures of that file
    are there for all of them, since the file is outside of the root of these tests."""
    return pytest(["-c", ROOT / "tests/e2e/pytest.ini", f"--rootdir={ROOT / 'ports'}", "-p", "conftest", *words], report, env)


def end_strays(place):
    """Reports a process that goes on after its tests, as after an interrupt, in the form of one more test."""
    found = strays.running(place)
    for pid, line in found.items():
        print(f"left behind by the tests, and killed: {pid} {line[:200]}", flush=True)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    suite = ElementTree.Element("testsuite", name="strays", tests="1", errors="0", skipped="0", failures=str(int(bool(found))))
    ElementTree.SubElement(suite, "testcase", classname="strays", name="test_nothing_outlives_the_tests", time="0")
    return suite


def tally_e2e(tally, began, suites, name="e2e"):
    """Joins all runs into one report, which has the name of the stage. A run that has written no report is a failure."""
    total = failed = skipped = 0
    merged = ElementTree.Element("testsuites")
    for suite in suites:
        if suite is None:
            failed, total = failed + 1, total + 1
            continue
        merged.append(suite)
        total += int(suite.get("tests"))
        failed += int(suite.get("failures")) + int(suite.get("errors"))
        skipped += int(suite.get("skipped"))
    ElementTree.ElementTree(merged).write(BUILD / f"{name.split()[0]}.xml")
    tally.stage(name, began, max(0, total - failed - skipped), failed, skipped)
    return merged


def remember_times(report):
    """Keeps the durations for the next run of the whole suite, which begins with the longest file."""
    took = {}
    for case in report.iter("testcase"):
        took[case.get("classname")] = took.get(case.get("classname"), 0) + float(case.get("time"))
    (BUILD / "e2e-times.json").write_text(json.dumps(took))


def stage_files(tally, soak, files):
    began, env, suites = time.monotonic(), dict(os.environ), []
    ports = [file for file in files if Path(file).is_relative_to(ROOT / "ports")]
    if rest := [file for file in files if file not in ports]:
        suites.append(pytest(["-m", "soak" if soak else "not soak", *rest], BUILD / "e2e-alone.xml", env))
    if ports:
        suites.append(pytest_of_ports([*(() if soak else ("-m", "not soak")), *ports], BUILD / "ports-alone.xml", env))
    tally_e2e(tally, began, suites)


def late(background):
    """Adds the programs that are being built to the environment of the tests."""
    return {"MICROAGENT_TEST_LATE": " ".join(need for need, child in background if child.poll() is None)}


def stage_e2e(tally, background, name="e2e", soak=False, parts=("e2e", "alone")):
    """Part e2e: runs files that may have other workers beside them, on four workers. In `make soak` it has two, since
    its files need more of the host."""
    began = time.monotonic()
    workers = TWO_WORKERS if soak else FOUR_WORKERS
    marks = {"e2e": "not (alone or whole_suite)", "alone": "(alone or whole_suite)"}
    which = ["soak", f"--ignore-glob={HOSTILE}"] if soak else ["not soak"]
    with tempfile.TemporaryDirectory(prefix="ma-", ignore_cleanup_errors=True) as own, tempfile.TemporaryDirectory() as told:
        os.chmod(own, 0o755)
        boots = boots_below(own)
        env = {**os.environ, "TMPDIR": own, "MICROAGENT_TEST_WHOLE_SUITE": told, **late(background)}
        try:
            suites = [pytest([*(workers if part == "e2e" else ()), "-m", f"{which[0]} and {marks[part]}", *which[1:], "."],
                             BUILD / f"e2e-{part}.xml", env) for part in parts]
        finally:  # an interrupt ends the workers at once
            left = end_strays(own)
        suites.append(left)
        report = tally_e2e(tally, began, suites, name)
        if not soak:
            remember_times(report)
        print(f"machines booted: {boots.count()}" if boots else "machines booted: not counted, which takes root")
        for notes in sorted(Path(told).glob("*.notes")):
            print(notes.read_text(), end="", flush=True)


def stage_ports(tally, background, soak):
    """Runs the tests of other systems, on stand-ins."""
    began = time.monotonic()
    words = [*TWO_WORKERS, *sorted(ROOT.glob("ports/*/tests"))] if soak else \
        [*FOUR_WORKERS, "-m", "not soak", *(ROOT / "ports" / name for name in PORTS)]
    with tempfile.TemporaryDirectory(prefix="ma-", ignore_cleanup_errors=True) as own:
        os.chmod(own, 0o755)
        try:
            suites = [pytest_of_ports(words, BUILD / "ports-all.xml", {**os.environ, "TMPDIR": own, **late(background)})]
        finally:
            left = end_strays(own)
        tally_e2e(tally, began, [*suites, left], "ports")


def stage_sanitized(tally):
    """Runs hostile peers and faults against programs with ASan and UBSan. It runs all hostile peers, and those faults
    that `make test` has, since `make test` has run all faults without the sanitizers."""
    began = time.monotonic()
    tests = ROOT / "tests" / "e2e"
    hostile = sorted(tests.glob(HOSTILE))
    env = {**os.environ, "BUILD": str(BUILD / "sanitize"), "SANITIZE": "1"}
    tally_e2e(tally, began, [pytest([*TWO_WORKERS, "-m", "not soak", *hostile, tests / "test_faults.py"], BUILD / "e2e-faults.xml", env),
                             pytest(["-m", "soak", *hostile], BUILD / "e2e-hostile.xml", env)], "sanitized")


def stage_parity(tally):
    for backend, files in PARITY.items():
        began = time.monotonic()
        words = [*TWO_WORKERS, "-m", "not soak", *(ROOT / "tests" / "e2e" / name for name in files)]
        tally_e2e(tally, began, [pytest(words, BUILD / "e2e-parity.xml", {**os.environ, "BACKEND": backend})], f"parity {backend}")


def stage_face(tally):
    began = time.monotonic()
    words = [*TWO_WORKERS, "-m", "not soak", *(ROOT / "tests" / "e2e" / name for name in FACE)]
    tally_e2e(tally, began, [pytest(words, BUILD / "e2e-face.xml", {**os.environ, "MICROAGENT_TEST_FACE": "port"})], "face")


def stage_newer_qemu(tally):
    """Runs the suite of `make test` once more, with the QEMU of the next Debian (docs/tested.md)."""
    began = time.monotonic()
    fetched = subprocess.run([ROOT / "scripts/fetch-newer-qemu.sh", BUILD / "newer-qemu"], stdout=subprocess.PIPE, text=True, check=False)
    if fetched.returncode:
        print("newer QEMU: skipped, since it cannot be had here", flush=True)
        tally.stage("newer-qemu", began, 0, 0, 1)
        return
    os.environ["MICROAGENT_QEMU"] = fetched.stdout.strip()
    stage_e2e(tally, [], "newer-qemu")


def stage_debian13(tally, soak):
    """Runs the first commands of the README and a part of the suite in a Debian 13 of its own. In `make soak` it runs
    `make test` there, with the whole end-to-end suite and ports."""
    began = time.monotonic()
    if os.geteuid() != 0:
        print("debian13: skipped, since only root enters another system's root", flush=True)
        tally.stage("debian13", began, 0, 0, 1)
        return
    place = BUILD / "debian13"
    inside = [ROOT / "scripts/in-debian.sh", "trixie", place]
    if subprocess.run([*inside, "true"], cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode:
        print("debian13: skipped, since its root cannot be had here", flush=True)
        tally.stage("debian13", began, 0, 0, 1)
        return
    with open(BUILD / "debian13.log", "wb") as log:
        made = subprocess.run([*inside, "sh", "-euc", 'make BUILD="$1" run; scripts/install-packages.sh e2e', "sh", place / "build"],
                              cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    if made.returncode:
        print(f"debian13: `make run` has failed there\n{(BUILD / 'debian13.log').read_text(errors='replace')[-4000:]}", flush=True)
        tally.stage("debian13", began, 0, 1)
        return
    reports = [place / "build" / name for name in (("e2e.xml", "ports.xml") if soak else ("e2e-debian13.xml",))]
    for report in reports:
        report.unlink(missing_ok=True)
    words = ["make", f"BUILD={place / 'build'}", "test", "TESTS=e2e ports"] if soak else \
        ["sh", "-euc", 'export BUILD="$1"; cd tests/e2e; shift; exec /usr/bin/python3 -m pytest "$@"', "sh", place / "build",
         "-q", "-rs", "-p", "no:cacheprovider", f"--junitxml={reports[0]}", "-m", "not soak", *TWO_WORKERS, *DEBIAN13]
    done = subprocess.run([*inside, *words], cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
    suites = [suite for report in reports if report.exists() for suite in ElementTree.parse(report).getroot().iter("testsuite")]
    # A failure without the name of a test, such as a failed build of a program, counts as one failure.
    if done.returncode and not any(int(suite.get(kind)) for suite in suites for kind in ("failures", "errors")):
        suites.append(None)
    tally_e2e(tally, began, suites, "debian13")


def stage_kvm(tally):
    """Runs machines whose Linux runs under KVM, if this host has a KVM that can run one."""
    began = time.monotonic()
    try:
        with kvm_host.prepared(BUILD / "bin", ["busybox*"]) as env:
            words = [*TWO_WORKERS, "-m", "not soak", *(ROOT / "tests" / "e2e" / name for name in KVM)]
            suites = [pytest(words, BUILD / "e2e-kvm.xml", {**os.environ, **env})]
    except kvm_host.KernelRefused as why:
        print(f"kvm: {why}", flush=True)
        tally.stage("kvm", began, 0, 1)
        return
    except kvm_host.NoKvm as why:
        print(f"kvm: skipped, since no Linux runs under KVM here: {why}", flush=True)
        tally.stage("kvm", began, 0, 0, 1)
        return
    tally_e2e(tally, began, suites, "kvm")


def boots_below(place):
    try:
        return Boots(place)
    except OSError:
        return None


def build_slow_things(stages):
    """Builds the tuned kernel and the debian image into the cache, both at once. ports needs neither. The tests that
    use them come last and wait for the builder's lock. Returns [(fixture, builder)]."""
    children = []
    suite = {"e2e", "alone", "newer-qemu"} & set(stages)
    if not suite and "ports" not in stages:
        return children
    needs = [("debian_image", ["image", "build", "debian"]), ("tuned_kernel", ["kernel", "build"])]
    for need, words in needs[0 if suite else 1:1 if kvm_host.runs_named_kernel_alone() else None]:
        log = open(BUILD / f"background-{words[0]}.log", "wb")
        children.append((need, subprocess.Popen([BUILD / "bin" / "microagent", *words], stdin=subprocess.DEVNULL,
                                                stdout=log, stderr=log)))
    return children


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that it removes directories of its own
    words = sys.argv[1:]
    soak = "--soak" in words
    words = [w for w in words if w != "--soak"]
    known = SOAK_STAGES if soak else TEST_STAGES
    files = [str(Path(w).resolve()) if "::" not in w else str(ROOT / w) for w in words if w not in known]
    stages = [w for w in words if w in known] or ([] if files else list(known))
    if os.environ.get("SANITIZE") and "fuzz" in stages:
        print("fuzz: skipped with SANITIZE, since fuzz targets carry sanitizers always", flush=True)
        stages.remove("fuzz")
    if os.environ.get("ACCEL") and {"e2e", "kvm"} <= set(stages):
        stages.remove("kvm")  # it is a part of a suite that was started for this accelerator
    with contextlib.ExitStack() as stack:
        if os.environ.get("ACCEL") == "kvm":
            try:
                os.environ.update(stack.enter_context(kvm_host.prepared(BUILD / "bin", ["*"])))
            except (kvm_host.NoKvm, kvm_host.KernelRefused) as why:
                print(f"ACCEL=kvm: no Linux runs under KVM here: {why}", flush=True)
                return 1
        return run_stages(stages, files, soak)


def run_stages(stages, files, soak):
    tally = Tally()
    background = build_slow_things(stages)
    if "unit" in stages:
        stage_unit(tally)
    if "fuzz" in stages:
        stage_fuzz(tally, soak)
    if files:
        stage_files(tally, soak, files)
    if soak:
        for part in [part for part in ("e2e", "alone") if part in stages]:
            stage_e2e(tally, background, part, soak, [part])
    elif "e2e" in stages:
        stage_e2e(tally, background)
    if "ports" in stages:
        stage_ports(tally, background, soak)
    if "sanitized" in stages:
        stage_sanitized(tally)
    if "parity" in stages:
        stage_parity(tally)
    if "face" in stages:
        stage_face(tally)
    if "newer-qemu" in stages:
        stage_newer_qemu(tally)
    if "kvm" in stages:
        stage_kvm(tally)
    if "debian13" in stages:
        stage_debian13(tally, soak)
    for _, child in background:
        child.wait()
    print(f"\n{'stage':10} {'time':>8} {'passed':>7} {'failed':>7} {'skipped':>8}")
    for name, took, passed, failed, skipped in tally.stages:
        print(f"{name:10} {took:7.0f}s {passed:7} {failed:7} {skipped:8}")
    print(f"\n{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed or (tally.stages and not tally.passed + tally.skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
