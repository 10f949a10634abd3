# SPDX-License-Identifier: MIT
"""Tests which backend makes a machine, and that the machine keeps its backend."""

import json
import os

import pytest

from test_supervisor import request, sparse

NOWHERE = {"MICROAGENT_FIRECRACKER_SUPERVISOR": "/nonexistent/supervisor"}
SMALL = ("--memory", 256, "--cpus", 1)


@pytest.mark.parametrize("words", (("create", "w"), ("run", "--", "true"), ("host",), ("doctor",), ("session", "create", "--base", "b"),
                                   ("base", "create", "b", "--size", 300)), ids=lambda words: "-".join(words[:2]).strip("-"))
def test_a_backend_that_nobody_knows(host, words):
    at = 2 if words[0] in ("session", "base") else 1
    done = host(*words[:at], "--backend", "xen", *words[at:], check=2)
    assert 'there is no backend "xen": choose one of apple-vf, firecracker, windows-hyperv, qemu' in done.stderr
    assert not host.state.exists()


def test_a_backend_whose_supervisor_is_not_here(host):
    """The message names the backend, and nothing of the workspace is left."""
    for words in (("create", "--backend", "firecracker", "w"), ("run", "--backend", "firecracker", "--", "true"), ("host", "--backend", "firecracker")):
        done = host(*words, env=NOWHERE, check=125 if words[0] == "run" else 1)
        assert "/nonexistent/supervisor" in done.stderr, words
    assert not list(host.left())
    answer = host.json("doctor", "--backend", "firecracker", env=NOWHERE, check=1)
    rows = {row["name"]: row for row in answer["checks"]}
    assert "qemu" not in rows and "vsock" not in rows
    assert rows["firecracker"]["status"] == "failed" and "MICROAGENT_FIRECRACKER" in rows["firecracker"]["remedy"]
    assert rows["tested"]["status"] == "degraded"


@pytest.mark.parametrize("backend,system", [("apple-vf", "macOS"), ("windows-hyperv", "Windows")])
def test_a_backend_of_another_system(host, backend, system):
    """Nothing on this host mends that, and of a host that is not its own nothing else is said."""
    words = f"backend {backend} makes machines only on {system}, but this host is Linux: choose another backend"
    nowhere = {"PATH": "/usr/bin:/bin", "MICROAGENT_APPLE_VF_SUPERVISOR": ""}  # where the stand-in is not
    for command in (("create", "--backend", backend, "w"), ("run", "--backend", backend, "--", "true"), ("host", "--backend", backend)):
        done = host(*command, env=nowhere, check=125 if command[0] == "run" else 1)
        assert words in done.stderr, done.stderr
    assert not list(host.left())
    assert host.json("doctor", "--backend", backend, env=nowhere, check=1)["checks"] == [
        {"name": "supervisor", "status": "failed", "detail": words}]


def test_doctor_says_what_was_never_run(host):
    facts = host.json("host")["host"]
    row = next(row for row in host.json("doctor")["checks"] if row["name"] == "tested")
    assert row["detail"] == facts.get("untested", f"on {facts.get('testedOn')}")
    assert row["status"] == ("degraded" if "untested" in facts else "ok")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root shows another os-release")
@pytest.mark.parametrize("text,release", [("ID=debian\nVERSION_ID=\"12\"\n", "Debian 12"), ("VERSION_ID=13\nID=debian", "Debian 13"),
                                          ("ID=debian\n", None), ("ID=ubuntu\nVERSION_ID=\"24.04\"\n", None),
                                          ("ID=notdebian\nID_LIKE=debian\nVERSION_ID=123\n", None), ("", None)])
def test_the_release_that_the_host_is_of(host, text, release):
    (host.base / "os-release").write_text(text)
    host.wrap = ["unshare", "--mount", "sh", "-c", f'mount --bind {host.base}/os-release /etc/os-release && exec "$@"', "sh"]
    facts = host.json("host", env={"MICROAGENT_TEST_KVM": "/nonexistent"})["host"]  # another thing about KVM was never tested
    assert facts.get("testedOn") == release
    assert release or facts["untested"] == "it was not tested on this host's system (it was tested on Debian 12 and 13)"


@pytest.fixture
def elsewhere(host):
    """Makes a workspace at rest that another backend has made."""
    host("create", "w", *SMALL, check=0)
    path = host.state / "w" / "event.json"
    event = json.loads(path.read_text())
    event["identity"]["backend"] = "firecracker"
    path.write_text(json.dumps(event))
    yield path
    if path.exists():
        event["identity"]["backend"] = "qemu"
        path.write_text(json.dumps(event))
    host("delete", "w", check=0)  # a workspace that is gone is no error


def test_a_workspace_is_driven_by_the_backend_that_made_it(host, elsewhere):
    before = {p.name: p.read_bytes() for p in elsewhere.parent.iterdir() if p.is_file() and p.name != "rootfs.ext4"}
    config = {**json.loads((elsewhere.parent / "workspace.json").read_text())["config"]}
    for command in ("inspect", "kill", "stop", "halt", "quarantine"):
        code, answer, _ = host.supervisor(request(command, sparse(host), runtimeID="w"))
        assert code == 1 and answer["errorCode"] == "conflict", (command, answer)
        assert answer["error"] == 'workspace w uses the backend "firecracker", but this is the supervisor of "qemu"'
    for command in ("prepare", "start", "run"):
        code, answer, _ = host.supervisor(request(command, config, runtimeID="w"))
        assert code == 1 and 'uses the backend "firecracker"' in answer["error"], (command, answer)
    assert {p.name: p.read_bytes() for p in elsewhere.parent.iterdir() if p.is_file() and p.name != "rootfs.ext4"} == before
    # Every backend may delete a workspace in which nothing lives.
    assert host.supervisor(request("delete", sparse(host), runtimeID="w"))[0] == 0


def test_the_library_asks_the_supervisor_that_the_record_names(host, elsewhere):
    for command in ("status", "start", "stop", "delete", "network"):
        assert "/nonexistent/supervisor" in host(command, "w", env=NOWHERE, check=1).stderr, command
    assert elsewhere.exists()
    assert "/nonexistent/supervisor" in host("clone", "w", "v", env=NOWHERE, check=1).stderr
    assert not (host.state / "v").exists()
