# SPDX-License-Identifier: MIT
"""The guest. It is QEMU's microvm in the place of KVM, with the devices of a microVM of Firecracker and no others: a
serial port, a keyboard controller, and virtio devices in Firecracker's order. Its monitor is two pipes, so that all
sockets here are such as Firecracker has, except the one to the vsock device. It has no power management, as
docs/getting-started.md says of Firecracker: a guest that powers off stands still for ever (QEMU pauses it), and a
guest that resets ends the process."""

import ctypes
import json
import os
import signal

PR_SET_PDEATHSIG = 1
# The words that a kernel needs under TCG, as in src/backend/qemu/command_line.c.
TCG_WORDS = "tsc=reliable no_timer_check init_on_alloc=1"


def command_line(boot_args, root, khz):
    """Joins the kernel's command line as Firecracker does: its own words stand before the `--`, and those of init after it."""
    kernel, dashes, init = f" {boot_args} ".partition(" -- ")
    words = [*TCG_WORDS.split(), f"tsc_early_khz={khz}", *kernel.split(), "pci=off"]
    if root:
        words += [f"root=PARTUUID={root['partuuid']}" if root.get("partuuid") else "root=/dev/vda",
                  "ro" if root["is_read_only"] else "rw"]
    return " ".join(words + ([dashes.strip(), *init.split()] if dashes else []))


def limits(limiter):
    """Returns the values of a throttle group: the rate of a token bucket in the long run, and its burst."""
    found = {}
    for bucket, name in (("bandwidth", "bps-total"), ("ops", "iops-total")):
        tokens = (limiter or {}).get(bucket)
        if tokens and tokens["size"] and tokens["refill_time"]:
            found[name] = max(1, tokens["size"] * 1000 // tokens["refill_time"])
    return found


def drive_words(number, drive, fd):
    node, read_only = f"drive{number}", "on" if drive["is_read_only"] else "off"
    about = os.fstat(fd)
    serial = f"{about.st_dev}{about.st_rdev}{about.st_ino}"[:20]
    group = json.dumps({"qom-type": "throttle-group", "id": f"{node}-rate", "limits": limits(drive.get("rate_limiter"))})
    return ["-add-fd", f"fd={fd},set={number + 1}",
            "-blockdev", f"driver=file,node-name={node}-file,filename=/dev/fdset/{number + 1},read-only={read_only},locking=off",
            "-blockdev", f"driver=raw,node-name={node}-raw,file={node}-file,read-only={read_only}",
            "-object", group,
            "-blockdev", f"driver=throttle,node-name={node},file={node}-raw,throttle-group={node}-rate,read-only={read_only}",
            "-device", f"virtio-blk-device,id={node}-dev,drive={node},serial={serial},discard=off,write-zeroes=off,werror=report,rerror=report"]


def card_words(number, card, fd):
    mac = f",mac={card['guest_mac']}" if card.get("guest_mac") else ""
    mtu = f",host_mtu={card['mtu']}" if card.get("mtu") else ""
    return ["-netdev", f"tap,id=net{number},fd={fd}", "-device", f"virtio-net-device,netdev=net{number}{mac}{mtu}"]


def qemu_words(qemu, label, vm, monitor, vhost_fd, khz):
    machine = vm.machine
    memory = f"{machine['mem_size_mib']}M"
    words = [qemu, "-name", "guest=" + label.replace(",", ",,"), "-nodefaults", "-no-user-config", "-display", "none",
             "-action", "reboot=shutdown,shutdown=pause", "-machine", "microvm,acpi=on,pit=on,pic=on,rtc=on,memory-backend=ram",
             "-accel", "tcg,tb-size=64,thread=single", "-cpu", "max,-erms,-fsrm", "-smp", str(machine["vcpu_count"]),
             "-m", memory, "-object", f"memory-backend-memfd,id=ram,size={memory},share=on",
             "-bios", "qboot.rom", "-global", "virtio-mmio.force-legacy=false",
             "-S", "-S", "-chardev", f"pipe,id=qmp,path={monitor}", "-mon", "chardev=qmp,mode=control",
             "-chardev", "stdio,id=serial,signal=off", "-serial", "chardev:serial", "-device", "i8042"]
    if vm.balloon:
        report = "on" if vm.balloon.get("free_page_reporting") else "off"
        oom = "on" if vm.balloon["deflate_on_oom"] else "off"
        words += ["-device", f"virtio-balloon-device,id=balloon0,deflate-on-oom={oom},free-page-reporting={report}"]
    for number, (drive, fd) in enumerate(vm.drives):
        words += drive_words(number, drive, fd)
    for number, (card, fd) in enumerate(vm.cards):
        words += card_words(number, card, fd)
    if vhost_fd is not None:
        words += ["-chardev", f"socket,id=vsock,fd={vhost_fd}", "-device", "vhost-user-vsock-device,chardev=vsock"]
    if vm.entropy is not None:
        words += ["-object", "rng-builtin,id=entropy", "-device", "virtio-rng-device,rng=entropy"]
    words += ["-kernel", vm.boot["kernel_image_path"]]
    if vm.boot.get("initrd_path"):
        words += ["-initrd", vm.boot["initrd_path"]]
    root = next((drive for drive, _ in vm.drives if drive["is_root_device"]), None)
    return words + ["-append", command_line(vm.boot_args, root, khz)]


def become_qemu(words, given):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    wanted = sorted({0, 1, 2, *given})
    for below, above in zip(wanted, [*wanted[1:], 65536]):
        os.closerange(below + 1, above)
    for fd in given:
        os.set_inheritable(fd, True)
    os.execv(words[0], words)


class Gone(Exception):
    pass


class Machine:
    """A guest that is made and has not begun: resume() begins it. on_event() gets the events of QEMU."""

    def __init__(self, place, make_words, given, on_event):
        """make_words gets the monitor's path. given: descriptors that the words name. place: directory for the names of
        the monitor's pipes, until QEMU has opened them."""
        self.on_event, self.buffer = on_event, b""
        from_us, self.commands = os.pipe()
        self.events, to_us = os.pipe()
        monitor = os.path.join(place, "monitor")
        self.names = {f"{monitor}.in": from_us, f"{monitor}.out": to_us}  # the names that QEMU's pipe wants
        for name, fd in self.names.items():
            os.symlink(f"/proc/self/fd/{fd}", name)
        words = make_words(monitor)
        self.qemu = os.fork()
        if self.qemu == 0:
            try:
                become_qemu(words, [from_us, to_us, *given])
            except BaseException as why:  # whatever the error is, the child may not go on as the parent
                os.write(2, f"QEMU: {why!r}\n".encode())
                os._exit(127)
        for fd in self.names.values():
            os.close(fd)

    def greet(self):
        """Waits until QEMU speaks. QEMU speaks when its devices are made, and the vsock device is made when its back-end answers."""
        self.next_line()
        for name in self.names:
            os.unlink(name)
        self.call("qmp_capabilities")

    def fileno(self):
        return self.events

    def lines(self):
        while b"\n" in self.buffer:
            line, _, self.buffer = self.buffer.partition(b"\n")
            yield json.loads(line)

    def read(self):
        data = os.read(self.events, 65536)
        if not data:
            raise Gone
        self.buffer += data

    def next_line(self):
        while True:
            for line in self.lines():
                return line
            self.read()

    def call(self, command, **arguments):
        os.write(self.commands, json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            line = self.next_line()
            if "event" in line:
                self.on_event(line)
            elif "error" in line:
                raise ValueError(line["error"]["desc"])
            else:
                return line["return"]

    def take_events(self):
        self.read()
        for line in self.lines():
            self.on_event(line)

    def exit_code(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.qemu, 0)[1])

    def resume(self):
        self.call("cont")

    def pause(self):
        self.call("stop")
