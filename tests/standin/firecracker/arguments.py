# SPDX-License-Identifier: MIT
"""Parses the command line by Firecracker's rules, and refuses it in Firecracker's words."""

import facts

PREFIX = "--"


class Wrong(Exception):
    """Has the variant, the message and the text between the variant's quotes. Firecracker logs the variant and prints the others."""

    def __init__(self, variant, message, detail):
        super().__init__(message)
        self.shown = f'{variant}("{detail}")'


def check_alone(name, given):
    other = facts.REQUIRES.get(name)
    if other and other not in given:
        raise Wrong("MissingArgument", f"Argument '{other}' required, but not found.", other)
    other = facts.FORBIDS.get(name)
    if other in given:
        raise Wrong("ForbiddenArgument", f"Argument '{other}' cannot be used together with argument '{name}'.",
                    f'{name}", "{other}')


def unexpected(word):
    return Wrong("UnexpectedArgument", f"Found argument '{word}' which wasn't expected, or isn't valid in this context.", word)


def parse(words):
    """Returns {name: value or True}, defaults included. Words behind a lone `--` belong to no option."""
    words = words[:words.index(PREFIX)] if PREFIX in words else words
    for alone, names in (("help", ("--help", "-h")), ("version", ("--version",))):
        if any(name in words for name in names):
            return {alone: True}
    given, rest = {}, iter(words)
    for word in rest:
        name = word.removeprefix(PREFIX)
        if not word.startswith(PREFIX) or name not in facts.OPTIONS:
            raise unexpected(word if not word.startswith(PREFIX) else name)
        if name in given:
            raise Wrong("DuplicateArgument", f"The argument '{name}' was provided more than once.", name)
        given[name] = next(rest, PREFIX) if facts.OPTIONS[name] else True
        if str(given[name]).startswith(PREFIX):
            raise Wrong("MissingValue", f"The argument '{name}' requires a value, but none was supplied.", name)
    for name in sorted(given):
        check_alone(name, given)
    return {**facts.DEFAULTS, **given}
