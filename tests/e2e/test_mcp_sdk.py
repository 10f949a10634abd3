# SPDX-License-Identifier: MIT
"""Tests `microagent mcp` by the official SDK, in both eras: an AI agent's work from its session to the audit log. The
test is skipped, with the reason, if this host has not the SDK's packages or a node that runs them."""

import json
import os
import shutil
import subprocess

import pytest

from conftest import BACKEND, BUILD, HANG_S, ROOT

pytestmark = pytest.mark.skipif(BACKEND != "qemu", reason="no other backend saves machines, to fork them")
CLIENT = BUILD / "mcp-client"


@pytest.fixture(scope="module")
def sdk():
    done = subprocess.run([ROOT / "scripts/fetch-mcp-client.sh", CLIENT], capture_output=True, text=True, check=False, timeout=HANG_S)
    if done.returncode:
        pytest.skip(done.stderr.strip())
    shutil.copy(ROOT / "tests/e2e/mcp/agent.mjs", CLIENT)
    return CLIENT / "agent.mjs"


@pytest.mark.parametrize("era,version", [("modern", "2026-07-28"), ("legacy", "2025-11-25")])
def test_an_agent(web, sdk, era, version):
    files = web.base / f"files-{era}"
    (files / "src").mkdir(parents=True)
    (files / "src" / "main.in").write_text("echo hello, NAME\n")
    words = [str(web.bin / "microagent"), "mcp", "--base", "web", "--files", str(files), "--max-sessions", "2"]
    done = subprocess.run(["node", sdk, era, *words], env={**os.environ, **web.env}, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["era"], found["version"], found["errors"]) == (era, version, [])
    assert found["tools"][:2] == ["run", "session_create"] and {"copy_in", "session_fork"} <= set(found["tools"])
    assert found["built"] == "built\n" and found["said"] == found["forked"] == "hello, world\n"
    assert found["progress"] == [1]
    assert found["read"] == (files / "hello").read_text() == "#!/bin/sh\necho hello, world\n"
    assert {"hello", "src", "build.sh"} <= set(found["listed"])
    assert found["part"] == "".join(f"{i}\n" for i in range(1, 20001))[40000:40012]
    assert (found["resources"], found["templates"], found["cancelled"], found["left"]) == (1, 2, "cancelled", 0)
    assert found["audit"][0] == "audit.opened" and {"exec.finished", "session.forked", "session.destroyed"} <= set(found["audit"])
    assert found["unknown"] == -32602 and found["wrong"] is True
    assert not web.json("session", "list")["sessions"]
