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
    """A page of this text, in which "~" is a tab."""
    path = place / "microagent-run.1.scd"
    path.write_text(text.replace("~", "\t"))
    return script.Page(path)


FIELD = {"key": "b", "kind": "text", "byItsKind": True, "hostFile": False, "words": [], "most": 0,
         "longest": 9, "sample": '"x"', "description": "The *second* field of _kvm_pvm_.", "member": "b_of", "machines": "OF_SESSION | OF_POOL"}


def test_schemas_and_manuals_are_as_the_tables_are():
    ran = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False, env={"BUILD": str(BUILD)})
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_member_of_a_field():
    script = the_script()
    assert script.member(FIELD) == "\t/* [session, pool] The second field of kvm_pvm. */\n\tconst char *b_of;\n"
    assert script.member({**FIELD, "machines": "OF_WORKSPACE", "kind": "flag"}) == "\t/* The second field of kvm_pvm. */\n\tbool b_of;\n"


def test_the_entry_of_a_field_in_the_schema():
    script = the_script()
    entry = {"$ref": "#/$defs/text", "maxLength": 9, "description": "The second field of kvm_pvm.", "examples": ["x"]}
    assert script.schema_entry(FIELD, None) == entry == script.schema_entry(FIELD, {"type": "integer"})
    with pytest.raises(SystemExit, match="write its entry in schema/defs.json by hand"):
        script.schema_entry({**FIELD, "byItsKind": False}, None)


def text_of(page):
    return "\n".join(page.lines).replace("\t", "~")


def test_a_new_entry_comes_behind_that_of_the_row_above(tmp_path):
    script = the_script()
    page = page_of(script, tmp_path, "# CONFIG\n\n*a*\n~Text\n~of a.\n\n~More of a.\n\n*c*\n~Text of c.\n")
    fields = [{"key": "a", "description": "Text of a."}, FIELD, {"key": "c", "description": "Changed."}]
    script.write_request(fields, page)
    assert text_of(page) == ("# CONFIG\n\n*a*\n~Text\n~of a.\n\n~More of a.\n\n*b*\n~The *second* field of _kvm_pvm_.\n\n"
                             "*c*\n~Changed.\n")


def test_a_new_option_is_described_and_listed(tmp_path):
    script = the_script()
    page = page_of(script, tmp_path, "# COMMANDS\n\n*run* _CMD_\n~Runs.\n\n~Options of this page: *--first* (one), *--third*.\n\n"
                   "# OPTIONS\n\n*-f*, *--first* _N_\n~One.\n\n*--third*\n~Three.\n")
    pages = {name: page for name in script.HOMES}
    options = [{"name": "first", "value": "N"}, {"name": "second", "value": "TEXT", "field": "config.b"}, {"name": "third"}]
    script.options_of_command = lambda _name: ["first", "second", "third"]
    script.write_options([FIELD], options, pages)
    script.write_lists(options, pages)
    assert text_of(page) == ("# COMMANDS\n\n*run* _CMD_\n~Runs.\n\n~Options of this page: *--first* (one), *--second*, *--third*.\n\n"
                             "# OPTIONS\n\n*-f*, *--first* _N_\n~One.\n\n*--second* _TEXT_\n~The *second* field of _kvm_pvm_.\n\n"
                             "*--third*\n~Three.\n")
