# SPDX-License-Identifier: MIT
"""Makes OCI bundles and runs microagent-oci on them, with a state directory of the test."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess

import strays
from conftest import BIN, HANG_S, Child, wait_until

APPLETS = ("sh", "ls", "cat", "id", "mount", "stat", "sleep", "ps", "hostname", "tty", "kill", "echo", "pwd", "env", "stty", "head",
           "true", "touch", "mkdir", "chmod", "grep", "dd", "ln", "rm", "wc", "mknod", "ifconfig", "ip", "df", "sync")
ALL = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID", "CAP_SETUID", "CAP_SETFCAP",
       "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL", "CAP_AUDIT_WRITE"]
SEEN = "/run/microagent-containers"  # by the guest
SPACES = ("pid", "network", "ipc", "uts", "mount")


def config(*args, **changes):
    """Returns a config.json as engines write it. A change of None leaves a field out."""
    whole = {
        "ociVersion": "1.0.2",
        "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": list(args) or ["/bin/sh"], "cwd": "/",
                    "env": ["PATH=/bin", "TERM=xterm"], "noNewPrivileges": True,
                    "capabilities": {name: ALL for name in ("bounding", "effective", "permitted")},
                    "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}]},
        "root": {"path": "rootfs", "readonly": False},
        "hostname": "inside",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
            {"destination": "/dev/pts", "type": "devpts", "source": "devpts",
             "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]},
            {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
            {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": ["nosuid", "noexec", "nodev", "relatime", "ro"]}],
        "linux": {"namespaces": [{"type": kind} for kind in SPACES],
                  "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/acpi"], "readonlyPaths": ["/proc/sys", "/proc/bus"]},
    }
    for key, value in changes.items():
        part = whole.get(key)
        whole[key] = {**part, **value} if isinstance(value, dict) and isinstance(part, dict) else value
    return {key: value for key, value in whole.items() if value is not None}


def of_pod(kind):
    """Returns annotations as containerd's CRI plugin writes them. kind is sandbox or container."""
    return {"io.kubernetes.cri.container-type": kind, "io.kubernetes.cri.sandbox-id": "pod"}


def in_pod(pid):
    """Returns the linux section of a container that shares namespaces with the sandbox of its pod."""
    shared = [{"type": kind, "path": f"/proc/{pid}/ns/{name}"} for kind, name in (("ipc", "ipc"), ("uts", "uts"), ("network", "net"))]
    return {**config()["linux"], "namespaces": [{"type": "mount"}, {"type": "pid"}, *shared]}


class Runtime:
    def __init__(self, base):
        self.bin = BIN
        self.base = base
        self.root = base / "oci"
        self.log = base / "log"
        self.count = 0
        self.wrap = []  # words before each command
        self.env = {**os.environ, "TMPDIR": str(base)}

    def popen(self, *words, **kw):
        kw = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kw}
        return Child([*self.wrap, str(self.bin / "microagent-oci"), "--root", str(self.root), "--log", str(self.log), "--log-format", "json", *map(str, words)],
                     env=self.env, cwd=self.base, **kw)

    def __call__(self, *words, check=None, input=None, **kw):
        if input is not None:
            kw["stdin"] = subprocess.PIPE
        child = self.popen(*words, **kw)
        out, err = (part.decode(errors="replace") if part else "" for part in child.communicate(input, timeout=HANG_S))
        assert check is None or child.returncode == check, f"{words}: exit {child.returncode}\n{out}\n{err}"
        return subprocess.CompletedProcess(words, child.returncode, out, err)

    def bundle(self, *args, **changes):
        """Makes a folder with a config.json and a root of its own."""
        self.count += 1
        path = self.base / f"b{self.count}"
        (path / "rootfs" / "bin").mkdir(parents=True)
        for name in ("etc", "tmp"):
            (path / "rootfs" / name).mkdir()
        shutil.copy("/bin/busybox", path / "rootfs" / "bin" / "busybox")
        for name in APPLETS:
            (path / "rootfs" / "bin" / name).symlink_to("busybox")
        (path / "config.json").write_text(json.dumps(config(*args, **changes)))
        return path

    def run(self, *args, name="c", **changes):
        """Runs one command in a container of its own. Returns exit code, stdout, stderr."""
        done = self("run", "--bundle", self.bundle(*args, **changes), name)
        return done.returncode, done.stdout, done.stderr

    def sh(self, script, **changes):
        code, out, err = self.run("sh", "-c", script, **changes)
        assert code == 0, (code, out, err)
        return out

    def create(self, *args, name="c", words=(), out=subprocess.DEVNULL, **changes):
        """Starts a container whose output goes to a descriptor. Returns its pid."""
        pid = self.base / f"{name}.pid"
        done = self("create", "--bundle", self.bundle(*args, **changes), "--pid-file", pid, *words, name, stdout=out, stderr=out)
        assert done.returncode == 0, self.last_error()
        return int(pid.read_text())

    def started(self, *args, name="c", **kw):
        pid = self.create(*args, name=name, **kw)
        self("start", name, check=0)
        return pid

    def state(self, name="c"):
        return json.loads(self("state", name, check=0).stdout)

    def status(self, name="c"):
        return self.state(name)["status"]

    def seen(self, name="c"):
        """Returns the path of the container's root, as the guest's own root sees it."""
        guest = json.loads((self.root / name / "state.json").read_text())["guest"]
        return f"{SEEN}/{guest}/rootfs"

    def in_the_guest(self, *words, name="c"):
        """Runs a program of the container as the guest's own root, outside of any container."""
        machine = next((self.root / ".machines/sessions").glob("sandbox-*")).name
        return subprocess.run([str(BIN / "microagent"), "--state-dir", str(self.root / ".machines/sessions"), "exec", "-u", "root", machine, "--",
                               f"{self.seen(name)}/bin/busybox", *words], capture_output=True, text=True, timeout=HANG_S, check=False)

    def logged(self, level):
        lines = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return [line["msg"] for line in lines if line["level"] == level]

    def last_error(self):
        return next(reversed(self.logged("error")), "")

    def await_status(self, status, name="c"):
        wait_until(lambda: self.status(name) == status, f"{name} to be {status}")

    def left(self):
        problems = strays.processes(self.base) + strays.mounts(self.base)
        if self.root.exists():
            problems += [f"left: {path.name}" for path in self.root.iterdir() if not path.name.startswith(".")]
            problems += [f"left: {path}" for place in (".shares", ".machines/sessions") if (self.root / place).exists()
                         for path in (self.root / place).iterdir() if path.name not in (".locks", ".microagent-state")]
        return problems

    def close(self, look):
        try:
            problems = self.left() if look else []
        finally:
            for pid in strays.running(self.base):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for line in reversed(strays.mounts(self.base)):
                subprocess.run(["umount", "-l", line.split()[5]], check=False, stderr=subprocess.DEVNULL)
            shutil.rmtree(self.base, ignore_errors=True)
        assert not problems, "left behind:\n" + "\n".join(problems)


class Console:
    """The engine's end of --console-socket, through which the master comes."""

    def __init__(self, path):
        self.path = path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.listener.settimeout(HANG_S)

    def accept(self):
        """Returns the master of the terminal."""
        with self.listener.accept()[0] as peer:
            name, fds, _, _ = socket.recv_fds(peer, 100, 1)
        assert name.startswith(b"/dev/pts/"), name
        return fds[0]
