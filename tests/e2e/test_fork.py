# SPDX-License-Identifier: MIT
"""Tests sessions that go on from where another is (session fork) or was (session snapshot, restore): with its programs,
and an identity of their own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

import schema_check
import virtiofsd
from conftest import BACKEND, BIN, default_kernel, wait_until
from digests import contents
from test_mediation import free_port
from test_publish import await_no_server, await_server, refuses
from test_templates import DRAWING, DRAWN, assert_drawn_apart

pytestmark = pytest.mark.skipif(BACKEND != "qemu", reason="no other backend saves machines")
SERVER = "(while true; do printf 'HTTP/1.0 200 OK\\r\\n\\r\\nserved' | nc -l -p 8080; done) > /dev/null 2>&1 &"
READ = "wget -qO- http://127.0.0.1:8080/"


def create(host, *words):
    told = host.json("session", "create", "--base", "web", "--network", "isolated", *words)
    assert told.get("boot") == {"how": "restored"} or "--cold" in words, told
    return told["name"]


def run(host, name, line, user="agent"):
    return host("session", "exec", "--user", user, name, "--", "sh", "-c", line, check=0).stdout


def bundle(host, name):
    return host.state / "sessions" / f"{name}.bundle"


def points(host, name):
    """Returns the snapshots and forks that exist, whole or not."""
    place = bundle(host, name)
    return sorted(p.name for p in (*place.glob("points/*"), *place.glob("points/.*"), *place.glob("fork.*")))


def note(host, session, **words):
    """Sends what the library tells the live supervisor of a session to write down."""
    request = {"command": "note", **words}
    schema_check.validate("control-sock-request", request)
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(str(bundle(host, session) / "control.sock"))
        control.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(control.makefile().readline())
    schema_check.validate("control-sock-answer", answer)
    return answer


def audited(host, name, event):
    lines = [json.loads(line) for line in host("--json", "audit", "show", name, check=0).stdout.splitlines()]
    for line in lines:
        schema_check.validate("audit-line", line)
    return [line["data"] for line in lines if line["event"] == event]


def digests(host):
    """The provenance of the base and its template."""
    place = host.state / "bases" / "web-v1.bundle"
    files = [p for p in (*place.iterdir(), *(place / "template").iterdir()) if p.is_file() and "siblings" not in p.name]
    return {p.name: contents(p) for p in files}


def refused(host, name, what, *words):
    done = host("session", *(words or ("fork", name)))
    assert done.returncode == 1 and what in done.stderr, done.stderr
    assert points(host, name) == [] or words


def test_a_server_answers_from_parent_and_children(web):
    before, name = digests(web), create(web)
    run(web, name, f"echo of the parent > /home/agent/file; echo at hand > /tmp/file; mkfifo /tmp/fifo; {SERVER}")
    # The command goes on in the parent, by the connection that it has.
    stream = web.popen("session", "exec", name, "--", "sh", "-c", "echo begun; cat /tmp/fifo")
    assert stream.stdout.readline() == b"begun\n"
    told = web.json("session", "fork", name, "--count", "2")
    run(web, name, "echo went on > /tmp/fifo")
    out, err = stream.communicate()
    assert (stream.returncode, out) == (0, b"went on\n"), err
    children = [child["name"] for child in told["sessions"]]
    assert told["parent"] == name and told["saved"]["pauseMs"] > 0 and len(set(children)) == 2
    for child in told["sessions"]:
        assert (child["source"], child["parent"], child["base"]) == ("fork", name, "web-v1")
        schema_check.validate("session", json.loads((bundle(web, child["name"]) / "session.json").read_text()))
    everyone = (name, *children)
    for one in everyone:
        assert run(web, one, f"cat /home/agent/file /tmp/file; hostname; {READ}") == f"of the parent\nat hand\n{one}\nserved"
        assert run(web, one, "grep '# this machine' /etc/hosts") == f"127.0.1.1\t{one} # this machine\n"
    # No child has files or processes of another.
    for secret in ("cat /proc/sys/kernel/random/uuid", "cat /proc/sys/kernel/random/boot_id"):
        assert len({run(web, one, secret) for one in everyone}) == 3, secret
    for child in children:
        assert audited(web, child, "session.forked") == [{"parent": name, "child": child}]
        run(web, child, f"echo of {child} > /home/agent/file; sync")
    assert audited(web, name, "session.forked") == [{"parent": name, "child": child} for child in children]
    assert run(web, name, "cat /home/agent/file") == "of the parent\n" and points(web, name) == []
    # The children are whole without the parent, and keep their files and identity when they are stopped and booted.
    web("session", "destroy", name, check=0)
    assert run(web, children[0], READ) == "served"
    grandchild = web.json("session", "fork", children[0])["sessions"][0]
    assert grandchild["parent"] == children[0] and run(web, grandchild["name"], READ) == "served"
    web("stop", children[1], check=0)
    web("start", children[1], check=0)
    assert run(web, children[1], "cat /home/agent/file") == f"of {children[1]}\n"
    assert digests(web) == before


def test_parent_and_children_draw_no_number_in_common(web):
    """A process stands still while its machine is saved. It goes on in each child when the child's kernel has randomness
    of its own."""
    name = create(web)
    run(web, name, DRAWING)
    children = [child["name"] for child in web.json("session", "fork", name, "--count", "2")["sessions"]]
    assert_drawn_apart([run(web, one, DRAWN).splitlines() for one in (name, *children)])


# A process with a random number generator of its own, which it seeds anew when it is told to.
DRAWS = """
seed() { seed=$(head -c 16 /dev/urandom | md5sum); }; seed; trap seed USR1; mkfifo /tmp/ask /tmp/told; echo $$ > /tmp/pid
while :; do read number < /tmp/ask && echo $seed $number | md5sum > /tmp/told; done
"""
DRAW = "echo 1 > /tmp/ask; cat /tmp/told"


def test_a_command_in_each_child(web):
    name = create(web)
    run(web, name, f"(trap '' HUP; sh -c '{DRAWS}') > /dev/null 2>&1 & while ! [ -s /tmp/pid ]; do :; done")

    def fork(*words, **kw):
        return web("session", "fork", name, *words, **kw)
    # The memory of a process is the same in all children; a command changes that.
    same = fork(check=0).stdout.split()
    told = json.loads(fork("--json", "--count", "2", "--on-fork", "kill -USR1 $(cat /tmp/pid); id -un > /tmp/who", check=0).stdout)
    other = [child["name"] for child in told["sessions"]]
    drawn = [run(web, one, DRAW) for one in (name, *same, *other)]
    assert drawn[0] == drawn[1] and len(set(drawn)) == 3 and all(drawn), drawn
    assert [run(web, one, "cat /tmp/who") for one in other] == ["agent\n"] * 2
    for one in other:
        assert audited(web, one, "session.on-fork") == [
            {"parent": name, "argv": ["sh", "-c", "kill -USR1 $(cat /tmp/pid); id -un > /tmp/who"], "exitCode": 0}]
    assert audited(web, same[0], "session.on-fork") == []
    # The command runs as root if that is asked for. If it fails in one child, none is made, and the message says why.
    [rooted] = fork("--on-fork", "id -un > /root/who", "--user", "root", check=0).stdout.split()
    assert run(web, rooted, "cat /root/who", "root") == "root\n"
    alive = {s["name"] for s in web.json("session", "list")["sessions"]}
    for words, code, what in ((("--on-fork", "echo no such seed >&2; exit 3"), 1, "the fork's command ended with exit code 3: no such seed"),
                              (("--on-fork", "true", "-u", "nobody-here"), 1, "the fork's command cannot be run: user \"nobody-here\""),
                              (("--on-fork", "kill -TERM $$"), 1, "the fork's command was ended by signal 15, which also happens if the machine switches itself off"),
                              (("--on-fork", "echo begun; sleep 600", "--timeout", "1"), 75, "the fork's command did not end within 1 s: begun")):
        done = fork("--count", "2", *words)
        assert done.returncode == code and done.stdout == "" and f", a fork of session {name}: {what}" in done.stderr, done
        failed = done.stderr.split("session-", 1)[1].split(",")[0]
        line, = audited(web, f"session-{failed}", "session.on-fork")  # for a child that no longer exists
        assert line["parent"] == name and what in line["error"] and f"session-{failed}" not in alive
        assert {s["name"] for s in web.json("session", "list")["sessions"]} == alive and points(web, name) == []
    done = fork("--on-fork", "poweroff -f", "-u", "root", check=1)
    assert f", a fork of session {name}: the fork's machine ended, or was lost, while the fork's command ran" in done.stderr and "hint" not in done.stderr
    # A signal ends the command with its fork.
    slow = web.popen("session", "fork", name, "--on-fork", "sleep 600")
    wait_until(lambda: any('"sleep 600"' in log.read_text() for log in (web.state / "sessions").glob("*.bundle/audit.log")), "the command")
    slow.send_signal(signal.SIGTERM)
    assert slow.wait() == 143
    assert {s["name"] for s in web.json("session", "list")["sessions"]} == alive and points(web, name) == []
    for words in (("--user", "root"), ("--timeout", "5"), ("--on-fork", "true", "--timeout", "0"), ("--on-fork", "true", "--timeout", "601"), ("--on-fork",)):
        assert fork(*words).returncode == 2, words


def children_in_the_making(host, parent):
    """Children whose machines run already."""
    return [s["name"] for s in host.json("session", "list")["sessions"] if s.get("parent") == parent
            and (s.get("detail"), s["state"]) == ("being made", "running")]


@pytest.mark.parametrize("end, why", (
    ("kill", "the fork's machine ended, or was lost, while the fork's command ran: it is stopped: killed"),
    ("stop", "the fork's command was ended by signal 15, which also happens if the machine switches itself off"),
    ("halt", "the fork's command was ended by signal 15, which also happens if the machine switches itself off")))
def test_a_child_is_ended_while_its_command_runs(web, end, why):
    """The guest decides how long the command runs, and cannot delay the end of its machine."""
    name = create(web)
    fork = web.popen("session", "fork", name, "--on-fork", "sleep 1000", "--timeout", "500")
    wait_until(lambda: children_in_the_making(web, name), "the child")
    child, = children_in_the_making(web, name)
    assert web.json("status", child)["event"]["state"] == "running"
    assert "is being made by another command" in web("session", "exec", child, "--", "true", check=125).stderr
    assert web(end, child, check=0).stdout.startswith(f"{child}: ")
    out, err = fork.communicate(timeout=60)
    assert fork.returncode == 1 and f"{child}, a fork of session {name}: {why}" in err.decode(), (out, err)
    assert [s["name"] for s in web.json("session", "list")["sessions"]] == [name] and points(web, name) == []
    assert run(web, name, "echo here") == "here\n"


@pytest.mark.parametrize("end, why", (("kill", "is stopped: killed"), ("quarantine", "is quarantined, so it is kept as it is")))
def test_a_child_is_ended_while_another_is_made(web, end, why):
    name = create(web)
    fork = web.popen("session", "fork", name, "--count", "2", "--on-fork", "sleep 8")
    wait_until(lambda: len(children_in_the_making(web, name)) == 1, "a child")
    first, = children_in_the_making(web, name)
    wait_until(lambda: len(children_in_the_making(web, name)) == 2, "the other one")
    web(end, first, check=0)
    out, err = fork.communicate(timeout=60)
    assert fork.returncode == 1 and first in err.decode() and why in err.decode(), (out, err)
    left = {s["name"]: s["state"] for s in web.json("session", "list")["sessions"]}
    assert left == ({name: "running"} if end == "kill" else {name: "running", first: "quarantined"})
    assert points(web, name) == []


HTTPD = ("mkdir -p /tmp/www; printf served > /tmp/www/index.html; "
         "httpd -f -p 8080 -h /tmp/www > /dev/null 2>&1 & echo $! > /tmp/www/pid")


def asked(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
        return answer.read()


def the_port_of_a_child(web, name):
    """The server that came with it is known at once. A child's report about its end concerns only the child."""
    port = free_port()
    web("network", "publish", name, f"{port}:8080", check=0)
    assert asked(port) == b"served"
    run(web, name, "kill $(cat /tmp/www/pid)")
    await_no_server(port)
    run(web, name, HTTPD)
    await_server(port)


def test_a_port_that_is_published_stays_the_parents(web):
    """By the port of a restored machine, while it runs."""
    port = free_port()
    told = web.json("session", "create", "--base", "web", "--network", "nat")
    assert told["boot"] == {"how": "restored"}
    name = told["name"]
    web("network", "publish", name, f"{port}:8080", check=0)
    assert refuses(port)
    run(web, name, HTTPD)
    await_server(port)
    assert asked(port) == b"served"
    [child] = web.json("session", "fork", name)["sessions"]
    assert [len(web.json("network", of)["network"]["portForwards"]) for of in (name, child["name"])] == [1, 0]
    the_port_of_a_child(web, child["name"])
    assert asked(port) == b"served"
    web("network", "unpublish", name, str(port), check=0)
    there = {"host": "127.0.0.1", "hostPort": port, "guestPort": 8080}
    assert audited(web, name, "net.published") == audited(web, name, "net.unpublished") == [there]
    for one in (name, child["name"]):
        web("session", "destroy", one, check=0)


def test_a_note_is_one_of_few(web):
    name = create(web)
    assert note(web, name, what="snapshot", name="before")["ok"]
    with pytest.raises(AssertionError):
        note(web, name, what="else", name="before")
    assert audited(web, name, "session.snapshot")[-1]["snapshot"] == "before"



def test_what_cannot_be_forked(web):
    cold = create(web, "--cold")
    refused(web, cold, "was booted")
    web("stop", cold, check=0)
    refused(web, cold, "is stopped, and only")
    web("start", cold, check=0)
    name = create(web)
    for severed in (cold, name):
        web("quarantine", severed, check=0)
        refused(web, severed, f"microagent: session {severed} is quarantined: a quarantined machine must not be copied\n")
    assert f"session {name} is quarantined; halt, stop or kill it" in web("balloon", name, 100, check=1).stderr
    web("kill", name, check=0)
    refused(web, name, "only a running machine")
    assert len(web.json("session", "list")["sessions"]) == 2
    for words in (("fork", name, "--count", "0"), ("fork", name, "--count", "101"), ("snapshot", name, "../x")):
        assert web("session", *words).returncode == 2


def test_a_session_goes_back_while_its_forks_live(web):
    """Children and their children keep their state when the session that they come from goes back, and when one between them ends."""
    name, file = create(web), "/home/agent/file"
    run(web, name, f"echo before > {file}; sync")
    web("session", "snapshot", name, "before", check=0)
    run(web, name, f"echo forked > {file}; sync")
    child = web.json("session", "fork", name)["sessions"][0]["name"]
    grandchild = web.json("session", "fork", child)["sessions"][0]["name"]
    web("session", "restore", name, "before", check=0)
    assert run(web, name, f"cat {file}") == "before\n"
    web("session", "destroy", child, check=0)
    last = web.json("session", "fork", grandchild)["sessions"][0]["name"]
    for one in (grandchild, last):
        assert run(web, one, f"cat {file}; hostname") == f"forked\n{one}\n"


def test_two_at_once(web):
    """A second fork of a session that is being forked is refused, or comes after the first. The session goes on."""
    name = create(web)
    forks = [web.popen("session", "fork", name) for _ in range(2)]
    done = [(fork.communicate(), fork.returncode) for fork in forks]
    for (_, err), code in done:
        assert code == 0 or b"is being saved" in err, err
    assert [code for _, code in done].count(0) >= 1
    assert run(web, name, "echo here") == "here\n" and points(web, name) == []


def test_a_fork_that_is_killed(web):
    """The parent goes on, and nothing is left of the fork."""
    name = create(web)
    fork = web.popen("session", "fork", name, "--count", "20")
    wait_until(lambda: len(web.json("session", "list")["sessions"]) > 2, "two children")
    fork.send_signal(signal.SIGKILL)
    fork.wait()
    [left] = set(points(web, name))
    removed = {entry["name"]: entry["why"] for entry in web.json("session", "gc")["removed"]}
    # It names what it removed of the session, which lives.
    assert removed.pop(f"{name}/points/{left}") == "a fork or a snapshot that was interrupted" and name not in removed, removed
    assert set(removed.values()) == {"its creation was interrupted"}, removed
    assert [s["name"] for s in web.json("session", "list")["sessions"]] == [name]
    (bundle(web, name) / "fork.state").write_bytes(b"saved")
    assert f"{name}/fork.state  removed  a fork or a snapshot that was interrupted" in web("session", "gc", check=0).stdout
    assert points(web, name) == [] and run(web, name, "echo here") == "here\n"


def test_a_session_goes_back(web):
    name = create(web)
    assert f"session {name} is already running; stop or kill it before start" in web("start", name, check=1).stderr
    run(web, name, f"echo first > /home/agent/file; {SERVER}")
    kept = web.json("session", "snapshot", name, "first")["snapshot"]
    assert kept["name"] == "first" and kept["stateBytes"] > 1 << 20 and kept["pauseMs"] > 0
    schema_check.validate("point", json.loads((bundle(web, name) / "points" / "first" / "template.json").read_text()))
    assert web.json("session", "snapshots", name)["snapshots"] == [kept]
    refused(web, name, f'there is a snapshot "first" of this session already\nmicroagent: hint: choose another name, or '
            f"`microagent session snapshot-delete {name} first` first\n", "snapshot", name, "first")
    assert web.json("session", "snapshots", name)["snapshots"] == [kept] and points(web, name) == ["first"]
    run(web, name, "echo second > /home/agent/file; killall nc; sync")
    before = run(web, name, "cat /proc/sys/kernel/random/boot_id")
    restored = web.json("session", "restore", name, "first")["snapshot"]
    assert restored["boot"] == {"how": "restored"}
    assert run(web, name, f"cat /home/agent/file; {READ}") == "first\nserved"
    assert run(web, name, "cat /proc/sys/kernel/random/boot_id") != before
    assert audited(web, name, "session.restored") == [{"snapshot": "first"}]
    # The session can be saved again, and a child of it goes on too.
    assert run(web, web.json("session", "fork", name)["sessions"][0]["name"], READ) == "served"
    web("session", "snapshot", name, "second", check=0)
    refused(web, name, "has no snapshot", "restore", name, "third")
    disk = bundle(web, name) / "points" / "second" / "disk.qcow2"
    disk.chmod(0o600)
    disk.write_bytes(disk.read_bytes()[:-1] + b"x")
    refused(web, name, "not what was saved", "restore", name, "second")
    assert run(web, name, READ) == "served"
    for point in ("first", "second"):
        web.json("session", "snapshot-delete", name, point)
    assert points(web, name) == [] and "has no snapshot" in web("session", "snapshots", name, check=0).stderr.replace("it has", "has")


def test_its_directories_come_back(web):
    """The session has directories that it was given after the snapshot. The machine that goes on gets them again."""
    name, given = create(web), web.base / "restored"
    given.mkdir()
    web("session", "snapshot", name, "before", check=0)
    web("session", "restore", name, "before", check=0)
    # A machine that goes on from a snapshot shares its memory with nobody, so it can be given a directory.
    told = web.json("session", "share", name, given, "--at", "/given")["shares"]
    for _ in range(2):
        done = web("session", "restore", name, "before", check=0)
        assert "could not be shared on" not in done.stderr, done
        listed, = [one for one in web.json("session", "list")["sessions"] if one["name"] == name]
        assert listed["shares"] == told and listed["boot"] == {"how": "restored"}
        run(web, name, "date +%N >> /given/new")
    assert (given / "new").read_text().count("\n") == 2
    assert [len(audited(web, name, event)) for event in ("share.added", "share.removed")] == [3, 2]
    # A cause that is known before refuses it, and the present machine goes on. A machine that cannot get the
    # directories goes on without them, and the message says so.
    given.rename(web.base / "restored-moved")
    refused(web, name, f"{given} does not exist: `mkdir` makes it", "restore", name, "before")
    assert run(web, name, "echo here") == "here\n" and len(audited(web, name, "session.restored")) == 3
    (web.base / "restored-moved").rename(given)
    wrap = web.wrap
    if os.getuid() == 0:
        web.wrap = ["unshare", "--mount", "sh", "-c", f'mount --bind /dev/null {virtiofsd.PROGRAM} && exec "$@"', "sh"]
        done = web("--json", "session", "restore", name, "before", check=0)
        web.wrap = wrap
        assert virtiofsd.PROGRAM.rsplit("/", 1)[1] in json.loads(done.stdout)["snapshot"]["unshared"], done
        assert f"{given} could not be shared on /given" in done.stderr and f"microagent session share {name} {given}:/given:rw` shares the directory again" in done.stderr, done
        assert [line["path"] for line in audited(web, name, "share.missing")] == [str(given)]
        run(web, name, "echo here")
        # The next one has them, though the last had not.
        assert "could not be shared on" not in web("session", "restore", name, "before", check=0).stderr
        run(web, name, "grep . /given/new")
    web("session", "destroy", name, check=0)
    assert len(list(given.iterdir())) == 1


@pytest.fixture
def renewed(web):
    """Returns a function that puts another guest agent into the initrds, as `kernel refresh` of another build does. The
    kernels are a copy, and the base of these sessions is made from it."""
    cache, bin_of_another = web.base / "cache", web.base / "bin"
    shared = Path(default_kernel(web)["path"]).parent.parent
    (cache / "kernels").mkdir(parents=True, mode=0o700)
    cache.chmod(0o700)
    shutil.copy(shared / ".microagent-cache", cache)
    (cache / "images").symlink_to(shared / "images")
    for path in (shared / "kernels").glob(f"{default_kernel(web)['name']}*"):
        shutil.copy2(path, cache / "kernels")
    shutil.copytree(BIN, bin_of_another)
    with open(bin_of_another / "microagent-init", "ab") as agent:
        agent.write(b"x")
    env, web.env = web.env, {**web.env, "MICROAGENT_CACHE_DIR": str(cache)}
    web("base", "create", "old", check=0)
    web("base", "warm", "old", check=0)

    def renew():
        done = subprocess.run([bin_of_another / "microagent", "kernel", "refresh"], env=web.env, capture_output=True, text=True, check=True)
        assert done.stdout == "1 initrd rewritten\n", done
    yield renew
    web("session", "destroy", "--all", check=0)
    web("base", "delete", "old-v1", check=0)
    web.env = env
    for path in (cache, bin_of_another):
        shutil.rmtree(path)


def test_an_upgrade_of_the_guest_agent(web, renewed):
    """A session that runs is forked with its present agent. A session that goes back to a snapshot is booted with the
    new agent from the snapshot's disk, and the command says so. For a stopped session the message says how to start
    it."""
    name = web.json("session", "create", "--base", "old", "--network", "isolated")["name"]
    stopped = web.json("session", "create", "--base", "old", "--network", "isolated", "--cold")["name"]
    run(web, stopped, "echo kept > /home/agent/file; sync")
    web("stop", stopped, check=0)
    run(web, name, f"echo first > /home/agent/file; sync; {SERVER}")
    web("session", "snapshot", name, "first", check=0)
    run(web, name, "echo second > /home/agent/file; sync")
    renewed()
    [child] = web.json("session", "fork", name)["sessions"]
    assert run(web, child["name"], f"cat /home/agent/file; {READ}") == "second\nserved"
    # The memory of the child's child has the old agent too, and so has a snapshot of the child.
    [grandchild] = web.json("session", "fork", child["name"])["sessions"]
    assert run(web, grandchild["name"], READ) == "served"
    web("session", "snapshot", child["name"], "here", check=0)
    for one, point, kept in ((name, "first", "first\n"), (child["name"], "here", "second\n")):
        done = web("session", "restore", one, point, check=0)
        assert done.stdout == f"{one}: booted from the disk of {point}\n"
        assert "warning: the processes of the session are lost, because the session was booted from the snapshot's disk: " \
            "the template was made with another initrd, and so guest agent" in done.stderr, done.stderr
        assert run(web, one, "cat /home/agent/file") == kept
        assert audited(web, one, "session.restored") == [{"snapshot": point}]
    web("stop", name, check=0)
    assert web.json("session", "restore", name, "first")["snapshot"]["boot"]["how"] == "cold"
    for one in (name, child["name"]):
        web("stop", one, check=0)
        web("start", one, check=0)
    assert run(web, name, "cat /home/agent/file") == "first\n"
    said = web("start", stopped, check=1).stderr
    assert "perhaps by an upgrade of microagent" in said and f"`microagent start --prepare {stopped}` prepares it again" in said, said
    web("start", "--prepare", stopped, check=0)
    assert run(web, stopped, "cat /home/agent/file") == "kept\n"


@pytest.mark.parametrize(("missing", "words"), (("", "{} does not exist"), (".initrd", "the kernel {} has no initrd beside it")), ids=("kernel", "initrd"))
def test_what_cannot_be_booted_does_not_go_back(web, renewed, missing, words):
    """The machine runs on, and its disk stays, if a file that it would be booted from is missing."""
    del renewed
    name = web.json("session", "create", "--base", "old", "--network", "isolated")["name"]
    web("session", "snapshot", name, "first", check=0)
    run(web, name, "echo second > /home/agent/file; sync")
    kernel = json.loads((bundle(web, name) / "workspace.json").read_text())["config"]["kernelPath"]
    file = Path(kernel + missing)
    modules = Path(kernel + ".modules")  # without them it would get an initrd
    made = bool(missing) and not modules.exists()
    if made:
        modules.touch()
    away = file.rename(file.with_name("away"))
    said = web("session", "restore", name, "first", check=1).stderr
    assert f"session {name}, snapshot \"first\": --kernel: {words.format(kernel)}" in said, said
    assert run(web, name, "cat /home/agent/file") == "second\n" and points(web, name) == ["first"]
    away.rename(file)
    if made:
        modules.unlink()
    assert web.json("session", "restore", name, "first")["snapshot"]["boot"] == {"how": "restored"}


def test_another_base_is_not_gone_back_to(web, renewed):
    """No snapshot's disk is a layer over the changed base."""
    del renewed
    name = web.json("session", "create", "--base", "old", "--network", "isolated")["name"]
    web("session", "snapshot", name, "first", check=0)
    base = Path(json.loads((bundle(web, name) / "workspace.json").read_text())["config"]["rootfsBase"])
    subprocess.run(["chattr", "-i", base], stderr=subprocess.DEVNULL, check=False)
    base.chmod(0o600)
    before = base.stat().st_size
    with open(base, "r+b") as disk:
        disk.seek(before - 1)
        last = disk.read(1)
        disk.seek(before - 1)
        disk.write(bytes([last[0] ^ 1]))
    said = web("session", "restore", name, "first", check=1).stderr
    assert f"session {name}, snapshot \"first\": the base's disk {base} is not the disk from which the session was cloned" in said and "`microagent base create old-v1" in said, said
    assert run(web, name, "echo here") == "here\n" and points(web, name) == ["first"]


def test_a_fork_with_another_kernel(web, renewed):
    """The snapshot cannot be restored. A second try does not change that, and the parent goes on."""
    del renewed
    name = web.json("session", "create", "--base", "old", "--network", "isolated")["name"]
    kernel = Path(json.loads((bundle(web, name) / "workspace.json").read_text())["config"]["kernelPath"])
    kernel.chmod(0o600)
    with open(kernel, "ab") as file:
        file.write(b"x")
    done = web("session", "fork", name)
    assert done.returncode == 1, done
    assert f"a fork of session {name} did not go on from the state of the session: the template was made with another kernel" in done.stderr
    assert "`microagent base warm old-v1` makes a template, of which new sessions are restored" in done.stderr, done.stderr
    assert [s["name"] for s in web.json("session", "list")["sessions"]] == [name] and points(web, name) == []
    assert run(web, name, "echo here") == "here\n"
