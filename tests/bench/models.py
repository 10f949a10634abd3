# SPDX-License-Identifier: MIT
"""The time that a model's client waits: for a command by `microagent mcp`, and for the same command by the command line."""

import functools
import json
import subprocess

from harness import BIN, ROUNDS, running, timed
from sessions import Place
from table import record


class Client:
    """Makes one call after the other. Each is a line and its answer."""

    def __init__(self, child):
        self.child, self.number = child, 0
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "bench", "version": "1"})

    def ask(self, method, **params):
        self.number += 1
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}) + "\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())["result"]

    def call(self, name, **arguments):
        return self.ask("tools/call", name=name, arguments=arguments)["structuredContent"]


def bench_mcp():
    with Place() as cli:
        cli("base", "create", "web")
        with running([BIN / "microagent", "mcp", "--base", "web"], env=cli.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            client = Client(child)
            session = client.call("session_create")["session"]
            took = {"ours": [], "theirs": []}
            for _ in range(ROUNDS):
                took["ours"].append(timed(functools.partial(client.call, "exec", session=session, command=["/bin/true"])))
                took["theirs"].append(timed(cli.exec, session, "/bin/true"))
            client.call("session_destroy", session=session)
    record("`exec` of /bin/true by `microagent mcp`", took["ours"], "ms", "`microagent session exec` of it", took["theirs"], "<= +1 ms")
