# SPDX-License-Identifier: MIT
"""Users of the host make mistakes. Each gets an error that names the thing, and nothing is left."""

import json
import os
import subprocess

import pytest

from conftest import cache_dir, copy_disk, default_kernel, image

SMALL = ("--memory", 256, "--cpus", 1)


def refused(host, *words, code=1, **kw):
    done = host(*words, **kw)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stderr


def test_no_kernel_no_image(host):
    empty = {"MICROAGENT_CACHE_DIR": str(host.base / "cache")}
    text = refused(host, "run", "--", "true", code=125, env=empty)
    assert "hint: `microagent setup` makes what machines boot from" in text
    text = refused(host, "run", "--kernel", default_kernel(host)["path"], "--", "true", code=125, env=empty)
    assert "hint: `microagent setup` makes what machines boot from" in text


def test_a_truncated_image(host):
    disk = host.base / "cut.ext4"
    copy_disk(image(host, "busybox")["path"], disk)
    os.truncate(disk, os.stat(disk).st_size // 2)
    text = refused(host, "run", *SMALL, "--image", disk, "--", "true", code=125)
    assert f"{disk} is cut short" in text


def test_an_image_that_is_none(host):
    disk = host.base / "text"
    disk.write_text("not a file system\n" * 1000)
    assert str(disk) in refused(host, "run", *SMALL, "--image", disk, "--", "true", code=125)


def test_a_kernel_that_never_reaches_init(host):
    """The error of the boot deadline names the deadline and shows the end of the serial log."""
    initrd = host.base / "empty.initrd"
    subprocess.run("mkdir d && printf '#!/bin/sh\\n' > d/hello && cd d && echo hello | cpio -o -H newc > ../empty.initrd",
                   shell=True, check=True, cwd=host.base, capture_output=True)
    text = refused(host, "run", *SMALL, "--initrd", initrd, "--", "true", code=125,
                   env={"MICROAGENT_TEST_LIMIT_BOOT_TCG_MS": "30000"})
    assert "serial" in text


def test_a_boot_deadline_that_passes(host):
    text = refused(host, "run", *SMALL, "--", "true", code=125,
                   env={"MICROAGENT_TEST_LIMIT_BOOT_TCG_MS": "300",
                        "MICROAGENT_TEST_LIMIT_BOOT_KVM_MS": "1"})
    assert "deadline" in text


@pytest.mark.parametrize("words,word", [
    (("run", "--memory", "0", "--", "true"), "memory"),
    (("run", "--memory", "99999999", "--", "true"), "memory"),
    (("run", "--cpus", "0", "--", "true"), "cpu"),
    (("run", "--cpus", "9999", "--", "true"), "cpu"),
    (("run", "--name", "a/b", "--", "true"), "a/b"),
    (("run", "--name", "..", "--", "true"), ".."),
    (("run", "--kernel", "/nonexistent", "--", "true"), "/nonexistent"),
    (("run", "--image", "nonexistent", "--", "true"), "nonexistent"),
])
def test_refused_by_run(host, words, word):
    done = host(*words)
    assert done.returncode in (2, 125) and word in done.stderr.lower(), (done.returncode, done.stderr)


@pytest.mark.parametrize("words,said", [
    (("run", "--", b"a\xff"), '"a?" in the command is not UTF-8'), (("create", "w", "--", "sh", b"\xff"), '"?" in the command is not UTF-8'),
    (("run", "--base", "b", "--", b"a\xff"), '"a?" in the command is not UTF-8'), (("exec", "w", "--", b"a\xff"), '"a?" in the command is not UTF-8'),
    (("run", "--env", b"A=\xff", "--", "true"), '--env: environment variable "A=?" is not UTF-8'),
    (("exec", "--env", b"A=\xff", "w", "--", "true"), '--env: environment variable "A=?" is not UTF-8'),
    (("run", "--user", b"a\xff", "--", "true"), '--user: "a?" is not UTF-8'), (("exec", b"--cwd=/\xff", "w", "true"), '--cwd: "/?" is not UTF-8'),
    (("exec", "-u", "", "w", "true"), '--user: "" is empty'), (("session", "fork", "--on-fork", "", "session-x"), '--on-fork: "" is empty'),
    (("connect", "-u", b"\xff", "w"), '--user: "?" is not UTF-8'), (("ls", b"w:/\xff"), '"/?" is not UTF-8'), (("ls", "w", b"/\xff"), '"/?" is not UTF-8'),
    (("cp", b"w:/\xff", "."), '"/?" is not UTF-8'), (("cp", ".", b"w:/\xff"), '"/?" is not UTF-8'),
    (("run", "--share", b"/x\xff:/x", "--", "true"), "--share: path is not valid UTF-8"),
])
def test_bytes_that_are_no_text(host, words, said):
    """The protocol is JSON, which has no other bytes. So this is the caller's mistake, and the error says so."""
    done = subprocess.run([host.bin / "microagent", *words], env=host.env, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and said in done.stderr, done
    assert not host.state.exists() or not (host.state / "w").exists()


@pytest.mark.parametrize("words,suggestion", [
    (("stat",), "start"), (("lsit",), "list"), (("kernel", "instal"), "install"),
    (("run", "--memroy", "5", "--", "true"), "--memory"),
])
def test_unknown_words_get_a_suggestion(host, words, suggestion):
    done = host(*words)
    assert done.returncode == 2 and suggestion in done.stderr


def test_help_for_every_command_acts_on_nothing(host):
    for word in ("run", "create", "start", "status", "exec", "stop", "kill", "delete", "list", "logs",
                 "doctor", "host", "kernel", "image", "version"):
        done = host(word, "--help", check=0)
        assert word in done.stdout
    assert "run" in host("--help", check=0).stdout
    assert not host.state.exists()


def test_a_state_directory_others_can_write(host):
    host.state.mkdir()
    host.state.chmod(0o777)
    done = host("--json", "create", "w", *SMALL)
    assert done.returncode == 1
    error = json.loads(done.stdout)
    assert error["errorCode"] == "denied" and str(host.state) in error["error"]


def test_a_state_directory_of_another_user(host):
    if os.getuid() != 0:
        pytest.skip("only root can make a directory of another user")
    host.state.mkdir(mode=0o700)
    os.chown(host.state, 4242, 4242)
    done = host("--json", "create", "w", *SMALL)
    assert done.returncode == 1 and json.loads(done.stdout)["errorCode"] == "denied"


def test_links_in_the_home_of_another_user(host):
    """With `sudo -E` root uses the home of the calling user. No link of that user leads root to another place."""
    if os.getuid() != 0:
        pytest.skip("only root can be led by the home of another user")
    home, roots = host.base / "home", host.base / "of-root"
    roots.mkdir(mode=0o700)
    for link in (".microagent", ".cache/microagent", ".local/state/microagent"):
        (home / link).parent.mkdir(parents=True, exist_ok=True)
        (home / link).symlink_to(roots)
    subprocess.run(["chown", "-hR", "4242:4242", home], check=True)
    own = {**host.env, "HOME": str(home)}
    del own["XDG_STATE_HOME"]
    refused = f": {home} belongs to user 4242, but you are user 0; choose a directory of your own"
    for words, lacks in ((["create", "w", *SMALL], "MICROAGENT_STATE_DIR"), (["base", "create", "b"], "MICROAGENT_STATE_DIR"),
                         (["list"], "MICROAGENT_STATE_DIR"), (["image", "list"], "XDG_CACHE_HOME"),
                         (["image", "build", "busybox"], "XDG_CACHE_HOME")):
        env = {name: value for name, value in own.items() if name not in (lacks, "MICROAGENT_CACHE_DIR")}
        done = subprocess.run([host.bin / "microagent", *map(str, words)], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and refused in done.stderr, (words, done)
    # The list of opened directories is not needed if there is no place for it.
    cache = str(cache_dir(host))
    host("create", "w", *SMALL, check=0, env={"HOME": str(home), "XDG_STATE_HOME": "", "MICROAGENT_CACHE_DIR": cache})
    host("delete", "w", check=0)
    assert not list(roots.iterdir())


def test_foreign_files_in_the_state_directory_are_left_alone(host):
    host.state.mkdir(mode=0o700)
    (host.state / "notes.txt").write_text("mine")
    (host.state / "dir").mkdir()
    assert host.json("list")["workspaces"] == []
    host("run", *SMALL, "--", "true", check=0)
    assert (host.state / "notes.txt").read_text() == "mine"
    (host.state / "notes.txt").unlink()
    (host.state / "dir").rmdir()


def test_a_full_disk(host):
    """The state directory is on a file system without room: the command is refused, and nothing is half-made."""
    if os.getuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    small = host.base / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", small], check=True)
    try:
        env = {"MICROAGENT_STATE_DIR": str(small / "s")}
        text = refused(host, "run", *SMALL, "--", "true", code=125, env=env)
        assert "space" in text.lower()
        assert not [p for p in (small / "s").iterdir() if p.name not in (".locks", ".microagent-state")]
    finally:
        subprocess.run(["umount", small], check=True)


def test_damaged_state_files_are_named_and_kept(host):
    host("create", "w", *SMALL, check=0)
    path = host.state / "w" / "workspace.json"
    for damage in (b"", b"{", b"[]", b"\0"):
        path.write_bytes(damage)
        text = refused(host, "start", "w")
        assert str(path) in text
        assert path.read_bytes() == damage
    host("delete", "w", check=0)


def test_exec_on_what_is_not_there(host):
    assert "nobody" in refused(host, "exec", "nobody", "--", "true", code=125)
    host("create", "w", *SMALL, check=0)
    assert "start" in refused(host, "exec", "w", "--", "true", code=125)
    host("delete", "w", check=0)
