# SPDX-License-Identifier: MIT
"""The stand-in for Hyper-V, without our supervisor: that it boots what we boot, that it refuses what the Host Compute Service
refuses, and that its faults are what they say. What other tests find by it is worth no more than this."""

import copy
import json
import os
import uuid

import pytest

import strays
from conftest import ROOT, default_kernel, image, wait_until
from hyperv_standin import Broker, Probe, document, make_vhd, service, windows_path

INVALID_STATE, INVALID_JSON, NOT_FOUND, EXISTS, STOPPED = 0x80370105, 0x8037010D, 0x8037010E, 0x8037010F, 0x80370110
NOT_STARTED, ALREADY_STARTED, PENDING, TIMEOUT, CALLBACK_SET = 0x80370115, 0x80370116, 0x80370117, 0x80370118, 0x80370119
DISCONNECT, UNAVAILABLE = 0x8037011E, 0x80370114
NO_FILE, NO_ACCESS, IN_USE, UNSUPPORTED, BAD_ARGUMENT, BAD_HANDLE = 0x80070002, 0x80070005, 0x80070020, 0x80070032, 0x80070057, 0x80070006
INVALID_DATA = 0x8007000D
EVENT_EXITED, EVENT_OPERATION, EVENT_DISCONNECT = 1, 0x01000000, 0x02000000
WSAEACCES, WSAEADDRINUSE, WSAEADDRNOTAVAIL, WSAENETUNREACH, WSAECONNREFUSED = 10013, 10048, 10049, 10051, 10061
MISSING = object()


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
        self.probe.forget(f"event{slot}")  # of the machine before
        ident, result, text = self.create(value, slot, ident)
        assert result == 0, text
        return ident

    def gone(self, slot=0):
        assert self.probe("terminate", slot)[0] == 0
        assert self.probe("close", slot)[0] == 0


@pytest.fixture(scope="module")
def bench(tmp_path_factory, place_of_kernel):
    with Broker(tmp_path_factory.mktemp("hv")) as broker, Probe(broker) as probe:
        yield Bench(broker, probe, place_of_kernel)
    assert not broker.child.returncode


@pytest.fixture(scope="module")
def place_of_kernel(place):
    return default_kernel(place)["path"]


@pytest.fixture
def small(bench):
    return document(bench.kernel)


# --- documents ---------------------------------------------------------------------------------------------------------


def changed(value, path, to):
    """The document with one value of a dotted path put in or, for MISSING, taken out."""
    found = copy.deepcopy(value)
    *above, last = path.split("/")
    at = found
    for name in above:
        at = at.setdefault(name, {})
    if to is MISSING:
        del at[last]
    else:
        at[last] = to
    return found


VM, DEVICES, BOOT = "VirtualMachine", "VirtualMachine/Devices", "VirtualMachine/Chipset/LinuxKernelDirect"
TABLE = f"{DEVICES}/HvSocket/HvSocketConfig"
WRONG = [
    ("SchemaVersion", MISSING, "SchemaVersion: is missing"),
    ("SchemaVersion/Major", 1, "SchemaVersion: 1.3 is not had"),
    ("SchemaVersion/Minor", 99, "SchemaVersion: 2.99 is not had"),
    ("SchemaVersion/Minor", 1, "LinuxKernelDirect: is of schema 2.2, and the document of 2.1"),
    ("SchemaVersion/Minor", "3", "SchemaVersion.Minor: is no uint32"),
    ("Colour", "red", "Colour: is not known"),
    ("Owner", 7, "Owner: is no string"),
    ("Owner", None, "Owner: is no string"),
    (VM, MISSING, "VirtualMachine: is missing"),
    (f"{VM}/Chipset", {}, "LinuxKernelDirect: is missing"),
    (f"{BOOT}/KernelFilePath", MISSING, "KernelFilePath: is missing"),
    (f"{BOOT}/KernelFilePath", "vmlinux", "is no absolute path of Windows"),
    (f"{BOOT}/InitRdPath", "/boot/initrd", "is no absolute path of Windows"),
    (f"{BOOT}/KernelPath", "x", "KernelPath: is not known"),
    (f"{VM}/ComputeTopology/Memory/SizeInMB", "256", "SizeInMB: is no uint64"),
    (f"{VM}/ComputeTopology/Memory/SizeInMB", 255, "is no multiple of 2"),
    (f"{VM}/ComputeTopology/Memory/SizeInMB", MISSING, "SizeInMB: is missing"),
    (f"{VM}/ComputeTopology/Memory", {"SizeInMB": 256, "EnableDeferredCommit": True}, "needs AllowOvercommit"),
    (f"{VM}/ComputeTopology/Processor/Count", True, "Count: is no uint32"),
    (f"{VM}/ComputeTopology/Processor/Count", 0, "Count: is 0"),
    (f"{DEVICES}/ComPorts/0", {"NamedPipe": "COM1"}, r"is no \\.\pipe\name"),
    (f"{DEVICES}/ComPorts/2", {"NamedPipe": r"\\.\pipe\x"}, "a number is below 2"),
    (f"{DEVICES}/ComPorts/A", {}, "the key is no number"),
    (f"{DEVICES}/Scsi/0/Attachments/64", {"Type": "VirtualDisk", "Path": r"Z:\x.vhd"}, "a LUN is below 64"),
    (f"{DEVICES}/Scsi/0/Attachments/0", {"Type": "Disk", "Path": r"Z:\x.vhd"}, "is none of VirtualDisk, Iso, PassThru"),
    (f"{DEVICES}/Scsi/0/Attachments/0", {"Path": r"Z:\x.vhd"}, "Type: is missing"),
    (f"{DEVICES}/Scsi/0/Attachments/0", {"Type": "VirtualDisk", "Path": r"Z:\x.img"}, "is no .vhd or .vhdx"),
    (f"{DEVICES}/Scsi", {str(n): {} for n in range(5)}, "more than 4 controllers"),
    (f"{TABLE}/ServiceTable/400", {}, "the key is no GUID"),
    (f"{TABLE}/ServiceTable/{service(1)}", {"ConnectSecurityDescriptor": "everybody"}, "is no security descriptor"),
    (f"{TABLE}/DefaultBindSecurityDescriptor", "D:P(A;;FA)", "is no security descriptor"),
    (f"{VM}/Services", {"Shutdown": {}}, "Services: is of schema 2.5"),
]


@pytest.mark.parametrize("path, value, words", WRONG, ids=[f"{path}={'none' if value is MISSING else value}"[:60] for path, value, _ in WRONG])
def test_wrong_documents_are_refused(bench, small, path, value, words):
    ident, result, text = bench.create(changed(small, path, value))
    assert (result, json.loads(text)["Error"] & 0xFFFFFFFF) == (INVALID_JSON, INVALID_JSON)
    assert words in json.loads(text)["ErrorMessage"]
    assert bench.probe("open", 1, ident)[0] == NOT_FOUND


def test_what_is_no_json_is_refused(bench):
    for text in ("", "{", "[]", '{"Owner":"a","Owner":"b"}', '{"SchemaVersion":NaN}'):
        assert bench.create(text)[1] == INVALID_JSON, text


def test_what_the_standin_lacks_it_says(bench, small):
    for path, value in ((f"{DEVICES}/NetworkAdapters", {}), (f"{DEVICES}/Plan9", {}), (f"{VM}/GuestConnection", {}),
                        (f"{VM}/Chipset/Uefi", {})):
        _, result, text = bench.create(changed(small, path, value))
        assert result == UNSUPPORTED and "the stand-in has none" in text


def test_files_have_to_be_there(bench, small):
    for name in ("KernelFilePath", "InitRdPath"):
        assert bench.create(changed(small, f"{BOOT}/{name}", r"Z:\nothing"))[1] == NO_FILE
    assert bench.create(changed(small, f"{DEVICES}/Scsi/0/Attachments/0", {"Type": "VirtualDisk", "Path": r"Z:\no.vhd"}))[1] == NO_FILE
    assert bench.probe("grant", "x", r"Z:\nothing")[0] == NO_FILE


# --- systems -----------------------------------------------------------------------------------------------------------


def test_a_system_lives_in_the_service(bench, small):
    """It is there for other handles and processes when the first is closed, until it is ended."""
    ident = bench.made(small)
    assert bench.create(small, 1, ident)[1] == EXISTS
    assert bench.probe("close", 0)[0] == 0
    assert bench.probe("props", 0)[0] == BAD_HANDLE
    with Probe(bench.broker) as other:
        assert other("open", 0, ident)[0] == 0
        found = json.loads(other("props", 0)[1])
        assert found == {"Id": ident, "SystemType": "VirtualMachine", "RuntimeId": ident, "State": "Created", "Owner": "microagent-test"}
        assert found in json.loads(other("enum")[1])
        assert json.loads(other("enum", bench.file({"Ids": [ident]}))[1]) == [found]
        assert json.loads(other("enum", bench.file({"Owners": ["nobody"]}))[1]) == []
        assert other("enum", bench.file({"Names": "x"}))[0] == INVALID_JSON
        assert other("terminate", 0)[0] == 0
        assert json.loads(other("props", 0)[1])["State"] == "Stopped"
        assert other("terminate", 0)[0] == STOPPED
    assert bench.probe("open", 0, ident)[0] == NOT_FOUND


def test_the_last_handle_ends_what_asks_for_it(bench, small):
    ident = bench.made({**small, "ShouldTerminateOnLastHandleClosed": True})
    assert bench.probe("open", 1, ident)[0] == 0
    assert bench.probe("close", 0)[0] == 0
    assert bench.probe("props", 1)[0] == 0
    assert bench.probe("close", 1)[0] == 0
    assert bench.probe("open", 1, ident)[0] == NOT_FOUND


def test_a_process_that_dies_closes_its_handles(bench, small):
    with Probe(bench.broker) as other:
        own = Bench(bench.broker, other, bench.kernel)
        own.count = 1000
        ident = own.made({**small, "ShouldTerminateOnLastHandleClosed": True})
        other.child.kill()
    wait_until(lambda: bench.probe("open", 1, ident)[0] == NOT_FOUND, "the end of its system")


def test_calls_have_their_states(bench, small):
    bench.made(small)
    for word in ("pause", "resume"):
        assert bench.probe(word, 0)[0] == INVALID_STATE
    assert bench.probe("modify", 0, bench.file({"ResourcePath": "VirtualMachine/x", "RequestType": "Add"}))[0] == INVALID_STATE
    assert bench.probe("shutdown", 0)[0] == UNSUPPORTED
    assert bench.probe("start", 0, bench.file("{}"))[0] == BAD_ARGUMENT
    assert bench.probe("callback", 0)[0] == 0
    assert bench.probe("callback", 0)[0] == CALLBACK_SET
    assert bench.probe("terminate", 0)[0] == 0
    kind, text = bench.probe.take("event0")
    assert (kind, json.loads(text)["ExitType"]) == (EVENT_EXITED, "ForcedExit")
    assert bench.probe("close", 0)[0] == 0


def test_the_service_says_its_schemas(bench):
    result, text = bench.probe("service", bench.file({"PropertyTypes": ["Basic"]}))
    assert result == 0
    assert json.loads(text)["Properties"][0]["SupportedSchemaVersions"][-1] == {"Major": 2, "Minor": 7}
    assert bench.probe("service", bench.file({"PropertyTypes": ["Bas"]}))[0] == INVALID_JSON


# --- disks -------------------------------------------------------------------------------------------------------------


BAD_DISKS = [
    ({"cookie": b"conectiX"}, 0xC03A0001), ({"checksum": 1}, 0xC03A0002), ({"features": 0}, 0xC03A0003), ({"geometry": 0}, 0xC03A0003),
    ({"geometry": 0xFFFF10FF}, 0xC03A0003), ({"version": 0x20000}, 0xC03A0005), ({"current": 1000}, 0xC03A0012),
    ({"current": 1 << 21}, 0xC03A0013), ({"kind": 4}, 0xC03A001B),
]


@pytest.mark.parametrize("changes, hresult", BAD_DISKS, ids=[str(changes) for changes, _ in BAD_DISKS])
def test_disks_have_right_footers(bench, changes, hresult):
    disk = make_vhd(bench.broker.place / "bad.vhd", **changes)
    ident = bench.made(document(bench.kernel, [disk]))
    assert bench.probe("grant", ident, windows_path(disk))[0] == 0
    assert bench.probe("start", 0)[0] == hresult
    assert json.loads(bench.probe("props", 0)[1])["State"] == "Created"
    bench.gone()


def test_disks_need_a_right(bench):
    """One for another machine is none, and neither is one of a file that was there before; read-only takes the group's."""
    disk = make_vhd(bench.broker.place / "own.vhd")
    ident = bench.made(document(bench.kernel, [disk]))
    assert bench.probe("start", 0)[0] == NO_ACCESS
    assert bench.probe("grant", "other", windows_path(disk))[0] == 0
    assert bench.probe("start", 0)[0] == NO_ACCESS
    assert bench.probe("grant", ident, windows_path(disk))[0] == 0
    disk.rename(disk.with_suffix(".old"))
    make_vhd(disk)
    assert bench.probe("start", 0)[0] == NO_ACCESS
    assert bench.probe("grant", ident, windows_path(disk))[0] == 0
    assert bench.probe("revoke", ident, windows_path(disk))[0] == 0
    assert bench.probe("start", 0)[0] == NO_ACCESS
    bench.gone()


def test_a_disk_is_one_machines(bench):
    disk = make_vhd(bench.broker.place / "twice.vhd")
    ident = bench.made(document(bench.kernel, [disk, disk]))
    assert bench.probe("grant", ident, windows_path(disk))[0] == 0
    assert bench.probe("start", 0)[0] == IN_USE
    bench.gone()


def test_a_kernel_is_one(bench):
    other = bench.broker.place / "kernel"
    other.write_bytes(bytes(4096))
    (bench.broker.place / "kernel.initrd").write_bytes(b"")
    bench.made(document(other))
    assert bench.probe("start", 0)[0] == INVALID_DATA
    bench.gone()


# --- a guest -----------------------------------------------------------------------------------------------------------


def boot(bench, slot=0, **more):
    """A machine whose agent is there: its id."""
    ident = bench.made(document(bench.kernel, **more), slot)
    assert bench.probe("callback", slot)[0] == 0
    assert bench.probe("listen", ident, service(1024))[0] == 0
    assert bench.probe("start", slot)[0] == 0
    assert bench.probe.take("accepted") == (1024, ident[:8])
    assert json.loads(bench.probe.take("frame")[1])["type"] == "hello"
    return ident


def execute(bench, ident, *command):
    request = json.dumps({"op": "exec", "payload": {"command": command, "user": "root"}}, separators=(",", ":"))
    result, text = bench.probe("connect", ident, service(2222), request.replace(" ", "\\u0020"))  # one word of the probe's
    assert result == 0
    return json.loads(text or "null")


def ended(bench, ident, slot=0):
    kind, text = bench.probe.take(f"event{slot}")
    assert kind == EVENT_EXITED
    status = json.loads(text)
    assert bench.probe("open", 7, ident)[0] == NOT_FOUND
    assert bench.probe("close", slot)[0] == 0
    return status["ExitType"], status["Status"] & 0xFFFFFFFF, next(iter(status["Attribution"][0].values()))


def with_root(bench, host, name):
    """A machine with a root disk of its own, and the rights on it."""
    disk = make_vhd(bench.broker.place / f"{name}.vhd", image(host, "busybox")["path"])
    ident = str(uuid.uuid4())
    assert bench.probe("grant", ident, windows_path(disk))[0] == 0
    return ident, {"disks": [disk], "words": "microagent.disks=rootfs"}


def test_boots_and_is_spoken_to(bench, place):
    """A root on a fixed VHD, the console's pipe, a dial of the guest's, an exec, a pause, and who may connect."""
    ident, given = with_root(bench, place, "root")
    assert bench.probe("pipe", r"\\.\pipe\standin-com1")[0] == 0
    bench.made(document(bench.kernel, pipe=r"\\.\pipe\standin-com1", **given), ident=ident)
    assert bench.probe("callback", 0)[0] == 0
    assert bench.probe("listen", ident, service(1024))[0] == 0
    assert bench.probe("listen", ident, service(1024))[0] == WSAEADDRINUSE
    assert bench.probe("connect", ident, service(2222), "x")[0] == WSAECONNREFUSED  # it is created and no more
    assert bench.probe("start", 0)[0] == 0
    assert bench.probe("start", 0)[0] == INVALID_STATE
    assert bench.probe.take("accepted") == (1024, ident[:8])
    assert json.loads(bench.probe.take("frame")[1])["type"] == "hello"
    assert execute(bench, ident, "sh", "-c", "stat -c %s /sys/block/vda >/dev/null && echo hello") == \
        {"exit_code": 0, "stdout": "hello\n", "stderr": ""}
    assert execute(bench, ident, "sh", "-c", "echo to the console >/dev/ttyS0")["exit_code"] == 0
    while "to the console" not in bench.probe.take("console")[1]:
        pass
    other = "11111111-2222-3333-4444-555555555555"
    for vm, port, wanted in ((other, 2222, WSAENETUNREACH), (ident, 1024, WSAEACCES), (ident, 2223, WSAEACCES)):
        assert bench.probe("connect", vm, service(port), "x")[0] == wanted, (vm, port)
    assert bench.probe("connect", ident, "11111111-2222-3333-4444-555555555555", "x")[0] == WSAEACCES
    assert bench.probe("listen", ident, service(2222))[0] == WSAEACCES
    assert bench.probe("listen", other, service(1024))[0] == WSAEADDRNOTAVAIL
    for word, state in (("pause", "Paused"), ("resume", "Running")):
        assert bench.probe(word, 0)[0] == 0
        assert json.loads(bench.probe("props", 0)[1])["State"] == state
    # A second machine does not get the disk that this one has.
    bench.made(document(bench.kernel, given["disks"]), 1, "second")
    assert bench.probe("grant", "second", windows_path(given["disks"][0]))[0] == 0
    assert bench.probe("start", 1)[0] == IN_USE
    bench.gone(1)
    assert execute(bench, ident, "poweroff", "-f") is None
    assert ended(bench, ident) == ("GracefulExit", 0, {"ExitCode": 0, "Type": "Stopped", "Detail": "PowerOff", "Initiator": "GuestOS"})
    bench.probe.take("console-end")


@pytest.mark.soak
def test_a_reset_stops_it(bench, place):
    ident, given = with_root(bench, place, "reset")
    bench.made(document(bench.kernel, **given), ident=ident)
    assert bench.probe("callback", 0)[0] == 0
    assert bench.probe("listen", ident, service(1024))[0] == 0
    assert bench.probe("start", 0)[0] == 0
    bench.probe.take("frame")
    assert execute(bench, ident, "reboot", "-f") is None
    assert ended(bench, ident)[2] == {"ExitCode": 0, "Type": "StoppedOnReset", "Detail": "Reset", "Initiator": "GuestOS"}
    bench.probe.take("accepted")


@pytest.mark.soak
def test_is_shut_down_by_its_integration_service(bench, small):
    """Which needs a document of schema 2.5 that gives it one; the guest's power button is in its place."""
    value = {**small, "SchemaVersion": {"Major": 2, "Minor": 5}}
    value["VirtualMachine"] = {**value["VirtualMachine"], "Services": {"Shutdown": {}}}
    ident = bench.made(value)
    assert bench.probe("callback", 0)[0] == 0
    assert bench.probe("listen", ident, service(1024))[0] == 0
    assert bench.probe("start", 0)[0] == 0
    bench.probe.take("frame")
    bench.probe.take("accepted")
    assert bench.probe("shutdown", 0)[0] == UNSUPPORTED
    assert bench.probe("shutdown", 0, bench.file({"Mechanism": "IntegrationService", "Type": "Shutdown"}))[0] == 0
    assert ended(bench, ident)[0] == "GracefulExit"


# --- faults ------------------------------------------------------------------------------------------------------------


def test_calls_fail_as_told(bench, small):
    """Each by its HRESULT, at the call or as its result, so many times, with its effect or without."""
    bench.broker.settings(faults={
        "HcsCreateComputeSystem": {"hresult": "0x8037011B", "times": 1}, "HcsGrantVmAccess": {"hresult": "0x80070005"},
        "HcsTerminateComputeSystem": {"hresult": "0x80370109", "act": True, "times": 1},
        "HcsPauseComputeSystem": {"hresult": "0x80004005", "when": "call"}})
    try:
        ident, result, text = bench.create(small)
        assert result == 0x8037011B and "a fault that the test asked for" in text
        assert bench.probe("open", 1, ident)[0] == NOT_FOUND
        bench.made(small, ident=ident)
        assert bench.probe("grant", ident, windows_path(ROOT / "Makefile"))[0] == NO_ACCESS
        assert bench.probe("pause", 0) == (0x80004005, "")
        assert bench.probe("terminate", 0)[0] == 0x80370109
        assert bench.probe("terminate", 0)[0] == STOPPED
    finally:
        bench.broker.settings()
    calls = [call for call in bench.broker.calls() if call["call"] == "HcsCreateComputeSystem"]
    assert calls[-1]["hresult"] == "0x00000000" and json.loads(calls[-1]["document"]) == small


def test_an_operation_waits_for_a_word(bench, small):
    """What is on its way: the operation is refused to others, and its completion is called back."""
    fifo = bench.broker.place / "word"
    os.mkfifo(fifo)
    bench.made(small)
    bench.broker.settings(faults={"HcsStartComputeSystem": {"wait": str(fifo), "hresult": "0x80370100"}})
    try:
        bench.probe.tell("async", 0)
        for word, wanted in (("unused", NOT_STARTED), ("async", 0), ("busy", ALREADY_STARTED), ("pending", PENDING), ("timeout", TIMEOUT)):
            assert bench.probe.take(word)[0] == wanted, word
        fifo.write_text("go")
        assert bench.probe.take("completed")[0] == 0x80370100
    finally:
        bench.broker.settings()
    bench.gone()


def test_operations_are_events_where_asked_for(bench, small):
    """And then none may have a callback of its own."""
    bench.made(small)
    assert bench.probe("callback", 0, "operations")[0] == 0
    bench.probe.tell("async", 0)
    assert bench.probe.take("async")[0] == CALLBACK_SET
    for word in ("unused", "busy", "pending", "timeout"):
        bench.probe.take(word)
    assert bench.probe("props", 0)[0] == 0
    assert bench.probe.take("event0")[0] == EVENT_OPERATION
    bench.gone()


@pytest.mark.parametrize("how", ["a call", pytest.param("a word", marks=pytest.mark.soak)])
def test_a_guest_crashes_as_told(bench, how):
    fifo = bench.broker.place / f"crash at {how}"
    os.mkfifo(fifo)
    by_call = {"faults": {"HcsGetComputeSystemProperties": {"do": "crash", "times": 1}}}
    bench.broker.settings(**(by_call if how == "a call" else {"guest": {"crash": str(fifo)}}))
    try:
        ident = boot(bench)
        if how == "a call":
            assert bench.probe("props", 0)[0] == 0
        else:
            fifo.write_text("now")
        assert ended(bench, ident)[:2] == ("UnexpectedExit", 0x80370106)
    finally:
        bench.broker.settings()


def test_sockets_fail_as_told(bench, small):
    ident = bench.made(small)
    bench.broker.settings(faults={"bind": {"error": 10055, "times": 1}, "connect": {"error": 10060, "times": 1}})
    try:
        assert bench.probe("listen", ident, service(1024))[0] == 10055
        assert bench.probe("connect", ident, service(2222), "x")[0] == 10060
        assert bench.probe("connect", ident, service(2222), "x")[0] == WSAECONNREFUSED
    finally:
        bench.broker.settings()
    bench.gone()


def test_the_service_goes_as_told(bench, small):
    """Whoever had a handle is told, and the system is there for a new one."""
    with Probe(bench.broker) as other:
        own = Bench(bench.broker, other, bench.kernel)
        own.count = 2000
        ident = own.made(small)
        assert other("callback", 0)[0] == 0
        bench.broker.settings(faults={"HcsStartComputeSystem": {"do": "gone", "times": 1}})
        try:
            assert other("start", 0)[0] == DISCONNECT
        finally:
            bench.broker.settings()
        assert other.take("event0")[0] == EVENT_DISCONNECT
        assert other("props", 0)[0] == DISCONNECT
        assert other("open", 1, ident)[0] == 0
        assert other("terminate", 1)[0] == 0


def test_without_a_service_there_is_none(bench, small, tmp_path):
    with Broker(tmp_path / "b") as broker:
        pass
    with Probe(broker) as probe:
        assert probe("create", 0, "x", bench.file(small))[0] == UNAVAILABLE


def test_a_broker_that_is_killed_leaves_nothing(tmp_path, place_of_kernel):
    with Broker(tmp_path / "b") as broker, Probe(broker) as probe:
        own = Bench(broker, probe, place_of_kernel)
        boot(own, pipe=r"\\.\pipe\standin-killed")
        broker.child.kill()
        assert probe.take("event0")[0] == EVENT_DISCONNECT

    assert strays.processes(tmp_path) == []
