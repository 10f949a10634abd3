# SPDX-License-Identifier: MIT
"""Tests microagent-oci if a process ends at the wrong moment, or goes further than it may."""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import bundles
from conftest import HANG_S, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="containers of engines are root's")
FOREVER = ("sleep", "1000")
READ = "0"  # the number of read() on x86-64, as /proc/<pid>/syscall has it


@pytest.fixture
def oci(request):
    it = bundles.Runtime(Path(tempfile.mkdtemp(prefix="o-")))
    yield it
    it.close(not getattr(request.node, "failed", False))


def test_a_guest_that_writes_where_no_container_is(oci):
    """Otherwise it would fill the memory of a host whose /run is a tmpfs, without end."""
    oci.started(*FOREVER)
    for place in (bundles.SEEN, os.path.dirname(oci.seen())):
        done = oci.in_the_guest("mkdir", f"{place}/more")

        assert done.returncode == 1 and "Read-only" in done.stderr, done
    assert oci.in_the_guest("mkdir", f"{oci.seen()}/own").returncode == 0
    oci("delete", "--force", "c", check=0)


def qemu(oci):
    return [pid for pid, line in bundles.strays.running(oci.base).items() if line.startswith("/usr/bin/qemu")]


def cgroups_of(oci):
    return [str(place) for top in ("", "*/") for place in Path("/sys/fs/cgroup").glob(f"{top}{oci.base.name}")]


def mounted(oci):
    return any("/rootfs" in line for line in bundles.strays.mounts(oci.base))


STEPS = {
    "its record": lambda oci: (oci.root / "c").exists(),
    "its state": lambda oci: (oci.root / "c/state.json").exists(),
    "its files mounted": mounted,
    "its machine's directory": lambda oci: any((oci.root / ".machines/sessions").glob("sandbox-*")),
    "its machine": qemu,
}


@pytest.mark.parametrize("step", STEPS)
def test_create_is_killed(oci, step):
    """The caller cleans up, as engines do. Then there is room for another one."""
    making = oci.popen("create", "-b", oci.bundle(*FOREVER), "c")
    wait_until(lambda: making.poll() is not None or STEPS[step](oci), step)
    making.kill()
    making.wait(timeout=HANG_S)
    oci("delete", "--force", "c", check=0)
    assert not oci.left()
    oci.started(*FOREVER)
    oci("delete", "--force", "c", check=0)


def test_create_is_killed_between_its_cgroups_and_its_place_in_them(oci):
    """In each hierarchy, with a parent folder that was made for it too."""
    name, points = oci.base.name, [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()
                                   if line.split(" - ")[1].startswith("cgroup")]
    bundle = oci.bundle(*FOREVER, linux={"cgroupsPath": f"/{name}/c"})
    for point in points:
        if not os.access(point, os.W_OK):
            continue
        procs = f"{point}/{name}/c/cgroup.procs"
        oci.wrap = ["strace", "-o", str(oci.base / "trace"), "-P", procs, "-e", "trace=openat", "-e", "inject=openat:signal=KILL"]
        assert oci("create", "-b", bundle, "c", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == -signal.SIGKILL
        oci.wrap = []
        assert Path(procs).exists()
        oci("delete", "--force", "c", check=0)
        assert not cgroups_of(oci)


def test_create_is_killed_in_a_hook(oci):
    fifo = oci.base / "fifo"
    os.mkfifo(fifo)
    hooks = {"prestart": [{"path": "/bin/sh", "args": ["sh", "-c", f"echo here >{fifo}; exec sleep 1000", str(oci.base)]}]}
    making = oci.popen("create", "-b", oci.bundle(*FOREVER, hooks=hooks), "c")
    assert fifo.read_text() == "here\n"
    making.kill()
    making.wait(timeout=HANG_S)
    for pid, line in bundles.strays.running(oci.base).items():
        if line.startswith("sleep 1000"):  # a hook belongs to the engine
            os.kill(pid, signal.SIGKILL)
    oci("delete", "--force", "c", check=0)


def dies(oci, call, *words):
    """The command is killed where it makes the call for the first time."""
    oci.wrap = ["strace", "-o", str(oci.base / "trace"), "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL"]
    done = oci(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert done.returncode == -signal.SIGKILL, (words, call, done.returncode)
    oci.wrap = []


def test_commands_are_killed(oci):
    """An engine loses its patience and kills it. The next command finds the container as it is, and removes it."""
    pid = oci.started(*FOREVER)
    for call, *words in (("newfstatat", "state", "c"), ("clone3", "exec", "c", "true"), ("sendmsg", "exec", "c", "true"),
                         ("pidfd_send_signal", "kill", "c", "URG"), ("connect", "kill", "c", "KILL")):
        dies(oci, call, *words)
        assert oci.status() == "running", words
        oci("exec", "c", "true", check=0)
    os.kill(pid, signal.SIGSTOP)  # it cannot do what kill asks for
    dies(oci, "ppoll", "kill", "c", "KILL")
    for call in ("pidfd_send_signal", "ppoll", "umount2", "rmdir", "unlinkat"):
        dies(oci, call, "delete", "--force", "c")
    oci("delete", "--force", "c", check=0)


def test_exec_is_killed_while_the_machine_stands_still(oci):
    """Its own process on the host ends with the machine, at the latest."""
    oci.started(*FOREVER)
    for machine in qemu(oci):
        os.kill(machine, signal.SIGSTOP)
    command = oci.popen("exec", "c", "true")

    def standins():
        return [line for line in bundles.strays.running(oci.base).values() if "stand-in c" in line]
    wait_until(lambda: len(standins()) == 2, "that of the command")
    command.kill()
    command.wait()
    oci("delete", "--force", "c", check=0)


def test_a_guest_that_does_not_answer(oci):
    """A limit for create and for start: each ends, and what it holds ends with it. Here the image makes the guest wait."""
    bundle = oci.bundle(*FOREVER, mounts=[], linux={"maskedPaths": [], "readonlyPaths": [], "sysctl": {"kernel.word": "1"}})
    (bundle / "rootfs/proc/sys/kernel").mkdir(parents=True)
    os.mkfifo(bundle / "rootfs/proc/sys/kernel/word")
    oci.env["MICROAGENT_TEST_LIMIT_AGENT_ANSWER_MS"] = "1500"
    done = oci("create", "-b", bundle, "c", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert done.returncode == 1 and "the guest agent has not answered within 1500 ms" in oci.last_error()
    assert not oci.left()
    oci.env["MICROAGENT_TEST_LIMIT_AGENT_ANSWER_MS"] = "10000"  # it is create's limit too, and create must succeed
    oci.create(*FOREVER)
    for machine in qemu(oci):
        os.kill(machine, signal.SIGSTOP)
    assert oci("start", "c").returncode == 1 and "has not answered" in oci.last_error()
    oci.await_status("stopped")
    oci("delete", "c", check=0)


def test_a_standin_that_does_not_answer(oci):
    """Somebody has stopped a stand-in on the host. The caller is told so, and the container's state does not change."""
    pid = oci.create(*FOREVER)
    os.kill(pid, signal.SIGSTOP)
    oci.env["MICROAGENT_TEST_LIMIT_STANDIN_MS"] = "500"
    assert oci("start", "c").returncode == 1
    assert oci.last_error() == (
        "the host's process that stands for the container has not answered within 500 ms: if a signal has stopped that process, the signal CONT lets it go on; delete --force ends the container")
    assert oci.status() == "created"
    os.kill(pid, signal.SIGCONT)  # the request is done
    oci.await_status("running")
    os.kill(pid, signal.SIGSTOP)
    oci("delete", "--force", "c", check=0)


def test_what_a_process_calls_itself(oci):
    """A person reads this, also in the log of an error."""
    oci.started("sh", "-c", "while :; do sleep 1; done", "\x1b[2Jowned\x9b")
    wait_until(lambda: "owned" in oci("ps", "c", check=0).stdout, "its name")
    assert not set(oci("ps", "c", check=0).stdout) & set("\x1b\x9b")
    done = oci("exec", "c", "owned\x1b\x9b")
    assert "owned" in done.stderr and not set(done.stderr) & set("\x1b\x9b")
    oci("delete", "--force", "c", check=0)


def test_deleted_while_it_is_made(oci):
    making = oci.popen("create", "-b", oci.bundle(*FOREVER), "c", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: (oci.root / "c/state.json").exists(), "its state")
    oci("delete", "--force", "c", check=0)
    assert making.wait(timeout=HANG_S) == 0
    assert oci("state", "c").returncode == 1


def test_two_creates_of_one_id(oci):
    both = [oci.popen("create", "-b", oci.bundle(*FOREVER), "c", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert sorted(one.wait(timeout=HANG_S) for one in both) == [0, 1]
    assert "container with given ID already exists: c" in oci.last_error()
    assert oci.status() == "created"
    oci("delete", "c", check=0)


def test_the_machine_of_ten_goes(oci):
    """Each of them ends. Each can be removed, the pod's first container before the others."""
    pid = oci.started(*FOREVER, name="pod", annotations=bundles.of_pod("sandbox"))
    for number in range(10):
        oci.started(*FOREVER, name=f"c{number}", annotations=bundles.of_pod("container"), linux=bundles.in_pod(pid))
    for machine in qemu(oci):
        os.kill(machine, signal.SIGKILL)
    names = ["pod", *(f"c{number}" for number in range(10))]
    for name in names:
        oci.await_status("stopped", name)
    for name in names:
        assert oci("exec", name, "true").returncode == 255 and "container not running" in oci.last_error()
        oci("delete", name, check=0)


def test_signals_to_who_waits(oci):
    """Descriptors for a container in the foreground, and for a command in one, as runc passes them on."""
    trap = ("sh", "-c", "trap 'echo got; exit 3' TERM; echo ready; while :; do sleep 0.1; done")
    for words in (("run", "--bundle", oci.bundle(*trap), "c"), ("exec", "other", *trap)):
        if words[0] == "exec":
            oci.started(*FOREVER, name="other")
        child = oci.popen(*words)
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGTERM)
        assert (child.communicate(timeout=HANG_S)[0], child.returncode) == (b"got\n", 3)
    assert [state["id"] for state in json.loads(oci("list", "--format", "json", check=0).stdout)] == ["other"]
    oci("delete", "--force", "other", check=0)


def hold_run(oci, trap):
    """A run whose poststart hook has not ended. Returns (the run, a function that ends the hook)."""
    gate = oci.base / "gate"
    os.mkfifo(gate)
    hook = {"path": "/bin/sh", "args": ["sh", "-c", f"read none < {gate}"]}
    return oci.popen("run", "--bundle", oci.bundle(*trap, hooks={"poststart": [hook]}), "c"), lambda: gate.write_text("\n")


def reads_of_socket(pid):
    """Returns whether the process waits in read() of a socket. An exec does so only for its stand-in's report, when it
    has told the stand-in to go on."""
    call, *arguments = Path(f"/proc/{pid}/syscall").read_text().split()
    return call == READ and bundles.strays.descriptors(pid).get(int(arguments[0], 16), "").startswith("socket:")


def hold_exec(oci, trap):
    """An exec that was stopped while its program began. Returns (the exec, a function that lets it go on)."""
    oci.started(*FOREVER)
    (machine,) = qemu(oci)
    os.kill(machine, signal.SIGSTOP)
    child = oci.popen("exec", "c", *trap)
    wait_until(lambda: reads_of_socket(child.pid), "the exec to wait for its stand-in's report")
    child.send_signal(signal.SIGSTOP)
    os.kill(machine, signal.SIGCONT)
    return child, lambda: child.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("hold", (hold_run, hold_exec))
def test_a_signal_before_the_command_waits(oci, hold):
    """A caller that has read the program's first output may send a signal at once."""
    child, let_go = hold(oci, ("sh", "-c", "trap 'echo got; exit 3' TERM; echo ready; while :; do sleep 0.1; done"))
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGTERM)
    let_go()
    assert (child.communicate(timeout=HANG_S)[0], child.returncode) == (b"got\n", 3)
    if hold is hold_exec:
        oci("delete", "--force", "c", check=0)


def test_another_name_of_the_root(oci):
    """A command that was told the directory by another path undoes everything that the first one did."""
    oci.started(*FOREVER)
    (oci.base / "beside").mkdir()
    words = [oci.bin / "microagent-oci", "--root", "../oci", "delete", "--force", "c"]
    done = subprocess.run(words, cwd=oci.base / "beside", env=oci.env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done  # the fixture sees that nothing is left


def test_a_directory_of_others(oci):
    """containerd has the root of each of its namespaces below the given one. Such a directory is no container."""
    oci.started(*FOREVER)
    above = bundles.Runtime(oci.base)
    above.root = oci.base
    assert not any(state["id"] == "oci" for state in json.loads(above("list", "--format", "json", check=0).stdout))
    for words in (("state", "oci"), ("delete", "oci"), ("kill", "oci")):
        done = above(*words)
        assert done.returncode == 1 and "is a directory of containers" in above.last_error(), words
    above("delete", "--force", "oci", check=0)
    assert oci.status() == "running"
    oci("delete", "--force", "c", check=0)


def test_output_without_room(oci):
    """A full disk of a log does not end its writer."""
    oci.started(*FOREVER)
    with open("/dev/full", "wb") as full:
        assert oci("exec", "c", "sh", "-c", "echo word; echo word >&2; touch /tmp/after; exit 4", stdout=full, stderr=full).returncode == 4
    assert (oci.base / "b1/rootfs/tmp/after").exists()
    oci("delete", "--force", "c", check=0)


def test_nobody_reads_what_it_says(oci):
    """It is told as by a pipe of its own. A program that ignores that goes on."""
    reader, writer = os.pipe()
    oci.started("sh", "-c", "trap '' PIPE; while :; do echo word; echo >> /tmp/said; sleep 0.1; done", out=writer)
    os.close(writer)
    os.close(reader)
    said = oci.base / "b1/rootfs/tmp/said"
    wait_until(said.exists, "its first word")
    size = said.stat().st_size
    wait_until(lambda: said.stat().st_size > size + 10, "more of it")
    assert oci.status() == "running"
    child = oci.popen("exec", "c", "sh", "-c", "while :; do echo word; done")
    assert child.stdout.readline() == b"word\n"
    child.stdout.close()
    assert child.wait(timeout=HANG_S) == 128 + signal.SIGPIPE
    oci("delete", "--force", "c", check=0)


def test_nobody_takes_what_it_says_when_its_machine_goes(oci):
    """An output that nobody takes hides no end: of the container, and of a command in it."""
    flood = ("sh", "-c", "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaa; done")
    outputs = [os.pipe(), os.pipe()]
    writers = [writer for _, writer in outputs]
    oci.started(*flood, out=writers[0])
    child = oci.popen("exec", "c", *flood, stdout=writers[1])
    wait_until(lambda: not select.select([], writers, [], 0)[1], "two outputs that are not taken")
    (machine,) = qemu(oci)
    os.kill(machine, signal.SIGKILL)
    oci.await_status("stopped")
    assert child.wait(timeout=HANG_S) == 137
    oci("delete", "c", check=0)
    for end in (end for pipe in outputs for end in pipe):
        os.close(end)


def test_a_full_disk(oci):
    """At each step of create the reason is reported, and nothing is left, until there is room enough."""
    place = oci.base / "small"
    place.mkdir()
    refused = 0
    for kib in (8, 16, 28, 64, 16384, 20480):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "small", str(place)], check=True)
        oci.root = place / "oci"
        done = oci("create", "-b", oci.bundle(*FOREVER), "c", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            oci("delete", "--force", "c", check=0)
        else:
            refused += 1
            assert "no space left" in oci.last_error().lower(), (kib, oci.last_error())
        left = oci.left()
        assert len(left) == 1 and "tmpfs small" in left[0], (kib, left)
        subprocess.run(["umount", str(place)], check=True)
    assert refused >= 4 and done.returncode == 0, refused


def test_its_network_is_there_for_the_first_who_asks(oci):
    """A hook that takes all processor time: a program that finds the network by the pid configures it."""
    space = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo in; exec sleep 1000", str(oci.base)], stdout=subprocess.PIPE)
    try:
        assert space.stdout.readline() == b"in\n"
        path = f"/proc/{space.pid}/ns/net"
        linux = {**bundles.config()["linux"], "namespaces": [{"type": kind} for kind in bundles.SPACES if kind != "network"]
                 + [{"type": "network", "path": path}]}
        said = oci.base / "said"
        ask = f"""pid=$(sed 's/.*"pid": *\\([0-9]*\\).*/\\1/'); readlink /proc/$pid/ns/net >>{said}"""
        hooks = {"prestart": [{"path": "/bin/sh", "args": ["sh", "-c", ask]}]}
        oci.create(*FOREVER, linux=linux, hooks=hooks)
        assert said.read_text().split() == [os.readlink(path)]
        assert os.readlink(f"/proc/{oci.state()['pid']}/ns/net") == os.readlink(path)
        oci("delete", "--force", "c", check=0)
    finally:
        space.kill()
        space.wait()


def test_links_of_a_network_that_stays(oci):
    """The links are given back if a container is not made. If the keeper was killed, the next command gives them back."""
    make = "ip link add eth0 type veth peer name far && ip address add 10.9.0.2/24 dev eth0 && ip link set eth0 up && ip link set far up"
    space = subprocess.Popen(["unshare", "-n", "sh", "-c", f"{make} && echo in && exec sleep 1000", str(oci.base)], stdout=subprocess.PIPE)

    def qdisc():
        return subprocess.run(["nsenter", "-t", str(space.pid), "-n", "tc", "qdisc", "show", "dev", "eth0", "ingress"],
                              capture_output=True, text=True, check=True).stdout
    try:
        assert space.stdout.readline() == b"in\n"
        linux = {**bundles.config()["linux"], "namespaces": [{"type": kind} for kind in bundles.SPACES if kind != "network"]
                 + [{"type": "network", "path": f"/proc/{space.pid}/ns/net"}]}
        for wrong in ({"annotations": {"io.microagent.kernel": "no-such-one"}}, {"process": {"args": ["/none"]}}):
            assert oci("create", "-b", oci.bundle(*FOREVER, **{"linux": linux, **wrong}), "c").returncode == 1
            assert qdisc() == "", oci.last_error()
        oci.started(*FOREVER, linux=linux)
        assert qdisc() != ""
        for pid, line in bundles.strays.running(oci.base).items():
            if line.startswith("microagent-oci: machine"):
                os.kill(pid, signal.SIGKILL)
        oci.await_status("stopped")
        oci("delete", "c", check=0)
        assert oci.run("ip", "address", "show", "dev", "eth0", linux=linux)[1].count("10.9.0.2/24") == 1
    finally:
        space.kill()
        space.wait()


def test_its_cgroups_go_with_it(oci):
    """Although the process in them has closed everything a moment before the container is removed."""
    name = oci.base.name
    for number in range(4):
        pid = oci.started(*FOREVER, linux={"cgroupsPath": f"/{name}/c{number}"})
        assert any(name in line for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines())
        os.kill(pid, signal.SIGKILL)
        oci("delete", "--force", "c", check=0)
        assert not cgroups_of(oci)


def test_what_the_guest_holds_of_a_container(oci):
    """The container lives a moment longer. The guest's kernel does not survive a file system that ends with its last
    process while the kernel reads ahead in the program of that process. Nobody hears of the end of such a process."""
    oci.started(*FOREVER, name="pod", annotations=bundles.of_pod("sandbox"))
    (oci.base / "volume").mkdir()
    volume = [{"destination": "/data", "type": "bind", "source": str(oci.base / "volume"), "options": ["rbind"]}]
    oci.started(*FOREVER, annotations=bundles.of_pod("container"), mounts=bundles.config()["mounts"] + volume)
    place = os.path.dirname(oci.seen()) + "/"

    def held():
        done = oci.in_the_guest("cat", "/proc/mounts", name="pod")
        assert done.returncode == 0, done
        return {line.split()[1].removeprefix(place) for line in done.stdout.splitlines() if place in line}
    assert held() == {"rootfs", str(len(bundles.config()["mounts"]))}
    oci("kill", "c", "KILL", check=0)
    oci.await_status("stopped")
    wait_until(lambda: not held(), "it to be let go")
    oci("delete", "c", check=0)
    oci("delete", "--force", "pod", check=0)


def test_a_pod_whose_first_is_deleted_first(oci):
    oci.started(*FOREVER, name="pod", annotations=bundles.of_pod("sandbox"))
    oci.started(*FOREVER, name="one", annotations=bundles.of_pod("container"))
    oci("delete", "--force", "pod", check=0)
    oci.await_status("stopped", "one")
    oci("delete", "one", check=0)


def as_process(number, *words):
    """Makes a process with this pid, which no process has."""
    pids = (ctypes.c_int * 1)(number)
    args = (ctypes.c_uint64 * 11)(0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(pids), 1, 0)
    pid = ctypes.CDLL(None, use_errno=True).syscall(435, args, ctypes.sizeof(args))  # clone3()
    if pid == 0:
        try:
            os.execvp(words[0], words)
        finally:
            os._exit(127)
    assert pid == number, os.strerror(ctypes.get_errno())
    return pid


@pytest.mark.parametrize("words", [("kill", "c", "TERM"), ("kill", "c", "KILL"), ("delete", "--force", "c")])
@pytest.mark.parametrize("look", [2, 4])
def test_a_number_that_has_become_anothers(oci, words, look):
    """The stand-in ends and its pid is given to another process while a command checks who has it. The other process lives on."""
    oci.started(*FOREVER)
    pid = json.loads((oci.root / "c/state.json").read_text())["pid"]
    told = oci.base / "told"
    oci.wrap = ["strace", "-f", "-o", str(told), "-P", f"/proc/{pid}/stat", "-e", "trace=openat", "-e", f"inject=openat:signal=STOP:when={look}"]
    command = oci.popen(*words, stderr=subprocess.DEVNULL)
    oci.wrap = []
    wait_until(lambda: told.exists() and "stopped by SIGSTOP" in told.read_text(), "the look")
    stopped = int(next(line for line in told.read_text().splitlines() if "stopped by SIGSTOP" in line).split()[0])
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the stand-in")
    other = as_process(pid, *FOREVER)
    try:
        os.kill(stopped, signal.SIGCONT)
        command.wait(timeout=HANG_S)
        assert os.waitpid(other, os.WNOHANG) == (0, 0)
    finally:
        os.kill(other, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(other, 0)
    oci("delete", "--force", "c", check=0 if words[0] == "kill" else None)
