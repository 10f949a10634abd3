# SPDX-License-Identifier: MIT
"""Tests machines that are saved and restored, at the supervisor: what must match what, and that siblings share nothing
that they could change. test_templates.py has bases and sessions."""

import array
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

import inject
import schema_check
import strays
from broker import copy_of
from conftest import copy_disk, image, make_host, wait_until
from digests import sha256
from test_layers import IDENTITY, make_layer
from test_messages import conversations, frames

MIB = 1 << 20
SEALS = 0x1 | 0x2 | 0x4 | 0x8  # F_SEAL_SEAL, SHRINK, GROW, WRITE
F_GET_SEALS = 1034
SHUTDOWN = 48  # the number of the system call for x86-64


def ask(host, command, config=None, name="w", args=()):
    code, answer, _ = host.supervisor({"command": command, "identity": {**IDENTITY, "runtimeID": name},
                                       "config": config or {"stateDir": str(host.state)}}, args=args)
    return code, answer


def request(host, name, **words):
    """Sends one request to control.sock."""
    schema_check.validate("control-sock-request", words)
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(str(host.state / name / "control.sock"))
        control.sendall(json.dumps(words).encode() + b"\n")
        answer = json.loads(control.makefile().readline())
    schema_check.validate("control-sock-answer", answer)
    return answer


def runtime(host, name):
    found = json.loads((host.state / name / "runtime.json").read_text())
    schema_check.validate("runtime", found)
    return found


class Place:
    """A host with a base, and a template of it."""

    def __init__(self, host):
        self.host, self.dir, self.count = host, host.base / "template", 0
        self.base = host.base / "base.ext4"
        copy_disk(image(host, "busybox")["path"], self.base)
        self.base.chmod(0o444)

    def config(self, disk, **changes):
        return self.host.config(rootfsPath=str(disk), rootfsBase=str(self.base), hotplug=True, **changes)

    def make(self):
        layer = make_layer(self.host.base / "maker.qcow2", self.base.stat().st_size)
        config = self.config(layer)
        assert ask(self.host, "prepare", config, "maker")[0] == 0
        code, answer = ask(self.host, "start", config, "maker", ("--template-new",))
        assert code == 0, answer
        self.host("exec", "maker", "--", "sh", "-c", "echo of the template > /tmp/old; sync", check=0)
        saved = request(self.host, "maker", command="save")
        assert saved["ok"], saved
        again = request(self.host, "maker", command="save")
        assert "is being saved or was already saved" in again["error"]
        self.host("kill", "maker", check=0)
        workspace = self.host.state / "maker"
        self.dir.mkdir()
        (workspace / "template.ram").rename(self.dir / "ram")
        (workspace / "template.state").rename(self.dir / "state")
        shutil.copy(layer, self.dir / "disk.qcow2")
        self.record = {"format": 1, "facts": saved["save"]["facts"],
                       **{key: {"sha256": sha256(self.dir / name), "bytes": (self.dir / name).stat().st_size}
                          for key, name in (("ram", "ram"), ("state", "state"), ("disk", "disk.qcow2"))}}
        (self.dir / "template.json").write_text(json.dumps(self.record))
        self.host("delete", "maker", check=0)
        layer.unlink()

    @contextlib.contextmanager
    def machine(self, *args, template=None, **changes):
        self.count += 1
        name, disk = f"m{self.count}", self.host.base / f"m{self.count}.qcow2"
        shutil.copy(self.dir / "disk.qcow2", disk)
        config = self.config(disk, **changes)
        assert ask(self.host, "prepare", config, name)[0] == 0
        code, answer = ask(self.host, "start", config, name, (f"--template={template or self.dir}", *args))
        assert code == 0, answer
        try:
            yield name
        finally:
            self.host("kill", name)
            self.host("delete", name, check=0)
            disk.unlink()


@pytest.fixture(scope="module")
def place():
    host = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    it = Place(host)
    try:
        it.make()
        yield it
        host.assert_clean()
    finally:
        host.sweep()
        shutil.rmtree(host.base, ignore_errors=True)


def memory_of(host, name):
    """Returns the memory of QEMU's guest, by a descriptor of ours."""
    pid = runtime(host, name)["pid"]
    for fd, target in strays.descriptors(pid).items():
        if target.startswith("/memfd:guest"):
            return os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR)
    raise AssertionError("no memory")


def digest(fd):
    with os.fdopen(os.dup(fd), "rb") as memory:
        memory.seek(0)
        return hashlib.file_digest(memory, "sha256").hexdigest()


def test_siblings_share_what_nobody_can_write_to(place):
    host = place.host
    with place.machine() as one, place.machine() as other:
        for name in (one, other):
            assert runtime(host, name)["boot"] == {"how": "restored"}
            assert host("exec", name, "--", "cat", "/tmp/old", check=0).stdout == "of the template\n"
        fd, second = memory_of(host, one), memory_of(host, other)
        assert os.fstat(fd).st_ino == os.fstat(second).st_ino
        assert fcntl.fcntl(fd, F_GET_SEALS) & SEALS == SEALS
        with pytest.raises(PermissionError):
            os.pwrite(fd, b"x", 0)
        with pytest.raises(PermissionError):
            os.ftruncate(fd, 0)
        host("exec", one, "--", "sh", "-c", "head -c 40000000 /dev/urandom > /dev/shm/filled || head -c 40000000 /dev/urandom > /tmp/filled",
             check=0)
        assert digest(fd) == place.record["ram"]["sha256"]
        random = [host("exec", name, "--", "sh", "-c", "cat /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id; hostname; "
                       "head -c 64 /dev/urandom | md5sum", check=0).stdout.splitlines() for name in (one, other)]
        assert not set(random[0]) & set(random[1])
        os.close(fd)
        os.close(second)


def test_no_proc_is_left_in_the_cell(place):
    with place.machine() as name:
        pid = runtime(place.host, name)["pid"]
        assert os.listdir(f"/proc/{pid}/root/proc") == []


def test_a_sibling_cannot_give_another_memory(place):
    """Gives a memory as a supervisor that was taken over would: with the right length, and seals."""
    host = place.host
    socket_of = place.dir / "siblings.sock"
    socket_of.unlink(missing_ok=True)
    false = os.memfd_create("guest", os.MFD_ALLOW_SEALING)
    os.ftruncate(false, 256 * MIB)
    fcntl.fcntl(false, 1033, SEALS)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(socket_of))
        server.listen()
        pid = os.fork()
        if pid == 0:
            peer, _ = server.accept()
            peer.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [false, server.fileno()]))])
            os._exit(0)
        with place.machine() as name:
            fd = memory_of(host, name)
            assert os.fstat(fd).st_ino != os.fstat(false).st_ino
            assert runtime(host, name)["boot"] == {"how": "restored"}
            os.close(fd)
        assert os.waitpid(pid, 0)[1] == 0
    os.close(false)


def given_by_a_false_sibling(place, second):
    """Returns the descriptors of a supervisor to whose machine the true memory was given, with something else beside it."""
    socket_of = place.dir / "siblings.sock"
    with place.machine() as one, socket.socket(socket.AF_UNIX) as server:
        memory, beside = memory_of(place.host, one), second(place.host.state / one)
        socket_of.unlink()
        server.bind(str(socket_of))
        server.listen()
        pid = os.fork()
        if pid == 0:
            socket.send_fds(server.accept()[0], [b"x"], [memory, beside])
            os._exit(0)
        with place.machine() as other:
            assert os.waitpid(pid, 0)[1] == 0
            assert runtime(place.host, other)["boot"] == {"how": "restored"}
            assert socket_of.stat().st_ino != os.fstat(server.fileno()).st_ino
            theirs = memory_of(place.host, other)
            assert os.fstat(theirs).st_ino != os.fstat(memory).st_ino
            pid = runtime(place.host, other)["supervisorPid"]
            found = []
            for fd in strays.descriptors(pid):
                with contextlib.suppress(FileNotFoundError):  # it was closed since the list was made
                    found.append(os.stat(f"/proc/{pid}/fd/{fd}"))
            assert not [it for it in found if os.path.samestat(it, os.fstat(beside))]
        for fd in (memory, beside, theirs):
            os.close(fd)


@pytest.mark.parametrize("second", (
    lambda workspace: os.open(workspace / "lease", os.O_RDONLY | os.O_NONBLOCK),
    lambda workspace: os.open(workspace / "workspace.json", os.O_RDONLY),
    lambda workspace: os.open(workspace, os.O_RDONLY),
    lambda workspace: os.pidfd_open(os.getpid()),
    lambda workspace: socket.create_server(("127.0.0.1", 0)).detach()), ids=("its lease", "a file", "a directory", "a process", "a listener"))
def test_a_sibling_can_give_nothing_beside_the_memory(place, second):
    """With its lease the machine would count as one of that sibling's workspace, and be ended with it. With a
    descriptor that is always ready its supervisor would never wait again."""
    given_by_a_false_sibling(place, second)


def test_a_sibling_that_shuts_their_socket(place):
    """The next machine has a memory of its own."""
    with place.machine() as one:
        ours = runtime(place.host, one)["supervisorPid"]
        link = f"socket:[{(place.dir / 'siblings').read_text().strip().rpartition(':')[2]}]"
        listener, = (int(fd) for fd, path in strays.descriptors(ours).items() if path == link)
        assert inject.system_call(ours, SHUTDOWN, listener, socket.SHUT_RD) == 0
        with place.machine() as other:
            first, second = memory_of(place.host, one), memory_of(place.host, other)
            assert os.fstat(first).st_ino != os.fstat(second).st_ino
            os.close(first)
            os.close(second)


@pytest.mark.parametrize("mode", (0o400, 0o111), ids=oct)
def test_a_sibling_that_takes_rights_from_their_memory(place, mode):
    """The next machine runs all the same. Since Linux 6.3 a seal refuses the modes that a supervisor may set, and a
    memory with another mode is given to nobody."""
    with place.machine() as one:
        first, ours = memory_of(place.host, one), runtime(place.host, one)["supervisorPid"]
        made = os.fstat(first).st_mode
        if mode == 0o400:
            held, = (fd for fd, path in strays.descriptors(ours).items() if path.startswith("/memfd:guest"))
            assert inject.system_call(ours, inject.FCHMOD, held, mode) in (0, -errno.EPERM)
        else:
            os.fchmod(first, mode & made)
        changed = os.fstat(first).st_mode != made
        assert changed or mode == 0o400
        with place.machine() as other:
            assert runtime(place.host, other)["boot"] == {"how": "restored"}
            second = memory_of(place.host, other)
            assert (os.fstat(first).st_ino != os.fstat(second).st_ino) == changed
            os.close(second)
        os.close(first)


def altered(place, tmp_path, **changes):
    """Makes the template with another record."""
    there = tmp_path / "template"
    there.mkdir()
    for name in ("ram", "state"):
        os.link(place.dir / name, there / name)
    (there / "template.json").write_text(json.dumps({**place.record, **changes}))
    return there


@pytest.mark.parametrize(("fact", "words"), [("vmm", "another QEMU"), ("kernel", "another kernel"), ("initrd", "another initrd"),
                                             ("machine", "another machine"), ("base", "another disk of the base"),
                                             ("format", "another version of microagent"),
                                             ("tscKhz", "another frequency of the host's time-stamp counter")])
def test_what_a_template_depends_on(place, fact, words):
    if fact == "tscKhz" and fact not in place.record["facts"]:
        pytest.skip("under KVM the clock is the guest's own, and the processor is a fact")
    other = 1 if fact in ("format", "tscKhz") else "0" * 64
    facts = {**place.record["facts"], fact: other + (fact == "format") if isinstance(other, int) else other}
    with tempfile.TemporaryDirectory(dir=place.host.base) as tmp:
        with place.machine(template=altered(place, Path(tmp), facts=facts)) as name:
            boot = runtime(place.host, name)["boot"]
            assert boot["how"] == "cold" and words in boot["why"], boot
            place.host("exec", name, "--", "true", check=0)


def test_a_damaged_template_is_not_used(place):
    host = place.host
    with tempfile.TemporaryDirectory(dir=host.base) as tmp:
        there = altered(place, Path(tmp))
        (there / "state").unlink()
        (there / "state").write_bytes((place.dir / "state").read_bytes()[:-1] + b"\0")
        with place.machine(template=there) as name:
            assert "state is not what was saved" in runtime(host, name)["boot"]["why"]
        (there / "ram").unlink()
        (there / "ram").write_bytes(b"short")
        shutil.copy(place.dir / "state", there / "state")
        with place.machine(template=there) as name:
            assert "ram does not have the length that was saved" in runtime(host, name)["boot"]["why"]
        shutil.rmtree(there)
        with place.machine(template=there) as name:
            assert runtime(host, name)["boot"]["how"] == "cold"


def test_memory_and_disk_are_of_one_moment(place):
    host = place.host
    with place.machine() as name:
        host("exec", name, "--", "sh", "-c", "echo mine > /workspace/mine; sync", check=0)
        config = json.loads((host.state / name / "workspace.json").read_text())["config"]
        host("halt", name, check=0)
        code, answer = ask(host, "start", config, name, (f"--template={place.dir}",))
        assert code == 0, answer
        assert "the content of the machine's disk differs from the template's disk" in runtime(host, name)["boot"]["why"]
        assert host("exec", name, "--", "cat", "/workspace/mine", check=0).stdout == "mine\n"


def test_memory_of_its_own(place):
    with place.machine("--own-memory") as name:
        assert runtime(place.host, name)["boot"] == {"how": "restored"}
        fd = memory_of(place.host, name)
        assert fcntl.fcntl(fd, F_GET_SEALS) & SEALS == 0
        os.close(fd)


@pytest.mark.parametrize(("changes", "words"), [
    ({"network": {"mode": "nat"}}, "a network card"), ({"hotplug": None}, "a machine without a spare port"),
    ({"command": ["true"]}, "a command of its own")])
def test_what_cannot_be_saved(place, changes, words):
    host = place.host
    layer = make_layer(host.base / "bad.qcow2", place.base.stat().st_size)
    config = {key: value for key, value in {**place.config(layer), **changes}.items() if value is not None}
    assert ask(host, "prepare", config, "bad")[0] == 0
    code, answer = ask(host, "start", config, "bad", ("--template-new",))
    assert code == 1 and answer["errorCode"] == "conflict" and words in answer["error"], answer
    host("delete", "bad", check=0)
    layer.unlink()


def traced_fork(host, name):
    """Returns the answer, and the messages between the live supervisor and the guest meanwhile."""
    trace, met = host.base / "trace", set()
    tracer = subprocess.Popen(["strace", "-xx", "-s", "65536", "-o", trace, "-e",
                               "trace=close,read,write,recvfrom,sendto,recvmsg,sendmsg,readv,writev",
                               "-p", str(runtime(host, name)["supervisorPid"])], stderr=subprocess.PIPE)
    assert b"attached" in tracer.stderr.readline()
    answer = request(host, name, command="fork")
    tracer.terminate()
    tracer.communicate()
    for (_, _, way), data in conversations(trace).items():
        for message in frames(bytes(data)):
            schema_check.validate(f"control-{message['type']}", message)
            met.add((way, message["type"]))
    trace.unlink()
    return answer, met


def test_a_machine_is_forked_while_it_runs(place):
    host = place.host
    with place.machine() as name:
        host("exec", name, "--", "sh", "-c", "echo of the parent > /tmp/mine; echo on the disk > /workspace/disk", check=0)
        forked, met = traced_fork(host, name)
        assert forked["ok"], forked
        assert {("out", "quiesce"), ("in", "quiesced")} <= met, met
        host("exec", name, "--", "sh", "-c", "echo later > /tmp/mine", check=0)
        point = host.base / "point"
        point.mkdir()
        workspace = host.state / name
        (workspace / "fork.state").rename(point / "state")
        (workspace / "fork.disk").rename(point / "disk.qcow2")
        (point / "template.json").write_text(json.dumps({
            "format": 1, "facts": forked["fork"]["facts"], "state": {"bytes": forked["fork"]["stateBytes"]},
            "disk": {"sha256": sha256(point / "disk.qcow2"), "bytes": forked["fork"]["diskBytes"]}}))
        whole, place.dir = place.dir, point
        try:
            with place.machine() as child:
                assert runtime(host, child)["boot"] == {"how": "restored"}
                assert host("exec", child, "--", "cat", "/tmp/mine", "/workspace/disk", check=0).stdout == "of the parent\non the disk\n"
                assert host("exec", name, "--", "cat", "/tmp/mine", check=0).stdout == "later\n"
                uuids = {host("exec", each, "--", "cat", "/proc/sys/kernel/random/boot_id", check=0).stdout for each in (name, child)}
                assert len(uuids) == 2
        finally:
            place.dir = whole
            shutil.rmtree(point)


F_OFD_SETLK, FLOCK = 37, 73
# Of the bytes that QEMU locks in a disk: "this process shares no permission" (200 and later).
SHARES_NOTHING = struct.pack("hhxxxxqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 200, 64, 0)


def descriptor_of(pid, path):
    """Returns a descriptor by which the process has the file open."""
    return next(fd for fd in strays.descriptors(pid) if strays.has_open(pid, fd, path))


def test_a_lock_of_a_sibling_hinders_nobody(place):
    """A QEMU that was taken over, of a machine in quarantine, locks the base that it can only read. Other machines of the
    base start, and go on after a fork."""
    host = place.host
    with place.machine() as one, place.machine() as before:
        pid = runtime(host, one)["pid"]
        base = descriptor_of(pid, place.base)
        host("quarantine", one, check=0)
        assert inject.system_call(pid, inject.FCNTL, base, F_OFD_SETLK, inject.put(pid, SHARES_NOTHING)) == 0
        with place.machine() as after:
            assert runtime(host, after)["boot"] == {"how": "restored"}
            for name in (before, after):
                assert request(host, name, command="fork")["ok"]
                assert host("exec", name, "--", "cat", "/tmp/old", check=0).stdout == "of the template\n"
        # A lock of the kind that microagent itself uses: QEMU needs no such call, and does not have it.
        assert inject.system_call(pid, FLOCK, base, fcntl.LOCK_EX | fcntl.LOCK_NB) == -errno.ENOSYS


def test_a_machine_that_cannot_go_on_is_ended(place):
    """QEMU refuses to let a machine go on after its fork. It is not recorded as running while it stands still for ever."""
    host = place.host
    with place.machine() as name:
        with open(host.base / f"{name}.qcow2", "rb") as layer:
            fcntl.fcntl(layer, F_OFD_SETLK, SHARES_NOTHING)
            request(host, name, command="fork")
            wait_until(lambda: ask(host, "inspect", name=name)[1]["event"]["state"] == "failed", "the machine to be ended")
        assert "lock" in ask(host, "inspect", name=name)[1]["event"]["detail"]


def test_siblings_have_no_offset_in_common(place):
    """Two supervisors that were taken over could talk by the offset of one open file description, also in a quarantine."""
    host = place.host
    with place.machine() as one, place.machine() as other:
        copies = []
        for name in (one, other):
            pid = runtime(host, name)["supervisorPid"]
            memory, = (fd for fd, path in strays.descriptors(pid).items() if path.startswith("/memfd:guest"))
            copies.append(copy_of(pid, memory))
        assert len({os.fstat(copy).st_ino for copy in copies}) == 1
        os.lseek(copies[0], 0x1234, os.SEEK_SET)
        assert os.lseek(copies[1], 0, os.SEEK_CUR) != 0x1234
        for copy in copies:
            os.close(copy)


def test_what_cannot_be_forked(place):
    host = place.host
    with tempfile.TemporaryDirectory(dir=host.base) as tmp:
        with place.machine(template=Path(tmp)) as name:
            assert "was booted: only a machine that was restored" in request(host, name, command="fork")["error"]
            assert "was not started as a machine that can be saved" in request(host, name, command="save")["error"]
    with place.machine() as name:
        host("quarantine", name, check=0)
        assert "is quarantined" in request(host, name, command="fork")["error"]
        wait_until(lambda: not list((host.state / name).glob("fork.*")), "nothing to be left")
