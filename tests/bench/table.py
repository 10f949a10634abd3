# SPDX-License-Identifier: MIT
"""The one table of all figures. Each figure is beside that of its peer in the same run, with the spread of the samples.
The table is compared with the ratios in the tree, kept as JSON, and written into docs/benchmarks.md."""

import json
import os
import re
import statistics
import subprocess
import time
from typing import NamedTuple

MIN_SAMPLES = 20    # with fewer samples a median is not stored, and nothing is judged by it
ALLOWED_LOSS = 1.2  # change of a ratio against the stored one
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
HEADS = ("operation", "ours", "beside it", "figure", "goal", "n")
ACCELERATORS = ("tcg", "kvm")  # each has a column of the document, and its own ratios
COLUMNS = ("operation", "beside it", "goal", *ACCELERATORS)
UNMEASURED = "-"


class Row(NamedTuple):
    name: str
    unit: str
    ours: list
    peer: str    # "": there is none
    theirs: list
    goal: str    # "<= 1.25x", ">= 0.5x": of the peer; "<= +1 ms": more than the peer; "<= 3 ms": by itself; "-"
    better: str  # "less" or "more"

    @property
    def ratio(self):
        return statistics.median(self.ours) / statistics.median(self.theirs) if self.theirs else None

    @property
    def samples(self):
        return min(len(self.ours), len(self.theirs) if self.theirs else len(self.ours))

    def figure(self):
        """Returns the figure that the goal is about: (number, its unit)."""
        mine = statistics.median(self.ours)
        if self.theirs and "+" in self.goal:
            return mine - statistics.median(self.theirs), self.unit
        if self.theirs and (self.goal == "-" or self.goal.endswith("x")):
            return self.ratio, "x"
        return mine, self.unit

    def missed(self):
        """Returns None if there is no goal, False if it is met, and otherwise by how much it is missed."""
        goal = re.fullmatch(r"([<>]=) \+?([\d.]+) ?(.*)", self.goal)
        if not goal:
            return None
        number, bound = self.figure()[0], float(goal[2])
        over = number / bound - 1 if goal[1] == "<=" else bound / number - 1
        return over if over > 0 else False


rows, skipped, other = [], {}, {}


def record(name, ours, unit, peer="", theirs=(), goal="-", better="less"):
    """One line of the table; ours and theirs are lists of samples, taken in turn."""
    row = Row(name, unit, list(ours), peer, list(theirs), goal, better)
    rows.append(row)
    print("  " + " | ".join(cells(row)), flush=True)


def skip(name, why):
    skipped[name] = why
    print(f"  {name}: skipped, {why}", flush=True)


# ---- printing ---------------------------------------------------------------------------------------


def number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def spread(samples, unit):
    """Returns the median, and the bounds between which eight of ten samples lie."""
    if not samples:
        return ""
    ranked = sorted(samples)
    low, high = ranked[(len(ranked) - 1) // 10], ranked[-1 - (len(ranked) - 1) // 10]
    return f"{number(statistics.median(samples))} {unit} ({number(low)}-{number(high)})"


def goal_of(row):
    return row.goal.replace("+", "") + (" more" if "+" in row.goal else "")


def miss_of(row):
    return f", **missed** by {100 * row.missed():.0f} %" if row.missed() else ""


def figure_of(row):
    value, unit = row.figure()
    sign = "+" if "+" in row.goal and value >= 0 else ""
    return f"{value:.2f}x" if unit == "x" else f"{sign}{number(value)} {unit}"


def cells(row):
    return (row.name, spread(row.ours, row.unit), f"{row.peer}: {spread(row.theirs, row.unit)}" if row.peer else "", figure_of(row),
            goal_of(row) + miss_of(row), str(row.samples))


def column_cell(row):
    """Formats a cell of one accelerator's column: ours beside the peer's, and the figure."""
    beside = f" beside {spread(row.theirs, row.unit)}" if row.peer else ""
    return f"{spread(row.ours, row.unit)}{beside}; {figure_of(row)}{miss_of(row)}"


def lines_of(table):
    return laid_out([HEADS, *map(cells, table)])


def laid_out(body):
    """Formats a table. body has the heads and then the rows, as tuples of texts."""
    widths = [max(len(line[i]) for line in body) for i in range(len(body[0]))]
    body.insert(1, tuple("-" * width for width in widths))
    return [f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths))} |" for line in body]


# ---- the guard --------------------------------------------------------------------------------------


def stored_form(table, facts):
    return {"facts": facts, "ratios": {row.name: {"ratio": round(row.ratio, 4), "better": row.better}
                                       for row in table if row.ratio}}


def losses(table, stored):
    """Returns a sentence for each ratio that is worse than the stored one by more than is allowed. Says nothing about
    figures with few samples."""
    for row in table:
        was = stored["ratios"].get(row.name)
        if not was or not row.ratio or row.samples < MIN_SAMPLES:
            continue
        loss = row.ratio / was["ratio"] if row.better == "less" else was["ratio"] / row.ratio
        if loss > ALLOWED_LOSS:
            yield f"{row.name}: {row.ratio:.2f}x, and {was['ratio']:.2f}x is stored: {100 * (loss - 1):.0f} % worse"


def missing(table, stored, without):
    """Returns the stored rows that a whole run did not measure. without: the reasons, by name or by stage."""
    there = {row.name for row in table}
    return [name for name in stored["ratios"] if name not in there and not without]


def guard(table, path, facts, whole):
    """Returns the exit code: whether the stored ratios still hold."""
    if not path.exists():
        print(f"guard: nothing is stored in {path.name} yet")
        return 0
    stored = json.loads(path.read_text()).get(facts["accelerator"])
    if not stored:
        print(f"guard: nothing is stored in {path.name} of {facts['accelerator']} yet")
        return 0
    if stored["facts"]["kernel"] != facts["kernel"]:
        print("guard: not compared, the stored ratios are of another kernel")
        return 0
    found = list(losses(table, stored))
    if whole:
        found += [f"{name}: stored, and not measured any more" for name in missing(table, stored, skipped)]
    for text in found:
        print(f"guard: {text}")
    few = sum(row.samples < MIN_SAMPLES for row in table if row.name in stored["ratios"])
    print(f"guard: {len(table) - few} rows compared" + (f", {few} have less than {MIN_SAMPLES} samples" if few else ""))
    return 1 if found else 0


# ---- what stays -------------------------------------------------------------------------------------


def keep(path, facts):
    path.write_text(json.dumps({
        "facts": facts, "skipped": skipped, "other": other,
        "rows": [{**row._asdict(), "ratio": row.ratio, "figure": row.figure()[0], "missed": row.missed()} for row in rows],
    }, indent=1))


def why_not_to_store(table, whole, settings):
    """settings: the values that are smaller than the defaults. "": the run may be stored."""
    if not whole:
        return "not all stages were run"
    if settings:
        return f"{', '.join(sorted(settings))} was set"
    few = [row.name for row in table if row.samples < MIN_SAMPLES]
    return f"less than {MIN_SAMPLES} samples of: {'; '.join(few)}" if few else ""


def store_ratios(path, table, facts):
    """Replaces the ratios of the same accelerator."""
    whole = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**whole, facts["accelerator"]: stored_form(table, facts)}, indent=1) + "\n")


def described(facts):
    told = "".join(f"; {name} was not measured, {why}" for name, why in sorted(skipped.items()))
    return (f"{facts['when']}, {facts['processors']} processors, {facts['vmm']}, kernel {facts['kernel']}, "
            f"load {facts['load'][0]:.1f} at the beginning; {facts['seconds'] / 60:.1f} minutes{told}.")


def read_from(block):
    """Reads the document: (a description by accelerator, {(operation, beside it, goal): {accelerator: cell}})."""
    told = dict(re.findall(r"^- \*\*(\w+)\*\*: (.*)$", block, re.M))
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in block.splitlines() if line.startswith("| ")]
    return told, {tuple(line[:3]): dict(zip(ACCELERATORS, line[3:])) for line in lines[2:]}


def put_into(text, table, facts):
    """Returns the document with a new table between its markers: this run's column is new, and the other one stays."""
    front, rest = text.split(BEGIN)
    block, back = rest.split(END)
    told, was = read_from(block)
    told[facts["accelerator"]] = described(facts)
    new = {(row.name, row.peer, goal_of(row)): column_cell(row) for row in table}
    body = [COLUMNS]
    for key in [*new, *(key for key in was if key not in new)]:
        columns = {**was.get(key, {}), facts["accelerator"]: new.get(key, UNMEASURED)}
        if set(columns.values()) != {UNMEASURED}:
            body.append((*key, *(columns.get(name, UNMEASURED) for name in ACCELERATORS)))
    lines = [*(f"- **{name}**: {told.get(name, 'no whole run is stored yet.')}" for name in ACCELERATORS), "", *laid_out(body)]
    return front + BEGIN + "\n" + "\n".join(lines) + "\n" + END + back


def facts_of(kernel, accelerator, began, load):
    vmm = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout
    return {"when": time.strftime("%Y-%m-%d"), "kernel": kernel, "accelerator": accelerator,
            "vmm": "QEMU " + re.search(r"version (\S+)", vmm)[1], "processors": os.cpu_count(), "load": load,
            "seconds": round(time.monotonic() - began)}
