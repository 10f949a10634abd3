# SPDX-License-Identifier: MIT
"""Stages: how long machines and one-shot commands take to start, and what a machine costs."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time

import containers
from harness import (BIN, OUT, ROOT, ROUNDS, Cli, bare_initrd, bare_words, kernel, lacking, our_qemu_words, private_mib, running,
                     timed, until)
from table import other, record, skip

sys.path.append(str(ROOT / "tests/e2e"))
import smp


def bench_boot():
    ours, bare, timings = [], [], []
    initrd = bare_initrd()
    with Cli() as cli:
        cli("create", "b", "--memory", 256, "--cpus", 1)
        cli("start", "b")
        words = bare_words(our_qemu_words(cli, "b"), initrd)
        cli("kill", "b")
        for _ in range(ROUNDS):
            began = time.monotonic()
            with running(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL) as qemu:
                until(qemu.stdout, b"BENCH-INIT")
                bare.append(time.monotonic() - began)
            began = time.monotonic()
            cli("start", "b")
            cli("exec", "b", "--", "true")
            ours.append(time.monotonic() - began)
            timings.append(json.loads((cli.base / "state/b/runtime.json").read_text()).get("timings"))
            cli("kill", "b")
    other["boot marks"] = timings
    record("cold boot to first exec (`start`, `exec`)", ours, "s", "bare QEMU, same machine and kernel, to init", bare, "<= 1.25x")


def bench_run():
    """Measures a machine for one command, and a container for it, as whole commands."""
    with Cli() as cli, contextlib.ExitStack() as stack:
        why = containers.lacking("containerd", "ctr", "runc", "busybox")
        if why:
            skip("`microagent run` of /bin/true, booted", why)
            return
        ctr, took = stack.enter_context(containers.ctr(cli.base)), {"ours": [], "ctr": []}
        for _ in range(ROUNDS):
            took["ours"].append(timed(cli, "run", "--memory", 256, "--", "/bin/true") / 1e3)
            took["ctr"].append(timed(ctr) / 1e3)
    record("`microagent run` of /bin/true, booted", took["ours"], "s", "`ctr run` of the same command", took["ctr"])


def bench_cpus():
    """Measures what a guest with two CPUs loses because one thread runs both in turn (command_line.c says why): short
    programs in two rows at once, less the boot. For comparison each CPU has a thread, if such a guest comes to an
    end."""
    words, initrd = [], smp.initrd(OUT)
    with Cli() as cli:
        cli("create", "b", "--memory", 256, "--cpus", 2, "--accelerator", "tcg")
        cli("start", "b")
        words = smp.machine(our_qemu_words(cli, "b"))
        cli("kill", "b")
    accel = words[words.index("-accel") + 1]
    took = {accel: [], accel.replace(",thread=single", ",thread=multi"): []}

    def run(*guest, accel):
        """Returns the seconds, and those of the processor. Returns None if the guest failed."""
        before, began = os.times(), time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            if "GUEST-DONE" in smp.boot(words, kernel()["path"], initrd, *guest, accel=accel):
                after = os.times()
                return (time.monotonic() - began, after.children_user + after.children_system
                        - before.children_user - before.children_system)
        return None

    for _ in range(ROUNDS):
        for accel, samples in took.items():
            boot, work = run(accel=accel), run("work", 100, accel=accel)
            if boot and work:
                samples.append((work[0] - boot[0], work[1] - boot[1]))
    (_, single), (_, multi) = took.items()
    record("two rows of programs on two CPUs", [s[0] for s in single], "s", "a thread for each CPU", [s[0] for s in multi])
    record("of that processor time", [s[1] for s in single], "s", "the same", [s[1] for s in multi])


def request(command, config, name="b", backend="qemu"):
    return json.dumps({"command": command, "config": config, "identity": {
        "requestID": "bench", "runtimeID": name, "role": "workload", "backend": backend}}).encode()


def ask(cli, command, config, name="b", backend="qemu"):
    """Runs one supervisor command as a whole process. Returns its seconds."""
    began = time.monotonic()
    done = subprocess.run([BIN / f"microagent-{backend}-supervisor"], env=cli.env, check=False,
                          input=request(command, config, name, backend), capture_output=True)
    took = time.monotonic() - began
    if done.returncode:
        raise SystemExit(f"{command}: {done.stdout.decode()}")
    return took


def plain_config(cli, **more):
    disk = cli.base / "root.ext4"
    if not disk.exists():
        image = json.loads(cli("--json", "image", "list"))["images"]
        path = next(i["path"] for i in image if i["name"] == "busybox")
        subprocess.run(["cp", "--sparse=always", path, disk], check=True)
        disk.chmod(0o600)
    return {"kernelPath": kernel()["path"], "rootfsPath": str(disk), "memoryMiB": 256, "cpuCount": 1,
            "stateDir": str(cli.base / "state"), "network": {"mode": "isolated"}, **more}


def bench_ready():
    """Compares start to readiness, with everything that the protocol can declare and with a plain machine."""
    with Cli() as cli, socket.create_server(("127.0.0.1", 0)) as target:
        missing = lacking(cli, "nat", "network.portForwards", "mediation")
        if missing:
            skip("start with nat, a port and mediation", f"the backend does not have {', '.join(missing)} yet")
            return
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        where = f"127.0.0.1:{target.getsockname()[1]}"
        configs = {"plain": plain_config(cli), "all": plain_config(
            cli, network={"mode": "nat", "portForwards": [{"hostPort": port, "guestPort": 80}]},
            mediation={"enabled": True, "required": True, "port": 2048, "target": where,
                       "failClosed": True})}
        took = {name: [] for name in configs}
        for _ in range(ROUNDS):
            for name, config in configs.items():
                ask(cli, "prepare", config)
                took[name].append(ask(cli, "start", config))
                ask(cli, "kill", {"stateDir": config["stateDir"]})
    record("start with nat, a port and mediation", took["all"], "s", "start of the plain machine", took["plain"], "<= 1.02x")


def bench_arm64():
    """Measures `start` of a machine of arm64 and of one of x86-64, both emulated, each with Debian's cloud kernel."""
    machines = {"arm64": ("--arch", "arm64"), "amd64": ("--arch", "amd64", "--accelerator", "tcg")}
    took = {name: [] for name in machines}
    with Cli() as cli:
        cli("kernel", "install", "--arch", "arm64")
        cli("image", "build", "busybox", "--arch", "arm64")
        for name, words in machines.items():
            cli("create", name, *words, "--kernel", "debian", "--network", "isolated", "--memory", 256, "--cpus", 1)
        for _ in range(ROUNDS):
            for name in machines:
                began = time.monotonic()
                cli("start", name)
                took[name].append(time.monotonic() - began)
                cli("kill", name)
    record("start to ready of arm64, Debian's kernel", took["arm64"], "s", "x86-64, the same under TCG", took["amd64"])


@contextlib.contextmanager
def created_container(base):
    """Returns a container that runc has created, for `runc state`. Returns None if this host has no runc."""
    why = containers.lacking("runc", "busybox")
    if why:
        skip("one-shot commands beside `runc state`", why)
        yield None
        return
    words, name = ["runc", "--root", str(base / "runc")], f"bench-{os.getpid()}"
    (base / "bundle/rootfs/bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), base / "bundle/rootfs/bin/sh")
    subprocess.run(["runc", "spec"], cwd=base / "bundle", check=True)
    spec = json.loads((base / "bundle/config.json").read_text())
    spec["process"]["terminal"] = False
    (base / "bundle/config.json").write_text(json.dumps(spec))
    with open(base / "log", "wb") as log:  # a pipe would stay open with the container
        subprocess.run([*words, "create", "--bundle", str(base / "bundle"), name], check=True, stdin=subprocess.DEVNULL,
                       stdout=log, stderr=log)
    try:
        yield [*words, "state", name]
    finally:
        subprocess.run([*words, "delete", "--force", name], check=False, capture_output=True)


def bench_oneshot():
    """Measures whole processes in turn, from fork to their end."""
    names = ("inspect", "check", "inspect of a running machine, with a round trip to its agent", "runc")
    took = {name: [] for name in names}
    with Cli() as cli, created_container(cli.base) as state:
        config = plain_config(cli)
        sparse = {"stateDir": config["stateDir"]}
        ask(cli, "prepare", config)
        cli("create", "running", "--memory", 256, "--cpus", 1)
        cli("start", "running")
        time.sleep(2.1)  # a file's digest is remembered once it is two seconds old
        for turn in range(ROUNDS * 5 + 1):
            samples = dict(zip(names, (ask(cli, "inspect", sparse), ask(cli, "check", config),
                                       ask(cli, "inspect", sparse, "running"))))
            if state:
                samples["runc"] = timed(lambda: subprocess.run(state, check=True, capture_output=True)) / 1e3
            for name, seconds in samples.items() if turn else ():  # the first one fills caches
                took[name].append(seconds * 1e3)
    for name in names[:3]:
        record(f"supervisor `{name.split()[0]}`{name[len(name.split()[0]):]}", took[name], "ms", "`runc state`" if took["runc"] else "",
               took["runc"], "-" if "running" in name else "<= 0.5x")


def bench_memory():
    """Measures machines one after the other, ours just after their first command. private: the memory that the host
    gets back at their end."""
    bare, initrd = [], bare_initrd()
    with Cli() as cli:
        cli("create", "b", "--memory", 256, "--cpus", 1)
        cli("start", "b")
        words = bare_words(our_qemu_words(cli, "b"), initrd)
        cli("kill", "b")
        told = json.loads(cli("--json", "perf", "footprint", "--count", ROUNDS))
    for _ in range(ROUNDS):
        with running(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as qemu:
            until(qemu.stdout, b"BENCH-INIT")
            bare.append(private_mib(qemu.pid))
    mine = {row["name"]: row["private"]["samples"] for row in told["rows"]}
    other["private MiB of each process"] = mine
    record("private memory of a booted session of 256 MiB, its VMM", mine["vmm"], "MiB", "bare QEMU at its init", bare)
    record("private memory of our own processes of it", mine["ours"], "MiB", "its VMM", mine["vmm"], "<= 3 MiB")


def bench_cell():
    """Measures a start whose VMM is /usr/bin/true, up to its refusal: the whole path of a start without QEMU and the
    guest. It runs with the cell, and without it if PATH has no bwrap and the machine may be without a cell."""
    small = ("--memory", 128, "--cpus", 1, "--network", "isolated")
    with Cli() as cli:
        cli.base.chmod(0o711)  # the VM has a user of its own
        bare = cli.base / "path"
        bare.mkdir()
        cli("create", "b", *small)
        cli("create", "--unconfined", "u", *small)
        took = {("b", os.environ["PATH"]): [], ("u", str(bare)): []}
        cli.env["MICROAGENT_QEMU"] = "/usr/bin/true"
        for _ in range(ROUNDS):
            for (name, path), samples in took.items():
                cli.env["PATH"] = path
                began = time.monotonic()
                done = subprocess.run([BIN / "microagent", "start", name], env=cli.env, check=False, capture_output=True)
                samples.append((time.monotonic() - began) * 1e3)
                assert done.returncode and b"died before it was ready" in done.stderr, done.stderr
        cli.env["PATH"] = os.environ["PATH"]
        with_cell, without = took.values()
        record("start up to the VMM, in its cell", with_cell, "ms", "without a cell", without, "<= +10 ms")


def bench_rerun():
    """Compares a second `make run` with the boot alone."""
    subprocess.run(["make", "-C", ROOT, "run"], check=True, capture_output=True)
    again, alone = [], []
    for _ in range(ROUNDS):
        began = time.monotonic()
        subprocess.run(["make", "-C", ROOT, "run"], check=True, capture_output=True)
        again.append(time.monotonic() - began)
        with Cli() as cli:
            began = time.monotonic()
            cli("run", "--", "true")
            alone.append(time.monotonic() - began)
    record("a second make run", again, "s", "microagent run", alone, "<= +1 s")
