#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules of the house that no other tool knows. `check-source.py RULE...` prints what breaks each rule, and fails
if anything does:

  includes  an include against the order of the folders in CONTRIBUTING.md
  systems   a system's own header, name or path where it would not compile, or not work, on the others
"""

import re
import subprocess
import sys
from pathlib import Path

# What the order of the table leaves open, by folder; a word is a folder, or one header of it. Folders that
# the table says need only others (`needs only`) are not repeated here.
NEEDS = {
    "channel": {"base", "store/cache.h", "store/digests.h", "store/port_holder.h"},
    "backend": {"base", "contract"},
    "api": {"base", "contract", "store", "channel"},
    # What is for other systems; the rooms know of none of it.
    "applevf": {"base", "contract", "store", "backend/backend.h", "backend/refusal.h", "backend/vm_end.h", "backend/parts"},
    "hyperv": {"base", "contract", "backend/refusal.h", "supervisor"},
    "session": {"base", "contract", "store", "channel", "api"},
    "oci": {"base", "contract", "store", "channel", "api", "oci/config", "oci/net"},
    "oci/config": {"base"},
    "oci/net": {"base"},
    # A face of the library too: it has the public headers, and what is nobody's.
    "mcp": {"base", "api/egress.h", "contract/request.h", "store/share/rules.h"},
    # A front end like any other: it has the public headers, and some helpers that are not the library's.
    "cli": {"base", "mcp/mcp.h", "channel/artifact_run.h", "channel/guest_init.h", "channel/program.h", "contract/fields.h", "session/names.h",
            "store/cache.h", "store/guest_bundle.h"},
}
# The headers of include/, and who may have them.
PUBLIC = {
    "microagent/error.h": {"base"},
    "microagent/exec.h": {"channel"},
    "microagent.h": {"api", "session", "oci", "mcp", "cli"},
    "microagent_session.h": {"session", "mcp", "cli"},
}
# What is above a VMM's folder knows of it.
SEAM = {"backend/backend.h", "backend/refusal.h", "backend/vm_end.h"}


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], stdout=subprocess.PIPE, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and Path(name).exists()]


def sources(*endings):
    """The files that programs are made of, of this system and, in ports/, of others."""
    return tracked(*(f"{top}/*.{ending}" for ending in endings for top in ("src", "ports")), ":!ports/*/tests/*", ":!ports/*/standin/*")


def text_of(name):
    return Path(name).read_text(encoding="utf-8")


# --- includes ---------------------------------------------------------------------------------------------------------


def table_of_folders():
    """From the tables in CONTRIBUTING.md: the folders in their order, and what some need at most."""
    order, only = [], {}
    for folder, purpose in re.findall(r"^\| `([\w-]+)` \| (.*) \|$", text_of("CONTRIBUTING.md"), re.M):
        order.append(folder)
        needs = re.search(r"needs only ((?:(?:, | and )?`[\w/.]+`)+)", purpose)
        if needs:
            only[folder] = set(re.findall(r"`([\w/.]+)`", needs[1]))
    return order, only


def is_within(header, word):
    return header == word or header.startswith(word + "/")


def allowed_for(place, order, only):
    """What files of the folder may include, besides their own folder. A VMM's folder may have what is above it,
    backend.h and the parts; nobody else may have a VMM's."""
    if place.startswith("backend/"):
        parts = set() if place == "backend/parts" else {"backend/parts"}
        return {"base", "contract", "store"} | SEAM | parts
    if place in only or place in NEEDS:
        return only.get(place, set()) | NEEDS.get(place, set())
    above = set(order[:order.index(place)])
    return above - {"backend"} | SEAM if "backend" in above else above


def place_of(name):
    """`supervisor` for src/supervisor/live/live.c: the folder of the table. A VMM's folder is one by itself, as a wing of NEEDS is."""
    parts = name.split("/")[1:-1]
    if "/".join(parts[:2]) in NEEDS:
        return "/".join(parts[:2])
    return "/".join(parts) if parts[0] == "backend" else parts[0]


def complaint(place, header, order, only):
    if header in PUBLIC:
        return "" if place in PUBLIC[header] else "a public header, which is not for this folder"
    if not any(Path(top, header).is_file() for top in ("src", "ports")):
        return "no file of src/ or ports/ by its whole path"
    if place_of("src/" + header) == place:
        return ""
    if any(is_within(header, word) for word in allowed_for(place, order, only)):
        return ""
    return f"{place} may not need it (the table in CONTRIBUTING.md, and NEEDS in scripts/check-source.py)"


def includes():
    order, only = table_of_folders()
    for word in {word.split("/")[0] for needs in (*NEEDS.values(), *only.values()) for word in needs} | {*NEEDS, *only}:
        if word.split("/")[0] not in order:
            yield f"CONTRIBUTING.md: no row for {word} in the table of folders"
    for folder, words in (only | NEEDS).items():
        for word in words:
            room = folder.split("/")[0]
            above = order[:order.index(room)] if room in order else []
            if word.split("/")[0] not in [*above, *([room] if "/" in word else [])]:
                yield f"{folder} cannot need {word}, which is not above it in the table of CONTRIBUTING.md"
    for name in sources("c", "h"):
        place = place_of(name)
        if place.split("/")[0] not in order:
            yield f"{name}: no row for {place} in the table of CONTRIBUTING.md"
            continue
        for number, line in enumerate(text_of(name).splitlines(), 1):
            quoted = re.match(r'\s*#\s*include\s+(?:"([^"]*)"|<(microagent[^>]*)>)', line)
            header = quoted and (quoted[1] or quoted[2])
            why = header and complaint(place, header, order, only)
            if why:
                yield f"{name}:{number}: {header}: {why}"


# --- systems ----------------------------------------------------------------------------------------------------------

# What every system has that we run on; the folders of one system, named after it, are free, and so are programs that
# are Linux's through and through.
PORTABLE = ("base", "contract", "store", "channel", "backend/backend.h", "supervisor", "api", "session", "mcp", "cli")
SYSTEMS = ("linux", "darwin")
SYSTEM_HEADER = re.compile(
    r"(linux|asm|mach|malloc|os|dispatch|CommonCrypto|Availability\w*|TargetConditionals)(/|\.h)|"
    r"(seccomp|elf|malloc|libproc|crt_externs|copyfile|notify|sha2|sha256)\.h|"
    r"sys/(epoll|eventfd|inotify|signalfd|timerfd|pidfd|prctl|syscall|sendfile|fanotify|vfs|statfs|capability|random|"
    r"sysmacros|xattr|mount|event|clonefile|sysctl|proc_info)\.h")
SYSTEM_CODE = (
    (re.compile(r"^\s*#\s*(?:el)?if.*\b(__linux__|__APPLE__|__MACH__|__gnu_linux__|_WIN32)"), "a system asked for by name"),
    (re.compile(r'"/proc/'), "Linux's /proc"),
    (re.compile(r'"[^"\n]*\b(?:linux|darwin)/[^"\n]*\.h"'), "a header of one system"),
)


def systems():
    for name in tracked("src/*.c", "src/*.h", "src/*.m"):
        inside = name[len("src/"):]
        if not any(is_within(inside, place) for place in PORTABLE) or set(SYSTEMS) & set(name.split("/")):
            continue
        for number, line in enumerate(text_of(name).splitlines(), 1):
            header = re.match(r"\s*#\s*include\s+<([^>]*)>", line)
            if header and SYSTEM_HEADER.match(header[1]):
                yield f"{name}:{number}: <{header[1]}> is for files in a folder named {' or '.join(SYSTEMS)}"
            for pattern, what in SYSTEM_CODE:
                if pattern.search(line):
                    yield f"{name}:{number}: {what}, which is for files in a folder named {' or '.join(SYSTEMS)}"


RULES = {"includes": includes, "systems": systems}


def main(words):
    broken = 0
    if not words:
        sys.exit(f"check-source.py: name a rule ({', '.join(RULES)})")
    for word in words:
        if word not in RULES:
            sys.exit(f"check-source.py: no rule '{word}' ({', '.join(RULES)})")
        for line in RULES[word]():
            print(line)
            broken += 1
    return 1 if broken else 0


sys.exit(main(sys.argv[1:]))
