# SPDX-License-Identifier: MIT
"""A client of `microagent mcp` with lines of its own. The answer of a tool is checked by the schema that the server
gave, and by the one in schema/."""

import json
import subprocess
import threading

import jsonschema

import schema_check
from conftest import HANG_S

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"
ENVELOPE = {META + "protocolVersion": MODERN, META + "clientInfo": {"name": "test", "version": "1"}, META + "clientCapabilities": {}}


class Server:
    """One server. In the legacy era it is initialized with `version`."""

    def __init__(self, host, *words, version=None, env=None, **kw):
        self.child = host.popen("mcp", *words, stdin=subprocess.PIPE, env=env, **kw)
        self.modern = version is None
        self.messages, self.known, self.ended = [], threading.Condition(), False
        self.number, self.tools = 0, {}
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if version:
            self.agreed = self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "test", "version": "1"})
            self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self):
        for line in self.child.stdout:
            assert len(line) <= 8 << 20
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            with self.known:
                self.messages.append(message)
                self.known.notify_all()
        with self.known:
            self.ended = True
            self.known.notify_all()

    def raw(self, data):
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def say(self, message):
        self.raw(json.dumps(message).encode() + b"\n")

    def wait_for(self, wanted, what):
        """Returns the first wanted message and removes it."""
        def found():
            return next((m for m in self.messages if wanted(m)), None)
        with self.known:
            assert self.known.wait_for(lambda: found() or self.ended, HANG_S) and found(), f"no {what}: {self.messages}"
            message = found()
            self.messages.remove(message)
            return message

    def begin(self, method, meta=None, **params):
        self.number += 1
        envelope = {**(ENVELOPE if self.modern else {}), **(meta or {})}
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": {**params, **({"_meta": envelope} if envelope else {})}})
        return self.number

    def answer(self, number):
        return self.wait_for(lambda m: m.get("id") == number, f"answer to {number}")

    def ask(self, method, **params):
        answer = self.answer(self.begin(method, **params))
        assert "error" not in answer, answer
        if self.modern:
            assert answer["result"]["resultType"] == "complete"
            assert answer["result"]["_meta"][META + "serverInfo"]["name"] == "microagent"
        else:
            assert "resultType" not in answer["result"] and "ttlMs" not in answer["result"]
        return answer["result"]

    def refused(self, method, **params):
        """Returns the code of the error."""
        return self.answer(self.begin(method, **params))["error"]["code"]

    def listed(self):
        self.tools = {tool["name"]: tool for tool in self.ask("tools/list")["tools"]}
        return self.tools

    def begin_call(self, name, meta=None, **arguments):
        return self.begin("tools/call", meta=meta, name=name, arguments=arguments)

    def result(self, name, answer):
        result = answer["result"]
        assert not result.get("isError"), result["content"][0]["text"]
        known = self.tools or self.listed()
        jsonschema.Draft202012Validator(known[name]["outputSchema"]).validate(result["structuredContent"])
        assert not schema_check.problems("mcp", result["structuredContent"], name)
        return result

    def call(self, name, **arguments):
        """Returns the whole result, with structuredContent."""
        return self.result(name, self.answer(self.begin_call(name, **arguments)))

    def got(self, name, **arguments):
        return self.call(name, **arguments)["structuredContent"]

    def fails(self, name, **arguments):
        """Returns the text of a result that is an error."""
        result = self.ask("tools/call", name=name, arguments=arguments)
        assert result["isError"] and "structuredContent" not in result
        return result["content"][0]["text"]

    def end(self):
        """Closes the server's input. Returns its exit code."""
        self.child.stdin.close()
        code = self.child.wait()
        self.reader.join(HANG_S)
        self.child.stdout.close()
        self.said = self.child.stderr.read().decode()
        self.child.stderr.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.child.poll() is None:
            code = self.end()
            assert kind or code == 0, self.said
