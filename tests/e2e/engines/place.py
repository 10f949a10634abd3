# SPDX-License-Identifier: MIT
"""The folder of an engine, its cgroups, and the check that nothing is left of it at the end. Everything of an engine is
recognised by the folder's path or by the name of the cgroup above its containers. So engines beside each other do
not take another's things for theirs."""

import contextlib
import importlib.util
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import strays
from conftest import BIN, HANG_S, Child, wait_until

RUNTIME = Path(os.environ.get("MICROAGENT_OCI_RUNTIME", BIN / "microagent-oci"))
CGROUPS = Path("/sys/fs/cgroup")
# Debian's engines. What they need of each other is in their packages.
PROGRAMS = {"containerd": ("containerd", "ctr", "containerd-shim-runc-v2"), "podman": ("podman", "conmon"),
            "docker": ("dockerd", "docker", "containerd"), "cri": ("containerd", "/usr/lib/cni/ptp"), "image": ("umoci", "skopeo", "busybox")}


# Files that engines make on the host with any settings, and leave empty.
HOST_FOLDERS = ("/run/docker/plugins", "/run/docker", "/var/lib/cni/results", "/var/lib/cni/cache", "/var/lib/cni")


def lacking(*engines):
    """Returns why these engines cannot be tested here, or ""."""
    if not os.access(RUNTIME, os.X_OK):
        return f"no OCI runtime {RUNTIME}"
    if os.geteuid() != 0:
        return "engines of containers are root's"
    missing = [program for engine in ("image", *engines) for program in PROGRAMS[engine] if not shutil.which(program)]
    missing += ["python3-grpcio"] if "cri" in engines and not importlib.util.find_spec("grpc") else []
    if missing:
        return f"{', '.join(missing)} is not installed (scripts/install-packages.sh engines)"
    return ""


def cgroups(name):
    """Returns the folders below the cgroup of this name in each hierarchy, the deepest first."""
    tops = [top for top in (CGROUPS / name, *CGROUPS.glob(f"*/{name}")) if top.is_dir()]
    return [Path(folder) for top in tops for folder, _, _ in os.walk(top, topdown=False) if Path(folder) != top], tops


def members(name):
    """Returns its processes: {pid: command line}."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if re.search(f"/{name}(/|$)", Path("/proc", entry, "cgroup").read_text(), re.M):
                state = Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[0]
                if state != "Z":
                    found[int(entry)] = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found


class Place:
    """A folder for one engine, its environment and its daemons."""

    def __init__(self):
        self.base = Path(tempfile.mkdtemp(prefix="n-"))
        self.base.chmod(0o755)
        self.cgroup = f"ma{secrets.token_hex(4)}"
        self.tmp = self.base / "tmp"
        self.tmp.mkdir()
        self.env = {**os.environ, "TMPDIR": str(self.tmp)}
        self.network = None  # the file of its network namespace
        self.new_folders = [folder for folder in HOST_FOLDERS if not os.path.exists(folder)]
        self.daemons = {}  # by their programs

    def begin(self):
        """Starts its daemons."""

    def wrapper(self):
        """Returns the runtime for an engine that gives it no state directory and no environment. It has the runtime's
        own name, since podman concludes from the name what a runtime can do."""
        path = self.base / "bin" / RUNTIME.name
        path.parent.mkdir(exist_ok=True)
        known = [name for name in self.env if name in ("HOME", "TMPDIR", "XDG_CACHE_HOME") or name.startswith("MICROAGENT_")]
        exports = "".join(f"export {name}={shlex.quote(self.env[name])}\n" for name in known)
        path.write_text(f'#!/bin/sh\n{exports}exec {RUNTIME} --root {self.base}/oci "$@"\n')
        path.chmod(0o755)
        return path

    def daemon(self, *words, answers):
        """Starts a daemon in the engine's network namespace, and waits until it answers those words. The first daemon
        makes the namespace, so that no interface, address or rule is the host's."""
        into = ["nsenter", f"--net={self.network}"] if self.network else ["unshare", "--net"]
        with open(self.base / f"{words[0]}.log", "ab") as log:
            it = Child([*into, "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *map(str, words)], env=self.env, cwd=self.base,
                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.daemons[words[0]] = it
        it.again = lambda: self.daemon(*words, answers=answers)

        def ready():
            assert it.poll() is None, self.last_words()
            return self.run(*answers).returncode == 0
        wait_until(ready, " ".join(map(str, answers)))
        if not self.network:
            self.space = open(f"/proc/{it.pid}/ns/net", "rb")  # it outlives the daemon
            self.network = f"/proc/{os.getpid()}/fd/{self.space.fileno()}"

    def crash(self, *names):
        """Kills these daemons and starts them again."""
        killed = [self.daemons[name] for name in names]
        for daemon in killed:
            daemon.kill()
        for daemon in killed:
            daemon.wait()
        for daemon in killed:
            daemon.again()

    def run(self, *words, check=None, input=None, timeout=HANG_S):
        """Runs a command of an engine. check is the exit code that must come back."""
        child = self.popen(*words, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE)
        try:
            out, err = (part.decode(errors="replace") for part in child.communicate(input, timeout=timeout))
        except subprocess.TimeoutExpired:
            child.kill()
            raise AssertionError(f"{words} hung\n{self.last_words()}") from None
        assert check is None or child.returncode == check, f"{words}: exit {child.returncode}\n{out}\n{err}\n{self.last_words()}"
        return subprocess.CompletedProcess(words, child.returncode, out, err)

    def popen(self, *words, **kw):
        kw = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kw}
        return Child(list(map(str, words)), env=self.env, cwd=self.base, **kw)

    def last_words(self):
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-2000:]}" for log in self.base.glob("*.log"))

    def in_network(self, *words, **kw):
        """Runs a command in the engine's network namespace."""
        return self.run("nsenter", f"--net={self.network}", *words, **kw)

    def stop(self):
        """Returns the engine's daemons, the last one first."""
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
            daemon.wait()

    def left(self, seconds=60):
        """Returns what is left when nothing of it should be left."""
        problems = strays.processes(self.base, seconds) + strays.mounts(self.base)
        end = time.monotonic() + seconds  # if its parent was killed, another process reaps it later
        while (inside := members(self.cgroup)) and time.monotonic() < end:
            time.sleep(0.02)
        problems += [f"process {pid}: {line[:300]}" for pid, line in inside.items()]
        problems += [f"cgroup {folder}" for folder in cgroups(self.cgroup)[0]]
        return problems + [f"temporary file {path}" for path in self.tmp.iterdir()]

    def close(self, look):
        """Ends the engine, after which nothing is left on the host. look: it is a failure if something must be ended by force."""
        try:
            self.stop()
            problems = self.left() if look else []
            assert not problems, "left behind:\n" + "\n".join(problems)
        finally:
            self.sweep()

    def sweep(self):
        for state in (folder / "freezer.state" for folder in cgroups(self.cgroup)[0]):
            with contextlib.suppress(OSError):
                state.write_text("THAWED")

        def gone():
            alive = {**strays.running(self.base), **members(self.cgroup)}
            for pid in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not alive
        wait_until(gone, f"the end of all of {self.base}")
        for daemon in self.daemons.values():
            daemon.wait()
        if self.network:
            self.space.close()
        for line in reversed(strays.mounts(self.base)):
            subprocess.run(["umount", "--lazy", line.split()[5]], check=False, stderr=subprocess.DEVNULL)
        inner, tops = cgroups(self.cgroup)
        for folder in (*inner, *tops, *self.new_folders):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        # Removes files, but never through a mount into another's files.
        if not strays.mounts(self.base):
            shutil.rmtree(self.base, ignore_errors=True)
