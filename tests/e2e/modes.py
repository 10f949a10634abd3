# SPDX-License-Identifier: MIT
"""Checks what a guest cannot make in a shared directory, set-user-ID and set-group-ID programs, and what it can make."""

import errno
import shutil
import stat
import subprocess

from conftest import OWN, ROOT

WAYS = ("chmod", "fchmod", "fchmodat", "open", "creat", "tmpfile", "mknod", "mkfifo")
# virtio-fs has no files without a name.
REFUSED = {way: {errno.EPERM, errno.EOPNOTSUPP} if way == "tmpfile" else {errno.EPERM} for way in WAYS}


def program():
    made = OWN / "guest_modes"
    subprocess.run(["gcc", "-static", "-Wall", "-Wextra", "-Werror", "-o", made, ROOT / "tests/e2e/guest_modes.c"], check=True)
    return made


def with_bits(work):
    return [(str(path), oct(path.lstat().st_mode)) for path in work.rglob("*") if path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)]


def check_refused(run, work, at, user):
    """Tries every way, as the kernel has it and as a shell's user knows it."""
    run(f"mkdir {at}/modes", user)
    said = [line.split() for line in run(f"{at}/guest_modes {at}/modes", user).splitlines()]
    assert [line[:2] for line in said] == [[way, mode] for way in WAYS for mode in ("4755", "2755", "6755")]
    assert not [line for line in said if int(line[2]) not in REFUSED[line[0]]], said
    run(f"cd {at}/modes && cp /bin/busybox s && ! chmod 4755 s && ! chmod 2755 s && ! chmod u+s s && ! install -m 4755 /bin/busybox i", user)
    assert with_bits(work) == []
    assert (work / "modes" / "s").stat().st_mode & 0o777
    run(f"rm -r {at}/modes", user)


def check_usual(run, work, at, owner):
    """An agent's ordinary work is not affected. If the host gave a file the bits, they go at the first write."""
    run(f"mkdir -p {at}/tree/sub && cd {at}/tree && for i in 1 2 3 4 5 6 7 8; do echo $i > sub/$i; done && "
        "chmod 755 sub/1 && chmod 600 sub/2 && chmod 1777 . && ln -s sub/1 link && "
        f"tar -cf /tmp/tree.tar . && mkdir {at}/out && tar -xpf /tmp/tree.tar -C {at}/out", "agent")
    modes = {path.name: path.lstat().st_mode & 0o7777 for path in (work / "out" / "sub").iterdir()}
    assert len(modes) == 8 and (modes["1"], modes["2"]) == (0o755, 0o600)
    assert (work / "tree").stat().st_mode & 0o7777 == 0o1777 and (work / "out" / "link").is_symlink()
    tool = work / "tool"
    tool.write_text("#!/bin/sh\n")
    shutil.chown(tool, owner, owner)
    tool.chmod(0o4755)
    assert run(f"cat {at}/tool", "agent") == "#!/bin/sh\n" and tool.stat().st_mode & 0o7777 == 0o4755
    run(f"echo echo here >> {at}/tool && chmod 700 {at}/tool && {at}/tool", "agent")
    assert tool.read_text() == "#!/bin/sh\necho here\n" and tool.stat().st_mode & 0o7777 == 0o700
    run(f"rm -r {at}/tree {at}/out {at}/tool /tmp/tree.tar", "agent")


def check_modes(run, work, at, owner):
    """run(line, user) runs in the guest and must succeed. work is the directory that the guest has at `at`. Nothing of this stays."""
    shutil.copy(program(), work / "guest_modes")
    for user in ("agent", "root"):
        check_refused(run, work, at, user)
    check_usual(run, work, at, owner)
    (work / "guest_modes").unlink()
