# SPDX-License-Identifier: MIT
"""Tests the documents for integrators against the programs: every JSON block, table and list of names."""

import json
import re
import subprocess

import pytest

import schema_check
from conftest import BIN, ROOT
from test_bad_state import life
from test_supervisor import request, sparse

TEXT = (ROOT / "docs" / "protocol.md").read_text()
BLOCKS = re.findall(r"^```json (\w+) ?(\w*)\n(.*?)^```$", TEXT, re.M | re.S)
RESPONSE = schema_check.load("response")["$defs"]
DEFS = schema_check.load("defs")["$defs"]


def table(head):
    """Returns the rows of the table whose first line begins so, as lists of cells without their backticks."""
    lines = TEXT[TEXT.index(f"| {head} |"):].split("\n\n")[0].splitlines()
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
    return rows[0], rows[2:]


@pytest.mark.parametrize("kind,part,text", BLOCKS, ids=[f"{k}-{p}" for k, p, _ in BLOCKS])
def test_json_blocks(kind, part, text):
    document = json.loads(text)
    name = "response" if kind == "answer" else kind
    assert not schema_check.problems(name, document, part or None)


def test_the_example_is_answered_as_shown(host):
    config = json.loads(next(text for kind, _, text in BLOCKS if kind == "request"))["config"]
    given = host.config()
    assert set(config) <= set(given)
    code, answer, _ = host.supervisor(request("prepare", given))
    shown = json.loads(next(t for kind, part, t in BLOCKS if (kind, part) == ("answer", "prepare")))
    assert code == 0 and set(answer) == set(shown)
    assert set(answer["event"]) == set(shown["event"])
    assert set(answer["verification"]["kernel"]) == set(shown["verification"]["kernel"])
    shown = json.loads(next(t for kind, part, t in BLOCKS if (kind, part) == ("answer", "failure")))
    answer = host.supervisor(request("check", {**given, "memoryMiB": 0}))[1]
    assert answer == shown
    host.supervisor(request("delete", sparse(host)))


def test_presence_of_blocks():
    heads, rows = table("command | event")
    assert [row[0] for row in rows] == ["host", "check", "prepare", "start", "run", "console", "inspect",
                                        "halt", "quarantine", "stop", "kill", "delete"]
    for row in rows:
        schema = RESPONSE[row[0]]
        for head, cell in zip(heads[1:], row[1:]):
            for block in head.split(", "):
                there = "yes" if block in schema["required"] else \
                    "if" if block in schema["properties"] else "-"
                if row[0] == "host" and block == "kernel":
                    there = "yes"  # the command line's own answers may lack it
                assert cell == there, (row[0], block)


def test_lists_of_names():
    assert [row[0] for row in table("errorCode")[1]] == DEFS["errorCode"]["enum"]
    assert {row[0] for row in table("state")[1]} == set(DEFS["state"]["enum"])
    assert {row[0] for row in table("command | purpose")[1]} == set(DEFS["command"]["enum"])
    features = schema_check.load("capabilities")["$defs"]["features"]["items"]["enum"]
    closing = TEXT[TEXT.index("`features` are"):]
    fields = DEFS["config"]["properties"]
    functions = [name for name in features if re.split(r"\[|\.", name)[0] not in fields]
    assert functions and [name for name in functions if f"`{name}`" not in closing] == []


RESTING = ("unknown", "prepared", "halted", "stopped", "failed", "quarantined")


def test_states_in_which_a_command_may_act(host):
    """The column `allowed from`, as far as it needs no machine. A command that may not act answers `conflict` (or that
    there is nothing). A command that may act gets further."""
    config, directory = life(host)
    event = json.loads((directory / "event.json").read_text())
    for row in table("command | purpose")[1]:
        command, wanted, allowed = row[0], row[3], row[4]
        if command in ("host", "check", "inspect", "delete"):
            continue
        for state in RESTING[0 if command not in ("run",) else 1:]:
            (directory / "event.json").write_text(json.dumps({**event, "state": state}))
            if state == "unknown":
                (directory / "event.json").unlink()
            body = {**config, "memoryMiB": 65} if wanted == "full" and command != "prepare" else \
                config if wanted == "full" else sparse(host)
            code, answer, _ = host.supervisor(request(command, body))
            may = allowed.startswith("any") and state != "unknown" or state in allowed.split(", ")
            got = code == 0 or "config.memoryMiB" in answer["error"]
            assert got == may, (command, state, answer)
            assert code == 0 or answer["errorCode"] in ("conflict", "not-found"), answer
            if command == "prepare" and code == 0:
                assert answer["event"]["state"] == "prepared"
    host.supervisor(request("delete", sparse(host)))


WORD = r"^  ([a-z][a-z-]*) +[a-zA-Z]"  # of a command, in a list of them


def page(name):
    return (ROOT / "docs" / name).read_text()


def test_manual_pages_name_everything(host):
    """Every field, file, option and command is in its page."""
    fields = page("microagent-request.5.scd")
    for name in DEFS["config"]["properties"]:
        assert re.search(rf"^\*{name}(\.\w+)?\*$", fields, re.M), name
    for part in ("identity", "disk", "share", "bundle", "output", "mediation", "portForward", "image",
                 "vsockListener"):
        for name in DEFS[part]["properties"]:
            assert f"*{name}*" in fields, (part, name)
    for name in DEFS["network"]["properties"]:
        assert f"*network.{name}*" in fields, name
    files = page("microagent-state.5.scd")
    for name in ("workspace", "event", "events", "runtime", "result"):
        assert f"*{name}.json*" in files and f"{name}.json." in files
        for key in schema_check.load(name).get("required", ()):
            if name in ("workspace", "event"):
                assert f"_{key}_" in files, (name, key)
    # The options of both supervisors are the same, and one page has them.
    for program, place in (("microagent-qemu-supervisor",) * 2, ("microagent-firecracker-supervisor", "microagent-qemu-supervisor"),
                           ("microagent-vsockd",) * 2):
        text = subprocess.run([BIN / program, "--help"], capture_output=True, text=True,
                              check=True).stdout
        for option in set(re.findall(r"--[a-z-]+", text)):
            assert f"*{option}*" in page(f"{place}.1.scd"), (program, option)
    overview = host("--help", check=0).stdout
    listed = set(re.findall(WORD, overview, re.M))
    assert len(listed) > 10
    for command in listed:
        assert re.search(rf"^.*\*{command}\b", page("microagent.1.scd"), re.M), command


def test_the_page_of_the_oci_runtime_names_everything():
    text = page("microagent-oci.8.scd")
    overview = subprocess.run([BIN / "microagent-oci", "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(WORD, overview, re.M)
    code = "".join(path.read_text() for path in sorted((ROOT / "src" / "oci").glob("**/*.[ch]")))
    options = set(re.findall(r'\{"([a-z-]+)", (?:"\w"|NULL), FLAG_', code))
    notes = set(re.findall(r'_ANNOTATION "(io\.microagent\.[a-z-]+)"', code))
    assert len(commands) > 10 and len(options) > 30 and len(notes) > 3
    assert [name for name in commands if not re.search(rf"^(?:.*, )?\*{name}\*", text, re.M)] == []
    assert [name for name in sorted(options) if f"*--{name}*" not in text] == []
    assert [name for name in sorted(notes) if f"_{name}_" not in text] == []


# --- the manuals of `microagent`: microagent(1), and a page for each group of commands ---------------------------

OPTION = r"\*(--[a-z][a-z0-9-]*)\*"
# The sentence of an entry that names options which another place of the pages describes. A remark in brackets may follow an option.
ELSEWHERE = re.compile(rf"^\tOptions of (this page|\*(microagent-[a-z]+)\*\(1\)): ({OPTION}(?: \([^()]*(?:\([^()]*\))?[^()]*\))?(?:,\s+|\.))+", re.M)
PAGE_OF = re.compile(r"^\|  \*([a-z-]+)\*\n:  .*\n:  (?:\*(microagent-[a-z]+)\*\(1\)|\(below\))$", re.M)


def pages_of_commands():
    """{"run": "microagent-run"}, from the table of microagent(1)."""
    return {command: name or "microagent" for command, name in PAGE_OF.findall(page("microagent.1.scd"))}


def manuals():
    """{"microagent-run": its text}, each that the table names, and microagent(1)."""
    return {name: page(f"{name}.1.scd") for name in {"microagent", *pages_of_commands().values()}}


def section(text, name):
    """The lines of a section, without its heading; "" if there is none."""
    found = re.search(rf"^# {name}\n(.*?)(?=^# |\Z)", text, re.M | re.S)
    return found[1] if found else ""


def entries_of_the_manuals():
    """{"session create": (its page, its text)}, the heading first. A command has one entry in all pages."""
    entries = {}
    for name, text in manuals().items():
        names = []
        for line in section(text, "COMMANDS").split("\n"):
            if re.match(r"\S", line):
                names = list(dict.fromkeys(re.findall(r"(?:^|, )\*([a-z][a-z-]*(?: [a-z][a-z-]*)?)", line))) if line.startswith("*") else []
                names = [n for n in names if n not in ("session destroy --all",)]
                assert not set(names) & set(entries), (name, line)
            for entry in names:
                entries[entry] = (name, entries.get(entry, (name, ""))[1] + line + "\n")
    return entries


def heads(text):
    """The options that a page describes, one for each head of a description."""
    lines = re.findall(r"(?<=\n\n)\t?(?:\*-\w\*, )?\*--[a-z][a-z0-9-]*\*.*$", text, re.M)
    return [option for line in lines for option in re.findall(OPTION, line)]


def described(entry, name, pages):
    """The options of a command, each with the place where it is described: ("entry", or a page)."""
    found = [(option, "entry") for option in re.findall(r"(?<=\n\n)\t(?:\*-\w\*, )?(\*--[a-z][a-z0-9-]*\*.*)$", entry, re.M) for option in re.findall(OPTION, option)]
    for sentence in ELSEWHERE.finditer(entry):
        place = sentence[2] or name
        for option in re.findall(OPTION, re.sub(r" \(.*?\)(?=[,.])", "", sentence[0])):
            assert option in heads(pages[place]), (place, option)
            found.append((option, place))
    return found


def commands(host):
    """Returns {"session create": its options}, for every command and subcommand."""
    found = {}
    for command in re.findall(WORD, host("--help", check=0).stdout, re.M):
        text = host(command, "--help", check=0).stdout
        below = re.search(r"^Commands:\n(.*?)\n\n", text, re.M | re.S)
        names = [f"{command} {name}" for name in re.findall(WORD, below[1], re.M)] if below else [command]
        for name in names:
            own = host(*name.split(), "--help", check=0).stdout.split("\nGlobal options")[0]
            found[name] = set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z0-9-]*)", own, re.M))
    return found


def test_each_command_is_in_one_page(host):
    """microagent(1) has a table with the page of each command, and that page has the command's entry."""
    table_of_pages, entries, found = pages_of_commands(), entries_of_the_manuals(), commands(host)
    assert len(found) > 60 and len(manuals()) > 8
    assert set(table_of_pages) == {name.split()[0] for name in found}
    # Words of a command that are no commands of their own in a table.
    assert set(entries) - set(found) == {"artifacts get", *(f"network {word}" for word in ("allow", "deny", "publish", "unpublish"))}
    assert set(found) - set(entries) == set()
    assert [name for name, (where, _) in entries.items() if table_of_pages[name.split()[0]] != where] == []


def test_options_are_in_the_manuals_and_the_other_way_round(host):
    entries, found, pages = entries_of_the_manuals(), commands(host), manuals()
    for name, options in found.items():
        where, text = entries[name]
        if name == "artifacts":  # whose options are of `artifacts get`
            text += entries["artifacts get"][1]
        said = described(text, where, pages)
        # Each once: in the entry, or in one place that the entry names.
        assert sorted(option for option, _ in said) == sorted(options), (name, options ^ {option for option, _ in said}, said)
        # The heading has no option of another command.
        own = set(re.findall(OPTION, text.split("\n")[0]))
        assert own <= options, (name, own - options)
    # Each description is of an option that some command refers to, and a page describes an option once.
    referred = {(place, option) for name in found for option, place in
                described(entries[name][1] + (entries["artifacts get"][1] if name == "artifacts" else ""), entries[name][0], pages)}
    for name, text in pages.items():
        outside = re.findall(OPTION, "\n".join(re.findall(r"(?<=\n\n)(?:\*-\w\*, )?\*--[a-z][a-z0-9-]*\*.*$", text, re.M)))
        assert len(outside) == len(set(outside)), (name, outside)
        if name != "microagent":
            assert [option for option in outside if (name, option) not in referred] == [], name


def test_each_manual_has_its_sections():
    for name, text in manuals().items():
        names = re.findall(r"^# (.*)$", text, re.M)
        for wanted in ("NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "EXAMPLES", "SEE ALSO"):
            assert names.count(wanted) == 1, (name, wanted)
        assert names[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"] and names[-1] == "SEE ALSO", name
        named = {*re.findall(r"\*(microagent[a-z-]*)\*\((\d)\)", text)}
        assert [n for n in named if not (ROOT / "docs" / f"{n[0]}.{n[1]}.scd").exists()] == [], name


def test_manual_pages_are_well_formed():
    for path in sorted((ROOT / "docs").glob("*.scd")):
        done = subprocess.run(["scdoc"], input=path.read_bytes(), capture_output=True, check=False)
        assert done.returncode == 0 and done.stdout, (path, done.stderr)


NAMING_DOCUMENTS = ["CONTRIBUTING.md", "README.md", *sorted(
    str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", NAMING_DOCUMENTS)
def test_files_that_are_named_are_there(name):
    """`job_io.c`, `guest/job/job_io.c` or `watch_*.c`: a document must not name a file that has moved."""
    absent = [word for word in re.findall(r"`([\w/*]+\.[ch])`", (ROOT / name).read_text())
              if not any(list(ROOT.glob(place + word)) for place in ("", "src/**/", "ports/**/"))]
    assert not absent


# --- messages: the library and its companions name facts, the command line alone names its commands ----


def sources(pattern):
    """Returns the files that programs are made of, for this system and for others."""
    found = [path.relative_to(ROOT) for top in ("src", "ports") for path in sorted((ROOT / top).glob(f"*/**/{pattern}"))]
    return [ROOT / path for path in found if not {"tests", "standin"} & set(path.parts)]


def literals(path):
    """Yields the texts of a C file. Adjacent literals are joined, as the compiler does it."""
    code = re.sub(r"/\*.*?\*/|^#include .*?$", " ", path.read_text(), flags=re.S | re.M)
    for run in re.findall(r'"(?:\\.|[^"\\\n])*"(?:\s*(?:[A-Z][A-Z0-9_]*\s*)?"(?:\\.|[^"\\\n])*")*', code):
        yield "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', run))


def words_of_the_command_line():
    """Returns (every command, "session create" and its like), from the tables that the program is made of."""
    overview = subprocess.run([BIN / "microagent", "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z]+) ", overview, re.M)
    pairs = []
    for command in commands:
        text = subprocess.run([BIN / "microagent", command, "--help"], capture_output=True, text=True, check=True).stdout
        if "microagent " + command + " COMMAND" in text:
            pairs += [f"{command} {sub}" for sub in re.findall(r"^  ([a-z-]+) ", text, re.M)]
    return commands, pairs


def test_no_message_of_the_library_names_a_command():
    commands, pairs = words_of_the_command_line()
    assert {"run", "create", "session", "kernel", "doctor"} <= set(commands) and {"session create", "kernel install"} <= set(pairs)
    named = re.compile(rf"\bmicroagent (?:--[a-z-]+ \S+ )?(?:{'|'.join(commands)})\b|`(?:{'|'.join(pairs)})\b")
    files = [path for path in sources("*.[ch]") if path.relative_to(ROOT).parts[1] != "cli"]
    texts = [(path, text) for path in files for text in literals(path)]
    assert len(files) > 300 and len(texts) > 3000
    assert [(str(path), text) for path, text in texts if named.search(text)] == []
    # The pattern finds such texts.
    for text in ("it is down: `microagent start %s` boots it", "see microagent --state-dir %s start", "`session create` makes one"):
        assert named.search(text)


def test_every_reason_is_given_somewhere():
    """A hint whose reason no code gives could never be seen (tests/unit/test_cli_hint.c checks that each reason has a hint)."""
    reasons = re.findall(r"^\t(REASON_\w+)", (ROOT / "include/microagent/error.h").read_text(), re.M)
    assert len(reasons) > 40 and reasons[0] == "REASON_NONE"
    code = "".join(path.read_text() for path in sources("*.c") if "cli" not in path.relative_to(ROOT).parts)
    code = re.sub(r"\[REASON_\w+\] = ", "", code)  # the table of their names
    assert [reason for reason in reasons if not re.search(rf"\b{reason}\b", code)] == []
    assert DEFS["errorReason"]["enum"] == [r.removeprefix("REASON_").lower().replace("_", "-") for r in reasons[1:]]


TEST = re.compile(r"(test_\w+\.(?:py|c))::(\w+)")


def rows_of(name, last):
    """Returns the rows of those tables of a document whose last column has this name, each as a list of its cells."""
    tables = re.findall(rf"^\|.* {last} \|\n\|[-|]+\|\n((?:\| .* \|\n)+)", page(name), re.M)
    return [[cell.strip() for cell in row.strip("|").split("|")] for table in tables for row in table.splitlines()]


@pytest.mark.parametrize("name,last,least", [("threat-model.md", "tried by", 125), ("seeds.md", "shown by", 210)])
def test_tests_that_are_named_are_there(name, last, least):
    rows = rows_of(name, last)
    assert len(rows) >= least
    for row in rows:
        # A cell is a list of tests and nothing else, so that no test is left out.
        assert TEST.sub("", row[-1]).replace("(soak)", "").strip(", ") == "" or row[-1].startswith("no test"), row
        for file, test in TEST.findall(row[-1]):
            places, begin = (("e2e", "*/tests"), "def") if file.endswith(".py") else (("unit", "*/tests/unit"), "static void")
            paths = [*ROOT.glob(f"tests/{places[0]}/{file}"), *ROOT.glob(f"ports/{places[1]}/{file}")]
            assert len(paths) == 1 and re.search(rf"^{begin} {test}\(", paths[0].read_text(), re.M), (file, test, row)


def test_what_the_founding_documents_promise_is_judged_by_a_word_that_is_explained():
    words = re.findall(r"^\| ([\w-]+) \|", page("seeds.md").split("\n## ")[0], re.M)[1:]
    assert len(words) == 5
    for row in rows_of("seeds.md", "shown by"):
        assert len(row) == 3 and re.match(rf"({'|'.join(words)})\b", row[1]), row
