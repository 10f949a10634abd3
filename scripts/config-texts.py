#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what the tables say of a config's fields, and of the options of a machine, into a header, the schema and the
manuals:

  include/microagent.h       the members of struct microagent_machine that are a field of the config with the same value
  schema/defs.json           of each field its place, its example, and, if its row has a description, the description.
                             A field that is read by its kind has its whole entry from its row.
  microagent-request(5)      the first paragraph of a field whose row has a description
  the manuals of microagent  the same paragraph at the option of a field that machines of the library have too, and the
                             options of a machine in the lists "Options of ..." of each command

An entry that is missing is added behind the entry of the row above. With `header` it writes the header alone, which other
programs need before they compile. With --check it changes nothing, names the files that are otherwise, and fails if there
are any. It asks the programs in $BUILD (`make all unit`) for the tables. `make lists` calls it."""

import functools
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("BUILD") or ROOT / "build")
DEFS = ROOT / "schema" / "defs.json"
HEADER = ROOT / "include" / "microagent.h"
REQUEST = ROOT / "docs" / "microagent-request.5.scd"
# The pages that describe the options of a machine.
HOMES = ("microagent-run", "microagent-network")
COLUMNS = 160


def output_of(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout


# --- the header -------------------------------------------------------------------------------------------------------

TYPES = {"text": "const char *", "choice": "const char *", "number": "int64_t ", "flag": "bool "}
BEGIN, END = "\t/* From the rows of src/contract/config_fields.def, by `make lists`: */\n", "\t/* Here the rows end. */\n"


def member(field):
    kinds = [kind.lower() for kind in re.findall(r"OF_(\w+)", field["machines"]) if kind != "WORKSPACE"]
    text = f"{'[' + ', '.join(kinds) + '] ' if kinds else ''}{plain(field['description'])}\0*/"
    lines = textwrap.wrap(text, 100 - 8 - 3, break_long_words=False, break_on_hyphens=False)
    comment = "\n\t * ".join(lines).replace("\0", " ")
    return f"\t/* {comment}\n\t{TYPES[field['kind']]}{field['member']};\n"


def header(fields):
    before, rest = HEADER.read_text().split(BEGIN)
    members = "".join(member(field) for field in fields if "member" in field)
    yield HEADER, before + BEGIN + members + END + rest.split(END, 1)[1]


# --- the schema -------------------------------------------------------------------------------------------------------


def plain(text):
    """The text without the markup of scdoc."""
    text = re.sub(r"(?<![\w\\])([*_])(.+?)(?<!\\)\1(?!\w)", r"\2", text)
    return re.sub(r"\\(.)", r"\1", text)


def entry_by_kind(field):
    """The entry of a field that has no function of its own."""
    if field["kind"] == "text":
        text = {"$ref": "#/$defs/hostPath" if field["hostFile"] else "#/$defs/text"}
        return {**text, **({"maxLength": field["longest"]} if field["longest"] else {}),
                **({"pattern": field["pattern"]} if "pattern" in field else {})}
    if field["kind"] == "number":
        return {"type": "integer", "minimum": 0, "maximum": field["most"], "default": 0}
    if field["kind"] == "choice":
        return {"enum": field["words"], "default": field["words"][0]}
    return {"type": "boolean"}


def schema_entry(field, old):
    if field["byItsKind"]:
        entry = entry_by_kind(field)
    elif old is None:
        sys.exit(f"config-texts: {field['key']} is read by a function: write its entry in schema/defs.json by hand")
    else:
        entry = {key: value for key, value in old.items() if key != "examples"}
    if "description" in field:
        entry["description"] = plain(field["description"])
    if "sample" in field:
        entry["examples"] = [json.loads(field["sample"].replace("@", ""))]
    return entry


def schema(fields):
    document = json.loads(DEFS.read_text())
    config = document["$defs"]["config"]
    config["properties"] = {field["key"]: schema_entry(field, config["properties"].get(field["key"])) for field in fields}
    yield DEFS, json.dumps(document, ensure_ascii=False)


# --- the manuals ------------------------------------------------------------------------------------------------------


class Page:
    """A manual as its lines. An entry is a head that begins a line with "*", and the lines below it."""

    def __init__(self, path):
        self.path, self.name, self.lines = path, path.name.split(".")[0], path.read_text().split("\n")

    def head_of(self, pattern):
        return next((at for at, line in enumerate(self.lines) if re.match(pattern, line)), None)

    def end_of(self, head):
        """The line behind the last one of an entry."""
        end = head + 1
        while end < len(self.lines) and not re.match(r"[*#]", self.lines[end]):
            end += 1
        return end

    def put_paragraph(self, head, text):
        """Makes the text the first paragraph of an entry. One that has the same words stays as it is broken."""
        end = head + 1
        while self.lines[end].startswith("\t") and not re.match(r"\t(- |\t)", self.lines[end]):
            end += 1
        if " ".join(line.strip() for line in self.lines[head + 1:end]) != text:
            self.lines[head + 1:end] = wrapped(text)

    def add_entry(self, above, head, text):
        """Adds an entry behind the one whose head is the line `above`."""
        end = self.end_of(above)
        self.lines[end:end] = [head, *wrapped(text), ""]


def wrapped(text):
    return textwrap.wrap(text, COLUMNS, initial_indent="\t", subsequent_indent="\t", expand_tabs=False,
                         replace_whitespace=False, break_long_words=False, break_on_hyphens=False)


def head_pattern(key):
    return rf"\*{key}(\.\w+)?\*$"


def write_request(fields, page):
    for at, field in enumerate(fields):
        if "description" not in field:
            continue
        head = page.head_of(head_pattern(field["key"]))
        if head is not None:
            page.put_paragraph(head, field["description"])
            continue
        above = next(head for row in reversed(fields[:at]) if (head := page.head_of(head_pattern(row["key"]))) is not None)
        page.add_entry(above, f"*{field['key']}*", field["description"])


def option_pattern(name):
    return rf"\*-.*\*--{name}\*|\*--{name}\*"


def page_of_option(name, pages):
    """The page that describes an option, and its head there."""
    homes = (pages[name] for name in HOMES)
    return next(((page, head) for page in homes if (head := page.head_of(option_pattern(name))) is not None), None)


def write_options(fields, options, pages):
    described = {f"config.{field['key']}": field["description"] for field in fields if "member" in field}
    for at, option in enumerate(options):
        if option.get("field") not in described:
            continue
        text, found = described[option["field"]], page_of_option(option["name"], pages)
        if found:
            found[0].put_paragraph(found[1], text)
            continue
        page, above = next(filter(None, (page_of_option(row["name"], pages) for row in reversed(options[:at]))))
        value = f" _{option['value']}_" if "value" in option else ""
        page.add_entry(above, f"*--{option['name']}*{value}", text)


@functools.lru_cache(maxsize=None)
def options_of_command(name):
    """The options of a command in the order of its help; none if there is no such command."""
    done = subprocess.run([BUILD / "bin" / "microagent", *name.split(), "--help"], capture_output=True, text=True, check=False)
    return re.findall(r"^  (?:-\w, )?--([a-z][a-z0-9-]*)", done.stdout.split("\nGlobal options")[0], re.M)


def list_option(entry, name, before, where):
    """The text of a command's entry, with the option in the list of the page `where`, behind those of `before`."""
    found = re.search(rf"^\tOptions of {re.escape(where)}: .*?(?=\n\n|\n*\Z)", entry, re.M | re.S)
    if not found:
        return f"{entry.rstrip()}\n\n\tOptions of {where}: *--{name}*.\n\n"
    text = " ".join(found[0].split())
    listed = [other for other in before if f"*--{other}*" in text]
    if listed:
        text = re.sub(rf"(\*--{listed[-1]}\*(?: \([^()]*(?:\([^()]*\))?[^()]*\))?)", rf"\1, *--{name}*", text, count=1)
    else:
        text = text.replace(": ", f": *--{name}*, ", 1)
    return entry[:found.start()] + "\n".join(wrapped(text)) + entry[found.end():]


def write_lists(options, pages):
    names = list(dict.fromkeys(option["name"] for option in options))
    for page in pages.values():
        text = "\n".join(page.lines)
        commands = re.search(r"^# COMMANDS\n.*?(?=^# )", text, re.M | re.S)
        if not commands:
            continue
        entries = re.split(r"^(?=\*)", commands[0], flags=re.M)
        for at, entry in enumerate(entries):
            command = re.match(r"\*([a-z][a-z-]*(?: [a-z][a-z-]*)?)", entry)
            its = options_of_command(command[1]) if command else []
            for name in its:
                if name in names and f"*--{name}*" not in "".join(re.findall(r"^\t(?:\*-|Options of).*?(?=\n\n|\Z)", entries[at], re.M | re.S)):
                    there = page_of_option(name, pages)[0]
                    where = "this page" if there is page else f"*{there.name}*(1)"
                    entries[at] = list_option(entries[at], name, its[:its.index(name)], where)
        page.lines = (text[:commands.start()] + "".join(entries) + text[commands.end():]).split("\n")


def manuals(fields, options):
    request = Page(REQUEST)
    pages = {page.name: page for page in map(Page, sorted((ROOT / "docs").glob("microagent*.1.scd")))
             if not page.name.endswith("-supervisor")}
    write_request(fields, request)
    write_options(fields, options, pages)
    write_lists(options, pages)
    for page in (request, *pages.values()):
        yield page.path, "\n".join(page.lines)


def texts(only_header):
    """The files with their texts, in which defs.json is not laid out."""
    fields = json.loads(output_of(BUILD / "unit" / "print_fields"))
    yield from header(fields)
    if not only_header:
        yield from schema(fields)
        yield from manuals(fields, json.loads(output_of(BUILD / "unit" / "print_tables"))["options"])


def main(words):
    otherwise = []
    for path, text in texts("header" in words):
        there = path.read_text()
        if there == text or path == DEFS and json.dumps(json.loads(there), ensure_ascii=False) == text:
            continue
        otherwise.append(str(path.relative_to(ROOT)))
        if "--check" not in words:
            path.write_text(text)
    if "--check" in words:
        sys.exit(f"{', '.join(otherwise)}: not as the tables are; `make lists` writes them anew" if otherwise else 0)
    if str(DEFS.relative_to(ROOT)) in otherwise:
        subprocess.run([sys.executable, ROOT / "scripts" / "layout-schemas.py", DEFS], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
