# SPDX-License-Identifier: MIT
"""Named workspaces through the CLI: create, start, status, logs, list, stop, kill, delete."""

import json
import os
import stat
import subprocess

import pytest

from conftest import ended

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
    host("delete", "w", check=0)  # absent is already what was asked for
    assert host.json("list")["workspaces"] == []


def test_a_second_start_and_a_running_delete_are_refused(host):
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    again = host("--json", "start", "w")
    assert again.returncode == 1
    assert json.loads(again.stdout)["errorCode"] == "conflict"
    refused = host("delete", "w")
    assert refused.returncode == 1 and "stop" in refused.stderr
    host("stop", "w", check=0)
    host("delete", "w", check=0)


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
    assert host("logs", "w", check=0).stdout
    follower = host.popen("logs", "w", "-f")
    assert follower.stdout.readline()
    host("stop", "w", check=0)
    follower.communicate(timeout=30)  # following ends when the workspace has ended
    assert follower.returncode == 0
    host("delete", "w", check=0)


def test_files_and_rights(host):
    host("create", "w", *SMALL, check=0)
    host("start", "w", check=0)
    directory = host.state / "w"
    assert stat.S_IMODE(host.state.stat().st_mode) == 0o700
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for file in directory.iterdir():
        assert stat.S_IMODE(file.lstat().st_mode) & 0o077 == 0, file
    runtime = json.loads((directory / "runtime.json").read_text())
    assert runtime["pid"] > 1 and runtime["bootId"] and runtime["accelerator"] in ("kvm", "tcg")
    assert os.path.exists(f"/proc/{runtime['pid']}")
    events = json.loads((directory / "events.json").read_text())
    assert [e["state"] for e in events] == ["prepared", "starting", "running"]
    assert json.loads((directory / "event.json").read_text()) == events[-1]
    host("kill", "w", check=0)
    assert not (directory / "vsock.sock").exists() and not (directory / "control.sock").exists()
    host("delete", "w", check=0)


def test_no_root_needed(host):
    """An ordinary user with nothing but the programs, a kernel and an image."""
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
        ["setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups", str(programs / "microagent"),
         "run", "--memory", "256", "--cpus", "1", "--kernel", home / names[0], "--image", home / names[1],
         "--", "id", "-u"],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(host.tmp)},
        capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, check=False)
    assert (done.returncode, done.stdout) == (0, "1000\n"), done.stderr
    assert not [p for p in (home / ".microagent").iterdir() if p.name != ".locks"]


def test_a_foreign_root_file_system_boots(host):
    """An ext4 image that holds nothing of ours and hardly anything else."""
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
    assert [p.name for p in (deep / "s").iterdir() if p.name != ".locks"] == []
