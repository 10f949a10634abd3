# SPDX-License-Identifier: MIT
"""Tests the mistakes of a new user: wrong words, closed streams, and the advice in messages."""

import json
import os
import pty
import resource
import select
import shutil
import signal
import subprocess
import termios
from pathlib import Path

import pytest

from conftest import BIN, default_kernel

SMALL = ("--memory", 256, "--cpus", 1)


def fails(host, code, *words, **kw):
    """The error's text."""
    done = host(*words, **kw)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stderr


def test_a_follower_of_a_quiet_machine_ends_with_its_reader(vm):
    child = vm.popen("logs", "-f", "vm")
    assert child.stdout.readline()
    child.stdout.close()
    assert child.wait(timeout=60) == 141


@pytest.mark.parametrize("words", [("run", "--", "echo", "hi"), ("exec", "d", "--", "echo", "hi")])
def test_a_closed_stdout_is_named(host, words):
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", BIN / "microagent", *words], env=host.env,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 125 and "stdout is closed" in done.stderr


@pytest.mark.parametrize("words", [("list",), ("--json", "list"), ("help",), ("profiles",)])
@pytest.mark.parametrize("where,why", [(">&-", "Bad file descriptor"), (">/dev/full", "No space left")])
def test_what_cannot_be_said_is_an_error(host, words, where, why):
    done = subprocess.run(["sh", "-c", f'"$@" {where}', "sh", BIN / "microagent", *words], env=host.env,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 1 and "cannot write to stdout: " + why in done.stderr
    assert done.stderr.count("cannot write to stdout") == 1


@pytest.mark.parametrize("where,why", [(">&-", "Bad file descriptor"), (">/dev/full", "No space left")])
def test_events_that_cannot_be_said_are_an_error(host, where, why):
    host("create", "w", *SMALL, check=0)
    done = subprocess.run(["sh", "-c", f'"$@" {where}', "sh", BIN / "microagent", "events", "w"], env=host.env,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 1 and "cannot write to stdout: " + why in done.stderr
    host("delete", "w", check=0)


@pytest.mark.parametrize("name,shown", [("other", "{}"), ("of two", "'{}'"), ("it's", "DIR")])
def test_what_is_to_be_typed_next_has_the_state_directory(host, name, shown):
    directory = host.base / name
    itself = f"microagent --state-dir {shown.format(directory)}"
    done = host("--state-dir", directory, "create", "w", *SMALL, check=0)
    assert done.stdout == f"w: prepared; `{itself} start w` boots it\n"
    said = host("--state-dir", directory, "exec", "w", "--", "true", check=125).stderr
    assert f"`{itself} start w`" in said, said
    said = host("--state-dir", directory, "create", "w", *SMALL, check=1).stderr
    assert f"`{itself} " in said and "`microagent " not in said.replace(f"`{itself} ", ""), said
    # In a message itself, and in a warning.
    assert f"`{itself} status w`" in host("--state-dir", directory, "result", "w", check=1).stderr
    assert f"`{itself} status w`" in json.loads(host("--state-dir", directory, "--json", "result", "w", check=1).stdout)["error"]
    host("--state-dir", directory, "delete", "w", check=0)
    for words, then in ((("list",), "create NAME"), (("session", "list"), "session create --base NAME"), (("base", "list"), "base create NAME"),
                        (("pool", "status"), "pool set --base NAME --size N"), (("audit", "list"), "session create")):
        said = host("--state-dir", directory, *words, check=0).stderr
        assert f"`{itself} {then}`" in said, said
    for words, then in ((("session", "create"), "base list"), (("pool", "set"), "base list"), (("pool", "set", "--base", "b"), "pool drain"),
                        (("connect", "w"), "connect w --send LINE"), (("cp", "a:/x", "b:/y"), "cp a:/x DIR"), (("nothing",), "--help")):
        said = host("--state-dir", directory, *words, check=2).stderr
        assert f"`{itself} {then}`" in said, said


def test_a_limit_of_file_sizes_is_told(host):
    """The command does not die by SIGXFSZ, which would leave something behind."""
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    for words, code in ((("create", "w", *SMALL), 1), (("run", *SMALL, "--", "true"), 125)):
        done = subprocess.run([BIN / "microagent", *map(str, words)], env=host.env, capture_output=True, text=True, check=False,
                              preexec_fn=small, timeout=60)
        assert done.returncode == code and "File too large" in done.stderr, (words, done)
        assert host.json("list")["workspaces"] == []


def test_an_empty_answer_says_so(host):
    assert "there is no workspace" in host("list", check=0).stderr
    host("create", "w", *SMALL, check=0)
    assert host("list", check=0).stderr == ""
    assert "neither bundles nor outputs" in host("artifacts", "w", check=0).stderr
    assert all(line == line.rstrip() for line in host("events", "w", check=0).stdout.splitlines())
    # The value is wrong whether such a workspace exists or not.
    assert "MIB must be" in fails(host, 2, "balloon", "w", "much")
    host("delete", "w", check=0)


def test_delete_says_what_it_did(host):
    host("create", "demo", *SMALL, check=0)
    assert host("delete", "demo", "nosuch", check=0).stdout == "demo: deleted\nnosuch: was not there\n"
    assert host.json("delete", "nosuch")["event"]["state"] == "stopped"


@pytest.mark.parametrize("words,text", [
    (("create", "a/b"), "a/b"),
    (("start", "a/b"), "a/b"),
    (("status", "a/b"), "a/b"),
    (("logs", "a/b"), "a/b"),
    (("delete", "box", "a/b"), "a/b"),
    (("run", "--env", "NO_SUCH_VARIABLE", "--", "true"), "your environment has no variable \"NO_SUCH_VARIABLE\": write KEY=VALUE to give it a value"),
    (("run", "--env", "BAD KEY=1", "--", "true"), "BAD KEY"),
    (("exec", "--env", "=1", "box", "--", "true"), "KEY=VALUE"),
    (("run", "--name", "../x", "--", "true"), "../x"),
    (("run", "--accelerator", "foo", "--", "true"), "auto, kvm or tcg"),
    (("run", "-u", "--", "true"), "--user needs a value"),
    (("create", "--bundle", "in=/a.tar", "box"), "--bundle: \"in=/a.tar\" does not name a bundle: write NAME=ARCHIVE:/MOUNTPOINT"),
    (("create", "--bundle", "/a.tar:/in", "box"), "NAME=ARCHIVE:/MOUNTPOINT"),
    (("create", "--bundle", "in=a.tar:in", "box"), "NAME=ARCHIVE:/MOUNTPOINT"),
    (("run", "--output", "report", "--", "true"), "--output: \"report\" does not name an output: write NAME=/PATH"),
    (("run", "--output", "=/report", "--", "true"), "NAME=/PATH"),
    (("run", "--output", "report=here", "--", "true"), "NAME=/PATH"),
])
def test_wrong_words_are_a_usage_error(host, words, text):
    assert text in fails(host, 2, *words)
    assert not host.state.exists()


@pytest.mark.parametrize("words,text", [
    (("--memory", 1), "--memory must be at least 64 MiB"),
    (("--cpus", 9999), "--cpus is 9999"),
    (("--user", "a b"), "--user must be"),
    (("--allow", "10.0.0.0/8", "--allow", "foo"), "--allow foo must be an IPv4 prefix"),
    (("--allow", "::/0"), "--allow ::/0 must be an IPv4 prefix"),
    (("--allow", "0x0a.0.0.0/8"), "--allow 0x0a.0.0.0/8 must be an IPv4 prefix"),
    (("--allow", "1.2.3.4/8"), "--allow 1.2.3.4/8 must be an IPv4 prefix"),
    (("--allow", "10.0.0.0/08"), "--allow 10.0.0.0/08 must be an IPv4 prefix"),
    (("--allow", "10.0.0.0/8", "--network", "isolated"), "--allow needs --network nat"),
    (("--allow", "0.0.0.0/0"), "--allow 0.0.0.0/0 is the prefix of all addresses"),
    (("--allow", "127.0.0.1"), "--allow 127.0.0.1 is the guest's own loopback"),
    (("--allow", "10.0.0.0/16", "--allow", "169.254.169.254"), "--allow 169.254.169.254 is link-local or the address of a cloud's"),
    (("--network", "bridged"), "--network-interface is missing: --network bridged needs"),
    (("--network", "isolated", "-p", "80:80"), '--publish needs --network nat or bridged, and --network is "isolated"'),
    (("--share", "../x:/d"), 'must not have ".." in it, and is "'),
    (("--share", "/srv:/d/.."), 'must not have ".." in it, and is "/d/..": write the path without it'),
    (("--state-dir", "/tmp/../tmp/no-such"), '--state-dir must not have ".." in it, and is "/tmp/../tmp/no-such": write the path without it'),
    (("--share", "/:/d"), "the path of --share /:/d must not be"),
    (("--share", "/srv:/dev/d"), "/proc, /sys and /dev belong to the guest's kernel"),
    (("--bundle", "b=/b.tar:/proc"), "/proc, /sys and /dev belong to the guest's kernel"),
])
def test_a_wrong_value_is_a_usage_error_that_names_its_option(host, words, text):
    for command in (("create", *words, "w"), ("run", *words, "--", "true")):
        said = fails(host, 2, *command)
        assert text in said and "config." not in said
        assert "opens more than one network" not in said  # a refused command opens nothing
    assert host.json("list") == {"workspaces": []}


def test_what_is_gone_at_a_start_is_named_by_the_option_of_its_making(host):
    """The path in the request does not help a user who typed options, and start has no such option."""
    disk, share = host.base / "disk", host.base / "share"
    subprocess.run(["mkfs.ext4", "-q", disk, "8M"], check=True)
    share.mkdir()
    host("create", "w", *SMALL, "--disk", f"d={disk}:/d:ro", "--share", f"{share}:/s", check=0)
    share.rmdir()
    said = f"microagent: the path of --share number 1: {share} does not exist: `mkdir` makes it\n"
    for words in (("start", "w"), ("start", "--prepare", "w")):
        assert fails(host, 1, *words) == said
    share.mkdir()
    disk.unlink()
    assert f"the path of --disk number 1: {disk} does not exist" in fails(host, 1, "start", "w")
    assert host.json("status", "w")["event"]["state"] in ("prepared", "failed") and not host.processes()
    host("delete", "w", check=0)


def test_a_disk_or_a_kernel_that_is_gone_names_the_workspace(host):
    """The message does not name an option that start does not have and that perhaps nobody has given."""
    kernel = host.base / "kernel"
    shutil.copy(default_kernel(host)["path"], kernel)
    shutil.copy(default_kernel(host)["path"] + ".initrd", f"{kernel}.initrd")
    host("create", "w", *SMALL, "--kernel", kernel, check=0)
    (host.base / "f").write_text("given\n")
    for words in (("start", "w"), ("start", "--prepare", "w")):
        kernel.rename(f"{kernel}.away")
        assert f'microagent: the kernel of workspace "w": {kernel} does not exist' in fails(host, 1, *words)
        Path(f"{kernel}.away").rename(kernel)
    disk = host.state / "w" / "rootfs.ext4"
    disk.unlink()
    gone = f'the disk of workspace "w": {disk} does not exist'
    hint = "put it back; or `microagent delete w` removes the workspace, `microagent create w` makes it again"
    for words in (("start", "w"), ("start", "--prepare", "w")):
        said = fails(host, 1, *words)
        assert said.startswith(f"microagent: {gone}") and hint in said, said
    said = fails(host, 1, "cp", host.base / "f", "w:/workspace/f")
    assert str(disk) in said and "--image" not in said and "config." not in said, said
    document = json.loads(host("--json", "start", "w", check=1).stdout)
    assert (document["errorReason"], document["errorSubject"]) == ("root-missing", "w"), document
    assert host.json("status", "w")["event"]["state"] == "prepared"
    host("delete", "w", check=0)


def test_a_dash_is_no_target(host):
    """A file called "-" is hardly what the user means. If there is one, its path names it."""
    host("create", "w", *SMALL, "--output", "out=/etc/passwd", check=0)
    for words in (("artifacts", "get", "w", "out", "-"), ("cp", "w:/etc/passwd", "-"), ("cp", "-", "w:/workspace/f")):
        said = fails(host, 2, *words)
        assert '"-" does not mean stdin or stdout here: `microagent exec NAME -- cat /PATH` prints a file' in said, said
    assert not Path("-").exists()
    host("delete", "w", check=0)


def test_lists_of_egress_that_are_no_lists(host):
    """The contents of the file are the caller's mistake, as in --env-file. A missing file may appear later."""
    listed = host.base / "list"
    listed.write_text("pypi.org\nbad name\n")
    for given, text, usage in ((listed, f"--egress-from: {listed}:2: 'bad name' is not a host name", True),
                               (host.base, f"--egress-from: {host.base} is not a regular file", True),
                               ("foo", '--egress-from: there is no list "foo"', True),
                               (host.base / "none", f"--egress-from: {host.base}/none: No such file", False)):
        for ours, words in ((125, ("run", "--egress-from", given, "--", "true")), (1, ("create", "--egress-from", given, "w"))):
            assert fails(host, 2 if usage else ours, *words).startswith(f"microagent: {text}"), words
    assert host.json("list") == {"workspaces": []}


def test_options_that_are_empty_or_no_such_word(host):
    for words in (("list",), ("run", "--", "true"), ("session", "list")):
        assert fails(host, 2, "--state-dir=", *words) == "microagent: --state-dir is empty\n"
    said = ('microagent: --rlimit must be NAME=SOFT or NAME=SOFT:HARD, like nofile=4096, with a number or unlimited for SOFT and HARD, '
            'and is "{}"\n')
    for word in ("foo", "nofile=", "nofile=x", "nofile=1:x", "=1"):
        assert fails(host, 2, "exec", "--rlimit", word, "w", "--", "true") == said.format(word)
    service = "a vsock port and its service on the host"
    for option, word, what in (("--mediation", "1=x", service), ("--vsock", "x", service), ("--publish", "x", "ports to publish")):
        said = fails(host, 2, "session", "create", "--base", "web", option, word)
        assert said.startswith(f'microagent: {option}: "{word}" does not name {what}: write ')
    for words in (("run", "--mediation-optional", "--", "true"), ("session", "create", "--base", "web", "--mediation-optional")):
        assert fails(host, 2, *words) == "microagent: --mediation-optional needs --mediation: give both, or leave --mediation-optional out\n"


@pytest.mark.parametrize("words,text", [
    (("run", "--", ""), 'the command "" is empty'),
    (("exec", "w", "--", ""), 'the command "" is empty'),
    (("create", "w", ""), 'the command "" is empty'),
    (("cp", "/etc/passwd", "w:rel"), "w:rel: the path in the workspace must be absolute"),
    (("cp", "a", "b"), "exactly one of the source and the target"),
    (("bogus",), 'unknown command "bogus": `microagent --help` lists the commands'),
    (("--json", "connect", "--serial", "w"), "--json"),
])
def test_what_is_wrong_is_quoted(host, words, text):
    assert text in fails(host, 2, *words)
    assert not host.state.exists()


def test_json_errors_of_run_are_the_last_line_of_stderr(host):
    """Every line before it, such as the warning about an emulated machine, is JSON too."""
    lines = fails(host, 125, "--json", "run", "--image", "nosuch", "--", "true").splitlines()
    assert len(lines) == 1 and json.loads(lines[0])["ok"] is False
    lines = fails(host, 127, "--json", "run", *SMALL, "--", "no-such-program").splitlines()
    *before, last = map(json.loads, lines)
    assert last["errorCode"] == "not-found" and "no-such-program" in last["error"]
    assert all(set(line) == {"warning"} for line in before)


@pytest.mark.parametrize("option,value", [
    ("--initrd", "/nonexistent"), ("--disk", "a=/nonexistent:/d:ro"), ("--share", "/nonexistent:/d"),
])
def test_errors_name_the_option_and_not_the_field(host, option, value):
    """A fault of a file is no fault of the words."""
    text = fails(host, 125, "run", option, value, "--", "true")
    assert option in text and "config." not in text


def test_a_file_that_is_no_kernel(host):
    text = fails(host, 125, "run", "--kernel", "/etc/passwd", "--", "true")
    assert "/etc/passwd is not a kernel" in text and "--from" not in text


def test_what_stands_in_the_way_of_a_name(host):
    """Only a workspace of ours is advised to be deleted."""
    host("create", "own", *SMALL, check=0)
    assert "microagent delete own" in fails(host, 1, "create", "own")
    foreign = host.state / "foreign"
    foreign.mkdir()
    (foreign / "letter").write_text("mine")
    text = fails(host, 1, "create", "foreign")
    assert "choose another name" in text and "delete" not in text
    (foreign / "letter").unlink()
    foreign.rmdir()
    host("delete", "own", check=0)


def test_a_lost_machine_names_the_workspace(host):
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    child = host.popen("exec", "w", "--", "sh", "-c", "echo ready; sleep 1000")
    assert child.stdout.readline() == b"ready\n"
    host("kill", "w", check=0)
    text = child.communicate(timeout=60)[1].decode()
    assert child.returncode == 125 and "microagent status w" in text
    host("delete", "w", check=0)


def on_a_terminal(host, *words, raw=False, **kw):
    """Returns what a person sees of a command that ends by itself. raw: as bytes, as they are written."""
    master, slave = pty.openpty()
    if raw:
        modes = termios.tcgetattr(slave)
        modes[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, modes)
    child = host.popen(*words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, **kw)
    said, end = b"", b"\0that was all\0"
    ended = os.pidfd_open(child.pid)
    # A word behind the command marks the end of the output. Linux 6.18 reports the end of all users of a terminal too
    # early once in some hundred times, and then the last output is lost.
    watched = [master, ended]
    while end not in said:
        ready = select.select(watched, [], [], 60)[0]
        assert ready, said
        if ended in ready:
            os.write(slave, end)
            watched.remove(ended)
        if master in ready:
            said += os.read(master, 65536)
    for fd in (slave, master, ended):
        os.close(fd)
    said = said.removesuffix(end)
    return child.wait(timeout=60), said if raw else said.decode()


def test_connect_to_what_does_not_run(host):
    host("create", "w", *SMALL, check=0)
    code, said = on_a_terminal(host, "connect", "w")
    assert code == 125 and "microagent start w" in said and "connected" not in said
    host("delete", "w", check=0)


def test_a_working_directory_that_was_removed(vm, tmp_path):
    """The directory can still be opened as ".", and nothing can be made in it."""
    def said(*words):
        gone = tmp_path / "gone"
        gone.mkdir()
        script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
        done = subprocess.run(["sh", "-c", script, "sh", gone, BIN / "microagent", *words], env=vm.env, stderr=subprocess.PIPE,
                              text=True, check=False, timeout=60)
        assert done.returncode == 1 and not gone.exists()
        return done.stderr

    assert said("cp", "vm:/etc/passwd", ".") == "microagent: the directory . was removed while files were copied into it: make it again, and copy again\n"
    assert said("cp", "vm:/etc/passwd", "./x") == "microagent: the directory ./x was removed while files were copied into it: make it again, and copy again\n"
    assert said("cp", "x", "vm:/tmp") == "microagent: the working directory of this process was removed: change to another directory\n"


def test_what_a_running_guest_refuses(vm, tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_text("text")

    text = fails(vm, 1, "cp", tree / "a", "vm:/etc/x")
    assert "vm:/etc/x: Permission denied" in text and "hint: --user root" in text and ".microagent" not in text
    for words in (("cp", "vm:/etc/shadow", tmp_path), ("ls", "vm", "/root"), ("ls", "-d", "vm", "/root/x")):
        text = fails(vm, 1, *words)
        assert "/etc/shadow: Permission denied\n" in text or "vm:/root" in text, text
        assert text.splitlines()[-1].startswith("microagent: hint: --user root "), text
    assert json.loads(vm("--json", "ls", "vm", "/root", check=1).stdout)["errorReason"] == "guest-user-denied"
    assert "hint" not in fails(vm, 1, "ls", "-u", "root", "vm", "/root/x")
    text = fails(vm, 1, "cp", "-u", "root", tree / "a", "vm:/proc/x")
    assert "vm:/proc/x: " in text and "--user" not in text and ".microagent" not in text
    vm("cp", tree, "vm:/workspace", check=0)
    text = fails(vm, 1, "cp", tree, "vm:/workspace")
    assert "vm:/workspace/tree already exists" in text and "remove it" in text
    (tmp_path / "out" / "tree").mkdir(parents=True)
    text = fails(vm, 1, "cp", "vm:/workspace/tree", tmp_path / "out")
    assert f"{tmp_path}/out/tree already exists" in text
    assert f"{tree}/a" in fails(vm, 1, "cp", "vm:/workspace/tree", tree / "a")

    # A directory that nobody should remove, and a link that leads there.
    (tmp_path / "link").symlink_to("/dev/null")
    for target in ("/dev/null", tmp_path / "link"):
        text = fails(vm, 1, "cp", "vm:/etc/passwd", target)
        assert f"{target} already exists and is not a regular file" in text or f"{target} is a symbolic link" in text, text
        assert text.endswith(": give another target\n") and "remove" not in text
    assert os.path.exists("/dev/null") and (tmp_path / "link").is_symlink()
    for words in (("cp", "vm:/tmp/..", tmp_path), ("cp", tmp_path / "..", "vm:/tmp/")):
        assert fails(vm, 1, *words) == 'microagent: a copy cannot have the name "..": end the path of the target with another name\n'

    said = "the command was killed: its timeout of 1 s passed"
    assert fails(vm, 124, "exec", "--timeout", 1, "vm", "--", "sleep", "1000") == f"microagent: {said}\n"
    answer = json.loads(fails(vm, 124, "--json", "connect", "--timeout", 1, "--send", "sleep 1000", "vm"))
    assert (answer["error"], answer["errorCode"]) == (said, "timeout")

    told = vm.json("connect", "vm", "--send", "echo hi; echo bad >&2; exit 3", check=3)
    assert (told["exitCode"], told["stdout"], told["stderr"]) == (3, "hi\n", "bad\n")

    code, said = on_a_terminal(vm, "connect", "-u", "nobody-of-it", "vm")
    connected, error = said.index("connected"), said.index("microagent: ")
    assert code == 125 and connected < error and "nobody-of-it" in said and said.endswith("\r\n")
    vm("exec", "vm", "--", "rm", "-r", "/workspace/tree", check=0)


def test_a_run_that_is_broken_off_says_what_is_kept(host):
    child = host.popen("run", *SMALL, "--keep", "--", "sh", "-c", "echo ready; sleep 1000")
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGINT)
    text = child.communicate(timeout=60)[1].decode()
    assert child.returncode == 130
    name = host.json("list")["workspaces"][0]["name"]
    assert f'workspace "{name}" was kept: `microagent start {name}`' in text
    host("delete", name, check=0)


def test_too_few_descriptors(host):
    """Whatever cannot be opened or passed on, the message says what to do."""
    host.wrap = ["prlimit", "--nofile=20"]
    try:
        said = host("run", "--", "true", check=125).stderr
    finally:
        host.wrap = []
    assert "Too many open files\n" in said and "hint: ulimit -n shows how many files a program may have open here" in said, said
    assert host.json("list")["workspaces"] == [] and not host.processes()
