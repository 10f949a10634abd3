# SPDX-License-Identifier: MIT
"""Tests what only Firecracker has: how its program is found and refused, its files, its vsock, its console, its end,
and quarantine (test_firecracker_faults.py has the faults of its API). It runs on a stand-in that checks its calls
and emulates, or on the real one (firecracker.py)."""

import json
import os
import shutil
import socket
import stat
import subprocess

import pytest

import strays
from conftest import BIN, REAL_FIRECRACKER, default_kernel, wait_until
from firecracker import firecracker, standin
from supervised import shown
from test_mediation import free_port, install_guest_program
from test_network import DHCP
from test_publish import ask, await_server, serve


@pytest.fixture(name="fc")
def any_firecracker(host):
    yield from firecracker(host)


@pytest.fixture(name="standin")
def the_standin(host):
    yield from standin(host)


def connect(path, port=2222):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(str(path))
    client.sendall(b"CONNECT %d\n" % port)
    return client


# --- a whole life ---------------------------------------------------------------------------------


def test_a_life(fc):
    """The workspace is prepared, runs, is halted, runs again, and is stopped."""
    answer = fc.start(network={"mode": "isolated"})
    assert answer["event"]["state"] == "running"
    assert fc.runtime["confinement"] == "cell"
    assert fc.exec("id", "-u") == "0\n"
    fc.exec("sh", "-c", "echo kept >/root/file; sync")
    socket_of = fc.workspace / "vsock.sock"
    about = os.lstat(socket_of)
    assert stat.S_ISSOCK(about.st_mode) and stat.S_IMODE(about.st_mode) == 0o600 and about.st_uid == os.geteuid()
    assert sorted(os.listdir(fc.workspace / "vmm")) == ["log", "metrics", "vsock.sock_1023", "vsock.sock_1024"]
    assert fc.do("halt")["event"]["detail"] == "the guest switched itself off when asked"
    assert not [path for path in fc.workspace.iterdir() if path.is_socket() or path.name == "vmm"]
    fc.do("start", fc.host.config())
    assert fc.exec("cat", "/root/file") == "kept\n"
    assert fc.do("stop")["event"]["state"] == "stopped"


def test_what_a_machine_is_told(standin):
    standin.start(network={"mode": "isolated"})
    assert standin.runtime["accelerator"] == "tcg" and "stand-in" in standin.runtime["acceleratorReason"]
    names = [name for name, _ in standin.calls()]
    assert names == ["PUT /logger", "PUT /metrics", "PUT /machine-config", "PUT /boot-source", "PUT /drives/rootfs",
                     "PUT /vsock", "PUT /entropy", "PUT /balloon", "PUT /actions"]


def test_a_command_and_its_result(fc):
    config = fc.host.config(command=["sh", "-c", "echo from the workload; exit 5"])
    fc.do("prepare", config)
    answer = fc.do("run", config)
    assert (answer["event"]["state"], answer["result"]["exitCode"]) == ("failed", 5)
    assert answer["result"]["stdout"] == "from the workload\n"


def test_kill(fc):
    fc.start()
    assert fc.do("kill")["event"]["state"] == "stopped"


def test_a_reset_is_no_power_off(fc):
    """Both are a reset to Firecracker. The agent's last message tells them apart."""
    fc.start()
    fc.host("exec", "--user", "root", "w", "--", "reboot", "-f")
    event = fc.wait_for("failed")
    assert "panicked or rebooted" in event["detail"]


def test_a_guest_that_switches_itself_off(fc):
    fc.start()
    fc.host("exec", "--user", "root", "w", "--", "poweroff")
    assert fc.wait_for("stopped")["detail"] == "the guest switched itself off"


def test_serial_console(fc):
    """Typed text reaches the guest. Its output is in serial.log, and other programs' output is not."""
    fc.start(console="shell")
    with socket.socket(socket.AF_UNIX) as console:
        console.connect(str(fc.workspace / "console.sock"))
        console.sendall(b"echo se''rial $((6 * 7))\n")
        wait_until(lambda: "serial 42" in shown(fc.workspace / "serial.log"), "the shell's answer")
    assert "Firecracker" not in shown(fc.workspace / "serial.log")
    assert "Running Firecracker v1." in shown(fc.workspace / "supervisor.log")


def test_disks_are_found_by_their_order(fc):
    """Firecracker gives them serials of its own."""
    disks = []
    for name in ("one", "two"):
        path = fc.host.base / f"{name}.ext4"
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", name, path, "8M"], check=True)
        disks.append({"name": name, "path": str(path), "mountpoint": f"/{name}", "mode": "rw" if name == "two" else "ro"})
    fc.start(disks=disks)
    fc.exec("sh", "-c", "echo x >/two/file && ! touch /one/file")
    assert fc.exec("sh", "-c", "grep -o '/dev/vd[b-z] /[a-z]*' /proc/mounts").split("\n")[:2] == ["/dev/vdb /one", "/dev/vdc /two"]
    fc.do("halt")


def test_as_many_disks_as_there_are_interrupts(fc):
    """12 disks beside the root, with a card: the bus has 19 places, and VMGenID and VMClock use it too."""
    path = fc.host.base / "disk.ext4"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", path, "1M"], check=True)
    disks = [{"name": f"d{number}", "path": str(path), "mountpoint": f"/d{number}", "mode": "ro"} for number in range(13)]
    config = fc.host.config(disks=disks, network={"mode": "nat"})
    assert "config.disks and config.bundles have 13 entries together, but a Firecracker machine has room for 12: leave some out" in fc.refused("check", config)
    fc.start(disks=disks[:12], network={"mode": "nat"})
    assert fc.exec("sh", "-c", "grep -c '/dev/vd. /d' /proc/mounts") == "12\n"


def test_balloon(fc):
    config = fc.host.config(memoryMiB=512)
    fc.do("prepare", config)
    # The answer comes when the guest is done with it, however slow the host is.
    fc.do("start", config, env={"MICROAGENT_TEST_LIMIT_BALLOON_MS": "50000"})
    answer = fc.balloon(384)
    assert answer["ok"] and 384 <= answer["balloon"]["actualMiB"] <= 400, answer


def test_what_it_counts_is_kept(fc):
    """Reads the last whole line of its metrics from the FIFO to which it writes them. A text that is no such line is ignored."""
    fc.start()
    kept = fc.workspace / "metrics.json"
    fifo = os.open(fc.workspace / "vmm" / "metrics", os.O_WRONLY)
    os.write(fifo, b'{"n":1}\n{"n":2}\n')
    wait_until(lambda: kept.exists() and json.loads(kept.read_text()) == {"n": 2}, "the second line")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    os.write(fifo, b'[3]\n')
    wait_until(lambda: "metrics.json: the metrics are not a JSON object" in shown(fc.workspace / "supervisor.log"), "what is none")
    os.write(fifo, b'{"long":"' + b"x" * (300 << 10) + b'"}\n' + b'{"half":')
    os.write(fifo, b'4}\n')
    os.close(fifo)
    wait_until(lambda: json.loads(kept.read_text()) == {"half": 4}, "the last line")
    fc.do("halt")
    assert "utc_timestamp_ms" in json.loads(kept.read_text())  # it writes this when the guest has ended


def test_rates_are_the_drive_s(standin):
    standin.start(limits={"diskBytesPerSecond": 4000000})
    drive = dict(standin.calls())["PUT /drives/rootfs"]
    assert drive["rate_limiter"] == {"bandwidth": {"size": 4000000, "refill_time": 1000}}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs needs root")
def test_a_full_disk_is_the_guest_s_error(fc):
    """There is no pause: the guest goes on, and its disk works again when there is room."""
    small = fc.host.base / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "none", small], check=True)
    try:
        disk = small / "disk"
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", disk, "128M"], check=True)
        disk.chmod(0o600)
        fc.start(disks=[{"path": str(disk), "mountpoint": "/data", "mode": "rw", "name": "data"}])
        (small / "fill").write_bytes(bytes(56 << 20))
        assert "Input/output error" in fc.exec("sh", "-c", "dd if=/dev/urandom of=/data/f bs=1M count=100 conv=fsync 2>&1; true")
        assert fc.event["state"] == "running" and fc.exec("echo", "on") == "on\n"
        (small / "fill").unlink()
        fc.exec("dd", "if=/dev/urandom", "of=/data/g", "bs=1M", "count=8", "conv=fsync")
        fc.do("stop")
    finally:
        fc.ask("kill")
        subprocess.run(["umount", small], check=True)


# --- the network ----------------------------------------------------------------------------------


def test_a_disk_at_rest_is_read_by_a_machine_of_its_own_backend(fc):
    env = {"MICROAGENT_QEMU": "/bin/false"}
    config = fc.host.config(network={"mode": "isolated"})
    fc.do("prepare", config)
    fc.host("cp", "--user", "root", "/etc/hostname", "w:/etc/put", env=env, check=0)
    assert "put\n" in fc.host("ls", "w:/etc", env=env, check=0).stdout
    assert sorted(os.listdir(fc.workspace)) == [".locks", "event.json", "events.json", "lease", "workspace.json"]
    fc.do("start", config)
    assert fc.exec("cat", "/etc/put") == open("/etc/hostname", encoding="ascii").read()


def test_a_disk_is_not_copied_to_where_it_has_no_room(fc):
    """The quota is checked by looking at the disk: 16 MiB stay free, and a refused write has written nothing."""
    if os.geteuid() != 0:
        pytest.skip("root mounts a tmpfs")
    config = fc.host.config()
    with open(config["rootfsPath"], "r+b") as disk:
        disk.seek(32 << 20)
        disk.write(b"x" * (8 << 20))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m,mode=700", "tmpfs", fc.host.state], check=True)
    try:
        fc.do("prepare", config)
        said = fc.host("ls", "w:/etc").stderr
        assert "the workspace's disk cannot be copied for the machine that reads it: copy to looked-at: no room: " in said, said
        assert [path.name for path in fc.workspace.iterdir() if path.name in ("vmm", "looked-at")] == []
        fc.do("delete")
    finally:
        subprocess.run(["umount", fc.host.state], check=True)


# --- the link, which hands on the end of one side -------------------------------------------------


def answer_behind_the_end(path):
    """Returns the agent's answer to an envelope after its client has closed its sending side."""
    with connect(path) as client:
        client.sendall(b'{"op":"exec","payload":{"command":["sh","-c","sleep 0.2; echo done"]}}\n')
        client.shutdown(socket.SHUT_WR)
        with client.makefile("rb") as reader:
            return reader.read()


def test_the_end_of_one_side(fc):
    """Firecracker itself loses that end, and with it the answer; the link does not. The cases that the link cannot help
    are reported."""
    port = free_port()
    fc.start(network={"mode": "nat", "portForwards": [{"hostPort": port, "guestPort": 8080}]})
    about = os.lstat(fc.workspace / "agent.sock")
    assert stat.S_ISSOCK(about.st_mode) and stat.S_IMODE(about.st_mode) == 0o600 and about.st_uid == os.geteuid()
    assert b"done" not in answer_behind_the_end(fc.workspace / "vsock.sock")
    assert b"done" in answer_behind_the_end(fc.workspace / "agent.sock")
    with connect(fc.workspace / "agent.sock", 5000) as other:  # on no other port of the guest
        assert other.recv(64) == b""
    install_guest_program(fc.host, "w")
    server = serve(fc.host, "w", "127.0.0.1", 8080)
    await_server(port)
    assert ask(port, b"e" + b"to the loopback") == b"to the loopback"
    server.kill()
    server.communicate()


def test_a_program_of_the_guest_does_not_get_the_link(fc):
    """The link is one connection, which PID 1 has made."""
    fc.start()
    install_guest_program(fc.host, "w")
    assert fc.exec("sh", "-c", "/tmp/gc dial 1023 < /dev/null || true") == ""
    assert fc.exec("echo", "word") == "word\n"


def test_an_agent_that_dies_while_it_sends(fc):
    """The next supervisor begins the link anew, whatever part of a packet the last one has sent."""
    fc.start()
    for _ in range(5):
        reader = fc.host.popen("exec", "--user", "root", "w", "--", "sh", "-c", "kill -9 $(pidof microagent) & yes")
        while reader.stdout.read(65536):
            pass
        reader.communicate()
        assert reader.returncode == 125
        assert fc.exec("sh", "-c", "head -c 300000 /dev/zero | wc -c") == "300000\n"


# --- quarantine -----------------------------------------------------------------------------------


BRIDGE = "ip link add br-test type bridge && ip addr add 192.168.90.1/24 dev br-test && ip link set br-test up && exec \"$@\""
REFUSED_KEY = "Firecracker refused PUT /actions: refused because a test wants it (status 400)"


def cut(fc, mode):
    """All channels are cut, also a connection that somebody holds and one that waits. The machine goes on."""
    held, waiting = connect(fc.workspace / "vsock.sock"), connect(fc.workspace / "vsock.sock")
    linked = connect(fc.workspace / "agent.sock")
    assert held.recv(64).startswith(b"OK ") and linked.recv(64).startswith(b"OK ")
    severed = fc.do("quarantine")["event"]["severed"]
    assert {"vsock", *{"nat": ["passt"], "bridged": ["network"]}.get(mode, [])} <= set(severed)
    assert mode == "nat" or "passt" not in severed
    assert held.recv(64) == b"" and linked.recv(64) == b""
    assert waiting.recv(64)[:3] in (b"", b"OK ")
    assert not [name for name in ("vsock.sock", "agent.sock", "vmm") if (fc.workspace / name).exists()]


def goes_on(fc):
    size = (fc.workspace / "serial.log").stat().st_size
    wait_until(lambda: (fc.workspace / "serial.log").stat().st_size > size, "the guest to go on")


@pytest.fixture
def bridge():
    """Words before a command that runs where there is a bridge, with a program that gives addresses."""
    if os.geteuid() != 0:
        pytest.skip("only root makes network namespaces")
    with subprocess.Popen(["unshare", "--net", "sh", "-c", BRIDGE, "sh", "/usr/bin/python3", "-c", DHCP], stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"up\n"
        yield ["nsenter", f"--net=/proc/{server.pid}/ns/net"]
        server.kill()


if REAL_FIRECRACKER:
    @pytest.fixture(name="quiet_kernel")
    def the_default_kernel(host):
        return default_kernel(host)
else:
    @pytest.fixture(name="quiet_kernel")
    def the_tuned_kernel(tuned_kernel):  # named as a fixture, so that the test has time to wait for its builder
        return tuned_kernel


@pytest.mark.parametrize("mode", ["isolated", "nat", "bridged"])
def test_quarantine_cuts_a_held_connection(fc, mode, quiet_kernel, request):
    """A connection to the guest that somebody holds is dead, nobody gets a new one, and the machine goes on."""
    wrap = request.getfixturevalue("bridge") if mode == "bridged" else ()
    network = {"mode": mode, **({"interface": "br-test"} if mode == "bridged" else {})}
    config = fc.host.config(network=network, user="root", command=["sh", "-c", "while echo tick; do sleep 1; done >/dev/console"],
                            kernelPath=quiet_kernel["path"])
    fc.do("prepare", config, wrap=wrap)
    fc.do("start", config, wrap=wrap, env={"MICROAGENT_TEST_LIMIT_HALT_MS": "500", "MICROAGENT_TEST_LIMIT_API_RUNNING_MS": "300"})
    pid = fc.runtime["pid"]
    cut(fc, mode)
    goes_on(fc)
    assert "/proc" not in strays.descriptors(pid).values()
    assert ("tap0" in shown(f"/proc/{pid}/net/dev")) == (mode != "isolated")
    if mode == "bridged":  # its end on the bridge is gone
        links = shown(f"/proc/{fc.runtime['supervisorPid']}/net/dev")
        assert "br-test" in links and "microagent" not in links
    halt_without_a_word(fc, {"isolated": None, "nat": "refuse", "bridged": "hang"}[mode])


def halt_without_a_word(fc, fault):
    """It still obeys its supervisor: a key, which a tuned kernel does not see. A refused call is in the log, and a call
    without an answer ends the machine. Nobody asked for either end."""
    if not fc.is_real:
        fc.set(faults={"PUT /actions": {"do": fault}} if fault else {})
        fc.calls()
    event = fc.do("halt")["event"]
    assert event["state"] == "halted" and event["detail"].startswith("unclean"), event
    if fc.is_real:  # it keeps no record, and refuses no call that it knows
        return
    (call, body), = fc.calls()
    assert call == "PUT /actions" and "SendCtrlAltDel" in str(body)
    log = shown(fc.workspace / "supervisor.log")
    assert (REFUSED_KEY in log) == (fault == "refuse")
    assert ("Firecracker's API: PUT /actions: no answer within 300 ms" in log) == (fault == "hang")


RUNS = "echo the command runs > /dev/console"


def quarantined(fc, kernel, line):
    """Makes a machine in quarantine whose root runs the line. The line says on the console when it runs."""
    config = fc.host.config(network={"mode": "isolated"}, user="root", command=["sh", "-c", line], kernelPath=kernel["path"])
    fc.do("prepare", config)
    fc.do("start", config)
    wait_until(lambda: "the command runs" in (fc.workspace / "serial.log").read_text(), "the command to run")
    fc.do("quarantine")


def test_an_orderly_end_in_quarantine_is_one(fc, debian_kernel):
    """Its agent cannot say so any more, and Firecracker reports a power-off as a reset. The last line of the console tells it."""
    quarantined(fc, debian_kernel, f"{RUNS}; sleep 1000")
    event = fc.do("halt")["event"]
    assert (event["state"], event["detail"]) == ("halted", "the guest switched itself off when asked"), event
    said = (fc.workspace / "serial.log").read_text()
    assert "microagent-init: the machine ends in order" in said
    fc.do("start", fc.host.config(network={"mode": "isolated"}, user="root", command=["sh", "-c", f"{RUNS}; sleep 1000"], kernelPath=debian_kernel["path"]))
    assert fc.do("halt")["event"]["detail"] == "the guest switched itself off when asked"


def test_a_reset_in_quarantine_is_no_end_in_order(fc, debian_kernel):
    """A command that is told to end has the kernel reset the machine, without a message of init."""
    quarantined(fc, debian_kernel, f"trap 'echo b > /proc/sysrq-trigger' TERM; {RUNS}; while :; do sleep 1; done")
    event = fc.do("halt")["event"]
    assert (event["state"], event["detail"]) == ("halted", "unclean: the guest did not shut down cleanly"), event
    assert "the machine ends in order" not in (fc.workspace / "serial.log").read_text()


# --- the program ----------------------------------------------------------------------------------


def test_host_says_what_it_is(fc):
    facts = fc.do("host")["host"]
    assert facts["binaryPath"] == str(fc.vmm)
    assert facts["binaryVersion"].endswith(" (stand-in)") != fc.is_real
    assert facts["accelerator"] == ("kvm" if fc.is_real else "tcg")
    assert ("stand-in" in facts["acceleratorReason"]) != fc.is_real
    assert facts["vsockAvailable"] and facts["consoleAvailable"] and facts["consoleMode"] == "interactive"
    assert facts["natAvailable"] and facts["bridgedAvailable"] == (os.geteuid() == 0)


def test_no_program(fc):
    nowhere = {"MICROAGENT_FIRECRACKER": ""}
    assert fc.do("host", env=nowhere)["host"]["binaryPath"] == ""
    error = fc.refused("check", fc.host.config(), env=nowhere)
    assert "Firecracker is not installed" in error
    error = fc.refused("check", fc.host.config(), env={"MICROAGENT_FIRECRACKER": "/nonexistent"})
    assert "MICROAGENT_FIRECRACKER names /nonexistent" in error


def test_it_is_found_in_path_and_in_libexec(fc):
    path = fc.host.base / "path"
    path.mkdir(mode=0o755)
    shutil.copy(fc.vmm, path / "firecracker")
    found = {"MICROAGENT_FIRECRACKER": "", "PATH": f"{path}:{os.environ['PATH']}"}
    assert fc.do("host", env=found)["host"]["binaryPath"] == str(path / "firecracker")
    prefix = fc.host.base / "prefix"
    for name in ("bin", "libexec/microagent"):
        (prefix / name).mkdir(mode=0o755, parents=True)
    shutil.copy(fc.vmm, prefix / "libexec/microagent/firecracker")
    shutil.copy(BIN / "microagent-firecracker-supervisor", prefix / "bin")
    done = subprocess.run([prefix / "bin/microagent-firecracker-supervisor"], input=b'{"command":"host"}', capture_output=True,
                          env={**fc.host.env, "MICROAGENT_FIRECRACKER": ""}, check=True)
    assert json.loads(done.stdout)["host"]["binaryPath"] == str(prefix / "libexec/microagent/firecracker")


def test_a_place_whose_name_is_too_long(fc):
    """The program is in libexec behind two links: each is followed, and no single name has both."""
    prefix, half = fc.host.base / "prefix", "/".join(["x" * 200] * 11)
    for name in ("bin", f"libexec/{half}"):
        (prefix / name).mkdir(mode=0o755, parents=True)
    (prefix / "libexec/half").symlink_to(half)
    (prefix / "libexec/half" / half).mkdir(parents=True)
    (prefix / "libexec/microagent").symlink_to(f"half/{half}")
    shutil.copy(fc.vmm, prefix / "libexec/microagent/firecracker")
    shutil.copy(BIN / "microagent-firecracker-supervisor", prefix / "bin")
    done = subprocess.run([prefix / "bin/microagent-firecracker-supervisor"], input=b'{"command":"host"}', capture_output=True,
                          env={**fc.host.env, "MICROAGENT_FIRECRACKER": ""}, check=True)
    shutil.rmtree(prefix / "libexec")  # nobody else could use it
    said = json.loads(done.stdout)["host"]["acceleratorReason"]
    assert said.endswith("libexec/microagent/firecracker: File name too long"), said


def test_too_old(standin):
    standin.set(version="1.13.1")
    assert "is version 1.13.1, but at least 1.14 is needed: install a newer release" in standin.refused("check", standin.host.config())


@pytest.mark.parametrize("version", ["1.16.0", "1.16.1"])
def test_one_with_a_known_defect(standin, version):
    """The message says so, and not that there is no Firecracker."""
    standin.set(version=version)
    words = f"is version {version}, which loses its vsock after a pause, which a session's quota needs: use 1.14, 1.15 or a version after 1.16.1"
    code, answer, _ = standin.ask("check", standin.host.config())
    assert (code, answer["errorCode"]) == (75, "unavailable") and words in answer["error"]
    facts = standin.do("host")["host"]
    assert not facts["vsockAvailable"] and words in facts["acceleratorReason"]
    assert words in standin.host("doctor", "--backend", "firecracker").stdout
    standin.set(version="1.16.2")
    standin.do("host")
    standin.do("check", standin.host.config())


def test_another_program_of_that_name_is_asked_anew(standin):
    """The answer is remembered only for that program. `host` asks each time. It runs where no other test remembers one."""
    own = {"MICROAGENT_CACHE_DIR": str(standin.place / "cache")}
    standin.do("prepare", standin.host.config(), env=own)  # check remembers nothing
    standin.set(version="1.13.1")
    standin.do("check", standin.host.config(), env=own)
    other = standin.place / "other"
    shutil.copy(standin.vmm, other)
    os.replace(other, standin.vmm)
    assert "is version 1.13.1" in standin.refused("check", standin.host.config(), env=own)
    standin.set(version="1.14.4")
    assert standin.do("host")["host"]["binaryVersion"] == "1.14.4 (stand-in)"
    standin.set(version="1.15.0")
    assert standin.do("host")["host"]["binaryVersion"] == "1.15.0 (stand-in)"


def test_no_firecracker_at_all(fc):
    assert "is not that of Firecracker: name the program of a Firecracker release" in fc.refused("check", fc.host.config(), env={"MICROAGENT_FIRECRACKER": "/bin/true"})


def test_the_real_one_without_kvm(fc):
    """No stand-in is one. This is reported, and nothing is said to work."""
    real = fc.place / "real"
    real.write_text("#!/bin/sh\necho 'Firecracker v1.15.1'\n")
    real.chmod(0o755)
    env = {"MICROAGENT_FIRECRACKER": str(real)}
    facts = fc.do("host", env=env)["host"]
    if facts["kvmAvailable"]:
        pytest.skip("KVM is usable here")
    reason = "Firecracker runs machines only under KVM: " + facts["acceleratorReason"][:150]
    machine, = [row for row in facts["machines"] if row["architecture"] == facts["architecture"]]
    # With another kernel than the default one a paravirtual KVM may be usable.
    assert (machine["available"], machine.get("reason", reason)) == (facts["kvmKernels"] == "pvm", reason)
    said = fc.host("doctor", "--backend", "firecracker", env=env).stdout
    assert "failed    accelerator      kvm, and without it no machine runs: " in said, said
    done = fc.host("--json", "run", "--backend", "firecracker", "--", "true", env=env)
    error = json.loads(done.stderr.splitlines()[-1])
    assert error["error"].startswith(reason) and error["errorReason"] == "no-kvm", error


def test_of_another_architecture(fc):
    with open("/bin/true", "rb") as program:
        head = bytearray(program.read(64))
    head[18:20] = (183).to_bytes(2, "little")  # EM_AARCH64
    other = fc.place / "arm64"
    other.write_bytes(head)
    other.chmod(0o755)
    assert "is a program for arm64" in fc.refused("check", fc.host.config(), env={"MICROAGENT_FIRECRACKER": str(other)})


def test_the_real_one_needs_kvm(fc):
    """A program that does not say that it is a stand-in is never run without KVM."""
    real = fc.place / "real"
    real.write_text("#!/bin/sh\necho 'Firecracker v1.15.1'\n")
    real.chmod(0o755)
    env = {"MICROAGENT_FIRECRACKER": str(real), "MICROAGENT_TEST_KVM": "/nonexistent"}
    assert "Firecracker runs machines only under KVM" in fc.refused("check", fc.host.config(), env=env)
    facts = fc.do("host", env=env)["host"]
    assert not facts["kvmAvailable"] and facts["binaryVersion"] == "1.15.1"


def test_kvm_is_not_a_stand_in_s(standin):
    assert "accelerator kvm" in standin.refused("check", standin.host.config(accelerator="kvm"))


@pytest.mark.parametrize("changes,field", [
    ({"accelerator": "tcg"}, "config.accelerator"), ({"hotplug": True}, "config.hotplug"),
    ({"confinement": "seccomp"}, "config.confinement"),
    ({"shares": [{"tag": "t", "path": "/tmp", "mountpoint": "/t", "mode": "ro"}]}, "config.shares"),
])
def test_refusals_name_field_and_limitation(fc, changes, field):
    fc.host.state.mkdir(mode=0o700)
    error = fc.refused("prepare", fc.host.config(**changes))
    assert error.startswith(f"{field}: Firecracker"), error
    assert not fc.workspace.exists()


def test_a_packed_kernel_that_was_not_unpacked(fc):
    kernel = fc.host.base / "bzImage"
    kernel.write_bytes(bytes(0x202) + b"HdrS" + bytes(1024))
    error = fc.refused("check", fc.host.config(kernelPath=str(kernel)))
    assert f"the unpacked kernel {kernel}.vmlinux does not exist" in error, error
    unpacked = fc.host.base / "bzImage.vmlinux"
    for what in (kernel.read_bytes(), b"no kernel\n" * 100):
        unpacked.write_bytes(what)
        error = fc.refused("check", fc.host.config(kernelPath=str(kernel)))
        assert f"{unpacked}: the file is not an unpacked kernel for" in error, error


def packed_kernel_alone(fc, debian):
    """Makes a cache whose only kernel is Debian's, as if no program had unpacked it. Returns its place."""
    cache = fc.host.base / "cache" / "kernels"
    cache.mkdir(mode=0o700, parents=True)
    cache.parent.chmod(0o700)
    for end in ("", ".initrd", ".json"):
        shutil.copy(debian["path"] + end, cache)
    return cache.parent, cache / debian["name"]


def test_host_and_doctor_tell_of_it(fc, debian_kernel):
    cache, kernel = packed_kernel_alone(fc, debian_kernel)
    env = {"MICROAGENT_CACHE_DIR": str(cache)}
    told = fc.do("host", env=env)["kernel"]
    assert told["status"] == "missing" and told["error"] == f"the unpacked kernel {kernel}.vmlinux does not exist, and this VMM boots no packed kernel"
    rows = {row["name"]: row for row in fc.host.json("doctor", "--backend", "firecracker", env=env, check=1)["checks"]}
    assert rows["kernel"]["status"] == "failed" and f"the file {kernel}.vmlinux, which firecracker boots, is not beside it" in rows["kernel"]["detail"]
    assert "microagent kernel refresh" in rows["kernel"]["remedy"]
    fc.host("kernel", "refresh", env=env, check=0)
    assert fc.do("host", env=env)["kernel"]["status"] == "installed"
