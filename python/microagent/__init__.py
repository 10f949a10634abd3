# SPDX-License-Identifier: MIT
"""Virtual machines for AI agents: a binding of libmicroagent.

`Sandbox` is a machine of its own for one task, `run()` one for a single command, `Pool` has some booted before they are
asked for. All of it blocks and may be called from any thread; `Stream` is for asynchronous loops too, and
`asyncio.to_thread()` does for the rest. Errors are exceptions by the library's codes, with `reason` and `subject`. What a
guest says is untrusted data. microagent_session.h tells the rest, and `man 3 microagent`."""

from ._errors import (CommandError, ConflictError, DeniedError, Error, InternalError, InvalidError, IOFailedError,
                      NotFoundError, TimedOutError, UnavailableError, UnsupportedError)
from ._library import lib as _lib
from ._pool import Pool, bases, sandboxes
from ._result import Result
from ._run import run
from ._sandbox import Sandbox
from ._stream import Output, Stream

__all__ = ["CommandError", "ConflictError", "DeniedError", "Error", "InternalError", "InvalidError", "IOFailedError",
           "NotFoundError", "Output", "Pool", "Result", "Sandbox", "Stream", "TimedOutError", "UnavailableError",
           "UnsupportedError", "bases", "run", "sandboxes"]
for _name in __all__:
    globals()[_name].__module__ = __name__
__version__ = _lib.version().decode()
