# SPDX-License-Identifier: MIT
"""Tests what a session's guest reports about what runs in it: programs, files, connections."""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import pytest

import schema_check
from conftest import make_host, wait_until


def create(host, env=None):
    return host.json("session", "create", "--base", "web", "--network", "isolated", env=env)["name"]


def records(host, name, kind=None):
    path = host.state / "sessions" / f"{name}.bundle" / "telemetry.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for line in lines:
        schema_check.validate("audit-telemetry", line)
        schema_check.validate("telemetry-record", line["record"])
    return [line["record"] for line in lines if kind in (None, line["record"]["kind"])]


def audited(host, name, event):
    lines = host("--json", "audit", "show", name, check=0).stdout.splitlines()
    return [line["data"] for line in map(json.loads, lines) if line["event"] == event]


def run(host, name, *words, **kw):
    return host("session", "exec", name, "--", *words, check=0, **kw)


@pytest.fixture(scope="module", params=["tuned", "debian"])
def traced(request):
    """A host with a base of one kernel or the other, and a session of it."""
    kernel = request.getfixturevalue(f"{request.param}_kernel")
    base = Path(tempfile.mkdtemp(prefix="e-"))
    host = make_host(base)
    try:
        host("base", "create", "web", "--kernel", kernel["name"], check=0)
        host.session = create(host, env={"MICROAGENT_TEST_LIMIT_TELEMETRY_DIGEST_MS": "200"})
        yield host
        host("session", "destroy", host.session, check=0)
        host("base", "delete", "web-v1", check=0)
        host.assert_clean()
    finally:
        host.sweep()
        shutil.rmtree(base, ignore_errors=True)


def test_what_runs_is_told(traced):
    name = traced.session
    wait_until(lambda: audited(traced, name, "telemetry.status"), "what is traced")
    assert audited(traced, name, "telemetry.status") == [
        {"origin": "guest", "exec": True, "files": True, "writes": True, "network": True}]
    run(traced, name, "sh", "-c", r"""
        env true 'two words' '"quoted"' "$(printf 'odd\001\377')" ''
        echo text > /workspace/small
        cd /workspace; dd if=/dev/zero of=big bs=64k count=17 2>/dev/null
        cat /workspace/small > /dev/null
        wget -q -O /dev/null http://127.0.0.1:81/
        echo x 2>/dev/null > /etc/hostname
        echo x 2>/dev/null > /etc/new
        cd /etc; echo x 2>/dev/null > newer
        exec env true last""")
    wait_until(lambda: any(r["argv"] == ["true", "last"] for r in records(traced, name, "exec")), "the last exec")
    wait_until(lambda: records(traced, name, "write"), "the large file")
    execs = records(traced, name, "exec")
    assert ["true", "two words", '"quoted"', "odd\u0001\ufffd", ""] in [r["argv"] for r in execs]
    shell = next(r for r in execs if r["argv"][0] == "sh")
    assert shell["uid"] == 1000 and "wget -q -O" in shell["argv"][2] and "truncated" not in shell
    opens = {r["path"]: r for r in records(traced, name, "open")}
    assert opens["/workspace/small"]["flags"] == ["write", "create", "truncate"]
    assert "/workspace/big" in opens and "/dev/null" not in opens
    assert opens["/etc/hostname"]["errno"] == 13  # a refusal is reported
    refused = [r["errno"] for r in records(traced, name, "open") if r["path"] == "/etc/"]
    assert refused == [13, 13], "the kernel names the directory alone"
    written, = records(traced, name, "write")
    assert (written["path"], written["bytes"]) == ("/workspace/big", 17 * 65536)
    connect, = records(traced, name, "connect")
    assert (connect["family"], connect["address"], connect["port"], connect["errno"]) == ("inet", "127.0.0.1", 81, 111)


def last_words(host, name):
    """Returns the ports of connections in the archive, and the gaps of the log."""
    lines = (host.state / "archive" / name / "telemetry.jsonl").read_text().splitlines()
    return [record["port"] for record in (json.loads(line)["record"] for line in lines) if record["kind"] == "connect"], \
        audited(host, name, "audit.gap")


def test_what_is_done_last_is_told(traced):
    """A guest reports it a moment later, and is killed by then: with the session, by the end of `run`, with the machine."""
    dial = ("sh", "-c", "wget -q -O /dev/null http://127.0.0.1:$0/; true")
    name = create(traced)
    run(traced, name, *dial, "91")
    traced("session", "destroy", name, check=0)
    assert last_words(traced, name) == ([91], [])

    before = set((traced.state / "archive").iterdir())
    traced("run", "--base", "web", "--network", "isolated", "--", *dial, "92", check=0)
    archived, = set((traced.state / "archive").iterdir()) - before
    assert last_words(traced, archived.name) == ([92], [])

    name = create(traced)
    run(traced, name, *dial, "93")
    traced("kill", name, check=0)
    assert [r["port"] for r in records(traced, name, "connect")] == [93] and not audited(traced, name, "audit.gap")
    traced("session", "destroy", name, check=0)


def test_a_person_reads_it(traced):
    name = traced.session
    run(traced, name, "env", "true", "a b")
    wait_until(lambda: any("a b" in r["argv"] for r in records(traced, name, "exec")), "the exec")
    text = traced("audit", "telemetry", name, check=0).stdout
    assert '  exec    env true "a b"\n' in text and "  write   /workspace/big (1114112 bytes)\n" in text
    assert "  connect 127.0.0.1 port 81 (Connection refused)\n" in text
    lines = traced("--json", "audit", "telemetry", name, check=0).stdout.splitlines()
    assert [json.loads(line)["record"] for line in lines] == records(traced, name)
    gone = traced("audit", "telemetry", "session-2020-01-01T00-00-00Z-aaaa", check=1)
    assert "there is no telemetry of session session-2020" in gone.stderr


def test_long_arguments_are_cut(traced):
    name = traced.session
    run(traced, name, "sh", "-c", """
        word=$(head -c 100000 /dev/zero | tr '\\0' x); exec env true "$word" "$word" end""")
    wait_until(lambda: [r for r in records(traced, name, "exec") if r.get("truncated")], "the cut exec")
    cut = next(r for r in records(traced, name, "exec") if r.get("truncated"))
    assert cut["argv"][0] == "true" and cut["argc"] == 4 and 30000 < len("".join(cut["argv"])) < 32768


def test_what_we_do_ourselves_is_not_told(traced):
    """The agent's own programs: a file of two MiB comes in and makes no record, and then a command makes one."""
    name = traced.session
    before = len(records(traced, name))
    copied = traced.base / "copied"
    copied.write_bytes(bytes(2 << 20))
    bundle = f"{name}.bundle"
    traced("--state-dir", traced.state / "sessions", "cp", copied, f"{bundle}:/workspace/copied", check=0)
    run(traced, name, "echo", "after the copy")
    wait_until(lambda: any("after the copy" in r["argv"] for r in records(traced, name, "exec")), "the command")
    new = records(traced, name)[before:]
    assert [r["kind"] for r in new] == ["exec"] and new[0]["argv"] == ["echo", "after the copy"], new
    told = json.dumps(records(traced, name))
    assert "microagent" not in told and "loginuid" not in told


def root(host, name, *words):
    return host("session", "exec", "--user", "root", name, "--", *words, check=0).stdout


def tracer(host, name):
    return root(host, name, "sh", "-c", "grep -l agent-tracer /proc/[0-9]*/comm; true").split("/")[2]


def test_a_guest_that_does_too_much(traced):
    """Far more records than are fetched, since nobody fetches them. Nothing waits, dropped records are counted and
    reported, and later ones are reported again. The digest in the audit log is that of the file."""
    name, many = traced.session, 1500
    pid = tracer(traced, name)
    root(traced, name, "kill", "-STOP", pid)
    done = run(traced, name, "sh", "-c", f"cd /workspace; mkdir m; seq {many} | sed s,^,m/, | xargs touch; ls m | wc -l; rm -r m")
    assert done.stdout == f"{many}\n"
    assert not any(r["path"].startswith("/workspace/m/") for r in records(traced, name, "open"))
    root(traced, name, "kill", "-CONT", pid)

    def is_told_again():
        run(traced, name, "echo", "and on")
        return any("and on" in r["argv"] for r in records(traced, name, "exec"))

    wait_until(is_told_again, "what comes after")
    told = sum(r["path"].startswith("/workspace/m/") for r in records(traced, name, "open"))
    assert 0 < told < many
    # The kernel counts the parts of dropped records, and an event has several.
    wait_until(lambda: audited(traced, name, "telemetry.digest")[-1]["dropped"] >= many - told, "the count")
    path = traced.state / "sessions" / f"{name}.bundle" / "telemetry.jsonl"

    def is_digest_of_file():
        digest, whole = audited(traced, name, "telemetry.digest")[-1], path.read_bytes()
        assert hashlib.sha256(whole[:digest["bytes"]]).hexdigest() == digest["sha256"]
        assert whole[:digest["bytes"]].count(b"\n") == digest["records"] and whole[:digest["bytes"]].endswith(b"\n")
        return digest["bytes"] == len(whole)

    wait_until(is_digest_of_file, "the digest of all of it")


def test_no_one_in_the_guest_ends_it(traced):
    """Not even root can remove the rules. A tracer that is killed is missed."""
    name = traced.session
    run(traced, name, "true")
    root(traced, name, "kill", "-9", tracer(traced, name))
    wait_until(lambda: len(audited(traced, name, "telemetry.status")) == 2, "the loss")
    lost = audited(traced, name, "telemetry.status")[1]
    assert not lost["exec"] and not lost["network"] and "ended" in lost["detail"]
    assert run(traced, name, "echo", "still here").stdout == "still here\n"
