#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes python/microagent/_table.py of the headers, and in _run.py and _sandbox.py the parameters for the fields of a
machine: `scripts/python-table.py` writes them, with --check it only says whether they are as the headers are. What the
binding has of the library is named here; how that looks the headers say. Which fields a session has say the rows of
src/contract/config_fields.def and src/api/machine.c."""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = "python/microagent/_table.py"
HEADERS = ["microagent/error.h", "microagent/exec.h", "microagent.h", "microagent_session.h"]

STRUCTS = """
    error microagent_exec microagent_sink microagent_streams microagent_outcome microagent_callbacks microagent_result
    microagent_rates microagent_egress microagent_machine microagent_spec microagent_run_options microagent_run_limits microagent_copy
    microagent_base_spec microagent_warm_spec microagent_session_spec microagent_session_share microagent_fork_spec microagent_pool_spec
    microagent_exec_times
""".split()

ENUMERATORS = """
    STDOUT STDERR LINES CHUNKS EXITED CANCELLED NETWORK_ALLOW NETWORK_DENY NETWORK_PUBLISH NETWORK_UNPUBLISH
""".split()

FUNCTIONS = """
    version error_name reason_name open close state_dir use_backend run exec last_start time_exec footprint
    cancel_new cancel_fire cancel_free cancel_fd result_free
    guest_copy_out guest_copy_in guest_list guest_stat changes changes_diff changes_apply changes_drop base_create base_warm base_list base_show base_delete
    session_create session_clone_base session_boot session_open session_run session_stream session_guest
    session_give_share session_give_shares session_change_network session_fork session_snapshot session_restore
    session_snapshots session_snapshot_delete session_destroy session_destroy_named session_close session_name session_describe
    session_list session_gc pool_set pool_status pool_drain
""".split()

HEAD = '''# SPDX-License-Identifier: MIT
# Made by scripts/python-table.py of libmicroagent's headers: change those, and run it.
"""What is used of libmicroagent, in the words of its headers. _library.py makes ctypes of it. Of a struct all fields are
here, in their order; what is NULL, 0 or false by default need not be used by anybody."""
'''

# Of jansson, which the library is linked to: what turns a document into text, and frees it.
JANSSON = ["json_t *json_array(void)", "int json_array_append_new(json_t *array, json_t *value)",
           "char *json_dumps(const json_t *json, size_t flags)", "void json_delete(json_t *json)"]


def code_of(include):
    """All headers, without comments and directives."""
    text = "\n".join((include / name).read_text() for name in HEADERS)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.M)


def only(found, what):
    if len(found) != 1:
        sys.exit(f"python-table: the headers have {what} {len(found)} times")
    return " ".join(found[0].split())


def fields_of(name, code):
    """One declaration for each field."""
    for one in filter(None, map(str.strip, only(re.findall(rf"\bstruct {name}\s*{{([^}}]*)}};", code), f"struct {name}").split(";"))):
        if "(" in one:
            yield one
            continue
        kind, names = re.fullmatch(r"((?:(?:const|struct|enum) )*\w+) (.*)", one).groups()
        for declared in names.split(", "):
            yield f"{kind} {declared}"


def prototype_of(name, code):
    return only(re.findall(rf"(?<=[;}}\"{{])\s*([^;{{}}\"]*\bmicroagent_{name}\([^;]*\));", code), f"microagent_{name}()")


def enumerators_of(code):
    """The number of each one."""
    for body in re.findall(r"\benum \w+\s*{([^}]*)}", code):
        value = -1
        for one in filter(None, map(str.strip, body.split(","))):
            name, _, given = map(str.strip, one.partition("="))
            value = int(given, 0) if given else value + 1
            yield name, value


def wrapped(prototypes):
    """A parameter is not broken."""
    for one in prototypes:
        whole = re.sub(r"(?<!,) ", "\0", f"{one};")
        yield textwrap.fill(whole, 120, initial_indent="    ", subsequent_indent="        ", break_long_words=False).replace("\0", " ") + "\n"


def table(include):
    code = code_of(include)
    values = dict(enumerators_of(code))
    yield HEAD
    yield "STRUCTS = {\n"
    for name in STRUCTS:
        yield f'    "{name}": """\n'
        yield "".join(f"        {field};\n" for field in fields_of(name, code))
        yield '    """,\n'
    yield "}\n\nENUMERATORS = {\n"
    yield "".join(f'    "MICROAGENT_{name}": {values["MICROAGENT_" + name]},\n' for name in ENUMERATORS)
    yield "}\n\n# A function that can fail ends in `struct error *err`, and says so by -1 or NULL.\n"
    yield f'FUNCTIONS = """\n{"".join(wrapped(prototype_of(name, code) for name in FUNCTIONS))}"""\n\n'
    yield "# Of jansson, which the library is linked to: what turns a document into text, and frees it.\n"
    yield f'JANSSON = """\n{"".join(wrapped(JANSSON))}"""\n'


# --- the parameters of run() and Sandbox for the fields of a machine --------------------------------------------------

KINDS = {"const char *": "Optional[str] = None", "int64_t ": "Optional[int] = None", "bool ": "bool = False",
         "const char *const *": "Optional[Sequence[str]] = None", "struct microagent_egress ": "Optional[Egress] = None",
         "struct microagent_rates ": "Optional[Mapping[str, int]] = None"}
BEGIN, END = "# The parameters for the machine, which scripts/python-table.py writes:", "# All other parameters:"


def fields_of_sessions():
    """The fields of a machine that a session has; of a struct in it, any field."""
    rows = re.findall(r"^MACHINE_FIELD\((OF_[\w |]+), \w+, (\w+)", (ROOT / "src/contract/config_fields.def").read_text(), re.M)
    rows += [(kinds, name) for name, kinds in re.findall(r"^\t\{?(?:ROW|FIELD)\((\w+)[^{}]*?(OF_[\w |]+)", (ROOT / "src/api/machine.c").read_text(), re.M)]
    return {name for kinds, name in rows if "OF_SESSION" in kinds}


def parameters(code, fields, indent):
    """One line of text for each few parameters."""
    made = []
    for field in fields_of("microagent_machine", code):
        kind, name = re.fullmatch(r"(.*?[ *])(\w+)", field).groups()
        if fields is None or name in fields:
            made.append(f"{name}: {KINDS[kind]},".replace(" ", "\0"))
    return textwrap.fill(" ".join(made), 120, initial_indent=indent, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False).replace("\0", " ")


def with_parameters(path, code, fields):
    text = (ROOT / path).read_text()
    before, indent, after = re.fullmatch(rf"(.*?\n( +){BEGIN}\n).*?(\n +{END}\n.*)", text, re.S).groups()
    return before + parameters(code, fields, indent) + after


def main(words):
    """--check: and with a directory behind it, of the headers that are there."""
    include = pathlib.Path(words[1]) if len(words) > 1 else ROOT / "include"
    code = code_of(include)
    made = {TABLE: "".join(table(include)), "python/microagent/_run.py": with_parameters("python/microagent/_run.py", code, None),
            "python/microagent/_sandbox.py": with_parameters("python/microagent/_sandbox.py", code, fields_of_sessions())}
    for path, text in made.items():
        if words[:1] != ["--check"]:
            (ROOT / path).write_text(text)
        elif (ROOT / path).read_text() != text:
            sys.exit(f"{path} is not as the headers are: scripts/python-table.py makes it anew")


main(sys.argv[1:])
