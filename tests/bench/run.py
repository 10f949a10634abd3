#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The figures, as ratios measured in one run on one machine; raw samples go to build/bench.
Usage: run.py [boot] [ready] [oneshot] [echo] [publish] [exec] [ssh] [memory] [cell] [nat] [rerun]
[clone] [destroy] [claim] [share] [density]   (all without words; `sessions` means those of the second line)"""

import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sessions
import sshguest
from harness import (BIN, HANG_S, OUT, ROOT, ROUNDS, Cli, bare_initrd, bare_words, guest_program, kernel, our_qemu_words,
                     pss_kib, raw, record, running, save, timed, until, wait_for)

ECHO, SINK, SOURCE = 7000, 7001, 7002
BULK_MIB = 256
COPY_MIB = int(os.environ.get("COPY_MIB", "256"))
PUBLISH_MIB = 64


def tsc_khz():
    """The kernel's own calibration may never end under TCG."""
    line = next(l for l in Path("/proc/cpuinfo").read_text().splitlines() if l.startswith("cpu MHz"))
    return int(float(line.split(":")[1]) * 1000)


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


def request(command, config, name="b"):
    return json.dumps({"command": command, "config": config, "identity": {
        "requestID": "bench", "runtimeID": name, "role": "workload", "backend": "qemu"}}).encode()


def ask(cli, command, config, name="b"):
    """One supervisor command as a whole process; its seconds."""
    began = time.monotonic()
    done = subprocess.run([BIN / "microagent-qemu-supervisor"], env=cli.env, check=False,
                          input=request(command, config, name), capture_output=True)
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


def lacking(cli, *wanted):
    support = json.loads(cli("--json", "contract"))["backendSupport"]["qemu"]
    return sorted(set(wanted) - set(support["commands"] + support["networks"] + support["features"]))


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
    with tempfile.TemporaryDirectory(prefix="microagent-bench-") as base:
        measure_echo(Path(base))


def measure_echo(base):
    initrd = bare_initrd()
    vhost, vsock, serial = base / "vhost", base / "vsock.sock", base / "serial"
    accel = "kvm" if json.loads(subprocess.run([BIN / "microagent", "--json", "host"], capture_output=True,
                                               check=True).stdout)["host"]["kvmAvailable"] else "tcg"
    words = (
        ["qemu-system-x86_64", "-machine", "microvm,acpi=on,pit=on,pic=on,rtc=on,memory-backend=mem",
         "-accel", accel, "-cpu", "host" if accel == "kvm" else "max", "-smp", "1", "-m", "256",
         "-object", "memory-backend-memfd,id=mem,size=256M,share=on", "-nodefaults", "-no-user-config",
         "-display", "none", "-no-reboot", "-global", "virtio-mmio.force-legacy=false",
         "-kernel", kernel()["path"], "-initrd", initrd, "-append", f"console=ttyS0 quiet panic=-1 tsc_early_khz={tsc_khz()}",
         "-serial", "stdio", "-chardev", f"socket,id=vs,path={vhost}",
         "-device", "vhost-user-vsock-device,chardev=vs", "-device", "virtio-serial-device",
         "-chardev", f"socket,id=echo,path={serial},server=on,wait=off",
         "-device", "virtserialport,chardev=echo,name=echo"])
    with running([BIN / "microagent-vsockd", "--vhost-socket", vhost, "--vsock-socket", vsock]):
        wait_for(lambda: vhost.exists() and vsock.exists(), "the sockets of vsockd")
        with running(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as qemu:
            until(qemu.stdout, b"BENCH-READY")
            talk(vsock, serial)


def swallow(stream, mebibytes=BULK_MIB):
    """MiB a second into the guest, until it has read the last byte."""
    block, began = b"\0" * (1 << 20), time.monotonic()
    for _ in range(mebibytes):
        stream.sendall(block)
    stream.shutdown(socket.SHUT_WR)
    stream.recv(1)
    return mebibytes / (time.monotonic() - began)


def pour(stream, mebibytes=BULK_MIB):
    """MiB a second out of the guest."""
    began, left = time.monotonic(), mebibytes << 20
    stream.sendall(struct.pack("<Q", mebibytes))
    while left:
        left -= len(stream.recv(1 << 20)) or sys.exit("the source ended early")
    return mebibytes / (time.monotonic() - began)


def talk(vsock, serial):
    line = socket.socket(socket.AF_UNIX)
    line.connect(str(serial))
    record("vsock 1-byte echo", round_trips(dial(vsock, ECHO), 3000), "virtio-serial",
           round_trips(line, 3000), "us", "<= 2x")
    rounds = range(max(3, ROUNDS // 3))
    down = [swallow(dial(vsock, SINK)) for _ in rounds]
    up = [pour(dial(vsock, SOURCE)) for _ in rounds]
    record("vsock host to guest", down, "", [], "MiB/s", "-")
    record("vsock guest to host", up, "", [], "MiB/s", "-")


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in held]
    for listener in held:
        listener.close()
    return ports


def call(port):
    stream = socket.create_connection(("127.0.0.1", port))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def use_ports(echo, sink, source):
    """Samples of a guest's three TCP servers as the host reaches them."""
    rounds = range(max(3, ROUNDS // 3))
    took = {"echo": round_trips(call(echo), 2000), "connect": []}
    for _ in range(ROUNDS * 5):
        began = time.perf_counter()
        with call(echo) as stream:
            stream.sendall(b"x")
            stream.recv(1)
        took["connect"].append((time.perf_counter() - began) * 1e6)
    took["down"] = [swallow(call(sink), PUBLISH_MIB) for _ in rounds]
    took["up"] = [pour(call(source), PUBLISH_MIB) for _ in rounds]
    return took


def bench_publish():
    """A published port against QEMU's own forwarding, to the same servers on the same kernel."""
    ports, guest = free_ports(3), (ECHO, SINK, SOURCE)
    with Cli() as cli:
        missing = lacking(cli, "network.portForwards")
        if missing:
            print(f"publish: skipped, the backend does not have {', '.join(missing)} yet")
            return
        program = guest_program()
        cli("create", "b", "--memory", 256, "--cpus", 1,
            *(word for pair in zip(ports, guest) for word in ("-p", "%d:%d" % pair)))
        cli("start", "b")
        cli("exec", "-i", "b", "--", "sh", "-c", "cat > /tmp/bench && chmod 755 /tmp/bench", input=program.read_bytes())
        words = bare_words(our_qemu_words(cli, "b"), bare_initrd(with_modules=True))
        serving = [BIN / "microagent", "exec", "b", "--", "/tmp/bench", "tcp"]
        with running(serving, env=cli.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as servers:
            until(servers.stdout, b"BENCH-READY")
            ours = use_ports(*ports)
        cli("kill", "b")
    forwards = "".join(",hostfwd=tcp:127.0.0.1:%d-:%d" % pair for pair in zip(ports, guest))
    words += ["-global", "virtio-mmio.force-legacy=false", "-netdev", f"user,id=n{forwards}", "-device",
              "virtio-net-device,netdev=n"]
    with running(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as qemu:
        until(qemu.stdout, b"BENCH-READY")
        theirs = use_ports(*ports)
    for key, name, unit in (("echo", "published port, 1-byte echo", "us"),
                            ("connect", "published port, connect and echo", "us"),
                            ("down", "published port, host to guest", "MiB/s"),
                            ("up", "published port, guest to host", "MiB/s")):
        record(name, ours[key], "hostfwd", theirs[key], unit, "-")


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
    with Cli() as cli:
        program = guest_program()
        cli("create", "b", "--memory", 256, "--cpus", 1)
        cli("start", "b")
        cli("exec", "-i", "b", "--", "sh", "-c", "cat > /tmp/bench && chmod 755 /tmp/bench", input=program.read_bytes())
        took, inside = [], []
        for turn in range(ROUNDS):
            inside.append(int(cli("exec", "b", "--", "/tmp/bench", "/bin/true")) / 1e6)
            stream = dial(cli.base / "state/b/vsock.sock", 2222)  # the agent closes an idle one
            for i in range(1, 21):
                took.append(exec_true(stream, i))
        record("exec of /bin/true", took, "fork+exec in the guest", inside, "ms", "at most +1 ms", ratio=False)


def streamed(workspace, mebibytes=BULK_MIB):
    """MiB a second of a command's stdout, by the agent's binary frames."""
    stream, got = dial(workspace / "vsock.sock", 2222), 0
    request = json.dumps({"id": "s", "request": 1, "stream": True,
                          "cmd": ["dd", "if=/dev/zero", "bs=256k", f"count={mebibytes * 4}"]}).encode()
    began = time.monotonic()
    stream.sendall(struct.pack(">I", len(request)) + request)
    received = stream.makefile("rb", 1 << 20)
    while True:
        payload = received.read(struct.unpack(">I", received.read(4))[0])
        if payload[0] == 2:
            got += len(payload) - 9
        elif payload[0] != 3 and json.loads(payload)["event"] == "exit":
            break
    assert got == mebibytes << 20, got
    return mebibytes / (time.monotonic() - began)


def at_once(words, count, env=None):
    """Seconds until that many processes, started together, have all ended, and how many of them badly."""
    began = time.monotonic()
    children = [subprocess.Popen(list(map(str, words)), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                for _ in range(count)]
    failed = sum(child.wait(HANG_S) != 0 for child in children)
    return time.monotonic() - began, failed


def use_ours(cli, base, took):
    """Our side of bench_ssh."""
    workspace = cli.base / "state/b"
    cli("exec", "-i", "b", "--", "sh", "-c", "cat > /tmp/bench && chmod 755 /tmp/bench", input=guest_program().read_bytes())
    with running([BIN / "microagent", "exec", "b", "--", "/tmp/bench", "vsock"], env=cli.env, stdin=subprocess.DEVNULL,
                 stdout=subprocess.PIPE) as servers:
        until(servers.stdout, b"BENCH-READY")
        for _ in range(3):
            took["raw vsock"].append(pour(dial(workspace / "vsock.sock", SOURCE)))
            took["streamed"].append(streamed(workspace))
    for _ in range(ROUNDS):
        took["inside"].append(int(cli("exec", "b", "--", "/tmp/bench", "/bin/true")) / 1e6)
        stream = dial(workspace / "vsock.sock", 2222)
        took["open"] += [exec_true(stream, i) for i in range(1, 21)]
        took["process"] += [timed(cli, "exec", "b", "--", "/bin/true") for _ in range(5)]
    for _ in range(3):
        took["copy"].append(timed(cli, "cp", base / "file", "b:/dev/shm/file") / 1e3)
        cli("exec", "b", "--", "rm", "/dev/shm/file")
        seconds, failed = at_once([BIN / "microagent", "exec", "b", "--", "/bin/true"], 100, cli.env)
        took["hundred"].append(seconds)
        assert failed == 0, failed


def use_ssh(ssh, base, took):
    for _ in range(ROUNDS):
        took["ssh"] += [timed(ssh, "/bin/true") for _ in range(5)]
        took["ssh client"] += [timed(ssh.check) for _ in range(5)]
    for _ in range(3):
        took["scp"].append(timed(ssh.copy, base / "file", "/dev/shm/file") / 1e3)
        ssh("rm", "/dev/shm/file")
        seconds, failed = at_once(ssh.words("/bin/true"), 100)
        took["hundred ssh"].append(seconds)
        took["hundred ssh failed"].append(failed)


def bench_ssh():
    """What an agent's user does by exec and cp, against the same by ssh into the same kind of machine."""
    images = json.loads(subprocess.run([BIN / "microagent", "--json", "image", "list"], capture_output=True, check=True).stdout)
    image = next((i["path"] for i in images["images"] if i["name"] == "debian"), None)
    why = sshguest.lacking() or ("" if image else "there is no debian image (microagent image build debian)") or \
        ("" if kernel()["name"].startswith("tuned") else "it wants the tuned kernel, which has drivers built in")
    if why:
        print(f"ssh: skipped, {why}")
        return
    took = {name: [] for name in ("inside", "open", "process", "copy", "hundred", "raw vsock", "streamed", "ssh", "ssh client",
                                  "scp", "hundred ssh", "hundred ssh failed")}
    with Cli() as cli:
        base = cli.base
        with open(base / "file", "wb") as file:
            for _ in range(COPY_MIB):
                file.write(os.urandom(1 << 20))
        cli("create", "b", "--image", "debian", "--memory", 1024, "--cpus", 1)
        cli("start", "b")
        words = bare_words(our_qemu_words(cli, "b"), "")
        use_ours(cli, base, took)
        cli("kill", "b")
        port, = free_ports(1)
        words = sshguest.qemu_words(words, sshguest.make_initrd(base), image, port)
        with running(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as qemu:
            until(qemu.stdout, b"BENCH-READY")
            with sshguest.Ssh(base, port) as ssh:
                use_ssh(ssh, base, took)
    inside, client = statistics.median(took["inside"]), statistics.median(took["ssh client"])
    record("exec of /bin/true, added to fork+exec in the guest", [t - inside for t in took["open"]],
           "ssh on an open connection, without its client's start", [t - inside - client for t in took["ssh"]], "ms", "<= 0.25x, <= 1 ms")
    record("the same as whole processes", took["process"], "ssh", took["ssh"], "ms", "-")
    record("streamed stdout", took["streamed"], "raw vsock", took["raw vsock"], "MiB/s", ">= 0.8x")
    record(f"cp of {COPY_MIB} MiB into the guest", took["copy"], "scp", took["scp"], "s", "<= 0.5x")
    failed = max(took["hundred ssh failed"])
    record("100 execs at once", took["hundred"], "100 ssh sessions" + (f" ({failed} of them failed)" if failed else ""), took["hundred ssh"], "s", "-")


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


# A way out that swallows everything: what is measured is the way there.
NOWHERE = """ip link add out type veth peer name away && ip addr add 203.0.113.2/24 dev out && ip link set out up &&
ip link set away up && ip neigh add 203.0.113.1 lladdr 02:00:00:00:00:09 dev out nud permanent &&
ip route add default via 203.0.113.1 && exec "$@" """
NAT_MIB = 512


def datagrams(size):
    """About 256 KiB of UDP frames as QEMU's stream has them: each behind its length."""
    udp = struct.pack(">HHHH", 40000, 9, 8 + size, 0) + b"x" * size
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0x4000, 64, 17, 0,
                     socket.inet_aton("10.0.2.15"), socket.inet_aton("198.51.100.7"))
    frame = bytes(6) + bytes([2, 0, 0, 0, 0, 1]) + b"\x08\x00" + ip + udp
    return (struct.pack(">I", len(frame)) + frame) * max(1, (256 << 10) // len(frame))


def start_passt(end):
    passt = subprocess.Popen(["unshare", "-n", "sh", "-c", NOWHERE, "sh", "passt", "--quiet", "--foreground", "--ipv4-only",
                              "--no-map-gw", "--no-dhcp", "--address", "10.0.2.15", "--netmask", "24", "--gateway",
                              "10.0.2.2", "--fd", str(end.fileno())], pass_fds=[end.fileno()],
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end.close()
    return passt


def push(size, gated):
    """MB/s from a guest's first byte to the end of passt, which has then sent them all."""
    guest, vm = socket.socketpair()
    frames = datagrams(size)
    gate = None
    if gated:
        near, far = socket.socketpair()
        passt = start_passt(far)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ends = [vm.fileno(), near.fileno(), theirs.fileno()]
        ours.send(struct.pack(">III", 0x7F000000, 8, 0))  # an address of the host's own
        gate = subprocess.Popen([BIN / "microagent-netgate", "--vm-fd", str(ends[0]), "--passt-fd", str(ends[1]),
                                 "--supervisor-fd", str(ends[2]), "--guest-address", "10.0.2.15", "--guest-mac",
                                 "02:00:00:00:00:01"], pass_fds=ends)
        for end in (vm, near, theirs):
            end.close()
    else:
        passt = start_passt(vm)
    guest.sendall(frames)  # until both have started
    rounds = (NAT_MIB << 20) // len(frames)
    begin = time.monotonic()
    for _ in range(rounds):
        guest.sendall(frames)
    guest.close()
    passt.wait(HANG_S)
    took = time.monotonic() - begin
    if gate:
        gate.wait(HANG_S)
    return rounds * len(frames) / took / 1e6


def bench_nat():
    if os.geteuid() != 0 or not shutil.which("passt"):
        print("nat: needs root, for a network namespace, and passt")
        return
    for name, size in (("1400-byte", 1400), ("60000-byte", 60000)):
        ours, alone = [], []
        for _ in range(ROUNDS):
            alone.append(push(size, False))
            ours.append(push(size, True))
        record(f"nat, {name} datagrams out", ours, "passt alone", alone, "MB/s", ">= 0.8x")


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


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that stages end what they began
    of_sessions = {name[6:]: fn for name, fn in vars(sessions).items() if name.startswith("bench_")}
    stages = {name[6:]: fn for name, fn in globals().items() if name.startswith("bench_")} | of_sessions
    OUT.mkdir(parents=True, exist_ok=True)
    wanted = [stage for word in sys.argv[1:] or stages for stage in (of_sessions if word == "sessions" else [word])]
    used = kernel()
    print(f"kernel {used['name']}, {ROUNDS} rounds, load {os.getloadavg()[0]:.1f}")
    for name in wanted:
        stages[name]()
    save(used)


if __name__ == "__main__":
    main()
