# SPDX-License-Identifier: MIT
"""A directory for a session that runs, asked of its live supervisor without the command and its checks."""

import fcntl
import json
import os
import socket


def attach(host, name, path, *fds):
    """What the live supervisor says to who asks it without the command, with these descriptors."""
    place = os.open(host.state / "sessions" / f"{name}.bundle", os.O_PATH)
    with socket.socket(socket.AF_UNIX) as ours:
        ours.connect(f"/proc/self/fd/{place}/control.sock")
        os.close(place)
        request = {"command": "share-attach",
                   "share": {"tag": "workspace", "path": str(path), "mountpoint": "/workspace", "mode": "rw"}}
        socket.send_fds(ours, [json.dumps(request).encode() + b"\n"], fds)
        answer = json.loads(ours.makefile().readline())
    for fd in fds:
        os.close(fd)
    assert answer["ok"] is False, answer
    return answer["error"]


def sealed(path, status, seals=0xf, read_only=False):
    """A pass as the command makes it for the directory that has this status."""
    fd = os.memfd_create("share", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, json.dumps({"path": str(path), "device": status.st_dev, "inode": status.st_ino, "readOnly": read_only,
                             "anyway": False}).encode())
    fcntl.fcntl(fd, 1033, seals)  # F_ADD_SEALS
    return fd


def check_descriptors(host, name, work):
    """A directory is shared by a pass that a command has made, and by the rules, whoever hands it on."""
    none, found = "no directory was given to be shared", os.stat(work)
    assert attach(host, name, work) == "no descriptor of the directory came with it"
    assert attach(host, name, work, os.open(work, os.O_RDONLY)) == none
    assert attach(host, name, work, sealed(work, found, seals=0x7)) == none  # can be written yet: F_SEAL_WRITE is missing
    # Made to read alone, and the word of who hands it on, who may have been taken over, is another.
    assert attach(host, name, work, sealed(work, found, read_only=True)) == f"{work} was given to be read and not written"
    assert "/etc, of which nothing is shared" in attach(host, name, work, sealed("/etc", os.stat("/etc")))
    assert attach(host, name, work, sealed(work, os.stat("/"))) == f"{work} is not what it was"
    file = work / "file"
    file.touch()
    os.chown(file, host.uid, host.uid)
    assert "is not a directory" in attach(host, name, work, sealed(file, file.stat()))
    assert attach(host, name, work, os.open(file, os.O_RDONLY)) == none
    file.unlink()
