# SPDX-License-Identifier: MIT
"""Stages: bytes and commands between host and guest."""

import contextlib
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sshguest
from harness import (BIN, BULK_MIB, COPY_MIB, ROUNDS, Cli, bare_initrd, bare_words, guest_program, kernel, lacking,
                     our_qemu_words, running, timed, until, wait_for)
from table import record, skip

ECHO, SINK, SOURCE = 7000, 7001, 7002
PUBLISH_MIB = 16


def tsc_khz():
    """The kernel's own calibration may never end under TCG."""
    line = next(l for l in Path("/proc/cpuinfo").read_text().splitlines() if l.startswith("cpu MHz"))
    return int(float(line.split(":")[1]) * 1000)


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
    """Returns the MiB a second into the guest, until it has read the last byte."""
    block, began = b"\0" * (1 << 20), time.monotonic()
    for _ in range(mebibytes):
        stream.sendall(block)
    stream.shutdown(socket.SHUT_WR)
    stream.recv(1)
    return mebibytes / (time.monotonic() - began)


def pour(stream, mebibytes=BULK_MIB):
    """Returns the MiB a second out of the guest."""
    began, left = time.monotonic(), mebibytes << 20
    stream.sendall(struct.pack("<Q", mebibytes))
    while left:
        left -= len(stream.recv(1 << 20)) or sys.exit("the source ended early")
    return mebibytes / (time.monotonic() - began)


def talk(vsock, serial):
    line = socket.socket(socket.AF_UNIX)
    line.connect(str(serial))
    record("vsock 1-byte echo", round_trips(dial(vsock, ECHO), 3000), "us", "virtio-serial in the same guest",
           round_trips(line, 3000), "<= 2x")


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
    """Measures a guest's three TCP servers as the host reaches them."""
    rounds = range(ROUNDS)
    took = {"echo": round_trips(call(echo), 2000), "connect": []}
    for _ in range(ROUNDS * 3):
        began = time.perf_counter()
        with call(echo) as stream:
            stream.sendall(b"x")
            stream.recv(1)
        took["connect"].append((time.perf_counter() - began) * 1e6)
    took["down"] = [swallow(call(sink), PUBLISH_MIB) for _ in rounds]
    took["up"] = [pour(call(source), PUBLISH_MIB) for _ in rounds]
    return took


def await_servers(ports):
    """Waits for the server in the guest. A published port refuses until the host hears of that server."""
    for port in ports:
        while True:
            with contextlib.suppress(ConnectionRefusedError), call(port):
                break
            time.sleep(0.01)


def bench_publish():
    """Compares a published port with QEMU's own forwarding, to the same servers on the same kernel."""
    ports, guest = free_ports(3), (ECHO, SINK, SOURCE)
    with Cli() as cli:
        missing = lacking(cli, "network.portForwards")
        if missing:
            skip("published port", f"the backend does not have {', '.join(missing)} yet")
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
            await_servers(ports)
            ours = use_ports(*ports)
        cli("kill", "b")
    forwards = "".join(",hostfwd=tcp:127.0.0.1:%d-:%d" % pair for pair in zip(ports, guest))
    words += ["-global", "virtio-mmio.force-legacy=false", "-netdev", f"user,id=n{forwards}", "-device",
              "virtio-net-device,netdev=n"]
    with running(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as qemu:
        until(qemu.stdout, b"BENCH-READY")
        theirs = use_ports(*ports)
    for key, name, unit, better in (("echo", "published port, 1-byte echo", "us", "less"),
                                    ("connect", "published port, connect and echo", "us", "less"),
                                    ("down", "published port, host to guest", "MiB/s", "more"),
                                    ("up", "published port, guest to host", "MiB/s", "more")):
        record(name, ours[key], unit, "QEMU's hostfwd", theirs[key], better=better)


def exec_true(stream, number):
    """Runs one exec in streaming mode over an open connection. Returns the milliseconds to its exit event."""
    request = json.dumps({"id": str(number), "request": number, "stream": True, "cmd": ["/bin/true"]}).encode()
    began = time.perf_counter()
    stream.sendall(struct.pack(">I", len(request)) + request)
    event = {}
    while event.get("event") != "exit":
        head = stream.recv(4, socket.MSG_WAITALL)
        event = json.loads(stream.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL))
    assert event["exitCode"] == 0, event
    return (time.perf_counter() - began) * 1e3


def streamed(workspace, mebibytes=BULK_MIB):
    """Returns the MiB a second of a command's stdout, by the agent's binary frames."""
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


def bench_exec():
    """Compares commands over an open connection with the guest's own, and their stdout with that of a program that
    writes to vsock itself."""
    took = {name: [] for name in ("exec", "inside", "raw vsock", "streamed")}
    with Cli() as cli:
        workspace = cli.base / "state/b"
        cli("create", "b", "--memory", 256, "--cpus", 1)
        cli("start", "b")
        cli("exec", "-i", "b", "--", "sh", "-c", "cat > /tmp/bench && chmod 755 /tmp/bench", input=guest_program().read_bytes())
        for _ in range(ROUNDS):
            took["inside"].append(int(cli("exec", "b", "--", "/tmp/bench", "/bin/true")) / 1e6)
            stream = dial(workspace / "vsock.sock", 2222)  # the agent closes an idle connection
            took["exec"] += [exec_true(stream, i) for i in range(1, 11)]
        with running([BIN / "microagent", "exec", "b", "--", "/tmp/bench", "vsock"], env=cli.env, stdin=subprocess.DEVNULL,
                     stdout=subprocess.PIPE) as servers:
            until(servers.stdout, b"BENCH-READY")
            for _ in range(ROUNDS):
                took["raw vsock"].append(pour(dial(workspace / "vsock.sock", SOURCE)))
                took["streamed"].append(streamed(workspace))
    record("exec of /bin/true over an open connection", took["exec"], "ms", "fork, exec and wait in the guest", took["inside"],
           "<= +1 ms")
    record("streamed stdout", took["streamed"], "MiB/s", "raw vsock in the same guest", took["raw vsock"], ">= 0.5x", "more")


def use_ours(cli, base, took):
    """Runs our side of bench_ssh."""
    cli("exec", "-i", "b", "--", "sh", "-c", "cat > /tmp/bench && chmod 755 /tmp/bench", input=guest_program().read_bytes())
    for _ in range(ROUNDS):
        took["inside"].append(int(cli("exec", "b", "--", "/tmp/bench", "/bin/true")) / 1e6)
        stream = dial(cli.base / "state/b/vsock.sock", 2222)
        took["open"] += [exec_true(stream, i) for i in range(1, 11)]
        took["process"].append(timed(cli, "exec", "b", "--", "/bin/true"))
        took["copy"].append(timed(cli, "cp", base / "file", "b:/dev/shm/file") / 1e3)
        cli("exec", "b", "--", "rm", "/dev/shm/file")


def use_ssh(ssh, base, took):
    for _ in range(ROUNDS):
        took["ssh"].append(timed(ssh, "/bin/true"))
        took["ssh client"].append(timed(ssh.check))
        took["scp"].append(timed(ssh.copy, base / "file", "/dev/shm/file") / 1e3)
        ssh("rm", "/dev/shm/file")


def bench_ssh():
    """Compares exec and cp with the same tasks by ssh into the same kind of machine."""
    images = json.loads(subprocess.run([BIN / "microagent", "--json", "image", "list"], capture_output=True, check=True).stdout)
    image = next((i["path"] for i in images["images"] if i["name"] == "debian"), None)
    why = sshguest.lacking() or ("" if image else "there is no debian image (microagent image build debian)") or \
        ("" if kernel()["name"].startswith("tuned") else "it wants the tuned kernel, which has drivers built in")
    if why:
        skip("commands and files beside ssh", why)
        return
    took = {name: [] for name in ("inside", "open", "process", "copy", "ssh", "ssh client", "scp")}
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
    record("exec in the debian image, latency added to the guest's own", [t - inside for t in took["open"]], "ms",
           "ssh on an open connection, without its client's start", [t - inside - client for t in took["ssh"]], "<= 0.25x")
    record("`microagent exec` of /bin/true, whole command", took["process"], "ms", "`ssh` on an open connection", took["ssh"])
    record(f"`microagent cp` of {COPY_MIB} MiB into the guest", took["copy"], "s", "`scp`", took["scp"], "<= 0.5x")
