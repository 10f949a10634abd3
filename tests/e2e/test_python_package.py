# SPDX-License-Identifier: MIT
"""Tests the Python package without a machine: its declarations against the headers, its types, the built package, and
what it refuses before it asks a library."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile

import pytest

from conftest import ROOT
from python_package import PACKAGE, library_env, load

pytestmark = pytest.mark.skipif(bool(os.environ.get("SANITIZE")), reason="no sanitizer's runtime is in a Python")
if not os.environ.get("SANITIZE"):
    microagent = load()
    from microagent import _errors, _library


def done(*words, **kw):
    ran = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, timeout=300, **kw)
    assert ran.returncode == 0, f"{words}\n{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
    return ran.stdout


# --- the table against the headers ------------------------------------------------------------------------------------


def made_table(*words):
    return subprocess.run([sys.executable, ROOT / "scripts" / "python-table.py", *words], capture_output=True, text=True, check=False)


def test_the_table_is_made_of_the_headers():
    ran = made_table("--check")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("header,right,wrong", [
    ("microagent/exec.h", "bool is_stderr", "int is_stderr"), ("microagent.h", "uint32_t timeout_ms;", "uint64_t timeout_ms;"),
    ("microagent/exec.h", "const char *cwd", "char *cwd"), ("microagent.h", "int64_t disk_bytes, disk_ops", "int64_t disk_bytes"),
    ("microagent.h", "MICROAGENT_NETWORK_DENY,", "MICROAGENT_NETWORK_FOO, MICROAGENT_NETWORK_DENY,"),
    ("microagent.h", "void microagent_close(struct microagent *agent)", "int microagent_close(struct microagent *agent)")])
def test_a_header_that_was_changed(header, right, wrong, tmp_path):
    include = tmp_path / "include"
    shutil.copytree(ROOT / "include", include)
    text = (include / header).read_text()
    assert right in text
    (include / header).write_text(text.replace(right, wrong, 1))
    ran = made_table("--check", include)
    assert ran.returncode == 1
    assert ran.stderr == "python/microagent/_table.py is not as the headers are: scripts/python-table.py makes it anew\n"


def probe():
    """A program that prints how the structs that ctypes made from the table lie for a C compiler."""
    yield "#include <microagent_session.h>\n#include <stdio.h>\nint main(void) {"
    for name, struct in _library.structs.items():
        yield f"printf(\"{name} %zu\\n\", sizeof(struct {name}));"
        for field, _ in struct._fields_:
            yield f"printf(\"{name}.{field} %zu\\n\", __builtin_offsetof(struct {name}, {field}));"
    yield "printf(\"codes %d\\n\", ERROR_CODE_COUNT); return 0; }"


def test_structs_of_ctypes_lie_as_those_of_c(tmp_path):
    (tmp_path / "probe.c").write_text("\n".join(probe()))
    flags = done("pkg-config", "--cflags", "jansson").split()
    done("gcc", "-std=gnu17", f"-I{ROOT}/include", *flags, "-o", tmp_path / "probe", tmp_path / "probe.c")
    told = dict(line.rsplit(" ", 1) for line in done(tmp_path / "probe").splitlines())
    for name, struct in _library.structs.items():
        assert int(told[name]) == ctypes.sizeof(struct), name
        for field, _ in struct._fields_:
            assert int(told[f"{name}.{field}"]) == getattr(struct, field).offset, f"{name}.{field}"
    named = [_library.text_of(_library.lib.error_name(code)) for code in range(1, int(told["codes"]))]
    assert named == list(_errors.CLASSES)


def test_options_are_fields():
    """A parameter with the name of a field is that field. All fields of the two specs can be given, except those that have
    another form in Python, or none yet, and those of the machine that a session does not have."""
    import inspect
    for function, struct, otherwise in ((microagent.Sandbox.__init__, "microagent_session_spec", {"cancel", "owned", "machine"}),
                                        (microagent.run, "microagent_spec", {"outputs", "console", "machine"})):
        parameters = set(inspect.signature(function).parameters)
        assert {name for name, _ in _library.structs[struct]._fields_} - parameters == otherwise
    machine = {name for name, _ in _library.structs["microagent_machine"]._fields_}
    assert machine <= set(inspect.signature(microagent.run).parameters)
    assert machine - set(inspect.signature(microagent.Sandbox.__init__).parameters) >= {"architecture", "disks"}


# --- the package ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("mypy"), reason="no mypy (scripts/install-packages.sh lint)")
def test_types(tmp_path):
    user = tmp_path / "user.py"
    user.write_text("import microagent\n\ndef work() -> str:\n    with microagent.Sandbox('web', memory_mib=256) as box:\n"
                    "        for piece in box.stream(['true']):\n            piece.text.upper()\n"
                    "        return box.run('id', check=True).text\n")
    done("mypy", "--strict", "--cache-dir", tmp_path / "cache", PACKAGE / "microagent", user, cwd=PACKAGE)


def test_wheel_and_sdist(tmp_path):
    """Built without a network from Debian's packages, and used from the wheel."""
    source = tmp_path / "python"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    done(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", source, env={**os.environ, "PIP_NO_INDEX": "1"})
    wheel, = (tmp_path / "dist").glob("microagent-*-py3-none-any.whl")
    sdist, = (tmp_path / "dist").glob("microagent-*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    modules = {str(path.relative_to(PACKAGE)) for path in (PACKAGE / "microagent").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert {name for name in names if ".dist-info/" not in name} == modules and "microagent/py.typed" in modules
    assert re.search(r"^Requires-Dist", zipfile.ZipFile(wheel).read(next(n for n in names if n.endswith("METADATA"))).decode(), re.M) is None
    packed = done("tar", "-tzf", sdist)
    assert "examples/notebook.py" in packed and "README.md" in packed
    told = done(sys.executable, "-c", "import microagent; print(microagent.__file__, microagent.__version__)",
                env={**library_env(), "PYTHONPATH": str(wheel)})
    assert told == f"{wheel}/microagent/__init__.py 0.1.0\n"
    assert 'version = "0.1.0"' in (PACKAGE / "pyproject.toml").read_text()


def test_every_public_thing_is_explained():
    for name in microagent.__all__:
        thing = getattr(microagent, name)
        assert thing.__module__ == "microagent" and thing.__doc__, name
        for word, member in vars(thing).items() if isinstance(thing, type) else ():
            if callable(member) and not word.startswith("_") and not issubclass(thing, tuple):
                assert member.__doc__, f"{name}.{word}"


def test_a_library_that_is_not_there():
    ran = subprocess.run([sys.executable, "-c", "import microagent"], capture_output=True, text=True, check=False,
                         env={**library_env(), "MICROAGENT_LIBRARY": "/absent.so"})
    assert ran.returncode == 1 and re.search(r"^ImportError: libmicroagent: /absent.so: .* \(the Debian package libmicroagent0 or "
                                            r"microagent's `make install` brings it, or MICROAGENT_LIBRARY names the file\)$", ran.stderr, re.M)


@pytest.mark.parametrize("name", ["agent.py", "ten.py", "notebook.py"])
def test_an_example_without_a_base_says_how_it_is_called(name):
    ran = subprocess.run([sys.executable, PACKAGE / "examples" / name], capture_output=True, text=True, check=False, env=library_env())
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"usage: python3 {name} BASE\n")


@pytest.mark.parametrize("data", [5, ["a", "b"], object()])
def test_what_is_neither_text_nor_bytes(data):
    with pytest.raises(TypeError, match=f"^text or bytes are wanted, and not {type(data).__name__}$"):
        microagent.run("true", stdin=data)
    with pytest.raises(TypeError, match="^text or bytes are wanted"):
        microagent.Sandbox.write_file(object.__new__(microagent.Sandbox), "/tmp/f", data)


class Library:
    """A stand-in for sessions, as far as a handle uses them: their destruction goes on until it is let go, and fails."""

    def __init__(self):
        self.begun, self.may_end, self.told = threading.Event(), threading.Event(), []

        def session_destroy(pointer, _err):
            self.begun.set()
            assert self.may_end.wait(30)
            self.told.append("destroyed")
            return -1
        session_destroy.restype = ctypes.c_int
        self.session_destroy = session_destroy

    def session_name(self, pointer):
        return b"one"

    def session_close(self, pointer):
        self.told.append("closed")


def test_one_that_is_forgotten_while_it_is_destroyed(monkeypatch):
    """As at the interpreter's end, when a thread that nobody waits for is in destroy()."""
    library = Library()
    monkeypatch.setattr(microagent._calls, "lib", library)
    handle = microagent._calls.Handle(1)

    def end():
        with pytest.raises(microagent.Error):
            handle.end(True)
    ending = threading.Thread(target=end)
    ending.start()
    assert library.begun.wait(30)
    handle.drop()
    library.may_end.set()
    ending.join()
    assert library.told == ["destroyed", "closed"]


# --- refused before anything is made ----------------------------------------------------------------------------------


@pytest.mark.parametrize("options,what", [
    ({"base": "we\0b"}, "base: a NUL is in 'we\\x00b'"),
    ({"memory_mib": "much"}, "memory_mib: a whole number is wanted, and not 'much'"),
    ({"cpus": True}, "cpus: a whole number is wanted, and not True"),
    ({"memory_mib": 1 << 64}, f"memory_mib: {1 << 64} is out of range"),
    ({"memory_mib": -1}, "must be at least 64 MiB, and is -1"),
    ({"allow": "10.0.0.0/8"}, "allow: a list of strings is wanted, and not one"),
    ({"egress": {"names": "pypi.org"}}, "names: a list of strings is wanted, and not one"),
    ({"rates": {"disk_byte": 1}}, "rates: there is no disk_byte"),
    ({"rates": 5}, "rates: names with their values are wanted, and not 5"),
    ({"egress": {"name": []}}, "egress: there is no name"),
    ({"egress": []}, "egress: nobody is named"), ({"egress": "x.com"}, "egress: a list of names is wanted, and not 'x.com'"),
    ({"egress": {"names": [], "from": None, "dry_run": False}}, "egress: nobody is named"),
    ({"egress": ["https://pypi.org"]}, "is a URL, not a host name"),
    ({"egress": {"from": ["nobody"]}}, "nobody"),
    ({"egress": ["pypi.org"], "network": "isolated"}, "egress"),
    ({"network": "token-ring"}, "token-ring"),
    ({"backend": "bochs"}, "bochs")])
def test_options(options, what, host):
    host("base", "create", "web", check=0)
    with pytest.raises(microagent.InvalidError) as refused:
        microagent.Sandbox(**{"base": "web", "state_dir": host.state, **options})
    assert what in str(refused.value) and refused.value.code == "invalid"
    host("base", "delete", "web-v1", check=0)


def test_numbers_of_a_command(host):
    for cap in ("stdout_cap", "stderr_cap"):
        with pytest.raises(microagent.InvalidError, match=f"^{cap}: -1 is out of range"):
            microagent.run("true", image="absent", state_dir=host.state, **{cap: -1})
    with pytest.raises(microagent.InvalidError, match="^timeout: inf s is no time"):
        microagent._library.milliseconds(float("inf"))


def test_what_does_not_exist(host):
    with pytest.raises(microagent.NotFoundError, match='there is no base "absent"') as refused:
        microagent.Sandbox("absent", state_dir=host.state)
    assert (refused.value.code, refused.value.reason, refused.value.subject) == ("not-found", "no-base", "absent")
    with pytest.raises(microagent.NotFoundError, match="there is no session") as refused:
        microagent.Sandbox.open("session-2026-01-01T00-00-00Z-aaaa", state_dir=host.state)
    assert refused.value.reason == "no-session"
    with pytest.raises(microagent.NotFoundError):
        microagent.Pool("absent", 1, state_dir=host.state)
    with pytest.raises(microagent.NotFoundError, match="absent"):
        microagent.run("true", image="absent", state_dir=host.state)
    assert microagent.bases(host.state) == microagent.sandboxes(host.state) == []
