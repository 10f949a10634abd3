# SPDX-License-Identifier: MIT
"""A command's output as it comes, for a loop or an asynchronous one. The command runs on a thread of its own; what it
says waits in a short queue, and when that is full so does the command."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import dataclasses
import threading
import time
import weakref
from collections import deque
from typing import Any, AsyncIterator, Callable, Deque, Iterator, NamedTuple, Optional, Tuple

from ._calls import Cancel, Handle, call
from ._library import structs
from ._result import Result

PIECES = 64  # that wait, of 64 KiB at most
UNREAD_S = 2.0  # for a loop to take a piece of a command whose time is over, before the rest is dropped
TIMED_OUT = 124


class Output(NamedTuple):
    """A piece of what a command says: untrusted data."""

    stream: str
    """"stdout" or "stderr"."""
    data: bytes

    @property
    def text(self) -> str:
        """As UTF-8; what is none is U+FFFD."""
        return self.data.decode(errors="replace")


def wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Flow:
    """What the command's thread and the loop have in common; it knows nothing of the Stream, which may be forgotten."""

    def __init__(self, timeout: Optional[float] = None) -> None:
        self.cancel = Cancel()
        self._expires = None if timeout is None else time.monotonic() + timeout
        self._unread = False
        self._changed = threading.Condition()
        self._pieces: Deque[Output] = deque()
        self._ended = self._fired = False
        self.result: Optional[Result] = None
        self.error: Optional[BaseException] = None
        self._waiting: Optional[Tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = None

    def _tell(self) -> None:
        self._changed.notify_all()
        waiting, self._waiting = self._waiting, None
        if waiting:
            loop, future = waiting
            with contextlib.suppress(RuntimeError):  # its loop has been closed
                loop.call_soon_threadsafe(wake, future)

    def _patience(self) -> Optional[float]:
        """Seconds for which a loop that takes nothing is waited for; None: for ever."""
        return None if self._expires is None else max(self._expires - time.monotonic(), 0) + UNREAD_S

    def put(self, piece: Output) -> bool:
        """False: nobody wants more. The deadline holds for who reads too: what nobody has taken by then is dropped."""
        with self._changed:
            self._unread = self._unread or not self._changed.wait_for(
                lambda: len(self._pieces) < PIECES or self._fired, self._patience())
            if not self._fired and not self._unread:
                self._pieces.append(piece)
                self._tell()
            return not self._fired

    def run(self, work: Callable[[Flow], Result]) -> None:
        result, error = None, None
        try:
            result = work(self)
            if self._unread:
                result = dataclasses.replace(result, exit_code=TIMED_OUT, timed_out=True, unread=True)
        except BaseException as failed:
            error = failed
        with self._changed:
            self._ended, self.result, self.error = True, result, error
            self._tell()

    def fire(self) -> None:
        if not self.cancel.is_ours():  # nor is the lock
            return
        with self._changed:
            self._fired = True
            self._pieces.clear()
            self._changed.notify_all()
        self.cancel.fire()

    def take(self) -> Optional[Output]:
        """The next piece, if one is there; None: not now, or never again."""
        with self._changed:
            piece = self._pieces.popleft() if self._pieces else None
            self._changed.notify_all()
            return piece

    def is_over(self) -> bool:
        with self._changed:
            return self._ended and not self._pieces

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._pieces or self._ended)

    def wait_for_end(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended)

    async def wait_async(self) -> None:
        with self._changed:
            if self._pieces or self._ended:
                return
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            self._waiting = loop, future
        await future


def callbacks_of(flow: Flow) -> Any:
    """A struct microagent_callbacks whose output goes to the flow."""
    names = ("stdout", "stderr")

    def output(_data: Any, stream: int, at: int, length: int) -> int:
        try:
            return 0 if flow.put(Output(names[stream], ctypes.string_at(at, length))) else 1
        except BaseException:  # no exception finds its way through C
            return 1
    kind = structs["microagent_callbacks"]
    return kind(output=dict(kind._fields_)["output"](output))


class Stream:
    """The output of one command, piece by piece: `for piece in stream` or `async for piece in stream`. When that is over
    `result` says how it ended. One loop at a time reads it. Closing it, leaving its `with`, an interrupted `for` and
    forgetting it end the command. Its Sandbox lives as long as it."""

    def __init__(self, sandbox: object, handle: Handle, work: Callable[[Flow], Result],
                 timeout: Optional[float] = None) -> None:
        handle.refuse_fork()
        self._sandbox, self._handle, self._flow = sandbox, handle, Flow(timeout)
        flow = self._flow
        self._forget = weakref.finalize(self, flow.fire)
        self._forget.atexit = False
        threading.Thread(target=flow.run, args=(work,), name="microagent-stream", daemon=True).start()

    @property
    def result(self) -> Optional[Result]:
        """How it ended, without what it said; None while the loop goes on."""
        return self._flow.result if self._flow.is_over() else None

    def _over(self) -> None:
        if self._flow.error is not None:
            raise self._flow.error

    def __iter__(self) -> Iterator[Output]:
        return self

    def __next__(self) -> Output:
        """An Error where the machine or the guest failed."""
        self._handle.refuse_fork()
        flow = self._flow
        while True:
            piece = flow.take()
            if piece is not None:
                return piece
            if flow.is_over():
                self._over()
                raise StopIteration
            call(flow.wait, flow)

    def __aiter__(self) -> AsyncIterator[Output]:
        return self

    async def __anext__(self) -> Output:
        self._handle.refuse_fork()
        flow = self._flow
        while True:
            piece = flow.take()
            if piece is not None:
                return piece
            if flow.is_over():
                self._over()
                raise StopAsyncIteration
            await flow.wait_async()

    def close(self) -> None:
        """Ends the command if it runs, with all processes of it, within five seconds."""
        self._handle.refuse_fork()
        self._flow.fire()
        call(self._flow.wait_for_end)

    async def aclose(self) -> None:
        """The same for an asynchronous loop."""
        self._handle.refuse_fork()
        self._flow.fire()
        while not self._flow.is_over():
            await self._flow.wait_async()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
