# SPDX-License-Identifier: MIT
"""Who reads what a guest writes has no rights, seen from outside."""

import json
import os
from pathlib import Path


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
