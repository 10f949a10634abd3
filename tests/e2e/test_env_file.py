# SPDX-License-Identifier: MIT
"""Tests --env-file: variables of the command from files, in docker's format."""

import json
import os
import threading

import pytest

SMALL = ("--memory", 256, "--cpus", 1)
COMMANDS = [("create", "w"), ("run", "--", "true")]


def with_file(words, *files):
    return [words[0], *(word for file in files for word in ("--env-file", file)), *words[1:]]


def recorded(host):
    return json.loads((host.state / "w" / "workspace.json").read_text())["config"]["env"]


def test_what_a_file_says(host):
    """Odd lines are read as docker reads them. The command's own options win, then the last file."""
    first, second = host.base / "first.env", host.base / "second.env"
    first.write_bytes("\ufeff# a comment\n\n  \t\n  # another\nPLAIN=one two \n  INDENTED=3\nHASH=a # b\nEQUALS=x=y=\nEMPTY=\n"
                      "QUOTED=\"q\" 'r' $HOME\nCRLF=dos\r\nWIDE=\u00e4\nFROM_CALLER\nABSENT\nTWICE=1\nGIVEN=file\nLAST=no newline".encode())
    second.write_text("TWICE=2\n\n")
    host.env.pop("ABSENT", None)
    host("create", *with_file(("w",), first, second)[1:], "w", "--env", "GIVEN=word", env={"FROM_CALLER": "of the caller"}, check=0)
    assert recorded(host) == {"PLAIN": "one two ", "INDENTED": "3", "HASH": "a # b", "EQUALS": "x=y=", "EMPTY": "",
                              "QUOTED": "\"q\" 'r' $HOME", "CRLF": "dos", "WIDE": "\u00e4", "FROM_CALLER": "of the caller",
                              "TWICE": "2", "GIVEN": "word", "LAST": "no newline"}
    host("delete", "w", check=0)


def test_the_command_has_it(host):
    """The file may be a pipe, as `--env-file <(pass show agent)` gives one."""
    file, pipe = host.base / "notes.env", host.base / "pipe"
    long = "x" * (131071 - len("LONG="))
    file.write_text(f"LONG={long}\nA=file\n")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("B=pipe\n",))
    writer.start()
    done = host(*with_file(("run", *SMALL, "-e", "A=word", "--", "sh", "-c", 'echo "$A $B ${#LONG}"'), file, pipe), check=0)
    writer.join(timeout=60)
    assert done.stdout == f"word pipe {len(long)}\n"


@pytest.mark.parametrize("content,text", [
    (b"A=1\n\n=2\n", "notes.env:3: the variable has no name"),
    (b"A=1\n# c\nB AD=secret\n", "notes.env:3: the variable's name has a blank in it"),
    (b"WORD OTHER\n", "notes.env:1: the variable's name has a blank in it"),
    (b"A=1\nB=\xff\n", "notes.env:2: the line is not UTF-8"),
    (b"A=1\nB=se\0cret\n", "notes.env:2: the line has a NUL byte"),
    (b"A=1\nB=" + b"x" * 131070 + b"\n", "notes.env:2: the variable is longer than the limit of 131071 bytes: shorten it"),
    (b"# " + b"x" * 1048576, "--env-file notes.env: the data has more than the limit of 1048576 bytes"),
], ids=["no-name", "blank", "blank-alone", "utf-8", "nul", "long-line", "long-file"])
@pytest.mark.parametrize("words", COMMANDS, ids=["create", "run"])
def test_what_is_wrong_is_told_by_file_and_line(host, words, content, text):
    """A value that may be a secret is not shown."""
    file = host.base / "notes.env"
    file.write_bytes(content)
    done = host(*with_file(words, "notes.env"), check=2, cwd=host.base)
    assert f"microagent: {text}\n" in done.stderr and "cret" not in done.stderr, done.stderr
    assert not host.state.exists()


@pytest.mark.parametrize("words,code", zip(COMMANDS, (1, 125)), ids=["create", "run"])
def test_more_than_a_request_can_have(host, words, code):
    files = [host.base / f"{letter}.env" for letter in "AB"]
    for file in files:
        file.write_text("".join(f"{file.stem}{i}={'x' * 100000}\n" for i in range(9)))
    assert "1048576 bytes" in host(*with_file(words, *files), check=code).stderr
    assert not list(host.left())


@pytest.mark.parametrize("words,code", zip(COMMANDS, (1, 125)), ids=["create", "run"])
def test_a_file_that_cannot_be_read(host, words, code):
    for name, why in (("missing.env", "No such file"), (".", "Is a directory")):
        done = host(*with_file(words, name), check=code, cwd=host.base)
        assert f"--env-file {name}: " in done.stderr and why in done.stderr
    assert not host.state.exists()
