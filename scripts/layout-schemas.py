#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lays out JSON files: an object or array that fits into 110 columns stands on one line, any other has one member
a line, indented by two spaces. The values and the order of keys stay. With --check it changes nothing, names
the files that are laid out otherwise, and fails if there are any."""

import json
import sys

COLUMNS = 110


def text_of(value):
    return json.dumps(value, ensure_ascii=False)


def one_line(value):
    """The value on one line, with room inside the braces of an object."""
    if isinstance(value, dict) and value:
        return "{ " + ", ".join(f"{text_of(key)}: {one_line(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(one_line, value)) + "]"
    return text_of(value)


def laid_out(value, indent=0, taken=0):
    """The value as text. The line it begins on has `taken` columns in use, for its indent, key and comma."""
    flat = one_line(value)
    if not value or not isinstance(value, (dict, list)) or taken + len(flat) <= COLUMNS:
        return flat
    is_object = isinstance(value, dict)
    heads = [text_of(key) + ": " for key in value] if is_object else [""] * len(value)
    inner = indent + 2
    lines = [" " * inner + head + laid_out(item, inner, inner + len(head) + 1)
             for head, item in zip(heads, value.values() if is_object else value)]
    opened, closed = "{}" if is_object else "[]"
    return f"{opened}\n" + ",\n".join(lines) + "\n" + " " * indent + closed


def main(words):
    check = "--check" in words
    wrong = 0
    for name in (word for word in words if word != "--check"):
        with open(name, encoding="utf-8") as file:
            before = file.read()
        after = laid_out(json.loads(before)) + "\n"
        if before == after:
            continue
        wrong += 1
        if check:
            print(f"{name}: not laid out at {COLUMNS} columns; run scripts/layout-schemas.py {name}")
        else:
            with open(name, "w", encoding="utf-8") as file:
                file.write(after)
    return 1 if check and wrong else 0


sys.exit(main(sys.argv[1:]))
