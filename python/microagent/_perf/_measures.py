# SPDX-License-Identifier: MIT
"""What is measured."""

from __future__ import annotations

import ctypes
import operator
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from .._errors import ConflictError, DeniedError, InternalError, UnavailableError
from .._library import document, filled, lib, must, told_by, word
from ._place import Place, Session
from ._report import Report

MIB, MS = 1024 * 1024, 1_000_000
EXEC_WARM = 3  # before the first that counts: what the guest runs for the first time is slow once
WHOLE = "from the wish to the end of the first command"

MARKS = {
    "begun": "base opened, disk cloned, records written; the supervisor is called",
    "verified": "the request, and all files of the machine, opened and compared",
    "launched": "the template, if there is one; the process that will keep the machine",
    "live": "it has begun, with the rights that it keeps",
    "vmm": "the cell, the devices, and the VMM in it",
    "hello": "the guest, until its agent speaks: kernel and init, or what was saved",
    "ready": "the guest is told what it is, and is that",
}

PROCESSES = {  # what it is, and whether it is ours
    "vmm": ("the machine: the guest's memory, and what emulates it", False),
    "supervisor": ("keeps the machine", True),
    "broker": ("keeps the rights that the supervisor gave up", True),
    "guard": ("ends what the supervisor leaves behind", True),
    "microagent-vsockd": ("the vsock device", True),
    "microagent-netgate": ("the filter before the network", True),
    "passt": ("the network", False),
    "virtiofsd": ("a shared directory", False),
    "bwrap": ("made the cell, and waits for its end", False),
}

# --- boot, restore: by the marks that the supervisor leaves (runtime.json) ----------------------------------------------


def check_start(place: Place, report: Report, session: Session, wanted: str) -> None:
    """How it came up must be what is measured."""
    boot = report.machine.get("boot") or {}
    if boot.get("how", "cold") == wanted:
        return
    why = boot.get("why") or session.describe().get("cold")
    if why:
        raise ConflictError(f"a session of {place.base} is not restored: {why}")
    raise ConflictError(f"base {place.base} has no template to restore its sessions from", "no-template", place.base)


def measure_starts(place: Place, report: Report, wanted: str) -> None:
    """From the wish for a session to the end of its first command: a row for each mark, of the time since the one before."""
    for _ in place.rounds(report.count):
        with place.session() as session:
            report.machine = place.last_start(session)
            check_start(place, report, session, wanted)
            ended = place.time_exec(session)[2]
            before = session.began
            for mark, at in sorted(report.machine["timings"].items(), key=operator.itemgetter(1)):
                if before < at <= session.made:
                    report.add(mark, MARKS.get(mark, ""), (at - before) / MS)
                    before = at
            report.add("answered", "the answer is written, and comes back", (session.made - before) / MS)
            report.add("first exec", "/bin/true in it, the first command of all", ended / MS)
            report.add("whole", WHOLE, (session.made - session.began + ended) / MS, is_sum=True)


def boot(place: Place, report: Report) -> None:
    place.cold = True
    measure_starts(place, report, "cold")


def restore(place: Place, report: Report) -> None:
    """Measures sessions that are restored from a template. Their network is isolated unless another one was named."""
    place.network = place.network or "isolated"
    if not place.words.base:
        spec = filled("microagent_warm_spec", {"cancel": place.ending.fd})
        told_by(lib.base_warm, place.agent, word(place.base, "base"), ctypes.byref(spec))
    measure_starts(place, report, "restored")


# --- exec, claim: what one command costs in a session that is there, and in one from the pool ---------------------------


def add_exec(report: Report, times: Tuple[int, int, int]) -> None:
    reached, started, ended = times
    report.add("connect", "until the guest's agent has the connection and the request", reached / MS)
    report.add("start", "until the guest runs the program", (started - reached) / MS)
    report.add("exit", "until its end is told", (ended - started) / MS)


def exec_(place: Place, report: Report) -> None:
    with place.session() as session:
        for _ in range(EXEC_WARM):
            place.time_exec(session)
        for _ in place.rounds(report.count):
            times = place.time_exec(session)
            add_exec(report, times)
            report.add("whole", "one /bin/true, over a connection of its own", times[2] / MS, is_sum=True)
        report.machine = place.last_start(session)


def wait_for_pool(place: Place) -> None:
    """Its filler tells nobody when it is done, and its last step is its own end: until then it would compute beside what is
    measured."""
    while True:
        pool: Dict[str, Any] = next(iter(document(must(lib.pool_status, place.agent))["pools"]), {})
        if not pool.get("filling"):
            break
        place.ending.wait(0.1)
        place.go_on()
    if not pool.get("ready"):
        raise UnavailableError(f"the pool is not filled: {pool.get('detail', 'no process fills it')}")


def claim(place: Place, report: Report) -> None:
    spec = filled("microagent_pool_spec", {"base": place.base, "size": 1, "network": place.network})
    must(lib.pool_set, place.agent, ctypes.byref(spec))
    for _ in place.rounds(report.count):
        wait_for_pool(place)
        with place.session() as session:
            times, claimed = place.time_exec(session), session.made - session.began
            if session.describe().get("source") != "pool":
                raise InternalError("a session was made, not claimed")
            report.add("claim", "one that answers is taken from the pool", claimed / MS)
            add_exec(report, times)
            report.add("whole", WHOLE, (claimed + times[2]) / MS, is_sum=True)
            report.machine = place.last_start(session)


# --- footprint: which memory each process of a machine has, and has alone -----------------------------------------------


def add_processes(report: Report, told: Dict[str, Any]) -> None:
    every: List[Tuple[bool, float, float]] = []  # whether it is ours, MiB that it has alone, and that others have too
    for process in told["processes"]:
        if "error" in process:
            raise DeniedError(f"the memory of {process['name']} is not shown: {process['error']}")
        what, is_ours = PROCESSES.get(process["name"], ("", False))
        alone = process["privateBytes"] / MIB
        every.append((is_ours, alone, process["residentBytes"] / MIB - alone))
        report.add(process["name"], what, *every[-1][1:])
    ours = [one for one in every if one[0]]
    for name, what, some in (("ours", "supervisor, broker, guard, vsockd, netgate together", ours),
                             ("whole", "what the end of the machine gives back", every)):
        report.add(name, what, sum(one[1] for one in some), sum(one[2] for one in some), is_sum=True)


def footprint(place: Place, report: Report) -> None:
    for _ in place.rounds(report.count):
        with place.session() as session:
            place.time_exec(session)
            add_processes(report, document(must(lib.footprint, place.sessions, session.id)))
            report.machine = place.last_start(session)


class Measure(NamedTuple):
    of: str
    doing: str
    rounds: int  # unless another number is asked for
    run: Callable[[Place, Report], None]


MEASURES = {
    "boot": Measure("start of a session", "booting sessions", 5, boot),
    "restore": Measure("restore of a session", "restoring sessions", 10, restore),
    "exec": Measure("exec in a session", "running commands", 100, exec_),
    "claim": Measure("claim of a session", "claiming sessions", 5, claim),
    "footprint": Measure("session", "looking at sessions", 3, footprint),
}
