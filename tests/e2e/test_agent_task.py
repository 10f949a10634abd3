# SPDX-License-Identifier: MIT
"""Tests the work of an AI agent. In a session of its own it builds a real project, runs that project's own tests, and
hands on the result. The project is bzip2, as its authors published it."""

import hashlib
import json
import os
import shutil

import schema_check
from conftest import wait_until
from debian_source import unpack
from digests import contents

PARTS = ("blocksort", "huffman", "crctable", "randtable", "compress", "decompress", "bzlib")
MAKE = "make CFLAGS='-O0 -D_FILE_OFFSET_BITS=64'"  # an optimising compiler is slow in an emulated machine
# The agent waits for a message of ours between build and tests, since inotify does not tell a guest about changes of a
# share.
TASK = (f"cd /workspace && {MAKE} bzip2 && echo built && until test -e go-on; do sleep 0.1; done && {MAKE} check && "
        "mkdir ~/out && cp bzip2 libbz2.a bzlib.h ~/out")
SAID = [*(f"-c {part}.c" for part in PARTS), "ar cq libbz2.a", "-o bzip2 bzip2.o", "built",
        "Doing 6 tests (3 compress, 3 uncompress)", "./bzip2 -1", "./bzip2 -2", "./bzip2 -3", "./bzip2 -d", "./bzip2 -ds",
        *(f"cmp sample{i}.bz2 sample{i}.rb2" for i in (1, 2, 3)), *(f"cmp sample{i}.tst sample{i}.ref" for i in (1, 2, 3)),
        "like you're in business."]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def stream(host, name, line, on_line):
    """Yields the documents of `session stream`, each as soon as it comes. on_line gets the guest's lines."""
    child = host.popen("--json", "session", "stream", "--timeout", 3000, name, "--shell", line)
    documents = []
    for text in child.stdout:
        documents.append(json.loads(text))
        schema_check.validate("cli-session-line", documents[-1])
        on_line(documents[-1].get("line"))
    _, err = child.communicate()
    assert child.returncode == documents[-1]["exitCode"] == 0, (documents, err)
    return documents[:-1]


def assert_in_order(expected, lines):
    rest = iter(lines)
    for text in expected:
        assert any(text in line for line in rest), (text, lines)


def build_and_test(host, name, work):
    """The output comes while the agent works. Our action on one line decides how it goes on."""
    def on_line(line):
        if line == "built":
            assert (work / "bzip2").exists() and not (work / "sample1.rb2").exists()
            (work / "go-on").touch()

    lines = stream(host, name, TASK, on_line)
    assert_in_order(SAID, [line["line"] for line in lines if line["stream"] == "stdout"])


def take_artifacts(host, name, work):
    """The agent works in the share, and on the session's own disk. The built program is used in the session."""
    out = work.with_name(f"{work.name}-out")
    bundle = f"{name}.bundle"
    host("--state-dir", host.state / "sessions", "cp", f"{bundle}:/home/agent/out", out, check=0)
    assert sorted(p.name for p in out.iterdir()) == ["bzip2", "bzlib.h", "libbz2.a"]
    for copy in out.iterdir():
        shared = work / copy.name
        assert copy.read_bytes() == shared.read_bytes()
        assert (shared.stat().st_uid, shared.stat().st_gid) == (os.getuid(), os.getgid())
    assert (out / "bzip2").read_bytes()[:4] == b"\x7fELF" and os.access(out / "bzip2", os.X_OK)
    unpacked = host("session", "exec", name, "--", "/home/agent/out/bzip2", "-dc", "/workspace/sample2.bz2", text=False, check=0)
    assert sha256(unpacked.stdout) == sha256((work / "sample2.ref").read_bytes())
    shutil.rmtree(out)


def trail(host, name):
    return [json.loads(line) for line in host("--json", "audit", "show", name, check=0).stdout.splitlines()]


def verdict(host, name):
    return json.loads(host("--json", "audit", "verify", name, check=0).stdout)["verdict"]


def task_ended(host, name, work):
    """Returns the exit code of the task from the audit log. Returns None if the guest has not reported it yet."""
    events = trail(host, name)
    shared = [e["data"] for e in events if e["event"] == "share.added"]
    assert shared == [{"path": str(work), "mountpoint": "/workspace", "mode": "rw"}], shared
    number = next((e["data"]["exec"] for e in events if e["event"] == "exec.started"
                   and e["data"]["argv"] == ["sh", "-c", TASK] and e["data"]["user"] == "agent"), None)
    return next((e["data"]["code"] for e in events if e["event"] == "exec.finished"
                 and e["data"]["exec"] == number), None)


def check_audit(host, name, work):
    wait_until(lambda: task_ended(host, name, work) == 0, "the guest's word on the task")
    assert verdict(host, name) == "open"


def do_task(host, work):
    """Runs one session from its creation to its end. work is the directory of the host that it has."""
    unpack("bzip2", work)
    name = host.json("session", "create", "--base", "agent", "--network", "isolated", "--share", work)["name"]
    build_and_test(host, name, work)
    take_artifacts(host, name, work)
    check_audit(host, name, work)
    assert host.json("session", "destroy", name) == {"ok": True, "name": name}
    #    assert trail(host, name)[-1]["event"] == "audit.closed" and verdict(host, name) == "closed"
    shutil.rmtree(work)


def with_base(host, image, do):
    """The base is the same file with the same bytes before and after."""
    base = host.json("base", "create", "agent", "--image", image)
    disk = host.state / "bases" / "agent-v1.bundle" / "disk.img"
    before = contents(disk), disk.stat().st_ino
    do()
    assert (contents(disk), disk.stat().st_ino) == before
    checks = host.json("base", "verify", "agent")["checks"]
    assert checks and all(check["ok"] for check in checks)
    assert host.json("base", "show", "agent") == base and host.json("session", "list") == {"sessions": []}
    assert not host.processes()
    host("base", "delete", "agent-v1", check=0)


def test_a_project_is_built_and_tested_in_a_session(host, debian_image):
    with_base(host, debian_image, lambda: do_task(host, host.base / "bzip2"))
