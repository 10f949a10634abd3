# SPDX-License-Identifier: MIT
"""Tests `run --base`: one command in a session that is made for it. Nothing of the session stays."""

import json
import os
import signal

import pytest

from conftest import wait_until
from test_mediation import free_port

RUN = ("run", "--base", "web", "--network", "isolated")
NONE = {"sessions": []}


def sessions(host):
    return host.json("session", "list")["sessions"]


@pytest.fixture
def clean(place):
    """A host with a base; each test leaves no session."""
    yield place
    assert place.json("session", "list") == NONE


def test_streams_and_exit_code(clean):
    ran = clean(*RUN, "-i", "--env", "A=b", "--cwd", "/tmp", "--user", "root", "--", "sh", "-c", "id -u; pwd; echo $A; cat; echo no >&2; exit 7", input="given\n")
    assert (ran.returncode, ran.stdout) == (7, "0\n/tmp\nb\ngiven\n")
    assert ran.stderr.endswith("no\n")


def test_json(clean):
    ran = clean("--json", *RUN, "--timeout", "1", "--", "sh", "-c", "echo out; sleep 1000")
    told = json.loads(ran.stdout)
    assert ran.returncode == told["exitCode"] == 124
    assert told["stdout"] == "out\n"


@pytest.mark.parametrize("cold", [(), ("--cold",)], ids=["restored", "cold"])
def test_share(clean, tmp_path, cold):
    """The command runs where and as the options say, also in a restored session."""
    (tmp_path / "given").write_text("given\n")
    clean("base", "warm", "web", check=0)
    share = ("--share", f"{tmp_path}:/work:ro,cache=none")
    try:
        ran = clean(*RUN, *cold, *share, "--user", "root", "--", "sh", "-c", "cat /work/given; touch /work/new || echo refused")
        assert ran.stdout == "given\nrefused\n", ran.stderr
        clean(*RUN, *cold, "--share", f"{tmp_path}:/work", "--user", "root", "--", "touch", "/work/new", check=0)
    finally:
        clean("base", "cool", "web", check=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given", "new"]


def test_what_its_session_has(clean):
    """A quota, a rate and a published port are those of `session create`."""
    port = free_port()
    it = clean.popen("run", "--base", "web", "--disk-quota", "64", "--disk-ops", "1000", "--publish", f"{port}:80", "--", "sh", "-c", "echo runs; sleep 1000")
    assert it.stdout.readline().strip() in ("runs", b"runs")
    (session,) = sessions(clean)
    assert session["quotaBytes"] == 64 << 20
    config = json.loads((clean.state / "sessions" / f"{session['name']}.bundle" / "workspace.json").read_text())["config"]
    assert config["limits"]["diskOpsPerSecond"] == 1000
    assert f'"hostPort": {port},' in json.dumps(config)
    it.send_signal(signal.SIGTERM)
    assert it.wait() == 128 + signal.SIGTERM


def test_no_time_at_all(clean):
    ran = clean(*RUN, "--share", "/tmp:/b:timeout=0", "--", "true")
    assert ran.returncode == 2 and "timeout" in ran.stderr


def test_two_directories(clean):
    """Each at its place."""
    for name in ("a", "b"):
        (clean.base / name).mkdir(mode=0o700, exist_ok=True)
        (clean.base / name / "file").write_text(name)
    shares = [word for name in ("a", "b") for word in ("--share", f"{clean.base / name}:/{name}")]
    ran = clean(*RUN, *shares, "--", "cat", "/a/file", "/b/file", check=0)
    assert ran.stdout == "ab"


def test_restored_and_cold(clean):
    clean("base", "warm", "web", "--run", "echo warmed > /tmp/warm", check=0)
    try:
        assert clean(*RUN, "--", "cat", "/tmp/warm", check=0).stdout == "warmed\n"
        assert clean(*RUN, "--cold", "--", "cat", "/tmp/warm").returncode == 1
    finally:
        clean("base", "cool", "web", check=0)


def running(host):
    """Waits until the command runs: its first word has come."""
    it = host.popen(*RUN, "--", "sh", "-c", "echo runs; sleep 1000")
    assert it.stdout.readline().strip() in ("runs", b"runs")
    assert len(sessions(host)) == 1
    return it


def test_signal_is_the_commands(clean):
    it = running(clean)
    it.send_signal(signal.SIGTERM)
    assert it.wait() == 128 + signal.SIGTERM


def test_killed_leaves_no_session(clean):
    it = running(clean)
    (session,) = sessions(clean)
    os.kill(it.pid, signal.SIGKILL)
    it.wait()
    wait_until(lambda: not sessions(clean), "the end of a session whose owner is gone")
    lines = [json.loads(line) for line in clean("--json", "audit", "show", session["name"], check=0).stdout.splitlines()]
    (expired,) = [line for line in lines if line["event"] == "session.expired"]
    assert expired["data"]["why"] == "the process that it belonged to is gone"


def test_killed_before_it_has_its_session(clean):
    """The machine ends with its maker, also while it boots."""
    bundles, logs = clean.state / "sessions", set((clean.state / "archive").glob("*/audit.log"))
    maker = clean.popen(*RUN, "--cold", "--", "sleep", "1000")
    while not list(bundles.glob("*.bundle/control.sock")):
        assert maker.poll() is None
    maker.kill()
    maker.communicate()
    wait_until(lambda: not list(bundles.glob("*.bundle")) and not clean.processes(), "the end of a session that nobody has")
    clean("session", "gc", check=0)
    (log,) = set((clean.state / "archive").glob("*/audit.log")) - logs
    assert '"why":"the process that it belonged to is gone"' in log.read_text()


def test_no_such_base(clean):
    ran = clean("run", "--base", "nothing", "--", "true")
    assert ran.returncode == 125 and "nothing" in ran.stderr


@pytest.mark.parametrize(
    "words",
    [("--image", "busybox"), ("--kernel", "k"), ("--arch", "amd64"), ("--disk", "a=b:/c:ro"), ("--bundle", "a=b:/c"), ("--output", "a=/b"), ("--name", "w"), ("--keep",)],
    ids=lambda words: words[0],
)
def test_what_does_not_go_with_a_base(clean, words):
    ran = clean(*RUN, *words, "--", "true")
    assert ran.returncode == 2
    assert f"{words[0]} and --base exclude each other" in ran.stderr


@pytest.mark.parametrize("words", [("--cold",), ("--tty",), ("--cwd", "/"), ("--disk-quota", "64")], ids=lambda words: words[0])
def test_what_goes_with_a_base_alone(clean, words):
    ran = clean("run", *words, "--", "true")
    assert ran.returncode == 2
    assert f"{words[0]} needs --base" in ran.stderr


def test_no_command(clean):
    assert clean(*RUN).returncode == 2
