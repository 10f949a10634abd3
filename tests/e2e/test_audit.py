# SPDX-License-Identifier: MIT
"""Tests the audit log of sessions: its lines, what is detected when it is altered, and what is kept."""

import hashlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

import schema_check
import strays
from conftest import make_host, wait_until
from failing_calls import NO_LANDLOCK


def create(host, *words, env=None):
    return host.json("session", "create", "--base", "web", "--network", "isolated", *words, env=env)["name"]


def bundle(host, name):
    return host.state / "sessions" / f"{name}.bundle"


def archive(host, name):
    return host.state / "archive" / name


def lines_of(host, name):
    """Returns the log's lines by `audit show`, each checked by its schema."""
    found = [json.loads(line) for line in host("--json", "audit", "show", name, check=0).stdout.splitlines()]
    for line in found:
        schema_check.validate("audit-line", line)
    return found


def events(host, name, event=None):
    return [line for line in lines_of(host, name) if event in (None, line["event"])]


def opened_by_strangers(host, name):
    """Returns the openings of the session's files, without those of other tests: their Python, and a stand-in's supervisor,
    which looks in all machines of this computer for a port that is taken."""
    return [line for line in events(host, name, "bundle.opened")
            if "python" not in line["data"].get("exe", "") and "/standin/" not in line["data"].get("exe", "")]


def verdict(host, name):
    answer = json.loads(host("--json", "audit", "verify", name).stdout)
    schema_check.validate("cli-audit-verify", answer)
    code = host("audit", "verify", name).returncode
    assert code == (0 if answer["ok"] else 1) and answer["ok"] == (answer["verdict"] in ("open", "closed"))
    return answer


def destroy(host, name):
    host("session", "destroy", name, check=0)


def supervisor(host, name):
    return json.loads((bundle(host, name) / "runtime.json").read_text())


def test_the_trail_of_a_session(place):
    assert place.json("audit", "list") == {"audits": []}
    assert "there is no audit log" in place("audit", "list", check=0).stderr
    name = create(place)
    place("session", "exec", name, "--", "sh", "-c", "echo '{[,,]}' $0; exit 3", "\x01word", check=3)
    place("session", "exec", name, "--", "/nothing", check=127)
    place("session", "stream", name, "--", "true", check=0)
    wait_until(lambda: len(events(place, name, "exec.finished")) == 3, "the guest's word")
    trail = events(place, name)
    assert [line["event"] for line in trail if line["subsystem"] not in ("host", "telemetry")] == [
        "audit.opened", "session.cloned", "session.booted", "audit.coverage"] + 3 * ["exec.started", "exec.finished"]
    assert [line["seq"] for line in trail] == list(range(1, len(trail) + 1))
    assert {line["session"] for line in trail} == {name}
    # A caller that waits for "running" acts after the boot, and the log has this order.
    running, = [state for state in json.loads((bundle(place, name) / "events.json").read_text()) if state["state"] == "running"]
    assert events(place, name, "session.booted")[0]["ts"] <= running["observedAt"]
    first, second, third = events(place, name, "exec.started")
    assert first["data"]["argv"] == ["sh", "-c", "echo '{[,,]}' $0; exit 3", "\x01word"]
    assert first["data"]["origin"] == "guest" and first["data"]["user"] == "agent"
    assert second["data"]["argv"] == ["/nothing"] and third["data"]["argv"] == ["true"]
    assert [line["data"]["code"] for line in events(place, name, "exec.finished")] == [3, 127, 0]
    coverage = events(place, name, "audit.coverage")[0]["data"]
    told = set(coverage["observed"]) | {u["what"] for u in coverage["unobserved"]}
    assert told >= {"exec", "network", "memory-pressure", "file-opens", "vmm"}, coverage
    assert ("vmm-sockets" in {u["what"] for u in coverage["unobserved"]}) == (place.backend == "firecracker")
    print("not observed on this host:", coverage["unobserved"])

    # Checks the chain by hand, from the bytes of the file.
    text = (bundle(place, name) / "audit.log").read_bytes().splitlines(keepends=True)
    for before, line in zip(text, text[1:]):
        assert json.loads(line)["prev"] == hashlib.sha256(before).hexdigest()
    nonce = json.loads(text[0])["data"]["nonce"]
    assert json.loads(text[0])["prev"] == hashlib.sha256(f"{name}\n{nonce}".encode()).hexdigest()
    answer = verdict(place, name)
    assert (answer["verdict"], answer["where"]) == ("open", "session")

    def is_confirmed():
        now = verdict(place, name)  # while the log is written to, the digest of the last line may be on its way
        return now["confirmed"] == now["lines"]

    wait_until(is_confirmed, "the security log to have all of it")
    shown = place("audit", "show", name, check=0).stdout
    assert 'argv=["sh","-c","echo' in shown and "\x01" not in shown and shown.count("\n") >= len(text)
    assert "open; " in place("audit", "verify", f"{name}.bundle", check=0).stdout

    # After a stop another boot goes on with the same log.
    sessions = ("--state-dir", place.state / "sessions")
    place(*sessions, "stop", f"{name}.bundle", check=0)
    place(*sessions, "start", f"{name}.bundle", check=0)
    assert [line["data"]["state"] for line in events(place, name, "session.ended")] == ["stopped"]
    assert len(events(place, name, "session.booted")) == 2

    telemetry = bundle(place, name) / "telemetry.jsonl"
    told = telemetry.read_bytes() if telemetry.exists() else None
    with ThreadPoolExecutor(2) as two:  # two at once: one gets the lock, and the other says so
        done = list(two.map(lambda _: place("session", "destroy", name), range(2)))
    assert sorted(d.returncode for d in done) == [0, 1], done
    kept = {"audit.log", "events.json", "session.json"} | ({"telemetry.jsonl"} if told is not None else set())
    assert {p.name for p in archive(place, name).iterdir()} == kept
    assert told is None or (archive(place, name) / "telemetry.jsonl").read_bytes() == told
    trail = events(place, name)
    assert [line["event"] for line in trail[-2:]] == ["session.destroyed", "audit.closed"]
    assert trail[-1]["data"]["count"] == len(trail)
    assert [line["event"] for line in trail].count("session.destroyed") == 1
    answer = verdict(place, name)
    assert (answer["verdict"], answer["where"], answer["lines"]) == ("closed", "archive", len(trail))
    listed = place.json("audit", "list")["audits"]
    assert [(a["session"], a["where"]) for a in listed] == [(name, "archive")]
    assert name in place("audit", "list", check=0).stdout
    for log in (place.state / "logs").iterdir():
        assert log.stat().st_mode & 0o777 == 0o600
        for line in log.read_text().splitlines():
            schema_check.validate("audit-security", json.loads(line))


def test_an_altered_log(place):
    name = create(place)
    destroy(place, name)
    log = archive(place, name) / "audit.log"
    whole = log.read_bytes()
    lines = whole.splitlines(keepends=True)
    for altered, bad in ((lines[:1] + [lines[1].replace(b"cloned", b"clowned")] + lines[2:], 2),
                         (lines[:1] + lines[2:], 2), (lines[:2] + [lines[1]] + lines[2:], 3),
                         (lines[:2] + [lines[3], lines[2]] + lines[4:], 3),
                         (lines[:-1], len(lines)), (lines + [b"{}\n"], len(lines) + 1), ([], 1)):
        log.write_bytes(b"".join(altered))
        answer = verdict(place, name)
        assert (answer["verdict"], answer["badLine"]) == ("broken", bad), answer
        assert f"broken: line {bad}: " in place("audit", "verify", name).stdout
        place("audit", "show", name, check=0)
    log.rename(log.with_suffix(".away"))
    answer = verdict(place, name)
    assert (answer["verdict"], answer["badLine"], answer["where"], answer["path"]) == ("broken", 1, "archive", str(log))
    assert f"the log is gone, but the security log has {len(lines)} lines" in place("audit", "verify", name).stdout
    log.with_suffix(".away").rename(log)
    log.write_bytes(whole[:-1])  # the security log knows that its newline was there
    assert verdict(place, name)["verdict"] == "broken"
    day = max((place.state / "logs").iterdir())
    kept = day.read_bytes()
    vouched = [line for line in kept.splitlines(keepends=True) if name.encode() in line and b'"head"' in line]
    log.write_bytes(b"".join(lines[:-1]))
    day.write_bytes(kept.replace(vouched[-1], b""))  # an attacker who cuts off its end cuts off the digest too
    answer = json.loads(place("--json", "audit", "verify", name, check=1).stdout)
    assert (answer["verdict"], answer["confirmed"]) == ("unconfirmed", len(lines) - 1), answer
    assert "it is archived, but its last line does not close it" in place("audit", "verify", name, check=1).stdout
    day.write_bytes(kept)
    log.write_bytes(whole)
    assert verdict(place, name)["verdict"] == "closed"
    day = max((place.state / "logs").iterdir())  # the message says what is missing, and by whose lines this is known
    kept = day.read_bytes()
    own = [line for line in kept.splitlines(keepends=True) if name.encode() in line and b'"head"' in line]
    assert "unconfirmedLine" not in verdict(place, name)
    day.write_bytes(kept[:kept.index(own[-2])])
    answer = verdict(place, name)
    assert (answer["verdict"], answer["confirmed"], answer["unconfirmedLine"]) == ("closed", len(lines) - 2, len(lines) - 1)
    said = f"line {len(lines) - 1} is the first without a digest in the security log: the security log was cut short, moved or removed"
    assert said in place("audit", "verify", name).stdout
    day.unlink()
    answer = verdict(place, name)
    assert (answer["confirmed"], answer["unconfirmedLine"]) == (0, 1)
    day.parent.rmdir()
    assert verdict(place, name)["unconfirmedLine"] == 1
    day.parent.mkdir(0o700)
    day.write_bytes(kept)
    day.chmod(0o600)
    for day in (place.state / "logs").iterdir():  # without these lines only the missing end shows it
        day.rename(day.with_suffix(".away"))
    log.write_bytes(b"".join(lines[:-1]))
    answer = verdict(place, name)
    assert (answer["verdict"], answer["confirmed"]) == ("unconfirmed", 0)
    log.write_bytes(whole[:-1])
    answer = verdict(place, name)
    assert (answer["verdict"], answer["badLine"]) == ("torn", len(lines))
    log.write_bytes(whole)
    for day in (place.state / "logs").iterdir():
        day.rename(day.with_suffix(".log"))


def test_refusals(place):
    for words, text, code in ((("verify", "../x"), "is not a session's name", 2), (("show", "x"), "is not a session's name", 2),
                              (("verify", "session-2026-05-10T14-22-00Z-a7f3"), "there is no audit log of session", 1),
                              (("verify",), "NAME", 2)):
        done = place("audit", *words)
        assert done.returncode == code and text in done.stderr, (words, done.stderr)


def test_a_killed_supervisor(place):
    """The last line may be cut short. The next writer says so, and goes on."""
    name = create(place)
    log = bundle(place, name) / "audit.log"

    def keep_busy(_):
        while place("session", "exec", name, "--", "true").returncode == 0:
            pass

    with ThreadPoolExecutor(2) as busy:  # lines are written while it dies
        done = busy.map(keep_busy, range(2))
        wait_until(lambda: len(events(place, name, "exec.finished")) > 5
                   and (bundle(place, name) / "telemetry.jsonl").exists(), "some traffic")
        os.kill(supervisor(place, name)["supervisorPid"], signal.SIGKILL)
    assert list(done) == [None, None]
    before = len(log.read_bytes().splitlines())
    answer = verdict(place, name)  # a kill leaves whole lines, since a line is one write
    assert (answer["verdict"], answer["lines"]) == ("open", before) and answer["confirmed"] >= before - 1
    with open(log, "ab") as file:
        file.write(b'{"ts":"2026-')
    answer = verdict(place, name)
    assert (answer["verdict"], answer["badLine"]) == ("torn", before + 1), answer
    told = (bundle(place, name) / "telemetry.jsonl").read_bytes()
    place("--state-dir", place.state / "sessions", "start", f"{name}.bundle", check=0)
    later = [json.loads(line) for line in log.read_bytes().splitlines()[before + 1:]]
    # Opens by other programs, and memory pressure that this host really has, may be reported at any time.
    assert [line["event"] for line in later if line["subsystem"] not in ("host", "telemetry")][:3] == [
        "audit.torn", "supervisor.lost", "session.booted"]
    # Lines that the guest had caused since the last digest get one from the writer that noticed the loss.
    found = next(line for line in later if line["event"] == "telemetry.digest")["data"]
    assert "dropped" not in found and found["bytes"] == len(told) and found["records"] == told.count(b"\n")
    assert found["sha256"] == hashlib.sha256(told).hexdigest()
    destroy(place, name)
    answer = verdict(place, name)
    assert (answer["verdict"], answer["badLine"]) == ("torn", before + 1) and "cut short by a crash" in answer["why"]


def test_a_vmm_that_dies(place):
    name = create(place)
    os.kill(supervisor(place, name)["pid"], signal.SIGKILL)
    wait_until(lambda: events(place, name, "session.ended"), "the end")
    crashed, = events(place, name, "vmm.crashed")
    assert crashed["severity"] == "CRITICAL"
    assert verdict(place, name)["verdict"] == "open"
    destroy(place, name)


def security_events(place, name, event):
    """Returns the lines of the security log about one session, each checked by its schema."""
    lines = [json.loads(line) for log in sorted((place.state / "logs").iterdir()) for line in log.read_text().splitlines()]
    for line in lines:
        schema_check.validate("audit-security", line)
    return [line for line in lines if (line["session"], line["event"]) == (name, event)]


def replace_log(log):
    """Replaces the file by a copy, as an editor does."""
    copy = log.with_name("copy")
    shutil.copy(log, copy)
    log.unlink()
    copy.rename(log)


def put_directory(log):
    log.unlink()
    log.mkdir()
    (log / "file").touch()


@pytest.mark.parametrize("do, how", [(replace_log, "replaced"), (os.unlink, "removed"), (put_directory, "replaced")])
def test_a_log_that_is_taken_away(place, do, how):
    """The supervisor puts the log back with all of its lines, and an alarm reports it. No later line is lost."""
    name = create(place)
    log = bundle(place, name) / "audit.log"
    do(log)
    os.kill(supervisor(place, name)["pid"], signal.SIGKILL)
    wait_until(lambda: json.loads((bundle(place, name) / "events.json").read_text())[-1]["state"] == "failed", "the end")
    destroy(place, name)
    lines = lines_of(place, name)
    trail = [line["event"] for line in lines]
    ordered = [event for event in trail if event != "host.memory-pressure"]  # the host may have memory pressure at any time
    assert ordered[:3] == ["audit.opened", "session.cloned", "session.booted"] and ordered[-1] == "audit.closed", lines
    assert {"vmm.crashed", "session.ended", "audit.changed"} <= set(trail)
    changed, = events(place, name, "audit.changed")
    assert (changed["severity"], changed["data"]) == ("CRITICAL", {"how": how})
    for event in ("audit.changed", "vmm.crashed"):
        told, = security_events(place, name, event)
        assert (told["severity"], told["data"]) == ("CRITICAL", events(place, name, event)[0]["data"])
    answer = verdict(place, name)
    assert (answer["verdict"], answer["lost"], answer["confirmed"]) == ("closed", 0, len(trail))
    assert not list(archive(place, name).glob("audit.log?*"))


def test_a_log_that_is_taken_away_is_missed_at_once(place):
    """The supervisor notices without any other event, and the machine goes on."""
    name = create(place, env={"MICROAGENT_TEST_LIMIT_AUDIT_LOOK_MS": "50"})
    log = bundle(place, name) / "audit.log"
    for count in (1, 2):
        log.unlink()
        wait_until(lambda n=count: len(security_events(place, name, "audit.changed")) == n and log.exists(), "the alarm")
    os.truncate(log, log.stat().st_size - 5)
    wait_until(lambda: security_events(place, name, "audit.changed")[-1]["data"] == {"how": "shortened"}, "the alarm")
    details = [e.get("detail", "") for e in json.loads((bundle(place, name) / "events.json").read_text())]
    assert details.count("audit.log was removed, and was put back") == 2
    place("session", "exec", name, "--", "true", check=0)
    assert verdict(place, name)["verdict"] == "broken"  # there is no copy of the lines that were cut off
    today = max((place.state / "logs").iterdir())
    today.unlink()
    wait_until(lambda: today.exists() and security_events(place, name, "audit.changed"), "the alarm")
    assert security_events(place, name, "audit.changed")[0]["data"] == {"how": "security-log-removed"}
    destroy(place, name)


def move_away(log):
    log.rename(log.with_name(log.name + ".1"))


def rotate(log):
    """Rotates the file as logrotate does: the file gets another name, and a new one gets the file's name."""
    move_away(log)
    log.touch(0o600)


def unlink_with_another_name(log):
    log.with_name("kept").hardlink_to(log)
    log.unlink()


def put_fifo(log):
    log.unlink()
    os.mkfifo(log, 0o600)


def put_dangling_link(log):
    log.unlink()
    log.symlink_to("nowhere")


def move_directory(log):
    log.parent.rename(log.parent.with_name("logs-moved"))


def move_directory_and_make_another(log):
    move_directory(log)
    log.parent.mkdir(0o700)
    log.touch(0o600)


SECURITY_LOG_IS_TAKEN = (
    (os.unlink, "removed"), (move_away, "moved"), (rotate, "moved"), (unlink_with_another_name, "moved"),
    (lambda log: os.truncate(log, 10), "shortened"), (lambda log: shutil.rmtree(log.parent), "removed"), (move_directory, "moved"),
    (move_directory_and_make_another, "moved"))


@pytest.mark.parametrize("files", ["landlock", "root"])
def test_a_security_log_that_is_taken_away(place, monkeypatch, files):
    """The supervisor notices by itself and begins another file at the path. The alarm in it says what was done to the
    old one. A supervisor with a root of its own cannot see the path, and is told of it."""
    if files == "root":
        monkeypatch.setattr(place, "wrap", [*NO_LANDLOCK, *place.wrap])
    name = create(place, env={"MICROAGENT_TEST_LIMIT_AUDIT_LOOK_MS": "50"})
    if supervisor(place, name)["files"] != files:
        destroy(place, name)
        pytest.skip(f"this host has no {files}")
    today = max((place.state / "logs").iterdir())

    def told(event):
        lines = today.read_bytes().splitlines(keepends=True) if today.is_file() else []
        # A line that was cut short has lost its newline, so the next line follows on the same line.
        objects = [json.loads(line[line.rfind(b'{"ts"'):]) for line in lines if line.endswith(b"\n")]
        return [o.get("data") for o in objects if (o["session"], o["event"]) == (name, event)]

    for i, (do, how) in enumerate(SECURITY_LOG_IS_TAKEN):
        do(today)
        wait_until(lambda: {"how": f"security-log-{how}"} in told("audit.changed"), f"the alarm that it was {how}")
        assert len(events(place, name, "audit.changed")) == i + 1
        assert today.stat().st_mode & 0o777 == 0o600
        for rest in (*today.parent.glob("*.1"), *today.parent.glob("kept"), place.state / "logs-moved"):
            shutil.rmtree(rest, ignore_errors=True)
            rest.unlink(missing_ok=True)
    # A file that was moved gets no more lines, even about events before anybody looked.
    move_away(today)
    moved = today.with_name(today.name + ".1")
    size = moved.stat().st_size
    os.kill(supervisor(place, name)["pid"], signal.SIGKILL)
    wait_until(lambda: told("session.ended"), "the end")
    assert told("vmm.crashed") and {"how": "security-log-moved"} in told("audit.changed") and moved.stat().st_size == size
    destroy(place, name)
    moved.unlink()


def times_woken(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))


def test_a_security_log_that_loses_what_others_wrote(place):
    """An idle session knows which lines it has not written: those of a session that is over by then."""
    idle = create(place, env={"MICROAGENT_TEST_LIMIT_AUDIT_LOOK_MS": "50"})
    today = max((place.state / "logs").iterdir())
    other = create(place)
    place("session", "exec", other, "--", "true", check=0)
    destroy(place, other)
    assert verdict(place, other)["verdict"] == "closed"
    kept = today.read_bytes()
    # The broker looks at the file, and is asked a few other things between two looks.
    before = times_woken(supervisor(place, idle)["broker"]["pid"])
    wait_until(lambda: times_woken(supervisor(place, idle)["broker"]["pid"]) > before + 30, "a look")
    os.truncate(today, kept.rindex(b"\n", 0, kept.index(other.encode())) + 1)
    wait_until(lambda: {"how": "security-log-shortened"} in [line["data"] for line in events(place, idle, "audit.changed")], "the alarm")
    assert len(events(place, idle, "audit.changed")) == 1
    # No digest confirms the other log, though the security log of its day exists.
    answer = verdict(place, other)
    assert (answer["verdict"], answer["confirmed"], answer["unconfirmedLine"]) == ("unconfirmed", 0, 1), answer
    assert f"{other}: unconfirmed: the security log of {today.name[9:19]} exists, but has no line of this log" in \
        place("audit", "verify", other, check=1).stdout
    assert place("audit", "verify", "--all").returncode == 1
    # The security log was cut off, and then filled up again.
    with open(today, "ab") as log:
        log.write(kept[today.stat().st_size:])
    before = times_woken(supervisor(place, idle)["broker"]["pid"])
    wait_until(lambda: times_woken(supervisor(place, idle)["broker"]["pid"]) > before + 30, "a look")
    at = today.stat().st_size
    with open(today, "r+b") as log:
        log.truncate(at - 300)
        log.seek(0, os.SEEK_END)
        log.write(kept[:600])
    wait_until(lambda: len(events(place, idle, "audit.changed")) == 2, "the alarm")
    destroy(place, idle)
    # The security log was put away as a whole, or another host has it.
    today.unlink()
    answer = verdict(place, other)
    assert (answer["verdict"], answer["confirmed"]) == ("closed", 0)
    today.write_bytes(kept)
    today.chmod(0o600)
    assert "unconfirmedLine" not in verdict(place, other)


def test_a_supervisor_has_no_security_log_open(place):
    """The security log has the lines of all sessions, and there are files of other days. The broker appends what it is
    asked to, and hands out no descriptor."""
    name = create(place)
    wait_until(lambda: security_events(place, name, "audit.coverage"), "a line of the running machine")
    facts = supervisor(place, name)
    logs = str(place.state / "logs")
    assert not [link for link in strays.descriptors(facts["supervisorPid"]).values() if link.startswith(logs)]
    assert [link for link in strays.descriptors(facts["broker"]["pid"]).values() if link.startswith(logs)]
    destroy(place, name)


def test_something_else_in_the_place_of_the_security_log(place):
    """The thing in the place of the security log is left alone, and the audit log says that its lines have no digests.
    When the place is free the log goes on."""
    name = create(place, env={"MICROAGENT_TEST_LIMIT_AUDIT_LOOK_MS": "50"})
    today = max((place.state / "logs").iterdir())
    put_fifo(today)
    wait_until(lambda: events(place, name, "audit.unconfirmed"), "the lines to be missed")
    assert [line["data"] for line in events(place, name, "audit.changed")] == [{"how": "security-log-removed"}]
    assert today.is_fifo()
    today.unlink()
    place("session", "exec", name, "--", "true", check=0)
    wait_until(lambda: len(events(place, name, "audit.unconfirmed")) == 2, "the log to go on")
    assert security_events(place, name, "audit.unconfirmed")
    destroy(place, name)


def test_a_log_that_is_gone_when_its_machine_is(place):
    """Nobody has a copy of the log. The process that begins another one, here `session destroy`, raises the alarm, and
    `verify` finds the log broken."""
    name = create(place)
    place("halt", f"{name}", check=0)
    assert not events(place, name, "audit.changed")
    (bundle(place, name) / "audit.log").unlink()
    destroy(place, name)
    told, = security_events(place, name, "audit.changed")
    assert (told["severity"], told["data"], told["seq"]) == ("CRITICAL", {"how": "removed"}, 2)
    answer = verdict(place, name)
    assert (answer["verdict"], answer["badLine"]) == ("broken", 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a file that nobody can write")
def test_a_log_that_cannot_be_written(place):
    """Alarms are in the security log all the same, and it counts the lost lines."""
    name = create(place)
    log = bundle(place, name) / "audit.log"
    if subprocess.run(["chattr", "+i", log], capture_output=True, check=False).returncode:
        pytest.skip("this file system has no files that cannot be changed")
    try:
        place("session", "exec", name, "--", "true", check=0)
        os.kill(supervisor(place, name)["pid"], signal.SIGKILL)
        wait_until(lambda: security_events(place, name, "audit.gap"), "the gap")
    finally:
        subprocess.run(["chattr", "-i", log], check=True)
    crashed, = security_events(place, name, "vmm.crashed")
    assert crashed["severity"] == "CRITICAL" and crashed["data"]["why"] and "seq" not in crashed
    gap, = security_events(place, name, "audit.gap")
    assert gap["data"]["lost"] >= 4 and "audit.log" in gap["data"]["why"], gap
    destroy(place, name)
    answer = verdict(place, name)
    assert (answer["verdict"], answer["lost"]) == ("closed", gap["data"]["lost"])
    assert f"{answer['lost']} events were not recorded, as" in place("audit", "verify", name, check=0).stdout


class Guest:
    """Speaks as the guest. It dials the control stream before the guest can, which must boot first."""

    def __init__(self, host, env=None):
        self.host = host
        known = set((host.state / "sessions").glob("*.bundle"))
        self.starting = host.popen("session", "create", "--base", "web", "--network", "isolated", env=env)

        def ear():
            new = set((host.state / "sessions").glob("*.bundle")) - known
            return next((path / "vsock.sock_1024" for path in new if (path / "vsock.sock_1024").exists()), None)

        wait_until(ear, "the control stream")
        self.name = ear().parent.name.removesuffix(".bundle")
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.settimeout(60)
        wait_until(self.is_heard, "who listens there")
        self.say({"type": "hello", "format": 1, "protocol": {"min": 1, "max": 1}, "version": "0", "bootId":
                  "257cc440-b72b-4784-9d08-ae6681fb4192", "generation": 0})
        size = struct.unpack(">I", self.stream.recv(4, socket.MSG_WAITALL))[0]
        config = json.loads(self.stream.recv(size, socket.MSG_WAITALL))
        schema_check.validate("control-config", config)
        assert config["audit"] is True
        self.say({"type": "ready", "format": 1})
        out, err = self.starting.communicate()
        assert self.starting.returncode == 0 and out.decode().strip() == self.name, err

    def is_heard(self):
        """A socket has its name before anybody listens on it."""
        ear = self.host.state / "sessions" / f"{self.name}.bundle" / "vsock.sock_1024"
        return self.stream.connect_ex(str(ear)) == 0

    def say(self, message):
        schema_check.validate(f"control-{message['type']}", message)
        self.raw(json.dumps(message).encode())

    def raw(self, data, size=None):
        self.stream.sendall(struct.pack(">I", len(data) if size is None else size) + data)


def test_telemetry_and_a_guest_that_says_too_much(place):
    guest = Guest(place, env={"MICROAGENT_TEST_LIMIT_AUDIT_GUEST_LINES": "10",
                              "MICROAGENT_TEST_LIMIT_TELEMETRY_DIGEST_MS": "100",
                              "MICROAGENT_TEST_LIMIT_TELEMETRY_BYTES": "1000"})
    guest.say({"type": "telemetry-status", "format": 1, "exec": False, "files": False, "writes": True, "network": False,
               "detail": "this kernel has no audit"})
    wait_until(lambda: events(place, guest.name, "telemetry.status"), "what is not traced")
    status, = events(place, guest.name, "telemetry.status")
    assert status["severity"] == "WARNING" and status["data"]["detail"] == "this kernel has no audit"
    # The size of the message is allowed, but its line is too long. It is still the guest's message and counts as such.
    guest.say({"type": "exec-started", "format": 1, "exec": 1, "argv": ["\x01" * 10900]})
    wait_until(lambda: events(place, guest.name, "exec.started"), "a line that is too long")
    assert events(place, guest.name, "exec.started")[0]["data"].keys() == {"omittedBytes", "origin"}
    records = [{"event": "exec", "pid": 7, "argv": ["true"]}, {"event": "connect", "to": "1.2.3.4:80"}]
    guest.say({"type": "telemetry", "format": 1, "records": records, "lost": 3})
    wait_until(lambda: events(place, guest.name, "telemetry.digest"), "a digest")
    path = bundle(place, guest.name) / "telemetry.jsonl"
    told = [json.loads(line) for line in path.read_text().splitlines()]
    for line in told:
        schema_check.validate("audit-telemetry", line)
    assert [line["record"] for line in told] == records
    digest = events(place, guest.name, "telemetry.digest")[0]["data"]
    assert digest == {"origin": "guest", "bytes": path.stat().st_size, "records": 2, "dropped": 3,
                      "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    guest.say({"type": "telemetry", "format": 1, "records": [{"text": "x" * 1000}]})
    wait_until(lambda: len(events(place, guest.name, "telemetry.digest")) == 2, "another digest")
    digest = events(place, guest.name, "telemetry.digest")[1]["data"]
    assert digest == {"origin": "guest", "bytes": path.stat().st_size, "records": 2, "dropped": 4,  # lines above the limit are counted
                      "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert path.stat().st_size < 1000

    for i in range(1, 101):  # far more in a second than are listed
        guest.say({"type": "exec-finished", "format": 1, "exec": i, "code": 0, "elapsedMs": 1})
    wait_until(lambda: events(place, guest.name, "audit.gap"), "the gap")
    wait_until(lambda: len(events(place, guest.name, "exec.finished"))
               + sum(g["data"]["lost"] for g in events(place, guest.name, "audit.gap")) == 100, "all of them, listed or counted")
    assert verdict(place, guest.name)["lost"] >= 50
    destroy(place, guest.name)
    assert place("--json", "audit", "telemetry", guest.name, check=0).stdout.count("\n") == 2
    telemetry_is_vouched_for(place, guest.name)


def test_no_telemetry(place):
    """A session without a report yet, or ever, still exists."""
    guest = Guest(place)

    def said(name):
        done = place("audit", "telemetry", name, check=1)
        assert done.stdout == ""
        return done.stderr

    assert said(guest.name) == (f"microagent: the guest of session {guest.name} has not reported yet what runs in it: "
                                "try again in a few seconds\n")
    destroy(place, guest.name)
    assert said(guest.name) == f"microagent: the guest of session {guest.name} never reported what ran in it, so there is no telemetry\n"
    unknown = "session-2020-01-01T00-00-00Z-aaaa"
    assert said(unknown).startswith(f"microagent: there is no telemetry of session {unknown}: there is no such session")
    assert "`microagent audit list` shows the audit logs" in said(unknown)


def telemetry_is_vouched_for(place, name):
    """The archive keeps those messages of the guest whose digests are in the log."""
    file = archive(place, name) / "telemetry.jsonl"
    whole = file.read_bytes()
    line = events(place, name, "telemetry.digest")[0]["seq"]
    for altered, what, confirmed in ((whole, "whole", len(whole)), (whole + b"{}\n", "grown", len(whole)),
                                     (whole.replace(b"true", b"fals"), "altered", 0), (whole[:-1], "altered", 0),
                                     (b"", "altered", 0), (None, "missing", 0)):
        file.unlink(missing_ok=True)
        if altered is not None:
            file.write_bytes(altered)
        answer = json.loads(place("--json", "audit", "verify", name, check=0 if what == "whole" else 1).stdout)
        schema_check.validate("cli-audit-verify", answer)
        assert answer["verdict"] == ("broken" if what == "grown" else "closed") and answer["ok"] == (what == "whole")
        assert answer["telemetry"] == {"verdict": "whole" if what == "grown" else what, "bytes": len(altered or b""),
                                       "confirmedBytes": confirmed, **({} if what in ("whole", "grown") else {"line": line})}
        said = place("audit", "verify", name).stdout
        assert {"whole": "telemetry.jsonl is whole", "grown": "closes the log, but telemetry.jsonl has 3 bytes after"}.get(
            what, f"telemetry.jsonl is {what}: it does not have the digest that line {line} of the log has for it") in said


@pytest.mark.parametrize("data, size", [
    (b'{"type":"exec-started","format":1,"exec":1,"argv":[1]}', None),
    (b'{"type":"exec-finished","exec":1,"code":300,"elapsedMs":1}', None),
    (b'{"type":"telemetry","records":[1]}', None),
    (b"", 1 << 20)], ids=["argv", "code", "telemetry", "oversize"])
def test_a_malformed_guest_message(place, data, size):
    guest = Guest(place)
    guest.raw(data, size)
    wait_until(lambda: events(place, guest.name, "session.ended"), "the end")
    found, = events(place, guest.name, "guest.malformed")
    assert found["severity"] == "CRITICAL"
    security = "".join(log.read_text() for log in (place.state / "logs").iterdir())
    assert json.dumps(found["data"]["why"]) in security  # events that are worth an alarm have their data
    destroy(place, guest.name)


def test_a_log_that_is_as_long_as_it_may_be(place):
    """Above half of the log the guest's messages are only counted. Events that the host sees are still written."""
    guest = Guest(place, env={"MICROAGENT_TEST_LIMIT_AUDIT_BYTES": "6000", "MICROAGENT_TEST_LIMIT_AUDIT_GUEST_LINES": "1000"})
    for i in range(1, 101):
        guest.say({"type": "exec-finished", "format": 1, "exec": i, "code": 0, "elapsedMs": 1})
    guest.stream.close()
    wait_until(lambda: events(place, guest.name, "guest.agent-lost"), "the host's word that nothing more is told")
    assert events(place, guest.name, "guest.agent-lost")[0]["severity"] == "WARNING"
    full, = events(place, guest.name, "audit.full")
    assert full["severity"] == "CRITICAL" and full["data"]["of"] == "guest" and 2000 <= full["data"]["bytes"] <= 3000
    destroy(place, guest.name)
    told = len(events(place, guest.name, "exec.finished"))
    answer = verdict(place, guest.name)
    assert answer["verdict"] == "closed" and 0 < told < 100 and answer["lost"] == 100 - told


def test_a_guest_that_reboots(place):
    name = create(place)
    place("session", "exec", "--user", "root", name, "--", "reboot", "-f")
    wait_until(lambda: events(place, name, "session.ended"), "the end")
    reset, = events(place, name, "guest.reset")
    assert reset["severity"] == "WARNING" and not events(place, name, "vmm.crashed")
    assert events(place, name, "session.ended")[0]["data"]["state"] == "failed"
    destroy(place, name)


def test_a_security_log_without_room(place):
    """The audit log goes on and says how many of its lines no digest confirms, and verify agrees."""
    logs = place.state / "logs"
    logs.mkdir(mode=0o700, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k,mode=700", "none", logs], check=True)
    try:
        fill_up(logs)
        guest = Guest(place)
        assert verdict(place, guest.name)["confirmed"] == 0
        (logs / "fill").unlink()
        guest.say({"type": "exec-finished", "format": 1, "exec": 1, "code": 0, "elapsedMs": 1})
        wait_until(lambda: events(place, guest.name, "audit.unconfirmed"), "how many lines it has not")
        wait_until(lambda: len(events(place, guest.name, "audit.unconfirmed")) == 2, "and how many it was until there was room")
        at_first, later = (line["data"]["lines"] for line in events(place, guest.name, "audit.unconfirmed"))
        assert 0 < at_first < later and {line["severity"] for line in events(place, guest.name, "audit.unconfirmed")} == {"WARNING"}
        destroy(place, guest.name)
        answer = verdict(place, guest.name)
        # The first lines belong to the commands that made it, which have nobody to report to.
        assert answer["verdict"] == "closed" and 0 < answer["confirmed"] <= answer["lines"] - later
    finally:
        wait_until(lambda: not place.processes(), "the end of all processes")
        subprocess.run(["umount", logs], check=True)


def test_what_the_host_sees(place):
    """Opens of the bundle's files, a base that is changed under a session, and sockets of the VMM."""
    name = create(place, env={"MICROAGENT_TEST_LIMIT_AUDIT_LOOK_MS": "100"})
    observed = events(place, name, "audit.coverage")[0]["data"]["observed"]
    if "file-opens" in observed:
        disk = next(bundle(place, name).glob("rootfs.[!j]*"))
        with disk.open("rb"):
            wait_until(lambda: events(place, name, "bundle.opened"), "the open to be told")
        opened, = events(place, name, "bundle.opened")
        assert opened["severity"] == "CRITICAL" and opened["data"]["file"] == disk.name
        assert opened["data"]["pid"] == os.getpid() and "python" in opened["data"]["exe"]
    else:
        print("no fanotify here")
    assert not events(place, name, "vmm.unexpected") and not events(place, name, "base.changed")
    if "base" in observed:
        disk = place.state / "bases" / "web-v1.bundle" / "disk.img"
        subprocess.run(["chattr", "-i", disk], check=False, stderr=subprocess.DEVNULL)
        os.utime(disk, (1, 1))
        wait_until(lambda: events(place, name, "base.changed"), "the base's change to be told")
        assert events(place, name, "base.changed")[0]["severity"] == "CRITICAL"
    destroy(place, name)


@pytest.mark.parametrize("severed", [False, True], ids=["running", "quarantined"])
def test_our_own_commands_are_no_strangers(place, severed):
    """A command ends just after its look at the disk, and the supervisor must know it before."""
    name = create(place)
    if "file-opens" not in events(place, name, "audit.coverage")[0]["data"]["observed"]:
        destroy(place, name)
        pytest.skip("no fanotify here")
    if severed:
        place("quarantine", name)
    manifest = json.loads((bundle(place, name) / "workspace.json").read_text())
    for _ in range(10):
        place("status", name)
        place("inspect", name)
        assert place("start", name).returncode == 1
        for command, code in (("check", 0), ("prepare", 1)):
            config = {**manifest["config"], "stateDir": str(place.state / "sessions")}
            told, answer, _ = place.supervisor({"command": command, "identity": manifest["identity"], "config": config})
            assert told == code, answer
    disk = next(bundle(place, name).glob("rootfs.[!j]*"))
    with disk.open("rb"):
        wait_until(lambda: disk.name in [line["data"]["file"] for line in events(place, name, "bundle.opened")], "our own open to be told")
    # Our open of the manifest is reported too, unless another test has loaded libmicroagent into this process.
    assert {line["data"]["pid"] for line in events(place, name, "bundle.opened")} == {os.getpid()}
    destroy(place, name)


def test_stray_entries_beside_the_security_logs(place):
    """Each is named and ignored, and the session is judged by the others."""
    name = create(place)
    destroy(place, name)
    logs = place.state / "logs"
    strays_there = {f"{max(logs.iterdir())}.7": (os.mkdir, "it is a directory"), f"{logs}/security-2001-01-01.log": (os.mkfifo, "it is a FIFO"),
                    f"{max(logs.iterdir())}.8": (lambda path: os.symlink("nowhere", path), "it is a symbolic link")}
    for path, (make, _) in strays_there.items():
        make(path)
    try:
        answer = verdict(place, name)
        assert answer["verdict"] == "closed" and answer["confirmed"] == answer["lines"]
        assert {entry["path"]: entry["why"] for entry in answer["passedOver"]} == {path: why for path, (_, why) in strays_there.items()}
        said = place("audit", "verify", name, check=0).stdout
        assert all(f"{path} has the name of a security log, but was not read: {why}: move it to another place" in said
                   for path, (_, why) in strays_there.items()), said
        place("session", "gc", check=0)
    finally:
        for path, (make, _) in strays_there.items():
            (os.rmdir if make is os.mkdir else os.unlink)(path)
    assert "passedOver" not in verdict(place, name)


@pytest.mark.parametrize("put, what", ((put_directory, "a directory"), (put_dangling_link, "a symbolic link"),
                                       (put_fifo, "not a regular file")))
def test_an_archived_log_that_is_no_file(place, put, what):
    name = create(place)
    destroy(place, name)
    log = archive(place, name) / "audit.log"
    put(log)
    for words in (("verify", name), ("show", name)):
        done = place("audit", *words, check=1)
        assert f"{log} is {what}, not an audit log: move it away" in done.stderr and not done.stdout


SPARSE = 300 << 30  # bytes, none of which takes room


def test_files_that_are_sparse(place):
    """An attacker in a supervisor lengthens a file without an end. No command reads such a file, and each names it."""
    long_log, long_told = create(place), create(place)
    for name, file in ((long_log, "audit.log"), (long_told, "telemetry.jsonl")):
        facts = supervisor(place, name)
        (bundle(place, name) / file).touch()
        os.truncate(bundle(place, name) / file, SPARSE)
        os.kill(facts["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: [entry["state"] for entry in place.json("session", "list")["sessions"]
                        if entry["name"] in (long_log, long_told)] == ["failed", "failed"], "the list to say that both have ended")
    place("session", "gc", check=0)
    assert [line["severity"] for line in security_events(place, long_log, "supervisor.lost")] == ["CRITICAL"]
    answer = verdict(place, long_log)
    assert (answer["verdict"], answer["badLine"], answer["telemetry"]["verdict"] in ("none", "whole")) == ("broken", 1, True)
    assert f"the file has {SPARSE} bytes" in answer["why"] and "another program has lengthened it" in answer["why"]
    answer = json.loads(place("--json", "audit", "verify", long_told, check=1).stdout)
    schema_check.validate("cli-audit-verify", answer)
    assert not answer["ok"] and answer["telemetry"]["verdict"] == "altered" and answer["telemetry"]["bytes"] == SPARSE
    assert f"it has more bytes ({SPARSE}) than microagent writes" in place("audit", "verify", long_told, check=1).stdout
    shown = place("audit", "show", long_log, check=1)
    assert f"{bundle(place, long_log)}/audit.log: the file has {SPARSE} bytes" in shown.stderr and not shown.stdout
    told = place("audit", "telemetry", long_told, check=1)
    assert f"telemetry.jsonl of session {long_told}: the file has {SPARSE} bytes" in told.stderr and not told.stdout
    started = place("start", long_log)
    assert started.returncode and f"the file has {SPARSE} bytes" in started.stderr
    for name in (long_log, long_told):
        destroy(place, name)
        assert not bundle(place, name).exists()
        place("audit", "verify", name, check=1)
    assert [line["data"] for line in security_events(place, long_log, "audit.changed")] == [{"how": "lengthened"}]


def fill_up(directory):
    with open(directory / "fill", "ab", buffering=0) as fill, pytest.raises(OSError):
        while True:
            fill.write(b"\0" * 4096)


@contextmanager
def kept_full(directory):
    """Room that is given back meanwhile is taken too: a file that is replaced gives back the room of the old one."""
    over = threading.Event()

    def take():
        while not over.wait(0.0005):
            fill_up(directory)

    fill_up(directory)
    filler = threading.Thread(target=take)
    filler.start()
    try:
        yield
    finally:
        over.set()
        filler.join()


@contextmanager
def small_disk(host):
    """A host whose state directory is on a disk of 64 MiB, with a base."""
    host("base", "create", "web", check=0)
    small = host.base / "small"
    small.mkdir()
    place = make_host(host.base / "place")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64M,mode=700", "none", small], check=True)
    try:
        (small / "bases").symlink_to(host.state / "bases")
        place.state = small
        place.env["MICROAGENT_STATE_DIR"] = str(small)
        yield place
    finally:
        place.sweep()
        wait_until(lambda: not place.processes(), "the end of all processes")
        subprocess.run(["umount", small], check=True)
        shutil.rmtree(host.base / "place", ignore_errors=True)
        host("base", "delete", "web-v1", check=0)


def test_a_disk_without_room(host):
    """The machine goes on. Lines that cannot be written wait, and are written when there is room."""
    with small_disk(host) as place:
        small = place.state
        name = create(place, env={"MICROAGENT_TEST_LIMIT_AUDIT_WAITING": "3", "MICROAGENT_TEST_LIMIT_DISK_CHECK_MS": "100"})
        fill_up(small)
        for _ in range(5):
            place("session", "exec", name, "--", "true", "x" * 3000, check=0)
        assert len(events(place, name, "exec.started")) < 5
        (small / "fill").unlink()
        wait_until(lambda: events(place, name, "audit.gap"), "the gap")
        answer = verdict(place, name)
        told = len(events(place, name, "exec.started")) + len(events(place, name, "exec.finished"))
        assert answer["verdict"] == "open" and answer["lost"] >= 10 - told > 0, answer
        details = [e.get("detail", "") for e in json.loads((bundle(place, name) / "events.json").read_text())]
        assert any("audit.log cannot be written" in d for d in details) and "audit.log is written again" in details
        fill_up(small)  # a destroy finds room for the last lines all the same
        destroy(place, name)
        assert verdict(place, name)["verdict"] == "closed"


def state_of(host, name):
    return json.loads((bundle(host, name) / "event.json").read_text())["state"]


def test_a_quarantine_on_a_disk_without_room(host):
    """The quarantine is recorded in the room that is kept for such words. Without that room it fails, and is recorded
    when there is room."""
    with small_disk(host) as place:
        kept, lost = (create(place, env={"MICROAGENT_TEST_LIMIT_DISK_CHECK_MS": "100"}) for _ in range(2))
        (bundle(place, lost) / "reserve").unlink()
        with kept_full(place.state):
            said = place("quarantine", lost, check=1).stderr
        assert "the machine is cut off, but this could not be recorded: " in said and "No space left" in said, said
        assert state_of(place, lost) == "running"
        # The supervisor of the other machine tries again and again, and could take the room that this one's reserve gives.
        other = json.loads((bundle(place, lost) / "runtime.json").read_text())["supervisorPid"]
        os.kill(other, signal.SIGSTOP)
        place("quarantine", kept, check=0)
        assert state_of(place, kept) == "quarantined"
        os.kill(other, signal.SIGCONT)
        (place.state / "fill").unlink()
        wait_until(lambda: state_of(place, lost) == "quarantined", "the record")
        for name in (kept, lost):
            assert "quarantined" in place("session", "exec", name, "--", "true").stderr
            destroy(place, name)
