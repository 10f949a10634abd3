# SPDX-License-Identifier: MIT
"""Tests `microagent run`: streams, exit codes, signals, and nothing left behind (the host fixture)."""

import hashlib
import json
import os
import signal
import subprocess

import pytest

from conftest import pid_lines, wait_until

SMALL = ("--memory", 256, "--cpus", 1)


def test_first_light(host):
    done = host("run", *SMALL, "--", "sh", "-c", "echo out; echo err >&2; exit 7", check=7)
    assert done.stdout == "out\n"
    assert done.stderr.splitlines()[-1] == "err"


@pytest.mark.parametrize("command,code", [
    (["true"], 0),
    pytest.param(["sh", "-c", "exit 1"], 1, marks=pytest.mark.soak),
    pytest.param(["sh", "-c", "exit 42"], 42, marks=pytest.mark.soak),
    (["/etc/passwd"], 126),
    (["no-such-program"], 127),
    (["sh", "-c", "kill -9 $$"], 137),
    (["sh", "-c", "exit 255"], 255),
])
def test_exit_code(host, command, code):
    host("run", *SMALL, "--", *command, check=code)


def test_twenty_megabytes_and_stdin(host):
    data = os.urandom(20 * 1024 * 1024)
    done = host("run", "-i", *SMALL, "--", "cat", input=data, text=False, check=0)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()


def test_environment_user_and_timeout(host):
    done = host("run", *SMALL, "--env", "GREETING=hi there", "--", "sh", "-c",
                "echo $GREETING; id -un; id -u; pwd", check=0)
    assert done.stdout == "hi there\nagent\n1000\n/home/agent\n"
    done = host("run", *SMALL, "--user", "root", "--timeout", 2, "--", "sh", "-c", "id -u; exec sleep 1000", check=124)
    assert done.stdout == "0\n"
    assert done.stderr.splitlines()[-1] == "microagent: the command was killed: its timeout of 2 s passed"


def test_keep_leaves_a_workspace_that_can_start_again(host):
    host("run", *SMALL, "--keep", "--name", "kept", "--", "sh", "-c", "echo data > /workspace/f; sync",
         check=0)
    status = host.json("status", "kept")
    assert status["event"]["state"] == "stopped"
    assert status["result"]["exitCode"] == 0
    host("delete", "kept", check=0)


def test_result_keeps_the_first_mebibyte(host):
    host("run", *SMALL, "--keep", "--name", "big", "--", "sh", "-c",
         "head -c 3000000 /dev/zero | tr '\\0' x", check=0)
    result = host.json("status", "big")["result"]
    assert len(result["stdout"]) == 1024 * 1024
    assert result["stdoutTruncated"] is True
    assert "stderrTruncated" not in result
    host("delete", "big", check=0)


def started(host, *words, **kw):
    """Starts a run in the foreground whose command has said `ready`."""
    child = host.popen("run", *SMALL, "--name", "it", "--", *words, **kw)
    line = child.stdout.readline()
    assert line == b"ready\n", (line, child.stderr.read() if line == b"" else b"")
    return child


LOOP = ("sh", "-c", "echo ready; while :; do sleep 1; done")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_guest(host, number):
    child = started(host, *LOOP)
    child.send_signal(number)
    child.communicate(timeout=60)
    assert child.returncode == 128 + number


def test_kill_9_of_run_ends_the_guest(host):
    child = started(host, *LOOP)
    child.kill()
    child.communicate()
    wait_until(lambda: not pid_lines(str(host.state)), "the workspace's processes to end")
    wait_until(lambda: not (host.state / "it").exists(), "the workspace to be removed")


SOON = {"MICROAGENT_TEST_LIMIT_KILL_MS": "3000", "MICROAGENT_TEST_LIMIT_HALT_MS": "3000"}


def stuck(host, *options, command=LOOP):
    """Starts a run whose live supervisor does not answer."""
    child = host.popen("run", *SMALL, *options, "--name", "it", "--", *command, env=SOON)
    assert child.stdout.readline() == b"ready\n"
    os.kill(json.loads((host.state / "it" / "runtime.json").read_text())["supervisorPid"], signal.SIGSTOP)
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_guest_of_a_stuck_supervisor(host, number):
    child = stuck(host)
    child.send_signal(number)
    child.communicate(timeout=60)
    assert child.returncode == 128 + number
    assert not pid_lines(str(host.state)) and not (host.state / "it").exists()


def test_kill_9_of_run_ends_the_guest_of_a_stuck_supervisor(host):
    child = stuck(host)
    child.kill()
    child.communicate()
    wait_until(lambda: not pid_lines(str(host.state)), "the workspace's processes to end")
    wait_until(lambda: not (host.state / "it").exists(), "the workspace to be removed")


def test_what_a_stuck_supervisor_kept_can_start_again(host):
    child = stuck(host, "--keep")
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGTERM
    event = host.json("status", "it")["event"]
    assert (event["state"], event["detail"]) == ("failed", "the live supervisor did not answer and was killed")
    assert not pid_lines(str(host.state))
    host("start", "it", check=0)
    host("kill", "it", check=0)
    host("delete", "it", check=0)


def test_a_closed_stdout_ends_the_run(host):
    child = started(host, "sh", "-c", "echo ready; while echo y; do :; done")
    child.stdout.close()
    child.stderr.read()
    child.wait(timeout=60)
    assert child.returncode != 0


@pytest.mark.parametrize("count", [4, pytest.param(10, marks=pytest.mark.soak)])
def test_vms_at_once(host, count):
    children = [host.popen("run", "--memory", 128, "--cpus", 1, "--", "echo", str(i))
                for i in range(count)]
    for i, child in enumerate(children):
        out, err = child.communicate(timeout=300)
        assert (child.returncode, out) == (0, f"{i}\n".encode()), err


def test_output_is_live(host):
    """The first line arrives while the command still waits for its stdin."""
    child = host.popen("run", "-i", *SMALL, "--", "sh", "-c", "echo first; read x; echo got $x",
                       stdin=subprocess.PIPE)
    assert child.stdout.readline() == b"first\n"
    out, _ = child.communicate(b"word\n", timeout=60)
    assert out == b"got word\n"
    assert child.returncode == 0


def test_debian_runs_python(host, debian_image):
    done = host("run", "--image", debian_image, *SMALL, "--", "python3", "-c", "print(2**100)", check=0)
    assert done.stdout == "1267650600228229401496703205376\n"


def test_tuned_kernel(host, tuned_kernel):
    done = host("run", *SMALL, "--kernel", tuned_kernel["path"], "--", "uname", "-r", check=0)
    assert done.stdout.strip()


def test_debian_kernel(host, debian_kernel):
    done = host("run", *SMALL, "--kernel", debian_kernel["path"], "--", "uname", "-r", check=0)
    assert "cloud" in done.stdout
