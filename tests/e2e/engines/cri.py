# SPDX-License-Identifier: MIT
"""A client of the Container Runtime Interface, like the kubelet, and the containerd that it talks to. Debian's CNI
plugins make the interfaces of its pods, in the network namespace that containerd has for itself."""

import base64
import contextlib
import itertools
import json
import subprocess
from pathlib import Path

from conftest import HANG_S, OWN, wait_until
from engines import image
from engines.containerd import Containerd
from engines.place import RUNTIME
from engines.websocket import ExecStream, PortStream

CREATED, RUNNING, EXITED = range(3)
READY, NOT_READY = range(2)
PRIVATE = {"namespace_options": {"pid": 1}}  # the kubelet asks for this if processes are not to be shared
SUBNET = "10.98.0.0/24"
CONFIG = """[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{pause}"
netns_mounts_under_state_dir = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{base}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "microagent"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.microagent]
runtime_type = "io.containerd.runc.v2"
pod_annotations = ["io.microagent.*"]
privileged_without_host_devices = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.microagent.options]
BinaryName = "{runtime}"
Root = "{base}/oci"
"""


def service():
    """Returns the calls of cri.proto: {name: (class of the request, class of the answer)}."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    made = OWN / "cri.desc"
    subprocess.run(["/usr/bin/python3", "-m", "grpc_tools.protoc", f"-I{Path(__file__).parent}", f"--descriptor_set_out={made}",
                    "cri.proto"], check=True)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes()).file:
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    methods = pool.FindServiceByName("runtime.v1.RuntimeService").methods
    return {it.name: (factory.GetPrototype(it.input_type), factory.GetPrototype(it.output_type)) for it in methods}


class CallFailed(Exception):
    def __init__(self, code, details):
        super().__init__(f"{code}: {details}")
        self.code, self.details = code, details


class Cri(Containerd):
    caller = None  # the process that makes the calls

    def __init__(self):
        super().__init__(disabled=())
        with open(self.base / "config.toml", "a", encoding="utf-8") as config:
            config.write(CONFIG.format(base=self.base, pause=image.PAUSE, runtime=RUNTIME))
        (self.base / "cni").mkdir()
        (self.base / "cni/10-test.conflist").write_text(json.dumps({"cniVersion": "0.4.0", "name": "test", "plugins": [
            {"type": "ptp", "ipMasq": False, "mtu": 1400, "ipam": {
                "type": "host-local", "ranges": [[{"subnet": SUBNET}]], "routes": [{"dst": "0.0.0.0/0"}],
                "dataDir": str(self.base / "addresses")}}]}))
        self.attempts = itertools.count()
        self.configs = {}

    def words(self, *words):
        return ["ctr", "--address", self.socket, "--namespace", "k8s.io", *words]

    def begin(self):
        self.calls = service()
        super().begin()
        self.connect()

    def connect(self):
        self.caller = subprocess.Popen(["/usr/bin/python3", Path(__file__).with_name("cri_calls.py"), f"unix:{self.socket}"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def disconnect(self):
        self.caller.stdin.close()
        self.caller.wait(HANG_S)
        self.caller.stdout.close()

    def stop(self):
        if self.caller:
            self.disconnect()
        super().stop()

    def crash(self, *names):
        """The interface is ready later than containerd."""
        super().crash(*names)
        self.disconnect()
        self.connect()

        def answers():
            with contextlib.suppress(CallFailed):
                return bool(self.call("ListPodSandbox"))
        wait_until(answers, "the interface")

    def call(self, name, **fields):
        request, answer = self.calls[name]
        question = [name, HANG_S, base64.b64encode(request(**fields).SerializeToString()).decode()]
        self.caller.stdin.write(json.dumps(question).encode() + b"\n")
        self.caller.stdin.flush()
        said = json.loads(self.caller.stdout.readline())
        if "answer" not in said:
            raise CallFailed(said["code"], said["details"])
        return answer.FromString(base64.b64decode(said["answer"]))

    def load(self, *archives):
        """The interface learns of an image by an event."""
        super().load(*archives)
        for name in (image.NAME, image.PAUSE):
            wait_until(lambda name=name: f"{name} " in (listed := self("images", "ls", check=0).stdout) and
                       any(line.startswith(name) and "io.cri-containerd.image=managed" in line for line in listed.splitlines()), name)

    def pod(self, hostname="of-the-pod", privileged=False, **more):
        number = next(self.attempts)
        logs = self.base / "logs" / str(number)
        config = {"metadata": {"name": f"pod{number}", "uid": f"uid{number}", "namespace": "test"}, "hostname": hostname,
                  "log_directory": str(logs), "linux": {"cgroup_parent": f"/{self.cgroup}", "security_context": {**PRIVATE, "privileged": privileged}}, **more}
        pod = self.call("RunPodSandbox", config=config, runtime_handler="microagent").pod_sandbox_id
        self.configs[pod] = config
        return pod

    def status(self, pod):
        return self.call("PodSandboxStatus", pod_sandbox_id=pod).status

    def create(self, pod, *command, user="", privileged=False, **more):
        """Makes a container in the pod. Returns it and the path of its log."""
        number = next(self.attempts)
        config = {"metadata": {"name": f"c{number}"}, "image": {"image": image.NAME}, "command": command, "log_path": f"{number}.log",
                  "linux": {"security_context": {**PRIVATE, "run_as_username": user, "privileged": privileged}}, **more}
        container = self.call("CreateContainer", pod_sandbox_id=pod, config=config, sandbox_config=self.configs[pod]).container_id
        return container, Path(self.configs[pod]["log_directory"]) / f"{number}.log"

    def start(self, pod, *command, **more):
        container, log = self.create(pod, *command, **more)
        self.call("StartContainer", container_id=container)
        return container, log

    def state(self, container):
        return self.call("ContainerStatus", container_id=container).status

    def ended(self, container):
        """Returns the exit code when there is one."""
        wait_until(lambda: self.state(container).state == EXITED, f"the end of {container}")
        return self.state(container).exit_code

    def exec_sync(self, container, *command, timeout=0):
        done = self.call("ExecSync", container_id=container, cmd=command, timeout=timeout)
        return done.exit_code, done.stdout.decode(), done.stderr.decode()

    def exec_stream(self, container, *command):
        return ExecStream(self.network, self.call("Exec", container_id=container, cmd=command, tty=True, stdin=True, stdout=True).url)

    def port_stream(self, pod, port):
        return PortStream(self.network, self.call("PortForward", pod_sandbox_id=pod, port=[port]).url)

    def logged(self, log, stream="stdout"):
        """Returns the lines of a container's stream."""
        lines = (line.split(" ", 3) for line in log.read_text().splitlines())
        return [text for _, of, _, text in lines if of == stream]

    def remove_pod(self, pod):
        self.call("StopPodSandbox", pod_sandbox_id=pod)
        self.call("RemovePodSandbox", pod_sandbox_id=pod)

    def remove_all(self):
        for pod in self.call("ListPodSandbox").items:
            self.remove_pod(pod.id)
