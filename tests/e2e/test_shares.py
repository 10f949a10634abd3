# SPDX-License-Identifier: MIT
"""Tests directories of the host in the guest: who may do what, as which user, and what happens when a share breaks."""

import errno
import json
import os
import shutil
import signal
import struct
import tarfile
from pathlib import Path

import pytest
import schema_check
import virtiofsd
from conftest import BIN, HANG_S, cache_dir, default_kernel, ended, wait_until
from exchanged import EVIL, Exchanged, owned
from modes import check_modes
from oci import Layout, busybox, layer
from oci import file as oci_file
from planted import plant
from test_devices import disk, make_disk, sh
from test_supervisor import request, sparse

NOBODY_ELSE = 4242


def share(path, mountpoint, mode="rw", tag=None):
    return {"tag": tag or path.name, "path": str(path), "mountpoint": mountpoint, "mode": mode}


def two_shares(host):
    work, ref = host.base / "work", host.base / "ref"
    for path in (work, ref):
        path.mkdir(mode=0o700)
        (path / "from-host").write_text(path.name)
        (path / "from-host").chmod(0o600)
    config = host.config(shares=[share(work, "/work"), share(ref, "/ref/deep", "ro")])
    code, answer, _ = host.supervisor(request("prepare", config))
    assert code == 0, answer
    code, answer, _ = host.supervisor(request("start", config))
    assert code == 0, answer
    return work, ref


def servers(host, name="agent-1"):
    """Returns {tag: pid of the virtiofsd itself}, whose parent is the cell's monitor."""
    runtime = json.loads((host.state / name / "runtime.json").read_text())
    found = {}
    for companion in runtime["companions"]:
        name, _, tag = companion["name"].partition(" ")
        if name == "virtiofsd":
            pid = companion["pid"]
            found[tag] = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
    return found


def check_cell(pid, shared, tag):
    """It runs as another user than ours, with only three ids of the host, without a right over mounts, and sees only
    the files that it serves."""
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                  if ":\t" in line)
    assert int(status["Uid"].split()[1]) != os.getuid()
    assert status["Seccomp"].strip() == "2" and status["NoNewPrivs"].strip() == "1"
    assert not int(status["CapEff"], 16) & (1 << 21), "CAP_SYS_ADMIN"
    for kind, ours in (("uid", os.getuid()), ("gid", os.getgid())):
        lines = [line.split() for line in Path(f"/proc/{pid}/{kind}_map").read_text().splitlines()]
        assert [(line[0], line[2]) for line in lines] == [("0", "1"), ("1000", "1")]
        assert int(lines[1][1]) == ours and int(lines[0][1]) not in (0, ours)
    mounts = Path(f"/proc/{pid}/mountinfo").read_text()
    assert str(shared) in mounts or tag in mounts
    assert not {"/etc", "/home", "/root", "/tmp", "/run"} & {line.split()[4] for line in mounts.splitlines()}


def check_appends(host, work):
    """The guest sees data that the host appends if it asks for the size, opens the file again, or has read it to its
    end. (The test does not check how soon: it looks on until it does.)"""
    log = work / "log"
    log.write_text("first\n")
    size = log.stat().st_size + len("more\n")
    child = host.popen("exec", "--user", "agent", "agent-1", "--", "sh", "-c",
                       "exec 3</work/log; cat <&3; cat /work/log; stat -c %s /work/log; until read -r said <&3; do :; done; "
                       f"until [ $(stat -c %s /work/log) = {size} ]; do :; done; until [ $(tail -n1 /work/log) = more ]; do :; done; "
                       "echo seen $said")
    assert [child.stdout.readline() for _ in range(3)] == [b"first\n", b"first\n", b"6\n"]
    with open(log, "a", encoding="utf-8") as end:
        end.write("more\n")
    out, err = child.communicate(timeout=HANG_S)
    assert (child.returncode, out) == (0, b"seen more\n"), err
    log.unlink()


def test_shares(host):
    work, ref = two_shares(host)
    mounts = sh(host, "agent-1", "grep virtiofs /proc/mounts")
    assert "work /work virtiofs rw,nosuid,nodev" in mounts
    assert "ref /ref/deep virtiofs ro,nosuid,nodev" in mounts
    for tag, pid in servers(host).items():
        check_cell(pid, host.base / tag, tag)

    # The guest's user is the user who started the workspace, both ways.
    said = sh(host, "agent-1", "cat /work/from-host /ref/deep/from-host; id -u; stat -c %u:%g /work/from-host; "
                               "mkdir -p /work/d/e; echo from-agent > /work/d/e/f; chmod 700 /work/d; "
                               "rm /work/from-host", "agent")
    assert said == "workref1000\n1000:1000\n"
    made = work / "d" / "e" / "f"
    assert made.read_text() == "from-agent\n" and not (work / "from-host").exists()
    assert (made.stat().st_uid, made.stat().st_gid) == (os.getuid(), os.getgid())
    made.write_text("changed by the host\n")
    # By read(2). sendfile(2), which busybox's cat uses, has the old size for up to a second in kernels since 6.5.
    assert sh(host, "agent-1", "dd if=/work/d/e/f 2>/dev/null", "agent") == "changed by the host\n"

    # The guest's root is no user of the host, and other owners lead nowhere else.
    sh(host, "agent-1", "echo r > /work/by-root; chown 1000:1000 /work/by-root; echo s > /work/still-root; "
                        f"! chown {NOBODY_ELSE} /work/by-root && ! chgrp {NOBODY_ELSE} /work/by-root")
    sh(host, "agent-1", "! chown 0 /work/d/e/f", "agent")
    assert (work / "by-root").stat().st_uid == os.getuid()
    assert (work / "still-root").stat().st_uid not in (0, os.getuid())
    check_appends(host, work)
    check_modes(lambda line, user: sh(host, "agent-1", line, user), work, "/work", os.getuid())

    # Read-only: the guest's mount, and behind it the host's.
    sh(host, "agent-1", "! touch /ref/deep/x; mount -o remount,rw /ref/deep; ! touch /ref/deep/x; "
                        "! rm /ref/deep/from-host; mkdir /again && mount -t virtiofs ref /again; ! touch /again/x")
    assert [p.name for p in ref.iterdir()] == ["from-host"]

    # A share that breaks ends the machine, which would hang in it.
    os.kill(servers(host)["work"], signal.SIGKILL)
    event = ended(host, "agent-1")
    assert event["state"] == "failed" and "virtiofsd work" in event["detail"], event
    wait_until(lambda: not host.processes(), "every process to end")
    assert not list((host.state / "agent-1").glob("*.sock*"))
    host("delete", "agent-1", check=0)
    for name in ("by-root", "still-root"):
        (work / name).unlink()


def test_a_mountpoint_below_another(host):
    """Both are seen, in whichever order they are listed: the last mount would hide what is below its place."""
    inner, outer = host.base / "inner", host.base / "outer"
    for path in (inner, outer):
        path.mkdir(mode=0o700)
        (path / "name").write_text(path.name)
    image = make_disk(host.base / "data.img", name="disk")
    config = host.config(shares=[share(inner, "/work/b/inner"), share(outer, "/work")], disks=[disk(image, "/work/b", "rw")])
    for command in ("prepare", "start"):
        code, answer, _ = host.supervisor(request(command, config))
        assert code == 0, answer
    assert sh(host, "agent-1", "cat /work/name /work/b/name /work/b/inner/name", "agent") == "outerdiskinner"
    assert host.supervisor(request("kill", sparse(host)))[0] == 0
    host("delete", "agent-1", check=0)


def test_a_user_of_the_guest_does_not_choose_where_it_is_mounted(host):
    """root mounts it, on a path through directories of the guest's user. With a passwd of its own on /etc that user would be root."""
    work = host.base / "work"
    work.mkdir(mode=0o700)
    (work / "passwd").write_text("root::0:0::/:/bin/sh\nagent::0:0::/:/bin/sh\n")
    host("create", "w", "--network", "isolated", "--memory", 256, "--share", f"{work}:/workspace/sub/work", check=0)
    host("start", "w", check=0)
    sh(host, "w", "chown agent /workspace /workspace/sub")
    sh(host, "w", "mv /workspace/sub /workspace/old; mkdir /workspace/sub; ln -s /etc /workspace/sub/work", "agent")
    host("stop", "w", check=0)
    done = host("start", "w", check=1)
    assert "/workspace/sub/work is a link that user 1000 made" in done.stderr, done.stderr
    host("delete", "w", check=0)
    # A link that the image has, or that root has made, is followed.
    host("create", "w", "--network", "isolated", "--memory", 256, "--share", f"{work}:/var/run/work", check=0)
    host("start", "w", check=0)
    assert "/run/work virtiofs" in sh(host, "w", "ls -d /var/run; cat /proc/mounts")
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def test_a_directory_without_a_place(host):
    """It is on /workspace, as a session's is; a second one needs a place."""
    first, second = (host.base / name for name in ("first", "second"))
    for path in (first, second):
        path.mkdir()
        (path / "f").write_text(path.name)
    words = ("run", "--network", "isolated", "--memory", 256, "--cpus", 1, "--share", "first")
    line = ("--", "sh", "-c", "cat /workspace/f /second/f")
    assert host(*words, "--share", f"{second}:/second:ro", *line, cwd=host.base, check=0).stdout == "firstsecond"
    done = host(*words, "--share", second, *line, cwd=host.base, check=2)
    assert "/workspace" in done.stderr, done.stderr


def test_what_the_guest_keeps(host):
    """By the policy of each share a change of the host is seen, or is not."""
    timeout = ",timeout=3600" if virtiofsd.IS_C else ""
    kept, fresh = host.base / "kept", host.base / "fresh"
    for path in (kept, fresh):
        path.mkdir(mode=0o700)
        (path / "f").write_text("old\n")
    host("create", "w", "--network", "isolated", "--memory", 256, "--share", f"{kept}:/kept:ro,cache=always{timeout}",
         "--share", f"{fresh}:/fresh", check=0)
    schema_check.validate("workspace", json.loads((host.state / "w" / "workspace.json").read_text()))
    host("start", "w", check=0)
    words = {tag: Path(f"/proc/{pid}/cmdline").read_text().split("\0") for tag, pid in servers(host, "w").items()}
    assert {virtiofsd.cache_word("always"), *timeout.split(",")[1:]} <= set(words["share-0"]), words
    assert virtiofsd.cache_word("auto") in words["share-1"] and not [word for word in words["share-1"] if word.startswith("timeout=")], words
    assert sh(host, "w", "cat /kept/f /fresh/f; stat -c %s /kept/f /fresh/f") == "old\nold\n4\n4\n"
    for path in (kept, fresh):
        (path / "f").write_text("changed\n")
    # The test does not check how soon: it looks on until one sees the change, and then the other does not.
    said = sh(host, "w", "until [ $(stat -c %s /fresh/f) = 8 ]; do :; done; cat /fresh/f; stat -c %s /kept/f; cat /kept/f")
    assert said == "changed\n4\nold\n"
    host("kill", "w", check=0)
    host("delete", "w", check=0)


@pytest.mark.parametrize("options, text", [
    ("bad", '/x:/x:bad: "bad" is not an option of a share; the options are ro, rw, review, cache='), ("ro,foo", ':/x:ro,foo: "foo" is not an option of a share'),
    ("cache=never", "cache of --share"), ("timeout=0", "timeout seconds of --share"), ("cache=none,timeout=5", "the cache \"none\" keeps nothing"),
    ("timeout=soon", "timeout=SECONDS"), ("rx", "timeout=SECONDS"), ("ro,", "timeout=SECONDS"), ("cache", "timeout=SECONDS"), ("locks=on", "and locks"),
])
def test_options_that_are_none(host, options, text):
    done = host("create", "w", "--share", f"{host.base}/x:/x:{options}")
    assert done.returncode == 2 and text in done.stderr, done.stderr
    assert not (host.state / "w").exists()


def bind(host, what, below):
    """A place that only our programs see, in a mount namespace of theirs: the words before a command."""
    return ["unshare", "--mount", "sh", "-c", f'mount --bind {what} {below} && exec "$@"', "sh"]


def mounted(kind, on):
    """The same with a file system of that kind on it."""
    return ["unshare", "--mount", "sh", "-c", f'mount -t {kind} none {on} && exec "$@"', "sh"]


def refused_shares(host):
    """The fault, its error code, a word of the message, the share, and the words before the command."""
    plain, mine, theirs, fixed, over = (host.base / name for name in ("file", "mine", "theirs", "fixed", "over"))
    plain.write_text("")
    mine.mkdir()
    over.mkdir()
    (over / "deep").mkdir()
    fixed.mkdir(mode=0o500)
    (host.base / "link").symlink_to(mine)
    (host.base / "way").symlink_to("/etc")
    host.state.mkdir(mode=0o700, exist_ok=True)
    (host.state / "in").mkdir()
    the_one, of_yours = "share the one directory that the task needs", "into a directory of yours"
    cases = [
        ("missing", "not-found", "does not exist: `mkdir` makes it", share(host.base / "none", "/a")),
        ("file", "invalid", "is not a directory: share the one", share(plain, "/a")),
        ("link", "invalid", "symbolic link: name the directory itself", share(host.base / "link", "/a")),
        ("root", "invalid", '"/": share the one directory', share(Path("/"), "/a", tag="t")),
        ("through a link", "invalid", f"{host.base}/way/init.d is in /etc, and nothing in there is ever shared: copy what the task needs {of_yours}",
         share(host.base / "way" / "init.d", "/a")),
        ("state", "invalid", "is in the state directory", share(host.state, "/a")),
        ("in state", "invalid", "is in the state directory", share(host.state / "in", "/a")),
        ("above state", "invalid", "holds the state directory", share(host.base, "/a", tag="t")),
        ("read-only", "denied", 'mode "ro"', share(fixed, "/a")),
    ]
    cases += [(path, "invalid", f"{path} is never shared: {the_one}", share(Path(path), "/a"))
              for path in ("/Users", "/Volumes", "/home", "/root", "/mnt", "/media", "/usr", "/usr/local", "/opt", "/srv", "/tmp")
              if Path(path).is_dir()]
    cases += [(path, "invalid", f"nothing in {path} is ever shared: copy what the task needs", share(Path(path), "/a"))
              for path in ("/etc", "/proc", "/sys", "/dev", "/run", "/var", "/boot", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec",
                           "/usr/include", "/usr/share", "/usr/local/bin", "/usr/local/lib", "/usr/local/share", "/usr/local/etc")
              if Path(path).is_dir()]
    cases += [(path, "invalid", f"{path} is in {top}, and nothing in there is ever shared", share(Path(path), "/a"))
              for path, top in (("/etc/init.d", "/etc"), ("/proc/self", "/proc"), ("/dev/shm", "/dev"),
                                ("/var/tmp", "/var"), ("/usr/share/doc", "/usr/share"),
                                ("/usr/lib/qemu", "/usr/lib"), ("/lib/qemu", "/usr/lib")) if Path(path).is_dir() and not Path(path).is_symlink()]
    if os.getuid() == 0:
        theirs.mkdir()
        os.chown(theirs, NOBODY_ELSE, NOBODY_ELSE)
        closed = host.base / "closed"
        closed.mkdir()
        os.chown(closed, 0, NOBODY_ELSE)
        closed.chmod(0o700)
        cases += [
            ("theirs", "denied", f"not yours (owner uid {NOBODY_ELSE}): copy", share(theirs, "/a")),
            ("theirs, read-only", "denied", "not yours", share(theirs, "/a", "ro")),
            ("closed", "denied", "`chmod o+x` opens it", share(closed, "/a")),
            ("bind mount of /", "invalid", "is /, which", share(over, "/a"), bind(host, "/", over)),
            ("bind mount of /home", "invalid", "is /home, which", share(over, "/a"), bind(host, "/home", over)),
            ("bind mount of a part of /etc", "invalid", "is in /etc, and nothing in there", share(over, "/a"), bind(host, "/etc/init.d", over)),
            ("bind mount of what holds the state", "invalid", "holds the state directory", share(over, "/a"),
             bind(host, host.base, over)),
            ("bind mount of a part of the state", "invalid", "is in the state directory", share(over, "/a"),
             bind(host, host.state / "in", over)),
            ("with /etc mounted in it", "invalid", f"has /etc mounted in it, on {over}/deep: unmount that", share(over, "/a"),
             bind(host, "/etc", over / "deep")),
            ("with the state mounted in it", "invalid", f"mounted in it, on {over}/deep: unmount that", share(over, "/a"),
             bind(host, host.state, over / "deep")),
        ]
        cases += [
            case for kind in ("proc", "devpts", "mqueue") for case in (
                (f"{kind} elsewhere", "invalid", f"{over}/deep is in the kernel's own file system {kind}, and nothing in there is ever shared: copy what",
                 share(over / "deep", "/a", "ro"), mounted(kind, over / "deep")),
                (f"with {kind} mounted in it", "invalid", f"{over} has the kernel's own file system {kind} mounted in it, on {over}/deep: unmount",
                 share(over, "/a", "ro"), mounted(kind, over / "deep")))]
        cases += [("in proc elsewhere", "invalid", f"{over}/deep/self is a symbolic link", share(over / "deep" / "self", "/a"),
                   mounted("proc", over / "deep")),
                  ("below proc elsewhere", "invalid", "file system proc, and nothing in there is ever shared", share(over / "deep" / "sys" / "kernel", "/a"),
                   mounted("proc", over / "deep"))]
    return cases


def check_refused(host, cases, env=None):
    for what, error_code, words, item, *wrap in cases:
        host.wrap = wrap[0] if wrap else []
        for command in ("check", "prepare", "run"):
            code, answer, _ = host.supervisor(request(command, host.config(shares=[item])), env=env)
            assert code == 1 and answer["errorCode"] == error_code, (what, command, answer)
            assert words in answer["error"] and "config.shares[0].path" in answer["error"], (what, answer)
            assert not (host.state / "agent-1").exists(), what
    host.wrap = []


def test_the_cache_is_not_shared(host):
    """The kernels and images of every machine to come."""
    above, beside, below = host.base / "caches", host.base / "beside", host.base / "beside" / "deep"
    cache = above / "microagent"
    holds, inside = f"holds the cache directory {cache}: share the one", f"is in the cache directory {cache}: share a directory elsewhere"
    for path in (above, below):
        path.mkdir(parents=True)
    # The directory does not exist yet. If this guest made it, it would be used.
    check_refused(host, [("before it is there", "invalid", holds, share(above, "/a"))], {"XDG_CACHE_HOME": str(above), "MICROAGENT_CACHE_DIR": ""})
    (cache / "kernels").mkdir(parents=True)
    cases = [
        ("itself", "invalid", inside, share(cache, "/a")),
        ("below", "invalid", inside, share(cache / "kernels", "/a")),
        ("read-only", "invalid", inside, share(cache / "kernels", "/a", "ro")),
        ("above", "invalid", holds, share(above, "/a")),
    ]
    if os.getuid() == 0:
        cases += [
            ("bind mount of a part", "invalid", inside, share(beside, "/a"), bind(host, cache / "kernels", beside)),
            ("bind mount of what holds it", "invalid", holds, share(beside, "/a"), bind(host, above, beside)),
            ("mounted below", "invalid", f"has the cache directory {cache} mounted in it, on {below}: unmount that", share(beside, "/a"),
             bind(host, cache, below)),
        ]
    check_refused(host, cases, {"MICROAGENT_CACHE_DIR": str(cache)})
    check_refused(host, cases, {"XDG_CACHE_HOME": str(above), "MICROAGENT_CACHE_DIR": ""})
    code, answer, _ = host.supervisor(request("check", host.config(shares=[share(below, "/a")])), env={"MICROAGENT_CACHE_DIR": str(cache)})
    assert code == 0, answer
    host.supervisor(request("inspect", sparse(host)))


def test_refusals(host):
    check_refused(host, refused_shares(host))
    # The caller is a user that this host does not know, but has a home.
    home = host.base / "homes" / "me"
    home.mkdir(parents=True)
    code, answer, _ = host.supervisor(request("check", host.config(shares=[share(home.parent, "/a")])),
                                      env={"HOME": str(home)})
    assert code == 1 and f"holds the home directory {home}: share the one" in answer["error"], answer
    (host.state / "in").rmdir()
    host.supervisor(request("inspect", sparse(host)))


def test_no_program_of_ours_is_shared_writable(host):
    """The programs that run the next machine."""
    tools, beside = host.base / "tools", host.base / "beside"
    real, links = tools / "real", tools / "links"
    for path in (real, links, beside):
        path.mkdir(parents=True)
    (real / "qemu").touch(0o755)
    (links / "qemu").symlink_to(real / "qemu")
    env = {"MICROAGENT_QEMU": str(links / "qemu")}
    ours = "which microagent itself runs: share it read-only (mode \"ro\"), or another directory"
    cases = [(path.name, "invalid", f"{path} holds {links}/qemu, {ours}", share(path, "/a")) for path in (tools, real, links)]
    if os.getuid() == 0:
        cases += [("bind mount", "invalid", f"{beside} holds {links}/qemu, {ours}", share(beside, "/a"), bind(host, tools, beside))]
        file, way = beside / "file", "share it read-only (mode \"ro\"), or another directory"
        file.touch()
        single = [(real / "qemu", real), (BIN / "microagent-vsockd", BIN)]
        cases += [(f"{program} alone", "invalid", f"{beside} has a file of {place}, where programs are, mounted in it, on {file}: {way}",
                   share(beside, "/a"), bind(host, program, file)) for program, place in single]
        for program, item in ((real / "qemu", share(beside, "/a", "ro")), (host.base / "harmless", share(beside, "/a"))):
            program.touch()
            host.wrap = bind(host, program, file)
            code, answer, _ = host.supervisor(request("check", host.config(shares=[item])), env=env)
            assert code == 0, answer
    check_refused(host, cases, env)
    check_refused(host, [("beside the supervisor", "invalid", f"holds {BIN}, {ours}", share(BIN, "/a"))])
    looked = "where programs are looked for (PATH): share it read-only"
    for place in (beside, beside / "bin"):  # the second does not exist yet
        check_refused(host, [("of PATH", "invalid", f"{beside} holds {place}, {looked}", share(beside, "/a"))],
                      {"PATH": f"{place}:{os.environ['PATH']}"})
    why = "where libraries are looked for (LD_LIBRARY_PATH): share it read-only"
    for words in (f"{beside}", f"/nowhere;{beside}"):
        check_refused(host, [("of LD_LIBRARY_PATH", "invalid", f"{beside} holds {beside}, {why}", share(beside, "/a"))], {"LD_LIBRARY_PATH": words})
    for item in (share(tools, "/a", "ro"), share(beside, "/a"), share(BIN, "/a", "ro")):
        path = {"PATH": f"{os.environ['PATH']}:{tools}"}
        code, answer, _ = host.supervisor(request("check", host.config(shares=[item])), env={**env, **path})
        assert code == 0, answer
    host.supervisor(request("inspect", sparse(host)))


def test_no_link_to_what_we_run_or_keep_is_shared_writable(host):
    """A user who has the link can replace it by another directory, with other files."""
    project, tools, cache, state = (host.base / name for name in ("project", "tools", "caches", "states"))
    for path in (project, tools, cache / "microagent" / "kernels", state, host.base / "home"):
        path.mkdir(parents=True)
    (tools / "qemu").touch(0o755)
    (tools / "qemu").chmod(0o755)
    for name, to in (("bin", tools), ("cache", cache), ("st", state), ("home", host.base / "home"), ("keys", host.base / "home" / ".ssh"), ("chain", host.base / "back"), ("round", "round")):
        (project / name).symlink_to(to)
    (host.base / "home" / ".ssh").mkdir(mode=0o700)
    (host.base / "me").mkdir()
    (host.base / "me" / ".ssh").symlink_to(project / "keys")
    # Links into the project and out of it again; one whose target does not exist yet, and one that only leads in.
    (host.base / "back").symlink_to(project / "bin")
    (host.base / "to-be").symlink_to(project / "made" / "bin")
    (host.base / "way").symlink_to(project)
    (project / "deep").mkdir()
    (host.base / "named").mkdir()
    (host.base / "named" / "apt-get").symlink_to(project / "made" / "apt-get")
    looked, ours = "where programs are looked for (PATH)", "which microagent itself runs"
    path, plain = os.environ["PATH"], share(project, "/a")

    def reached(thing, link="bin", inside=project):
        return f"{thing} is reached by the link {inside}/{link}, which {project} holds: share it read-only"

    cases = [
        ("a link of PATH", reached(f"{project}/bin, {looked},"), {"PATH": f"{project}/bin:{path}"}),
        ("last in PATH", reached(f"{project}/bin, {looked},"), {"PATH": f"{path}:{project}/bin"}),
        ("below a link of PATH", reached(f"{project}/bin/none/deeper, {looked},"), {"PATH": f"{project}/bin/none/deeper:{path}"}),
        ("a link that leads through it", reached(f"{host.base}/back, {looked},"), {"PATH": f"{host.base}/back:{path}"}),
        ("links that lead through it twice", reached(f"{project}/chain, {looked},", "chain"), {"PATH": f"{project}/chain:{path}"}),
        ("a link to itself", f"{project} holds {project}/round, {looked}", {"PATH": f"{project}/round:{path}"}),
        ("what is to be made there", f"{project} holds {host.base}/to-be, {looked}", {"PATH": f"{host.base}/to-be:{path}"}),
        ("by a directory", f"{project}/deep/../../tools, {looked}, is reached by {project}/deep, which {project} holds",
         {"PATH": f"{project}/deep/../../tools:{path}"}),
        ("relative", f"{project} holds ./none/.bin, {looked}", {"PATH": f"./none/.bin:{path}"}),
        ("relative, by a link", reached(f"bin, {looked},"), {"PATH": f"{path}:bin"}),
        ("an empty entry", f"{project} holds ., where programs are looked for (an empty entry of PATH)", {"PATH": f"{path}:"}),
        ("QEMU", reached(f"{project}/bin/qemu, {ours},"), {"MICROAGENT_QEMU": f"{project}/bin/qemu"}),
        ("one that is not there yet", f"{project} holds {project}/none, {ours}", {"MICROAGENT_QEMU_ARM64": f"{project}/none"}),
        ("the library", reached(f"{project}/bin/lib.so, {ours},"), {"MICROAGENT_LIBRARY": f"{project}/bin/lib.so"}),
        ("a link to what an image is made by", f"{project} holds {host.base}/named/apt-get, {ours}", {"PATH": f"{host.base}/named:{path}"}),
        ("a library of each program", f"{project} holds {project}/none.so, {ours}", {"LD_PRELOAD": f"libm.so.6 {project}/none.so"}),
        ("one behind a colon", f"{project} holds {project}/none.so, {ours}", {"LD_PRELOAD": f"libm.so.6:{project}/none.so"}),
        ("one that audits", f"{project} holds {project}/none.so, {ours}", {"LD_AUDIT": f"{project}/none.so"}),
        ("the cache", reached(f"cache directory {project}/cache/microagent", "cache"), {"XDG_CACHE_HOME": f"{project}/cache", "MICROAGENT_CACHE_DIR": ""}),
        ("the cache, by a variable", reached(f"cache directory {host.base}/way/cache", "cache"), {"MICROAGENT_CACHE_DIR": f"{host.base}/way/cache"}),
        ("the state", reached(f"state directory {project}/st", "st"), {"MICROAGENT_STATE_DIR": f"{project}/st"}),
        ("the list", reached(f"list of directories {project}/st/microagent", "st"), {"XDG_STATE_HOME": f"{project}/st"}),
        ("the home", reached(f"state directory {project}/home/.microagent", "home"), {"HOME": f"{project}/home"}),
        ("keys", reached(f"store of keys {host.base}/me/.ssh", "keys"), {"HOME": f"{host.base}/me"}),
    ]
    for what, words, env in cases:
        env = {"MICROAGENT_CACHE_DIR": str(cache_dir(host)), **env}
        check_refused(host, [(what, "invalid", words, plain, ["/usr/bin/env", "-C", str(project)])], env)
        # The guest cannot replace what it can only read.
        host.wrap = ["/usr/bin/env", "-C", str(project)]
        code, answer, _ = host.supervisor(request("check", host.config(shares=[share(project, "/a", "ro")])), env=env)
        assert code == 0, (what, answer)
        host.wrap = []
    config = host.config(shares=[plain], stateDir=str(project / "st"))
    code, answer, _ = host.supervisor(request("check", config))
    assert code == 1 and reached(f"state directory {project}/st", "st") in answer["error"], answer
    # A project with links by which nothing is found. The rest of PATH may lead anywhere.
    host.wrap = ["/usr/bin/env", "-C", str(host.base)]
    (host.base / "home" / "code").mkdir()
    config = host.config(shares=[plain, share(host.base / "home" / "code", "/b")])
    for env in ({}, {"PATH": f"{tools}:{path}:./none:"}, {"HOME": str(host.base / "home"), "MICROAGENT_CACHE_DIR": str(cache_dir(host))}):
        code, answer, _ = host.supervisor(request("check", config), env=env)
        assert code == 0, (env, answer)
    host.wrap = []
    host.supervisor(request("inspect", sparse(host)))


def test_a_relative_entry_of_path_is_judged_of_a_command_too(host):
    """microagent leaves this entry out of PATH before it starts a supervisor. The supervisor checks it all the same,
    since the user's other programs are found there."""
    project = host.base / "project"
    project.mkdir()
    host.wrap = ["/usr/bin/env", "-C", str(project)]
    for entry, words in (("none/.bin", "none/.bin, where programs are looked for (PATH)"),
                         ("", "., where programs are looked for (an empty entry of PATH)")):
        answer = host.json("create", "w", "--memory", 256, "--share", f"{project}:/a:rw", check=2, env={"PATH": f"{entry}:{os.environ['PATH']}"})
        assert f"{project} holds {words}" in answer["error"], answer


def test_programs_are_found_by_absolute_entries_of_path_alone(host):
    """A user who starts us in a directory of a guest does not run the programs in it."""
    there = host.base / "there"
    there.mkdir()
    plant(there)
    config = host.config()
    for entry in (".", "", "../there"):
        host.wrap = ["/usr/bin/env", "-C", str(there)]
        code, answer, _ = host.supervisor(request("check", config), env={"PATH": f"{entry}:{os.environ['PATH']}"})
        assert code == 0 and not (there / "ran").exists(), (entry, answer)
        code, answer, _ = host.supervisor(request("host"), env={"PATH": entry})
        assert not (there / "ran").exists() and str(there) not in json.dumps(answer), (entry, answer)
    host.wrap = []
    host.supervisor(request("inspect", sparse(host)))


def test_state_directories_of_the_past_are_not_shared(host):
    """Each directory that was used once is known by its marker, and from above by the list of them."""
    above, work = host.base / "elsewhere", host.base / "elsewhere" / "work"
    other, moved = above / "other", host.base / "moved"
    for path in (work, above / "deep"):
        path.mkdir(parents=True)
    env = {"XDG_STATE_HOME": str(host.tmp / "state-home")}
    host("--state-dir", other, "list", check=0, env=env)
    code, answer, _ = host.supervisor(request("check", host.config(shares=[share(above, "/a")])), env=env)
    assert code == 0 and not other.exists(), answer
    host("--state-dir", other, "create", "w", "--memory", 256, check=0, env=env)
    host("--state-dir", other, "delete", "w", check=0, env=env)
    inside = f"is in the state directory {other}: share a directory elsewhere"
    check_refused(host, [
        ("itself", "invalid", f"{other} is in the", share(other, "/a")),
        ("holds it", "invalid", f"{above} holds the directory of microagent {other}: share the one", share(above, "/a")),
        ("the list", "invalid", f"{host.tmp} holds the list of directories {host.tmp}/state-home/microagent", share(host.tmp, "/a", "ro")),
    ], env)
    (other / "in").mkdir()
    check_refused(host, [("by its marker alone", "invalid", inside, share(other / "in", "/a", "ro"))], {"XDG_STATE_HOME": str(host.base)})
    other.rename(moved)
    check_refused(host, [("moved", "invalid", f"is in the state directory {moved}:", share(moved / "in", "/a"))], env)
    (host.base / "round").mkdir()
    moved.rename(host.base / "round" / "again")
    host("--state-dir", host.base / "round" / "again", "list", check=0, env=env)
    check_refused(host, [("noted anew", "invalid", "holds the directory of microagent", share(host.base / "round", "/a"))], env)
    for item in (share(work, "/a"), share(above, "/a")):
        code, answer, _ = host.supervisor(request("check", host.config(shares=[item])), env=env)
        assert code == 0, answer
    shutil.rmtree(host.tmp / "state-home")
    host.supervisor(request("inspect", sparse(host)))


def test_keys_are_shared_only_aloud(host):
    home = host.base / "me"
    ssh, docker, code_dir = home / ".ssh", home / ".docker" / "contexts", home / "code"
    for path in (ssh, docker, home / ".config" / "gh", code_dir, host.base / "gpg" / "private"):
        path.mkdir(parents=True)
    env = {"HOME": str(home), "GNUPGHOME": str(host.base / "gpg"), "MICROAGENT_CACHE_DIR": str(cache_dir(host))}
    cases = [
        ("a store", "invalid", f"{ssh} is the store of keys {ssh}, which is never shared", share(ssh, "/a")),
        ("below one", "invalid", f"{docker} is in the store of keys {home}/.docker, and nothing in there", share(docker, "/a", "ro")),
        ("above one", "invalid", f"{home}/.config holds the store of keys {home}/.config/gh", share(home / ".config", "/a")),
        ("by a variable", "invalid", f"is in the store of keys {host.base}/gpg", share(host.base / "gpg" / "private", "/a")),
        ("home", "invalid", f"{home} is the home directory {home}, which is never shared", share(home, "/a", tag="t")),
    ]
    check_refused(host, cases, env)
    for what, _, _, item in cases:
        item["anyway"] = True
        code, answer, _ = host.supervisor(request("check", host.config(shares=[item])), env=env)
        assert code == 0 and answer["sharedAnyway"] == [item], (what, answer)
    code, answer, _ = host.supervisor(request("check", host.config(shares=[share(code_dir, "/a")])), env=env)
    assert code == 0 and "sharedAnyway" not in answer, answer
    # The option overrides nothing else: not a state directory in a home, and no directory of the system.
    (home / ".microagent").mkdir()
    check_refused(host, [("state", "invalid", f"{home} holds the state directory {home}/.microagent", {**share(home, "/a", tag="t"), "anyway": True}),
                         ("system", "invalid", "nothing in /etc is ever shared", {**share(Path("/etc"), "/a"), "anyway": True})], env)
    code, answer, _ = host.supervisor(request("check", host.config(shares=[{**share(ssh, "/a"), "anyway": "yes"}])), env=env)
    assert code == 1 and "config.shares[0].anyway" in answer["error"], answer
    # For people: refused with the next step, and accepted with a warning.
    said = host("create", "w", "--share", f"{ssh}:/a", check=2, env=env).stderr
    assert "is the store of keys" in said and "--share-anyway gives it to the guest with all its keys" in said
    assert "--share-anyway needs --share" in host("create", "w", "--share-anyway", check=2).stderr
    made = host("create", "w", "--share", f"{ssh}:/a:ro", "--share-anyway", check=0, env=env)
    assert "warning: --share-anyway: the guest can read all keys in the shared directories" in made.stderr
    assert host.json("status", "w")["sharedAnyway"][0]["path"] == str(ssh)
    host("delete", "w", check=0)
    host.supervisor(request("inspect", sparse(host)))


def test_a_base_with_a_user_of_its_own(host):
    """A user who cannot write to the share is told who can."""
    cache, work = host.base / "cache", host.base / "work"
    for path in (cache, work):
        path.mkdir()
    (cache / "kernels").symlink_to(Path(default_kernel(host)["path"]).parent)
    host.env["MICROAGENT_CACHE_DIR"] = str(cache)
    layout = Layout(host.base / "layout")
    layout.image([layer(*busybox("sh", "id", "touch"), oci_file("etc/passwd", b"root:x:0:0::/root:/bin/sh\nbob:x:1234:1234::/:/bin/sh\n"))],
                 {"User": "bob"})
    host("image", "import", "bob", layout.path, check=0)
    host("base", "create", "bob", "--image", "bob", check=0)
    warning = ('commands of base bob-v1 run as its user "bob", but only uid 1000 has your rights in the shared directory: '
               "`microagent session exec --user 1000` runs a command that works there")
    made = host("session", "create", "--base", "bob", "--network", "isolated", check=0)
    assert "bob" not in made.stderr
    name = made.stdout.strip()
    assert f"microagent: warning: {warning}\n" in host("session", "share", name, work, check=0).stderr
    said = host("session", "exec", name, "--", "sh", "-c", "id -u; touch /workspace/f", check=1)
    assert said.stdout == "1234\n" and "/workspace/f" in said.stderr
    assert host("session", "exec", "--user", "1000", name, "--", "sh", "-c", "id -u; touch /workspace/f", check=0).stdout == "1000\n"
    assert (work / "f").stat().st_uid == os.getuid()
    host("session", "destroy", name, check=0)
    made = host("--json", "session", "create", "--base", "bob", "--network", "isolated", "--share", work, check=0)
    assert {"warning": warning} in [json.loads(line) for line in made.stderr.splitlines()]
    host("session", "destroy", json.loads(made.stdout)["name"], check=0)
    host("base", "delete", "bob-v1", check=0)


def test_another_user_leads_a_share_nowhere_else(host):
    """Between create and start the other user replaces a directory on the way by a link, then by a link that belongs to
    root but is in that user's directory."""
    it = Exchanged(host.base)
    for where, text in ((it.way, "given"), (it.victim, "secret")):
        (where / "log").mkdir()
        (where / "log" / "file").write_text(text)
    host("create", "w", "--memory", 256, "--cpus", 1, "--share", f"{it.way}/log:/mnt/l", check=0)
    why = it.lead_to_victim()
    for words in (("start", "w"), ("start", "--prepare", "w"), ("create", "v", "--share", f"{it.way}/log:/mnt/l")):
        done = host(*words)
        assert done.returncode == 1 and f"{it.way}/log: {why}" in done.stderr, done
    os.chown(it.way, 0, 0, follow_symlinks=False)
    done = host("start", "w")
    assert f"{it.way}/log: {it.way} is a link in {it.home}, which belongs to user {EVIL}, who could make it lead to another place: name" in done.stderr, done
    assert done.returncode == 1 and not host.processes() and not (host.state / "v").exists()
    assert [path.name for path in (it.victim / "log").iterdir()] == ["file"]

    it.put_back()
    host("start", "w", check=0)
    assert sh(host, "w", "cat /mnt/l/file") == "given"
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def let_write(place, target):
    """Makes a directory of ours in which an access control list lets another user write (acl(5)): its mode is 0775, of
    our own group. Returns False if the file system has no such lists."""
    place.mkdir()
    (place / "link").symlink_to(target)
    entries = ((1, 7, -1), (2, 7, EVIL), (4, 5, -1), (0x10, 7, -1), (0x20, 5, -1))  # the owner, EVIL, the group, the mask, others
    try:
        os.setxattr(place, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries))
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return False
    return True


def linked_ways(base):
    """The links to a shared directory, and the text of the refusal: "" if they are followed."""
    real, mine, sticky, open_dir, group, theirs = (base / name for name in ("real", "mine", "sticky", "open", "group", "theirs"))
    for path in (real / "deep", mine, sticky, open_dir, group, theirs / "own"):
        path.mkdir(parents=True)
    for path, mode in ((sticky, 0o1777), (open_dir, 0o777), (group, 0o770)):
        path.chmod(mode)
    for path in (mine, sticky, open_dir, group, theirs, theirs / "own"):
        (path / "link").symlink_to(real)
    (mine / "relative").symlink_to("../real")
    (mine / "twice").symlink_to(mine / "relative")
    (mine / "loop").symlink_to("loop")
    found = [(mine / "link", ""), (mine / "relative", ""), (mine / "twice", ""), (sticky / "link", ""), (group / "link", "" if os.getgid() == os.getuid() else f"{group}/link is a link in {group}, which other users can write to"),
             (mine / "loop", "Too many levels of symbolic links"),
             (open_dir / "link", f"{open_dir}/link is a link in {open_dir}, which other users can write to: name the target of the link, or "
                                 f"fix it with: chmod go-w {open_dir}")]
    if os.getuid() == 0:
        owned(theirs)
        (sticky / "theirs").symlink_to(real)
        owned(sticky / "theirs")
        group_of_others = base / "devs"
        group_of_others.mkdir()
        (group_of_others / "link").symlink_to(real)
        os.chown(group_of_others, 0, EVIL)
        group_of_others.chmod(0o775)
        if let_write(listed := base / "listed", real):
            found.append((listed / "link", f"{listed}/link is a link in {listed}, which other users can write to"))
        found += [
            (group_of_others / "link", f"{group_of_others}/link is a link in {group_of_others}, which other users can write to"),
            (sticky / "theirs", f"{sticky}/theirs is a link that user {EVIL} owns, who could make it lead to another place"),
            (theirs / "link", f"{theirs}/link is a link in {theirs}, which belongs to user {EVIL}, who could make it lead to another place"),
            # A file system of his says of whom its files are.
            (theirs / "own" / "link", f"{theirs}/own/link is a link below {theirs}, which belongs to user {EVIL}"),
        ]
    return found


def test_a_guest_chooses_no_directory_of_the_next_start(host):
    """A share in one that the guest may write to: a link that the guest has put on the way is not followed, though it
    belongs to the user."""
    proj, other = host.base / "proj", host.base / "other"
    for path in (proj / "pkg" / "src", other / "src"):
        path.mkdir(parents=True)
    (other / "src" / "secret").write_text("SECRET\n")
    host("create", "w", "--memory", 256, "--cpus", 1, "--network", "isolated", "--share", f"{proj}:/workspace", "--share",
         f"{proj}/pkg/src:/src:ro", check=0)
    host("start", "w", check=0)
    host("exec", "w", "--", "sh", "-c", f"cd /workspace && mv pkg pkg.old && ln -s {other} pkg", check=0)
    host("stop", "w", check=0)
    done = host("start", "w", check=1)
    assert f"a symbolic link is on the way to {proj}/pkg/src" in done.stderr, done
    assert not host.processes()
    (proj / "pkg").unlink()
    (proj / "pkg.old").rename(proj / "pkg")
    host("start", "w", check=0)
    assert host("exec", "w", "--", "ls", "/src", check=0).stdout == ""
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def test_a_guest_chooses_nothing_of_another_machine(host):
    """A directory, a disk and an archive below a directory to which another machine's guest may write, also by a link
    of the user. A link of that guest decides neither what the next start uses, nor what a command reads or copies."""
    proj, other = host.base / "proj", host.base / "other"
    for path in (proj / "pkg" / "src", proj / "disks", other / "src"):
        path.mkdir(parents=True)
    make_disk(proj / "disks" / "d.img")
    make_disk(other / "d.img", secret="SECRET\n")
    for path in (proj / "disks", other):
        with tarfile.open(path / "b.tar", "w") as archive:
            archive.add(other / "src", "src")
    (other / "src" / "secret").write_text("SECRET\n")
    (host.base / "link").symlink_to(proj)
    least, way = ("--memory", 256, "--cpus", 1, "--network", "isolated"), host.base / "link"
    host("create", "a", *least, "--share", f"{proj}:/workspace", check=0)
    host("create", "b", *least, "--share", f"{way}/pkg/src:/src", "--disk", f"d={way}/disks/d.img:/d:rw", "--bundle", f"b={way}/disks/b.tar:/b",
         "--output", "o=/d/secret", check=0)
    config = json.loads((host.state / "b" / "workspace.json").read_text())["config"]
    assert [config[kind][0]["path"] for kind in ("shares", "disks", "bundles")] == [f"{proj}/pkg/src", f"{proj}/disks/d.img", f"{proj}/disks/b.tar"]
    host("start", "a", check=0)

    def refuses(what, *words, code=1):
        done = host(*words, check=code)
        assert f"a symbolic link is on the way to {proj}/{what}, and it is not followed, because a guest could have made it" in done.stderr, done

    for old, what in (("pkg", "pkg/src"), ("disks", "disks/d.img")):
        host("exec", "a", "--", "sh", "-c", f"cd /workspace && mv {old} {old}.old && ln -s {other} {old}", check=0)
        refuses(what, "start", "b")
        host("exec", "a", "--", "sh", "-c", f"cd /workspace && rm {old} && mv {old}.old {old}", check=0)
    for name in ("d.img", "b.tar"):
        host("exec", "a", "--", "sh", "-c", f"cd /workspace/disks && mv {name} {name}.old && ln -s {other}/{name} {name}", check=0)
        if name == "d.img":
            refuses("disks/d.img", "start", "b")
            for words in (("cp", "b:/d/secret", host.base / "got"), ("ls", "b:/d"), ("cp", __file__, "b:/d/put")):
                refuses("disks/d.img", *words)
        # The archive is unpacked again for a copy.
        refuses(f"disks/{name}", "clone", "b", "c")
        host("exec", "a", "--", "sh", "-c", f"cd /workspace/disks && mv {name}.old {name}", check=0)
    host("start", "b", check=0)
    host("exec", "a", "--", "sh", "-c", f"cd /workspace/disks && mv d.img d.old && ln -s {other}/d.img d.img", check=0)
    refuses("disks/d.img", "artifacts", "get", "b", "o", host.base / "got")
    assert not (host.base / "got").exists()
    # A link that ends in a directory of microagent leads to no disk, whoever made it.
    (host.base / "own").symlink_to(host.state / "b" / "rootfs.ext4")
    done = host("create", "d", *least, "--disk", f"d={host.base}/own:/d:ro", check=1)
    assert f"a symbolic link is on the way to {host.base}/own, and it is not followed, because a guest could have made it" in done.stderr, done
    config = host.config(disks=[disk(host.base / "own", "/d", "ro")])
    code, answer, _ = host.supervisor(request("check", config))
    assert code == 1 and "is a link: a disk in a directory of microagent must be a file itself" in answer["error"], answer
    for name in ("a", "b"):
        host("kill", name, check=0)
        host("delete", name, check=0)


def test_links_of_ones_own_are_followed(host):
    """Links of root and of the caller, where nobody else could replace them."""
    for way, why in linked_ways(host.base):
        config = host.config(shares=[share(way / "deep", "/a")])
        code, answer, _ = host.supervisor(request("check", config))
        if not why:
            assert code == 0, (way, answer)
        else:
            assert code == 1 and f"config.shares[0].path: {way}/deep: {why}" in answer["error"], (way, answer)
            check_refused(host, [(str(way), answer["errorCode"], why, share(way / "deep", "/a"))])
