# SPDX-License-Identifier: MIT
"""podman with everything in its own folder. It has no daemon, and conmon is the parent of its containers."""

import contextlib
import json

from conftest import wait_until
from engines import image
from engines.place import Place, cgroups
from engines.terminal import Terminal

# Locks in shared memory would belong to all podmans of the host. Only a process with more rights may raise limits above
# the host's own.
CONFIG = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "none"
log_driver = "k8s-file"
[engine]
lock_type = "file"
cgroup_manager = "cgroupfs"
events_logger = "file"
volume_path = "{base}/volumes"
[network]
network_config_dir = "{base}/networks"
"""
STORAGE = """[storage]
driver = "overlay"
graphroot = "{base}/root"
runroot = "{base}/run"
"""


class Podman(Place):
    def __init__(self):
        super().__init__()
        for name, text in (("containers.conf", CONFIG), ("storage.conf", STORAGE)):
            (self.base / name).write_text(text.format(base=self.base))
        # Podman 5 prints a warning about such a host on stderr of each command.
        self.env["PODMAN_IGNORE_CGROUPSV1_WARNING"] = "1"
        self.env |= {"CONTAINERS_CONF": str(self.base / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(self.base / "storage.conf")}
        self.runtime = self.wrapper()

    def words(self, *words):
        return ["podman", "--root", self.base / "root", "--runroot", self.base / "run", "--tmpdir", self.base / "state",
                "--runtime", self.runtime, "--cgroup-manager", "cgroupfs", "--events-backend", "file", *words]

    def __call__(self, *words, **kw):
        return self.run(*self.words(*words), **kw)

    def load(self, *archives):
        for archive in archives:
            self("load", "--quiet", "--input", archive, check=0)

    def run_words(self, *options, command, of=image.NAME):
        return self.words("run", "--pull", "never", "--cgroup-parent", f"/{self.cgroup}", *options, of, *command)

    def container(self, *command, options=(), **kw):
        return self.run(*self.run_words("--rm", *options, command=command), **kw)

    def detached(self, *command, options=()):
        """Starts a container that goes on. Returns its id."""
        return self.run(*self.run_words("--detach", *options, command=command), check=0).stdout.strip()

    def exec_terminal(self, name, *command):
        return Terminal(self.popen, *self.words("exec", "--interactive", "--tty", name, *command))

    def inspect(self, name):
        return json.loads(self("inspect", name, check=0).stdout)[0]

    def remove_all(self):
        self("rm", "--all", "--force", "--time", "0", check=0)

    def stop(self):
        """Things that podman makes once and keeps: its root mounted on itself, and the cgroup of its conmons."""
        self.run("umount", self.base / "root/overlay")

        def removed():
            """The last conmon may not have ended yet."""
            kept = [folder for folder in cgroups(self.cgroup)[0] if folder.name == "conmon"]
            for folder in kept:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            return not kept
        wait_until(removed, "the end of all conmons", 60)
