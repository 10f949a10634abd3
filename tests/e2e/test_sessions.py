# SPDX-License-Identifier: MIT
"""Tests bases and the sessions that are cloned from them."""

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import schema_check
from conftest import default_kernel, image, skip_without_own_kernels
from digests import sha256


def create(host, *words):
    return host.json("session", "create", "--network", "isolated", *words)


@pytest.fixture
def base(host):
    return host.json("base", "create", "web")


def bundle(host, name="web-v1"):
    return host.state / "bases" / f"{name}.bundle"


def refused(host, *words, code=1):
    done = host(*words)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stderr


def check_a_workspace_of_its_name(host, name):
    """The name means the workspace, except for `session exec`."""
    host("create", name, "--output", "mine=/mine", check=0)
    assert host.json("artifacts", name)["egress"] and host.json("inspect", name)["event"]["state"] == "prepared"
    for words in (("exec", name, "--", "true"), ("connect", name, "--send", "true")):
        assert f'workspace "{name}" is prepared, not running' in refused(host, *words, code=125)
    host("session", "exec", name, "--", "true", check=0)
    host("delete", name, check=0)


def check_commands_of_workspaces(host, name):
    """The commands take a session by its name, and the name of no session is no workspace to create."""
    def told(*words):
        return json.loads(host("--json", *words, check=0).stdout)
    (host.base / "in").write_text("copied\n")
    host("cp", host.base / "in", f"{name}:/workspace/in", check=0)
    assert "in" in host("ls", f"{name}:/workspace", check=0).stdout
    host("cp", f"{name}.bundle:/workspace/in", host.base / "out", check=0)
    assert (host.base / "out").read_text() == "copied\n"
    assert told("status", name)["event"]["state"] == told("events", name)["events"][-1]["state"] == "running"
    host("logs", name, check=0)
    assert told("network", name)["network"]["mode"] == "isolated"
    assert told("balloon", name, 200)["balloon"]["memoryMiB"] == 256
    assert f'workspace "{name}" has no result' in host("result", name).stderr
    for command in ("status", "network"):
        assert host(command, name, check=0).stdout.splitlines()[0].split() == ["workspace", name]
    assert refused(host, "delete", name) == f"microagent: {name} is a session: `microagent session destroy {name}` ends it\n"
    assert told("artifacts", name) == {"ingress": [], "egress": []}
    assert f'workspace "{name}" has neither bundles' in host("artifacts", name, check=0).stderr
    said = host("artifacts", "get", name, "none", host.base).stderr
    assert f'session {name} declares no output "none"\n' in said and f"`microagent artifacts {name}` lists" in said
    assert host("exec", name, "--", "cat", "/workspace/in", check=0).stdout == "copied\n"
    assert host("exec", f"{name}.bundle", "--", "sh", "-c", "exit 3").returncode == 3
    assert host("connect", name, "--send", "echo shell $0", check=0).stdout.startswith("shell ")
    assert f"`microagent connect {name} --send LINE` runs one line, `microagent exec {name}` a" in host("connect", name).stderr
    check_a_workspace_of_its_name(host, name)
    assert host("stop", name, check=0).stdout == f"{name}: stopped\n"
    for words in (("session", "exec", name, "--", "true"), ("exec", name, "--", "true"), ("connect", name, "--send", "true")):
        said = refused(host, *words, code=125)
        assert f"session {name} is stopped\n" in said and f"`microagent start {name}` boots" in said, said
    said = refused(host, "balloon", name, 200)
    assert f"session {name} is stopped\n" in said and f"`microagent start {name}` boots" in said, said
    assert "in" in host("ls", f"{name}:/workspace", check=0).stdout  # by a machine that only reads
    assert host("start", name, check=0).stdout == f"{name}: running; `microagent exec {name} -- CMD` runs something in it\n"
    assert host("session", "exec", name, "--", "cat", "/workspace/in", check=0).stdout == "copied\n"
    none = name[:-4] + ("0000" if name[-4:] != "0000" else "0001")
    for words in (("cp", f"{none}:/f", "."), ("ls", none), ("logs", none), ("events", none), ("status", none), ("stop", none),
                  ("start", none), ("network", none), ("balloon", none, 200), ("result", none), ("exec", none, "--", "true"),
                  ("connect", none, "--send", "true"), ("kill", none), ("inspect", none),
                  ("connect", none, "--serial"), ("artifacts", none), ("artifacts", "get", none, "out", ".")):
        done = host(*words)
        assert done.returncode and none in done.stderr, (words, done.stderr)
        assert "create" not in done.stderr and "session list" in done.stderr, (words, done.stderr)


def assert_every_log_is_verified(host, damaged, *others):
    """Archives are removed on request only."""
    whole = host.json("audit", "verify", "--all")
    assert whole["ok"] and {one["session"] for one in whole["responses"]} == {damaged, *others}
    log = host.state / "archive" / damaged / "audit.log"
    log.write_bytes(log.read_bytes()[:-20])
    answer = json.loads(host("--json", "audit", "verify", "--all", check=1).stdout)
    assert {one["session"]: one["ok"] for one in answer["responses"]} == {damaged: False, **dict.fromkeys(others, True)}
    assert not answer["ok"] and f"{others[0]}: closed" in host("audit", "verify", "--all", check=1).stdout
    os.utime(log, (0, 0))
    assert host.json("session", "gc", "--archives-older", "30d")["removed"] == [
        {"name": damaged, "why": "an archive older than 30 days"}]
    assert not log.parent.exists() and host.json("audit", "verify", "--all")["ok"]
    assert f"the archive of {damaged} was removed" in refused(host, "audit", "verify", damaged)


def test_the_life_of_a_session(host, base):
    assert base["name"] == "web-v1" and base["disk"]["sha256"] == image(host, "busybox")["sha256"]
    schema_check.validate("base", json.loads((bundle(host) / "metadata.json").read_text()))
    assert {p.name: p.stat().st_mode & 0o777 for p in bundle(host).iterdir()} == {
        "disk.img": 0o444, "overlay.qcow2": 0o444, "metadata.json": 0o444}
    assert host.json("base", "list")["bases"] == [base] and host.json("base", "show", "web") == base

    session = create(host, "--base", "web")
    name = session["name"]
    schema_check.validate("session", json.loads((host.state / "sessions" / f"{name}.bundle" / "session.json").read_text()))
    assert session["base"] == "web-v1" and session["source"] == "new" and session["timings"]["bootMs"] > 0
    config = json.loads((host.state / "sessions" / f"{name}.bundle" / "workspace.json").read_text())["config"]
    assert (config["memoryMiB"], config["cpuCount"]) == (256, 1)
    listed = host.json("session", "list")["sessions"]
    assert [(s["name"], s["state"], s["base"]) for s in listed] == [(name, "running", "web-v1")]
    assert host("list", check=0).stdout.splitlines()[1:] == []  # not a workspace of the user

    done = host("session", "exec", name, "--", "sh", "-c", "echo out; echo err >&2; echo mine > /workspace/f; id -un; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\nagent\n", "err\n")
    assert host("session", "exec", f"{name}.bundle", "--", "cat", "/workspace/f", check=0).stdout == "mine\n"
    assert host("session", "exec", name, "--", "/nowhere").returncode == 127
    assert host("session", "exec", name, "--", "hostname", check=0).stdout == f"{name}\n"
    # ext4 would write by itself into a disk that was made larger, which counts against its quota.
    assert "noinit_itable" in host("session", "exec", name, "--", "grep", " / ext4 ", "/proc/mounts", check=0).stdout
    check_commands_of_workspaces(host, name)

    done = host("session", "stream", name, "--shell", "echo one; printf two; echo three >&2; exit 4")
    assert (done.returncode, done.stdout, done.stderr) == (4, "one\ntwo", "three\n")
    lines = [json.loads(line) for line in host("--json", "session", "stream", name, "--", "echo", "a b", check=0).stdout.splitlines()]
    for line in lines:
        schema_check.validate("cli-session-line", line)
    assert lines[0] == {"stream": "stdout", "line": "a b"} and lines[1]["exitCode"] == 0 and len(lines) == 2
    odd = host("--json", "session", "stream", name, "--shell", r"printf 'a\0b\n\377\n'; head -c 70000 /dev/zero | tr '\0' x", check=0)
    lines = [json.loads(line) for line in odd.stdout.splitlines()]
    for line in lines:
        schema_check.validate("cli-session-line", line)
    assert [line.get("lineBase64") for line in lines[:3]] == ["YQBi", "/w==", None] and "partial" not in lines[0]
    assert len(lines) > 4 and all(line["partial"] for line in lines[2:-1]) and sum(len(line["line"]) for line in lines[2:-1]) == 70000
    late = json.loads(host("--json", "session", "stream", "--timeout", 1, name, "--", "sleep", 100, check=124).stdout)
    schema_check.validate("cli-session-line", late)
    assert late["timedOut"] is True
    assert host("session", "shell", name, "--send", "echo shell $0", check=0).stdout.startswith("shell ")

    other = create(host, "--base", "web-v1", "--memory", 192)
    assert host("session", "exec", other["name"], "--", "ls", "/workspace", check=0).stdout == ""
    assert "is made of base web-v1, so this base cannot be deleted\nmicroagent: hint: `microagent session destroy session-" in refused(host, "base", "delete", "web-v1")
    host("quarantine", other["name"], check=0)
    for words in (("cp", f"{other['name']}:/f", "."), ("ls", other["name"])):
        said = refused(host, *words)
        assert f"session {other['name']} is quarantined and nothing reaches it\n" in said and ".bundle" not in said, said
    assert host.json("session", "destroy", name) == {"ok": True, "name": name}
    assert f"there is no session {name}" in refused(host, "session", "destroy", name)
    done = host("session", "destroy", name, other["name"])  # a failure does not keep others from their turn
    assert (done.returncode, done.stdout) == (1, f"{other['name']}: destroyed\n") and f"there is no session {name}" in done.stderr
    assert host.json("session", "list") == {"sessions": []}
    assert_every_log_is_verified(host, name, other["name"])
    assert sha256(bundle(host) / "disk.img") == base["disk"]["sha256"]
    host("base", "delete", "web-v1", check=0)


@pytest.mark.parametrize("command", ["destroy", "gc", "exec"])
def test_a_record_names_no_directory_of_others(host, command):
    """The live supervisor, which may be taken over, can write session.json. The base's name in it becomes a part of paths."""
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    sessions, precious, pool = host.state / "sessions", host.base / "precious", host.state / "pool"
    for directory in (sessions, precious, precious / "ready", pool):
        directory.mkdir(mode=0o700)
    (precious / "file").write_text("mine")
    for i, base in enumerate((str(precious), "../../precious", "..", ".", "web-v1/../../../precious", "web", "web-v1.bundle")):
        name = f"session-2026-05-10T14-22-00Z-{i:04x}"
        own = sessions / f"{name}.bundle"
        shutil.copytree(host.state / "w", own)
        (own / "session.json").write_text(json.dumps({
            "format": 1, "name": name, "source": "new", "clone": "overlay", "createdAt": "2026-05-10T14:22:00.000Z",
            "base": base, "template": "0" * 64, **({"lifetimeSeconds": 60} if command == "gc" else {})}))
        said, = host.json("session", "list")["sessions"]
        assert f"{own}/session.json: base: " in said["error"], said
        if command == "exec":
            assert f"{own}/session.json: base: " in refused(host, "session", "exec", name, "--", "true", code=125)
            shutil.rmtree(own)
            continue
        done = host("session", "destroy", name) if command == "destroy" else host("session", "gc")
        assert done.returncode == 0 and not own.exists(), done
        assert (precious / "file").read_text() == "mine" and (precious / "ready").exists() and pool.exists()
    host("delete", "w", check=0)


def test_a_mediator_that_a_session_may_do_without(host, base):
    name = create(host, "--base", "web", "--mediation", "2048=127.0.0.1:9", "--mediation-optional")["name"]
    assert host.json("status", name)["mediation"] == {"enabled": True, "required": False, "port": 2048, "target": "127.0.0.1:9",
                                                      "failClosed": True}
    host("session", "destroy", name, check=0)
    host("base", "delete", "web-v1", check=0)


def test_versions_of_a_base(host, base):
    second = host.json("base", "create", "web", "--memory", 300, "--cpus", 2)
    assert (second["name"], second["memoryMiB"], second["cpuCount"]) == ("web-v2", 300, 2)
    assert host.json("base", "show", "web")["name"] == "web-v2"
    with ThreadPoolExecutor(4) as pool:
        made = sorted(b["name"] for b in pool.map(lambda _: host.json("base", "create", "web"), range(4)))
    assert made == ["web-v3", "web-v4", "web-v5", "web-v6"]
    rows = host("base", "list", check=0).stdout.splitlines()
    assert [row.split()[0] for row in rows] == ["NAME"] + [f"web-v{n}" for n in range(1, 7)]
    assert "web is not one version of a base: the name of a version ends in -vN" in refused(host, "base", "delete", "web")
    for n in range(1, 7):
        assert host.json("base", "delete", f"web-v{n}") == {"ok": True, "name": f"web-v{n}"}
    assert host.json("base", "list") == {"bases": []}


def damage(path):
    subprocess.run(["chattr", "-i", path], check=False, stderr=subprocess.DEVNULL)
    path.chmod(0o644)
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"damaged")


def test_a_damaged_base_is_not_cloned(host, base):
    damage(bundle(host) / "disk.img")
    assert "base web-v1 is damaged: its disk" in refused(host, "session", "create", "--base", "web")
    answer = host.json("base", "verify", "web", check=1)
    assert [c["ok"] for c in answer["checks"]] == [False, True, True, True, True] and "disk.img" in answer["checks"][0]["error"]
    host("base", "create", "web", check=0)
    damage(bundle(host, "web-v2") / "overlay.qcow2")
    said = refused(host, "session", "create", "--base", "web")
    assert f"base web-v2 is damaged: its layer, {bundle(host, 'web-v2')}/overlay.qcow2, has changed since the base was sealed" in said
    assert [c["ok"] for c in host.json("base", "verify", "web", check=1)["checks"]] == [True, True, False, True, True]
    damage(bundle(host, "web-v2") / "disk.img")
    (bundle(host, "web-v2") / "disk.img").unlink()
    said = refused(host, "session", "create", "--base", "web")
    assert f"base web-v2 is damaged: its disk, {bundle(host, 'web-v2')}/disk.img: No such file" in said
    host("base", "delete", "web-v2", check=0)
    assert host.json("session", "list") == {"sessions": []}
    metadata = bundle(host) / "metadata.json"
    subprocess.run(["chattr", "-i", metadata], check=False, stderr=subprocess.DEVNULL)
    metadata.chmod(0o644)
    whole = json.loads(metadata.read_text())
    for size, text in ((None, "disk.bytes is required"), (0, "disk.bytes must be")):
        disk = {k: v for k, v in {**whole["disk"], "bytes": size}.items() if v is not None}
        metadata.write_text(json.dumps({**whole, "disk": disk}))
        assert text in refused(host, "session", "create", "--base", "web")
    metadata.write_text('{"format":1}')
    assert "metadata.json: name is required" in refused(host, "session", "create", "--base", "web")
    listed = host.json("base", "list")["bases"]
    assert listed[0]["name"] == "web-v1" and "metadata.json" in listed[0]["error"]
    assert "web-v1" in host("base", "list", check=0).stdout
    refused(host, "base", "show", "web")
    host("base", "delete", "web-v1", check=0)


def test_an_upgraded_init_is_no_damage(host):
    """The initrd contains the host's own software, which comes with every upgrade."""
    skip_without_own_kernels("the user's own copy of a")
    kernel = host.base / "kernel"
    for end in ("", ".initrd"):
        shutil.copy(default_kernel(host)["path"] + end, f"{kernel}{end}")
    host("base", "create", "web", "--kernel", kernel, check=0)
    with open(f"{kernel}.initrd", "ab") as file:
        file.write(b"\0" * 512)
    # No record of the cache confirms the file beside a user's own kernel. This is reported, and prevents nothing.
    checks = host.json("base", "verify", "web", check=1)["checks"]
    assert {c["what"]: c["ok"] for c in checks} == {"disk": True, "kernel": True, "layer": True, "initrd": False, "init": True}
    name = create(host, "--base", "web")["name"]
    assert host("session", "exec", name, "--", "echo", "up", check=0).stdout == "up\n"
    host("session", "destroy", name, check=0)
    kernel.write_bytes(kernel.read_bytes() + b"x")
    assert "base web-v1 is damaged: its kernel" in refused(host, "session", "create", "--base", "web")
    host("base", "delete", "web-v1", check=0)


def test_refusals(host):
    assert host.json("base", "list") == {"bases": []} and host.json("session", "list") == {"sessions": []}
    assert not host.state.exists()
    for words, text, code in (
            (("base", "create", "a/b"), "cannot be a base's name", 2),
            (("base", "create", "n" * 33), "at most 32", 2),
            (("base", "create", "web-v3"), "has a version in it, but microagent chooses the version itself: name the base web", 1),
            (("base", "create", "web", "--image", "nothing"), "nothing", 1),
            (("base", "delete", "web-v1"), "there is no base \"web-v1\"", 1),
            (("session", "create"), "--base NAME", 2),
            (("session", "create", "--base", "web"), "there is no base \"web\"", 1),
            (("session", "exec", "web", "--", "true"), "is not a session's name", 2),
            (("session", "destroy", "../x"), "is not a session's name", 2),
            (("session", "destroy"), "NAME... or --all", 2),
            (("session", "destroy", "--all", "session-2026-05-10T14-22-00Z-a7f3"), "NAME... or --all", 2),
            (("session", "create", "--base", "web", "--share", "/a", "--share", "/b"),
             "/a and /b cannot both be on /workspace: give one of them another path, as in DIR:/PLACE", 2),
            (("audit", "verify"), "NAME or --all", 2),
            (("audit", "verify", "--all", "session-2026-05-10T14-22-00Z-a7f3"), "NAME or --all", 2),
            (("session", "gc", "--archives-older", "30x"), "--archives-older must be a number of seconds, or a number with s, m, h or d", 2),
            (("session", "destroy", "session-2026-05-10T14-22-00Z-a7f3"), "there is no session", 1)):
        assert text in refused(host, *words, code=code), words
    assert "there is no session to destroy" in host("session", "destroy", "--all", check=0).stderr
    assert host.json("session", "destroy", "--all") == {"ok": True, "responses": []}
    assert host.json("audit", "verify", "--all") == {"ok": True, "responses": []}


def test_a_full_disk_leaves_no_session(host, base):
    """The clone and its record are small. If there is no room for them there is no session."""
    small = host.base / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M,mode=700", "none", small], check=True)
    try:
        (small / "bases").symlink_to(host.state / "bases")
        (small / "fill").write_bytes(b"\0" * 900 * 1024)
        before = sorted(p.name for p in small.iterdir())
        done = host("--state-dir", small, "session", "create", "--base", "web")
        assert done.returncode == 75 and "no space left where the state directory is" in done.stderr, done.stderr
        assert sorted(p.name for p in small.iterdir() if p.name not in ("sessions", "archive", "logs", ".microagent-state")) == before
        assert not [p for p in (small / "sessions").iterdir() if p.name not in (".locks", ".microagent-state")]
    finally:
        subprocess.run(["umount", small], check=True)
    host("base", "delete", "web-v1", check=0)


@pytest.fixture
def xfs(host):
    """Mounts a file system with reflinks for the state directory."""
    disk, place = host.base / "xfs.img", host.base / "state"
    if not shutil.which("mkfs.xfs") or not any("xfs" in f for f in open("/proc/filesystems")):
        pytest.skip("there is no xfs here, or no mkfs.xfs (xfsprogs)")
    with open(disk, "wb") as file:
        file.truncate(512 << 20)
    subprocess.run(["mkfs.xfs", "-q", disk], check=True)
    place.mkdir(mode=0o700)
    if subprocess.run(["mount", "-o", "loop", disk, place], check=False).returncode:
        pytest.skip("no loop device can be mounted here")
    place.chmod(0o700)
    yield
    host.sweep()
    subprocess.run(["umount", "-l", place], check=True)
    place.rmdir()


def test_clones_where_there_are_reflinks(host, xfs):
    base = host.json("base", "create", "web")
    session = create(host, "--base", "web")
    assert session["clone"] == "reflink"
    disk = host.state / "sessions" / f"{session['name']}.bundle" / "rootfs.ext4"
    assert disk.stat().st_size == base["disk"]["bytes"]
    host("session", "exec", session["name"], "--", "sh", "-c", "echo mine > /workspace/f; sync", check=0)
    host("--state-dir", host.state / "sessions", "stop", f"{session['name']}.bundle", check=0)
    assert sha256(disk) != base["disk"]["sha256"] == sha256(bundle(host) / "disk.img")
    host("session", "destroy", session["name"], check=0)
    host("base", "delete", "web-v1", check=0)
