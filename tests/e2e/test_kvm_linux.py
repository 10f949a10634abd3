# SPDX-License-Identifier: MIT
"""What differs between KVM and emulation when Linux is the guest; the stage kvm runs it, with tests of other files."""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

import kvm_host
from conftest import BIN, copy_disk, default_kernel, image, make_host

pytestmark = pytest.mark.skipif(os.environ.get("ACCEL") != "kvm", reason="the stage kvm has these, where Linux runs under KVM")
SMALL = ("--memory", "256", "--cpus", "1")
USER, GROUP = 4242, 4243


def test_the_verdict(host):
    """KVM is chosen when nothing is said of it, and everything that tells of the host says so."""
    facts = host.json("host")["host"]
    assert facts["kvmAvailable"] and facts["virtualizationSupported"] and facts["accelerator"] == "kvm"
    assert facts["acceleratorReason"].startswith("KVM runs 64-bit code at speed: ")
    row = next(row for row in host.json("doctor")["checks"] if row["name"] == "accelerator")
    assert (row["status"], row["detail"]) == ("ok", f"kvm: {facts['acceleratorReason']}")


def cpu_words(host):
    """What follows -cpu: of what KVM offers and does not let be set, the verdict that is remembered in the cache tells."""
    cache = Path(default_kernel(host)["path"]).parent.parent
    untaken = json.loads((cache / "host.json").read_text())["kvmUntaken"]
    return "host,-vmx,-svm" + (",-arch-capabilities" if untaken else "")


def test_the_processor(host):
    """It is the host's own, without virtual machines in it."""
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    pid = json.loads((host.state / "w" / "runtime.json").read_text())["pid"]
    words = Path("/proc", str(pid), "cmdline").read_bytes().decode().split("\0")
    assert words[words.index("-cpu") + 1] == cpu_words(host)
    assert words[words.index("-accel") + 1] == "kvm"
    inside = host("exec", "w", "--", "cat", "/proc/cpuinfo", check=0).stdout
    model, = re.findall(r"^model name\s*: .*$", inside, re.M)
    assert model in Path("/proc/cpuinfo").read_text().splitlines()
    assert not re.search(r"\b(vmx|svm)\b", inside)
    host("stop", "w", check=0)
    host("delete", "w", check=0)


@pytest.fixture
def user():
    """A host whose commands are an ordinary user's, who has the programs, a kernel and an image. Commands are begun in the
    group GROUP, or in no group but the user's own, by in_group()."""
    if os.geteuid() != 0:
        pytest.skip("only root makes nodes for KVM, and becomes another user")
    it = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    it.bin = it.base / "bin"
    subprocess.run(["cp", "-r", BIN, it.bin], check=True)
    kernel, disk = default_kernel(it), image(it, "busybox")
    for path in (kernel["path"], kernel["initrd"]):
        subprocess.run(["cp", path, it.base / ("kernel" + path.removeprefix(kernel["path"]))], check=True)
    copy_disk(disk["path"], it.base / "disk")
    subprocess.run(["chown", "-R", f"{USER}:{USER}", it.base], check=True)
    it.env["XDG_CACHE_HOME"] = str(it.base / "cache")
    it.words = ("run", *SMALL, "--kernel", it.base / "kernel", "--image", it.base / "disk")
    yield it
    it.assert_clean()
    it.sweep()
    subprocess.run(["rm", "-rf", it.base], check=True)


def in_group(host, group):
    host.wrap = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--groups", str(group)]


def test_a_user_with_and_without_the_right(user):
    """The right is that of the node's group, as a stock host has it. Who does not have it gets emulation and the reason,
    and is refused where KVM was asked for by name. A verdict that is remembered gives nobody the right."""
    node = kvm_host.make_node(user.base / "kvm", 0o660, GROUP)
    assert isinstance(node, Path), node
    user.env["MICROAGENT_TEST_KVM"] = str(node)
    in_group(user, USER)
    facts = user.json("host")["host"]
    assert not facts["kvmAvailable"] and facts["accelerator"] == "tcg"
    assert facts["acceleratorReason"].startswith("no rights to /dev/kvm: add the user to its group (usermod -aG kvm USER)")
    refused = user(*user.words, "--accelerator", "kvm", "--", "true")
    assert refused.returncode == 125 and f"accelerator kvm: {facts['acceleratorReason']}" in refused.stderr, refused
    assert not user.machines()
    in_group(user, GROUP)
    facts = user.json("host")["host"]
    assert facts["kvmAvailable"] and facts["accelerator"] == "kvm", facts
    done = user(*user.words, "--accelerator", "kvm", "--", "id", "-u")
    assert (done.returncode, done.stdout) == (0, "1000\n"), done
    in_group(user, USER)
    assert user.json("host")["host"]["accelerator"] == "tcg"


def test_the_firmware_has_a_deadline_of_its_own(host):
    """A paravirtual KVM emulates the firmware. What was seen of the guest decides which deadline counts, and is told."""
    config = host.config(hotplug=True)  # on q35, whose kernel writes nothing on the console

    def ask(command, config, **limits):
        document = {"command": command, "config": config,
                    "identity": {"requestID": "q", "runtimeID": "w", "role": "workload", "backend": "qemu"}}
        return host.supervisor(document, env={f"MICROAGENT_TEST_LIMIT_{name}": "1" for name in limits})[:2]
    assert ask("prepare", config)[0] == 0
    late = "the boot deadline passed: the guest was not ready within 1 ms "
    for limit, said in (("FIRMWARE_MS", late + "(kvm); the machine is still in its firmware, or nothing is seen of the guest's kernel yet"),
                        ("BOOT_KVM_MS", late + "after its kernel had begun (kvm); the guest said nothing on its serial console")):
        code, answer = ask("start", config, **{limit: 1})
        assert code != 0 and (answer["errorCode"], answer["error"]) == ("timeout", said), answer
        assert host.json("status", "w")["event"]["state"] == "failed"
    log = (host.state / "w" / "supervisor.log").read_text()
    assert log.count("the guest's kernel has begun: it drives the vsock device") == 1
    host("delete", "w", check=0)
