# SPDX-License-Identifier: MIT
"""Tests from outside that the processes which read a guest's bytes have no rights."""

import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

import inject
import strays
import test_session_share
from attaching import attach, given
from conftest import wait_until
from failing_calls import NO_LANDLOCK
from test_audit import events, verdict
from test_mediation import free_port
from test_session_share import bundle, check_no_alarm, check_owners, create, directory, record, refused

ours, ordinary = test_session_share.ours, test_session_share.ordinary

MSG_FASTOPEN = 0x20000000
SO_PASSRIGHTS = 83

# A host whose users may make no namespaces. It has a user namespace of its own, with root's name and none of root's
# rights.
NO_NAMESPACES = ["unshare", "--user", "--map-root-user", "sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces && "
                 'exec setpriv --bounding-set=-all --inh-caps=-all "$@"', "sh"]


# Returns what keeps a live supervisor from this host's files.
HAS_LANDLOCK = ctypes.CDLL(None).syscall(444, None, 0, 1) > 0
OWN_FILES = "root-landlock" if HAS_LANDLOCK else "root"
QMP = 3  # of QEMU


def status(pid):
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def test_the_parser_of_guest_bytes_has_no_rights(vm):
    """It has no capability of any kind, no way to get one, and a list of system calls. A child does what needs rights."""
    facts = json.loads((vm.state / "vm" / "runtime.json").read_text())
    parser, broker = status(facts["supervisorPid"]), status(facts["broker"]["pid"])
    own = status(os.getpid())
    for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(parser[kind], 16) == 0, (kind, parser[kind])
    if os.geteuid() == 0:  # a user without capabilities keeps a bounding set that no_new_privs makes empty
        assert int(parser["CapBnd"], 16) == 0
    # The sanitizers' own system calls are not on the list.
    assert parser["NoNewPrivs"] == "1" and parser["Seccomp"] == ("0" if os.environ.get("SANITIZE") else "2")
    assert facts["files"] == OWN_FILES
    check_own_root(facts["supervisorPid"], vm.state / "vm")
    # The VMM has microagent's list of calls, and its own list after it.
    vmm = status(facts["pid"])
    assert vmm["NoNewPrivs"] == "1" and vmm.get("Seccomp_filters", "2") == "2" and int(vmm["CapEff"], 16) == 0
    assert broker["PPid"] == str(facts["supervisorPid"])
    assert broker["CapEff"] == own["CapEff"] and broker["Seccomp"] == own["Seccomp"]
    # The broker keeps nothing of the guest's: only its socket to the supervisor and what its duties need.
    links = strays.descriptors(facts["broker"]["pid"]).values()
    assert sum(link.startswith("socket:") for link in links) == 1, links
    assert not [link for link in links if "serial.log" in link or "rootfs" in link], links


@pytest.mark.skipif(bool(os.environ.get("SANITIZE")), reason="the sanitizers' own system calls are no business of the list")
def test_the_parser_of_guest_bytes_has_no_signals_sent(host):
    """Sends by a descriptor of its own to a process outside of its machine, for which the kernel asks root for no
    capability. The call ends the caller."""
    stranger = subprocess.Popen(["sleep", "600"])
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    try:
        for command, value in ((fcntl.F_SETOWN, stranger.pid), (fcntl.F_SETSIG, signal.SIGKILL), (fcntl.F_SETFL, os.O_ASYNC)):
            host("start", "w", check=0)
            pid = json.loads((host.state / "w" / "runtime.json").read_text())["supervisorPid"]
            assert inject.system_call(pid, inject.FCNTL, 0, fcntl.F_GETFD) >= 0
            assert inject.system_call(pid, inject.FCNTL, 0, command, value) is None
            wait_until(lambda: not host.processes(), "every process to end")
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
    host("delete", "w", check=0)


@pytest.mark.skipif(bool(os.environ.get("SANITIZE")), reason="the sanitizers' own system calls are no business of the list")
@pytest.mark.parametrize("what", ("a connection by sendto()", "a connection by sendmsg()", "a datagram to an address", "a mode for all", "no mode", "a wait",
                                  "a lease", "descriptors of others", "a socket", "a connection"))
def test_what_the_parser_of_guest_bytes_is_ended_for(host, what):
    """MSG_FASTOPEN connects a socket without connect(). The socket may come from a VMM."""
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    host("start", "w", check=0)
    pid = json.loads((host.state / "w" / "runtime.json").read_text())["supervisorPid"]
    call = {"a connection by sendto()": (inject.SENDTO, 0, 0, 0, MSG_FASTOPEN),
            "a connection by sendmsg()": (inject.SENDMSG, 0, 0, MSG_FASTOPEN),
            "a datagram to an address": (inject.SENDTO, 0, 0, 0, 0, 4096, 16),
            "a mode for all": (inject.FCHMOD, 0, 0o644), "no mode": (inject.FCHMOD, 0, 0),
            "a wait": (inject.FCNTL, 0, fcntl.F_SETFL, os.O_RDWR), "a lease": (inject.FCNTL, 0, fcntl.F_SETLEASE, fcntl.F_RDLCK),
            "descriptors of others": (inject.SETSOCKOPT, 0, socket.SOL_SOCKET, SO_PASSRIGHTS),
            "a socket": (inject.SOCKET, socket.AF_INET, socket.SOCK_STREAM), "a connection": (inject.CONNECT, 0, 0, 0)}[what]
    assert inject.system_call(pid, *call) is None
    wait_until(lambda: not host.processes(), "every process to end")
    host("delete", "w", check=0)


@pytest.mark.skipif(os.geteuid() != 0, reason="the device null is root's")
@pytest.mark.skipif(bool(os.environ.get("SANITIZE")), reason="the sanitizers' own system calls are no business of the list")
def test_the_parser_of_guest_bytes_leaves_the_null_device_alone(vm):
    """It may change the mode of files, since it makes some, and the null device belongs to the host's root."""
    inject.refuses_mode_of_null(json.loads((vm.state / "vm" / "runtime.json").read_text())["supervisorPid"], mode=0o600)


def roots_of(pid):
    """Returns the mounts of a process: {path: options}."""
    lines = map(str.split, Path(f"/proc/{pid}/mountinfo").read_text().splitlines())
    return {line[4]: set(line[5].split(",")) for line in lines}


def check_own_root(pid, writable):
    """Its root has this directory, which it may write to, and its own directory in /proc. No descriptor leads out."""
    mounts, root = roots_of(pid), Path(f"/proc/{pid}/root")
    own = {"/", "/proc/self", "/proc/thread-self"}
    assert set(mounts) == own | {str(writable)}, mounts
    assert all({"nosuid", "nodev", "noexec", "ro" if place in own else "rw"} <= options
               for place, options in mounts.items()), mounts
    assert set(os.listdir(root)) == {"proc", writable.parts[1]}
    with pytest.raises(OSError) as refused:
        (root / "etc").mkdir()
    assert refused.value.errno == errno.EROFS
    above = [os.listdir(f"{entry}" + 16 * "/..") for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_dir()]
    assert len(above) >= 2 and all(set(there) == set(os.listdir(root)) for there in above), above


def handed_directory(supervisor, qemu, directory):
    """QEMU's descriptor of a directory, which the supervisor has handed to it by a command of its monitor."""
    def open_directories():
        return {fd for fd in strays.descriptors(qemu) if os.path.isdir(f"/proc/{qemu}/fd/{fd}")}

    before = open_directories()
    way = inject.sockets_between(supervisor, qemu)[QMP]
    assert inject.send_with(supervisor, way, b'{"execute":"getfd","arguments":{"fdname":"x"}}\n', directory) > 0
    wait_until(lambda: open_directories() - before, "QEMU to have the directory")
    return (open_directories() - before).pop()


@pytest.mark.skipif(bool(os.environ.get("SANITIZE")), reason="the sanitizers' own system calls are no business of the list")
def test_a_directory_that_the_parser_hands_to_its_vmm_leads_nowhere(request):
    """QEMU has no Landlock. By `..` from a directory of the host's mount namespace an ordinary user's QEMU would reach
    all that the user has."""
    host = request.getfixturevalue("ordinary" if os.getuid() == 0 else "ours")
    name = create(host)
    facts = record(host, name)
    supervisor, qemu = facts["supervisorPid"], facts["pid"]
    assert facts["files"] == OWN_FILES
    check_own_root(supervisor, bundle(host, name))
    own, = (fd for fd, link in strays.descriptors(supervisor).items() if link == str(bundle(host, name)))
    directory, up = handed_directory(supervisor, qemu, own), "../" * 16
    assert inject.open_file(qemu, directory, up + "etc/passwd") == -errno.ENOENT
    assert inject.open_file(qemu, directory, up + "proc/self/fd/0") in (-errno.ELOOP, -errno.EACCES)
    top = inject.open_file(qemu, directory, up, os.O_DIRECTORY)
    assert set(os.listdir(f"/proc/{qemu}/fd/{top}")) == {"proc", host.state.parts[1]}
    host("session", "destroy", name, check=0)


def check_in_own_root(host, monkeypatch):
    """The supervisor has a root of its own, and can still do all its work."""
    monkeypatch.setattr(host, "wrap", [*NO_LANDLOCK, *host.wrap])
    name = create(host, env={"MICROAGENT_TEST_LIMIT_AUDIT_LOOK_MS": "5"})
    facts = record(host, name)
    assert facts["files"] == "root"
    check_own_root(facts["supervisorPid"], bundle(host, name))
    assert host("session", "stream", name, "--", "sh", "-c", "echo out; exit 3", check=3).stdout == "out\n"
    work = directory(host, "work")
    if host.uid == 0 or os.getuid() == 0:  # the filter does not need no_new_privs, with which newuidmap does not work
        assert "nothing in /etc is ever shared" in attach(host, name, work, given("/etc", os.stat("/etc")))
        assert "the guest cannot mount the directory: " in refused(host, name, work, "--at", "/etc/passwd/x")
        told = host.json("session", "share", name, work)["shares"]
        server, = (c for c in record(host, name)["companions"] if c["name"].startswith("virtiofsd"))
        assert server["startTime"] > 0
        check_owners(host, name, work)
        check_no_alarm(host, name, *told, ("/etc/passwd/x",))
    check_own_root(facts["supervisorPid"], bundle(host, name))
    disk = host.state / "bases" / "web-v1.bundle" / "disk.img"
    subprocess.run(["chattr", "-i", disk], check=False, stderr=subprocess.DEVNULL)
    before = disk.stat()
    disk.chmod(before.st_mode)
    wait_until(lambda: events(host, name, "base.changed"), "the base's change to be told")
    assert events(host, name, "base.changed")[0]["data"] == {"path": str(disk), "how": "was given other attributes"}
    host("--state-dir", host.state / "sessions", "stop", f"{name}.bundle", check=0)
    assert record(host, name, "event")["state"] == "stopped" and list((host.state / "logs").glob("security-*.log"))
    host("session", "destroy", name, check=0)
    assert verdict(host, name)["verdict"] == "closed"
    wait_until(lambda: not host.processes(), "every process to end")


def test_a_root_of_its_own(ours, monkeypatch):
    check_in_own_root(ours, monkeypatch)


def test_a_root_of_its_own_of_an_ordinary_user(ordinary, monkeypatch):
    check_in_own_root(ordinary, monkeypatch)


def test_without_landlock(host):
    """doctor, host, the machine's record and its log say what a machine has instead, or that it has nothing."""
    def finding():
        return next(check for check in host.json("doctor")["checks"] if check["name"] == "landlock")

    here = host.json("host")["host"]
    assert here["files"] == "root-landlock" or here["filesReason"]
    assert (finding()["status"] == "ok") == (here["files"] == "root-landlock")
    host("create", "w", "--memory", 256, "--cpus", 1, "--unconfined", check=0)
    host.wrap = NO_LANDLOCK
    there = host.json("host")["host"]
    assert (there["files"], there["filesReason"]) == ("root", "this kernel has no Landlock")
    told = finding()
    assert told["status"] == "degraded" and "this kernel has no Landlock" in told["detail"] and "lsm=" in told["remedy"]
    assert told["detail"].startswith("programs that read archives (supervisors have a root of their own and cannot) can reach this host")
    if os.getuid() != 0:
        return  # in a user namespace an ordinary user cannot give up what the rest takes away
    if HAS_LANDLOCK:
        host.wrap = NO_NAMESPACES
        there = host.json("host")["host"]
        assert there["files"] == "landlock" and there["filesReason"].startswith("the supervisor cannot get a root directory of its own: unshare: ")
        told = finding()
        assert told["status"] == "degraded" and "only Landlock keeps supervisors from this host's files" in told["detail"]
        host("start", "w", check=0)
        assert json.loads((host.state / "w" / "runtime.json").read_text())["files"] == "landlock"
        assert ("only Landlock keeps the supervisor from the host's files; it does not bind a program to which the supervisor hands a directory: "
                "the supervisor cannot get a root directory of its own: unshare: ") in (host.state / "w" / "supervisor.log").read_text()
        host("kill", "w", check=0)
    host.wrap = [*NO_LANDLOCK, *NO_NAMESPACES]
    there, why = host.json("host")["host"], "this kernel has no Landlock: the supervisor cannot get a root directory of its own: unshare: "
    assert there["files"] == "open" and there["filesReason"].startswith(why)
    assert finding()["detail"].startswith("supervisors, which read what guests write, and programs that read archives can reach this host")
    host("start", "w", check=0)
    facts = json.loads((host.state / "w" / "runtime.json").read_text())
    assert facts["files"] == "open" and status(facts["supervisorPid"])["Seccomp"] == "2"
    assert f"the supervisor can still open the host's files: {why}" in (host.state / "w" / "supervisor.log").read_text()
    host("kill", "w", check=0)
    host("delete", "w", check=0)


CHANGED = "was changed since microagent wrote it, and not by microagent"


def test_a_record_that_no_command_wrote_gives_a_machine_nothing(host):
    """The live supervisor, which may be taken over, can write workspace.json, and the next start would give its
    contents to the guest. The record of a command is known by a digest where the live supervisor cannot write."""
    secret, directory, locks = host.base / "secret", host.state / "w", host.state / ".locks"
    secret.mkdir(mode=0o700)
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    path, digest = directory / "workspace.json", locks / ".record-w"
    good = path.read_text()
    changed = json.loads(good)
    changed["config"]["shares"] = [{"tag": "s", "path": str(secret), "mountpoint": "/x", "mode": "rw"}]
    path.write_text(json.dumps(changed))
    before = {file.name: file.read_bytes() for file in directory.iterdir() if file.name.endswith(".json")}
    for words in (("start", "w"), ("start", "--prepare", "w"), ("clone", "w", "twin")):
        done = host(*words)
        assert done.returncode == 1, (words, done)
        assert f"{path} {CHANGED}" in done.stderr and f"remove {digest}, and the file is accepted" in done.stderr, (words, done.stderr)
    # The supervisor compares too, whatever config it gets.
    identity = {"requestID": "r", "runtimeID": "w", "role": "workload", "backend": "qemu"}
    code, answer, _ = host.supervisor({"command": "start", "identity": identity, "config": changed["config"]})
    assert code != 0 and f"{path} {CHANGED}" in answer["error"], answer
    assert (answer["errorCode"], answer["errorReason"], answer["errorSubject"]) == ("conflict", "record-changed", str(digest)), answer
    assert before == {file.name: file.read_bytes() for file in directory.iterdir() if file.name.endswith(".json")}
    assert not (host.state / "twin").exists() and host.json("status", "w")["event"]["state"] == "prepared"
    # A config in the request makes the record unnecessary.
    assert host.supervisor({"command": "prepare", "identity": identity, "config": json.loads(good)["config"]})[0] == 0
    assert "shares" not in json.loads(path.read_text())["config"] or not json.loads(path.read_text())["config"]["shares"]
    # A record that a person has looked at is accepted, and so is one of an earlier version. From then on the start
    # accepts no other.
    path.write_text(json.dumps(changed))
    digest.unlink()
    host("start", "w", check=0)
    assert len(digest.read_text().split()) == 1 and oct(digest.stat().st_mode & 0o777) == "0o600"
    host("stop", "w", check=0)
    path.write_text(good)
    assert CHANGED in host("start", "w", check=1).stderr
    host("delete", "w", check=0)
    assert not [file.name for file in locks.iterdir() if file.name.endswith("-w")]


def test_a_change_of_a_running_machine_is_a_commands(host):
    """The live supervisor writes this change down, and may write no other, even if the command that asked is killed."""
    host("create", "w", "--memory", 256, "--cpus", 1, "--network", "nat", check=0)
    host("start", "w", check=0)
    path, digest = host.state / "w" / "workspace.json", host.state / ".locks" / ".record-w"

    def ports():
        return [forward["hostPort"] for forward in json.loads(path.read_text())["config"]["network"].get("portForwards", [])]

    first, second = free_port(), free_port()
    host("network", "publish", "w", f"{first}:80", check=0)
    assert ports() == [first] and len(digest.read_text().split()) == 1
    assert host("network", "publish", "w", f"{first}:81").returncode != 0 and ports() == [first]
    # A command that is killed has announced a record, which is written or not.
    supervisor = json.loads((host.state / "w" / "runtime.json").read_text())["supervisorPid"]
    os.kill(supervisor, signal.SIGSTOP)
    command = host.popen("network", "publish", "w", f"{second}:80")
    wait_until(lambda: len(digest.read_text().split()) == 2, "the announcement")
    command.kill()
    command.wait()
    os.kill(supervisor, signal.SIGCONT)
    host("stop", "w", check=0)
    assert ports() in ([first], [first, second])
    host("start", "w", check=0)
    assert len(digest.read_text().split()) == 1
    host("network", "unpublish", "w", first, check=0)
    written = json.loads(path.read_text())
    written["config"]["network"]["portForwards"] = [{"host": "127.0.0.1", "hostPort": second, "guestPort": 22}]
    path.write_text(json.dumps(written))
    assert CHANGED in host("network", "publish", "w", f"{first}:80", check=1).stderr
    host("stop", "w", check=0)
    assert CHANGED in host("start", "w", check=1).stderr
    host("delete", "w", check=0)


def test_a_session_record_that_no_command_wrote(host):
    """session.json says which directories a session gets again. The live supervisor records only its quota."""
    host("base", "create", "web", check=0)
    name = host.json("session", "create", "--network", "isolated", "--base", "web")["name"]
    own, locks = host.state / "sessions" / f"{name}.bundle", host.state / "sessions" / ".locks"
    path = own / "session.json"
    host("session", "quota", name, 100000, check=0)
    assert host("session", "exec", name, "--", "true").returncode == 0
    good = path.read_text()
    path.write_text(json.dumps({**json.loads(good), "shares": [{"path": "/root", "mountpoint": "/x", "mode": "rw"}]}))
    said = host("session", "exec", name, "--", "true", check=125).stderr
    assert f"{path} {CHANGED}" in said and f"remove {locks}/.session-{name}.bundle, and the file is accepted" in said, said
    entry, = host.json("session", "list")["sessions"]
    assert f"{path} {CHANGED}" in entry["error"], entry
    host("session", "destroy", name, check=0)
    assert not own.exists() and not [file.name for file in locks.iterdir() if name in file.name]
    host("base", "delete", "web-v1", check=0)
