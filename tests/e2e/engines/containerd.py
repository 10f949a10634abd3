# SPDX-License-Identifier: MIT
"""A containerd with everything in its own folder, and `ctr` for it."""

import itertools
import json
import subprocess

from engines import image
from engines.place import RUNTIME, Place
from engines.terminal import Terminal

CONFIG = """version = 2
root = "{base}/root"
state = "{base}/run"
disabled_plugins = [{disabled}]
[grpc]
address = "{base}/c.sock"
[plugins."io.containerd.internal.v1.opt"]
path = "{base}/opt"
{more}
"""
BEGIN = ("/bin/sh", "-c", 'echo begin; echo begin >&2; read line; exec "$@"', "sh")
UNUSED = ("snapshotter.v1.aufs", "snapshotter.v1.btrfs", "snapshotter.v1.devmapper", "snapshotter.v1.zfs",
          "tracing.processor.v1.otlp", "internal.v1.tracing")


class Containerd(Place):
    """The name of its namespace is the name of the cgroup, since ctr's containers are put below that."""

    def __init__(self, more="", disabled=("grpc.v1.cri",)):
        super().__init__()
        self.socket = self.base / "c.sock"
        self.numbers = itertools.count(1)
        (self.base / "config.toml").write_text(CONFIG.format(
            base=self.base, more=more, disabled=", ".join(f'"io.containerd.{name}"' for name in (*UNUSED, *disabled))))

    def begin(self):
        self.daemon("containerd", "--config", self.base / "config.toml", "--log-level", "info",
                    answers=self.words("version"))

    def words(self, *words):
        return ["ctr", "--address", self.socket, "--namespace", self.cgroup, *words]

    def __call__(self, *words, **kw):
        return self.run(*self.words(*words), **kw)

    def load(self, *archives):
        for archive in archives:
            self("images", "import", archive, check=0)

    def name(self):
        return f"c{next(self.numbers)}"

    def run_words(self, *options, name, command, rm=True, of=image.NAME):
        return self.words("run", *(["--rm"] if rm else []), "--fifo-dir", self.base / "fifo", "--runc-binary", RUNTIME,
                          "--runc-root", self.base / "oci", *options, of, name, *command)

    def read(self, words, check):
        """ctr loses output of a process that ends before ctr has opened the pipes. So the process of these words, which
        follow BEGIN, goes on only when something has come through both pipes."""
        child = self.popen(*words, stdin=subprocess.PIPE)
        first = {stream: stream.readline() for stream in (child.stdout, child.stderr)}
        begun = set(first.values()) == {b"begin\n"}
        if begun:
            child.stdin.write(b"\n")
            child.stdin.flush()
        out, err = ((b"" if begun else first[stream]) + rest
                    for stream, rest in zip((child.stdout, child.stderr), child.communicate()))
        assert check is None or child.returncode == check, f"{words}: exit {child.returncode}\n{out}\n{err}\n{self.last_words()}"
        return subprocess.CompletedProcess(words, child.returncode, out.decode(), err.decode())

    def container(self, *command, options=(), check=None):
        """Runs `ctr run --rm`."""
        return self.read(self.run_words(*options, name=self.name(), command=(*BEGIN, *command)), check)

    def detached(self, *command, options=(), of=image.NAME, name=None):
        """Starts a container that goes on. Returns its name."""
        name = name or self.name()
        self.run(*self.run_words("--detach", *options, name=name, command=command, rm=False, of=of), check=0)
        return name

    def exec_words(self, name, *command, options=()):
        return self.words("task", "exec", "--fifo-dir", self.base / "fifo", "--exec-id", self.name(), *options, name, *command)

    def exec(self, name, *command, options=(), check=None):
        return self.read(self.exec_words(name, *BEGIN, *command, options=options), check)

    def exec_terminal(self, name, *command):
        return Terminal(self.popen, *self.exec_words(name, *command, options=("--tty",)))

    def tasks(self):
        """Returns {name: (pid, status)}."""
        lines = self("task", "ls", check=0).stdout.splitlines()[1:]
        return {name: (int(pid), status) for name, pid, status in map(str.split, lines)}

    def wait(self, name):
        """Returns the exit code of a task. A caller that asks before its end is told of the end."""
        return self.popen(*self.words("task", "wait", name), stderr=subprocess.STDOUT)

    def remove(self, name):
        """Ends a container and its task, whatever the task does. Its own client may do the same at that moment."""
        if name in self.tasks():
            self("task", "rm", "--force", name)
        done = self("container", "rm", name)
        assert name not in self.containers(), done.stderr

    def containers(self):
        return self("container", "ls", "-q", check=0).stdout.split()

    def info(self, name):
        return json.loads(self("container", "info", name, check=0).stdout)

    def remove_all(self):
        for name in self.containers():
            self.remove(name)
