# SPDX-License-Identifier: MIT
"""Tests the stand-in for Firecracker without our supervisor: it boots what we boot, refuses what Firecracker refuses,
and has the faults that it claims. All other tests on it are worth no more than this."""

import contextlib
import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

import strays
from conftest import HANG_S, REAL_FIRECRACKER, ROOT, default_kernel, wait_until
from firecracker_standin import Api, Running, calls, listen, make_launcher, read_until, set_values

import facts  # of the stand-in

BEFORE = "The requested operation is not supported before starting the microVM."
AFTER = "The requested operation is not supported after starting the microVM."
PARSE = "An error occurred when deserializing the json body of a request: "
PIDFD_GETFD = 438
ROOT_IN_RAM = "console=ttyS0 panic=1 reboot=k microagent.root=ram"


@pytest.fixture
def place(host):
    yield host.base / "fc"


@pytest.fixture(scope="module", params=["stand-in", *(["real"] if REAL_FIRECRACKER else [])])
def idle(tmp_path_factory, request):
    """A Firecracker that nobody configures, for refusals that leave nothing. It is also the real one if
    MICROAGENT_TEST_FIRECRACKER names it, since the stand-in's refusals are worth as much as that comparison."""
    with Running(tmp_path_factory.mktemp("fc"), program=REAL_FIRECRACKER if request.param == "real" else None) as it:
        yield it


def elf_kernel(host):
    """Firecracker accepts our tuned kernel, and Debian's when it is unpacked."""
    kernel = default_kernel(host)["path"]
    return kernel if Path(kernel).read_bytes()[:4] == b"\x7fELF" else f"{kernel}.vmlinux"


def configure(api, kernel, place, boot_args=ROOT_IN_RAM):
    api.put("/machine-config", {"vcpu_count": 1, "mem_size_mib": 256})
    api.put("/boot-source", {"kernel_image_path": kernel, "initrd_path": kernel.removesuffix(".vmlinux") + ".initrd", "boot_args": boot_args})
    api.put("/vsock", {"guest_cid": 3, "uds_path": str(place / "v.sock")})
    api.put("/entropy", {})
    api.put("/balloon", {"amount_mib": 0, "deflate_on_oom": True})


def start(api):
    api.put("/actions", {"action_type": "InstanceStart"})


def shut_sockets(pid):
    """Returns all sockets of a process, by pidfd_getfd() and shutdown(). A socket that the process closes meanwhile is
    closed already."""
    pidfd, call = os.pidfd_open(pid), ctypes.CDLL(None).syscall
    for fd, target in strays.descriptors(pid).items():
        taken = call(PIDFD_GETFD, pidfd, fd, 0) if target.startswith("socket:") else -1
        if taken < 0:
            continue
        with socket.socket(fileno=taken) as taken:
            with contextlib.suppress(OSError):  # its other end has just gone
                taken.shutdown(socket.SHUT_RDWR)
    os.close(pidfd)


# --- a guest ----------------------------------------------------------------------------------------------------------


def test_boots_and_refuses_changes(host, place):
    """Our kernel and init boot to the control stream's hello. What the start has fixed does not change."""
    with Running(place) as standin:
        api, disk = standin.api, host.disk()
        control = listen(place / "v.sock_1024")
        configure(api, elf_kernel(host), place)
        api.put("/drives/data", {"drive_id": "data", "path_on_host": str(disk), "is_root_device": False, "is_read_only": True})
        start(api)
        stream = control.accept()[0]
        stream.settimeout(HANG_S)
        assert b'"hello"' in read_until(stream, b'"hello"')
        assert api("GET", "/")[1]["state"] == "Running"
        for path, body in (("/machine-config", {"vcpu_count": 1, "mem_size_mib": 256}), ("/entropy", {}),
                           ("/boot-source", {"kernel_image_path": "/x"}), ("/vsock", {"guest_cid": 3, "uds_path": "/x"}),
                           ("/balloon", {"amount_mib": 0, "deflate_on_oom": True}), ("/logger", {}), ("/metrics", {"metrics_path": "/x"}),
                           ("/actions", {"action_type": "InstanceStart"})):
            assert api.fault("PUT", path, body) == AFTER, path
        assert api.fault("PUT", "/drives/more", {"drive_id": "more", "path_on_host": str(disk), "is_root_device": False}) == AFTER
        for state in ("Paused", "Resumed"):
            assert api("PATCH", "/vm", {"state": state}) == (204, None)
            assert api("GET", "/")[1]["state"] == {"Paused": "Paused", "Resumed": "Running"}[state]
        assert api("PATCH", "/balloon", {"amount_mib": 64}) == (204, None)
        assert api.fault("PATCH", "/balloon", {"amount_mib": 257}).startswith("Balloon update error: ")
        limiter = {"bandwidth": {"size": 1 << 20, "refill_time": 100}}
        assert api("PATCH", "/drives/data", {"drive_id": "data", "rate_limiter": limiter}) == (204, None)
        assert api.fault("PATCH", "/drives/none", {"drive_id": "none"}).startswith("Drive config error: ")
        # Nobody listens at this port of the guest: the connection ends without a message.
        dial = Api(place / "v.sock").socket
        dial.sendall(b"CONNECT 9\n")
        assert dial.recv(16) == b""
        assert "Run /init" in standin.text()
        # The sockets are the VMM's own. A process that takes them from it cuts it off, and the machine goes on.
        dial = Api(place / "v.sock").socket
        dial.sendall(b"CONNECT 2222\n")
        assert dial.recv(16).startswith(b"OK ")
        shut_sockets(standin.child.pid)
        assert dial.recv(16) == b"" and stream.recv(4096) == b"" and api.socket.recv(16) == b""
        for path in (place / "v.sock", standin.sock):
            with socket.socket(socket.AF_UNIX) as late:
                assert late.connect_ex(str(path)) == errno.ECONNREFUSED
        assert any("qemu-system" in line for line in strays.running(place).values()) and standin.child.poll() is None
        standin.child.kill()
        standin.child.wait()
        assert not strays.processes(place)
    assert [call["call"] for call in calls(place)][5:7] == ["PUT /drives/data", "PUT /actions"]


def test_a_reboot_ends_it(host, place):
    """There is no root disk, so our init gives up and reboots."""
    with Running(place) as standin:
        configure(standin.api, elf_kernel(host), place, "console=ttyS0 reboot=k panic=1 rdinit=/none root=/dev/none")
        start(standin.api)
        assert standin.child.wait() == 0
        assert "Kernel panic" in standin.text() and "Firecracker exiting successfully. exit_code=0" in standin.text()
        assert not strays.processes(place)


def test_a_power_off_does_not(host, place, tuned_kernel):
    """There is no power management. The root device is /dev/vda, before a drive that was named earlier, is writable,
    and has the serial of its file."""
    disks = [host.disk(f"{name}.ext4") for name in ("other", "root")]
    with Running(place) as standin:
        api, about = standin.api, os.stat(disks[1])
        api.put("/machine-config", {"vcpu_count": 2, "mem_size_mib": 256})
        shell = "/bin/busybox mount -t sysfs sys /sys; read serial </sys/block/vda/serial; echo serial=$serial; /bin/busybox poweroff -f"
        api.put("/boot-source", {"kernel_image_path": tuned_kernel["path"],  # with its drivers built in
                                 "boot_args": f'console=ttyS0 reboot=k panic=1 init=/bin/sh -- -c "{shell}"'})
        for disk in disks:
            api.put(f"/drives/{disk.stem}", {"drive_id": disk.stem, "path_on_host": str(disk), "is_read_only": False,
                                             "is_root_device": disk.stem == "root"})
        start(api)
        wait_until(lambda: "reboot: Power down" in standin.text() or standin.child.poll() is not None, "the power-off")
        assert f"serial={about.st_dev}{about.st_rdev}{about.st_ino}"[:27] in standin.text()
        assert "root=/dev/vda rw" in standin.text()
        assert api("GET", "/")[1]["state"] == "Running" and standin.child.poll() is None


def test_a_card_is_a_tap(host, place, tuned_kernel):
    """By its name in the namespace that it runs in; and the files that it writes."""
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("/dev/net/tun cannot be opened")
    disk = host.disk()
    in_network = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", 'ip tuntap add tap0 mode tap && exec "$@"', "sh"]
    with Running(place, wrap=in_network) as standin:
        api, card = standin.api, {"iface_id": "net", "host_dev_name": "tap0", "guest_mac": "06:00:00:00:00:07"}
        assert "Error while creating ifreq structure" in api.fault("PUT", "/network-interfaces/no", {"iface_id": "no", "host_dev_name": "lo"})
        api.put("/network-interfaces/net", card)
        assert api.fault("PUT", "/network-interfaces/two", {**card, "iface_id": "two"}) == \
            "Network config error: The MAC address is already in use: 06:00:00:00:00:07"
        shell = "/bin/busybox mount -t sysfs sys /sys; /bin/busybox cat /sys/class/net/eth0/address; /bin/busybox reboot -f"
        api.put("/boot-source", {"kernel_image_path": tuned_kernel["path"], "boot_args": f'console=ttyS0 reboot=k init=/bin/sh -- -c "{shell}"'})
        api.put("/drives/root", {"drive_id": "root", "path_on_host": str(disk), "is_root_device": True, "is_read_only": True})
        api.put("/machine-config", {"vcpu_count": 1, "mem_size_mib": 256})
        api.put("/metrics", {"metrics_path": str(place / "metrics")})
        assert "Reinitialization of metrics not allowed." in api.fault("PUT", "/metrics", {"metrics_path": str(place / "metrics")})
        api.put("/logger", {"log_path": str(place / "log"), "show_level": True})
        start(api)
        api.put("/actions", {"action_type": "FlushMetrics"})
        assert len((place / "metrics").read_text().splitlines()) == 2  # at the start, and now
        assert standin.child.wait() == 0
        assert len([json.loads(line) for line in (place / "metrics").read_text().splitlines()]) == 3
        assert "06:00:00:00:00:07" in standin.text() and ":INFO] Vmm is stopping." in (place / "log").read_text()


def test_runs_in_a_cell(host, place):
    """Runs with the files that --standin-needs names and /proc, without /tmp or environment. The calls go to a FIFO."""
    kernel, launcher, fifo = elf_kernel(host), make_launcher(place), place / "fifo"
    os.mkfifo(fifo)
    needs = json.loads(subprocess.run([launcher, "--standin-needs"], capture_output=True, check=True).stdout)["readable"]
    seen = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/lib", "/lib64", str(Path(kernel).parent), *needs]
    binds = [word for path in seen for word in ("--ro-bind-try", path, path)]
    cell = ["bwrap", "--unshare-all", "--as-pid-1", "--die-with-parent", "--clearenv", "--proc", "/proc", *binds, "--bind", str(place), str(place),
            "--remount-ro", "/", "--chdir", "/", "--"]
    told = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    with Running(place, wrap=cell, record=str(fifo)) as standin:
        control = listen(place / "v.sock_1024")
        configure(standin.api, kernel, place)
        start(standin.api)
        control.accept()
        lines = os.read(told, 65536).splitlines()
        assert [json.loads(line)["call"] for line in lines] == ["PUT /machine-config", "PUT /boot-source", "PUT /vsock",
                                                                "PUT /entropy", "PUT /balloon", "PUT /actions"]
    os.close(told)
    wait_until(lambda: not strays.running(place), "the end of the cell")


# --- the start --------------------------------------------------------------------------------------------------------


def test_start_needs_a_kernel_that_it_takes(host, place):
    with Running(place) as standin:
        api, start_it = standin.api, {"action_type": "InstanceStart"}
        assert api.fault("PUT", "/actions", start_it) == "Start microvm error: Cannot start microvm without kernel configuration."
        assert api.fault("PUT", "/boot-source", {"kernel_image_path": "/none"}) == \
            "Boot source error: The kernel file cannot be opened: No such file or directory (os error 2)"
        for name, content, why in (("empty", b"", "Unable to read elf header"), ("text", b"no kernel\n" * 100, "Invalid Elf magic number")):
            (place / name).write_bytes(content)
            api.put("/boot-source", {"kernel_image_path": str(place / name)})
            assert api.fault("PUT", "/actions", start_it).endswith(f"failed to load ELF kernel image: Kernel Loader: {why}")
        image = place / "bzImage"
        image.write_bytes(bytes(0x202) + b"HdrS" + bytes(4096))
        assert api.fault("PUT", "/boot-source", {"kernel_image_path": str(image), "initrd_path": "/none"}).startswith(
            "Boot source error: The initrd file cannot be opened due to invalid path")
        api.put("/boot-source", {"kernel_image_path": str(image)})
        assert "Invalid Elf magic number" in api.fault("PUT", "/actions", start_it)
        assert api("GET", "/")[1]["state"] == "Not started"


@pytest.mark.parametrize("version, fault", [
    ("1.14.4", "MMIO transport error: Failed to allocate requested resource"),
    ("1.15.1", "Error while registering ACPI with KVM: VMClock: Could not allocate GSI"),
])
def test_each_device_takes_an_interrupt(host, place, version, fault):
    """The twentieth has no interrupt: 1.15 has one more device of its own."""
    with Running(place, version=version) as standin:
        configure(standin.api, elf_kernel(host), place)
        for number in range(15 if version < "1.15" else 14):
            standin.api.put(f"/drives/d{number}", {"drive_id": f"d{number}", "path_on_host": "/dev/null", "is_root_device": False})
        standin.api.put("/drives/root", {"drive_id": "root", "path_on_host": "/dev/null", "is_root_device": True})
        assert standin.api.fault("PUT", "/actions", {"action_type": "InstanceStart"}) == \
            f"Start microvm error: Could not attach device: {fault}: The requested resource is not available."


def test_needs_what_is_not_started(idle):
    for method, path, body in (("PATCH", "/vm", {"state": "Paused"}), ("PUT", "/actions", {"action_type": "SendCtrlAltDel"}),
                               ("PUT", "/actions", {"action_type": "FlushMetrics"}), ("PATCH", "/balloon", {"amount_mib": 1}),
                               ("PATCH", "/drives/a", {"drive_id": "a"}), ("GET", "/balloon/statistics", None),
                               ("PATCH", "/network-interfaces/a", {"iface_id": "a"})):
        assert idle.api.fault(method, path, body) == BEFORE, path


# --- what is wrong about a call ----------------------------------------------------------------------------------------

MACHINE = {"vcpu_count": 1, "mem_size_mib": 128}
DRIVE = {"drive_id": "a", "path_on_host": "/dev/null", "is_root_device": False}


@pytest.mark.parametrize("path, body, fault", [
    ("/machine-config", {"vcpu_count": 1}, PARSE + "missing field `mem_size_mib`"),
    ("/machine-config", {**MACHINE, "ht_enabled": True}, PARSE + "unknown field `ht_enabled`, expected one of `vcpu_count`"),
    ("/machine-config", {**MACHINE, "vcpu_count": "1"}, PARSE + 'invalid type: string "1", expected u8'),
    ("/machine-config", {**MACHINE, "vcpu_count": 256}, PARSE + "invalid value: integer `256`, expected u8"),
    ("/machine-config", {**MACHINE, "mem_size_mib": -1}, PARSE + "invalid value: integer `-1`"),
    ("/machine-config", {**MACHINE, "smt": 1}, PARSE + "invalid type: integer `1`, expected a boolean"),
    ("/machine-config", {**MACHINE, "huge_pages": "Transparent"}, PARSE + "unknown variant `Transparent`"),
    ("/machine-config", {**MACHINE, "vcpu_count": 33}, "Machine config error: The number of vCPUs must be greater than 0"),
    ("/machine-config", {**MACHINE, "vcpu_count": 0}, "Machine config error: The number of vCPUs must be greater than 0"),
    ("/machine-config", {**MACHINE, "vcpu_count": 3, "smt": True}, "Machine config error: The number of vCPUs"),
    ("/machine-config", {**MACHINE, "mem_size_mib": 0}, "Machine config error: The memory size (MiB) is either 0"),
    ("/machine-config", b"{", PARSE + "EOF while parsing an object"),
    ("/machine-config", b'"x"', PARSE + 'invalid type: string "x", expected struct Machine'),
    ("/machine-config", b'{"vcpu_count": 1, "vcpu_count": 2, "mem_size_mib": 1}', PARSE + "duplicate field `vcpu_count`"),
    ("/machine-config", None, "Empty PUT request."),
    ("/drives/b", DRIVE, "The id from the path does not match the id from the body!"),
    ("/drives", DRIVE, "The ID cannot be empty."),
    ("/drives/a-b", {**DRIVE, "drive_id": "a-b"}, "API Resource IDs can only contain alphanumeric characters and underscores."),
    ("/drives/a", {**DRIVE, "cache_type": "None"}, PARSE + "unknown variant `None`, expected `Unsafe` or `Writeback`"),
    ("/drives/a", {**DRIVE, "path_on_host": "/none"}, "Drive config error: Unable to create the virtio block device: Virtio backend "
                                                      "error: Error manipulating the backing file: No such file or directory (os error 2) /none"),
    ("/drives/a", {"drive_id": "a", "is_root_device": False}, "Drive config error: Unable to create the virtio block device: Invalid block config."),
    ("/drives/a", {**DRIVE, "rate_limiter": {"ops": {"size": 1}}}, PARSE + "missing field `refill_time`"),
    ("/network-interfaces/a", {"iface_id": "b", "host_dev_name": "t"}, "The id from the path [a] does not match the id from the body [b]!"),
    ("/network-interfaces/a", {"iface_id": "a", "host_dev_name": "a-name-that-is-too-long"}, "Network config error: Could not create the network device: "
                                                                                             "Open tap device failed: Invalid interface name"),
    ("/network-interfaces/a", {"iface_id": "a", "host_dev_name": "t", "mtu": 1500}, PARSE + "unknown field `mtu`"),
    ("/vsock", {"guest_cid": 3}, PARSE + "missing field `uds_path`"),
    ("/vsock", {"guest_cid": 2**32, "uds_path": "/x"}, PARSE + "invalid value: integer `4294967296`, expected u32"),
    ("/vsock", {"guest_cid": 3, "uds_path": "/none/x"}, "Vsock config error: Cannot create backend for vsock device: Error binding to the host-side Unix socket: "),
    ("/balloon", {"amount_mib": 129, "deflate_on_oom": False}, "Balloon config error: Amount of pages requested is too large."),
    ("/boot-source", {"kernel_image_path": "/dev/null", "boot_args": "x" * 2048},
     "Boot source error: The kernel command line is invalid: Invalid cmdline capacity provided."),
    ("/machine-config", {**MACHINE, "smt": None}, PARSE + "invalid type: null, expected a boolean"),
    ("/machine-config", {**MACHINE, "huge_pages": None}, PARSE + "expected value"),
    ("/machine-config", {**MACHINE, "cpu_template": "V1N1"}, PARSE + "unknown variant `V1N1`, expected one of `C3`, `T2`, `T2S`, `None`, `T2CL`, `T2A`"),
    ("/drives/a", {**DRIVE, "cache_type": None}, PARSE + "expected value"),
    ("/drives/a", {**DRIVE, "path_on_host": "/proc/version", "is_read_only": True},
     "Drive config error: Unable to create the virtio block device: Virtio backend error: Error manipulating the backing file: "
     "Invalid argument (os error 22) /proc/version"),
    ("/network-interfaces/a", {"iface_id": "a", "host_dev_name": "t", "guest_mac": "06-00-00-00-00-00"}, PARSE + "The provided MAC address is invalid."),
    ("/balloon", {"amount_mib": 0, "deflate_on_oom": True, "stats_polling_interval_s": None}, PARSE + "invalid type: null, expected u16"),
    ("/logger", {"level": "Loud"}, PARSE + "Invalid LevelFilter"),
    ("/logger", {"log_path": "/none/x"}, "Logger error: Failed to open target file: No such file or directory (os error 2)"),
    ("/metrics", {"metrics_path": "/none/x"}, "Metrics error: Cannot initialize the metrics system due to bad user input: "),
    ("/actions", {"action_type": "InstanceStop"}, PARSE + "unknown variant `InstanceStop`, expected one of `FlushMetrics`, `InstanceStart`, `SendCtrlAltDel`"),
    ("/nothing", {}, "Invalid request method and/or path: PUT nothing."),
])
def test_refuses(idle, path, body, fault):
    said = idle.api.fault("PUT", path, body)
    assert said.startswith(fault), said
    assert idle.api("GET", "/machine-config")[1] == facts.DEFAULT_MACHINE


def test_what_is_not_in_it(place):
    with Running(place) as standin:
        assert standin.api.fault("PUT", "/snapshot/create", {"mem_file_path": "/x", "snapshot_path": "/y"}) == "not in the stand-in: PUT /snapshot/create"


@pytest.mark.parametrize("body, fault", [
    ({"vcpu_count": None}, "Empty PATCH request."), ({"smt": None}, "Empty PATCH request."), ({}, "Empty PATCH request."),
    ({"vcpu_count": 0}, "Machine config error: The number of vCPUs must be greater than 0"),
])
def test_refuses_a_change(idle, body, fault):
    assert idle.api.fault("PATCH", "/machine-config", body).startswith(fault)


def test_nulls_are_written_out(idle):
    """The order does not matter, and settings of logger and metrics are not shown."""
    whole = idle.api("GET", "/vm/config")[1]
    assert whole["boot-source"] == {"kernel_image_path": "", "initrd_path": None, "boot_args": None}
    assert {key for key, value in whole.items() if value is None} >= {"logger", "metrics", "mmds-config", "memory-hotplug", "cpu-config"}
    assert whole["pmem"] == [] and whole["machine-config"] == facts.DEFAULT_MACHINE


def test_one_root_device(host, place):
    disks = [host.disk(f"{name}.ext4") for name in ("a", "b")]
    with Running(place) as standin:
        for name, disk, root in (("b", disks[1], False), ("a", disks[0], True)):
            standin.api.put(f"/drives/{name}", {"drive_id": name, "path_on_host": str(disk), "is_root_device": root, "is_read_only": False})
        assert standin.api.fault("PUT", "/drives/c", {"drive_id": "c", "path_on_host": str(disks[0]), "is_root_device": True}) == \
            "Drive config error: A root block device already exists!"
        drives = standin.api("GET", "/vm/config")[1]["drives"]
        assert [drive["drive_id"] for drive in drives] == ["a", "b"]


# --- HTTP -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw, said", [
    (b"BREW / HTTP/1.1\r\n\r\n", "Invalid HTTP Method: Unsupported HTTP method."),
    (b"DELETE /drives/a HTTP/1.1\r\n\r\n", "Invalid HTTP Method: Unsupported HTTP method."),
    (b"GET / HTTP/2\r\n\r\n", "Invalid HTTP Version: Unsupported HTTP version."),
    (b"GET /\r\n\r\n", "Invalid request."),
    (b"GET / HTTP/1.1\r\nnonsense\r\n\r\n", "Invalid header. Reason: Header is incorrectly formatted. Key: nonsense"),
    (b"PUT /vsock HTTP/1.1\r\nContent-Length: x\r\n\r\n", "Invalid header. Reason: Invalid value. Key:Content-Length; Value: x"),
    (b"PUT /vsock HTTP/1.1\r\nContent-Length: 51201\r\n\r\n", "Request payload with size 51201 is larger than the limit of 51200 allowed by server."),
    (b"GET /" + b"x" * 1100, "Invalid request."),
])
def test_bad_http(idle, raw, said):
    api = Api(idle.sock)
    api.socket.sendall(raw)
    status, text = api.receive()
    assert status == 400 and json.loads(text, strict=False)["error"] == said + "\nAll previous unanswered requests will be dropped."
    api.socket.close()


def test_http_in_pieces_and_many(idle):
    """A request byte by byte, two at once on one connection, a word before the body, and one connection too many."""
    api = Api(idle.sock)
    for byte in b"GET /version HTTP/1.1\r\n\r\n":
        api.socket.sendall(bytes([byte]))
    assert api.receive() == (200, json.dumps({"firecracker_version": facts.VERSION}, separators=(",", ":")))
    api.send("GET", "/")
    api.send("GET", "/version")
    assert [api.receive()[0], api.receive()[0]] == [200, 200]
    api.socket.sendall(b"PUT /entropy HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert api.receive()[0] == 100
    api.socket.sendall(b"{}")
    assert api.receive() == (204, "")
    assert api.fault("GET", "/", {}) == "GET request cannot have a body."
    others = [Api(idle.sock) for _ in range(8)]
    assert [other("GET", "/")[0] for other in others] == [200] * 8
    more = Api(idle.sock)
    assert more.receive()[0] == 503
    for other in [*others, api, more]:
        other.socket.close()


# --- the program ------------------------------------------------------------------------------------------------------


def run(place, *words, **values):
    return subprocess.run([make_launcher(place, **values), *words], capture_output=True, text=True, timeout=HANG_S, check=False)


def test_version_and_needs(place):
    needs = json.loads(run(place, "--standin-needs").stdout)
    assert all(Path(path).exists() for path in needs["readable"] if "seabios" not in path), needs
    for shown, values in ((facts.VERSION, {}), ("0.9.0", {"version": "0.9.0"})):
        said = run(place, "--version", **values).stdout
        assert said == f"Firecracker v{shown}\n\nmicroagent stand-in: {':'.join(needs['readable'])}\n", said


@pytest.mark.parametrize("words, code, shown", [
    (("--nothing",), 153, 'Error: ParseArguments(UnexpectedArgument("nothing"))\n'),
    (("--api-sock",), 153, 'Error: ParseArguments(MissingValue("api-sock"))\n'),
    (("--id", "a", "--id", "b"), 153, 'Error: ParseArguments(DuplicateArgument("id"))\n'),
    (("--no-api",), 153, 'Error: ParseArguments(MissingArgument("config-file"))\n'),
    (("--level", "Loud"), 152, 'Error: InvalidLogLevel(LevelFilterFromStrError("Loud"))\n'),
    (("--config-file", "/x"), 1, "Error: not in the stand-in: --config-file\n"),
])
def test_refuses_arguments(place, words, code, shown):
    done = run(place, *words)
    assert (done.returncode, done.stderr) == (code, shown)


def test_socket_in_use(place):
    place.mkdir()
    (place / "api.sock").touch()
    done = run(place, "--api-sock", str(place / "api.sock"))
    assert done.returncode == 1 and "Check that it is not already used." in done.stdout
    assert done.stderr == f'Error: RunWithApi(FailedToBindSocket("{place}/api.sock"))\n'


def test_log_file(place):
    place.mkdir()
    log = place / "log"
    with Running(place, ["--log-path", str(log), "--level", "Info", "--show-level"]) as standin:
        standin.api("GET", "/")
        assert ":INFO] Running Firecracker v" in log.read_text() and not standin.text()


# --- faults -----------------------------------------------------------------------------------------------------------


def test_faults(place):
    with Running(place) as standin:
        def ask(do, **more):
            set_values(place, faults={"GET /version": {"do": do, **more}})
            api = Api(standin.sock)
            api.send("GET", "/version")
            return api

        assert ask("slow", seconds=0.1).receive()[0] == 200
        assert ask("500").receive()[0] == 500
        assert ask("refuse").receive()[0] == 400
        for do, start_of in (("half", b"HTTP/1.1 200"), ("close", b"")):
            with pytest.raises(EOFError) as end:
                ask(do).receive()
            assert end.value.args[0].startswith(start_of)
        assert b"ELF garbage" in ask("garbage").socket.recv(100)
        hung = ask("hang")
        assert Api(standin.sock)("GET", "/")[0] == 200
        hung.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            hung.socket.recv(1)
        set_values(place, faults={"PUT /drives/{drive_id}": {"do": "500", "after": 1, "times": 1}})
        drive = {"drive_id": "a", "path_on_host": "/dev/null", "is_root_device": False}
        assert [standin.api("PUT", "/drives/a", drive)[0] for _ in range(3)] == [204, 500, 204]
        ask("die")
        assert standin.child.wait() == -signal.SIGKILL


def test_dies_after_the_start(host, place):
    with Running(place, faults={"boot": {"seconds": 0.2}}) as standin:
        configure(standin.api, elf_kernel(host), place)
        start(standin.api)
        assert standin.child.wait() == -signal.SIGKILL
        wait_until(lambda: not strays.running(place), "QEMU's end")


# --- the tables -------------------------------------------------------------------------------------------------------


def facts_of(description):
    """The part of a published description (src/firecracker/swagger/firecracker.yaml of its source) that api.json has:
    the shape of the API without its texts."""
    def body(operation):
        return next((p["schema"]["$ref"].rsplit("/", 1)[1] for p in operation.get("parameters", []) if p["in"] == "body"), None)

    def kept(schema, keys):
        return {key: schema[key] for key in keys if key in schema}
    calls = {f"{method.upper()} {path}": {"body": body(operation),
                                          "preBootOnly": "Pre-boot only" in operation["summary"] + operation.get("description", "")}
             for path, methods in description["paths"].items() for method, operation in methods.items()}
    definitions = {name: {**kept(schema, ("type", "required", "enum", "minimum", "maximum")),
                          **({"properties": {key: kept(said, ("type", "$ref", "enum", "minimum", "maximum"))
                                             for key, said in schema["properties"].items()}} if "properties" in schema else {})}
                   for name, schema in description["definitions"].items()}
    return {"version": description["info"]["version"], "calls": calls, "definitions": definitions}


API = json.loads((ROOT / "tests/standin/firecracker/api.json").read_text())


def test_the_api_is_as_it_was_published():
    """With the description of another version in MICROAGENT_FIRECRACKER_API this says what is new there."""
    named = os.environ.get("MICROAGENT_FIRECRACKER_API")
    if not named:
        pytest.skip("MICROAGENT_FIRECRACKER_API names no description of Firecracker's API")
    yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")
    assert facts_of(yaml.safe_load(Path(named).read_text())) == API


def test_calls_are_those_of_the_description():
    described = API["calls"]
    assert {call.name for call in facts.CALLS} | set(facts.ABSENT) == set(described)
    for call in facts.CALLS:
        assert described[call.name]["body"] == call.body, call.name
        if "{" not in call.path and call.when != facts.AFTER:
            assert not described[call.name]["preBootOnly"] or call.when == facts.BEFORE, call.name


def test_objects_are_those_of_the_description():
    definitions = API["definitions"]
    for name, fields in facts.OBJECTS.items():
        described = definitions[name]
        assert set(described["properties"]) == set(fields), name
        assert set(described.get("required", [])) == {key for key, field in fields.items() if field.required}, name
        for key, field in fields.items():
            said = described["properties"][key]
            if "$ref" in said:
                target = said["$ref"].rsplit("/", 1)[1]
                said = definitions[target]
                assert said["type"] != "object" or field.of == target, (name, key)
            assert said["type"] == field.kind, (name, key)
            words = ("Off" if word is False else word for word in said.get("enum", ()))  # as YAML 1.1 reads it
            assert tuple(words) == (field.words or ()), (name, key)
            assert (said.get("minimum"), said.get("maximum")) == (field.low, field.high), (name, key)
