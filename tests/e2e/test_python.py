# SPDX-License-Identifier: MIT
"""Tests the Python package with real machines, nearly all of which are restored from one warm base."""

import asyncio
import gc
import json
import os
import re
import threading

import pytest

from conftest import BACKEND, wait_until
from python_package import load, names, program, run_example, said, sleepers, transcripts

pytestmark = [pytest.mark.skipif(bool(os.environ.get("SANITIZE")), reason="no sanitizer's runtime is in a Python"),
              pytest.mark.skipif(BACKEND != "qemu", reason="no other backend saves machines")]
if not os.environ.get("SANITIZE"):
    microagent = load()


@pytest.fixture
def own(tools):
    with microagent.Sandbox(**tools) as it:
        yield it


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's machines are told of opens")
def test_our_own_library_is_no_alarm(tools, place):
    """It reads the records in a foreign program. A record that the program does not need is an alarm there too."""
    with microagent.Sandbox(**tools) as box:
        box.run("true")
        with microagent.Sandbox.open(box.name, state_dir=tools["state_dir"]) as again:
            again.run("true")
        assert names(tools) >= {box.name}
        lines = [json.loads(line) for line in place("--json", "audit", "show", box.name, check=0).stdout.splitlines()]
        seen = next(line["data"]["observed"] for line in lines if line["event"] == "audit.coverage")
        assert "file-opens" in seen or not print("no fanotify here")
        directory = place.state / "sessions" / f"{box.name}.bundle"
        next(directory.glob("rootfs.[!j]*")).open("rb").close()

        def opened():
            return [line["data"]["file"] for line in (json.loads(line) for line in (directory / "audit.log").read_text().splitlines())
                    if line["event"] == "bundle.opened"]
        if "file-opens" in seen:
            wait_until(opened, "the alarm")
            assert [file.split(".")[0] for file in opened()] == ["rootfs"], opened()


def test_cloned_now_and_booted_later(tools, place):
    with microagent.Sandbox(**tools, boot=False) as box:
        timings = box.info()["timings"]
        assert list(timings) == ["cloneMs"] and "boot" not in box.info()
        with pytest.raises(microagent.ConflictError):
            box.run("true")
        box.boot()
        assert box.run("echo up").text == "up\n" and box.info()["timings"]["bootMs"] > 0
        with pytest.raises(microagent.ConflictError):
            box.boot()
    assert box.name not in names(tools)
    with microagent.Sandbox(**tools, boot=False) as box:
        assert (place.state / "sessions" / f"{box.name}.bundle").exists()
    assert not (place.state / "sessions" / f"{box.name}.bundle").exists()


def test_a_clone_is_not_left_by_a_process_that_is_killed(tools, place):
    """Before the machine is booted, and after."""
    for boot in ("", "box.boot()"):
        child = program(tools, f"""
            box = microagent.Sandbox(**options, boot=False)
            {boot}
            print(box.name, flush=True)
            time.sleep(1000)
            """)
        name = child.stdout.readline().strip()
        directory = place.state / "sessions" / f"{name}.bundle"
        assert directory.exists()
        child.kill()
        child.wait()
        if not boot:
            place("session", "gc", check=0)
        wait_until(lambda: not directory.exists(), "its end")


def test_a_kept_clone_goes_on_without_its_handle(tools):
    box = microagent.Sandbox(**tools, boot=False, keep=True)
    box.close()
    with microagent.Sandbox.open(box.name, keep=False, state_dir=tools["state_dir"]) as again:
        again.boot()
        assert again.run("echo up").text == "up\n"


# --- commands ---------------------------------------------------------------------------------------------------------


def test_run(box):
    done = box.run(["printf", "%s", "a b", "$HOME;"])
    assert (done.exit_code, done.stdout, done.text, done.stderr) == (0, b"a b$HOME;", "a b$HOME;", b"")
    done = box.run("echo $X $PWD; id -un >&2; exit 3", env={"X": "1=2"}, cwd="/tmp", user="root")
    assert (done.exit_code, done.text, done.stderr) == (3, "1=2 /tmp\n", b"root\n")
    every = bytes(range(256)) * 300
    assert box.run(["cat"], stdin=every).stdout == every
    assert box.run(["cat"]).stdout == b"" and box.run(["cat"], stdin="é").text == "é"
    done = box.run(["head", "-c", "100000", "/dev/zero"], stdout_cap=10)
    assert (done.stdout, done.stdout_truncated, done.stderr_truncated) == (bytes(10), True, False)


def test_how_a_command_ends(box):
    done = box.run("sleep 100", timeout=0.1)
    assert (done.exit_code, done.timed_out, done.killed, done.cancelled) == (124, True, True, False) and not sleepers(box)
    done = box.run(["absent"])
    assert done.exit_code == 127 and "absent" in done.start_error
    assert box.run("kill -9 $$").signal == 9
    assert box.run("true", check=True).check().exit_code == 0
    with pytest.raises(microagent.CommandError, match="^exit code 2: what is the matter$") as failed:
        box.run("echo what is the matter >&2; exit 2", check=True)
    assert failed.value.result.exit_code == 2
    with pytest.raises(microagent.CommandError, match="^its time was over$"):
        box.run(["sleep", "100"], timeout=0.1, check=True)


@pytest.mark.parametrize("words,what", [
    ({"command": []}, "command: there is none"), ({"command": ["a\0b"]}, "command: a NUL is in 'a\\x00b'"),
    ({"command": "x", "env": {"A=B": "1"}}, "env: no variable is called 'A=B'"),
    ({"command": "x", "env": {"A": 5}}, "env: A is a string, and not 5"), ({"command": "x", "env": {"A": None}}, "env: A is a string, and not None"),
    ({"command": "x", "env": "A=1"}, "env: names with their values are wanted, and not 'A=1'"),
    ({"command": "x", "timeout": 0}, "timeout: 0 s is no time (None: no limit)"),
    ({"command": "x", "timeout": 1e10}, "timeout_ms: 10000000000000 is out of range"),
    ({"command": "x", "stdout_cap": -1}, "stdout_cap: -1 is out of range")])
def test_what_is_no_command(box, words, what):
    with pytest.raises(microagent.InvalidError, match=re.escape(what)):
        box.run(**words)


def test_stream(box):
    stream = box.stream("echo 1; echo 2 >&2; read x; echo $x; printf end; exit 4", stdin="3\n")
    assert stream.result is None
    assert sorted(stream) == [("stderr", b"2\n"), ("stdout", b"1\n"), ("stdout", b"3\n"), ("stdout", b"end")]
    assert stream.result.exit_code == 4 and list(stream) == []
    whole = b"".join(piece.data for piece in box.stream(["seq", "50000"], lines=False))
    assert whole == b"".join(b"%d\n" % n for n in range(1, 50001))


def test_a_stream_that_is_left(box):
    for leave in (lambda stream: stream.close(), lambda stream: stream.__exit__(), lambda stream: None):
        stream = box.stream("echo begun; sleep 100 & sleep 100")
        assert next(stream).text == "begun\n"
        leave(stream)
        if leave(stream) is None and stream.result:
            assert stream.result.cancelled and list(stream) == []
        del stream
        wait_until(lambda: not sleepers(box), "the command to be ended")


def test_the_command_waits_for_a_reader(box):
    with box.stream("line=$(printf %04000d 0); while true; do echo $line; echo x >> /tmp/written; done") as stream:
        wait_until(lambda: len(stream._flow._pieces) == 64, "the queue to be full")
        seen = [-1]

        def stands_still():
            seen.append(box.stat_file("/tmp/written")["size"])
            return seen[-1] == seen[-2]
        wait_until(stands_still, "it to stand still")
        assert next(stream).text == "0" * 4000 + "\n"


def test_many_streams_of_one_loop(box):
    async def one(number):
        return [piece.text async for piece in box.stream(f"echo {number}; echo {number}")]

    async def left():
        async with box.stream("echo begun; sleep 100") as stream:
            assert (await stream.__anext__()).text == "begun\n"
        return stream.result.cancelled

    async def every():
        task = asyncio.create_task(one("$(sleep 100)"))
        told = await asyncio.gather(*map(one, range(20)), left())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return told
    assert asyncio.run(every()) == [[f"{n}\n", f"{n}\n"] for n in range(20)] + [True]
    wait_until(lambda: not sleepers(box), "the command to be ended")


def test_exec(box, tmp_path):
    (tmp_path / "in").write_bytes(b"from a file")
    with open(tmp_path / "in", "rb") as stdin, open(tmp_path / "out", "wb") as stdout:
        done = box.exec("cat; echo err >&2; exit 5", stdin=stdin, stdout=stdout, stderr=stdout)
    assert done.exit_code == 5 and (tmp_path / "out").read_bytes() == b"from a fileerr\n"
    with open(tmp_path / "out", "wb") as stdout:
        assert box.exec("sleep 100", timeout=1, stdout=stdout).timed_out
    with pytest.raises(microagent.InvalidError, match="stdout: -1 is not a descriptor"):
        box.exec("true", stdout=-1)


# --- files ------------------------------------------------------------------------------------------------------------


def test_files(box, tmp_path):
    box.run("mkdir /tmp/f && cd /tmp/f && mkdir dir && ln -s /etc/passwd link && mkfifo fifo", check=True)
    box.write_file("/tmp/f/a", "text é", mode=0o700)
    box.write_file("/tmp/f/b", bytes(range(256)), user="root")
    assert box.read_file("/tmp/f/a").decode() == "text é" and box.read_file("/tmp/f/b", user="root") == bytes(range(256))
    listed = {one["name"]: one for one in box.list_files("/tmp/f")}
    assert list(listed) == ["a", "b", "dir", "fifo", "link"] and listed["link"]["target"] == "/etc/passwd"
    assert (listed["a"]["mode"], listed["a"]["size"], listed["b"]["uid"]) == (0o700, 7, 0)
    assert box.stat_file("/tmp/f/dir")["type"] == "directory"
    box.copy_out("/tmp/f/dir", tmp_path / "dir")
    (tmp_path / "dir" / "x").write_text("x")
    box.copy_in(tmp_path / "dir", "/tmp/f/dir")
    assert box.read_file("/tmp/f/dir/dir/x") == b"x"
    for path, kind, what in (("dir", microagent.InvalidError, "/tmp/f/dir is a directory, not a file"), ("absent", microagent.NotFoundError, "No such file"),
                             ("fifo", microagent.InvalidError, "neither a file nor a directory")):
        with pytest.raises(kind, match=what):
            box.read_file(f"/tmp/f/{path}")
    with pytest.raises(microagent.ConflictError):
        box.read_file("/tmp/f/b", user="root", limit_bytes=255)
    with pytest.raises(microagent.ConflictError, match="is a symbolic link"):
        box.write_file("/tmp/f/link", "x")
    with pytest.raises(TypeError, match="data: text or bytes are wanted, and not None"):
        box.write_file("/tmp/f/none", None)
    with pytest.raises(microagent.InvalidError, match="/tmp/f/dir: a directory"):
        box.write_file("/tmp/f/dir", "x")
    box.run("rm -rf /tmp/f", user="root", check=True)


def test_share(tools, box, tmp_path):
    (tmp_path / "given").write_text("by the host")
    with microagent.Sandbox(cold=True, **tools) as own:
        assert own.share(tmp_path, at="/work", read_only=False)["mountpoint"] == "/work"
        assert own.run("cat /work/given; echo by the guest > /work/made").text == "by the host"
        assert (tmp_path / "made").read_text() == "by the guest\n"
        assert [one["shares"][0]["path"] for one in microagent.sandboxes(tools["state_dir"]) if one["name"] == own.name] == [str(tmp_path)]
        with pytest.raises(microagent.ConflictError, match="cannot get more"):
            own.share(tmp_path)
        with pytest.raises(microagent.ConflictError) as refused:
            own.fork()
        assert refused.value.reason == "session-cold"
    with pytest.raises(microagent.ConflictError, match="make the session without the template"):
        box.share(tmp_path)


def test_the_network_while_it_runs(tools, box):
    with pytest.raises(microagent.InvalidError, match="change: 'open' is none of allow, deny, publish, unpublish"):
        box.change_network("open", "pypi.org")
    with pytest.raises(microagent.ConflictError, match="has no list of names"):
        box.change_network("allow", "pypi.org")
    with pytest.raises(microagent.NotFoundError):
        box.change_network("unpublish", "1")
    with microagent.Sandbox(**{**tools, "network": "nat"}, cold=True, egress=["one.test:443"]) as own:
        assert own.change_network("allow", "two.test")["egress"]["names"] == ["one.test:443", "two.test"]
        with pytest.raises(microagent.NotFoundError, match="its list of names does not have"):
            own.change_network("deny", "three.test")
        assert own.change_network("deny", "two.test")["egress"]["names"] == ["one.test:443"]


# --- forks, snapshots, pools ------------------------------------------------------------------------------------------


def test_fork_and_snapshot(own):
    own.run("echo one > /tmp/state", check=True)
    assert own.snapshot("first")["name"] == "first" and [one["name"] for one in own.snapshots()] == ["first"]
    own.run("echo two > /tmp/state", check=True)
    left, right = own.fork(2, on_fork="id -un > /tmp/who", user="root")
    with left, right:
        assert left.run("cat /tmp/who").text == right.run("cat /tmp/who").text == "root\n"
        assert left.run("cat /tmp/state").text == right.run("cat /tmp/state").text == "two\n"
        assert len({own.name, left.name, right.name}) == 3 and left.info()["parent"] == own.name
    assert own.restore("first")["boot"] == {"how": "restored"} and own.run("cat /tmp/state").text == "one\n"
    own.delete_snapshot("first")
    with pytest.raises(microagent.NotFoundError) as refused:
        own.restore("first")
    assert refused.value.reason == "no-snapshot" and refused.value.subject == own.name
    with pytest.raises(microagent.IOFailedError, match="the fork's command ended with exit code 7: not so"):
        own.fork(on_fork=["sh", "-c", "echo not so >&2; exit 7"])
    with pytest.raises(microagent.InvalidError, match="are of the command of on_fork"):
        own.fork(user="root")
    with pytest.raises(microagent.InvalidError, match="command: there is none"):
        own.fork(on_fork=[])
    with pytest.raises(microagent.InvalidError, match="from 1 to 100"):
        own.fork(0)
    with pytest.raises(microagent.InvalidError):
        own.fork(101)


def test_pool(tools):
    words = {key: tools[key] for key in ("network", "state_dir")}
    with microagent.Pool("web", 1, **words) as pool:
        wait_until(lambda: pool.status()["ready"] == 1, "one to wait")
        assert any(one.get("pooled") for one in microagent.sandboxes(tools["state_dir"]))
        with pool.sandbox() as claimed:
            assert claimed.info()["source"] == "pool" and claimed.run("echo here").text == "here\n"
    assert pool.status() == {}
    with pytest.raises(microagent.NotFoundError):
        pool.drain()


def test_one_machine_for_one_command(tools):
    done = microagent.run("cat; echo err >&2; exit 4", stdin="in", network="isolated", memory_mib=256, cpus=1, stderr_cap=2,
                          state_dir=tools["state_dir"])
    assert (done.exit_code, done.stdout, done.stderr, done.stdout_truncated, done.stderr_truncated) == (4, b"in", b"er", False, True)


# --- the examples -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["agent.py", "ten.py", "notebook.py"])
def test_example(tools, name):
    expected = dict(transcripts(name))["tools"]
    assert run_example(name, "web", tools["state_dir"]) == expected and len(expected) > 60


@pytest.mark.soak
def test_notebook_of_python(place, debian_image):
    place("base", "create", "debian", "--image", debian_image, check=0)
    assert run_example("notebook.py", "debian", place.state) == dict(transcripts("notebook.py"))["debian"]
    place("base", "delete", "debian-v1", check=0)


@pytest.mark.soak
def test_ctrl_c_at_any_time(tools):
    """A minute of signals at random times: none is lost, no call hangs, and nothing stays behind."""
    told = said(program(tools, """
        import random
        begun, taken, over = threading.Event(), threading.Event(), False
        def interrupt():
            while begun.wait() and not over:
                begun.clear()
                time.sleep(random.choice((0.02, 0.3)) * random.random())
                os.kill(os.getpid(), signal.SIGINT)
                while not taken.wait(10):  # a destructor has had it
                    os.kill(os.getpid(), signal.SIGINT)
        thread = threading.Thread(target=interrupt)
        thread.start()
        def use():
            with microagent.Sandbox(**options) as other:
                other.run("true")
        uses = (use, lambda: box.run("sleep 0.01"), lambda: list(box.stream("seq 100")), lambda: next(box.stream("yes")),
                lambda: box.write_file("/tmp/x", "x"), lambda: box.stat_file("/etc/passwd"),
                lambda: [child.destroy() for child in box.fork()])
        box, end = microagent.Sandbox(**options), time.monotonic() + 60
        sys.unraisablehook = lambda told: None  # one that comes in a destructor
        while time.monotonic() < end:
            try:
                taken.clear()
                begun.set()
                random.choice(uses)()
                while True:
                    time.sleep(1)
            except KeyboardInterrupt:
                taken.set()
        over = True
        begun.set()
        thread.join()
        print(box.run("ps -o args | grep -c '^yes'; ls /tmp").text.split())
        box.destroy()
        """))
    assert told == "['0', 'x']\n"
    wait_until(lambda: len(names(tools)) == 0, "those that were dropped to be gone")


@pytest.mark.soak
def test_many_calls_leave_nothing(box):
    """Descriptors, threads and memory of this process are as before."""
    def state():
        gc.collect()
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    def use():
        box.run(["true"], stdin=b"x" * 65536)
        list(box.stream("echo x"))
        box.write_file("/tmp/x", "x")
        with pytest.raises(microagent.NotFoundError):
            box.stat_file("/tmp/absent")
    for _ in range(20):
        use()
    before = state()
    for _ in range(300):
        use()
    assert state() == before
