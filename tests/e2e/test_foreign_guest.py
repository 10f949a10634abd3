# SPDX-License-Identifier: MIT
"""Tests a guest on machines that no supervisor of this host makes: as Apple's framework gives them (no serial port,
hvc0 as console, a kernel that asks for its address, ip=dhcp), and as Hyper-V does (disks on a SCSI controller, known
by their order). The test starts QEMU by hand, and is the host."""

import json
import shutil
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

import test_arm64
from conftest import BIN, HANG_S, make_host, pid_lines, wait_until
from test_vsockd import tsc_khz

CONTROL, AGENT = 1024, 2222
arm64_kernel, arm64_image = test_arm64.arm64_kernel, test_arm64.arm64_image  # fixtures
CONFIG = {"type": "config", "format": 1, "hostname": "w", "attach": False, "disks": [], "publishes": [],
          "realtimeNs": 0, "resultStreamBytes": 0}


class Frames:
    def __init__(self, stream):
        self.stream = stream
        stream.settimeout(HANG_S)

    def exactly(self, count):
        got = b""
        while len(got) < count:
            chunk = self.stream.recv(count - len(got))
            assert chunk, "the connection ends"
            got += chunk
        return got

    def read(self):
        return json.loads(self.exactly(struct.unpack("!I", self.exactly(4))[0]))

    def write(self, message):
        data = json.dumps(message).encode()
        self.stream.sendall(struct.pack("!I", len(data)) + data)


QEMU = {
    "amd64": ["qemu-system-x86_64", "-machine", "q35,memory-backend=mem", "-cpu", "max,-erms,-fsrm", "-append",
              "console=hvc0 quiet panic=-1 tsc=reliable no_timer_check tsc_early_khz=%d " % tsc_khz()],
    "arm64": ["qemu-system-aarch64", "-machine", "virt,gic-version=3,memory-backend=mem", "-cpu", "neoverse-n1", "-append",
              "console=hvc0 quiet panic=-1 "],
}


class Guest:
    """Starts a guest with only a virtio console. `devices` and `line` are the differences of the machine."""

    def __init__(self, base, kernel, devices, line):
        self.base, self.said = base, b""
        self.vsock, self.control = base / "vsock.sock", socket.socket(socket.AF_UNIX)
        self.control.bind(f"{self.vsock}_{CONTROL}")
        self.control.listen(1)
        self.control.settimeout(HANG_S)
        self.daemon = subprocess.Popen([BIN / "microagent-vsockd", "--vhost-socket", base / "vhost", "--vsock-socket",
                                        self.vsock, "--host-port", str(CONTROL), "--label", str(base)])
        wait_until(lambda: (base / "vhost").exists() and self.vsock.exists(), "the device's sockets")
        *qemu, words = QEMU[kernel["architecture"]]
        ours, theirs = socket.socketpair()
        self.console = ours
        self.qemu = subprocess.Popen(
            [*qemu, words + line, "-name", str(base), "-accel", "tcg,thread=single", "-m", "256", "-object",
             "memory-backend-memfd,id=mem,size=256M,share=on", "-nodefaults", "-no-user-config", "-display", "none",
             "-no-reboot", "-kernel", kernel["path"], "-initrd", kernel["initrd"], "-chardev", f"socket,id=vs,path={base / 'vhost'}", "-device", "vhost-user-vsock-pci,chardev=vs",
             "-chardev", f"socket,id=console,fd={theirs.fileno()}", "-device", "virtio-serial-pci,id=console0",
             "-device", "virtconsole,bus=console0.0,chardev=console", *devices],
            stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        theirs.close()

    def accept_control(self, **config):
        """Returns the messages before ready."""
        self.stream = Frames(self.control.accept()[0])
        assert self.stream.read()["type"] == "hello"
        self.stream.write({**CONFIG, **config})
        said = list(iter(self.stream.read, {"type": "ready", "format": 1}))
        assert {message["type"] for message in said} == ({"listening"} if config.get("publishes") else set()), said
        return said

    def sh(self, script):
        with socket.socket(socket.AF_UNIX) as dial:
            dial.settimeout(HANG_S)
            dial.connect(str(self.vsock))
            dial.sendall(b"CONNECT %d\n" % AGENT)
            agent = Frames(dial)
            while agent.exactly(1) != b"\n":
                pass
            dial.sendall(json.dumps({"op": "exec", "payload": {"command": ["sh", "-c", script], "user": "root"}}).encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                answer += agent.exactly(1)
        answer = json.loads(answer)
        assert answer["exit_code"] == 0, answer
        return answer["stdout"]

    def await_console(self, text):
        """Returns the console's output since the last time, up to the text."""
        self.console.settimeout(HANG_S)
        while text not in self.said:
            chunk = self.console.recv(4096)
            assert chunk, self.said[-2000:]
            self.said += chunk
        before, _, self.said = self.said.partition(text)
        return before

    def power_off(self):
        self.stream.write({"type": "power", "action": "off"})
        assert self.qemu.wait(timeout=HANG_S) == 0

    def close(self):
        self.qemu.kill()
        self.qemu.wait()
        assert self.daemon.wait(timeout=HANG_S) == 0
        self.control.close()
        self.console.close()


@pytest.fixture
def guest():
    base = Path(tempfile.mkdtemp(prefix="e-"))
    images = {i["name"]: i["path"] for i in make_host(base / "host").json("image", "list")["images"]}
    made = []

    def make(kernel, devices, line):
        rootfs = images["busybox" if kernel["architecture"] == "amd64" else "busybox-arm64"]
        made.append(Guest(base, kernel, [w.replace("ROOTFS", rootfs) for w in devices], line))
        return made[-1]
    yield make
    for it in made:
        it.close()
    assert not pid_lines(str(base))
    shutil.rmtree(base)


VIRTIO_DISK = ["-drive", "if=none,id=root,file=ROOTFS,format=raw,snapshot=on,file.locking=off",
               "-device", "virtio-blk-pci,drive=root,serial=rootfs"]


def card(base):
    dump = base / "card.pcap"
    return dump, ["-netdev", "user,id=net,domainname=lan.example", "-device",
                  "virtio-net-pci,netdev=net,romfile=", "-object", f"filter-dump,id=dump,netdev=net,file={dump}"]


def discoveries(dump):
    """Returns the DHCP transactions that have begun, in the order of their packets."""
    data, at, found = dump.read_bytes(), 24, []
    while at + 16 <= len(data):
        size = struct.unpack_from("=I", data, at + 8)[0]
        packet = data[at + 16:at + 16 + size]
        at += 16 + size
        if packet[12:14] == b"\x08\x00" and packet[23] == 17 and packet[36:38] == struct.pack("!H", 67) \
           and packet[42 + 4:42 + 8] not in found:
            found.append(packet[42 + 4:42 + 8])
    return found


@pytest.mark.parametrize("which", ["tuned_kernel", "debian_kernel"])
@pytest.mark.parametrize("line", ["ip=dhcp", ""])
def test_an_address_by_dhcp(guest, request, tmp_path, which, line):
    """If the kernel has asked, nobody asks again, and its name servers are used. If a kernel cannot ask (Debian's), or
    is not told to, the agent asks."""
    dump, network = card(tmp_path)
    it = guest(request.getfixturevalue(which), [*VIRTIO_DISK, *network], line)
    it.accept_control(network={"dhcp": True})
    assert "inet 10.0.2.15/24" in it.sh("ip addr show eth0")
    assert "default via 10.0.2.2" in it.sh("ip route")
    by_kernel = which == "tuned_kernel" and bool(line)
    names = "nameserver 10.0.2.3\noptions edns0\n"
    assert it.sh("cat /etc/resolv.conf") == ("search lan.example\n" if by_kernel else "") + names
    assert it.sh("cat /sys/class/tty/console/active") == "hvc0\n"
    it.power_off()
    assert len(discoveries(dump)) == 1


def test_no_address_that_nobody_asked_for(guest, tuned_kernel, tmp_path):
    """A kernel that could ask, and is not told to, sends nothing and waits for nothing."""
    dump, network = card(tmp_path)
    it = guest(tuned_kernel, [*VIRTIO_DISK, *network], "")
    it.accept_control()
    assert it.sh("cat /proc/net/pnp") == "#MANUAL\n"
    assert "inet " not in it.sh("ip addr show eth0")
    it.power_off()
    assert discoveries(dump) == []


def test_a_machine_of_arm64(guest, arm64_kernel, arm64_image, tmp_path):
    """As on Apple's own processors, except for the implementation of the devices."""
    dump, network = card(tmp_path)
    it = guest(arm64_kernel, [*VIRTIO_DISK, *network], "ip=dhcp -- console")
    it.accept_control(network={"dhcp": True})
    assert it.sh("uname -m; cat /etc/resolv.conf") == "aarch64\nnameserver 10.0.2.3\noptions edns0\n"
    it.await_console(b"# ")
    it.console.sendall(b"echo here=$(tty)=$(id -u)=\n")
    it.await_console(b"here=/dev/hvc0=0=")
    it.power_off()
    assert len(discoveries(dump)) == 1


@pytest.mark.parametrize("which", ["tuned_kernel", "debian_kernel"])
def test_a_shell_on_hvc0(guest, request, which):
    it = guest(request.getfixturevalue(which), VIRTIO_DISK, "-- console")
    it.accept_control()
    it.await_console(b"# ")
    it.console.sendall(b"echo here=$(tty)=$(id -u)=\n")
    it.await_console(b"here=/dev/hvc0=0=")
    it.await_console(b"# ")
    it.console.sendall(b"echo sl''eeps; sleep 1000; echo af''ter\n")
    it.await_console(b"sleeps")
    wait_until(lambda: "sleep 1000" in it.sh("ps"), "what was typed")
    it.console.sendall(b"\x03")
    it.await_console(b"# ")
    it.console.sendall(b"echo sti''ll\n")
    assert b"after" not in it.await_console(b"still")
    it.power_off()


@pytest.mark.parametrize("which", ["tuned_kernel", "debian_kernel"])
def test_the_last_words_are_on_hvc0(guest, request, tmp_path, which):
    """In Debian's kernel the console's driver is a module, which was not there when PID 1 began."""
    zeros = tmp_path / "zeros"
    zeros.write_bytes(bytes(1 << 20))
    it = guest(request.getfixturevalue(which), [w.replace("ROOTFS", str(zeros)) for w in VIRTIO_DISK], "")
    it.await_console(b"microagent-init: cannot mount the root disk /dev/vda")
    assert it.qemu.wait(timeout=HANG_S) == 0


@pytest.mark.parametrize("which", ["tuned_kernel", "debian_kernel"])
def test_servers_of_published_ports_are_told(guest, request, which):
    """This works with Debian's kernel too, which has inet_diag as a missing module and reports by /proc/net."""
    it = guest(request.getfixturevalue(which), VIRTIO_DISK, "")
    assert it.accept_control(publishes=[{"guestPort": 8080}])[-1]["ports"] == []
    serve = "(httpd -f -p %s & echo $! > /tmp/pid-%d) > /dev/null 2>&1"
    it.sh(serve % ("127.0.0.1:8081", 8081))  # nobody has asked for that
    it.sh(serve % ("127.0.0.1:8080", 8080))
    assert it.stream.read() == {"type": "listening", "format": 1, "ports": [8080]}
    it.sh("kill $(cat /tmp/pid-8080)")
    assert it.stream.read()["ports"] == []
    it.stream.write({"type": "publish", "format": 1, "publishes": [{"guestPort": 8081}]})
    assert it.stream.read()["ports"] == [8081] and it.stream.read()["type"] == "published"
    it.sh(serve % ("[::]:8080", 8080))
    assert it.stream.read()["ports"] == [8080, 8081]
    it.stream.write({"type": "unpublish", "format": 1, "publishes": [{"guestPort": 8081}]})
    it.sh("kill $(cat /tmp/pid-8081); kill $(cat /tmp/pid-8080)")
    assert it.stream.read()["ports"] == []
    it.power_off()


def test_disks_on_a_scsi_controller(guest, tuned_kernel, tmp_path):
    """The order is that of the units, whichever disk was found first."""
    data = tmp_path / "data"
    with open(data, "wb") as out:
        out.truncate(8 << 20)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-F", data], check=True)
    it = guest(tuned_kernel, [
        "-device", "virtio-scsi-pci,id=scsi",
        "-drive", f"if=none,id=data,file={data},format=raw", "-device", "scsi-hd,bus=scsi.0,scsi-id=0,lun=1,drive=data",
        "-drive", "if=none,id=root,file=ROOTFS,format=raw,snapshot=on,file.locking=off",
        "-device", "scsi-hd,bus=scsi.0,scsi-id=0,lun=0,drive=root"], "microagent.disks=rootfs,disk-0")
    it.accept_control(disks=[{"serial": "disk-0", "name": "data", "mountpoint": "/data", "mode": "rw"}])
    mounted = dict(reversed(l.split()[:2]) for l in it.sh("cat /proc/mounts").splitlines())
    assert mounted["/"] != mounted["/data"] and {mounted["/"], mounted["/data"]} == {"/dev/sda", "/dev/sdb"}
    it.sh("echo kept > /data/file")
    it.power_off()
    assert subprocess.run(["debugfs", "-R", "cat /file", data], check=True, capture_output=True).stdout == b"kept\n"


def test_sockets_of_hyper_v_can_have_their_place(guest, tuned_kernel):
    """If both are built in, the first one would keep the other out. The kernel's command line can forbid it."""
    it = guest(tuned_kernel, VIRTIO_DISK, "initcall_blacklist=virtio_vsock_init -- console")
    it.await_console(b"# ")
    it.console.sendall(b"cd /sys/bus/virtio/drivers; echo drivers=$(echo *) e''nd\n")
    drivers = it.await_console(b" end\r\n").split(b"drivers=")[-1]
    assert b"virtio_blk" in drivers and b"vsock" not in drivers
