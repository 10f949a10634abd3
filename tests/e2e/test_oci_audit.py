# SPDX-License-Identifier: MIT
"""Tests the audit log of a machine of microagent-oci, while the machine exists and afterwards."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

import bundles
import schema_check
from conftest import BIN, HANG_S, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="containers of engines are root's")


@pytest.fixture
def oci(request):
    it = bundles.Runtime(Path(tempfile.mkdtemp(prefix="o-")))
    yield it
    it.close(not getattr(request.node, "failed", False))


def audit(oci, *words):
    return subprocess.run([str(BIN / "microagent"), "--state-dir", str(oci.root / ".machines"), "--json", "audit", *words],
                          capture_output=True, text=True, timeout=HANG_S, check=False)


def lines(oci, name):
    found = [json.loads(line) for line in audit(oci, "show", name).stdout.splitlines()]
    for line in found:
        schema_check.validate("audit-line", line)
    return found


def verdict(oci, name):
    answer = json.loads(audit(oci, "verify", name).stdout)
    schema_check.validate("cli-audit-verify", answer)
    return answer


def of_event(found, event):
    return [line["data"] for line in found if line["event"] == event]


def test_the_trail_of_a_pod(oci):
    pid = oci.started("sleep", "1000", name="pod", annotations=bundles.of_pod("sandbox"))
    volume = oci.base / "volume"
    volume.mkdir()
    mounts = [*bundles.config()["mounts"], {"destination": "/data", "type": "bind", "source": str(volume), "options": ["bind", "ro"]}]
    oci.started("sleep", "1000", name="second", annotations=bundles.of_pod("container"), linux=bundles.in_pod(pid), mounts=mounts)
    machine = oci.state("pod")["machine"]
    assert oci.state("second")["machine"] == machine
    oci("exec", "second", "echo", "a word", check=0)
    oci("delete", "--force", "second", check=0)

    made = of_event(lines(oci, machine), "container.created")
    assert [data["container"] for data in made] == ["pod", "second"]
    assert made[1]["args"] == ["sleep", "1000"] and made[1]["rootfs"] == str(oci.base / "b2/rootfs")
    assert made[1]["volumes"] == [{"source": str(volume), "destination": "/data", "readOnly": True}]
    started = of_event(lines(oci, machine), "exec.started")
    assert [data["argv"] for data in started] == [["sleep", "1000"], ["sleep", "1000"], ["echo", "a word"]]
    assert of_event(lines(oci, machine), "container.deleted") == [{"container": "second"}]
    assert of_event(lines(oci, machine), "audit.coverage")
    answer = verdict(oci, machine)
    assert answer["verdict"] == "open" and answer["telemetry"]["verdict"] == "none"


    oci("delete", "--force", "pod", check=0)
    answer = verdict(oci, machine)
    assert answer["verdict"] == "closed" and answer["where"] == "archive" and answer["confirmed"] == answer["lines"]
    kept = Path(answer["path"]).parent
    assert kept == oci.root / ".machines/archive" / machine
    assert json.loads((kept / "sandbox.json").read_text()) == {"id": "pod", "root": str(oci.root)}


def test_one_id_again_and_again(oci):
    """Each machine has a log of its own, also if its container has the name of an earlier one."""
    for _ in range(2):
        oci.run("true")
    names = [log["session"] for log in json.loads(audit(oci, "list").stdout)["audits"]]
    assert len(names) == 2 and all(verdict(oci, name)["verdict"] == "closed" for name in names)


def test_what_a_machine_met(oci):
    oci.started("sleep", "1000")
    machine = oci.state()["machine"]
    oci("quarantine", "c", check=0)
    assert of_event(lines(oci, machine), "session.quarantined")
    oci("delete", "--force", "c", check=0)
    log = oci.root / ".machines/archive" / machine / "audit.log"
    log.write_text(log.read_text().replace("session.quarantined", "session.quarantineD"))
    assert verdict(oci, machine)["verdict"] == "broken"


def test_what_is_kept_is_bounded(oci):
    """The root is usually in memory. The digests say that logs were removed on purpose. The digests of days without a
    log are removed too."""
    oci.run("true")
    machines = oci.root / ".machines"
    first = json.loads(audit(oci, "list").stdout)["audits"][0]["session"]
    for i in range(256):
        (machines / "archive" / f"sandbox-2020-01-01T00-{i // 60:02}-{i % 60:02}Z-{i:08x}").mkdir()
    (machines / "logs/security-2019-12-31.log").write_text("")
    (machines / "logs/security-2020-01-01.log").write_text("")
    oci.run("true")
    left = sorted(path.name for path in (machines / "archive").iterdir())
    assert len(left) == 256 and first in left and left[0].endswith("00000002"), left[:3]
    assert sorted(path.name for path in (machines / "logs").iterdir())[0] == "security-2020-01-01.log"
    gone = audit(oci, "verify", "sandbox-2020-01-01T00-00-00Z-00000000")
    assert gone.returncode == 1 and "was removed, as the security log says" in gone.stderr + gone.stdout


def test_no_container_without_a_line(oci):
    """If the supervisor cannot be told, the container is not made."""
    pid = oci.started("sleep", "1000", name="pod", annotations=bundles.of_pod("sandbox"))
    socket = oci.root / ".machines/sessions" / f"{oci.state('pod')['machine']}.bundle" / "control.sock"
    wait_until(socket.exists, "the control socket")
    socket.rename(socket.with_suffix(".away"))
    done = oci("create", "--bundle", oci.bundle("true", annotations=bundles.of_pod("container"), linux=bundles.in_pod(pid)), "second")
    assert done.returncode == 1 and "audit log" in oci.last_error(), oci.last_error()
    assert json.loads(oci("list", "--format", "json", check=0).stdout)[0]["id"] == "pod"
    socket.with_suffix(".away").rename(socket)
    oci("delete", "--force", "pod", check=0)
