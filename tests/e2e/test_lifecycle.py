# SPDX-License-Identifier: MIT
"""Tests named workspaces by the command line: create, start, status, logs, list, stop, kill, delete."""

import json
import os
import stat
import subprocess

import pytest

from conftest import ended, wait_until

SMALL = ("--memory", 256, "--cpus", 1)


def state_of(host, name):
    return host.json("status", name)["event"]["state"]


def test_life_of_a_workspace(host):
    host("create", "w", *SMALL, check=0)
    assert state_of(host, "w") == "prepared"
    host("start", "w", check=0)
    status = host.json("status", "w")
    assert status["event"]["state"] == "running"
    assert status["readiness"]["guestReady"]["ready"] is True
    assert status["readiness"]["shellReady"]["ready"] is True
    assert status["readiness"]["resultReady"]["ready"] is False
    host("exec", "w", "--", "sh", "-c", "echo kept > /workspace/f", check=0)
    assert [w["name"] for w in host.json("list")["workspaces"]] == ["w"]
    assert "w" in host("list", check=0).stdout
    host("stop", "w", check=0)
    assert state_of(host, "w") == "stopped"
    assert not host.processes()
    host("start", "w", check=0)
    assert host("exec", "w", "--", "cat", "/workspace/f", check=0).stdout == "kept\n"
    host("kill", "w", check=0)
    assert state_of(host, "w") == "stopped"
    host("delete", "w", check=0)
    host("delete", "w", check=0)  # the workspace is absent, as was asked for
    assert host.json("list")["workspaces"] == []


def test_a_second_start_and_a_running_delete_are_refused(vm):
    again = vm("--json", "start", "vm")
    assert again.returncode == 1
    assert json.loads(again.stdout)["errorCode"] == "conflict"
    refused = vm("delete", "vm")
    assert refused.returncode == 1 and "stop" in refused.stderr
    assert vm("exec", "vm", "--", "echo", "on", check=0).stdout == "on\n"


def test_a_workload_runs_at_start_and_ends_the_workspace(host):
    host("create", "w", *SMALL, "--", "sh", "-c", "echo hello; exit 3", check=0)
    host("start", "w")
    assert ended(host)["state"] == "failed"  # its exit code was not 0
    status = host.json("status", "w")
    assert status["result"]["exitCode"] == 3
    assert status["result"]["stdout"] == "hello\n"
    host("delete", "w", check=0)


def test_logs_show_the_serial_console(host):
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    host("exec", "--user", "root", "w", "--", "sh", "-c", "echo a word >/dev/console", check=0)
    wait_until(lambda: "a word" in host("logs", "w", check=0).stdout, "the guest's word")
    follower = host.popen("logs", "w", "-f")
    assert follower.stdout.readline()
    host("stop", "w", check=0)
    follower.communicate(timeout=30)  # following ends when the workspace has ended
    assert follower.returncode == 0
    host("delete", "w", check=0)


def test_a_guest_with_too_little_memory_for_its_kernel(host, debian_kernel):
    """The kernel ends before its first word, so the failure names the memory."""
    assert "64 MiB of memory may be too little for this kernel" in host("run", "--kernel", debian_kernel["name"], "--memory", 64, "--", "true", check=125).stderr
    assert not list(host.state.glob("[!.]*"))


def test_verbs_that_look(host):
    """Tests events, result and inspect of a workspace whose command ends by itself."""
    host("create", "w", "--profile", "tiny", "--", "sh", "-c", "echo out; echo 'e\033[1m' >&2; sleep 1; exit 3",
         check=0)
    missing = host("result", "w", check=1)
    assert "has no result" in missing.stderr
    assert host.json("inspect", "w")["event"]["state"] == "prepared"
    host("start", "w")
    followers = [host.popen(*words, "events", "w", "-f") for words in ((), ("--json",))]
    out = [f.communicate(timeout=120)[0].decode().splitlines() for f in followers]
    assert [f.returncode for f in followers] == [0, 0]
    events = host.json("events", "w")["events"]
    assert [e["state"] for e in events] == ["prepared", "starting", "running", "failed"]
    assert [json.loads(line) for line in out[1]] == events
    assert [line.split()[:2] for line in out[0]] == [[e["observedAt"], e["state"]] for e in events]
    assert host("events", "w", check=0).stdout.splitlines() == out[0]
    shown = host("result", "w", check=0).stdout
    assert "exit code" in shown and "--- stdout\nout\n--- stderr\ne\033[1m\n" in shown
    assert host.json("result", "w")["result"]["exitCode"] == 3
    text = host("inspect", "w", check=0).stdout
    assert json.loads(text) == host.json("inspect", "w") and "\n  " in text
    listed = host.json("list")["workspaces"][0]
    assert (listed["memoryMiB"], listed["cpuCount"]) == (256, 1)
    host("delete", "w", check=0)
    for verb in ("events", "result", "inspect", "halt", "quarantine"):
        assert "there is no workspace" in host(verb, "w", check=1).stderr, verb


def test_halt_and_quarantine_without_a_machine(host):
    host("create", "w", *SMALL, check=0)
    halted = host("halt", "w", check=0)
    assert halted.stdout == "w: prepared\n" and "no machine was running" in halted.stderr
    assert host.json("quarantine", "w")["event"]["detail"] == "no machine was running"
    assert "quarantined" in host("start", "w", check=1).stderr
    assert "quarantined" in host("exec", "w", "--", "true", check=125).stderr
    assert host("halt", "w", check=0).stdout == "w: halted\n"
    assert host("stop", "w", check=0).stdout == "w: stopped\n"
    host("delete", "w", check=0)


def test_profiles(host):
    rows = {p["name"]: (p["memoryMiB"], p["cpuCount"], p["diskMiB"]) for p in host.json("profiles")["profiles"]}
    assert rows == {"tiny": (256, 1, 512), "small": (512, 2, 1024), "medium": (2048, 2, 8192),
                    "large": (4096, 4, 16384)}
    assert all(name in host("profiles", check=0).stdout for name in rows)
    host("create", "w", "--profile", "tiny", "--memory", 300, check=0)
    listed = host.json("list")["workspaces"][0]
    assert (listed["memoryMiB"], listed["cpuCount"]) == (300, 1)
    assert "there is no profile" in host("create", "x", "--profile", "huge", check=2).stderr
    host("delete", "w", check=0)


def test_files_and_rights(host):
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    directory = host.state / "w"
    assert stat.S_IMODE(host.state.stat().st_mode) == 0o700
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for file in directory.iterdir():
        others = 0o007 if file.name == "vmm" else 0o077  # by a group that only the VMM has
        assert stat.S_IMODE(file.lstat().st_mode) & others == 0, file
    runtime = json.loads((directory / "runtime.json").read_text())
    assert runtime["pid"] > 1 and runtime["bootId"] and runtime["accelerator"] in ("kvm", "tcg")
    assert os.path.exists(f"/proc/{runtime['pid']}")
    events = json.loads((directory / "events.json").read_text())
    assert [e["state"] for e in events] == ["prepared", "starting", "running"]
    assert json.loads((directory / "event.json").read_text()) == events[-1]
    host("kill", "w", check=0)
    assert not (directory / "vsock.sock").exists() and not (directory / "control.sock").exists()
    host("delete", "w", check=0)


@pytest.mark.usefixtures("kernel_by_path")
def test_no_root_needed(host):
    """An ordinary user with only the programs, a kernel and an image."""
    if os.getuid() != 0:
        pytest.skip("already an ordinary user: the other tests prove it")
    from conftest import BIN, default_kernel, image
    kernel, disk = default_kernel(host), image(host, "busybox")
    home = host.base / "home"
    home.mkdir()
    programs = home / "bin"
    programs.mkdir()
    for program in BIN.iterdir():
        subprocess.run(["cp", program, programs], check=True)
    for source in (kernel["path"], kernel["initrd"], disk["path"]):
        subprocess.run(["cp", "--sparse=always", source, home], check=True)
    subprocess.run(["chown", "-R", "4242:4242", home, host.tmp], check=True)
    names = [os.path.basename(p) for p in (kernel["path"], disk["path"])]
    done = subprocess.run(
        ["setpriv", "--reuid", "4242", "--regid", "4242", "--groups", "4242", str(programs / "microagent"),
         "run", "--memory", "256", "--cpus", "1", "--kernel", home / names[0], "--image", home / names[1],
         "--", "id", "-u"],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(host.tmp),
             **{name: value for name, value in os.environ.items() if name.startswith("MICROAGENT_TEST_")}},
        capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, check=False)
    assert (done.returncode, done.stdout) == (0, "1000\n"), done.stderr
    assert not [p for p in (home / ".microagent").iterdir() if p.name not in (".locks", ".microagent-state")]


def test_a_foreign_root_file_system_boots(host):
    """Makes an ext4 image that has nothing of ours and hardly anything else."""
    tree = host.base / "tree"
    (tree / "bin").mkdir(parents=True)
    subprocess.run(["cp", "/bin/busybox", tree / "bin" / "busybox"], check=True)
    disk = host.base / "foreign.ext4"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", tree, disk, "32M"], check=True)
    done = host("run", *SMALL, "--image", disk, "--", "/bin/busybox", "id", "-u", check=0)
    assert done.stdout == "1000\n"


def test_long_state_directory(host):
    deep = host.base / "/".join(["d" * 60] * 5)
    deep.mkdir(parents=True)
    assert len(str(deep)) > 300
    env = {"MICROAGENT_STATE_DIR": str(deep / "s")}
    done = host("run", *SMALL, "--", "echo", "deep", env=env, check=0)
    assert done.stdout == "deep\n"
    assert [p.name for p in (deep / "s").iterdir() if p.name not in (".locks", ".microagent-state")] == []
