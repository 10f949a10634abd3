# SPDX-License-Identifier: MIT
"""Tests the limits that a machine gets without being asked for. A guest of ours is the host here, since it has only
cgroups of version 2, wherever these tests run."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD, wait_until
from test_supervisor import request

PLACE = "/opt/host"
RUN = f"LD_LIBRARY_PATH={PLACE}"
DELEGATE = """
cd /sys/fs/cgroup
echo '+memory +pids' > cgroup.subtree_control
mkdir -p given/front
chown agent given given/front given/cgroup.procs given/front/cgroup.procs given/cgroup.subtree_control
echo $$ > given/front/cgroup.procs
"""


def sh(guest, script, code=0):
    done = guest("exec", "--user", "root", "vm", "--", "sh", "-c", script)
    assert done.returncode == code, (script, done.returncode, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def guest(debian_vm):
    """The debian guest, with some programs and the libraries that they need."""
    programs = [BUILD / "unit" / "test_supervisor_cgroup",
                *(BUILD / "bin" / f"microagent-{name}" for name in ("qemu-supervisor", "vsockd", "artifact"))]
    needed = {path for program in programs
              for path in re.findall(r"=> (/\S+)", subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout)
              if not re.match(r"lib(c|m|pthread|dl|rt)[.]so", Path(path).name)}
    sh(debian_vm, f"mkdir -p {PLACE}")
    for path in [*programs, *needed]:
        debian_vm("cp", "--user", "root", os.path.realpath(path), f"vm:{PLACE}/{Path(path).name}", check=0)
    tried = debian_vm("exec", "--user", "root", "vm", "--", "env", RUN, f"{PLACE}/microagent-qemu-supervisor", "--print-capabilities")
    if "GLIBC_" in tried.stderr:
        sh(debian_vm, f"rm -rf {PLACE}")
        pytest.skip("this host's programs need a newer C library than the guest has")
    assert tried.returncode == 0, tried.stderr
    yield debian_vm
    sh(debian_vm, f"""rm -rf {PLACE} /root/.cache /root/.local /home/agent/.cache /home/agent/.local /run/mount /run/systemd
        cd /sys/fs/cgroup; [ ! -d given ] || rmdir given/front given
        for group in microagent .; do echo '-memory -pids' > $group/cgroup.subtree_control; done""")


def asked(guest, before=""):
    """Returns `host`'s text about the place, for the supervisor of a user who is in a group."""
    words = f"""{before}
        echo '{{"command": "host"}}' | {RUN} {PLACE}/microagent-qemu-supervisor"""
    return json.loads(sh(guest, words))["host"]


# A VMM that prints its cgroup and ends, or stays and prints nothing.
VMM = "#!/bin/sh\ncat /proc/self/cgroup >&2\nexit 1\n"
STAYS = "#!/bin/sh\nexec sleep 1000\n"


def ask(guest, command, config, vmm="vmm", start=None):
    """Root's supervisor in the guest, whose VMM is that program."""
    words = ("exec", "-i", "--user", "root", "vm", "--", "env", RUN, f"MICROAGENT_QEMU={PLACE}/{vmm}", f"{PLACE}/microagent-qemu-supervisor")
    document = json.dumps(request(command, config, runtimeID="w"))
    if not start:
        return guest(*words, input=document)
    child = start(*words, stdin=subprocess.PIPE)
    child.stdin.write(document.encode())
    child.stdin.close()
    child.stdin = None
    return child


def check_broker(guest, config):
    """If the supervisor lives on, it has given up the right to leave and remove the group. Its broker does it."""
    ask(guest, "prepare", config).check_returncode()
    child = ask(guest, "start", config, "stays", guest.popen)
    facts = {}

    def confined():
        said = guest("exec", "--user", "root", "vm", "--", "cat", f"{PLACE}/s/w/runtime.json").stdout
        facts.update(json.loads(said or "{}"))
        return "files" in facts  # recorded when all rights except the list of system calls are given up

    wait_until(confined, "the supervisor to give up its rights")
    group, pids = facts["cgroup"], [facts["supervisorPid"], facts["broker"]["pid"], facts["pid"]]
    assert sh(guest, f"cat {group}/memory.max {group}/pids.max").split() == [str((64 + 512) << 20), "1024"]
    assert set(map(str, pids)) <= set(sh(guest, f"cat {group}/cgroup.procs").split()), facts
    parser, broker = (sh(guest, f"grep CapEff /proc/{pid}/status").split()[1] for pid in pids[:2])
    assert int(parser, 16) == 0 and int(broker, 16) != 0, (parser, broker)
    ask(guest, "kill", {"stateDir": config["stateDir"]}).check_returncode()
    out, err = child.communicate()
    assert child.returncode != 0, (out, err)
    log = sh(guest, f"cat {PLACE}/s/w/supervisor.log; rm {PLACE}/s/w/supervisor.log")
    assert not [line for line in log.splitlines() if group in line][1:] and "cannot leave the cgroup" not in log, log
    assert sh(guest, f"ls -d {group} /proc/{facts['supervisorPid']} 2>/dev/null || true") == "", log


def check_start(guest):
    """The live supervisor and the VMM are in a limited group, which is gone with them, unless the request does not want it."""
    features = json.loads(sh(guest, f"{RUN} {PLACE}/microagent-qemu-supervisor --print-capabilities"))["features"]
    config = {"kernelPath": f"{PLACE}/k", "initrdPath": f"{PLACE}/k", "rootfsPath": f"{PLACE}/r", "stateDir": f"{PLACE}/s",
              "memoryMiB": 64, "cpuCount": 1, "accelerator": "tcg", "network": {"mode": "isolated"},
              **({"confinement": "seccomp"} if "confinement" in features else {})}
    for name, script in (("vmm", VMM), ("stays", STAYS)):
        guest("exec", "-i", "--user", "root", "vm", "--", "sh", "-c", f"cat > {PLACE}/{name} && chmod 755 {PLACE}/{name}", input=script, check=0)
    sh(guest, f"cd {PLACE}; head -c 4096 microagent-qemu-supervisor > k; mkdir -m 700 s; mke2fs -q -t ext4 r 4M")
    for change, limited in (({}, True), ({"cgroup": "inherit"}, False)):
        for command in ("prepare", "start"):
            done = ask(guest, command, {**config, **change})
            assert (done.returncode == 0) == (command == "prepare"), (done.stdout, done.stderr)
        log = sh(guest, f"cat {PLACE}/s/w/supervisor.log; rm {PLACE}/s/w/supervisor.log")
        assert bool(re.search(r"qemu: 0::/(microagent/)?microagent[.]w[.]\d+$", log, re.M)) == limited, log
        assert (f"memory.max is {(64 + 512) << 20}\n" in log and "pids.max is 1024\n" in log) == limited, log
        assert sh(guest, "find /sys/fs/cgroup -name 'microagent.*'") == ""
    check_broker(guest, config)
    check_what_cannot_be_limited(guest, config)


def refusal_of(guest, config, before):
    """The words with which check, prepare and start refuse a config. Nothing is left of it."""
    said = set()
    for command in ("check", "prepare", "start"):
        words = f"{before}\n{RUN} MICROAGENT_QEMU={PLACE}/vmm {PLACE}/microagent-qemu-supervisor"
        done = guest("exec", "-i", "--user", "root", "vm", "--", "unshare", "-m", "sh", "-c", words,
                     input=json.dumps(request(command, config, runtimeID="n")))
        assert done.returncode == 75, (done.stdout, done.stderr)
        said.add(json.loads(done.stdout)["error"])
    assert sh(guest, f"ls -d {PLACE}/s/n 2>/dev/null; find /sys/fs/cgroup -name 'microagent.*'; true") == ""
    assert len(said) == 1, said
    return said.pop()


def check_what_cannot_be_limited(guest, config):
    """A machine gets the limits that a request asks for, or is refused."""
    busy = "cd /sys/fs/cgroup; mkdir busy; sleep 600 & trap \"kill $!; wait; rmdir /sys/fs/cgroup/busy\" EXIT; echo $! > busy/cgroup.procs"
    said = refusal_of(guest, {**config, "cgroup": "/sys/fs/cgroup/busy"}, busy)
    assert said.startswith("config.cgroup: /sys/fs/cgroup/busy contains processes"), said
    said = refusal_of(guest, {**config, "cgroupLimits": "required"}, "umount /sys/fs/cgroup")
    assert said == "config.cgroupLimits: no cgroup file system of version 2 is mounted here, so the limits of a machine cannot be set: boot the host with cgroups of version 2", said


def test_a_machine_is_limited_where_that_can_be(guest):
    real = f"{RUN} {PLACE}/test_supervisor_cgroup"
    # root: the topmost group, whose children may be limited though it has processes.
    assert asked(guest)["cgroup"] == "/sys/fs/cgroup"
    sh(guest, f"{real} /sys/fs/cgroup")
    check_start(guest)
    # A user to whom a group was delegated, in a group below it. The user goes back to that one.
    user = "exec su -s /bin/sh agent -c"
    sh(guest, f"{DELEGATE} {user} '{real} /sys/fs/cgroup/given'")
    assert sh(guest, "ls -d /sys/fs/cgroup/given/*/").split() == ["/sys/fs/cgroup/given/front/"]
    # root if systemd says who owns the groups: the group that systemd has marked as delegated, and no other.
    managed = "mkdir -p /run/systemd/system; trap 'rmdir /run/systemd/system' EXIT"
    said = asked(guest, managed)
    assert "cgroup" not in said and "managed by systemd and is not delegated" in said["cgroupReason"], said
    mark = "python3 -c 'import os; os.setxattr(\"/sys/fs/cgroup/given\", \"trusted.delegate\", b\"1\")'"
    assert asked(guest, f"{managed}; {DELEGATE} {mark}")["cgroup"] == "/sys/fs/cgroup/given"
    # A user to whom nothing was delegated; a mount that nobody can write to; no group at all.
    said = json.loads(sh(guest, f"""su -s /bin/sh agent -c "echo '{{\\"command\\": \\"host\\"}}' | \
        {RUN} {PLACE}/microagent-qemu-supervisor" """))["host"]
    assert "not writable for this user" in said["cgroupReason"], said
    for change, why in (("mount -o remount,bind,ro /sys/fs/cgroup", "not writable for this user"),
                        ("umount /sys/fs/cgroup", "no cgroup file system of version 2")):
        words = f"""{change}; echo '{{"command": "host"}}' | {RUN} {PLACE}/microagent-qemu-supervisor"""
        said = json.loads(sh(guest, f"unshare -m sh -c {json.dumps(words)}"))["host"]
        assert why in said["cgroupReason"] and "cgroup" not in said, said
