# SPDX-License-Identifier: MIT
"""Runs microagent-hyperv-supervisor under Wine, with the stand-in for the Host Compute Service (hyperv_standin.py). It
has a Wine prefix of the tests, in which the stand-in's computecore.dll replaces the real one, functions for
requests, and a way to a guest's agent."""

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import hyperv_standin
import schema_check
from conftest import BUILD, HANG_S, copy_disk, default_kernel, image
from hyperv_standin import WINDOWS, WINE, Broker, windows_path

SHIPPED = BUILD / "windows" / "microagent-hyperv-supervisor.exe"  # has Winsock's own sockets
TESTED = WINDOWS / "microagent-hyperv-supervisor.exe"  # the same objects, and the stand-in's sockets
SERVER = "/usr/lib/wine/wineserver64"
PREPARED = ("check", "prepare", "start", "run")


def own_prefix(place):
    """Makes a prefix of links to the shared one, except the files that are written and the links of the drives, with
    the DLL in its system32."""
    shared = Path(hyperv_standin.prefix())
    subprocess.run(["cp", "-as", shared, place], check=True)
    for name in shared.glob("*.reg"):
        (place / name.name).unlink()
        shutil.copy(name, place / name.name)
    (place / "dosdevices" / "c:").unlink()
    (place / "dosdevices" / "c:").symlink_to("../drive_c")
    shutil.copy(WINDOWS / "computecore.dll", place / "drive_c" / "windows" / "system32")
    return place


class Wine:
    """A prefix with a Wine server of its own for the time of a `with`. No process of the tests has files open in it.
    env: the environment of programs in it. A Broker has such a prefix for itself."""

    def __init__(self, **env):
        self.env = {**hyperv_standin.wine_environment(**env), "MICROAGENT_TEST_LIMIT_BOOT_KVM_MS": str(HANG_S * 1000)}

    def __enter__(self):
        hyperv_standin.skip_where_wine_dies()
        clean = {name: self.env[name] for name in ("HOME", "PATH", "TMPDIR", "WINEPREFIX", "WINEDEBUG", "WINEDLLOVERRIDES")}
        for words in ([SERVER, "-p"], [WINE, "cmd.exe", "/c", "exit"]):
            subprocess.run(words, env=clean, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return self

    def __exit__(self, *_):
        for word in ("-k", "-w"):
            subprocess.run([SERVER, word], env=self.env, check=False, timeout=HANG_S)


class Supervisor:
    """Sends requests for one state directory. A keeper that is left behind has our stderr as its own, as far as Wine
    allows it. So stderr is a file."""

    def __init__(self, wine, state, program=TESTED, **config):
        self.wine, self.state, self.program, self.given = wine, Path(state), program, config

    def request(self, command, runtime_id="agent-1", /, **changes):
        if command == "host":
            return {"command": command}
        config = {"stateDir": windows_path(self.state), **(self.given if command in PREPARED else {}), **changes}
        return {"command": command, "config": {name: value for name, value in config.items() if value is not None},
                "identity": {"requestID": "req-1", "runtimeID": runtime_id, "role": "workload", "backend": "windows-hyperv"}}

    def begin(self, request, **env):
        self.state.parent.mkdir(parents=True, exist_ok=True)
        with open(self.state.parent / "stderr", "ab") as stderr:
            child = subprocess.Popen([WINE, self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                                     env={**self.wine.env, **env})
        child.stdin.write(json.dumps(request).encode())
        child.stdin.close()
        return child

    def end(self, child, request):
        with child:
            out = child.stdout.read()
            code = child.wait(HANG_S)
        answer = json.loads(out)
        assert answer["ok"] == (code == 0), (code, answer)
        schema_check.validate("response", answer, request["command"] if answer["ok"] else "failure")
        return code, answer

    def __call__(self, command, runtime_id="agent-1", /, env=None, **changes):
        request = self.request(command, runtime_id, **changes)
        return self.end(self.begin(request, **(env or {})), request)

    def ok(self, *words, **changes):
        code, answer = self(*words, **changes)
        assert code == 0, answer
        return answer

    def refused(self, *words, **changes):
        """Requires errorCode and error, and the exit code that the protocol has for them."""
        code, answer = self(*words, **changes)
        assert not answer["ok"], answer
        assert code == (75 if answer["errorCode"] in ("unavailable", "timeout") else 1), answer
        return answer["errorCode"], answer["error"]

    def file(self, name, runtime_id="agent-1"):
        return self.state / runtime_id / name

    def events(self, runtime_id="agent-1"):
        return [event["state"] for event in json.loads(self.file("events.json", runtime_id).read_text())]


def dial(broker, address):
    """Returns a connection to the guest's agent, by the HvSocket address in inspect."""
    stream = socket.create_connection(("127.0.0.1", int(broker.port)), timeout=HANG_S)
    stream.sendall(f"connect {address['vmId']} {address['agentServiceId']}\n".encode())
    said = b""
    while not said.endswith(b"\n"):
        byte = stream.recv(1)
        assert byte, said
        said += byte
    assert said == b"ok\n", said
    return stream


def run_in_guest(broker, address, *command):
    """Runs a command by the envelope form. Returns (exit code, stdout)."""
    with dial(broker, address) as stream:
        stream.sendall(json.dumps({"op": "exec", "payload": {"command": command, "user": "root"}}).encode() + b"\n")
        stream.shutdown(socket.SHUT_WR)
        with stream.makefile("rb") as lines:
            answer = json.loads(lines.readline())
    stdout = base64.b64decode(answer["stdout_base64"]).decode(errors="replace") if "stdout_base64" in answer else answer["stdout"]
    return answer["exit_code"], stdout


@contextlib.contextmanager
def fault(broker, **faults):
    """Lets calls of HCS fail meanwhile, by name: {"hresult": "0x...", ...}."""
    broker.settings(faults=faults)
    try:
        yield
    finally:
        broker.settings()


def is_empty(state):
    """Requires that the state directory has only the directory of locks, and that this one is empty."""
    return not state.exists() or (os.listdir(state) in ([], [".locks"]) and not any((state / ".locks").iterdir()))


# --- for fixtures --------------------------------------------------------------------------------------------------------


def bench_in(place):
    """The service, and a Wine that has its DLL."""
    with Broker(place / "broker", own_prefix(place / "prefix")) as broker:
        yield broker, Wine(**broker.env)


def config_of(host, root):
    """Returns a config. Its root is the busybox image, made as small as possible, since it is copied and hashed each time."""
    copy_disk(image(host, "busybox")["path"], root)
    root.chmod(0o600)
    subprocess.run(["resize2fs", "-f", root, "16M"], check=True, capture_output=True)
    return {"kernelPath": windows_path(default_kernel(host)["path"]), "rootfsPath": windows_path(root),
            "memoryMiB": 256, "cpuCount": 1}


def supervisor_on(bench, state, config):
    """Requires that no workspace is left, and that the service has no fault set."""
    broker, wine = bench
    yield Supervisor(wine, state, **config)
    for directory in state.glob("[!.]*"):
        Supervisor(wine, state, **config)("kill", directory.name)
    broker.settings()
