# SPDX-License-Identifier: MIT
"""Tests the cache of kernels and images: `microagent kernel`, `microagent image`, and the files that they leave in it."""

import fcntl
import gzip
import hashlib
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import hostile_debs
import schema_check
from conftest import BIN, skip_without_own_kernels, wait_until
from planted import plant

STATIC = shutil.which("busybox")


@pytest.fixture
def cache(host):
    """Makes an empty cache of its own; host.env points to it."""
    path = host.base / "cache"
    host.env["MICROAGENT_CACHE_DIR"] = str(path)
    return path


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def custom_kernel(host, cache, name="mine", end=""):
    """Returns the file with this suffix of the first kernel that has one, as a kernel of the user's."""
    shared = {k: v for k, v in host.env.items() if k != "MICROAGENT_CACHE_DIR"}
    listed = json.loads(subprocess.run([BIN / "microagent", "--json", "kernel", "list"], env=shared,
                                       capture_output=True, check=True).stdout)
    path = next(k["path"] for k in listed["kernels"] if os.path.exists(k["path"] + end))
    return host.json("kernel", "install", "--from", path, "--name", name)


def check_records(cache):
    for part, schema in (("kernels", "cache-kernel"), ("images", "cache-image")):
        for record in (cache / part).glob("*.json"):
            schema_check.validate(schema, json.loads(record.read_text()))


def assert_nothing_half(cache):
    assert list((cache / "tmp").iterdir()) == []


def test_lists_of_the_shared_cache(host):
    kernels = host.json("kernel", "list")["kernels"]
    for architecture in {k["architecture"] for k in kernels}:
        defaults = [k["default"] for k in kernels if k["architecture"] == architecture]
        assert defaults == [True] + [False] * (len(defaults) - 1)
    for kernel in kernels:
        assert os.path.isabs(kernel["path"]) and os.path.isfile(kernel["path"])
        assert kernel["initrd"] == kernel["path"] + ".initrd"
    images = host.json("image", "list")["images"]
    assert images[0]["name"] == "busybox"
    assert all(os.path.isfile(i["path"]) for i in images)
    text = host("kernel", "list", check=0).stdout
    assert kernels[0]["name"] in text.splitlines()[1]
    assert "busybox" in host("image", "list", check=0).stdout


def test_the_shared_cache_verifies(host):
    assert host.json("kernel", "verify")["ok"]
    assert host.json("image", "verify", "busybox")["ok"]


def test_an_empty_cache(host, cache):
    assert host.json("kernel", "list") == {"kernels": []}
    assert host.json("image", "list") == {"images": []}
    assert "kernel install" in host("kernel", "list", check=0).stderr
    assert "image build busybox" in host("image", "list", check=0).stderr
    assert host.json("kernel", "verify") == {"ok": True, "kernels": []}
    assert not cache.exists()


def test_busybox_is_reproducible_by_anybody(host, cache):
    done = host("image", "build", "busybox", check=0)
    assert done.stderr == ""
    first = cache / "images" / "busybox.ext4"
    assert first.stat().st_blocks * 512 < 32 << 20 < first.stat().st_size
    assert first.stat().st_mode & 0o777 == 0o444, "all workspaces share it"
    other = host.base / "other"
    other.mkdir()
    # A copy, since other users may not be able to reach the checkout.
    programs = shutil.copytree(BIN, host.base / "programs", ignore=lambda _, names: [name for name in names if name not in ("microagent", "microagent-artifact")])
    command = [Path(programs) / "microagent", "--json", "image", "build", "busybox"]
    if os.getuid() == 0:
        os.chown(other, 1000, 1000)
        command = ["setpriv", "--reuid", "1000", "--regid", "1000", "--groups", "1000", *command]
    subprocess.run(["sh", "-c", 'umask 077; exec "$@"', "sh", *command], check=True, cwd="/",
                   env={**host.env, "MICROAGENT_CACHE_DIR": str(other), "HOME": str(other),
                        "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"})
    assert digest(first) == digest(other / "images" / "busybox.ext4")
    listed = host.json("image", "list")["images"][0]
    assert listed["sha256"] == digest(first)
    check_records(cache)
    # A known fault of this program is reported where the program is chosen: here by a run of it.
    crashes = subprocess.run([STATIC, "wget", "-T", "1", "-q", "-O", "/dev/null", "http://127.0.0.1:1/"], check=False, cwd=host.base,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))).returncode == -signal.SIGSEGV
    told = host("image", "list", check=0)
    assert ("notes" in listed) == crashes == ("microagent: warning: busybox: wget -T ends by signal 11" in told.stderr), (listed, told.stderr)
    assert_nothing_half(cache)


@pytest.mark.parametrize("entry", ("node_modules/.bin", ""))
def test_busybox_is_none_of_where_the_user_works(host, cache, entry):
    """A program that a guest has put there would run each machine, and the other tools would run as root on this host."""
    project = host.base / "project"
    bin_ = project / "node_modules" / ".bin" if entry else project
    plant(bin_)
    shutil.copy(STATIC, bin_ / "busybox")  # it would do
    with open(bin_ / "busybox", "ab") as file:
        file.write(b"planted")
    host.wrap = ["/usr/bin/env", "-C", str(project)]
    host("image", "build", "busybox", env={"PATH": f"{entry}:{os.environ['PATH']}"}, check=0)
    assert not (bin_ / "ran").exists()
    image = cache / "images" / "busybox.ext4"
    put = subprocess.run(["/sbin/debugfs", "-R", "cat /bin/busybox", image], capture_output=True, check=True).stdout
    assert put == Path(STATIC).read_bytes()


def test_an_image_that_is_there_is_left_alone(host, cache):
    host.json("image", "build", "busybox")
    path = cache / "images" / "busybox.ext4"
    before = path.stat()
    host.json("image", "build", "busybox")
    assert path.stat().st_ino == before.st_ino and path.stat().st_mtime_ns == before.st_mtime_ns
    host.json("image", "build", "busybox", "--rebuild")
    assert path.stat().st_ino != before.st_ino
    path.unlink()
    host.json("image", "build", "busybox")
    assert path.exists()


def test_builders_do_not_collide(host, cache):
    children = [host.popen("--json", "image", "build", "busybox", "--rebuild") for _ in range(4)]
    answers = [json.loads(child.communicate(timeout=120)[0]) for child in children]
    assert all(child.returncode == 0 for child in children)
    assert len({answer["sha256"] for answer in answers}) == 1
    assert host.json("image", "verify")["ok"]
    assert_nothing_half(cache)


def test_waiting_is_shown_on_a_terminal_alone(host, cache):
    (cache / ".locks").mkdir(parents=True)
    with open(cache / ".locks" / "image-busybox", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ours, theirs = pty.openpty()
        child = host.popen("image", "build", "busybox", stderr=theirs)
        silent = host.popen("image", "build", "busybox")
        os.close(theirs)
        seen = b""
        while b"waiting for another" not in seen:
            seen += os.read(ours, 4096)
    assert child.wait(timeout=120) == 0
    assert silent.communicate(timeout=120)[1] == b""
    os.close(ours)


def test_a_signal_ends_a_waiting_builder(host, cache):
    (cache / ".locks").mkdir(parents=True)
    with open(cache / ".locks" / "image-busybox", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        child = host.popen("image", "build", "busybox")
        wait_until(lambda: (cache / "images").exists(), "the builder to begin")
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGTERM, (out, err)
    assert b"interrupted" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_broken_off_build_leaves_no_entry(host, cache, number):
    child = host.popen("image", "build", "debian")
    wait_until(lambda: (cache / "tmp" / "image-debian" / "root.tar").exists(), "mmdebstrap to run")
    child.send_signal(number)
    child.communicate(timeout=300)
    assert child.returncode == -number
    wait_until(lambda: str(cache) not in Path("/proc/self/mountinfo").read_text(), "mmdebstrap's mounts to go")
    assert host.json("image", "list") == {"images": []}
    if number != signal.SIGKILL:
        assert_nothing_half(cache)


@pytest.mark.parametrize("words,missing,package", [
    (("image", "build", "busybox"), "busybox", "busybox-static"),
    (("image", "build", "debian"), "mmdebstrap", "mmdebstrap"),
    (("kernel", "install"), "apt-cache", "apt"),
])
def test_a_missing_tool_is_named_with_its_package(host, cache, words, missing, package):
    answer = host.json(*words, check=1, env={"PATH": "/nonexistent"})
    assert answer["errorCode"] == "not-found"
    assert missing in answer["error"] and f"apt-get install {package}" in answer["error"]
    assert not list(cache.glob("*/*.json"))


def test_installing_again_needs_no_network_and_no_tools(host):
    """The shared cache has Debian's kernel, so neither apt nor another program runs."""
    skip_without_own_kernels("Debian's")
    before = host.json("kernel", "list")
    answer = host.json("kernel", "install", env={"PATH": "/nonexistent"})
    assert answer["name"].startswith("debian-")
    assert host.json("kernel", "list") == before


def test_debians_kernel_into_an_empty_cache(host, cache):
    """Makes what the first command of every new user makes, whatever the shared cache already has."""
    answer = host.json("kernel", "install")
    modules = Path(answer["path"] + ".modules").read_bytes()
    names = subprocess.run(["cpio", "-t", "--quiet"], input=modules, capture_output=True,
                           check=True).stdout.decode().split()
    assert "modules.list" in names
    assert [n for n in names if re.fullmatch(r"modules/[^/]+/kernel/.*/vmw_vsock_virtio_transport\.ko(\.xz)?", n)]
    assert host.json("kernel", "verify", answer["name"])["ok"]
    check_records(cache)
    assert_nothing_half(cache)


def test_a_kernel_of_the_users(host, cache):
    answer = custom_kernel(host, cache)
    assert answer["name"] == "mine"
    entry = host.json("kernel", "list")["kernels"][0]
    assert entry["default"] and entry["kind"] == "custom"
    assert entry["path"] == str(cache / "kernels" / "mine")
    assert entry["sha256"] == digest(entry["path"])
    assert host.json("kernel", "verify", "mine")["ok"]
    check_records(cache)
    assert_nothing_half(cache)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".hidden", "x.json", "x.initrd", "tuned",
                                  "debian-6", "custom", "a\nb", "n" * 129])
def test_names_that_no_kernel_may_have(host, cache, name):
    answer = host.json("kernel", "install", "--from", default_kernel_path(), "--name", name, check=2)
    assert answer["errorCode"] == "invalid"
    assert not list(cache.glob("kernels/*"))


def arm64_image(path):
    """Returns the head of a kernel for arm64."""
    path.write_bytes(bytes(0x38) + b"ARM\x64" + bytes(4096))
    return path


def test_the_file_says_what_a_name_s_ending_means(host, cache):
    path = arm64_image(host.base / "Image")
    answer = host.json("kernel", "install", "--from", path, "--name", "mine-arm64")
    assert (answer["name"], answer["architecture"]) == ("mine-arm64", "arm64")
    path.write_bytes(bytes(0x202) + b"HdrS" + bytes(4096))
    answer = host.json("kernel", "install", "--from", path, "--name", "other-arm64", check=1)
    assert answer["errorCode"] == "invalid" and "cannot be the name of a kernel for amd64, because it ends like the names for another architecture" in answer["error"], answer
    assert [k["name"] for k in host.json("kernel", "list")["kernels"]] == ["mine-arm64"]


def default_kernel_path():
    out = subprocess.run([BIN / "microagent", "--json", "kernel", "list"], capture_output=True, check=True).stdout
    return json.loads(out)["kernels"][0]["path"]


@pytest.mark.parametrize("make,code,words", [
    (lambda p: p.write_text("no kernel"), "invalid", "neither a bzImage"),
    (lambda p: p.write_bytes(b""), "invalid", "neither a bzImage"),
    (lambda p: p.mkdir(), "invalid", "not a regular file"),
    (lambda p: None, "not-found", "No such file"),
])
def test_what_is_no_kernel_is_refused(host, cache, make, code, words):
    path = host.base / "file"
    make(path)
    answer = host.json("kernel", "install", "--from", path, check=1)
    assert answer["errorCode"] == code and words in answer["error"] and str(path) in answer["error"]
    assert not list(cache.glob("kernels/*.json"))


def foreign_kernel(path):
    """Returns the head of a kernel for the architecture that this host does not have."""
    head = bytearray(4096)
    if os.uname().machine == "x86_64":
        head[0x38:0x3c] = b"ARM\x64"
    else:
        head[0x202:0x206] = b"HdrS"
    path.write_bytes(head)
    return "is a kernel for " + ("arm64" if os.uname().machine == "x86_64" else "amd64")


def test_a_kernel_for_another_architecture_is_refused(host, cache):
    path = host.base / "Image"
    words = foreign_kernel(path)
    answer = host.json("kernel", "install", "--arch", os.uname().machine, "--from", path, check=1)
    assert answer["errorCode"] == "unsupported" and f"{path} {words}, not for" in answer["error"]
    assert not list(cache.glob("kernels/*"))


def test_a_kernel_for_another_architecture_is_named_before_the_boot(host):
    path = host.base / "Image"
    words = foreign_kernel(path)
    initrd = host.base / "initrd"
    initrd.write_bytes(Path(default_kernel_path() + ".initrd").read_bytes())
    for command in ("check", "prepare", "run"):
        config = host.config(kernelPath=str(path), initrdPath=str(initrd))
        identity = {"requestID": "r", "runtimeID": "w", "role": "workload", "backend": "qemu"}
        code, answer, _ = host.supervisor({"command": command, "identity": identity, "config": config})
        assert code == 1 and answer["errorCode"] == "unsupported", answer
        assert f"config.kernelPath: {path}: the file {words}" in answer["error"], answer
    assert not (host.state / "w").exists() and not host.processes()


def test_a_package_that_is_none_is_refused(host, cache):
    path = host.base / "linux.deb"
    path.write_text("no package")
    for words in (("kernel", "install"), ("kernel", "build")):
        answer = host.json(*words, "--from", path, check=1)
        assert str(path) in answer["error"]


def test_verify_finds_what_was_changed(host, cache):
    custom_kernel(host, cache)
    kernel = cache / "kernels" / "mine"
    kernel.chmod(0o600)
    with open(kernel, "r+b") as file:
        file.write(b"X")
    answer = host.json("kernel", "verify", check=1)
    assert not answer["ok"]
    wrong, = answer["kernels"][0]["divergence"]
    assert wrong["artifact"] == "kernel" and wrong["actual"] == digest(kernel) != wrong["expected"]
    (cache / "kernels" / "mine.initrd").unlink()
    both = host.json("kernel", "verify", "mine", check=1)["kernels"][0]["divergence"]
    assert [d["artifact"] for d in both] == ["kernel", "initrd"] and "No such file" in both[1]["error"]
    assert host.json("kernel", "list")["kernels"][0]["initrd"] is None
    text = host("kernel", "verify", check=1).stdout
    assert "differs   mine kernel" in text and "missing   mine initrd" in text


def test_the_unpacked_kernel_is_verified(host, cache):
    skip_without_own_kernels("a packed")
    custom_kernel(host, cache, end=".vmlinux")
    unpacked, record = cache / "kernels" / "mine.vmlinux", cache / "kernels" / "mine.json"
    assert json.loads(record.read_text())["vmlinuxSha256"] == digest(unpacked)
    check_records(cache)
    unpacked.chmod(0o600)
    with open(unpacked, "r+b") as file:
        file.write(b"X")
    wrong, = host.json("kernel", "verify", check=1)["kernels"][0]["divergence"]
    assert wrong["artifact"] == "vmlinux" and wrong["actual"] == digest(unpacked)
    unpacked.unlink()
    wrong, = host.json("kernel", "verify", check=1)["kernels"][0]["divergence"]
    assert wrong["artifact"] == "vmlinux" and "No such file" in wrong["error"]
    assert "missing   mine vmlinux" in host("kernel", "verify", check=1).stdout
    assert host.json("kernel", "refresh") == {"refreshed": 1}
    assert host.json("kernel", "verify")["ok"]
    # The record is as an earlier version left it.
    before = json.loads(record.read_text())
    record.write_text(json.dumps({k: v for k, v in before.items() if k != "vmlinuxSha256"}))
    assert host.json("kernel", "refresh") == {"refreshed": 1}
    assert json.loads(record.read_text()) == before


# The code with which a guest of a paravirtual KVM asks which KVM it is (src/artifact/pvm.c).
PVM_CODE = bytes.fromhex("0f013c2550564dff0fa2")
AMD64 = pytest.mark.skipif(hostile_debs.ARCHITECTURE != "amd64", reason="a paravirtual KVM runs kernels for amd64 alone")


def is_for_pvm(host, cache, name):
    """Returns what the record, the list and the schema of both say of the kernel."""
    recorded = json.loads((cache / "kernels" / f"{name}.json").read_text()).get("forPvm", False)
    listed = next(kernel for kernel in host.json("kernel", "list")["kernels"] if kernel["name"] == name)
    check_records(cache)
    assert listed["forPvm"] is recorded
    return recorded


@AMD64
@pytest.mark.parametrize("form", ["bzImage", "package"])
def test_a_kernel_for_a_paravirtual_kvm_is_recognised(host, cache, form):
    """The kernel is recognised by its code, which a packed kernel shows when it is unpacked. Another kernel of that
    name is another kernel."""
    def install(code, *words):
        image = hostile_debs.bzimage(gzip.compress(b"\x7fELF" + bytes(5000) + code + bytes(300)))
        path = host.base / ("kernel.deb" if form == "package" else "bzImage")
        if form == "package":
            hostile_debs.deb(path, hostile_debs.boot(image), hostile_debs.builtin())
        else:
            path.write_bytes(image)
            words += ("--name", "mine")
        return host.json("kernel", "install", "--from", path, *words)
    answer = install(PVM_CODE)
    name = answer["name"]
    assert answer["forPvm"] is True and is_for_pvm(host, cache, name)
    answer = install(PVM_CODE[:-1])
    assert "forPvm" not in answer and not is_for_pvm(host, cache, name)
    # A user who knows better says so, also for a package that is installed already.
    answer = install(PVM_CODE[:-1], "--for-pvm")
    assert answer["forPvm"] is True and is_for_pvm(host, cache, name)
    # A later build of microagent keeps the user's word.
    (cache / "kernels" / f"{name}.initrd").unlink()
    assert host.json("kernel", "refresh") == {"refreshed": 1}
    assert is_for_pvm(host, cache, name)
    assert_nothing_half(cache)


@AMD64
def test_for_which_kvm_a_kernel_is_said_to_be_built(host, cache):
    skip_without_own_kernels("a stock")
    custom_kernel(host, cache)
    assert not is_for_pvm(host, cache, "mine")
    path = cache / "kernels" / "mine"
    said = host("kernel", "install", "--from", path, "--name", "told", "--for-pvm", check=0).stdout
    assert said == "told is installed; it is built for a paravirtual KVM (kvm_pvm)\n"
    assert is_for_pvm(host, cache, "told") and not is_for_pvm(host, cache, "mine")
    done = host("kernel", "install", "--for-pvm", check=2)
    assert "--for-pvm needs --from" in done.stderr
    arm64 = host.base / "Image"
    arm64.write_bytes(bytes(0x38) + b"ARM\x64" + bytes(4096))
    answer = host.json("kernel", "install", "--from", arm64, "--name", "other", "--for-pvm", check=1)
    assert (answer["errorCode"], answer["error"]) == (
        "invalid", "kernel other-arm64: the kernel is for arm64, but a paravirtual KVM (--for-pvm) runs only kernels for amd64: give such a kernel")
    assert [kernel["name"] for kernel in host.json("kernel", "list")["kernels"]] == ["mine", "told"]
    assert_nothing_half(cache)


def test_the_initrd_follows_init(host, cache):
    custom_kernel(host, cache)
    initrd, record = cache / "kernels" / "mine.initrd", cache / "kernels" / "mine.json"
    original = digest(initrd)
    assert host.json("kernel", "refresh") == {"refreshed": 0}
    subprocess.run([BIN / "microagent-artifact", "kernel-refresh", "--init", STATIC], check=True,
                   env=host.env, capture_output=True)
    assert digest(initrd) != original
    assert json.loads(record.read_text())["initSha256"] == digest(STATIC)
    assert Path(STATIC).read_bytes() in initrd.read_bytes()
    assert host.json("kernel", "verify")["ok"]
    assert host.json("kernel", "refresh") == {"refreshed": 1}
    assert digest(initrd) == original
    initrd.unlink()
    assert host.json("kernel", "refresh") == {"refreshed": 1}
    assert digest(initrd) == original


def other_kernel(cache, name="mine"):
    """Makes a copy of that entry for the architecture that this host does not have. Returns its name."""
    architecture, ending = ("arm64", "-arm64") if os.uname().machine == "x86_64" else ("amd64", "")
    other = f"other{ending}"
    for end in ("", ".initrd"):
        shutil.copy(cache / "kernels" / f"{name}{end}", cache / "kernels" / f"{other}{end}")
    record = json.loads((cache / "kernels" / f"{name}.json").read_text())
    (cache / "kernels" / f"{other}.json").write_text(json.dumps({**record, "name": other, "architecture": architecture}))
    return other


def test_a_missing_init_keeps_no_other_kernel_from_its_own(host, cache):
    """The host's own entry is refreshed first, also if the init of the other architecture is missing here."""
    name = custom_kernel(host, cache)["name"]
    initrd, record = cache / "kernels" / f"{name}.initrd", cache / "kernels" / f"{name}.json"
    original, other = digest(initrd), other_kernel(cache, name)
    untouched = digest(cache / "kernels" / f"{other}.json")
    programs = host.base / "programs"
    programs.mkdir()
    for program in ("microagent-artifact", "microagent-init"):
        shutil.copy(BIN / program, programs)
    initrd.unlink()
    for count in ("1 initrd rewritten", "0 initrds rewritten"):
        done = subprocess.run([programs / "microagent-artifact", "kernel-refresh", "--json"], env=host.env, capture_output=True, text=True, check=False)
        answer = json.loads(done.stdout)
        assert (done.returncode, answer["errorCode"]) == (75, "unavailable"), done
        assert answer["error"].startswith(f"{count}, but the initrd of {other} was not: {programs}/microagent-init-"), answer
        assert digest(initrd) == original and json.loads(record.read_text())["initrdSha256"] == original
    # If its own init is missing, both entries are named, with what the first one lacks.
    (programs / "microagent-init").unlink()
    done = subprocess.run([programs / "microagent-artifact", "kernel-refresh", "--json"], env=host.env, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    assert answer["error"].startswith(f"0 initrds rewritten, but the initrd of {name}, {other} was not: {programs}/microagent-init: "), answer
    assert digest(cache / "kernels" / f"{other}.json") == untouched
    assert_nothing_half(cache)


def test_a_bad_record_is_named(host, cache):
    (cache / "kernels").mkdir(parents=True)
    (cache / "kernels" / "bad.json").write_text("{")
    answer = host.json("kernel", "list", check=1)
    assert answer["errorCode"] == "io" and str(cache / "kernels" / "bad.json") in answer["error"]


def test_a_cache_that_cannot_be_written(host, cache):
    cache.write_text("a file")
    answer = host.json("image", "build", "busybox", check=1)
    assert str(cache) in answer["error"]


def test_a_full_disk_is_told_before_the_work(host, cache):
    """Mounts a tiny file system as the cache, in a mount namespace of its own."""
    cache.mkdir()
    unshare = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]
    script = f'mount -t tmpfs -o size=1m,mode=700 none {cache} && exec "$@"'
    for words in (("image", "build", "busybox"), ("image", "build", "debian")):
        done = subprocess.run([*unshare, "sh", "-c", script, "sh", BIN / "microagent", "--json", *words],
                              env=host.env, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stdout + done.stderr
        answer = json.loads(done.stdout)
        assert answer["errorCode"] == "io", answer


def test_sha256(host, tmp_path):
    file = tmp_path / "a file"
    file.write_bytes(os.urandom(3_000_000))
    artifact = BIN / "microagent-artifact"
    out = subprocess.run([artifact, "sha256", file], capture_output=True, text=True, check=True).stdout
    assert out == f"{digest(file)}  {file}\n"
    with open(file, "rb") as handle:
        out = subprocess.run([artifact, "sha256", "--fd", "0"], stdin=handle, capture_output=True,
                             text=True, check=True).stdout
    assert out == f"{digest(file)}\n"
    for words in (["sha256", tmp_path / "none"], ["sha256", tmp_path]):
        assert subprocess.run([artifact, *words], capture_output=True, check=False).returncode == 1
    for words in (["sha256", "--fd"], ["no-command"], ["initrd", "word"], ["sha256", "--frob"], []):
        assert subprocess.run([artifact, *words], capture_output=True, check=False).returncode == 2


# Features that guests rely on, whichever kernel they boot: "name|command".
FEATURES = """
virtiofs|grep -w virtiofs /proc/filesystems
overlay|grep -w overlay /proc/filesystems
squashfs|grep -w squashfs /proc/filesystems
fuse|test -c /dev/fuse
cgroups|for c in cpu io memory pids cpuset; do grep -w $c /sys/fs/cgroup/cgroup.controllers || exit 1; done
freezer|mkdir /sys/fs/cgroup/t && test -f /sys/fs/cgroup/t/cgroup.freeze && rmdir /sys/fs/cgroup/t
pressure|grep full /proc/pressure/memory
namespaces|cd /proc/self/ns && ls user net pid ipc uts time cgroup mnt
seccomp|grep Seccomp_filters /proc/self/status
inotify|test -f /proc/sys/fs/inotify/max_user_watches
fanotify|test -f /proc/sys/fs/fanotify/max_user_groups
bpf|test -f /proc/sys/kernel/unprivileged_bpf_disabled
packet|test -f /proc/net/packet
ipv6|test -f /proc/net/if_inet6
devpts|test -c /dev/ptmx
rng|grep virtio /sys/class/misc/hw_random/rng_current
button|ls -d /sys/bus/acpi/drivers/button/*
clock|! grep jiffies /sys/devices/system/clocksource/clocksource0/current_clocksource
pids|test $(cat /proc/sys/kernel/pid_max) -ge 32768
""".strip().splitlines()


def lost_features(host, kernel):
    script = "\n".join(f"( {line.split('|', 1)[1]} ) >/dev/null 2>&1 || echo {line.split('|', 1)[0]}"
                       for line in FEATURES)
    done = host("run", "--memory", 256, "--cpus", 1, "--user", "root", "--kernel", kernel["path"], "--",
                "sh", "-c", script, check=0)
    return done.stdout.split()


def test_features_of_the_tuned_kernel(host, tuned_kernel):
    assert lost_features(host, tuned_kernel) == []
    assert default_kernel_path() == tuned_kernel["path"]
    assert os.path.getsize(tuned_kernel["initrd"]) < 3 << 20


def test_features_of_debians_kernel(host, debian_kernel):
    assert lost_features(host, debian_kernel) == []
