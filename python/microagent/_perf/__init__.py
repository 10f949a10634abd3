# SPDX-License-Identifier: MIT
"""`microagent perf`: where the time and the memory of machines on this host go. Each measure makes machines in a state
directory of its own (_place), fills rows with samples (_measures), and has them printed as a table, as JSON or as a picture
(_report, _picture). The words, their help and their refusals are microagent's (src/cli/host/cmd_perf.c), which becomes this
program."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import NoReturn

from .._errors import CLASSES, Error
from ._measures import MEASURES
from ._picture import check, draw
from ._place import Ending, Place, Progress, warn
from ._report import Report, print_report

CODES = {FileNotFoundError: "not-found", PermissionError: "denied", FileExistsError: "conflict"}
NOBODY_READS = 128 + 13  # as a shell tells of SIGPIPE


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="microagent-perf", description="What `microagent perf` becomes; its manual says more.")
    parser.add_argument("measure", choices=MEASURES)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int)
    for name in ("state-dir", "base", "output", "network", "backend"):
        parser.add_argument(f"--{name}")
    return parser.parse_args()


def fail(words: argparse.Namespace, error: Error) -> NoReturn:
    """What a person can do about an error stands in one table, which is microagent's: it prints this one."""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "microagent")
    # Another entry is a directory of wherever the command is given, and what lies there may be a guest's.
    path = os.pathsep.join(entry for entry in os.get_exec_path() if os.path.isabs(entry))
    program = beside if os.path.exists(beside) else shutil.which("microagent", path=path) or beside
    known = [*(["--json"] if words.json else []), *([f"--state-dir={words.state_dir}"] if words.state_dir else [])]
    os.execv(program, ["microagent", *known, "__error", error.code, error.reason or "none", error.subject or "", error.message])


def measured(words: argparse.Namespace, ending: Ending) -> Report:
    """The place is gone when this returns, and when it does not."""
    measure = MEASURES[words.measure]
    report = Report(words.measure, measure.of, words.count or measure.rounds)
    with Progress(measure.doing) as progress, Place(words, ending, progress) as place:
        try:
            place.open()
            report.base = place.base
            measure.run(place, report)
        except Error as error:
            if ending.number:
                progress.end()
                warn(f"nothing was measured: {error.message}")
            raise
    report.check()
    return report


def main() -> int:
    words, ending = asked(), Ending()
    try:
        if words.output:  # that it cannot be written is better known before minutes are spent on it
            check(words.output)
        report = measured(words, ending)
        if words.output:
            draw(report, words.output)
        print_report(report, words.json, words.output)
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(NOBODY_READS)  # what is left in a buffer is nobody's
    except OSError as error:
        where = "cannot write to stdout" if error.filename is None else os.fsdecode(error.filename)
        fail(words, CLASSES[CODES.get(type(error), "io")](f"{where}: {error.strerror}"))
    except Error as error:
        if not ending.number:
            fail(words, error)
        return 128 + ending.number
    return 0
