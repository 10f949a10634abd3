# SPDX-License-Identifier: MIT
"""Tests the stand-in for Hyper-V without our supervisor: it boots what we boot, refuses what the Host Compute Service
refuses, and has the faults that it claims. All other tests on it are worth no more than this."""

import copy
import json

import pytest

from conftest import wait_until
from hyperv_standin import (INVALID_STATE, INVALID_JSON, NOT_FOUND, EXISTS, STOPPED, CALLBACK_SET, NO_FILE, NO_ACCESS, IN_USE,
                            UNSUPPORTED, BAD_ARGUMENT, BAD_HANDLE, INVALID_DATA, EVENT_EXITED, Bench, Probe, document,
                            make_vhd, new_bench, service, windows_path)

MISSING = object()


@pytest.fixture(scope="module")
def bench(tmp_path_factory, place):
    with new_bench(tmp_path_factory.mktemp("hv"), place) as it:
        yield it


@pytest.fixture
def small(bench):
    return document(bench.kernel)


# --- documents ---------------------------------------------------------------------------------------------------------


def changed(value, path, to):
    """Returns the document with one value at a dotted path replaced or, for MISSING, removed."""
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
    """The system exists for other handles and processes when the first handle is closed, until it is ended."""
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
    """A right for another machine is none, and neither is a right on a file that existed before. A read-only disk uses
    the group's right."""
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
