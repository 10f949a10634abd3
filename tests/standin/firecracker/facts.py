# SPDX-License-Identifier: MIT
"""The facts of what Firecracker accepts. They come from its API description (src/firecracker/swagger/firecracker.yaml;
cited as [api]) and from docs/ of its repository. Where those say nothing, its behaviour was observed (cited by
file). test_standin_facts.py compares the tables with the description, if this host has it."""

VERSION = "1.15.1"  # the newest version that the supervisor accepts

# The versions that brought a feature, as Firecracker's CHANGELOG.md says.
BZIMAGE_SINCE = (1, 17)
TRANSPARENT_PAGES_SINCE = (1, 17)
HOTPLUG_SINCE = MTU_SINCE = (1, 16)
VMCLOCK_INTERRUPT_SINCE = (1, 15)  # this moved the address of VMGenID, which was the first before (src/vmm/src/device_manager/acpi.rs)

BODY_LIMIT = 51200  # documentation of --http-api-max-payload-size
LINE_LIMIT = 1024  # micro_http: the longest line of a request
CONNECTIONS = 10  # micro_http: beyond this number it answers 503
COMMAND_LINE_LIMIT = 2048  # of the kernel's command line, on x86-64
ELF_HEADER = 64  # bytes
LEVELS = {"off": 0, "error": 1, "warn": 2, "warning": 2, "info": 3, "debug": 4, "trace": 5}  # the levels of a log, in upper or lower case
CPUS = 32  # [api] vcpu_count
INTERRUPTS = 19  # src/vmm/src/arch/x86_64/layout.rs, GSI_LEGACY_NUM: each device needs one
DEFAULT_MACHINE = {"vcpu_count": 1, "mem_size_mib": 128, "smt": False, "track_dirty_pages": False, "huge_pages": "None"}
# The command line that is used if a boot source has none: docs/getting-started.md and the comments on boot_args.
DEFAULT_BOOT_ARGS = ("reboot=k panic=1 nomodule 8250.nr_uarts=0 i8042.noaux i8042.nomux i8042.dumbkbd swiotlb=noforce")

# The exit codes of the process (documentation in src/vmm/src/lib.rs).
EXIT_OK, EXIT_ERROR, EXIT_BAD_LEVEL, EXIT_ARGUMENTS = 0, 1, 152, 153


class Field:
    """One field of a body. low and high bound a number. words are the values of an enumeration. of is the name of the
    object that the field is. The server's own types are narrower than [api] in places: see NARROWER."""

    def __init__(self, kind, required=False, low=None, high=None, words=None, of=None):
        self.kind, self.required, self.low, self.high, self.words, self.of = kind, required, low, high, words, of


def text(required=False, words=None):
    return Field("string", required, words=words)


def number(required=False, low=None, high=None):
    return Field("integer", required, low, high)


def flag(required=False):
    return Field("boolean", required)


def made_of(name):
    return Field("object", of=name)


OBJECTS = {  # the objects, by their names in [api]
    "Balloon": {"amount_mib": number(True), "deflate_on_oom": flag(True), "stats_polling_interval_s": number(),
                "free_page_hinting": flag(), "free_page_reporting": flag()},
    "BalloonUpdate": {"amount_mib": number(True)},
    "BalloonStatsUpdate": {"stats_polling_interval_s": number(True)},
    "BootSource": {"kernel_image_path": text(True), "initrd_path": text(), "boot_args": text()},
    "Drive": {"drive_id": text(True), "partuuid": text(), "is_root_device": flag(True),
              "cache_type": text(words=("Unsafe", "Writeback")), "is_read_only": flag(), "path_on_host": text(),
              "rate_limiter": made_of("RateLimiter"), "io_engine": text(words=("Sync", "Async")), "socket": text()},
    "PartialDrive": {"drive_id": text(True), "path_on_host": text(), "rate_limiter": made_of("RateLimiter")},
    "EntropyDevice": {"rate_limiter": made_of("RateLimiter")},
    "InstanceActionInfo": {"action_type": text(True, ("FlushMetrics", "InstanceStart", "SendCtrlAltDel"))},
    "Logger": {"log_path": text(), "level": text(words=("Error", "Warning", "Info", "Debug", "Trace", "Off")),
               "show_level": flag(), "show_log_origin": flag(), "module": text()},
    "MachineConfiguration": {"vcpu_count": number(True, 1, CPUS), "mem_size_mib": number(True), "smt": flag(),
                             "cpu_template": text(words=("C3", "T2", "T2S", "T2CL", "T2A", "V1N1", "None")),
                             "track_dirty_pages": flag(), "huge_pages": text(words=("None", "Transparent", "2M"))},
    "Metrics": {"metrics_path": text(True), "emit_id": flag(), "properties": Field("object")},
    "NetworkInterface": {"iface_id": text(True), "host_dev_name": text(True), "guest_mac": text(),
                         "mtu": number(low=68, high=65535), "rx_rate_limiter": made_of("RateLimiter"),
                         "tx_rate_limiter": made_of("RateLimiter")},
    "PartialNetworkInterface": {"iface_id": text(True), "rx_rate_limiter": made_of("RateLimiter"),
                                "tx_rate_limiter": made_of("RateLimiter")},
    "RateLimiter": {"bandwidth": made_of("TokenBucket"), "ops": made_of("TokenBucket")},
    "TokenBucket": {"size": number(True, 0), "one_time_burst": number(low=0), "refill_time": number(True, 0)},
    "Vm": {"state": text(True, ("Paused", "Resumed"))},
    "Vsock": {"guest_cid": number(True, 3), "uds_path": text(True), "vsock_id": text()},
}
# The fields that came with a release.
SINCE = {("NetworkInterface", "mtu"): MTU_SINCE}
# Objects whose unknown fields the server ignores. [api] does not say so (src/vmm/src/vmm_config has no
# deny_unknown_fields).
OPEN = {"Metrics", "TokenBucket"}
# Fields that may be left out but may not be null, since they are no Option in the server's own types (seen with
# 1.15.1). A PATCH accepts null.
NEVER_NULL = {("Balloon", "stats_polling_interval_s"), ("Balloon", "free_page_hinting"), ("Balloon", "free_page_reporting"),
              ("Drive", "cache_type"), ("MachineConfiguration", "huge_pages"), ("MachineConfiguration", "smt"),
              ("MachineConfiguration", "track_dirty_pages")}
# The words that the server of x86-64 knows, in its own order; [api] also has those of arm64 (seen with 1.15.1).
WORDS_HERE = {("MachineConfiguration", "cpu_template"): ("C3", "T2", "T2S", "None", "T2CL", "T2A")}
# The values that GET /vm/config shows for fields that were not given: nulls are written out.
EMPTY = {"Drive": {"partuuid": None, "rate_limiter": None, "socket": None, "path_on_host": None, "cache_type": "Unsafe", "io_engine": "Sync",
                   "is_read_only": False},
         "BootSource": {"kernel_image_path": "", "initrd_path": None, "boot_args": None}, "EntropyDevice": {"rate_limiter": None},
         "NetworkInterface": {"guest_mac": None, "rx_rate_limiter": None, "tx_rate_limiter": None},
         "RateLimiter": {"bandwidth": None, "ops": None}, "TokenBucket": {"one_time_burst": None}}
# Bounds of the server's own types that [api] does not have: (object, field) -> highest number.
NARROWER = {("MachineConfiguration", "vcpu_count"): 255, ("Balloon", "amount_mib"): 2**32 - 1,
            ("BalloonUpdate", "amount_mib"): 2**32 - 1, ("Balloon", "stats_polling_interval_s"): 65535,
            ("BalloonStatsUpdate", "stats_polling_interval_s"): 65535, ("Vsock", "guest_cid"): 2**32 - 1}

BEFORE, AFTER, ALWAYS = "before", "after", "always"


class Call:
    """One path and method, with the object of its body and the time when it is allowed ([api] summaries: pre-boot,
    post-boot only)."""

    def __init__(self, method, path, when, body=None, required=True):
        self.method, self.path, self.when, self.body, self.required = method, path, when, body, required

    @property
    def name(self):
        return f"{self.method} {self.path}"


CALLS = [
    Call("GET", "/", ALWAYS),
    Call("GET", "/version", ALWAYS),
    Call("GET", "/vm/config", ALWAYS),
    Call("GET", "/machine-config", ALWAYS),
    Call("GET", "/balloon", ALWAYS),
    Call("GET", "/balloon/statistics", AFTER),
    Call("PUT", "/actions", ALWAYS, "InstanceActionInfo"),
    Call("PUT", "/balloon", BEFORE, "Balloon"),
    Call("PATCH", "/balloon", AFTER, "BalloonUpdate"),
    Call("PATCH", "/balloon/statistics", AFTER, "BalloonStatsUpdate"),
    Call("PUT", "/boot-source", BEFORE, "BootSource"),
    # A drive or a card after the start would be hot-plugged, which needs a PCI bus (docs/device-hotplug.md).
    Call("PUT", "/drives/{drive_id}", ALWAYS, "Drive"),
    Call("PATCH", "/drives/{drive_id}", AFTER, "PartialDrive"),
    Call("PUT", "/entropy", BEFORE, "EntropyDevice"),
    Call("PUT", "/logger", BEFORE, "Logger"),
    Call("PUT", "/machine-config", BEFORE, "MachineConfiguration"),
    Call("PATCH", "/machine-config", BEFORE, "MachineConfiguration", required=False),
    Call("PUT", "/metrics", BEFORE, "Metrics"),
    Call("PUT", "/network-interfaces/{iface_id}", ALWAYS, "NetworkInterface"),
    Call("PATCH", "/network-interfaces/{iface_id}", AFTER, "PartialNetworkInterface"),
    Call("PATCH", "/vm", AFTER, "Vm"),
    Call("PUT", "/vsock", BEFORE, "Vsock"),
]
# Calls of Firecracker that the stand-in does not have. It refuses them by name, so that a developer who needs one sees
# the reason.
ABSENT = [
    "PUT /snapshot/create", "PUT /snapshot/load", "PUT /mmds", "PATCH /mmds", "GET /mmds", "PUT /mmds/config",
    "PUT /cpu-config", "PUT /pmem/{id}", "PATCH /pmem/{id}", "PUT /serial", "PUT /hotplug/memory",
    "PATCH /hotplug/memory", "GET /hotplug/memory", "PATCH /balloon/hinting/start", "GET /balloon/hinting/status",
    "PATCH /balloon/hinting/stop",
]

# Options of the program (`firecracker --help`), and whether each takes a value.
OPTIONS = {
    "api-sock": True, "id": True, "seccomp-filter": True, "no-seccomp": False, "start-time-us": True,
    "start-time-cpu-us": True, "parent-cpu-time-us": True, "config-file": True, "metadata": True, "no-api": False,
    "log-path": True, "level": True, "module": True, "show-level": False, "show-log-origin": False,
    "metrics-path": True, "boot-timer": False, "version": False, "snapshot-version": False, "describe-snapshot": True,
    "http-api-max-payload-size": True, "mmds-size-limit": True, "enable-pci": False,
}
DEFAULTS = {"api-sock": "/run/firecracker.socket", "id": "anonymous-instance",
            "http-api-max-payload-size": str(BODY_LIMIT)}
ABSENT_OPTIONS = {"config-file", "metadata", "no-api", "snapshot-version", "describe-snapshot", "mmds-size-limit",
                  "enable-pci", "boot-timer", "seccomp-filter"}
FORBIDS = {"no-seccomp": "seccomp-filter", "seccomp-filter": "no-seccomp"}
REQUIRES = {"no-api": "config-file"}
