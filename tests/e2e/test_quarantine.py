# SPDX-License-Identifier: MIT
"""Tests quarantine with a real VM: every channel has traffic at once, and every one ends. The machine goes on, and ends
in order by halt."""

import json
import os
import signal
import socket
import subprocess
import threading

import pytest

import lan as places
import strays
from conftest import held, wait_until
from test_mediation import Target, echo, free_port, install_guest_program, mediation
from test_publish import await_server, connect, serve
from test_shares import share

IDENTITY = {"requestID": "req-1", "runtimeID": "w", "role": "workload", "backend": "qemu"}


def ask(host, command, config=None, **kw):
    config = config or {"stateDir": str(host.state)}
    code, answer, _ = host.supervisor({"command": command, "identity": IDENTITY, "config": config}, **kw)
    return code, answer


def runtime(host):
    return json.loads((host.state / "w" / "runtime.json").read_text())


def sockets_of(pid):
    """Returns those descriptors of a process that are sockets."""
    return [target for target in strays.descriptors(pid).values() if target.startswith("socket:")]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def console(host):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(host.state / "w" / "console.sock"))
    return sock


def at_end(sock):
    """Returns everything that is still to be read, up to the end."""
    sock.settimeout(60)
    try:
        while sock.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


def start(host, **changes):
    config = host.config(**changes)
    for command in ("prepare", "start"):
        code, answer = ask(host, command, config)
        assert code == 0, answer
    return config


def sysfs_counter(host):
    """A process of the guest writes a line to the serial console every half second."""
    host("exec", "--user", "root", "w", "--", "sh", "-c",
         "(i=0; while :; do i=$((i+1)); echo beat $i > /dev/ttyS0; usleep 500000; done) >/dev/null 2>&1 &",
         check=0)


def echo_to_the_end(peer):
    try:
        echo(peer)
    except OSError:
        pass  # cut off, as it should be


class Caller:
    """A client of a published port, with traffic both ways until one side ends."""

    def __init__(self, port):
        self.stream = connect(port)
        self.stream.sendall(b"e")
        self.moved, self.over = 0, False
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        try:
            while True:
                self.stream.sendall(bytes(1000))
                got = len(self.stream.recv(1000))
                if not got:
                    break
                self.moved += got
        except OSError:
            pass  # cut off, as it should be
        self.over = True
        self.stream.close()


class World:
    """The place where the machine is started, its mediator, and its host in the internet."""

    def __init__(self, lan):
        self.lan = lan
        with lan.entered():
            self.target = Target(echo_to_the_end)
            self.port = free_port()
        with lan.entered("world"):
            self.internet = Target(echo_to_the_end, address=places.INTERNET)

    def caller(self):
        with self.lan.entered():
            return Caller(self.port)

    def close(self):
        self.target.close()
        self.internet.close()


@pytest.fixture
def world(host):
    if os.geteuid() != 0:
        pytest.skip("only root makes network namespaces")
    lan = places.Lan(host.base)
    try:
        lan.build()
        it = World(lan)
        host.wrap = lan.inside()
        yield it
        it.close()
    finally:
        lan.remove()


def in_traffic(host, world, work):
    """Makes traffic in every channel: (processes that stream, one that is idle, the serial console, the caller)."""
    directory = host.state / "w"
    sysfs_counter(host)
    wait_until(lambda: b"beat" in (directory / "serial.log").read_bytes(), "the guest's beat")
    streams = [host.popen("exec", "w", "--", "sh", "-c", "while :; do echo x; done") for _ in range(2)]
    idle = host.popen("exec", "w", "--", "sleep", "1000")
    for stream in streams:
        assert stream.stdout.readline()
    install_guest_program(host, "w")
    for there in ("/tmp/gc dial 2048", "/tmp/gc dial 3000", f"nc {places.INTERNET} {world.internet.port}"):
        dialler = host.popen("exec", "w", "--", "sh", "-c", f"(while :; do echo x; usleep 20000; done) | {there}")
        assert dialler.stdout.readline() == b"x\n"  # through the target and back
        streams.append(dialler)
    streams.append(serve(host, "w", "127.0.0.1", 8080))
    with world.lan.entered():
        await_server(world.port)
    caller = world.caller()
    wait_until(lambda: caller.moved, "bytes through the published port and back")
    host("exec", "w", "--", "sh", "-c", "(while :; do date; usleep 50000; done) > /work/log 2>&1 &", check=0)
    wait_until(lambda: (work / "log").exists() and (work / "log").stat().st_size, "the share to be written")
    return streams, idle, console(host), caller


def check_words(host, directory):
    """A refusal in quarantine says so, and only what is in use is shown."""
    for words in (("balloon", "w", "200"), ("delete", "w"), ("clone", "w", "w2")):
        refused = host(*words)
        assert refused.returncode not in (0, 2) and "quarantined" in refused.stderr, (words, refused.stderr)
    assert json.loads((directory / "runtime.json").read_text())["network"]["ip"]
    shown = host.json("network", "w")
    assert shown["state"] == "quarantined" and "runtime" not in shown and "detail" not in shown
    said = host("network", "w", check=0).stdout
    assert "to publish" in said and "published" not in said and "address" not in said


def test_every_channel_ends_and_the_machine_goes_on(host, world):
    work = host.base / "work"
    work.mkdir(mode=0o700)
    target = world.target
    config = start(host, mediation=mediation(target.port), shares=[share(work, "/work")],
                   network={"mode": "nat", "portForwards": [
                       {"host": "127.0.0.1", "hostPort": world.port, "guestPort": 8080}]},
                   vsockListeners=[{"port": 3000, "target": f"127.0.0.1:{target.port}"}])
    directory = host.state / "w"
    before = runtime(host)
    companions = {c["name"]: c["pid"] for c in before["companions"]}
    streams, idle, serial, caller = in_traffic(host, world, work)

    code, answer = ask(host, "quarantine")
    assert code == 0, answer
    event = answer["event"]
    assert event["state"] == "quarantined"
    written, made = (work / "log").stat().st_size, target.count
    assert {"console", "control", "microagent-vsockd", "virtiofsd work"} <= set(event["severed"])
    assert {"microagent-netgate", "passt"} <= set(event["severed"])
    assert f"publish 127.0.0.1:{world.port} (1 connection)" in event["severed"]
    assert sum("1 connection" in name for name in event["severed"]) == 3, event["severed"]
    assert event["detail"] == "severed: " + ", ".join(event["severed"])
    for process in (*streams, idle):
        process.communicate(timeout=60)
        assert process.returncode == 125
    assert at_end(serial)
    wait_until(lambda: caller.over, "the published port's connection to end")
    with pytest.raises(ConnectionRefusedError):
        world.caller()
    for place in (target, world.internet):
        wait_until(lambda it=place: all(peer.fileno() < 0 for peer in it.open), "a target's connections to end")
    # From outside: QEMU has only its monitor and its two consoles as sockets, and of the companions only the cell's
    # monitor lives.
    assert len(sockets_of(before["pid"])) == 3
    for name, pid in companions.items():
        assert is_alive(pid) == (name == "bwrap"), name
    assert [p.name for p in directory.iterdir() if p.is_socket()] == ["control.sock"]
    # The machine goes on: its beat is in the log.
    seen = len((directory / "serial.log").read_bytes())
    wait_until(lambda: b"beat" in (directory / "serial.log").read_bytes()[seen:], "another beat")
    assert (work / "log").stat().st_size == written and target.count == made

    code, answer = ask(host, "inspect")
    assert answer["event"] == event
    assert answer["readiness"]["shellReady"] == {
        "ready": False, "detail": "workspace is quarantined; live readiness unavailable"}
    assert answer["readiness"]["mediationReady"]["ready"] is False
    for command in ("start", "prepare", "run"):
        code, answer = ask(host, command, config)
        assert (code, answer["errorCode"]) == (1, "conflict")
        assert answer["error"] == f"workspace w is quarantined; halt, stop or kill it before {command}"
    code, answer = ask(host, "quarantine")
    assert (code, answer["error"]) == (1, "workspace w is already quarantined")
    code, answer = ask(host, "console", config)
    assert (code, answer["error"]) == (1, "workspace w is quarantined; its console can be used only while it is running")
    code, answer = ask(host, "delete")
    assert (code, answer["errorCode"]) == (1, "conflict")
    refused = host("exec", "w", "--", "true")
    assert refused.returncode == 125 and "quarantined" in refused.stderr
    check_words(host, directory)

    code, answer = ask(host, "halt")
    assert (code, answer["event"]["state"]) == (0, "halted")
    assert answer["event"]["detail"] == "the guest switched itself off when asked"
    assert not held(host)
    states = [e["state"] for e in json.loads((directory / "events.json").read_text())]
    assert states == ["prepared", "starting", "running", "quarantined", "stopping", "halted"]
    assert ask(host, "start", config)[0] == 0  # released, it starts again from its disk

    # Killed in quarantine by any process: it stays in quarantine, with nothing alive.
    assert ask(host, "quarantine")[0] == 0
    os.kill(runtime(host)["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: not host.processes(), "everything to end with the live supervisor")
    code, answer = ask(host, "inspect")
    assert (code, answer["event"]["state"]) == (0, "quarantined")
    cut = "unclean: the live supervisor ended unexpectedly while the workspace was quarantined"
    assert answer["event"]["detail"] == cut
    assert [p.name for p in directory.iterdir() if p.is_socket()] == []
    assert ask(host, "start", config)[1]["errorCode"] == "conflict"
    code, answer = ask(host, "halt")
    assert (code, answer["event"]["state"], answer["event"]["detail"]) == (0, "halted", cut)
    assert ask(host, "delete")[0] == 0


@pytest.mark.parametrize("kernel", ["tuned_kernel", "debian_kernel"])
def test_halt_out_of_quarantine_is_clean_on_both_kernels(host, kernel, request):
    """Only the power button reaches the guest, which unmounts and switches itself off."""
    config = start(host, kernelPath=request.getfixturevalue(kernel)["path"])
    host("exec", "w", "--", "sh", "-c", "echo kept > /workspace/f", check=0)
    user = host.popen("connect", "w", "--serial", stdin=subprocess.DEVNULL)
    wait_until(lambda: "a client is connected" in (host.state / "w" / "supervisor.log").read_text(),
               "the console to be connected")
    assert ask(host, "quarantine")[0] == 0
    # Its console ended. That is no error, and does not mean that another client had it.
    assert user.communicate(timeout=60)[1] == b"" and user.returncode == 0
    code, answer = ask(host, "halt")
    assert (code, answer["event"]["state"]) == (0, "halted")
    assert answer["event"]["detail"] == "the guest switched itself off when asked"
    assert not held(host)
    # The written data is in the file system, which was unmounted and needs no recovery.
    said = subprocess.run(["dumpe2fs", "-h", config["rootfsPath"]], capture_output=True, text=True, check=True)
    assert "needs_recovery" not in said.stdout
    assert ask(host, "delete")[0] == 0


def test_a_quarantined_disk_at_rest_is_left_alone(host):
    """Also if no machine lives any more: booting a copy of the disk, or reading the disk's files, ends no quarantine."""
    host("create", "w", "--memory", 256, "--network", "isolated", "--output", "out=/workspace", check=0)
    (host.base / "f").write_text("given\n")
    refusals = (("clone", "w", "twin"), ("cp", host.base / "f", "w:/workspace/f"), ("cp", "w:/etc/passwd", host.base / "got"),
                ("ls", "w", "/"), ("artifacts", "get", "w", "out", host.base / "got"))
    for boot in (False, True):
        if boot:
            host("start", "w", check=0)
        host("quarantine", "w", check=0)
        if boot:
            os.kill(runtime(host)["pid"], signal.SIGKILL)
            wait_until(lambda: not held(host), "the end of the machine")
        disk = host.state / "w" / "rootfs.ext4"
        before = (disk.stat().st_mtime_ns, {"lease", *os.listdir(host.state / "w")})  # the asking command makes it if there is none
        for words in refusals:
            done = host(*words)
            assert done.returncode == 1, (words, done.stderr)
            assert 'workspace "w" is quarantined and nothing reaches it' in done.stderr, (words, done.stderr)
            assert "`microagent halt w` (or stop, or kill) ends the quarantine" in done.stderr, (words, done.stderr)
        assert [w["state"] for w in host.json("list")["workspaces"]] == ["quarantined"]
        assert (disk.stat().st_mtime_ns, {"lease", *os.listdir(host.state / "w")}) == before
        assert not (host.state / "twin").exists() and not (host.base / "got").exists()
        host("halt", "w", check=0)
    host("clone", "w", "twin", check=0)
    host("delete", "w", "twin", check=0)


def test_sockets_of_others_that_come_meanwhile(host):
    """A file that is made gets the number of one that was removed, on ext4 and XFS at once: another program's socket is no way in."""
    start(host)
    others, stop = [], threading.Event()

    def bind_sockets():
        """Sockets beside the workspace, from the time when the machine's own are removed."""
        while (host.state / "w" / "console.sock").exists() and not stop.is_set():
            pass
        while not stop.is_set() and len(others) < 64:
            other = socket.socket(socket.AF_UNIX)
            other.bind(str(host.state / f"other-{len(others)}"))
            other.listen()
            others.append(other)

    binder = threading.Thread(target=bind_sockets)
    binder.start()
    try:
        host("quarantine", "w", check=0)
    finally:
        stop.set()
        binder.join()
        for number, other in enumerate(others):
            other.close()
            (host.state / f"other-{number}").unlink()
    assert others and host.json("status", "w")["event"]["state"] == "quarantined"
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def test_a_supervisor_that_lies_is_not_believed(host):
    """The supervisor may be taken over and claim that all is cut. The command checks whether the companions have ended,
    and kills the machine if they live."""
    host("create", "w", "--memory", 256, "--network", "isolated", check=0)
    host("start", "w", check=0)
    facts, directory = runtime(host), host.state / "w"
    companion = facts["companions"][0]
    event = {**json.loads((directory / "event.json").read_text()), "state": "quarantined", "detail": "severed: everything"}
    os.kill(facts["supervisorPid"], signal.SIGSTOP)
    (directory / "control.sock").rename(directory / "control.before")
    with socket.socket(socket.AF_UNIX) as liar:
        here = os.getcwd()
        os.chdir(directory)
        liar.bind("control.sock")
        os.chdir(here)
        liar.listen()

        def lie():
            with liar.accept()[0] as peer:
                peer.recv(65536)
                (directory / "event.json").write_text(json.dumps(event))
                peer.sendall(json.dumps({"ok": True, "event": event}).encode() + b"\n")
                peer.recv(1)

        thread = threading.Thread(target=lie)
        thread.start()
        done = host("quarantine", "w")
        thread.join()
    assert done.returncode == 1, done
    assert (f"the live supervisor says that all channels are cut, but {companion['name']} (process {companion['pid']}) still runs"
            in done.stderr), done.stderr
    wait_until(lambda: not held(host), "the end of the machine")
    assert not any(is_alive(pid) for pid in (companion["pid"], facts["pid"], facts["supervisorPid"]))
    assert host.json("status", "w")["event"]["state"] == "quarantined"
    (directory / "control.before").unlink()
    host("delete", "w", check=0)
