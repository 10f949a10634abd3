# SPDX-License-Identifier: MIT
"""Tests bases that are provisioned: one boot of an image, its script and its staged files, its user, and the end of the boot."""

import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

import schema_check
from conftest import ROOT, default_kernel, image, make_host, wait_until
from oci import ARCHITECTURE, Layout, busybox, directory, file, layer

RECIPES = ROOT / "images" / "recipes"
# Prints, as the user who runs it, which files of the root file system that user can write or owns.
WRITABLE = (r"find / -xdev \( -path /workspace -o -path /tmp -o -path /home/agent \) -prune -o "
            r"! -type l \( -writable -o -user agent \) -print 2>/dev/null; true")
# The same for a find that does not know -writable.
WRITABLE_BUSYBOX = (r"find / -xdev \( -path /workspace -o -path /tmp -o -path /home/agent \) -prune -o "
                    r"! -type l -print 2>/dev/null | while read -r f; do [ ! -w \"$f\" ] || echo \"$f\"; done")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def script(host, text, name="script.sh"):
    path = host.base / name
    path.write_text(text)
    return path


def provision(host, name, *words, check=None):
    return host("base", "create", name, "--network", "isolated", *words, check=check)


def bundle(host, name):
    return host.state / "bases" / f"{name}.bundle"


def nothing_made(host):
    return not (host.state / "bases").exists() or not any((host.state / "bases").iterdir())


def log_of(host, stderr):
    """Returns the log that the error names, which is the only one."""
    path = Path(re.search(r"the log is (/\S+)", stderr)[1])
    assert list((host.state / "logs").iterdir()) == [path]
    assert re.fullmatch(r"base-web-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.log", path.name)
    return path.read_text()


@pytest.fixture(scope="module")
def made():
    """A host with one provisioned base, `web-v1`, and the output of the command."""
    base = Path(tempfile.mkdtemp(prefix="e-"))
    host = make_host(base)
    try:
        (base / "one").mkdir()
        (base / "one" / "data.txt").write_text("staged\n")
        (base / "tool").write_text("#!/bin/sh\necho tool\n")
        (base / "tool").chmod(0o755)
        host.script = script(host, """
echo "### who and where"
id -u; pwd; ls "$MICROAGENT_STAGE"; cat data.txt; ./tool
df -m / | awk 'END { print "disk", $2 }'
echo "### what lies about"
touch /opt/his /opt/suid; chown agent /opt/his /opt/suid; chmod 4755 /opt/suid
mkdir -p /srv/open; chmod 777 /srv/open
touch /srv/group; chgrp agent /srv/group; chmod 664 /srv/group
touch "/srv/new
==> line"; chmod 666 /srv/new*
mkdir -p /home/agent/.config; chown agent /home/agent/.config
rm -rf /workspace
echo to stderr >&2
printf 'bar 1\\rbar 2\\nno newline \\033[2J'
""")
        host.said = provision(host, "web", "--provision", host.script, "--stage", base / "one" / "data.txt",
                              "--stage", base / "tool", "--memory", 300, check=0)
        yield host
        for session in host.json("session", "list")["sessions"]:
            host("session", "destroy", session["name"], check=0)
        host("base", "delete", "web-v1", check=0)
        host.assert_clean()
    finally:
        host.sweep()
        shutil.rmtree(base, ignore_errors=True)


def test_what_is_recorded(made):
    base = made.json("base", "show", "web")
    metadata = json.loads((bundle(made, "web-v1") / "metadata.json").read_text())
    schema_check.validate("base", metadata)
    assert {p.name: p.stat().st_mode & 0o777 for p in bundle(made, "web-v1").iterdir()} == {
        name: 0o444 for name in ("disk.img", "overlay.qcow2", "metadata.json", "provision.log")}
    assert base["memoryMiB"] == 300 and base["source"]["digest"] == "sha256:" + image(made, "busybox")["sha256"]
    assert base["provisioning"] == {
        "script": {"name": "script.sh", "sha256": sha256(made.script.read_bytes())},
        "staged": [{"name": "data.txt", "sha256": sha256(b"staged\n"), "bytes": 7},
                   {"name": "tool", "sha256": sha256(b"#!/bin/sh\necho tool\n"), "bytes": 20}],
        "seconds": base["provisioning"]["seconds"]}
    assert base["provisioning"]["seconds"] > 0
    # The disk has the image's 256 MiB and a GiB. The file system is as large, whole and at rest.
    assert base["disk"]["bytes"] == (256 + 1024) << 20
    assert base["disk"]["allocatedBytes"] < 64 << 20
    disk = bundle(made, "web-v1") / "disk.img"
    subprocess.run(["e2fsck", "-fn", disk], check=True, capture_output=True)
    header = subprocess.run(["dumpe2fs", "-h", disk], check=True, capture_output=True, text=True).stdout
    assert int(re.search(r"Block count:\s+(\d+)", header)[1]) * 4096 == base["disk"]["bytes"]
    assert "needs_recovery" not in header
    assert [c["ok"] for c in made.json("base", "verify", "web")["checks"]] == [True] * 5


def test_what_is_shown(made):
    """All output is on stderr, line by line, and in the log. Nothing of it moves a cursor."""
    lines = made.said.stderr.splitlines()
    log = (bundle(made, "web-v1") / "provision.log").read_text(errors="replace").splitlines()
    for line in ("==> growing its file system to the disk", "==> staging 2 files", "==> running script.sh",
                 "### who and where", "0", "/run/microagent-stage", "data.txt", "staged", "tool",
                 "### what lies about", "to stderr", "==> switching the machine off"):
        assert line in lines and line in log, line
    assert "bar 2" in lines and "bar 1\rbar 2" in (bundle(made, "web-v1") / "provision.log").read_bytes().decode()
    assert "no newline ?[2J" in lines
    assert lines.index("==> running script.sh") < lines.index("### who and where") < lines.index("### what lies about")
    assert int(next(line for line in lines if line.startswith("disk ")).split()[1]) > 1200
    for path in ("/var/tmp", "/opt/his", "/opt/suid", "/srv/open", "/srv/group"):
        assert path in log  # the right was taken from the user
    assert "/srv/new?==> line" in log and "/srv/new?==> line" in lines and "==> line" not in lines
    assert made.said.stdout.startswith("web-v1: sealed")


def test_its_sessions(made):
    """The user can write to /workspace, /tmp and his home, and to nothing else of the disk."""
    name = made.json("session", "create", "--base", "web", "--network", "isolated")["name"]

    def run(command, *words, code=0):
        return made("session", "exec", *words, name, "--", "sh", "-c", command, check=code).stdout

    assert run("id -un; id -u; id -Gn; echo $HOME") == "agent\n1000\nagent\n/home/agent\n"
    assert run(WRITABLE_BUSYBOX.replace('\\"', '"')) == ""
    run("touch /workspace/a /tmp/b ~/c ~/.config/d /var/tmp/e && test -f /tmp/e")
    for path in ("/etc/x", "/usr/x", "/opt/x", "/srv/open/x", "/root/x", "/x", "/home/x", "/var/lib/x"):
        run(f"touch {path} 2>/dev/null && exit 1 || exit 0")
    run("echo x >>/srv/group", code=1)
    assert run("stat -c '%U %a' /opt/his /opt/suid", "--user", "root") == "root 644\nroot 755\n"
    assert run("ls /run/microagent-stage /run/microagent-provision 2>&1 | wc -l") == "2\n"  # nowhere
    assert int(run("df -m / | awk 'END { print $2 }'")) > 1200
    made("session", "destroy", name, check=0)


# Stand-ins, since a test fetches nothing. npm unpacks its argument and links its program.
NODE = "#!/bin/sh\necho v22.0.0\n"
NPM = """#!/bin/sh
[ "$1" = install ] || { echo 10.0.0; exit; }
for file in "$@"; do
	case "$file" in *.tgz)
		mkdir -p /usr/local/lib/node_modules/runtime
		tar -C /usr/local/lib/node_modules/runtime --strip-components=1 -xzf "$file"
		ln -s ../lib/node_modules/runtime/cli.sh /usr/local/bin/runtime
	esac
done
"""


def archive(path, members):
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.uid, info.gid = len(text), 0o755, 1000, 1000
            tar.addfile(info, io.BytesIO(text.encode()))
    return path


def test_debian_with_an_agent_runtime(host, debian_image):
    node = archive(host.base / "node-v22.0.0-linux-x64.tar.gz", {
        "node-v22.0.0-linux-x64/bin/node": NODE, "node-v22.0.0-linux-x64/bin/npm": NPM})
    runtime = archive(host.base / "runtime-1.0.0.tgz", {
        "package/package.json": json.dumps({"name": "runtime", "version": "1.0.0", "bin": "cli.sh"}),
        "package/cli.sh": "#!/bin/sh\necho runtime for \"$(id -un)\"\n"})
    provision(host, "agent", "--image", "debian", "--provision", RECIPES / "npm-agent.sh", "--stage", node, "--stage",
              runtime, check=0)
    base = host.json("base", "show", "agent")
    assert base["disk"]["bytes"] == 4 << 30  # the image's own size: no more by default
    subprocess.run(["e2fsck", "-fn", bundle(host, "agent-v1") / "disk.img"], check=True, capture_output=True)
    name = host.json("session", "create", "--base", "agent", "--network", "isolated")["name"]
    assert host("session", "exec", name, "--", "runtime", check=0).stdout == "runtime for agent\n"
    assert host("session", "exec", name, "--", "sh", "-c", WRITABLE, check=0).stdout == ""
    host("session", "destroy", name, check=0)
    host("base", "delete", "agent-v1", check=0)


def wheel(path):
    """Makes a package with a command, as `pip wheel` does."""
    info = "runtime-1.0.dist-info"
    files = {"runtime.py": "import getpass\n\n\ndef main():\n    print('python runtime for', getpass.getuser())\n",
             f"{info}/METADATA": "Metadata-Version: 2.1\nName: runtime\nVersion: 1.0\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             f"{info}/entry_points.txt": "[console_scripts]\nruntime = runtime:main\n"}
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as whole:
        for name, text in files.items():
            whole.writestr(name, text)
    return path


def test_debian_with_an_agent_of_python(host, debian_image):
    """The base is made of staged files only, without any network."""
    pip = next(Path("/usr/share/python-wheels").glob("pip-*.whl"))
    recipe = ("--image", "debian", "--provision", RECIPES / "python-agent.sh")
    assert "stage a wheel, or a file python-packages" in provision(host, "none", *recipe, "--stage", pip, check=1).stderr
    provision(host, "agent", *recipe, "--stage", pip, "--stage", wheel(host.base / "runtime-1.0-py3-none-any.whl"), check=0)
    name = host.json("session", "create", "--base", "agent", "--network", "isolated")["name"]
    assert host("session", "exec", name, "--", "runtime", check=0).stdout == "python runtime for agent\n"
    assert host("session", "exec", name, "--", "sh", "-c", WRITABLE, check=0).stdout == ""
    host("session", "destroy", name, check=0)
    host("base", "delete", "agent-v1", check=0)


def test_from_oci(host):
    """The image has only a user of its own and is in no cache. It is imported and made a base, whose name is none of the cache."""
    cache = host.base / "cache"
    cache.mkdir()
    (cache / "kernels").symlink_to(Path(default_kernel(host)["path"]).parent)
    host.env["MICROAGENT_CACHE_DIR"] = str(cache)
    layout = Layout(host.base / "layout")
    digest = layout.image(
        [layer(*busybox("sh", "id", "cat", "touch", "stat", "find"), directory("etc"), directory("srv", mode=0o777),
               file("etc/passwd", b"root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n"))],
        {"Env": ["PATH=/bin", "COLOUR=teal"], "Entrypoint": ["/bin/sh"], "Cmd": ["-c", "exit 9"], "WorkingDir": "/srv"})
    archive = layout.archive(host.base / "image.tar")
    said = provision(host, "OCI-arm64", "--from-oci", archive, "--size", 200, "--provision",
                     script(host, "echo \"$COLOUR\" >/etc/colour\n"), check=0).stderr.splitlines()
    assert said.index(f"==> importing {archive}") < said.index("==> running script.sh")
    base = host.json("base", "show", "OCI-arm64")
    assert base["source"] == {"kind": "oci", "ref": f"oci-archive:{archive}", "digest": f"sha256:{digest}"}
    assert (base["entrypoint"], base["cmd"], base["cwd"]) == (["/bin/sh"], ["-c", "exit 9"], "/srv")
    assert base["env"] == {"PATH": "/bin", "COLOUR": "teal"} and base["disk"]["bytes"] == 200 << 20
    assert [i["name"] for i in host.json("image", "list")["images"]] == ["oci-arm64-base" + "-arm64" * (ARCHITECTURE == "arm64")]
    name = host.json("session", "create", "--base", "OCI-arm64", "--network", "isolated")["name"]
    said = host("session", "exec", name, "--", "sh", "-c",
                "id -un; echo $HOME $COLOUR; cat /etc/colour; touch /workspace/a /tmp/b ~/c; touch /srv/d", check=1)
    assert said.stdout == "agent\n/home/agent teal\nteal\n"
    host("session", "destroy", name, check=0)
    host("base", "delete", "OCI-arm64-v1", check=0)
    (layout.blobs / digest).write_bytes(b"{}")
    for ref, text in ((layout.path, f"{layout.path}: "), (host.base / "nowhere", "nowhere")):
        assert text in provision(host, "web", "--from-oci", ref, check=1).stderr
    assert "a base is made of one image, but image \"busybox\" and " in provision(host, "web", "--image", "busybox", "--from-oci", archive, check=1).stderr
    assert nothing_made(host)


def test_a_script_that_fails(host):
    """The script's #! is obeyed: this is no shell script. A long line is split, and if there is much output the log
    keeps the beginning."""
    text = """#!/usr/bin/awk -f
BEGIN {
    print "### doing it"
    for (i = 0; i < 400; i++)
        print "0123456789"
    for (i = 0; i < 300; i++)
        printf "x"
    exit 7
}
"""
    child = host.popen("base", "create", "web", "--network", "isolated", "--provision", script(host, text, "try.awk"),
                       "--size", 300, env={"MICROAGENT_TEST_LIMIT_PROVISION_LOG_BYTES": "2000",
                                           "MICROAGENT_TEST_LIMIT_PROVISION_LINE_BYTES": "100"})
    out, err = (end.decode() for end in child.communicate())
    assert (child.returncode, out) == (1, "")
    assert 'no base was made: try.awk ended with exit code 7 in its step "doing it"; the log is ' in err
    assert err.count("0123456789\n") == 400 and err.count("\n" + "x" * 100) == 3
    log = log_of(host, err)
    assert "### doing it\n0123456789\n" in log and len(log) < 2200
    assert log.endswith("(more was said; the log ends here)\n")
    assert nothing_made(host) and not host.processes()


def test_a_machine_that_ends_early(host):
    # Output on its way is lost when the machine ends. It is less than the bytes behind the first line.
    line = "echo before; yes | head -c 2000000; poweroff -f; sleep 100\n"
    done = provision(host, "web", "--provision", script(host, line))
    assert done.returncode == 1 and "no base was made: the machine that makes the base ended: the guest switched itself off" in done.stderr
    assert "before\n" in log_of(host, done.stderr)
    assert nothing_made(host) and not host.processes()


def waiting(host, name="web"):
    """Starts a provisioning whose script does not end."""
    child = host.popen("base", "create", name, "--network", "isolated", "--provision",
                       script(host, "echo '### waiting'; sleep 1000\n"))
    for line in child.stderr:
        if line == b"### waiting\n":
            return child
    raise AssertionError("it ended")


def test_killed_in_the_middle(host):
    """The machine ends with its maker. The next provisioning removes what is left."""
    child = waiting(host)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    wait_until(lambda: not host.processes(), "the end of the machine")
    left = [p.name for p in (host.state / "bases").iterdir()]
    assert len(left) == 1 and left[0].startswith(".making-") and host.json("base", "list") == {"bases": []}
    assert host.json("base", "create", "web")["name"] == "web-v1"
    assert [p.name for p in (host.state / "bases").iterdir()] == ["web-v1.bundle"]
    host("base", "delete", "web-v1", check=0)


def test_interrupted(host):
    child = waiting(host)
    child.send_signal(signal.SIGINT)
    _, rest = child.communicate(timeout=60)
    assert child.returncode == 130 and b"cancelled; the log is " in rest
    assert "### waiting" in log_of(host, rest.decode())
    assert nothing_made(host) and not host.processes()


def test_refusals(host):
    """Refused before anything is booted; nothing stays."""
    directory, twin = host.base / "dir", host.base / "dir" / "script.sh"
    directory.mkdir()
    path = script(host, "true\n")
    twin.write_text("")
    fifo = host.base / "fifo"
    os.mkfifo(fifo)
    for words, text, code in (
            (("--provision", host.base / "none"), "none: No such file", 1),
            (("--provision", directory), "is a directory", 1),
            (("--stage", directory), "pack it into a tar archive", 1),
            (("--stage", fifo), "is not a regular file", 1),
            (("--stage", path, "--stage", twin), "another file called script.sh is staged already", 1),
            (("--size", "255"), "a disk of 255 MiB is too small: image", 2),
            (("--image", path, "--size", "300"), "is not a raw ext4 file system", 1),
            (("--network", "nowhere", "--size", "300"), "nowhere", 2)):
        words = words if "--network" in words else (*words, "--network", "isolated")
        done = host("base", "create", "web", *words)
        assert done.returncode == code and text in done.stderr, (words, done.stderr)
        assert nothing_made(host), words
    done = host("base", "create", "web", "--network", "isolated")
    assert done.returncode == 2 and "no machine is booted without --provision" in done.stderr
