# SPDX-License-Identifier: MIT
"""Tests a guest whose root attacks (tests/hostile/attack). The host's processes do not grow, and end only with their
machine. The host still reports what it has seen. The machine obeys, or ends in a state that the table knows."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import growth
import schema_check
import strays
from conftest import OWN, ROOT, make_host, wait_until
from test_mediation import free_port
from test_publish import await_no_server, await_server, nobody_listens

ENDS = {"MICROAGENT_TEST_LIMIT_HALT_MS": "1500"}  # a guest that does not stop when it is told to
SILENT = {"MICROAGENT_TEST_LIMIT_AGENT_ANSWER_MS": "300", "MICROAGENT_TEST_LIMIT_EXEC_LATE_MS": "300"}
# Enough time for an agent that answers at all, however slow the machine is.
STOPPED = {"MICROAGENT_TEST_LIMIT_AGENT_ANSWER_MS": "5000", "MICROAGENT_TEST_LIMIT_EXEC_LATE_MS": "5000"}
TERMINAL = "\x1b\x07\x9b\u202e\r"  # what a terminal would do with BAD_WORDS of the attack


def attacker():
    program = OWN / "attack"
    subprocess.run(["gcc", "-static", "-O2", "-D_GNU_SOURCE", "-o", program, *sorted((ROOT / "tests/hostile/attack").glob("*.c"))], check=True)
    return program.read_bytes()


class Victim:
    """A session, and the workspace that it is."""

    def __init__(self, host, *words):
        self.host = host
        self.name = host.json("session", "create", "--base", "web", *words, env=ENDS)["name"]
        self.bundle = f"{self.name}.bundle"
        self.place = host.state / "sessions"
        self.workspace = self.place / self.bundle
        self("exec", "-i", "--user", "root", self.bundle, "--", "sh", "-c", "cat >/tmp/attack; chmod 755 /tmp/attack",
             input=attacker(), text=False, check=0)

    def __call__(self, *words, **kw):
        return self.host("--state-dir", self.place, *words, **kw)

    def popen(self, *words, **kw):
        return self.host.popen("--state-dir", self.place, "exec", "--user", "root", self.bundle, "--", "/tmp/attack", *words, **kw)

    def attack(self, *words, **kw):
        """Returns {what: how many} from the last line of the attack."""
        done = self("exec", "--user", "root", self.bundle, "--", "/tmp/attack", *words, check=0, **kw)
        lines = [line.split(": ") for line in done.stdout.splitlines() if line.startswith("attack: ")]
        return {what: int(count) for _, what, count in lines}

    def audited(self, event):
        lines = map(json.loads, (self.workspace / "audit.log").read_text().splitlines())
        return [line for line in lines if line["event"] == event]

    def ended(self):
        wait_until(lambda: not strays.running(self.workspace), "the machine to end")
        event = json.loads((self.workspace / "event.json").read_text())
        schema_check.validate("event", event)
        return event

    def destroy(self):
        self.host("session", "destroy", self.name, check=0)


@pytest.fixture(scope="module")
def based():
    base = Path(tempfile.mkdtemp(prefix="e-"))
    host = make_host(base)
    try:
        host("base", "create", "web", check=0)
        yield host
        host("base", "delete", "web-v1", check=0)
        host.assert_clean()
    finally:
        host.sweep()
        shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="module")
def victim(based):
    """For all attacks that a machine outlives."""
    port = free_port()
    it = Victim(based, "--network", "nat", "--publish", f"{port}:80")
    it.port = port
    yield it
    it.destroy()


@pytest.fixture
def steady(victim):
    """Requires that nothing on the host's side is more, or another, after the attack, and that the guest still answers."""
    wait_until((victim.workspace / "telemetry.jsonl").exists, "the log that the first record of an exec opens")
    before = growth.look_at_host(victim.workspace)
    processes = growth.host_processes(victim.workspace)
    yield victim
    assert victim("exec", victim.bundle, "--", "echo", "well", check=0).stdout == "well\n"
    assert growth.host_processes(victim.workspace) == processes
    growth.wait_for_no_growth(before, lambda: growth.look_at_host(victim.workspace))


def test_every_port_of_every_address(steady):
    told = steady.attack("dial", 1, 4000)
    assert told["dialled"] > 4000 and told["reached"] == 0


def test_a_storm_of_connections(steady):
    assert steady.attack("storm", 500) == {"refused": 500}


@pytest.mark.parametrize("seed", [1, 2])
def test_frames_of_noise(steady, seed):
    assert steady.attack("frames", seed, 20000)["frames"] > 0


@pytest.mark.parametrize("kind, count", [("telemetry", 50000), ("commands", 10000), ("long", 5000), ("unknown", 5000), ("listening", 20000)])
def test_a_flooded_control_stream(steady, kind, count):
    """The log of the guest's messages stays within its bounds, and says that lines were dropped."""
    assert steady.attack("control", kind, count)[kind] >= count
    assert (steady.workspace / "audit.log").stat().st_size < 1 << 20
    assert (steady.workspace / "supervisor.log").stat().st_size < 1 << 20


def test_what_the_guest_says_of_its_servers(steady):
    """The guest's message opens and closes only its own published port. A guest that cannot tell has the port open."""
    for kind in ("none", "untold", "none"):
        steady.attack("control", kind, 1)
        if kind == "none":
            await_no_server(steady.port)
        else:
            await_server(steady.port)
            nobody_listens(steady.port)


def test_what_a_person_reads_of_it(victim):
    victim.attack("control", "commands", 10)
    victim.attack("control", "telemetry", 10)
    for words in (("audit", "show", victim.name), ("audit", "telemetry", victim.name), ("session", "list"), ("audit", "list")):
        text = victim.host(*words, check=0, text=False).stdout.decode()
        assert not set(text) & set(TERMINAL), words
        assert "owned" in text or words[-1] == "list", words


@pytest.mark.parametrize("kind, error", [("garbage", "the guest agent sent a malformed "), ("huge", "the guest agent sent a malformed frame"),
                                         ("silence", "has not answered within 300 ms"), ("gone", "")])
def test_another_in_the_place_of_the_agent(steady, kind, error):
    """Each call that it gets fails with a reason. The agent answers again when it has its port back."""
    child = steady.popen("agent", kind, 3)
    failed = []
    while child.poll() is None:
        done = steady("exec", "--timeout", 1, steady.bundle, "--", "true", text=False, env=SILENT if kind == "silence" else STOPPED)
        assert done.returncode in (0, 124, 125), done  # 124: on a machine that is slow
        failed += [done.stderr.decode()] * (done.returncode == 125)
    out, err = child.communicate()
    assert (child.returncode, out) == (0, b"attack: calls answered: 3\n"), err
    # Others may be the agent's own, which it had begun when it was stopped, and a slow machine's.
    late = [text for text in failed if "has not reported the end" in text or "has not answered" in text]
    assert any(error in text for text in failed) and 3 <= len(failed) <= 3 + len(late), failed
    assert all(error in text or text in late for text in failed), failed


def test_a_tree_with_everything_in_it(steady):
    """Names that a terminal would obey, links out of the tree, devices, and directories deeper than a path may be."""
    assert steady.attack("tree", "/tmp/tree", 300) == {"deep": 300}
    target = steady.host.tmp / "out"
    done = steady("cp", f"{steady.bundle}:/tmp/tree", target, check=0)
    assert not set(done.stderr) & set(TERMINAL)
    for name in ("absolute", "upwards", "parent", "fifo", "zero", "disk"):
        assert f"left out: {name}: " in done.stderr, done.stderr
    found = list(os.scandir(target))
    assert sum(entry.name.startswith("file-") for entry in found) == 300
    assert not [entry.name for entry in found if entry.is_symlink() and entry.name != "loop"]
    assert not (target / "setuid").stat().st_mode & 0o7000 and (target / "sparse").stat().st_blocks == 0
    subprocess.run(["rm", "-rf", target], check=True)


@pytest.mark.parametrize("kind", ["turn", "huge", "garbage", "port"])
def test_a_broken_control_stream_is_the_end(based, kind):
    victim = Victim(based, "--network", "isolated")
    child = victim.popen("control", kind, 100000)
    event = victim.ended()
    child.communicate()
    assert event["state"] == "failed" and event["detail"].startswith("the guest broke the control protocol: "), event
    victim.destroy()


@pytest.mark.parametrize("how, state", [("off", "stopped"), ("reset", "failed"), ("panic", "failed")])
def test_a_machine_that_ends_itself(based, how, state):
    victim = Victim(based, "--network", "isolated")
    victim.popen("power", how).communicate()
    event = victim.ended()
    assert event["state"] == state, event
    victim.destroy()


def test_a_guest_that_does_not_listen(based):
    """All its processes are stopped, the agent too. stop ends the machine when the time is over."""
    victim = Victim(based, "--network", "isolated")
    child = victim.popen("deaf")
    wait_until(lambda: victim("exec", "--timeout", 1, victim.bundle, "--", "true", env=STOPPED).returncode == 125, "the agent to be stopped")
    victim("stop", victim.bundle, check=0)
    child.communicate()
    event = victim.ended()
    assert event["state"] == "stopped" and event["detail"].startswith("unclean"), event
    victim.destroy()


def attack_devices(host, kernel, seeds, count):
    """The attack writes to the ports of the machine's devices. The machine may end by it, which is reported, and nothing else may."""
    for seed in seeds:
        host("create", "w", "--memory", 256, "--cpus", 1, "--kernel", kernel["name"], check=0)
        host("start", "w", check=0)
        host("exec", "-i", "--user", "root", "w", "--", "sh", "-c", "cat >/tmp/attack; chmod 755 /tmp/attack", input=attacker(),
             text=False, check=0)
        done = host("exec", "--timeout", 60, "--user", "root", "w", "--", "/tmp/attack", "ports", seed, count)
        # The machine may also end at the last write.
        state = host.json("status", "w")["event"]["state"]
        assert state in ("running", "stopped", "failed"), (seed, state, done)
        assert done.returncode != 0 or done.stdout == f"attack: words to ports: {count}\n", done
        host("kill", "w", check=0)
        host("delete", "w", check=0)


def test_words_to_the_ports_of_devices(based, debian_kernel):
    """The tuned kernel has no iopl(). Debian's kernel has it, and so may a user's own kernel."""
    attack_devices(based, debian_kernel, [1], 20000)


@pytest.mark.soak
def test_many_words_to_the_ports_of_devices(based, debian_kernel):
    attack_devices(based, debian_kernel, range(100, 110), 200000)


@pytest.mark.soak
@pytest.mark.parametrize("kind, count", [("telemetry", 1000000), ("commands", 200000), ("long", 100000), ("unknown", 200000)])
def test_a_control_stream_flooded_for_long(steady, kind, count):
    assert steady.attack("control", kind, count, timeout=1200)[kind] >= count
    assert (steady.workspace / "audit.log").stat().st_size < 64 << 20
    assert (steady.workspace / "telemetry.jsonl").stat().st_size <= 256 << 20
