# SPDX-License-Identifier: MIT
"""What every stage uses: the programs, a state directory of which nothing is left, and a bare QEMU to compare with."""

import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
BIN = BUILD / "bin"
OUT = BUILD / "bench"
HANG_S = 120  # bounds a hang on a busy machine; no stage measures it

# (the value in this run, the default value) by the name in the environment. Smaller values show that everything works.
USUAL = {"ROUNDS": 20, "COPY_MIB": 16, "BULK_MIB": 64, "SESSIONS": 1000, "BASE_GB": 60, "FILES": 10000}
SETTINGS = {name: (int(os.environ.get(name, usual)), usual) for name, usual in USUAL.items()}
ROUNDS, COPY_MIB, BULK_MIB, THOUSAND, BASE_GB, FILES = (value for value, _ in SETTINGS.values())

class Cli:
    """Runs the command line on a state directory of its own. Nothing of it is left, whatever happens."""

    def __init__(self, where=None):
        self.base = Path(tempfile.mkdtemp(prefix="microagent-bench-", dir=where))
        self.env = dict(os.environ, MICROAGENT_STATE_DIR=str(self.base / "state"))

    def __call__(self, *words, **kw):
        done = subprocess.run([BIN / "microagent", *map(str, words)], env=self.env, check=False,
                              capture_output=True, **kw)
        if done.returncode:
            raise SystemExit(f"microagent {words}: exit {done.returncode}\n{done.stderr.decode()}")
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        state = self.base / "state"
        names = [p.name for p in state.iterdir() if p.name != ".locks"] if state.exists() else []
        for name in names:
            for verb in ("kill", "delete"):
                subprocess.run([BIN / "microagent", verb, name], env=self.env, check=False,
                               capture_output=True)
        shutil.rmtree(self.base, ignore_errors=True)


@contextlib.contextmanager
def running(words, **kw):
    """Starts a process that ends with the stage, however the stage ends."""
    child = subprocess.Popen(words, **kw)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def wait_for(condition, what, seconds=HANG_S):
    """Waits for something that another process makes without telling anybody."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"still waiting for {what}")
        time.sleep(0.01)


def kernel():
    listed = json.loads(subprocess.run([BIN / "microagent", "--json", "kernel", "list"],
                                       capture_output=True, check=True).stdout)
    return listed["kernels"][0]


def lacking(cli, *wanted):
    support = json.loads(cli("--json", "contract"))["backendSupport"]["qemu"]
    return sorted(set(wanted) - set(support["commands"] + support["networks"] + support["features"]))


def guest_program():
    OUT.mkdir(parents=True, exist_ok=True)
    program = OUT / "guest_bench"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-static", "-o", program,
                    ROOT / "tests/bench/guest_bench.c"], check=True)
    return program


def bare_initrd(with_modules=False):
    tree = OUT / "initrd"
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "dev").mkdir(parents=True)
    shutil.copy(guest_program(), tree / "init")
    # PID 1 of an initramfs has no standard streams without this node.
    os.mknod(tree / "dev/console", 0o600 | 0o020000, os.makedev(5, 1))
    target = OUT / "bench.initrd"
    modules = Path(kernel()["path"] + ".modules")
    with open(target, "wb") as out:
        if with_modules and modules.exists():
            out.write(modules.read_bytes())
            out.flush()
        names = subprocess.run(["find", "."], cwd=tree, capture_output=True, check=True).stdout
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, input=names, stdout=out, check=True)
    return target


def our_qemu_words(cli, name):
    """Returns the command line of the running workspace's QEMU."""
    facts = json.loads((cli.base / "state" / name / "runtime.json").read_text())
    return Path("/proc", str(facts["pid"]), "cmdline").read_bytes().decode().split("\0")[:-1]


def bare_words(ours, initrd):
    """Returns a command line with the same machine, processor, memory and kernel command line, and only a console."""
    def after(option):
        return ours[ours.index(option) + 1]
    machine = after("-machine" if "-machine" in ours else "-M")
    machine = re.sub(r",memory-backend=[^,]*", "", machine)
    words = ["qemu-system-x86_64", "-machine", machine, "-accel", after("-accel"), "-cpu", after("-cpu"),
             "-smp", after("-smp"), "-m", re.sub(r"^size=", "", after("-m")), "-nodefaults", "-no-user-config",
             "-display", "none", "-no-reboot", "-kernel", kernel()["path"], "-initrd", str(initrd),
             "-append", after("-append"), "-serial", "stdio"]
    return words


def until(stream, word):
    seen, end = b"", time.monotonic() + HANG_S
    while word not in seen:
        if not select.select([stream], [], [], max(0, end - time.monotonic()))[0]:
            raise SystemExit(f"no {word} from QEMU: {seen[-500:]}")
        chunk = os.read(stream.fileno(), 4096)
        if not chunk:
            raise SystemExit(f"QEMU ended before {word}: {seen[-500:]}")
        seen += chunk


def timed(fn, *words):
    began = time.perf_counter()
    fn(*words)
    return (time.perf_counter() - began) * 1e3


def pss_kib(pid):
    return int(re.search(r"^Pss:\s+(\d+)", Path("/proc", str(pid), "smaps_rollup").read_text(), re.M).group(1))


def private_mib(pid):
    """Returns the memory that the host would get back if the process ended."""
    lines = re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+)", Path("/proc", str(pid), "smaps_rollup").read_text(), re.M)
    return sum(map(int, lines)) / 1024
