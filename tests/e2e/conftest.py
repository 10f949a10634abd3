# SPDX-License-Identifier: MIT
"""Fixtures of the end-to-end tests. They run the shipped programs and real VMs. After each test they check that nothing
is left behind (strays.py)."""

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import kvm_host
import schema_check
import strays
from machines import SharedMachine

pytest_plugins = ["engines.fixtures", "python_package"]
ROOT = Path(__file__).resolve().parent.parent.parent
# The stand-ins of tests of ports/, for the tests here that compare them with the other backends.
sys.path += map(str, sorted(ROOT.glob("ports/*/tests")))
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
BIN = BUILD / "bin"
# The backend of the tests' machines. `make soak TESTS=parity` runs with another one the tests that hold for all
# backends.
DEFAULT_BACKEND = "qemu"
BACKEND = os.environ.get("BACKEND", DEFAULT_BACKEND)
# The supervisor of Macs, with a stand-in as a part of the program.
APPLEVF = BUILD / "standin" / "bin" / "microagent-applevf-supervisor"
# A developer who has the real Firecracker names it here. Then `make test BACKEND=firecracker ACCEL=kvm` runs with it.
REAL_FIRECRACKER = os.environ.get("MICROAGENT_TEST_FIRECRACKER")
BACKEND_ENV = {"firecracker": {"MICROAGENT_FIRECRACKER": REAL_FIRECRACKER
                               or str(ROOT / "tests" / "standin" / "firecracker" / "firecracker")},
               "apple-vf": {"MICROAGENT_APPLE_VF_SUPERVISOR": str(APPLEVF)}}
# The worker that runs these tests: pytest-xdist runs several at once.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
OWN = BUILD / "e2e" / WORKER  # for programs that tests compile
# A folder that tests/run.py gives when it runs the whole suite. Facts that must be known of all workers go there.
TOLD = os.environ.get("MICROAGENT_TEST_WHOLE_SUITE")
# Some tests preload a library of their own. Some tests look at memory, which must not contain memory that was freed.
SANITIZER = "verify_asan_link_order=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
# Under TCG on a busy machine with two cores a boot takes seconds. This limit only bounds a hang.
HANG_S = 300


def require_accelerator(wanted):
    """`make test ACCEL=kvm`: machines whose test names no accelerator get KVM. If that is not possible, no test begins."""
    if wanted == "tcg":
        os.environ["MICROAGENT_TEST_KVM"] = "/nonexistent"
    told = subprocess.run([BIN / "microagent-qemu-supervisor"], input=b'{"command":"host"}', capture_output=True, check=False)
    facts = json.loads(told.stdout)["host"]
    if facts["accelerator"] != wanted:
        pytest.exit(f"ACCEL={wanted}: machines run under {facts['accelerator']} here: {facts['acceleratorReason']}", 1)


def pytest_configure(config):
    if os.environ.get("ACCEL"):
        require_accelerator(os.environ["ACCEL"])
    # Tests that run in the background inherit these signals as ignored, and so would every program of ours.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    config.addinivalue_line("markers", "whole_suite: looks back at all other tests, and runs last")
    config.addinivalue_line("markers", "alone: wants the machine to itself, and runs when the workers are done")
    config.addinivalue_line("markers", "soak: takes more than two minutes; `make soak` runs it")
    OWN.mkdir(parents=True, exist_ok=True)
    if TOLD:
        schema_check.seen.update(schema_check.remembered(TOLD))


def pytest_sessionfinish():
    if TOLD:
        schema_check.tell(Path(TOLD) / f"{WORKER}.seen")


def waits_for(item):
    """Returns the images and kernels that the test needs and that are built in the background on a new machine."""
    named = {str(value) for value in item.callspec.params.values()} if hasattr(item, "callspec") else set()
    return {need for need in os.environ.get("MICROAGENT_TEST_LATE", "").split()
            if need in item.fixturenames or {need, need.removesuffix("_kernel")} & named}


# The files that take longest, for the first run of a tree.
LONGEST = ("test_parity", "test_firecracker_faults", "test_templates", "test_applevf", "test_devices", "test_library", "test_pool",
           "test_guest_bundle", "test_firecracker")


# Machines of these files are emulated, whatever accelerator the others have.
EMULATED = ("test_smp", "test_applevf*", "test_hyperv*", "test_standin_firecracker", "test_macos*", "test_parity",
            *(() if REAL_FIRECRACKER else ("test_firecracker*",)))


def pytest_collection_modifyitems(items):
    """In a run of the whole suite, which tests/run.py announces, the file that took longest in the last run comes
    first, so that no worker waits long for the others. Tests that wait for a builder come late, and the test that
    looks back at all tests comes last. In any other run that test does not run."""
    items[:] = [item for item in items if TOLD or not item.get_closest_marker("whole_suite")]
    if kvm_host.runs_named_kernel_alone():
        for item in items:
            if any(item.path.match(f"{name}.py") for name in EMULATED):
                item.add_marker(pytest.mark.skip(reason="its machines are emulated, and MICROAGENT_KVM_KERNEL runs under KVM alone"))
    times = BUILD / "e2e-times.json"
    known = json.loads(times.read_text()) if times.exists() else {name: len(LONGEST) - place for place, name in enumerate(LONGEST)}
    took = known if TOLD else {}
    late = {item.path for item in items if waits_for(item)}
    for item in items:
        if item.get_closest_marker("soak") or waits_for(item):
            item.add_marker(pytest.mark.timeout(3600))
    items.sort(key=lambda item: (bool(item.get_closest_marker("whole_suite")), item.path in late,
                                 -took.get(item.path.stem, 0)))


def pid_lines(text):
    """Returns the processes whose command line or title contains text: {pid: command line}."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            line = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            status = Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if text in line and status != "Z":
            found[int(entry)] = line
    return found


def wait_until(condition, what, seconds=HANG_S):
    """Waits for a condition that offers no event to a test (a process list, a file)."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"still waiting for: {what}{kvm_host.or_stalled()}"
        time.sleep(0.05)


def held(host, name="w"):
    """Waits until the lease is free, since a process that is being killed loses its name before its descriptors."""
    try:
        os.close(os.open(host.state / name / "lease", os.O_WRONLY | os.O_NONBLOCK))
        return True
    except OSError as nobody:
        if nobody.errno != errno.ENXIO:
            raise
        return False


def ended(host, name="w"):
    """Returns the latest event of a workspace when nothing of it lives."""
    wait_until(lambda: not held(host, name), "the lease to be free")
    return host.json("status", name)["event"]


MAKERS = (["run"], ["create"], ["session", "create"], ["base", "create"], ["pool", "set"], ["host"], ["doctor"])


def own_words(words, backend):
    """Returns the words of `microagent` with those that every test needs. Machines whose test names no network have
    none, since a network needs two more processes."""
    at = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    maker = next((maker for maker in MAKERS if words[at:at + len(maker)] == maker), None)
    if not maker:
        return words
    end, own = at + len(maker), []
    named = any(w in ("--network", "-p", "--publish", "--allow") or w.startswith("--network=") for w in words)
    if maker in (["run"], ["create"]) and not named:
        own += ["--network", "isolated"]
    # Nothing is booted for a base that is a copy of an image and is refused then.
    if backend != DEFAULT_BACKEND and "--backend" not in words and (maker != ["base", "create"] or {"--provision", "--size"} & set(words)):
        own += ["--backend", backend]
    return words[:end] + own + words[end:]


class Child(subprocess.Popen):
    """A process whose end nobody waits for without a limit."""

    def wait(self, timeout=HANG_S):
        return super().wait(timeout)

    def communicate(self, input=None, timeout=HANG_S):
        return super().communicate(input, timeout)


class Host:
    """One state directory and the programs that act on it."""

    def __init__(self, base, backend=BACKEND):
        self.wrap = []  # words before each command, which say where it runs
        self.backend = backend
        self.bin = BIN
        self.base = Path(base)
        self.state = self.base / "state"
        self.tmp = self.base / "tmp"
        self.tmp.mkdir()
        self.env = dict(os.environ, MICROAGENT_STATE_DIR=str(self.state), TMPDIR=str(self.tmp),
                        XDG_STATE_HOME=str(OWN / "state-home"), NO_COLOR="1",
                        MICROAGENT_TEST_LIMIT_POOL_ANSWER_MS="20000")  # on a busy machine healthy programs are slow
        self.env.update(BACKEND_ENV.get(backend, {}))
        if os.environ.get("SANITIZE"):
            self.env["ASAN_OPTIONS"] = SANITIZER

    def popen(self, *words, program="microagent", env=None, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.PIPE)
        words = own_words(list(map(str, words)), self.backend) if program == "microagent" else map(str, words)
        return Child([*self.wrap, str(self.bin / program), *words], env={**self.env, **(env or {})}, **kw)

    def __call__(self, *words, input=None, check=None, timeout=HANG_S, text=True, **kw):
        """Runs `microagent WORDS`; check is the exit code that must come back."""
        child = self.popen(*words, stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
                           **kw)
        if isinstance(input, str):
            input = input.encode()
        try:
            out, err = child.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            raise AssertionError(f"{words} hung{kvm_host.or_stalled()}\n{out[-2000:]}\n{err[-2000:]}")
        if text:
            out, err = out.decode(errors="replace"), err.decode(errors="replace")
        done = subprocess.CompletedProcess(words, child.returncode, out, err)
        if check is not None:
            assert done.returncode == check, f"{words}: exit {done.returncode}\n{out[-2000:]}\n{err[-4000:]}"
        return done

    def json(self, *words, check=0, **kw):
        document = json.loads(self("--json", *words, check=check, **kw).stdout)
        schema_check.validate_cli([w for w in words if not str(w).startswith("-")], document)
        if words[0] == "status":
            schema_check.validate_workspace(self.state / words[1])
        return document

    @property
    def program(self):
        """Returns the supervisor of the host's backend."""
        return str(APPLEVF) if self.backend == "apple-vf" else f"microagent-{self.backend}-supervisor"

    def own(self, request):
        """Returns the bytes of a request, with its backend in it."""
        if request and (request.get("identity") or {}).get("backend") == DEFAULT_BACKEND:
            request = {**request, "identity": {**request["identity"], "backend": self.backend}}
        return json.dumps(request).encode()

    def without_vmm(self):
        """Returns an environment in which a start is admitted and fails at once."""
        if self.backend == "apple-vf":
            (self.base / "no-vmm").write_text('{"faults": {"start": {"message": "There is none."}}}')
            return {"MICROAGENT_STANDIN_VZ": str(self.base / "no-vmm")}
        variable = f"MICROAGENT_{self.backend.upper()}"
        program = self.base / "no-vmm"
        if not program.exists():  # prints its version, if it has one
            program.write_text(f'#!/bin/sh\ntest "$1" = --version && exec {self.env.get(variable, "false")} "$1"\nexit 1\n')
            program.chmod(0o755)
        return {variable: str(program)}

    def support(self):
        """Returns what `contract` says about the host's backend."""
        return self.json("contract")["backendSupport"][self.backend]

    def supervisor(self, request, env=None, raw=None, timeout=HANG_S, args=()):
        """Sends one request to the supervisor of this host's backend, which is named in it. Returns (exit code, answer, stderr)."""
        data = raw if raw is not None else self.own(request)
        done = subprocess.run([*self.wrap, str(self.bin / self.program), *args], input=data,
                              capture_output=True, env={**self.env, **(env or {})}, timeout=timeout,
                              check=False)
        assert done.stdout.endswith(b"\n") and done.stdout.count(b"\n}") <= 1, done.stdout
        answer = json.loads(done.stdout)
        assert answer["ok"] == (done.returncode == 0), (done.returncode, answer)
        if answer["ok"] and request:
            schema_check.validate("request", request)
        schema_check.validate_response((request or {}).get("command"), answer) \
            if answer["ok"] else schema_check.validate("response", answer, "failure")
        return done.returncode, answer, done.stderr.decode(errors="replace")

    def config(self, **changes):
        """Returns the full config of a plain workspace: default kernel, and a copy of busybox. None leaves a field out."""
        kernel = default_kernel(self)
        self.state.mkdir(mode=0o700, exist_ok=True)
        whole = {"kernelPath": kernel["path"], "rootfsPath": str(self.disk()),
                 "stateDir": str(self.state), "memoryMiB": 256, "cpuCount": 1,
                 "network": {"mode": "isolated"}, **changes}
        return {key: value for key, value in whole.items() if value is not None}

    def disk(self, name="root.ext4"):
        path = self.base / name
        if not path.exists():
            copy_disk(image(self, "busybox")["path"], path)
            path.chmod(0o600)
        return path

    def processes(self):
        return pid_lines(str(self.state))

    def machines(self):
        """Returns the names of its sessions, workspaces and pools, in any state."""
        names = {path.name for path in self.state.iterdir()} if self.state.exists() else set()
        names -= {"bases", "sessions", "pool", "archive", "logs", ".locks", ".microagent-state"}
        return names | {str(path.relative_to(self.state)) for part in ("sessions/*.bundle", "pool/*") for path in self.state.glob(part)}

    def clear(self, name):
        """Ends what machines() names and removes it, as far as possible."""
        kind, _, own = name.rpartition("/")
        if kind == "pool":
            self("pool", "drain", "--base", own)
        elif kind:
            self("session", "destroy", own.removesuffix(".bundle"))
        else:
            self("kill", name)
            self("delete", name)

    def left(self):
        """Returns the files in the state directory that should have been deleted. Logs and archives stay."""
        for part in self.state.iterdir():
            if part.name in ("bases", "sessions", "pool"):
                yield from (p.relative_to(self.state) for p in part.iterdir() if p.name not in (".locks", ".microagent-state"))
            elif part.name not in (".locks", ".microagent-state", "archive", "logs"):
                yield part.name
        # Returns what was half made or half removed. The next command sweeps an empty place of it.
        for place in self.state.glob("**/.locks/.[gmp]*"):
            yield from (p.relative_to(self.state) for p in place.iterdir())
        yield from (p.relative_to(self.state) for p in self.state.glob("archive/.*"))

    def assert_clean(self, seconds=60):
        """Requires that no process, socket, mount or stray file of this place is left. A process that was told to end
        gets seconds to do it. Things that others leave are not counted."""
        problems = strays.processes(self.base, seconds) + strays.mounts(self.base)
        if self.state.exists():
            problems += [f"left in the state directory: {p}" for p in self.left()] + strays.sockets(self.state)
        problems += [f"temporary file {p}" for p in self.tmp.iterdir()]
        assert not problems, "left behind:\n" + "\n".join(problems)

    def sweep(self):
        """Ends everything that the test left; only for the end of a test."""
        for sealed in self.base.glob("**/*.bundle"):
            subprocess.run(["chattr", "-R", "-i", sealed], check=False, stderr=subprocess.DEVNULL)
        for pid in strays.running(self.base):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def copy_disk(source, target):
    """Copies a file that is nearly all holes, which shutil.copy() would write as zeros."""
    subprocess.run(["cp", "--sparse=always", source, target], check=True)


def cache_dir(host):
    """Returns the cache of the host's commands."""
    return Path(host.env.get("MICROAGENT_CACHE_DIR") or Path(host.env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "microagent")


_cache = {}


def default_kernel(host):
    if "kernel" not in _cache:
        _cache["kernel"] = host.json("kernel", "list")["kernels"][0]
    return _cache["kernel"]


def image(host, name):
    if name not in _cache:
        _cache[name] = next(i for i in host.json("image", "list")["images"] if i["name"] == name)
    return _cache[name]


def make_host(path, backend=BACKEND):
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o755)
    return Host(path, backend)


# Places that outlive a test: with_base().
lasting = []


def with_base(it, *words):
    """The host with a base called web, for all tests of a file. At the end nothing else may be left of it."""
    try:
        it("base", "create", "web", *words, check=0)
        lasting.append(it)
        yield it
        lasting.remove(it)
        it("base", "delete", "web-v1", check=0)
        it.assert_clean()
    finally:
        if it in lasting:
            lasting.remove(it)
        it.sweep()
        shutil.rmtree(it.base, ignore_errors=True)


@pytest.fixture(autouse=True)
def what_failed_is_cleared(request):
    """After a failed test the next ones find nothing in the place that outlives it: no machine, and no change of how commands run."""
    failed, found = request.session.testsfailed, [(it, it.machines(), it.wrap, dict(it.env)) for it in lasting]
    yield
    if request.session.testsfailed == failed:
        return
    for it, machines, wrap, env in found:
        it.wrap, it.env = wrap, env
        for name in it.machines() - machines:
            it.clear(name)


@pytest.fixture(scope="module")
def place():
    yield from with_base(make_host(Path(tempfile.mkdtemp(prefix="e-"))))


@pytest.fixture
def web(place):
    """The same with a warm base. No session of it is left behind."""
    if not (place.state / "bases" / "web-v1.bundle" / "template").exists():
        place("base", "warm", "web", check=0)
    yield place
    place("session", "destroy", "--all", check=0)


@pytest.fixture
def backend():
    """The backend of a test's machines; test_parity.py has another one."""
    return BACKEND


@pytest.fixture
def host(request, backend):
    """A fresh state directory. At the end nothing of it may be left except what was deleted. After a failed test
    something may be left, and is ended."""
    base = Path(tempfile.mkdtemp(prefix="e-"))
    it = make_host(base, backend)
    failed = request.session.testsfailed
    try:
        yield it
        if request.session.testsfailed == failed:
            it.assert_clean()
    finally:
        it.sweep()
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def own_temporary_files(tmp_path_factory):
    """Everything that a worker's tests make is below one directory. At the end neither the directory nor a process is left."""
    tmp_path_factory.getbasetemp()  # pytest's own directory is elsewhere, and stays
    # The name is short, since sockets are reached by their paths.
    place = Path(tempfile.gettempdir()) / WORKER if TOLD else Path(tempfile.mkdtemp(prefix="ma-"))
    place.mkdir(exist_ok=True)
    place.chmod(0o755)
    before, os.environ["TMPDIR"], tempfile.tempdir = os.environ.get("TMPDIR"), str(place), str(place)
    yield
    os.environ["TMPDIR"], tempfile.tempdir = before or "/tmp", before
    problems = strays.processes(place) + strays.mounts(place)
    problems += [f"temporary file {p}" for p in place.iterdir()]
    if not problems:
        shutil.rmtree(place, ignore_errors=True)
    assert not problems, "left behind by some test of this worker:\n" + "\n".join(problems)


def shared_machine(*words, backend=BACKEND):
    machine = SharedMachine(lambda: make_host(Path(tempfile.mkdtemp(prefix="e-")), backend), *words)
    yield machine
    machine.end()


def lent(machine, request):
    failed = request.session.testsfailed
    yield machine.take()
    machine.give_back(request.node.name, request.session.testsfailed == failed)


@pytest.fixture(scope="session")
def shared_vm(own_temporary_files):  # a test looks at it when the machine has ended
    yield from shared_machine("--memory", 256, "--cpus", 1)


@pytest.fixture(scope="session")
def shared_debian(own_temporary_files, debian_image):
    yield from shared_machine("--image", debian_image, "--memory", 512, "--cpus", 1)


@pytest.fixture(scope="module")
def vm(shared_vm, request):
    """A running workspace `vm` for tests that only talk to it: the one that earlier files have left as they found it,
    or a new one."""
    yield from lent(shared_vm, request)


@pytest.fixture(scope="module")
def debian_vm(shared_debian, request):
    """The same with the programs of debian."""
    yield from lent(shared_debian, request)


def skip_without_own_kernels(name):
    if kvm_host.runs_named_kernel_alone():
        pytest.skip(f"takes {name} kernel, and the KVM here runs that of MICROAGENT_KVM_KERNEL alone")


@pytest.fixture
def kernel_by_path():
    """For tests in which a kernel that is given by its path boots."""
    if kvm_host.runs_named_kernel_alone() and kvm_host.PARAVIRTUAL.exists():
        pytest.skip("takes a kernel by its path; it is emulated, since only one that is installed can be said to be built for this KVM, "
                    "and the kernel of MICROAGENT_KVM_KERNEL runs under KVM alone")


def skip_vmm_outside_of_a_cell():
    if os.environ.get("ACCEL") == "kvm" and os.environ.get("MICROAGENT_TEST_KVM"):
        pytest.skip("has a VMM without a cell, which opens /dev/kvm, and the tests have a node of their own in its place")


@pytest.fixture
def two_processors():
    """For tests whose guest has two processors, which it has by default."""
    if kvm_host.runs_named_kernel_alone():
        pytest.skip("takes two processors in the guest, and the kernel of MICROAGENT_KVM_KERNEL may have one")


@pytest.fixture(scope="session")
def tuned_kernel():
    """Waits for the builder that runs in the background, or builds."""
    skip_without_own_kernels("the tuned")
    done = subprocess.run([str(BIN / "microagent"), "--json", "kernel", "build"],
                          capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = json.loads(subprocess.run([str(BIN / "microagent"), "--json", "kernel", "list"],
                                       capture_output=True, text=True, check=True).stdout)
    return next(k for k in listed["kernels"] if k["name"].startswith("tuned"))


@pytest.fixture(scope="session")
def debian_kernel():
    skip_without_own_kernels("Debian's")
    subprocess.run([str(BIN / "microagent"), "kernel", "install"], capture_output=True, check=True, timeout=600)
    listed = json.loads(subprocess.run([str(BIN / "microagent"), "--json", "kernel", "list"],
                                       capture_output=True, text=True, check=True).stdout)
    return next(k for k in listed["kernels"] if k["name"].startswith("debian"))


@pytest.fixture(scope="session")
def debian_image():
    done = subprocess.run([str(BIN / "microagent"), "--json", "image", "build", "debian"],
                          capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr
    return "debian"
