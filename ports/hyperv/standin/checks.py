# SPDX-License-Identifier: MIT
"""Compares a document with the tables of facts.py, and makes the checks of a virtual machine that the tables cannot
express. The first error ends the comparison."""

import json
import re

import facts

GUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
RANGES = {"uint32": 2**32 - 1, "uint64": 2**64 - 1}
PIPE = re.compile(r"\\\\\.\\pipe\\[^\\/]+")
# learn.microsoft.com, "Security Descriptor Definition Language": the part for a protected list of aces.
SDDL = re.compile(r"(?:O:\S+?)?(?:G:\S+?)?D:(?:P|AI|AR)*((?:\([A-Z]*;[A-Z]*;[0-9A-Za-z]*;[^;]*;[^;]*;[A-Z0-9-]+\))*)")
ACE = re.compile(r"\(([A-Z]*);[A-Z]*;([0-9A-Za-z]*);[^;]*;[^;]*;([A-Z0-9-]+)\)")
# The caller is an administrator, as the service requires ([ref] HCSHResult, HCS_E_ACCESS_DENIED), and a user.
CALLER = ("BA", "HA", "WD", "AU", "S-1-1-0", "S-1-5-11", "S-1-5-32-544", "S-1-5-32-578")
ABSOLUTE = re.compile(r"(?:\\\\\?\\)?[A-Za-z]:\\.+")


class Wrong(Exception):
    """Has the hresult and the words for the result document."""

    def __init__(self, hresult, words):
        super().__init__(words)
        self.hresult = hresult


def invalid(path, words):
    return Wrong(facts.HCS_E_INVALID_JSON, f"{path or 'document'}: {words}")


# --- the tables --------------------------------------------------------------------------------------------------------


class Checker:
    def __init__(self, version):
        self.version = tuple(version)

    def map(self, value, key_type, kind, path):
        if not isinstance(value, dict):
            raise invalid(path, "is no object")
        for key, item in value.items():
            if key_type == "uint32" and not (key.isascii() and key.isdigit() and str(int(key)) == key):
                raise invalid(f"{path}.{key}", "the key is no number")
            if key_type == "Guid" and not GUID.fullmatch(key):
                raise invalid(f"{path}.{key}", "the key is no GUID")
            self.value(item, kind, f"{path}.{key}")

    def value(self, value, kind, path):
        outer, _, inner = kind.rstrip(">").partition("<")
        if outer == "Map":
            self.map(value, *inner.split(","), path)
        elif outer == "Array":
            if not isinstance(value, list):
                raise invalid(path, "is no array")
            for number, item in enumerate(value):
                self.value(item, inner, f"{path}[{number}]")
        elif kind in facts.OBJECTS:
            self.object(value, kind, path)
        elif kind in facts.WORDS:
            if value not in facts.WORDS[kind]:
                raise invalid(path, f"is none of {', '.join(facts.WORDS[kind])}")
        elif kind in RANGES:
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= RANGES[kind]:
                raise invalid(path, f"is no {kind}")
        elif kind != "Any" and not isinstance(value, {"string": str, "bool": bool}[kind]):
            raise invalid(path, f"is no {kind}")

    def object(self, value, kind, path):
        if not isinstance(value, dict):
            raise invalid(path, "is no object")
        for name, item in value.items():
            here = f"{path}.{name}".lstrip(".")
            spec = facts.OBJECTS[kind].get(name)
            if spec is None:
                raise invalid(here, "is not known")
            since, inner = spec.split(" ")
            if self.version < tuple(map(int, since.split("."))):
                raise invalid(here, f"is of schema {since}, and the document of {'.'.join(map(str, self.version))}")
            if name in facts.NOT_MODELLED.get(kind, ()):
                raise Wrong(facts.E_NOT_SUPPORTED, f"{here}: the stand-in has none")
            self.value(item, inner, here)


def once_each(pairs):
    found = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key} is there twice")
        found[key] = value
    return found


def parse(text):
    try:
        return json.loads(text, object_pairs_hook=once_each)
    except (ValueError, RecursionError) as why:
        raise Wrong(facts.HCS_E_INVALID_JSON, f"no JSON: {why}")


def small(text, kind, schema):
    """Checks a query or options; None means that there are none."""
    if text is None:
        return {}
    found = parse(text)
    Checker(schema).object(found, kind, "")
    return found


# --- a virtual machine ---------------------------------------------------------------------------------------------------


def need(value, path):
    """Returns the object or value at a path of the document, which must exist."""
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            raise invalid(path, "is missing")
        value = value[name]
    return value


def check_path(path, where):
    if not ABSOLUTE.fullmatch(path):
        raise invalid(where, "is no absolute path of Windows")


def check_descriptor(text, where):
    if not SDDL.fullmatch(text):
        raise invalid(where, "is no security descriptor")


def allows(text):
    """Returns whether the descriptor lets the caller in. The first ace that names the caller decides; without one the
    answer is no."""
    for kind, rights, who in ACE.findall(SDDL.fullmatch(text)[1]):
        if rights in ("FA", "GA") and (who in CALLER or who.startswith("S-1-5-21-")):
            return kind == "A"
    return False


def check_boot(chipset):
    direct = need(chipset, "LinuxKernelDirect")
    for name in ("KernelFilePath", "InitRdPath"):
        if name == "KernelFilePath" or name in direct:
            check_path(need(direct, name), f"VirtualMachine.Chipset.LinuxKernelDirect.{name}")


def check_memory(memory):
    path = "VirtualMachine.ComputeTopology.Memory"
    size = need(memory, "SizeInMB")
    if size == 0 or size % facts.MEMORY_STEP_MB:
        raise invalid(f"{path}.SizeInMB", f"is no multiple of {facts.MEMORY_STEP_MB}")
    # [hcsshim] internal/uvm/create.go, verifyOptions
    if memory.get("EnableDeferredCommit") and not memory.get("AllowOvercommit"):
        raise invalid(f"{path}.EnableDeferredCommit", "needs AllowOvercommit")


def check_disks(controllers):
    path = "VirtualMachine.Devices.Scsi"
    if len(controllers) > facts.SCSI_CONTROLLERS:
        raise invalid(path, f"more than {facts.SCSI_CONTROLLERS} controllers")
    for name, controller in controllers.items():
        for lun, disk in controller.get("Attachments", {}).items():
            here = f"{path}.{name}.Attachments.{lun}"
            if int(lun) >= facts.SCSI_LUNS:
                raise invalid(here, f"a LUN is below {facts.SCSI_LUNS}")
            if need(disk, "Type") != "VirtualDisk":
                raise Wrong(facts.E_NOT_SUPPORTED, f"{here}.Type: the stand-in has virtual disks alone")
            check_path(need(disk, "Path"), f"{here}.Path")
            if not disk["Path"].lower().endswith((".vhd", ".vhdx")):
                raise invalid(f"{here}.Path", "is no .vhd or .vhdx")


def check_ports(ports):
    for number, port in ports.items():
        here = f"VirtualMachine.Devices.ComPorts.{number}"
        if int(number) >= facts.COM_PORTS:
            raise invalid(here, f"a number is below {facts.COM_PORTS}")
        if port.get("NamedPipe") and not PIPE.fullmatch(port["NamedPipe"]):
            raise invalid(f"{here}.NamedPipe", r"is no \\.\pipe\name")


def check_sockets(config):
    path = "VirtualMachine.Devices.HvSocket.HvSocketConfig"
    for name in ("DefaultBindSecurityDescriptor", "DefaultConnectSecurityDescriptor"):
        if name in config:
            check_descriptor(config[name], f"{path}.{name}")
    for service, rights in config.get("ServiceTable", {}).items():
        for name in ("BindSecurityDescriptor", "ConnectSecurityDescriptor"):
            if name in rights:
                check_descriptor(rights[name], f"{path}.ServiceTable.{service}.{name}")


def check_system(text, schema):
    """Checks the document of HcsCreateComputeSystem."""
    found = parse(text)
    version = need(found, "SchemaVersion")
    Checker((2, 0)).object(version, "Version", "SchemaVersion")
    version = (need(version, "Major"), version.get("Minor", 0))
    if not (2, 0) <= version <= tuple(schema):
        raise invalid("SchemaVersion", f"{version[0]}.{version[1]} is not had")
    Checker(version).object(found, "ComputeSystem", "")
    machine = need(found, "VirtualMachine")
    check_boot(need(machine, "Chipset"))
    check_memory(need(machine, "ComputeTopology.Memory"))
    if not need(machine, "ComputeTopology.Processor.Count"):
        raise invalid("VirtualMachine.ComputeTopology.Processor.Count", "is 0")
    devices = machine.get("Devices", {})
    check_disks(devices.get("Scsi", {}))
    check_ports(devices.get("ComPorts", {}))
    check_sockets(devices.get("HvSocket", {}).get("HvSocketConfig", {}))
    return found
