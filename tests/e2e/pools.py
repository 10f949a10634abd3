# SPDX-License-Identifier: MIT
"""Pools as their tests see them: ready members, fillers, and claimers that get nothing."""

import json
import os
import signal

from conftest import pid_lines, wait_until

LATER = {"MICROAGENT_TEST_LIMIT_POOL_QUIET_MS": "3600000"}  # a filler that waits for quiet, and makes nothing
NOW = {"MICROAGENT_TEST_LIMIT_POOL_QUIET_MS": "0"}
FULL = {"MICROAGENT_TEST_LIMIT_STATE_FREE_BYTES": str(1 << 60)}  # makes nothing new; a claim starts nothing
NOT_NEW = {**LATER, **FULL}


def create(host, *words, **kw):
    return host.json("session", "create", "--base", "web", "--network", "isolated", *words, **kw)


def pool_of(host):
    pools = host.json("pool", "status")["pools"]
    assert len(pools) == 1 and pools[0]["base"] == "web-v1", pools
    return pools[0]


def wait_full(host, size):
    wait_until(lambda: pool_of(host) == {"base": "web-v1", "backend": host.backend, "size": size, "ready": size, "filling": False},
               f"{size} members of the pool")


def tokens(host, kind):
    try:
        return sorted(os.listdir(host.state / "pool" / "web-v1" / kind))
    except FileNotFoundError:
        return []


def marks(host):
    place = host.state / "sessions" / ".locks" / ".making"
    return sorted(p.name for p in place.iterdir()) if place.exists() else []


def runtime(host, name):
    return json.loads((host.state / "sessions" / f"{name}.bundle" / "runtime.json").read_text())


def filler(host):
    """Returns the filler's pid, which is in its lock. The filler is ours."""
    pid = int((host.state / "pool" / "web-v1" / "filler.lock").read_text().split()[0])
    assert str(host.state) in pid_lines("pool fill")[pid]
    return pid


def kill_filler(host):
    wait_until(lambda: (host.state / "pool" / "web-v1" / "filler.lock").read_text(), "the filler's name")
    os.kill(filler(host), signal.SIGKILL)
    wait_until(lambda: not pool_of(host)["filling"], "the filler's end")


def create_refused(host, base="web", env=None, words=("--network", "isolated")):
    """Requires that there is nothing to claim."""
    done = host("session", "create", "--base", base, *words, env=env or NOT_NEW)
    return done.returncode == 75 and "no space left where the state directory is" in done.stderr
