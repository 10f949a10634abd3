# SPDX-License-Identifier: MIT
"""A session: a machine for one task, cloned from a base, used, and destroyed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
import warnings
import weakref
from typing import IO, Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union

from ._calls import Cancel, Handle, call, opened
from ._errors import InvalidError, NotFoundError
from ._library import (command_words, document, environment, filled, lib, milliseconds, must, parsed, structs, text_of,
                       told_by, word)
from ._result import Result, checked, result_of
from ._stream import Flow, Stream, callbacks_of

T = TypeVar("T")
Path = Union[str, "os.PathLike[str]"]
Command = Union[str, Sequence[Union[str, bytes]]]
Bytes = Union[bytes, bytearray, memoryview, str]
Egress = Union[Sequence[str], Mapping[str, Any]]
CHUNKS, LINES = 1, 0  # enum microagent_pieces
NETWORK_CHANGES = {"allow": 0, "deny": 1, "publish": 2, "unpublish": 3}  # enum microagent_network_change


def egress_of(egress: Optional[Egress]) -> Optional[Mapping[str, Any]]:
    """A struct microagent_egress by its fields; a list is that of names. One that has nobody on it would be none to the
    library, and all of the internet be open."""
    if egress is None:
        return None
    if isinstance(egress, (str, bytes)):
        raise InvalidError(f"egress: a list of names is wanted, and not {egress!r}")
    fields = egress if isinstance(egress, Mapping) else {"names": egress}
    if not any(fields.values()) and set(fields) <= {field for field, _ in structs["microagent_egress"]._fields_}:
        raise InvalidError("egress: nobody is named (network='isolated' reaches nobody, and None is no list)")
    return fields


def bytes_of(data: Optional[Bytes]) -> Optional[bytes]:
    """Neither a number, of which bytes() makes so many zeros, nor a list."""
    if data is None or isinstance(data, str):
        return None if data is None else data.encode()
    try:
        return memoryview(data).tobytes()
    except TypeError:
        raise TypeError(f"text or bytes are wanted, and not {type(data).__name__}") from None


def limits_of(cancel: Any, stdin: Optional[Bytes] = None, timeout: Optional[float] = None,
              **caps: Optional[int]) -> Any:
    data = bytes_of(stdin)
    made = filled("microagent_run_limits", {"timeout_ms": milliseconds(timeout), "cancel": cancel.pointer, **caps})
    if data is not None:
        made.keep.append(data)
        made.stdin_bytes, made.stdin_len = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data)
    return made


def exec_of(command: Command, env: Optional[Mapping[str, str]], cwd: Optional[str], user: Optional[str],
            timeout_seconds: Optional[int] = None) -> Any:
    return filled("microagent_exec", {"command": command_words(command), "env": environment(env), "cwd": cwd,
                                      "user": user, "timeout_seconds": timeout_seconds})


def descriptor(end: Union[int, IO[Any]], name: str) -> int:
    number = end if isinstance(end, int) else end.fileno()
    if number < 0:
        raise InvalidError(f"{name}: {number} is not a descriptor")
    return number


def copying(function: Any, source: Path, target: Optional[Path], user: Optional[str], timeout: Optional[float],
            limit_bytes: Optional[int] = None, file: Optional[int] = None) -> Callable[[Any, Cancel], None]:
    options = filled("microagent_copy", {"user": user, "limit_bytes": limit_bytes, "file": file})
    ends = word(source, "source"), None if target is None else word(target, "target")

    def copy(guest: Any, cancel: Cancel) -> None:
        limits = limits_of(cancel, timeout=timeout)
        must(function, guest, *ends, ctypes.byref(options), ctypes.byref(limits))
    return copy


def words_of(paths: Optional[Sequence[str]]) -> Any:
    """An array of C strings with NULL at its end; None without paths."""
    if paths is None:
        return None
    return (ctypes.c_char_p * (len(paths) + 1))(*(word(path, "paths") for path in paths), None)


def refuse_directory(guest: Any, path: str, user: Optional[str], limits: Any) -> None:
    """What is copied to one would be put into it."""
    with contextlib.suppress(NotFoundError):
        who = None if user is None else word(user, "user")
        if parsed(must(lib.guest_stat, guest, word(path, "path"), who, ctypes.byref(limits)))["type"] == "directory":
            raise InvalidError(f"{path}: a directory")


def _forget(handle: Handle, name: str, kept: bool) -> None:
    handle.drop()  # first: a warning may be an exception
    if handle.is_ours() and not kept:
        warnings.warn(f"{name} was not closed: it is destroyed now", ResourceWarning, stacklevel=2)


class Sandbox:
    """A machine of its own for one task, made of a base (`microagent base create`) and destroyed at the end of `with`::

        with microagent.Sandbox("tools") as box:
            print(box.run(["uname", "-r"]).text)

    It is also destroyed when the object is forgotten and when the process ends, however that comes about; with `keep`
    none of this does it. Any number of threads may use it at once. After a fork the child can not (InvalidError).

    Every method raises an Error when the library cannot do it: NotFoundError, ConflictError (the session does not run, is
    in quarantine, or the Sandbox is closed), UnavailableError (at its quota, or its machine went) among them. An exception
    of a signal's handler, KeyboardInterrupt for one, ends the call that the main thread waits for.
    """

    def __init__(self, base: str, *,
                 # The parameters for the machine, which scripts/python-table.py writes:
                 network: Optional[str] = None, network_interface: Optional[str] = None,
                 allow: Optional[Sequence[str]] = None, egress: Optional[Egress] = None,
                 publish: Optional[Sequence[str]] = None, mediation: Optional[str] = None,
                 mediation_optional: bool = False, vsock: Optional[Sequence[str]] = None,
                 shares: Optional[Sequence[str]] = None, share_anyway: bool = False, share_git: bool = False,
                 rates: Optional[Mapping[str, int]] = None, memory_mib: Optional[int] = None,
                 cpus: Optional[int] = None, accelerator: Optional[str] = None,
                 # All other parameters:
                 share: Optional[Path] = None, share_at: Optional[str] = None, share_read_only: bool = False,
                 share_cache: Optional[str] = None, share_timeout_seconds: Optional[int] = None,
                 no_share: bool = False, cold: bool = False, disk_quota_mib: Optional[int] = None,
                 lifetime_seconds: Optional[int] = None, idle_seconds: Optional[int] = None, keep: bool = False,
                 boot: bool = True, backend: Optional[str] = None, state_dir: Optional[Path] = None) -> None:
        """Clones the base, or takes one that waits in its pool, and returns when the first command would succeed. With
        boot=False it is cloned and nothing runs in it until boot().

        base: NAME is its newest version, NAME-vN that one. memory_mib (MiB) and cpus: None: the base's. network: "nat"
        (None), "isolated", or "bridged" with network_interface. allow: IPv4 prefixes of the host's own networks that nat
        opens. egress: the hosts that nat may reach by name, and no others: a list of "NAME[:PORT,...]", or "names", "from"
        ("npm", "pypi", "debian", "github", or files), "sni_off" and "dry_run" with their values. publish:
        "[HOST:]HOSTPORT:GUESTPORT". share: a directory of the host that the guest has at share_at (/workspace).
        shares: further ones, or all of them, "DIR:/PLACE[:OPTION,...]". share_git: of those that are git worktrees also what their
        repository has in common, with its hooks and configuration, without which git does not work in the guest.
        disk_quota_mib: MiB that the disk may grow by. rates: disk_bytes, disk_ops and net_bytes a second. lifetime_seconds, idle_seconds: when it is destroyed by itself. cold: booted, not restored or of a pool. The rest
        is as microagent_session.h has it. state_dir: None: $MICROAGENT_STATE_DIR, else ~/.microagent.

        NotFoundError without the base, InvalidError, UnsupportedError, UnavailableError; nothing of it is left then.
        """
        cancel = Cancel()
        spec = filled("microagent_session_spec", {**locals(), "egress": egress_of(egress), "owned": not keep,
                                                   "cancel": cancel.fd})

        def create() -> None:
            with opened(state_dir, backend) as agent:
                pointer = ctypes.c_void_p()
                must(lib.session_create if boot else lib.session_clone_base, agent, ctypes.byref(spec), ctypes.byref(pointer))
                self._take(pointer, keep)
        self._made_by(create, cancel)

    def _made_by(self, work: Callable[[], None], cancel: Cancel) -> None:
        """A signal may have come just when it was made."""
        try:
            call(work, cancel)
        except BaseException:
            if hasattr(self, "_handle"):
                self.destroy()
            raise

    def _take(self, pointer: Any, keep: bool) -> None:
        self._handle, self._keep = Handle(pointer), keep
        self._finalizer = weakref.finalize(self, _forget, self._handle, self._handle.name, keep)

    @classmethod
    def open(cls, name: str, *, keep: bool = True, state_dir: Optional[Path] = None) -> Sandbox:
        """A session that was made before, by whomever. With keep=False the end of `with` destroys it. NotFoundError."""
        pointer = ctypes.c_void_p()
        with opened(state_dir) as agent:
            must(lib.session_open, agent, word(name, "name"), ctypes.byref(pointer))
        box = cls.__new__(cls)
        box._take(pointer, keep)
        return box

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        if self._keep:
            self.close()
        else:
            self.destroy()

    def __repr__(self) -> str:
        return f"<microagent.Sandbox {self.name}>"

    # --- its life -----------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """session-2026-05-10T14-22-00Z-a7f3"""
        return str(self._handle.name)

    def boot(self) -> None:
        """Starts its machine, of a Sandbox that was made with boot=False or has stopped, and returns when the first command
        would succeed. ConflictError: it runs. Where it fails the session stays as it is."""
        def start(pointer: Any, _cancel: Cancel) -> None:
            must(lib.session_boot, pointer)
        self._ask(start)

    def info(self) -> Dict[str, Any]:
        """What it is (schema/session.json): "base", "path", "source", "createdAt", "boot" and so on; "timings" in
        milliseconds."""
        return self._ask(lambda pointer, cancel: document(must(lib.session_describe, pointer)))

    def destroy(self) -> None:
        """Ends what runs in it, and its machine, removes all of it and closes the handle. Its audit log stays. Once more is
        success. ConflictError: somebody else destroys it just now, or it is in quarantine, and stays as it is."""
        self._end(True)

    def close(self) -> None:
        """Closes the handle; calls that are under way end. The session is destroyed soon by itself, and with `keep` goes
        on."""
        self._end(False)

    def _end(self, destroy: bool) -> None:
        self._handle.refuse_fork()
        call(lambda: self._handle.end(destroy))
        self._finalizer.detach()

    def _ask(self, work: Callable[[Any, Cancel], T]) -> T:
        cancel = Cancel()

        def asked() -> T:
            with self._handle.using(cancel) as pointer:
                return work(pointer, cancel)
        return call(asked, cancel)

    def _ask_guest(self, work: Callable[[Any, Cancel], T]) -> T:
        return self._ask(lambda pointer, cancel: work(must(lib.session_guest, pointer), cancel))

    # --- commands -----------------------------------------------------------------------------------------------------

    def run(self, command: Command, *, stdin: Optional[Bytes] = None, timeout: Optional[float] = None,
            env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None, user: Optional[str] = None,
            stdout_cap: Optional[int] = None, stderr_cap: Optional[int] = None, check: bool = False) -> Result:
        """Runs a command to its end and keeps what it says. A string is a line for `sh -c`, a list an argument vector that
        no shell sees.

        stdin: all that it reads; None: nothing. timeout: seconds, then it is killed with all its children and the result
        is timed_out. cwd: None: the user's home. user: None: the image's, else uid 1000. stdout_cap, stderr_cap: bytes that
        are kept, 8 MiB each by default. check: CommandError when it does not end with 0.

        TimedOutError: the guest does not answer, five seconds after the timeout."""
        how = exec_of(command, env, cwd, user)

        def run(pointer: Any, cancel: Cancel) -> Result:
            out = structs["microagent_result"]()
            limits = limits_of(cancel, stdin, timeout, stdout_cap=stdout_cap, stderr_cap=stderr_cap)
            must(lib.session_run, pointer, ctypes.byref(how), ctypes.byref(limits), ctypes.byref(out))
            return result_of(out)
        return checked(self._ask(run), check)

    def stream(self, command: Command, *, stdin: Optional[Bytes] = None, timeout: Optional[float] = None,
               env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None, user: Optional[str] = None,
               lines: bool = True) -> Stream:
        """As run(), with the output as it comes, without limit: whole lines (of 64 KiB at most) or, with lines=False, what
        arrives. The command waits while nobody reads. The timeout, in seconds, counts meanwhile; two seconds after it what
        nobody has taken is dropped (Result.unread)."""
        how, handle = exec_of(command, env, cwd, user), self._handle
        milliseconds(timeout)

        def work(flow: Flow) -> Result:
            out, callbacks = structs["microagent_result"](), callbacks_of(flow)
            limits = limits_of(flow.cancel, stdin, timeout)
            with handle.using(flow) as pointer:
                must(lib.session_stream, pointer, ctypes.byref(how), LINES if lines else CHUNKS,
                     ctypes.byref(callbacks), ctypes.byref(limits), ctypes.byref(out))
            return result_of(out)
        return Stream(self, handle, work, timeout)

    def exec(self, command: Command, *, stdin: Optional[Union[int, IO[Any]]] = None,
             stdout: Union[int, IO[Any]] = 1, stderr: Union[int, IO[Any]] = 2, timeout: Optional[int] = None,
             env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None, user: Optional[str] = None,
             check: bool = False) -> Result:
        """Runs a command whose streams are files, pipes or sockets of this process: descriptors, or objects that have
        fileno() (what Python buffers of them is left alone). It returns when the command has ended; a command that is spoken
        with meanwhile is run on another thread. When the reader of stdout goes away the command is ended. stdin: None:
        nothing. timeout: whole seconds, counted by the guest; two seconds after it what the reader of a stream has not taken
        is dropped (Result.unread)."""
        ends = {"in": -1 if stdin is None else descriptor(stdin, "stdin"), "out": descriptor(stdout, "stdout"),
                "err": descriptor(stderr, "stderr")}
        how = exec_of(command, env, cwd, user, timeout)

        def run(pointer: Any, cancel: Cancel) -> Result:
            sessions, name = os.path.split(document(must(lib.session_describe, pointer))["path"])
            out, streams = structs["microagent_outcome"](), filled("microagent_streams", {**ends, "cancel": cancel.fd})
            with opened(sessions) as agent:
                must(lib.exec, agent, word(name, "name"), ctypes.byref(how), ctypes.byref(streams), ctypes.byref(out))
            return Result(out.exit_code, signal=out.signal, timed_out=out.timed_out, cancelled=out.end == 1,
                          killed=out.killed, elapsed_ms=out.elapsed_ms, start_error=text_of(out.start_error),
                          unread=out.unread)
        return checked(self._ask(run), check)

    # --- files --------------------------------------------------------------------------------------------------------

    def copy_in(self, host_path: Path, path: str, *, user: Optional[str] = None, timeout: Optional[float] = None,
                limit_bytes: Optional[int] = None) -> None:
        """A file, or a directory with all that is in it, to `path` of the guest: a new name, a file to be replaced, or a
        directory to put it in. Under its name there is all of it or nothing. timeout in seconds; more than limit_bytes is a
        ConflictError."""
        self._ask_guest(copying(lib.guest_copy_in, host_path, path, user, timeout, limit_bytes))

    def copy_out(self, path: str, host_path: Path, *, user: Optional[str] = None, timeout: Optional[float] = None,
                 limit_bytes: Optional[int] = None) -> None:
        """The same from the guest. What arrives is the guest's work: links in it may lead anywhere."""
        self._ask_guest(copying(lib.guest_copy_out, path, host_path, user, timeout, limit_bytes))

    def write_file(self, path: str, data: Bytes, *, mode: int = 0o644, user: Optional[str] = None,
                   timeout: Optional[float] = None) -> None:
        """Makes or replaces a file of the guest, all of it at once; text as UTF-8. mode: the permission bits; it belongs to
        the user. InvalidError: a directory is there; ConflictError: a link is."""
        given = bytes_of(data)
        if given is None:
            raise TypeError("data: text or bytes are wanted, and not None")
        content: bytes = given

        def write(guest: Any, cancel: Cancel) -> None:
            refuse_directory(guest, path, user, limits_of(cancel, timeout=timeout))
            with tempfile.TemporaryFile() as file:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), mode)
                copying(lib.guest_copy_in, f"/dev/fd/{file.fileno()}", path, user, timeout)(guest, cancel)
        self._ask_guest(write)

    def read_file(self, path: str, *, user: Optional[str] = None, timeout: Optional[float] = None,
                  limit_bytes: int = 64 << 20) -> bytes:
        """A file of the guest. InvalidError: it is no file; ConflictError: it has more than
        limit_bytes."""
        def read(guest: Any, cancel: Cancel) -> bytes:
            with tempfile.TemporaryFile() as file:
                copying(lib.guest_copy_out, path, None, user, timeout, limit_bytes, file.fileno())(guest, cancel)
                file.seek(0)
                return file.read()
        return self._ask_guest(read)

    def list_files(self, path: str, *, user: Optional[str] = None, timeout: Optional[float] = None) -> List[Dict[str, Any]]:
        """The entries of a directory by name, or the one thing: "name", "type" ("file", "directory", "link" ...), "mode"
        (the permission bits), "size" (bytes), "mtime" (seconds since 1970), "uid", "gid", "links", "target"."""
        return list(self._look(lib.guest_list, path, user, timeout))

    def stat_file(self, path: str, *, user: Optional[str] = None, timeout: Optional[float] = None) -> Dict[str, Any]:
        """One entry, of a link itself. NotFoundError."""
        return dict(self._look(lib.guest_stat, path, user, timeout))

    def _look(self, function: Any, path: str, user: Optional[str], timeout: Optional[float]) -> Any:
        words = word(path, "path"), None if user is None else word(user, "user")

        def look(guest: Any, cancel: Cancel) -> Any:
            limits = limits_of(cancel, timeout=timeout)
            return parsed(must(function, guest, *words, ctypes.byref(limits)))
        return self._ask_guest(look)

    def share(self, dir: Path, *, at: Optional[str] = None, read_only: bool = False, anyway: bool = False,
              cache: Optional[str] = None, timeout_seconds: Optional[int] = None) -> Dict[str, Any]:
        """Gives the guest a directory of the host, at /workspace. A machine is given them once, and that
        of restore() has them again. {"path","mountpoint","mode"}.
        anyway: also a store of keys, or the home. cache: what the guest keeps of it ("auto", "always", "none"), and for how
        many seconds. ConflictError: it has one, or its machine was restored from a warm base (that is made with `share`, or
        `cold`); UnavailableError names the package that is missing."""
        wanted = filled("microagent_session_share", locals())
        return self._ask(lambda pointer, cancel: told_by(lib.session_give_share, pointer, ctypes.byref(wanted)))

    def give_shares(self, shares: Sequence[str], *, anyway: bool = False, git: bool = False) -> List[Dict[str, Any]]:
        """The same with up to eight of them, "DIR:/PLACE[:OPTION,...]", all or none. git: as share_git of Sandbox; what comes
        by that is behind them in the answer."""
        wanted = filled("microagent_session_spec", {"shares": shares, "share_anyway": anyway, "share_git": git})

        def give(pointer: Any, _cancel: Cancel) -> List[Dict[str, Any]]:
            out = ctypes.c_void_p()
            must(lib.session_give_shares, pointer, ctypes.byref(wanted), ctypes.byref(out))
            return list(parsed(out.value or 0))
        return self._ask(give)

    def change_network(self, change: str, what: str) -> Dict[str, Any]:
        """"allow" or "deny" a host of a sandbox that was made with egress ("NAME[:PORT,...]"), "publish" a port
        ("[HOST:]HOSTPORT:GUESTPORT") or "unpublish" it ("[HOST:]HOSTPORT"); the answer is what the network is then. ConflictError:
        it has no list of names; NotFoundError: that is not listed or published."""
        if change not in NETWORK_CHANGES:
            raise InvalidError(f"change: {change!r} is none of {', '.join(NETWORK_CHANGES)}")
        return self._ask(lambda pointer, cancel: told_by(lib.session_change_network, pointer, NETWORK_CHANGES[change],
                                                         word(what, "what")))

    # --- reviews ------------------------------------------------------------------------------------------------------

    def _of_workspace(self, work: Callable[[Any, bytes], T]) -> T:
        """Calls a function that takes the state directory and the name of the session's own workspace."""
        place, name = os.path.split(self.info()["path"])

        def ask() -> T:
            with opened(place) as agent:
                return work(agent, word(name, "name"))
        return call(ask)

    def changes(self, paths: Optional[Sequence[str]] = None, *, limit_bytes: Optional[int] = None) -> List[Dict[str, Any]]:
        """Fetches what the guest has changed in directories that were shared with it for a review ("DIR:/PLACE:review" of
        shares). The answer has an object for each directory: "path", "mountpoint", "digest" and "changes"
        (schema/cli-changes.json). paths limits it: relative to the only such directory, or absolute paths of the guest.
        Nothing of it is on the host until apply_changes(). NotFoundError: there is no such directory, or no such change."""
        copy = filled("microagent_copy", {"limit_bytes": limit_bytes})
        return self._of_workspace(lambda agent, name: list(
            told_by(lib.changes, agent, name, ctypes.byref(copy), words_of(paths))["reviews"]))

    def patch(self, paths: Optional[Sequence[str]] = None) -> bytes:
        """The changes that changes() has fetched last, as a patch for `git apply`. NotFoundError: nothing was fetched, or the
        host has no git."""
        def write(agent: Any, name: bytes) -> bytes:
            with tempfile.TemporaryFile() as file:
                must(lib.changes_diff, agent, name, words_of(paths), False, file.fileno())
                file.seek(0)
                return file.read()
        return self._of_workspace(write)

    def apply_changes(self, paths: Optional[Sequence[str]] = None, *, digest: Optional[str] = None) -> List[Dict[str, Any]]:
        """Brings changes that changes() has fetched last to the host. The answer has an object for each directory: "applied",
        "conflicts" (files that were changed on the host meanwhile, which stay), "leftOut" and "unnamed" (files that programs of
        the host run or obey, which must be named in paths). digest: that of the changes that a person has seen;
        ConflictError if other ones were fetched since."""
        wanted = None if digest is None else word(digest, "digest")
        return self._of_workspace(lambda agent, name: list(
            told_by(lib.changes_apply, agent, name, wanted, words_of(paths))["reviews"]))

    def drop_changes(self) -> None:
        """Forgets all changes of a sandbox that does not run. ConflictError: it runs."""
        def drop(agent: Any, name: bytes) -> None:
            must(lib.changes_drop, agent, name)
        self._of_workspace(drop)

    # --- forks and snapshots ------------------------------------------------------------------------------------------

    def fork(self, count: int = 1, *, on_fork: Optional[Command] = None, env: Optional[Mapping[str, str]] = None,
             cwd: Optional[str] = None, user: Optional[str] = None, timeout: Optional[int] = None) -> List[Sandbox]:
        """So many sandboxes that go on from where this one is, with what runs in it, and an identity of their own: 1 to 100,
        all or none. Each is destroyed like this one, and outlives it. ConflictError with what is in the
        way: its base is not warm (`microagent base warm`), or it has a share.

        What a process has in its memory is the same in all of them: keys, and the state of its random number generator
        (OpenSSL, Python's random), so that they draw the same numbers. on_fork: a command, as of run(), in each of them before
        this returns, which changes that (env, cwd, user as of run(); timeout in whole seconds, 60 by default). IOFailedError
        or TimedOutError, where it ends otherwise than with 0 in one: then there is none of them."""
        if on_fork is None and not (env is None and cwd is None and user is None and timeout is None):
            raise InvalidError("env, cwd, user and timeout are of the command of on_fork")
        spec = filled("microagent_fork_spec", {"count": count, "owned": not self._keep})
        if on_fork is not None:
            how = exec_of(on_fork, env, cwd, user, timeout)
            spec.on_fork = ctypes.pointer(how)
        pointers, children = (ctypes.c_void_p * max(count, 1))(), []  # type: Any, List[Sandbox]

        def fork(pointer: Any, cancel: Cancel) -> None:
            spec.cancel = cancel.fd
            must(lib.session_fork, pointer, ctypes.byref(spec), pointers, None)
            for one in pointers:
                children.append(Sandbox.__new__(Sandbox))
                children[-1]._take(ctypes.c_void_p(one), self._keep)
        try:
            self._ask(fork)
        except BaseException:
            for child in children:
                child.destroy()
            raise
        return children

    def snapshot(self, name: str) -> Dict[str, Any]:
        """Keeps it as it is now, under a name, until it is destroyed: {"name","createdAt","stateBytes","diskBytes",
        "pauseMs"}. ConflictError as of fork(), and where the name is taken."""
        return self._ask(lambda pointer, cancel: told_by(lib.session_snapshot, pointer, word(name, "name")))

    def restore(self, name: str) -> Dict[str, Any]:
        """Goes back to a snapshot; what runs now ends. "boot" of the answer says {"how":"restored"}, or "cold" and why;
        "unshared" why its directories could not be given to it again. NotFoundError."""
        return self._ask(lambda pointer, cancel: told_by(lib.session_restore, pointer, word(name, "name")))

    def snapshots(self) -> List[Dict[str, Any]]:
        """What snapshot() told of each, by name; of one that is damaged "name" and "error"."""
        return self._ask(lambda pointer, cancel: list(document(must(lib.session_snapshots, pointer))["snapshots"]))

    def delete_snapshot(self, name: str) -> None:
        """NotFoundError."""
        def delete(pointer: Any, _cancel: Cancel) -> None:
            must(lib.session_snapshot_delete, pointer, word(name, "name"))
        self._ask(delete)
