# SPDX-License-Identifier: MIT
"""What a session's guest tells of what runs in it: programs, files, connections."""

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
    """A host with a base of the one kernel or the other, and a session of it."""
    kernel = request.getfixturevalue(f"{request.param}_kernel")
    base = Path(tempfile.mkdtemp(prefix="microagent-e2e-"))
    host = make_host(base)
    try:
        host("base", "create", "web", "--kernel", kernel["name"], check=0)
        host.session = create(host)
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
    assert opens["/etc/hostname"]["errno"] == 13  # a refusal is worth telling
    written, = records(traced, name, "write")
    assert (written["path"], written["bytes"]) == ("/workspace/big", 17 * 65536)
    connect, = records(traced, name, "connect")
    assert (connect["family"], connect["address"], connect["port"], connect["errno"]) == ("inet", "127.0.0.1", 81, 111)


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
    """The agent's own programs: a file of two MiB comes in and is no record, then a command is one."""
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


def test_a_guest_that_does_too_much(traced):
    """Far more than is told: it is counted, the commands end, and what comes after is told again."""
    name = traced.session
    done = run(traced, name, "sh", "-c", """
        for n in 1 2 3 4; do (i=0; while [ $i -lt 2500 ]; do : > /workspace/f$n; i=$((i+1)); done) & done; wait
        i=0; while [ $i -lt 100 ]; do (sleep 1 &) ; i=$((i+1)); done; echo done""")
    assert done.stdout == "done\n"
    run(traced, name, "echo", "and on")
    wait_until(lambda: any("and on" in r["argv"] for r in records(traced, name, "exec")), "what comes after")
    told = sum(r["path"].startswith("/workspace/f") for r in records(traced, name, "open"))
    assert 0 < told <= 10000
    wait_until(lambda: audited(traced, name, "telemetry.digest") or told == 10000, "the count")


def test_no_one_in_the_guest_ends_it(traced):
    """Not even root can take the rules back; a tracer that is killed is missed."""
    name = traced.session
    run(traced, name, "true")
    found = traced("session", "exec", "--user", "root", name, "--", "sh", "-c",
                   "grep -l agent-tracer /proc/[0-9]*/comm", check=0).stdout
    pid = found.split("/")[2]
    traced("session", "exec", "--user", "root", name, "--", "kill", "-9", pid, check=0)
    wait_until(lambda: len(audited(traced, name, "telemetry.status")) == 2, "the loss")
    lost = audited(traced, name, "telemetry.status")[1]
    assert not lost["exec"] and not lost["network"] and "ended" in lost["detail"]
    assert run(traced, name, "echo", "still here").stdout == "still here\n"
