# SPDX-License-Identifier: MIT
"""Tests one directory that host and guest change at the same time, as an editor or git on the host does beside an AI agent."""

import contextlib
import fcntl
import os
import subprocess
import threading

import pytest

import virtiofsd
from conftest import ROOT
from test_shares import sh

LOCKS = {"fcntl": fcntl.lockf, "flock": fcntl.flock}


@pytest.fixture(scope="module")
def shared(place):
    """A machine with a directory of the host on /work."""
    place.work = place.base / "work"
    place.work.mkdir(mode=0o700)
    place.locked = place.base / "locked"
    place.locked.mkdir(mode=0o700)
    for name in ("locks", "hoards"):
        subprocess.run(["gcc", "-static", "-Wall", "-Wextra", "-Werror", "-o", place.locked / name, ROOT / f"tests/e2e/guest_{name}.c"], check=True)
    place("create", "m", "--network", "isolated", "--share", f"{place.work}:/work", "--share",
          f"{place.locked}:/locked{':locks' if virtiofsd.IS_C else ''}", check=0)
    place("start", "m", check=0)
    yield place
    place("kill", "m", check=0)
    place("delete", "m", check=0)


@contextlib.contextmanager
def meanwhile(do):
    """Calls do() again and again in another thread. Its errors are the test's."""
    end, errors = threading.Event(), []

    def work():
        while not end.is_set():
            try:
                do()
            except OSError as error:
                errors.append(error)
                return
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
    assert not errors


def test_both_create_one_name(shared):
    """The one that comes second gets the existing file, whenever the first removes it."""
    name = shared.work / "j"

    def create():
        name.write_text("h\n")
        name.unlink(missing_ok=True)
    with meanwhile(create):
        said = sh(shared, "m", "i=0; while [ $i -lt 500 ]; do echo g >/work/j 2>&1; rm -f /work/j; i=$((i+1)); done")
    assert said == ""


def test_the_host_removes_what_the_guest_creates(shared):
    """Also in the moment after its creation: the guest has a file without a name then."""
    name = shared.work / "k"
    with meanwhile(lambda: name.unlink(missing_ok=True)):
        said = sh(shared, "m", "i=0; while [ $i -lt 500 ]; do echo g >/work/k; i=$((i+1)); done 2>&1")
    assert said == ""


def test_both_make_and_remove_names(shared):
    """The same for directories and links: the guest gets the errors that a file system of its own would give."""
    def make():
        for kind in ("d", "l"):
            with contextlib.suppress(FileExistsError, FileNotFoundError):
                (shared.work / kind).mkdir() if kind == "d" else (shared.work / kind).symlink_to("x")
            with contextlib.suppress(FileNotFoundError):
                (shared.work / kind).rmdir() if kind == "d" else (shared.work / kind).unlink()
    with meanwhile(make):
        said = sh(shared, "m", "i=0; while [ $i -lt 250 ]; do mkdir /work/d; rmdir /work/d; ln -s x /work/l; rm -f /work/l; i=$((i+1)); done 2>&1 | "
                               "grep -v -e 'File exists' -e 'No such file'; true")
    assert said == ""


def test_a_name_that_the_host_has_replaced(shared):
    """The guest knows the old file by this name for a second. What it appends to, removes or renames is the present file."""
    file = shared.work / "f"

    def replace(text):
        (shared.work / "f.new").write_text(text)
        os.rename(shared.work / "f.new", file)
    for round_ in range(5):
        replace("a\n")
        assert sh(shared, "m", "cat /work/f") == "a\n"
        replace("b\n")
        sh(shared, "m", "echo c >>/work/f")
        assert file.read_text() == "b\nc\n", round_
        sh(shared, "m", "cat /work/f")
        replace("e\n")
        sh(shared, "m", "mv /work/f /work/g")
        assert (shared.work / "g").read_text() == "e\n" and not file.exists()
        replace("h\n")
        sh(shared, "m", "cat /work/f")
        replace("i\n")
        assert sh(shared, "m", "cat /work/f") == "i\n"
        sh(shared, "m", "rm /work/f")
        assert not file.exists()
        (shared.work / "dir").mkdir()
        sh(shared, "m", "ls /work/dir")
        (shared.work / "dir").rmdir()
        (shared.work / "dir").mkdir()
        sh(shared, "m", "rmdir /work/dir")
        assert not (shared.work / "dir").exists()


def test_a_file_of_the_guests_without_a_name(shared):
    """The guest goes on with the old file, by its descriptor."""
    said = sh(shared, "m", "exec 3<>/work/gone; rm /work/gone; echo one >&3; echo two >&3; cat /proc/self/fd/3")
    assert said == "one\ntwo\n"


@pytest.mark.parametrize("where", ("work", "locked"))
def test_turns_by_a_lock_file(shared, where):
    """As git takes its locks: the process that has made NAME.lock reads NAME and replaces it, and no change is lost."""
    host_dir, times = shared.base / where, 60
    number, lock, new = host_dir / "n", host_dir / "n.lock", host_dir / "n.host"
    number.write_text("0\n")
    line = ("i=0; while [ $i -lt %d ]; do until (set -C; : >n.lock) 2>/dev/null; do :; done; read n <n; echo $((n+1)) >n.guest; "
            "mv n.guest n; rm n.lock; i=$((i+1)); done" % times)
    guest = shared.popen("exec", "-w", f"/{where}", "m", "--", "sh", "-c", line)
    for _ in range(times):
        made = None
        while made is None:
            with contextlib.suppress(FileExistsError):
                made = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        os.close(made)
        new.write_text(f"{int(number.read_text()) + 1}\n")
        new.rename(number)
        lock.unlink()
    out, err = guest.communicate()
    assert (guest.returncode, out, err) == (0, b"", b"") and number.read_text() == f"{2 * times}\n"


@virtiofsd.in_c
@pytest.mark.parametrize("call", LOCKS)
def test_locks(shared, call):
    """If the share has locks, a lock of one side holds for the other. A call that waits for a lock is refused."""
    file = shared.locked / call
    file.write_text("")
    program = f"/locked/locks {call} /locked/{call} </dev/null"
    assert sh(shared, "m", program) == "locked\n"
    with file.open("r+") as held:
        LOCKS[call](held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert sh(shared, "m", program) == "Resource temporarily unavailable\n"
        waits = program.replace(f"locks {call}", f"locks {call}-wait")
        assert sh(shared, "m", waits) == "Operation not supported\n"
    assert sh(shared, "m", program) == "locked\n"
    guest = shared.popen("exec", "-i", "m", "--", "/locked/locks", call, f"/locked/{call}", stdin=subprocess.PIPE)
    assert guest.stdout.readline() == b"locked\n"
    with file.open("r+") as tried:
        with pytest.raises(BlockingIOError):
            LOCKS[call](tried, fcntl.LOCK_EX | fcntl.LOCK_NB)
        guest.communicate()
        assert guest.returncode == 0
        LOCKS[call](tried, fcntl.LOCK_EX | fcntl.LOCK_NB)


@virtiofsd.in_c
@pytest.mark.parametrize("call, refused, unlocks", (("fcntl", "wait", "unlock"), ("fcntl", "wait", "close"), ("flock", "unlock", "close")))
def test_what_unlocks(shared, call, refused, unlocks):
    """As the manual says: fcntl(2) that does not wait, and close(2). Other calls are refused, and the lock is still held."""
    file = shared.locked / "unlocked"
    file.write_text("")
    guest = shared.popen("exec", "-i", "m", "--", "/locked/locks", call, "/locked/unlocked", stdin=subprocess.PIPE)

    def say(word):
        guest.stdin.write(f"{word}\n".encode())
        guest.stdin.flush()
        return guest.stdout.readline()
    assert guest.stdout.readline() == b"locked\n"
    with file.open("r+") as tried:
        assert say(refused) == b"Operation not supported\n"
        with pytest.raises(BlockingIOError):
            LOCKS[call](tried, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert say(unlocks) == b"Success\n"
        LOCKS[call](tried, fcntl.LOCK_EX | fcntl.LOCK_NB)
    guest.communicate()
    assert guest.returncode == 0


HOARDS = {"directories": ("/work", 2048, "Too many open files in system"), "locks": ("/locked/many", 16384, "No locks available")}


@virtiofsd.in_c
@pytest.mark.parametrize("what", HOARDS)
def test_what_a_guest_can_have_kept_is_bounded(shared, what):
    """Directories cost memory of virtiofsd. Locks cost memory of the host's kernel, which no process has."""
    place, most, said = HOARDS[what]
    (shared.locked / "many").touch()
    words = ("exec", "-i", "m", "--", "/locked/hoards", what, place, 2 * most)
    for _ in range(2):  # the memory of the first is free again
        hoard = shared.popen(*words, stdin=subprocess.PIPE)
        told = hoard.stdout.readline().decode()
        count, why = told.strip().split(" ", 1)
        assert why == said and 0.9 * most <= int(count) <= most, told
        assert sh(shared, "m", "echo x >/work/other; cat /work/other") == "x\n"
        hoard.communicate()
        assert hoard.returncode == 0


def test_locks_stay_on_their_side_unless_they_are_asked_for(shared):
    (shared.work / "locks").write_bytes((shared.locked / "locks").read_bytes())
    (shared.work / "locks").chmod(0o700)
    with (shared.work / "file").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert sh(shared, "m", "/work/locks flock /work/file </dev/null") == "locked\n"
