# SPDX-License-Identifier: MIT
"""The figures as one picture: stages one after the other on an axis of time, each with its spread as a thin line; processes
below each other, private memory dark and shared light."""

from __future__ import annotations

import os
import tempfile
from html import escape
from typing import Iterator

from ._report import Report, spread

WIDTH, LEFT, AXIS, TOP, ROW, BAR = 980, 150, 620, 74, 26, 14  # LEFT: where the axis begins; AXIS: how long; TOP: of the first row
INK, FAINT, GRID, STAGE, SHARED, SPREAD = "#1c2733", "#6b7a89", "#e3e8ee", "#2f6f9f", "#b9d3e6", "#d9822b"


def step_of(most: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that gives at most eight steps."""
    return next(step for power in range(-3, 99) for step in (10.0 ** power, 2 * 10.0 ** power, 5 * 10.0 ** power) if most / step <= 8)


def drawn(report: Report) -> Iterator[str]:
    bars, follows = [], 0.0  # a row, where it begins, ends and where all of it has ended: a stage begins at the end of the one before
    for row in report.rows.values():
        median, _, highest = spread(row.samples)
        begin = 0.0 if row.is_sum or report.is_memory else follows
        follows += median
        bars.append((row, begin, begin + median, max(begin + highest, median + (spread(row.shared)[0] if row.shared else 0))))
    most, bottom = max(bar[-1] for bar in bars) or 1, TOP + ROW * len(bars)
    step = step_of(most)

    def at(value: float) -> float:
        return LEFT + AXIS * value / most

    def bar_of(y: float, begin: float, end: float, colour: str) -> str:
        return (f'<rect x="{at(begin):.1f}" y="{y}" width="{max(at(end) - at(begin), 1):.1f}" height="{BAR}" rx="2" fill="{colour}"/>')

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 36}" viewBox="0 0 {WIDTH} {bottom + 36}" '
           f'font-family="sans-serif" font-size="12" fill="{INK}">\n<rect width="{WIDTH}" height="{bottom + 36}" fill="#ffffff"/>')
    yield f'<text x="24" y="30" font-size="17" font-weight="bold">microagent perf {report.measure}</text>'
    yield (f'<text x="24" y="50" fill="{FAINT}">{report.count} x {report.of} of {report.base} on {report.machine["accelerator"]}; '
           f'medians, with least and most as a thin line{"; dark: private, light: shared" if report.is_memory else ""}</text>')
    for value in (i * step for i in range(int(most * 1.0001 / step) + 1)):
        yield f'<line x1="{at(value):.1f}" y1="{TOP - 6}" x2="{at(value):.1f}" y2="{bottom}" stroke="{GRID}"/>'
        yield f'<text x="{at(value):.1f}" y="{bottom + 16}" text-anchor="middle" fill="{FAINT}">{value:g}</text>'
    yield f'<text x="{LEFT + AXIS + 24}" y="{bottom + 16}" fill="{FAINT}">{report.unit}</text>'
    for y, (row, begin, end, furthest) in zip(range(TOP, bottom, ROW), bars):
        median, lowest, highest = spread(row.samples)
        if row.shared:
            yield bar_of(y, end, end + spread(row.shared)[0], SHARED)
        yield bar_of(y, begin, end, INK if row.is_sum else STAGE)
        if len(row.samples) > 1:
            left, right, middle = at(begin + lowest), at(begin + highest), y + BAR / 2
            yield (f'<path d="M{left:.1f} {middle:.1f}H{right:.1f}m0 -4v8M{left:.1f} {middle - 4:.1f}v8" stroke="{SPREAD}" fill="none" '
                   'stroke-width="1.5"/>')
        weight = ' font-weight="bold"' if row.is_sum else ""
        yield (f'<text x="{LEFT - 10}" y="{y + BAR - 2}" text-anchor="end"{weight}>{escape(row.name)}<title>{escape(row.what)}</title></text>\n'
               f'<text x="{at(furthest) + 8:.1f}" y="{y + BAR - 2}">{median:.{2 if median < 10 else int(median < 100)}f}</text>')
    yield "</svg>\n"


def check(path: str) -> None:
    """Whether it can be made there."""
    try:
        os.unlink(tempfile.mkstemp(prefix=".", dir=os.path.dirname(path) or ".")[1])
    except OSError as error:
        error.filename = f"cannot write {path}"
        raise


def draw(report: Report, path: str) -> None:
    """In place of what is there by that name, all of it at once."""
    with tempfile.TemporaryDirectory(prefix=".", dir=os.path.dirname(path) or ".") as beside:
        with open(f"{beside}/picture", "w", encoding="utf-8") as out:
            out.write("\n".join(drawn(report)))
        os.chmod(f"{beside}/picture", 0o644)
        os.rename(f"{beside}/picture", path)
