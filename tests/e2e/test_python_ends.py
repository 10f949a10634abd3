# SPDX-License-Identifier: MIT
"""Tests the Python package: threads, forks of the process, signals, and how sandboxes end."""

import errno
import gc
import json
import os
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import inject
import strays
from conftest import BACKEND, wait_until
from python_package import load, names, program, said

pytestmark = [pytest.mark.skipif(bool(os.environ.get("SANITIZE")), reason="no sanitizer's runtime is in a Python"),
              pytest.mark.skipif(BACKEND != "qemu", reason="no other backend saves machines")]
if not os.environ.get("SANITIZE"):
    microagent = load()


def test_one_handle_of_many_threads(box):
    def work(number):
        return [box.run(["echo", f"{number} {turn}"]).text for turn in range(10)] + [piece.text for piece in box.stream(f"echo {number}")]
    with ThreadPoolExecutor(16) as threads:
        told = list(threads.map(work, range(16)))
    assert told == [[f"{n} {turn}\n" for turn in range(10)] + [f"{n}\n"] for n in range(16)]


def test_destroyed_while_threads_use_it(tools):
    box, told = microagent.Sandbox(**tools), []

    def work():
        try:
            told.append(box.run("touch /tmp/$$.begun; sleep 100").cancelled)
        except microagent.Error as error:
            told.append(type(error) in (microagent.UnavailableError, microagent.IOFailedError, microagent.ConflictError))
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    wait_until(lambda: box.run("ls /tmp/*.begun | wc -l").text == "8\n", "all to be at work")
    stream = box.stream("yes")
    assert next(stream).text == "y\n"
    box.destroy()
    for thread in threads:
        thread.join()
    assert told == [True] * 8 and box.name not in names(tools)
    box.destroy()
    with pytest.raises(microagent.ConflictError, match=f"session {box.name}: the handle is closed"):
        box.run("true")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a system call in the supervisor")
def test_a_holder_takes_no_message(tools):
    """A supervisor that was taken over sends its lease to the process that owns the sandbox. Nobody would read the message,
    and the machine would count as alive until that process ends."""
    child = program(tools, """
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        with microagent.Sandbox(**options) as box:
            print(box.name, flush=True)
            signal.sigwait({signal.SIGUSR1})
        """)
    name = child.stdout.readline().strip()
    supervisor = json.loads((tools["state_dir"] / "sessions" / f"{name}.bundle" / "runtime.json").read_text())["supervisorPid"]
    lease = tools["state_dir"] / "sessions" / f"{name}.bundle" / "lease"
    held = next(fd for fd in strays.descriptors(supervisor) if strays.has_open(supervisor, fd, lease))
    line, = inject.sockets_between(supervisor, child.pid).values()
    assert inject.send_with(supervisor, line, b"x", held) == -errno.EPIPE
    child.send_signal(signal.SIGUSR1)
    said(child)
    assert name not in names(tools)


def test_one_that_is_forgotten_is_destroyed(tools):
    """If warnings are errors, this one comes from a destructor, and Python only reports it."""
    child = program(tools, """
        box = microagent.Sandbox(**options)
        name = box.name
        del box
        while name in [one["name"] for one in microagent.sandboxes(options["state_dir"])]:
            time.sleep(0.05)
        """)
    _, err = child.communicate()
    assert child.returncode == 0 and "was not closed" in err


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
def test_a_stream_holds_its_sandbox(tools):
    before = names(tools)
    stream = microagent.Sandbox(**tools).stream("echo 1; sleep 0.3; echo 2")
    gc.collect()
    assert [piece.text for piece in stream] == ["1\n", "2\n"] and stream.result.exit_code == 0
    del stream
    gc.collect()
    wait_until(lambda: names(tools) == before, "the end of what is forgotten")


def test_one_that_is_kept(tools):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with microagent.Sandbox(keep=True, **tools) as box:
            name = box.name
        del box
        gc.collect()
    with microagent.Sandbox.open(name, keep=False, state_dir=tools["state_dir"]) as box:
        assert box.run("echo still here").text == "still here\n"
    assert name not in names(tools)


INTERRUPTED = {"run": "box.run(LINE)", "exec": "box.exec(LINE)", "stream": "list(box.stream(LINE))"}


@pytest.mark.parametrize("what", INTERRUPTED)
def test_ctrl_c_ends_a_call(tools, what):
    """The main thread gets a signal when the command is at work. Nothing of the command is left, and the sandbox works as before."""
    told = said(program(tools, f"""
        LINE = "touch /tmp/begun; sleep 100 & sleep 100"
        with microagent.Sandbox(**options) as box:
            def interrupt():
                box.run("until test -e /tmp/begun; do sleep 0.1; done")
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=interrupt).start()
            began = time.monotonic()
            try:
                {INTERRUPTED[what]}
            except KeyboardInterrupt:
                print("interrupted")
            print(box.run("ps -o args | grep '^sleep 10[0]'; echo none").text, end="")
        """))
    assert told == "interrupted\nnone\n"


@pytest.mark.parametrize("making,where", [("microagent.Sandbox(cold=True, **options)", "sessions"),
                                          ("microagent.run('sleep 100', network='isolated', state_dir=options['state_dir'])", "")])
def test_ctrl_c_ends_the_making(tools, making, where):
    told = said(program(tools, f"""
        def listed():
            return {{name for name in os.listdir(os.path.join(options["state_dir"], {where!r})) if name[:4] in ("sess", "run-")}}
        before = listed() | {{"sessions"}}
        def interrupt():
            while not listed() - before:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            {making}
        except KeyboardInterrupt:
            print("interrupted", listed() - before)
        """))
    assert told == "interrupted set()\n"


def test_a_process_that_forks(tools):
    told = said(program(tools, """
        box = microagent.Sandbox(**options)
        stream = box.stream("echo begun; sleep 100")
        next(stream)
        child = os.fork()
        if child == 0:
            for use in (lambda: box.run("true"), lambda: box.destroy(), lambda: next(stream), lambda: stream.close(), lambda: box.stream("x")):
                try:
                    use()
                except microagent.InvalidError as error:
                    print(str(error).replace(box.name, "S").replace(str(os.getppid()), "P"))
            with microagent.Sandbox.open(box.name, state_dir=options["state_dir"]) as again:
                print(again.run("echo opened").text, end="")
            with microagent.Sandbox(**options) as mine:
                print(mine.run("echo mine").text, end="", flush=True)
            del box, stream
            sys.exit(0)
        os.waitpid(child, 0)
        print(box.run("echo the parent").text, end="")
        stream.close()
        box.destroy()
        """))
    refused = "session S: the handle belongs to process P, of which this one is a fork: Sandbox.open() makes one of its own\n"
    assert told == refused * 5 + "opened\nmine\nthe parent\n"


def test_ctrl_c_ends_a_machine_whatever_was_forked_meanwhile(tools):
    """The child has copies of all descriptors, and lives on until the parent is done."""
    told = said(program(tools, """
        import glob
        release = os.pipe()
        def interrupt():
            while not glob.glob(options["state_dir"] + "/run-*/runtime.json"):
                time.sleep(0.01)
            if os.fork() == 0:
                os.close(release[1])
                os.read(release[0], 1)
                os._exit(0)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            microagent.run("sleep 100", network="isolated", state_dir=options["state_dir"])
        except KeyboardInterrupt:
            print("interrupted")
        """))
    assert told == "interrupted\n"


def test_a_process_that_is_killed(tools):
    """A sandbox that it made, the forks of that, and one that went back to a snapshot; also one with a command at work
    when a child is forked, which lives on."""
    child = program(tools, """
        box = microagent.Sandbox(**options)
        box.snapshot("x")
        box.restore("x")
        children = box.fork(1)
        stream = box.stream("echo at work; sleep 100")
        next(stream)
        child = os.fork()
        if child:
            print(child, box.name, children[0].name, flush=True)
        signal.pause()
        """)
    forked, *made = child.stdout.readline().split()
    assert len(made) == 2 and set(made) <= names(tools)
    child.kill()
    wait_until(lambda: not set(made) & names(tools), "its sessions to be gone")
    os.kill(int(forked), signal.SIGKILL)
    child.communicate()


ENDS = {
    # The main thread ends, and the interpreter lets a daemon thread go on.
    "main thread": ("", None, 0),
    "exit": ("os._exit(3)", None, 3),
    "SIGTERM": ("signal.pause()", signal.SIGTERM, -signal.SIGTERM),
    "SIGKILL": ("signal.pause()", signal.SIGKILL, -signal.SIGKILL),
}
MAKING = {"owned": "microagent.Sandbox(cold=True, **options)", "kept": "microagent.Sandbox(cold=True, keep=True, **options)",
          "fork": "parent.fork(1)"}


@pytest.mark.parametrize("end,making", [*((end, "owned") for end in ENDS), ("SIGTERM", "kept"), ("SIGTERM", "fork")])
def test_a_process_that_ends_while_it_makes_one(place, tools, end, making):
    """A child that was forked meanwhile lives on with copies of all descriptors. The machine ends, and nothing of it is left."""
    sessions, (last_words, number, code) = place.state / "sessions", ENDS[end]
    before = set(sessions.glob("*.bundle"))
    child = program(tools, f"""
        {"parent = microagent.Sandbox(**options)" if making == "fork" else ""}
        import glob
        there = set(glob.glob({str(sessions)!r} + "/*.bundle"))
        threading.Thread(target=lambda: {MAKING[making]}, daemon=True).start()
        while not [one for one in set(glob.glob({str(sessions)!r} + "/*.bundle")) - there if os.path.exists(one + "/control.sock")]:
            time.sleep(0.005)
        copy = os.fork()
        if copy == 0:
            signal.pause()
        print(copy, flush=True)
        {last_words}
        """)
    copy = int(child.stdout.readline())
    if number:
        child.send_signal(number)
    child.wait()
    try:
        wait_until(lambda: set(sessions.glob("*.bundle")) == before, "the end of the session")
    finally:
        os.kill(copy, signal.SIGKILL)
        child.communicate()
    assert child.returncode == code
    place("session", "gc", check=0)  # removes the mark of the making
    assert not list((sessions / ".locks" / ".making").glob("*"))
