# SPDX-License-Identifier: MIT
"""Tests a machine of Virtualization.framework that is paused at the quota of its disk, and commands that come
meanwhile. The framework can stop a machine that runs or is paused, but not one that changes between the two."""

import json
import os
import signal

import pytest

import strays
from applevf import applevf
from conftest import wait_until
from supervised import shown

NO_LOOK = {"MICROAGENT_TEST_LIMIT_DISK_QUOTA_LOOK_MS": "100000000"}


class Session:
    """Makes a session whose disk has grown to its quota. The supervisor looks at the disk only when `look` says so."""

    def __init__(self, vf, host):
        self.vf, self.host = vf, host
        host.backend = vf.BACKEND
        host("base", "create", "web", check=0)
        self.name = host.json("session", "create", "--base", "web", "--network", "isolated", "--disk-quota", 4, env=NO_LOOK)["name"]
        self.place = host.state / "sessions" / f"{self.name}.bundle"
        host("session", "exec", "--user", "root", self.name, "--", "sh", "-c",
             "dd if=/dev/urandom of=/root/f bs=1M count=8 2>/dev/null; sync", check=0)
        vf.recorded()

    def quota(self, mib, **kw):
        return self.host("session", "quota", self.name, mib, **kw)

    def look(self):
        self.quota(4, check=0)

    def signal_qemu(self, number):
        pids = [pid for pid, line in strays.running(self.host.base).items() if "qemu-system" in line.split(" ")[0]]
        assert len(pids) == 1, pids
        os.kill(pids[0], number)

    def enters(self, state):
        wait_until(lambda: any(call["call"] == "state" and call["state"] == state for call in self.vf.recorded()), f"the state {state}")

    @property
    def log(self):
        return shown(self.place / "supervisor.log")

    @property
    def event(self):
        return json.loads((self.place / "event.json").read_text())

    def kill(self):
        return self.host.popen("--state-dir", self.host.state / "sessions", "kill", f"{self.name}.bundle")


@pytest.fixture
def vf(host):
    yield from applevf(host)


@pytest.fixture
def session(host, vf):
    it = Session(vf, host)
    yield it
    vf.set()
    host("session", "destroy", it.name, check=0)
    host("base", "delete", "web-v1", check=0)


def test_a_kill_on_the_way_to_a_pause(session):
    """The request is done when the change is over, and is not lost."""
    session.signal_qemu(signal.SIGSTOP)
    session.look()
    session.enters("pausing")
    kill = session.kill()
    wait_until(lambda: "asked to kill" in session.log, "the kill")
    session.signal_qemu(signal.SIGCONT)
    kill.communicate()
    assert kill.returncode == 0 and session.event["state"] == "stopped"
    assert "could not be stopped" not in session.log and "did not end" not in session.log, session.log


def test_a_machine_that_can_be_neither_resumed_nor_stopped(session):
    """The machine ends with its process. It does not stay paused with an event that says it runs."""
    session.look()
    wait_until(lambda: session.event.get("detail", "").startswith("paused: "), "the pause")
    session.vf.set(faults={"resume": {"message": "The fault at resume."}, "stop": {"message": "The fault at stop."}})
    session.quota(64)
    wait_until(lambda: session.event["state"] == "failed", "its end")
    assert "the machine could not be resumed: The fault at resume." in session.event["detail"]
