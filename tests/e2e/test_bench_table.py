# SPDX-License-Identifier: MIT
"""Tests the table of `make bench`: its words about goals and stored ratios, and its refusals to store. No machine is
booted, and nothing is measured."""

import importlib.util
import json

import pytest

from conftest import ROOT

FACTS = {"accelerator": "tcg", "kernel": "k", "when": "2026-01-01", "processors": 2, "vmm": "QEMU 1", "load": [0.1], "seconds": 60}


def load():
    spec = importlib.util.spec_from_file_location("bench_table", ROOT / "tests/bench/table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(name="table")
def the_table():
    return load()


def row(table, ours, theirs=(10.0,), goal="-", better="less", n=20, name="a"):
    return table.Row(name, "ms", [ours] * n, "peer" if theirs else "", list(theirs) * n, goal, better)


@pytest.mark.parametrize("ours,goal,missed,figure", [
    (12, "<= 1.25x", False, "1.20x"), (15, "<= 1.25x", 0.2, "1.50x"), (5, ">= 0.5x", False, "0.50x"), (4, ">= 0.5x", 0.25, "0.40x"),
    (10.5, "<= +1 ms", False, "+0.5 ms"), (13, "<= +1 ms", 2, "+3 ms"), (9, "<= +1 ms", False, "-1 ms"), (2.5, "<= 3 ms", False, "2.5 ms"),
    (6, "<= 3 ms", 1, "6 ms"), (20, "-", None, "2.00x")])
def test_goals(table, ours, goal, missed, figure):
    told = row(table, ours, goal=goal)
    assert told.missed() == (missed if missed in (None, False) else pytest.approx(missed))
    assert table.cells(told)[3] == figure
    assert ("**missed**" in table.cells(told)[4]) == bool(missed)


def test_eight_of_ten_samples_lie_between(table):
    assert table.spread([float(n) for n in range(1, 22)], "ms") == "11 ms (3-19)"
    assert table.spread([5.0], "ms") == "5 ms (5-5)" and table.spread([], "ms") == ""


@pytest.mark.parametrize("ours,better,n,lost", [
    (11.9, "less", 20, False), (12.1, "less", 20, True), (5, "less", 20, False), (8.4, "more", 20, False), (8.2, "more", 20, True),
    (20, "less", 19, False)])
def test_a_loss_of_more_than_a_fifth_fails(table, tmp_path, capsys, ours, better, n, lost):
    """About few samples nothing is said, since they may be anything."""
    path = tmp_path / "ratios.json"
    table.store_ratios(path, [row(table, 10, better=better)], FACTS)
    assert table.guard([row(table, ours, better=better, n=n)], path, FACTS, True) == int(lost)
    assert ("% worse" in capsys.readouterr().out) == lost


def test_what_is_not_measured_any_more_fails_a_whole_run(table, tmp_path, capsys):
    path = tmp_path / "ratios.json"
    table.store_ratios(path, [row(table, 10), row(table, 10, name="gone")], FACTS)
    assert table.guard([row(table, 10)], path, FACTS, False) == 0
    assert table.guard([row(table, 10)], path, FACTS, True) == 1
    assert "gone: stored, and not measured any more" in capsys.readouterr().out


def test_other_machines_are_not_compared(table, tmp_path, capsys):
    path = tmp_path / "ratios.json"
    table.store_ratios(path, [row(table, 10)], FACTS)
    for key, said in (("accelerator", "nothing is stored in ratios.json of other yet"), ("kernel", "of another kernel")):
        assert table.guard([row(table, 100)], path, {**FACTS, key: "other"}, True) == 0
        assert said in capsys.readouterr().out


def test_each_accelerator_has_ratios_of_its_own(table, tmp_path):
    path, kvm = tmp_path / "ratios.json", {**FACTS, "accelerator": "kvm"}
    table.store_ratios(path, [row(table, 10)], FACTS)
    table.store_ratios(path, [row(table, 30)], kvm)
    assert table.guard([row(table, 30)], path, kvm, True) == 0
    assert table.guard([row(table, 30)], path, FACTS, True) == 1


def test_what_is_not_stored(table):
    assert table.why_not_to_store([row(table, 1)], True, []) == ""
    assert "not all stages" in table.why_not_to_store([row(table, 1)], False, [])
    assert "ROUNDS was set" == table.why_not_to_store([row(table, 1)], True, ["ROUNDS"])
    assert "samples of: few" in table.why_not_to_store([row(table, 1), row(table, 1, n=19, name="few")], True, [])


def test_the_document_has_the_table_between_its_markers(table):
    table.skip("something", "it is not there")
    text = table.put_into(f"before\n{table.BEGIN}\nold\n{table.END}\nbehind\n", [row(table, 20)], FACTS)
    assert text.startswith("before\n") and text.endswith("behind\n") and "old" not in text
    assert "- **tcg**: 2026-01-01, " in text and "; something was not measured, it is not there.\n- **kvm**: no whole run is stored yet.\n" in text
    assert document_row(text, "a") == ["peer", "-", "20 ms (20-20) beside 10 ms (10-10); 2.00x", "-"]
    assert table.put_into(text, [row(table, 20)], FACTS) == text


def document_row(text, name):
    return next([cell.strip() for cell in line.strip("|").split("|")][1:] for line in text.splitlines() if line.startswith(f"| {name} "))


def test_the_other_accelerator_keeps_its_column(table):
    text, kvm = f"{table.BEGIN}{table.END}", {**FACTS, "accelerator": "kvm"}
    text = table.put_into(text, [row(table, 20, goal="<= 1.5x"), row(table, 5, theirs=(), name="b")], FACTS)
    text = table.put_into(text, [row(table, 10, goal="<= 1.5x")], kvm)
    assert document_row(text, "a") == ["peer", "<= 1.5x", "20 ms (20-20) beside 10 ms (10-10); 2.00x, **missed** by 33 %",
                                       "10 ms (10-10) beside 10 ms (10-10); 1.00x"]
    assert document_row(text, "b") == ["", "-", "5 ms (5-5); 5 ms", "-"]
    # A row that neither part has any more is removed.
    text = table.put_into(text, [row(table, 20, goal="<= 1.5x")], FACTS)
    assert "| b " not in text and document_row(text, "a")[3].endswith("1.00x")


def test_the_project_s_own_files(table):
    """The document has the markers once, and the stored ratios have the form that is read."""
    text = (ROOT / "docs/benchmarks.md").read_text()
    assert text.count(table.BEGIN) == text.count(table.END) == 1
    stored = ROOT / "tests/bench/ratios.json"
    if stored.exists():
        for accelerator, part in json.loads(stored.read_text()).items():
            ratios, column = part["ratios"], table.ACCELERATORS.index(accelerator) + 2
            assert ratios and all(one["ratio"] > 0 and one["better"] in ("less", "more") for one in ratios.values())
            assert all(document_row(text, name)[column] != table.UNMEASURED for name in ratios), "stored, and not in the table"
