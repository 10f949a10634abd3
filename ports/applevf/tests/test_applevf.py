# SPDX-License-Identifier: MIT
"""Tests what only machines of Virtualization.framework have: a framework that is missing or refuses, the errors of its
queue at every moment, vsock, shares, the networks of a Mac, and quarantine step by step. They run on a stand-in that
was written from Apple's documentation and boots the guest in QEMU. Nobody has run them on a Mac."""

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from applevf import applevf
from conftest import APPLEVF, wait_until
from seed_client import Client
from supervised import shown
from test_mediation import free_port

NAT = {"network": {"mode": "nat"}}


@pytest.fixture
def vf(host):
    yield from applevf(host)


def connect(path, port=2222):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(str(path))
    client.sendall(b"CONNECT %d\n" % port)
    return client


# --- a whole life ---------------------------------------------------------------------------------


def test_a_life(vf):
    """A machine is prepared, runs, is halted, runs again and is stopped, in one process."""
    answer = vf.start()
    assert answer["event"]["state"] == "running"
    runtime = vf.runtime
    assert runtime["confinement"] == "platform" and runtime["pid"] == runtime["supervisorPid"] and "broker" not in runtime
    assert runtime["accelerator"] == "tcg" and "stand-in" in runtime["acceleratorReason"] and runtime["isolation"] == "emulated"
    assert vf.exec("id", "-u") == "0\n"
    assert vf.exec("sh", "-c", "ls -d /sys/class/net/*/device 2>/dev/null; cat /sys/class/misc/hw_random/rng_current") == "virtio_rng.0\n"
    vf.exec("sh", "-c", "echo kept >/root/file; sync")
    assert vf.do("halt")["event"]["detail"] == "the guest switched itself off when asked"
    vf.nothing_is_left()
    vf.do("start", vf.host.config())
    assert vf.exec("cat", "/root/file") == "kept\n"
    assert vf.do("stop")["event"]["state"] == "stopped"
    assert not [line for line in shown(vf.workspace / "supervisor.log").splitlines() if "autorelease" in line]


def test_no_cell_that_there_could_be(vf):
    """Confinement by macOS itself is not reported as missing. A config that asks for no confinement is refused."""
    host = vf.host
    host("create", "w", "--backend", "apple-vf", "--memory", 256, "--cpus", 1, "--network", "isolated", check=0)
    done = host("start", "w", check=0)
    assert "cell" not in done.stderr + host("list", check=0).stdout
    host("kill", "w", check=0)
    host("delete", "w", check=0)
    done = host("create", "u", "--backend", "apple-vf", "--network", "isolated", "--unconfined", check=1)
    assert "config.confinement: the machine runs in its supervisor's process" in done.stderr and "warning" not in done.stderr, done.stderr


def test_the_published_requests(host, vf):
    """The refusals are word for word those of the Apple VF supervisor's page, except for paths."""
    prepare = json.loads("""{ "command": "prepare", "identity": { "requestID": "req-1", "runtimeID": "agent-1", "role": "workload",
     "backend": "apple-vf" }, "config": { "kernelPath": "/tmp/kernel", "rootfsPath": "/tmp/rootfs.ext4", "stateDir": "/tmp/microagent",
     "memoryMiB": 512, "cpuCount": 2, "network": { "mode": "nat" }, "disks": [ { "name": "config", "path": "/tmp/config.ext4",
     "mountpoint": "/config", "mode": "ro" } ] }}""")
    mediation = json.loads("""{ "enabled": true, "required": true, "port": 2048, "target": "127.0.0.1:9900", "failClosed": true}""")
    config = {**host.config(), **prepare["config"], "mediation": mediation}
    config.update({key: host.config()[key] for key in ("kernelPath", "rootfsPath", "stateDir")})
    disk = host.base / "config.ext4"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", "config", disk, "8M"], check=True)
    config["disks"] = [{**config["disks"][0], "path": str(disk)}]
    call = Client(APPLEVF, "apple-vf", env=host.env)
    facts = call("host")["host"]
    assert facts["backend"] == "apple-vf" and facts["frameworkAvailable"] is True and facts["virtualizationSupported"] is True
    assert facts["supervisorPath"] == str(APPLEVF) and facts["supervisorAvailable"] is True
    assert (facts["consoleAvailable"], facts["consoleMode"]) == (True, "interactive")
    assert "Mac" in facts["untested"] and "(stand-in)" in facts["binaryVersion"]
    call("check", prepare["identity"], config)
    assert call("prepare", prepare["identity"], config)["event"]["state"] == "prepared"
    answer = call("start", prepare["identity"], config)
    assert answer["event"]["state"] == "running" and set(answer["readiness"]) >= {"guestReady", "mediationReady"}
    assert answer["mediation"] == mediation
    seen = host("exec", "--user", "root", "agent-1", "--", "sh", "-c", "grep -c '/dev/vdb /config ext4 ro' /proc/mounts; nproc", check=0)
    assert seen.stdout == "1\n2\n"
    for command, state in (("inspect", "running"), ("quarantine", "quarantined"), ("halt", "halted"), ("delete", None)):
        event = call(command, prepare["identity"], config)["event"]
        assert state in (None, event["state"]), event


def test_a_command_and_its_result(vf):
    config = vf.host.config(command=["sh", "-c", "echo from the workload; exit 5"])
    vf.do("prepare", config)
    answer = vf.do("run", config)
    assert (answer["event"]["state"], answer["result"]["exitCode"]) == ("failed", 5)
    assert answer["result"]["stdout"] == "from the workload\n"


def test_kill(vf):
    vf.start()
    assert vf.do("kill")["event"]["state"] == "stopped"
    assert {"state"} <= set(vf.calls())
    vf.nothing_is_left()


def test_it_ends_with_its_supervisor(vf):
    """The machine is in the supervisor's own process."""
    vf.start()
    os.kill(vf.runtime["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: vf.do("inspect")["event"]["state"] == "failed", "the end to be seen")
    vf.nothing_is_left()


def test_a_guest_that_switches_itself_off(vf):
    vf.start()
    vf.host("exec", "--user", "root", "w", "--", "poweroff")
    assert vf.wait_for("stopped")["detail"] == "the guest switched itself off"


def test_a_guest_that_resets_itself(vf):
    """The framework boots the machine anew, with an agent that has no config."""
    vf.start()
    vf.host("exec", "--user", "root", "w", "--", "reboot", "-f")
    assert "the guest panicked or rebooted" in vf.wait_for("failed")["detail"]
    vf.nothing_is_left()


def test_serial_console(vf):
    """hvc0: typed text reaches the guest, and its output is in serial.log."""
    vf.start(console="shell")
    with socket.socket(socket.AF_UNIX) as console:
        console.connect(str(vf.workspace / "console.sock"))
        console.sendall(b"echo se''rial $((6 * 7)) $(tty)\n")
        wait_until(lambda: "serial 42 /dev/hvc0" in shown(vf.workspace / "serial.log"), "the shell's answer")


def test_a_root_in_memory(vf):
    """A config without a disk has a RAM disk."""
    tree = vf.host.base / "tree"
    subprocess.run(["sh", "-c", f"mkdir -p {tree}/bin {tree}/sbin {tree}/usr/bin && cp /bin/busybox {tree}/bin/ && cd {tree} && "
                    "ln -s busybox bin/sh && ln -s ../bin/busybox sbin/init && ln -s ../../bin/busybox usr/bin/env && "
                    "ln -s busybox bin/cat && find . | cpio -o -H newc --quiet >../ram.cpio"], check=True)
    config = vf.host.config(initrdPath=str(vf.host.base / "ram.cpio"))
    del config["rootfsPath"]
    vf.do("prepare", config)
    vf.do("start", config)
    assert "console=hvc0" in vf.exec("cat", "/proc/cmdline") and "root=/dev/ram0 microagent.root=ram" in vf.exec("cat", "/proc/cmdline")
    assert os.listdir(vf.workspace / "vmm") == ["initrd"]
    vf.do("stop")
    vf.nothing_is_left()


def test_disks_are_found_by_their_order(vf):
    disks = []
    for name in ("one", "two"):
        path = vf.host.base / f"{name}.ext4"
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", name, path, "8M"], check=True)
        disks.append({"name": name, "path": str(path), "mountpoint": f"/{name}", "mode": "rw" if name == "two" else "ro"})
    vf.start(disks=disks)
    vf.exec("sh", "-c", "echo x >/two/file && ! touch /one/file")
    assert vf.exec("sh", "-c", "grep -o '/dev/vd[b-z] /[a-z]*' /proc/mounts").split("\n")[:2] == ["/dev/vdb /one", "/dev/vdc /two"]
    assert vf.exec("sh", "-c", "cat /sys/block/vda/serial") == "rootfs"
    vf.do("halt")


def test_balloon(vf):
    """The framework does not say how much memory the guest gave up, and the answer claims nothing."""
    vf.start(memoryMiB=512)
    answer = vf.balloon(384)
    assert answer == {"ok": True, "balloon": {"memoryMiB": 512, "actualMiB": None}}
    wait_until(lambda: int(vf.exec("sh", "-c", "grep MemTotal /proc/meminfo | tr -dc 0-9")) < 400 << 10, "the balloon in the guest")
    assert "how much it gave up is not known" in vf.host("balloon", "w", 500, check=0).stdout


def test_a_balloon_out_of_bounds(vf):
    vf.set(minimumMemory=128 << 20)
    vf.start(memoryMiB=512)
    assert "has made 128 MiB of the 100" in vf.balloon(100)["error"]


# --- vsock ----------------------------------------------------------------------------------------


def test_connect_lines(vf):
    """The socket has the form that all backends have. Bytes behind the line belong to the stream."""
    vf.start()
    with connect(vf.workspace / "vsock.sock") as client:
        assert client.makefile("rb").readline().startswith(b"OK ")
    for line in (b"CONNECT\n", b"CONNECT 4294967296\n", b"CONNECT 22 22\n", b"connect 2222\n", b"x" * 32):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(str(vf.workspace / "vsock.sock"))
            client.sendall(line)
            assert client.recv(10) == b"", line
    with connect(vf.workspace / "vsock.sock", 4000) as client:
        assert client.recv(10) == b""  # nobody listens there in the guest


def test_ports_that_nobody_declared(vf):
    """The framework has a listener for each declared port, and no other."""
    with socket.create_server(("127.0.0.1", 0)) as target:
        port = target.getsockname()[1]
        vf.start(vsockListeners=[{"port": 3000, "target": f"127.0.0.1:{port}"}])
        listened = [line.get("port") for line in vf.recorded() if line["call"] == "setSocketListener"]
        assert sorted(listened) == [1024, 3000]


def test_a_connection_that_fails(vf):
    vf.start()
    vf.fault("connect", port=2222)
    with connect(vf.workspace / "vsock.sock") as client:
        assert client.recv(10) == b""
    vf.set()
    assert vf.exec("echo", "again") == "again\n"


# --- networks -------------------------------------------------------------------------------------


def test_nat_has_no_address_in_any_answer(vf):
    """The framework has its own nat. The guest asks for its address by DHCP, and nobody is told which it gets."""
    answer = vf.start(**NAT)
    assert "ip=dhcp" in vf.exec("cat", "/proc/cmdline")
    assert "nameserver" in vf.exec("cat", "/etc/resolv.conf")
    assert vf.exec("sh", "-c", "ip -4 -o addr show dev eth0 | wc -l") == "1\n"
    for document in (answer, vf.do("inspect"), vf.runtime, vf.host.json("network", "w")):
        text = json.dumps(document)
        assert not [word for word in ('"ip"', '"gateway"', '"dns"', '"subnet"') if word in text], text
    assert vf.runtime["network"] == {"mode": "nat"}


def test_a_network_that_is_lost(vf):
    """The framework may disconnect a card at any time, and the machine goes on. The kernel here does not ask for an
    address itself, since that would take longer than a boot may."""
    kernel = next(k["path"] for k in vf.host.json("kernel", "list")["kernels"] if Path(k["path"]).name.startswith("debian-") and "arm64" not in k["path"])
    vf.fault("network", after_ms=1)
    vf.start(**NAT, kernelPath=kernel)
    wait_until(lambda: "the network card was disconnected: The fault at network." in shown(vf.workspace / "supervisor.log"), "its word")
    assert vf.exec("echo", "on") == "on\n"


BRIDGED = {"network": {"mode": "bridged", "interface": "en0"}}


def test_bridged_needs_apple_s_entitlement(vf):
    """Without the entitlement `check` and `start` fail, and nothing is left."""
    config = vf.host.config(**BRIDGED)
    for command in ("check", "prepare", "start"):
        code, answer, _ = vf.ask(command, config)
        assert code != 0 and answer["errorCode"] == "denied"
        assert "com.apple.vm.networking" in answer["error"] and "root does not replace it" in answer["error"]
    assert not (vf.workspace / "runtime.json").exists()


def test_bridged(vf):
    """With the entitlement it works, by identifier or by name."""
    entitled = {"entitlements": {"com.apple.vm.networking": True}}
    vf.set(**entitled, interfaces=[{"identifier": "en7", "displayName": "Wi-Fi"}])
    for interface in ("en7", "Wi-Fi"):
        vf.do("check", vf.host.config(network={"mode": "bridged", "interface": interface}))
    why = vf.refused("check", vf.host.config(**BRIDGED))
    assert '"en0" is not an interface that can be bridged here' in why and "en7 (Wi-Fi)" in why
    assert vf.do("host")["host"]["bridgedAvailable"] is True


# --- shares ---------------------------------------------------------------------------------------


def test_shares(vf):
    """Each directory has a device of its own, and is read-only if that is asked for."""
    places = []
    for name in ("read", "write"):
        place = vf.host.base / name
        place.mkdir()
        (place / "host").write_text(f"{name} of the host\n")
        places.append({"tag": name, "path": str(place), "mountpoint": f"/mnt/{name}", "mode": "ro" if name == "read" else "rw"})
    vf.start(shares=places)
    assert vf.exec("cat", "/mnt/read/host", "/mnt/write/host") == "read of the host\nwrite of the host\n"
    vf.exec("sh", "-c", "! touch /mnt/read/x 2>/dev/null && echo of the guest >/mnt/write/guest")
    assert (vf.host.base / "write" / "guest").read_text() == "of the guest\n"


def test_a_directory_for_a_machine_that_runs(vf):
    """A directory is shared later by the device that waits for it, and only one directory."""
    place = vf.host.base / "work"
    place.mkdir()
    (place / "host").write_text("of the host\n")
    vf.host.backend = vf.BACKEND
    vf.host("base", "create", "web", check=0)
    made = vf.host("session", "create", "--base", "web", "--network", "isolated", check=0)
    name = made.stdout.strip()
    copied = vf.host.json("session", "list")["sessions"][0]["clone"] == "copy"  # a file system without reflinks
    assert ("the session's disk is a full copy of the base's disk" in made.stderr) == copied
    assert vf.host("session", "exec", name, "--", "ls", "/workspace").stdout == ""
    vf.host("session", "share", name, place, check=0)
    assert vf.host("session", "exec", name, "--", "cat", "/workspace/host", check=0).stdout == "of the host\n"
    again = vf.host("session", "share", name, place)
    assert again.returncode == 1 and "the machine already has its shared directories" in again.stderr
    vf.host("session", "destroy", name, check=0)
    vf.host("base", "delete", "web-v1", check=0)


def test_a_tag_that_the_framework_refuses(vf):
    place = vf.host.base / "place"
    place.mkdir()
    shares = [{"tag": "t" * 36, "path": str(place), "mountpoint": "/mnt", "mode": "ro"}]
    assert "t" * 36 in vf.refused("check", vf.host.config(shares=shares))


def test_a_directory_whose_name_is_no_text(vf):
    """The framework takes names in UTF-8 only. It would take another name as the empty one, which is the present directory."""
    place = os.fsencode(vf.host.base) + b"/\xff"
    os.makedirs(place + b"/below")
    os.symlink(place, vf.host.base / "text")
    config = vf.host.config(shares=[{"tag": "t", "path": str(vf.host.base / "text/below"), "mountpoint": "/mnt", "mode": "rw"}])
    vf.do("prepare", config)
    why = vf.refused("start", config)
    assert "Virtualization.framework accepts only names in UTF-8, and the name of this file is not: rename the file" in why, why
    vf.nothing_is_left()


# --- quarantine -----------------------------------------------------------------------------------


def test_quarantine(vf):
    """Each step is named, and the guest goes on."""
    port = free_port()
    published = {"network": {**NAT["network"], "portForwards": [{"hostPort": port, "guestPort": 80}]}}
    vf.start(**published)
    held = connect(vf.workspace / "vsock.sock")
    assert held.makefile("rb").readline().startswith(b"OK ")
    vf.recorded()
    event = vf.do("quarantine")["event"]
    assert event["state"] == "quarantined"
    severed = vf.event["severed"]
    assert severed[:2] == ["console", "control"]
    assert {"network (1 detached)", "vsock listeners (1 removed)", "serial input",
            f"publish 127.0.0.1:{port} (0 connections)"} <= set(severed), severed
    assert any(name.startswith("vsock connections (") and not name.startswith("vsock connections (0") for name in severed), severed
    told = vf.calls()
    assert {"setAttachment", "removeSocketListener"} <= set(told), told
    held.settimeout(60)
    assert held.recv(1) == b""
    assert [name for name in os.listdir(vf.workspace) if name.endswith(".sock")] == ["control.sock"]
    assert vf.do("inspect")["event"]["state"] == "quarantined"
    assert "quarantined" in vf.refused("start", vf.host.config(**published))
    event = vf.do("stop")["event"]
    assert (event["state"], event["detail"]) == ("stopped", "the guest switched itself off when asked")
    vf.nothing_is_left()


def test_a_card_that_keeps_its_attachment(vf):
    """If a step cannot be proven, it is no quarantine, and the machine is ended."""
    vf.start(**NAT)
    vf.fault("setAttachment", keep=True)
    why = vf.refused("quarantine")
    assert "a network card that keeps its attachment" in why
    assert "quarantine" in vf.wait_for("failed")["detail"]
    vf.nothing_is_left()


# --- what is missing ------------------------------------------------------------------------------


@pytest.mark.parametrize("settings, kind, words", (
    ({"framework": False}, "unavailable", "Virtualization.framework is missing"),
    ({"supported": False}, "unavailable", "VZVirtualMachine.isSupported is false"),
    ({"entitlements": {"com.apple.security.virtualization": False}}, "denied", "com.apple.security.virtualization"),
), ids=("missing", "unsupported", "unsigned"))
def test_without_the_framework(vf, settings, kind, words):
    vf.set(**settings)
    config = vf.host.config()
    for command in ("check", "prepare", "start"):
        code, answer, _ = vf.ask(command, config)
        assert code != 0 and answer["errorCode"] == kind and words in answer["error"], answer
    facts = vf.do("host")["host"]
    assert words in facts["acceleratorReason"] and words in facts["natReason"]
    assert facts["machines"][0]["available"] is False and words in facts["machines"][0]["reason"]
    assert facts["frameworkAvailable"] is ("framework" not in settings)
    assert facts["virtualizationSupported"] is ("entitlements" in settings)
    assert not vf.workspace.exists()
    rows = {row["name"]: row for row in vf.host.json("doctor", "--backend", "apple-vf", check=1)["checks"]}
    assert rows["virtualization"]["status"] == "failed" and words in rows["virtualization"]["detail"]


# --- what the framework refuses -------------------------------------------------------------------


@pytest.mark.parametrize("change, words", (
    ({"memoryMiB": 600}, "config.memoryMiB must be from 128 to 512 MiB with Virtualization.framework on this Mac, and is 600"),
    ({"memoryMiB": 100}, "config.memoryMiB must be from 128 to 512 MiB with Virtualization.framework on this Mac, and is 100"),
    ({"cpuCount": 2}, "config.cpuCount must be from 1 to 1 with Virtualization.framework on this Mac, and is 2"),
), ids=("too-much", "too-little", "processors"))
def test_bounds_of_the_framework(vf, change, words):
    vf.set(minimumMemory=128 << 20, maximumMemory=512 << 20, maximumCPUs=1)
    assert vf.refused("check", vf.host.config(**change)) == words


def test_its_own_word_on_a_configuration(vf):
    """validateWithError: runs in `check` and before a start."""
    vf.do("prepare", vf.host.config())
    vf.fault("validate")
    for command in ("check", "start"):
        why = vf.refused(command, vf.host.config())
        assert "Virtualization.framework cannot make this machine: The fault at validate." in why and "(VZErrorDomain 2)" in why
    assert vf.event["state"] == "prepared"
    vf.nothing_is_left()


def test_a_start_that_fails(vf):
    vf.fault("start")
    config = vf.host.config()
    vf.do("prepare", config)
    why = vf.refused("start", config)
    assert "the machine could not be started: The fault at start. (VZErrorDomain 1)" in why
    assert vf.event["state"] == "failed" and "The fault at start." in vf.event["detail"]
    vf.nothing_is_left()
    vf.set()
    vf.do("start", config)
    assert vf.exec("echo", "now") == "now\n"


def stopped_with_the_fault(vf):
    assert "the machine has stopped: The fault at die. (VZErrorDomain 1)" in vf.wait_for("failed")["detail"]
    vf.nothing_is_left()


def test_a_machine_that_stops_with_an_error_at_once(vf):
    config = vf.host.config()
    vf.do("prepare", config)
    vf.fault("die", after_ms=1)
    assert "The fault at die." in vf.refused("start", config)
    stopped_with_the_fault(vf)


def test_a_machine_that_stops_with_an_error_at_a_connection(vf):
    vf.start()
    vf.fault("die", at="connect")
    with connect(vf.workspace / "vsock.sock") as client:
        client.recv(10)
    stopped_with_the_fault(vf)


def test_a_machine_that_stops_with_an_error_at_its_power_button(vf):
    """The power button is pressed if the agent cannot be asked, as in quarantine."""
    vf.start()
    vf.do("quarantine")
    vf.fault("die", at="requestStop")
    vf.ask("halt")
    assert vf.event["state"] != "quarantined" and "requestStop" in vf.calls()
    vf.nothing_is_left()


def test_a_power_button_that_cannot_be_pressed(vf):
    """If the machine cannot be asked, nobody waits for the guest."""
    vf.start()
    vf.do("quarantine")
    vf.fault("requestStop")
    vf.do("halt")
    assert "the guest cannot be asked to switch itself off: The fault at requestStop." in shown(vf.workspace / "supervisor.log")
    vf.nothing_is_left()


def test_a_machine_that_cannot_be_stopped(vf):
    """A machine that cannot be stopped ends with the process that it is in."""
    vf.start()
    vf.fault("stop")
    done = vf.ask("kill", env={"MICROAGENT_TEST_LIMIT_KILL_MS": "2000"})
    assert done[1]["event"]["state"] in ("stopped", "failed"), done
    assert "the machine could not be stopped: The fault at stop." in shown(vf.workspace / "supervisor.log")
    vf.set()
    vf.nothing_is_left()


# --- what no machine of it has --------------------------------------------------------------------


@pytest.mark.parametrize("change, field", (
    ({"cgroup": "inherit"}, "cgroup"), ({"cgroupLimits": "required"}, "cgroupLimits"), ({"accelerator": "kvm"}, "accelerator"), ({"accelerator": "tcg"}, "accelerator"),
    ({"confinement": "seccomp"}, "confinement"), ({"rootfsBase": "/nonexistent"}, "rootfsBase"),
    ({"network": {"mode": "nat", "allow": ["10.0.0.0/8"]}}, "network.allow"),
    ({"network": {"mode": "nat", "egress": {"names": ["pypi.org"]}}}, "network.egress"),
    ({"limits": {"diskBytesPerSecond": 1}}, "limits.diskBytesPerSecond"),
    ({"limits": {"diskOpsPerSecond": 1}}, "limits.diskOpsPerSecond"),
    ({"limits": {"netBytesPerSecond": 1}, **NAT}, "limits.netBytesPerSecond"),
), ids=lambda value: value if isinstance(value, str) else "")
def test_refusals(vf, change, field):
    code, answer, _ = vf.ask("check", vf.host.config(**change))
    assert code != 0 and answer["errorCode"] == "unsupported" and answer["error"].startswith(f"config.{field}: "), answer
    assert not Path(vf.workspace).exists()
