# SPDX-License-Identifier: MIT
"""Tests the rule "no cell, no start", on a host that can make no cell, and the option that does without."""

import json
import os
import shutil

import pytest

from conftest import skip_vmm_outside_of_a_cell, wait_until
from test_audit import events
from test_least_rights import NO_NAMESPACES, status
from test_session_share import own_cache
from test_supervisor import request

SETTING = "sysctl user.max_user_namespaces=10000"


def refused(host, words, text, code=75):
    done = host("--json", *words, check=code)
    answer = json.loads(done.stdout or done.stderr)
    assert answer["errorCode"] == "unavailable" and text in answer["error"], answer
    # A fact that is known only when the machine is made goes into the event, which has a detail and no hint.
    assert ("--unconfined" in answer.get("hint", "")) == ("config.confinement: " in answer["error"]), answer
    return answer["error"]


def finding(host):
    report = json.loads(host("--json", "doctor").stdout)
    return next(check for check in report["checks"] if check["name"] == "confinement")


def test_without_bubblewrap(host):
    """Nothing is made, and the package is named."""
    bin = host.base / "bin"
    bin.mkdir()
    for program in ("qemu-system-x86_64", "true", "passt", "sh"):
        (bin / program).symlink_to(shutil.which(program))
    env = {"PATH": str(bin)}
    missing = "bwrap is not installed: apt-get install bubblewrap"
    for command in ("check", "prepare", "run"):
        code, answer, _ = host.supervisor(request(command, host.config()), env=env)
        assert (code, answer["errorCode"], answer["errorReason"]) == (75, "unavailable", "no-cell"), answer
        assert answer["error"] == f"config.confinement: {missing}" and "event" not in answer
    host.env.update(env)
    refused(host, ["create", "w"], missing)
    assert host("run", "--", "true").returncode == 125
    code, answer, _ = host.supervisor(request("check", host.config(confinement="seccomp")))
    assert code == 0, answer
    # A shared directory has a program of its own, which is of no use without its cell.
    shares = [{"tag": "t", "path": str(bin), "mountpoint": "/a", "mode": "ro"}]
    code, answer, _ = host.supervisor(request("check", host.config(confinement="seccomp", shares=shares)))
    assert code == 75 and answer["error"] == f"config.shares: {missing}", answer
    code, answer, _ = host.supervisor(request("check", host.config(confinement="platform")))
    assert answer["error"] == 'config.confinement must be cell or seccomp, and is "platform"', answer
    assert finding(host)["remedy"] == "sudo apt-get install bubblewrap"
    assert not list(host.state.glob("[!.]*")) and not host.processes()
    done = host("base", "create", "web", "--unconfined", check=2)
    assert "leave out --unconfined" in done.stderr


def test_without_namespaces(host):
    if os.getuid() != 0:
        pytest.skip("an ordinary user cannot give these rights up in a namespace of one's own")
    own_cache(host)
    host("create", "w", "--memory", 256, "--cpus", 1, "--output", "hosts=/etc/hosts", check=0)  # a cell can be had, and this is remembered
    host.wrap = NO_NAMESPACES
    said = refused(host, ["start", "w"], SETTING)
    assert "bwrap" in said and host.json("status", "w")["event"]["state"] == "failed"
    # Now it is known before anything is touched.
    assert refused(host, ["start", "w"], SETTING).startswith("config.confinement: ")
    refused(host, ["run", "--", "true"], SETTING, 125)
    # A machine that reads the disk, or writes to it, is refused too: such a command has no --unconfined of its own.
    for words in (["ls", "w:/"], ["cp", "w:/etc/hosts", str(host.base)], ["cp", "-u", "root", "/etc/hosts", "w:/root/in"],
                  ["artifacts", "get", "w", "hosts", str(host.base / "out")]):
        refused(host, words, SETTING)
        hint = json.loads(host("--json", *words).stdout)["hint"]
        assert hint.startswith("`microagent doctor` says more; `microagent start --prepare --unconfined w`"), hint
    assert not (host.base / "out").exists() and not (host.base / "hosts").exists()
    told = finding(host)
    assert (told["status"], told["remedy"]) == ("failed", "sudo sysctl -w user.max_user_namespaces=10000"), told
    assert "confinement" not in host.json("status", "w") and not host.processes()

    done = host("start", "w", "--prepare", "--unconfined", check=0)
    assert "the VMM runs without a cell" in done.stderr
    facts = json.loads((host.state / "w" / "runtime.json").read_text())
    assert facts["confinement"] == "seccomp" and status(facts["pid"]).get("Seccomp_filters", "2") == "2"
    assert json.loads((host.state / "w" / "workspace.json").read_text())["config"]["confinement"] == "seccomp"
    assert host.json("status", "w")["confinement"] == "seccomp"
    assert "seccomp" in host("status", "w", check=0).stdout
    entry, = host.json("list")["workspaces"]
    assert entry["confinement"] == "seccomp" and "without a cell" in host("list", check=0).stdout
    assert host("exec", "w", "--", "echo", "here", check=0).stdout == "here\n"
    host("kill", "w", check=0)
    assert "confinement" not in host.json("list")["workspaces"][0]
    # The machine that reads its disk does without a cell too, as is recorded.
    (host.base / "in").write_text("written without a cell\n")
    host("cp", "--user", "root", host.base / "in", "w:/etc/hosts", check=0)
    assert "hosts" in host("ls", "w:/etc", check=0).stdout
    for words in (("cp", "--user", "root", "w:/etc/hosts"), ("artifacts", "get", "w", "hosts")):
        host(*words, host.base / "out", check=0)
        assert (host.base / "out").read_text() == "written without a cell\n"
        (host.base / "out").unlink()
    host("delete", "w", check=0)
    host("create", "w", "--memory", 256, "--cpus", 1, "--unconfined", check=0)  # never started
    assert "hosts" in host("ls", "w:/etc", check=0).stdout
    host("delete", "w", check=0)


def test_a_session_of_its_own_will(place):
    """If a cell is possible, the option is still obeyed, with a warning."""
    skip_vmm_outside_of_a_cell()
    made = place("--json", "session", "create", "--base", "web", "--network", "isolated", "--unconfined", check=0)
    assert "the VMM runs without a cell" in json.loads(made.stderr.splitlines()[0])["warning"]
    name = json.loads(made.stdout)["name"]
    entry, = place.json("session", "list")["sessions"]
    assert entry["confinement"] == "seccomp" and "without a cell" in place("session", "list", check=0).stdout
    told, = events(place, name, "vmm.unconfined")
    assert (told["severity"], told["data"]) == ("CRITICAL", {"confinement": "seccomp"})
    place("session", "destroy", name, check=0)
    # The machine has a cell. But a developer looks which calls QEMU would be refused, so nothing of it may look like a
    # confined machine.
    name = place.json("session", "create", "--base", "web", "--network", "isolated", env={"MICROAGENT_QEMU_SECCOMP": "log"})["name"]
    facts = json.loads((place.state / "sessions" / f"{name}.bundle" / "runtime.json").read_text())
    assert "bwrap" in [companion["name"] for companion in facts["companions"]]
    entry, = place.json("session", "list")["sessions"]
    answer = json.loads(place("--json", "status", name, check=0).stdout)
    assert facts["confinement"] == entry["confinement"] == answer["confinement"] == "unfiltered"
    assert "no system call is refused to QEMU" in place("session", "list", check=0).stdout
    assert "unfiltered" in place("status", name, check=0).stdout
    told, = events(place, name, "vmm.unconfined")
    assert (told["severity"], told["data"]) == ("CRITICAL", {"confinement": "unfiltered"})
    place("session", "destroy", name, check=0)
    wait_until(lambda: not place.processes(), "every process to end")
