# SPDX-License-Identifier: MIT
"""Tests that `microagent doctor` says what this host can do, and what mends what it cannot."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import BIN, default_kernel, image
from test_kernel_image import other_kernel

SMALL = ("--memory", 256, "--cpus", 1)
OTHER_AGENT = "is from another build of microagent: `microagent kernel refresh` puts in the agent of this build"


def row(host, name, **kw):
    return next(check for check in host.json("doctor", **kw)["checks"] if check["name"] == name)


def test_doctor_and_host(host):
    doctor = host("doctor")
    for word in ("accelerator", "confinement", "kernel", "image"):
        assert word in doctor.stdout.lower()
    facts = host.json("doctor")
    assert facts["verdict"] in ("ok", "degraded")
    assert host.json("host")["host"]["backend"] == "qemu"
    version = host("version", check=0).stdout
    assert version.startswith("microagent ")


def test_doctor_names_what_is_missing(host):
    env = {"MICROAGENT_CACHE_DIR": str(host.base / "cache"), "MICROAGENT_QEMU": "/nonexistent/qemu"}
    doctor = host("doctor", env=env)
    assert doctor.returncode == 1
    for word in ("qemu-system-x86", "microagent setup"):
        assert word in doctor.stdout


def test_a_missing_skopeo_is_named_with_its_package(host):
    tools = host.base / "tools"
    tools.mkdir()
    # The cell is tried with true(1), if no earlier doctor has tried it.
    for name in ("qemu-system-x86_64", "bwrap", "passt", "true"):
        (tools / name).symlink_to(shutil.which(name))
    assert row(host, "image import") == {"name": "image import", "status": "ok", "detail": "skopeo"}
    found = row(host, "image import", env={"PATH": str(tools)})
    assert found["status"] == "degraded" and "importing an image" in found["detail"]
    assert found["remedy"] == "sudo apt-get install skopeo"


def test_the_way_of_cloning_is_tried_where_sessions_will_be(host):
    """The check also works if the state directory does not exist yet. Nothing is left of it."""
    found = row(host, "session disks")
    assert found["status"] == "ok" and found["detail"].split(":")[0] in ("reflink", "overlay")
    deep = host.base / "not" / "made" / "yet"
    assert row(host, "session disks", env={"MICROAGENT_STATE_DIR": str(deep)}) == found
    assert not deep.parent.parent.exists()
    # A file system without reflinks, and one that takes no files.
    found = row(host, "session disks", env={"MICROAGENT_STATE_DIR": "/dev/shm/not-made"})
    assert found["detail"].startswith("overlay: a layer over")
    found = row(host, "session disks", env={"MICROAGENT_STATE_DIR": "/proc/not-made"})
    assert found["status"] == "degraded" and "could not be tried" in found["detail"]


@pytest.fixture
def other_agent(host):
    """Makes a cache whose kernel has the agent of another build."""
    cache, kernel = host.base / "cache", default_kernel(host)
    (cache / "kernels").mkdir(parents=True)
    (cache / "images").symlink_to(os.path.dirname(image(host, "busybox")["path"]))
    for end in ("", ".initrd", ".json"):
        shutil.copy(kernel["path"] + end, cache / "kernels")
    if os.path.exists(kernel["path"] + ".modules"):
        shutil.copy(kernel["path"] + ".modules", cache / "kernels")
    path = cache / "kernels" / f"{kernel['name']}.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "initSha256": "0" * 64}))
    host.env["MICROAGENT_CACHE_DIR"] = str(cache)
    return cache


def test_an_image_whose_file_is_gone(host):
    """Its record still exists. doctor and each command that needs the disk say what to do."""
    cache, record = host.base / "cache", Path(image(host, "busybox")["path"]).with_suffix(".json")
    kernels = os.path.dirname(default_kernel(host)["path"])
    (cache / "images").mkdir(parents=True, mode=0o700)
    (cache / "kernels").symlink_to(kernels)
    shutil.copy(record, cache / "images")
    host.env["MICROAGENT_CACHE_DIR"] = str(cache)
    said = f"image busybox cannot be used, because its file {cache}/images/busybox.ext4 is gone"
    todo = "build or import it again, or `microagent image remove busybox`"
    found = row(host, "image", check=1)
    assert (found["status"], found["detail"], found["remedy"]) == ("failed", said, "microagent image remove NAME")
    for words in (("run", *SMALL, "--", "true"), ("create", "w", *SMALL), ("base", "create", "b")):
        told = host(*words).stderr
        assert said in told and f"microagent: hint: {todo}\n" in told, words
    assert not (host.state / "w").exists() and host.json("base", "list")["bases"] == []
    host("image", "remove", "busybox", check=0)
    assert host.json("image", "list")["images"] == []


def own_cache(host):
    """A copy of the cache's default kernel and image that a test may damage."""
    cache, kernel, disk = host.base / "cache", default_kernel(host), Path(image(host, "busybox")["path"])
    for part in ("images", "kernels"):
        (cache / part).mkdir(parents=True, mode=0o700)
    for end in ("", ".initrd", ".json", ".modules", ".vmlinux"):
        if os.path.exists(kernel["path"] + end):
            shutil.copy(kernel["path"] + end, cache / "kernels")
    subprocess.run(["cp", "--sparse=always", disk, disk.with_suffix(".json"), cache / "images"], check=True)
    for file in (*cache.glob("images/*"), *cache.glob("kernels/*")):
        file.chmod(0o600)
    host.env["MICROAGENT_CACHE_DIR"] = str(cache)
    return cache


def all_say(host, said, hint, *more):
    """Each command that needs the cache says what is wrong and what to do, and makes nothing."""
    for words in (("run", *SMALL, "--", "true"), ("create", "w", *SMALL), ("base", "create", "b"), *more):
        done = host(*words)
        assert done.returncode == (125 if words[0] == "run" else 1), (words, done.returncode)
        assert said in done.stderr and f"microagent: hint: {hint}\n" in done.stderr, (words, done.stderr)
    assert not (host.state / "w").exists() and host.json("base", "list")["bases"] == []


def test_a_damaged_record_of_an_image(host):
    cache = own_cache(host)
    record = cache / "images" / "busybox.json"
    record.write_text("{")
    hint = "build or import it again, or `microagent image remove busybox`"
    all_say(host, f"{record}: line 1, column 1: the document ends too early", hint, ("image", "list"))
    assert host.json("image", "list", check=1)["errorReason"] == "image-damaged"
    assert host("image", "remove", "other", check=1).stderr.startswith(f"microagent: {record}: ")
    host("image", "remove", "busybox", check=0)
    assert list((cache / "images").iterdir()) == [] and host.json("image", "list")["images"] == []


def test_a_damaged_record_of_a_kernel(host):
    cache, name = own_cache(host), default_kernel(host)["name"]
    record = cache / "kernels" / f"{name}.json"
    record.write_text("[]")
    all_say(host, f"{record}: the file is not a JSON object", "remove that file, and `microagent kernel install` (or build) makes the kernel again",
            ("kernel", "list"))
    assert host.json("kernel", "list", check=1)["errorReason"] == "kernel-damaged"


def test_an_initrd_of_which_a_part_is_missing(host):
    """The kernel would say that there is no init. The command that the hint names repairs it."""
    cache, name = own_cache(host), default_kernel(host)["name"]
    initrd = cache / "kernels" / f"{name}.initrd"
    whole = initrd.read_bytes()
    os.truncate(initrd, len(whole) // 2)
    hint = "`microagent kernel refresh` makes the initrds of the cache again"
    all_say(host, f"{initrd}: the initrd is damaged, because a part is missing at its end", hint)
    assert host.json("create", "w", *SMALL, check=1)["errorReason"] == "initrd-damaged"
    found = row(host, "kernel", check=1)
    assert (found["status"], found["remedy"]) == ("failed", "microagent kernel refresh") and str(initrd) in found["detail"]
    assert host.json("kernel", "refresh") == {"refreshed": 1}
    assert initrd.read_bytes() == whole
    host("create", "w", *SMALL, check=0)
    host("delete", "w", check=0)


def test_a_workspace_without_its_record(host):
    host("create", "w", *SMALL, "--output", "o=/o", check=0)
    (host.state / "w" / "workspace.json").unlink()
    for words in (("start", "w"), ("start", "--prepare", "w"), ("clone", "w", "v"), ("cp", "w:/etc/passwd", "."), ("ls", "w", "/"),
                  ("network", "w"), ("artifacts", "w")):
        said = host(*words, check=1).stderr
        assert said == (f"microagent: {host.state}/w/workspace.json does not exist\n"
                        "microagent: hint: `microagent delete w` removes the workspace\n"), words
    assert "`microagent delete w` removes" in host("list", check=0).stdout and not (host.state / "v").exists()
    host("delete", "w", check=0)
    assert not (host.state / "w").exists()


def test_an_initrd_with_another_agent_is_told(host, other_agent):
    """doctor says it, and so does each command that makes a machine. The command that the hint names ends it."""
    found = row(host, "guest agent")
    assert found["status"] == "degraded" and default_kernel(host)["name"] in found["detail"]
    assert found["remedy"] == "microagent kernel refresh"
    warnings = {
        "create": host("create", "w", *SMALL, check=0).stderr,
        "run": host("run", *SMALL, "--", "true", check=0).stderr,
        "base": host("base", "create", "web", check=0).stderr,
        "session": host("session", "create", "--base", "web", "--network", "isolated", check=0).stderr,
    }
    for what, said in warnings.items():
        assert [line.count(OTHER_AGENT) for line in said.splitlines()].count(1) == 1, (what, said)
    answer = host("--json", "create", "v", *SMALL, check=0)
    assert OTHER_AGENT in [json.loads(line)["warning"] for line in answer.stderr.splitlines()][0]
    # A kernel that belongs to the user is not the cache's either.
    own = host.base / "own"
    for end in ("", ".initrd"):
        shutil.copy(default_kernel(host)["path"] + end, f"{own}{end}")
    assert OTHER_AGENT not in host("create", "u", *SMALL, "--kernel", own, check=0).stderr
    session = host.json("session", "list")["sessions"][0]["name"]
    for words in (("session", "destroy", session), ("base", "delete", "web-v1"), ("delete", "w"), ("delete", "v"), ("delete", "u")):
        host(*words, check=0)

    host("kernel", "refresh", check=0)
    assert row(host, "guest agent")["status"] == "ok"
    assert OTHER_AGENT not in host("create", "w", *SMALL, check=0).stderr
    host("delete", "w", check=0)


def test_what_cannot_be_compared_is_told(host, other_agent):
    """If the agent of another architecture was not built, nothing is known of its kernels."""
    programs, name = host.base / "programs", default_kernel(host)["name"]
    programs.mkdir()
    for program in ("microagent", "microagent-qemu-supervisor", "microagent-artifact", "microagent-init"):
        shutil.copy(BIN / program, programs)
    other_kernel(other_agent, name)
    architecture = "arm64" if os.uname().machine == "x86_64" else "amd64"
    unknown = f"not known for kernels of {architecture}: microagent-init-{architecture} is neither beside microagent nor in PATH: install microagent again"

    def found():
        done = subprocess.run([programs / "microagent", "--json", "doctor"], env=host.env, capture_output=True, text=True, check=False)
        return next(check for check in json.loads(done.stdout)["checks"] if check["name"] == "guest agent")

    assert found()["detail"] == f"the initrd of {name} has an agent from another build of microagent, which machines boot; {unknown}"
    record = other_agent / "kernels" / f"{name}.json"
    text = json.loads(record.read_text())
    record.write_text(json.dumps({**text, "initSha256": hashlib.sha256((BIN / "microagent-init").read_bytes()).hexdigest()}))
    told = found()
    assert (told["status"], told["detail"]) == ("degraded", unknown)
    # Nothing can be said of an initrd without a record either.
    del text["initSha256"]
    record.write_text(json.dumps(text))
    told = found()
    assert told["status"] == "degraded" and f"not known for kernels of {'amd64, arm64' if architecture == 'arm64' else 'arm64, amd64'}: " in told["detail"]
    assert f"it is not known which guest agent the initrd of {name} has, because the cache has no record of it" in told["detail"]


def test_without_a_kernel_there_is_no_agent(host):
    found = row(host, "guest agent", env={"MICROAGENT_CACHE_DIR": str(host.base / "none")}, check=1)
    assert (found["status"], found["detail"]) == ("ok", "comes with the kernel")
