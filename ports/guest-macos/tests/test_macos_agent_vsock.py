# SPDX-License-Identifier: MIT
"""Tests the agent of macOS guests over vsock. Its Linux build runs in a guest of Linux, since no Mac is at hand. It has
the same source except the one file with the system's own calls. The script that installs the agent is tested too."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import BIN, HANG_S, ROOT, pid_lines
from test_foreign_guest import AGENT, Frames, Guest

INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
exec >/dev/console 2>&1
export PATH=/bin
chown 1000:1000 /home/agent
microagent-macos-agent &
while :; do wait; sleep 1000; done
"""


def make_initrd(place):
    """busybox, the agent, and the user of its commands."""
    tree = place / "tree"
    for name in ("bin", "dev", "proc", "sys", "etc", "tmp", "home/agent"):
        (tree / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", tree / "bin")
    shutil.copy(BIN.parent / "standin" / "microagent-macos-agent", tree / "bin")
    for name in subprocess.run(["/bin/busybox", "--list"], check=True, capture_output=True, text=True).stdout.split():
        if name != "busybox":
            (tree / "bin" / name).symlink_to("busybox")
    (tree / "bin/poweroff").unlink()
    (tree / "bin/poweroff").write_text("#!/bin/sh\nexec busybox poweroff -f\n")
    (tree / "bin/poweroff").chmod(0o755)
    (tree / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n")
    (tree / "etc/group").write_text("root:x:0:\nagent:x:1000:\n")
    (tree / "secret").write_text("root's")
    (tree / "secret").chmod(0o600)
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    with open(place / "initrd", "wb") as out:
        subprocess.run("find . | cpio -o -H newc -R 0:0 --quiet", shell=True, cwd=tree, check=True, stdout=out)
    return place / "initrd"


@pytest.fixture(scope="module")
def mac(tuned_kernel):
    base = Path(tempfile.mkdtemp(prefix="e-"))
    it = Guest(base, {**tuned_kernel, "initrd": make_initrd(base)}, [], "")
    it.accept_control()
    yield it
    it.power_off()
    it.close()
    assert not pid_lines(str(base))
    shutil.rmtree(base)


@pytest.fixture
def agent(mac):
    with socket.socket(socket.AF_UNIX) as dial:
        dial.settimeout(HANG_S)
        dial.connect(str(mac.vsock))
        dial.sendall(b"CONNECT %d\n" % AGENT)
        it = Frames(dial)
        while it.exactly(1) != b"\n":
            pass
        yield it


def ask(agent, op, **payload):
    agent.stream.sendall(json.dumps({"op": op, "payload": payload}).encode() + b"\n")
    line = b""
    while not line.endswith(b"\n"):
        line += agent.exactly(1)
    return json.loads(line)


def test_a_command_is_the_user_agent_s(agent):
    assert ask(agent, "exec", command=["sh", "-c", "id -un; pwd; echo $HOME"]) == {
        "exit_code": 0, "stdout": "agent\n/home/agent\n/home/agent\n", "stderr": ""}
    assert ask(agent, "exec", command=["id", "-u"], user="root")["stdout"] == "0\n"
    assert ask(agent, "exec", command=["sh", "-c", "ls /proc/self/fd | wc -l"])["stdout"] == "4\n"  # its own three, and that of ls


def test_files_are_read_with_his_rights(agent):
    assert "Permission denied" in ask(agent, "copyout", guest_path="/secret")["error"]
    assert base64.b64decode(ask(agent, "copyout", guest_path="/secret", user="root")["data"]) == b"root's"


def test_the_seed_s_form(agent):
    agent.write({"id": "uuid-string", "cmd": ["sh", "-c", "cat; exit 3"], "env": {"PATH": "/bin"}, "cwd": "/", "timeoutSeconds": 300,
                 "stdin": base64.b64encode(b"in").decode()})
    answer = agent.read()
    elapsed = answer.pop("elapsedMs")
    assert elapsed >= 0 and answer == {"id": "uuid-string", "stdout": "aW4=", "stderr": "", "exitCode": 3, "killed": False}
    assert agent.stream.recv(1) == b""


def test_a_stream(agent):
    agent.write({"id": "a", "request": 1, "stream": True, "cmd": ["cat"], "stdin": True, "stdinWindow": True})
    start = agent.read()
    assert (start["event"], start["stdinOffset"]) == ("start", 0)
    agent.stream.sendall(struct.pack("!IBQ", 14, 1, 1) + b"hello")
    assert agent.exactly(18) == struct.pack("!IBQ", 14, 2, 1) + b"hello"
    agent.write({"event": "stdin-close", "request": 1})
    assert agent.read()["exitCode"] == 0


def test_a_client_that_goes_away(mac, agent):
    """All of the command's process group ends with it over vsock too."""
    agent.write({"id": "a", "request": 1, "stream": True, "cmd": ["sh", "-c", "sleep 4321 & exec sleep 4321"]})
    assert agent.read()["event"] == "start"
    agent.stream.close()
    mac.sh("while ps | grep -q 'sleep [4]321'; do usleep 50000; done")


def test_the_command_of_a_buffered_client_that_goes_away(mac, agent):
    agent.write({"id": "a", "cmd": ["sleep", "4322"]})
    mac.sh("until ps | grep -q 'sleep [4]322'; do usleep 50000; done")
    agent.stream.close()
    mac.sh("while ps | grep -q 'sleep [4]322'; do usleep 50000; done")


# --- the script that installs it ---------------------------------------------------------------------------------------

SCRIPT = ROOT / "images" / "macos" / "microagent-install-macos-agent"


@pytest.fixture
def guest_of_paths(tmp_path):
    """Stand-ins for macOS's programs, and its directories below the test's."""
    parts, programs = tmp_path / "parts", tmp_path / "bin"
    parts.mkdir()
    programs.mkdir()
    (parts / "microagent-macos-agent").write_text("#!/bin/sh\necho microagent-macos-agent 1\n")
    (parts / "microagent-macos-agent").chmod(0o755)
    (parts / "microagent-start").write_text("start\n")
    (parts / "microagent.agent.plist").write_text("plist\n")
    for name, text in {"uname": "echo Darwin", "id": "echo ${USER_ID:-0}", "launchctl": f'echo "$*" >> {tmp_path}/calls\n[ "$1" = bootstrap ]',
                       "install": 'exec /usr/bin/install $(echo "$*" | sed "s/-o root -g wheel//")'}.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    text = SCRIPT.read_text()
    for real in ("/usr/local/libexec", "/Library/LaunchDaemons"):
        assert real in text
        text = text.replace(real, f"{tmp_path}{real}")
    (tmp_path / "script").write_text(text)
    return tmp_path


def install(place, *words, check, **env):
    done = subprocess.run(["/bin/sh", place / "script", *words], capture_output=True, text=True, check=False,
                          env={"PATH": f"{place}/bin:/usr/bin:/bin", **env})
    assert done.returncode == check, done.stderr
    return done


def test_it_is_installed_and_started(guest_of_paths):
    place = guest_of_paths
    for _ in range(2):  # a second installation replaces the first
        install(place, place / "parts", check=0)
    assert (place / "calls").read_text().splitlines() == 2 * [
        "bootout system/microagent.agent", f"bootstrap system {place}/Library/LaunchDaemons/microagent.agent.plist"]
    for path, mode in (("usr/local/libexec/microagent-macos-agent", 0o755), ("usr/local/libexec/microagent-start", 0o755),
                       ("Library/LaunchDaemons/microagent.agent.plist", 0o644)):
        assert os.stat(place / path).st_mode & 0o7777 == mode


def test_what_is_not_installed(guest_of_paths):
    place = guest_of_paths
    assert "usage: " in install(place, "a", "b", check=1).stderr
    assert "only root may install it" in install(place, place / "parts", check=1, USER_ID="501").stderr
    (place / "parts/microagent-macos-agent").write_text("#!/bin/sh\nexit 1\n")
    assert "does not run here" in install(place, place / "parts", check=1).stderr
    (place / "parts/microagent-start").unlink()
    assert "microagent-start is missing" in install(place, place / "parts", check=1).stderr
    (place / "bin/uname").write_text("#!/bin/sh\necho Linux\n")
    assert "this is no macOS" in install(place, place / "parts", check=1).stderr
    assert not (place / "calls").exists() and not (place / "usr").exists()
