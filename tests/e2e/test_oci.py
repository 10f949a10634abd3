# SPDX-License-Identifier: MIT
"""Tests microagent-oci by its command line, as an engine calls it: what a container is, and what each command does in each state."""

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import termios
from pathlib import Path

import pytest

import bundles
from conftest import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="containers of engines are root's")
FOREVER = ("sleep", "1000")


@pytest.fixture
def oci(request):
    it = bundles.Runtime(Path(tempfile.mkdtemp(prefix="o-")))
    yield it
    it.close(not getattr(request.node, "failed", False))


def read_to(fd, wanted):
    said = b""
    while wanted not in said:
        piece = os.read(fd, 4096)
        assert piece, said
        said += piece
    return said


def test_what_it_is(oci):
    out = oci.sh("echo $$; hostname; ls -d /bin; cat /proc/self/mounts; echo err >&2; cat /proc/1/limits | grep files; ls /dev")
    lines = out.splitlines()
    assert lines[:3] == ["1", "inside", "/bin"]
    assert not [line for line in lines if "microagent" in line or "b1" in line], out
    assert " / virtiofs rw" in out and "/proc/sys proc ro" in out and "1024" in out
    assert {"null", "zero", "full", "random", "urandom", "tty", "pts", "shm", "fd", "stdin"} <= set(lines[-30:])


def test_exit_codes_and_streams(oci):
    assert oci.run("sh", "-c", "echo out; echo err >&2; exit 42") == (42, "out\n", "err\n")
    assert oci("run", "-b", oci.bundle("cat"), "c", input=b"in\0\xff" * 10000).stdout.count("in") == 10000
    assert oci.run("sh", "-c", "kill -9 $$; sleep 9 & wait", name="k")[0] in (0, 137)


@pytest.mark.parametrize("program,code,why", [
    ("nothing", 1, 'exec: "nothing": executable file not found in $PATH'),
    ("/no/such", 1, 'exec: "/no/such": stat /no/such: no such file or directory'),
    ("/etc", 1, 'exec: "/etc": permission denied'),
])
def test_a_program_that_is_none(oci, program, code, why):
    done = oci("create", "-b", oci.bundle(program), "c")
    assert done.returncode == code and oci.last_error() == why and why in json.loads(done.stderr.splitlines()[-1])["msg"]


def test_who_runs_and_with_what(oci):
    out = oci.sh("id -u; id -g; id -G; pwd; umask; cat /proc/self/status",
                 process={**bundles.config("sh", "-c", "id -u; id -g; id -G; pwd; umask; grep -E 'Cap|NoNew' /proc/self/status")["process"],
                          "user": {"uid": 1000, "gid": 100, "additionalGids": [7, 8], "umask": 0o27}, "cwd": "/made", "capabilities":
                          {"bounding": ["CAP_CHOWN"], "effective": [], "permitted": []}})
    assert out.splitlines()[:5] == ["1000", "100", "100 7 8", "/made", "0027"]
    assert "NoNewPrivs:\t1" in out and "CapBnd:\t0000000000000001" in out


def test_the_engine_sees_what_is_written(oci):
    bundle = oci.bundle("sh", "-c", "echo kept >/tmp/file; chmod 4755 /tmp/file; echo other >/etc/own")
    oci("run", "-b", bundle, "c", check=0)
    assert (bundle / "rootfs/tmp/file").read_text() == "kept\n" and (bundle / "rootfs/tmp/file").stat().st_mode & 0o7777 == 0o4755
    assert oci.run("sh", "-c", "echo x >/file", root={"readonly": True})[0] == 1


def test_volumes(oci):
    volume = oci.base / "volume"
    volume.mkdir()
    (volume / "one").write_text("one\n")
    mounts = bundles.config()["mounts"] + [
        {"destination": "/data/deep", "type": "bind", "source": str(volume), "options": ["rbind", "rw"]},
        {"destination": "/single", "type": "bind", "source": str(volume / "one"), "options": ["bind", "ro"]}]
    out = oci.sh("cat /data/deep/one /single; echo two >/data/deep/two; echo x >/single || echo refused; cp /bin/busybox /data/deep/x 2>/dev/null;"
                 "grep -E 'single|data' /proc/self/mounts", mounts=mounts)
    assert out.startswith("one\none\n") and "refused" in out and out.count("nosuid,nodev") == 2
    assert (volume / "two").read_text() == "two\n"


def test_what_is_mounted_below_a_volume(oci, request):
    """The mounts below a source come with rbind only. With bind the container has the files under them, as with runc,
    and so has root of the guest."""
    mounts = bundles.config()["mounts"]
    for name in ("bind", "rbind"):
        (oci.base / name / "below").mkdir(parents=True)
        (oci.base / name / "below" / "under").touch()
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", oci.base / name / "below"], check=True)
        request.addfinalizer(lambda name=name: subprocess.run(["umount", oci.base / name / "below"], check=True))
        (oci.base / name / "below" / "secret").touch()
        mounts.append({"destination": f"/{name}", "type": "bind", "source": str(oci.base / name), "options": [name, "rw", "rprivate"]})
    oci.started(*FOREVER, mounts=mounts)
    assert oci("exec", "c", "ls", "/bind/below", "/rbind/below", check=0).stdout.split() == ["/bind/below:", "under", "/rbind/below:", "secret"]
    seen = oci.in_the_guest("ls", f"{oci.seen().removesuffix('rootfs')}{len(mounts) - 2}/below")
    assert seen.stdout == "under\n", seen
    oci("delete", "--force", "c", check=0)


def test_a_volume_of_a_supplementary_group(oci):
    """As in a pod with fsGroup: the process has its rights there by the group."""
    volume = oci.base / "volume"
    volume.mkdir()
    os.chown(volume, 0, 3000)
    volume.chmod(0o2775)
    mounts = bundles.config()["mounts"] + [{"destination": "/p", "type": "bind", "source": str(volume), "options": ["rbind", "rw"]}]

    def run(script, uid, groups):
        none = {"bounding": [], "effective": [], "permitted": []}
        return oci.run("sh", "-c", script, mounts=mounts,
                       process={"user": {"uid": uid, "gid": uid, "additionalGids": groups, "umask": 2}, "capabilities": none})
    code, out, err = run("echo x >/p/file; mkdir /p/dir; ln -s file /p/link; mknod /p/fifo p; rm /p/link; mv /p/file /p/moved; "
                         "cp /p/moved /p/bits; chmod 6775 /p/bits; stat -c %a /p/bits", 1000, [3000])
    assert (code, out, err) == (0, "6775\n", "")
    assert {entry.name: (entry.stat().st_uid, entry.stat().st_gid) for entry in volume.iterdir()} == dict.fromkeys(("moved", "dir", "fifo", "bits"), (1000, 3000))
    assert (volume / "dir").stat().st_mode & 0o7777 == 0o2775
    # A write by another member of the group removes the bits.
    assert run("echo y >>/p/bits; stat -c %a /p/bits", 1001, [3000]) == (0, "775\n", "")
    code, out, err = run("for it in 'touch /p/new' 'mkdir /p/new' 'ln -s x /p/new' 'mknod /p/new p'; do $it; done", 1000, [3001])
    assert code == 1 and err.count("Permission denied") == 4 and not (volume / "new").exists(), err


def test_what_the_host_mounts_below_a_volume_later(oci, request):
    """A later mount is seen if the config says nothing about propagation, and not if it says private. It is not seen
    below a read-only mount either, since root of the guest could write to it."""
    mounts = bundles.config()["mounts"]
    volumes = (("apart", ["rbind", "rprivate"]), ("following", ["rbind"]), ("only-read", ["rbind", "ro"]))
    for name, options in volumes:
        volume = oci.base / name
        (volume / "later").mkdir(parents=True)
        for words in (("--bind", volume, volume), ("--make-shared", volume)):
            subprocess.run(["mount", *words], check=True)
        request.addfinalizer(lambda volume=volume: subprocess.run(["umount", "--recursive", volume], check=True))
        mounts.append({"destination": f"/{name}", "type": "bind", "source": str(volume), "options": options})
    oci.started(*FOREVER, mounts=mounts)
    for name, _ in volumes:
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", oci.base / name / "later"], check=True)
        (oci.base / name / "later" / "file").write_text("of the host\n")
    assert oci("exec", "c", "sh", "-c", "ls /apart/later /only-read/later; cat /following/later/file", check=0).stdout.endswith("\nof the host\n")
    written = oci.in_the_guest("touch", f"{oci.seen().removesuffix('rootfs')}{len(mounts) - 1}/later/new")
    assert written.returncode == 1 and "Read-only file system" in written.stderr, written
    oci("delete", "--force", "c", check=0)
    for name, _ in volumes:
        assert [file.name for file in (oci.base / name / "later").iterdir()] == ["file"]


def test_the_guests_console_and_its_kernels_log(oci):
    """With CAP_MKNOD, which engines give, the host would read a container's text as the kernel's."""
    forge = "cd /dev; mknod k c 1 11; mknod s c 4 64; mknod o c 5 1; for it in k s o; do echo '<0>Kernel panic FORGED' >$it; done"
    # Docker's devices for an unprivileged container; 5:1 is /dev/console.
    dockers = [{"allow": False, "access": "rwm"}, {"allow": True, "type": "c", "access": "m"}, {"allow": True, "type": "b", "access": "m"},
               *({"allow": True, "type": "c", "major": major, "minor": minor, "access": "rwm"}
                 for major, minor in ((1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 1), (5, 2), (136, -1)))]
    everything = [{"allow": True, "access": "rwm"}]
    for resources, said in (({}, False), ({"devices": dockers}, False), ({"devices": everything}, True)):
        oci.started("sh", "-c", f"{forge}; echo done >/done; sleep 1000", linux={**bundles.config()["linux"], "resources": resources})
        done = oci.base / f"b{oci.count}" / "rootfs" / "done"
        wait_until(done.exists, "the container's attempt")
        log, = (oci.root / ".machines/sessions").glob("sandbox-*/serial.log")
        assert oci.in_the_guest("sh", "-c", "echo '<0>behind it' >/dev/kmsg").returncode == 0
        wait_until(lambda: "behind it" in log.read_text(errors="replace"), "all that came before")
        assert ("FORGED" in log.read_text(errors="replace")) == said, resources
        oci("delete", "--force", "c", check=0)


def test_each_state_and_command(oci):
    assert oci("state", "c").returncode == 1 and "container does not exist" in oci.last_error()
    pid = oci.create(*FOREVER)
    state = oci.state()
    assert (state["status"], state["pid"], state["id"]) == ("created", pid, "c") and state["bundle"].endswith("/b1")
    assert oci("create", "-b", oci.bundle(*FOREVER), "c").returncode == 1 and "already exists" in oci.last_error()
    assert oci("pause", "c").returncode == 1 and "container not running" in oci.last_error()
    oci("start", "c", check=0)
    assert oci.status() == "running"
    assert oci("start", "c").returncode == 1 and "already running" in oci.last_error()
    assert oci("delete", "c").returncode == 1 and "not stopped" in oci.last_error()
    assert oci("resume", "c").returncode == 1 and "not paused" in oci.last_error()
    oci("pause", "c", check=0)
    assert oci.status() == "paused" and oci("exec", "c", "true").returncode == 255
    oci("resume", "c", check=0)
    listed = json.loads(oci("list", "--format", "json", check=0).stdout)
    assert [(one["id"], one["status"]) for one in listed] == [("c", "running")]
    assert oci("list", "-q", check=0).stdout == "c\n"
    oci("kill", "c", "KILL", check=0)
    oci.await_status("stopped")
    for command in (("kill", "c"), ("start", "c"), ("exec", "c", "true"), ("pause", "c"), ("ps", "c")):
        assert oci(*command).returncode != 0, command
    oci("delete", "c", check=0)
    assert oci("delete", "c").returncode == 1 and oci("delete", "--force", "c").returncode == 0


def test_a_created_one_is_deleted_or_killed(oci):
    oci.create(*FOREVER)
    oci("delete", "c", check=0)
    oci.create(*FOREVER)
    oci("kill", "c", "9", check=0)
    oci.await_status("stopped")
    oci("delete", "c", check=0)


def test_signals(oci):
    out = oci.base / "out"
    with open(out, "wb") as file:
        oci.started("sh", "-c", "trap 'echo usr; exit 3' USR1; echo ready; while :; do sleep 0.1; done", out=file)
    wait_until(lambda: out.read_text() == "ready\n", "the trap")
    oci("kill", "c", "SIGUSR1", check=0)
    oci.await_status("stopped")
    assert out.read_text() == "ready\nusr\n"
    assert oci("kill", "c", "NOSUCH").returncode == 1 and "unknown signal" in oci.last_error()
    oci("delete", "c", check=0)


def test_a_signal_that_cannot_be_caught(oci):
    """STOP stops the container's process. It does not stop the host's stand-in, which passes on later signals."""
    def process():
        listed = oci.in_the_guest("ps", "-o", "stat,args").stdout.splitlines()
        return next((line.split()[0] for line in listed if line.endswith("while :; do sleep 0.1; done")), "")
    out = oci.base / "out"
    with open(out, "wb") as file:
        pid = oci.create("sh", "-c", "trap 'echo term; exit 3' TERM; trap 'echo segv' SEGV; echo ready; while :; do sleep 0.1; done", out=file)
    oci("kill", "c", "STOP", check=0)
    oci("kill", "c", "CONT", check=0)
    oci("start", "c", check=0)
    wait_until(lambda: out.read_text() == "ready\n", "the traps")
    oci("kill", "c", "STOP", check=0)
    wait_until(lambda: process().startswith("T"), "the stop")
    assert Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] == "S"
    oci("kill", "c", "CONT", check=0)
    wait_until(lambda: process().startswith("S"), "the process to go on")
    oci("kill", "c", "SEGV", check=0)  # it would have ended the stand-in
    wait_until(lambda: out.read_text() == "ready\nsegv\n", "the other signal")
    oci("kill", "c", "STOP", check=0)
    wait_until(lambda: process().startswith("T"), "the second stop")
    oci("kill", "c", "TERM", check=0)
    oci("kill", "c", "CONT", check=0)
    oci.await_status("stopped")
    assert out.read_text() == "ready\nsegv\nterm\n"
    oci("delete", "c", check=0)


def test_a_raw_kill_leaves_nothing(oci):
    pid = oci.started(*FOREVER)
    os.kill(pid, signal.SIGKILL)
    oci.await_status("stopped")
    assert not [line for line in bundles.strays.processes(oci.base, 60) if "qemu" in line]
    oci("delete", "c", check=0)


def test_commands_in_it(oci):
    oci.started(*FOREVER)
    done = oci("exec", "c", "sh", "-c", "echo $$; ps; cat; exit 9", input=b"typed\n")
    assert done.returncode == 9 and "sleep 1000" in done.stdout and done.stdout.endswith("typed\n")
    assert oci("exec", "-e", "A=b", "-u", "5:6", "--cwd", "/tmp", "c", "sh", "-c", "echo $A; id -u; id -g; pwd").stdout.split() == ["b", "5", "6", "/tmp"]
    assert oci("exec", "c", "nothing").returncode == 255 and "executable file not found" in oci.last_error()
    process = oci.base / "process.json"
    process.write_text(json.dumps({"args": ["sh", "-c", "exit 4"], "cwd": "/", "user": {"uid": 0, "gid": 0}}))
    assert oci("exec", "--process", process, "c").returncode == 4  # PATH is missing in it, so the usual one finds a shell
    pid = oci.base / "exec.pid"
    oci("exec", "--detach", "--pid-file", pid, "c", "sleep", "999", check=0, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert "sleep 999" in oci("ps", "c", check=0).stdout
    assert os.readlink(f"/proc/{pid.read_text()}/ns/net") == os.readlink(f"/proc/{oci.state()['pid']}/ns/net")
    os.kill(int(pid.read_text()), signal.SIGKILL)
    wait_until(lambda: "sleep 999" not in oci("ps", "c", check=0).stdout, "the end of the command")
    assert json.loads(oci("ps", "--format", "json", "c", check=0).stdout) == [oci.state()["pid"]]
    oci("delete", "--force", "c", check=0)


def test_a_terminal(oci):
    console = bundles.Console(oci.base / "tty.sock")
    process = {**bundles.config("sh", "-c", "tty; stty size; read line; stty size; exit 6")["process"], "terminal": True,
               "consoleSize": {"height": 30, "width": 100}}
    oci.create(process=process, words=("--console-socket", console.path))
    master = console.accept()
    oci("start", "c", check=0)
    assert b"/dev/pts/0" in read_to(master, b"30 100")
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 99, 0, 0))
    os.write(master, b"typed\r")
    read_to(master, b"50 99")
    oci.await_status("stopped")
    os.close(master)
    oci("delete", "c", check=0)


def test_limits(oci):
    resources = {"memory": {"limit": 200 << 20}, "pids": {"limit": 40}, "cpu": {"quota": 50000, "period": 100000, "shares": 512}}
    linux = {**bundles.config()["linux"], "resources": resources}
    oci.started(*FOREVER, linux=linux)
    said = oci("exec", "c", "sh", "-c", "cd /sys/fs/cgroup; cat memory.max pids.max cpu.max", check=0).stdout.split()
    assert said == [str(200 << 20), "40", "50000", "100000"]
    oci("update", "--resources", "-", "c", check=0, input=b'{"pids":{"limit":50}}')
    assert oci("exec", "c", "cat", "/sys/fs/cgroup/pids.max", check=0).stdout == "50\n"
    assert oci("update", "--memory", 8 << 30, "c").returncode == 1 and "more than the machine has" in oci.last_error()
    assert oci("update", "--cpu-quota", 900000, "c").returncode == 1 and "more than the machine has" in oci.last_error()
    stats = json.loads(oci("events", "--stats", "c", check=0).stdout)
    assert stats["type"] == "stats" and stats["data"]["pids"]["limit"] == 50 and stats["data"]["memory"]["usage"]["limit"] == 200 << 20
    oci("delete", "--force", "c", check=0)


def test_a_limit_above_the_host(oci, two_processors):
    """Engines allow this one, and no other here."""
    linux = {**bundles.config()["linux"], "resources": {"cpu": {"quota": 6400000, "period": 100000}}}
    oci.started(*FOREVER, linux=linux)
    assert oci("exec", "c", "sh", "-c", "nproc; cat /sys/fs/cgroup/cpu.max", check=0).stdout.split() == [str(os.cpu_count()), "6400000", "100000"]
    oci("delete", "--force", "c", check=0)


def test_hooks(oci):
    hook = oci.base / "hook"
    hook.write_text('#!/bin/sh\nprintf "%s " "$1" >>"$HOOKED"; cat >>"$HOOKED"; echo >>"$HOOKED"\ntest "$1" != bad || { echo complains >&2; exit 3; }\n')
    hook.chmod(0o755)
    told = oci.base / "told"

    def hooks(*names):
        return {name: [{"path": str(hook), "args": ["hook", name if name != "prestart" or not bad else "bad"], "env": [f"HOOKED={told}"]}]
                for name in names}
    bad = False
    oci.create(*FOREVER, hooks=hooks("prestart", "createRuntime", "poststart", "poststop"))
    oci("start", "c", check=0)
    oci("delete", "--force", "c", check=0)
    lines = [line.split(" ", 1) for line in told.read_text().splitlines()]
    assert [name for name, _ in lines] == ["prestart", "createRuntime", "poststart", "poststop"]
    assert [json.loads(state)["status"] for _, state in lines] == ["creating", "creating", "running", "stopped"]
    assert all(json.loads(state)["id"] == "c" for _, state in lines)
    bad = True
    done = oci("create", "-b", oci.bundle(*FOREVER, hooks=hooks("prestart")), "c")
    assert done.returncode == 1 and "exit code 3: complains" in oci.last_error()
    assert not (oci.root / "c").exists()


def test_hooks_of_one_that_is_never_whole(oci):
    """A poststop hook undoes what other hooks did before the failure. A run that follows a container to its end has deleted it."""
    told = oci.base / "told"

    def hook(line, code=0):
        return [{"path": "/bin/sh", "args": ["sh", "-c", f"echo {line} >>{told}; exit {code}"]}]
    for kind in ("prestart", "createRuntime"):
        assert oci("create", "-b", oci.bundle(*FOREVER, hooks={kind: hook(kind, 3), "poststop": hook("undone")}), "c").returncode == 1
        assert kind in oci.last_error() and not (oci.root / "c").exists()
    assert oci("create", "-b", oci.bundle("/none", hooks={"prestart": hook("done"), "poststop": hook("undone")}), "c").returncode == 1
    assert oci.run("sh", "-c", "exit 7", hooks={"poststop": hook("ended")})[0] == 7
    assert oci.run(*FOREVER, hooks={"poststart": hook("poststart", 3), "poststop": hook("ended")})[0] == 1
    assert "poststart" in oci.last_error()
    assert told.read_text().split() == ["prestart", "undone", "createRuntime", "undone", "done", "undone", "ended", "poststart", "ended"]


def test_signals_of_a_hook(oci):
    """SIGPIPE is neither ignored nor blocked, although our programs do so. A shell could not undo an ignored one."""
    told = oci.base / "told"
    hook = [{"path": "/bin/sh", "args": ["sh", "-c", f"grep -E 'Sig(Ign|Blk)' /proc/self/status >>{told}"]}]
    assert oci.run("true", hooks={"prestart": hook, "poststop": hook})[0] == 0
    blocked, ignored = ([int(mask, 16) for mask in told.read_text().split()[which::4]] for which in (1, 3))
    assert blocked == [0, 0] and [mask >> (signal.SIGPIPE - 1) & 1 for mask in ignored] == [0, 0]


def test_a_log_by_a_relative_path(oci):
    """All processes write to it, also the keeper and the stand-ins, which are in another directory."""
    oci.log = Path("log-" + oci.base.name)
    oci("create", "-b", oci.bundle(*FOREVER), "c", check=0, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    oci("delete", "--force", "c", check=0)
    assert not Path("/", oci.log).exists()
    if os.environ.get("ACCEL") != "kvm":
        assert "the machine is emulated" in (oci.base / oci.log).read_text()


def test_hooks_that_fail_when_it_has_begun(oci):
    """A poststart hook that fails is an error and the end of the container. For poststop it is a warning, and the hooks
    after it run."""
    told = oci.base / "told"

    def hooks(name):
        return {name: [{"path": "/bin/sh", "args": ["sh", "-c", f"echo {line} >>{told}; exit {code}"]} for line, code in (("bad", 3), ("good", 0))]}
    oci.create(*FOREVER, hooks=hooks("poststart"))
    assert oci("start", "c").returncode == 1
    assert "poststart" in oci.last_error() and "exit code 3" in oci.last_error()
    oci.await_status("stopped")
    oci("delete", "c", check=0)
    assert told.read_text() == "bad\n"
    oci.started(*FOREVER, hooks=hooks("poststop"))
    oci("delete", "--force", "c", check=0)
    assert told.read_text() == "bad\nbad\ngood\n"
    assert [line for line in map(json.loads, oci.log.read_text().splitlines()) if line["level"] == "warning" and "poststop" in line["msg"]]


def test_a_pod(oci):
    pid = oci.started("sh", "-c", "sleep 1000", name="pod", annotations=bundles.of_pod("sandbox"))
    joining = {"annotations": bundles.of_pod("container"), "linux": bundles.in_pod(pid)}
    oci.started(*FOREVER, name="one", hostname="ignored", **joining)
    assert oci("exec", "one", "sh", "-c", "hostname; ps", check=0).stdout.count("sleep 1000") == 1
    assert oci("exec", "one", "hostname", check=0).stdout == "inside\n"
    assert len(bundles.strays.running(oci.base)) > 0 and sum("-name guest=" in line for line in bundles.strays.running(oci.base).values()
                                                             if line.startswith("/usr/bin/qemu")) == 1
    wrong = {**bundles.in_pod(pid), "namespaces": bundles.in_pod(pid)["namespaces"][:2] + [
        {"type": "network"}, {"type": "ipc", "path": f"/proc/{pid}/ns/uts"}]}
    refused = oci("create", "--bundle", oci.bundle(*FOREVER, annotations=bundles.of_pod("container"), linux=wrong), "wrong")
    assert refused.returncode == 1 and "which is not a container of this machine" in oci.last_error()
    # Its end is not the pod's; the pod's is everybody's.
    oci("delete", "--force", "one", check=0)
    oci.started(*FOREVER, name="two", **joining)
    assert oci.status("pod") == "running"
    os.kill(pid, signal.SIGKILL)
    oci.await_status("stopped", "two")
    oci("delete", "two", check=0)
    oci("delete", "pod", check=0)


def test_the_machine_goes(oci):
    oci.started(*FOREVER)
    for entry, line in bundles.strays.running(oci.base).items():
        if line.startswith("/usr/bin/qemu"):
            os.kill(entry, signal.SIGKILL)
    oci.await_status("stopped")
    oci("delete", "c", check=0)


def goes_round(oci):
    """Its stand-in has handled all events: it hangs up on an unknown word."""
    with socket.socket(socket.AF_UNIX) as word:
        word.connect(str(oci.root / "c/control.sock"))
        word.send(b"x")
        assert word.recv(1) == b""


def machines(oci):
    return sum(line.startswith("/usr/bin/qemu") for line in bundles.strays.running(oci.base).values())


@pytest.mark.parametrize("begun,rootfs", [(True, "virtiofs"), (True, "overlay"), (False, "virtiofs")])
def test_quarantine(oci, begun, rootfs):
    """The machine goes on, so that it can be examined. For the engine its containers go on until they are killed. This
    holds for images without /proc, for a root that an overlay keeps from the host, and for containers that nobody
    has started."""
    oci.create(*FOREVER, annotations={"io.microagent.rootfs": rootfs})
    if begun:
        oci("start", "c", check=0)
    oci("quarantine", "c", check=0)
    assert oci("exec", "c", "true").returncode == 255
    assert not begun or (oci.base / "b1/rootfs/proc").exists() == (rootfs == "virtiofs")
    for _ in range(3):
        goes_round(oci)
    assert (oci.status(), machines(oci)) == ("running" if begun else "created", 1)
    assert begun or oci("start", "c").returncode == 1
    oci("kill", "c", "KILL", check=0)
    oci.await_status("stopped")
    assert machines(oci) == 1
    oci("delete", "--force", "c", check=0)


@pytest.mark.parametrize("name", ["../x", "", ".hidden", "a/b", "x" * 1025])
def test_ids_that_are_none(oci, name):
    assert oci("create", "-b", oci.bundle(*FOREVER), name).returncode == 1
    assert "invalid container ID" in oci.last_error()


def test_a_bundle_that_is_none(oci):
    assert oci("create", "-b", oci.base, "c").returncode == 1 and "config.json: No such file" in oci.last_error()
    bundle = oci.bundle(*FOREVER)
    (bundle / "config.json").write_text("{")
    assert oci("create", "-b", bundle, "c").returncode == 1 and "config.json" in oci.last_error()
    (bundle / "config.json").unlink()
    os.mkfifo(bundle / "config.json")  # nobody writes to it
    assert oci("create", "-b", bundle, "c").returncode == 1 and "config.json is not a regular file" in oci.last_error()
    bundle = oci.bundle(*FOREVER, root={"path": "nothing"})
    assert oci("create", "-b", bundle, "c").returncode == 1 and "root.path" in oci.last_error()


def test_the_network_of_the_host_by_its_path(oci):
    """As Docker asks for it. Settings of the host's links would be the guest's."""
    spaces = [{"type": kind} for kind in bundles.SPACES if kind != "network"]
    linux = {**bundles.config()["linux"], "namespaces": [*spaces, {"type": "network", "path": f"/proc/{os.getpid()}/ns/net"}]}
    assert oci("create", "-b", oci.bundle(*FOREVER, linux=linux), "c").returncode == 1
    assert "cannot have the host's network" in oci.last_error()
    # An engine with a network of its own does not have the host's either. A namespace of processes plays the host here.
    linux["namespaces"][-1]["path"] = "/proc/1/ns/net"
    oci.wrap = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "sh", "-c", 'unshare --net "$@"; exit $?', "sh"]
    assert oci("create", "-b", oci.bundle(*FOREVER, linux=linux), "c").returncode == 1
    assert "cannot have the host's network" in oci.last_error()


@pytest.mark.parametrize("key,value,why", [("kernel", "/boot/vmlinuz", "is a path"), ("kernel", "no-such-one", "no-such-one"),
                                           ("memory-mib", "127", "memory-mib"), ("cpus", "many", "cpus")])
def test_annotations_that_are_wrong(oci, key, value, why):
    assert oci("create", "-b", oci.bundle(*FOREVER, annotations={f"io.microagent.{key}": value}), "c").returncode == 1
    assert why in oci.last_error()


def test_a_hostile_root(oci):
    """Links of the image lead nowhere outside of it, on the host and in the guest."""
    outside = oci.base / "outside"
    outside.mkdir()
    bundle = oci.bundle("sh", "-c", "ls -d /link/x /up/y; echo z >/up/file")
    (bundle / "rootfs" / "link").symlink_to(outside)
    (bundle / "rootfs" / "up").symlink_to("../../../.." + str(outside))
    whole = json.loads((bundle / "config.json").read_text())
    whole["mounts"] += [{"destination": "/link/x", "type": "tmpfs", "source": "t"}, {"destination": "/up/y", "type": "tmpfs", "source": "t"}]
    (bundle / "config.json").write_text(json.dumps(whole))
    assert oci("run", "-b", bundle, "c", check=0).stdout == "/link/x\n/up/y\n"
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("to", ["/proc/self", "/sys/kernel", "/dev", "/dev/null"])
def test_a_volume_that_leads_to_the_hosts_kernel(oci, to):
    """Also if its name does not say so."""
    link = oci.base / "innocent"
    link.symlink_to(to)
    mounts = bundles.config()["mounts"] + [{"destination": "/data", "type": "bind", "source": str(link), "options": ["rbind"]}]
    assert oci("create", "-b", oci.bundle(*FOREVER, mounts=mounts), "c").returncode == 1
    assert "is not supported: it" in oci.last_error(), oci.last_error()


def test_words_of_exec(oci):
    """A text that is no number is not root, and a missing directory is not made."""
    oci.started(*FOREVER)
    for user in ("4294967295", "4294967296", "99999999999", "0x0", "1000:", "1000:staff", ":0", ""):
        assert oci("exec", "--user", user, "c", "id").returncode == 255 and "UID:GID" in oci.last_error(), user
    assert oci("exec", "--user", "1000:7", "c", "id", check=0).stdout.startswith("uid=1000 gid=7")
    user = {"uid": 5, "gid": 6, "additionalGids": [7], "umask": 0o27}
    oci.started(*FOREVER, name="other", process={"user": user, "capabilities": None})
    said = oci("exec", "--user", "1000", "other", "sh", "-c", "id -u; id -G; umask", check=0).stdout
    assert said.split() == ["1000", "6", "7", "0027"], "what is not said is the container's"
    said = oci("exec", "--user", "0", "--cap", "CAP_CHOWN", "other", "grep", "CapEff", "/proc/self/status", check=0).stdout
    assert said.split()[1] == f"{1:016x}"
    oci("delete", "--force", "other", check=0)
    done = oci("exec", "--cwd", "/none", "c", "pwd")
    assert done.returncode == 255 and "/none" in oci.last_error() and not (oci.base / "b1/rootfs/none").exists(), done
    assert oci("create", "--bundle", oci.bundle(), "a" * 256).returncode == 1 and "invalid container ID" in oci.last_error()
    assert oci("--log-format", "yaml", "list").returncode == 1
    oci("delete", "--force", "c", check=0)


def test_an_id_used_again_in_a_pod(oci):
    """At once, while the guest still remembers the old directory."""
    oci.started(*FOREVER, name="pod", annotations=bundles.of_pod("sandbox"))
    for number in range(4):
        bundle = oci.bundle("cat", "/etc/number", annotations=bundles.of_pod("container"))
        (bundle / "rootfs/etc/number").write_text(str(number))
        done = oci("run", "--bundle", bundle, "c")
        assert (done.returncode, done.stdout) == (0, str(number)), done
    oci("delete", "--force", "pod", check=0)


def test_words_that_are_wrong(oci):
    assert oci("nosuch").returncode == 1 and "no command nosuch" in oci.last_error()
    assert oci("create", "--nosuch", "c").returncode == 1 and "flag provided but not defined" in oci.last_error()
    assert oci("checkpoint", "c").returncode == 1 and "is not a command of this runtime" in oci.last_error()
    for command in ("create", "run", "exec"):
        assert oci(command, "--preserve-fds", "2", "c").returncode == 1 and "--preserve-fds" in oci.last_error()
    assert oci("--version").stdout.splitlines()[0].startswith("microagent-oci version ")
    features = json.loads(oci("features", check=0).stdout)
    assert features["ociVersionMin"] == "1.0.0" and "rbind" in features["mountOptions"] and "CAP_BPF" in features["linux"]["capabilities"]


@pytest.mark.parametrize("least,most,commands", [
    (0, 0, "list features"), (1, 1, "create run start state delete ps pause resume update events quarantine"), (1, 2, "kill"), (1, None, "exec")])
def test_too_many_words_and_too_few(oci, least, most, commands):
    """The error is as runc's. Nothing is done by halves: no word is ignored."""
    for command in commands.split():
        counts = {least - 1: f"exactly {least}" if least == most else f"a minimum of {least}"} if least else {}
        counts |= {} if most is None else {most + 1: f"exactly {most}" if least == most else f"a maximum of {most}"}
        for count, why in counts.items():
            done = oci(command, *["c", "TERM", "more"][:count])
            assert (done.returncode, oci.last_error()) == (1, f'"{command}" requires {why} argument(s)'), command
    assert not oci.root.exists()


def test_options_behind_the_words(oci):
    """They are also accepted there, as by runc. But for exec they belong to the command, and so do words behind --."""
    oci("delete", "none", "--force", check=0)
    oci.started(*FOREVER)
    assert oci("exec", "c", "echo", "--cwd", "/tmp").stdout == "--cwd /tmp\n"
    assert oci("exec", "--", "c", "echo", "--", "--cwd").stdout == "-- --cwd\n"
    assert oci("delete", "--", "c", "--force").returncode == 1 and 'exactly 1' in oci.last_error()
    assert oci("exec", "--nosuch", "c", "true").returncode == 1 and "not defined: --nosuch" in oci.last_error()
    oci("kill", "c", "KILL", "--all", check=0)
    oci.await_status("stopped")
    oci("delete", "c", "-f", check=0)
