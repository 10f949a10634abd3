# SPDX-License-Identifier: MIT
"""Pools: sessions that are kept ready, and are claimed by one rename."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import schema_check
from conftest import pid_lines, wait_until

SIZE, CLAIMERS = 3, 8
LATER = {"MICROAGENT_TEST_LIMIT_POOL_QUIET_MS": "3600000"}  # a filler that waits for quiet, and makes nothing
NOW = {"MICROAGENT_TEST_LIMIT_POOL_QUIET_MS": "0"}


def create(host, *words, **kw):
    return host.json("session", "create", "--base", "web", "--network", "isolated", *words, **kw)


def pool_of(host):
    pools = host.json("pool", "status")["pools"]
    assert len(pools) == 1 and pools[0]["base"] == "web-v1", pools
    return pools[0]


def wait_full(host, size):
    wait_until(lambda: pool_of(host) == {"base": "web-v1", "size": size, "ready": size, "filling": False},
               f"{size} members of the pool", 120)


def tokens(host, kind):
    return sorted(p.name for p in (host.state / "pool" / "web-v1" / kind).iterdir())


def marks(host):
    place = host.state / "sessions" / ".locks" / ".making"
    return sorted(p.name for p in place.iterdir()) if place.exists() else []


def runtime(host, name):
    return json.loads((host.state / "sessions" / f"{name}.bundle" / "runtime.json").read_text())


def filler(host):
    """Its pid, by what it has written into its lock; it is ours."""
    pid = int((host.state / "pool" / "web-v1" / "filler.lock").read_text().split()[0])
    assert str(host.state) in pid_lines("pool fill")[pid]
    return pid


def kill_filler(host):
    wait_until(lambda: (host.state / "pool" / "web-v1" / "filler.lock").read_text(), "the filler's name")
    os.kill(filler(host), signal.SIGKILL)
    wait_until(lambda: not pool_of(host)["filling"], "the filler's end")


def check_members(host):
    """They have run, wait as they would run for their user, and nobody fills any more."""
    schema_check.validate("pool", json.loads((host.state / "pool" / "web-v1" / "pool.json").read_text()))
    waiting = host.json("session", "list")["sessions"]
    assert len(waiting) == SIZE and all(s["pooled"] and s["state"] == "running" and s["source"] == "pool" for s in waiting)
    assert tokens(host, "ready") == [s["name"] for s in waiting] and not marks(host)
    for name in tokens(host, "ready"):
        machine = runtime(host, name)["pid"]
        for thread in os.listdir(f"/proc/{machine}/task"):
            assert os.sched_getscheduler(int(thread)) == os.SCHED_OTHER, (name, thread)
    assert "waits in the pool" in host("session", "list", check=0).stdout
    refused = host("base", "delete", "web-v1")
    assert refused.returncode == 1 and "microagent pool drain --base web-v1" in refused.stderr


def claim_at_once(host):
    with ThreadPoolExecutor(CLAIMERS) as threads:
        made = list(threads.map(lambda _: create(host, env=LATER), range(CLAIMERS)))
    assert len({s["name"] for s in made}) == CLAIMERS
    pooled = [s for s in made if s["source"] == "pool"]
    assert len(pooled) == SIZE and all("claimMs" in s["timings"] and "bootMs" not in s["timings"] for s in pooled)
    assert all(s["source"] == "new" and s["timings"]["bootMs"] > 0 for s in made if s not in pooled)
    assert tokens(host, "claimed") == sorted(s["name"] for s in pooled) and not tokens(host, "ready")
    for session in pooled:
        assert host("session", "exec", session["name"], "--", "echo", "mine", check=0).stdout == "mine\n"
    return [s["name"] for s in made]


def kill_the_filler_at_work(host):
    """One that waits makes nothing; one that is killed over a member leaves nothing that stays."""
    before = host.json("session", "list")["sessions"]
    assert pool_of(host) == {"base": "web-v1", "size": SIZE, "ready": 0, "filling": True}
    kill_filler(host)
    assert host.json("session", "list")["sessions"] == before
    assert host.json("session", "gc", env=NOW) == {"removed": [], "adopted": [
        {"name": "web-v1", "why": "a pool without a filler"}]}
    wait_until(lambda: any((host.state / "sessions" / id / "lease").exists() for id in marks(host)), "a member in the making")
    half_made = marks(host)[0]
    kill_filler(host)
    done = host.json("session", "gc", env=LATER)
    assert {"name": half_made.removesuffix(".bundle"), "why": "its making broke off"} in done["removed"]
    assert host.json("session", "list")["sessions"] == before and not pid_lines(half_made) and not marks(host)


def lose_a_member(host):
    """A token whose machine has ended is discarded, and what is left of its session with it."""
    host("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0)
    kill_filler(host)  # the one that waits; the next one does not
    host("session", "gc", check=0, env=NOW)
    wait_full(host, 1)
    dead = tokens(host, "ready")[0]
    os.kill(runtime(host, dead)["supervisorPid"], signal.SIGKILL)
    wait_until(lambda: pool_of(host)["ready"] == 0, "the member's end")
    session = create(host, env=LATER)
    assert session["source"] == "new" and dead not in tokens(host, "ready") + tokens(host, "claimed")
    assert not (host.state / "sessions" / f"{dead}.bundle").exists()
    return session["name"]


def test_the_life_of_a_pool(host):
    host("base", "create", "web", check=0)
    answer = host.json("pool", "set", "--base", "web", "--size", SIZE, "--network", "isolated")
    assert [(p["base"], p["size"], p["filling"]) for p in answer["pools"]] == [("web-v1", SIZE, True)]
    wait_full(host, SIZE)
    check_members(host)
    odd = create(host, "--memory", 192, env=LATER)
    assert odd["source"] == "new" and len(tokens(host, "ready")) == SIZE  # not what the pool has
    names = [odd["name"], *claim_at_once(host)]
    kill_the_filler_at_work(host)
    names.append(lose_a_member(host))
    assert host.json("pool", "drain") == {"pools": []}
    wait_until(lambda: not pid_lines(f"{host.state} pool fill"), "the last filler's end")  # idle, it takes its time
    left = host.json("session", "list")["sessions"]
    assert sorted(s["name"] for s in left) == sorted(names) and not any("pooled" in s for s in left)
    for name in names:
        host("session", "destroy", name, check=0)
    assert not list((host.state / "pool").iterdir())
    host("base", "delete", "web-v1", check=0)


def test_a_pool_waits_for_room(host):
    host("base", "create", "web", check=0)
    host("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0, env=LATER)
    kill_filler(host)
    log = host.state / "pool" / "web-v1" / "filler.log"
    for limit, text in (("POOL_FREE_MIB", "MiB of memory are available, and the next one needs"),
                        ("POOL_MEMBERS_PER_CPU", "which is the most for")):
        value = "100000000" if limit == "POOL_FREE_MIB" else "0"
        child = host.popen("pool", "fill", "--base", "web-v1", env={**NOW, f"MICROAGENT_TEST_LIMIT_{limit}": value})
        wait_until(lambda: "waiting for room" in log.read_text(), "the filler's word")
        assert text in log.read_text()
        assert os.sched_getscheduler(child.pid) & ~os.SCHED_RESET_ON_FORK == os.SCHED_IDLE
        child.kill()
        child.communicate()
        log.write_text("")
    assert host.json("session", "list") == {"sessions": []}
    host("pool", "drain", "--base", "web", check=0)
    host("base", "delete", "web-v1", check=0)


def test_a_pool_whose_base_is_gone(host):
    host("base", "create", "web", check=0)
    host("pool", "set", "--base", "web", "--size", 1, check=0, env=LATER)
    (host.state / "bases" / "web-v1.bundle").rename(host.state / "bases" / "gone")
    assert host.json("session", "gc")["removed"] == [{"name": "web-v1", "why": "a pool whose base is gone"}]
    assert not list((host.state / "pool").iterdir()) and not pid_lines(f"{host.state} pool fill")
    (host.state / "bases" / "gone").rename(host.state / "bases" / "web-v1.bundle")
    claimed = host.state / "pool" / "web-v1" / "claimed"
    claimed.mkdir(parents=True, mode=0o700)
    (claimed / "session-2026-05-10T14-22-00Z-a7f3").touch()
    assert host.json("session", "gc")["removed"] == [
        {"name": "session-2026-05-10T14-22-00Z-a7f3", "why": "claimed from the pool, and gone since"}]
    assert not list((host.state / "pool").iterdir())
    host("base", "delete", "web-v1", check=0)


def test_refusals(host):
    assert host.json("pool", "status") == {"pools": []} and host.json("pool", "drain") == {"pools": []}
    assert "there is no pool" in host("pool", "status", check=0).stderr and not host.state.exists()
    host("base", "create", "web", check=0)
    most = os.sysconf("SC_NPROCESSORS_ONLN") * 8
    for words, text, code in (
            (("set",), "--base NAME", 2),
            (("set", "--base", "web"), "--size N", 2),
            (("set", "--base", "web", "--size", 0), "size", 2),
            (("set", "--base", "nothing", "--size", 1), "there is no base \"nothing\"", 1),
            (("set", "--base", "web", "--size", most + 1), f"are more than this host keeps ready: with", 1),
            (("set", "--base", "web", "--size", 1, "--memory", 100000000), "do not fit into this host's", 1),
            (("set", "--base", "web", "--size", 1, "--cpus", 10000), "10000 processors are more", 1),
            (("set", "--base", "web", "--size", 1, "--network", "bridged"), "have nat or isolated", 1),
            (("drain", "--base", "web"), "there is no pool of base web", 1),
            (("fill", "--base", "web"), "which version of web?", 1)):
        done = host("pool", *words)
        assert done.returncode == code and text in done.stderr, (words, done)
    place = host.state / "pool" / "web-v1"
    assert not place.exists()
    place.mkdir(parents=True, mode=0o700)
    (place / "pool.json").write_text('{"format":1}')
    for words in (("pool", "status"), ("session", "create", "--base", "web")):
        done = host(*words)
        assert done.returncode == 1 and "pool.json: size is required; `microagent pool set" in done.stderr, done
    host("pool", "drain", check=0)
    assert not place.exists()
    host("base", "delete", "web-v1", check=0)
