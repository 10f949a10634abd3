#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The figures, as ratios measured in one run on one machine; raw samples go to build/bench.
Usage: run.py [boot] [echo] [exec] [memory] [cell] [rerun]   (all without words)"""

import json
import os
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
BIN = BUILD / "bin"
OUT = BUILD / "bench"
ROUNDS = int(os.environ.get("ROUNDS", "10"))
ECHO, SINK, SOURCE = 7000, 7001, 7002
BULK_MIB = 256

rows = []
raw = {}


def record(name, ours, against, other, unit, goal, ratio=True):
    """One line of the table; ours and other are lists of samples."""
    raw[name] = {"ours": ours, "against": against, "other": other, "unit": unit}
    mine = statistics.median(ours)
    theirs = statistics.median(other) if other else None
    figure = (mine / theirs if ratio else mine - theirs) if theirs is not None else mine
    rows.append((name, f"{mine:.3g} {unit}", against, f"{theirs:.3g} {unit}" if other else "",
                 f"{figure:.2f}{'x' if other and ratio else ' ' + unit}", goal))
    print(f"{name}: {rows[-1][1]}, {against}: {rows[-1][3]}, {rows[-1][4]} (goal {goal})", flush=True)


class Cli:
    def __init__(self):
        self.base = Path(tempfile.mkdtemp(prefix="microagent-bench-"))
        self.env = dict(os.environ, MICROAGENT_STATE_DIR=str(self.base / "state"))

    def __call__(self, *words, **kw):
        done = subprocess.run([BIN / "microagent", *map(str, words)], env=self.env, check=False,
                              capture_output=True, **kw)
        if done.returncode:
            raise SystemExit(f"microagent {words}: exit {done.returncode}\n{done.stderr.decode()}")
        return done.stdout

    def close(self):
        shutil.rmtree(self.base, ignore_errors=True)


def kernel():
    listed = json.loads(subprocess.run([BIN / "microagent", "--json", "kernel", "list"],
                                       capture_output=True, check=True).stdout)
    return listed["kernels"][0]


def guest_program():
    OUT.mkdir(parents=True, exist_ok=True)
    program = OUT / "guest_bench"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-static", "-o", program,
                    ROOT / "tests/bench/guest_bench.c"], check=True)
    return program


def bare_initrd():
    tree = OUT / "initrd"
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "dev").mkdir(parents=True)
    shutil.copy(guest_program(), tree / "init")
    # PID 1 of an initramfs has no standard streams without this node.
    os.mknod(tree / "dev/console", 0o600 | 0o020000, os.makedev(5, 1))
    target = OUT / "bench.initrd"
    with open(target, "wb") as out:
        names = subprocess.run(["find", "."], cwd=tree, capture_output=True, check=True).stdout
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, input=names, stdout=out, check=True)
    return target


def our_qemu_words(cli, name):
    """The command line of the running workspace's QEMU."""
    facts = json.loads((cli.base / "state" / name / "runtime.json").read_text())
    return Path("/proc", str(facts["pid"]), "cmdline").read_bytes().decode().split("\0")[:-1]


def bare_words(ours, initrd):
    """The same machine, processor, memory, kernel command line; nothing but a console on it."""
    def after(option):
        return ours[ours.index(option) + 1]
    machine = after("-machine" if "-machine" in ours else "-M")
    machine = re.sub(r",memory-backend=[^,]*", "", machine)
    words = ["qemu-system-x86_64", "-machine", machine, "-accel", after("-accel"), "-cpu", after("-cpu"),
             "-smp", after("-smp"), "-m", re.sub(r"^size=", "", after("-m")), "-nodefaults", "-no-user-config",
             "-display", "none", "-no-reboot", "-kernel", kernel()["path"], "-initrd", str(initrd),
             "-append", after("-append"), "-serial", "stdio"]
    return words


def tsc_khz():
    """The kernel's own calibration may never end under TCG."""
    line = next(l for l in Path("/proc/cpuinfo").read_text().splitlines() if l.startswith("cpu MHz"))
    return int(float(line.split(":")[1]) * 1000)


def until(stream, word):
    seen = b""
    while word not in seen:
        chunk = os.read(stream.fileno(), 4096)
        if not chunk:
            raise SystemExit(f"QEMU ended before {word}: {seen[-500:]}")
        seen += chunk


def bench_boot():
    cli, ours, bare = Cli(), [], []
    initrd = bare_initrd()
    cli("create", "b", "--memory", 256, "--cpus", 1)
    cli("start", "b")
    words = bare_words(our_qemu_words(cli, "b"), initrd)
    cli("kill", "b")
    timings = []
    for _ in range(ROUNDS):
        began = time.monotonic()
        qemu = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        until(qemu.stdout, b"BENCH-INIT")
        bare.append(time.monotonic() - began)
        qemu.kill()
        qemu.wait()
        began = time.monotonic()
        cli("start", "b")
        cli("exec", "b", "--", "true")
        ours.append(time.monotonic() - began)
        timings.append(json.loads((cli.base / "state/b/runtime.json").read_text()).get("timings"))
        cli("kill", "b")
    cli("delete", "b")
    cli.close()
    raw["boot marks"] = timings
    record("cold boot to first exec", ours, "bare QEMU to init", bare, "s", "<= 1.25x")


def dial(path, port):
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(str(path))
    stream.sendall(b"CONNECT %d\n" % port)
    line = b""
    while not line.endswith(b"\n"):
        byte = stream.recv(1)
        if not byte:
            raise SystemExit(f"guest port {port}: refused")
        line += byte
    return stream


def round_trips(stream, count):
    took = []
    for _ in range(count):
        began = time.perf_counter()
        stream.sendall(b"x")
        stream.recv(1)
        took.append((time.perf_counter() - began) * 1e6)
    return took[count // 10:]


def bench_echo():
    base = Path(tempfile.mkdtemp(prefix="microagent-bench-"))
    initrd = bare_initrd()
    vhost, vsock, serial = base / "vhost", base / "vsock.sock", base / "serial"
    device = subprocess.Popen([BIN / "microagent-vsockd", "--vhost-socket", vhost, "--vsock-socket", vsock])
    while not (vhost.exists() and vsock.exists()):
        time.sleep(0.01)
    accel = "kvm" if json.loads(subprocess.run([BIN / "microagent", "--json", "host"], capture_output=True,
                                               check=True).stdout)["host"]["kvmAvailable"] else "tcg"
    qemu = subprocess.Popen(
        ["qemu-system-x86_64", "-machine", "microvm,acpi=on,pit=on,pic=on,rtc=on,memory-backend=mem",
         "-accel", accel, "-cpu", "host" if accel == "kvm" else "max", "-smp", "1", "-m", "256",
         "-object", "memory-backend-memfd,id=mem,size=256M,share=on", "-nodefaults", "-no-user-config",
         "-display", "none", "-no-reboot", "-global", "virtio-mmio.force-legacy=false",
         "-kernel", kernel()["path"], "-initrd", initrd, "-append", f"console=ttyS0 quiet panic=-1 tsc_early_khz={tsc_khz()}",
         "-serial", "stdio", "-chardev", f"socket,id=vs,path={vhost}",
         "-device", "vhost-user-vsock-device,chardev=vs", "-device", "virtio-serial-device",
         "-chardev", f"socket,id=echo,path={serial},server=on,wait=off",
         "-device", "virtserialport,chardev=echo,name=echo"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        until(qemu.stdout, b"BENCH-READY")
        line = socket.socket(socket.AF_UNIX)
        line.connect(str(serial))
        record("vsock 1-byte echo", round_trips(dial(vsock, ECHO), 3000), "virtio-serial",
               round_trips(line, 3000), "us", "<= 2x")
        down, up = [], []
        for _ in range(max(3, ROUNDS // 3)):
            stream = dial(vsock, SINK)
            block, began = b"\0" * (1 << 20), time.monotonic()
            for _ in range(BULK_MIB):
                stream.sendall(block)
            stream.shutdown(socket.SHUT_WR)
            stream.recv(1)
            down.append(BULK_MIB / (time.monotonic() - began))
            stream = dial(vsock, SOURCE)
            began, left = time.monotonic(), BULK_MIB << 20
            stream.sendall(struct.pack("<Q", BULK_MIB))
            while left:
                left -= len(stream.recv(1 << 20)) or sys.exit("the source ended early")
            up.append(BULK_MIB / (time.monotonic() - began))
        record("vsock host to guest", down, "", [], "MiB/s", "-")
        record("vsock guest to host", up, "", [], "MiB/s", "-")
    finally:
        qemu.kill()
        qemu.wait()
        device.wait()
        shutil.rmtree(base)


def exec_true(stream, number):
    """One exec in streaming mode over an open connection: milliseconds to its exit event."""
    request = json.dumps({"id": str(number), "request": number, "stream": True, "cmd": ["/bin/true"]}).encode()
    began = time.perf_counter()
    stream.sendall(struct.pack(">I", len(request)) + request)
    event = {}
    while event.get("event") != "exit":
        head = stream.recv(4, socket.MSG_WAITALL)
        event = json.loads(stream.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL))
    assert event["exitCode"] == 0, event
    return (time.perf_counter() - began) * 1e3


def bench_exec():
    cli = Cli()
    program = guest_program()
    cli("create", "b", "--memory", 256, "--cpus", 1)
    cli("start", "b")
    cli("exec", "b", "--", "sh", "-c", "cat > /tmp/bench && chmod 755 /tmp/bench", input=program.read_bytes())
    took, inside = [], []
    for turn in range(ROUNDS):
        inside.append(int(cli("exec", "b", "--", "/tmp/bench", "/bin/true")) / 1e6)
        stream = dial(cli.base / "state/b/vsock.sock", 2222)  # the agent closes an idle one
        for i in range(1, 21):
            took.append(exec_true(stream, i))
    cli("kill", "b")
    cli("delete", "b")
    cli.close()
    record("exec of /bin/true", took, "fork+exec in the guest", inside, "ms", "at most +1 ms", ratio=False)


def pss_kib(pid):
    return int(re.search(r"^Pss:\s+(\d+)", Path("/proc", str(pid), "smaps_rollup").read_text(), re.M).group(1))


def bench_memory():
    cli = Cli()
    cli("create", "b", "--memory", 256, "--cpus", 1)
    cli("start", "b")
    cli("exec", "b", "--", "true")
    facts = json.loads((cli.base / "state/b/runtime.json").read_text())
    device = next(c["pid"] for c in facts["companions"] if "vsockd" in c["name"])
    parts = {"supervisor": pss_kib(facts["supervisorPid"]), "vsockd": pss_kib(device)}
    raw["memory parts (KiB)"] = parts
    record(f"PSS of supervisor ({parts['supervisor']} KiB) and vsockd ({parts['vsockd']} KiB)",
           [sum(parts.values()) / 1024], "", [], "MiB", "<= 3 MiB")
    cli("kill", "b")
    cli("delete", "b")
    cli.close()


def bench_cell():
    """A start whose VMM is /usr/bin/true, to its refusal: the whole path of a start but for QEMU and
    the guest. With the cell and, by a PATH that has no bwrap, without."""
    cli = Cli()
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
    cli("delete", "b")
    cli.close()
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
        cli = Cli()
        began = time.monotonic()
        cli("run", "--", "true")
        alone.append(time.monotonic() - began)
        cli.close()
    record("a second make run", again, "microagent run", alone, "s", "at most +1 s", ratio=False)


def main():
    stages = {name[6:]: fn for name, fn in globals().items() if name.startswith("bench_")}
    OUT.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[1:] or list(stages)
    used = kernel()
    print(f"kernel {used['name']}, {ROUNDS} rounds, load {os.getloadavg()[0]:.1f}")
    for name in wanted:
        stages[name]()
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    print()
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)))
    target = OUT / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    target.write_text(json.dumps({"kernel": used["name"], "rows": rows, "raw": raw}, indent=1))
    print(f"\nraw data: {os.path.relpath(target, ROOT)}")


if __name__ == "__main__":
    main()
