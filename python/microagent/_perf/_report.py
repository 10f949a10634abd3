# SPDX-License-Identifier: MIT
"""The figures of a measure: medians with how far they spread, as a table and as JSON."""

from __future__ import annotations

import json
import os
import statistics
import sys
from typing import Any, Dict, List, Optional, Tuple

from .._errors import InternalError
from ._place import safe


def spread(samples: List[float]) -> Tuple[float, float, float]:
    """Median, least, most."""
    return statistics.median(samples), min(samples), max(samples)


class Row:
    def __init__(self, name: str, what: str, is_sum: bool) -> None:
        self.name, self.what, self.is_sum = name, what, is_sum  # is_sum: of those before it
        self.samples: List[float] = []  # milliseconds; of a process: MiB that it has alone
        self.shared: List[float] = []  # of a process: MiB that others have too


class Report:
    def __init__(self, measure: str, of: str, count: int) -> None:
        self.measure, self.of, self.count, self.base = measure, of, count, ""
        self.machine: Dict[str, Any] = {}  # facts of the last one, as microagent_last_start() tells them
        self.rows: Dict[str, Row] = {}

    def add(self, name: str, what: str, value: float, shared: Optional[float] = None, is_sum: bool = False) -> None:
        row = self.rows.setdefault(name, Row(name, what, is_sum))
        row.samples.append(value)
        if shared is not None:
            row.shared.append(shared)

    def check(self) -> None:
        """Each row has as many samples as are told of, or it would be another figure than it says."""
        for row in self.rows.values():
            if len(row.samples) != self.count:
                raise InternalError(f"{row.name} was measured {len(row.samples)} times of {self.count}")

    @property
    def is_memory(self) -> bool:
        """Rows are processes."""
        return any(row.shared for row in self.rows.values())

    @property
    def unit(self) -> str:
        return "MiB" if self.is_memory else "ms"


def print_table(report: Report, picture: Optional[str]) -> None:
    heads = "PROCESS,  PRIVATE,    LEAST,     MOST,   SHARED" if report.is_memory else "STAGE,MEDIAN ms, LEAST ms,  MOST ms, SHARE"
    stages = sum(spread(row.samples)[0] for row in report.rows.values() if not row.is_sum)
    lines = [[*heads.split(","), "WHAT IT IS"]]
    for row in report.rows.values():
        last = "" if row.is_sum or not stages else f"{100 * spread(row.samples)[0] / stages:4.1f} %"
        if report.is_memory:
            last = f"{spread(row.shared)[0]:9.2f}"
        lines.append([row.name, *(f"{figure:9.2f}" for figure in spread(row.samples)), last, row.what])
    widths = [*(max(map(len, column)) for column in list(zip(*lines))[:-1]), 0]
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in ("", "dumb")
    print(f"{report.count} x {report.of} of {report.base} on {report.machine['accelerator']} "
          f"({safe(report.machine['acceleratorReason'])}){'; MiB' if report.is_memory else ''}\n")
    for line in lines:
        text = safe("  ".join(cell.ljust(width) for cell, width in zip(line, widths)))
        print(f"\033[1m{text}\n\033[0m" if bold and line is lines[0] else f"{text}\n", end="")
    if picture:
        print(f"\npicture: {safe(picture)}")


def figures(samples: List[float]) -> Dict[str, Any]:
    return {**dict(zip(("median", "least", "most"), spread(samples))), "samples": samples}


def print_json(report: Report, picture: Optional[str]) -> None:
    rows: List[Dict[str, Any]] = []
    for row in report.rows.values():
        rows.append({"name": row.name, "what": row.what})
        if report.is_memory:
            rows[-1].update(private=figures(row.samples), shared=figures(row.shared))
        else:
            rows[-1].update(sum=row.is_sum, time=figures(row.samples))
    told = {"measure": report.measure, "base": report.base, "accelerator": report.machine["accelerator"],
            "acceleratorReason": report.machine["acceleratorReason"], "count": report.count, "unit": report.unit, "rows": rows}
    print(json.dumps({**told, **({"picture": picture} if picture else {})}, ensure_ascii=False, separators=(",", ":")))


def print_report(report: Report, as_json: bool, picture: Optional[str]) -> None:
    (print_json if as_json else print_table)(report, picture)
