# SPDX-License-Identifier: MIT
"""The configuration, and what each call does: the rules and refusals of Firecracker before and after its start
(src/vmm/src/rpc_interface.rs, src/vmm/src/vmm_config). A refusal is Refused with the text of the fault message."""

import os
import socket

import facts
import taps
import vsock
from machine import Machine, limits, qemu_words
from taps import os_error

NOT_BEFORE = "The requested operation is not supported before starting the microVM."
NOT_AFTER = "The requested operation is not supported after starting the microVM."
NO_PCI = "PCI is not enabled"


class Refused(Exception):
    pass


def open_path(path, flags, prefix, suffix=""):
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except OSError as why:
        raise Refused(f"{prefix}{os_error(why)}{suffix}") from None


def whole(name, given):
    """Returns an object as GET /vm/config shows it, with the fields that were left out."""
    fields = facts.OBJECTS[name]
    return {**facts.EMPTY.get(name, {}),
            **{key: whole(fields[key].of, value) if value is not None and fields[key].of else value for key, value in given.items()}}


class Vmm:
    def __init__(self, settings, ident, api, version, log, library):
        """api is the path of the API's socket."""
        self.settings, self.ident, self.api, self.version, self.log, self.library = settings, ident, api, version, log, library
        self.machine, self.boot, self.drives, self.cards = dict(facts.DEFAULT_MACHINE), None, [], []
        self.vsock = self.listener = self.balloon = self.entropy = self.logger = self.metrics = None
        self.guest, self.state, self.ended = None, "Not started", None
        self.kernel_fd = None

    @property
    def numbers(self):
        """Returns the version as (major, minor)."""
        return tuple(int(part) for part in self.version.split(".")[:2])

    @property
    def boot_args(self):
        given = self.boot.get("boot_args")
        return facts.DEFAULT_BOOT_ARGS if given is None else given

    # --- what is asked ---------------------------------------------------------------------------------------------------

    def describe(self):
        return {"id": self.ident, "state": self.state, "vmm_version": self.version, "app_name": "Firecracker"}

    def full_config(self):
        """Returns an object with the keys of [api] FullVmConfiguration. Logger and metrics are null even if they are set."""
        return {"balloon": self.balloon, "drives": [whole("Drive", drive) for drive, _ in self.drives],
                "boot-source": whole("BootSource", self.boot or {}), "cpu-config": None, "logger": None, "machine-config": self.machine,
                "metrics": None, "mmds-config": None, "network-interfaces": [whole("NetworkInterface", card) for card, _ in self.cards],
                "vsock": self.vsock, "entropy": self.entropy and whole("EntropyDevice", self.entropy), "pmem": [], "memory-hotplug": None}

    def get(self, path):
        if path == "/":
            return self.describe()
        if path == "/version":
            return {"firecracker_version": self.version}
        if path == "/vm/config":
            return self.full_config()
        if path == "/machine-config":
            return self.machine
        if path == "/balloon":
            return self.balloon_config()
        return self.balloon_statistics()

    # --- before the start ------------------------------------------------------------------------------------------------

    def put_machine_config(self, body):
        new = {**facts.DEFAULT_MACHINE, **{key: value for key, value in body.items() if value is not None}}
        self.set_machine(new)

    def patch_machine_config(self, body):
        given = {key: value for key, value in body.items() if value is not None}
        if not given:
            raise Refused("Empty PATCH request.")
        self.set_machine({**self.machine, **given})

    def set_machine(self, new):
        cpus = new["vcpu_count"]
        if not 1 <= cpus <= facts.CPUS or (new["smt"] and cpus > 1 and cpus % 2):
            raise Refused(f"Machine config error: The number of vCPUs must be greater than 0, less than {facts.CPUS} and must "
                          "be 1 or an even number if SMT is enabled.")
        if new["mem_size_mib"] == 0 or (new["huge_pages"] != "None" and new["mem_size_mib"] % 2):
            raise Refused("Machine config error: The memory size (MiB) is either 0, or not a multiple of the configured page size.")
        if self.balloon and new["mem_size_mib"] < self.balloon["amount_mib"]:
            raise Refused("Machine config error: The memory size (MiB) is smaller than the previously set balloon device target size.")
        if new.get("cpu_template") == "None":
            del new["cpu_template"]
        self.machine = new

    def put_boot_source(self, body):
        kernel = open_path(body["kernel_image_path"], os.O_RDONLY, "Boot source error: The kernel file cannot be opened: ")
        try:
            if body.get("initrd_path") is not None:
                os.close(open_path(body["initrd_path"], os.O_RDONLY, "Boot source error: The initrd file cannot be opened due "
                                                                     "to invalid path or invalid permissions. "))
            words = body.get("boot_args") or ""
            if len(words.encode()) >= facts.COMMAND_LINE_LIMIT:
                raise Refused("Boot source error: The kernel command line is invalid: Invalid cmdline capacity provided.")
        except Refused:
            os.close(kernel)
            raise
        if self.kernel_fd is not None:
            os.close(self.kernel_fd)
        self.boot, self.kernel_fd = body, kernel

    def put_drive(self, body):
        place = next((i for i, (drive, _) in enumerate(self.drives) if drive["drive_id"] == body["drive_id"]), None)
        root = body["is_root_device"]
        if root and self.drives and self.drives[0][0]["is_root_device"] and place != 0:
            raise Refused("Drive config error: A root block device already exists!")
        create = "Drive config error: Unable to create the virtio block device: "
        if body.get("socket") is not None:
            raise Refused("not in the stand-in: a drive of a vhost-user socket")
        if body.get("path_on_host") is None:
            raise Refused(create + "Invalid block config.")
        given = {key: value for key, value in body.items() if value is not None}
        drive = {"cache_type": "Unsafe", "io_engine": "Sync", "is_read_only": False, **given}
        path = body["path_on_host"]
        wrong = create + "Virtio backend error: Error manipulating the backing file: "
        fd = open_path(path, os.O_RDONLY if drive["is_read_only"] else os.O_RDWR, wrong, f" {path}")
        try:
            os.lseek(fd, 0, os.SEEK_END)  # as Firecracker finds the size, which a file of /proc does not have
        except OSError as why:
            os.close(fd)
            raise Refused(f"{wrong}{os_error(why)} {path}") from None
        if place is not None:
            os.close(self.drives.pop(place)[1])
        self.drives.insert(0 if root else len(self.drives) if place is None else place, (drive, fd))

    def put_card(self, body):
        mac = body.get("guest_mac")
        others = [(card, fd) for card, fd in self.cards if card["iface_id"] != body["iface_id"]]
        if mac is not None and any((card.get("guest_mac") or "").lower() == mac.lower() for card, _ in others):
            raise Refused(f"Network config error: The MAC address is already in use: {mac.lower()}")
        for card, fd in self.cards:
            if card["iface_id"] == body["iface_id"]:
                os.close(fd)
        self.cards = others
        try:
            tap = taps.open_named(body["host_dev_name"])
        except taps.Wrong as wrong:
            raise Refused(f"Network config error: Could not create the network device: Open tap device failed: {wrong}") from None
        self.cards.append((body, tap))

    def put_vsock(self, body):
        bind = "Vsock config error: Cannot create backend for vsock device: Error binding to the host-side Unix socket: "
        try:
            if self.listener:
                self.listener.close()
                path, self.vsock, self.listener = self.vsock["uds_path"], None, None
                os.unlink(path)
            self.listener = vsock.listen(body["uds_path"])
        except OSError as why:
            raise Refused(bind + (os_error(why) if why.errno else "path must be shorter than SUN_LEN")) from None
        self.vsock = {"guest_cid": body["guest_cid"], "uds_path": body["uds_path"]}

    def put_entropy(self, body):
        self.entropy = body

    def put_balloon(self, body):
        if body["amount_mib"] > self.machine["mem_size_mib"]:
            raise Refused("Balloon config error: Amount of pages requested is too large.")
        self.balloon = {"stats_polling_interval_s": 0, "free_page_hinting": False, "free_page_reporting": False, **body}

    def put_logger(self, body):
        if body.get("log_path") is not None:
            self.log.open(open_path(body["log_path"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK,
                                    "Logger error: Failed to open target file: "))
        self.log.set_level(body.get("level"))
        self.log.show_level = body.get("show_level", self.log.show_level)
        self.logger = body

    def put_metrics(self, body):
        wrong = "Metrics error: Cannot initialize the metrics system due to bad user input: "
        fd = open_path(body["metrics_path"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, wrong)
        if self.metrics:
            os.close(fd)
            raise Refused(wrong + "Reinitialization of metrics not allowed.")
        self.metrics, self.metrics_fd = body, fd

    # --- the start -------------------------------------------------------------------------------------------------------

    def check_kernel(self):
        magic = os.pread(self.kernel_fd, 4, 0)
        setup = os.pread(self.kernel_fd, 4, 0x202)
        if magic == b"\x7fELF" or (setup == b"HdrS" and self.numbers >= facts.BZIMAGE_SINCE):
            return
        if self.numbers >= facts.BZIMAGE_SINCE:
            why = "failed to load bzImage kernel image: Invalid bzImage binary"
        elif len(os.pread(self.kernel_fd, facts.ELF_HEADER, 0)) < facts.ELF_HEADER:
            why = "failed to load ELF kernel image: Kernel Loader: Unable to read elf header"
        else:
            why = "failed to load ELF kernel image: Kernel Loader: Invalid Elf magic number"
        raise Refused("Start microvm error: System configuration error: Cannot load kernel due to invalid memory configuration "
                      f"or invalid kernel image: Kernel Loader: {why}")

    def check_kvm(self):
        if self.settings.get("needs_kvm"):
            os.close(open_path("/dev/kvm", os.O_RDWR, "Start microvm error: Kvm error: Error creating KVM object: "))

    def check_interrupts(self):
        """Lists the devices in the order in which they are attached (src/vmm/src/builder.rs, build_microvm_for_boot)."""
        count = len(self.drives) + len(self.cards) + sum(it is not None for it in (self.balloon, self.vsock, self.entropy))
        takers = ["MMIO transport error: Failed to allocate requested resource"] * count
        acpi = [f"Error while registering ACPI with KVM: {name}: Could not allocate GSI" for name in ("VMGenID", "VMClock")]
        takers = takers + acpi if self.numbers >= facts.VMCLOCK_INTERRUPT_SINCE else acpi[:1] + takers
        if len(takers) > facts.INTERRUPTS:
            raise Refused(f"Start microvm error: Could not attach device: {takers[facts.INTERRUPTS]}: "
                          "The requested resource is not available.")

    def start(self):
        if not self.boot:
            raise Refused("Start microvm error: Cannot start microvm without kernel configuration.")
        self.check_kvm()
        self.check_kernel()
        self.check_interrupts()
        ours, its = socket.socketpair() if self.vsock else (None, None)
        given = [fd for _, fd in self.drives + self.cards] + ([its.fileno()] if its else [])
        khz = self.library.standin_tsc_khz()
        label = f"{self.ident} {self.api}"  # for a person who wants to know which machine this is
        self.guest = Machine(
            os.path.dirname(self.api),
            lambda monitor: qemu_words(self.settings["qemu"], label, self, monitor, its.fileno() if its else None, khz),
            given, self.on_event)
        if self.vsock:
            its.close()
            vsock.serve(self.library, ours, self.listener, self.vsock)
        self.guest.greet()
        for number, (drive, _) in enumerate(self.drives):
            self.throttle(number, drive.get("rate_limiter"))
        self.guest.resume()
        self.state = "Running"
        self.tell_metrics()
        if self.balloon and self.balloon["amount_mib"]:
            self.inflate(self.balloon["amount_mib"])

    def on_event(self, event):
        """A guest that resets ends the process. A guest that powers off says nothing more."""
        if event["event"] == "SHUTDOWN" and event["data"]["reason"] == "guest-reset":
            self.log.line("Vmm is stopping.")
            self.tell_metrics()
            self.ended = facts.EXIT_OK

    # --- after the start -------------------------------------------------------------------------------------------------

    def throttle(self, number, limiter):
        self.guest.call("qom-set", path=f"/objects/drive{number}-rate", property="limits", value=limits(limiter))

    def patch_drive(self, body):
        number = next((i for i, (drive, _) in enumerate(self.drives) if drive["drive_id"] == body["drive_id"]), None)
        if number is None:
            raise Refused("Drive config error: Unable to patch the block device: Failed perform action on device: Device not "
                          "found Please verify the request arguments.")
        if body.get("path_on_host") is not None:
            raise Refused("not in the stand-in: another file for a drive of a running machine")
        if not body.get("rate_limiter"):  # a drive that has a file has none of these
            raise Refused("Drive config error: Unable to patch the block device: Block: Running method expected different backend. "
                          "Please verify the request arguments.")
        self.throttle(number, body["rate_limiter"])

    def patch_card(self, body):
        if not any(card["iface_id"] == body["iface_id"] for card, _ in self.cards):
            raise Refused("Network config error: Unable to update the net device: Failed perform action on device: Device not found")

    def patch_vm(self, body):
        if body["state"] == "Paused":
            self.guest.pause()
            self.state = "Paused"
        else:
            self.guest.resume()
            self.state = "Running"

    def balloon_config(self):
        if not self.balloon:
            raise Refused("Balloon config error: No balloon device found." if not self.guest else
                          "Internal VMM error: Failed perform action on device: Device not found")
        return self.balloon

    def inflate(self, amount):
        self.guest.call("balloon", value=max(1, self.machine["mem_size_mib"] - amount) << 20)

    def patch_balloon(self, body):
        if not self.balloon:
            raise Refused("Balloon update error: Failed perform action on device: Device not found")
        if body["amount_mib"] > self.machine["mem_size_mib"]:
            raise Refused(f"Balloon update error: Balloon: Requested memory should be less than {self.machine['mem_size_mib'] + 1}MiB")
        self.inflate(body["amount_mib"])
        self.balloon["amount_mib"] = body["amount_mib"]

    def balloon_statistics(self):
        if not self.balloon or not self.balloon["stats_polling_interval_s"]:
            raise Refused("Internal VMM error: " + ("Balloon: Received stats query when stats are disabled." if self.balloon else
                                                    "Failed perform action on device: Device not found"))
        actual = self.machine["mem_size_mib"] - (self.guest.call("query-balloon")["actual"] >> 20)
        target = self.balloon["amount_mib"]
        return {"target_pages": target * 256, "actual_pages": actual * 256, "target_mib": target, "actual_mib": actual}

    def patch_balloon_statistics(self, body):
        if not self.balloon:
            raise Refused("Balloon update error: Failed perform action on device: Device not found")
        if bool(body["stats_polling_interval_s"]) != bool(self.balloon["stats_polling_interval_s"]):
            raise Refused("Balloon update error: Balloon: Statistics cannot be enabled/disabled after activation.")
        self.balloon["stats_polling_interval_s"] = body["stats_polling_interval_s"]

    def act(self, body):
        action = body["action_type"]
        if action == "InstanceStart":
            if self.guest:
                raise Refused(NOT_AFTER)
            self.start()
        elif not self.guest:
            raise Refused(NOT_BEFORE)
        elif action == "SendCtrlAltDel":
            keys = [{"type": "qcode", "data": key} for key in ("ctrl", "alt", "delete")]
            self.guest.call("send-key", keys=keys)
        else:
            self.tell_metrics()

    def tell_metrics(self):
        """Writes a line of metrics: when a call asks for it, at the start, and at an end that the guest caused."""
        if self.metrics:
            try:
                os.write(self.metrics_fd, b'{"utc_timestamp_ms":0,"stand_in":true}\n')
            except OSError as why:  # as in Firecracker, a line that cannot be written is lost
                self.log.line(f"Failed to log metrics: {why}", "Error")

    # --- all calls -------------------------------------------------------------------------------------------------------

    ACTIONS = {"PUT /actions": act, "PUT /balloon": put_balloon, "PATCH /balloon": patch_balloon,
               "PATCH /balloon/statistics": patch_balloon_statistics, "PUT /boot-source": put_boot_source,
               "PUT /drives/{drive_id}": put_drive, "PATCH /drives/{drive_id}": patch_drive, "PUT /entropy": put_entropy,
               "PUT /logger": put_logger, "PUT /machine-config": put_machine_config,
               "PATCH /machine-config": patch_machine_config, "PUT /metrics": put_metrics,
               "PUT /network-interfaces/{iface_id}": put_card, "PATCH /network-interfaces/{iface_id}": patch_card,
               "PATCH /vm": patch_vm, "PUT /vsock": put_vsock}

    def perform(self, call, body):
        """Returns the answer: an object, or None if there is nothing to answer."""
        if call.when == facts.BEFORE and self.guest:
            raise Refused(NOT_AFTER)
        if call.when == facts.AFTER and not self.guest:
            raise Refused(NOT_BEFORE)
        if "{" in call.path and call.when == facts.ALWAYS and self.guest:
            raise Refused(NO_PCI if self.numbers >= facts.HOTPLUG_SINCE else NOT_AFTER)
        if call.method == "GET":
            return self.get(call.path)
        self.ACTIONS[call.name](self, body)
        return None
