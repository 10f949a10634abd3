# SPDX-License-Identifier: MIT
"""Asks the live supervisor of a session for a directory directly, without the command and its checks."""

import fcntl
import json
import os
import socket

import strays


def attach(host, name, path, given=None, is_held=True):
    """Returns the live supervisor's answer to a caller other than the command. The caller uses the pass of a command;
    None: it has no pass."""
    file = host.state / "sessions" / ".locks" / f".share-{name}.bundle"
    if given is not None:
        file.write_text(given)
        file.chmod(0o600)
        os.chown(file, host.uid, host.uid)
    held = file.open("r+") if given is not None and is_held else None
    if held:
        fcntl.flock(held, fcntl.LOCK_EX)
    place = os.open(host.state / "sessions" / f"{name}.bundle", os.O_PATH)
    with socket.socket(socket.AF_UNIX) as ours:
        ours.connect(f"/proc/self/fd/{place}/control.sock")
        os.close(place)
        request = {"command": "share-attach",
                   "shares": [{"tag": "workspace", "path": str(path), "mountpoint": "/workspace", "mode": "rw"}]}
        # A descriptor of a directory that comes with the request belongs to no pass, and is closed.
        stray = os.open("/", os.O_RDONLY)
        socket.send_fds(ours, [json.dumps(request).encode() + b"\n"], [stray])
        os.close(stray)
        answer = json.loads(ours.makefile().readline())
    if held:
        held.close()
    if given is not None:
        file.write_text("")
    assert answer["ok"] is False, answer
    return answer["error"]


def given(path, status, read_only=False):
    """Writes a pass as the command does, for the directory with this status."""
    return json.dumps([{"path": str(path), "device": status.st_dev, "inode": status.st_ino, "readOnly": read_only, "anyway": False}])


def check_passes(host, name, work):
    """A directory is shared by a pass that a command has written, and by the rules, whoever asks for it."""
    none, found = "the broker refuses to share a directory, because no command is sharing one with this machine: this is a bug, or the live supervisor was taken over", os.stat(work)
    assert attach(host, name, work) == none
    assert attach(host, name, work, given(work, found)[:-1]) == none
    assert attach(host, name, work, given(work, found), is_held=False) == none  # its command has died
    # To be read alone, and the word of who asks, who may have been taken over, is another.
    assert attach(host, name, work, given(work, found, read_only=True)) == f"the broker refuses to share {work} writable, because it was shared read-only: this is a bug, or the live supervisor was taken over"
    assert "nothing in /etc is ever shared" in attach(host, name, work, given("/etc", os.stat("/etc")))
    assert attach(host, name, work, given(work, os.stat("/"))) == f"{work} is not shared, because it was replaced by another directory meanwhile: try again"
    file = work / "file"
    file.touch()
    os.chown(file, host.uid, host.uid)
    assert "is not a directory" in attach(host, name, work, given(file, file.stat()))
    file.unlink()
    supervisor = json.loads((host.state / "sessions" / f"{name}.bundle" / "runtime.json").read_text())["supervisorPid"]
    # A descriptor of the null device is the root of a mount of its own too, if its name is used.
    assert not any(strays.has_open(supervisor, number, "/") for number in strays.descriptors(supervisor))
