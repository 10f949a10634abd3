# SPDX-License-Identifier: MIT
"""Tests that a guest's output reaches a person's terminal only as text, by whatever command it is read: no escape
sequence, no control of C0 or C1, no character that writes backwards, no lone CR, and no invisible character. Streams
(exec, exec -t, connect, stream) are the guest's terminal on purpose and are not among these."""

import json
import re
import shutil
import unicodedata
from pathlib import Path

import pytest

from test_cli_details import on_a_terminal
from test_hostile_agent import StandIn, frame, say

BIDI = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
UNSEEN = "\u00ad\u034f\u115f\u180e\u200b\u200c\u200d\u2060\u3164\ufe00\ufe0f\ufeff\uffa0\U000e0041\U000e0100"
EVIL = "<\x1b[2J\x1b]0;title\x07\b\x7f\x80\x85\x9b31m\x9d0;title\x9c" + BIDI + UNSEEN + "all of it\rforged>"
SESSION = "session-2026-05-10T14-22-00Z-0001"


def terminal_said(host, *words):
    """Returns the bytes that a terminal gets from a command that ends by itself, without our own progress line."""
    _, said = on_a_terminal(host, *words, raw=True, env={"TERM": "dumb"})
    return re.sub(rb"\r([^\r]*?)\x1b\[K", rb"\1", said)


def is_text(said):
    text = said.replace(b"\r\n", b"\n").decode()  # strictly: half a character may be a control
    bad = [hex(ord(c)) for c in text if c in BIDI + UNSEEN or (unicodedata.category(c) == "Cc" and c not in "\n\t")]
    assert not bad, (bad, said)
    return text


def shows(host, *words, telling=True):
    """The command shows it, and only as text."""
    text = is_text(terminal_said(host, *words))
    assert not telling or ("all of it" in text and "forged" in text), (words, text)


def change(path, **more):
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))


def test_what_is_kept_of_a_workspace(host):
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    w = host.state / "w"
    event = json.loads((w / "event.json").read_text())
    event.update(state="failed", detail=EVIL)
    (w / "event.json").write_text(json.dumps(event))
    (w / "events.json").write_text(json.dumps([event], ensure_ascii=False))
    result = {"exitCode": 3, "stdout": EVIL + "\r\n", "stderr": EVIL, "startedAt": event["observedAt"],
              "completedAt": event["observedAt"], "error": EVIL, "startError": EVIL}
    (w / "result.json").write_text(json.dumps(result))
    # Some of it is no UTF-8, and the last character is cut.
    (w / "serial.log").write_bytes(EVIL.encode() + b"\r\n\x9b31m\xff\xe2\x80" + b"x" * 70000 + "é\u202e".encode() * 40000 + b"\xe2\x80")
    for words in (("status", "w"), ("events", "w"), ("logs", "w"), ("result", "w"), ("list",), ("inspect", "w"),
                  ("--json", "status", "w"), ("--json", "events", "w"), ("--json", "logs", "w"), ("--json", "list")):
        shows(host, *words, telling=words not in (("status", "w"), ("list",), ("--json", "list")))
    said = terminal_said(host, "logs", "w")
    assert b"\r\n" in said and "é".encode() in said  # ends of lines and other alphabets are text
    assert (w / "serial.log").read_bytes() == host("logs", "w", text=False, check=0).stdout  # a file gets the bytes as they are
    host("delete", "w", check=0)


def test_what_is_kept_of_a_session(host):
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    live, kept = host.state / "sessions" / f"{SESSION}.bundle", host.state / "archive" / SESSION
    for directory in (live.parent, kept.parent, kept):
        directory.mkdir(mode=0o700)
    shutil.copytree(host.state / "w", live)
    change(live / "event.json", state="failed", detail=EVIL)
    (live / "session.json").write_text(json.dumps({"format": 1, "base": EVIL, "source": "clone", "clone": EVIL,
                                                   "createdAt": EVIL}))
    line = {"ts": EVIL, "severity": EVIL, "subsystem": EVIL, "event": EVIL, "session": SESSION, "seq": 1,
            "data": {"a" + EVIL: EVIL, "b": [EVIL], "c": {EVIL: EVIL}}, "prev": "0" * 64}
    (kept / "audit.log").write_text(json.dumps(line, ensure_ascii=False) + "\n" + EVIL + "\n")
    records = [{"kind": kind, "at": EVIL, "pid": 1, "argv": [EVIL, "x" + EVIL], "path": EVIL, "address": EVIL}
               for kind in ("exec", "connect", "write", EVIL)]
    (kept / "telemetry.jsonl").write_text("".join(
        json.dumps({"ts": EVIL, "origin": "guest", "record": record}, ensure_ascii=False) + "\n" for record in records))
    shutil.move(live / "events.json", kept)
    for words in (("audit", "show", SESSION), ("audit", "telemetry", SESSION), ("audit", "verify", SESSION), ("audit", "list"),
                  ("session", "list"), ("session", "quota", SESSION, "100"), ("session", "exec", SESSION, "--", "true"),
                  ("session", "gc")):
        shows(host, *words, telling=words[:2] in (("audit", "show"), ("audit", "telemetry")))
    shutil.rmtree(live)
    host("delete", "w", check=0)


def test_what_a_running_guest_says(vm, tmp_path):
    name = EVIL.replace("\0", "")
    script = 'mkdir -p "/tmp/$1" && cd "/tmp/$1" && echo text > "$1" && mkfifo "fifo$1" && ln -s "$1" "link$1"'
    vm("exec", "vm", "--", "sh", "-c", script, "sh", name, check=0)
    shows(vm, "ls", "vm:/tmp")
    shows(vm, "ls", f"vm:/tmp/{name}")
    shows(vm, "ls", f"vm:/tmp/{name}/none")
    shows(vm, "cp", f"vm:/tmp/{name}", tmp_path)  # what is no file is told
    shows(vm, "cp", f"vm:/tmp/none{name}", tmp_path)
    assert (tmp_path / name / name).read_text() == "text\n"
    shows(vm, "exec", "--user", f"user{EVIL}", "vm", "--", "true")
    shows(vm, "exec", "--cwd", f"/none{EVIL}", "vm", "--", "true")
    vm("exec", "-u", "root", "vm", "--", "rm", "-rf", f"/tmp/{name}", check=0)


@pytest.mark.parametrize("said", [
    (frame({"event": "error", "error": EVIL}),),
    (frame({"event": "start", "request": 1, "id": "1", "pid": 7}),
     frame({"event": "detached", "request": 1, "error": EVIL, "errorCode": EVIL})),
], ids=["error", "detached"])
@pytest.mark.parametrize("words", [("exec", "vm", "--", "true"), ("ls", "vm:/"), ("cp", "vm:/etc", "out")], ids=lambda w: w[0])
def test_what_a_lying_agent_says(vm, tmp_path, said, words):
    with StandIn(Path(vm.state) / "vm", say(*said)):
        shows(vm, *[tmp_path / w if w == "out" else w for w in words], telling=False)
