# SPDX-License-Identifier: MIT
"""Kills processes. Whichever of a workspace's processes dies, nothing of the machine goes on, and the next command
reports that and cleans up."""

import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
from pathlib import Path

import pytest

import strays
from conftest import ended, held, wait_until

SMALL = ("--memory", 256, "--cpus", 1)


def runtime(host, name="w"):
    return json.loads((host.state / name / "runtime.json").read_text())


def pid_of(host, who):
    facts = runtime(host)
    if who == "supervisor":
        return facts["supervisorPid"]
    if who in ("qemu", "firecracker"):
        return facts["pid"]
    if who == "broker":
        return facts["broker"]["pid"]
    return next(c["pid"] for c in facts["companions"] if who in c["name"])


def copies_of_the_lease(pid):
    """Returns the process's descriptors of it, as our own descriptors of the same open files."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(pid)
    found = [libc.syscall(438, process, fd, 0)  # pidfd_getfd
             for fd, target in strays.descriptors(pid).items() if target.endswith("/lease")]
    os.close(process)
    assert min(found, default=0) >= 0, os.strerror(ctypes.get_errno())
    return found


def test_no_process_lets_go_for_another(vm):
    """Each process has the lease. Whatever it does with its descriptors, the machine counts as alive."""
    if os.getuid() != 0:
        pytest.skip("an ordinary user may not act in the place of a process in a cell")
    facts = json.loads((vm.state / "vm" / "runtime.json").read_text())
    who = {"qemu": facts["pid"], **{c["name"]: c["pid"] for c in facts["companions"] if c["name"] != "bwrap"}}
    for name, pid in who.items():
        held_by_it = copies_of_the_lease(pid)
        assert held_by_it, name
        for fd in held_by_it:
            fcntl.flock(fd, fcntl.LOCK_UN)
            fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0))  # F_OFD_SETLK
            with pytest.raises(BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # and it cannot prevent the next start
            os.close(fd)
        assert held(vm, "vm"), name
    entry, = vm.json("list")["workspaces"]
    assert entry["state"] == "running" and vm.json("status", "vm")["event"]["state"] == "running"
    refused = vm("--json", "start", "vm")
    assert refused.returncode == 1 and json.loads(refused.stdout)["errorCode"] == "conflict"
    assert vm("exec", "vm", "--", "true").returncode == 0


@pytest.mark.parametrize("who", ["supervisor", "qemu", "vsockd", "broker"])
def test_kill_9_of_one_process(host, who):
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    assert len(host.processes()) >= 3
    os.kill(pid_of(host, who), signal.SIGKILL)
    wait_until(lambda: not host.processes(), f"every process to end after the kill of {who}")
    assert ended(host)["state"] == "failed"
    assert ended(host)["detail"]
    leftover = [p.name for p in (host.state / "w").iterdir() if p.is_socket()]
    assert leftover == []
    host("start", "w", check=0)  # after `failed` a workspace boots again from its disk
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def dead_initrd(host):
    """Makes a workspace whose init waits for ever."""
    source = host.base / "init.c"
    source.write_text("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
    tree = host.base / "tree"
    tree.mkdir()
    subprocess.run(["gcc", "-static", "-o", tree / "init", source], check=True)
    target = host.base / "dead.initrd"
    target.write_bytes(subprocess.run("echo init | cpio -o -H newc --quiet", shell=True, cwd=tree, check=True,
                                      capture_output=True).stdout)
    return target


def hang(host, command=None):
    """Keeps a workspace in `starting` by a guest that never gets ready, or in `stopping` by one that does not stop.
    Returns the waiting processes."""
    host("create", "w", *SMALL, "--initrd", dead_initrd(host), check=0)
    waiting = [host.popen("start", "w", env={"MICROAGENT_TEST_LIMIT_BOOT_TCG_MS": "120000",
                                             "MICROAGENT_TEST_LIMIT_HALT_MS": "120000"})]
    wait_until(lambda: (host.state / "w" / "control.sock").exists() and
               (host.state / "w" / "runtime.json").exists() and "pid" in runtime(host), "the boot to begin")
    if command:
        waiting.append(host.popen(command, "w", env={"MICROAGENT_TEST_LIMIT_HALT_MS": "120000"}))
        wait_until(lambda: json.loads((host.state / "w" / "event.json").read_text())["state"] == "stopping",
                   "the stop to begin")
    return waiting


@pytest.mark.parametrize("who", ["supervisor", "qemu", "vsockd", "bwrap"])
@pytest.mark.parametrize("command", [None, "stop"], ids=["starting", "stopping"])
def test_kill_9_on_the_way_up_and_down(host, command, who):
    waiting = hang(host, command)
    if who not in ("supervisor", "qemu") and not any(who in c["name"] for c in runtime(host)["companions"]):
        pytest.skip(f"there is no {who} on this host")
    os.kill(pid_of(host, who), signal.SIGKILL)
    wait_until(lambda: not host.processes(), f"every process to end after the kill of {who}")
    for child in waiting:
        child.communicate(timeout=120)
    assert waiting[0].returncode == 1
    # The command that asked for the stop gets the end. If none asked, it is a failure.
    event = ended(host)
    assert event["state"] == ("stopped" if command else "failed") and event["detail"], event
    assert [p.name for p in (host.state / "w").iterdir() if p.is_socket()] == []
    assert host("start", "w", env=host.without_vmm()).returncode == 1
    assert [e["state"] for e in host.json("events", "w")["events"]][-2:] == ["starting", "failed"]
    host("delete", "w", check=0)


@pytest.mark.parametrize("command", [None, "stop"], ids=["starting", "stopping"])
def test_whoever_waits_is_killed(host, command):
    """The machine goes on, and commands that come meanwhile say what to do."""
    for child in hang(host, command):
        child.kill()
        child.communicate()
    state = "stopping" if command else "starting"
    refused = host("exec", "w", "true", check=125)
    assert f'workspace "w" is {state}: wait until it is running or stopped' in refused.stderr
    assert "`microagent list` shows its state, `microagent kill w` ends it at once" in refused.stderr
    assert json.loads(host("--json", "exec", "w", "true", check=125).stderr)["errorReason"] == "workspace-busy"
    assert f"w is {'already ' if not command else ''}{state}" in host("start", "w", check=1).stderr
    host("kill", "w", check=0)
    host("delete", "w", check=0)


@pytest.mark.parametrize("who", ["qemu", "bwrap"])
def test_kill_9_in_quarantine(host, who):
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    assert host("quarantine", "w", check=0).stdout == "w: quarantined\n"
    if who == "bwrap" and runtime(host)["confinement"] != "cell":
        pytest.skip("there are no cells on this host")
    os.kill(pid_of(host, who), signal.SIGKILL)
    event = ended(host)
    assert event["state"] == "quarantined"
    assert event["detail"].startswith("unclean: the machine ended in quarantine: the virtual machine monitor died")
    assert [p.name for p in (host.state / "w").iterdir() if p.is_socket()] == []
    refused = host("start", "w", check=1)
    assert "quarantined" in refused.stderr
    done = host("halt", "w", check=0)
    assert done.stdout == "w: halted\n" and event["detail"] in done.stderr, done
    host("delete", "w", check=0)


def test_kill_during_a_boot_that_hangs(host):
    """A guest that never gets ready: kill is allowed in `starting` and ends it."""
    host("create", "w", *SMALL, "--initrd", dead_initrd(host), check=0)
    starter = host.popen("start", "w", env={"MICROAGENT_TEST_LIMIT_BOOT_TCG_MS": "120000"})
    wait_until(lambda: (host.state / "w" / "runtime.json").exists(), "the boot to begin")
    host("kill", "w", check=0)
    out, err = starter.communicate(timeout=60)
    assert starter.returncode != 0, (out, err)
    assert host.json("status", "w")["event"]["state"] == "stopped"
    host("delete", "w", check=0)


def another_boot(host, facts, state, bystander):
    """Makes the directory as it is when the host comes up again after it went down in this state. The recorded pid
    belongs to another process by now."""
    directory = host.state / "w"
    events = json.loads((directory / "events.json").read_text())[:1]
    events.append({**events[0], "state": state})
    (directory / "events.json").write_text(json.dumps(events))
    (directory / "event.json").write_text(json.dumps(events[-1]))
    started = int(open(f"/proc/{bystander.pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[19])
    (directory / "runtime.json").write_text(json.dumps({
        **facts, "bootId": "00000000-0000-4000-8000-000000000000", "pid": bystander.pid, "startTime": started,
        "supervisorPid": bystander.pid, "supervisorStartTime": started}))
    for name in ("control.sock", "console.sock", "vsock.sock", "vsock.sock_1024"):
        if not (directory / name).exists():
            with socket.socket(socket.AF_UNIX) as stale:
                stale.bind(str(directory / name))


def test_another_boot_of_the_host(host):
    """A record of a VM from before a reboot becomes `failed`, or stays quarantined. Its sockets are removed, and the
    process that has its pid now is not touched."""
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    for pid in list(host.processes()):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait_until(lambda: not held(host), "the lease to be free")
    facts = runtime(host)
    with subprocess.Popen(["sleep", "1000"]) as bystander:
        for state in ("running", "starting", "stopping", "quarantined"):
            for verb in ("status", "start", "delete"):
                another_boot(host, facts, state, bystander)
                done = host(verb, "w", env=host.without_vmm())
                quarantined = state == "quarantined"
                if verb == "start":
                    assert done.returncode == 1 and ("quarantined" in done.stderr) == quarantined, done
                else:
                    assert done.returncode == 0, (state, verb, done)
                if verb == "delete":
                    assert not (host.state / "w").exists(), state
                    host("create", "w", *SMALL, check=0)
                    continue
                events = host.json("events", "w")["events"]
                assert events[2]["state"] == ("quarantined" if quarantined else "failed"), events
                assert events[2]["detail"] == f"{'unclean: ' * quarantined}the host was rebooted while the workspace was {state}"
                assert [e["state"] for e in events[3:]] == (
                    ["starting", "failed"] if verb == "start" and not quarantined else [])
                assert not [p.name for p in (host.state / "w").iterdir() if p.is_socket()]
        assert bystander.poll() is None
        bystander.kill()
    host("delete", "w", check=0)


def test_kill_9_of_each_companion_of_a_running_machine(host):
    """With a network, a share and a cell. After each kill the same workspace starts again."""
    work = host.base / "work"
    work.mkdir(mode=0o700)
    host("create", "w", *SMALL, "--network", "nat", "--share", f"{work}:/work", check=0)
    for who in ("netgate", "virtiofsd", "bwrap"):
        host("start", "w", check=0)
        if who == "bwrap" and runtime(host)["confinement"] != "cell":
            host("kill", "w", check=0)
            continue
        os.kill(pid_of(host, who), signal.SIGKILL)
        event = ended(host)
        wait_until(lambda: not host.processes(), "every process to end")
        assert event["state"] == "failed" and "died by signal 9" in event["detail"], event
        assert who in event["detail"] or who == "bwrap", event  # the monitor dies, and its machine
        assert not [p.name for p in (host.state / "w").iterdir() if p.is_socket()]
    host("start", "w", check=0)
    # Nothing is bound to the process above the supervisor.
    guard = int(Path(f"/proc/{pid_of(host, 'supervisor')}/stat").read_text().rsplit(")", 1)[1].split()[1])
    assert b"guard" in Path(f"/proc/{guard}/cmdline").read_bytes()
    os.kill(guard, signal.SIGKILL)
    assert host("exec", "w", "--", "ls", "/work", check=0).stdout == ""
    host("kill", "w", check=0)
    host("delete", "w", check=0)


@pytest.mark.parametrize("who", ["bwrap", "supervisor"])
def test_a_cell_that_is_being_made(host, who):
    """Between bwrap's clone and the moment in which the clone binds its life to bwrap's, bwrap dies, or the supervisor
    dies first. The clone waits for a message of bwrap, the first that bwrap writes, and has the lease."""
    bin, work, told = host.base / "bin", host.base / "work", host.base / "told"
    bin.mkdir()
    work.mkdir()
    told.touch()
    told.chmod(0o666)  # bwrap is another user
    bin.joinpath("bwrap").write_text(f"""#!/bin/sh
case "$*" in
*/share/*) exec strace -D -o {told} -e trace=write -e inject=write:signal={"KILL" if who == "bwrap" else "STOP"} /usr/bin/bwrap "$@" ;;
esac
exec /usr/bin/bwrap "$@"
""")
    bin.joinpath("bwrap").chmod(0o755)
    host("create", "w", *SMALL, "--share", f"{work}:/work", check=0)
    start = host.popen("start", "w", env={"PATH": f"{bin}:{os.environ['PATH']}"})
    if who == "supervisor":
        wait_until(lambda: "stopped by SIGSTOP" in told.read_text(), "bwrap to stop")
        os.kill(pid_of(host, who), signal.SIGKILL)
    start.communicate()
    assert start.returncode in (1, 75)
    assert ended(host)["state"] == "failed"
    wait_until(lambda: not host.processes(), "every process to end")
    host("delete", "w", check=0)


def test_a_copy_of_a_running_workspace(host):
    """No action on the copy reaches the original machine, neither beside it nor in another state directory."""
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    other = host.base / "backup"
    for source, copy in ((host.state, other), (host.state / "w", host.state / "copy")):
        subprocess.run(["cp", "-a", source, copy], check=True)
    state = ("--state-dir", other)
    assert "failed" in host(*state, "list", check=0).stdout
    assert host.json("status", "copy")["event"]["state"] == "failed"
    host("kill", "copy", check=0)
    host(*state, "kill", "w", check=0)
    for words in (("delete", "copy"), (*state, "delete", "w")):
        host(*words, check=0)
    assert host("exec", "w", "--", "echo", "alive", check=0).stdout == "alive\n"
    host("kill", "w", check=0)
    host("delete", "w", check=0)
    shutil.rmtree(other)


def test_guest_ends_itself(host):
    """Whatever a guest does to end its machine by itself, the record says failed."""
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    host("exec", "--user", "root", "w", "--", "reboot", "-f")
    assert ended(host)["state"] == "failed"
    host("delete", "w", check=0)


def test_a_panic_is_failed(host, debian_kernel):
    host("create", "w", *SMALL, "--kernel", debian_kernel["path"], check=0)
    host("start", "w", check=0)
    host("exec", "--user", "root", "w", "--", "sh", "-c", "echo c > /proc/sysrq-trigger")
    event = ended(host)
    assert event["state"] == "failed" and "panic" in event["detail"].lower()
    host("delete", "w", check=0)


def test_qemu_dies_at_once(host):
    host("create", "w", *SMALL, check=0)
    done = host("--json", "start", "w", env={"MICROAGENT_QEMU": "/bin/false"})
    assert done.returncode in (1, 75)
    answer = json.loads(done.stdout)
    assert answer["ok"] is False and answer["error"]
    assert host.json("status", "w")["event"]["state"] in ("failed", "prepared")
    host("delete", "w", check=0)


def test_qemu_missing(host):
    host("create", "w", *SMALL, check=0)
    done = host("--json", "start", "w", env={"MICROAGENT_QEMU": "/nonexistent/qemu"})
    assert done.returncode in (1, 75)
    assert "/nonexistent/qemu" in json.loads(done.stdout)["error"]
    host("delete", "w", check=0)
