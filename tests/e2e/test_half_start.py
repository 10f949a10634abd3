# SPDX-License-Identifier: MIT
"""Tests starts that fail half-way: a companion that is missing or dies at once, a port or a socket that is taken. The
answer names it, and nothing is left."""

import errno
import os
import shlex
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

import virtiofsd
from conftest import BACKEND, BIN, HANG_S, skip_vmm_outside_of_a_cell, wait_until
from test_bundles import small_config
from failing_calls import without
from test_least_rights import NO_NAMESPACES
from test_mediation import free_port, mediation
from test_shares import share
from test_supervisor import answer_of, begin, request, sparse
from test_unconfined import SETTING

# name in messages: (its place, the config that needs it). Without bwrap a workspace starts, in a looser cell.
COMPANIONS = {name: where for name, where in {
    "passt": (lambda: shutil.which("passt"), "nat"),
    "microagent-netgate": (lambda: BIN / "microagent-netgate", "nat"),
    "microagent-vsockd": (lambda: BIN / "microagent-vsockd", None),
    "virtiofsd": (lambda: virtiofsd.PROGRAM, "share"),
}.items() if BACKEND == "qemu" or name in ("passt", "microagent-netgate")}  # Firecracker has a vsock, and no shares


@pytest.fixture(name="replace")
def mount_over(host):
    """replace(path, by): the host's programs see `by` as path, and nobody else does."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts something over a program")

    def replace(path, by):
        host.wrap = ["unshare", "-m", "sh", "-c", f'mount --bind {by} {path} && exec "$@"', "sh"]
    return replace


def prepared(host, needs=None, **changes):
    host.wrap = []
    if needs == "nat":
        changes["network"] = {"mode": "nat"}
    if needs == "share":
        work = host.base / "work"
        work.mkdir(exist_ok=True)
        changes["shares"] = [share(work, "/work")]
    config = small_config(host, **changes)
    code, answer, _ = host.supervisor(request("prepare", config))
    assert code == 0, answer
    return config


def check_refused(host, config, word, state="failed"):
    """prepared: before a boot has begun."""
    code, answer, _ = host.supervisor(request("start", config))
    assert code != 0 and word in answer["error"], answer
    assert not host.processes()
    directory = host.state / "agent-1"
    assert not [p.name for p in directory.iterdir() if p.is_socket() or p.suffix == ".tmp"]
    code, now, _ = host.supervisor(request("inspect", sparse(host)))
    assert (code, now["event"]["state"], answer["event"]["state"]) == (0, state, state)
    if state == "failed":
        assert word in now["event"]["detail"], now
    return answer


def test_companions_that_are_missing_or_die_at_once(host, replace):
    dying = host.base / "dying"
    version = "test \"$1\" = --version && exec echo 'virtiofsd version 7.2.0'\n"  # virtiofsd is asked this first
    dying.write_text(f"#!/bin/sh\n{version}kill -9 $$\n")
    dying.chmod(0o755)
    speaking = host.base / "speaking"
    speaking.write_text(f"#!/bin/sh\n{version}echo 'not the last word' >&2\necho 'no luck today' >&2\nexit 3\n")
    speaking.chmod(0o755)
    for name, (where, needs) in COMPANIONS.items():
        config = prepared(host, needs)
        replace(where(), "/dev/null")  # which is no program
        assert check_refused(host, config, name, "prepared")["errorCode"] == "unavailable"
        replace(where(), dying)
        check_refused(host, config, name)
        # Its last words are the reason. In a cell without a shell the cell gives the reason.
        replace(where(), speaking)
        answer = check_refused(host, config, name)
        word = "bwrap: " if name == "virtiofsd" else "ended with code 3: no luck today"
        assert word in answer["error"] and "serial.log" not in answer["error"], answer
        host.supervisor(request("delete", sparse(host)))


def test_a_companion_that_dies_when_the_guest_has_spoken(host):
    """The words about the serial console are true, also if the guest has said only what it says at every start."""
    if BACKEND != "qemu":
        pytest.skip("its vsock is the machine's own")
    config = prepared(host)
    starter, log = begin(host, "start", config), host.state / "agent-1" / "serial.log"
    wait_until(lambda: log.exists() and log.stat().st_size > 0, "the guest's first words")
    vsockd = next(pid for pid in host.processes() if Path(f"/proc/{pid}/comm").read_text() == "microagent-vsoc\n")
    os.kill(vsockd, signal.SIGKILL)
    code, answer = answer_of(starter)
    said = log.read_text(errors="replace")
    assert code == 1 and "microagent-vsockd" in answer["error"] and "said nothing" not in answer["error"], (answer, said)
    assert ("serial.log ends: " in answer["error"] or
            answer["error"].endswith("; the guest's serial console does not say why")), (answer, said)
    assert host.supervisor(request("delete", sparse(host)))[0] == 0


def test_companions_without_namespaces(host, replace):
    """Their confinement is missing. This is refused like a missing cell, unless the user does without."""
    for name in [name for name in ("microagent-vsockd", "microagent-netgate") if name in COMPANIONS]:
        where, needs = COMPANIONS[name]
        real, stand_in = host.base / name, host.base / "stand-in"
        shutil.copy2(where(), real)
        # The kernel's error if user.max_user_namespaces of them exist.
        stand_in.write_text(f'#!/bin/sh\nexec {shlex.join(without(272, errno.ENOSPC))} {real} "$@"\n')
        stand_in.chmod(0o755)
        config = prepared(host, needs)
        replace(where(), stand_in)
        answer = check_refused(host, config, f"{name} ended with code 75: {name}: namespaces cannot be made here (unshare: No space left on "
                               "device): it needs the sysctl user.max_user_namespaces=10000")
        assert answer["errorCode"] == "unavailable", answer
        host.supervisor(request("delete", sparse(host)))
    if BACKEND == "firecracker":  # in a cell alone
        return
    skip_vmm_outside_of_a_cell()
    config = prepared(host, needs, confinement="seccomp")
    replace(where(), stand_in)
    code, answer, _ = host.supervisor(request("start", config))
    assert code == 0 and answer["confinement"] == "seccomp", answer
    log = (host.state / "agent-1" / "supervisor.log").read_text()
    assert f"{name}: namespaces cannot be made here (unshare: " in log and "confined by seccomp alone" in log
    for command in ("kill", "delete"):
        assert host.supervisor(request(command, sparse(host)))[0] == 0


@pytest.mark.parametrize("program, words", [
    ("microagent-vsockd", ["--vhost-fd", 3, "--vsock-socket", "sock"]),
    ("microagent-netgate", ["--vm-fd", 3, "--supervisor-fd", 4, "--guest-address", "10.0.2.15", "--guest-mac", "02:00:00:00:00:01"])])
def test_a_host_without_namespaces(tmp_path, program, words):
    if os.getuid() != 0:
        pytest.skip("an ordinary user cannot give these rights up in a namespace of one's own")
    pairs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM), socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line = 'exec "$@" 3<&%d 4<&%d' % tuple(pair[0].fileno() for pair in pairs)
    done = subprocess.run([*NO_NAMESPACES, "bash", "-c", line, "bash", BIN / program, *map(str, words)], cwd=tmp_path, timeout=HANG_S,
                          capture_output=True, text=True, check=False, pass_fds=[pair[0].fileno() for pair in pairs])
    assert done.returncode == 75, done
    assert done.stderr.startswith(f"{program}: namespaces cannot be made here (unshare: ") and SETTING in done.stderr, done.stderr


@pytest.mark.parametrize("words, said", [
    ((), "--vm-fd, --supervisor-fd, --guest-address and --guest-mac are needed"),
    (("--bridge-fd", 4), "--bridge-fd needs --vm-fd"),
    (("--vm-fd", 3, "--bridge-fd", 4, "--allow", "10.0.0.0/8"), "--bridge-fd does not work with --passt-fd, "),
    (("--vm-fd", 3, "--bridge-fd", 4, "--bytes-per-second", 1), "--bridge-fd does not work with --passt-fd, "),
    (("--vm-fd", 3, "--bridge-fd", 4, "--egress"), "--bridge-fd does not work with --passt-fd, "),
    (("--egress-name", "https://pypi.org"), "'https://pypi.org' is a URL, not a host name"),
    (("--egress-name", "a.b:53"), "port 53 cannot be opened by name, only by address"),
    (sum((("--egress-name", f"n{n}.org") for n in range(257)), ()), "more than 256 names"),
    (("--egress-prefix", "10.0.0.1/8"), "'10.0.0.1/8' is not an IPv4 prefix: give one like 10.0.0.0/8"),
    (sum((("--egress-prefix", f"5.0.0.{n}") for n in range(65)), ()), "more than 64 prefixes"),
    (("--vm-fd", 3, "--bridge-fd", 4), "--vm-fd must be given a packet socket when --bridge-fd is given, and descriptor 3 is not a packet socket: this is a bug of the program that starts microagent-netgate")])
def test_what_netgate_is_not_started_with(words, said):
    line = 'exec "$@" 3</dev/null 4</dev/null'
    done = subprocess.run(["bash", "-c", line, "bash", BIN / "microagent-netgate", *map(str, words)], timeout=HANG_S,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and said in done.stderr, done


def test_what_cannot_be_listened_on(host):
    port = free_port()
    config = prepared(host, mediation=mediation(1),
                      vsockListeners=[{"port": 3000, "target": "127.0.0.1:1"}])
    for name in ("vsock.sock_2048", "vsock.sock_3000", "vsock.sock", "control.sock", "console.sock"):
        taken = host.state / "agent-1" / name
        taken.mkdir()
        (taken / "x").write_text("")
        check_refused(host, config, name)
        shutil.rmtree(taken)
    host.supervisor(request("delete", sparse(host)))
    config = prepared(host, network={"mode": "nat", "portForwards": [
        {"host": "127.0.0.1", "hostPort": port, "guestPort": 80}]})
    with socket.create_server(("127.0.0.1", port)):
        assert check_refused(host, config, f"127.0.0.1:{port}", "prepared")["errorCode"] == "unavailable"
    host.supervisor(request("delete", sparse(host)))
