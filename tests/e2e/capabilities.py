# SPDX-License-Identifier: MIT
"""The capabilities that the supervisor of each backend prints. src/api/backends.json stores them for hosts that lack
the supervisor. If this file is run (`make lists`), it writes that file again. It also writes two lists of names in the
schemas: the features that any backend has, and the fields that a request's config may have."""

import json
import subprocess
import sys

import schema_check
from conftest import APPLEVF, BIN, BUILD, ROOT

import hyperv  # in ports/, where conftest.py looks for it

STORED = ROOT / "src" / "api" / "backends.json"
SCHEMA = ROOT / "schema"
LISTS = ("commands", "networks", "features", "refusals")
NATIVE = {"apple-vf": APPLEVF, "firecracker": BIN / "microagent-firecracker-supervisor", "qemu": BIN / "microagent-qemu-supervisor"}


def printed(*words, **how):
    said = said_by(*words, **how)
    schema_check.validate("capabilities", said)
    return said


def said_by(*words, **how):
    done = subprocess.run([*words, "--print-capabilities"], stdin=subprocess.DEVNULL, capture_output=True, check=True, **how)
    return json.loads(done.stdout)


def lists_of(said):
    return {name: said[name] for name in LISTS}


def of_windows(place):
    """place is a directory. A Wine server belongs to it."""
    with hyperv.Wine(TMPDIR=str(place)) as wine:
        return lists_of(said_by(hyperv.WINE, hyperv.SHIPPED, env=wine.env))


def printed_by(program):
    """What a program of the unit tests prints of the tables of this tree."""
    return json.loads(subprocess.run([BUILD / "unit" / program], capture_output=True, check=True).stdout)


def fields_of_config():
    return list(schema_check.load("defs")["$defs"]["config"]["properties"])


def names_of_config(schema):
    """Returns the one list of names in request.json, which is for a config that is not checked."""
    return next(part["then"]["properties"]["config"]["propertyNames"] for part in schema["allOf"]
                if "propertyNames" in part["then"]["properties"].get("config", {}))


def write():
    # A new feature is in no schema yet.
    document = {name: lists_of(said_by(program)) for name, program in NATIVE.items()}
    document["windows-hyperv"] = lists_of(printed_by("print_tables")["windows-hyperv"])  # its supervisor needs Wine
    features = list(dict.fromkeys(name for said in document.values() for name in said["features"]))
    changed = {STORED: document, SCHEMA / "capabilities.json": schema_check.load("capabilities"),
               SCHEMA / "request.json": schema_check.load("request")}
    changed[SCHEMA / "capabilities.json"]["$defs"]["features"]["items"]["enum"] = features
    names_of_config(changed[SCHEMA / "request.json"])["enum"] = fields_of_config()
    for path, content in changed.items():
        path.write_text(json.dumps(content, ensure_ascii=False))
        subprocess.run([sys.executable, ROOT / "scripts" / "layout-schemas.py", path], check=True)


if __name__ == "__main__":
    write()
