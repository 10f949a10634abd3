# SPDX-License-Identifier: MIT
"""libmicroagent by ctypes, made of _table.py: structs, functions, errors as exceptions, documents as objects."""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _table
from ._errors import CLASSES, InternalError, InvalidError

# --- declarations -----------------------------------------------------------------------------------------------------

NUMBERS: Dict[str, Any] = {"int": ctypes.c_int, "bool": ctypes.c_bool, "size_t": ctypes.c_size_t,
                           "int64_t": ctypes.c_int64, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64}
structs: Dict[str, Any] = {}


def of_type(words: str) -> Any:
    """The ctypes type of `const char *`. Memory that is freed by the library, and what is opaque, are addresses."""
    plain = " ".join(words.replace("const", " ").replace("*", " ").split())
    stars = words.count("*")
    name = plain.replace("struct ", "")
    if plain == "void" and not stars:
        return None
    if plain.startswith("enum ") and not stars:
        return ctypes.c_int
    if not stars:
        return structs[name] if name in structs else NUMBERS[plain]
    kind: Any
    if plain == "char" and words.startswith("const"):
        kind, stars = ctypes.c_char_p, stars - 1
    elif name in structs:
        kind = structs[name]
    else:
        kind, stars = ctypes.c_void_p, stars - 1
    for _ in range(stars):
        kind = ctypes.POINTER(kind)
    return kind


def of_parameter(text: str) -> Tuple[str, Any]:
    """`const char *name` or `char msg[1024]`: its name and type."""
    words, name, room = re.fullmatch(r"(.*?)(\w+)(?:\[(\d+)\])?", text.strip(), re.S).groups()  # type: ignore[union-attr]
    return name, ctypes.c_char * int(room) if room else of_type(words)


def of_parameters(text: str) -> List[Any]:
    return [] if text == "void" else [of_parameter(one)[1] for one in text.split(",")]


def of_field(text: str) -> Tuple[str, Any]:
    call = re.fullmatch(r"(.*)\(\*(\w+)\)\((.*)\)", text, re.S)
    if not call:
        return of_parameter(text)
    return call[2], ctypes.CFUNCTYPE(of_type(call[1]), *of_parameters(call[3]))


def statements(text: str) -> List[str]:
    return [one.strip() for one in text.split(";") if one.strip()]


for _name, _fields in _table.STRUCTS.items():
    structs[_name] = type(_name, (ctypes.Structure,), {"_fields_": [of_field(one) for one in statements(_fields)]})


# --- the library ------------------------------------------------------------------------------------------------------


def loaded() -> ctypes.CDLL:
    """MICROAGENT_LIBRARY names another one than the system's."""
    usual = "libmicroagent.0.dylib" if sys.platform == "darwin" else "libmicroagent.so.0"
    try:
        return ctypes.CDLL(os.environ.get("MICROAGENT_LIBRARY") or usual)
    except OSError as error:
        raise ImportError(f"libmicroagent: {error} (the Debian package libmicroagent0 or microagent's `make install` brings it, "
                          "or MICROAGENT_LIBRARY names the file)") from error


class Functions:
    """Those of the table as they are, by their names without `microagent_`."""

    def __init__(self, library: ctypes.CDLL, *texts: str) -> None:
        for text in texts:
            for one in statements(text):
                words, name, parameters = re.fullmatch(r"(.*?)(\w+)\((.*)\)", one, re.S).groups()  # type: ignore[union-attr]
                function = getattr(library, name)
                function.restype, function.argtypes = of_type(words), of_parameters(parameters)
                setattr(self, name[len("microagent_"):] if name.startswith("microagent_") else name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"libmicroagent has no microagent_{name} in the table")


_library = loaded()
lib = Functions(_library, _table.FUNCTIONS, _table.JANSSON)
_free = ctypes.CDLL(None).free
_free.argtypes, _free.restype = [ctypes.c_void_p], None


def text_of(value: bytes) -> str:
    return value.decode(errors="replace")


def raise_error(err: Any) -> None:
    reason = text_of(lib.reason_name(err.reason))
    kind = CLASSES.get(text_of(lib.error_name(err.code)), InternalError)
    raise kind(text_of(err.msg), None if reason == "none" else reason, text_of(err.subject) or None)


def must(function: Callable[..., Any], *words: Any) -> Any:
    """What the function returns, without the `struct error *` that is its last parameter; an exception when it fails."""
    err = structs["error"]()
    got = function(*words, ctypes.byref(err))
    if got is None or function.restype is ctypes.c_int and got < 0:  # type: ignore[attr-defined]
        raise_error(err)
    return got


def parsed(value: int) -> Any:
    """The object of a jansson value, whose reference is taken. An array takes it first: its end is the value's, and
    json_decref() is no symbol."""
    array = lib.json_array()
    if not array or lib.json_array_append_new(array, value) < 0:
        raise MemoryError("libmicroagent")
    text = lib.json_dumps(array, 0)
    lib.json_delete(array)
    if not text:
        raise MemoryError("libmicroagent")
    try:
        return json.loads(ctypes.string_at(text))[0]
    finally:
        _free(text)


def document(value: int) -> Dict[str, Any]:
    return dict(parsed(value))


def told_by(function: Callable[..., Any], *words: Any) -> Dict[str, Any]:
    """The object that the function hands over by a `json_t **`, its last parameter but one."""
    out = ctypes.c_void_p()
    must(function, *words, ctypes.byref(out))
    return document(out.value or 0)


# --- filling structs --------------------------------------------------------------------------------------------------


def word(value: Any, name: str) -> bytes:
    """A string of C, of str, bytes or a path."""
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise InvalidError(f"{name}: a NUL is in {value!r}")
    return encoded


def words(values: Sequence[Any], name: str) -> Any:
    """`const char *const *`, NULL-terminated."""
    if isinstance(values, (str, bytes)):
        raise InvalidError(f"{name}: a list of strings is wanted, and not one")
    encoded = [word(value, name) for value in values]
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded)


STRING, STRINGS = ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)


def whole(value: Any, name: str, kind: Any) -> int:
    """A number that fits: ctypes would cut it."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidError(f"{name}: a whole number is wanted, and not {value!r}")
    if kind(value).value != value:
        raise InvalidError(f"{name}: {value} is out of range")
    return value


def given(kind: Any, value: Any, name: str, keep: List[Any]) -> Any:
    """What is put into a field of that type; keep is what must live as long as the struct."""
    if kind is STRING:
        return word(value, name)
    if kind is STRINGS:
        array = words(value, name)
        keep.append(array)
        return ctypes.cast(array, STRINGS)
    if kind in (ctypes.c_int, ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t):
        return whole(value, name, kind)
    if kind is ctypes.c_bool:
        return bool(value)
    if issubclass(kind, ctypes.Structure):
        if not isinstance(value, Mapping):
            raise InvalidError(f"{name}: names with their values are wanted, and not {value!r}")
        unknown = set(value) - {field for field, _ in kind._fields_}
        if unknown:
            raise InvalidError(f"{name}: there is no {', '.join(sorted(unknown))}")
        inner = filled(kind.__name__, value)
        keep.append(inner)  # with what it points to
        return inner
    return value


def filled(struct: str, values: Mapping[str, Any]) -> Any:
    """A struct of the table by the names of its fields, and of those of its machine; None is the default. Other names are
    left alone, so that a function may give all its parameters."""
    made = structs[struct]()
    made.keep = []
    for name, kind in made._fields_:
        if name == "machine":
            made.keep.append(filled(kind.__name__, values))
            made.machine = made.keep[-1]
        elif values.get(name) is not None:
            setattr(made, name, given(kind, values[name], name, made.keep))
    return made


def environment(env: Optional[Mapping[str, str]]) -> Optional[List[str]]:
    if env is None:
        return None
    if not isinstance(env, Mapping):
        raise InvalidError(f"env: names with their values are wanted, and not {env!r}")
    for name, value in env.items():
        if not name or "=" in name:
            raise InvalidError(f"env: no variable is called {name!r}")
        if not isinstance(value, str):
            raise InvalidError(f"env: {name} is a string, and not {value!r}")
    return [f"{name}={value}" for name, value in env.items()]


def command_words(command: Any) -> List[Any]:
    """A string is a line of the shell, anything else an argument vector."""
    if isinstance(command, str):
        return ["sh", "-c", command]
    if not command:
        raise InvalidError("command: there is none")
    return list(command)


def milliseconds(timeout: Optional[float]) -> int:
    """Of seconds, rounded up; None: no limit, which is 0."""
    if timeout is None:
        return 0
    if not 0 < timeout < float("inf"):
        raise InvalidError(f"timeout: {timeout} s is no time (None: no limit)")
    return max(1, int(-(-timeout * 1000 // 1)))
