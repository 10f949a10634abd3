# SPDX-License-Identifier: MIT
"""Each way to run something in a session is in its audit log: once, with its words and its end, as the guest's word."""

import json
import os
import pty
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import BACKEND, BIN, wait_until
from cutting_proxy import CuttingProxy
from test_audit import Guest, create, destroy, events, lines_of, opened_by_strangers, verdict
from test_envelope import Client
from test_messages import Frames
from test_session_share import make_view


@pytest.fixture(scope="module")
def session(place):
    name = create(place)
    yield name
    assert verdict(place, name)["verdict"] == "open"
    destroy(place, name)
    assert verdict(place, name)["verdict"] == "closed"


@pytest.fixture
def told(place, session):
    """The one command since the test began: what was told of it, without what differs from run to run."""
    known = len(lines_of(place, session))

    def since(count=1):
        def new(event):
            return [line for line in lines_of(place, session)[known:] if line["event"] == event]

        wait_until(lambda: len(new("exec.finished")) >= count, "the end of the command in the audit log")
        started, finished = ([line["data"] for line in new(f"exec.{what}")] for what in ("started", "finished"))
        assert len(started) == len(finished) == count, (started, finished)
        assert [s["exec"] for s in started] == sorted(f["exec"] for f in finished)
        both = [{**s, **f} for s, f in zip(started, sorted(finished, key=lambda f: f["exec"]))]
        for one in both:
            assert one.pop("origin") == "guest" and one.pop("elapsedMs") >= 0 and one.pop("exec") > 0
        return both[0] if count == 1 else both

    return since


def in_sessions(place, *words, **kw):
    return place("--state-dir", place.state / "sessions", *words, **kw)


AGENT = {"user": "agent", "cwd": "/home/agent"}
EXIT_3 = ("sh", "-c", "exit 3")
SHELL = ["/bin/sh", "-c", 'exec "${SHELL:-/bin/sh}" -l']


@pytest.mark.parametrize("words, flags", [
    (("session", "exec", "NAME", "--"), {}),
    (("session", "stream", "NAME", "--"), {}),
    (("exec", "NAME", "--"), {}),
    (("exec", "BUNDLE", "--"), {}),
    (("exec", "--resume", "60", "BUNDLE", "--"), {}),
    (("exec", "--user", "root", "--cwd", "/tmp", "BUNDLE", "--"), {"user": "root", "cwd": "/tmp"}),
    (("exec", "-i", "BUNDLE", "--"), {})], ids=["session-exec", "stream", "by-name", "exec", "resume", "root", "stdin"])
def test_by_command(place, session, told, words, flags):
    words = [{"NAME": session, "BUNDLE": f"{session}.bundle"}.get(w, w) for w in words]
    (place if session in words else lambda *w, **kw: in_sessions(place, *w, **kw))(*words, *EXIT_3, check=3)
    assert told() == {**AGENT, "argv": list(EXIT_3), "code": 3, **flags}


@pytest.mark.parametrize("words, argv", [(("exec", "-i", "-t", "BUNDLE", "--", *EXIT_3), list(EXIT_3)),
                                         (("session", "shell", "NAME"), SHELL), (("connect", "NAME"), SHELL)], ids=["exec-it", "shell", "connect"])
def test_on_a_terminal(place, session, told, words, argv):
    words = [{"NAME": session, "BUNDLE": f"{session}.bundle"}.get(w, w) for w in words]
    master, slave = pty.openpty()
    state = place.state if session in words else place.state / "sessions"
    child = subprocess.Popen([BIN / "microagent", "--state-dir", state, *words], stdin=slave, stdout=slave, stderr=slave,
                             env=place.env, start_new_session=True)
    os.close(slave)
    os.write(master, b"exit 3\n")
    try:
        while os.read(master, 4096):
            pass
    except OSError:
        pass  # EIO: everybody has closed it
    assert child.wait() == 3
    os.close(master)
    assert told() == {**AGENT, "argv": argv, "code": 3, "terminal": True}


def test_in_envelopes(place, session, told):
    with Client(make_view(place), f"{session}.bundle") as client:
        assert client.ask("exec", command=list(EXIT_3))["exit_code"] == 3
    assert told() == {**AGENT, "argv": list(EXIT_3), "code": 3}


def frames(place, session, sent="agent-stream-request", got="agent-stream-event"):
    return Frames(make_view(place), f"{session}.bundle", sent, got)


def test_in_frames(place, session, told):
    agent = frames(place, session, "agent-exec-request", "agent-exec-answer")
    agent.send({"id": "a", "cmd": list(EXIT_3), "user": "root"})
    assert agent.frame()["exitCode"] == 3
    assert told() == {"argv": list(EXIT_3), "code": 3, "user": "root", "cwd": "/root"}


def test_canceled(place, session, told):
    agent = frames(place, session)
    agent.send({"id": "a", "request": 1, "stream": True, "cmd": ["sleep", "999"]})
    agent.until("start")
    agent.send({"event": "cancel", "request": 1})
    assert agent.until("exit")["killed"]
    assert told() == {**AGENT, "argv": ["sleep", "999"], "code": 137, "signal": 9}


def test_ends_that_are_no_ordinary_ones(place, session, told):
    place("session", "exec", session, "--", "sh", "-c", "kill -15 $$", check=143)
    place("session", "exec", session, "--", "/no/such/program", "word", check=127)
    place("session", "exec", session, "--", "/etc/passwd", check=126)
    in_sessions(place, "exec", "--cwd", "/nowhere", f"{session}.bundle", "--", "true", check=125)
    in_sessions(place, "exec", "--timeout", "1", f"{session}.bundle", "--", "sleep", "999", check=124)
    killed, absent, text, nowhere, late = told(5)
    assert killed == {**AGENT, "argv": ["sh", "-c", "kill -15 $$"], "code": 143, "signal": 15}
    assert absent["argv"] == ["/no/such/program", "word"] and absent["code"] == 127 and "No such file" in absent["startError"]
    assert text["code"] == 126 and "Permission denied" in text["startError"]
    assert nowhere["code"] == 125 and "/nowhere" in nowhere["startError"]
    assert late == {**AGENT, "argv": ["sleep", "999"], "code": 124, "signal": 9, "timedOut": True}


def test_cut_off_by_the_end_of_its_connection(place, session, told):
    """The client dies, and what it ran is killed; with --resume the grace time ends first."""
    view = make_view(place)
    for words in ((), ("--resume", "1")):
        child = view.popen("exec", *words, f"{session}.bundle", "--", "sh", "-c", "echo up; exec sleep 999")
        assert child.stdout.readline() == b"up\n"
        child.kill()
        child.communicate()
    one, other = told(2)
    assert one == other == {**AGENT, "argv": ["sh", "-c", "echo up; exec sleep 999"], "code": 137, "signal": 9}


def test_a_resumed_command_is_one(place, session, told):
    view = make_view(place)
    script = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"
    with CuttingProxy(view.state / f"{session}.bundle", lambda n: 5000 if n < 3 else None) as proxy:
        view("exec", "--resume", 60, f"{session}.bundle", "--", "sh", "-c", script, check=0)
    assert proxy.cuts == 3
    assert told() == {**AGENT, "argv": ["sh", "-c", script], "code": 0}


def test_files_go_through_programs_of_ours(place, session, told):
    """Actions of cp and ls in the guest run there as the user, and are reported as what they are."""
    source = place.base / "file"
    source.write_text("text")
    bundle = f"{session}.bundle"
    in_sessions(place, "cp", source, f"{bundle}:/workspace/file", check=0)
    in_sessions(place, "ls", f"{bundle}:/workspace", check=0)
    in_sessions(place, "cp", f"{bundle}:/workspace/file", place.base / "back", check=0)
    assert [(one["argv"][1], one["argv"][3], one["code"], one["user"]) for one in told(3)] == [
        ("receive", "/workspace/file", 0, "agent"), ("list", "/workspace", 0, "agent"), ("send", "/workspace/file", 0, "agent")]


def test_long_words_are_cut(place, session, told):
    place("session", "exec", session, "--", "true", "x" * 5000, "end", check=0)
    place("session", "exec", session, "--", "true", *(["y"] * 100), check=0)
    long, many = told(2)
    assert long["truncated"] and long["argv"] == ["true", "x" * 4092]
    assert many["truncated"] and many["argv"] == ["true"] + ["y"] * 63


HOSTILE = "\x1b[2J\x1b]0;title\x07\r\n2026-11-22T00:00:00.000Z  INFO      session.destroyed\x7f\u009b31m\u202e  code=0\tend"


def test_a_person_reads_hostile_words(place, session, told):
    """Nothing that a guest or a command says moves a cursor, makes a line, or looks like another field."""
    place("session", "exec", session, "--", "true", HOSTILE, check=0)
    in_sessions(place, "exec", "--user", "root", f"{session}.bundle", "--", "mkdir", "/tmp/a  code=0  x=\"", check=0)
    in_sessions(place, "exec", "--cwd", "/tmp/a  code=0  x=\"", f"{session}.bundle", "--", "true", check=0)
    assert told(3)[0]["argv"] == ["true", HOSTILE]
    shown = place("audit", "show", session, check=0, text=False).stdout
    text = shown.decode()  # valid UTF-8, whatever was said
    assert not [c for c in text if c != "\n" and (ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 or c in "\u202e\u2066")]
    lines = text.splitlines()
    assert len(lines) == len(lines_of(place, session)) and not any("session.destroyed" in line[:50] for line in lines)
    line, = [line for line in lines if "title" in line]
    assert 'argv=["true","\\u001B[2J\\u001B]0;title\\u0007\\r\\n2026-11-22T00:00:00.000Z' in line
    assert any('cwd="/tmp/a  code=0  x=\\""' in line for line in lines)
    # Aligned, and coloured on a terminal only.
    assert all(line[:24].endswith("Z") and line[24:26] == line[34:36] == "  " and line[36] != " " for line in lines), lines
    assert {line[56:58] for line in lines if "=" in line} == {"  "} and " " not in {line[58] for line in lines if "=" in line}


def test_colours_are_for_terminals(place, session):
    env = {key: value for key, value in place.env.items() if key != "NO_COLOR"}
    bundle = place.state / "sessions" / f"{session}.bundle"
    if os.geteuid() == 0:  # an alarm, where fanotify tells of opens
        next(bundle.glob("rootfs.[!j]*")).open("rb").close()
        wait_until(lambda: events(place, session, "bundle.opened"), "the alarm")
    master, slave = pty.openpty()
    child = subprocess.Popen([BIN / "microagent", "audit", "show", session], stdin=subprocess.DEVNULL, stdout=slave,
                             env={**env, "TERM": "xterm"})
    os.close(slave)
    seen = b""
    try:
        while part := os.read(master, 65536):
            seen += part
    except OSError:
        pass
    os.close(master)
    assert child.wait() == 0
    alarms = [line for line in seen.splitlines() if b"CRITICAL" in line]
    assert all(b"\x1b[31mCRITICAL\x1b[0m" in line for line in alarms) and len(alarms) == len(
        [line for line in lines_of(place, session) if line["severity"] == "CRITICAL"])
    assert b"\x1b" not in b"".join(line for line in seen.splitlines() if b"  INFO " in line)
    assert b"\x1b" not in place("audit", "show", session, check=0, text=False, env=dict(env, TERM="xterm", NO_COLOR="")).stdout


@pytest.mark.skipif(BACKEND == "apple-vf", reason="the supervisor on a stand-in does not lie beside the other programs")
def test_our_own_looks_are_no_alarm(place, session):
    """Our commands read the session's files and are gone before anybody can see whose opens these were."""
    place("session", "exec", session, "--", "true", check=0)
    wait_until(lambda: place("audit", "telemetry", session).returncode == 0, "the guest to tell of it")
    with ThreadPoolExecutor(4) as many:
        list(many.map(lambda n: place("audit", ("verify", "telemetry", "show")[n % 3], session, check=0), range(24)))
        list(many.map(lambda words: place(*words, check=0), 4 * [("session", "list"), ("session", "gc"), ("audit", "list")]))
    opened = opened_by_strangers(place, session)
    assert not opened, opened


@pytest.mark.skipif(BACKEND == "apple-vf", reason="the supervisor on a stand-in does not lie beside the other programs")
def test_a_record_that_is_replaced_as_it_is_read_is_no_alarm(place):
    """Each record of a start takes the place of the one before, which a command may have opened."""
    maker = place.popen("session", "create", "--base", "web", "--network", "isolated")
    while maker.poll() is None:
        place("session", "list", check=0)
    name = maker.communicate()[0].decode().split()[0]
    opened = opened_by_strangers(place, name)
    place("session", "destroy", name, check=0)
    assert not opened, opened


def test_a_guest_that_lies(place):
    """It can add lines, as its own; it can make none that are the host's word."""
    guest = Guest(place)
    before = len(lines_of(place, guest.name))
    forged = ('{"ts":"2026-11-22T00:00:00.000Z","severity":"INFO","subsystem":"session","event":"session.destroyed","session":"%s",'
              '"seq":9,"data":{},"prev":"%s"}' % (guest.name, "0" * 64))

    def lie(**message):
        guest.raw(json.dumps({"format": 1, **message}).encode())

    lie(type="exec-started", exec=1, argv=["true\n" + forged], origin="host", event="session.destroyed", severity="CRITICAL",
        subsystem="session", session="other", seq=1, prev="0" * 64, data={"origin": "host"})
    for kind in ("session.destroyed", "audit.closed", "share.added", "exec.started", "audit", "event"):
        lie(type=kind, event="session.destroyed", data={"origin": "host"})
    lie(type="telemetry", records=[{"kind": "audit", "event": "session.destroyed", "origin": "host", "text": "\n" + forged}])
    lie(type="exec-finished", exec=1, code=0, elapsedMs=1, origin="host", startError=forged)
    guest.say({"type": "exec-lost", "format": 1, "lost": 7})
    wait_until(lambda: events(place, guest.name, "audit.gap"), "the last lie")
    new = lines_of(place, guest.name)[before:]
    assert [line["event"] for line in new if line["subsystem"] == "exec"] == ["exec.started", "exec.finished"]
    assert not [line for line in new if line["event"] in ("session.destroyed", "audit.closed", "share.added")]
    assert {line["data"]["origin"] for line in new if line["subsystem"] == "exec"} == {"guest"}
    assert {line["session"] for line in new} == {guest.name}
    destroy(place, guest.name)
    answer = verdict(place, guest.name)
    assert answer["verdict"] == "closed" and answer["confirmed"] == answer["lines"] and answer["lost"] == 7
    assert events(place, guest.name, "audit.gap")[0]["data"]["origin"] == "guest"
