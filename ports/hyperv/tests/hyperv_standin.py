# SPDX-License-Identifier: MIT
"""The stand-in for Hyper-V's Host Compute Service (ports/hyperv/standin) for a test: its broker, programs of Windows
under Wine that use it, and their inputs: paths, virtual disks, documents."""

import contextlib
import functools
import json
import os
import queue
import struct
import subprocess
import threading
import uuid
from pathlib import Path

import pytest

from conftest import BUILD, HANG_S, ROOT, Child, default_kernel

STANDIN = ROOT / "ports" / "hyperv" / "standin"
WINDOWS = BUILD / "windows" / "standin"
WINE = "/usr/lib/wine/wine64"
OVERRIDES = "mscoree=;mshtml=;winemenubuilder.exe=d"  # programs that Wine would start for itself
SECTOR = 512
ADMINISTRATORS = "D:P(A;;FA;;;SY)(A;;FA;;;BA)"

# HRESULTs, kinds of events, errors of Winsock: ports/hyperv/standin/facts.py says where they are published.
INVALID_STATE, INVALID_JSON, NOT_FOUND, EXISTS, STOPPED = 0x80370105, 0x8037010D, 0x8037010E, 0x8037010F, 0x80370110
NOT_STARTED, ALREADY_STARTED, PENDING, TIMEOUT, CALLBACK_SET = 0x80370115, 0x80370116, 0x80370117, 0x80370118, 0x80370119
DISCONNECT, UNAVAILABLE, TERMINATED_DURING_START = 0x8037011E, 0x80370114, 0x80370100
NO_FILE, NO_ACCESS, IN_USE, UNSUPPORTED, BAD_ARGUMENT, BAD_HANDLE = 0x80070002, 0x80070005, 0x80070020, 0x80070032, 0x80070057, 0x80070006
INVALID_DATA = 0x8007000D
EVENT_EXITED, EVENT_OPERATION, EVENT_DISCONNECT = 1, 0x01000000, 0x02000000
WSAEACCES, WSAEADDRINUSE, WSAEADDRNOTAVAIL, WSAENETUNREACH, WSAECONNREFUSED = 10013, 10048, 10049, 10051, 10061


@functools.lru_cache
def prefix():
    return subprocess.run([ROOT / "scripts" / "wine-prefix.sh"], check=True, capture_output=True, text=True).stdout.strip()


def windows_path(path):
    return "Z:" + str(path).replace("/", "\\")


def wine_environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return {**kept, "WINEPREFIX": prefix(), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": OVERRIDES, **more}


def skip_where_wine_dies():
    """Wine servers of tests that run at once differ by TMPDIR. Wine 10 of Debian 13 frees the text of that variable."""
    said = subprocess.run([WINE, "--version"], env=wine_environment(), capture_output=True, text=True, check=True).stdout
    if int(said.removeprefix("wine-").split(".")[0]) >= 10:
        pytest.skip(f"{said.strip()} dies where TMPDIR is set, by which the tests tell their servers apart")


class Broker:
    """Runs the service for the time of a `with`, and a Wine server for its clients. env has what they need. settings()
    changes the service's file while it runs."""

    def __init__(self, place, wine_prefix=None, **values):
        skip_where_wine_dies()
        self.place = Path(place)
        self.place.mkdir(exist_ok=True)
        self.settings(**values)
        # Debian's Wine has the socket of its server below TMPDIR. So all programs with the same TMPDIR share a server,
        # and no others.
        self.env = {"MICROAGENT_STANDIN_HCS": str(self.place / "settings.json"), "TMPDIR": str(self.place),
                    "WINEPREFIX": str(wine_prefix or prefix())}
        self.wine_server("-p")
        subprocess.run([WINE, "cmd.exe", "/c", "exit"], env=self.server_environment(), stdin=subprocess.DEVNULL, check=True)
        self.child = Child(["/usr/bin/python3", STANDIN / "broker.py", "--build", BUILD, "--place", self.place], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True, env=wine_environment(**self.env))
        self.port = self.child.stdout.readline().split()[1]
        self.env["MICROAGENT_STANDIN_HCS_PORT"] = self.port

    def server_environment(self):
        """Wine's own processes hold nothing of the tests, such as the descriptors of a test that is over."""
        return {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", "WINEDEBUG": "-all", "WINEDLLOVERRIDES": OVERRIDES,
                "TMPDIR": self.env["TMPDIR"], "WINEPREFIX": self.env["WINEPREFIX"]}

    def wine_server(self, word):
        subprocess.run(["/usr/lib/wine/wineserver64", word], env=self.server_environment(), stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=HANG_S)

    def settings(self, **values):
        whole = {"record": str(self.place / "calls"), "log": str(self.place / "log"), **values}
        (self.place / "settings.new").write_text(json.dumps(whole))
        os.replace(self.place / "settings.new", self.place / "settings.json")

    def calls(self):
        return [json.loads(line) for line in (self.place / "calls").read_text().splitlines()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()
        self.wine_server("-k")
        self.wine_server("-w")


class Probe:
    """probe.c, which does what words say. Its output is found by the first word: (number, text)."""

    def __init__(self, broker):
        self.child = Child([WINE, WINDOWS / "hcs-probe.exe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                           env=wine_environment(**broker.env))
        self.said, self.lock = {}, threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()

    def queue(self, word):
        with self.lock:
            return self.said.setdefault(word, queue.SimpleQueue())

    def read(self):
        for line in self.child.stdout:
            if line.strip():
                word, number, text = line.rstrip("\r\n").split(" ", 2)
                self.queue(word).put((int(number, 16), text))

    def forget(self, word):
        with self.lock:
            self.said.pop(word, None)

    def take(self, word, seconds=HANG_S):
        return self.queue(word).get(timeout=seconds)

    def tell(self, *words):
        self.child.stdin.write(" ".join(map(str, words)) + "\n")
        self.child.stdin.flush()

    def __call__(self, *words):
        self.tell(*words)
        return self.take(words[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()


class Bench:
    """A broker, a probe of it, and documents by name."""

    def __init__(self, broker, probe, kernel):
        self.broker, self.probe, self.kernel, self.count = broker, probe, kernel, 0

    def file(self, value):
        self.count += 1
        path = self.broker.place / f"document{self.count}"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return windows_path(path)

    def create(self, value, slot=0, ident=None):
        ident = ident or str(uuid.uuid4())
        result, text = self.probe("create", slot, ident, self.file(value))
        return ident, result, text

    def made(self, value, slot=0, ident=None):
        self.probe.forget(f"event{slot}")  # of the earlier machine
        ident, result, text = self.create(value, slot, ident)
        assert result == 0, text
        return ident

    def gone(self, slot=0):
        assert self.probe("terminate", slot)[0] == 0
        assert self.probe("close", slot)[0] == 0


@contextlib.contextmanager
def new_bench(place, host):
    with Broker(place) as broker, Probe(broker) as probe:
        yield Bench(broker, probe, default_kernel(host)["path"])


# --- what they are given -------------------------------------------------------------------------------------------------


def footer(size, kind=2, current=None, features=2, version=0x10000, cookie=b"conectix", geometry=None, checksum=None):
    """Returns the footer of a virtual disk, by the "Virtual Hard Disk Image Format Specification". It is right unless a
    value says otherwise."""
    sectors = min(size // SECTOR, 65535 * 16 * 17)
    geometry = (max(1, sectors // (4 * 17)) << 16 | 4 << 8 | 17) if geometry is None else geometry
    fields = struct.Struct(">8sIIQI4sI4sQQIII16sB427s")
    values = [cookie, features, version, 2**64 - 1, 0, b"test", 0x10000, b"Wi2k", size, size if current is None else current, geometry,
              kind, 0, uuid.uuid4().bytes, 0, bytes(427)]
    values[12] = ~sum(fields.pack(*values)) & 0xFFFFFFFF if checksum is None else checksum
    return fields.pack(*values)


def make_vhd(path, raw=None, size=1 << 20, **changes):
    """Makes a fixed disk, from a raw image or from zeroes."""
    if raw:
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", raw, path], check=True)
        path.chmod(0o600)
        size = path.stat().st_size
    with open(path, "r+b" if raw else "wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(footer(size, **changes))
    return path


def service(port):
    return f"{port:08x}-facb-11e6-bd58-64006a7986d3"


def document(kernel, disks=(), words="microagent.root=ram", pipe=None, **changes):
    """Returns the document of a machine that boots kernel. disks are paths, in the order of their LUNs. changes are
    fields of VirtualMachine."""
    words = f"console=ttyS0 quiet panic=-1 reboot=t {words}"
    attachments = {str(lun): {"Type": "VirtualDisk", "Path": windows_path(disk)} for lun, disk in enumerate(disks)}
    return {
        "SchemaVersion": {"Major": 2, "Minor": 3}, "Owner": "microagent-test",
        "VirtualMachine": {
            "StopOnReset": True,
            "Chipset": {"LinuxKernelDirect": {"KernelFilePath": windows_path(kernel), "InitRdPath": windows_path(f"{kernel}.initrd"),
                                              "KernelCmdLine": words}},
            "ComputeTopology": {"Memory": {"SizeInMB": 256, "AllowOvercommit": True}, "Processor": {"Count": 1}},
            "Devices": {
                "ComPorts": {"0": {"NamedPipe": pipe}} if pipe else {},
                "Scsi": {"0": {"Attachments": attachments}},
                "HvSocket": {"HvSocketConfig": {"ServiceTable": {
                    service(1024): {"BindSecurityDescriptor": ADMINISTRATORS},
                    service(2222): {"ConnectSecurityDescriptor": ADMINISTRATORS}}}}},
            **changes}}
