# SPDX-License-Identifier: MIT
"""Tests the scripts that put the agent on a disk of macOS and start it there. These shell scripts have never run on a
Mac. Here stand-ins replace the programs of macOS and refuse what they do not know, and a directory is the volume."""

import os
import plistlib
import subprocess

import pytest

from conftest import ROOT

MACOS = ROOT / "images" / "macos"
PARTS = ("microagent-macos-agent", "microagent-start", "microagent.agent.plist")

# Stand-ins for hdiutil(1) and diskutil(8), with a disk of three containers as the installer makes it.
HDIUTIL = """\
case "$*" in
"attach -imagekey diskimage-class=CRawDiskImage -nomount -owners on $DISK")
	printf '/dev/disk4          \\tGUID_partition_scheme          \\t\\n'
	printf '/dev/disk4s1        \\tApple_APFS_ISC                 \\t\\n/dev/disk4s2        \\tApple_APFS                     \\t\\n'
	printf '/dev/disk5          \\tEF57347C-0000-11AA-AA11-0030654\\t\\n/dev/disk5s1        \\t41504653-0000-11AA-AA11-0030654\\t\\n'
	printf '/dev/disk6          \\tEF57347C-0000-11AA-AA11-0030654\\t\\n/dev/disk6s5        \\t41504653-0000-11AA-AA11-0030654\\t\\n' ;;
"detach /dev/disk4" | "detach -force /dev/disk4") ;;
*) exit 64 ;;
esac
"""
DISKUTIL = """\
case "$*" in
"apfs list disk5") echo '|   APFS Volume Disk (Role):   disk5s1 (Recovery)' ;;
"apfs list disk6")
	echo '    |   APFS Volume Disk (Role):   disk6s1 (System)'
	[ -n "$NO_DATA" ] || echo '    |   APFS Volume Disk (Role):   disk6s5 (Data)' ;;
"apfs list disk4") exit 1 ;;
"mount -mountPoint "*" /dev/disk6s5") cp -a "$VOLUME/." "$3" ;;
"enableOwnership "*) ;;
"unmount /dev/disk6s5" | "unmount force /dev/disk6s5")
	for at in "$TMP_OF_MOUNTS"/microagent-macos.*; do rm -rf "$VOLUME"; cp -a "$at" "$VOLUME"; find "$at" -mindepth 1 -delete; done ;;
*) exit 64 ;;
esac
"""
OTHERS = {"uname": "echo Darwin", "id": 'echo "${USER_ID:-0}"', "sudo": '[ "$1" = -- ] && shift; echo sudo >&2; USER_ID=0 exec "$@"',
          "install": 'exec /usr/bin/install $(echo "$*" | sed "s/-g wheel/-g root/")',
          "stat": 'test "$1 $2" = "-f %u:%g" && [ -z "$NO_OWNERS" ] && exec /usr/bin/stat -c %u:%g "$3"; echo 99:99',
          "mktemp": 'exec /usr/bin/mktemp -d "$TMP_OF_MOUNTS/microagent-macos.XXXXXX"'}


@pytest.fixture
def mac(tmp_path):
    if os.getuid() != 0:
        pytest.skip("the stand-in for a volume has root's files, and this is not root")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"hdiutil": HDIUTIL, "diskutil": DISKUTIL, **OTHERS}.items():
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/calls\n{text}\n')
        (programs / name).chmod(0o755)
    (tmp_path / "volume/private/var/db").mkdir(parents=True)
    (tmp_path / "mounts").mkdir()
    parts = tmp_path / "parts"
    parts.mkdir()
    for part in PARTS:
        (parts / part).write_bytes((MACOS / part).read_bytes() if (MACOS / part).exists() else b"a program\n")
    (tmp_path / "disk.img").write_bytes(b"disk")
    return tmp_path


def put(mac, *words, check=0, **env):
    done = subprocess.run([MACOS / "microagent-put-macos-agent", *(words or (mac / "disk.img", mac / "parts"))], capture_output=True, text=True, check=False,
                          env={"PATH": f"{mac}/bin:/usr/bin:/bin", "DISK": str(mac / "disk.img"), "VOLUME": str(mac / "volume"),
                               "TMP_OF_MOUNTS": str(mac / "mounts"), "NO_DATA": "", "NO_OWNERS": "", **env})
    assert done.returncode == check, (done.returncode, done.stdout, done.stderr)
    assert not list((mac / "mounts").iterdir())  # nothing is mounted
    return done


def calls(mac, name):
    return [line for line in (mac / "calls").read_text().splitlines() if line.startswith(f"{name} ")]


def test_puts_all_of_it_there(mac):
    done = put(mac, USER_ID="501")
    assert done.stdout.startswith("the agent is on ") and "sudo may ask for your password" in done.stderr
    volume = mac / "volume"
    for part, where, mode in (("microagent-macos-agent", "usr/local/libexec", 0o755), ("microagent-start", "usr/local/libexec", 0o755),
                              ("microagent.agent.plist", "Library/LaunchDaemons", 0o644)):
        file = volume / where / part
        assert file.read_bytes() == (mac / "parts" / part).read_bytes()
        assert file.stat().st_mode & 0o7777 == mode and (file.stat().st_uid, file.stat().st_gid) == (0, 0)
    assert (volume / "private/var/db/.AppleSetupDone").exists()
    assert calls(mac, "hdiutil")[-1] == "hdiutil detach /dev/disk4" and calls(mac, "diskutil")[-1] == "diskutil unmount /dev/disk6s5"
    # launchd starts the program that was put there.
    daemon = plistlib.loads((volume / "Library/LaunchDaemons/microagent.agent.plist").read_bytes())
    assert daemon["ProgramArguments"] == ["/bin/sh", "/usr/local/libexec/microagent-start"] and daemon["KeepAlive"] and daemon["RunAtLoad"]
    assert "exec /usr/local/libexec/microagent-macos-agent" in (volume / "usr/local/libexec/microagent-start").read_text()


@pytest.mark.parametrize("env,words", [
    ({"NO_DATA": "1"}, "has no volume with the role Data"), ({"NO_OWNERS": "1"}, "owners are ignored there"),
])
def test_a_disk_that_it_cannot_be_put_on(mac, env, words):
    assert words in put(mac, check=1, **env).stderr
    assert calls(mac, "hdiutil")[-1] == "hdiutil detach -force /dev/disk4"
    if "NO_OWNERS" in env:
        assert calls(mac, "diskutil")[-1] == "diskutil unmount force /dev/disk6s5"


def test_what_is_refused_before_anything_is_attached(mac):
    assert "there is no such disk" in put(mac, mac / "none", mac / "parts", check=1).stderr
    assert "usage: " in put(mac, "a", "b", "c", check=1).stderr
    (mac / "bin/uname").write_text("#!/bin/sh\necho Linux\n")
    assert "on a Mac alone" in put(mac, check=1).stderr
    (mac / "bin/uname").write_text("#!/bin/sh\necho Darwin\n")
    (mac / "parts/microagent-start").unlink()
    assert "parts/microagent-start is missing" in put(mac, check=1).stderr
    assert not calls(mac, "hdiutil")


def test_sets_up_once_and_starts_the_agent(mac):
    """If dscl and the other programs are absent, the script says what it could not do, and the agent is started all the same."""
    agent = mac / "agent"
    agent.write_text("#!/bin/sh\necho started\n")
    agent.chmod(0o755)
    text = (MACOS / "microagent-start").read_text()
    for real, here in (("/usr/local/libexec/microagent-macos-agent", agent), ("/var/db/.microagent-set-up", mac / "done"),
                       ("/Users/", f"{mac}/Users/")):
        assert real in text
        text = text.replace(real, str(here))
    script = mac / "start"
    script.write_text(text)
    (mac / "bin/dscl").write_text(f'#!/bin/sh\necho "dscl $*" >> {mac}/calls\n[ "$2" != -read ]\n')
    (mac / "bin/createhomedir").write_text(f'#!/bin/sh\necho "createhomedir $*" >> {mac}/calls\n')
    for name in ("dscl", "createhomedir"):
        (mac / f"bin/{name}").chmod(0o755)
    for run in range(2):
        done = subprocess.run(["/bin/sh", script], capture_output=True, text=True, check=True, env={"PATH": f"{mac}/bin:/usr/bin:/bin"})
        assert done.stdout == "started\n" and ("Spotlight could not be told" in done.stderr) == (run == 0)
    assert [line.split()[4:] for line in calls(mac, "dscl")][1:4] == [[], ["RealName", "agent"], ["UniqueID", "501"]]
    assert calls(mac, "createhomedir") == ["createhomedir -c -u agent"]
    assert (mac / "Users/Shared/workspace").stat().st_uid == 501
