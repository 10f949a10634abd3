# SPDX-License-Identifier: MIT
"""The guest: QEMU's microvm (TCG) in the place of Hyper-V, with vsockd as its vsock device. The kernel's command line
is the document's. Before it stand the words that a kernel needs under TCG (src/backend/qemu/command_line.c), which
belong to this machine and not to the document. The disks are virtio, in the order of controllers and LUNs: /dev/vda
where Hyper-V has /dev/sda. With the setting `scsi` they are SCSI, for kernels that have virtio-scsi. The word that
disables virtio's sockets in favour of Hyper-V's is left out, since the guest has virtio's here."""

import contextlib
import ctypes
import json
import os
import socket
import threading

import processes

TCG_WORDS = "tsc=reliable no_timer_check init_on_alloc=1"
WITHOUT_VIRTIO_SOCKETS = "initcall_blacklist=virtio_vsock_init"
GUEST_CID = 3


def tsc_khz(library):
    loaded = ctypes.CDLL(str(library))
    loaded.standin_tsc_khz.restype = ctypes.c_uint32
    return loaded.standin_tsc_khz()


def ordered(controllers):
    """Returns (controller, LUN, attachment): controllers in the order of the document, LUNs by number."""
    for name, controller in controllers.items():
        for lun, disk in sorted(controller.get("Attachments", {}).items(), key=lambda item: int(item[0])):
            yield name, int(lun), disk


def block_words(node, disk):
    access = "on" if disk.read_only else "off"
    path = str(disk.path).replace(",", ",,")
    return ["-blockdev", f"driver=file,node-name={node}-file,filename={path},read-only={access},locking=off",
            "-blockdev", f"driver={disk.driver},node-name={node},file={node}-file,read-only={access}{disk.options}"]


def disk_words(disks, scsi):
    words = ["-device", "virtio-scsi-device,id=scsi"] if scsi and disks else []
    for number, disk in enumerate(disks):
        node = f"disk{number}"
        device = f"scsi-hd,bus=scsi.0,scsi-id=0,lun={number}" if scsi else "virtio-blk-device"
        words += [*block_words(node, disk), "-device", f"{device},id={node}-dev,drive={node},werror=report,rerror=report"]
    return words


def qemu_words(settings, plan, fds):
    boot, memory = plan.boot, f"{plan.memory_mb}M"
    line = " ".join(word for word in boot.get("KernelCmdLine", "").split() if word != WITHOUT_VIRTIO_SOCKETS)
    append = f"{TCG_WORDS} tsc_early_khz={plan.khz} {line}"
    words = [settings["qemu"], "-name", "guest=" + plan.label.replace(",", ",,"), "-nodefaults", "-no-user-config", "-display", "none",
             "-machine", "microvm,acpi=on,pit=on,pic=on,rtc=on,memory-backend=ram", "-accel", "tcg,tb-size=64,thread=single",
             "-cpu", "max,-erms,-fsrm", "-smp", plan.processors, "-m", memory,
             "-object", f"memory-backend-memfd,id=ram,size={memory},share=on", "-bios", "qboot.rom",
             "-global", "virtio-mmio.force-legacy=false",
             "-chardev", f"socket,id=qmp,fd={fds['monitor']}", "-mon", "chardev=qmp,mode=control",
             "-chardev", f"socket,id=serial,fd={fds['serial']}", "-serial", "chardev:serial",
             "-chardev", f"socket,id=vsock,fd={fds['vhost']}", "-device", "vhost-user-vsock-device,chardev=vsock",
             "-object", "rng-builtin,id=entropy", "-device", "virtio-rng-device,rng=entropy",
             *disk_words(plan.disks, settings["scsi"]), "-kernel", plan.kernel, "-append", append]
    if plan.stop_on_reset:
        words.append("-no-reboot")
    return words + (["-initrd", plan.initrd] if plan.initrd else [])


class Plan:
    """Returns the parts of a document that make a machine. Files are paths of this system, which are not opened yet."""

    label, kernel, initrd, memory_mb, processors, khz = "", None, None, 0, 1, 0
    stop_on_reset, boot, disks, ports = False, {}, (), ()


class Monitor:
    """QMP: one command at a time, events by a thread."""

    def __init__(self, stream, on_event):
        self.file, self.on_event = stream.makefile("rwb", buffering=0), on_event
        self.lock, self.answered, self.answer = threading.Lock(), threading.Condition(), None
        self.reader = threading.Thread(target=self.read, daemon=True)

    def begin(self):
        self.file.readline()  # the greeting
        self.reader.start()
        return self.call("qmp_capabilities")

    def read(self):
        for line in iter(self.file.readline, b""):
            message = json.loads(line)
            if "event" in message:
                self.on_event(message)
                continue
            with self.answered:
                self.answer = message
                self.answered.notify()
        with self.answered:
            self.answer = {"error": "gone"}
            self.answered.notify()

    def call(self, command):
        with self.lock, self.answered:
            self.answer = None
            try:
                self.file.write(json.dumps({"execute": command}).encode() + b"\n")
            except OSError:
                return False
            self.answered.wait_for(lambda: self.answer is not None)
            return "return" in self.answer


class Machine:
    """on_end(reason) is called once, by a thread of its own: guest-shutdown, guest-reset, or anything else. began: QEMU
    has made its devices, and the guest runs."""

    def __init__(self, settings_file, place, plan, on_end):
        settings, self.place, self.on_end, self.reason = settings_file.read(), place, on_end, "gone"
        os.makedirs(place, exist_ok=True)
        pairs = {name: socket.socketpair() for name in ("monitor", "serial", "vhost")}
        self.vsock = self.listen("vsock")
        self.host_ports = {port: self.bind(f"vsock_{port}") for port in plan.ports}
        self.vsockd = processes.spawn(
            [settings["vsockd"], "--label", plan.label, "--vhost-fd", pairs["vhost"][1].fileno(), "--vsock-fd", self.vsock.fileno(),
             "--guest-cid", GUEST_CID, *(word for port in plan.ports for word in ("--host-port", f"{port}={self.name(f'vsock_{port}')}"))],
            settings_file.log(), (pairs["vhost"][1].fileno(), self.vsock.fileno()))
        pairs["vhost"][1].close()
        fds = {name: pair[0].fileno() for name, pair in pairs.items()}
        self.qemu = processes.spawn(qemu_words(settings, plan, fds), settings_file.log(), tuple(fds.values()))
        for pair in pairs.values():
            pair[0].close()
        self.serial = pairs["serial"][1]
        self.monitor = Monitor(pairs["monitor"][1], self.on_event)
        self.began = self.monitor.begin()
        threading.Thread(target=self.wait, daemon=True).start()

    def name(self, word):
        return os.path.join(self.place, word)

    def bind(self, word):
        made = socket.socket(socket.AF_UNIX)
        made.bind(self.name(word))
        return made

    def listen(self, word):
        made = self.bind(word)
        made.listen(64)
        made.setblocking(False)  # as vsockd needs it
        return made

    def on_event(self, message):
        if message["event"] == "SHUTDOWN" and self.reason == "gone":
            self.reason = message["data"]["reason"]

    def wait(self):
        self.qemu.wait()
        self.monitor.reader.join()
        self.vsockd.kill()
        self.vsockd.wait()
        for port in self.host_ports.values():
            with contextlib.suppress(OSError):  # this wakes a thread that waits for a dial, and close() does not
                port.shutdown(socket.SHUT_RDWR)
        for made in (self.serial, self.vsock, *self.host_ports.values()):
            made.close()
        for word in os.listdir(self.place):
            os.unlink(self.name(word))
        os.rmdir(self.place)
        self.on_end(self.reason)

    def kill(self, reason="gone"):
        self.reason = reason
        self.qemu.kill()

    def dial(self, port):
        """Returns a socket to a port of the guest. Returns None if nobody listens there."""
        stream = socket.socket(socket.AF_UNIX)
        try:
            stream.connect(self.name("vsock"))
            stream.sendall(f"CONNECT {port}\n".encode())
            answer = b""
            while not answer.endswith(b"\n"):
                byte = stream.recv(1)
                if not byte:
                    raise OSError
                answer += byte
        except OSError:
            stream.close()
            return None
        return stream
