# SPDX-License-Identifier: MIT
"""Drives the supervisor by a client that knows only the protocol's published description, with that description's own
requests. Only the backend and the paths are changed."""

import json
import os
import signal
import subprocess
import sys

import pytest

from conftest import BIN, default_kernel, wait_until
from seed_client import COMMANDS, Client, Refused

PREPARE = """{ "command": "prepare", "identity": { "requestID": "req-1", "runtimeID": "agent-1",
 "role": "workload", "backend": "qemu" }, "config": { "kernelPath": "/tmp/Image",
 "rootfsPath": "/tmp/rootfs.ext4", "stateDir": "/tmp/microagent", "memoryMiB": 512, "cpuCount": 2,
 "network": { "mode": "nat", "portForwards": [ { "protocol": "tcp", "host": "127.0.0.1",
 "hostPort": 8080, "guestPort": 80 } ] }, "mediation": { "enabled": true, "required": true,
 "port": 2048, "target": "127.0.0.1:9900", "failClosed": true } }}"""
PREPARE_WITH_A_DISK = """{ "command": "prepare", "identity": { "requestID": "req-1",
 "runtimeID": "agent-1", "role": "workload", "backend": "qemu" }, "config": {
 "kernelPath": "/tmp/kernel", "rootfsPath": "/tmp/rootfs.ext4", "stateDir": "/tmp/microagent",
 "memoryMiB": 512, "cpuCount": 2, "network": { "mode": "nat" }, "disks": [ { "name": "config",
 "path": "/tmp/config.ext4", "mountpoint": "/config", "mode": "ro" } ] }}"""
IDENTITY = json.loads(PREPARE)["identity"]


def on_this_host(host, text):
    """Returns (identity, config) of a published request, with the paths of this test."""
    request = json.loads(text)
    config = request["config"]
    config.update(kernelPath=default_kernel(host)["path"], rootfsPath=str(host.disk()),
                  stateDir=str(host.state))
    for disk in config.get("disks", ()):
        disk["path"] = str(host.base / "config.ext4")
    return request["identity"], config


def client(host, wrap=(), **kw):
    host.state.mkdir(mode=0o700, exist_ok=True)
    return Client(BIN / "microagent-qemu-supervisor", "qemu", env=host.env, wrap=wrap, **kw)


def isolated(host, text=PREPARE):
    """Returns the part of a published request that needs neither network nor disk."""
    identity, config = on_this_host(host, text)
    return identity, {**{key: config[key] for key in ("kernelPath", "rootfsPath", "stateDir")},
                      "memoryMiB": 256, "cpuCount": 1, "network": {"mode": "isolated"}}


def refused(call, *args, **kw):
    with pytest.raises(Refused) as why:
        call(*args, **kw)
    return why.value.answer


def need(host, *wanted):
    support = host.json("contract")["backendSupport"]["qemu"]
    lacks = sorted(set(wanted) - set(support["networks"] + support["features"]))
    if lacks:
        pytest.skip(f"this backend does not have {', '.join(lacks)} yet")


def test_host(host):
    facts = client(host)("host")["host"]
    assert facts["backend"] == "qemu" and facts["architecture"] in ("amd64", "arm64")
    for key in ("kvmAvailable", "vsockAvailable", "consoleAvailable"):
        assert isinstance(facts[key], bool), key
    assert os.access(facts["binaryPath"], os.X_OK) and facts["consoleMode"]


def test_required_input(host):
    """A command without the input that its row asks for is refused; `host` needs none."""
    call = client(host)
    for command, needs in COMMANDS.items():
        child = subprocess.run([*call.argv], input=json.dumps({"command": command}).encode(),
                               capture_output=True, check=False, env=host.env)
        answer = json.loads(child.stdout)
        assert answer["ok"] == (not needs) == (child.returncode == 0), answer


def test_garbage(host):
    call = client(host)
    child = subprocess.run([*call.argv], input=b"hello", capture_output=True, check=False, env=host.env)
    assert child.returncode != 0 and child.stderr
    answer = json.loads(child.stdout)
    assert answer["ok"] is False and answer["backend"] == "qemu"


def test_verification(host):
    """The files themselves are compared with prepare's record."""
    call = client(host)
    identity, config = isolated(host)
    kernel = host.base / "kernel"
    kernel.write_bytes(open(config["kernelPath"], "rb").read())
    (host.base / "kernel.initrd").write_bytes(open(config["kernelPath"] + ".initrd", "rb").read())
    config["kernelPath"] = str(kernel)
    assert call("check", identity, config)["event"]["state"] == "unknown"
    answer = call("prepare", identity, config)
    assert answer["event"]["state"] == "prepared" and answer["verification"]["ok"] is True
    assert answer["verification"]["kernel"]["path"] == str(kernel)
    recorded = call("inspect", identity, config)["verification"]
    assert recorded["ok"] is True
    assert recorded["rootfs"]["sha256"] == recorded["rootfs"]["recordedSHA256"]
    with open(kernel, "ab") as file:
        file.write(b"!")
    with open(config["rootfsPath"], "r+b") as file:
        file.write(b"!")
    found = call("inspect", identity, config)["verification"]
    assert found["ok"] is False
    entries = {entry["artifact"]: entry for entry in found["divergence"]}
    assert set(entries) == {"kernel", "rootfs"}
    for artifact, entry in entries.items():
        assert entry["field"] == "sha256"
        assert entry["expected"] == recorded[artifact]["sha256"] != entry["actual"]
    assert call("delete", identity, config)["event"]["state"] == "stopped"


def boot_id(host):
    return host("exec", "agent-1", "--", "cat", "/proc/sys/kernel/random/boot_id", check=0).stdout


def test_life(host):
    call = client(host, numbered=True)
    identity, config = isolated(host)
    refused(call, "start", identity, config)  # nothing was prepared
    assert call("prepare", identity, config)["event"]["state"] == "prepared"

    answer = call("start", identity, config)
    assert answer["event"]["state"] == "running"
    assert answer["readiness"]["guestReady"]["ready"] and answer["readiness"]["shellReady"]["ready"]
    assert not answer["readiness"]["resultReady"]["ready"] and "result" not in answer
    assert "running" in refused(call, "start", identity, config)["error"]
    console = call("console", identity, config)["event"]
    assert console["state"] == "running" and console["detail"].endswith("/console.sock")
    refused(call, "delete", identity, config)
    assert call("inspect", identity, config)["event"]["state"] == "running"
    boot = boot_id(host)
    assert call("halt", identity, config)["event"]["state"] == "halted"

    # A write to the disk is no divergence when the workspace was started once.
    answer = call("inspect", identity, config)
    assert answer["event"]["state"] == "halted" and answer["verification"]["ok"] is True
    rootfs = answer["verification"]["rootfs"]
    assert (rootfs.get("sha256") or rootfs["lastSHA256"]) and rootfs["recordedSHA256"]
    assert not any(signal["ready"] for signal in answer.get("readiness", {}).values())

    refused(call, "console", identity, config)
    # start from halted is a boot from the same disk. run is a start in the foreground.
    running = call.begin("run", identity, config)
    wait_until(lambda: call("inspect", identity, config)["event"]["state"] == "running", "running")
    assert boot_id(host) != boot  # nothing of the memory was kept
    assert call("quarantine", identity, config)["event"]["state"] == "quarantined"
    # The foreground has lost its machine, and says so. The machine goes on.
    assert refused(call.finish, running)["event"]["state"] == "quarantined"
    refused(call, "start", identity, config)
    assert call("inspect", identity, config)["event"]["state"] == "quarantined"
    assert call("stop", identity, config)["event"]["state"] == "stopped"
    for command, state in (("halt", "stopped"), ("stop", "stopped"), ("kill", "stopped")):
        assert call(command, identity, config)["event"]["state"] == state

    history = json.loads((host.state / "agent-1" / "events.json").read_text())
    seen = [event["state"] for event in history]
    for state in ("prepared", "running", "halted", "quarantined", "stopped"):
        assert state in seen, seen
    assert call("delete", identity, config)["event"]["state"] == "stopped"
    assert call("inspect", identity, config)["event"]["state"] == "unknown"


def test_result_and_artifacts(host):
    """The guest reads a declared bundle, a declared output is fetched by its name, and the result has all its fields."""
    need(host, "bundles", "outputs")
    (host.base / "task").write_text("count to 3\n")
    subprocess.run(["tar", "-C", host.base, "-cf", host.base / "config.tar", "task"], check=True)
    bundle = {"name": "config", "path": "./config.tar", "mountpoint": "/config", "mode": "ro", "kind": "bundle"}
    output = {"name": "report", "path": "/workspace/report.json", "kind": "output"}
    declared = {"ingress": [bundle], "egress": [output]}
    identity, config = isolated(host)
    config.update(bundles=[bundle], outputs=[output],
                  command=["sh", "-c", "cat /config/task | tee /workspace/report.json; echo aside >&2; exit 3"])
    call = client(host, ["env", "-C", host.base])
    assert call("prepare", identity, config)["artifacts"] == declared
    answer = call("run", identity, config)
    result = answer["result"]
    assert (result["exitCode"], result["stdout"], result["stderr"]) == (3, "count to 3\n", "aside\n") and "error" not in result
    assert result["startedAt"] <= result["completedAt"] and json.loads(open(result["resultPath"]).read())["exitCode"] == 3
    seen = call("inspect", identity, config)
    assert seen["result"] == result and seen["artifacts"] == answer["artifacts"] == declared
    assert seen["readiness"]["resultReady"]["ready"]
    host("artifacts", "get", "agent-1", "report", host.base / "report.json", check=0)
    assert (host.base / "report.json").read_text() == "count to 3\n"
    call("delete", identity, config)


@pytest.fixture(name="network")
def own_network():
    """Makes a network namespace whose ports are all free, since the published requests name theirs."""
    if os.getuid() != 0:
        pytest.skip("only root makes a network namespace")
    holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link set lo up && echo && exec cat"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    try:
        yield ["nsenter", f"--net=/proc/{holder.pid}/ns/net", "--"]
    finally:
        holder.stdin.close()
        holder.wait()


GREETER = """import socket; s = socket.create_server(("127.0.0.1", 9900)); print(flush=True)
while True: s.accept()[0].close()"""
FETCH = """import socket, sys
s = socket.create_connection(("127.0.0.1", 8080), 20); s.settimeout(20)
while part := s.recv(4096): sys.stdout.write(part.decode())"""


def test_the_published_request(host, network):
    need(host, "nat", "network.portForwards", "mediation")
    call = client(host, network)
    identity, config = on_this_host(host, PREPARE)
    assert call("check", identity, config)["event"]["state"] == "unknown"
    assert call("prepare", identity, config)["event"]["state"] == "prepared"
    greeter = subprocess.Popen([*network, sys.executable, "-c", GREETER], stdout=subprocess.PIPE)
    greeter.stdout.readline()
    answer = call("start", identity, config)
    assert answer["event"]["state"] == "running"
    assert answer["readiness"]["mediationReady"]["ready"], answer["readiness"]
    assert "127.0.0.1:9900" in answer["readiness"]["mediationReady"]["detail"]

    server = host.popen("exec", "--user", "root", "agent-1", "--", "sh", "-c",
                        "while :; do echo from port 80 | nc -l -p 80; done")
    fetched = []
    wait_until(lambda: fetched.append(subprocess.run(
        [*network, sys.executable, "-c", FETCH], capture_output=True, text=True, check=False).stdout)
        or fetched[-1] == "from port 80\n", "the guest's port 80 at the host's 8080")

    greeter.send_signal(signal.SIGKILL)
    greeter.wait()

    def mediation():
        return call("inspect", identity, config)["readiness"]["mediationReady"]

    # An observed readiness is reported again for a moment, so that inspects do not flood a target.
    wait_until(lambda: not mediation()["ready"], "the loss of the target to be seen")
    assert mediation()["error"]
    assert call("kill", identity, config)["event"]["state"] == "stopped"
    server.communicate()
    call("delete", identity, config)


def test_what_is_not_there_as_encoders_write_it(host, network):
    """Go's encoding/json writes nil pointers and slices as null, and the zero value of a string as an empty one.
    serde's None and Python's None are null too."""
    need(host, "nat", "network.portForwards")
    call = client(host, network)
    identity, config = on_this_host(host, PREPARE)
    config = {key: config[key] for key in ("kernelPath", "rootfsPath", "stateDir", "memoryMiB", "cpuCount") if key in config}
    plain = call("prepare", identity, config)
    call("delete", identity, config)
    written = {**config, "disks": None, "vsockListeners": None, "mediation": None, "image": None, "initrdPath": "", "user": "",
               "network": {"interface": "", "portForwards": None}}
    answer = call("prepare", identity, written)
    assert answer["event"]["state"] == "prepared" and answer["verification"] == plain["verification"]
    assert json.loads((host.state / "agent-1" / "workspace.json").read_text())["config"].get("network") in (None, {"mode": "nat"})
    call("delete", identity, written)
    forwards = [{"host": "", "hostPort": 8080, "guestPort": 80, "protocol": ""}]
    call("prepare", identity, {**written, "network": {"mode": "nat", "portForwards": forwards}})
    call("delete", identity, written)
    request = subprocess.run([*network, call.argv[-1]], input=json.dumps({"command": "host", "identity": None, "config": None}),
                             capture_output=True, text=True, check=False)
    assert json.loads(request.stdout)["ok"], request


def test_the_published_request_with_a_disk(host, network):
    need(host, "nat", "disks")
    disk = host.base / "config.ext4"
    tree = host.base / "tree"
    tree.mkdir()
    (tree / "note").write_text("on the disk\n")
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", tree, disk, "4M"], check=True)
    call = client(host, network)
    identity, config = on_this_host(host, PREPARE_WITH_A_DISK)
    assert call("prepare", identity, config)["event"]["state"] == "prepared"
    assert call("start", identity, config)["event"]["state"] == "running"
    assert host("exec", "agent-1", "--", "cat", "/config/note", check=0).stdout == "on the disk\n"
    assert host("exec", "--user", "root", "agent-1", "--", "touch", "/config/x").returncode != 0
    assert call("kill", identity, config)["event"]["state"] == "stopped"
    call("delete", identity, config)
