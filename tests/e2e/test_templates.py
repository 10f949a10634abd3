# SPDX-License-Identifier: MIT
"""Tests templates of bases. `base warm` saves a machine, and sessions begin from it, each as a machine of its own. A
session that does not fit, or whose template is damaged, boots as before and says why."""

import json
import os
import shutil
import signal
import subprocess

import pytest

import schema_check
from conftest import wait_until
from digests import contents, sha256

WARM = ("base", "warm", "web")
SESSION = ("session", "create", "--base", "web", "--network", "isolated")
NOTHING = {"removed": [], "adopted": []}


BOOTED_ONE = "`microagent session create --cold` makes one that is booted, and has its memory for itself"


def base_bundle(host):
    return host.state / "bases" / "web-v1.bundle"


def template(host):
    return base_bundle(host) / "template"


def warming(host):
    return base_bundle(host) / ".warming"


def digests(host):
    """Returns the digests of all that is sealed: the base's files and its template's."""
    files = [p for p in (*base_bundle(host).iterdir(), *template(host).iterdir()) if p.is_file() and "siblings" not in p.name]
    return {p.name: contents(p) for p in files}


def create(host, *words):
    return host.json(*SESSION, *words)


def record(host, name):
    document = json.loads((host.state / "sessions" / f"{name}.bundle" / "session.json").read_text())
    schema_check.validate("session", document)
    schema_check.validate("runtime", json.loads((host.state / "sessions" / f"{name}.bundle" / "runtime.json").read_text()))
    return document


def say(host, name, *words):
    return host("session", "exec", name, "--", *words, check=0).stdout


def works(host, name):
    """`base warm` runs commands, and keeps the files that they write."""
    return say(host, name, "sh", "-c", "echo kept > /home/agent/file && sync && cat /home/agent/file") == "kept\n"


def destroy(host, *names):
    for name in names:
        host("session", "destroy", name, check=0)


def no_trace(host):
    return not warming(host).exists() and not host.processes()


@pytest.fixture
def warm(place):
    """A host with a warm base, and the output of the command."""
    if not template(place).exists():
        place.said = place(*WARM, "--run", "echo warmed > /tmp/warm", check=0)
    yield place
    destroy(place, *(s["name"] for s in place.json("session", "list")["sessions"]))


@pytest.fixture
def cold(place):
    """The same host with a base that is not warm, and is not warm afterwards."""
    place("base", "cool", "web")
    yield place
    place("base", "cool", "web")


# --- made ----------------------------------------------------------------------------------------------


def test_what_is_recorded(warm):
    document = json.loads((template(warm) / "template.json").read_text())
    schema_check.validate("template", document)
    assert {p.name for p in template(warm).iterdir() if p.stat().st_mode & 0o777 == 0o444} >= {
        "template.json", "ram", "state", "disk.qcow2", "warm.log"}
    assert document["run"] == [["sh", "-c", "echo warmed > /tmp/warm"]]
    assert document["ram"]["bytes"] == 256 << 20 == (template(warm) / "ram").stat().st_size
    assert 0 < document["ram"]["residentBytes"] < 128 << 20
    for part, name in (("ram", "ram"), ("state", "state"), ("disk", "disk.qcow2")):
        assert document[part]["sha256"] == sha256(template(warm) / name), part
    assert no_trace(warm)
    shown = warm.json("base", "show", "web")["template"]
    assert {k: shown[k] for k in ("createdAt", "run", "facts", "memoryMiB", "cpuCount")} == {
        k: document[k] for k in ("createdAt", "run", "facts", "memoryMiB", "cpuCount")}
    assert shown["sha256"] == sha256(template(warm) / "template.json")
    assert shown["residentBytes"] == document["ram"]["residentBytes"]
    assert shown["residentBytes"] <= shown["bytes"] < shown["residentBytes"] + (8 << 20)
    assert warm.json("base", "list")["bases"][0]["template"] == shown
    assert warm("base", "list", check=0).stdout.splitlines()[1].split()[5] == "yes"
    verified = warm.json("base", "verify", "web")
    assert verified["ok"] and {f"template {part}" for part in ("ram", "state", "disk")} < {c["what"] for c in verified["checks"]}
    assert warm.json("session", "list") == {"sessions": []} and warm.json("session", "gc") == NOTHING


def test_what_is_shown(warm):
    log = (template(warm) / "warm.log").read_text().splitlines()
    for line in ("==> booting a machine of web-v1", "==> running sh -c echo warmed > /tmp/warm", "==> saving it", "==> sealing it",
                 "==> restoring one of it"):
        assert line in warm.said.stderr.splitlines() and line in log, line
    assert warm.said.stdout.startswith("web-v1: warm; ")


def test_create_warm(host):
    """In one command. A template is deleted with its base."""
    made = host.json("base", "create", "web", "--warm", "--run", "echo one", "--run", "echo two")
    assert made["template"]["run"] == [["sh", "-c", "echo one"], ["sh", "-c", "echo two"]]
    said = host("base", "create", "web", "--run", "true", check=2).stderr
    assert "--run needs --warm" in said
    failed = host("base", "create", "web", "--warm", "--run", "exit 3", check=1).stderr
    assert "base web-v2 is made, but its template is not: " in failed and 'the command "sh -c exit 3" ended with exit code 3' in failed, failed
    assert "template" not in host.json("base", "show", "web-v2")
    for name in ("web-v1", "web-v2"):
        host("base", "delete", name, check=0)


def test_a_warm_up_that_fails(cold):
    failed = cold(*WARM, "--run", "echo so far; exit 7", check=1).stderr
    assert 'no template was made: the command "sh -c echo so far; exit 7" ended with exit code 7; the log is ' in failed, failed
    log = failed.split("the log is ")[1].split()[0]
    with open(log, encoding="utf-8") as file:
        assert "so far" in file.read().splitlines()
    os.unlink(log)
    assert no_trace(cold) and not template(cold).exists()


def test_cool(cold):
    cold(*WARM, check=0)
    assert cold("base", "cool", "web", check=0).stdout == "web: cool\n"
    assert no_trace(cold) and not template(cold).exists() and "template" not in cold.json("base", "show", "web")
    assert cold("base", "list", check=0).stdout.splitlines()[1].split()[5] == "no"
    said = cold("base", "cool", "web", check=1).stderr
    assert "base web-v1 has no template" in said and "`microagent base warm web-v1` makes one" in said
    session = create(cold)
    assert not {"template", "cold", "boot"} & set(session) and not {"template", "cold"} & set(record(cold, session["name"]))
    destroy(cold, session["name"])


# --- restored ------------------------------------------------------------------------------------------


def test_a_session_is_restored(warm):
    session = create(warm)
    name = session["name"]
    assert session["boot"] == {"how": "restored"} and session["clone"] == "overlay" and "cold" not in session
    assert record(warm, name)["template"] == session["template"] == warm.json("base", "show", "web")["template"]["sha256"]
    assert say(warm, name, "cat", "/tmp/warm") == "warmed\n" and works(warm, name)
    assert say(warm, name, "hostname") == f"{name}\n"
    done = warm("balloon", name, 110, check=1)
    assert done.stderr == ("microagent: a machine that was restored, or from which others are restored, has no balloon: these machines share memory\n"
                           f"microagent: hint: {BOOTED_ONE}\n")
    assert warm.json("balloon", name, 110, check=1)["errorReason"] == "session-restored"
    listed, = warm.json("session", "list")["sessions"]
    assert listed["boot"] == {"how": "restored"} and listed["template"] == session["template"]
    assert warm("session", "list", check=0).stdout.splitlines()[1].rstrip().endswith("restored")
    # The second start is from its own disk.
    warm("stop", name, check=0)
    listed, = warm.json("session", "list")["sessions"]
    assert "boot" not in listed
    warm("start", name, check=0)
    assert say(warm, name, "cat", "/home/agent/file") == "kept\n"
    assert say(warm, name, "cat", "/tmp/warm") == "warmed\n"
    destroy(warm, name)


def test_a_directory_and_a_network(warm):
    """Both come when the machine runs again."""
    shared = warm.base / "given"
    shared.mkdir()
    (shared / "file").write_text("of the host\n")
    session = create(warm, "--share", shared, "--share", f"{shared}:/again:ro", "--network", "nat")
    name = session["name"]
    assert session["boot"] == {"how": "restored"}, session
    assert say(warm, name, "cat", "/workspace/file", "/again/file") == "of the host\n" * 2
    say(warm, name, "sh", "-c", "echo of the guest > /workspace/new")
    assert (shared / "new").read_text() == "of the guest\n"
    assert "10.0.2.15" in say(warm, name, "ip", "address")
    # The directories come back when it is booted. Without the directory it does not run, since files that it wrote
    # there would be lost.
    warm("stop", name, check=0)
    shared.rename(warm.base / "moved")
    done = warm("start", name, check=1)
    assert f"session {name}: {shared} does not exist: `mkdir` makes it" in done.stderr, done
    listed, = warm.json("session", "list")["sessions"]
    assert listed["state"] == "stopped" and warm("session", "exec", name, "--", "true").returncode == 125, listed
    (warm.base / "moved").rename(shared)
    warm("start", name, check=0)
    assert say(warm, name, "cat", "/workspace/new", "/again/new") == "of the guest\n" * 2
    destroy(warm, name)
    shutil.rmtree(shared)


def test_a_directory_that_comes_too_late(warm):
    """Memory that is shared with siblings cannot be shared with virtiofsd."""
    late = warm.base / "late"
    late.mkdir()
    name = create(warm)["name"]
    done = warm("session", "share", name, late, check=1)
    assert "the machine shares its memory with other machines of its template" in done.stderr, done.stderr
    assert done.stderr.endswith(f"microagent: hint: {BOOTED_ONE}\n"), done.stderr
    assert works(warm, name) and "virtiofsd" not in "".join(map(str, warm.processes()))
    destroy(warm, name)
    late.rmdir()


def test_what_does_not_fit_is_booted(warm):
    for words, why in ((("--cold",), "a boot was asked for"),
                       (("--memory", 300), "the session has 300 MiB of memory, but the template has 256"),
                       (("--network", "nat", "--publish", "18080:80"), "it publishes ports")):
        session = create(warm, *words)
        assert session["cold"] == why == record(warm, session["name"])["cold"]
        assert not {"boot", "template"} & set(session) and works(warm, session["name"])
        assert f"booted: {why}" in warm("session", "list", check=0).stdout
        destroy(warm, session["name"])


def identity(host, name):
    """Values that no other machine may have: of the kernel, of programs, of files."""
    text = say(host, name, "sh", "-c", "cat /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id; hostname; "
               "cat /etc/machine-id 2>/dev/null || echo none-$(hostname); head -c 32 /dev/urandom | sha256sum; mktemp -u")
    return text.splitlines()


def assert_unlike(warm, count):
    before = digests(warm)
    names = [create(warm)["name"] for _ in range(count)]
    assert all(s["boot"] == {"how": "restored"} for s in warm.json("session", "list")["sessions"])
    seen = [identity(warm, name) for name in names]
    for what in zip(*seen, strict=True):
        assert len(set(what)) == count, what
    assert len({word for words in seen for word in words}) == sum(len(words) for words in seen)
    assert all(works(warm, name) for name in names)
    destroy(warm, *names)
    assert digests(warm) == before


def test_siblings_share_nothing(warm):
    assert_unlike(warm, 5)


# A process that draws random numbers of the kernel without a pause.
DRAWING = "(while read -r number < /proc/sys/kernel/random/uuid; do echo $number; done > /tmp/drawn) & echo $! > /tmp/drawing"
DRAWN = "kill $(cat /tmp/drawing); cat /tmp/drawn"


def assert_drawn_apart(sequences):
    """What each drew is what the saved machine had drawn, and after that what none of the others drew."""
    saved = os.path.commonprefix(sequences)
    rest = [set(sequence[len(saved):]) for sequence in sequences]
    assert all(rest), [len(sequence) for sequence in sequences]
    assert len(set.union(*rest)) == sum(len(sequence) for sequence in rest), [len(sequence) for sequence in rest]


def test_siblings_draw_no_number_in_common(cold):
    """A process of the template goes on only when its kernel has randomness of its own."""
    cold(*WARM, "--run", DRAWING, check=0)
    names = [create(cold)["name"] for _ in range(3)]
    assert all(s["boot"] == {"how": "restored"} for s in cold.json("session", "list")["sessions"])
    assert_drawn_apart([say(cold, name, "sh", "-c", DRAWN).splitlines() for name in names])
    destroy(cold, *names)


@pytest.mark.soak
def test_twenty_siblings_share_nothing(warm):
    assert_unlike(warm, 20)


def traced_programs(host, name):
    path = host.state / "sessions" / f"{name}.bundle" / "telemetry.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [record["argv"] for record in (json.loads(line)["record"] for line in lines) if record["kind"] == "exec"]


def test_the_tracer_is_the_templates(warm):
    """Nobody has to wait for another one. No session is told what the machine did while it was warmed."""
    names = [create(warm)["name"] for _ in range(2)]
    pids = {say(warm, name, "pidof", "agent-tracer") for name in names}
    assert len(pids) == 1 and pids.pop().strip().isdigit()
    for i, name in enumerate(names):
        assert say(warm, name, "echo", f"seen-{i}") == f"seen-{i}\n"
        wait_until(lambda i=i, name=name: ["echo", f"seen-{i}"] in traced_programs(warm, name), "what it traces")
        assert not any("warmed" in " ".join(argv) for argv in traced_programs(warm, name))
    destroy(warm, *names)


def test_a_member_of_a_pool_is_restored(warm):
    shared = warm.base / "pooled"
    shared.mkdir()
    (shared / "file").write_text("host's\n")
    warm("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0)
    wait_until(lambda: warm.json("pool", "status")["pools"][0]["ready"] == 1, "the member")
    # A session that is asked to boot does not come from the pool.
    booted = create(warm, "--cold")
    assert (booted["source"], booted["cold"]) == ("new", "a boot was asked for")
    session = create(warm, "--share", shared)
    assert (session["source"], session["boot"]) == ("pool", {"how": "restored"})
    assert say(warm, session["name"], "cat", "/workspace/file") == "host's\n"
    warm("pool", "drain", check=0)
    destroy(warm, booted["name"], session["name"])


# --- damaged -------------------------------------------------------------------------------------------


def shorten(path):
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)


def change(path):
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 16)


def halve(path):
    path.write_text(path.read_text()[:100])


def other_vmm(path):
    document = json.loads(path.read_text())
    document["facts"]["vmm"] = "0" * 64
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("part, damage, key, why", (
    ("ram", shorten, "boot", "the template's ram does not have the length that was saved: make the template again"),
    ("ram", change, "boot", "the template's ram is not what was saved"),
    ("ram", os.unlink, "boot", "the template's ram: "),
    ("state", change, "boot", "the template's state is not what was saved"),
    ("template.json", other_vmm, "boot", "the template was made with another QEMU"),
    ("disk.qcow2", change, "cold", "the template's disk has changed since it was saved: make the template again"),
    ("template.json", halve, "cold", "the template of base web-v1 is damaged: "),
))
def test_a_damaged_template_is_not_used(warm, part, damage, key, why):
    """A session of it boots, works, and says why it was not restored."""
    whole = warm.base / "whole"
    shutil.copytree(template(warm), whole, ignore=lambda _, names: [n for n in names if "siblings" in n])
    path = template(warm) / part
    path.chmod(0o644)
    damage(path)
    session = create(warm)
    try:
        if key == "boot":
            assert session["boot"]["how"] == "cold" and session["boot"]["why"].startswith(why), session
        else:
            assert session["cold"].startswith(why) and "boot" not in session, session
        assert works(warm, session["name"]) and record(warm, session["name"])["base"] == "web-v1"
        shown = warm.json("base", "show", "web")["template"]
        assert ("error" in shown) == (part == "template.json" and key == "cold")
        whole_files = damage is other_vmm
        assert warm.json("base", "verify", "web", check=not whole_files)["ok"] == whole_files
    finally:
        destroy(warm, session["name"])
        shutil.rmtree(template(warm))
        shutil.copytree(whole, template(warm))
        template(warm).chmod(0o700)
        shutil.rmtree(whole)


# --- broken off ----------------------------------------------------------------------------------------


def machine(host):
    return warming(host) / "work" / "state" / "provision"


STAGES = {
    "begun": lambda host: warming(host).exists(),
    "booting": lambda host: (machine(host) / "control.sock").exists(),
    "running": lambda host: (machine(host) / "vsock.sock").exists() and '"running"' in (machine(host) / "event.json").read_text(),
}  # test_session_template.c has the later ones, which take no time


def until(host, stage, child):
    wait_until(lambda: STAGES[stage](host) or child.poll() is not None, stage)
    assert child.poll() is None, child.communicate()


@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_maker_leaves_nothing(cold, stage):
    child = cold.popen(*WARM)
    until(cold, stage, child)
    child.kill()
    child.communicate()
    assert not template(cold).exists()
    swept = [cold.json("session", "gc")]

    def has_swept():
        """A child of the maker that has not begun its own program yet has the maker's lock as well, for a moment."""
        if swept[-1] == NOTHING:
            swept.append(cold.json("session", "gc"))
        return swept[-1] != NOTHING

    wait_until(has_swept, "the end of the lock")
    assert swept[-1] == {
        "removed": [{"name": "web-v1/.warming", "why": "a template whose creation or removal was interrupted"}], "adopted": []}
    wait_until(lambda: no_trace(cold), "the end of the machine")
    assert cold.json("session", "gc") == NOTHING


def test_the_next_one_goes_on(cold):
    """Files that a killed command has left are in nobody's way. The old template stays until the new one is complete."""
    cold(*WARM, check=0)
    before = cold.json("base", "show", "web")["template"]
    child = cold.popen(*WARM)
    until(cold, "running", child)
    session = create(cold)
    assert session["boot"] == {"how": "restored"} and session["template"] == before["sha256"]
    child.kill()
    child.communicate()
    after = cold.json(*WARM)["template"]
    assert no_trace_but(cold, session["name"]) and after["sha256"] != before["sha256"]
    assert works(cold, session["name"])  # its memory is the one of the removed template
    assert create(cold)["template"] == after["sha256"]
    destroy(cold, *(s["name"] for s in cold.json("session", "list")["sessions"]))


def no_trace_but(host, name):
    return not warming(host).exists() and all(name in line for line in host.processes().values())


@pytest.mark.parametrize("number, code", ((signal.SIGTERM, 143), (signal.SIGINT, 130)))
@pytest.mark.parametrize("stage", ("booting", "running"))
def test_a_signal_ends_it(cold, stage, number, code):
    child = cold.popen(*WARM, "--run", "sleep 1000")
    until(cold, stage, child)
    child.send_signal(number)
    err = child.communicate()[1].decode()
    assert child.returncode == code and "cancelled" in err, err
    wait_until(lambda: no_trace(cold), "the end of the machine")
    assert not template(cold).exists() and cold.json("session", "gc") == NOTHING
    shutil.rmtree(cold.state / "logs", ignore_errors=True)


def test_two_makers(cold):
    first = cold.popen(*WARM)
    until(cold, "begun", first)
    for words in (WARM, ("base", "cool", "web")):
        said = cold(*words, check=1).stderr
        assert "base web-v1: another command is making or removing the template of this base" in said, said
    said = cold("base", "delete", "web-v1", check=1).stderr
    assert "is being made of base web-v1: try again" in said, said
    assert first.wait() == 0
    first.communicate()
    assert template(cold).exists() and no_trace(cold)


def test_a_disk_without_room(host):
    """There is room for the base and not for its memory: nothing of it stays."""
    if os.getuid():
        pytest.skip("mounting a small tmpfs needs root")
    host.state.mkdir(0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "none", host.state], check=True)
    try:
        host("base", "create", "web", check=0)
        before = digests_of_base(host)
        said = host(*WARM, check=1, env={"MICROAGENT_TEST_LIMIT_STATE_FREE_BYTES": "0"}).stderr
        assert "No space left on device" in said and "no template was made" in said, said
        wait_until(lambda: no_trace(host), "the end of the machine")
        assert not template(host).exists() and digests_of_base(host) == before
        session = create(host)
        assert works(host, session["name"]) and not {"template", "cold"} & set(session)
        destroy(host, session["name"])
    finally:
        host.sweep()
        wait_until(lambda: not host.processes(), "the end of all processes")
        subprocess.run(["umount", host.state], check=True)


def digests_of_base(host):
    return {p.name: contents(p) for p in base_bundle(host).iterdir() if p.is_file()}


def test_what_has_no_template(place):
    said = place("base", "warm", "none", check=1).stderr
    assert 'there is no base "none"' in said
    assert place.json("session", "gc") == NOTHING


# --- many ----------------------------------------------------------------------------------------------


def shared_memory():
    """Returns the KiB of memory that is in files without a disk, on this host."""
    return int(next(line for line in open("/proc/meminfo", encoding="ascii") if line.startswith("Shmem:")).split()[1])


def use_up(host, name, number):
    """Writes to memory and disk; every tenth guest panics in the end."""
    say(host, name, "sh", "-c", "head -c 20000000 /dev/urandom > /dev/shm/a 2>/dev/null || head -c 20000000 /dev/urandom > /tmp/a; "
        "head -c 1000000 /dev/urandom > /home/agent/b; sync")
    if number % 10 == 0:
        host("session", "exec", "--user", "root", name, "--", "sh", "-c", "echo c > /proc/sysrq-trigger")


def use_many(host, count):
    before = digests(host)
    for number in range(count):
        session = create(host)
        assert session["boot"] == {"how": "restored"}, (number, session)
        use_up(host, session["name"], number)
        destroy(host, session["name"])
    assert digests(host) == before
    assert not host.processes() and host.json("session", "gc") == NOTHING


def test_some_one_after_the_other(warm):
    use_many(warm, 3)


@pytest.mark.soak
@pytest.mark.alone
def test_a_thousand_one_after_the_other(warm):
    memory = shared_memory()
    use_many(warm, 1000)
    assert shared_memory() < memory + (64 << 10)


@pytest.mark.soak
def test_a_hundred_at_once(warm):
    names = [create(warm)["name"] for _ in range(100)]
    assert {say(warm, name, "hostname").strip() for name in names} == set(names)
    assert len({say(warm, name, "cat", "/proc/sys/kernel/random/uuid") for name in names}) == 100
    destroy(warm, *names)
