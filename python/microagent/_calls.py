# SPDX-License-Identifier: MIT
"""Calls that block, and what may happen to a Python program meanwhile.

Signals. Python runs signal handlers on the main thread between two of its instructions, so a main thread that is in a
function of the library would take no Ctrl-C before that returns. It therefore never is: a worker makes the call, and the
main thread waits for a lock, which signals interrupt. An exception of a handler (KeyboardInterrupt) throws the call's
switch; the worker is waited for all the same, a few seconds at most, so that nothing goes on behind the exception.

Threads. A `struct microagent` is one thread's at a time: each call that needs one opens its own, which costs no more than a
few strings, and ten machines are made at once. Handles of sessions are any number of threads'.

Forks. Connections and locks of a process are of no use to its child, and harm both. A handle knows whose it is, and the child
gives up what it has of one that nobody is using: a session must not outlive its owner because a child of his does.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from queue import SimpleQueue
from typing import Any, Callable, Iterator, List, Optional, Protocol, Set, TypeVar

from ._errors import ConflictError, InvalidError
from ._library import lib, must, word

T = TypeVar("T")


class Call(Protocol):
    """What is under way, and can be ended from elsewhere."""

    def fire(self) -> None: ...


# --- a switch ---------------------------------------------------------------------------------------------------------


class Cancel:
    """What ends a call from elsewhere; freed with the last one that has it."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self.pointer = must(lib.cancel_new)

    @property
    def fd(self) -> int:
        return int(lib.cancel_fd(self.pointer))

    def is_ours(self) -> bool:
        """A child that was forked has the same descriptor, with which it would end its parent's call."""
        return self._pid == os.getpid()

    def fire(self) -> None:
        if self.is_ours():
            lib.cancel_fire(self.pointer)

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            lib.cancel_free(self.pointer)


# --- the main thread --------------------------------------------------------------------------------------------------


class Job:
    """One call that a worker makes."""

    def __init__(self, fn: Callable[[], Any]) -> None:
        self.fn, self.value, self.error = fn, None, None  # type: Callable[[], Any], Any, Optional[BaseException]
        self.begun, self.running = threading.Lock(), threading.Lock()
        self.running.acquire()
        self.done = False

    def begin(self) -> bool:
        """Whether it is the caller's to do, or to leave undone."""
        return self.begun.acquire(blocking=False)

    def do(self) -> None:
        if not self.begin():
            return
        try:
            self.value = self.fn()
        except BaseException as error:  # it is the caller's
            self.error = error
        finally:
            self.done = True
            self.running.release()

    def wait_out(self) -> None:
        """To its end, whatever signals come: it has been told to end. One may come when the lock has just been had."""
        while not self.done:
            with contextlib.suppress(BaseException):  # the first one is on its way already
                self.running.acquire()


class Worker:
    def __init__(self) -> None:
        self.jobs: SimpleQueue[Job] = SimpleQueue()
        threading.Thread(target=self._work, name="microagent", daemon=True).start()

    def _work(self) -> None:
        while True:
            self.jobs.get().do()


_idle: List[Worker] = []  # of the main thread alone; more than one when a signal's handler makes a call too


def call(fn: Callable[[], T], cancel: Optional[Call] = None) -> T:
    """fn(), which blocks. On the main thread the exception of a signal's handler ends it; without a switch it is
    waited for."""
    if threading.current_thread() is not threading.main_thread():
        return fn()
    try:
        worker = _idle.pop() if _idle else Worker()
    except RuntimeError:  # the interpreter is on its way out and starts no thread
        return fn()
    job = Job(fn)
    try:
        worker.jobs.put(job)
        job.running.acquire()
    except BaseException:
        if not job.begin():
            if cancel:
                cancel.fire()
            job.wait_out()
        raise
    finally:
        _idle.append(worker)
    if job.error is not None:
        try:
            raise job.error
        finally:
            del job  # a cycle with the traceback otherwise
    return job.value  # type: ignore[no-any-return]


# --- handles ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def opened(state_dir: Any = None, backend: Optional[str] = None) -> Iterator[Any]:
    """A struct microagent of one call."""
    agent = must(lib.open, None if state_dir is None else word(state_dir, "state_dir"))
    try:
        if backend is not None:
            must(lib.use_backend, agent, word(backend, "backend"))
        yield agent
    finally:
        lib.close(agent)


_handles: weakref.WeakSet[Handle] = weakref.WeakSet()


def _after_fork() -> None:
    _idle.clear()
    for handle in list(_handles):
        handle.leave_to_parent()


os.register_at_fork(after_in_child=_after_fork)


class Handle:
    """A struct microagent_session, with the calls that are under way: it is closed when there are none."""

    def __init__(self, pointer: Any) -> None:
        self.name = lib.session_name(pointer).decode()
        self._pointer, self._pid = pointer, os.getpid()
        self._changed = threading.Condition()
        self._calls: Set[Call] = set()
        self._closing = self._dropped = False
        _handles.add(self)

    def is_ours(self) -> bool:
        return os.getpid() == self._pid

    def refuse_fork(self) -> None:
        if not self.is_ours():
            raise InvalidError(f"session {self.name}: the handle belongs to process {self._pid}, of which this one is a "
                               "fork: Sandbox.open() makes one of its own")

    def leave_to_parent(self) -> None:
        """In a child: closes its copies of the descriptors, which tells nobody anything. What another thread was just using
        is not touched, nor is the lock, which may be held for ever."""
        if self._pointer and not self._calls and not self._closing:
            self._close()

    @contextlib.contextmanager
    def using(self, call: Call) -> Iterator[Any]:
        """The pointer, for one call, whose fire() ends it when the handle is closed."""
        self.refuse_fork()
        with self._changed:
            if self._closing:
                raise ConflictError(f"session {self.name}: the handle is closed")
            self._calls.add(call)
        try:
            yield self._pointer
        finally:
            with self._changed:
                self._calls.discard(call)
                self._close_if_dropped()
                self._changed.notify_all()

    def _begin_end(self) -> None:
        self._closing = True
        for one in list(self._calls):
            one.fire()

    def _close(self) -> None:
        pointer, self._pointer = self._pointer, None
        lib.session_close(pointer)

    def _close_if_dropped(self) -> None:
        if self._dropped and self._pointer and not self._calls:
            self._close()

    def end(self, destroy: bool) -> None:
        """Ends the calls that are under way, destroys the session if that is wanted, and closes the handle. A second one
        waits for the first; where the destruction fails it may be tried again."""
        self.refuse_fork()
        with self._changed:
            self._changed.wait_for(lambda: not self._closing or not self._pointer)
            if not self._pointer:
                return
            self._begin_end()
        try:
            if destroy:
                must(lib.session_destroy, self._pointer)
            with self._changed:
                self._changed.wait_for(lambda: not self._calls)
                self._close()
        finally:
            with self._changed:
                self._closing = self._pointer is None
                self._close_if_dropped()
                self._changed.notify_all()

    def drop(self) -> None:
        """Closed with the last call, and nobody is waited for: the collector may have called this in any thread. At the
        interpreter's end another one may be in end(), which has the pointer."""
        if not self.is_ours():
            return
        with self._changed:
            self._dropped = True
            if not self._closing:
                self._begin_end()
                self._close_if_dropped()
