# SPDX-License-Identifier: MIT
"""A host client written only from the protocol's published description. It shares no code, no schema and no table with
microagent, and checks every answer by the description."""

import itertools
import json
import re
import subprocess

COMMANDS = {  # command: required input
    "host": (), "check": ("identity", "config"), "prepare": ("identity", "config"),
    "start": ("identity", "config"), "run": ("identity", "config"), "console": ("identity", "config"),
    "inspect": ("identity", "stateDir"), "halt": ("identity", "stateDir"),
    "quarantine": ("identity", "stateDir"), "stop": ("identity", "stateDir"),
    "kill": ("identity", "stateDir"), "delete": ("identity", "stateDir"),
}
STATES = {"unknown", "prepared", "starting", "running", "stopping", "halted", "quarantined",
          "stopped", "failed"}
BLOCKS = ("event", "host", "verification", "readiness", "result", "artifacts", "mediation")
LIVE = ("yes", "no", "yes", "yes", "conditional", "declared", "declared")
EVENT_ONLY = ("yes", "no", "no", "no", "no", "no", "no")
PRESENCE = {  # the table "Field presence by command"
    "host": ("no", "yes", "no", "no", "no", "no", "no"),
    "check": ("yes", "no", "yes", "no", "no", "no", "declared"),
    "prepare": ("yes", "no", "yes", "no", "no", "declared", "declared"),
    "start": LIVE, "run": LIVE, "inspect": LIVE, "console": EVENT_ONLY,
    "halt": EVENT_ONLY, "quarantine": EVENT_ONLY, "stop": EVENT_ONLY, "kill": EVENT_ONLY,
    "delete": EVENT_ONLY,
}
SIGNALS = ("guestReady", "shellReady", "resultReady", "mediationReady")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
SHA256 = re.compile(r"[0-9a-f]{64}")


class Refused(Exception):
    """Raised for an answer with "ok": false."""

    def __init__(self, answer):
        super().__init__(answer.get("error"))
        self.answer = answer


class Client:
    def __init__(self, supervisor, backend, env=None, wrap=(), numbered=False):
        """numbered: each request has a requestID of its own."""
        self.argv, self.backend, self.env = [*wrap, str(supervisor)], backend, env
        self.numbers = itertools.count(1) if numbered else None

    def begin(self, command, identity=None, config=None):
        """Sends the request; finish() takes the answer. `run` takes as long as its workspace lives."""
        request = {"command": command}
        needs = COMMANDS[command]
        if "identity" in needs:
            request["identity"] = {**identity, "requestID": f"req-{next(self.numbers)}"} \
                if self.numbers else identity
        if "config" in needs:
            request["config"] = config
        elif "stateDir" in needs:
            request["config"] = {"stateDir": config["stateDir"]}
        child = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env=self.env)
        child.stdin.write(json.dumps(request).encode())
        child.stdin.close()
        child.stdin = None
        return child, request

    def finish(self, begun, declared=None):
        """declared: the config that prepare got, if the request has less."""
        child, request = begun
        out, err = child.communicate(timeout=300)
        answer = json.loads(out)  # one document, and nothing else on stdout
        assert (child.returncode == 0) == (answer["ok"] is True), (child.returncode, answer, err)
        assert answer["backend"] == self.backend
        if not answer["ok"]:
            assert answer["error"], answer
            raise Refused(answer)
        self.check(request, answer, declared or request.get("config", {}))
        return answer

    def __call__(self, command, identity=None, config=None, declared=None):
        return self.finish(self.begin(command, identity, config), declared or config)

    def check(self, request, answer, config):
        command = request["command"]
        state = answer.get("event", {}).get("state")
        for block, rule in zip(BLOCKS, PRESENCE[command]):
            if state == "unknown" and block in ("verification", "readiness"):
                continue  # there is nothing to compare, and nothing that could be ready
            if block == "readiness" and command == "inspect" and state != "running":
                continue
            there = block in answer
            if rule == "declared":
                wanted = ("mediation",) if block == "mediation" else ("bundles", "outputs")
                assert there == any(config.get(field) is not None for field in wanted), (command, block, answer)
            elif rule != "conditional":
                assert there == (rule == "yes"), (command, block, answer)
        for block, look in (("event", self.check_event), ("verification", self.check_verification),
                            ("readiness", self.check_readiness), ("result", self.check_result)):
            if block in answer:
                look(answer[block], request)
        if "mediation" in answer:
            assert answer["mediation"] == config["mediation"]

    @staticmethod
    def check_event(event, request):
        for key in ("runtimeID", "role", "backend"):
            assert event["identity"][key] == request["identity"][key], event
        # The event of a command that changes the state is that command's. For other commands it is the latest event.
        assert event["identity"]["requestID"] == request["identity"]["requestID"] or \
            event["identity"]["requestID"] and (request["command"] in ("check", "inspect") or
                                                "the workspace stays as it was" in event.get("detail", "")), event
        assert event["state"] in STATES and TIME.fullmatch(event["observedAt"]), event

    @staticmethod
    def check_verification(verification, _):
        assert verification["ok"] is not bool(verification.get("divergence")), verification
        for entry in verification.get("divergence", ()):
            assert re.fullmatch("kernel|rootfs|init|initrd|bundle:.+", entry["artifact"]), entry
        for artifact in ("kernel", "rootfs"):
            digest = verification[artifact].get("sha256")
            assert digest is None or SHA256.fullmatch(digest), verification

    @staticmethod
    def check_readiness(readiness, _):
        for name in SIGNALS:
            signal = readiness[name]
            assert isinstance(signal["ready"], bool), readiness
            assert TIME.fullmatch(signal.get("observedAt", "2026-01-01T00:00:00Z")), signal
            assert all(isinstance(signal.get(key, ""), str) for key in ("detail", "error")), signal

    @staticmethod
    def check_result(result, request):
        assert result["identity"]["runtimeID"] == request["identity"]["runtimeID"]
        assert result["backend"] == request["identity"]["backend"]
        assert result["resultPath"].endswith("/result.json")
        assert TIME.fullmatch(result["startedAt"]) and TIME.fullmatch(result["completedAt"])
        assert isinstance(result["exitCode"], int)
