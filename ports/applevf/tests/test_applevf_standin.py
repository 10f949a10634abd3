# SPDX-License-Identifier: MIT
"""Tests the stand-in for Apple's Virtualization.framework without our supervisor: it boots what we boot, keeps the
rules of the real one, and has the faults that it claims. All other tests on it are worth no more than this."""

import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import strays
from applevf import STANDIN, declared, header_text
from conftest import BUILD, HANG_S, copy_disk, default_kernel, image, wait_until

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the stand-in's machines are of x86-64, like the kernels of such a host")
PROGRAMS = BUILD / "standin" / "virtualization"
STOPPED, RUNNING, PAUSED, ERROR = 0, 1, 2, 3
CONFIGURATION, STATE, TRANSITION, NETWORK = 2, 3, 4, 7
WORDS = "console=hvc0 panic=-1"


def environment(settings):
    """GNUstep keeps some objects until the end, which is no leak of ours."""
    return {**os.environ, "MICROAGENT_STANDIN_VZ": str(settings), "ASAN_OPTIONS": "detect_leaks=0"}


class Client:
    """ports/applevf/standin/selftest: each line makes it do one thing."""

    def __init__(self, place, *words, before=(), fds=(), **settings):
        self.place, self.settings = place, place / "vz.json"
        self.record, self.answers, self.events = place / "record", queue.Queue(), queue.Queue()
        self.set(**settings)
        self.console = open(place / "console", "wb")
        self.process = subprocess.Popen([*before, PROGRAMS / "selftest", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=self.console, bufsize=1, env=environment(self.settings), pass_fds=fds)
        threading.Thread(target=self.read, daemon=True).start()

    def set(self, **settings):
        """Writes the file in one piece, since it is read at any time."""
        written = self.place / "vz.json.new"
        written.write_text(json.dumps({"record": str(self.record), "log": str(self.place / "log"), **settings}), encoding="utf-8")
        written.rename(self.settings)

    def read(self):
        for line in self.process.stdout:
            (self.events if line[0] == "!" else self.answers).put(line.strip())

    def answer(self):
        return self.answers.get(timeout=HANG_S)

    def event(self):
        return self.events.get(timeout=HANG_S)

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.answer()

    def execute(self, script):
        request = {"op": "exec", "payload": {"user": "root", "command": ["sh", "-c", script]}}
        return json.loads(self.ask("talk", json.dumps(request)).removeprefix("talk: "))

    def calls(self, name):
        return [call for call in map(json.loads, self.record.read_text().splitlines()) if call["call"] == name]

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(HANG_S)
        self.console.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.console.close()


def kernel_words(host, words=WORDS, kernel=None):
    kernel = (kernel or default_kernel(host))["path"]
    return [f"kernel={kernel}", f"initrd={kernel}.initrd", f"words={words}"]


def disk_of(host):
    disk = host.base / "root.ext4"
    copy_disk(image(host, "busybox")["path"], disk)
    disk.chmod(0o600)
    return disk


def programs(place, name):
    return [line for line in strays.running(place).values() if os.path.basename(line.split()[0]) == name]


def assert_nothing(place):
    assert not strays.processes(place) + strays.sockets(place) + strays.mounts(place)


def test_boots_and_keeps_the_rules(host, tuned_kernel):
    """Our kernel and init boot from a disk to hvc0 and vsock. Changes at run time are made by the calls that the
    documentation has for them. Every handler and delegate is called once, in a state that fits."""
    one, two = host.base / "one", host.base / "two"
    for shared in (one, two):
        shared.mkdir()
        (shared / "name").write_text(shared.name)
    with Client(host.base, *kernel_words(host, f"{WORDS} ip=dhcp", tuned_kernel), f"disk={disk_of(host)}", "net=nat", f"share={one}") as client:
        assert client.answer() == "validate: ok"
        assert client.ask("connect", 2222).startswith(f"connect: VZErrorDomain {STATE} ")  # nothing runs
        assert client.ask("change") == "change: ok"  # a device of the configuration, of which the machine has a copy
        assert client.ask("listen", 1024) == "listen: ok"
        assert client.ask("accepts", "no") == "accepts: 0"
        assert client.ask("state") == f"state: {STOPPED} 10000"
        assert client.ask("pause").startswith(f"pause: VZErrorDomain {TRANSITION} ")
        assert client.ask("requestStop").startswith(f"requestStop: VZErrorDomain {STATE} ")
        assert client.ask("start") == f"start: ok {RUNNING}"
        assert client.ask("start").startswith(f"start: VZErrorDomain {TRANSITION} ")
        assert client.event() == "!asked 1024 1"  # by the guest's init, and refused
        assert client.ask("connect", 2222) == "connect: ok 2222"
        about_running(client, two)
        assert client.ask("close") == "close: -1"
        assert client.ask("requestStop") == "requestStop: ok"
        assert client.event() == f"!guestDidStop {STOPPED}"
        assert client.ask("state") == f"state: {STOPPED} 10000"
        assert client.end() == 0
        states = [call["state"] for call in client.calls("state")]
        assert states == ["starting", "running", "pausing", "paused", "resuming", "running", "stopped"]
        assert client.events.empty()
    assert b"IP-Config: Complete" in (host.base / "console").read_bytes()
    assert (two / "made").exists() and not (one / "made").exists()
    assert_nothing(host.base)


def about_running(client, two):
    seen = client.execute("cat /sys/block/vda/serial; mkdir -p /mnt/s && mount -t virtiofs shares /mnt/s && cat /mnt/s/one/name;"
                          "touch /mnt/s/one/made; ip -4 addr show eth0 | grep -c 'inet 10.0.2'")
    assert seen["stdout"] == "rootfsone1\n" and "Read-only file system" in seen["stderr"]
    assert client.ask("share", two) == "share: 1"
    assert client.execute("ls /mnt/s; cat /mnt/s/two/name; touch /mnt/s/two/made")["stdout"] == "two\ntwo"
    for kind, carrier in (("none", "0"), ("nat", "1")):
        assert client.ask("attach", kind) == f"attach: {carrier}"
        # The guest gets an interrupt. The machine ends with an error when its card is gone.
        said = client.execute(f"cd /sys/class/net/eth0; while c=$(cat carrier) && [ $c != {carrier} ]; do sleep 0.05; done; echo $c")
        assert said["stdout"] == f"{carrier}\n"
    assert client.ask("attach", "bridged") == "attach: 1"  # it is lost at once, for lack of the entitlement
    assert client.event().startswith(f"!disconnected 0 VZErrorDomain {NETWORK} ")
    assert client.ask("balloon", 100_000_001) == f"balloon: {95 << 20}"
    assert client.ask("balloon", 1 << 40) == f"balloon: {256 << 20}"
    assert client.ask("pause") == f"pause: ok {PAUSED}"
    assert client.ask("state") == f"state: {PAUSED} 01010"
    assert client.ask("resume") == f"resume: ok {RUNNING}"
    assert client.execute("echo on")["stdout"] == "on\n"


def test_listeners_come_and_go(host):
    """A port without a listener refuses the guest. A port that accepts carries bytes. A port that was removed refuses
    again. A port of the guest without a listener refuses the host."""
    with Client(host.base, *kernel_words(host, f"{WORDS} microagent.root=ram")) as client:
        assert client.answer() == "validate: ok"
        for step in (("listen", 1024), ("unlisten", 1024), ("listen", 1024), ("accepts", "yes")):
            client.ask(*step)
        assert client.ask("start") == f"start: ok {RUNNING}"
        assert client.event() == "!asked 1024 1"
        assert "hello" in client.ask("hear")  # the first message of init on its control stream
        assert client.ask("connect", 4242).startswith(f"connect: NSPOSIXErrorDomain {104} ")  # ECONNRESET
        client.set(faults={"connect": {"port": 2222, "times": 1}})
        assert client.ask("connect", 2222).startswith("connect: NSPOSIXErrorDomain 104 ")
        assert client.ask("connect", 2222) == "connect: ok 2222"
        assert client.ask("stop") == f"stop: ok {STOPPED}"
        assert client.ask("talk", "") == "talk: closed"
        assert client.ask("start") == f"start: ok {RUNNING}"  # again, as a new run
        assert client.event() == "!asked 1024 1"
        client.set(faults={"die": {"at": "connect", "code": 1, "message": "Dead."}})
        client.ask("connect", 2222)
        assert client.event() == f"!didStopWithError {ERROR} VZErrorDomain 1 Dead."
        assert client.ask("stop").startswith(f"stop: VZErrorDomain {TRANSITION} ")
        assert client.end() == 0
    assert_nothing(host.base)


IN_A_NETWORK_WITH_A_BRIDGE = ("unshare", "-n", "sh", "-c", "ip link add br7 type bridge && ip addr add 10.99.0.1/24 dev br7 &&"
                              "ip link set br7 up && exec \"$@\"", "sh")


@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own is for root to make")
def test_joins_a_bridge(host):
    """The bridge is one of this host that the settings name for an interface of the Mac. A guest that resets ends its
    machine if the settings say so."""
    settings = {"entitlements": {"com.apple.vm.networking": True}, "reset": "stop",
                "interfaces": [{"identifier": "en7", "displayName": "Wire", "bridge": "br7"}]}
    words = [*kernel_words(host), f"disk={disk_of(host)}", "net=bridged"]
    with Client(host.base, *words, before=IN_A_NETWORK_WITH_A_BRIDGE, **settings) as client:
        assert client.answer() == "validate: ok"
        client.ask("listen", 1024)
        assert client.ask("start") == f"start: ok {RUNNING}"
        assert client.event() == "!asked 1024 1"
        assert client.ask("connect", 2222) == "connect: ok 2222"
        ping = "ping -c 1 -W 1 10.99.0.1 >&2; echo $?"
        assert client.execute(f"ip addr add 10.99.0.2/24 dev eth0; ip link set eth0 up; {ping}")["stdout"] == "0\n"
        assert client.ask("attach", "none") == "attach: 0"
        # The call is answered before the card has lost its link, and nobody is told of that.
        assert client.execute("while ping -c 1 -W 1 10.99.0.1 >&2; do :; done; echo lost")["stdout"] == "lost\n"
        assert client.ask("talk", json.dumps({"op": "exec", "payload": {"user": "root", "command": ["reboot", "-f"]}})) == "talk: closed"
        assert client.event() == f"!guestDidStop {STOPPED}"
        assert client.end() == 0
    assert_nothing(host.base)


def test_a_share_comes_and_goes(host):
    """A directory is put on a device that has none, and replaces one that the guest has mounted or not."""
    for name in ("one", "two"):
        (host.base / name).mkdir()
        (host.base / name / "name").write_text(name)
    mount = "mkdir -p /mnt/s; until mount -t virtiofs shares /mnt/s 2>&-; do sleep 0.1; done; cat /mnt/s/*name /mnt/s/*/name 2>&-"
    with Client(host.base, *kernel_words(host), f"disk={disk_of(host)}", "share=") as client:
        assert client.answer() == "validate: ok"
        client.ask("listen", 1024)
        assert client.ask("start") == f"start: ok {RUNNING}"
        assert client.event() == "!asked 1024 1"
        assert client.ask("connect", 2222) == "connect: ok 2222"
        assert client.execute("mkdir -p /mnt/s; mount -t virtiofs shares /mnt/s")["exit_code"] != 0
        assert client.ask("single", host.base / "one") == "share: 1"
        assert client.execute(mount)["stdout"] == "one"
        assert client.execute("umount /mnt/s")["exit_code"] == 0
        assert client.ask("share", host.base / "two") == "share: 1"
        assert client.execute(f"while ! grep -qs . /mnt/s/two/name; do umount /mnt/s 2>&-; {mount}; done")["stdout"].endswith("two")
        assert client.ask("single", "") == "share: 0"
        wait_until(lambda: not programs(host.base, "virtiofsd"), "virtiofsd to end", 60)
        assert client.execute("echo on")["stdout"] == "on\n"
        assert client.ask("stop") == f"stop: ok {STOPPED}"
        assert client.end() == 0
    assert "stand-in" not in (host.base / "console").read_text(errors="replace")
    assert_nothing(host.base)


# --- what our supervisor does not use, and other clients do -------------------------------------------------------------


@pytest.fixture
def frames():
    """Returns two ends of a connected datagram socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.settimeout(HANG_S)
    with ours, theirs:
        yield ours, theirs


ARP = bytes.fromhex("ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002")


def test_devices_of_other_clients(host, frames, tuned_kernel):
    """The console goes to a file behind its contents. Frames go both ways through a socket. A disk is behind a USB
    controller, there is a screen, and observers of the state get each change."""
    ours, theirs = frames
    console, disk = host.base / "serial", host.base / "usb.img"
    console.write_text("before\n")
    disk.write_bytes(bytes(1 << 20))
    words = [*kernel_words(host, WORDS, tuned_kernel), f"append={console}", f"frames={theirs.fileno()},4000",
             f"disk={disk_of(host)}", f"usb={disk}", "screens=1"]
    with Client(host.base, *words, fds=[theirs.fileno()]) as client:
        assert client.answer() == "validate: ok"
        client.ask("listen", 1024)
        assert client.ask("observe", "state") == "observe: ok"
        assert client.ask("start") == f"start: ok {RUNNING}"
        assert [client.event() for _ in range(3)] == ["!observed state 4 1", "!observed state 1 1", "!asked 1024 1"]
        assert client.ask("connect", 2222) == "connect: ok 2222"
        seen = client.execute("cat /sys/class/net/eth0/mtu; cat /sys/bus/pci/devices/*/device; ip link set eth0 up")["stdout"].split()
        assert seen[0] == "4000" and {"0x1050", "0x000d"} <= set(seen)  # virtio-gpu and QEMU's xHCI
        assert len(ours.recv(65536)) >= 14  # the guest sends a frame by itself when its card is up
        ours.send(ARP.ljust(60, b"\0"))
        assert client.execute("cd /sys/class/net/eth0/statistics; until [ $(cat rx_packets) -gt 0 ]; do sleep 0.05; done; "
                              "cat rx_bytes")["stdout"] == "60\n"
        assert client.ask("stop") == f"stop: ok {STOPPED}"
        assert [client.event() for _ in range(2)] == ["!observed state 7 1", "!observed state 0 1"]
        assert client.ask("unobserve", "state") == "unobserve: ok"
        assert client.ask("start") == f"start: ok {RUNNING}" and client.event() == "!asked 1024 1"
        assert client.ask("stop") == f"stop: ok {STOPPED}"
        assert client.end() == 0
    text = console.read_text(errors="replace")
    assert text.startswith("before\n") and text.count("Run /init") == 2
    assert_nothing(host.base)


@pytest.mark.skipif(os.geteuid() != 0, reason="a loop device is for root to make")
def test_a_block_device_of_the_host(host):
    """The guest writes to one disk. It finds the NVMe controller of another one, for which our kernels have no driver."""
    backing = [host.base / "one", host.base / "two"]
    loops = []
    try:
        for path in backing:
            path.write_bytes(bytes(1 << 20))
            loops.append(subprocess.run(["losetup", "--find", "--show", path], capture_output=True, text=True, check=True).stdout.strip())
        with open(loops[0], "r+b") as one, open(loops[1], "r+b") as two:
            fds = [one.fileno(), two.fileno()]
            with Client(host.base, *kernel_words(host), f"disk={disk_of(host)}", f"block={fds[0]}", f"nvme={fds[1]}", fds=fds) as client:
                assert client.answer() == "validate: ok"
                client.ask("listen", 1024)
                assert client.ask("start") == f"start: ok {RUNNING}"
                assert client.event() == "!asked 1024 1"
                assert client.ask("connect", 2222) == "connect: ok 2222"
                done = client.execute("cat /sys/bus/pci/devices/*/class; echo written | dd of=/dev/vdb conv=fsync")
                assert done["exit_code"] == 0 and "0x010802" in done["stdout"].split()
                assert client.ask("stop") == f"stop: ok {STOPPED}"
                assert client.end() == 0
            assert os.pread(fds[0], 8, 0) == b"written\n"
    finally:
        for loop in loops:
            subprocess.run(["losetup", "--detach", loop], check=True)
    assert_nothing(host.base)


def test_what_is_no_block_device(host):
    for value, fds, reason in (("0", [], "5 Invalid disk image. The file handle is not one of a block device."),
                               ("nbd:///disk", [], "2 Invalid virtual machine configuration. The URL is not one of a network block device."),
                               ("http://localhost/", [], "2 Invalid virtual machine configuration. The URL is not one of a network block device.")):
        with Client(host.base, "kernel=/nonexistent", f"nvme={value}", fds=fds) as client:
            assert client.answer() == f"block: VZErrorDomain {reason}"
            assert client.process.wait(HANG_S) == 1


def test_a_serial_file_is_emptied_or_refused(host):
    console = host.base / "serial"
    console.write_text("before\n")
    for words, answer in (([f"append={console}"], "validate: ok"), ([f"serial={console}"], "validate: ok"),
                          (["serial=/nonexistent/serial"], "serial: VZErrorDomain 1 Internal Virtualization error. "
                           "The serial port’s file cannot be opened.")):
        with Client(host.base, "kernel=/nonexistent", *words) as client:
            assert client.answer() == answer
            client.end()
        assert console.read_text() == ("before\n" if words[0].startswith("append") else "")


def test_frames_need_a_connected_datagram_socket(host, frames):
    """The two exceptions are the real framework's, as its users report them."""
    method = "reason: *** -[VZFileHandleNetworkDeviceAttachment initWithFileHandle:]: "
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as alone:
        with open("/dev/null", "rb") as file:
            for other, reason in ((file, "Failed to get file descriptor properties: Socket operation on non-socket"),
                                  (stream, "The fileHandle must be a datagram socket")):
                with Client(host.base, "kernel=/nonexistent", f"frames={other.fileno()}", fds=[other.fileno()]) as client:
                    assert client.process.wait(HANG_S) == 1
                assert f"NSInvalidArgumentException, {method}{reason}" in (host.base / "console").read_text()
        invalid = f"validate: VZErrorDomain {CONFIGURATION} Invalid virtual machine configuration. "
        mtu = invalid + "The maximum transmission unit is out of range."
        for other, more, answer in ((alone, "", invalid + "The network attachment’s socket is not connected."), (frames[1], "", "validate: ok"),
                                    (frames[1], ",1499", mtu), (frames[1], ",65536", mtu), (frames[1], ",65535", "validate: ok")):
            with Client(host.base, "kernel=/nonexistent", f"frames={other.fileno()}{more}", fds=[other.fileno()]) as client:
                assert client.answer() == answer


def test_a_console_port_has_a_possible_number(host):
    with Client(host.base, "kernel=/nonexistent", "port=512") as client:
        assert client.process.wait(HANG_S) == 1
    assert "NSInvalidArgumentException, reason: The port index 512 is out of range." in (host.base / "console").read_text()


def test_a_store_is_not_written_over(host):
    with Client(host.base, f"efi={host.base}/vz.json") as client:
        assert client.answer() == "efi: VZErrorDomain 1 Internal Virtualization error. Failed to create the EFI variable store."
        assert client.process.wait(HANG_S) == 1
    assert json.loads((host.base / "vz.json").read_text())


def test_a_run_leaves_nothing_in_the_process(host):
    """However often a machine is started, no descriptor and no thread is left."""
    def held_by(pid):
        return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))
    with Client(host.base, *kernel_words(host), "net=nat", f"share={host.base}") as client:
        assert client.answer() == "validate: ok"
        assert client.ask("state") == f"state: {STOPPED} 10000"  # when it is made, nothing of that is open any more
        before = held_by(client.process.pid)
        for _ in range(3):
            assert client.ask("start") == f"start: ok {RUNNING}"
            assert held_by(client.process.pid) > before
            assert client.ask("stop") == f"stop: ok {STOPPED}"
        wait_until(lambda: held_by(client.process.pid) == before, "the last run to be forgotten", 60)
        assert client.end() == 0
    assert_nothing(host.base)


REFUSED = [
    ([], {"entitlements": {"com.apple.security.virtualization": False}}, "The process doesn’t have the “com.apple.security.virtualization” entitlement."),
    (["net=bridged"], {}, "Using VZBridgedNetworkDeviceAttachment in a process that lacks the “com.apple.vm.networking” entitlement."),
    ([], {"supported": False}, "Virtualization is not available on this hardware."),
    (["memory=100000000"], {}, "The memory size is not a multiple of 1 megabyte."),
    (["memory=1048576"], {}, "The memory size is out of range."),
    (["share=/nonexistent"], {}, "The directory “/nonexistent” doesn’t exist."),
    (["nvme=nbd://localhost/disk", "platform=mac"], {}, "A Linux boot loader needs a generic platform."),
    (["nvme=nbd://localhost/disk"], {}, "The stand-in has no network block devices."),
    (["nvme=nbd+unix:///disk?socket=/run/disk"], {}, "The stand-in has no network block devices."),
    (["screens=2"], {}, "Number of scanouts is greater than the maximum number supported."),
    (["efi={}/store", "platform=mac"], {}, "An EFI boot loader needs a generic platform."),
    (["efi={}/store"], {}, "The stand-in has no EFI firmware."),
    (["sound=yes"], {}, "The stand-in has no audio and no console devices."),
    (["port=1,1"], {}, "The maximum port count is less than the number of ports."),
    (["port=1"], {}, "The stand-in has no audio and no console devices."),
]


@pytest.mark.parametrize("words, settings, reason", REFUSED, ids=[" ".join([*words, reason]) for words, _, reason in REFUSED])
def test_refuses_a_configuration(host, words, settings, reason):
    with Client(host.base, "kernel=/nonexistent", *(word.format(host.base) for word in words), **settings) as client:
        assert client.answer() == f"validate: VZErrorDomain {CONFIGURATION} Invalid virtual machine configuration. {reason}"
        assert client.process.wait(HANG_S) == 1


def test_takes_a_bridge_with_the_entitlement(host):
    entitlements = {"com.apple.vm.networking": True, "com.example": "text"}
    with Client(host.base, "kernel=/nonexistent", "net=bridged", entitlements=entitlements) as client:
        assert client.answer() == "validate: ok"
        for name, held in (("com.apple.vm.networking", 1), ("com.apple.security.virtualization", 1), ("com.example", 0), ("com.none", 0)):
            assert client.ask("entitlement", name) == f"entitlement: {held}"
        assert client.ask("start") == f"start: VZErrorDomain 1 Internal Virtualization error. The virtual machine failed to start. {ERROR}"
        assert client.ask("state") == f"state: {ERROR} 10000"
        assert client.end() == 0


def test_another_queue_ends_the_process(host):
    with Client(host.base, "kernel=/nonexistent") as client:
        assert client.answer() == "validate: ok"
        client.process.stdin.write("wrong-queue\n")
        assert client.process.wait(HANG_S) == -signal.SIGABRT
    assert (host.base / "console").read_text() == ("stand-in: assertion of Virtualization failed: -[VZVirtualMachine "
                                                   "startWithCompletionHandler:] was called on another queue than the virtual machine's, \"selftest\"\n")


FAULTS = {
    "start": ({"start": {"code": 6, "message": "No.", "times": 1}}, "start", "start: VZErrorDomain 6 No. 3", None),
    "death": ({"die": {"after_ms": 1, "message": "Dead."}}, "start", "start: ok 1", "!didStopWithError 3 VZErrorDomain 1 Dead."),
    "network": ({"network": {"after_ms": 1, "message": "Lost."}}, "start", "start: ok 1", "!disconnected 0 VZErrorDomain 7 Lost."),
    "qemu": ({}, "start", "start: VZErrorDomain 1 Internal Virtualization error. The virtual machine failed to start. 3", None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(host, name):
    faults, word, answer, event = FAULTS[name]
    other = {"qemu": "/bin/false"} if name == "qemu" else {}
    with Client(host.base, *kernel_words(host), "net=nat", faults=faults, **other) as client:
        assert client.answer() == "validate: ok"
        assert client.ask(word) == answer
        if event:
            assert client.event() == event
        assert client.end() == 0
    assert_nothing(host.base)


def test_the_machine_dies_with_its_holder(host):
    with Client(host.base, *kernel_words(host), f"share={host.base}") as client:
        assert client.answer() == "validate: ok"
        assert client.ask("start") == f"start: ok {RUNNING}"
        assert programs(host.base, "qemu-system-x86_64") and programs(host.base, "virtiofsd")
        client.process.kill()
    assert_nothing(host.base)


def test_the_keeper_takes_everything_with_it(host):
    """However the process ends, its client sees a machine that stopped by itself."""
    with Client(host.base, *kernel_words(host), f"share={host.base}") as client:
        assert client.answer() == "validate: ok"
        assert client.ask("start") == f"start: ok {RUNNING}"
        pid = next(pid for pid, line in strays.running(host.base).items() if "vz-keeper" in line and "--lifeline" in line)
        os.kill(pid, signal.SIGKILL)
        assert client.event().startswith(f"!didStopWithError {ERROR} VZErrorDomain 1 ")
        assert client.end() == 0
    assert_nothing(host.base)


# --- macOS guests -----------------------------------------------------------------------------------------------------


def install_mac(place, magic=b"PK\003\004", **settings):
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "disk.img").write_bytes(bytes(1 << 20))
    (place / "restore.ipsw").write_bytes(magic)
    (place / "vz.json").write_text(json.dumps({"macMinimumMemory": 256 << 20, **settings}))
    return subprocess.run([PROGRAMS / "selftest_mac", place, place / "restore.ipsw"], capture_output=True, text=True, check=False,
                          timeout=HANG_S, env=environment(place / "vz.json"))


def test_installs_a_macos_guest(host):
    place = host.base / "mac"
    done = install_mac(place, restoreImage={"buildVersion": "23F79"})
    assert done.stdout.splitlines() == ["build 23F79", "without: Invalid virtual machine configuration. A macOS boot loader needs a Mac platform.",
                                        "installed 1.00", f"state {RUNNING}"], done.stderr
    assert (place / "disk.img").read_bytes().startswith(b"installed standin-model 23F79")
    for settings, answer in (({"magic": b"7z"}, "restore image: 10005 The restore image is invalid."),
                             ({"restoreImage": {"supported": False}}, "not supported: 0"),
                             ({"macModelSupported": False}, "validate: 2 Invalid virtual machine configuration. The hardware model is not supported"),
                             ({"faults": {"install": {"message": "Half."}}}, "install: 10007 Half."),
                             ({"macLimit": 0}, "start: 6 The number of virtual machines exceeds the limit.")):
        failed = install_mac(place, **settings)
        assert failed.returncode == 1 and failed.stdout.splitlines()[-1].startswith(answer), failed.stdout
    assert_nothing(host.base)


# --- what it is made of -----------------------------------------------------------------------------------------------


def test_each_selector_is_cited():
    """The headers declare what the table has, and the table has a page for each."""
    headers = declared(header_text())
    rows = re.findall(r"^\| (VZ\w+) \| [\w ]* \| [\d.]+ \| (.*) \|$", (STANDIN / "facts.md").read_text(), re.M)
    assert {name: set(re.findall(r"`([^`]+)`", members)) for name, members in rows} == headers
