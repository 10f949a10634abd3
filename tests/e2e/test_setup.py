# SPDX-License-Identifier: MIT
"""Tests `microagent setup` as a new user runs it: an ordinary user with an empty cache, with apt and without."""

import fcntl
import json
import os
import pty
import shutil
import signal
import subprocess

import pytest

from conftest import BIN, default_kernel, wait_until
from oci import file
from planted import plant
from test_image_import import simple
from test_kernel_image import assert_nothing_half, check_records

PROGRAMS = ("microagent", "microagent-qemu-supervisor", "microagent-artifact", "microagent-init", "microagent-vsockd", "microagent-netgate")
AGAIN = "microagent setup, again or with --kernel FILE"
USERMOD = "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)"


@pytest.fixture
def cache(host):
    """A directory that does not exist yet, of a user who is not root."""
    home = host.base / "home"
    host.bin = host.base / "bin"
    host.bin.mkdir()
    home.mkdir()
    for program in PROGRAMS:
        shutil.copy(BIN / program, host.bin)
    host.env.update(HOME=str(home), MICROAGENT_CACHE_DIR=str(home / "cache"))
    if os.getuid() == 0:
        host.wrap = ["setpriv", "--reuid", "4242", "--regid", "4242", "--groups", "4242"]
        subprocess.run(["chown", "-R", "4242:4242", host.base], check=True)
    return home / "cache"


def without(host, *missing):
    """Makes a PATH with all that doctor looks for, except these programs."""
    tools = host.base / "tools"
    tools.mkdir()
    for name in ("qemu-system-x86_64", "qemu-system-aarch64", "bwrap", "passt", "busybox", "mke2fs", "e2fsck", "depmod", "dpkg-deb", "tar",
                 "skopeo", "newuidmap", "newgidmap", "apt-cache", "apt-get", "unshare", "setpriv", "sh", "true"):
        found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if found and name not in missing:
            (tools / name).symlink_to(found)
    return {"PATH": str(tools)}


def rows(answer):
    return {check["name"]: check for check in answer["checks"]}


def states(answer):
    return {step["name"]: step["state"] for step in answer["steps"]}


def test_a_new_user_sets_up(host, cache):
    """Debian's kernel by this host's apt, and busybox. The command announces them, makes them, and leaves them alone
    when they are there."""
    said = host("setup", "--check", check=1).stdout
    assert "kernel: linux-image-" in said and ", of which apt fetches " in said, said
    assert "image: busybox, of this host's program; nothing is fetched" in said
    assert "failed    kernel" in said and "verdict: failed" in said
    assert said.count("fix: microagent setup\n") == 2, said
    assert "hint: `microagent setup` makes what machines boot from" in host("run", "--", "true").stderr
    assert not (cache / "kernels").exists() and not (cache / "images").exists()

    done = host("setup", check=0)
    assert "\nverdict: " in done.stdout and done.stdout.endswith("`microagent run -- true` tries it\n"), done.stdout
    assert done.stderr == "" and "failed" not in done.stdout
    check_records(cache)
    assert_nothing_half(cache)
    assert host("run", "--memory", 256, "--network", "isolated", "--", "id", "-u", check=0).stdout == "1000\n"

    before = {path: path.stat().st_ino for path in cache.glob("*/*") if path.suffix in (".json", ".initrd", ".ext4")}
    answer = host.json("setup", env=without(host, "apt-cache", "apt-get"))
    assert answer["ok"] and states(answer) == {"image": "done"}
    assert before == {path: path.stat().st_ino for path in before}


def test_without_apt_what_is_missing_is_named(host, cache):
    """No kernel is available, and the image is made all the same. A kernel and an image of the user do instead."""
    env = without(host, "apt-cache", "apt-get", "newuidmap")
    answer = host.json("setup", check=1, env=env)
    found = rows(answer)
    assert answer["verdict"] == "failed" and states(answer) == {"kernel": "failed", "image": "done"}, found["image"]
    assert found["kernel"]["status"] == "failed" and "apt-get install apt" in found["kernel"]["detail"], found["kernel"]
    assert found["kernel"]["remedy"] == AGAIN and found["image"]["status"] == "ok"
    assert found["user ids"]["remedy"] == "sudo apt-get install uidmap"
    assert not list(cache.glob("kernels/*.json"))

    layout = simple(host, file("etc/hostname", b"mine"))
    own = host.base / "own-kernel"
    shutil.copy(default_kernel_of_tests(host), own)
    answer = host.json("setup", "--kernel", str(own), "--image", f"oci:{layout.path}", env=env)
    assert answer["ok"] and states(answer) == {"kernel": "done", "image": "done"}
    assert answer["steps"][0]["text"] == f"{own}; nothing is fetched"
    assert [k["name"] for k in host.json("kernel", "list")["kernels"]] == ["own-kernel"]
    images = {image["name"]: image for image in host.json("image", "list")["images"]}
    assert set(images) == {"busybox", "default"} and images["default"]["source"] == f"oci:{layout.path}"
    # Machines have this image if there is no other.
    host("image", "remove", "busybox", check=0)
    answer = host.json("setup", env=env)
    assert answer["ok"] and answer["steps"] == [] and rows(answer)["image"]["detail"].startswith("default, ")


def test_a_home_that_cannot_be_written_to(host, cache):
    """Another file or package would not help. The message says what does."""
    cache.parent.chmod(0o555)
    answer = host.json("setup", "--kernel", "/boot/none", check=1)
    found = rows(answer)["image"]
    assert str(cache) in found["detail"] and "Permission denied" in found["detail"], found
    assert found["remedy"] == "MICROAGENT_CACHE_DIR=DIR microagent setup, with a DIR that is yours, and export the variable", found
    assert rows(answer)["kernel"]["remedy"] == AGAIN
    assert list(cache.parent.iterdir()) == []
    cache.parent.chmod(0o700)


@pytest.mark.parametrize("entry", ("node_modules/.bin", ""))
def test_it_runs_nothing_of_where_the_user_works(host, cache, entry):
    """With a kernel and an image of the user nothing is fetched, but everything that doctor checks is checked."""
    project = host.base / "project"
    bin_ = project / "node_modules" / ".bin" if entry else project
    plant(bin_)
    bin_.chmod(0o777)
    own = host.base / "own-kernel"
    shutil.copy(default_kernel_of_tests(host), own)
    layout = simple(host, file("etc/hostname", b"mine"))
    host.wrap = ["/usr/bin/env", "-C", str(project), *(shutil.which(word) or word for word in host.wrap)]
    host("setup", "--kernel", str(own), "--image", f"oci:{layout.path}", env={"PATH": f"{entry}:{os.environ['PATH']}"}, check=0)
    assert not (bin_ / "ran").exists()
    # A file that only lies there is not installed.
    answer = host.json("doctor", env={"PATH": f"{entry}:/nonexistent"}, check=1)
    assert not (bin_ / "ran").exists() and str(project) not in json.dumps(answer), answer


def default_kernel_of_tests(host):
    """Makes a cache like the one that all tests share, which is not this user's."""
    del host.env["MICROAGENT_CACHE_DIR"], host.env["HOME"]
    try:
        wrap, host.wrap = host.wrap, []
        host.env.update({name: os.environ[name] for name in ("MICROAGENT_CACHE_DIR", "HOME") if name in os.environ})
        return default_kernel(host)["path"]
    finally:
        host.wrap = wrap
        host.env.update(HOME=str(host.base / "home"), MICROAGENT_CACHE_DIR=str(host.base / "home" / "cache"))


def test_a_user_without_subordinate_ids(host, cache):
    if os.getuid() != 0:
        pytest.skip("who runs this may have some")
    host("image", "build", "busybox", check=0)
    said = host("setup", "--check", check=1).stdout
    assert "degraded  user ids         /etc/subuid has no range for uid 4242: no directory can be shared" in said
    assert f"fix: {USERMOD}" in said


def test_without_a_network(host, cache):
    config = host.base / "apt.conf"
    config.write_text('Acquire::http::Proxy "http://127.0.0.1:1";\nAcquire::https::Proxy "http://127.0.0.1:1";\nAcquire::Retries "0";\n')
    done = host("setup", check=1, env={"APT_CONFIG": str(config)})
    assert "failed    kernel           kernel linux-image-" in done.stdout and "fetching" in done.stdout, done.stdout
    assert f"fix: {AGAIN}" in done.stdout and "verdict: failed" in done.stdout
    assert not list(cache.glob("kernels/*.json")) and list(cache.glob("images/busybox.json"))
    assert_nothing_half(cache)


def test_on_a_full_disk(host, cache):
    """The things that it needs are missing, and the command says so before it fetches anything."""
    if os.getuid() != 0:
        pytest.skip("an ordinary user has no small file system")
    cache.mkdir()
    mount = f"mount -t tmpfs -o size=20M,uid=4242,gid=4242,mode=700 cache {cache} && "
    left = f'{mount} "$@"; code=$?; find {cache} -name "*.json"; exit $code'
    host.wrap = ["unshare", "--mount", "sh", "-c", left, "sh", *host.wrap]
    done = host("setup", check=1)
    assert f"the command needs 256 MiB in {cache}, but only " in done.stdout
    assert "make room, or name another directory in MICROAGENT_CACHE_DIR" in done.stdout
    assert f"fix: {AGAIN}" in done.stdout
    assert str(cache / "kernels") not in done.stdout.split("verdict: failed")[1]


def test_an_interrupted_one_leaves_nothing(host, cache):
    """While the kernel is made, as the line on the terminal says. The process that makes it ends too."""
    (cache / ".locks").mkdir(parents=True, mode=0o700)
    subprocess.run(["chown", "-R", f"{cache.parent.stat().st_uid}", cache], check=True)
    ours, theirs = pty.openpty()
    with open(cache / ".locks" / "kernel-debian", "w", encoding="ascii") as lock:
        os.fchmod(lock.fileno(), 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        child = host.popen("setup", stderr=theirs)
        os.close(theirs)
        seen = b""
        while b"making the kernel: 1 s" not in seen:
            seen += os.read(ours, 4096)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGINT
    os.close(ours)
    wait_until(lambda: not list(cache.glob("tmp/*")), "the scratch directory to go")
    assert not list(cache.glob("kernels/*")) and not list(cache.glob("images/*"))


def test_wrong_words(host):
    assert "--kernel is empty" in host("setup", "--kernel", "", check=2).stderr
    assert "setup does not take the word \"x\"" in host("setup", "x", check=2).stderr
    answer = host.json("setup", "--kernel", "/nonexistent", check=1, env={"MICROAGENT_CACHE_DIR": str(host.base / "none")})
    assert "/nonexistent: No such file or directory" in rows(answer)["kernel"]["detail"]
    assert states(answer)["kernel"] == "failed"
