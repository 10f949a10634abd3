# SPDX-License-Identifier: MIT
"""A dockerd with everything in its own folder. It uses a containerd of its own, and that one's network namespace, where
its bridge is."""

import json

from engines import image
from engines.containerd import Containerd
from engines.place import RUNTIME
from engines.terminal import Terminal

BRIDGE = "10.99.0.1/24"


class Docker(Containerd):
    def __init__(self, **more):
        super().__init__()
        self.docker_socket = self.base / "d.sock"
        self.env |= {"DOCKER_HOST": f"unix://{self.docker_socket}", "DOCKER_CONFIG": str(self.base / "docker-client")}
        (self.base / "daemon.json").write_text(json.dumps({
            "data-root": str(self.base / "docker"), "exec-root": str(self.base / "docker-run"),
            "pidfile": str(self.base / "dockerd.pid"), "hosts": [f"unix://{self.docker_socket}"],
            "containerd": str(self.socket), "containerd-namespace": self.cgroup, "cgroup-parent": f"/{self.cgroup}",
            "exec-opts": ["native.cgroupdriver=cgroupfs"],
            "deprecated-key-path": str(self.base / "key.json"), "iptables": False, "ip6tables": False, "ip-masq": False,
            "userland-proxy": False, "bip": BRIDGE,
            "runtimes": {"microagent": {"path": str(RUNTIME)}}, "default-runtime": "microagent", **more}))

    def begin(self):
        super().begin()
        self.daemon("dockerd", "--config-file", self.base / "daemon.json", "--containerd-plugins-namespace", f"{self.cgroup}.plugins",
                    answers=("docker", "version"))

    def __call__(self, *words, **kw):
        return self.run("docker", *words, **kw)

    def load(self, *archives):
        for archive in archives:
            self("load", "--quiet", "--input", archive, check=0)

    def container(self, *command, options=(), network="none", **kw):
        return self("run", "--rm", "--pull", "never", "--network", network, *options, image.NAME, *command, **kw)

    def detached(self, *command, options=(), network="none"):
        """Starts a container that goes on. Returns its id."""
        return self("run", "--detach", "--pull", "never", "--network", network, *options, image.NAME, *command, check=0).stdout.strip()

    def exec_terminal(self, name, *command):
        return Terminal(self.popen, "docker", "exec", "--interactive", "--tty", name, *command)

    def inspect(self, name):
        return json.loads(self("inspect", name, check=0).stdout)[0]

    def remove_all(self):
        names = self("ps", "--all", "--quiet", check=0).stdout.split()
        if names:
            self("rm", "--force", *names, check=0)

    def stop(self):
        """A dockerd that was killed leaves its root mounted on itself, with any runtime. The dockerd after it does the same."""
        super().stop()
        self.run("umount", self.base / "docker")
