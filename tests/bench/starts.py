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

from harness import (BIN, OUT, ROOT, ROUNDS, Cli, bare_initrd, bare_words, kernel, lacking, our_qemu_words, pss_kib, raw,
                     record, running, until)

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
    raw["boot marks"] = timings
    record("cold boot to first exec", ours, "bare QEMU to init", bare, "s", "<= 1.25x")


def bench_cpus():
    """What it costs a guest with two CPUs that one thread has the turn of both (command_line.c says why): short programs
    in two rows at once, less the boot. Beside it a thread for each, as far as such a guest comes to an end."""
    words, initrd = [], smp.initrd(OUT)
    with Cli() as cli:
        cli("create", "b", "--memory", 256, "--cpus", 2, "--accelerator", "tcg")
        cli("start", "b")
        words = smp.machine(our_qemu_words(cli, "b"))
        cli("kill", "b")
    accel = words[words.index("-accel") + 1]
    took = {accel: [], accel.replace(",thread=single", ",thread=multi"): []}

    def run(*guest, accel):
        """Seconds, and of the processor's; None for a guest that failed."""
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
    record("two rows of programs on two CPUs", [s[0] for s in single], "a thread for each CPU",
           [s[0] for s in multi], "s", "-")
    record("of that processor time", [s[1] for s in single], "the same", [s[1] for s in multi], "s", "-")


def request(command, config, name="b", backend="qemu"):
    return json.dumps({"command": command, "config": config, "identity": {
        "requestID": "bench", "runtimeID": name, "role": "workload", "backend": backend}}).encode()


def ask(cli, command, config, name="b", backend="qemu"):
    """One supervisor command as a whole process; its seconds."""
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
    """Start to readiness with everything that the protocol can declare, against the plain machine."""
    with Cli() as cli, socket.create_server(("127.0.0.1", 0)) as target:
        missing = lacking(cli, "nat", "network.portForwards", "mediation")
        if missing:
            print(f"ready: skipped, the backend does not have {', '.join(missing)} yet")
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
    record("start with nat, a port and mediation", took["all"], "start of the plain machine",
           took["plain"], "s", "<= 1.02x")


def bench_arm64():
    """`start` of a machine of arm64 and of one of x86-64, both emulated, each with Debian's cloud kernel."""
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
    record("start to ready of arm64, Debian's kernel", took["arm64"], "x86-64, the same under TCG", took["amd64"], "s", "-")


@contextlib.contextmanager
def container(base):
    """A container that runc has created, for `runc state`; None where that cannot be had."""
    runc, busybox = shutil.which("runc"), shutil.which("busybox")
    if not runc or not busybox:
        print("oneshot: runc or busybox is not installed (apt-get install runc busybox-static)")
        yield None
        return
    (base / "rootfs/bin").mkdir(parents=True)
    shutil.copy(busybox, base / "rootfs/bin/sh")
    subprocess.run([runc, "spec"], cwd=base, check=True)
    spec = json.loads((base / "config.json").read_text())
    spec["process"]["terminal"] = False
    (base / "config.json").write_text(json.dumps(spec))
    words = [runc, "--root", str(base / "runc")]
    name = f"bench-{os.getpid()}"
    with open(base / "log", "wb") as log:  # a pipe would stay open with the container
        made = subprocess.run([*words, "create", "--bundle", str(base), name], check=False,
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        if made.returncode:
            print(f"oneshot: runc cannot make a container here: {(base / 'log').read_text().strip()[-300:]}")
        yield [*words, "state", name] if made.returncode == 0 else None
    finally:
        subprocess.run([*words, "delete", "--force", name], check=False, capture_output=True)


def bench_oneshot():
    """Whole processes, from fork to their end, in turn."""
    names = ("inspect", "check", "inspect of a running machine", "runc")
    took = {name: [] for name in names}
    with Cli() as cli, container(cli.base) as state:
        config = plain_config(cli)
        sparse = {"stateDir": config["stateDir"]}
        ask(cli, "prepare", config)
        cli("create", "running", "--memory", 256, "--cpus", 1)
        cli("start", "running")
        time.sleep(2.1)  # a file's digest is remembered once it is two seconds old
        for turn in range(ROUNDS * 10 + 1):
            samples = {"inspect": ask(cli, "inspect", sparse), "check": ask(cli, "check", config),
                       "inspect of a running machine": ask(cli, "inspect", sparse, "running")}
            if state:
                began = time.monotonic()
                subprocess.run(state, check=True, capture_output=True)
                samples["runc"] = time.monotonic() - began
            for name, seconds in samples.items() if turn else ():  # the first one fills caches
                took[name].append(seconds * 1e3)
    for name in names[:3]:
        record(name, took[name], "runc state" if took["runc"] else "", took["runc"], "ms",
               "<= 0.5x" if "running" not in name else "- (with a round trip to its agent)")


def bench_memory():
    with Cli() as cli:
        cli("create", "b", "--memory", 256, "--cpus", 1)
        cli("start", "b")
        cli("exec", "b", "--", "true")
        facts = json.loads((cli.base / "state/b/runtime.json").read_text())
        device = next(c["pid"] for c in facts["companions"] if "vsockd" in c["name"])
        parts = {"supervisor": pss_kib(facts["supervisorPid"]), "vsockd": pss_kib(device)}
        raw["memory parts (KiB)"] = parts
        record(f"PSS of supervisor ({parts['supervisor']} KiB) and vsockd ({parts['vsockd']} KiB)",
               [sum(parts.values()) / 1024], "", [], "MiB", "<= 3 MiB")


def bench_cell():
    """A start whose VMM is /usr/bin/true, to its refusal: the whole path of a start but for QEMU and
    the guest. With the cell and, by a PATH that has no bwrap, without."""
    with Cli() as cli:
        cli.base.chmod(0o711)  # the VM has a user of its own
        bare = cli.base / "path"
        bare.mkdir()
        took = {os.environ["PATH"]: [], str(bare): []}
        cli("create", "b", "--memory", 128, "--cpus", 1)
        cli.env["MICROAGENT_QEMU"] = "/usr/bin/true"
        for _ in range(ROUNDS * 2):
            for path, samples in took.items():
                cli.env["PATH"] = path
                began = time.monotonic()
                done = subprocess.run([BIN / "microagent", "start", "b"], env=cli.env, check=False,
                                      capture_output=True)
                samples.append((time.monotonic() - began) * 1e3)
                assert done.returncode, "a start without QEMU went well"
        with_cell, without = took.values()
        record("start up to the VMM, in its cell", with_cell, "without a cell", without, "ms", "at most +10 ms",
               ratio=False)


def bench_rerun():
    """A second `make run` against the boot alone."""
    subprocess.run(["make", "-C", ROOT, "run"], check=True, capture_output=True)
    again, alone = [], []
    for _ in range(max(3, ROUNDS // 3)):
        began = time.monotonic()
        subprocess.run(["make", "-C", ROOT, "run"], check=True, capture_output=True)
        again.append(time.monotonic() - began)
        with Cli() as cli:
            began = time.monotonic()
            cli("run", "--", "true")
            alone.append(time.monotonic() - began)
    record("a second make run", again, "microagent run", alone, "s", "at most +1 s", ratio=False)
