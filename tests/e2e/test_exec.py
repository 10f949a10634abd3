# SPDX-License-Identifier: MIT
"""Tests `microagent exec` in one running workspace."""

import hashlib
import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import growth
from conftest import BIN, wait_until


@pytest.mark.parametrize("step", [15, pytest.param(1, marks=pytest.mark.soak)])
def test_every_exit_code(vm, step):
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda n: vm("exec", "vm", "--", "sh", "-c", f"exit {n}").returncode,
                              range(0, 256, step)))
    assert codes == list(range(0, 256, step))


def test_streams_stay_apart(vm):
    done = vm("exec", "vm", "--", "sh", "-c", "echo out; echo err >&2", check=0)
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


@pytest.mark.parametrize("size", [0, 1, 65536, 1 << 20, 20 << 20])
def test_bytes_both_ways(vm, size):
    data = os.urandom(size)
    done = vm("exec", "-i", "vm", "--", "cat", input=data, text=False, check=0)
    assert hashlib.sha256(done.stdout).hexdigest() == hashlib.sha256(data).hexdigest()


def test_not_found_not_executable_signal_timeout(vm):
    assert "no-such" in vm("exec", "vm", "--", "no-such", check=127).stderr
    vm("exec", "vm", "--", "/etc/passwd", check=126)
    vm("exec", "vm", "--", "sh", "-c", "kill -TERM $$", check=143)
    vm("exec", "--timeout", 1, "vm", "--", "sleep", "1000", check=124)


def test_timeout_kills_the_whole_tree(vm):
    vm("exec", "--timeout", 1, "vm", "--", "sh", "-c",
       "(setsid sleep 98765 &) ; sleep 1000", check=124)
    assert "98765" not in vm("exec", "--user", "root", "vm", "--", "ps", check=0).stdout


@pytest.mark.parametrize("resume", [(), ("--resume", 1)], ids=["plain", "resumable"])
@pytest.mark.parametrize("end", ["timeout", "death of the client"])
def test_a_daemonised_grandchild_dies_too(vm, end, resume):
    """One process is in a session of its own, as a child of PID 1, and holds no pipe of the command. Another holds the pipes."""
    timeout = ("--timeout", 2) if end == "timeout" else ()
    child = vm.popen("exec", *resume, *timeout, "vm", "--", "sh", "-c",
                     "(setsid sh -c 'sleep 87651 </dev/null >/dev/null 2>&1 &' &)\n"
                     "(setsid sh -c 'sleep 87652 &' &)\n"
                     "until [ $(ps | grep -c 'sleep 8765[12]$') = 2 ]; do usleep 20000; done\n"
                     "echo up; sleep 1000")
    assert child.stdout.readline() == b"up\n"
    if end != "timeout":
        child.kill()
    child.communicate(timeout=60)
    assert child.returncode == (124 if end == "timeout" else -9)
    wait_until(lambda: "8765" not in vm("exec", "--user", "root", "vm", "--", "ps", check=0).stdout,
               "the daemons to be killed")


def sleeps(vm, pid):
    """Waits until the guest's process sleeps, and has used no processor time between two looks."""
    script = f"cut -d' ' -f3,14,15 /proc/{pid}/stat; usleep 200000; cut -d' ' -f3,14,15 /proc/{pid}/stat"
    looks = vm("exec", "vm", "--", "sh", "-c", script, check=0).stdout.splitlines()
    return looks[0] == looks[1] and looks[0].startswith("S")


@pytest.mark.parametrize("resume", [(), ("--resume", 60)], ids=["plain", "resumable"])
def test_a_reader_that_stops_stops_the_command_and_costs_no_memory(vm, resume):
    before = growth.look(vm, "vm")
    child = vm.popen("exec", *resume, "vm", "--", "sh", "-c", "echo $$; exec cat /dev/zero")
    pid = int(child.stdout.readline())
    wait_until(lambda: sleeps(vm, pid), "the command to wait for its reader")
    after = growth.look(vm, "vm")
    grown = {key: after[key] - number for key, number in before.items() if key.endswith("KiB")}
    client = growth.memory_kib(child.pid)
    assert len(os.read(child.stdout.fileno(), 4 << 20)) > 0
    child.kill()
    child.communicate()
    vm("exec", "vm", "--", "sh", "-c", f"! kill {pid} || while kill -0 {pid}; do usleep 20000; done", check=0, timeout=60)
    assert max(grown.values()) <= growth.SLACK_KIB and client <= 2048 + growth.SLACK_KIB, (grown, client)


def test_a_background_child_does_not_hold_the_exit(vm):
    done = vm("exec", "vm", "--", "sh", "-c", "sleep 30 & echo done", check=0, timeout=20)
    assert done.stdout == "done\n"
    vm("exec", "--user", "root", "vm", "--", "killall", "sleep", check=0)


def test_cwd_env_user(vm):
    done = vm("exec", "--cwd", "/tmp", "--env", "A=1", "--env", "B=two words", "-e", "MINE", "vm", "--",
              "sh", "-c", "pwd; echo $A $B $MINE; id -u", env={"MINE": "of=the caller"}, check=0)
    assert done.stdout == "/tmp\n1 two words of=the caller\n1000\n"
    assert vm("exec", "--user", "root", "vm", "--", "id", "-u", check=0).stdout == "0\n"
    assert "no-such-user" in vm("exec", "--user", "no-such-user", "vm", "--", "true", check=125).stderr


def test_a_working_directory_by_a_descriptor_of_the_agents(vm):
    """/proc/self/fd of the process that becomes the command has nothing that the agent has open."""
    for number in range(3, 32):
        done = vm("exec", "--user", "root", "--cwd", f"/proc/self/fd/{number}", "vm", "--", "ls", check=125)
        assert f"cannot enter the directory /proc/self/fd/{number}" in done.stderr, done


def test_an_interrupted_client_ends_its_command(vm):
    child = vm.popen("exec", "vm", "--", "sh", "-c", "echo ready; exec sleep 45678")
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    vm("exec", "--user", "root", "vm", "--", "sh", "-c",
       "while ps | grep -v grep | grep -q 45678; do usleep 50000; done", check=0, timeout=60)


def test_no_descriptor_or_signal_state_leaks_into_commands(vm):
    # Runs it directly, without a shell, since ash itself ignores SIGQUIT.
    status = vm("exec", "vm", "--", "grep", "-E", "SigBlk|SigIgn", "/proc/self/status", check=0).stdout
    assert status.split() == ["SigBlk:", "0000000000000000", "SigIgn:", "0000000000000000"]
    # 3 is the directory that ls reads.
    assert vm("exec", "vm", "--", "ls", "/proc/self/fd", check=0).stdout.split() == ["0", "1", "2", "3"]


def test_json_answer(vm):
    """--json puts a CLI error of exec on stderr as one object."""
    done = vm("--json", "exec", "no-such-workspace", "--", "true", check=125)
    error = json.loads(done.stderr)
    assert error["ok"] is False and error["errorCode"] == "not-found"


def test_many_at_once(vm):
    children = [vm.popen("exec", "-i", "vm", "--", "sh", "-c", f"echo {i}; cat >/dev/null",
                         stdin=subprocess.PIPE) for i in range(64)]
    for i, child in enumerate(children):
        out, err = child.communicate(b"x" * 1000, timeout=120)
        assert (child.returncode, out) == (0, f"{i}\n".encode()), err


def test_nothing_grows_with_execs(vm):
    """A small version of the ten thousand in test_soak.py."""
    for _ in range(20):
        growth.run(vm.state / "vm", ["true"])
    before = growth.look(vm, "vm")
    for _ in range(200):
        assert growth.run(vm.state / "vm", ["true"])["exitCode"] == 0
    growth.assert_no_growth(vm, "vm", before)


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_full_disk_below_stdout_is_told_once(vm, words):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BIN / "microagent", *words, "exec", "vm", "--", "echo", "lost"], env=vm.env, stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 125 and done.stderr.count("cannot write to stdout: ") == 1, done
    assert "No space left on device" in done.stderr
