# SPDX-License-Identifier: MIT
"""The examples of the manuals: each is run as it stands, in order, in a state directory of its own."""

import os
import re
import subprocess

import pytest

from conftest import BACKEND, DEFAULT_BACKEND, HANG_S
from test_docs import manuals, page, section

# Lines that cannot run here, each with its reason.
NOT_HERE = {
    "microagent image import python docker.io/library/python:3.12-slim": "it needs a registry of the internet",
}
# A line of a literal block, and what the paragraph before the block says of its exit status.
BLOCK = re.compile(r"^([^\s`][^\n]*(?:\n\S[^\n]*)*)\n\n```\n(.*?)\n```$", re.M | re.S)
NAMES = sorted(manuals())


def examples(name):
    """[(line, its exit status)] of a page. The last line of a block has the exit status that the text says; the others end with 0."""
    found = []
    for text, block in BLOCK.findall(section(page(f"{name}.1.scd"), "EXAMPLES")):
        said = re.search(r"\(exit status (\d+)\)", text)
        lines = block.split("\n")
        found += [(line, int(said[1]) if said and line is lines[-1] else 0) for line in lines]
    return found


def test_the_examples_are_found():
    """Each page has three to seven blocks, each with a sentence, and nothing else in its section; each reason is of a line that is there."""
    lines = []
    for name in NAMES:
        text = section(page(f"{name}.1.scd"), "EXAMPLES")
        blocks = BLOCK.findall(text)
        assert 3 <= len(blocks) <= 7, (name, len(blocks))
        assert text.count("\n```\n") == 2 * len(blocks), name
        assert BLOCK.sub("", text).strip() == "", (name, BLOCK.sub("", text))
        assert [line for line, _ in examples(name) if "microagent " not in line and not re.match(r"(printf|mkdir) ", line)] == [], name
        lines += [line for line, _ in examples(name)]
    assert set(NOT_HERE) <= set(lines) and len(lines) > 50


def clear(host):
    """Removes what the examples have left, as a reader would."""
    host("pool", "drain", check=0)
    host("session", "destroy", "--all", check=0)
    for name in [one["name"] for one in host.json("list")["workspaces"]]:
        host("kill", name)
        host("delete", name, check=0)
    for one in host.json("base", "list")["bases"]:
        host("base", "delete", one["name"], check=0)


@pytest.mark.skipif(BACKEND != DEFAULT_BACKEND, reason="the examples are written for the default backend")
@pytest.mark.parametrize("name", NAMES)
def test_the_examples_run(host, name):
    """One shell runs all lines, so that a variable of one is there for the next; after each it says which line has ended, and how."""
    here = host.base / "here"
    here.mkdir()
    (here / "note").write_text("of this directory\n")
    lines = [(line, status) for line, status in examples(name) if line not in NOT_HERE]
    script = "".join(f"{line}\necho {number} $? >>../ended\n" for number, (line, _) in enumerate(lines))
    with open(host.base / "output", "wb") as output:
        done = subprocess.run(["sh", "-c", script], cwd=here, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                              env={**host.env, "PATH": f"{host.bin}:{os.environ['PATH']}"}, timeout=HANG_S, check=False)
    ended = [tuple(map(int, line.split())) for line in (host.base / "ended").read_text().splitlines()]
    said = (host.base / "output").read_text(errors="replace")
    assert done.returncode == 0, said[-4000:]
    assert ended == [(number, status) for number, (_, status) in enumerate(lines)], (lines, ended, said[-4000:])
    clear(host)
