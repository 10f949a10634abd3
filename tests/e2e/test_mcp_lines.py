# SPDX-License-Identifier: MIT
"""Tests `microagent mcp` without any machine: its protocol in both eras, what the person allows, and lines that no
client would write."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time

import pytest

from mcp_client import ENVELOPE, LEGACY, META, MODERN, Server


def test_discover_and_tools(host):
    with Server(host) as server:
        found = server.ask("server/discover")
        assert found["supportedVersions"] == [MODERN, LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"]
        assert found["capabilities"] == {"tools": {}, "resources": {}} and "untrusted" in found["instructions"]
        listed = server.ask("tools/list")
        assert [tool["name"] for tool in listed["tools"]] == ["run"]
        assert listed["ttlMs"] > 0 and listed["cacheScope"] == "private"
        arguments = listed["tools"][0]["inputSchema"]["properties"]
        assert set(arguments) == {"command", "stdin", "timeoutSeconds"}, "neither an image nor a network is open"
        assert server.ask("resources/list")["resources"] == []
        assert len(server.ask("resources/templates/list")["resourceTemplates"]) == 2
        assert server.refused("ping") == -32601 == server.refused("prompts/list")


@pytest.mark.parametrize("asked,agreed", [("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
                                          (LEGACY, LEGACY), (MODERN, LEGACY), ("2023-01-01", LEGACY), ("x", LEGACY)])
def test_initialize(host, asked, agreed):
    with Server(host, version=asked) as server:
        assert server.agreed["protocolVersion"] == agreed and server.agreed["serverInfo"]["name"] == "microagent"
        assert server.ask("ping") == {}
        assert [tool["name"] for tool in server.ask("tools/list")["tools"]] == ["run"]
        assert server.refused("server/discover") == -32601
        assert server.refused("initialize", protocolVersion=LEGACY) == -32600
        assert server.refused("resources/read", uri="microagent://run/1/stdout") == -32002
        assert server.refused("tools/list", cursor="x") == -32602


def test_envelopes(host):
    with Server(host) as server:
        answer = server.answer(server.begin("tools/list", meta={META + "protocolVersion": "2027-01-01"}))
        assert answer["error"]["code"] == -32022
        assert answer["error"]["data"]["requested"] == "2027-01-01" and MODERN in answer["error"]["data"]["supported"]
        assert server.refused("tools/list", meta={META + "clientCapabilities": None}) == -32602
        server.modern = False
        assert server.refused("tools/list") == -32602
        assert server.ask("ping") == {}
        server.modern = True
        assert server.refused("resources/read", uri="microagent://run/1/stdout") == -32602
        assert server.refused("resources/read") == -32602
        assert server.refused("tools/call", name="nonesuch") == -32602
        assert server.refused("tools/call", name="exec", arguments={}) == -32602, "there is no session"


def tools_of(host, *words):
    with Server(host, *words) as server:
        return server.listed()


def test_what_the_person_allows(host):
    host("base", "create", "web", check=0)
    (host.base / "files").mkdir()
    every = ["run", "session_create", "session_list", "session_status", "exec", "write_file", "read_file", "list_files",
             "session_destroy", "audit"]
    tools = tools_of(host, "--base", "web")
    assert list(tools) == every
    assert set(tools["session_create"]["inputSchema"]["properties"]) == {"base"}
    assert tools["session_create"]["inputSchema"]["properties"]["base"]["enum"] == ["web"]
    assert not any(tool["annotations"]["openWorldHint"] for tool in tools.values())
    tools = tools_of(host, "--base", "web", "--base", "web-v1", "--image", "busybox", "--network", "nat", "--files", host.base / "files",
                     "--memory", 512, "--cpus", 2)
    assert list(tools) == every[:8] + ["copy_in", "copy_out"] + every[8:]
    asked = tools["session_create"]["inputSchema"]["properties"]
    assert asked["base"]["enum"] == ["web", "web-v1"] and asked["network"]["enum"] == ["isolated", "nat"]
    assert (asked["memoryMiB"]["maximum"], asked["cpus"]["maximum"]) == (512, 2)
    assert tools["run"]["inputSchema"]["properties"]["image"]["enum"] == ["busybox"]
    assert {name for name, tool in tools.items() if tool["annotations"]["openWorldHint"]} == {"run", "exec", "session_create"}
    assert {name for name, tool in tools.items() if tool["annotations"]["destructiveHint"]} == {"copy_out", "session_destroy"}
    assert list(tools_of(host, "--base", "web", "--tools", "exec,run", "--tools", "audit")) == ["run", "exec", "audit"]
    for tool in tools.values():
        assert tool["inputSchema"]["additionalProperties"] is False is tool["outputSchema"]["additionalProperties"]
        assert "$ref" not in json.dumps(tool)
    for tool, why in (("copy_out", "no directory is given"), ("session_fork", "none of the bases is warm")):
        assert f"the tool {tool} cannot be offered: {why}" in refused_words(host, "--base", "web", "--tools", tool, code=1)
    host("base", "delete", "web-v1", check=0)


def test_arguments(host):
    with Server(host) as server:
        def said(**arguments):
            return server.fails("run", **arguments).removeprefix("error (invalid): ")
        assert said() == "command is required"
        assert said(command=[]) == "command must be at least 1 items long"
        assert said(command="x") == 'command must be of type array: a line for the shell is ["sh", "-c", LINE]'
        assert said(command=["x", 7]) == "command[1] must be of type string"
        assert said(command=["x"], timeoutSeconds=0) == "timeoutSeconds must be at least 1"
        assert said(command=["x"], timeoutSeconds=1.5) == "timeoutSeconds must be of type integer"
        assert said(command=["x"], network="nat") == "network is not a known argument of this tool: leave it out, or correct its name"
        assert said(command=["x"], image="/etc/passwd") == "image is not a known argument of this tool: leave it out, or correct its name"
        assert said(command=["x"], **{"\u202e\x1b": 1}) == "\\u202e\\x1b is not a known argument of this tool: leave it out, or correct its name"
        assert server.refused("tools/call", name="run", arguments=[]) == -32602
    with Server(host, "--network", "nat", "--image", "busybox") as server:
        assert said(command=["x"], network="bridged") == "network must be one of: isolated, nat"
        assert said(command=["x"], image="/etc/passwd") == "image must be one of: busybox"


def refused_words(host, *words, code=2, env=None):
    done = host("mcp", *words, input="", env=env)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stderr


def test_wrong_options(host):
    assert 'there is no tool "nope": name one of run, session_create' in refused_words(host, "--tools", "run,nope")
    for tool, why in (("exec", "neither a base nor a session is given"), ("session_create", "no base is given"),
                      ("session_fork", "no base is given"), ("copy_in", "neither a base nor a session is given")):
        assert f"the tool {tool} cannot be offered: {why}" in refused_words(host, "--tools", f"run,{tool}", code=1)
    assert "names no tool" in refused_words(host, "--tools", ",")
    assert 'must be isolated or nat, and is "bridged"' in refused_words(host, "--network", "bridged")
    assert "--allow needs --network nat" in refused_words(host, "--allow", "10.0.0.0/8")
    assert "--egress needs --network nat" in refused_words(host, "--egress", "pypi.org")
    assert "--egress: " in refused_words(host, "--network", "nat", "--egress", "https://pypi.org")
    assert "--allow 10.0.0.1/8 must be an IPv4 prefix" in refused_words(host, "--network", "nat", "--allow", "10.0.0.1/8")
    assert f"{host.base}/none: No such" in refused_words(host, "--network", "nat", "--egress-from", host.base / "none", code=1)
    assert "--image: there is no image nope in " in refused_words(host, "--image", "busybox", "--image", "nope", code=1)
    assert "nonesuch does not exist" in refused_words(host, "--files", host.base / "nonesuch", code=1)
    (host.base / "way").symlink_to(host.base / "files")
    (host.base / "files" / "below").mkdir(parents=True, exist_ok=True)
    said = refused_words(host, "--files", host.base / "way" / "below", code=1)
    assert f"a symbolic link is on the way to {host.base}/way/below, and it is not followed, because a guest could have made it" in said
    assert "--files-anyway needs --files" in refused_words(host, "--files-anyway")
    assert "there is no session" in refused_words(host, "--session", "session-2026-05-10T14-22-00Z-a7f3", code=1)
    assert 'there is no base "nonesuch"' in refused_words(host, "--base", "nonesuch", code=1)
    refused_words(host, "extra")


def test_files_of_others(host):
    """Files that are never shared with a guest are not for a model either, with the same words."""
    home = host.base / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / "link").symlink_to(home)
    host("base", "create", "web", check=0)
    env = {"HOME": str(home), "XDG_CACHE_HOME": str(host.base / "cache")}
    keys = f"{home}/.ssh is the store of keys {home}/.ssh, which is never shared: share the one directory that the task needs"
    for path, why in ((home / ".ssh", keys), (home, f"{home} is the home directory {home}")):
        said = refused_words(host, "--files", path, code=1, env=env)
        assert why in said and "--files-anyway gives it to the model with all its keys" in said
    host("list", check=0)
    for path, why in ((host.state, f"{host.state} is in the state directory {host.state}: share a directory elsewhere"),
                      ("/etc/ssl", "/etc/ssl is in /etc, and nothing in there is ever shared"), ("/", "/ is never shared"),
                      ("/proc/self", "/proc/self is"), (home / "link", "is a symbolic link: name the directory itself")):
        said = refused_words(host, "--files", path, "--files-anyway", code=1, env=env)
        assert why in said
    (home / ".microagent").mkdir()
    said = refused_words(host, "--files", home, "--files-anyway", code=1, env=env)
    assert f"{home} holds the state directory {home}/.microagent" in said
    (home / ".microagent").rmdir()
    # Files that are copied out of a machine may have a directory in the place of a link.
    project = host.base / "project"
    project.mkdir()
    (host.base / "tools").mkdir()
    (project / "bin").symlink_to(host.base / "tools")
    (host.base / "path").mkdir()
    (host.base / "path" / "bwrap").symlink_to(project / "b")
    said = refused_words(host, "--files", project, code=1, env={**env, "PATH": f"{host.base}/path:{os.environ['PATH']}"})
    assert f"{project} holds {host.base}/path/bwrap, which microagent itself runs" in said, said
    for what, more in (("where programs are looked for (PATH),", {"PATH": f"{project}/bin:{os.environ['PATH']}"}),
                       ("which microagent itself runs,", {"MICROAGENT_VIRTIOFSD": f"{project}/bin/virtiofsd"}),
                       (f"the cache directory {project}/bin", {"MICROAGENT_CACHE_DIR": f"{project}/bin"}),
                       (f"the state directory {project}/bin", {"MICROAGENT_STATE_DIR": f"{project}/bin"})):
        said = refused_words(host, "--files", project, code=1, env={**env, **more})
        assert what in said and f"is reached by the link {project}/bin, which {project} holds" in said, said
    with Server(host, "--files", project, env=env) as server:
        server.ask("server/discover")
    with Server(host, "--files", home / ".ssh", "--files-anyway", env=env, stderr=subprocess.PIPE) as server:
        server.ask("server/discover")
        assert b"warning: --files-anyway: the model can read all keys below" in server.child.stderr.readline()
    host("base", "delete", "web-v1", check=0)


# --- lines that no client would write -----------------------------------------------------------------------------------


def deep(levels):
    return b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + b"[" * levels + b"]" * levels + b"}}"


BAD = [
    (b"x", -32700), (b'{"jsonrpc":"2.0"', -32700), (b"\xff\xfe", -32700), (b'{"a":"\0"}', -32700), (b"{} {}", -32700),
    (deep(100), -32700), (deep(100000), -32700), (b'{"jsonrpc":"2.0","jsonrpc":"2.0"}', -32700), (b'{"id":1e999}', -32700),
    (b'{"id":99999999999999999999}', -32700), (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
    (b"7", -32600), (b"null", -32600), (b"{}", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600), (b'{"jsonrpc":"2.0","id":1}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}', -32602),
]


def test_bad_lines(host):
    """Each gets its error, in the order in which they came, and the server goes on."""
    with Server(host) as server:
        server.raw(b"\n".join(line for line, _ in BAD) + b"\n\n  \r\n")
        for line, code in BAD:
            error = server.wait_for(lambda m: "error" in m, f"error for {line[:60]}")
            assert error["error"]["code"] == code, (line[:60], error)
            assert error.get("id", 1) == 1
        server.raw(b'{"jsonrpc":"2.0","method":"nonesuch"}\n{"jsonrpc":"2.0","id":5,"result":{}}\n'
                   b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}\n'
                   b'{"jsonrpc":"2.0","method":"notifications/cancelled"}\n{"jsonrpc":"2.0","method":"tools/call","params":{"name":"run"}}\n')
        server.ask("server/discover")
        assert not server.messages, "nothing of that has an answer"


def test_nobody_waits_for_an_answer_in_vain(host):
    """A line that cannot be read is answered with its id, since clients accept no error without one."""
    with Server(host, version=LEGACY) as server:
        server.raw(b'{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"run","arguments":{"command":["a\\u0000b"]}}}\n'
                   b'{"jsonrpc":"2.0","id":"m","method":"a\\u0000b"}\n'
                   b'{"jsonrpc":"2.0","id":"i","method":"tools/call","params":{"name":"run","arguments":{"timeoutSeconds":9999999999999999999}}}\n')
        assert "command[0] has a NUL" in json.dumps(server.answer("n"))
        assert server.answer("m")["error"]["code"] == -32600
        assert "a number is too large" in server.answer("i")["error"]["message"]


def test_batches(host):
    """Only in 2025-03-26: a batch is split, and each request gets its own answer."""
    batch = b'[{"jsonrpc":"2.0","id":"a","method":"ping"},7,{"jsonrpc":"2.0","method":"nonesuch"},{"jsonrpc":"2.0","id":"b","method":"tools/list"}]\n'
    with Server(host, version="2025-03-26") as server:
        server.raw(batch)
        assert server.answer("a")["result"] == {} and server.answer("b")["result"]["tools"]
        assert "a message must be an object" in server.wait_for(lambda m: "error" in m, "error")["error"]["message"]
        server.ask("ping")
        assert not server.messages
    with Server(host, version="2025-06-18") as server:
        server.raw(batch)
        assert "send one message a line" in server.wait_for(lambda m: "error" in m, "error")["error"]["message"]
        server.ask("ping")
        assert not server.messages


def test_long_lines(host):
    with Server(host) as server:
        most = 8 << 20
        server.raw(b'"' + b"x" * (9 << 20) + b'"\n')
        assert server.wait_for(lambda m: "error" in m, "error")["error"]["code"] == -32600
        head = b'{"jsonrpc":"2.0","id":"' + b"i" * 100 + b'","method":"server/discover","params":{"_meta":' + json.dumps(ENVELOPE).encode() + b',"x":"'
        server.raw(head + b"x" * (most - len(head) - 3) + b'"}}\n')
        assert server.wait_for(lambda m: m.get("id") == "i" * 100, "answer")["result"]["supportedVersions"]
        for byte in b'{"jsonrpc":"2.0","id":9,"method":"ping"}\r\n':
            server.raw(bytes([byte]))
        assert server.answer(9)["error"]["code"] == -32601


def ends_within(child, seconds=30):
    began = time.monotonic()
    code = child.wait()
    assert time.monotonic() - began < seconds
    return code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals(host, number):
    server = Server(host)
    server.ask("server/discover")
    server.child.send_signal(number)
    assert ends_within(server.child) == 0


def test_end_in_the_middle_of_a_line(host):
    server = Server(host)
    server.raw(b'{"jsonrpc":"2.0","id":1,')
    assert server.end() == 0 and not server.messages and server.said == ""


def test_nobody_reads(host):
    """The reader of its output is gone, so it ends, although its input goes on."""
    child = host.popen("mcp", stdin=subprocess.PIPE)
    child.stdout.close()
    assert ends_within(child) == 0
    for stream in (child.stdin, child.stderr):
        stream.close()
    done = subprocess.run(["sh", "-c", 'exec "$0" mcp >&-', host.bin / "microagent"], env=host.env, input=b"", capture_output=True, check=False)
    assert done.returncode == 1 and b"stdout is closed" in done.stderr


def test_nobody_reads_for_now(host):
    """A client that does not read blocks the server, and no signal is lost by that."""
    child = host.popen("mcp", stdin=subprocess.PIPE)
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}).encode() + b"\n"
    os.set_blocking(child.stdin.fileno(), False)
    while select.select([], [child.stdin], [], 0.5)[1]:  # until both pipes are full
        with contextlib.suppress(BlockingIOError):
            os.write(child.stdin.fileno(), line)
    child.send_signal(signal.SIGTERM)
    assert ends_within(child) == 0
    for stream in (child.stdin, child.stdout, child.stderr):
        stream.close()
