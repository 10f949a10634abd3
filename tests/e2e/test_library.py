# SPDX-License-Identifier: MIT
"""Tests libmicroagent as a foreign program uses it: installed, found by pkg-config, linked shared and static, and
called by many threads."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import BUILD, ROOT, ended
from test_audit import events, verdict

SANITIZE = ["-fsanitize=address,undefined"] if os.environ.get("SANITIZE") else []
SOURCES = Path(__file__).parent / "library"
CLANG = subprocess.run(["sh", "-c", ". scripts/release.sh; echo clang-$llvm"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_DEFAULT_SOURCE"]


def command(*words, env=None, **kw):
    done = subprocess.run(list(map(str, words)), env={**os.environ, **(env or {})}, capture_output=True, text=True,
                          check=False, timeout=300, **kw)
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def make(*words):
    command("make", "-s", "-C", ROOT, *words, f"BUILD={BUILD}", f"SANITIZE={os.environ.get('SANITIZE', '')}")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Installs what `make install` puts into a PREFIX."""
    prefix = tmp_path_factory.mktemp("installed")
    make("install", f"PREFIX={prefix}")
    return prefix


class Compiler:
    def __init__(self, prefix, folder):
        self.prefix, self.folder = prefix, folder
        self.env = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}

    def flags(self, *words):
        return command("pkg-config", *words, "microagent", env=self.env).split()

    def shared(self, source):
        program = self.folder / Path(source).stem
        command("gcc", "-g", *WARNINGS, *SANITIZE, "-o", program, source, *self.flags("--cflags", "--libs"), "-pthread")
        return program

    def static(self, source):
        """With the archive, and the system's libraries as they are."""
        program = self.folder / (Path(source).stem + "-static")
        libs = ["-l:libmicroagent.a" if flag == "-lmicroagent" else flag
                for flag in self.flags("--static", "--cflags", "--libs")]
        command("gcc", "-g", *WARNINGS, *SANITIZE, "-o", program, source, *libs)
        return program

    def run_env(self, host, **more):
        return {**host.env, "LD_LIBRARY_PATH": str(self.prefix / "lib"), **more}


@pytest.fixture(scope="module")
def compiler(installed, tmp_path_factory):
    return Compiler(installed, tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def calls(compiler):
    return compiler.shared(SOURCES / "calls.c")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The directory for copies."""
    return tmp_path_factory.mktemp("folder")


def run(program, *words, env, cwd=None):
    done = subprocess.run([str(program), *map(str, words)], env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=300)
    return done.returncode, done.stdout, done.stderr


# --- what is installed --------------------------------------------------------------------------------


def test_uninstall_takes_away_what_install_brought(tmp_path):
    words = ("PREFIX=/usr", "LIBDIR=/usr/lib/somewhere", f"DESTDIR={tmp_path}")
    make("install", *words)
    assert (tmp_path / "usr/lib/somewhere/libmicroagent.so").is_symlink() and (tmp_path / "usr/share/man/man5/microagent-state.5").exists()
    others = tmp_path / "usr" / "bin" / "others"
    others.write_text("not ours")
    make("uninstall", *words)
    assert [p for p in tmp_path.rglob("*") if not p.is_dir() or "microagent" in p.name] == [others]


def test_only_public_symbols_are_exported(installed):
    for words in (["-D", installed / "lib" / "libmicroagent.so"], ["-g", installed / "lib" / "libmicroagent.a"]):
        names = {line.split()[-1].split("@")[0] for line in command("nm", "--defined-only", *words).splitlines()
                 if len(line.split()) == 3}
        ours = {name for name in names if name.startswith("microagent_")}
        assert "microagent_guest_run" in ours
        assert names - ours <= {"MICROAGENT_0"}, names - ours
        declared = "".join((installed / "include" / name).read_text() for name in ("microagent.h", "microagent_session.h"))
        assert not [name for name in ours if name + "(" not in declared]


def test_the_library_names_itself(installed):
    assert "libmicroagent.so.0" in command("objdump", "-p", installed / "lib" / "libmicroagent.so")
    assert (installed / "lib" / "libmicroagent.so.0").resolve().name.startswith("libmicroagent.so.0.")


@pytest.mark.parametrize("words", [["gcc", "-std=c99", "-Wpedantic"], ["gcc", "-std=gnu17", "-Wcast-qual"],
                                   [CLANG, "-x", "c++", "-std=c++17"], [CLANG, "-std=c11"]],
                         ids=lambda words: " ".join(words))
def test_the_header_stands_alone(compiler, words, tmp_path):
    source = tmp_path / "alone.c"
    source.write_text("#include <microagent.h>\n#include <microagent/error.h>\n#include <microagent_session.h>\n")
    command(*words, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *compiler.flags("--cflags"), source)


def test_the_installed_supervisor_is_found(compiler, host):
    """The programs are beside the library. A program that contains the library uses PATH."""
    shared, static = compiler.shared(SOURCES / "host.c"), compiler.static(SOURCES / "host.c")
    assert run(shared, env=compiler.run_env(host)) == (0, "0.1.0 qemu\n", "")
    path = f"{compiler.prefix}/bin:{os.environ['PATH']}"
    assert run(static, env={**host.env, "PATH": path}) == (0, "0.1.0 qemu\n", "")
    code, _, err = run(static, env={**host.env, "PATH": "/usr/bin:/bin"})
    assert code == 1 and err.startswith("not-found: microagent-qemu-supervisor is neither")


# --- the example ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_the_example(compiler, vm, kind):
    program = getattr(compiler, kind)(ROOT / "examples" / "exec.c")
    env = compiler.run_env(vm)
    assert run(program, "vm", "sh", "-c", "echo out; echo err >&2; exit 3", env=env) == (3, "out\n", "err\n")
    code, _, err = run(program, "vm", "no-such-program", env=env)
    assert code == 127 and "not found" in err
    code, _, err = run(program, "absent", "true", env=env)
    assert code == 125 and 'no workspace "absent"' in err


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_the_session_example(compiler, host, kind):
    program = getattr(compiler, kind)(ROOT / "examples" / "session.c")
    # A static program is not near the supervisor, so PATH finds it.
    env = compiler.run_env(host, PATH=f"{compiler.prefix}/bin:{os.environ['PATH']}")
    code, _, err = run(program, "web", "true", env=env)
    assert code == 125 and 'there is no base "web"' in err
    host("base", "create", "web", check=0)
    code, out, err = run(program, "web", "echo one; echo two >&2; exit 7", env=env)
    assert (code, out) == (7, "one\n"), err
    assert re.fullmatch(r"session-\S+Z-[0-9a-f]{4}: Linux \S+\ntwo\n", err), err
    name = err.split(":")[0]
    assert [line["data"]["argv"] for line in events(host, name, "exec.started")] == [
        ["sh", "-c", "uname -sr"], ["sh", "-c", "echo one; echo two >&2; exit 7"]]
    assert [line["data"]["code"] for line in events(host, name, "exec.finished")] == [0, 7]
    assert verdict(host, name)["verdict"] == "closed"
    assert host.json("session", "list") == {"sessions": []}
    host("base", "delete", "web-v1", check=0)


def test_a_session_of_many_threads(compiler, host):
    host("base", "create", "web", check=0)
    assert run(compiler.shared(SOURCES / "session.c"), "web", env=compiler.run_env(host)) == (0, "done\n", "")
    # A name that is taken is no failure: another one is drawn.
    env = compiler.run_env(host, PATH=f"{compiler.prefix}/bin:{os.environ['PATH']}")
    assert run(compiler.static(SOURCES / "collide.c"), "web", env=env) == (0, "-0000\n-0101\n5 drawn\n", "")
    host("base", "delete", "web-v1", check=0)


def test_connecting_to_what_does_not_run(compiler, vm):
    vm("create", "w", "--memory", 256, "--cpus", 1, check=0)
    try:
        code, _, err = run(compiler.shared(SOURCES / "threads.c"), "w", 1, 1, 0, env=compiler.run_env(vm))
        assert code == 1 and "is prepared, not running" in err
    finally:
        vm("delete", "w", check=0)


# --- calls ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [4, pytest.param(20, marks=pytest.mark.soak)])
def test_64_threads_on_one_handle(compiler, vm, rounds):
    program = compiler.shared(SOURCES / "threads.c")
    assert run(program, "vm", 64, rounds, 60000, env=compiler.run_env(vm)) == (0, "0 of 64 threads failed\n", "")


def test_the_same_under_the_thread_sanitizer(vm, tmp_path):
    if SANITIZE:
        pytest.skip("the thread sanitizer does not go with the others")
    program = tmp_path / "threads"
    sources = [path for folder in ("base", "contract", "store", "channel", "api", "session")
               for path in sorted((ROOT / "src" / folder).rglob("*.c"))
               if not path.name.startswith("isolate") and "darwin" not in path.parts]
    command("gcc", "-g", "-O0", "-fsanitize=thread", "-std=gnu17", "-D_GNU_SOURCE", '-DMICROAGENT_VERSION="0"',
            f"-I{ROOT}/src", f"-I{ROOT}/include", "-o", program, SOURCES / "threads.c", *sources,
            BUILD / "embedded" / "backends.c", "-ljansson", "-lmd", "-pthread")
    code, out, err = run(program, "vm", 16, 5, 60000, env={**vm.env, "TSAN_OPTIONS": "halt_on_error=1"})
    assert (code, out) == (0, "0 of 16 threads failed\n"), err


@pytest.mark.parametrize("test", ["results", "stream", "cancel", "files", "long copy"])
def test_call(compiler, calls, vm, test, folder):
    before = sorted(folder.iterdir())
    assert run(calls, "vm", test, env=compiler.run_env(vm), cwd=folder) == (0, "done\n", "")
    assert test != "long copy" or sorted(folder.iterdir()) == before


def vmm_pid(host):
    return json.loads((host.state / "vm" / "runtime.json").read_text())["pid"]


class Steps:
    """A run of `calls` that says when the caller must do something to the machine."""

    def __init__(self, program, test, env, cwd):
        self.child = subprocess.Popen([str(program), "vm", test], env=env, cwd=cwd, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ready(self):
        line = self.child.stdout.readline()
        assert line == "ready\n", (line, self.child.stderr.read())

    def go_on(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()

    def finish(self):
        out, err = self.child.communicate(timeout=300)
        assert (self.child.returncode, out, err) == (0, "done\n", "")


def test_a_guest_that_is_stopped(compiler, calls, vm, folder):
    """Limits and cancels of the host's side work, and the handle works again when the guest goes on."""
    pid = vmm_pid(vm)
    steps = Steps(calls, "stopped", compiler.run_env(vm, MICROAGENT_TEST_LIMIT_CANCEL_MS="500",
                                                        MICROAGENT_TEST_LIMIT_DIAL_MS="1000"), folder)
    try:
        steps.ready()
        os.kill(pid, signal.SIGSTOP)
        steps.go_on()
        steps.ready()
    finally:
        os.kill(pid, signal.SIGCONT)
    steps.go_on()
    steps.finish()


def test_a_machine_that_is_killed(compiler, calls, vm, folder):
    """Every waiting thread gets an error. This is the last test of this file, since later ones would have no machine."""
    vm.spent = True
    steps = Steps(calls, "broken", compiler.run_env(vm), folder)
    steps.ready()
    os.kill(vmm_pid(vm), signal.SIGKILL)
    steps.go_on()
    steps.ready()
    assert ended(vm, "vm")["state"] == "failed"
    steps.go_on()
    steps.finish()
