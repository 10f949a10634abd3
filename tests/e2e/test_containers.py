# SPDX-License-Identifier: MIT
"""Tests containers in a guest by the agent's port, as microagent-oci uses them. The root of each is a directory of the
guest's own disk with a busybox in it."""

import base64
import json
import struct
import subprocess

import pytest

import growth
import schema_check
from conftest import ROOT, wait_until

NOSUID, NODEV, NOEXEC, BIND, REC, RDONLY = 2, 4, 8, 4096, 16384, 1
PROC = {"destination": "/proc", "type": "proc", "source": "proc"}
DEV = {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "flags": NOSUID, "data": "mode=755,size=65536k"}
PTS = {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "flags": NOSUID | NOEXEC,
       "data": "newinstance,ptmxmode=0666,mode=0620,gid=5"}
SYS = {"destination": "/sys", "type": "sysfs", "source": "sysfs", "flags": NOSUID | NOEXEC | NODEV | RDONLY}
CGROUP = {"destination": "/sys/fs/cgroup", "type": "cgroup2", "source": "cgroup", "flags": NOSUID | NOEXEC | NODEV | RDONLY}
ALL = (1 << 41) - 1
DOCKERS = 0xa80425fb  # the capabilities that Docker and containerd give by default


class Container(growth.Agent):
    """One connection with one container, or with one command in it."""

    def send(self, message):
        schema_check.validate("agent-stream-request", message)
        super().send(message)

    def begin(self, command, container, process=None, **more):
        process = {"env": ["PATH=/bin"], "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), ALL)} | (process or {})
        self.send({"id": "c", "request": 1, "stream": True, "cmd": command, "container": container, "process": process} | more)
        return self

    def event(self):
        event = json.loads(self.frame())
        schema_check.validate("agent-stream-event", event)
        return event

    def start(self):
        self.send({"event": "start", "request": 1})

    def finish(self):
        """Returns the output of both streams, and the exit."""
        said = b""
        while True:
            payload = self.frame()
            if payload[:1] in (b"\2", b"\3"):
                said += payload[9:]
            elif (event := json.loads(payload))["event"] == "exit":
                return said.decode(), event


    def cancel(self):
        """Ends the container or command, and waits until nothing of it is left, so that its name can be used again."""
        self.send({"event": "cancel", "request": 1})
        _, end = self.finish()
        self.close()
        return end


class Unjudged(Container):
    """A connection whose requests may break the schema."""

    def send(self, message):
        growth.Agent.send(self, message)


@pytest.fixture(scope="module")
def made(vm):
    """Makes roots with a busybox in each. Returns their names."""
    vm("exec", "-u", "root", "vm", "--", "sh", "-ec",
       "for name in a b hostile; do mkdir -p /c/$name/bin /c/$name/etc; cp /bin/busybox /c/$name/bin/; "
       "for it in sh ls cat id mount stat sleep ps hostname tty kill echo pwd env stty head touch true chmod mknod wc rm; do ln -sf busybox /c/$name/bin/$it; done; done; "
       "echo 'user:x:1000:1000::/home/user:/bin/sh' >/c/a/etc/passwd", check=0)
    return vm


def plan(name="a", **more):
    return {"id": name, "root": f"/c/{name}", "namespaces": ["pid", "ipc", "uts", "cgroup", "mount"],
            "mounts": [PROC, DEV, PTS, SYS, CGROUP]} | more


def run(vm, command, container, process=None, **more):
    it = Container(vm.state / "vm").begin(command, container, process, **more)
    event = it.event()
    assert event == {"event": "created", "request": 1}, event
    it.start()
    assert it.event()["event"] == "start"
    said, end = it.finish()
    it.close()
    return said, end


def run_further(vm, command, name, process=None):
    """Returns the end of a command in an existing container."""
    it = Container(vm.state / "vm").begin(command, name, process)
    event = it.event()
    assert event["event"] == "start", event
    end = it.finish()[1]
    it.close()
    return end


def sh(vm, script, container=None, process=None, **more):
    said, end = run(vm, ["sh", "-c", script], container or plan(), process, **more)
    assert end["exitCode"] == 0, (said, end)
    return said


def test_it_is_the_first_process_of_its_own_namespaces(made):
    said = sh(made, "echo $$; ls /; hostname; ps | cat; cat /proc/self/mounts | head -1", plan(hostname="inside"))
    lines = said.splitlines()
    assert lines[0] == "1" and "inside" in lines, said
    assert "microagent" not in said and "busybox" not in lines, said


def test_it_waits_for_its_start(made):
    it = Container(made.state / "vm").begin(["sh", "-c", "echo begun"], plan())
    assert it.event()["event"] == "created"
    assert "begun" not in made("exec", "-u", "root", "vm", "--", "ps", check=0).stdout
    it.start()
    assert it.event()["event"] == "start"
    assert it.finish()[0] == "begun\n"
    it.close()


def test_the_exit_is_the_programs(made):
    assert run(made, ["sh", "-c", "exit 42"], plan())[1]["exitCode"] == 42


def test_a_program_that_is_not_there_is_told_before_the_start(made):
    it = Container(made.state / "vm").begin(["nothing-of-the-kind"], plan())
    end = it.event()
    assert (end["event"], end["exitCode"]) == ("exit", 127) and "not found" in end["startError"]
    it.close()


def test_who_it_is(made):
    said = sh(made, "id -u; id -G; pwd; echo $HOME; cat /proc/self/status",
              process={"uid": 1000, "gid": 1000, "groups": [5, 6], "umask": 0o27, "capabilities": {"bounding": 1 << 10},
                       "noNewPrivileges": True, "oomScoreAdj": 123},
              cwd="/made/for/it")
    lines = said.splitlines()
    assert lines[:4] == ["1000", "1000 5 6", "/made/for/it", "/home/user"], said
    status = dict(line.split(":\t", 1) for line in lines[4:] if ":\t" in line)
    assert (status["CapEff"], status["CapBnd"], status["NoNewPrivs"], status["Umask"]) == ("0" * 16, f"{1 << 10:016x}", "1", "0027")


def test_a_filter_holds(made):
    # mkdirat is answered EPERM, all else passes: BPF_LD nr; JEQ 83 or 258 -> ERRNO(1); ALLOW
    def op(code, jt, jf, k):
        return struct.pack("<HBBI", code, jt, jf, k)
    program = op(0x20, 0, 0, 0) + op(0x15, 1, 0, 83) + op(0x15, 0, 1, 258) + op(0x06, 0, 0, 0x50001) + op(0x06, 0, 0, 0x7fff0000)
    for privileges in (False, True):
        process = {"seccomp": base64.b64encode(program).decode(), "noNewPrivileges": privileges}
        said, end = run(made, ["/bin/busybox", "mkdir", "/x"], plan(), process)
        assert end["exitCode"] == 1 and "not permitted" in said


def test_read_only_and_masked(made):
    said = sh(made, "cat /proc/keys | head -1; ls /proc/acpi | head -1; echo 1 >/proc/sys/vm/overcommit_memory; echo x >/file; echo $?",
              plan(readonly=True, maskedPaths=["/proc/keys", "/proc/acpi", "/no/such"], readonlyPaths=["/proc/sys", "/nothing"]))
    assert said.count("Read-only file system") == 2, said
    assert said.splitlines()[-1] == "1"


@pytest.mark.parametrize("null", ["/none", "/etc/shown"])
def test_a_null_device_that_the_root_brings(made, null):
    """A masked path that is a link to nothing would mask nothing. Another link would cover another file."""
    made("exec", "-u", "root", "vm", "--", "sh", "-ec",
         f"rm -rf /c/null; cp -a /c/b /c/null; mkdir /c/null/dev; echo shown >/c/null/etc/shown; ln -s {null} /c/null/dev/null", check=0)
    mounts, masked = [PROC], ["/proc/acpi", "/proc/keys"]
    it = Container(made.state / "vm").begin(["sh", "-c", "exit"], plan("null", mounts=mounts, maskedPaths=masked))
    end = it.event()
    assert end["event"] == "exit" and "/dev/null" in end["startError"], end
    it.close()
    made("exec", "-u", "root", "vm", "--", "rm", "/c/null/dev/null", check=0)
    assert sh(made, "cat /proc/keys", plan("null", mounts=mounts, maskedPaths=masked)) == ""


def test_a_root_that_is_only_read(made):
    """Written files stay in memory and go with the container. Their names may have any letters."""
    made("exec", "-u", "root", "vm", "--", "sh", "-ec", "cp -a /c/b '/c/b,x:y'; echo kept >'/c/b,x:y/etc/file'", check=0)
    over = plan("b", root="/c/b,x:y", overlay=True)
    assert "/new\n" in sh(made, "rm /etc/file; echo x >/new; ls /new /etc", over)
    assert sh(made, "cat /etc/file; ls /new || echo gone", over) == "kept\nls: /new: No such file or directory\ngone\n"
    assert made("exec", "-u", "root", "vm", "--", "ls", "/c/b,x:y/new").returncode == 1


def test_volumes(made):
    made("exec", "-u", "root", "vm", "--", "sh", "-ec", "mkdir -p /c/vol/sub; echo kept >/c/vol/file", check=0)
    mounts = [PROC, DEV, {"destination": "/deep/er/vol", "source": "/c/vol", "flags": BIND | REC},
              {"destination": "/single", "source": "/c/vol/file", "flags": BIND | RDONLY | NOSUID}]
    said = sh(made, "cat /deep/er/vol/file; echo mine >/deep/er/vol/mine; cat /single; echo x >>/single || echo refused", plan(mounts=mounts))
    assert said.splitlines()[:2] == ["kept", "kept"] and "refused" in said
    assert made("exec", "-u", "root", "vm", "--", "cat", "/c/vol/mine", check=0).stdout == "mine\n"


def test_links_of_a_hostile_root_lead_nowhere(made):
    made("exec", "-u", "root", "vm", "--", "sh", "-ec",
         "cd /c/hostile; rm -rf out abs up proc; mkdir -p /c/outside; ln -s /c/outside abs; ln -s ../../../../c/outside up; ln -s /etc proc; "
         "mkdir -p etc; ln -s /proc/1/root magic", check=0)
    tmpfs = {"type": "tmpfs", "source": "tmpfs"}
    mounts = [tmpfs | {"destination": "/abs/x"}, tmpfs | {"destination": "/up/y"}, tmpfs | {"destination": "/c/z"}, DEV]
    said = sh(made, "ls -d /c/outside/x /c/outside/y", plan("hostile", mounts=mounts))
    assert said.split() == ["/c/outside/x", "/c/outside/y"]
    assert made("exec", "-u", "root", "vm", "--", "ls", "/c/outside", check=0).stdout == ""


def test_a_terminal_of_its_own(made):
    it = Container(made.state / "vm").begin(["sh", "-c", "tty; stty size; ls -l /dev/console | head -c 1; stty size; sleep 100"], plan(),
                                            pty={"rows": 40, "cols": 123})
    assert it.event()["event"] == "created"
    it.start()
    assert it.event()["event"] == "start"
    said = b""
    while said.count(b"\n") < 3:
        said += it.frame()[9:]
    assert said.split()[:4] == [b"/dev/pts/0", b"40", b"123", b"c40"], said
    it.send({"event": "cancel", "request": 1})
    assert it.finish()[1]["exitCode"] == 137
    it.close()


def test_commands_in_it(made):
    first = Container(made.state / "vm").begin(["sleep", "1000"], plan(hostname="second"))
    assert first.event()["event"] == "created"
    first.start()
    assert first.event()["event"] == "start"
    it = Container(made.state / "vm").begin(["sh", "-c", "hostname; ps | cat; id -u; exit 5"], "a", {"uid": 1000})
    assert it.event()["event"] == "start"
    said, end = it.finish()
    assert end["exitCode"] == 5 and said.splitlines()[0] == "second" and "sleep 1000" in said and "microagent" not in said
    it.close()
    it = Container(made.state / "vm").begin(["sh", "-c", "tty; sleep 999"], "a", pty={"rows": 10, "cols": 20})
    assert it.event()["event"] == "start"
    assert it.frame()[9:].split() == [b"/dev/pts/0"]
    # A command's end concerns only the command. The end of the first process ends all of them.
    it.send({"event": "cancel", "request": 1})
    assert it.finish()[1]["exitCode"] == 137
    it.close()
    it = Container(made.state / "vm").begin(["sleep", "998"], "a")
    assert it.event()["event"] == "start"
    assert first.cancel()["exitCode"] == 137
    assert it.finish()[1]["exitCode"] == 137
    it.close()
    it = Container(made.state / "vm").begin(["true"], "a")
    end = it.event()
    assert end["exitCode"] == 125 and "no container a" in end["startError"], end
    it.close()


def test_its_end_with_its_client(made):
    it = Container(made.state / "vm").begin(["sleep", "4711"], plan())
    assert it.event()["event"] == "created"
    it.start()
    assert it.event()["event"] == "start"
    it.close()
    sh(made, "true", plan("b"))
    assert sh(made, "echo again") == "again\n"


def test_what_it_shares(made):
    first = Container(made.state / "vm").begin(["sleep", "1001"], plan(hostname="pod"))
    assert first.event()["event"] == "created"
    first.start()
    first.event()
    own = plan("b", namespaces=["mount", "cgroup", "pid"], join={"ipc": "a", "uts": "a"})
    assert sh(made, "hostname; echo $$", own) == "pod\n1\n"
    own = plan("b", namespaces=["mount", "cgroup"], join={"ipc": "a", "uts": "a", "pid": "a"})
    assert "sleep 1001" in sh(made, "ps | cat", own)
    first.cancel()


def control(vm, *words):
    return vm("exec", "-u", "root", "vm", "--", "microagent-container", *words)


def commands_of(vm, container):
    return [process["command"] for process in json.loads(control(vm, "ps", container).stdout)["processes"]]


def test_limits_freezing_and_figures(made):
    limits = {"memory.max": str(64 << 20), "pids.max": "20", "cpu.max": "50000 100000"}
    it = Container(made.state / "vm").begin(["sh", "-c", "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max; sleep 1002; true"], plan(id="limited", cgroup=limits))
    event = it.event()
    assert event["event"] == "created", str(event)
    it.start()
    it.event()
    said = b""
    while said.count(b"\n") < 2:
        said += it.frame()[9:]
    assert said == b"67108864\n20\n"
    # The shell starts sleep after cat has ended, which is later than the output of cat.
    wait_until(lambda: commands_of(made, "limited")[1:] == ["sleep 1002"], "the shell has started sleep")
    assert control(made, "freeze", "limited").returncode == 0
    figures = json.loads(control(made, "stats", "limited").stdout)
    assert figures["cgroup.freeze"] == "1\n" and figures["pids.current"] == "2\n" and int(figures["memory.current"]) > 0
    assert control(made, "thaw", "limited").returncode == 0
    assert control(made, "update", "limited", "pids.max=33").returncode == 0
    assert json.loads(control(made, "stats", "limited").stdout)["pids.max"] == "33\n"
    assert commands_of(made, "limited")[1:] == ["sleep 1002"]
    assert control(made, "signal", "limited", "9").returncode == 0
    assert it.finish()[1]["exitCode"] == 137
    it.close()
    gone = control(made, "stats", "limited")
    assert gone.returncode == 1 and "no container limited" in gone.stderr


def start_error(vm, command, container, **more):
    """Returns why it does not start, in the agent's words."""
    it = Container(vm.state / "vm").begin(command, container, **more)
    end = it.event()
    if end["event"] == "created":
        it.start()
        end = it.event()
    it.close()
    assert end["event"] == "exit", (end, more)
    return end["startError"]


def test_a_working_directory_by_a_descriptor_of_the_agents(made):
    """An image's WORKDIR may name a file that the agent has open (CVE-2024-21626 of runc), which would lead to the
    guest's own files."""
    first = Container(made.state / "vm").begin(["sleep", "1003"], plan())
    assert first.event()["event"] == "created"
    first.start()
    assert first.event()["event"] == "start"
    for number in range(3, 64):
        cwd = f"/proc/self/fd/{number}"
        assert cwd in start_error(made, ["cat", "../etc/passwd"], plan("b"), cwd=cwd)
        assert cwd in start_error(made, ["cat", "../etc/passwd"], "a", cwd=cwd)
    first.cancel()


def test_an_image_that_has_the_agents_program_executed(made):
    """The program is a link to /proc/self/exe (CVE-2019-5736 of runc). The agent's file cannot be changed by it."""
    made("exec", "-u", "root", "vm", "--", "ln", "-sf", "/proc/self/exe", "/c/a/bin/microagent-write", check=0)
    first = Container(made.state / "vm").begin(["sleep", "1004"], plan())
    assert first.event()["event"] == "created"
    first.start()
    assert first.event()["event"] == "start"
    agents = Container(made.state / "vm").begin(["microagent-write", "/file", "9"], "a", pty={"rows": 10, "cols": 20})
    assert agents.event()["event"] == "start"
    script = """for it in /proc/[0-9]*; do
        test "$(cat $it/cmdline | head -c 16)" = microagent-write || continue
        echo found; chmod 777 $it/exe && echo changed; (echo x >>$it/exe) && echo written; done; true"""
    it = Container(made.state / "vm").begin(["sh", "-c", script], "a")
    assert it.event()["event"] == "start"
    said = it.finish()[0]
    it.close()
    for container in (agents, first):
        container.cancel()
    assert "found" in said and "Read-only file system" in said and "changed" not in said and "written" not in said, said


@pytest.mark.parametrize("capabilities", [DOCKERS, ALL], ids=["dockers", "all"])
def test_a_process_that_takes_descriptors_from_commands_that_begin(made, tmp_path, capabilities):
    """The agent's child is in the container before it becomes the command. With the agent's vsock socket a process of
    the container could read what the host says to other containers. CAP_SYS_PTRACE lets such a process take the
    child's descriptors, which are not the agent's."""
    thief = tmp_path / "thief"
    subprocess.run(["gcc", "-static", "-O2", "-D_GNU_SOURCE", "-o", thief, ROOT / "tests/hostile/thief.c"], check=True)
    made("cp", "--user", "root", thief, "vm:/c/thief", check=0)
    made("exec", "-u", "root", "vm", "--", "sh", "-c", "rm -f /c/a/stop; mv /c/thief /c/a/bin/thief", check=0)
    rights = {"capabilities": dict.fromkeys(("bounding", "effective", "permitted"), capabilities)}
    first = Container(made.state / "vm").begin(["thief", "/stop"], plan(), rights)
    assert first.event()["event"] == "created"
    first.start()
    assert first.event()["event"] == "start"
    slow = ":".join(f"/none/{number}" for number in range(100)) + ":/bin"
    for _ in range(12):
        assert run_further(made, ["true"], "a", rights | {"env": [f"PATH={slow}"]})["exitCode"] == 0
    run_further(made, ["touch", "/stop"], "a", rights)  # it ends with the first container, if not before
    said, end = first.finish()
    first.close()
    assert end["exitCode"] == 0 and int(said.split()[-1]) >= 5, said
    taken = [line for line in said.splitlines() if line.startswith("took") and "/stop" not in line]
    assert not taken if capabilities == DOCKERS else not [line for line in taken if "vsock" in line], said


KMSG = {"allow": True, "type": "c", "major": 1, "minor": 11}


@pytest.mark.parametrize("rules,read,written", [
    ([], False, False), ([KMSG], True, True), ([KMSG | {"access": "r"}], True, False), ([KMSG | {"access": "w"}], False, True),
    ([KMSG | {"access": "r"}, KMSG | {"access": "w"}], True, True), ([KMSG | {"minor": 12}], False, False),
    ([KMSG | {"type": "b"}], False, False), ([KMSG | {"type": "a"}], True, True), ([KMSG | {"major": -1, "minor": -1}], True, True),
    ([{"allow": True}], True, True), ([{"allow": False}, KMSG], True, True), ([{"allow": True}, KMSG | {"allow": False, "access": "w"}], True, False),
    ([KMSG, {"allow": False, "access": "r"}], False, True)])
def test_what_it_may_do_with_devices(made, rules, read, written):
    """root with all capabilities can make any node, and open those that the rules allow. The nodes of its /dev are always allowed."""
    script = """mknod /k c 1 11; head -c 0 /k && echo read; (exec 3>>/k) && echo written; rm /k; echo >/dev/null
        echo $(head -c 3 /dev/zero | wc -c) $(head -c 3 /dev/urandom | wc -c); exec 3<>/dev/ptmx && echo terminal"""
    said = sh(made, script, plan(devices=[{"allow": False}, *rules]))
    assert ("read\n" in said, "written\n" in said) == (read, written), said
    assert said.count("Operation not permitted") == 2 - read - written and said.endswith("3 3\nterminal\n"), said


def test_what_a_command_in_it_may_do_with_devices(made):
    first = Container(made.state / "vm").begin(["sleep", "1005"], plan())
    assert first.event()["event"] == "created"
    first.start()
    assert first.event()["event"] == "start"
    it = Container(made.state / "vm").begin(["sh", "-c", "mknod /s c 4 64; echo x >/s; mknod /disk b 254 0; cat /disk"], "a")
    assert it.event()["event"] == "start"
    said, end = it.finish()
    assert end["exitCode"] == 1 and said.count("Operation not permitted") == 2, said
    it.close()
    first.cancel()


@pytest.mark.parametrize("wrong,why", [
    ({"id": "../a"}, 'must be the id of a container: up to 64 letters, digits, "-", "_", "+" and ".", with no "." in front'), ({"namespaces": ["user"]}, "the guest's agent does not know the namespace \"user\": name pid, ipc, uts, mount or cgroup"), ({"join": {"ipc": "nobody"}}, "no container nobody"),
    ({"root": "/c/nothing"}, "root of the container"), ({"mounts": [{"destination": "/x", "type": "nofs"}]}, "cannot mount nofs on /x"),
    ({"mounts": [{"destination": "/x", "source": "/c/none", "flags": BIND}]}, "source of /x"), ({"sysctl": {"kernel.nothing": "1"}}, "sysctl kernel.nothing"),
    ({"cgroup": {"../x": "1"}}, "container.cgroup"), ({"cgroup": {"memory.max": "lots"}}, "limit memory.max"), ({"root": 5}, "container.root"),
    ({"devices": [{"allow": 1}]}, "container.devices[0].allow"), ({"devices": [{"allow": True, "type": "x"}]}, "is not a rule for devices: its type must be a, b or c, and its access must have only the letters r, w and m"),
    ({"devices": [{"allow": True, "access": "rx"}]}, "is not a rule for devices: its type must be a, b or c, and its access must have only the letters r, w and m"), ({"devices": [{"allow": True}] * 257}, "more than 256 rules"),
    ({"overlay": 1}, "container.overlay"), ({"root": "/proc", "overlay": True}, "the root of the container"),
])
def test_refusals(made, wrong, why):
    it = Unjudged(made.state / "vm").begin(["true"], plan(**wrong))
    end = it.event()
    assert end["event"] == "exit" and end["exitCode"] == 125 and why in end["startError"], end
    it.close()
    assert sh(made, "echo well") == "well\n"
