# SPDX-License-Identifier: MIT
"""The schemas as test oracle: validate(name, document) with a name of schema/ without .json. Every schema is strict
about the documents that we write: a field that is not in it fails the test. Readers of answers and state files
ignore fields that they do not know."""

import functools
import json
import threading
from pathlib import Path

import jsonschema

SCHEMAS = Path(__file__).resolve().parent.parent.parent / "schema"
NOT_MESSAGES = {"defs", "mcp"}
seen = set()
checking = threading.RLock()  # a resolver keeps its present position, which threads would move under each other


@functools.lru_cache(maxsize=None)
def load(name):
    return json.loads((SCHEMAS / f"{name}.json").read_text())


@functools.lru_cache(maxsize=None)
def validator(name, part=None):
    """part: a member of the schema's $defs instead of the whole schema."""
    base = (SCHEMAS / f"{name}.json").as_uri()
    schema = {"$ref": f"{base}#/$defs/{part}"} if part else {"$ref": base}
    store = {(SCHEMAS / f"{other}.json").as_uri(): load(other) for other in names(all_files=True)}
    resolver = jsonschema.RefResolver(base_uri=SCHEMAS.as_uri() + "/", referrer=schema, store=store)
    return jsonschema.Draft202012Validator(schema, resolver=resolver)


def names(all_files=False):
    """Returns every message that has a schema."""
    found = {path.stem for path in SCHEMAS.glob("*.json")}
    return sorted(found if all_files else found - NOT_MESSAGES)


def problems(name, document, part=None):
    """Returns the errors of the document: a list of texts, empty if there is none."""
    with checking:
        return [text for error in validator(name, part).iter_errors(document) for text in explain(error)]


def explain(error):
    """Returns the deepest reasons. An error of anyOf or oneOf by itself explains nothing."""
    if error.context:
        closest = min({e.schema_path[0] for e in error.context},
                      key=lambda branch: sum(e.schema_path[0] == branch for e in error.context))
        for inner in error.context:
            if inner.schema_path[0] == closest:
                yield from explain(inner)
    else:
        where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
        yield f"{where or 'document'}: {error.message[:300]}"


def variants(name):
    """Returns the schemas of a message that has several forms: each form is a message of its own."""
    return load(name).get("oneOf", [])


def messages():
    """Returns every message that a test must meet: (schema, part of its $defs or form)."""
    answers = [part for part in load("response")["$defs"] if part not in ("result", "artifacts")]
    return {(name, form) for name in names() for form in
            (answers if name == "response" else range(len(variants(name))) or [None])}


def remember(name, document, part):
    """Notes that the message was met. If it is an answer, its blocks are noted too."""
    forms = variants(name)
    for form, schema in enumerate(forms):
        base = (SCHEMAS / f"{name}.json").as_uri()
        with checking:
            if validator(name).evolve(schema={"$ref": f"{base}#/oneOf/{form}"}).is_valid(document):
                seen.add((name, form))
    if not forms:
        seen.add((name, part))
    if name == "response":
        seen.update((block, None) for block in names() if block in document and block != "error")


def validate(name, document, part=None):
    """Raises AssertionError with all errors. Notes that the message was met."""
    remember(name, document, part)
    found = problems(name, document, part)
    assert not found, (f"schema/{name}.json{'#' + part if part else ''} does not allow this:\n  " +
                       "\n  ".join(found) + "\n" + json.dumps(document, indent=1)[:3000])


def validate_response(command, answer):
    """Checks a supervisor's answer to a command: it has exactly the blocks that this command may have."""
    validate("response", answer, command if answer.get("ok") else "failure")


# The messages that `microagent --json WORDS` prints. Other commands answer with a supervisor's response.
CLI = {"balloon": "control-sock-answer", "list": "cli-list", "doctor": "cli-doctor", "setup": "cli-setup", "version": "cli-version", "contract": "contract", "logs": "cli-logs",
       "events": "cli-events", "profiles": "cli-profiles", "network": "cli-network",
       "exec": "cli-exec", "run": "cli-exec", "connect": "cli-exec", "cp": "cli-copy", "ls": "cli-ls", "artifacts get": "cli-copy", "artifacts": "cli-artifacts",
       "changes": "cli-changes", "changes drop": "cli-named", "changes refresh": "cli-named",
       "base create": "cli-base", "base show": "cli-base", "base list": "cli-bases", "base verify": "cli-base-verify",
       "base delete": "cli-named", "base warm": "cli-base", "base cool": "cli-named",
       "session create": "cli-session", "session list": "cli-sessions",
       "audit verify": "cli-audit-verify", "audit list": "cli-audit-list",
       "session destroy": "cli-named", "session exec": "cli-exec", "session share": "cli-session-share",
       "session quota": "cli-session-quota", "session fork": "cli-session-fork", "session snapshot": "cli-session-snapshot",
       "session restore": "cli-session-snapshot", "session snapshot-delete": "cli-session-snapshot", "session snapshots": "cli-session-snapshots",
       "session gc": "cli-gc", "pool": "cli-pools", "perf": "cli-perf",
       "guest-bundle make": "cli-guest-bundle", "guest-bundle import": "cli-guest-bundle",
       "kernel list": "cli-kernel-list", "image list": "cli-image-list",
       "kernel verify": "cli-verify", "image verify": "cli-verify", "kernel install": "cli-artifact",
       "kernel build": "cli-artifact", "kernel refresh": "cli-artifact", "image build": "cli-artifact",
       "image import": "cli-artifact", "image remove": "cli-artifact"}


def validate_cli(words, document):
    """Checks what `microagent --json WORDS` has printed on stdout."""
    if document.get("ok") is False and not {"verdict", "backend", "kernels", "images", "checks"} & set(document):
        validate("error" if "responses" not in document else "cli-many", document)
        return
    name = "cli-many" if "responses" in document else CLI.get(" ".join(words[:2])) or CLI.get(words[0])
    validate(name or "response", document)


def validate_workspace(directory):
    """Checks the JSON files of one workspace that exist."""
    for name in ("workspace", "event", "events", "runtime", "result", "rootfs"):
        path = Path(directory) / f"{name}.json"
        if path.exists():
            document = json.loads(path.read_text())
            validate(name, document)
            if name == "result":
                assert document.get("format") == 1, path


def tell(path):
    """Writes down which messages were met, for remembered()."""
    path.write_text(json.dumps(sorted(seen, key=str)))


def remembered(folder):
    """Returns the messages that other workers have noted in this folder."""
    return {tuple(one) for path in Path(folder).glob("*.seen") for one in json.loads(path.read_text())}


def unseen():
    """Returns messages that no test of this process has met, nor any worker before it."""
    return sorted(messages() - seen, key=str)
