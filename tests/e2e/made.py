# SPDX-License-Identifier: MIT
"""library/made.c, an independent program that creates and boots sessions by the C API."""

import functools
import os
import subprocess
from pathlib import Path

from conftest import BIN, BUILD, OWN, ROOT

SOURCE = Path(__file__).parent / "library" / "made.c"


@functools.cache
def program():
    compiled = OWN / "made"
    sanitize = ["-fsanitize=address,undefined"] if os.environ.get("SANITIZE") else []
    subprocess.run(["gcc", "-g", "-std=c11", "-Wall", "-Wextra", "-Werror", *sanitize, f"-I{ROOT}/include", "-o",
                    compiled, SOURCE, BUILD / "lib" / "libmicroagent.a", "-ljansson", "-lmd", "-pthread"],
                   check=True)
    return compiled


def made(host, *words, check=0, env=None, timeout=300):
    """Returns its output, or its error."""
    path = {"PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run([program(), *map(str, words)], env={**host.env, **path, **(env or {})},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=timeout)
    assert done.returncode == check, done
    return done.stderr if check else done.stdout
