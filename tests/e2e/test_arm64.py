# SPDX-License-Identifier: MIT
"""Tests machines of arm64, which a host of another architecture emulates: what a workspace and a session can do on
them, and what is refused before one boots."""

import hashlib
import json
import os
import shutil
import struct
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import pytest

from conftest import BIN, ended, make_host, wait_until
from test_mediation import free_port
from test_publish import await_server
from test_supervisor import request
from test_telemetry import audited, records

FOREIGN = os.uname().machine != "aarch64"
foreign = pytest.mark.skipif(not FOREIGN, reason="this host is arm64 itself")


def installed(part, *words):
    """Makes an entry of the shared cache for arm64, if there is none."""
    done = subprocess.run([BIN / "microagent", "--json", *words, "--arch", "arm64"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    listed = json.loads(subprocess.run([BIN / "microagent", "--json", part, "list"], capture_output=True, text=True, check=True).stdout)
    entry = next(e for e in listed[part + "s"] if e["name"] == answer["name"])
    assert entry["architecture"] == answer["architecture"] == "arm64" and entry["name"].endswith("-arm64")
    return entry


@pytest.fixture(scope="session")
def arm64_kernel():
    return installed("kernel", "kernel", "install")


@pytest.fixture(scope="session")
def arm64_image():
    return installed("image", "image", "build", "busybox")


@pytest.fixture(scope="module")
def machine(arm64_kernel, arm64_image):
    """A running workspace `w` with a shared directory and a published port."""
    host = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    host.work, host.port = host.base / "work", free_port()
    host.work.mkdir()
    try:
        host("create", "w", "--arch", "aarch64", "--kernel", "debian", "--memory", 256, "--share", f"{host.work}:/work", "-p", f"{host.port}:8080", check=0)
        host("start", "w", check=0)
        yield host
        host("delete", "w", check=0)
        host.assert_clean()
    finally:
        host.sweep()
        shutil.rmtree(host.base, ignore_errors=True)


@pytest.fixture(scope="module")
def session(arm64_kernel, arm64_image):
    """A host with a base of arm64, and a session that inherits the architecture."""
    host = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    try:
        host("base", "create", "web", "--arch", "arm64", "--kernel", "debian", check=0)
        host.session = host.json("session", "create", "--base", "web", "--network", "isolated",
                                 env={"MICROAGENT_TEST_LIMIT_TELEMETRY_DIGEST_MS": "200"})["name"]
        yield host
        host("session", "destroy", host.session, check=0)
        host("base", "delete", "web-v1", check=0)
        host.assert_clean()
    finally:
        host.sweep()
        shutil.rmtree(host.base, ignore_errors=True)


def guest(host, *words, **kw):
    return host("exec", "w", "--", *words, check=0, **kw)


# --- a workspace -------------------------------------------------------------------------------------------------------


def test_a_command_runs_on_arm64(machine):
    assert guest(machine, "uname", "-m").stdout == "aarch64\n"
    assert guest(machine, "id", "-un").stdout == "agent\n"
    assert machine("exec", "w", "--", "sh", "-c", "exit 7").returncode == 7
    manifest = json.loads((machine.state / "w" / "workspace.json").read_text())
    assert manifest["config"].get("architecture") == ("arm64" if FOREIGN else None)
    runtime = json.loads((machine.state / "w" / "runtime.json").read_text())
    if FOREIGN:
        assert runtime["accelerator"] == "tcg" and runtime["acceleratorReason"] == "this host is amd64, and a machine of arm64 is emulated"
    assert json.loads(machine("--json", "status", "w", check=0).stdout)["verification"]["ok"]


def test_streams_are_whole(machine):
    data = os.urandom(3 << 20)
    done = machine.popen("exec", "-i", "w", "--", "cat", stdin=subprocess.PIPE)
    out, err = done.communicate(data)
    assert done.returncode == 0 and hashlib.sha256(out).digest() == hashlib.sha256(data).digest(), err[-500:]


def test_files_are_copied_both_ways(machine):
    there, back = machine.base / "there", machine.base / "back"
    there.mkdir()
    (there / "large").write_bytes(os.urandom(1 << 20))
    (there / "small").write_text("small")
    machine("cp", there, "w:/workspace/copied", check=0)
    machine("cp", "w:/workspace/copied", back, check=0)
    assert {p.name: p.read_bytes() for p in back.iterdir()} == {p.name: p.read_bytes() for p in there.iterdir()}
    shutil.rmtree(there), shutil.rmtree(back)


def test_a_directory_is_shared(machine):
    (machine.work / "from-host").write_text("host")
    assert guest(machine, "sh", "-c", "cat /work/from-host; echo guest >/work/from-guest").stdout == "host"
    assert (machine.work / "from-guest").read_text() == "guest\n"
    assert (machine.work / "from-guest").stat().st_uid == os.getuid()


def test_a_port_is_published(machine):
    (machine.work / "page").write_text("by http")
    guest(machine, "httpd", "-p", "127.0.0.1:8080", "-h", "/work")
    await_server(machine.port)
    with urllib.request.urlopen(f"http://127.0.0.1:{machine.port}/page", timeout=60) as answer:
        assert answer.read() == b"by http"


def test_memory_is_given_back(machine):
    answer = machine.json("balloon", "w", 160)["balloon"]
    assert answer["memoryMiB"] == 256 and answer["actualMiB"] < 256
    machine("balloon", "w", 256, check=0)


def test_it_is_cut_off_and_switched_off_by_its_power_key(machine):
    """Nothing reaches a quarantined guest except its power button. After that a machine of the host's own architecture
    reads the disk."""
    guest(machine, "sh", "-c", "echo kept >/workspace/kept")
    machine("quarantine", "w", check=0)
    assert machine("exec", "w", "--", "true").returncode == 125
    machine("halt", "w", check=0)
    event = ended(machine)
    assert event["state"] == "halted" and event["detail"] == "the guest switched itself off when asked", event
    kept = machine.base / "kept"
    machine("cp", "w:/workspace/kept", kept, check=0)
    assert kept.read_text() == "kept\n"
    kept.unlink()


@pytest.mark.soak
@foreign
def test_the_tuned_kernel(host, arm64_image):
    """Built on request only, in a quarter of an hour: the kernel boots, reports what runs, and hears the power key when
    it is all that is left."""
    kernel = installed("kernel", "kernel", "build")
    host("create", "w", "--arch", "arm64", "--kernel", kernel["name"], "--memory", 256, check=0)
    host("start", "w", check=0)
    assert guest(host, "uname", "-rm").stdout.split() == [kernel["name"].split("-")[1] + "-microagent", "aarch64"]
    host("quarantine", "w", check=0)
    host("halt", "w", check=0)
    assert ended(host)["detail"] == "the guest switched itself off when asked"
    host("delete", "w", check=0)


# --- a session ---------------------------------------------------------------------------------------------------------


def run(host, *words):
    return host("session", "exec", host.session, "--", *words, check=0)


def test_lists_tell_the_architecture(machine, session):
    entry, = machine.json("list")["workspaces"]
    assert (entry["backend"], entry["architecture"]) == ("qemu", "arm64")
    heads, row = (line.split() for line in machine("list", check=0).stdout.splitlines())
    assert dict(zip(heads[:5], row))["ARCH"] == "arm64" and dict(zip(heads[:5], row))["BACKEND"] == "qemu"
    assert ["architecture", "arm64"] in [line.split() for line in machine("status", "w", check=0).stdout.splitlines()]
    base = session("base", "list", check=0).stdout.splitlines()
    assert base[0].split()[2] == "ARCH" and base[1].split()[2] == "arm64"
    entry, = session.json("session", "list")["sessions"]
    assert (entry["backend"], entry["architecture"]) == ("qemu", "arm64")


def test_a_session_is_of_its_base_s_architecture(session):
    assert run(session, "uname", "-m").stdout == "aarch64\n"
    base = session.json("base", "show", "web")
    assert base["architecture"] == "arm64" and base["kernel"]["path"].endswith("-arm64")


def test_a_directory_is_given_to_a_session_that_runs(session):
    work = session.base / "given"
    work.mkdir()
    (work / "from-host").write_text("host")
    session("session", "share", session.session, work, check=0)
    assert run(session, "cat", "/workspace/from-host").stdout == "host"
    shutil.rmtree(work)


def connects(host):
    return [(r["address"], r["port"]) for r in records(host, host.session, "connect")]


def test_what_runs_is_told(session):
    """Each connection of each program is reported, the later ones as the first."""
    wait_until(lambda: audited(session, session.session, "telemetry.status"), "what is traced")
    assert audited(session, session.session, "telemetry.status") == [
        {"origin": "guest", "exec": True, "files": True, "writes": True, "network": True}]
    for port in (81, 82, 83):
        run(session, "sh", "-c", f"wget -q -O /dev/null http://127.0.0.1:{port}/; echo text >/tmp/file-{port}")
    wait_until(lambda: len(connects(session)) == 3, "three connections")
    assert connects(session) == [("127.0.0.1", port) for port in (81, 82, 83)]
    written = {f"/tmp/file-{port}" for port in (81, 82, 83)}
    wait_until(lambda: written <= {r["path"] for r in records(session, session.session, "open")}, "three files")


def program_32(path):
    """A program for AArch32, whose calls have numbers of their own. It connects to 127.0.0.1, makes /tmp/32, and
    executes /bin/true."""
    at = 0x10000
    sockaddr = struct.pack("<HHI", 2, 0x5500, 0x0100007f) + bytes(8)  # port 85
    words = [b"/tmp/32\0", b"/bin/true\0\0\0", sockaddr]
    code = [
        0xe3a00002, 0xe3a01001, 0xe3a02000, 0xe3a07f46, 0xe2877001, 0xef000000,  # socket(2, 1, 0): 281
        0xe59f1040, 0xe3a02010, 0xe3a07f46, 0xe2877003, 0xef000000,              # connect(r0, sockaddr, 16): 283
        0xe59f0028, 0xe3a01041, 0xe3a02f69, 0xe3a07005, 0xef000000,              # open("/tmp/32", O_WRONLY|O_CREAT, 0644): 5
        0xe59f0018, 0xe3a01000, 0xe3a02000, 0xe3a0700b, 0xef000000,              # execve("/bin/true", 0, 0): 11
        0xe3a07001, 0xef000000,                                                  # exit: 1
    ]
    names, offset = [], 84 + 4 * (len(code) + 3)
    for word in words:
        names.append(at + offset)
        offset += len(word)
    pool = {0xe59f1040: names[2], 0xe59f0028: names[0], 0xe59f0018: names[1]}
    order = [names[0], names[1], names[2]]
    for i, instruction in enumerate(code):
        if instruction in pool:  # ldr rN, [pc, #...]: pc is two instructions on
            code[i] = instruction & ~0xfff | 4 * (len(code) + order.index(pool[instruction]) - i - 2)
    text = b"".join(struct.pack("<I", w) for w in code + order) + b"".join(words)
    size = 84 + len(text)
    head = b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, at + 84, 52, 0, 0x5000200, 52, 32, 1, 0, 0, 0)
    head += struct.pack("<IIIIIIII", 1, 0, at, at, size, size, 5, 0x1000)
    path.write_bytes(head + text)
    path.chmod(0o755)


def test_what_a_32_bit_program_does_is_told(session):
    program = session.base / "program"
    program_32(program)
    session("--state-dir", session.state / "sessions", "cp", program, f"{session.session}.bundle:/tmp/program", check=0)
    program.unlink()
    done = session("session", "exec", session.session, "--", "/tmp/program")
    assert done.returncode == 127 and "applet not found" in done.stderr, done  # busybox, without a word of what it is to be
    wait_until(lambda: any(r["exe"] == "/bin/busybox" and r["path"] == "/tmp/last" for r in records(session, session.session, "open"))
               or not run(session, "sh", "-c", "echo >/tmp/last"), "what came after it")
    assert ("127.0.0.1", 85) in connects(session)
    assert "/tmp/32" in [r["path"] for r in records(session, session.session, "open")]


# --- what is refused ---------------------------------------------------------------------------------------------------


def refused(host, words, code, *texts):
    answer = host.json("create", "v", *words, check=75 if code == "unavailable" else 1)
    assert answer["errorCode"] == code and all(text in answer["error"] for text in texts), answer
    assert not (host.state / "v").exists() and not host.processes()


@foreign
def test_what_is_for_another_architecture_is_named(host, arm64_kernel, arm64_image):
    refused(host, ["--kernel", arm64_kernel["name"]], "unsupported", f"kernel {arm64_kernel['name']} is for arm64, and the machine is amd64")
    refused(host, ["--kernel", arm64_kernel["path"]], "unsupported", "is for arm64, and the machine is amd64")
    refused(host, ["--image", arm64_image["name"]], "unsupported", f"image {arm64_image['name']} is for arm64, and the machine is amd64")
    assert "--arch arm64 makes a machine for it" in host("create", "v", "--image", arm64_image["name"]).stderr
    for words, hint in ((["--kernel", "mine"], "`microagent kernel list` shows"), (["--image", "mine"], "`microagent image list` shows")):
        said = host("create", "v", "--arch", "arm64", *words).stderr
        assert f"there is no {words[0][2:]} mine for arm64" in said and hint in said, said
    copy = host.base / "kernel"
    shutil.copy(host.json("kernel", "list")["kernels"][0]["path"], copy)
    refused(host, ["--arch", "arm64", "--kernel", copy], "unsupported", "kernel kernel is for amd64, and the machine is arm64")
    answer = host.json("base", "create", "b", "--arch", "arm64", "--kernel", copy, check=1)
    assert answer["errorCode"] == "unsupported" and "is for amd64, and the machine is arm64" in answer["error"]
    assert not list(host.state.glob("bases/*"))
    copy.unlink()


@foreign
def test_an_image_that_only_its_guest_can_judge(host, arm64_image):
    """A kernel that is given by a path has no record, and the host reads no file system. So the guest checks the disk
    before anything of it runs."""
    copy = host.base / "copy.ext4"
    subprocess.run(["cp", "--sparse=always", arm64_image["path"], copy], check=True)
    host("create", "w", "--image", copy, "--memory", 256, check=0)
    answer = host.json("start", "w", check=1)
    assert "/bin/sh in the guest's root file system is a program for arm64, and the machine is amd64" in answer["error"], answer
    assert host.json("status", "w")["event"]["state"] == "failed" and not host.processes()
    host("delete", "w", check=0)
    copy.unlink()


@foreign
def test_the_supervisor_names_them_too(host, arm64_kernel):
    for kernel, architecture, words in ((arm64_kernel["path"], "amd64", "a kernel for arm64, but the machine is amd64"),
                                        (host.config()["kernelPath"], "arm64", "a kernel for amd64, but the machine is arm64")):
        for command in ("check", "prepare", "run"):
            code, answer, _ = host.supervisor(request(command, host.config(kernelPath=kernel, architecture=architecture)))
            assert code == 1 and answer["errorCode"] == "unsupported", answer
            assert answer["error"].startswith("config.kernelPath: ") and words in answer["error"], answer
    assert not (host.state / "agent-1").exists() and not host.processes()
    code, answer, _ = host.supervisor(request("check", host.config(architecture="mips")))
    assert answer["errorCode"] == "invalid" and "config.architecture" in answer["error"], answer


@foreign
def test_kvm_runs_no_foreign_machine(host, arm64_kernel, arm64_image):
    refused(host, ["--arch", "arm64", "--accelerator", "kvm"], "unsupported", "this host is amd64, and KVM on it cannot run a machine of arm64")


@foreign
def test_a_missing_qemu_is_named_with_its_package(host, arm64_kernel, arm64_image):
    place = host.base / "path"
    place.mkdir()
    for program in ("bwrap", "true", "qemu-system-x86_64"):
        (place / program).symlink_to(shutil.which(program))
    host.env["PATH"] = str(place)
    refused(host, ["--arch", "arm64"], "unavailable", "qemu-system-aarch64 is not installed: apt-get install qemu-system-arm")
    host.env["MICROAGENT_QEMU_ARM64"] = "/nonexistent"
    refused(host, ["--arch", "arm64"], "unavailable", "MICROAGENT_QEMU_ARM64 names /nonexistent, which is not a program", "qemu-system-arm")


def test_a_word_that_is_no_architecture(host):
    done = host("run", "--arch", "mips", "--", "true")
    assert done.returncode == 2 and "--arch must be amd64 (or x86_64) or arm64 (or aarch64)" in done.stderr
    for words in (("kernel", "install"), ("kernel", "build"), ("image", "build", "busybox"), ("image", "import", "x", "y"),
                  ("image", "remove", "x"), ("base", "create", "b")):
        done = host(*words, "--arch", "mips")
        assert done.returncode == 2 and "--arch must be" in done.stderr, done


def test_a_host_of_neither_architecture_is_named(host):
    """A program that was told that this host has 32 bits. The tests look things up by the architecture."""
    told = subprocess.run(["setarch", "linux32", "uname", "-m"], capture_output=True, text=True, check=False).stdout.strip()
    if told not in ("i686", "armv7l", "armv8l"):
        pytest.skip(f"this host has no personality of 32 bits: {told}")
    words = f"this host's architecture is {told}, but microagent runs only on amd64 (x86_64) and arm64 (aarch64)"
    for command in (("kernel", "build"), ("kernel", "install", "--upgrade"), ("image", "build", "busybox"), ("create", "w")):
        done = subprocess.run(["setarch", "linux32", BIN / "microagent", "--json", *command], env=host.env, capture_output=True, text=True, check=False)
        answer = json.loads(done.stdout)
        assert (done.returncode, answer["errorCode"]) == (1, "unsupported") and words in answer["error"], done
    doctor = subprocess.run(["setarch", "linux32", BIN / "microagent", "doctor"], env=host.env, capture_output=True, text=True, check=False)
    assert doctor.returncode == 1 and words in doctor.stdout, doctor
    assert not (host.state / "w").exists() and not host.processes()


@foreign
def test_debian_is_not_built_for_another_architecture(host):
    answer = host.json("image", "build", "debian", "--arch", "arm64", check=1)
    assert answer["errorCode"] == "unsupported" and "runs programs for arm64, which this host cannot run" in answer["error"]
