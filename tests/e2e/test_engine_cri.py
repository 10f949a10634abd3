# SPDX-License-Identifier: MIT
"""Tests pods and containers as the kubelet makes them, by containerd's Container Runtime Interface with the OCI runtime."""

import re

import pytest

from conftest import wait_until
from engines.cri import CREATED, EXITED, NOT_READY, READY, RUNNING, CallFailed

soak = pytest.mark.soak
WAITING = "sleep infinity & wait"
HANDLED = f"trap 'exit 4' TERM; echo ready; {WAITING}"


def sh(line):
    return "/bin/sh", "-c", line


def test_a_pod_and_its_container(cri):
    pod = cri.pod()
    assert cri.status(pod).state == READY
    container, log = cri.create(pod, *sh("echo out; echo err >&2; exit 7"))
    assert cri.state(container).state == CREATED
    cri.call("StartContainer", container_id=container)
    assert cri.ended(container) == 7
    assert (cri.logged(log), cri.logged(log, "stderr")) == (["out"], ["err"])
    cri.call("StopPodSandbox", pod_sandbox_id=pod)
    assert cri.status(pod).state == NOT_READY


def test_two_containers_and_exec(cri):
    """The containers share the loopback, but neither files nor processes."""
    pod = cri.pod()
    first, _ = cri.start(pod, *sh("touch /tmp/first; while :; do echo of-the-pod | nc -l -p 8080; done"))
    second, _ = cri.start(pod, *sh(WAITING))
    code, out, err = cri.exec_sync(second, *sh("until nc 127.0.0.1 8080 < /dev/null > /tmp/said 2> /dev/null && test -s /tmp/said; "
                                               "do :; done; cat /tmp/said; ls /tmp; echo err >&2; exit 5"))
    assert (code, out, err) == (5, "of-the-pod\nsaid\n", "err\n")
    assert "nc -l" not in cri.exec_sync(second, "ps")[1]
    assert cri.exec_sync(first, "ls", "/tmp")[1] == "first\n"


def test_address_of_cni(cri):
    """Programs have the address that the plugin gave. The host reaches it, and it reaches the host."""
    pod = cri.pod()
    container, _ = cri.start(pod, *sh("while :; do echo answered | nc -l -p 8080; done"))
    address = cri.status(pod).network.ip
    shown = cri.exec_sync(container, "ip", "address", "show", "eth0")[1]
    assert re.search(rf"inet {re.escape(address)}/", shown) and "mtu 1400" in shown, shown
    assert cri.exec_sync(container, "ping", "-c", "1", "10.98.0.1")[0] == 0
    wait_until(lambda: "answered" in cri.in_network("busybox", "nc", address, "8080").stdout, "the pod's server")


@soak
def test_port_forward(cri):
    """Port-forward to a program on the loopback, and to a port without a program."""
    pod = cri.pod()
    container, _ = cri.start(pod, *sh(f"httpd -p 127.0.0.1:8080 -h /etc; {WAITING}"))
    wait_until(lambda: ":8080" in cri.exec_sync(container, "netstat", "-ltn")[1], "the pod's server")
    data, error = cri.port_stream(pod, 8080).ask(b"GET /motd HTTP/1.0\r\n\r\n")
    assert b"200 OK" in data and data.endswith(b"a file of the image\n") and not error, (data, error)
    assert cri.port_stream(pod, 8081).ask(b"GET")[0] == b""


@soak
def test_exec_with_a_terminal(cri):
    pod = cri.pod()
    container, _ = cri.start(pod, *sh(WAITING))
    stream = cri.exec_stream(container, *sh("trap 'stty size' WINCH; tty; until test \"$x\" = end; do read -t 1 x; done; exit 9"))
    stream.until("/dev/pts/")
    stream.resize(50, 99)
    stream.until("50 99")
    stream.type("end\n")
    assert stream.end() == 9, stream.text


@soak
def test_stop(cri):
    """A container ends by its handler, and by force if it does not listen."""
    pod = cri.pod()
    container, log = cri.start(pod, *sh(HANDLED))
    wait_until(lambda: cri.logged(log) == ["ready"], "the handler")
    cri.call("StopContainer", container_id=container, timeout=60)
    assert cri.ended(container) == 4
    deaf, _ = cri.start(pod, "/bin/sleep", "infinity")
    cri.call("StopContainer", container_id=deaf, timeout=1)
    assert cri.ended(deaf) == 137
    assert cri.status(pod).state == READY


@soak
def test_restart(cri):
    """A container after the one that ended is in the same pod with its address, and without its files."""
    pod = cri.pod()
    first, _ = cri.start(pod, *sh("touch /tmp/first; exit 1"))
    assert cri.ended(first) == 1
    cri.call("RemoveContainer", container_id=first)
    address = cri.status(pod).network.ip
    again, log = cri.start(pod, *sh(f"ls /tmp; ip address show eth0; {WAITING}"))
    wait_until(lambda: any(address in line for line in cri.logged(log)), "the address")
    assert "first" not in cri.logged(log)
    assert cri.state(again).state == RUNNING


@soak
def test_annotations_of_the_pod(cri):
    """containerd gives them to each of its containers."""
    pod = cri.pod(annotations={"io.microagent.rootfs": "overlay"})
    container, log = cri.start(pod, *sh("head -n 1 /proc/self/mounts; touch /tmp/own && ls /tmp"))
    assert cri.ended(container) == 0
    said = cri.logged(log)
    assert "upperdir=upper," in said[0] and said[1:] == ["own"], said


@soak
def test_volumes(cri):
    for name in ("rw", "ro"):
        (cri.base / name).mkdir(exist_ok=True)
        (cri.base / name / "file").write_text(f"of the host, {name}\n")
    mounts = [{"container_path": to, "host_path": f"{cri.base}/{name}", "readonly": name != "rw"}
              for to, name in (("/var/data", "rw"), ("/made/by/runtime", "ro"), ("/etc/motd", "ro/file"))]
    container, log = cri.start(cri.pod(), *sh("cat /var/data/file /made/by/runtime/file /etc/motd; echo of the container > /var/data/new; "
                                              "touch /made/by/runtime/new || echo refused"), mounts=mounts)
    assert cri.ended(container) == 0
    assert cri.logged(log) == ["of the host, rw", "of the host, ro", "of the host, ro", "refused"]
    assert (cri.base / "rw/new").read_text() == "of the container\n"


@soak
def test_a_volume_of_two(cri):
    """One container sees what the other writes, as with emptyDir."""
    (cri.base / "shared").mkdir(exist_ok=True)
    mounts = [{"container_path": "/var/data", "host_path": f"{cri.base}/shared"}]
    pod = cri.pod()
    reader, log = cri.start(pod, *sh("until test -s /var/data/new; do :; done; cat /var/data/new"), mounts=mounts)
    writer, _ = cri.start(pod, *sh("echo of the other > /var/data/part; mv /var/data/part /var/data/new"), mounts=mounts)
    assert (cri.ended(writer), cri.ended(reader)) == (0, 0)
    assert cri.logged(log) == ["of the other"]


@soak
def test_removed_while_it_runs(cri):
    """Removes a container, and a pod with all that is in it."""
    pod = cri.pod()
    container, _ = cri.start(pod, "/bin/sleep", "infinity")
    cri.call("RemoveContainer", container_id=container)
    cri.start(pod, "/bin/sleep", "infinity")
    cri.start(pod, *sh(WAITING))
    cri.call("RemovePodSandbox", pod_sandbox_id=pod)
    assert not cri.call("ListPodSandbox").items
    assert not cri.containers()


@soak
def test_status_codes(cri):
    """The status after a signal, of a container that cannot begin, and of an exec that takes too long."""
    pod = cri.pod()
    killed, _ = cri.start(pod, *sh("sh -c 'kill -9 $$'; exit $?"))
    assert cri.ended(killed) == 137
    container, _ = cri.start(pod, *sh(WAITING))
    with pytest.raises(CallFailed) as refused:
        cri.start(pod, "/bin/nothing")
    assert "/bin/nothing" in refused.value.details
    with pytest.raises(CallFailed) as late:
        cri.exec_sync(container, *sh("sleep infinity"), timeout=1)
    assert late.value.code == "DEADLINE_EXCEEDED", late.value
    assert cri.exec_sync(container, "/bin/true")[0] == 0


@soak
def test_privileged(cri):
    """All capabilities and no masks, in a machine that has no device of the host."""
    pod = cri.pod(privileged=True)
    container, log = cri.start(pod, *sh("hostname renamed; hostname; mount -t tmpfs tmpfs /tmp && echo mounted; echo 1 > /proc/sys/net/ipv4/ip_forward && "
                                        "echo written; ls -d /dev/vda /dev/autofs"), privileged=True)
    cri.ended(container)
    assert cri.logged(log) == ["renamed", "mounted", "written"]


@soak
def test_hostname(cri):
    """The address of the pod, in each container."""
    pod = cri.pod(hostname="named-by-pod")
    for _ in range(2):
        container, _ = cri.start(pod, *sh(WAITING))
        assert cri.exec_sync(container, "hostname")[1] == "named-by-pod\n"


@soak
def test_user_folder_and_environment(cri):
    container, log = cri.start(cri.pod(), *sh("id -u; id -g; pwd; echo $OF_IMAGE $ADDED; touch /etc/motd || echo refused"), user="user",
                               working_dir="/home/user", envs=[{"key": "ADDED", "value": "a b"}])
    assert cri.ended(container) == 0
    assert cri.logged(log) == ["1000", "1000", "/home/user", "yes a b", "refused"]
    assert cri.state(container).state == EXITED
