# SPDX-License-Identifier: MIT
"""Where machines are measured: <state>/.locks/.perf/NAME, a state directory of its own, held by a lock on it, so that nothing
of it is ever seen among the user's workspaces, pools and archives. A base of the user's is there by a link to where his are;
one that was made for the measure goes with it."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .._calls import opened
from .._errors import Error, NotFoundError, UnavailableError
from .._library import document, filled, lib, must, told_by, word


def safe(text: str) -> str:
    """For a terminal."""
    return "".join(one if one.isprintable() else "?" for one in text)


def warn(text: str) -> None:
    print(f"microagent: warning: {safe(text)}", file=sys.stderr)


class Ending:
    """Signals that end a measure. They make a descriptor readable, which ends what the library does at that moment; what
    was made is removed all the same. microagent has blocked them until there is somebody who takes them."""

    NUMBERS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP

    def __init__(self) -> None:
        self.number = 0
        self.fd, come = os.pipe()
        os.set_blocking(come, False)
        signal.set_wakeup_fd(come, warn_on_full_buffer=False)
        for number in self.NUMBERS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self.NUMBERS)

    def _take(self, number: int, _frame: object) -> None:
        self.number = self.number or number

    def wait(self, seconds: float) -> None:
        """So long, or until one comes."""
        select.select([self.fd], [], [], seconds)


class Progress:
    """One line on a terminal's stderr, after a second, which is rewritten in place and erased at the end."""

    def __init__(self, doing: str) -> None:
        self.doing, self.done, self.total = doing, 0, 0
        self._over, self._drawer = threading.Event(), threading.Thread(target=self._draw)

    def _draw(self) -> None:
        began, line = time.monotonic(), ""
        while not self._over.wait(0.1 if line else 1):
            line = f"{self.doing}: " + (f"{100 * self.done // self.total}%" if self.total else f"{time.monotonic() - began:.0f} s")
            print("\r" + line[:shutil.get_terminal_size().columns - 1], end="\033[K", file=sys.stderr, flush=True)
        if line:
            print(end="\r\033[K", file=sys.stderr, flush=True)

    def end(self) -> None:
        self._over.set()
        if self._drawer.is_alive():
            self._drawer.join()

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self._drawer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


# --- the directory ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def locked(path: str, how: int = fcntl.LOCK_EX | fcntl.LOCK_NB) -> Iterator[None]:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(directory, how)
        yield
    finally:
        os.close(directory)


def make_dirs(path: str) -> None:
    if os.path.isdir(path):
        return
    make_dirs(os.path.dirname(path))
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:  # another one's, at this moment
        pass
    except OSError as error:
        error.filename = f"make directory {path}"
        raise


def remove(agent: Any, path: str) -> None:
    """Pool, machines, own bases, directory. What a killed making has left is gc's first; what cannot be removed is told when
    all else is gone."""
    failed: List[Error] = []
    try:
        if os.path.exists(f"{path}/pool"):
            must(lib.pool_drain, agent, None)
        if os.path.exists(f"{path}/sessions"):
            with contextlib.suppress(Error):
                document(must(lib.session_gc, agent))
        every = [(lib.session_destroy_named, one) for one in document(must(lib.session_list, agent))["sessions"]]
        if not os.path.islink(f"{path}/bases"):
            every += [(lib.base_delete, one) for one in document(must(lib.base_list, agent))["bases"]]
        for function, entry in every:
            try:
                must(function, agent, word(entry["name"], "name"))
            except NotFoundError:
                pass
            except Error as error:
                failed.append(error)
        if failed:
            raise failed[0]
        shutil.rmtree(path)
    except Error as error:
        raise type(error)(f"what was measured stays in {path}: {error.message}", error.reason, error.subject) from None


def sweep(places: str) -> None:
    """What killed ones have left."""
    for name in os.listdir(places):
        path = os.path.join(places, name)
        try:
            with locked(path), opened(path) as agent:
                remove(agent, path)
        except BlockingIOError:  # somebody is at work in it
            pass
        except (Error, OSError) as error:
            warn(str(error))


class Session(NamedTuple):
    pointer: Any
    id: bytes  # as a workspace
    began: int  # ns of CLOCK_MONOTONIC, before and after its making
    made: int

    def describe(self) -> Dict[str, Any]:
        return document(must(lib.session_describe, self.pointer))


class Place:
    def __init__(self, words: argparse.Namespace, ending: Ending, progress: Progress) -> None:
        self.words, self.ending, self.progress = words, ending, progress
        self.base = ""  # NAME-vN
        self.network: Optional[str] = words.network  # of its sessions; None: as sessions have it
        self.cold = False  # they are booted, whatever the base has
        self.agent: Any = None  # on it
        self.sessions: Any = None  # on the sessions in it, as workspaces
        self._path = ""
        self._held = contextlib.ExitStack()

    def open(self) -> None:
        with opened(self.words.state_dir, self.words.backend) as agent:  # looked at as a whole, so that it is known as the user's
            state = os.fsdecode(lib.state_dir(agent))
            if self.words.base:
                self.base = document(must(lib.base_show, agent, word(self.words.base, "base")))["name"]
            else:
                make_dirs(state)
                document(must(lib.base_list, agent))
        places = f"{state}/.locks/.perf"
        make_dirs(places)
        with locked(places, fcntl.LOCK_EX):  # without a lock of its own it would be taken for one that was left
            sweep(places)
            self._path = tempfile.mkdtemp(prefix="", dir=places)
            self._held.enter_context(locked(self._path))
        self.agent = self._held.enter_context(opened(self._path, self.words.backend))
        self.sessions = self._held.enter_context(opened(f"{self._path}/sessions"))
        if self.words.base:
            os.symlink("../../../bases", f"{self._path}/bases")
        else:
            spec = filled("microagent_base_spec", {"cancel": self.ending.fd})
            self.base = told_by(lib.base_create, self.agent, b"perf", ctypes.byref(spec))["name"]

    def __enter__(self) -> Place:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Whatever happened. What stays is told also where something else went wrong before."""
        with self._held:
            try:
                if self.agent:
                    remove(self.agent, self._path)
            except Error as error:
                self.progress.end()
                warn(error.message)
                if not kind:
                    raise

    def go_on(self) -> None:
        if self.ending.number:
            raise UnavailableError("cancelled")

    def rounds(self, count: int) -> Iterator[None]:
        self.progress.total = count
        for self.progress.done in range(count):
            yield

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        self.go_on()
        spec = filled("microagent_session_spec", {"base": self.base, "network": self.network, "cold": self.cold,
                                                  "cancel": self.ending.fd})
        pointer = ctypes.c_void_p()
        began = time.monotonic_ns()
        must(lib.session_create, self.agent, ctypes.byref(spec), ctypes.byref(pointer))
        made = time.monotonic_ns()
        try:
            yield Session(pointer, lib.session_name(pointer) + b".bundle", began, made)
            must(lib.session_destroy, pointer)
        finally:
            lib.session_close(pointer)  # one that is left goes with the place

    def last_start(self, session: Session) -> Dict[str, Any]:
        return document(must(lib.last_start, self.sessions, session.id))

    def time_exec(self, session: Session) -> Tuple[int, int, int]:
        """Of one /bin/true in it: ns until the guest's agent is reached, the program runs, and its end is told."""
        self.go_on()
        command, times = filled("microagent_exec", {"command": ["/bin/true"]}), filled("microagent_exec_times", {})
        must(lib.time_exec, self.sessions, session.id, ctypes.byref(command), ctypes.byref(times))
        return times.reached_ns, times.started_ns, times.ended_ns
