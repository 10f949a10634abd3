# SPDX-License-Identifier: MIT
"""The Python package of this tree, with the library of this build."""

import importlib
import os
import re
import subprocess
import sys
import textwrap

import pytest

from conftest import BUILD, ROOT, Child

PACKAGE = ROOT / "python"
LIBRARY = next((BUILD / "lib").glob("libmicroagent.so.*"), None)


def library_env(**more):
    """Returns the environment in which another Python finds the package."""
    return {**os.environ, "MICROAGENT_LIBRARY": str(LIBRARY), "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1", **more}


def load():
    """Loads the package into this Python."""
    os.environ["MICROAGENT_LIBRARY"] = str(LIBRARY)
    if str(PACKAGE) not in sys.path:
        sys.path.insert(0, str(PACKAGE))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return importlib.import_module("microagent")
    finally:
        sys.dont_write_bytecode = before


@pytest.fixture(scope="module")
def tools(place):
    """Keywords of a Sandbox of the base, which is warm. At the end there is no session."""
    place("base", "warm", "web", check=0)
    words = {"base": "web", "network": "isolated", "state_dir": place.state}
    yield words
    assert load().sandboxes(place.state) == []


@pytest.fixture(scope="module")
def box(tools):
    """A session for tests that leave it as they found it."""
    with load().Sandbox(**tools) as it:
        assert it.info()["boot"] == {"how": "restored"}
        yield it


def names(tools):
    return {one["name"] for one in load().sandboxes(tools["state_dir"])}


def sleepers(box):
    return box.run("ps -o args | grep '^sleep 10[0]'").text


def program(tools, text, *words):
    """Starts a Python of its own. `options` are those of a Sandbox."""
    head = (f"import os, signal, sys, threading, time, microagent\noptions = dict(base={tools['base']!r}, network='isolated', "
            f"state_dir={str(tools['state_dir'])!r})\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n")
    return Child([sys.executable, "-W", "error", "-c", head + textwrap.dedent(text), *map(str, words)], env=library_env(), stdin=subprocess.DEVNULL,
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(child, code=0):
    out, err = child.communicate()
    assert (child.returncode, err) == (code, ""), (out, err)
    return out


def transcripts(name):
    """Returns from the example's docstring the word behind its name, and its output."""
    text = (PACKAGE / "examples" / name).read_text().split('"""')[1]
    block = textwrap.dedent("".join(re.findall(r"^(?:    .*\n?)+", text, re.M))).encode().decode("unicode_escape")
    for one in block.split("$ python3 ")[1:]:
        command, _, output = one.partition("\n")
        yield command.split()[1], output.rstrip("\n")


def run_example(name, base, state_dir):
    done = subprocess.run([sys.executable, PACKAGE / "examples" / name, base], capture_output=True, text=True, check=False,
                          env=library_env(MICROAGENT_STATE_DIR=str(state_dir)), timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.rstrip("\n")
