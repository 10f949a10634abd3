# SPDX-License-Identifier: MIT
"""Tests the growth of a session's disk: a machine that reaches its quota waits for a higher one."""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

import schema_check
from conftest import BACKEND, HANG_S, held, wait_until
from pools import LATER, wait_full
from test_session_share import make_view
from test_sessions import bundle

MIB = 1 << 20
CLUSTER = 64 << 10  # a layer grows by this
layered = pytest.mark.skipif(BACKEND != "qemu", reason="Firecracker's disks are raw: a session's is no layer")


def create(host, *words, **kw):
    return host.json("session", "create", "--base", "web", "--network", "isolated", *words, **kw)


def directory(host, name):
    return host.state / "sessions" / f"{name}.bundle"


def record(host, name):
    document = json.loads((directory(host, name) / "session.json").read_text())
    schema_check.validate("session", document)
    return document


def listed(host, name):
    return next(s for s in host.json("session", "list")["sessions"] if s["name"] == name)


def paused(host, name):
    """Returns the details of the events that report a pause."""
    events = json.loads((directory(host, name) / "events.json").read_text())
    schema_check.validate("events", events)
    return [e["detail"] for e in events if e.get("detail", "").startswith("paused: ")]


def audited(host, name, event):
    lines = [json.loads(line) for line in host("--json", "audit", "show", name, check=0).stdout.splitlines()]
    for line in lines:
        schema_check.validate("audit-line", line)
    return [(line["severity"], line["data"]) for line in lines if line["event"] == event]


def write(host, name, source, target, by="cat > "):
    """Starts a command that writes the contents of a file of the host. It waits while the machine does."""
    return host.popen("session", "exec", "--user", "root", "--stdin", source, name, "--",
                      "sh", "-c", f"{by}{target} && sync")


def finish(writer):
    _, err = writer.communicate(timeout=HANG_S)
    assert writer.returncode == 0, err


def digest_in(host, name, path):
    """Returns the contents from the disk, and not from the guest's memory."""
    line = f"echo 3 > /proc/sys/vm/drop_caches; sha256sum {path}"
    return host("session", "exec", "--user", "root", name, "--", "sh", "-c", line, check=0).stdout.split()[0]


def random_file(host, mib):
    path = host.base / "random"
    path.write_bytes(os.urandom(mib * MIB))
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def ask(host, name, document, valid=True):
    """Sends a request to control.sock by hand."""
    if valid:
        schema_check.validate("control-sock-request", document)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(directory(host, name) / "control.sock"))
        client.sendall(json.dumps(document).encode() + b"\n")
        answer = json.loads(client.makefile().readline())
    schema_check.validate("control-sock-answer", answer)
    return answer


def check_requests(host, name, quota):
    """The same quota again changes nothing. A smaller one, or no number, is refused."""
    answer = ask(host, name, {"command": "disk-quota", "bytes": quota})
    assert answer == {"ok": True, "disk": {"quotaBytes": quota, "grownBytes": answer["disk"]["grownBytes"]}}
    assert ask(host, name, {"command": "disk-quota", "bytes": quota - 1})["errorCode"] == "conflict"
    for bad in (0, -1, "1", None):
        assert ask(host, name, {"command": "disk-quota", "bytes": bad}, False)["errorCode"] == "invalid"
    for mib in ("0", "-1", "x", "16777217"):
        done = host("session", "quota", "--", name, mib)
        assert done.returncode in (1, 2) and "MiB" in done.stderr, done.stderr
    assert record(host, name)["quotaBytes"] == quota


def check_waiting(host, name, quota, times):
    """The machine is paused, this is reported once, and the machine does nothing until it may have more."""
    said = f"paused: its disk has grown to its quota of {quota} MiB"
    assert paused(host, name).count(said) == 1 and len(paused(host, name)) == times
    told = listed(host, name)
    assert (told["state"], told["detail"], told["quotaBytes"]) == ("running", said, quota * MIB)
    assert "paused: its disk" in host("session", "list", check=0).stdout
    reached = audited(host, name, "session.quota-reached")
    assert len(reached) == times and reached[-1] == (
        "CRITICAL", {"grownBytes": reached[-1][1]["grownBytes"], "quotaBytes": quota * MIB})
    logs = "".join(log.read_text() for log in (host.state / "logs").glob("security-*.log"))
    alarms = [json.loads(line) for line in logs.splitlines() if "session.quota-reached" in line and name in line]
    assert len(alarms) == times and alarms[-1]["data"]["quotaBytes"] == quota * MIB
    for words in (("session", "exec", name, "--", "true"),
                  ("--state-dir", host.state / "sessions", "cp", f"{name}.bundle:/etc/passwd", host.base)):
        done = host(*words, env={"MICROAGENT_TEST_LIMIT_DIAL_MS": "300"})
        assert done.returncode in (75, 125), done
        assert f"{said}\nmicroagent: hint: `microagent session quota {name} MIB` raises it" in done.stderr, done.stderr
    done = host("session", "quota", name, quota - 1)
    assert done.returncode == 1 and "give a larger quota, or stop the session first" in done.stderr
    # Looking at it is no open of a file that is the machine's alone.
    assert [data["file"] for _, data in audited(host, name, "bundle.opened") if data["file"].startswith("rootfs")] == []
    return reached[-1][1]["grownBytes"]


@layered
def test_a_layer_is_kept_to_its_quota(host):
    host("base", "create", "web", check=0)
    source, digest = random_file(host, 32)
    made = create(host, "--disk-quota", 24, env={"MICROAGENT_TEST_LIMIT_QMP_MS": "3000"})
    name = made["name"]
    assert made["clone"] == "overlay" and made["quotaBytes"] == record(host, name)["quotaBytes"] == 24 * MIB
    check_requests(host, name, 24 * MIB)
    # Writes directly to the disk, one at a time, since QEMU joins the writes of the guest's cache.
    writer = write(host, name, source, "/root/f", by="dd bs=1M iflag=fullblock oflag=direct of=")
    wait_until(lambda: paused(host, name), "the pause")
    # The disk has not one byte more than its quota, and nearly all of it when the writes on their way are done.
    assert check_waiting(host, name, 24, 1) <= 24 * MIB
    wait_until(lambda: listed(host, name)["grownBytes"] > 20 * MIB, "what is on its way")
    assert listed(host, name)["grownBytes"] <= 24 * MIB
    raise_without_answer(host, name)
    answer = host.json("session", "quota", name, 40)
    assert answer["disk"]["quotaBytes"] == record(host, name)["quotaBytes"] == 40 * MIB
    assert audited(host, name, "session.quota-set") == [
        ("INFO", {"quotaBytes": to * MIB, "before": before * MIB}) for to, before in ((24, 24), (36, 24), (40, 36))]
    finish(writer)
    assert listed(host, name)["detail"] == "resumed: its disk may grow to 40 MiB"
    assert digest_in(host, name, "/root/f") == digest

    # Also in quarantine. A repeated request is answered again.
    writer = write(host, name, source, "/root/g")
    wait_until(lambda: len(paused(host, name)) == 2, "the second pause")
    assert check_waiting(host, name, 40, 2) <= 40 * MIB
    host("--state-dir", host.state / "sessions", "quarantine", f"{name}.bundle", check=0)
    writer.communicate(timeout=HANG_S)
    assert "of 41 MiB" in host("session", "quota", name, 41, check=0).stdout
    wait_until(lambda: len(paused(host, name)) == 3, "the third pause")
    check_stopped(host, name, digest)
    host("base", "delete", "web-v1", check=0)


def fill_but_for(host, name, room):
    """Lets the guest write until its disk may grow by exactly that much, whatever else the guest writes meanwhile.
    Returns grownBytes."""
    sh = ("session", "exec", "--user", "root", name, "--", "sh", "-c")
    done = 0
    while (left := 24 * MIB - listed(host, name)["grownBytes"]) > room:
        count = max(1, (left - room) // CLUSTER)
        host(*sh, f"dd if=/dev/zero of=/root/f bs={CLUSTER} count={count} seek={done} conv=notrunc oflag=direct && sync", check=0)
        done += count
    return 24 * MIB - left


@layered
def test_a_write_that_does_not_fit_is_not_begun(host):
    """A large write leaves room that is too small for it, and this counts as the quota. QEMU joins neighbouring writes
    of the guest that come at once. Here one write of the guest by itself is larger than the room, and the room is
    not nearly used up."""
    host("base", "create", "web", check=0)
    name = create(host, "--disk-quota", 24, env={"MICROAGENT_TEST_LIMIT_DISK_QUOTA_NEAR_BYTES": str(CLUSTER)})["name"]
    sh = ("session", "exec", "--user", "root", name, "--", "sh", "-c")
    kib, segments = map(int, host(*sh, "cd /sys/block/vda/queue; cat max_sectors_kb max_segments", check=0).stdout.split())
    request = min(kib << 10, segments * 4096)  # at least: pages that are beside one another are one segment
    host(*sh, "fallocate -l 48M /root/f && sync", check=0)  # by itself the guest writes only data then
    filled = fill_but_for(host, name, request // 2)
    assert 24 * MIB - filled > 3 * CLUSTER, "the guest has written more of its own than expected"
    writer = host.popen("session", "exec", "--user", "root", name, "--",
                        "dd", "if=/dev/zero", "of=/root/f", "bs=4M", "seek=8", "count=2", "conv=notrunc", "oflag=direct")
    wait_until(lambda: paused(host, name), "the pause")
    assert paused(host, name) == ["paused: its disk has grown to its quota of 24 MiB"]
    # None of the data is there. The little that was added is the guest's own.
    assert filled <= listed(host, name)["grownBytes"] < 24 * MIB - CLUSTER
    said = (directory(host, name) / "supervisor.log").read_text()
    assert said.count("the disk had no room, although it is below its quota") == 1, said
    host("session", "quota", name, 40, check=0)
    finish(writer)
    host("session", "destroy", name, check=0)
    host("base", "delete", "web-v1", check=0)


def raise_without_answer(host, name):
    """QEMU may do this late. It counts as done, and no smaller quota is accepted any more."""
    machine = json.loads((directory(host, name) / "runtime.json").read_text())["pid"]
    os.kill(machine, signal.SIGSTOP)
    done = host("session", "quota", name, 36)
    os.kill(machine, signal.SIGCONT)
    assert done.returncode == 75 and "has not answered a monitor command" in done.stderr, done
    assert record(host, name)["quotaBytes"] == 36 * MIB
    done = host("session", "quota", name, 30)
    assert done.returncode == 1 and "may grow to 36 MiB while the session runs: give a larger quota, or stop the session first" in done.stderr
    assert record(host, name)["quotaBytes"] == 36 * MIB


def check_stopped(host, name, digest):
    """A machine that waits cannot switch itself off, so it is not asked. Then it boots with another quota."""
    sessions = make_view(host)
    long = {"MICROAGENT_TEST_LIMIT_HALT_MS": "3600000"}
    assert host("--state-dir", sessions.state, "stop", f"{name}.bundle", env=long, timeout=60, check=0)
    event = json.loads((directory(host, name) / "event.json").read_text())
    assert (event["state"], event["detail"]) == ("stopped", "unclean: the guest did not shut down cleanly")
    layer = directory(host, name) / "rootfs.qcow2"
    assert layer.stat().st_size <= 41 * MIB  # the hole at its end is gone
    done = host("session", "quota", name, 4)
    assert done.returncode == 1 and re.search(r"the session.s disk has already grown to 4\d MiB", done.stderr)
    assert host.json("session", "quota", name, 64)["disk"]["quotaBytes"] == 64 * MIB
    assert audited(host, name, "session.quota-set")[-1] == ("INFO", {"quotaBytes": 64 * MIB, "before": 41 * MIB})
    host("--state-dir", sessions.state, "start", f"{name}.bundle", check=0)
    assert digest_in(host, name, "/root/f") == digest
    # Space that is given back is used again: in all, this is more than the quota.
    line = "rm -f /root/g; for i in 1 2 3 4; do dd if=/dev/urandom of=/root/h bs=1M count=12 && sync && rm /root/h && sync && fstrim / || exit; done"
    host("session", "exec", "--user", "root", name, "--", "sh", "-c", line, check=0)
    host("session", "exec", "--user", "root", name, "--", "sh", "-c", "dd if=/dev/zero of=/root/i bs=1M >/dev/null 2>&1 &", check=0)
    wait_until(lambda: paused(host, name)[-1].endswith("of 64 MiB"), "the last pause")
    boot_without_room(host, name)
    assert audited(host, name, "session.quota-reached") and host.json("audit", "verify", name)["ok"]
    gaps = len(audited(host, name, "audit.gap"))
    host("session", "destroy", name, check=0)
    # A guest that stands still cannot tell what it has not told yet.
    assert [data["why"] for _, data in audited(host, name, "audit.gap")[gaps:]] == ["the guest was killed before it reported the rest: the machine is paused, so its guest can send no last reports"]
    assert not (host.state / "sessions" / f"{name}.bundle").exists()


def boot_without_room(host, name):
    """A boot that must write and cannot ends at once, and says what would help."""
    sessions = make_view(host)
    host("--state-dir", sessions.state, "kill", f"{name}.bundle", check=0)
    wait_until(lambda: not held(sessions, f"{name}.bundle"), "the end")
    whole = record(host, name)
    (directory(host, name) / "session.json").write_text(json.dumps({**whole, "quotaBytes": "64"}))
    done = host("--state-dir", sessions.state, "start", f"{name}.bundle")
    assert done.returncode == 1 and "session.json: quotaBytes must be" in done.stderr, done.stderr
    shutil.copyfile(bundle(host) / "overlay.qcow2", directory(host, name) / "rootfs.qcow2")
    (directory(host, name) / "session.json").write_text(json.dumps({**whole, "quotaBytes": 1}))
    done = host("--state-dir", sessions.state, "start", f"{name}.bundle")
    assert done.returncode == 75 and "at its quota of 1 bytes, and it cannot boot" in done.stderr
    assert f"hint: `microagent session quota {name}" in done.stderr
    (directory(host, name) / "session.json").write_text(json.dumps({**whole, "quotaBytes": 64 * MIB}))
    host("--state-dir", sessions.state, "start", f"{name}.bundle", check=0)
    writer = host.popen("session", "exec", "--user", "root", name, "--", "sh", "-c", "dd if=/dev/zero of=/root/i bs=1M")
    before = len(paused(host, name))
    wait_until(lambda: len(paused(host, name)) > before, "the pause that it is destroyed in")
    writer.kill()
    writer.communicate()


@pytest.mark.skipif(BACKEND != "qemu", reason="those who wait in a pool are QEMU's")
def test_members_of_a_pool(host):
    """Members have the default, which a claim can raise. For less than that a session is made."""
    size = host.json("base", "create", "web")["disk"]["bytes"]
    host("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0)
    wait_full(host, 1)
    member = host.json("session", "list")["sessions"][0]
    assert member["pooled"] and member["quotaBytes"] == size and member["grownBytes"] < size
    made = create(host, "--disk-quota", 64, env=LATER)
    assert made["source"] == "new" and made["quotaBytes"] == 64 * MIB
    shared = host.base / "shared"
    shared.mkdir()
    (shared / "file").write_text("up\n")
    claimed = create(host, "--disk-quota", 1024, "--share", shared, env=LATER)
    assert (claimed["name"], claimed["source"]) == (member["name"], "pool")
    recorded = record(host, claimed["name"])  # neither is lost over the other
    assert claimed["quotaBytes"] == recorded["quotaBytes"] == 1024 * MIB
    assert claimed["shares"] == recorded["shares"] and recorded["shares"][0]["path"] == str(shared)
    assert host("session", "exec", claimed["name"], "--", "cat", "/workspace/file", check=0).stdout == "up\n"
    host("pool", "drain", check=0)
    for session in (made, claimed):
        host("session", "destroy", session["name"], check=0)
    host("base", "delete", "web-v1", check=0)


def mounted(host, kind, package):
    """The state directory is a file system of its own."""
    if os.getuid() != 0 or not shutil.which(f"mkfs.{kind}") or not os.path.exists("/dev/loop-control"):
        pytest.skip(f"a file system is made by root, mkfs.{kind} (package {package}) and a loop device")
    place, file = host.base / kind, host.base / f"{kind}.img"
    place.mkdir()
    with open(file, "wb") as image:
        image.truncate(1 << 30)
    subprocess.run([f"mkfs.{kind}", "-q", file], check=True)
    subprocess.run(["mount", "-o", "loop", file, place], check=True)
    place.chmod(0o700)
    host.state = place / "state"
    host.env["MICROAGENT_STATE_DIR"] = str(host.state)
    try:
        yield host
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def reflinks(host):
    yield from mounted(host, "xfs", "xfsprogs")


@pytest.fixture
def no_reflinks(host):
    yield from mounted(host, "ext4", "e2fsprogs")


def free_bytes(path):
    fs = os.statvfs(path)
    return fs.f_bavail * fs.f_frsize


@layered
def test_a_full_host_is_not_the_quota(no_reflinks):
    """Another program took the room and has given it back before the supervisor looks: the machine goes on."""
    host = no_reflinks
    host("base", "create", "web", check=0)
    # Any free room is enough, so that it looks as if the other program had given it back already.
    made = create(host, "--disk-quota", 80, env={"MICROAGENT_TEST_LIMIT_STATE_FREE_BYTES": "0",
                                                 "MICROAGENT_TEST_LIMIT_DISK_CHECK_MS": "5000"})
    name, log = made["name"], directory(host, made["name"]) / "supervisor.log"
    source, digest = random_file(host, 48)
    fill = host.state / "fill"
    subprocess.run(["fallocate", "-l", str(free_bytes(host.state) - 24 * MIB), fill], check=True)
    writer = write(host, name, source, "/root/f")
    wait_until(lambda: "the disk had no room, although it is below its quota" in log.read_text(), "the pause")
    fill.unlink()
    finish(writer)
    assert digest_in(host, name, "/root/f") == digest
    assert paused(host, name) == [] and audited(host, name, "session.quota-reached") == []
    host("session", "destroy", name, check=0)
    host("base", "delete", "web-v1", check=0)


def check_uncounted(host, name):
    """If the host's file system does not report a machine's growth any more, the machine is not let go on without its quota."""
    host("session", "quota", name, 64, check=0)
    host("start", name, check=0)
    pid = json.loads((directory(host, name) / "runtime.json").read_text())["supervisorPid"]
    with subprocess.Popen(["strace", "-q", "-o", "/dev/null", "-e", "inject=ioctl:error=EIO:syscall=getpid", "-p", str(pid)]) as tracer:
        wait_until(lambda: listed(host, name)["state"] == "failed", "its end")
        tracer.terminate()
    why = "the growth of its disk cannot be measured, so its quota cannot be enforced: extents: Input/output error"
    assert listed(host, name)["detail"].startswith(why), listed(host, name)


def test_a_reflink_is_kept_to_its_quota(reflinks):
    """Blocks that it shares with its base are not counted. The limit holds within one look and the writes until then."""
    host = reflinks
    base = host.json("base", "create", "web")
    source, digest = random_file(host, 48)
    made = create(host, "--disk-quota", 16, env={"MICROAGENT_TEST_LIMIT_DISK_QUOTA_LOOK_CALLS": "1"})
    name = made["name"]
    assert made["clone"] == "reflink"
    answer = host.json("session", "quota", name, 16)
    assert answer["disk"]["grownBytes"] < 16 * MIB < base["disk"]["bytes"]
    writer = write(host, name, source, "/root/f")
    wait_until(lambda: paused(host, name), "the pause")
    assert check_waiting(host, name, 16, 1) >= 16 * MIB
    assert "grownBytes" not in listed(host, name)  # only the live supervisor knows it
    host("session", "quota", name, base["disk"]["bytes"] // MIB, check=0)
    finish(writer)
    assert digest_in(host, name, "/root/f") == digest
    host("--state-dir", host.state / "sessions", "kill", f"{name}.bundle", check=0)
    assert base["disk"]["bytes"] > listed(host, name)["grownBytes"] >= 48 * MIB
    assert audited(host, name, "session.quota-set") and host.json("audit", "verify", name)["ok"]
    check_uncounted(host, name)
    host("session", "destroy", name, check=0)
    host("base", "delete", "web-v1", check=0)
    left = [p for p in host.state.iterdir() if p.name not in (".locks", ".microagent-state", "archive", "logs", "bases", "sessions", "pool")]
    assert not left and not [p for part in ("bases", "sessions") for p in (host.state / part).iterdir() if p.name not in (".locks", ".microagent-state")]
