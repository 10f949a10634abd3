# SPDX-License-Identifier: MIT
"""Stages: microagent-oci, whose containers are machines, compared with runc: by containerd, by their own command lines
on the same bundles, and in a running pod; its memory; and files of a container's root compared with the same files
on the host."""

import contextlib
import ctypes
import functools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import containers
from harness import BIN, ROOT, ROUNDS, Cli, private_mib, timed
from table import other, record, skip

sys.path.append(str(ROOT / "tests/e2e"))
import bundles

NEEDED = ("containerd", "ctr", "runc", "busybox")
PR_SET_CHILD_SUBREAPER = 36
KIND, SANDBOX = "io.kubernetes.cri.container-type", "io.kubernetes.cri.sandbox-id"
WAITING = ("sleep", "100000")
TURNS = min(5, ROUNDS)  # for whole trees


class Runtime:
    """One of the two runtimes, by its command line. Its containers end with the stage."""

    def __init__(self, base, name, *words):
        self.base, self.name = base, name
        self.words = [*map(str, words), "--root", str(base / name)]
        self.pid_file = base / f"{name}.pid"
        self.made = []

    def __call__(self, *words):
        """Runs a command as an engine does. A container inherits these streams, so a pipe would stay open with the container."""
        with open(self.base / f"{self.name}.err", "w+b") as told:
            done = subprocess.run([*self.words, *map(str, words)], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=told)
            if done.returncode:
                told.seek(0)
                raise SystemExit(f"{self.name} {words}: exit {done.returncode}\n{told.read().decode()}")

    def create(self, bundle, name):
        """Returns the container's pid."""
        self.made.append(name)
        self("create", "--bundle", bundle, "--pid-file", self.pid_file, name)
        return int(self.pid_file.read_text())

    def started(self, bundle, name):
        pid = self.create(bundle, name)
        self("start", name)
        return pid

    def end(self, name, pid):
        self("kill", name, "KILL")
        await_end(pid)

    def close(self):
        for name in reversed(self.made):
            subprocess.run([*self.words, "delete", "--force", name], check=False, capture_output=True)


def await_end(pid):
    os.waitpid(pid, 0)


def set_subreaper(on):
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, on, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


@contextlib.contextmanager
def both(base):
    """Returns (ours, runc, a function that makes bundles) in one folder. As engines do, this process adopts the
    children of `create` and waits for them, since a delete waits for that."""
    set_subreaper(1)
    maker = bundles.Runtime(Path(tempfile.mkdtemp(prefix="oci-", dir=base)))
    ours, runc = Runtime(maker.base, "ours", BIN / "microagent-oci"), Runtime(maker.base, "runc", "runc")
    try:
        yield ours, runc, maker
    finally:
        ours.close()
        runc.close()
        maker.close(False)
        set_subreaper(0)


def names():
    return f"bench-{os.getpid()}"  # runc uses this name for a cgroup of the host


# ---- by an engine -----------------------------------------------------------------------------------


def measure_engine(cli):
    """Measures whole commands of ctr, with a machine for each, and beside them the boot of a machine of the same size."""
    took = {"ours": [], "runc": [], "boot": []}
    with containers.ctr(cli.base) as ctr:
        ours = ("--runc-binary", BIN / "microagent-oci", "--runc-root", cli.base / "oci")
        ctr(*ours)  # fills caches
        cli("create", "b", "--memory", 512, "--cpus", 1, "--network", "isolated")

        def boot():
            cli("start", "b")
            cli("exec", "b", "--", "true")
        for _ in range(ROUNDS):
            took["ours"].append(timed(ctr, *ours) / 1e3)
            took["runc"].append(timed(ctr) / 1e3)
            took["boot"].append(timed(boot) / 1e3)
            cli("kill", "b")
    name = "`ctr run --rm` of true by microagent-oci"
    record(f"{name}, cold", took["ours"], "s", "our cold boot (`start`, `exec`)", took["boot"], "<= +0.35 s")
    record(f"{name}, beside runc", took["ours"], "s", "the same by runc", took["runc"])


# ---- by its commands --------------------------------------------------------------------------------


def processes_below(*roots):
    """Returns these processes and all that they began: {pid: program}."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            parents[int(entry)] = int(Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[1])
    found = list(roots)
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return {pid: program(pid) for pid in found}


def program(pid):
    words = Path("/proc", str(pid), "cmdline").read_bytes().decode().split("\0")
    if words[0].startswith("microagent"):  # the title is "microagent-qemu-supervisor: live PLACE"
        return " ".join(words[0].split()[:2])
    return Path(words[0]).name


def footprint(root, name, into):
    """Returns the private MiB of each process of a container that has a machine."""
    state = json.loads((root / name / "state.json").read_text())
    sizes = {"stand-in": private_mib(state["pid"]), "machine": 0, "vmm": 0}
    parts = {}
    for pid, title in processes_below(state["keeperPid"]).items():
        vmm = title.startswith("qemu")
        sizes["vmm" if vmm else "machine"] += private_mib(pid)
        parts.setdefault(title, []).append(round(private_mib(pid), 3))
    for kind, size in sizes.items():
        into.setdefault(kind, []).append(size)
    other.setdefault("private MiB of each process of a container's machine", []).append({**parts, "stand-in": sizes["stand-in"]})


def measure_commands(ours, runc, maker):
    """Runs a container in each turn; its `create` makes the machine."""
    bundle, name, sizes = maker.bundle(*WAITING), names(), {}
    steps = ("create", "start", "delete")
    took = {runtime: {step: [] for step in steps} for runtime in (ours, runc)}
    for _ in range(ROUNDS):
        for runtime, samples in took.items():
            samples["create"].append(timed(runtime.create, bundle, name))
            samples["start"].append(timed(runtime, "start", name))
            if runtime is ours:
                footprint(maker.base / "ours", name, sizes)
            runtime.end(name, int(runtime.pid_file.read_text()))
            samples["delete"].append(timed(runtime, "delete", name))
    words = {"create": "`microagent-oci create`, its machine booted", "start": "`start` of it", "delete": "`delete` of it, just killed"}
    for step in steps:
        record(words[step], took[ours][step], "ms", f"`runc {step}`", took[runc][step])
    record("private memory of our own processes of a container's machine", sizes["machine"], "MiB", "its VMM", sizes["vmm"], "<= 3 MiB")
    record("private memory of a container's own process (stand-in)", sizes["stand-in"], "MiB", "its machine's VMM", sizes["vmm"], "<= 1 MiB")


# ---- in a pod ---------------------------------------------------------------------------------------


def pod_changes(kind, pid=None):
    """Returns the annotations that containerd's CRI part gives to the containers of a pod."""
    spaces = [{"type": "mount"}, {"type": "pid"}] + [
        {"type": kind, **({"path": f"/proc/{pid}/ns/{file}"} if pid else {})} for kind, file in (("ipc", "ipc"), ("uts", "uts"), ("network", "net"))]
    return {"annotations": {KIND: kind, SANDBOX: f"{names()}-pod"}, "linux": {**bundles.config()["linux"], "namespaces": spaces}}


def whole(runtime, bundle, took):
    """Runs a container of `true` as engines make one, and says where its time goes."""
    name = f"{names()}-one"
    pids = []
    took["create"].append(timed(lambda: pids.append(runtime.create(bundle, name))))
    took["start"].append(timed(runtime, "start", name))
    took["its end"].append(timed(await_end, pids[0]))
    took["delete"].append(timed(runtime, "delete", name))
    took["whole"].append(sum(samples[-1] for step, samples in took.items() if step != "whole"))


def measure_pod(ours, runc, maker):
    pod = ours.started(maker.bundle(*WAITING, **pod_changes("sandbox")), f"{names()}-pod")
    runc.started(maker.bundle(*WAITING), f"{names()}-pod")
    inside = maker.bundle("true", **pod_changes("container", pod), hostname=None)
    alone = maker.bundle("true")
    steps = ("create", "start", "its end", "delete", "whole")
    took, execs, runs = {runtime: {step: [] for step in steps} for runtime in (ours, runc)}, {ours: [], runc: []}, []
    for turn in range(ROUNDS + 1):
        for runtime, bundle in ((ours, inside), (runc, alone)):
            execs[runtime].append(timed(runtime, "exec", f"{names()}-pod", "true"))
            whole(runtime, bundle, took[runtime])
        runs.append(timed(runc, "run", "--bundle", alone, f"{names()}-run"))
        if not turn:  # fills caches
            for samples in (runs, *execs.values(), *(one for each in took.values() for one in each.values())):
                samples.clear()
    record("`microagent-oci exec` of true in a running container", execs[ours], "ms", "`runc exec`", execs[runc], "<= 1.5x")
    record("second container of a pod, `true`, from create to deleted", took[ours]["whole"], "ms", "`runc run` of the same", runs, "<= 1.2x")
    for step in ("create", "start", "delete"):
        record(f"of that `{step}`", took[ours][step], "ms", f"`runc {step}`", took[runc][step])


@contextlib.contextmanager
def peers(stage):
    """Returns a runtime with a folder, or None if there is no runc."""
    why = containers.lacking(*NEEDED)
    if why:
        skip(stage, why)
        yield None
        return
    with Cli() as cli:
        yield cli


def bench_oci():
    with peers("microagent-oci beside runc") as cli:
        if cli:
            measure_engine(cli)
            with both(cli.base) as parties:
                measure_pod(*parties)


def bench_ocimachine():
    with peers("containers that have a machine") as cli:
        if cli:
            with both(cli.base) as parties:
                measure_commands(*parties)


# ---- files ------------------------------------------------------------------------------------------

COUNT, BYTES = 1200, 20 << 20
FILES = {  # $1: a tree that nothing in the guest has read yet
    f"find in {COUNT:,} files of {BYTES >> 20} MiB": "busybox find $1 > /dev/null",
    "read all of them": "busybox find $1 -type f -exec busybox cat {} + > /dev/null",
    "create 300 files": "i=0; while test $i -lt 300; do : > $1/new$i; i=$((i + 1)); done",
    "write 32 MiB": "busybox dd if=/dev/zero of=$1/large bs=1M count=32 2> /dev/null",
    "change 300 of the files": f"i=0; while test $i -lt 300; do echo x >> $1/$((i % {COUNT // 20}))/$((i / {COUNT // 20})); i=$((i + 1)); done",
    "remove all": "busybox rm -r $1",
}


def make_files(path):
    source = random.Random(1)
    for folder in range(COUNT // 20):
        (path / str(folder)).mkdir(parents=True)
        for i in range(20):
            (path / str(folder) / str(i)).write_bytes(source.randbytes(BYTES // COUNT))


def bench_ocifiles():
    """Runs commands in two containers of a machine, one with a root that virtiofs writes and one with an overlay, and
    on the host. The time of an empty command is subtracted. The trees exist before the containers, since the files
    below an overlay do not change."""
    why = containers.lacking("busybox")
    if why:
        skip("files of a container", why)
        return
    with Cli() as cli, both(cli.base) as (ours, _, maker):
        plain, name = maker.bundle(*WAITING, **pod_changes("sandbox")), f"{names()}-pod"
        for turn in range(TURNS):
            for kind in ("virtiofs", "native"):
                make_files(plain / "rootfs" / f"{kind}{turn}")
        changes = pod_changes("container", ours.started(plain, name))
        changes["annotations"]["io.microagent.rootfs"] = "overlay"
        laid = maker.bundle(*WAITING, **changes, hostname=None)
        for turn in range(TURNS):
            make_files(laid / "rootfs" / f"overlay{turn}")
        ours.started(laid, f"{name}-overlay")

        def native(*words):
            subprocess.run(["busybox", *words], check=True, cwd=plain / "rootfs", stdin=subprocess.DEVNULL)
        runs = {"virtiofs": functools.partial(ours, "exec", name), "overlay": functools.partial(ours, "exec", f"{name}-overlay"), "native": native}
        nothing = {kind: statistics.median(timed(run, "sh", "-c", ":") for _ in range(5)) for kind, run in runs.items()}
        took = {what: {kind: [] for kind in runs} for what in FILES}
        for turn in range(TURNS):
            for kind, run in runs.items():
                for what, script in FILES.items():
                    took[what][kind].append(timed(run, "sh", "-c", script, "sh", f"{kind}{turn}") - nothing[kind])
    for what, samples in took.items():
        record(f"{what} in a container", samples["virtiofs"], "ms", "on the host", samples["native"])
        record(f"{what}, its root an overlay", samples["overlay"], "ms", "on the host", samples["native"])
