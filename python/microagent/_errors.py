# SPDX-License-Identifier: MIT
"""What goes wrong, by the library's codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Type

if TYPE_CHECKING:
    from ._result import Result


class Error(Exception):
    """The library could not do it. `code` is stable ("not-found"), and so is `reason`, which says more exactly
    what it is ("no-session"; None: nothing more), and by `subject` of what (a name or a path; None). `message`
    is a sentence for people."""

    code = "internal"

    def __init__(self, message: str, reason: Optional[str] = None, subject: Optional[str] = None) -> None:
        super().__init__(message)
        self.message, self.reason, self.subject = message, reason, subject

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.message, self.reason, self.subject)


class InvalidError(Error):
    """An argument is wrong; repeating it is useless. Also a handle that is used after a fork."""

    code = "invalid"


class NotFoundError(Error):
    """The session, base, kernel, image, file or program does not exist."""

    code = "not-found"


class ConflictError(Error):
    """Not allowed in the present state; also of a Sandbox that is closed."""

    code = "conflict"


class UnsupportedError(Error):
    """This host or backend cannot do it at all."""

    code = "unsupported"


class UnavailableError(Error):
    """It cannot be done now; trying again may help."""

    code = "unavailable"


class TimedOutError(Error):
    """A deadline passed, as when a guest does not answer; trying again may help. A command whose time is over is
    a result (Result.timed_out) and no error."""

    code = "timeout"


class DeniedError(Error):
    """Rights are missing."""

    code = "denied"


class IOFailedError(Error):
    """The system, the machine or its guest failed."""

    code = "io"


class InternalError(Error):
    """A bug of the library's."""

    code = "internal"


CLASSES: Dict[str, Type[Error]] = {kind.code: kind for kind in (
    InvalidError, NotFoundError, ConflictError, UnsupportedError, UnavailableError, TimedOutError, DeniedError,
    IOFailedError, InternalError)}


class CommandError(Exception):
    """A command that was to succeed (check=True) has ended otherwise; `result` says how."""

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        told = self.result
        why = told.start_error or told.stderr[-1000:].decode(errors="replace").strip()
        how = "its time was over" if told.timed_out else f"exit code {told.exit_code}"
        return f"{how}: {why}" if why else how
