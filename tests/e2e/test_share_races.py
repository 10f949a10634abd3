# SPDX-License-Identifier: MIT
"""One directory that host and guest change at the same time, as an editor or git on the host does beside an agent."""

import contextlib
import os
import threading

import pytest

from test_shares import sh


@pytest.fixture(scope="module")
def shared(place):
    """A machine with a directory of the host on /work."""
    place.work = place.base / "work"
    place.work.mkdir(mode=0o700)
    place("create", "m", "--network", "isolated", "--share", f"{place.work}:/work", check=0)
    place("start", "m", check=0)
    yield place
    place("kill", "m", check=0)
    place("delete", "m", check=0)


@contextlib.contextmanager
def meanwhile(do):
    """do() again and again in another thread; its errors are the test's."""
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
    """Whoever comes second gets the file that is there, whenever the first removes it."""
    name = shared.work / "j"

    def create():
        name.write_text("h\n")
        name.unlink(missing_ok=True)
    with meanwhile(create):
        said = sh(shared, "m", "i=0; while [ $i -lt 500 ]; do echo g >/work/j 2>&1; rm -f /work/j; i=$((i+1)); done")
    assert said == ""


def test_both_make_and_remove_names(shared):
    """Directories and links too: what the guest is told is what it would be told by a file system of its own."""
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
    """The guest knows the old file by it for a second. What it appends, removes or renames is what is there now."""
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
        sh(shared, "m", "rm /work/f")
        assert not file.exists()
        (shared.work / "dir").mkdir()
        sh(shared, "m", "ls /work/dir")
        (shared.work / "dir").rmdir()
        (shared.work / "dir").mkdir()
        sh(shared, "m", "rmdir /work/dir")
        assert not (shared.work / "dir").exists()


def test_a_file_of_the_guests_without_a_name(shared):
    """It goes on with it, by the descriptor that it has."""
    said = sh(shared, "m", "exec 3<>/work/gone; rm /work/gone; echo one >&3; echo two >&3; cat /proc/self/fd/3")
    assert said == "one\ntwo\n"
