# SPDX-License-Identifier: MIT
"""Tests docs/comparison.md: each of our figures is one of a row of docs/benchmarks.md, and each row has one."""

import re

from conftest import ROOT


def rows(path, head):
    text = (ROOT / "docs" / path).read_text()
    lines = text[text.index(f"| {head} "):].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:] if line.startswith("|")]


def test_our_figures_are_those_of_the_benchmarks():
    measured = {row[0]: row[3] for row in rows("benchmarks.md", "operation")}  # emulated, as docs/comparison.md says
    for row in rows("comparison.md", "what"):
        figures = [cell for cell in (row[2], row[3]) if cell != "-"]
        named = row[5].split("; ")
        assert figures and len(named) == len(figures) and set(named) <= measured.keys(), row
        for figure, name in zip(figures, named):
            assert re.search(rf"(?<![\d.]){re.escape(figure)} \(", measured[name]), (figure, name, measured[name])


def test_each_figure_of_another_says_where_it_is_from():
    for row in rows("comparison.md", "tool"):
        assert len(row) == 7 and all(row), row
