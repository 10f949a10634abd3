# SPDX-License-Identifier: MIT
"""Tests the stand-in for Hyper-V with guests in it, and its faults. test_hyperv_standin.py has its refusals."""

import json
import os
import subprocess
import uuid

import pytest

import strays
from conftest import ROOT, image, wait_until
from hyperv_standin import (ALREADY_STARTED, CALLBACK_SET, DISCONNECT, EVENT_DISCONNECT, EVENT_EXITED, EVENT_OPERATION, IN_USE,
                            INVALID_STATE, NO_ACCESS, NOT_FOUND, NOT_STARTED, PENDING, STOPPED, TERMINATED_DURING_START, TIMEOUT,
                            UNAVAILABLE, UNSUPPORTED, WSAEACCES, WSAEADDRINUSE, WSAEADDRNOTAVAIL, WSAECONNREFUSED, WSAENETUNREACH,
                            Bench, Broker, Probe, document, make_vhd, new_bench, service, windows_path)


@pytest.fixture(scope="module")
def bench(tmp_path_factory, place):
    with new_bench(tmp_path_factory.mktemp("hv"), place) as it:
        yield it


@pytest.fixture
def small(bench):
    return document(bench.kernel)


# --- a guest -----------------------------------------------------------------------------------------------------------


def boot(bench, slot=0, **more):
    """Makes a machine whose agent is ready. Returns its id."""
    ident = bench.made(document(bench.kernel, **more), slot)
    assert bench.probe("callback", slot)[0] == 0
    assert bench.probe("listen", ident, service(1024))[0] == 0
    assert bench.probe("start", slot)[0] == 0
    assert bench.probe.take("accepted") == (1024, ident[:8])
    assert json.loads(bench.probe.take("frame")[1])["type"] == "hello"
    return ident


def execute(bench, ident, *command):
    request = json.dumps({"op": "exec", "payload": {"command": command, "user": "root"}}, separators=(",", ":"))
    result, text = bench.probe("connect", ident, service(2222), request.replace(" ", "\\u0020"))  # it is one word of the probe
    assert result == 0
    return json.loads(text or "null")


def ended(bench, ident, slot=0):
    kind, text = bench.probe.take(f"event{slot}")
    assert kind == EVENT_EXITED
    status = json.loads(text)
    assert bench.probe("open", 7, ident)[0] == NOT_FOUND
    assert bench.probe("close", slot)[0] == 0
    return status["ExitType"], status["Status"] & 0xFFFFFFFF, next(iter(status["Attribution"][0].values()))


def test_a_machine_that_does_not_begin_has_ended(bench, small):
    """The machine has more processors than QEMU's machine can have. This stands for any failure in Hyper-V."""
    small["VirtualMachine"]["ComputeTopology"]["Processor"]["Count"] = 300
    ident = bench.made(small)
    assert bench.probe("callback", 0)[0] == 0
    assert bench.probe("start", 0)[0] == TERMINATED_DURING_START
    assert ended(bench, ident)[:2] == ("UnexpectedExit", 0x80370106)


def with_root(bench, host, name):
    """Makes a machine with a root disk of its own, and with the rights on the disk."""
    disk = make_vhd(bench.broker.place / f"{name}.vhd", image(host, "busybox")["path"])
    ident = str(uuid.uuid4())
    assert bench.probe("grant", ident, windows_path(disk))[0] == 0
    return ident, {"disks": [disk], "words": "microagent.disks=rootfs"}


def test_boots_and_is_spoken_to(bench, place):
    """Tests a root on a fixed VHD, the console's pipe, a dial of the guest, an exec, a pause, and the right to connect."""
    ident, given = with_root(bench, place, "root")
    assert bench.probe("pipe", r"\\.\pipe\standin-com1")[0] == 0
    bench.made(document(bench.kernel, pipe=r"\\.\pipe\standin-com1", **given), ident=ident)
    assert bench.probe("callback", 0)[0] == 0
    assert bench.probe("listen", ident, service(1024))[0] == 0
    assert bench.probe("listen", ident, service(1024))[0] == WSAEADDRINUSE
    assert bench.probe("connect", ident, service(2222), "x")[0] == WSAECONNREFUSED  # it is only created
    assert bench.probe("start", 0)[0] == 0
    assert bench.probe("start", 0)[0] == INVALID_STATE
    assert bench.probe.take("accepted") == (1024, ident[:8])
    assert json.loads(bench.probe.take("frame")[1])["type"] == "hello"
    assert execute(bench, ident, "sh", "-c", "stat -c %s /sys/block/vda >/dev/null && echo hello") == \
        {"exit_code": 0, "stdout": "hello\n", "stderr": ""}
    assert execute(bench, ident, "sh", "-c", "echo to the console >/dev/ttyS0")["exit_code"] == 0
    while "to the console" not in bench.probe.take("console")[1]:
        pass
    # A program that has gone differs from one that has sent all: its command is killed.
    with Probe(bench.broker) as killed:
        killed.tell("connect", ident, service(2222), '{"op":"exec","payload":{"command":["sleep","1000"]}}')
        wait_until(lambda: execute(bench, ident, "pidof", "sleep")["exit_code"] == 0, "the command")
        killed.child.kill()
        wait_until(lambda: execute(bench, ident, "pidof", "sleep")["exit_code"] == 1, "its end")
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
    """Here the machine makes the console's pipe, and there is a second disk, which grows when it is written to."""
    ident, given = with_root(bench, place, "reset")
    data, pipe = bench.broker.place / "data.vhd", r"\\.\pipe\standin-own"
    subprocess.run(["qemu-img", "create", "-q", "-f", "vpc", "-o", "subformat=dynamic", data, "8M"], check=True)
    assert bench.probe("grant", ident, windows_path(data))[0] == 0
    bench.made(document(bench.kernel, [*given["disks"], data], "microagent.disks=rootfs,data", pipe), ident=ident)
    assert bench.probe("callback", 0)[0] == 0
    assert bench.probe("listen", ident, service(1024))[0] == 0
    assert bench.probe("start", 0)[0] == 0
    bench.probe.take("frame")
    assert bench.probe("plug", pipe)[0] == 0
    assert execute(bench, ident, "sh", "-c", "echo plugged in >/dev/ttyS0; echo kept >/dev/vdb; sync")["exit_code"] == 0
    while "plugged in" not in bench.probe.take("console")[1]:
        pass
    assert 8 << 20 <= 512 * int(execute(bench, ident, "cat", "/sys/block/vdb/size")["stdout"]) < 9 << 20
    assert execute(bench, ident, "reboot", "-f") is None
    assert ended(bench, ident)[2] == {"ExitCode": 0, "Type": "StoppedOnReset", "Detail": "Reset", "Initiator": "GuestOS"}
    bench.probe.take("accepted")
    bench.probe.take("console-end")
    assert b"kept\n" in data.read_bytes()


@pytest.mark.soak
def test_is_shut_down_by_its_integration_service(bench, small):
    """This needs a document of schema 2.5 with the integration service; the guest's power button replaces it."""
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
    """Each fault has its HRESULT, at the call or as its result, so many times, with its effect or without."""
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
    """While a call is under way, its operation is refused to others, and its completion is called back."""
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


def test_what_is_on_its_way_may_be_closed(bench, small):
    """The operation and the handle may be closed while the call is under way. Nobody gets its result then."""
    fifo = bench.broker.place / "dropped"
    os.mkfifo(fifo)
    ident = bench.made(small)
    bench.broker.settings(faults={"HcsStartComputeSystem": {"wait": str(fifo), "hresult": "0x80370100"}})
    try:
        assert bench.probe("drop", 0)[0] == 0
        fifo.write_text("go")
        wait_until(lambda: bench.broker.calls()[-1]["hresult"] == "0x80370100", "the end of the call")
    finally:
        bench.broker.settings()
    assert bench.probe("open", 0, ident)[0] == 0
    bench.gone()


def test_operations_are_events_where_asked_for(bench, small):
    """Then no handle may have a callback of its own."""
    bench.made(small)
    assert bench.probe("callback", 0, "operations")[0] == 0
    bench.probe.tell("async", 0)
    assert bench.probe.take("async")[0] == CALLBACK_SET
    for word in ("unused", "busy", "pending", "timeout"):
        bench.probe.take(word)
    assert bench.probe("props", 0)[0] == 0
    assert bench.probe.take("event0")[0] == EVENT_OPERATION
    bench.gone()


@pytest.mark.soak
@pytest.mark.parametrize("how", ["a call", "a word"])
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
    """Every client with a handle is told, and a new client finds the system."""
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


def test_a_broker_that_is_killed_leaves_nothing(tmp_path_factory, place):
    own_place = tmp_path_factory.mktemp("k")  # the name is short, since sockets are below it

    def left():
        return [line for line in strays.running(own_place).values() if any(word in line for word in ("qemu", "vsockd", "hcs-worker"))]

    with new_bench(own_place, place) as own:
        boot(own, pipe=r"\\.\pipe\standin-killed")
        assert len(left()) == 3
        own.broker.child.kill()
        assert own.probe.take("event0")[0] == EVENT_DISCONNECT
        wait_until(lambda: not left(), "the end of what it had started")
    assert strays.running(own_place) == {}
