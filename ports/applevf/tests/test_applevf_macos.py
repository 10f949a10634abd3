# SPDX-License-Identifier: MIT
"""Tests bases and sessions of macOS, made from restore images, on the stand-in for Apple's framework (macos.py)."""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import termios
from pathlib import Path

import pytest

import schema_check
import strays
from conftest import APPLEVF, BUILD, HANG_S, make_host, pid_lines, wait_until
from macos import BASE, IPSW, NOT_PUT, Apple, Mac, agents_own_guest

BUNDLE = ["auxiliary.bin", "disk.img", "hardwareModel.bin", "machineIdentifier.bin", "metadata.json", "provision.log", "restore.ipsw"]


@pytest.fixture
def backend():
    return "apple-vf"


@pytest.fixture
def mac(host):
    return Mac(host)


@pytest.fixture
def apple(mac):
    it = Apple(mac)
    yield it
    it.end()


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def delete_base(mac):
    mac.host("base", "delete", "mac-v1", check=0)


# --- bases ----------------------------------------------------------------------------------------


def test_a_base_is_what_was_installed(mac, apple):
    script = mac.host.base / "script"
    script.write_text("#!/bin/sh\necho '### a step'; id -u; touch /provisioned\n")
    done = mac.base("--memory", 300, "--provision", script, ipsw=apple.url(), check=0)
    assert done.stdout.startswith("mac-v1: sealed")
    said = [line for line in done.stderr.splitlines() if line.startswith(("==> ", "### "))]
    assert said == ["==> fetching UniversalMac_14.5_Restore.ipsw from Apple", "==> looking at the restore image", "==> installing macOS 14.5 (23F79)", "==> putting the agent on its disk",
                    "==> booting it for the first time", "==> running script", "### a step", "==> switching the machine off"]
    assert "\n0\n" in done.stderr  # as root
    assert "\ninstalled\n" in done.stderr  # the script gets the disk that was installed
    bundle = mac.host.state / "bases" / "mac-v1.bundle"
    assert sorted(p.name for p in bundle.iterdir()) == BUNDLE
    assert (bundle / "restore.ipsw").read_bytes() == IPSW
    base = mac.host.json("base", "show", "mac")
    schema_check.validate("base", json.loads((bundle / "metadata.json").read_text()))
    assert base["source"] == {"kind": "ipsw", "ref": apple.url()} and apple.left() == []
    assert base["macos"] == {"version": "14.5", "build": "23F79", "memoryMiB": 256, "cpuCount": 1}
    assert base["memoryMiB"] == 300 and base["cpuCount"] == 1
    assert base["provisioning"]["script"] == {"name": "script", "sha256": sha256(script)}
    for key, file in (("disk", "disk.img"), ("auxiliaryStorage", "auxiliary.bin"), ("hardwareModel", "hardwareModel.bin"),
                      ("machineIdentifier", "machineIdentifier.bin"), ("restoreImage", "restore.ipsw")):
        assert base[key]["file"] == file and base[key]["sha256"] == sha256(bundle / file)
        assert (bundle / file).stat().st_mode & 0o777 == 0o444
    checks = mac.host.json("base", "verify", "mac")
    assert checks["ok"] and [c["what"] for c in checks["checks"]] == ["disk", "auxiliaryStorage", "hardwareModel", "machineIdentifier", "restoreImage"]
    # The restore image that a base keeps can make the next base.
    assert "ended with exit code 1" in mac.base(ipsw=bundle / "restore.ipsw", put=NOT_PUT).stderr
    delete_base(mac)
    apple.tidy()


def test_another_base_was_made_of_the_same_image_meanwhile(mac, apple):
    """A base takes the fetched image away when it is done with it."""
    script = mac.host.base / "put-and-take"
    script.write_text(f'#!/bin/sh\nrm {apple.kept}\nexec {mac.put} "$1"\n')
    script.chmod(0o755)
    assert mac.base("--memory", 300, ipsw=apple.url(), put=script, check=0).stdout.startswith("mac-v1: sealed")
    delete_base(mac)
    apple.tidy()


@pytest.mark.parametrize("settings,words", [
    ({"restoreImage": {"supported": False}}, "this Mac, or its macOS, cannot run the system in the restore image (macOS 14.5): choose another restore image"),
    ({"restoreImage": {"version": "12.7"}}, "macOS 12.7 is too old, because each session is another machine, and a macOS before 13 boots only on the machine"),
    ({"macModelSupported": False}, "cannot run the system in the restore image"),
    ({"macMinimumMemory": 512 << 20}, "macOS 14.5 needs at least 512 MiB and 1 processors"),
    ({"faults": {"loadRestoreImage": {}}}, "the restore image is damaged, or is none: A fault of the stand-in. (VZErrorDomain 10004)"),
    ({"faults": {"validate": {}}}, "Virtualization.framework cannot make this machine: A fault of the stand-in. (VZErrorDomain 2)"),
    ({"faults": {"install": {}}}, "macOS could not be installed: A fault of the stand-in. (VZErrorDomain 10007)"),
    ({"faults": {"install": {"code": 10006}}}, "macOS could not be installed: this macOS is too old to install that one; A fault"),
    ({"entitlements": {"com.apple.security.virtualization": False}}, "com.apple.security.virtualization: sign it by codesign"),
    ({"supported": False}, "Virtualization.framework runs no machines on this Mac"),
])
def test_what_cannot_be_installed_leaves_nothing(mac, settings, words):
    mac.set(**settings)
    mac.refused(mac.base("--memory", 300, put=NOT_PUT), words)


@pytest.mark.parametrize("contents,words", [
    (None, "No such file or directory"), (b"", "is empty or not a file"), (b"<html>", "the restore image is damaged, or is none: "),
])
def test_what_is_no_restore_image(mac, contents, words):
    mac.ipsw.unlink()
    if contents is not None:
        mac.ipsw.write_bytes(contents)
    mac.refused(mac.base(), words)


def test_an_agent_that_cannot_be_put_there(mac):
    mac.put.write_text("#!/bin/sh\necho no such volume; exit 3\n")
    mac.refused(mac.base(), f"{mac.put} ended with exit code 3: no such volume")
    mac.record.unlink()
    mac.refused(mac.base(put=mac.host.base / "missing"), "missing: No such file or directory")
    mac.refused(mac.base(put=mac.host.base), f"{mac.host.base} is not a program")
    mac.refused(mac.base(put=mac.ipsw), f"{mac.ipsw}: Permission denied")
    done = mac.host("base", "create", "mac", "--backend", "apple-vf", "--size", 16, "--from-ipsw", mac.ipsw, env={"PATH": "/nonexistent"})
    mac.refused(done, "microagent-put-macos-agent")
    assert not mac.calls("install")  # hours before it would have been wanted
    assert "--put-agent needs --from-ipsw" in mac.host("base", "create", "x", "--put-agent", mac.put).stderr


def at_a_terminal(mac):
    """Returns (maker, the other end of its terminal)."""
    ours, theirs = os.openpty()
    child = mac.host.popen(*BASE, "--from-ipsw", mac.ipsw, "--put-agent", mac.put, stdin=theirs, start_new_session=True,
                           preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    return child, ours


def test_who_puts_it_there_may_ask_for_a_password(mac):
    """Reads from the terminal as sudo(8) does. In a session of its own it would have no terminal."""
    mac.put.write_text("#!/bin/sh\nexec </dev/tty || exit 9\nread -r word\necho was told $word; exit 3\n")
    child, ours = at_a_terminal(mac)
    os.write(ours, b"secret\n")
    out, err = child.communicate()
    os.close(ours)
    assert child.returncode == 1 and f"{mac.put} ended with exit code 3: was told secret" in err.decode(), (out, err)
    assert mac.bases() == []


def test_a_script_that_is_not_the_shells(mac):
    script = mac.host.base / "script"
    script.write_text("#!/usr/bin/python3\n")
    mac.refused(mac.base("--provision", script, put=NOT_PUT), f"{script} is not a script of sh, which runs it in a macOS guest: begin it with #!/bin/sh")


@pytest.mark.soak
def test_a_script_that_fails_in_the_guest(mac):
    script = mac.host.base / "script"
    script.write_text("echo '### second'; false; echo not reached\n")
    mac.refused(mac.base("--provision", script), 'script ended with exit code 1 in its step "second"')


def test_a_guest_that_does_not_boot(mac):
    """The agent is not at its place on the disk. The error says so, and where more is known."""
    done = mac.base(put="/bin/true", env={"MICROAGENT_TEST_LIMIT_BOOT_MACOS_MS": "2000"})
    mac.refused(done, "no base was made: ")
    assert f"the log is {mac.host.state}/logs/base-mac-" in done.stderr


def test_what_goes_with_a_restore_image(mac):
    for option in (["--image", "busybox"], ["--from-oci", "x"], ["--kernel", "x"], ["--arch", "arm64"], ["--stage", "/etc/passwd"],
                   ["--allow", "10.0.0.0/8"], ["--accelerator", "tcg"], ["--unconfined"]):
        done = mac.base(*option)
        assert done.returncode == 2 and f"--from-ipsw makes a base of macOS, which takes no {option[0]}" in done.stderr, done.stderr
    assert not mac.host.state.exists()


def test_other_backends_have_none(mac):
    for backend in ("qemu", "firecracker"):
        done = mac.base("--backend", backend)
        assert done.returncode == 1 and f"backend {backend} has no macOS guests" in done.stderr, done.stderr
        done = subprocess.run([mac.host.bin / f"microagent-{backend}-supervisor", "--macos"], input=b'{"job":"identify","directory":"/"}\n',
                              capture_output=True, check=False)
        answer = json.loads(done.stdout)
        assert done.returncode == 1 and answer["errorCode"] == "unsupported" and "has no macOS guests" in answer["error"]
    assert not mac.host.state.exists()


# --- a maker that ends ----------------------------------------------------------------------------


def begin_to_wait(mac, text):
    """Starts a maker whose script waits when the installation is over."""
    fifo, script = mac.host.base / "fifo", mac.host.base / "wait"
    os.mkfifo(fifo)
    script.write_text(f"#!/bin/sh\n{text.format(fifo)}\n")
    script.chmod(0o755)
    child = mac.host.popen("base", "create", "mac", "--size", 16, "--from-ipsw", mac.ipsw, "--put-agent", script)
    wait_until(lambda: any(line.startswith(f"/bin/sh {script} ") for line in pid_lines(str(script)).values()), "the script to run")
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_maker_that_is_told_to_end(mac, number):
    """The processes that its script has started end too."""
    child = begin_to_wait(mac, "cat {}; true")
    child.send_signal(number)
    _, err = child.communicate()
    assert child.returncode == 128 + number and b"cancelled" in err, (child.returncode, err)
    assert mac.bases() == [] and not strays.running(mac.host.base)


@pytest.mark.parametrize("how", ["ctrl-c", "kill"])
def test_a_maker_at_a_terminal_is_told_to_end(mac, how):
    """The script is in the maker's process group: Ctrl-C goes to both. If the maker gets a signal, it ends the script."""
    fifo = mac.host.base / "fifo"
    os.mkfifo(fifo)
    mac.put.write_text(f"#!/bin/sh\ncat {fifo}; true\n")
    child, ours = at_a_terminal(mac)
    wait_until(lambda: any(line.startswith("cat ") for line in pid_lines(str(fifo)).values()), "the script to run")
    if how == "ctrl-c":
        os.write(ours, b"\3")
    else:
        child.send_signal(signal.SIGTERM)
    _, err = child.communicate()
    os.close(ours)
    assert child.returncode == 128 + (signal.SIGINT if how == "ctrl-c" else signal.SIGTERM) and b"cancelled" in err, (child.returncode, err)
    assert mac.bases() == []
    assert not strays.processes(mac.host.base)  # the script's processes end with its terminal


def test_a_maker_that_is_killed(mac):
    child = begin_to_wait(mac, "read -r word < {}")
    child.kill()
    child.communicate()
    wait_until(lambda: not strays.running(mac.host.base), "the script to end")
    assert len(mac.bases()) == 1  # the next maker removes it
    mac.refused(mac.base(put=NOT_PUT), "ended with exit code 1")


def begin(mac, **settings):
    """Starts a maker whose installation takes for ever."""
    mac.set(macInstallStepMs=1 << 20, **settings)
    child = mac.host.popen("base", "create", "mac", "--size", 16, "--from-ipsw", mac.ipsw, "--put-agent", NOT_PUT)
    wait_until(lambda: mac.calls("install"), "the installation to begin")
    return child


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_maker_that_is_ended_while_it_installs(mac, number):
    child = begin(mac)
    child.send_signal(number)
    child.communicate()
    assert child.returncode == (128 + number if number == signal.SIGTERM else -number)
    wait_until(lambda: not strays.running(mac.host.base), "the installer to end")
    assert len(mac.bases()) == (number == signal.SIGKILL)
    mac.set()
    mac.refused(mac.base(put=NOT_PUT), "ended with exit code 1")


def test_an_installer_ends_with_its_caller(mac):
    """It ends without a kill too, at the end of its stdin."""
    mac.set(macInstallStepMs=1 << 20)
    place = mac.host.base / "place"
    place.mkdir()
    job = {"job": "install", "restoreImage": str(mac.ipsw), "directory": str(place), "diskBytes": 16 << 20}
    with subprocess.Popen([APPLEVF, "--macos"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=mac.host.env) as child:
        child.stdin.write(json.dumps(job).encode() + b"\n")
        child.stdin.flush()
        assert json.loads(child.stdout.readline()) == {"event": "image", "version": "14.5", "build": "23F79", "memoryMiB": 256, "cpuCount": 1}
        child.stdin.close()
        assert child.wait(HANG_S) == 1


def test_how_far_an_installation_is(mac):
    """The installation is watched by the queue's rules: a stand-in that is asked elsewhere ends the process."""
    mac.set(macInstallStepMs=10)
    place = mac.host.base / "place"
    place.mkdir()
    job = {"job": "install", "restoreImage": str(mac.ipsw), "directory": str(place), "diskBytes": 16 << 20}
    with subprocess.Popen([APPLEVF, "--macos"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=mac.host.env) as child:
        child.stdin.write(json.dumps(job).encode() + b"\n")
        child.stdin.flush()
        lines = [json.loads(line) for line in child.stdout]
    assert child.returncode == 0 and lines[-1]["ok"], (child.returncode, lines)
    told = [line["percent"] for line in lines if line.get("event") == "progress"]
    assert told == sorted(told) and told[-1] == 100 and [percent for percent in told if 0 < percent < 100], told


def test_an_installer_that_dies(mac):
    """Whatever ends, the unfinished base is removed, and the error says why."""
    program = mac.host.base / "supervisor"
    program.write_text('#!/bin/sh\necho "last words" >&2\nkill -9 $$\n')
    program.chmod(0o755)
    mac.host.env["MICROAGENT_APPLE_VF_SUPERVISOR"] = str(program)
    mac.refused(mac.base(), "the supervisor ended with exit code 137 and no answer: last words")


@pytest.mark.parametrize("job,words", [
    (b"", "stdin ended before the end of the job: give the job as one whole line of JSON"), (b"{\n", "the job: "), (b"[]\n", "the job: "), (b'{"job":"x"}\n', 'the supervisor does not know the job "x": this is a bug, or the program that asked is of another version of microagent'),
    (b'{"job":"identify"}\n', "job.directory is required"), (b'{"job":"identify","directory":"x"}\n', "job.directory must be an absolute path"),
    (b'{"job":"identify","directory":"/tmp","x":1}\n', "job.x is not a known field"),
    (b'{"job":"install","restoreImage":"/x","directory":"/tmp"}\n', "job.diskBytes is required"),
    (b'{"job":"install","restoreImage":"/x","directory":"/tmp","diskBytes":1}\n', "job.diskBytes must be"),
    (b" " * (65 << 10), "the job: "),
])
def test_jobs_that_are_refused(mac, job, words):
    done = subprocess.run([APPLEVF, "--macos"], input=job, capture_output=True, env=mac.host.env, check=False)
    answer = json.loads(done.stdout)
    assert done.returncode == 1 and answer["errorCode"] == "invalid" and words in answer["error"], answer


# --- sessions -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def based():
    """Makes a base for all tests that follow."""
    host = make_host(Path(tempfile.mkdtemp(prefix="e-")), "apple-vf")
    it = Mac(host)
    try:
        it.base(check=0)
        yield it
        host("base", "delete", "mac-v1", check=0)
        host.assert_clean()
    finally:
        host.sweep()
        shutil.rmtree(host.base, ignore_errors=True)


def sessions(host):
    return [p.name for p in (host.state / "sessions").iterdir() if p.name.startswith("session-")]


def test_a_session_is_a_machine_of_its_own(based):
    """The machine boots once. The test checks commands, files, the limit, and the contents of the bundle."""
    host, bundle = based.host, based.host.state / "bases" / "mac-v1.bundle"
    done = host("session", "create", "--base", "mac", "--network", "isolated", check=0)
    name = done.stdout.strip()
    assert "the session's disk is a full copy of the base's disk" in done.stderr
    own = host.state / "sessions" / f"{name}.bundle"
    assert host.json("base", "show", "mac")["source"] == {"kind": "ipsw", "ref": str(based.ipsw)}
    config = json.loads((own / "workspace.json").read_text())["config"]
    assert "kernelPath" not in config and config["rootfsPath"] == str(own / "disk.img")
    assert config["macos"] == {"hardwareModelPath": str(own / "hardwareModel.bin"), "auxiliaryStoragePath": str(own / "auxiliary.bin"),
                               "machineIdentifierPath": str(own / "machineIdentifier.bin")}
    assert sha256(own / "hardwareModel.bin") == sha256(bundle / "hardwareModel.bin")
    assert sha256(own / "machineIdentifier.bin") != sha256(bundle / "machineIdentifier.bin")
    listed = host.json("session", "list")["sessions"]
    assert [s["guest"] for s in listed] == ["macos"] and listed[0]["clone"] == "copy"
    assert host("session", "exec", name, "--", "sh", "-c", "echo out; exit 7").returncode == 7
    linux_alone(based, name)
    assert host("session", "stream", name, "--", "sh", "-c", "echo one; echo two", check=0).stdout == "one\ntwo\n"
    a_third_is_refused(based, name)
    host("stop", name, check=0)
    linux_alone(based, name)
    host("session", "destroy", name, check=0)
    assert sessions(host) == []


def linux_alone(mac, name):
    """Files can be read if the machine runs or not, as the Linux in the place of macOS allows."""
    for words in (("cp", mac.ipsw, f"{name}:/in"), ("cp", f"{name}:/etc/hosts", mac.host.base / "out"), ("ls", f"{name}:/")):
        done = mac.host(*words, check=1)
        assert "microagent cannot copy files to or from a macOS guest: use the stdin and stdout of a command" in done.stderr, done.stderr
    assert not (mac.host.base / "out").exists()
    done = mac.host("session", "share", name, mac.host.base, check=1)
    assert f"session {name} has a macOS guest, which can get directories only when the session is made" in done.stderr, done.stderr


def a_third_is_refused(mac, name):
    """The limit counts the known machines of the directory. For another directory's machines it is the framework's own count."""
    host = mac.host
    done = host("session", "create", "--base", "mac", "--network", "isolated", env={"MICROAGENT_TEST_LIMIT_MACOS_GUESTS": "1"})
    assert done.returncode == 75 and f"1 macOS guests already run ({name}), and Apple allows no more of them on a Mac at once: stop one of them" in done.stderr
    mac.record.unlink()
    done = mac.base("--memory", 300, env={"MICROAGENT_TEST_LIMIT_MACOS_GUESTS": "1"})  # at its end a base boots a machine
    assert done.returncode == 75 and f"1 macOS guests already run ({name})" in done.stderr and not mac.calls("install"), done.stderr
    mac.set(macLimit=1)
    done = host("session", "create", "--base", "mac", "--network", "isolated")
    mac.set()
    assert done.returncode == 1 and "Apple allows two running macOS guests on a Mac, and as many run" in done.stderr, done.stderr
    assert sessions(host) == [f"{name}.bundle"]


def test_what_no_session_can_have(based):
    for words, why in ((["--memory", "128"], "--memory: macOS 14.5 needs at least 256 MiB, and has 128"),
                       (["--network", "nat", "-p", "8080:80"], "--publish: the agent of macOS guests publishes no ports"),
                       (["--backend", "qemu"], "base mac-v1 is macOS, but backend qemu has no macOS guests"),
                       (["--backend", "firecracker"], "base mac-v1 is macOS, but backend firecracker has no macOS guests")):
        done = based.host("session", "create", "--base", "mac", *words)
        assert done.returncode == (2 if why.startswith("--memory") else 1) and why in done.stderr, done.stderr
    done = based.host("pool", "set", "--base", "mac", "--size", 3)
    assert done.returncode == 1 and "a pool of 3: base mac-v1 is macOS, and Apple allows 2 running macOS guests on a Mac" in done.stderr
    based.set(macModelSupported=False)
    done = based.host("session", "create", "--base", "mac")
    assert done.returncode == 1 and "this Mac, or its macOS, runs no machines of" in done.stderr, done.stderr
    based.set()
    assert sessions(based.host) == []


def test_a_damaged_base(based):
    bundle = based.host.state / "bases" / "mac-v1.bundle"
    subprocess.run(["chattr", "-R", "-i", bundle], check=False, capture_output=True)
    for file in ("disk.img", "auxiliary.bin", "hardwareModel.bin", "machineIdentifier.bin", "restore.ipsw"):
        whole = bundle / f"{file}.whole"
        (bundle / file).rename(whole)
        subprocess.run(["cp", "--sparse=always", whole, bundle / file], check=True)
        (bundle / file).chmod(0o600)
        with open(bundle / file, "r+b") as damaged:
            damaged.write(b"x")
        verified = based.host.json("base", "verify", "mac", check=1)
        assert [c["file"] for c in verified["checks"] if not c["ok"]] == [str(bundle / file)]
        done = based.host("session", "create", "--base", "mac", env={"MICROAGENT_STANDIN_VZ": "/nonexistent"})
        # A session does not need the restore image. Without it the creation fails only later, for lack of a supervisor.
        assert done.returncode == 1 and (("is damaged" in done.stderr) == (file != "restore.ipsw")), done.stderr
        whole.rename(bundle / file)
    assert based.host.json("base", "verify", "mac")["ok"] and sessions(based.host) == []


def test_the_agent_of_macos_guests(mac, tuned_kernel):
    """Tests its control stream and its port from the base's first boot to a session's end, in a guest that has no other
    agent and no modules."""
    if not (BUILD / "standin/microagent-macos-agent").exists():
        pytest.skip("the agent of macOS guests is not built here")
    host, shared = mac.host, mac.host.base / "shared"
    shared.mkdir()
    (shared / "from-host").write_text("hello\n")
    mac.guest(kernel=tuned_kernel["path"], initrd=str(agents_own_guest(host.base)))
    script = host.base / "script"
    script.write_text("id -u; uname\n")
    done = mac.base("--provision", script, put="/bin/true", check=0)
    assert "\n0\nLinux\n" in done.stderr
    # A session has a directory from the start. The agent mounts it, and says ready then.
    name = host("session", "create", "--base", "mac", "--network", "isolated", "--share", shared, check=0).stdout.strip()
    assert host("session", "exec", name, "--", "cat", "/Users/Shared/workspace/from-host").stdout == "hello\n"
    assert host("session", "exec", name, "--", "sh", "-c", "id -u; exit 7").returncode == 7
    assert host("session", "stream", name, "--", "sh", "-c", "echo one; echo two", check=0).stdout == "one\ntwo\n"
    host("session", "destroy", name, check=0)
    assert sessions(host) == []
    delete_base(mac)


@pytest.mark.soak
def test_two_run_at_once(based):
    """A third machine waits until one of the two ends."""
    names = [based.host("session", "create", "--base", "mac", "--network", "isolated", check=0).stdout.strip() for _ in range(2)]
    identifiers = {sha256(based.host.state / "sessions" / f"{name}.bundle" / "machineIdentifier.bin") for name in names}
    assert len(identifiers) == 2
    done = based.host("session", "create", "--base", "mac", "--network", "isolated")
    assert done.returncode == 75 and all(name in done.stderr for name in names), done.stderr
    based.host("session", "destroy", names[0], check=0)
    third = based.host("session", "create", "--base", "mac", "--network", "isolated", check=0).stdout.strip()
    for name in (names[1], third):
        based.host("session", "destroy", name, check=0)


@pytest.mark.soak
def test_an_installation_that_fails_at_every_step(mac):
    """Whichever call of the framework fails, nothing is left."""
    for point in ("loadRestoreImage", "validate", "install"):
        for code in (1, 2, 3, 5, 8, 10004, 10005, 10006, 10007):
            mac.set(faults={point: {"code": code}})
            mac.refused(mac.base(), f"(VZErrorDomain {code})")
