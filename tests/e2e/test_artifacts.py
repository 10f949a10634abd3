# SPDX-License-Identifier: MIT
"""Tests files that go out of workspaces and into them: declared outputs, cp, clone. A machine that runs nothing of the
workspace reads a workspace at rest, and nothing of that machine stays."""

import hashlib
import json
import os
import re
import signal
import subprocess

from conftest import ended, wait_until
from digests import contents

IDENTITY = {"requestID": "req-1", "runtimeID": "w", "role": "workload", "backend": "qemu"}

FILL = r"""
set -e
cd /workspace
echo first > report.json
ln -s /etc/passwd link
mkdir -p out/deep && cd out
echo inner > deep/file; chmod 4750 deep/file
ln -s deep/file good; ln -s ../.. up; ln -s /etc/passwd abs; ln -s deep/../../../x sneaky
ln -s . here; ln -s here/../../x through
mkfifo pipe; mknod null c 1 3; touch 'odd
name' "$(printf 'bad\377bytes')"
head -c 3000000 /dev/urandom > big; md5sum < big > big.md5
mkdir /data/sub; echo on the disk > /data/sub/result
sync
"""


# The guest's user makes links to files that only root may read, and to files that the user may read.
LINKS = r"""
set -e
cd /workspace
ln -s /etc/shadow shadow; ln -s /root roots; ln -s chain2 chain; ln -s ../etc/shadow chain2
ln -s ./report.json alias; ln -s /etc shown; ln -s /home/other/back nested
echo mine > own; chmod 600 own; ln -s own mine; ln -s loop loop
"""
# root makes a link to a file of the user, a file of the user's group, and a link that belongs to another user.
ROOTS = r"""
set -e
echo secret > /root/secret; chmod 600 /root/secret; ln -s /workspace/shadow /root/latest
echo grouped > /workspace/grouped; chown 0:1000 /workspace/grouped; chmod 640 /workspace/grouped
ln -s grouped /workspace/group; chown -h 1000:0 /workspace/group
mkdir /home/other; ln -s /workspace/own /home/other/back; chown -h 1001:1001 /home/other/back
"""
LED = {"shadow": "/workspace/shadow", "mine": "/workspace/mine"}
DENIED = "is a link of the guest's user 1000 and was followed with the rights of this user"


def check_links(host):
    """A link is followed with the rights of its maker, wherever it is on the way. The rest is read as root. The program
    of a reader's machine does it in the running guest."""
    def output(path):
        return host("exec", "--user", "root", "w", "--", "microagent-files", "output", "/", path).stdout

    for path, link, why in (("/workspace/roots/secret", "/workspace/roots", "/root/secret: Permission denied"),
                            ("/workspace/chain", "/workspace/chain", "/etc/shadow: Permission denied"),
                            ("/root/latest", "/workspace/shadow", "/etc/shadow: Permission denied"),
                            ("/workspace/nested", "/workspace/nested", "/workspace/nested and /home/other/back in the guest are links of "
                                                                       "different users, and no user has the rights of both")):
        assert f"{link} {DENIED}: {why}" in output(path), path
    for path, text in (("/workspace/alias", "first\n"), ("/workspace/group", "grouped\n"), ("/root/secret", "secret\n"),
                       ("/../workspace/./out/../mine", "mine\n")):
        assert text in output(path), path
    shown = output("/workspace/shown")
    assert "agent:x:1000" in shown and "permission denied" in shown and "root:*:" not in shown
    for path, why in (("/workspace/none", "/workspace/none: No such file"), ("/workspace/loop", "Too many levels of symbolic links"),
                      ("/workspace/" + "x" * 300, "File name too long"), ("/workspace/own/x", "Not a directory")):
        assert why in output(path), path


def ask(host, command, config=None):
    code, answer, _ = host.supervisor({"command": command, "identity": IDENTITY,
                                       "config": config or {"stateDir": str(host.state)}})
    return code, answer


def refused(host, *words, code=1):
    done = host(*words)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stderr


def no_reader(host, name="w"):
    return not (host.state / name / "reader").exists() and not list((host.state / name / ".locks").iterdir())


def prepared(host):
    """A workspace that runs, with outputs of every kind, on its root and on a disk. Returns its other disk."""
    disk = host.base / "data.img"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", disk, "16M"], check=True)
    outputs = [{"name": "report", "path": "/workspace/report.json"}, {"name": "tree", "path": "/workspace/out"},
               {"name": "result", "path": "/data/sub/result"}, {"name": "none", "path": "/data/none"}, {"name": "link", "path": "/workspace/link"},
               {"name": "pipe", "path": "/workspace/out/pipe"}, *({"name": name, "path": path} for name, path in LED.items())]
    config = host.config(outputs=outputs, disks=[{"name": "data", "path": str(disk), "mountpoint": "/data", "mode": "rw"}])
    assert ask(host, "prepare", config)[0] == 0
    assert host.json("artifacts", "w") == {"ingress": [], "egress": [{**o, "kind": "output"} for o in outputs]}
    assert "/workspace/report.json" in host("artifacts", "w", check=0).stdout
    code, answer = ask(host, "start", config)
    assert code == 0 and [o["name"] for o in answer["artifacts"]["egress"]] == [o["name"] for o in outputs]
    host("exec", "--user", "root", "w", "--", "sh", "-c", FILL, check=0)
    return disk


def test_outputs_and_copies(host):
    disk = prepared(host)
    target = host.base / "target"
    target.mkdir()

    # The workspace runs, and the disk is read from outside while the file system is frozen.
    assert host.json("artifacts", "get", "w", "report", target) == {"ok": True, "skipped": []}
    assert (target / "report.json").read_text() == "first\n"
    assert no_reader(host)
    host("exec", "--user", "root", "w", "--", "sh", "-c", "echo thawed > /workspace/t && sync", check=0)

    # The workspace runs, and the agent reads as the guest's user.
    done = host.json("cp", "w:/workspace/out", target / "copy")
    copy = target / "copy"
    left_out = {s["path"]: s["why"] for s in done["skipped"]}
    assert {"up", "abs", "sneaky", "through"} <= set(left_out) and "out of what is copied" in left_out["abs"]
    assert "permission denied" in left_out["deep/file"] and {"pipe", "null"} <= set(left_out)
    assert os.readlink(copy / "good") == "deep/file" and os.readlink(copy / "here") == "."
    assert (copy / "odd\nname").exists() and b"bad\xffbytes" in os.listdir(os.fsencode(copy))
    assert f"{hashlib.md5((copy / 'big').read_bytes()).hexdigest()}  -\n" == (copy / "big.md5").read_text()
    host("cp", "w:/proc/version", target, check=0)  # longer than it says
    assert "Linux" in (target / "version").read_text()
    source = host.base / "source"
    (source / "a" / "b").mkdir(parents=True)
    (source / "a" / "b" / "f").write_bytes(b"\0\xff" * 50000)
    os.symlink("b/f", source / "a" / "l")
    os.mkfifo(source / "pipe")
    assert [s["path"] for s in host.json("cp", str(source), "w:/workspace/in")["skipped"]] == ["pipe"]
    out = host("exec", "w", "--", "sh", "-c", "cd /workspace/in/a; stat -c '%u %s' b/f; readlink l", check=0).stdout
    assert out == "1000 100000\nb/f\n"
    assert "denied" in refused(host, "cp", source, "w:/etc/in")
    host("cp", "--user", "root", host.base / "source" / "a" / "b" / "f", "w:/etc/f", check=0)

    # Refused before anything is done.
    (target / "l").symlink_to(host.base / "elsewhere")
    (target / "d" / "report.json").mkdir(parents=True)
    for words, text in ((("artifacts", "get", "w", "nothing", target), "no output \"nothing\""),
                        (("artifacts", "get", "w", "report", target / "l"), f"{target / 'l'} is a symbolic link"),
                        (("artifacts", "get", "w", "report", target / "d"),
                         f"{target / 'd' / 'report.json'} already exists"),
                        (("artifacts", "get", "w", "report", target / "no" / "dir"), "No such file"),
                        (("cp", "w:/workspace/none", target / "x"), "No such file"),
                        (("cp", "w:/workspace/out/null", target / "x"), "neither a file nor a directory"),
                        (("cp", host.base / "none", "w:/workspace"), "No such file"),
                        (("clone", "w", "other"), "microagent stop w")):
        assert text in refused(host, *words), words
    for words in (("cp", "a", "b"), ("cp", "w:/a", "w:/b"), ("artifacts", "w", "x"), ("cp", "./w:/a", "b")):
        refused(host, *words, code=2)
    assert not (host.base / "elsewhere").exists() and not (target / "x").exists()

    # If a client goes away while the file system is frozen, it is thawed.
    freezer = host.popen("exec", "-i", "--user", "root", "w", "--", "microagent-files", "freeze", "/", stdin=subprocess.PIPE)
    assert freezer.stdout.readline() == b"frozen\n"
    busy = host("exec", "--user", "root", "w", "--", "microagent-files", "freeze", "/")
    assert busy.returncode == 1 and "cannot be frozen" in busy.stderr
    freezer.send_signal(signal.SIGKILL)
    freezer.communicate()
    wait_until(lambda: host("exec", "--user", "root", "w", "--", "microagent-files", "freeze", "/").returncode == 0,
               "the file system to be thawed")

    # A guest that does not freeze in time is not waited for.
    late = host("artifacts", "get", "w", "report", target / "late", env={"MICROAGENT_TEST_LIMIT_FREEZE_MS": "1"})
    assert late.returncode == 75 and "the guest did not freeze its file system" in late.stderr, late.stderr
    assert no_reader(host) and not (target / "late").exists()

    # Files that were written and fsynced just before the kill are there.
    host("exec", "--user", "root", "w", "--", "sh", "-c",
         "echo second | dd of=/workspace/report.json conv=fsync", check=0)
    assert ask(host, "kill")[0] == 0
    before = contents(host.disk()), contents(disk)
    host("artifacts", "get", "w", "report", target / "report.json", check=0)
    assert (target / "report.json").read_text() == "second\n"
    at_rest_as(host, disk, before)


def at_rest_as(host, disk, before):
    """Reading writes nothing, and replays no journal in place."""
    assert (contents(host.disk()), contents(disk)) == before
    assert no_reader(host) and not host.processes()
    assert ask(host, "inspect")[1]["event"]["detail"] == "killed"
    assert ask(host, "delete")[0] == 0


def test_outputs_at_rest(host):
    disk = prepared(host)
    target = host.base / "target"
    target.mkdir()
    host("exec", "w", "--", "sh", "-c", LINKS, check=0)
    host("exec", "--user", "root", "w", "--", "sh", "-c", ROOTS + "sync", check=0)
    check_links(host)
    assert ask(host, "kill")[0] == 0
    before = contents(host.disk()), contents(disk)
    said = refused(host, "artifacts", "get", "w", "shadow", target / "shadow")
    assert f"/workspace/shadow {DENIED}: /etc/shadow: Permission denied" in said and not (target / "shadow").exists()
    host("artifacts", "get", "w", "mine", target / "mine", check=0)
    assert (target / "mine").read_text() == "mine\n"
    done = host("artifacts", "get", "--limit", "1K", "w", "tree", target / "tree", check=1)
    assert "the copy is larger than the limit of 1024 bytes" in done.stderr and not (target / "tree").exists()
    done = host("artifacts", "get", "--limit", "1G", "w", "tree", target / "tree", check=0)
    assert (target / "tree" / "deep" / "file").read_text() == "inner\n"  # whoever it is owned by
    assert (target / "tree" / "deep" / "file").stat().st_mode & 0o7777 == 0o750
    assert not (target / "tree" / "abs").is_symlink() and "left out: abs: " in done.stderr
    assert "microagent: /data/none, on its disk: " in refused(host, "artifacts", "get", "w", "none", target / "none")
    host("artifacts", "get", "w", "result", target / "result", check=0)
    assert (target / "result").read_text() == "on the disk\n"
    host("artifacts", "get", "w", "link", target / "passwd", check=0)
    assert "agent:x:1000" in (target / "passwd").read_text()  # the image's own, not the host's
    assert "neither a file nor a directory" in refused(host, "artifacts", "get", "w", "pipe", target / "pipe")
    at_rest_as(host, disk, before)


def test_a_freeze_has_an_end(host):
    """The guest thaws when its time is over, whoever holds the file system. A copy that is not complete by then is refused."""
    config = host.config(outputs=[{"name": "report", "path": "/workspace/report"}],
                         env={"MICROAGENT_TEST_LIMIT_FREEZE_MS": "1"})
    assert ask(host, "prepare", config)[0] == 0
    assert ask(host, "start", config)[0] == 0
    # The disk has enough data for a copy that takes longer than a millisecond.
    host("exec", "w", "--", "sh", "-c", "echo it > /workspace/report; dd if=/dev/zero of=/workspace/much bs=1M count=128 "
         "conv=fsync 2>&1", check=0)

    # The time is over before the copy could begin.
    target = host.base / "report"
    said = refused(host, "artifacts", "get", "w", "report", target, code=75)
    assert "was thawed after the limit of 1 ms, before it was copied: stop the workspace" in said, said
    assert no_reader(host) and not target.exists()

    # The holder is still there when a writer, who had to wait, goes on.
    freezer = host.popen("exec", "-i", "--user", "root", "--env", "MICROAGENT_TEST_LIMIT_FREEZE_MS=300", "w", "--",
                         "microagent-files", "freeze", "/", stdin=subprocess.PIPE)
    assert freezer.stdout.readline() == b"frozen\n"
    host("exec", "w", "--", "sh", "-c", "echo more >> /workspace/report", check=0)
    assert freezer.poll() is None
    _, said = freezer.communicate()
    assert freezer.returncode == 1 and b"thawed after the limit of 300 ms" in said, said

    # At rest nothing must be frozen.
    assert ask(host, "stop")[0] == 0
    host("artifacts", "get", "w", "report", target, check=0)
    assert target.read_text() == "it\nmore\n"
    assert ask(host, "delete")[0] == 0


def test_clone_and_files_for_what_does_not_run(host):
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    (host.base / "f").write_text("given\n")
    host("clone", "w", "twin", check=0)
    config = json.loads((host.state / "twin" / "workspace.json").read_text())["config"]
    assert config["rootfsPath"] == str(host.state / "twin" / "rootfs.ext4")
    assert contents(host.state / "twin" / "rootfs.ext4") == contents(host.state / "w" / "rootfs.ext4")
    assert "there is a workspace \"twin\"" in refused(host, "clone", "w", "twin")
    refused(host, "clone", "nobody", "other")
    assert not (host.state / "other").exists()

    host("stop", "twin", check=0)  # no guest has had its disk, so the copy is recorded anew
    host("cp", "--user", "agent", host.base / "f", "twin:/workspace/f", check=0)  # a name of the image
    assert no_reader(host, "twin")
    status = host.json("status", "twin")
    assert status["event"]["state"] == "prepared" and status["verification"]["ok"] is True
    host("start", "twin", check=0)  # its disk is the recorded one
    assert host("exec", "twin", "--", "sh", "-c", "cat /workspace/f; stat -c %u /workspace/f; hostname",
                check=0).stdout == "given\n1000\ntwin\n"
    host("kill", "twin", check=0)
    host("delete", "twin", check=0)

    # The reader's caller, or its supervisor, is killed. The machine ends, and nothing of it stays. The file is larger
    # than all buffers on the way, so that the copy cannot end while its caller is stopped.
    (host.base / "f").write_bytes(os.urandom(32 << 20))
    host("cp", host.base / "f", "w:/workspace/f", check=0)
    for victim in ("caller", "supervisor"):
        reader = host.popen("cp", "w:/workspace", host.base / "never")
        event = host.state / "w" / "reader" / "event.json"
        wait_until(event.exists, "the reader")
        reader.send_signal(signal.SIGSTOP)  # otherwise the copy may end before the kill
        again = host("start", "w")  # no command may start a workspace that is being read
        assert again.returncode == 1 and "process alive" in again.stderr, again.stderr
        # The message says which command reads it, and what to do.
        assert re.search(r"microagent-live \(\d+\).*, or end it with `kill \d+`", again.stderr), again.stderr
        if victim == "caller":
            reader.kill()
        else:
            runtime = host.state / "w" / "reader" / "runtime.json"
            wait_until(runtime.exists, "the reader's supervisor")
            os.kill(json.loads(runtime.read_text())["supervisorPid"], signal.SIGKILL)
            reader.send_signal(signal.SIGCONT)
        reader.communicate()
        wait_until(lambda: not host.processes(), "the reader's end")
        assert not (host.base / "never").exists()
        if victim == "caller":
            wait_until(lambda: not (host.state / "w" / "reader").exists(), "its directory to go")
    assert no_reader(host)

    # Makes a file system that is damaged.
    with open(host.state / "w" / "rootfs.ext4", "r+b") as disk:
        disk.seek(4096)
        disk.write(os.urandom(1 << 20))
    text = refused(host, "cp", "w:/etc/passwd", host.base / "never")
    assert "the disk cannot be read, because the machine that reads it has failed: " in text and "ext4" in text
    assert no_reader(host) and not host.processes() and not (host.base / "never").exists()
    host("delete", "w", check=0)


def test_bundles_and_outputs_of_the_command_line(host):
    """Outputs and bundles are declared by options of `create` and `run`. An archive and a path may have colons."""
    (host.base / "in").mkdir()
    (host.base / "in" / "task").write_text("count to 3\n")
    archive = host.base / "a:b.tar.gz"
    subprocess.run(["tar", "-C", host.base / "in", "-czf", archive, "."], check=True)
    small = ("--memory=256", "--cpus=1")

    # Wrong options are refused with the words of the command line, and nothing stays.
    for code, words, text in (
            (1, ("--bundle", f"in={host.base}/none.tar:/in"), "none.tar"),
            (2, ("--bundle", f"in={archive}:/in", "--bundle", f"in={archive}:/other"), f"--bundle in={archive}:/other has"),
            (2, ("--bundle", f"in={archive}:/in", "--disk", f"d={archive}:/in:ro"), "/in"),
            (2, ("--output", "x=/a", "--output", "x=/b"), "--output x=/b has"),
            (2, ("--output", "x=/a/../b"), "the path of --output x=/a/../b")):
        said = refused(host, "create", *small, *words, "w", code=code)
        assert text in said and "config." not in said, said
    assert not (host.state / "w").exists()

    write = "cat /in/task > /workspace/report && ! touch /in/x"
    made = host.json("create", *small, "--bundle", f"in={archive}:/in", "--output", "report=/workspace/report",
                     "w", "--", "sh", "-c", write)
    assert made["artifacts"] == host.json("artifacts", "w") == {
        "ingress": [{"name": "in", "path": str(archive), "mountpoint": "/in", "mode": "ro", "kind": "bundle", "direct": True}],
        "egress": [{"name": "report", "path": "/workspace/report", "kind": "output"}]}
    kept = archive.rename(host.base / "kept")
    # The copy of a workspace builds its bundle from the archive again.
    said = refused(host, "clone", "w", "twin")
    assert f"{archive}" in said and "bundle \"in\"" in said and "put the archive back" in said, said
    assert not (host.state / "twin").exists()
    # A disk that is changed before the first start must be recorded anew too.
    (host.base / "note").write_text("put\n")
    said = refused(host, "cp", host.base / "note", "w:/workspace/report")
    assert f"{archive}" in said and "put the archive back" in said, said
    assert host.json("status", "w")["verification"]["ok"] is True
    kept.rename(archive)
    assert "read-only" in refused(host, "cp", host.base / "note", "w:/in/task")
    assert "No such file" in refused(host, "cp", host.base / "note", "w:/none/report")
    assert host.json("status", "--full", "w")["verification"]["ok"] is True  # what it had written is recorded
    # Nothing has run yet, so there is no output to fetch, but files that were copied in are there.
    host("cp", host.base / "note", "w:/workspace/report", check=0)
    archive.unlink()
    host("artifacts", "get", "w", "report", host.base / "before", check=0)
    assert (host.base / "before").read_text() == "put\n"
    host.json("start", "w")
    assert ended(host)["state"] == "stopped"
    answer = host.json("result", "w")
    assert answer["result"]["exitCode"] == 0 and "Read-only" in answer["result"]["stderr"], answer
    host("artifacts", "get", "w", "report", host.base / "after", check=0)
    assert (host.base / "after").read_text() == "count to 3\n"
    host("delete", "w", check=0)
