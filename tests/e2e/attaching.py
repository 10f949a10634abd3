# SPDX-License-Identifier: MIT
"""A directory for a session that runs, asked of its live supervisor without the command and its checks."""

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


def check_descriptors(host, name, work):
    """A directory is shared by the descriptor that a command has opened, and by the rules, whoever hands it on."""
    assert attach(host, name, work) == "no descriptor of the directory came with it"
    assert attach(host, name, work, os.open(work, os.O_PATH)) == "no directory was given to be shared"
    # Opened by a command to be read alone, and the word of who hands it on, who may have been taken over, is another.
    assert attach(host, name, work, os.open(work, os.O_RDONLY)) == f"{work} was given to be read and not written"
    assert "/etc, of which nothing is shared" in attach(host, name, work, os.open("/etc", os.O_RDONLY | os.O_DSYNC))
    file = work / "file"
    file.touch()
    os.chown(file, host.uid, host.uid)
    assert "is not a directory" in attach(host, name, work, os.open(file, os.O_RDONLY | os.O_DSYNC))
    file.unlink()
