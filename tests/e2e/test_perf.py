# SPDX-License-Identifier: MIT
"""Tests `microagent perf`: its numbers add up, and nothing that it makes is left, however it ends. No test looks at how
long things take."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conftest import BACKEND, BIN, wait_until
from planted import plant
from pools import NOW
from python_package import PACKAGE, library_env
from test_library import make

pytestmark = pytest.mark.skipif(BACKEND == "apple-vf", reason="its stand-in makes no bases that a session can boot")
EXEC = ["connect", "start", "exit"]


def places(host):
    return list(host.state.glob(".locks/.perf/*"))


def check_nothing_stays(host):
    assert not places(host)
    host.assert_clean()


def check_rows(answer, count):
    for row in answer["rows"]:
        for figures in (row[key] for key in ("time", "private", "shared") if key in row):
            assert len(figures["samples"]) == answer["count"] == count, row
            assert min(figures["samples"]) == figures["least"] <= figures["median"] <= figures["most"], row
    return [row["name"] for row in answer["rows"]]


def sample(answer, name, turn=0):
    return next(row["time"]["samples"][turn] for row in answer["rows"] if row["name"] == name)


def check_sums(answer):
    """In each round the whole is the sum of its stages."""
    for turn in range(answer["count"]):
        stages = [row["time"]["samples"][turn] for row in answer["rows"] if not row["sum"]]
        assert sum(stages) == pytest.approx(sample(answer, "whole", turn), abs=0.01)


def check_picture(file, answer):
    drawing = ElementTree.parse(file).getroot()
    words = "".join(drawing.itertext())
    assert all(row["name"] in words for row in answer["rows"]) and answer["accelerator"] in words


def test_boot(host):
    picture = host.base / "boot.svg"
    answer = host.json("perf", "boot", "--count", "2", "-o", picture)
    names = check_rows(answer, 2)
    assert [name for name in names if name in ("begun", "verified", "launched", "vmm", "hello", "ready", "whole")] == \
        ["begun", "verified", "launched", "vmm", "hello", "ready", "whole"]
    check_sums(answer)
    assert answer["base"] == "perf-v1" and answer["picture"] == str(picture)
    check_picture(picture, answer)
    check_nothing_stays(host)


def test_exec_of_a_base_of_the_users(place):
    answer = place.json("perf", "exec", "--base", "web", "--count", "3")
    assert check_rows(answer, 3) == [*EXEC, "whole"] and answer["base"] == "web-v1"
    check_sums(answer)
    assert place.json("session", "list") == {"sessions": []} and place.json("base", "verify", "web")["ok"]
    assert not places(place) and not (place.state / "archive").exists()


def test_claim(place):
    """It uses a pool of its own, and the user's pool is not touched."""
    answer = place.json("perf", "claim", "--base", "web", "--count", "2", env=NOW)
    assert check_rows(answer, 2) == ["claim", *EXEC, "whole"]
    check_sums(answer)
    assert place.json("pool", "status") == {"pools": []} and not places(place)


def test_footprint(place):
    picture = place.tmp / "footprint.svg"
    answer = place.json("perf", "footprint", "--base", "web", "--count", "1", "-o", picture)
    names = check_rows(answer, 1)
    assert names[:3] == ["vmm", "supervisor", "broker"] and names[-2:] == ["ours", "whole"], names
    private = {row["name"]: row["private"]["median"] for row in answer["rows"]}
    assert 0 < private["ours"] < private["vmm"] < private["whole"]
    assert private["whole"] == pytest.approx(sum(private[name] for name in names[:-2]))
    check_picture(picture, answer)
    picture.unlink()
    table = place("perf", "footprint", "--base", "web", "--count", "1", check=0).stdout
    assert f" on {answer['accelerator']} (" in table.splitlines()[0] and all(name in table for name in names)


def test_restore_of_a_base_of_its_own(host):
    answer = host.json("perf", "restore", "--count", "2")
    assert {"begun", "vmm", "hello", "ready", "first exec"} < set(check_rows(answer, 2))
    check_sums(answer)
    check_nothing_stays(host)


def test_restore_says_what_is_missing(place):
    refused = place("perf", "restore", "--base", "web", "--count", "1", check=1)
    assert "base web-v1 has no template" in refused.stderr and "`microagent base warm web-v1` makes one" in refused.stderr
    assert not refused.stdout and not places(place)


def test_restore_and_boot_of_a_base_with_a_template(place):
    place("base", "warm", "web", check=0)
    before = place("base", "show", "web", check=0).stdout
    assert check_rows(place.json("perf", "restore", "--base", "web", "--count", "1"), 1)
    assert check_rows(place.json("perf", "boot", "--base", "web", "--network", "isolated", "--count", "1"), 1)
    assert check_rows(place.json("perf", "restore", "--base", "web", "--network", "nat", "--count", "1"), 1)
    assert place("base", "show", "web", check=0).stdout == before
    place("base", "cool", "web", check=0)
    assert not places(place)


def living(host):
    return list(host.state.glob(".locks/.perf/*/sessions/*.bundle/runtime.json"))


@pytest.mark.parametrize("number,send", [(signal.SIGINT, os.kill), (signal.SIGTERM, os.kill), (signal.SIGINT, os.killpg)],
                         ids=["SIGINT", "SIGTERM", "Ctrl-C"])
def test_a_signal_ends_it_and_nothing_stays(place, number, send):
    """Ctrl-C goes to the whole process group."""
    child = place.popen("perf", "boot", "--base", "web", "--count", "1000", start_new_session=True)
    wait_until(lambda: living(place), "a machine")
    send(child.pid, number)
    out, err = child.communicate()
    assert child.returncode == 128 + number and not out and b"nothing was measured" in err, err
    assert not places(place)
    assert place.json("session", "list") == {"sessions": []}


def test_what_a_killed_one_left_goes_with_the_next(host):
    child = host.popen("perf", "exec", "--count", "1000")
    wait_until(lambda: living(host), "a machine")
    child.kill()
    child.communicate()
    assert places(host)
    host.json("perf", "exec", "--count", "1")
    check_nothing_stays(host)


def test_two_at_once_leave_each_other_alone(place):
    first = place.popen("perf", "exec", "--base", "web", "--count", "1000")
    wait_until(lambda: living(place), "a machine")
    before = places(place)
    place.json("perf", "exec", "--base", "web", "--count", "1")
    assert places(place) == before and first.poll() is None
    first.send_signal(signal.SIGTERM)
    first.communicate()
    assert not places(place)


@pytest.mark.parametrize("words,code,said", [
    (["boot", "--base", "nobody"], 1, "nobody"),
    (["boot", "--count", "0"], 2, "--count"),
    (["boot", "-o", "/nonexistent/x.svg"], 1, "cannot write /nonexistent/x.svg"),
    (["boat"], 2, 'did you mean "perf boot"'),
    (["boot", "b/c"], 2, ""),
])
def test_what_is_refused_makes_nothing(host, words, code, said):
    refused = host("perf", *words, check=code)
    assert said in refused.stderr and not refused.stdout and not places(host)


def test_a_signal_at_once_makes_nothing(host):
    """The signal may come before a handler exists."""
    child = host.popen("perf", "exec", "--count", "1000")
    wait_until(lambda: b"microagent-perf" in Path(f"/proc/{child.pid}/cmdline").read_bytes(), "the program")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    assert child.returncode == 128 + signal.SIGINT and not out and b"nothing was measured" in err and b"Traceback" not in err, err
    check_nothing_stays(host)


@pytest.mark.parametrize("program,said", [
    (None, "microagent: microagent-perf, the program that measures, is neither beside microagent nor in PATH: the Debian package python3-microagent brings it\n"),
    ("#!/nonexistent/python3\n", "microagent: {} is a Python program, but Python is not installed: the Debian package python3 brings /usr/bin/python3\n"),
])
def test_what_it_needs(host, program, said):
    alone = host.base / "alone"
    alone.mkdir()
    shutil.copy2(BIN / "microagent", alone)
    if program:
        (alone / "microagent-perf").write_text(program)
        (alone / "microagent-perf").chmod(0o755)
    child = host.popen("perf", "boot", program=alone / "microagent", env={"PATH": str(host.base)})
    out, err = child.communicate()
    assert (child.returncode, out, err.decode()) == (1, b"", said.format(alone / "microagent-perf"))
    assert "--count" in host("perf", "boot", "--help", check=0).stdout and not places(host)


@pytest.mark.parametrize("entry", ("node_modules/.bin", ""))
def test_no_program_of_where_the_user_works_prints_an_error(host, entry):
    """microagent is found if it is not beside the program."""
    bin_ = host.base / "node_modules" / ".bin" if entry else host.base
    plant(bin_)
    program = host.base / "alone" / "perf"
    program.parent.mkdir()
    shutil.copy2(PACKAGE / "microagent-perf", program)
    done = subprocess.run(["/usr/bin/python3", program, "boot", "--output=/nonexistent/x.svg"], cwd=host.base, capture_output=True, text=True, check=False,
                          env={**host.env, **library_env(PATH=f"{entry}:{BIN}:/usr/bin:/bin")})
    assert done.returncode == 1 and "cannot write /nonexistent/x.svg" in done.stderr, done
    assert not (bin_ / "ran").exists()


def test_what_is_installed(place):
    """It uses its own programs and library, wherever they are, and whatever is beside python3."""
    prefix = place.base / "installed"
    make("install", f"PREFIX={prefix}")
    child = place.popen("--json", "perf", "exec", "--base", "web", "--count", "1", program=prefix / "bin" / "microagent")
    out, err = child.communicate()
    assert (child.returncode, err) == (0, b"") and check_rows(json.loads(out), 1) == [*EXEC, "whole"]
    make("uninstall", f"PREFIX={prefix}")
    assert not [path for path in prefix.rglob("*") if not path.is_dir()]
