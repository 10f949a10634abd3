# SPDX-License-Identifier: MIT
"""Tests scripts/config-texts.py: the schemas and manuals are as the tables are, and what it does with a new row."""

import importlib.util
import subprocess
import sys

import pytest

from conftest import BUILD, ROOT

SCRIPT = ROOT / "scripts" / "config-texts.py"
pytestmark = pytest.mark.skipif(not (BUILD / "unit" / "print_tables").exists(), reason="no program of the tables (make unit)")


def the_script():
    spec = importlib.util.spec_from_file_location("config_texts", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page_of(script, place, text):
    path = place / "microagent-run.1.scd"
    path.write_text(text)
    return script.Page(path)


FIELD = {"key": "b", "kind": "text", "byItsKind": True, "hostFile": False, "ofMachine": True, "words": [], "most": 0,
         "longest": 9, "sample": '"x"', "description": "The *second* field of _kvm_pvm_."}


def test_schemas_and_manuals_are_as_the_tables_are():
    ran = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False, env={"BUILD": str(BUILD)})
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_entry_of_a_field_in_the_schema():
    script = the_script()
    entry = {"$ref": "#/$defs/text", "maxLength": 9, "description": "The second field of kvm_pvm.", "examples": ["x"]}
    assert script.schema_entry(FIELD, None) == entry == script.schema_entry(FIELD, {"type": "integer"})
    with pytest.raises(SystemExit, match="write its entry in schema/defs.json by hand"):
        script.schema_entry({**FIELD, "byItsKind": False}, None)


def test_a_new_entry_comes_behind_that_of_the_row_above(tmp_path):
    script = the_script()
    page = page_of(script, tmp_path, "# CONFIG\n\n*a*\n\tText\n\tof a.\n\n\tMore of a.\n\n*c*\n\tText of c.\n")
    fields = [{"key": "a", "description": "Text of a."}, FIELD, {"key": "c", "description": "Changed."}]
    script.write_request(fields, page)
    assert page.lines == ["# CONFIG", "", "*a*", "\tText", "\tof a.", "", "\tMore of a.", "",
                          "*b*", "\tThe *second* field of _kvm_pvm_.", "", "*c*", "\tChanged.", ""]


def test_a_new_option_is_described_and_listed(tmp_path):
    script = the_script()
    run = page_of(script, tmp_path, "# COMMANDS\n\n*run* _CMD_\n\tRuns.\n\n\tOptions of this page: *--first* (one), *--third*.\n\n"
                  "# OPTIONS\n\n*-f*, *--first* _N_\n\tOne.\n\n*--third*\n\tThree.\n")
    pages = {"microagent-run": run, "microagent-network": script.Page(tmp_path / "microagent-run.1.scd")}
    options = [{"name": "first", "value": "N"}, {"name": "second", "value": "TEXT", "field": "config.b"}, {"name": "third"}]
    script.options_of_command = lambda _name: ["first", "second", "third"]
    script.write_options([FIELD], options, pages)
    script.write_lists(options, {"microagent-run": run, "microagent-network": run})
    assert "\tOptions of this page: *--first* (one), *--second*, *--third*." in run.lines
    at = run.lines.index("*--second* _TEXT_")
    assert run.lines[at - 2:at + 4] == ["\tOne.", "", "*--second* _TEXT_", "\tThe *second* field of _kvm_pvm_.", "", "*--third*"]
