# SPDX-License-Identifier: MIT
"""Tests what differs between KVM and emulation if Linux is the guest. The stage kvm runs it, with tests of other files."""

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
PVM = "the KVM of this host is a paravirtual one (kvm_pvm), "
SUITED = PVM + "and the kernel is built for it"
UNSUITED = PVM + "which runs only kernels that are built for it at full speed; this kernel is not known to be built for it"
NO_IMAGE = 1  # doctor's exit code


def accelerator_row(host, code=0):
    """The output of doctor, which ends with the code."""
    return next(row for row in host.json("doctor", check=code)["checks"] if row["name"] == "accelerator")


def test_the_verdict(host):
    """KVM is chosen by default, and everything that describes the host says so."""
    facts = host.json("host")["host"]
    assert facts["kvmAvailable"] and facts["virtualizationSupported"] and facts["accelerator"] == "kvm"
    reason, kernels = (SUITED, "pvm") if kvm_host.PARAVIRTUAL.exists() else ("KVM runs 64-bit code at speed: ", "all")
    assert facts["acceleratorReason"].startswith(reason) and facts["kvmKernels"] == kernels
    row = accelerator_row(host)
    assert (row["status"], row["detail"]) == ("ok", f"kvm: {facts['acceleratorReason']}")


@pytest.fixture
def both_kernels(host):
    """Makes a cache with the kernel of the stage as "ours", recognised by its code, and a stock one as "a-stock", the default."""
    if not kvm_host.PARAVIRTUAL.exists() or not kvm_host.named_kernel():
        pytest.skip("the KVM here is no paravirtual one")
    stock = min(Path(os.environ[kvm_host.OWN_CACHE], "kernels").glob("tuned-*[0-9].json"), default=None)
    if not stock:
        pytest.skip("there is no tuned kernel in the user's own cache")
    default_kernel(host)  # of the stage, which other tests are to find as well
    disk = image(host, "busybox")["path"]
    host.env["MICROAGENT_CACHE_DIR"] = str(host.base / "cache")
    for name, path in (("ours", kvm_host.named_kernel()), ("a-stock", stock.with_suffix(""))):
        answer = host.json("kernel", "install", "--from", path, "--name", name)
        assert answer.get("forPvm", False) is (name == "ours")
    return (*SMALL, "--image", disk)


@pytest.mark.parametrize("patient", [False, True], ids=["a slow loop", "a fast loop"])
def test_a_paravirtual_kvm_is_judged_with_the_kernel(host, both_kernels, patient):
    """auto uses KVM with a kernel that is built for it and emulates any other, whatever the loop of the probe found.
    The remembered result of the loop is the same for both. On another kvm_pvm a stock kernel would be "usable" by
    the loop."""
    if patient:
        host.env.update(kvm_host.LOOP_PATIENCE)
    cache = Path(host.env["MICROAGENT_CACHE_DIR"])
    kept = set()
    for kernel, accelerator, reason in (("ours", "kvm", SUITED), ("a-stock", "tcg", UNSUITED), ("ours", "kvm", SUITED)):
        done = host("create", "w", *both_kernels, "--kernel", kernel, check=0)
        assert ("the machine is emulated (tcg)" in done.stderr) == (accelerator == "tcg"), done
        host("start", "w", check=0)
        runtime = json.loads((host.state / "w" / "runtime.json").read_text())
        assert (runtime["accelerator"], runtime["acceleratorReason"]) == (accelerator, reason)
        assert f" accelerator {accelerator}: {reason}\n" in (host.state / "w" / "supervisor.log").read_text()
        host("stop", "w", check=0)
        host("delete", "w", check=0)
        kept.add((cache / "host.json").read_text())
    assert {json.loads(text)["kvmVerdict"] for text in kept} == {"usable" if patient else "slow"}
    # The host's own answer is for the default kernel, and says for which kernels KVM is used.
    facts = host.json("host")["host"]
    assert (facts["accelerator"], facts["acceleratorReason"], facts["kvmAvailable"], facts["kvmKernels"]) == ("tcg", UNSUITED, False, "pvm")
    assert accelerator_row(host, NO_IMAGE) == {
        "name": "accelerator", "status": "degraded", "remedy": "--kernel ours, which is built for it",
        "detail": f"tcg: {UNSUITED}; emulation is no security boundary"}


def test_doctor_says_how_to_get_a_kernel_for_a_paravirtual_kvm(host, both_kernels):
    (Path(host.env["MICROAGENT_CACHE_DIR"]) / "kernels" / "ours.json").unlink()
    row = accelerator_row(host, NO_IMAGE)
    assert (row["status"], row["reason"], row["remedy"]) == ("degraded", "no-pvm-kernel", "microagent kernel install --from FILE")
    # If the user may not open the node, no kernel is usable. This is checked first.
    denied = kvm_host.make_node(host.base / "kvm", 0o600, 0)
    assert isinstance(denied, Path), denied
    assert host.json("host", env={"MICROAGENT_TEST_KVM": str(denied)})["host"]["kvmKernels"] == "none"


def test_kvm_by_name_with_a_kernel_that_nothing_is_known_of(host, both_kernels):
    """The user can see where 64-bit code runs at speed, and the log has the reason. Where it is emulated it is refused, as ever."""
    words = ("run", *both_kernels, "--kernel", "a-stock", "--accelerator", "kvm", "--", "true")
    refused = host(*words)
    assert refused.returncode == 125 and f"accelerator kvm: {UNSUITED}" in refused.stderr, refused
    assert not host.machines()
    host.env.update(kvm_host.LOOP_PATIENCE)
    host("create", "w", *words[1:-2], check=0)
    late = host("start", "w", env={"MICROAGENT_TEST_LIMIT_FIRMWARE_MS": "1"})
    assert late.returncode != 0 and "the boot deadline passed: " in late.stderr, late
    assert f" accelerator kvm: {UNSUITED}\n" in (host.state / "w" / "supervisor.log").read_text()
    host("delete", "w", check=0)


def test_a_supervisor_judges_by_the_kernel_of_the_request(host, both_kernels):
    """Without the library and its options: the cache of the supervisor's user says what the file is."""
    kernels = {kernel["name"]: kernel["path"] for kernel in host.json("kernel", "list")["kernels"]}
    elsewhere = host.base / "elsewhere"
    copy_disk(kernels["ours"], elsewhere)
    link = host.base / "link"
    link.symlink_to(kernels["ours"])
    for path, accelerator in ((kernels["ours"], "kvm"), (link, "kvm"), (kernels["a-stock"], "tcg"), (elsewhere, "tcg")):
        config = host.config(kernelPath=str(path), initrdPath=kernels["ours"] + ".initrd", cpuCount=None)
        document = {"command": "start", "config": config,
                    "identity": {"requestID": "q", "runtimeID": "w", "role": "workload", "backend": "qemu"}}
        code, answer, said = host.supervisor({**document, "command": "prepare"})
        assert code == 0, answer
        code, answer, said = host.supervisor(document, env={"MICROAGENT_TEST_LIMIT_FIRMWARE_MS": "1", "MICROAGENT_TEST_LIMIT_BOOT_TCG_MS": "1"})
        assert (code != 0, answer["errorCode"]) == (True, "timeout"), answer
        assert f"({accelerator})" in answer["error"], (path, answer)
        assert (f"(TCG), which is slow and no security boundary: {UNSUITED}" in said) == (accelerator == "tcg"), said
        host("delete", "w", check=0)


def cpu_words(host):
    """Returns the words behind -cpu. The remembered verdict says which features KVM offers and does not let be set."""
    cache = Path(default_kernel(host)["path"]).parent.parent
    untaken = json.loads((cache / "host.json").read_text())["kvmUntaken"]
    return "host,-vmx,-svm" + (",-arch-capabilities" if untaken else "")


def test_the_processor(host):
    """The processor is the host's own, without virtual machines in it."""
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
    """A host whose commands run as an ordinary user, who has the programs, a kernel and an image. in_group() starts
    commands in the group GROUP, or only in the user's own group."""
    if os.geteuid() != 0:
        pytest.skip("only root makes nodes for KVM, and becomes another user")
    it = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    it.bin = it.base / "bin"
    subprocess.run(["cp", "-r", BIN, it.bin], check=True)
    kernel, disk = default_kernel(it), image(it, "busybox")
    copy_disk(disk["path"], it.base / "disk")
    it.env.update({"XDG_CACHE_HOME": str(it.base / "cache"), "MICROAGENT_CACHE_DIR": ""})
    it(*kvm_host.INSTALL, "--from", kernel["path"], "--name", "kvm", check=0)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", it.base], check=True)
    it.words = ("run", *SMALL, "--kernel", "kvm", "--image", it.base / "disk")
    yield it
    it.assert_clean()
    it.sweep()
    subprocess.run(["rm", "-rf", it.base], check=True)


def in_group(host, group):
    host.wrap = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--groups", str(group)]


def test_a_user_with_and_without_the_right(user):
    """The node's group has the right, as on a stock host. A user without it gets emulation and the reason, and is
    refused if KVM was asked for by name. A remembered verdict gives nobody the right."""
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
    """A paravirtual KVM emulates the firmware. The signs of the guest decide which deadline counts, and the error names it."""
    config = host.config(hotplug=True)  # on q35, whose kernel writes nothing on the console

    def ask(command, config, **limits):
        document = {"command": command, "config": config,
                    "identity": {"requestID": "q", "runtimeID": "w", "role": "workload", "backend": "qemu"}}
        return host.supervisor(document, env={f"MICROAGENT_TEST_LIMIT_{name}": "1" for name in limits})[:2]
    assert ask("prepare", config)[0] == 0
    late = "the boot deadline passed: the guest was not ready within 1 ms "
    for limit, said in (("FIRMWARE_MS", late + "(kvm); the machine is still in its firmware, or the guest's kernel has not shown any sign yet"),
                        ("BOOT_KVM_MS", late + "after its kernel had begun (kvm); the guest said nothing on its serial console")):
        code, answer = ask("start", config, **{limit: 1})
        assert code != 0 and (answer["errorCode"], answer["error"]) == ("timeout", said), answer
        assert host.json("status", "w")["event"]["state"] == "failed"
    log = (host.state / "w" / "supervisor.log").read_text()
    assert log.count("the guest's kernel has begun: it drives the vsock device") == 1
    host("delete", "w", check=0)
