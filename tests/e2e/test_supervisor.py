# SPDX-License-Identifier: MIT
"""Tests the supervisor as an integrator calls it: one JSON request in, one JSON answer out."""

import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import strays
from conftest import BACKEND, BIN, copy_disk, wait_until

IDENTITY = {"requestID": "req-1", "runtimeID": "agent-1", "role": "workload", "backend": "qemu"}


def request(command, config=None, **identity):
    document = {"command": command, "identity": {**IDENTITY, **identity}}
    if config is not None:
        document["config"] = config
    return document


def sparse(host):
    return {"stateDir": str(host.state)}


def test_host(host):
    code, answer, _ = host.supervisor({"command": "host"})
    assert code == 0 and answer["backend"] == host.backend
    facts = answer["host"]
    for key in ("backend", "architecture", "binaryPath", "binaryVersion", "accelerator",
                "acceleratorReason", "confinement", "kvmAvailable", "virtualizationSupported",
                "frameworkAvailable", "vsockAvailable", "supervisorPath", "supervisorAvailable",
                "consoleAvailable", "consoleMode"):
        assert key in facts, key
    assert facts["kvmAvailable"] == (facts["accelerator"] == "kvm")
    assert set(answer["kernel"]) >= {"path", "status", "sha256"}
    assert set(answer) == {"ok", "backend", "host", "kernel"}


def test_whole_life(host):
    config = host.config(command=["sh", "-c", "echo from the workload; exit 5"])
    code, answer, _ = host.supervisor(request("check", config))
    assert (code, answer["event"]["state"]) == (0, "unknown")
    assert not (host.state / "agent-1").exists()
    code, answer, _ = host.supervisor(request("prepare", config))
    assert (code, answer["event"]["state"]) == (0, "prepared")
    assert answer["verification"]["ok"] is True
    code, answer, _ = host.supervisor(request("run", config))
    assert code == 0, answer
    assert answer["event"]["state"] == "failed"  # the workload's exit code was not 0
    assert answer["result"]["exitCode"] == 5
    assert answer["result"]["stdout"] == "from the workload\n"
    code, answer, _ = host.supervisor(request("inspect", sparse(host)))
    assert (code, answer["event"]["state"]) == (0, "failed")
    assert answer["result"]["resultPath"] == str(host.state / "agent-1" / "result.json")
    code, answer, _ = host.supervisor(request("delete", sparse(host)))
    assert (code, answer["event"]["state"]) == (0, "stopped")
    code, answer, _ = host.supervisor(request("inspect", sparse(host)))
    assert (code, answer["event"]["state"]) == (0, "unknown")


def test_start_answers_and_lets_go_of_its_streams(host):
    """A caller that captures stdout of start sees its end at once (subprocess waits for that)."""
    config = host.config()
    code, answer, _ = host.supervisor(request("start", config))
    assert code == 1 and answer["errorCode"] == "not-found"  # nothing was prepared
    host.supervisor(request("prepare", config))
    code, answer, _ = host.supervisor(request("start", config), timeout=120)
    assert (code, answer["event"]["state"]) == (0, "running"), answer
    code, answer, _ = host.supervisor(request("start", config))
    assert code == 1 and answer["errorCode"] == "conflict"
    code, answer, _ = host.supervisor(request("stop", sparse(host)))
    assert (code, answer["event"]["state"]) == (0, "stopped")
    assert "unclean" not in answer["event"].get("detail", "")
    assert not host.processes()
    code, answer, _ = host.supervisor(request("delete", sparse(host)))
    assert code == 0


def test_a_changed_config_is_a_conflict_that_names_the_field(host):
    config = host.config()
    host.supervisor(request("prepare", config))
    code, answer, _ = host.supervisor(request("start", {**config, "memoryMiB": 300}))
    assert code == 1 and answer["errorCode"] == "conflict"
    assert "config.memoryMiB" in answer["error"]
    host.supervisor(request("delete", sparse(host)))


REFUSED = [
    (b"", "empty"),
    (b"{", None),
    (b'{"command":"host"', None),
    (b'{"command":"host","command":"host"}', "the same key occurs twice"),
    (b'{"command":"host"}\0', None),
    (b'{"command":1}', "command"),
    (b'{"command":"hst"}', "hst"),
    (b'{"command":"host","comand":1}', "comand"),
    (b"[]", None),
    (b'{"command":"host"} {"command":"host"}', None),
    (b'{"command":"inspect"}', "identity"),
]


@pytest.mark.parametrize("raw,word", REFUSED)
def test_refused_documents(host, raw, word):
    code, answer, _ = host.supervisor(None, raw=raw)
    assert code == 1 and answer["errorCode"] == "invalid", answer
    if word:
        assert word in answer["error"], answer["error"]


def test_a_hundred_megabyte_request_is_refused(host):
    code, answer, _ = host.supervisor(None, raw=b'{"command":"' + b"x" * 100_000_000 + b'"}')
    assert code == 1 and answer["errorCode"] == "invalid"


@pytest.mark.parametrize("changes,word", [
    ({"memoryMiB": 0}, "config.memoryMiB"),
    ({"memoryMiB": -5}, "config.memoryMiB"),
    ({"memoryMiB": 10**9}, "config.memoryMiB"),
    ({"memoryMiB": "512"}, "config.memoryMiB"),
    ({"cpuCount": 0}, "config.cpuCount"),
    ({"cpuCount": 100000}, "config.cpuCount"),
    ({"memmoryMiB": 512}, "config.memmoryMiB"),
    ({"network": {"mode": "wifi"}}, "config.network.mode"),
    ({"kernelPath": "/nonexistent/kernel"}, "/nonexistent/kernel"),
    ({"rootfsPath": "/nonexistent/root"}, "/nonexistent/root"),
    ({"stateDir": "relative"}, "config.stateDir"),
    ({"accelerator": "warp"}, "config.accelerator"),
])
def test_refused_configs_touch_nothing(host, changes, word):
    config = host.config(**changes)
    for command in ("check", "prepare", "start", "run"):
        code, answer, _ = host.supervisor(request(command, config))
        assert code != 0 and word in answer["error"], (command, answer)
    assert not [p for p in host.state.iterdir() if p.name not in (".locks", ".microagent-state")]


def test_a_network_that_is_refused_for_itself_has_no_event(host):
    """This holds for a workspace that exists too, whichever field of the network is wrong."""
    config = host.config(network={"mode": "isolated"})
    assert host.supervisor(request("prepare", config))[0] == 0
    for network in ({"mode": "bridged"}, {"mode": "nat", "interface": "br0"}):
        for command in ("check", "prepare", "start", "run"):
            code, answer, _ = host.supervisor(request(command, {**config, "network": network}))
            assert code == 1 and answer["errorCode"] == "invalid" and "config.network.interface" in answer["error"], (command, answer)
            assert "event" not in answer, (command, answer)
    assert events_of(host)[-1]["state"] == "prepared"
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


@pytest.mark.parametrize("name", ["a/b", "..", ".", "", "a\x00b", "sessions", "x" * 300])
def test_refused_names(host, name):
    code, answer, _ = host.supervisor(request("inspect", sparse(host), runtimeID=name))
    assert code == 1 and answer["errorCode"] == "invalid" and "runtimeID" in answer["error"]


def test_kvm_fails_closed(host):
    if host.supervisor({"command": "host"})[1]["host"]["kvmAvailable"]:
        pytest.skip("KVM works on this machine")
    code, answer, _ = host.supervisor(request("check", host.config(accelerator="kvm")))
    assert code != 0 and "kvm" in answer["error"].lower()


def test_run_told_to_end_while_it_hashes(host):
    """It answers, and nothing is left: neither a workspace nor a process that hashed."""
    disk = host.base / "large.ext4"
    copy_disk(host.config()["rootfsPath"], disk)
    os.truncate(disk, 1 << 38)  # reading it takes minutes
    child = host.popen(program=host.program, stdin=subprocess.PIPE)
    child.stdin.write(host.own(request("run", host.config(rootfsPath=str(disk)))))
    child.stdin.close()
    child.stdin = None
    hashing = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    wait_until(hashing.read_text, "the hashing")
    hasher = Path("/proc") / hashing.read_text().split()[0]
    child.terminate()
    answer = json.loads(child.communicate(timeout=60)[0])
    assert (child.returncode, answer["errorCode"], answer["error"]) == (1, "conflict", "run was told to end by SIGTERM")
    assert "event" not in answer and not (host.state / "agent-1").exists() and not hasher.exists()
    disk.unlink()


def test_run_told_to_end_while_its_machine_runs(host):
    """The answer and the recorded event have the same reason."""
    child = host.popen(program=host.program, stdin=subprocess.PIPE)
    child.stdin.write(host.own(request("run", host.config(command=["sleep", "1000"]))))
    child.stdin.close()
    child.stdin = None
    event = host.state / "agent-1" / "event.json"
    wait_until(lambda: event.exists() and json.loads(event.read_text())["state"] == "running", "the machine")
    child.terminate()
    answer = json.loads(child.communicate(timeout=60)[0])
    assert (child.returncode, answer["errorCode"], answer["error"]) == (1, "conflict", "run was told to end by SIGTERM")
    told = json.loads(event.read_text())
    assert (told["state"], told["detail"]) == ("stopped", "killed: run was told to end by SIGTERM")
    assert answer["event"] == told or answer["event"]["detail"] == told["detail"]
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


@pytest.mark.skipif(BACKEND == "apple-vf", reason="the machine is in the supervisor's own process")
def test_run_told_to_end_while_its_live_supervisor_is_stuck(host):
    """It ends everything by force, and says so."""
    child = host.popen(program=host.program, stdin=subprocess.PIPE, env={"MICROAGENT_TEST_LIMIT_KILL_MS": "3000"})
    child.stdin.write(host.own(request("run", host.config(command=["sleep", "1000"]))))
    child.stdin.close()
    child.stdin = None
    event = host.state / "agent-1" / "event.json"
    wait_until(lambda: event.exists() and json.loads(event.read_text())["state"] == "running", "the machine")
    os.kill(json.loads((host.state / "agent-1" / "runtime.json").read_text())["supervisorPid"], signal.SIGSTOP)
    child.terminate()
    answer = json.loads(child.communicate(timeout=60)[0])
    why = "the live supervisor did not answer and was killed"
    assert (child.returncode, answer["errorCode"], answer["error"]) == (1, "io", why)
    assert (answer["event"]["state"], answer["event"]["detail"]) == ("failed", why)
    assert json.loads(event.read_text()) == answer["event"] and not host.processes()
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def begin(host, command, config=None, env=None, **identity):
    """Sends the request by a process of its own."""
    child = host.popen(program=host.program, stdin=subprocess.PIPE, env=env)
    child.stdin.write(host.own(request(command, config or sparse(host), **identity)))
    child.stdin.close()
    child.stdin = None
    return child


def answer_of(child):
    answer = json.loads(child.communicate(timeout=120)[0])
    return child.returncode, answer


def events_of(host):
    return json.loads((host.state / "agent-1" / "events.json").read_text())


def told(events):
    return [(e["identity"]["requestID"], e["state"], e.get("detail")) for e in events]


# Its guest takes a few seconds to end. The command does not hear that it should end, after it has said so on the
# console.
DEAF = {"user": "root", "command": ["sh", "-c", "trap '' TERM; echo deaf >/dev/console; while :; do sleep 1; done"]}


def await_deaf(host, times=1):
    wait_until(lambda: (host.state / "agent-1" / "serial.log").read_bytes().count(b"deaf") >= times, "the command to be deaf")


def test_an_end_is_told_as_it_was(host):
    """One command halts a machine and another kills it. Both answer that it was killed. This stays recorded until the
    next start, in a quarantine and after it too."""
    config = host.config(**DEAF)
    host.supervisor(request("prepare", config))
    for times in (1, 2):
        code, answer, _ = host.supervisor(request("start", config, requestID="s"))
        assert code == 0, answer
        await_deaf(host, times)
        halter = begin(host, "halt", requestID="h")
        wait_until(lambda: events_of(host)[-1]["state"] == "stopping", "the halt to begin")
        code, killed, _ = host.supervisor(request("kill", sparse(host), requestID="k"))
        assert code == 0, killed
        code, halted = answer_of(halter)
        assert (code, halted["event"]) == (0, killed["event"])
        assert told(events_of(host)[-2:]) == [("h", "stopping", None), ("k", "stopped", "killed")]
        # halt changes nothing of a machine that was killed, except that it ends a quarantine.
        for command, state, detail in (("halt", "stopped", "no machine was running, and the workspace stays as it was: killed"),
                                       ("quarantine", "quarantined", "no machine was running; unclean: killed"),
                                       ("halt", "halted", "unclean: killed"), ("stop", "stopped", "unclean: killed"),
                                       ("quarantine", "quarantined", "no machine was running; unclean: killed"),
                                       ("kill", "stopped", "unclean: killed")):
            code, answer, _ = host.supervisor(request(command, sparse(host)))
            assert (code, answer["event"]["state"], answer["event"]["detail"]) == (0, state, detail), command
        assert not host.processes()
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


@pytest.mark.parametrize(("first", "second", "state"), [("stop", "halt", "halted"), ("halt", "stop", "stopped"), ("stop", "stop", "stopped")])
def test_two_commands_record_one_end(host, first, second, state):
    """Both answer with it. The second event stays, unless both are alike."""
    config = host.config(**DEAF)
    for command in ("prepare", "start"):
        code, answer, _ = host.supervisor(request(command, config))
        assert code == 0, answer
    await_deaf(host)
    earlier = begin(host, first, requestID="1")
    wait_until(lambda: events_of(host)[-1]["state"] == "stopping", "the end to begin")
    later = begin(host, second, requestID="2")
    (code, answer), (other_code, other) = answer_of(later), answer_of(earlier)
    assert (code, other_code) == (0, 0) and answer["event"] == other["event"], (answer, other)
    assert told(events_of(host)[-2:]) == [("1", "stopping", None),
                                          ("1" if first == second else "2", state, "the guest switched itself off when asked")]
    assert answer["event"] == events_of(host)[-1] and not host.processes()
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def test_an_end_is_told_behind_the_next_start(host):
    """A halt that hears of the end when another machine runs already answers how its own machine ended."""
    config = host.config(**DEAF)
    for command in ("prepare", "start"):
        code, answer, _ = host.supervisor(request(command, config))
        assert code == 0, answer
    await_deaf(host)
    halter = begin(host, "halt", requestID="h")
    wait_until(lambda: events_of(host)[-1]["state"] == "stopping", "the halt to begin")
    with open(host.state / ".locks" / "agent-1", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # it has asked, and waits
        os.kill(halter.pid, signal.SIGSTOP)
    code, killed, _ = host.supervisor(request("kill", sparse(host), requestID="k"))
    assert code == 0, killed
    code, answer, _ = host.supervisor(request("start", config, requestID="s"))
    assert (code, answer["event"]["state"]) == (0, "running"), answer
    os.kill(halter.pid, signal.SIGCONT)
    code, halted = answer_of(halter)
    assert (code, halted["event"]) == (0, killed["event"])
    assert told(events_of(host)[-1:]) == [("s", "running", None)]
    assert host.supervisor(request("kill", sparse(host)))[0] == 0
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


# Stops a live supervisor before its first line, when its start has let it go and it has no guard yet.
HELD_BACK = r"""
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void hold_back(void)
{
	char words[4096];
	int fd = open("/proc/self/cmdline", O_RDONLY);
	ssize_t n = read(fd, words, sizeof(words));

	close(fd);
	if (n > 0 && memmem(words, (size_t)n, "\0--live-supervisor-of", 21))
		raise(SIGSTOP);
}
"""


def is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "T"


@pytest.mark.parametrize(("command", "state"), [("halt", "halted"), ("stop", "stopped"), ("kill", "stopped")])
def test_an_end_of_what_has_only_just_been_started(host, command, state):
    """Before its live supervisor has a guard, by which it is found. The command waits for that one's end, and reports
    no earlier one."""
    config = host.config()
    for first in ("prepare", "start", "kill"):
        code, answer, _ = host.supervisor(request(first, config if first != "kill" else sparse(host), requestID="old"))
        assert code == 0, answer
    library = host.base / "held_back.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-o", library, "-"], input=HELD_BACK.encode(), check=True)
    asan = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")
    starter = begin(host, "start", config, env={"LD_PRELOAD": str(library), "ASAN_OPTIONS": asan}, requestID="s")
    wait_until(lambda: any(map(is_stopped, host.processes())), "the live supervisor to be held back")
    live = next(pid for pid in host.processes() if is_stopped(pid))
    ender = begin(host, command, requestID="e")
    wait_until(lambda: any(link.startswith("socket:") for link in strays.descriptors(ender.pid).values()), "the live supervisor to be asked")
    os.kill(live, signal.SIGCONT)
    code, answer = answer_of(ender)
    assert not host.processes(), answer
    assert (code, answer["event"]["state"], answer["event"]["identity"]["requestID"]) == (0, state, "e"), answer
    assert answer["event"] == events_of(host)[-1]
    answer_of(starter)
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def test_a_run_that_others_end(host):
    """If its command has no result, it has not succeeded. A machine that is halted in order brings the result. Without
    a command, an end by another command is the end that run waits for."""
    event = host.state / "agent-1" / "event.json"

    def run_and_end(word, **changes):
        child = begin(host, "run", host.config(**changes), requestID="r")
        wait_until(lambda: event.exists() and json.loads(event.read_text())["state"] == "running", "the machine")
        code, ended, _ = host.supervisor(request(word, sparse(host), requestID="o"))
        assert code == 0, ended
        code, answer = answer_of(child)
        assert answer["event"] == ended["event"] and answer["ok"] == (code == 0)
        return code, answer

    code, answer = run_and_end("kill", command=["sleep", "1000"])
    assert (code, answer["errorCode"], answer["error"]) == (1, "conflict", "workspace agent-1 ended before its command ended: killed")
    assert "result" not in answer and answer["event"]["state"] == "stopped"
    code, answer = run_and_end("halt", command=["sleep", "1000"])
    assert (code, answer["event"]["state"], answer["result"]["signal"]) == (0, "halted", signal.SIGTERM), answer
    assert host.supervisor(request("delete", sparse(host)))[0] == 0
    code, answer = run_and_end("kill")
    assert (code, answer["event"]["state"], answer["event"]["detail"]) == (0, "stopped", "killed")
    assert "result" not in answer and not host.processes()
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def test_a_failure_is_told_behind_it(host):
    """Later records repeat that a machine broke."""
    config = host.config(command=["false"])
    code, answer, _ = host.supervisor(request("run", config))
    assert (code, answer["event"]["state"]) == (0, "failed"), answer
    for command, state, detail in (("quarantine", "quarantined", "no machine was running; failed: the command ended with exit code 1"),
                                   ("halt", "halted", "failed: the command ended with exit code 1"),
                                   ("stop", "stopped", "failed: the command ended with exit code 1")):
        code, answer, _ = host.supervisor(request(command, sparse(host)))
        assert (code, answer["event"]["state"], answer["event"]["detail"]) == (0, state, detail), command
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def plant(host, work):
    """Files that a companion, which root's supervisor runs as a user of its own, may leave behind. The supervisor,
    which gave up root's rights, could not even look at them."""
    place, uids = host.state / "agent-1", set()
    for companion in json.loads((place / "runtime.json").read_text())["companions"]:
        children = Path(f"/proc/{companion['pid']}/task/{companion['pid']}/children").read_text().split()
        if companion["name"] == "virtiofsd t":
            uids |= {os.stat(f"/proc/{child}").st_uid for child in children}
    assert uids and 0 not in uids, uids
    (place / "left/deep").mkdir(parents=True)
    (place / "left/deep/file").touch()
    for path in (place / "left/deep/file", place / "left/deep", place / "left"):
        path.chmod(0o700 if path.is_dir() else 0o400)
        os.chown(path, min(uids), min(uids))
    wait_until((work / "mine").exists, "the guest's file")


@pytest.mark.skipif(BACKEND == "apple-vf", reason="the machine is in the supervisor's own process")
def test_remove_answers_when_nothing_is_left(host):
    """Not while the supervisor's parent lives, which ends what the supervisor leaves behind. The directory is gone by then."""
    child = subprocess.Popen([BIN / host.program, "--remove"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=host.env)
    child.stdin.write(host.own(request("run", host.config(command=["sleep", "1000"]))))
    child.stdin.close()
    event, runtime = host.state / "agent-1" / "event.json", host.state / "agent-1" / "runtime.json"
    wait_until(lambda: event.exists() and json.loads(event.read_text())["state"] == "running", "the machine")
    live = json.loads(runtime.read_text())["supervisorPid"]
    guard = int(Path(f"/proc/{live}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(guard, signal.SIGSTOP)
    os.kill(json.loads(runtime.read_text())["pid"], signal.SIGKILL)
    wait_until(lambda: not (host.state / "agent-1").exists(), "the removal")
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=0.5)
    os.kill(guard, signal.SIGCONT)
    child.stdout.read()
    child.wait(timeout=60)
    assert not host.processes()


def test_lifeline(host):
    """The end of the lifeline ends the VM, and --remove leaves no directory, whoever has files in it."""
    read_end, write_end = os.pipe()
    work = host.base / "work"
    work.mkdir()
    config = host.config(command=["sh", "-c", "! test -d /work || touch /work/mine; while :; do sleep 1; done"])
    if os.getuid() == 0 and host.backend == "qemu":
        config["shares"] = [{"tag": "t", "path": str(work), "mountpoint": "/work", "mode": "rw"}]
    events_read, events_write = os.pipe()
    child = subprocess.Popen(
        [BIN / host.program, "--lifeline-fd", str(read_end), "--events-fd",
         str(events_write), "--remove"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(read_end, events_write), env=host.env)
    os.close(read_end)
    os.close(events_write)
    child.stdin.write(host.own(request("run", config)))
    child.stdin.close()
    with os.fdopen(events_read) as events:
        for line in events:
            if json.loads(line)["state"] == "running":
                break
        if "shares" in config:
            plant(host, work)
        os.close(write_end)
        last = json.loads(events.read().splitlines()[-1])
    assert (last["state"], last["detail"]) == ("stopped", "killed: the caller that started the machine went away"), last
    child.stdout.read()
    child.wait(timeout=60)
    assert not host.processes()
    assert not list(host.left()) and not (host.state / "agent-1").exists()
    assert [path.name for path in work.iterdir()] == (["mine"] if "shares" in config else [])
