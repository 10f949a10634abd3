#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Says which symbols of Mach-O objects nobody defines: `darwin-symbols.py [--some] LIBRARY.tbd... -- OBJECT...`. One
line for each, with the objects that ask for it. --some: the objects are not all, so what a public name of ours could
define is not missed."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NM = "llvm-nm-14"
# What the compiler's own runtime has, which is linked with every program.
RUNTIME = {"dyld_stub_binder"}


def exported(tbd, architecture):
    """The names that a text-based stub lists for this architecture."""
    names = set()
    group = re.compile(r"- targets:\s*\[([^\]]*)\](.*?)(?=\n  - targets:|\n\w|\Z)", re.S)
    for targets, rest in group.findall(Path(tbd).read_text(encoding="utf-8")):
        if f"{architecture}-macos" not in re.split(r"[\s,]+", targets):
            continue
        for listed in re.findall(r"(?:weak-|thread-local-)?symbols:\s*\[([^\]]*)\]", rest):
            names.update(name.strip().strip("'") for name in listed.split(",") if name.strip())
        for listed in re.findall(r"objc-classes:\s*\[([^\]]*)\]", rest):
            for name in listed.split(","):
                names.update(f"{kind}{name.strip()}" for kind in ("_OBJC_CLASS_$_", "_OBJC_METACLASS_$_"))
    return names


def symbols(objects):
    """Of each object: what it needs, what it defines for others."""
    needed, defined = defaultdict(set), set()
    listed = subprocess.run([NM, "--quiet", "-A", "-g", *objects], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in listed.splitlines():
        place, symbol = line.split(":", 1)
        *_, kind, name = symbol.split()
        if kind == "U":
            needed[name].add(place)
        else:
            defined.add(name)
    return needed, defined


def architecture_of(path):
    return "arm64" if "/arm64/" in path else "x86_64"


def main(words):
    some = words[:1] == ["--some"]
    libraries, objects = words[some:words.index("--")], words[words.index("--") + 1:]
    if not objects:
        return 0
    needed, defined = symbols(objects)
    for tbd in libraries:
        defined |= exported(tbd, architecture_of(objects[0]))
    missing = {name: places for name, places in needed.items() if name not in defined | RUNTIME}
    if some:
        headers = [path for top in ("src", "include") for path in Path(top).rglob("*.h") if path.parent.name != "linux"]
        ours = set(re.findall(r"\w+", "".join(path.read_text(encoding="utf-8") for path in headers)))
        missing = {name: places for name, places in missing.items() if name[1:] not in ours}
    for name, places in sorted(missing.items()):
        print(f"{name}: not to be had on macOS; needed by {' '.join(sorted(places))}")
    return 1 if missing else 0


sys.exit(main(sys.argv[1:]))
