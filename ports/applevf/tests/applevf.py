# SPDX-License-Identifier: MIT
"""Runs machines of the supervisor of Macs, on the stand-in for Virtualization.framework (ports/applevf/standin)."""

import re

from conftest import APPLEVF, ROOT
from supervised import Supervised

STANDIN = ROOT / "ports" / "applevf" / "standin"


class AppleVF(Supervised):
    BACKEND = "apple-vf"
    program = APPLEVF

    def __init__(self, host):
        super().__init__(host)
        host.env["MICROAGENT_STANDIN_VZ"] = str(self.settings)
        host.env["MICROAGENT_APPLE_VF_SUPERVISOR"] = str(APPLEVF)

    def fault(self, point, **how):
        """Returns a fault: the next time that the framework comes to this point, it has an error of its own, with a
        text that no other error has."""
        self.set(faults={point: {"message": f"The fault at {point}.", **how}})

    def calls(self):
        """Returns the calls of this name that the stand-in got since the last look."""
        return [line["call"] for line in self.recorded()]


def applevf(host):
    """For a fixture."""
    it = AppleVF(host)
    yield it
    it.set()
    it.end()


# --- what the stand-in declares ----------------------------------------------------------------------------------------


def header_text():
    return "\n".join(path.read_text() for path in sorted((STANDIN / "include" / "Virtualization").glob("VZ*.h")))


def declared(text):
    """Returns {class or protocol: its members, as in the table of facts.md}."""
    found = {}
    text = re.sub(r"/\*.*?\*/|VZ_SINCE\([\d.]+\)", "", text, flags=re.S)
    for name, body in re.findall(r"@(?:interface|protocol) (\w+)(.*?)@end", text, re.S):
        members = found.setdefault(name, set())
        for line in map(" ".join, map(str.split, body.split(";"))):
            if match := re.search(r"@property(?:\(([^)]*)\))? .*?(\w+)$", line):
                how = match[1] or ""
                getter = re.search(r"getter=(\w+)", how)
                members.add(("+" if "class" in how else "") + (getter[1] if getter else match[2]) + ("" if "readonly" in how else "="))
            elif match := re.search(r"(?:^|\s)([-+]) ?\(", line):
                bare, depth = "", 0
                for letter in line[match.start(1) + 1:]:
                    depth += (letter == "(") - (letter == ")")
                    bare += " " if depth or letter == ")" else letter
                selector = "".join(re.findall(r"\w+:", bare)) or bare.split()[0]
                members.add(("+" if match[1] == "+" else "") + selector)
    found.pop("VZStandinObject", None)  # our own root class
    return found
