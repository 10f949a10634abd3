# SPDX-License-Identifier: MIT
"""An agent's tool loop: the model asks for tools, they run in a sandbox of their own, and their results go back to it.

    $ python3 agent.py tools
    run {"command": "id -un && uname -s"}
    -> {"exit_code": 0, "stdout": "agent\\nLinux\\n", "stderr": ""}
    write_file {"path": "/tmp/greet.sh", "text": "echo hello $1"}
    -> {"written": 13}
    run {"command": "sh /tmp/greet.sh world; exit 3"}
    -> {"exit_code": 3, "stdout": "hello world\\n", "stderr": ""}
    read_file {"path": "/tmp/absent"}
    -> {"error": "not-found", "message": "/tmp/absent: No such file or directory"}
    The greeting works.

model() stands in for yours: it is given the conversation and says which tool it wants, or an answer."""

import json
import sys

import microagent

STEPS = [{"tool": "run", "input": {"command": "id -un && uname -s"}},
         {"tool": "write_file", "input": {"path": "/tmp/greet.sh", "text": "echo hello $1"}},
         {"tool": "run", "input": {"command": "sh /tmp/greet.sh world; exit 3"}},
         {"tool": "read_file", "input": {"path": "/tmp/absent"}},
         {"answer": "The greeting works."}]


def model(conversation):
    return STEPS[len(conversation)]


def use(box, tool, given):
    """What the model is told. What went wrong is told too, so that it may do better."""
    try:
        if tool == "run":
            done = box.run(given["command"], timeout=60, stdout_cap=25600, stderr_cap=25600)
            return {"exit_code": done.exit_code, "stdout": done.text, "stderr": done.stderr.decode(errors="replace")}
        if tool == "write_file":
            box.write_file(given["path"], given["text"])
            return {"written": len(given["text"])}
        if tool == "read_file":
            return {"text": box.read_file(given["path"], limit_bytes=1 << 20).decode(errors="replace")}
        return {"error": "invalid", "message": f"there is no tool {tool}"}
    except microagent.Error as error:
        return {"error": error.code, "message": error.message}


def main(base):
    conversation = []
    with microagent.Sandbox(base, network="isolated") as box:
        while "answer" not in (wanted := model(conversation)):
            print(wanted["tool"], json.dumps(wanted["input"]))
            result = use(box, wanted["tool"], wanted["input"])
            print("->", json.dumps(result))
            conversation.append((wanted, result))
    print(wanted["answer"])


if len(sys.argv) != 2:
    sys.exit("usage: python3 agent.py BASE")
main(sys.argv[1])
