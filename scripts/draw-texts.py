#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws texts of this tree for somebody who reviews how it reads, by a seed that the reviewer chooses.

draw-texts.py KIND COUNT SEED, with a KIND of `comments` (of the C files), `paragraphs` (of the manuals) or `messages` (of errors
and warnings). Each is printed with its place. The same seed draws the same texts of the same tree."""

import random
import re
import subprocess
import sys
from pathlib import Path

COMMENT = re.compile(r"/\*(?!.*SPDX)(.*?)\*/", re.DOTALL)
MESSAGE = re.compile(r'\b(?:error_set|error_prefix|cli_usage|guest_warn)\(((?:[^"();]|\([^()]*\))*)((?:"(?:[^"\\]|\\.)*"\s*)+)')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "--", *patterns], stdout=subprocess.PIPE, text=True, check=True)
    return listed.stdout.split()


def place_of(name, text, at):
    return f"{name}:{text.count(chr(10), 0, at) + 1}"


def comments():
    """Those of more than four words; a divider is none."""
    for name in tracked("src/*.[ch]", "ports/*.[ch]", "ports/*.m", "include/*.h"):
        text = Path(name).read_text(encoding="utf-8")
        for found in COMMENT.finditer(text):
            words = re.sub(r"\n\s*\*?", "\n", found.group(1)).strip()
            if len(words.split()) > 4 and not words.startswith("---") and "cppcheck-suppress" not in words:
                yield place_of(name, text, found.start()), words


def paragraphs():
    for name in tracked("docs/*.scd"):
        text = Path(name).read_text(encoding="utf-8")
        at = 0
        for block in text.split("\n\n"):
            if len(block.split()) > 12 and not block.lstrip().startswith(("#", "```", ";", "|[")):
                yield place_of(name, text, at), block.strip("\n")
            at += len(block) + 2


def messages():
    for name in tracked("src/*.c", "ports/*.c", "ports/*.m"):
        text = Path(name).read_text(encoding="utf-8")
        for found in MESSAGE.finditer(text):
            words = "".join(LITERAL.findall(found.group(2)))
            if len(words.split()) > 3:
                yield place_of(name, text, found.start()), words


KINDS = {"comments": comments, "paragraphs": paragraphs, "messages": messages}


def main(words):
    if len(words) != 3 or words[0] not in KINDS or not words[1].isdigit():
        sys.exit(__doc__)
    drawn = random.Random(words[2]).sample(all_of := sorted(KINDS[words[0]]()), min(int(words[1]), len(all_of)))
    for number, (place, text) in enumerate(drawn, 1):
        print(f"--- {number}. {place}\n{text}\n")


main(sys.argv[1:])
