# SPDX-License-Identifier: MIT
"""Tests sessions that were given an end: a time, or a time without use."""

import json
import os
import signal
import socket

import pytest

import schema_check
from conftest import BACKEND, BIN, held, pid_lines, wait_until
from pools import NOT_NEW, NOW, kill_filler, runtime, tokens, wait_full


@pytest.fixture
def web(host):
    host("base", "create", "web", check=0)
    yield host
    host("base", "delete", "web-v1", check=0)


def record(host, name):
    document = json.loads((host.state / "sessions" / f"{name}.bundle" / "session.json").read_text())
    schema_check.validate("session", document)
    return document


def create(host, *words, **kw):
    return host.json("session", "create", "--base", "web", "--network", "isolated", *words, **kw)


def status(host, name):
    """Their records are not at the place of a workspace's records."""
    answer = json.loads(host("--json", "status", name, check=0).stdout)
    schema_check.validate_response("inspect", answer)
    return answer


def wait_destroyed(host, name, why):
    """Requires that all of it is gone, and that the archive says why."""
    wait_until(lambda: not (host.state / "sessions" / f"{name}.bundle").exists() and not pid_lines(f"{name}.bundle"), "its end")
    assert host.json("session", "list") == {"sessions": []}
    trail = [json.loads(line) for line in (host.state / "archive" / name / "audit.log").read_text().splitlines()]
    assert [line["data"] for line in trail if line["event"] == "session.expired"] == [{"why": why}]
    assert [line["event"] for line in trail][-2:] == ["session.destroyed", "audit.closed"]
    states = [e["detail"] for e in json.loads((host.state / "archive" / name / "events.json").read_text()) if e["state"] == "stopping"]
    assert states == [f"{why}: it is being destroyed"]
    assert host("audit", "verify", name).returncode == 0
    place = host.state / "sessions" / ".locks"
    assert not [p for p in place.rglob("*") if p.is_file()]


def ask(host, name, **request):
    """Asks on control.sock, as a claimer does."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(60)
        directory = os.open(host.state / "sessions" / f"{name}.bundle", os.O_PATH)
        try:
            sock.connect(f"/proc/self/fd/{directory}/control.sock")
        finally:
            os.close(directory)
        schema_check.validate("control-sock-request", request)
        sock.sendall(json.dumps(request).encode() + b"\n")
        sock.shutdown(socket.SHUT_WR)
        with sock.makefile() as answer:
            return json.load(answer)


def test_a_lifetime_that_cannot_be_recorded(web, tmp_path):
    """A session is handed out only with its end. Its record cannot be replaced while it is immutable."""
    program = tmp_path / "supervisor"
    program.write_text(f"""#!/bin/sh
request=$(cat)
case "$request" in *'"start"'*) record=$(echo {web.state}/sessions/*.bundle/session.json); chattr +i $record;; esac
printf %s "$request" | {BIN / web.program} "$@"; code=$?
[ -z "$record" ] || chattr -i $record
exit $code
""")
    program.chmod(0o755)
    done = web("session", "create", "--base", "web", "--lifetime", "1h", "--network", "isolated", env={f"MICROAGENT_{BACKEND.upper().replace('-', '_')}_SUPERVISOR": str(program)})
    assert done.returncode == 1 and "session.json: write session.json: rename: Operation not permitted" in done.stderr, done
    assert web.json("session", "list") == {"sessions": []} and not list((web.state / "sessions").glob("*.bundle"))


def test_its_lifetime_ends_a_command(web):
    session = create(web, "--lifetime", "8s", "--idle", "1h")
    name = session["name"]
    assert (session["lifetimeSeconds"], session["idleSeconds"], session["endsAt"]) == (8, 3600, record(web, name)["endsAt"])
    assert "; ends after 1h idle" in web("session", "list", check=0).stdout
    why = "its lifetime of 8s is over"
    children = [web.popen(*words, name, "--", "sh", "-c", "echo here; sleep 1000") for words in (("session", "exec"), ("exec",))]
    for child in children:
        out, err = child.communicate()
        assert out == b"here\n" and child.returncode in (125, 143), (child.args, out, err)
        assert err.decode().count(f"session {name} is destroyed: {why}\n") == 1, (child.args, err)
    wait_destroyed(web, name, why)
    for words in (("session", "exec"), ("exec",)):
        gone = web(*words, name, "--", "true")
        assert gone.returncode == 125 and f"there is no session {name}" in gone.stderr and gone.stderr.count(why) == 1, gone


def test_one_in_quarantine_stays(web):
    """Also if its time is over, and nobody reports that it is destroyed."""
    name = create(web, "--lifetime", "1h")["name"]
    web("quarantine", name, check=0)
    path = web.state / "sessions" / f"{name}.bundle" / "session.json"
    made = json.loads(path.read_text())
    path.write_text(json.dumps({**made, "endsAt": made["createdAt"]}))
    (listed,) = web.json("session", "list")["sessions"]
    assert listed["state"] == "quarantined" and "destroyed" not in listed.get("detail", ""), listed
    web("session", "destroy", name, check=0)


def test_one_whose_supervisor_stands_still(web):
    """The command does not end its session. The next sweep does it a minute later."""
    name = create(web, "--lifetime", "1h")["name"]
    place = web.state / "sessions" / f"{name}.bundle"
    pid = json.loads((place / "runtime.json").read_text())["supervisorPid"]
    os.kill(pid, signal.SIGSTOP)
    made = json.loads((place / "session.json").read_text())
    (place / "session.json").write_text(json.dumps({**made, "endsAt": made["createdAt"]}))
    env = {"MICROAGENT_TEST_LIMIT_CONTROL_REQUEST_MS": "500"}
    assert web.json("session", "gc", env=env)["removed"] == [] and place.exists()
    answer = web.json("session", "gc", env={**env, "MICROAGENT_TEST_LIMIT_SESSION_ENDS_MS": "1"})
    assert answer["removed"] == [{"name": name, "why": "its lifetime of 1h is over"}], answer
    assert not place.exists() and not os.path.exists(f"/proc/{pid}") and not web.processes()


def test_nobody_uses_it(web):
    """A session is in use while a command runs. A command that a client will come back to runs without a stream."""
    session = create(web)
    name = session["name"]
    assert not {"lifetimeSeconds", "idleSeconds", "endsAt"} & set(session)
    listed = web.json("session", "list")["sessions"][0]
    assert not {"lifetimeSeconds", "idleSeconds", "endsAt", "detail"} & set(listed)
    assert not {"lifetimeSeconds", "idleSeconds", "endsAt"} & set(status(web, name))
    assert " ends " not in web("session", "list", check=0).stdout and " ends " not in web("status", name, check=0).stdout
    child = web.popen("session", "exec", "--resume", "600", name, "--", "sh", "-c", "echo began; sleep 4; echo mine > /tmp/f; sleep 2")
    assert child.stdout.readline() == b"began\n"
    assert ask(web, name, command="session-term", idleSeconds=1) == {"ok": True}
    assert ask(web, name, command="session-term", idleSeconds=1)["errorCode"] == "conflict"
    assert "ends after 1s idle" in web("session", "list", check=0).stdout
    child.kill()
    child.communicate()  # the command goes on
    done = web("session", "exec", name, "--", "sh", "-c", "until test -e /tmp/f; do sleep 0.2; done; cat /tmp/f")
    assert (done.returncode, done.stdout) == (0, "mine\n"), done
    wait_destroyed(web, name, "nobody has used it for 1s")


@pytest.mark.skipif(BACKEND != "qemu", reason="those who wait in a pool are QEMU's")
def test_one_of_a_pool_whose_supervisor_was_killed(web):
    web("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0, env=NOW)
    wait_full(web, 1)
    session = create(web, "--lifetime", "2h", "--idle", "30m", env=NOT_NEW)
    name, made = session["name"], record(web, session["name"])
    assert (session["source"], session["lifetimeSeconds"], session["idleSeconds"]) == ("pool", 7200, 1800)
    assert session["endsAt"] == made["endsAt"] > made["createdAt"] and tokens(web, "claimed") == [name]
    told = status(web, name)
    assert [told[key] for key in ("lifetimeSeconds", "idleSeconds", "endsAt")] == [7200, 1800, made["endsAt"]]
    for words in (("session", "list"), ("status", name)):
        assert "ends in 1h 59m; ends after 30m idle" in web(*words, check=0).stdout, words
    kill_filler(web)
    os.kill(runtime(web, name)["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: not held(web, f"sessions/{name}.bundle"), "its end")
    made["endsAt"] = made["createdAt"]
    (web.state / "sessions" / f"{name}.bundle" / "session.json").write_text(json.dumps(made))
    listed = web.json("session", "list")["sessions"][0]
    why = "its lifetime of 2h is over"
    assert (listed["state"], listed["detail"], listed["reason"]) == ("failed", f"{why}: it is to be destroyed", "session-over")
    assert "`microagent session gc` removes it" in web("session", "list", check=0).stdout
    over = web("--state-dir", web.state / "sessions", "start", f"{name}.bundle")
    assert over.returncode == 1 and why in over.stderr, over
    assert {"name": name, "why": why} in web.json("session", "gc", env=NOT_NEW)["removed"]
    trail = (web.state / "archive" / name / "audit.log").read_text()
    assert '"kind":"expired","action":"removed"' in trail
    web("pool", "drain", check=0)
    assert web.json("session", "list") == {"sessions": []} and not list((web.state / "pool").iterdir())


def test_what_no_end_is(host):
    for words in (("--lifetime", "-1"), ("--lifetime", "2w"), ("--idle", "x"), ("--idle", "1h30m"), ("--idle", "")):
        done = host("session", "create", "--base", "web", *words)
        assert done.returncode == 2 and f"{words[0]} must be a number of seconds" in done.stderr, done
    for words in (("--lifetime", "0"), ("--lifetime", "36526d"), ("--lifetime", "4294967295"), ("--idle", "99998d")):
        done = host("session", "create", "--base", "web", *words)
        assert done.returncode == 2, done
        assert done.stderr.startswith(f'microagent: {words[0]} must be a time from 1s to 36525d (a hundred years), and is "{words[1]}"\n'), done
    assert not host.state.exists()


def test_the_connection_of_its_owner_ends(web):
    """The connection is closed after the answer, and the session ends."""
    name = create(web)["name"]
    assert ask(web, name, command="session-hold") == {"ok": True}
    wait_until(lambda: not web.json("session", "list")["sessions"], "the end of a session whose owner is gone")
    trail = [json.loads(line) for line in web("--json", "audit", "show", name, check=0).stdout.splitlines()]
    assert [line["data"] for line in trail if line["event"] == "session.expired"] == [{"why": "the process that it belonged to is gone"}]
