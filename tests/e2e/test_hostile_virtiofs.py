# SPDX-License-Identifier: MIT
"""Tests a virtiofsd that was taken over (tests/hostile/virtiofsd.c), in front of QEMU and the supervisor. The event is
reported, the machine ends or goes on without the directory, and nothing is left."""

import errno
import fcntl
import json
import os
import stat
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

import bundles
import inject
import strays
import test_half_start
import virtiofsd
from conftest import OWN, ROOT, wait_until

OPENAT, SETRESUID, FCHMODAT = 257, 117, 268
SETXATTR, FSETXATTR, REMOVEXATTR, FREMOVEXATTR = 188, 190, 197, 199
CLONE_NEWUSER = 0x10000000
CAP_SETFCAP = 31
LEASE = 4  # VIRTIOFSD_FD_LEASE
replace = test_half_start.mount_over
DIED = "died before it was ready: QEMU ended by itself with code 1: "
DEADLINE = "the boot deadline passed"
REFUSED = "QEMU: vhost_backend_init failed"
LATE = "QEMU has not answered a monitor command"
SHORT = {f"MICROAGENT_TEST_LIMIT_{name}": "1500" for name in ("BOOT_TCG_MS", "FIRMWARE_MS", "BOOT_KVM_MS")}


@pytest.fixture
def hostile(replace, host):
    """Makes a directory, and puts the hostile server in virtiofsd's place. A file in the directory says what the server does."""
    made = OWN / "hostile-virtiofsd"
    subprocess.run(["gcc", "-static", "-O2", "-D_GNU_SOURCE", "-o", made, ROOT / "tests/hostile/virtiofsd.c"], check=True)
    host("base", "create", "web", check=0)
    replace(virtiofsd.PROGRAM, made)
    work = host.base / "work"
    work.mkdir()
    yield work
    host("base", "delete", "web-v1", check=0)


def test_a_machine_ends_with_its_directory(host, hostile):
    host("create", "w", "--memory", 256, "--share", f"{hostile}:/work", check=0)
    # If QEMU and its peer end together, either may be named.
    for what, errors, limits in (("silent", [DEADLINE], SHORT), ("floods", [DEADLINE], SHORT), ("closes", [DIED], {}),
                                 ("ends", [DIED, "virtiofsd share-0 ended with code 3: no more "], {}),
                                 ("leaves", [DIED, "virtiofsd share-0 ended "], {})):
        (hostile / ".hostile").write_text(what)
        done = host("start", "w", env=limits)
        event = host.json("status", "w")["event"]
        assert done.returncode and event["state"] == "failed", (what, done, event)
        assert any(error in event["detail"] for error in errors), (what, event)
        assert "\033" not in done.stderr and not strays.running(host.state), (what, done)
    assert (host.state / "w" / "supervisor.log").stat().st_size < 1 << 20
    host("delete", "w", check=0)


def test_a_machine_goes_on_without_the_directory(host, hostile):
    """A directory that was half plugged in is taken back each time, so that the next one can be plugged in."""
    made = host.json("session", "create", "--base", "web", "--network", "isolated",
                     env={"MICROAGENT_TEST_LIMIT_QMP_MS": "3000"})
    name, place = made["name"], host.state / "sessions" / f"{made['name']}.bundle"
    before = set(strays.running(host.base))
    for what, error in (("closes", REFUSED), ("noise", REFUSED), ("half", REFUSED), ("long", REFUSED),
                        ("lies", "QEMU: vhost backend memory slots"), ("ends", "no more ?[31mtoday: QEMU: "),
                        ("leaves", REFUSED), ("silent", LATE)):
        (hostile / ".hostile").write_text(what)
        done = host("session", "share", name, hostile)
        assert done.returncode in (1, 75) and error in done.stderr and "\033" not in done.stderr, (what, done)
        wait_until(lambda: set(strays.running(host.base)) == before, f"the end of one that {what}")
        assert host("session", "exec", name, "--", "echo", "well", check=0).stdout == "well\n"
    assert json.loads((place / "event.json").read_text())["state"] == "running"
    host("session", "destroy", name, check=0)


def settings_that_open(pid):
    """Answers of calls, made inside the process, that open a setting of the host for writing: one for each way and user."""
    ways = [0] + [int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir() if os.readlink(entry).endswith("/fd")]
    answers = []
    for uid in (0, 1000):
        inject.system_call(pid, SETRESUID, -1, uid, -1)
        for way in ways:
            path = inject.put(pid, b"/proc/sys/vm/swappiness\0" if not way else b"../../sys/vm/swappiness\0")
            answers.append(inject.system_call(pid, OPENAT, way, path, os.O_WRONLY))
        inject.system_call(pid, SETRESUID, -1, 0, -1)
    return answers


def refuses_settings(pid):
    answers = settings_that_open(pid)
    assert len(answers) >= 4 and set(answers) <= {-errno.EROFS, -errno.EACCES, -errno.ENOENT}, answers
    assert -errno.EROFS in answers


def refuses_devices_and_secrets(pid):
    """The null device and the files of /proc that nobody else may read belong to the host's root."""
    inject.refuses_mode_of_null(pid)
    assert inject.system_call(pid, FCHMODAT, 0, inject.put(pid, b"/dev/null\0"), 0o666) == -errno.ENOENT
    secrets = [entry.name for entry in Path("/proc").iterdir() if entry.name.isalpha() and entry.is_file()
               and not entry.is_symlink() and not entry.stat().st_mode & 0o004]
    assert "kpagecount" in secrets
    for name in secrets:
        path = inject.put(pid, f"/proc/{name}\0".encode())
        assert inject.system_call(pid, OPENAT, 0, path, os.O_RDONLY) in (-errno.EACCES, -errno.ENOENT), name


def refuses_namespaces(pid):
    """In a namespace of its own it would have all capabilities."""
    assert inject.system_call(pid, inject.UNSHARE, CLONE_NEWUSER) == -errno.EPERM


def refuses_mode_of_lease(pid):
    lease = os.stat(f"/proc/{pid}/fd/{LEASE}")
    assert stat.S_ISFIFO(lease.st_mode) and stat.S_IMODE(lease.st_mode) == 0o600
    assert inject.system_call(pid, inject.FCHMOD, LEASE, 0o666) == -errno.EROFS


def holds_up_nobody(pid, path):
    """A process of the host that opens a file would wait for the holder of a lease of it. Here the owner, the share's
    uid 1000, needs no capability for a lease."""
    path.write_bytes(b"of the host")
    assert inject.system_call(pid, SETRESUID, -1, 1000, -1) == 0
    fd = inject.open_file(pid, -100, "/" + path.name, os.O_RDWR)
    assert fd >= 0 and os.path.samestat(os.stat(f"/proc/{pid}/fd/{fd}"), path.stat())
    for command, value in ((fcntl.F_SETLEASE, fcntl.F_WRLCK), (fcntl.F_SETLEASE + (1 << 32), fcntl.F_WRLCK), (fcntl.F_NOTIFY, fcntl.DN_CREATE),
                           (fcntl.F_SETOWN, pid), (fcntl.F_SETSIG, 9), (fcntl.F_SETFL, os.O_ASYNC)):
        assert inject.system_call(pid, inject.FCNTL, fd, command, value) == -errno.EPERM, command
    assert inject.system_call(pid, inject.CLOSE, fd) == 0 and inject.system_call(pid, SETRESUID, -1, 0, -1) == 0
    assert path.read_bytes() == b"of the host"


def refuses_capabilities_of_files(pid, path, name):
    """With a capability for the host's root, which the share's uid 1000 is, a file would give root's rights to
    everybody who executes it."""
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    for kind in ("CapPrm", "CapEff", "CapBnd"):
        assert not int(status[kind], 16) >> CAP_SETFCAP & 1, (kind, status[kind])
    words = name, b"security.capability", struct.pack("<IIIIII", 0x03000001, 1 << 7, 0, 0, 0, 1000)
    base = inject.put(pid, b"".join(word.ljust(64, b"\0") for word in words))
    name, attribute, value = base, base + 64, base + 128
    fd = inject.system_call(pid, OPENAT, -100, name, os.O_RDONLY)
    assert fd >= 0 and os.path.samestat(os.stat(f"/proc/{pid}/fd/{fd}"), os.stat(path))
    for call in ((SETXATTR, name, attribute, value, 24), (FSETXATTR, fd, attribute, value, 24),
                 (REMOVEXATTR, name, attribute), (FREMOVEXATTR, fd, attribute)):
        assert inject.system_call(pid, *call) == -errno.EPERM, call
    assert "security.capability" not in os.listxattr(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="it is the host's root that needs no capability for it")
def test_one_that_was_taken_over_has_nothing_of_the_hosts_root(host):
    (host.base / "work").mkdir(mode=0o700)
    (host.base / "work" / "program").write_bytes(b"")
    host("create", "w", "--memory", 256, "--cpus", 1, "--network", "isolated", "--share", f"{host.base / 'work'}:/work", check=0)
    host("start", "w", check=0)
    facts = json.loads((host.state / "w" / "runtime.json").read_text())
    outer, = (c["pid"] for c in facts["companions"] if c["name"].startswith("virtiofsd"))
    server = int(Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0])
    refuses_settings(server)
    refuses_devices_and_secrets(server)
    refuses_namespaces(server)
    refuses_mode_of_lease(server)
    refuses_capabilities_of_files(server, host.base / "work" / "program", b"/program")
    holds_up_nobody(server, host.base / "work" / "leased")
    host("kill", "w", check=0)
    host("delete", "w", check=0)


@pytest.mark.skipif(os.geteuid() != 0, reason="containers of engines are root's")
def test_that_of_containers_has_nothing_of_the_hosts_root():
    oci = bundles.Runtime(Path(tempfile.mkdtemp(prefix="o-")))
    try:
        oci.started("sleep", "1000")
        server, = (pid for pid, line in strays.running(oci.base).items() if "/virtiofsd" in line.split()[0])
        refuses_settings(server)
        refuses_devices_and_secrets(server)
        refuses_namespaces(server)
        refuses_mode_of_lease(server)
        oci("delete", "--force", "c", check=0)
    finally:
        oci.close(True)
