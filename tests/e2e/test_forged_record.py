# SPDX-License-Identifier: MIT
"""runtime.json as a live supervisor that was taken over may have written it: commands signal nobody else for it, and find the
machine without it."""

import json
import os
import signal
import subprocess

import pytest

from conftest import BACKEND, wait_until

NOBODY = 4194303  # the highest number that a process may have here, which none has
START_TIME = 21  # of the fields of /proc/PID/stat, from 0; the name of `sleep` has no blanks


@pytest.fixture
def stranger():
    """Another user's process, where root tests, as the record has one: its number and when it began."""
    words = ["setpriv", "--reuid", "65534", "--clear-groups"] if os.getuid() == 0 else []
    process = subprocess.Popen([*words, "sleep", "600"])

    def name():
        with open(f"/proc/{process.pid}/comm", encoding="ascii") as comm:
            return comm.read()

    wait_until(lambda: name() == "sleep\n", "the stranger to be itself")
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        process.named = {"pid": process.pid, "startTime": int(stat.read().split()[START_TIME])}
    yield process
    alive = process.poll() is None
    process.kill()
    process.wait()
    assert alive, "a process of nobody's machine was ended"


def started(host):
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    host("start", "w", check=0)
    record = host.state / "w" / "runtime.json"
    return record, json.loads(record.read_text())


def forge(record, facts, process):
    """Each process that a record has is this one."""
    facts = dict(facts, supervisorPid=process["pid"], supervisorStartTime=process["startTime"], broker=process, **process,
                 companions=[dict(process, name="passt 2"), dict(process, name="bwrap")])
    record.write_text(json.dumps(facts))


def check_gone(host, facts):
    numbers = [facts["supervisorPid"], facts["pid"], facts["broker"]["pid"], *(c["pid"] for c in facts["companions"])]
    assert not [number for number in numbers if os.path.exists(f"/proc/{number}")]
    assert not host.processes()


@pytest.mark.parametrize("command", ("status", "start", "delete"))
def test_a_process_of_others_that_it_names_lives_on(host, stranger, command):
    """Its supervisor has ended without a word: the next command ends what it has left."""
    record, facts = started(host)
    forge(record, facts, stranger.named)
    os.kill(facts["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: not host.processes(), "every process to end")
    host(command, "w", check=0)
    assert stranger.poll() is None
    if command == "start":
        host("kill", "w", check=0)
    if command != "delete":
        host("delete", "w", check=0)


def test_it_names_another_in_the_place_of_its_supervisor(host, stranger):
    """Which does not answer: it is killed with its machine, and the other is not."""
    record, facts = started(host)
    forge(record, facts, stranger.named)
    os.kill(facts["supervisorPid"], signal.SIGSTOP)
    done = host("kill", "w", env={"MICROAGENT_TEST_LIMIT_CONTROL_REQUEST_MS": "500"}, check=0)
    assert "the live supervisor did not answer and was killed" in done.stderr
    check_gone(host, facts)
    host("delete", "w", check=0)


@pytest.mark.skipif(BACKEND == "apple-vf", reason="a supervisor of Macs has no guard")
@pytest.mark.parametrize("has_lease", (True, False), ids=("with its lease", "without its lease"))
@pytest.mark.parametrize("command", ("kill", "status", "delete"))
def test_it_names_nobody(host, command, has_lease):
    """The supervisor has taken all numbers out, answers nobody, and may have removed the name of its lease."""
    record, facts = started(host)
    forge(record, facts, {"pid": NOBODY, "startTime": 1})
    os.kill(facts["supervisorPid"], signal.SIGSTOP)
    if not has_lease:
        (host.state / "w" / "lease").unlink()
    host(command, "w", check=0)
    check_gone(host, facts)
    if command == "status":
        assert host.json("status", "w")["event"]["state"] == "failed"
    if command != "delete":
        host("delete", "w", check=0)
    assert not list((host.state / ".locks").iterdir())
