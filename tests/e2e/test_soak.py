# SPDX-License-Identifier: MIT
"""Tests that take minutes. `make soak` runs them in two workers; `make test` has a small version of each in other
files. Tests are marked `alone` if they take the host's memory for themselves, wait for a quiet host (a pool), or
measure time. The growth of a process is the same beside others."""

import hashlib
import json
import os
import random
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import growth
import test_agent_task
import test_pool_claims
import test_session_crash
import test_session_share
from cutting_proxy import CuttingProxy

pytestmark = pytest.mark.soak

GIB = 1 << 30


def test_ten_thousand_execs(vm):
    workspace = vm.state / "vm"
    for _ in range(200):
        growth.run(workspace, ["true"])
    before = growth.look(vm, "vm")
    for number in range(10000):
        answer = growth.run(workspace, ["true"])
        assert answer["exitCode"] == 0, (number, answer)
    growth.assert_no_growth(vm, "vm", before)


@pytest.mark.parametrize("which", [2, 3])
def test_a_gibibyte_out(vm, which):
    workspace = vm.state / "vm"
    script = f"exec 1>&{which - 1}; dd if=/dev/zero bs=1M count=1024 2>/dev/null"
    before = growth.look(vm, "vm")
    digest, length, code = growth.stream_digest(workspace, ["sh", "-c", script], which)
    expected = hashlib.sha256()
    for _ in range(1024):
        expected.update(bytes(1 << 20))
    assert (length, code) == (GIB, 0)
    assert digest == expected.hexdigest()
    growth.assert_no_growth(vm, "vm", before)


def test_a_quarter_of_a_gibibyte_in(vm):
    before = growth.look(vm, "vm")
    feeder = subprocess.Popen(["head", "-c", str(GIB // 4), "/dev/zero"], stdout=subprocess.PIPE)
    child = vm.popen("exec", "-i", "vm", "--", "wc", "-c", stdin=feeder.stdout)
    feeder.stdout.close()
    out, err = child.communicate(timeout=1200)
    feeder.wait()
    assert (child.returncode, out.strip()) == (0, str(GIB // 4).encode()), err
    growth.assert_no_growth(vm, "vm", before)


def test_a_file_of_a_gibibyte_there_and_back(host):
    """All of it is data. The guest's disk is the further one, which has the room."""
    disk, source, back = (host.base / name for name in ("disk.img", "source", "back"))
    subprocess.run(["mke2fs", "-q", "-t", "ext4", disk, "1200M"], check=True)
    with open(source, "wb") as file:
        for _ in range(1024):
            file.write(os.urandom(1 << 20))
    host("create", "w", "--memory", 256, "--cpus", 1, "--disk", f"d={disk}:/data:rw", check=0)
    host("start", "w", check=0)
    host("cp", "-u", "root", source, "w:/data/file", check=0)
    host("cp", "-u", "root", "w:/data/file", back, check=0)
    assert subprocess.run(["cmp", source, back], check=False).returncode == 0
    host("kill", "w", check=0)
    host("delete", "w", check=0)


@pytest.mark.parametrize("seed", range(4))
def test_a_connection_that_breaks_again_and_again(vm, seed):
    """64 MiB in and out again over some hundred connections."""
    chance, data = random.Random(seed), random.Random(seed).randbytes(64 << 20)
    before = growth.look(vm, "vm")
    with CuttingProxy(vm.state / "vm", lambda n: chance.choice((40, 600, 400000, 400000, 900000, 900000))) as proxy:
        done = vm("exec", "-i", "--resume", 60, "vm", "--", "cat", input=data, text=False, timeout=1200, check=0)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()
    assert proxy.cuts > 100, proxy.cuts
    growth.assert_no_growth(vm, "vm", before)


def test_a_reader_that_stops_for_long(vm):
    """Megabytes wait in the guest, and nothing in the host. Then all of it comes."""
    before = growth.look(vm, "vm")
    reading, writing = os.pipe()
    child = vm.popen("exec", "vm", "--", "head", "-c", str(64 << 20), "/dev/zero", stdout=writing)
    os.close(writing)
    assert os.read(reading, 1) == b"\0"
    # Nothing is read while a hundred other commands run.
    for _ in range(100):
        growth.run(vm.state / "vm", ["true"])
    held = growth.look(vm, "vm")
    total = 1
    while piece := os.read(reading, 1 << 20):
        total += len(piece)
    os.close(reading)
    assert (child.wait(120), total) == (0, 64 << 20)
    for who in ("supervisor", "microagent-vsockd"):
        assert held[f"{who} KiB"] <= before[f"{who} KiB"] + 1024
    growth.assert_no_growth(vm, "vm", before)


def test_five_hundred_and_twelve_execs_at_once(host):
    """On eight connections, and all of them run before the first may end."""
    host("create", "vm", "--memory", 512, "--cpus", 1, check=0)
    host("start", "vm", check=0)
    before = growth.look(host, "vm")
    agents = [growth.Agent(host.state / "vm") for _ in range(8)]
    numbers = range(1, 65)
    for agent in agents:
        for number in numbers:
            agent.send({"id": "a", "request": number, "stream": True, "cmd": ["cat"], "stdin": True})
    for agent in agents:
        started = {json.loads(agent.frame())["request"] for _ in numbers}
        assert started == set(numbers)
    for agent in agents:
        for number in numbers:
            text = struct.pack(">Q", number) + str(number).encode()
            agent.sock.sendall(struct.pack(">I", 1 + len(text)) + b"\1" + text)
            assert agent.frame() == b"\2" + text
    for agent in agents:
        for number in numbers:
            agent.send({"event": "stdin-close", "request": number})
        assert {json.loads(agent.frame())["exitCode"] for _ in numbers} == {0}
        agent.close()
    growth.assert_no_growth(host, "vm", before)
    host("kill", "vm", check=0)
    host("delete", "vm", check=0)


@pytest.mark.parametrize("cpus", [1, 2])
def test_a_hundred_machines_one_after_another(host, cpus):
    for number in range(100):
        done = host("run", "--memory", 256, "--cpus", cpus, "--", "sh", "-c", f"echo {number}; exit {number}")
        assert (done.returncode, done.stdout) == (number, f"{number}\n"), (number, done.stderr)


@pytest.mark.alone
def test_thirty_machines_at_once(host):
    children = [host.popen("run", "--memory", 128, "--cpus", 1, "--", "echo", str(i)) for i in range(30)]
    for i, child in enumerate(children):
        out, err = child.communicate(timeout=1200)
        assert (child.returncode, out) == (0, f"{i}\n".encode()), err


ours = test_session_share.ours


def test_ten_thousand_files_in_a_share(ours):
    name = test_session_share.create(ours)
    work = test_session_share.directory(ours, "work")
    ours("session", "share", name, work, check=0)
    test_session_share.check_many(ours, name, work, 10000)
    ours("session", "destroy", name, check=0)


@pytest.mark.alone
def test_ten_agents_at_once(host, debian_image):
    """Each with a session and a source tree of its own, all of one base."""
    def all_ten():
        with ThreadPoolExecutor(10) as ten:
            list(ten.map(lambda number: test_agent_task.do_task(host, host.base / f"bzip2-{number}"), range(10)))

    test_agent_task.with_base(host, debian_image, all_ten)


@pytest.mark.alone
def test_a_thousand_sessions(host):
    """Of one base, at rest; pytest -rP shows its figures."""
    host("base", "create", "web", check=0)
    for what, seconds in test_session_crash.check_many(host, 1000).items():
        print(f"1000 sessions: {what}: {seconds} s")
    host("base", "delete", "web-v1", check=0)


@pytest.mark.alone
def test_claims_against_all_that_takes_members_away(host):
    """In each round a claimer and a drain are killed, at any moment."""
    host("base", "create", "web", check=0)
    claims = 0
    for number in range(8):
        chance = random.Random(number)
        test_pool_claims.fill_up(host, 6)
        claims += test_pool_claims.race(host, 10, chance.randint(1, 5), [chance.uniform(0, 0.5) for _ in range(4)])
    assert claims > 8, claims
    host("base", "delete", "web-v1", check=0)
