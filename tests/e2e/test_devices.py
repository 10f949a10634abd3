# SPDX-License-Identifier: MIT
"""Tests what a machine has beside its root disk: further disks, consoles, entropy, a balloon."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import strays
from conftest import BACKEND, HANG_S, default_kernel, ended, wait_until
from exchanged import EVIL, Exchanged, owned
from test_supervisor import request, sparse

MOST_DISKS = {"qemu": 16, "firecracker": 12, "apple-vf": 16}[BACKEND]


def make_disk(path, mib=8, **files):
    """Makes an ext4 image whose root directory belongs to the guest's user, with files by name."""
    tree = path.parent / (path.name + ".tree")
    tree.mkdir()
    for name, text in files.items():
        (tree / name).write_text(text)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-E", "root_owner=1000:1000", "-d", tree, path, f"{mib}m"],
                   check=True)
    return path


def disk(path, mountpoint, mode="ro", name=None):
    return {"name": name or path.stem, "path": str(path), "mountpoint": mountpoint, "mode": mode}


def sh(host, name, script, user="root", code=0):
    done = host("exec", "--user", user, name, "--", "sh", "-c", script)
    assert done.returncode == code, (script, done.returncode, done.stdout, done.stderr)
    return done.stdout


def guest_memory(host, name):
    """Returns the MiB of the host that the guest's memory uses now."""
    pid = json.loads((host.state / name / "runtime.json").read_text())["pid"]
    for fd, target in strays.descriptors(pid).items():
        if "memfd:memory-backend" in target:
            return os.stat(f"/proc/{pid}/fd/{fd}").st_blocks // 2048
    raise AssertionError("QEMU has no memory file")


def check_balloon(host, name):
    """The host gets the memory that it asks for. It also gets, unasked, the memory that the guest frees."""
    # The guest writes 80 MiB and frees them. Free page reporting gives them back.
    sh(host, name, "mkdir /fill && mount -t tmpfs none /fill && dd if=/dev/zero of=/fill/f bs=1M count=80")
    full = guest_memory(host, name)
    assert full > 80
    sh(host, name, "umount /fill")
    wait_until(lambda: guest_memory(host, name) < full - 60, "the freed memory to be the host's")

    # Memory that the guest only keeps for later, such as files that it has read, comes back when the host asks.
    sh(host, name, "truncate -s 150M /file && cat /file > /dev/null")
    assert guest_memory(host, name) > 150
    answer = host.json("balloon", name, 110)
    assert answer["balloon"]["memoryMiB"] == 256 and answer["balloon"]["actualMiB"] < 256, answer
    wait_until(lambda: host.json("balloon", name, 110)["balloon"]["actualMiB"] == 110, "the guest to give")
    wait_until(lambda: guest_memory(host, name) < 130, "the memory to be the host's")
    wait_until(lambda: "256 of 256 MiB" in host("balloon", name, 256, check=0).stdout, "the guest to have it back")
    # More memory than the machine has, none at all, or no number.
    for mib, code, word in ((257, 2, "must be from 64 to 256, the memory that the machine was made with"), (63, 2, "must be from 64 to 256"), (0, 2, "MIB"), ("x", 2, "MIB")):
        done = host("balloon", name, mib)
        assert done.returncode == code and word in done.stderr, (mib, done.stderr)


@pytest.fixture
def cgroup():
    """Makes a cgroup of version 2. Returns None if none can be made."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    tops = [Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"]
    path = tops[0] / f"microagent-test-{os.getpid()}" if tops else None
    try:
        if path:
            path.mkdir()
    except OSError:
        path = None
    if not path:
        pytest.skip("no cgroup can be made here")
    yield path
    path.rmdir()


def cgroup_of(host, given):
    """Returns the workspace's own cgroup, which is the only one in the given one."""
    own = Path(json.loads((host.state / "agent-1" / "runtime.json").read_text())["cgroup"])
    assert [p for p in given.iterdir() if p.is_dir()] == [own] and own.name.startswith("microagent.agent-1.")
    return own


def missing_controllers(given):
    """Returns the controllers that the kernel does not have in this hierarchy, and the limits of each."""
    return [name for name in ("memory", "pids") if name not in (given / "cgroup.controllers").read_text().split()]


def check_limits(host, given, own, memory, answer):
    """The limits are as asked for if the kernel has the controllers. The answer, status, list and the log name what is missing."""
    log, missing = (host.state / "agent-1" / "supervisor.log").read_text(), missing_controllers(given)
    for controller, value in (("memory", memory), ("pids", 1024)):
        if controller not in missing:
            assert (own / f"{controller}.max").read_text().split() == [str(value)]
        else:
            assert f'cgroup: the limit {controller}.max is not set, because the cgroup controller "{controller}" is not available' in log, log
    for told in (answer, host.json("status", "agent-1"), host.json("list")["workspaces"][0]):
        assert told.get("cgroupUnlimited", []) == missing, told
    said = f"no limit of {', '.join(missing)}"
    for command in (["status", "agent-1"], ["list"]):
        assert (said in host(*command, check=0).stdout) == bool(missing), said


def check_what_cannot_be_limited(host, config, cgroup):
    """Without a word that allows it such a machine is refused, and nothing of it is left."""
    strict = {key: value for key, value in config.items() if key != "cgroupLimits"}
    for command in ("check", "prepare", "start", "run"):
        code, answer, _ = host.supervisor(request(command, strict))
        assert code == 75 and answer["errorCode"] == "unavailable", answer
        assert answer["error"].startswith(f"config.cgroup: {cgroup} does not have both controllers memory and pids"), answer
    assert not (host.state / "agent-1").exists() and not [p for p in cgroup.iterdir() if p.is_dir()]


def test_a_cgroup_holds_the_whole_workspace(host, cgroup):
    shared = host.base / "shared"
    shared.mkdir()
    shares = [{"tag": "s", "path": str(shared), "mountpoint": "/s", "mode": "rw"}] if "shares" in host.support()["features"] else []
    config = host.config(cgroup=str(cgroup), shares=shares)
    if missing_controllers(cgroup):
        config["cgroupLimits"] = "optional"
        check_what_cannot_be_limited(host, config, cgroup)
    code, answer, _ = host.supervisor(request("prepare", config))
    assert code == 0, answer

    def start():
        code, answer, _ = host.supervisor(request("start", config))
        assert code == 0, answer
        return cgroup_of(host, cgroup), answer
    own, answer = start()
    inside = {int(line) for line in (own / "cgroup.procs").read_text().split()}
    runtime = json.loads((host.state / "agent-1" / "runtime.json").read_text())
    assert {runtime["pid"], runtime["supervisorPid"]} | {c["pid"] for c in runtime["companions"]} <= inside
    assert set(host.processes()) <= inside and len(inside) >= (5 if shares else 3)
    check_limits(host, cgroup, own, (256 + 512) << 20, answer)
    # A process that can write to the cgroup has the workspace, and the next command removes what is left.
    (cgroup / "cgroup.kill").write_text("1")
    assert ended(host, "agent-1")["state"] == "failed"
    assert not own.exists()
    # A foreign process in the cgroup ends with the workspace, even if there is no way back to the group of the caller.
    origin = cgroup.with_name(cgroup.name + "-origin")
    origin.mkdir()
    host.wrap = ["sh", "-c", f'echo 0 > {origin}/cgroup.procs && exec "$@"', "sh"]
    own, _ = start()
    host.wrap = []
    origin.rmdir()
    with subprocess.Popen(["sleep", "1000"]) as stranger:
        (own / "cgroup.procs").write_text(str(stranger.pid))
        code, answer, _ = host.supervisor(request("kill", sparse(host)))
        assert code == 0 and not own.exists(), answer
        assert stranger.wait(timeout=HANG_S) == -9
    assert "cgroup" not in json.loads((host.state / "agent-1" / "runtime.json").read_text())
    host.supervisor(request("delete", sparse(host)))


def test_rates_hold_a_machine(host):
    """A lower bound of the time only: a limited disk is never faster, whatever the load of the host is."""
    host("create", "rated", "--memory", 256, "--network", "nat", "--disk-rate", "8M", "--disk-ops", 2000, "--net-rate", "1M",
         check=0)
    host("start", "rated", check=0)
    pid = json.loads((host.state / "rated" / "runtime.json").read_text())["pid"]
    words = Path(f"/proc/{pid}/cmdline").read_text()
    if BACKEND == "qemu":  # Firecracker is told by its API
        assert '{"bps-total":8388608,"iops-total":2000}' in words and "driver=throttle,node-name=rootfs," in words
    assert any("--bytes-per-second\0001048576\0" in Path(f"/proc/{pid}/cmdline").read_text() for pid in host.processes())
    # Firecracker's bucket is full at the beginning: 11 of the first 16 MiB were not limited.
    mib, burst = (32, 16) if BACKEND == "firecracker" else (16, 0)
    began = time.monotonic()
    sh(host, "rated", f"dd if=/dev/zero of=/home/f bs=1M count={mib} conv=fsync 2>/dev/null")
    assert time.monotonic() - began >= (mib - burst - 1) / 8
    host("kill", "rated", check=0)
    host("delete", "rated", check=0)
    for words, told in ((("--network", "isolated", "--net-rate", "1M"), "--net-rate needs a network"),
                        (("--network", "bridged", "--network-interface", "lo", "--net-rate", "1M"), "--net-rate: microagent does not see the traffic of a bridge"),
                        (("--disk-ops", "0"), "--disk-ops must be"), (("--disk-rate", "8X"), "--disk-rate must be")):
        done = host("create", "rated", *words)
        assert done.returncode in (1, 2) and told in done.stderr, (words, done.stderr)
        assert not (host.state / "rated").exists()


def test_cgroups_that_are_none(host):
    for path, error_code, words in ((str(host.base / "none"), "not-found", "does not exist"),
                                    (str(host.base), "invalid", "is not a cgroup"), ("systemd", "unsupported", "systemd")):
        code, answer, _ = host.supervisor(request("check", host.config(cgroup=path)))
        assert code == 1 and answer["errorCode"] == error_code, answer
        assert words in answer["error"] and "config.cgroup" in answer["error"], answer


@pytest.mark.skipif(BACKEND != "qemu", reason="shares, a second console and the file of the memory are QEMU's")
@pytest.mark.parametrize("which", ["debian", "tuned"])
def test_every_machine(host, which, request):
    """Tests entropy from the host, two consoles with one log, and memory that goes back."""
    kernel = request.getfixturevalue(f"{which}_kernel")
    extra = make_disk(host.base / "a:b=c.ext4", which="by option")
    shared = host.base / "share:d"
    shared.mkdir()
    (shared / "which").write_text(" shared")
    host("create", "w", "--kernel", kernel["name"], "--memory", 256, "--cpus", 1,
         "--disk", f"extra={extra}:/extra:ro", "--share", f"{shared}:/shared:ro", check=0)
    done = host("balloon", "w", 128)
    assert done.returncode == 1 and "not running" in done.stderr
    host("start", "w", check=0)
    sh(host, "w", "dd if=/dev/hwrng of=/tmp/r bs=64 count=1 && [ $(wc -c < /tmp/r) = 64 ] && "
                  "grep -q virtio /sys/class/misc/hw_random/rng_current")
    sh(host, "w", "echo through-hvc0 > /dev/hvc0; echo through-ttyS0 > /dev/ttyS0")
    log = host.state / "w" / "serial.log"
    wait_until(lambda: "through-hvc0" in log.read_text() and "through-ttyS0" in log.read_text(), "both lines")
    assert sh(host, "w", "cat /extra/which /shared/which", "agent") == "by option shared"
    check_balloon(host, "w")
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def free_bytes(path):
    fs = os.statvfs(path)
    return fs.f_bavail * fs.f_frsize


@pytest.mark.skipif(BACKEND != "qemu", reason="Firecracker does not pause for a full disk")
def test_a_full_disk_pauses_the_machine(host):
    """The image of a further disk outgrows its file system. The guest waits, and goes on when there is room."""
    if os.getuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    small = host.base / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", small], check=True)
    try:
        sparse_disk = make_disk(small / "data.ext4", 96)
        host("create", "w", "--memory", 256, "--cpus", 1, "--disk", f"data={sparse_disk}:/data:rw", check=0)
        host("start", "w", check=0)
        writer = host.popen("exec", "w", "--", "dd", "if=/dev/urandom", "of=/data/f", "bs=1M", "count=32", "conv=fsync")
        events = host.state / "w" / "events.json"
        wait_until(lambda: 'paused: no space left for the guest\'s disk \\"data\\"' in events.read_text(), "the pause")
        subprocess.run(["mount", "-o", "remount,size=120m", small], check=True)
        wait_until(lambda: "resumed" in events.read_text(), "the machine to go on")
        writer.communicate(timeout=HANG_S)
        assert writer.returncode == 0
        assert sh(host, "w", "wc -c < /data/f").strip() == str(32 << 20)
        assert host.json("status", "w")["event"]["state"] == "running"
        host("kill", "w", check=0)
        host("delete", "w", check=0)
    finally:
        host("kill", "w")
        subprocess.run(["umount", small], check=True)


@pytest.mark.skipif(BACKEND != "qemu", reason="Firecracker does not pause for a full disk")
def test_a_full_disk_below_everything_is_told(host):
    """The workspace itself is on the disk that is full. The pause is recorded all the same, each time."""
    if os.getuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    small = host.base / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m,mode=700", "tmpfs", small], check=True)
    host.env["MICROAGENT_STATE_DIR"] = str(small / "state")
    try:
        host("create", "w", "--memory", 128, "--cpus", 1, check=0)
        host("start", "w", check=0, env={"MICROAGENT_TEST_LIMIT_SHELL_PROBE_MS": "100"})  # of an agent that is stopped
        events = small / "state" / "w" / "events.json"
        for times in (1, 2):
            writer = host.popen("exec", "w", "--", "dd", "if=/dev/urandom", "of=/workspace/f", "bs=1M", "count=48", "conv=fsync")
            wait_until(lambda: events.read_text().count("paused: no space left") == times, "the pause")
            assert host.json("status", "w")["event"]["detail"].startswith("paused: no space left")
            assert "w" in host("list", check=0).stdout and "paused" in host("list", check=0).stdout
            subprocess.run(["mount", "-o", f"remount,size={100 * times}m", small], check=True)
            writer.communicate(timeout=HANG_S)
            assert writer.returncode == 0 and events.read_text().count("resumed") == times
            host("exec", "w", "--", "rm", "/workspace/f", check=0)
            subprocess.run(["fallocate", "-l", str(int(free_bytes(small)) - (18 << 20)), small / f"fill{times}"], check=True)
        host("kill", "w", check=0)
        host("delete", "w", check=0)
    finally:
        host("kill", "w")
        subprocess.run(["umount", small], check=True)


def check_led_astray(host, config):
    """A user who may write above a mount point cannot choose by a link what the next start mounts over."""
    code, answer, _ = host.supervisor(request("start", config))
    why = 'disk "twice": nothing is mounted in the guest, because /workspace/d is a link that user 1000 made, who could choose the place of the mount: name a path without this link'
    assert code == 1 and why in answer["error"], answer


def test_disks(host):
    """The disks come in the given order, ro and rw, mounted where they were asked for, and are there after a kill."""
    zeta = make_disk(host.base / "zeta.ext4", 8, which="zeta")
    alpha = make_disk(host.base / "alpha.ext4", 12, which="alpha")
    mid = make_disk(host.base / "mid.ext4", 16, which="mid")
    before = alpha.read_bytes()
    config = host.config(disks=[disk(zeta, "/data/deep/zeta", "rw"), disk(alpha, "/alpha"),
                                disk(mid, "/mnt", "rw"), disk(alpha, "/workspace/d/again", name="twice")])
    code, answer, _ = host.supervisor(request("prepare", config))
    assert code == 0, answer
    code, answer, _ = host.supervisor(request("start", config))
    assert code == 0, answer

    names = sh(host, "agent-1", "cd /sys/block; for d in vd*; do echo $d $(cat $d/ro) $(cat $d/size) $(cat $d/serial); done")
    found = [line.split() for line in names.splitlines()][1:]
    assert [words[:3] for words in found] == [["vdb", "0", str(8 * 2048)], ["vdc", "1", str(12 * 2048)],
                                              ["vdd", "0", str(16 * 2048)], ["vde", "1", str(12 * 2048)]]
    if BACKEND == "qemu":  # Firecracker has serials of its own
        assert [words[3] for words in found] == ["disk-0", "disk-1", "disk-2", "disk-3"]
    mounts = sh(host, "agent-1", "grep ^/dev/vd /proc/mounts")
    for device, where, mode in (("vdb", "/data/deep/zeta", "rw"), ("vdc", "/alpha", "ro"),
                                ("vdd", "/mnt", "rw"), ("vde", "/workspace/d/again", "ro")):
        assert f"/dev/{device} {where} ext4 {mode},nosuid,nodev" in mounts
    said = sh(host, "agent-1", "cat /data/deep/zeta/which /alpha/which /mnt/which", "agent")
    assert said == "zetaalphamid"
    # The guest's user can write. Not even root can write to a read-only disk, also not past the mount.
    sh(host, "agent-1", "echo kept > /mnt/new && sync /mnt/new", "agent")
    sh(host, "agent-1", "! touch /alpha/x && ! mount -o remount,rw /alpha && "
                        "! dd if=/dev/zero of=/dev/vdc bs=4096 count=1 conv=fsync")

    sh(host, "agent-1", "mv /workspace/d /workspace/was && ln -s /etc /workspace/d && sync", "agent")

    # Another workspace cannot have a disk that this one writes to, and may also read a disk that this one reads.
    other = {**config, "rootfsPath": str(host.disk("other.ext4")), "disks": [disk(mid, "/mnt")]}
    code, answer, _ = host.supervisor(request("run", other, runtimeID="agent-2"))
    assert code == 1 and answer["errorCode"] == "conflict", answer
    assert str(mid) in answer["error"] and "config.disks[0].path" in answer["error"]
    assert not (host.state / "agent-2").exists()

    host("kill", "agent-1", check=0)
    assert alpha.read_bytes() == before
    # Nothing wrote the journal back. The files that the guest synced are there all the same.
    subprocess.run(["e2fsck", "-fy", mid], stdout=subprocess.DEVNULL, check=False)
    kept = subprocess.run(["debugfs", "-R", "cat /new", mid], capture_output=True, text=True, check=True)
    assert kept.stdout == "kept\n"
    check_led_astray(host, config)
    host("delete", "agent-1", check=0)
    assert mid.exists()


def test_another_user_leads_a_disk_nowhere_else(host):
    """The file is replaced between create and start, by a link or by another name of a file."""
    it = Exchanged(host.base)
    for where, text in ((it.way, "given"), (it.victim, "secret")):
        make_disk(where / "data.img", which=text).chmod(0o600)
    image, secret = it.way / "data.img", (it.victim / "data.img").read_bytes()
    host("create", "w", "--memory", 256, "--cpus", 1, "--disk", f"data={image}:/mnt/d:rw", check=0)
    why = it.lead_to_victim()
    for words in (("start", "w"), ("start", "--prepare", "w"), ("create", "v", "--disk", f"data={image}:/mnt/d:ro")):
        done = host(*words)
        assert done.returncode == 1 and f"{image}: {why}" in done.stderr, done
    assert not host.processes() and not (host.state / "v").exists()
    it.put_back()

    # The link may also be the last name, if it belongs to the user.
    image.rename(it.way / "kept")
    image.symlink_to(it.victim / "data.img")
    owned(image)
    done = host("start", "w")
    assert done.returncode == 1 and f"{image} is a link that user {EVIL} owns, who could make it lead to another place" in done.stderr, done
    image.unlink()
    os.link(it.victim / "data.img", image)
    done = host("start", "w")
    assert done.returncode == 1 and f"{image} has a second name (a hard link), and this one is below {it.home}, which belongs to user {EVIL}, who could" in done.stderr, done
    assert not host.processes() and (it.victim / "data.img").read_bytes() == secret
    # In a directory like /tmp another user's link is refused too, in the place of a file of the user.
    open_place = host.base / "open"
    open_place.mkdir()
    open_place.chmod(0o1777)
    os.link(it.victim / "data.img", open_place / "data.img")
    done = host("create", "v", "--disk", f"data={open_place / 'data.img'}:/mnt/d:ro")
    assert done.returncode == 1 and "data.img has a second name (a hard link), and any user can make such links in its directory" in done.stderr, done
    (open_place / "data.img").unlink()
    image.unlink()
    (it.way / "kept").rename(image)

    host("start", "w", check=0)
    assert sh(host, "w", "cat /mnt/d/which") == "given"
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def test_another_user_leads_nothing_that_boots_elsewhere(host):
    """The same holds for the root disk, the kernel and the file beside it, and a bundle's archive."""
    it = Exchanged(host.base)
    shutil.copy(host.disk(), it.way / "root.ext4")
    shutil.copy(host.disk(), it.victim / "root.ext4")
    kernel = default_kernel(host)["path"]
    for file in (kernel, kernel + ".initrd"):
        for where in (it.way, it.victim):
            shutil.copy(file, where / Path(file).name)
    for where in (it.way, it.victim):
        subprocess.run(["tar", "-cf", where / "b.tar", "-C", host.base, "root.ext4"], check=True)
    changes = [{"rootfsPath": f"{it.way}/root.ext4"}, {"kernelPath": f"{it.way}/{Path(kernel).name}"},
               {"initrdPath": f"{it.way}/{Path(kernel).name}.initrd"},
               {"bundles": [{"name": "b", "path": f"{it.way}/b.tar", "mountpoint": "/b"}]}]
    for change in changes:
        code, answer, _ = host.supervisor(request("check", host.config(**change)))
        assert code == 0, answer
    why = it.lead_to_victim()
    for change in changes:
        for command in ("check", "prepare", "run"):
            code, answer, _ = host.supervisor(request(command, host.config(**change)))
            assert code == 1 and answer["errorCode"] == "denied" and why in answer["error"], (change, command, answer)
            assert not (host.state / "agent-1").exists(), change


def test_links_to_a_disk_of_ones_own(host):
    """Links of the caller are followed, the last name too. In a directory of the caller a file with several names is fine."""
    real = make_disk(host.base / "real.ext4", which="real")
    (host.base / "link.ext4").symlink_to("real.ext4")
    (host.base / "to").symlink_to(host.base)
    os.link(real, host.base / "again.ext4")
    for path in (real, host.base / "link.ext4", host.base / "to" / "link.ext4", host.base / "again.ext4"):
        code, answer, _ = host.supervisor(request("check", host.config(disks=[disk(path, "/d", "rw", "d")])))
        assert code == 0, (path, answer)


def test_a_disk_without_a_file_system(host):
    """Only the guest looks into a disk. Its kernel's refusal ends the start, and names the disk."""
    blank = host.base / "blank"
    blank.write_bytes(bytes(1080) + b"\x53\xef" + bytes(1 << 20))  # the magic number of ext4, and nothing else
    config = host.config(disks=[disk(blank, "/data", name="scratch")])
    code, answer, _ = host.supervisor(request("run", config))
    assert code == 1 and 'the disk "scratch"' in answer["error"], answer
    assert "PCI: Fatal" not in answer["error"], answer
    assert ended(host, "agent-1")["state"] == "failed"
    host.supervisor(request("delete", sparse(host)))


@pytest.mark.parametrize("words", [
    ("--disk", "x"), ("--disk", "x=/f"), ("--disk", "x=/f:/m"), ("--disk", "=/f:/m:ro"), ("--disk", "x=:/m:ro"),
    ("--disk", "x=/f:m:ro"), ("--disk", "x=/f:/m:rx"), ("--share", ":/m"), ("--share", "/d:/m:rx"),
])
def test_words_that_are_no_device(host, words):
    done = host("create", "w", *words)
    assert done.returncode == 2 and words[0] in done.stderr, done.stderr
    assert not host.state.exists()


def make_ram_root(path, **files):
    """Makes an initramfs as another maker would: busybox with hard links, one of them its init."""
    tree = path.parent / (path.name + ".tree")
    (tree / "bin").mkdir(parents=True)
    subprocess.run(["cp", shutil.which("busybox"), tree / "bin" / "busybox"], check=True)
    for name in ("init", "bin/sh", "bin/cat", "bin/grep", "bin/stat", "bin/wc"):
        os.link(tree / "bin" / "busybox", tree / name)
    for name, text in files.items():
        (tree / name).write_text(text)
    names = subprocess.run(["find", "."], cwd=tree, check=True, capture_output=True).stdout
    with open(path, "wb") as out:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, input=names, stdout=out, check=True)
    return path


def test_a_root_in_memory(host):
    """An initrdPath alone is the root. Ours is put behind it, disks begin at vda, and nothing lasts."""
    root = make_ram_root(host.base / "root.cpio", made="elsewhere")
    extra = make_disk(host.base / "extra.ext4", which="extra")
    config = host.config(initrdPath=str(root), disks=[disk(extra, "/extra", "rw")])
    del config["rootfsPath"]
    code, answer, _ = host.supervisor(request("prepare", config))
    assert code == 0 and answer["verification"]["rootfs"]["path"] == str(root), answer
    before = root.read_bytes()
    code, answer, _ = host.supervisor(request("start", config))
    assert code == 0, answer
    # The busybox whose init had another name is complete. Our files that have done their work are gone.
    said = sh(host, "agent-1", "cat /made; grep ^rootfs /proc/mounts; grep /extra /proc/mounts; stat -c %a /tmp /root; "
                               "stat /modules.list; grep -c . /sys/block/vda/serial; cat /proc/1/comm")
    lines = said.splitlines()
    assert lines[0].startswith("elsewhererootfs / ") and lines[1].startswith("/dev/vda /extra ext4 rw,"), said
    assert lines[2:] == ["1777", "700", "1", "init"], said
    sh(host, "agent-1", "echo new > /tmp/made && [ $(wc -c < /tmp/made) = 4 ]", "1000")
    code, answer, _ = host.supervisor(request("stop", sparse(host)))
    assert code == 0 and answer["event"].get("detail", "") != "unclean", answer
    assert root.read_bytes() == before
    # Another root than the recorded one is refused, as another kernel would be.
    make_ram_root(host.base / "other.cpio", made="changed").replace(root)
    code, answer, _ = host.supervisor(request("start", config))
    assert code == 1 and answer["errorCode"] == "conflict" and "rootfs" in answer["error"], answer
    host.supervisor(request("delete", sparse(host)))


def test_a_packed_root_in_memory(host, tuned_kernel):
    """Ours is put behind it unpacked, so the kernel must know both formats."""
    root = make_ram_root(host.base / "root.cpio", made="packed\n")
    subprocess.run(["gzip", root], check=True)
    done = host("run", "--kernel", tuned_kernel["name"], "--initrd", f"{root}.gz", "--no-disk", "--memory", 256, "--cpus", 1, "--", "cat", "/made",
                check=0)
    assert done.stdout == "packed\n"


def test_a_root_in_memory_by_options(host):
    root = make_ram_root(host.base / "root.cpio", made="elsewhere\n")
    done = host("run", "--initrd", root, "--no-disk", "--memory", 256, "--cpus", 1, "--", "cat", "/made", check=0)
    assert done.stdout == "elsewhere\n"
    host("create", "w", "--initrd", root, "--no-disk", "--memory", 256, "--cpus", 1, check=0)
    recorded = json.loads((host.state / "w" / "workspace.json").read_text())["config"]
    assert recorded["initrdPath"] == str(root) and not {"rootfsPath", "image"} & set(recorded)
    host("clone", "w", "twin", check=0)
    assert json.loads((host.state / "twin" / "workspace.json").read_text())["config"] == recorded
    assert not list(host.state.glob("*/rootfs*"))
    host("delete", "w", check=0)
    host("delete", "twin", check=0)
    for words, said in ((("--no-disk",), "--initrd"), (("--no-disk", "--initrd", root, "--image", "busybox"), "--image")):
        done = host("create", "w", *words, check=2)
        assert "--no-disk" in done.stderr and said in done.stderr
    done = host("create", "w", "--no-disk", "--initrd", host.base / "none")
    assert done.returncode == 1 and "does not exist" in done.stderr and not (host.state / "w").exists()


def test_roots_in_memory_that_are_none(host):
    text, large = host.base / "text", host.base / "large"
    text.write_text("#!/bin/sh\n")
    large.write_bytes(b"070701")
    os.truncate(large, 100 << 20)
    for path, error_code, words in ((text, "invalid", "not an initramfs"), (large, "invalid", "at least 264"),
                                    (host.base / "none", "not-found", "does not exist")):
        config = host.config(initrdPath=str(path))
        del config["rootfsPath"]
        code, answer, _ = host.supervisor(request("check", config))
        assert code == 1 and answer["errorCode"] == error_code, answer
        assert words in answer["error"] and "config.initrdPath" in answer["error"], answer


def refused_disks(host):
    """The fault, its error code, words of the message, and the disks."""
    good = make_disk(host.base / "good")
    qcow2 = host.base / "image.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", qcow2, "1M"], check=True)
    frozen = make_disk(host.base / "frozen")
    frozen.chmod(0o400)
    empty = host.base / "empty"
    empty.touch()
    words = host.base / "words"
    blank = host.base / "blank"
    blank.write_bytes(bytes(1 << 20))
    words.write_text("no file system\n")
    fifo = host.base / "fifo"
    os.mkfifo(fifo)
    root = host.disk()
    link = host.base / "link"
    os.link(good, link)
    ro, rw = "ro", "rw"
    return [
        ("missing", "not-found", "does not exist", [disk(host.base / "none", "/a")]),
        ("directory", "invalid", "config.shares", [disk(host.base, "/a", name="dir")]),
        ("fifo", "invalid", "regular", [disk(fifo, "/a")]),
        ("empty", "invalid", "empty", [disk(empty, "/a")]),
        ("short", "invalid", f"{words} holds no ext4 file system: make one with mke2fs", [disk(words, "/a")]),
        ("blank", "invalid", f"{blank} holds no ext4 file system", [disk(good, "/a"), disk(blank, "/b", rw)]),
        ("qcow2", "invalid", "qcow2", [disk(qcow2, "/a")]),
        ("read-only", "denied", 'mode "ro"', [disk(frozen, "/a", rw)]),
        ("root", "invalid", "config.rootfsPath", [disk(root, "/a", ro, "again")]),
        ("twice", "invalid", '"good"', [disk(good, "/a", rw), disk(link, "/b", rw)]),
        ("both", "invalid", '"good"', [disk(good, "/a", ro), disk(link, "/b", rw)]),
        ("many", "invalid", f"room for {MOST_DISKS}", [disk(good, f"/m{i}", ro, f"d{i}") for i in range(MOST_DISKS + 1)]),
    ]


def test_refusals(host):
    for what, error_code, words, disks in refused_disks(host):
        for command in ("check", "prepare", "run"):
            code, answer, _ = host.supervisor(request(command, host.config(disks=disks)))
            assert code == 1 and answer["errorCode"] == error_code, (what, command, answer)
            assert words in answer["error"] and "config.disks" in answer["error"], (what, answer)
            assert not (host.state / "agent-1").exists(), what
    qcow2 = {**host.config(), "rootfsPath": str(host.base / "image.qcow2")}
    code, answer, _ = host.supervisor(request("check", qcow2))
    assert code == 1 and "qcow2" in answer["error"] and "config.rootfsPath" in answer["error"], answer


def test_a_disk_that_may_not_be_read(host):
    if os.getuid() == 0:
        pytest.skip("root reads everything")
    secret = make_disk(host.base / "secret")
    secret.chmod(0)
    code, answer, _ = host.supervisor(request("check", host.config(disks=[disk(secret, "/a")])))
    assert code == 1 and answer["errorCode"] == "denied" and str(secret) in answer["error"], answer
