# SPDX-License-Identifier: MIT
"""Tests microagent-vsockd alone, with a QEMU started by hand and a guest of the test."""

import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import BIN, ROOT, default_kernel, make_host, pid_lines, skip_without_own_kernels, wait_until

ECHO, SINK, SOURCE, HOLD = 7000, 7001, 7002, 7003


def tsc_khz():
    line = next(l for l in Path("/proc/cpuinfo").read_text().splitlines() if l.startswith("cpu MHz"))
    return int(float(line.split(":")[1]) * 1000)


class Device:
    """vsockd and a bare QEMU around it."""

    def __init__(self, base, kernel):
        self.base = base
        self.vsock = base / "vsock.sock"
        self.daemon = subprocess.Popen(
            [BIN / "microagent-vsockd", "--vhost-socket", base / "vhost", "--vsock-socket", self.vsock,
             "--guest-cid", "3", "--label", str(base)])
        wait_until(lambda: (base / "vhost").exists() and self.vsock.exists(), "the device's sockets")
        accel = "tcg"
        self.qemu = subprocess.Popen(
            # Without the frequency the kernel's own calibration may never end under TCG.
            ["qemu-system-x86_64", "-name", str(base), "-machine",
             "microvm,acpi=on,pit=on,pic=on,rtc=on,memory-backend=mem", "-accel", accel, "-cpu", "max",
             "-m", "192", "-object", "memory-backend-memfd,id=mem,size=192M,share=on", "-nodefaults",
             "-no-user-config", "-display", "none", "-no-reboot", "-global",
             "virtio-mmio.force-legacy=false", "-kernel", kernel["path"], "-initrd", self.initrd(kernel),
             "-append", f"console=ttyS0 quiet panic=-1 tsc_early_khz={tsc_khz()}",
             "-serial", "stdio", "-chardev", f"socket,id=vs,path={base / 'vhost'}", "-device", "vhost-user-vsock-device,chardev=vs"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        seen = b""
        while b"BENCH-READY" not in seen:
            chunk = os.read(self.qemu.stdout.fileno(), 4096)
            assert chunk, seen[-2000:]
            seen += chunk

    def initrd(self, kernel):
        tree = self.base / "tree"
        (tree / "dev").mkdir(parents=True)
        subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-static", "-o", tree / "init",
                        ROOT / "tests/bench/guest_bench.c"], check=True)
        segment = Path(kernel["path"] + ".modules")
        target = self.base / "initrd"
        own = subprocess.run("find . | cpio -o -H newc --quiet", shell=True, cwd=tree, check=True,
                             capture_output=True).stdout
        target.write_bytes((segment.read_bytes() if segment.exists() else b"") + own)
        return target

    def dial(self, port):
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(120)
        stream.connect(str(self.vsock))
        stream.sendall(b"CONNECT %d\n" % port)
        line = b""
        while not line.endswith(b"\n"):
            byte = stream.recv(1)
            if not byte:
                return None
            line += byte
        assert line.startswith(b"OK "), line
        return stream

    def close(self):
        self.qemu.kill()
        self.qemu.wait()
        assert self.daemon.wait(timeout=30) == 0  # the end of the front-end is its end


@pytest.fixture(scope="module")
def device():
    skip_without_own_kernels("an emulated")
    base = Path(tempfile.mkdtemp(prefix="e-"))
    host = make_host(base / "host")
    it = Device(base, default_kernel(host))
    yield it
    it.close()
    assert not pid_lines(str(base))
    shutil.rmtree(base)


def test_capabilities():
    said = subprocess.run([BIN / "microagent-vsockd", "--print-capabilities"], capture_output=True, check=True)
    assert json.loads(said.stdout)["type"] == "vsock"


@pytest.mark.parametrize("words", [["--guest-cid", "0"], ["--guest-cid", "x"], ["--vhost-fd", "99"], ["--nonsense"], []])
def test_refused_command_lines(words):
    done = subprocess.run([BIN / "microagent-vsockd", *words], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=30)
    assert done.returncode != 0 and done.stderr


def test_echo_of_many_sizes(device):
    stream = device.dial(ECHO)
    for size in (1, 2, 4095, 4096, 4097, 65536, 300000):
        data = os.urandom(size)
        stream.sendall(data)
        got = b""
        while len(got) < size:
            chunk = stream.recv(1 << 20)
            assert chunk
            got += chunk
        assert got == data


def test_bulk_both_ways(device):
    stream = device.dial(SOURCE)
    stream.sendall(struct.pack("<Q", 32))
    left = 32 << 20
    while left:
        chunk = stream.recv(1 << 20)
        assert chunk and chunk.count(0) == len(chunk)
        left -= len(chunk)
    assert stream.recv(1) == b""
    stream = device.dial(SINK)
    stream.sendall(bytes(32 << 20))
    stream.shutdown(socket.SHUT_WR)  # half-close: the answer still comes
    assert stream.recv(1) == b"k"
    assert stream.recv(1) == b""


def test_a_port_nobody_listens_on_is_a_close_without_a_line(device):
    assert device.dial(7999) is None


@pytest.mark.parametrize("line", [b"HELLO 1\n", b"CONNECT\n", b"CONNECT -1\n", b"CONNECT 4294967296\n",
                                  b"CONNECT 7000" + b"0" * 5000, b"\n"])
def test_a_bad_first_line_is_a_close(device, line):
    stream = socket.socket(socket.AF_UNIX)
    stream.settimeout(60)
    stream.connect(str(device.vsock))
    try:
        stream.sendall(line)
        assert stream.recv(100) == b""
    except (BrokenPipeError, ConnectionResetError):
        pass


def test_a_thousand_streams(device):
    """A guest server that forks holds more than a thousand streams open at once; each answers."""
    streams = []
    for i in range(1000):
        stream = device.dial(HOLD)
        assert stream is not None, f"stream {i} was refused"
        streams.append(stream)
    for i, stream in enumerate(streams):
        stream.sendall(i.to_bytes(2, "big"))
    for i, stream in enumerate(streams):
        assert stream.recv(2, socket.MSG_WAITALL) == i.to_bytes(2, "big")
    for stream in streams:
        stream.close()


def test_a_client_that_vanishes_and_one_that_never_reads(device):
    for _ in range(20):
        stream = device.dial(ECHO)
        stream.sendall(os.urandom(1000))
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stream.close()
    lazy = device.dial(SOURCE)
    lazy.sendall(struct.pack("<Q", 64))
    stream = device.dial(ECHO)  # one slow reader does not block the others
    stream.sendall(b"alive")
    assert stream.recv(5) == b"alive"
    lazy.close()
