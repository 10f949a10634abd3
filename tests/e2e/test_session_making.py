# SPDX-License-Identifier: MIT
"""Tests `session create` that is interrupted: by a signal, by the end of the reader of its answer, and by kill -9."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import strays
from conftest import wait_until
from test_session_crash import STAGES, bundles, spin_until


CREATE = ("session", "create", "--base", "web", "--network", "isolated")


def assert_nothing(host):
    assert not bundles(host) and host.json("session", "list") == {"sessions": []}
    assert not (host.state / "sessions" / ".locks" / ".making").exists()
    wait_until(lambda: not host.processes(), "the end of all its processes")


@pytest.mark.parametrize("number, code", ((signal.SIGTERM, 143), (signal.SIGINT, 130)))
@pytest.mark.parametrize("stage", ("record", "starting", "booting"))
def test_a_signal_ends_what_was_being_made(place, stage, number, code):
    child = place.popen(*CREATE)
    spin_until(lambda: STAGES[stage](place), child)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (code, b"") and b"no session was made: cancelled" in err, err
    assert_nothing(place)


def test_a_cancelled_making_in_json(place):
    """The error is the document on stdout, as the manual says of --json."""
    child = place.popen("--json", *CREATE)
    spin_until(lambda: STAGES["booting"](place), child)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 130 and json.loads(out) == {"ok": False, "error": "cancelled", "errorCode": "unavailable"}, out
    assert_nothing(place)


def test_ctrl_c_at_a_terminal(place):
    """The signal goes to the whole group. Processes that work for the command go on until the command ends them."""
    child = place.popen(*CREATE, start_new_session=True)
    spin_until(lambda: STAGES["booting"](place), child)
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b"") and b"no session was made: cancelled" in err, err
    assert_nothing(place)


def test_an_answer_that_cannot_be_written(place):
    """Nobody knows its name, so it is not left running."""
    for words in (CREATE, ("--json", *CREATE)):
        with open("/dev/full", "wb") as full:
            done = place.popen(*words, stdout=full)
            err = done.communicate(timeout=120)[1].decode()
        assert done.returncode == 1 and "cannot write to stdout: No space left on device" in err, err
        assert err.count("cannot write") == 1 and "was destroyed again, because its name could not be printed" in err
        assert_nothing(place)
    reader, writer = os.pipe()
    os.close(reader)
    done = place.popen(*CREATE, stdout=writer)
    os.close(writer)
    err = done.communicate(timeout=120)[1].decode()
    assert done.returncode == 128 + signal.SIGPIPE and "was destroyed again" in err, err
    assert_nothing(place)


def test_one_that_was_left_unfinished_says_so(place):
    child = place.popen(*CREATE)
    spin_until(lambda: STAGES["starting"](place), child)
    child.send_signal(signal.SIGSTOP)
    name = bundles(place)[0].name.removesuffix(".bundle")
    listed, = place.json("session", "list")["sessions"]
    assert (listed["name"], listed["detail"]) == (name, "being made")
    done = place("session", "exec", name, "--", "true")
    assert done.returncode == 125 and f"session {name} is being made by another command" in done.stderr
    # The processes that it had started go on, and would destroy the session whose maker is gone.
    while started := set(strays.running(place.state)) - {child.pid}:
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    child.kill()
    child.communicate()
    why, step = "unfinished: the command that made it was killed", "`microagent session gc` removes it"
    assert [(s["detail"], s["reason"]) for s in place.json("session", "list")["sessions"]] == [(why, "session-unfinished")]
    assert f"{why}: {step}" in place("session", "list", check=0).stdout
    for words in (("exec", name, "--", "true"), ("stream", name, "--", "true"), ("shell", name)):
        done = place("session", *words)
        assert done.returncode == 125 and f"session {name} is {why}\n" in done.stderr, words
        assert f"microagent: hint: {step}\n" in done.stderr, words
    assert [r["name"] for r in place.json("session", "gc")["removed"]] == [name]
    assert_nothing(place)


@pytest.mark.parametrize("end", ("kill", "stop", "halt"))
def test_a_kill_while_it_boots(place, end):
    """The guest decides how long that takes. The session is ended all the same, and its maker fails."""
    child = place.popen(*CREATE)
    spin_until(lambda: STAGES["booting"](place), child)
    name = bundles(place)[0].name.removesuffix(".bundle")
    for words, code in ((("session", "exec", name, "--", "true"), 125), (("delete", name), 1)):
        assert "is being made by another command" in place(*words, check=code).stderr, words
    place(end, name, check=0)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (1, b"") and f"session {name} ended before it was ready" in err.decode(), err
    assert_nothing(place)


# --- bases ---------------------------------------------------------------------------------------------


def hasher_of(host):
    """Returns the pid of a process that hashes a disk of this host, or None."""
    for entry in Path("/proc").iterdir():
        try:
            if (b"microagent-artifact\0sha256" in (entry / "cmdline").read_bytes()
                    and str(host.base) in os.readlink(entry / "fd" / "3")):
                return int(entry.name)
        except OSError:
            continue
    return None


def is_unlocked(directory):
    """Returns whether no process has the lock of an unfinished base. A directory that is gone has none."""
    with contextlib.suppress(FileNotFoundError):
        fd = os.open(directory, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(fd)
    return True


@pytest.mark.parametrize("number, code", ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)))
def test_a_disk_that_takes_minutes_to_hash(host, number, code):
    """The hashing process ends with the process that waits for it, however that one ends."""
    child = host.popen("base", "create", "z", "--size", 300000, "--network", "isolated")
    wait_until(lambda: hasher_of(host) or child.poll() is not None, "the hashing of the disk")
    child.send_signal(number)
    err = child.communicate(timeout=60)[1]
    assert child.returncode == code and (code < 0 or b"cancelled" in err), err
    wait_until(lambda: not hasher_of(host) and not host.processes(), "the end of what hashes")
    # A process that ends loses its name before its lock.
    wait_until(lambda: all(is_unlocked(path) for path in (host.state / "bases").glob(".making-*")), "the lock of the unfinished base to be free")
    assert host.json("base", "list") == {"bases": []}
    host("session", "gc", check=0)
    assert not list((host.state / "bases").iterdir())


def test_bases_that_no_session_could_be_made_of(host):
    for words, text, code in (
            (("--memory", 1), "--memory must be at least 64 MiB, and is 1", 2),
            (("--memory", 2000000000), "--memory is 2000000000 MiB, but this host has room for", 2),
            (("--cpus", 1000), "--cpus is 1000, but this host has room for", 2),
            (("--size", 999999999), "a disk of 999999999 MiB is too large: a file in ", 2)):
        done = host("base", "create", "web", *words)
        assert done.returncode == code and text in done.stderr, done.stderr
    assert host.json("base", "list") == {"bases": []}


def test_a_directory_that_is_removed_while_its_machine_runs(host):
    """No command finds the machine any more: it ends with its directory, and makes none anew."""
    host("base", "create", "web", check=0)
    host.json(*CREATE, env={"MICROAGENT_TEST_LIMIT_DIRECTORY_LOOK_MS": "50"})
    assert host.processes()
    subprocess.run(["chattr", "-R", "-i", host.state / "bases"], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(host.state)
    wait_until(lambda: not host.processes(), "the machine's end")
    assert not host.state.exists()


def test_the_next_steps_that_messages_name_are_those_of_sessions(place):
    name = place.json(*CREATE)["name"]
    done = place("session", "shell", name)
    assert f"`microagent session shell {name} --send LINE` runs one line, `microagent session exec {name}` a command" in done.stderr
    place("--state-dir", place.state / "sessions", "kill", f"{name}.bundle", check=0)
    for words in (("exec", name, "--", "true"), ("stream", name, "--", "true"), ("shell", name, "--send", "true")):
        said = place("session", *words, check=125).stderr
        assert f"session {name} is stopped\n" in said and f"hint: `microagent session destroy {name}` removes it" in said, said
        assert f"`microagent start {name}` boots this one again" in said
    place("session", "destroy", name, check=0)
    for words in (("base", "show", "web-v99"), ("base", "delete", "web-v99"), ("base", "verify", "web-v99"),
                  ("session", "create", "--base", "web-v99")):
        assert "`microagent base create web` makes the next version of web" in place(*words, check=1).stderr, words
    assert "`microagent pool drain` keeps none" in place("pool", "set", "--base", "web", "--size", 0, check=2).stderr


def test_a_command_whose_machine_is_paused(place):
    """The caller that waits is told. A signal, which nothing in the guest could take, ends the waiting at once."""
    name = place.json(*CREATE, "--disk-quota", 24)["name"]
    write = ("dd", "if=/dev/urandom", "bs=1M", "count=20", "conv=fsync")
    first, second = (place.popen("session", "exec", "--user", "root", name, "--", *write, f"of=/root/{n}") for n in (1, 2))
    said = f"session {name} is paused: its disk has grown to its quota of 24 MiB: `microagent session quota {name} MIB`"
    for child in (first, second):
        assert said in child.stderr.readline().decode()
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=30) == 143
    place("session", "quota", name, 200, check=0)
    assert "the machine goes on" in second.stderr.readline().decode()
    assert second.wait(timeout=120) == 0
    for child in (first, second):
        child.communicate()
    place("session", "destroy", name, check=0)
