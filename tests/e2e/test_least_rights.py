# SPDX-License-Identifier: MIT
"""Who reads what a guest writes has no rights, seen from outside."""

import json
import os
import sys
from pathlib import Path

# A kernel without Landlock: what asks for a ruleset gets ENOSYS (a seccomp filter), in the program that follows.
NO_LANDLOCK = [sys.executable, "-c", """
import ctypes, os, struct, sys
code = b"".join(struct.pack("<HBBI", *op) for op in ((0x20, 0, 0, 0), (0x15, 0, 1, 444), (6, 0, 0, 0x50000 | 38), (6, 0, 0, 0x7fff0000)))
held = ctypes.create_string_buffer(code)
program = struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_ulong]
assert libc.prctl(38, 1, None, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execvp(sys.argv[1], sys.argv[1:])
"""]


def status(pid):
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def test_the_parser_of_guest_bytes_has_no_rights(vm):
    """No capability of any kind, no way to get one, a list of system calls; what needs rights is done by a child."""
    facts = json.loads((vm.state / "vm" / "runtime.json").read_text())
    parser, broker = status(facts["supervisorPid"]), status(facts["broker"]["pid"])
    own = status(os.getpid())
    for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(parser[kind], 16) == 0, (kind, parser[kind])
    if os.geteuid() == 0:  # who has none to give up keeps a bounding set that no_new_privs makes empty
        assert int(parser["CapBnd"], 16) == 0
    assert parser["NoNewPrivs"] == "1" and parser["Seccomp"] == "2"
    assert facts["files"] == "landlock" or "landlock" not in Path("/sys/kernel/security/lsm").read_text()
    # The VMM has microagent's list of calls, and its own behind it.
    vmm = status(facts["pid"])
    assert vmm["NoNewPrivs"] == "1" and vmm.get("Seccomp_filters", "2") == "2" and int(vmm["CapEff"], 16) == 0
    assert broker["PPid"] == str(facts["supervisorPid"])
    assert broker["CapEff"] == own["CapEff"] and broker["Seccomp"] == own["Seccomp"]
    # The broker keeps nothing of the guest's: its socket to the parser and what its duties need.
    links = [os.readlink(entry) for entry in Path(f"/proc/{facts['broker']['pid']}/fd").iterdir()]
    assert sum(link.startswith("socket:") for link in links) == 1, links
    assert not [link for link in links if "serial.log" in link or "rootfs" in link], links


def test_without_landlock(host):
    """A machine starts, and who looks is told: doctor, host, the record of the machine and its log."""
    def finding():
        return next(check for check in host.json("doctor")["checks"] if check["name"] == "landlock")

    here = host.json("host")["host"]
    assert here["files"] == "landlock" or here["filesReason"]
    assert (finding()["status"] == "ok") == (here["files"] == "landlock")
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    host.wrap = NO_LANDLOCK
    there = host.json("host")["host"]
    assert (there["files"], there["filesReason"]) == ("open", "this kernel has no Landlock")
    told = finding()
    assert told["status"] == "degraded" and "this kernel has no Landlock" in told["detail"] and "lsm=" in told["remedy"]
    host("start", "w", check=0)
    facts = json.loads((host.state / "w" / "runtime.json").read_text())
    assert facts["files"] == "open" and status(facts["supervisorPid"])["Seccomp"] == "2"
    assert "the supervisor is not kept from the host's files: this kernel has no Landlock" in (
        host.state / "w" / "supervisor.log").read_text()
    host("kill", "w", check=0)
    host("delete", "w", check=0)
