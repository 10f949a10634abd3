# SPDX-License-Identifier: MIT
"""Compute systems: the service's state of them, the calls that are allowed in each state, and their ends. A system
lives in the service and not in a process of a client. When it ends, the service forgets it, and handles that are
still open know how it ended."""

import json
import os
import threading
import uuid

import checks
import disks
import facts
import machine
from checks import Wrong
from settings import await_fifo

CREATED, STARTING, RUNNING, PAUSED, STOPPED = "Created", "Starting", "Running", "Paused", "Stopped"
SHOWN = {STARTING: CREATED}  # [schema] State has no word for it


def int32(hresult):
    return hresult - 2**32 if hresult >= 2**31 else hresult


def worker_exit(kind, detail, initiator):
    return {"WorkerExit": {"ExitCode": 0, "Type": kind, "Detail": detail, "Initiator": initiator}}


def system_exit(detail):
    return {"SystemExit": {"Detail": detail, "Initiator": "Client"}}


# [schema] SystemExitStatus, NotificationType, AttributionRecord: by the reason for which the machine ended.
ENDS = {
    "guest-shutdown": (0, "GracefulExit", worker_exit("Stopped", "PowerOff", "GuestOS")),
    "guest-reset": (0, "GracefulExit", worker_exit("StoppedOnReset", "Reset", "GuestOS")),
    "shutdown": (0, "GracefulExit", system_exit("Shutdown")),
    "terminate": (0, "ForcedExit", system_exit("Terminate")),
}
UNEXPECTED = (facts.HCS_E_UNEXPECTED_EXIT, "UnexpectedExit", worker_exit("UnexpectedStop", "ProcessUnexpectedExit", "Unknown"))


def runtime_id(ident):
    """[wsl] HcsVirtualMachine.cpp: if a system's id is a GUID, its runtime id is that GUID, by which sockets find it."""
    return ident.lower() if checks.GUID.fullmatch(ident) else str(uuid.uuid5(uuid.NAMESPACE_OID, ident))


class System:
    def __init__(self, ident, document):
        self.ident, self.document, self.runtime = ident, document, runtime_id(ident)
        self.state, self.asked, self.exit_status = CREATED, None, None
        self.machine, self.plan, self.handles, self.over = None, None, set(), threading.Event()

    @property
    def virtual_machine(self):
        return self.document["VirtualMachine"]

    @property
    def sockets(self):
        return self.virtual_machine.get("Devices", {}).get("HvSocket", {}).get("HvSocketConfig", {})

    def properties(self):
        """[schema] Properties; HcsGetComputeSystemProperties promises the first two."""
        found = {"Id": self.ident, "SystemType": "VirtualMachine", "RuntimeId": self.runtime, "State": SHOWN.get(self.state, self.state)}
        if "Owner" in self.document:
            found["Owner"] = self.document["Owner"]
        if self.exit_status:
            found.update(Stopped=True, ExitType=self.exit_status["ExitType"])
        return found


class Systems:
    def __init__(self, settings, place, prefix, consoles, sockets):
        self.settings, self.place, self.prefix, self.consoles, self.sockets = settings, place, prefix, consoles, sockets
        self.lock, self.by_ident, self.rights, self.khz = threading.RLock(), {}, disks.Rights(), None

    # --- handles -----------------------------------------------------------------------------------------------------

    def find(self, ident):
        with self.lock:
            found = self.by_ident.get(ident.casefold())
            if not found:
                raise Wrong(facts.HCS_E_SYSTEM_NOT_FOUND, f"there is no system {ident}")
            return found

    def by_runtime(self, runtime):
        with self.lock:
            return next((system for system in self.by_ident.values() if system.runtime == runtime.lower()), None)

    def close(self, system, handle):
        with self.lock:
            system.handles.discard(handle)
            last = not system.handles and system.state != STOPPED
        if last and system.document.get("ShouldTerminateOnLastHandleClosed"):
            self.terminate(system)

    # --- calls -------------------------------------------------------------------------------------------------------

    def file(self, text):
        path = disks.unix_path(text, self.prefix)
        disks.must_be_file(path, text)
        return path

    def create(self, ident, text, handle):
        document = checks.check_system(text, self.settings.read()["schema"])
        system = System(ident, document)
        system.plan = self.plan(system)
        with self.lock:
            if ident.casefold() in self.by_ident:
                raise Wrong(facts.HCS_E_SYSTEM_ALREADY_EXISTS, f"there is a system {ident}")
            self.by_ident[ident.casefold()] = system
            system.handles.add(handle)
        return system

    def plan(self, system):
        found, vm = machine.Plan(), system.virtual_machine
        found.label, found.boot = f"standin-{system.ident}", vm["Chipset"]["LinuxKernelDirect"]
        found.kernel = self.file(found.boot["KernelFilePath"])
        found.initrd = self.file(found.boot["InitRdPath"]) if found.boot.get("InitRdPath") else None
        found.memory_mb = vm["ComputeTopology"]["Memory"]["SizeInMB"]
        found.processors = vm["ComputeTopology"]["Processor"]["Count"]
        found.stop_on_reset = vm.get("StopOnReset", False)
        for _, _, disk in machine.ordered(vm.get("Devices", {}).get("Scsi", {})):
            self.file(disk["Path"])
        return found

    def move(self, system, allowed, to):
        """Returns the state after a call. Raises its refusal."""
        with self.lock:
            if system.state == STOPPED:
                raise Wrong(facts.HCS_E_SYSTEM_ALREADY_STOPPED, f"{system.ident} has stopped")
            if system.state not in allowed:
                raise Wrong(facts.HCS_E_INVALID_STATE, f"{system.ident} is {SHOWN.get(system.state, system.state)}")
            system.state = to or system.state

    def in_use(self, path, read_only):
        return any(disk.path == path and not (disk.read_only and read_only)
                   for other in self.by_ident.values() if other.machine for disk in other.plan.disks)

    def open_disks(self, system):
        opened = []
        for controller, lun, found in machine.ordered(system.virtual_machine.get("Devices", {}).get("Scsi", {})):
            path, read_only = self.file(found["Path"]), found.get("ReadOnly", False)
            where = f"Scsi {controller} LUN {lun}: {found['Path']}"
            if not self.rights.allow(path, system.ident, read_only):
                raise Wrong(facts.E_ACCESS_DENIED, f"{where}: the machine has no right to it (HcsGrantVmAccess)")
            if self.in_use(path, read_only) or any(disk.path == path for disk in opened):
                raise Wrong(facts.E_SHARING_VIOLATION, f"{where}: in use")
            opened.append(disks.open_disk(path, read_only))
        return opened

    def start(self, system):
        self.move(system, (CREATED,), STARTING)
        try:
            disks.check_kernel(system.plan.kernel, system.plan.boot["KernelFilePath"])
            with self.lock:
                system.plan.disks = self.open_disks(system)
            system.plan.ports = self.sockets.ports(system)
            self.run(system)
        except Wrong:
            with self.lock:
                system.state = CREATED if system.state == STARTING else system.state
            raise

    def run(self, system):
        settings = self.settings.read()
        self.khz = system.plan.khz = self.khz or machine.tsc_khz(settings["library"])
        console = self.consoles.open(system)
        place = os.path.join(self.place, system.runtime[:8])
        made = machine.Machine(self.settings, place, system.plan, lambda reason: self.ended(system, reason))
        console.join(made.serial)
        with self.lock:
            if made.began and system.state == STARTING:
                system.machine, system.state = made, RUNNING
        if system.machine != made:
            made.kill()
            system.over.wait()
            raise Wrong(facts.HCS_E_TERMINATED_DURING_START, f"{system.ident} ended while it began")
        self.sockets.begin(system, made)
        if "crash" in settings["guest"]:
            threading.Thread(target=self.crash_at_a_word, args=(made, settings["guest"]["crash"]), daemon=True).start()

    @staticmethod
    def crash_at_a_word(made, fifo):
        await_fifo(fifo)
        made.kill()

    def terminate(self, system):
        with self.lock:
            self.move(system, (CREATED, STARTING, RUNNING, PAUSED), None)
            if system.asked:
                raise Wrong(facts.HCS_E_SYSTEM_ALREADY_STOPPED, f"{system.ident} is being stopped")
            system.asked, running = "terminate", system.machine
        if running:
            running.kill()
        else:
            self.ended(system, "gone")
        system.over.wait()

    @staticmethod
    def command(system, word):
        """Asks QEMU's monitor; the machine may have ended meanwhile."""
        running = system.machine
        if running:
            running.monitor.call(word)

    def shut_down(self, system, options):
        """[ref] Tutorial: not for a machine without a guest compute service. [schema] ShutdownOptions of 2.5: by the
        integration service, which the document must give to the machine."""
        asked = checks.small(options, "ShutdownOptions", self.settings.read()["schema"])
        services = system.virtual_machine.get("Services", {})
        if asked.get("Mechanism") != "IntegrationService" or "Shutdown" not in services or asked.get("Type", "Shutdown") != "Shutdown":
            self.move(system, (CREATED, RUNNING, PAUSED), None)
            raise Wrong(facts.E_NOT_SUPPORTED, f"{system.ident} has no guest connection, and was not asked by the integration service")
        with self.lock:
            self.move(system, (RUNNING,), None)
            if system.asked:
                raise Wrong(facts.HCS_E_SYSTEM_ALREADY_STOPPED, f"{system.ident} is being stopped")
            system.asked = "shutdown"
        self.command(system, "system_powerdown")
        system.over.wait()

    def pause(self, system, options):
        checks.small(options, "PauseOptions", self.settings.read()["schema"])
        self.move(system, (RUNNING,), PAUSED)
        self.command(system, "stop")

    def resume(self, system):
        self.move(system, (PAUSED,), RUNNING)
        self.command(system, "cont")

    def modify(self, system, text):
        asked = checks.small(text, "ModifySettingRequest", self.settings.read()["schema"])
        path = checks.need(asked, "ResourcePath")
        self.move(system, (RUNNING,), None)
        if not path.startswith("VirtualMachine/"):
            raise checks.invalid("ResourcePath", "is none of a virtual machine's")
        raise Wrong(facts.E_NOT_SUPPORTED, f"{path}: the stand-in changes nothing of a machine that runs")

    def properties(self, system, query):
        asked = checks.small(query, "System_PropertyQuery", self.settings.read()["schema"])
        with self.lock:
            found = system.properties()
        if "TerminateOnLastHandleClosed" in asked.get("PropertyTypes", []):
            found["TerminateOnLastHandleClosed"] = system.document.get("ShouldTerminateOnLastHandleClosed", False)
        return json.dumps(found)

    def enumerate(self, query):
        asked = checks.small(query, "SystemQuery", self.settings.read()["schema"])
        with self.lock:
            found = [system.properties() for system in self.by_ident.values()]
        for key, name in (("Ids", "Id"), ("Names", "Name"), ("Types", "SystemType"), ("Owners", "Owner")):
            if asked.get(key):
                found = [one for one in found if one.get(name) in asked[key]]
        return json.dumps(found)

    # --- the end -----------------------------------------------------------------------------------------------------

    def ended(self, system, reason):
        ordered = reason if system.asked != "terminate" else "terminate"
        ordered = "shutdown" if system.asked == "shutdown" and reason == "guest-shutdown" else ordered
        status, kind, attribution = ENDS.get(ordered, UNEXPECTED)
        with self.lock:
            if system.state == STOPPED:  # it was ended before its machine existed
                return
            system.state, system.machine = STOPPED, None
            system.exit_status = {"Status": int32(status), "ExitType": kind, "Attribution": [attribution]}
            self.by_ident.pop(system.ident.casefold(), None)
            handles = list(system.handles)
        if self.settings.read()["exit_event_last"]:
            system.over.set()
        for client, number in handles:
            client.event(number, facts.EVENT_SYSTEM_EXITED, json.dumps(system.exit_status))
        system.over.set()
