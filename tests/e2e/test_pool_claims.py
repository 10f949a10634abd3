# SPDX-License-Identifier: MIT
"""Tests claimers of a pool's members, and processes that take members away, at the same time and killed."""

import contextlib
import functools
import json
import random
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

from conftest import pid_lines, wait_until
from pools import LATER, NOT_NEW, NOW, create_refused, marks, tokens, wait_full


def kill_at(host, condition, *words, sig=signal.SIGKILL):
    """Waits until just after the condition. Returns whether the process was still there."""
    child = host.popen("--state-dir", host.state, *words, env=NOT_NEW)
    while not condition() and child.poll() is None:
        pass
    child.send_signal(sig)
    child.communicate()
    wait_until(lambda: not pid_lines(f"{host.state} {words[0]} {words[1]}"), "its end")  # and that of its copies
    return child.returncode == -sig


def fill_up(host, size):
    host("pool", "set", "--base", "web", "--size", size, "--network", "isolated", check=0, env=NOW)
    wait_full(host, size)


def gone(host):
    """Requires that nothing of any pool is left, nor of any session."""
    assert host.json("session", "list") == {"sessions": []} and not marks(host)
    assert not list((host.state / "pool").iterdir())


def kill_a_claimer(host):
    """A claimer that has its member, and has told nobody."""
    assert kill_at(host, lambda: tokens(host, "claimed"), "session", "create", "--base", "web", "--network", "isolated",
                   "--share", host.tmp)
    lost = tokens(host, "claimed")
    done = host.json("session", "gc", env=LATER)
    # Its supervisor may have been first, since it sees the end of its claimer too.
    whys = {one["why"] for one in done["removed"] if one["name"] == lost[0]}
    assert whys and whys <= {"its creation was interrupted", "it was claimed from the pool, and its directory is gone"} and not tokens(host, "claimed")
    waiting = tokens(host, "ready")
    assert lost[0] not in waiting and not marks(host)
    assert [s["name"] for s in host.json("session", "list")["sessions"]] == waiting


def kill_a_drain(host):
    """A killed claimer over its first member: what it did not get belongs to nobody."""
    waiting = tokens(host, "ready")
    assert kill_at(host, lambda: tokens(host, "ending"), "pool", "drain", sig=signal.SIGTERM)
    assert create_refused(host)
    done = {r["name"]: r["why"] for r in host.json("session", "gc")["removed"]}
    assert set(done) <= {*waiting, "pool/web-v1"} and set(done.values()) <= {
        "its destruction was interrupted", "members of a pool that does not exist any more"}
    gone(host)


def claim_one(host, tried):
    """Either the claim succeeds with a session that answers, or there was none."""
    done = host("--json", "session", "create", "--base", "web", "--network", "isolated", env=NOT_NEW)
    tried.append(done.returncode)
    if done.returncode:
        assert "no space left where the state directory is" in done.stdout, done
        return 0
    session = json.loads(done.stdout)
    assert session["source"] == "pool", session
    assert host("session", "exec", session["name"], "--", "echo", "mine", check=0).stdout == "mine\n"
    host("session", "destroy", session["name"], check=0)
    return 1


def kill_after(host, seconds, *words):
    child = host.popen("--state-dir", host.state, *words, env=NOT_NEW)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    child.kill()
    name = child.communicate()[0].decode().strip()
    if words[0] == "session" and name:  # it has told of it
        host("session", "destroy", name, check=0)


def race(host, claimers, after=1, kills=()):
    """Claimers, and after so many claims a process that takes members away. kills: at intervals a claimer and a drain
    are killed, of which nothing may be left."""
    tried = []

    def later(do, *words, **kw):
        wait_until(lambda: len(tried) >= after, "the first claims")
        do(*words, **kw)
        return 0

    create, drain, gc = ("session", "create", "--base", "web", "--network", "isolated"), ("pool", "drain"), ("session", "gc")
    less = ("pool", "set", "--base", "web", "--size", 1, "--network", "isolated")
    jobs = [functools.partial(claim_one, host, tried)] * claimers
    jobs += [functools.partial(later, host, *words, check=0, env=LATER) for words in (less, drain, gc, gc, drain)]
    jobs += [functools.partial(later, kill_after, host, wait, *words) for wait in kills for words in (create, drain)]
    random.shuffle(jobs)
    with ThreadPoolExecutor(len(jobs)) as threads:
        claims = sum(threads.map(lambda job: job(), jobs))
    for words in (create, drain):  # of those that were killed a copy may still be at it
        wait_until(lambda: not pid_lines(f"{host.state} {words[0]} {words[1]}"), "their end")
    host("pool", "drain", check=0)
    host("session", "gc", check=0)
    gone(host)
    assert claims
    return claims


def test_claims_against_all_that_takes_members_away(host):
    """Claimers are killed too. This is a small version; `make soak` has many."""
    host("base", "create", "web", check=0)
    fill_up(host, 3)
    kill_a_claimer(host)
    race(host, 4)
    host("base", "delete", "web-v1", check=0)
