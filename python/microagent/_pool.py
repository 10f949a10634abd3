# SPDX-License-Identifier: MIT
"""Sessions that wait, and what there is."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Optional

from ._calls import call, opened
from ._library import document, filled, lib, must, word
from ._sandbox import Path, Sandbox


def _told(function: Any, state_dir: Optional[Path], key: str) -> List[Dict[str, Any]]:
    def ask() -> List[Dict[str, Any]]:
        with opened(state_dir) as agent:
            return list(document(must(function, agent))[key])
    return call(ask)


def bases(state_dir: Optional[Path] = None) -> List[Dict[str, Any]]:
    """The bases that sandboxes can be made of, by name and version: "name", "path", "template" where it is warm."""
    return _told(lib.base_list, state_dir, "bases")


def sandboxes(state_dir: Optional[Path] = None) -> List[Dict[str, Any]]:
    """All sessions that there are, whoever made them: "name", "base", "state"; those of a pool with "pooled"."""
    return _told(lib.session_list, state_dir, "sessions")


class Pool:
    """Keeps so many sessions of a base booted, which Sandbox(base) is given in milliseconds; the end of `with` drains it.
    A process in the background makes them, and goes on when this one has ended: it is the state directory's pool, and no
    other one's of the base.

    memory_mib (MiB) and cpus of each; None: the base's. network: "nat" (None) or "isolated": what a Sandbox asks for must be
    what they have. InvalidError for more than the host can ever have; NotFoundError without the base."""

    def __init__(self, base: str, size: int, *, memory_mib: Optional[int] = None, cpus: Optional[int] = None,
                 network: Optional[str] = None, backend: Optional[str] = None,
                 state_dir: Optional[Path] = None) -> None:
        self._state_dir, self._network, self._backend = state_dir, network, backend
        spec = filled("microagent_pool_spec", locals())

        def begin() -> None:
            with opened(state_dir, backend) as agent:
                must(lib.pool_set, agent, ctypes.byref(spec))
        self.base = base
        call(begin)

    def sandbox(self, **options: Any) -> Sandbox:
        """Sandbox(base, ...) with the pool's network, backend and state directory."""
        own: Dict[str, Any] = {"network": self._network, "backend": self._backend, "state_dir": self._state_dir}
        return Sandbox(self.base, **{**own, **options})

    def status(self) -> Dict[str, Any]:
        """{"base","backend","size","ready","filling","detail"?,"reason"?}; {} where there is none any more."""
        every = _told(lib.pool_status, self._state_dir, "pools")
        return next((one for one in every if one["base"] == self.base or one["base"].rsplit("-v", 1)[0] == self.base), {})

    def drain(self) -> None:
        """Keeps none any more: returns when those that waited are gone. NotFoundError: it has been drained."""
        def end() -> None:
            with opened(self._state_dir) as agent:
                must(lib.pool_drain, agent, word(self.base, "base"))
        call(end)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.drain()
