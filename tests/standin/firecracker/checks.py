# SPDX-License-Identifier: MIT
"""Compares a body with its table, and names the first fault in the words of serde_json, the library that Firecracker
parses with. The column in the text is the real one's only for a syntax error, if at all."""

import json
import re

import facts

MAC = re.compile(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}")

class Wrong(Exception):
    pass


NAMES = {dict: "map", list: "sequence", str: "string", bool: "boolean", int: "integer", float: "floating point", type(None): "null"}
EXPECTED = {"string": "a string", "boolean": "a boolean"}


def unique(pairs):
    found = {}
    for key, value in pairs:
        if key in found:
            raise Wrong(f"duplicate field `{key}`")
        found[key] = value
    return found


def kind_of(value):
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, str):
        return f'string "{value}"'
    return f"{NAMES[type(value)]}{f' `{value}`' if isinstance(value, (int, float)) else ''}"


def list_of(words):
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{quoted[0]} or {quoted[1]}" if len(quoted) == 2 else "one of " + ", ".join(quoted)


def check_number(value, field, name, top):
    if isinstance(value, bool) or not isinstance(value, int):
        raise Wrong(f"invalid type: {kind_of(value)}, expected {name}")
    if value < 0 or value > top:
        raise Wrong(f"invalid value: integer `{value}`, expected {name}")


def check_word(value, words):
    if value not in words:
        raise Wrong(f"unknown variant `{value}`, expected {list_of(words)}")


def check_field(object_name, name, field, value, version, partial):
    if value is None and (partial or not field.required and (object_name, name) not in facts.NEVER_NULL):
        return
    if value is None and field.words:
        raise Wrong("expected value")
    if field.kind == "integer":
        top = facts.NARROWER.get((object_name, name), field.high or 2**64 - 1)
        check_number(value, field, {255: "u8", 65535: "u16", 2**32 - 1: "u32"}.get(top, "u64"), top)
    elif field.kind == "object":
        if not isinstance(value, dict):
            raise Wrong(f"invalid type: {kind_of(value)}, expected a map")
        if field.of:
            check_object(field.of, value, version)
    elif not isinstance(value, {"string": str, "boolean": bool}[field.kind]):
        raise Wrong(f"invalid type: {kind_of(value)}, expected {EXPECTED[field.kind]}")
    elif name == "guest_mac" and not MAC.fullmatch(value):
        raise Wrong("The provided MAC address is invalid.")
    elif object_name == "Logger" and field.words:
        if value.lower() not in facts.LEVELS:
            raise Wrong("Invalid LevelFilter")
    elif field.words:
        check_word(value, facts.WORDS_HERE.get((object_name, name), field.words))
        if value == "Transparent" and version < facts.TRANSPARENT_PAGES_SINCE:
            raise Wrong("unknown variant `Transparent`, expected `None` or `2M`")


def check_object(name, value, version, partial=False):
    """Checks the object. partial: no field is required, and null counts as absent."""
    fields = {key: field for key, field in facts.OBJECTS[name].items() if facts.SINCE.get((name, key), version) <= version}
    for key, given in value.items():
        if key in fields:
            check_field(name, key, fields[key], given, version, partial)
        elif name not in facts.OPEN:
            raise Wrong(f"unknown field `{key}`, expected {list_of(fields)}")
    for key, field in fields.items():
        if field.required and not partial and key not in value:
            raise Wrong(f"missing field `{key}`")


def parse_body(call, body, version):
    """Returns the object of a call's body."""
    try:
        value = json.loads(body, object_pairs_hook=unique)
    except (ValueError, RecursionError) as not_json:
        where = re.search(r"line (\d+) column (\d+)", str(not_json))
        place = f" at line {where[1]} column {where[2]}" if where else " at line 1 column 1"
        cut = not body.strip() or body.count(b"{") > body.count(b"}")
        raise Wrong(("EOF while parsing an object" if cut else "expected value") + place) from None
    if not isinstance(value, dict):
        raise Wrong(f"invalid type: {kind_of(value)}, expected struct {call.body} at line 1 column 1")
    try:
        check_object(call.body, value, version, partial=not call.required)
    except Wrong as wrong:
        raise Wrong(f"{wrong} at line {1 + body.count(10)} column {len(body) - (body.rfind(10) + 1)}") from None
    return value
