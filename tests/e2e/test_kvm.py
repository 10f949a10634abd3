# SPDX-License-Identifier: MIT
"""Tests machines under KVM, if /dev/kvm can be opened. The guest is the tests' own (tests/kvm_guest). It stays in ring
0, so it also runs on a KVM that emulates everything else and boots no Linux. The tests check that everything around
the guest works (rights, cell, ioeventfd, irqfd, MSI-X, ends), and never its speed. TCG runs the same guest as a
control."""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

import conftest
import kvm_host
from conftest import OWN, ROOT, ended, wait_until

SOURCES = ROOT / "tests" / "kvm_guest"
MIB = 1 << 20
# Named processors do not have features that this machine's KVM cannot emulate, and that QEMU would set in vain.
CPU = "kvm64,vendor=GenuineIntel,-cx16,-pni,-xsave,-popcnt"


@pytest.fixture(scope="module")
def kernel():
    OWN.mkdir(parents=True, exist_ok=True)
    program = OWN / "kvm_guest"
    subprocess.run(["gcc", "-m32", "-march=i486", "-O2", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-ffreestanding",
                    "-fno-pic", "-no-pie", "-fno-stack-protector", "-mgeneral-regs-only", "-fno-asynchronous-unwind-tables",
                    "-nostdlib", "-static", f"-Wl,-T,{SOURCES}/guest.lds", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments",
                    "-Wl,-m,elf_i386", "-o", program, SOURCES / "start.S", *sorted(SOURCES.glob("*.c"))], check=True)
    return program


@pytest.fixture(scope="module")
def kvm():
    """Returns the node, or why there is none, and the environment for the programs. All tests share one look, and
    remembered results do not go to the user's own cache."""
    place = Path(tempfile.mkdtemp(prefix="e-"))
    place.chmod(0o755)
    node = kvm_host.find_node(place)
    yield node, {"MICROAGENT_TEST_KVM": str(node), "MICROAGENT_TEST_CPU": CPU, "MICROAGENT_CACHE_DIR": str(place / "cache"),
                 "MICROAGENT_TEST_LIMIT_PROBE_LOOP_MS": "20000", "MICROAGENT_TEST_LIMIT_PROBE_MS": "60000",
                 "MICROAGENT_TEST_LIMIT_BOOT_KVM_MS": "60000"}
    shutil.rmtree(place)


def test_a_verdict_is_of_the_time_that_was_given(host, kvm, tmp_path):
    """A KVM that was too slow is probed again if it gets more time, and not with the same time."""
    node, told = kvm
    if not isinstance(node, Path):
        pytest.skip(node)
    cache = tmp_path / "cache"
    for limit in ("1", told["MICROAGENT_TEST_LIMIT_PROBE_LOOP_MS"]):
        env = {**told, "MICROAGENT_CACHE_DIR": str(cache), "MICROAGENT_TEST_LIMIT_PROBE_LOOP_MS": limit}
        facts = host.json("host", env=env)["host"]
        kept = json.loads((cache / "host.json").read_text())
        assert kept["kvmNode"].endswith(f", in {limit} ms") and kept["kvmVerdict"] in ("slow", "usable")
        # The probe is made without a kernel. A paravirtual KVM is usable only with kernels that are built for it.
        kernels = "pvm" if kvm_host.PARAVIRTUAL.exists() else "all" if kept["kvmVerdict"] == "usable" else "none"
        assert (facts["kvmKernels"], facts["kvmAvailable"]) == (kernels, kernels == "all")
    assert kept["kvmVerdict"] == "usable", facts["acceleratorReason"]


def test_what_kvm_does_not_take_is_left_out(kvm, host, tmp_path):
    """QEMU's processor "host" has IA32_ARCH_CAPABILITIES only if KVM lets it be set. Otherwise QEMU aborts before there
    is a guest."""
    node, told = kvm
    if not isinstance(node, Path):
        pytest.skip(node)
    env = {**told, "MICROAGENT_CACHE_DIR": str(tmp_path / "cache")}
    host.json("host", env=env)
    untaken = json.loads((tmp_path / "cache" / "host.json").read_text())["kvmUntaken"]
    assert untaken in (0, 1)
    words = ["/usr/bin/qemu-system-x86_64", "-accel", "kvm", "-display", "none", "-nodefaults", "-S", "-monitor", "stdio",
             "-M", "microvm", "-cpu"]
    devices = ["unshare", "--mount", "sh", "-c", f'mount --bind {node} /dev/kvm && exec "$@"', "sh"] if os.geteuid() == 0 else []
    for cpu, fails in (("host", untaken == 1), ("host,-arch-capabilities", False)):
        done = subprocess.run([*devices, *words, cpu], input="quit\n", capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode != 0) == fails, (cpu, done)
        assert ("0x10a" in done.stderr or "kvm_buf_set_msrs" in done.stderr) == fails, done


class Machine:
    """Makes workspaces of that guest, on one kind of machine."""

    def __init__(self, host, kernel, accelerator, kind):
        self.host, self.accelerator, self.kind = host, accelerator, kind
        initrd = conftest.default_kernel(host)["path"] + ".initrd"  # the guest reads nothing of it
        self.config = host.config(kernelPath=str(kernel), initrdPath=initrd, accelerator=accelerator, hotplug=kind == "q35")

    def prepare(self, name="w"):
        config = {**self.config, "hostname": name}
        ask(self.host, "prepare", config, name)
        return config


@pytest.fixture
def machine(request, host, kernel, kvm):
    accelerator, kind = request.param.split("-")
    node, words = kvm
    made = Machine(host, kernel, accelerator, kind)
    if accelerator == "kvm":
        if isinstance(node, str):
            pytest.skip(f"no KVM to try: {node}")
        host.env.update(words)
    return made


def on(*machines):
    return pytest.mark.parametrize("machine", machines, indirect=True)


def document(command, config, name="w"):
    return {"command": command, "config": config,
            "identity": {"requestID": "q", "runtimeID": name, "role": "workload", "backend": "qemu"}}


def sparse(host):
    return {"stateDir": str(host.state)}


def ask(host, command, config, name="w"):
    code, answer, said = host.supervisor(document(command, config, name))
    assert code == 0, (answer, said, log(host, name))
    return answer


def log(host, name="w"):
    found = [host.state / name / part for part in ("serial.log", "supervisor.log")]
    return "\n".join(path.read_text(errors="replace")[-3000:] for path in found if path.exists())


def dial(host, port, name="w"):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(60)
    sock.connect(str(host.state / name / "vsock.sock"))
    sock.sendall(b"CONNECT %d\n" % port)
    line = b""
    while not line.endswith(b"\n"):
        byte = sock.recv(1)
        assert byte, "the guest takes no connection"
        line += byte
    assert line.startswith(b"OK "), line
    return sock


def execute(host, word="true", name="w"):
    """Sends a request in the envelope form. Returns None if there is no answer."""
    with dial(host, 2222, name) as sock:
        sock.sendall(json.dumps({"op": "exec", "payload": {"command": [word]}}).encode() + b"\n")
        answer = sock.makefile().readline()
    return json.loads(answer) if answer else None


def echo(host, data):
    with dial(host, 7) as sock:
        writer = threading.Thread(target=sock.sendall, args=(data,), daemon=True)
        writer.start()
        back = b""
        while len(back) < len(data) and (piece := sock.recv(MIB)):
            back += piece
        writer.join(60)
    return back


def facts(host, name="w"):
    return json.loads((host.state / name / "runtime.json").read_text())

def stolen_monitor(host):
    """The live supervisor's end of QEMU's monitor. QEMU executes a command that is written there without an id, and
    nobody waits for the answer."""
    found = facts(host)
    inode = os.stat(f"/proc/{found['pid']}/fd/3").st_ino
    lines = subprocess.run(["ss", "-xaH"], capture_output=True, text=True, check=True).stdout.split("\n")
    peer = next(line.split()[7] for line in lines if line and line.split()[5] == str(inode))
    place = Path("/proc", str(found["supervisorPid"]), "fd")
    number = next(int(fd.name) for fd in place.iterdir() if os.readlink(fd) == f"socket:[{peer}]")
    pidfd = os.pidfd_open(found["supervisorPid"])
    try:
        fd = ctypes.CDLL(None, use_errno=True).syscall(438, pidfd, number, 0)  # pidfd_getfd
    finally:
        os.close(pidfd)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return socket.socket(fileno=fd)


def supervisor_says(host, text, times=1):
    wait_until(lambda: (host.state / "w" / "supervisor.log").read_text().count(text) >= times, text)


@on("kvm-microvm", "kvm-q35", "tcg-microvm", "tcg-q35")
def test_a_guest(host, machine):
    """A machine from its boot to the power button."""
    config = machine.prepare()
    ask(host, "start", config)
    found = facts(host)
    assert (found["accelerator"], found["confinement"]) == (machine.accelerator, "cell")
    assert f"kvm-guest: {machine.kind}" in log(host)
    assert execute(host)["stdout"] == "kvm-guest\n"
    data = os.urandom(MIB)
    assert echo(host, data) == data
    answer = ask(host, "inspect", sparse(host))
    assert answer["readiness"]["shellReady"]["ready"]
    # A pause of ours is no end, and the machine goes on where it was.
    with stolen_monitor(host) as monitor:
        monitor.sendall(b'{"execute":"stop"}\n')
        supervisor_says(host, "the VM is paused")
        monitor.sendall(b'{"execute":"cont"}\n')
        supervisor_says(host, "the VM goes on")
    assert execute(host)["exit_code"] == 0
    assert ask(host, "inspect", sparse(host))["event"]["state"] == "running"
    # In quarantine only the machine is left, and only its power button reaches it.
    event = ask(host, "quarantine", sparse(host))["event"]
    assert (event["state"], bool(event["severed"])) == ("quarantined", True)
    assert sockets_of(found["pid"]) == 3  # monitor and consoles
    assert not (host.state / "w" / "vsock.sock").exists()
    event = ask(host, "stop", sparse(host))["event"]
    assert (event["state"], event["detail"]) == ("stopped", "the guest switched itself off when asked")
    assert "kvm-guest: off" in log(host)
    ask(host, "delete", sparse(host))


def sockets_of(pid):
    return sum(os.readlink(fd).startswith("socket:") for fd in Path("/proc", str(pid), "fd").iterdir())


@on("kvm-microvm", "kvm-q35", "tcg-microvm", "tcg-q35")
def test_a_machine_that_stands_still(host, machine):
    """An instruction that this KVM does not have (a KVM that has it goes on, as TCG does), and the guest's own sleep:
    the event says at once what it was."""
    config = machine.prepare()
    ask(host, "start", config)
    wanted = "internal-error (the accelerator cannot run an instruction or a state of the guest)"
    if execute(host, "iret"):
        if machine.kind == "microvm":  # which has no way to sleep
            ask(host, "kill", sparse(host))
            ask(host, "delete", sparse(host))
            if machine.accelerator == "kvm":
                pytest.skip("this KVM runs every instruction")
            return
        wanted = "suspended (the guest suspended itself, and nothing would wake it)"
        assert execute(host, "suspend") is None
    event = ended(host)
    assert (event["state"], event["detail"].split(";")[0]) == ("failed", f"the virtual machine stopped by itself: {wanted}")
    ask(host, "delete", sparse(host))


@on("kvm-microvm", "kvm-q35", "tcg-microvm", "tcg-q35")
def test_a_guest_that_never_gets_ready(host, machine):
    """Its power button is pressed while start waits for it. A machine that is killed while it boots ends at once."""
    for verb, detail in (("halt", "the guest switched itself off when asked"), ("kill", "killed")):
        config = machine.prepare("unready")
        start = host.popen(program="microagent-qemu-supervisor", stdin=subprocess.PIPE)
        start.stdin.write(json.dumps(document("start", config, "unready")).encode())
        start.stdin.close()
        wait_until(lambda: "kvm-guest: heard" in log(host, "unready"), "the guest to have its config")
        event = ask(host, verb, sparse(host), "unready")["event"]
        assert event["detail"] == detail
        assert start.wait(60) != 0
        start.stdout.close()
        start.stderr.close()
    ask(host, "delete", sparse(host), "unready")


@on("kvm-microvm")
def test_the_death_of_each_process(host, machine):
    """test_crash.py has it under TCG."""
    config = machine.prepare()
    for who in ("qemu", "microagent-vsockd", "bwrap", "supervisor"):
        ask(host, "start", config)
        found = facts(host)
        pids = {"qemu": found["pid"], "supervisor": found["supervisorPid"], **{c["name"]: c["pid"] for c in found["companions"]}}
        os.kill(pids[who], signal.SIGKILL)
        assert ended(host)["state"] == "failed", who
        # Each has closed its descriptors, and may be at its last steps.
        wait_until(lambda: {state_of(pid) for pid in pids.values()} <= {"Z", "X"}, f"every process to end after the kill of {who}")
    ask(host, "delete", sparse(host))


def state_of(pid):
    with contextlib.suppress(OSError):
        return Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[0]
    return "Z"
