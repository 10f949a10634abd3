# SPDX-License-Identifier: MIT
"""Runs the specification's own validation on the runtime, and on runc in the same run. Each failure has a line in
engines/validation.txt, which also says if runc fails it."""

import tempfile
from pathlib import Path

import pytest

import bundles
from engines import validation
from engines.place import RUNTIME

pytestmark = [pytest.mark.soak, pytest.mark.skipif(bool(validation.lacking()), reason=validation.lacking())]


@pytest.fixture
def place(request):
    it = bundles.Runtime(Path(tempfile.mkdtemp(prefix="o-")))
    yield it
    it.close(not getattr(request.node, "failed", False))


@pytest.mark.parametrize("program", validation.names())
def test_validation(place, program):
    wanted, why = validation.expected().get(program, (set(), ""))
    beside = place.base / "runc"
    beside.mkdir()
    theirs, _ = validation.failures(validation.RUNC, program, beside)
    validation.unmount(beside)
    ours, said = validation.failures(RUNTIME, program, place.base)
    if validation.MAYBE in wanted:
        return
    assert ours == wanted or (ours and wanted == {validation.ANY}), said
    assert not ours or why.startswith("runc too: ") == bool(theirs), (theirs, why)


def test_the_list_names_programs_that_are_there():
    assert set(validation.expected()) <= set(validation.names())
