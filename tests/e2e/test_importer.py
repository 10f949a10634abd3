# SPDX-License-Identifier: MIT
"""Tests the processes that read foreign bytes in an import: skopeo in its cell, and the process that reads archives."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import forbidden_calls
import importing
import oci
import strays
from conftest import BIN, HANG_S, wait_until
from importing import SIZE, assert_no_image, listing, simple
from oci import configuration, file, layer, sha256
from test_least_rights import status
from test_unconfined import NO_NAMESPACES, SETTING

cache = importing.cache

# A stand-in for skopeo that prints what it can reach.
PROBE = """#!/bin/bash
try() { if (eval "$2") >/dev/null 2>&1; then said="$said $1"; fi; }
try secret 'cat {base}/home/secret'
try key 'cat {base}/home/.ssh/id'
try auth 'grep -q mine {base}/home/.docker/config.json'
try auth-beside 'grep -q mine {base}/home/.config/containers/auth.json'
try registries 'cat {base}/home/.config/containers/registries.conf'
try change-auth 'echo x >>{base}/home/.docker/config.json'
try source 'cat source/index.json'
try change-source 'echo x >>source/index.json'
try beside-source 'ls {base}/layout/../home/secret'
try cache 'ls {cache}/images'
try users 'cat /etc/passwd'
try processes 'ls /proc/1'
try kill 'kill -0 {pid}'
try program 'echo x >>/usr/bin/true'
try root 'touch /x'
try beside 'touch x'
try output 'touch fetched/x'
try temporary 'touch $TMPDIR/x'
try token 'test -n "$SECRET_TOKEN"'
try network 'exec 3<>/dev/tcp/127.0.0.1/{port}'
try rights 'unshare --mount true'
try keys-of-the-host 'test -e /etc/ssl/private'
try certificates 'test -e /etc/ssl/certs'
try null 'echo x >/dev/null; test -z "$(cat /dev/null)"'
try mode-of-null 'chmod 666 /dev/null'
try mode-of-stdin 'python3 -I -S -c "import os; os.fchmod(0, 0o666)"'
try owner-of-stdin 'python3 -I -S -c "import os; os.fchown(0, 0, 0)"'
said="$said$(python3 -I -S - <<'SCRIPT'
{calls}
SCRIPT
)"
echo "level=fatal msg=\\"can:$said.\\"" >&2
exit 1
"""
ALWAYS = {"registries", "output", "temporary", "null"}
HAS_LANDLOCK = ctypes.CDLL(None).syscall(444, None, 0, 1) > 0
CERTIFICATES = {"certificates"} if Path("/etc/ssl/certs").exists() else set()


@pytest.fixture(params=["as it is", "an ordinary user"])
def home(host, cache, request):
    """Makes a home with secrets and settings; also of an ordinary user if root runs the tests."""
    home = host.base / "home"
    for name, text in ((".ssh/id", "key"), ("secret", "s"), (".docker/config.json", '{"auths":{"mine":{}}}'),
                       (".config/containers/auth.json", '{"auths":{"mine":{}}}'), (".config/containers/registries.conf", "")):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    host.env.update(HOME=str(home), SECRET_TOKEN="s")
    host.env.pop("XDG_CONFIG_HOME", None)
    if request.param != "as it is":
        if os.getuid() != 0:
            pytest.skip("whoever runs this is one")
        host.bin = host.base / "bin"
        shutil.copytree(BIN, host.bin)
        host.wrap = ["setpriv", "--reuid", "4242", "--regid", "4242", "--groups", "4242"]
    return home


def as_user(host):
    if host.wrap:
        subprocess.run(["chown", "-Rh", "4242:4242", host.base], check=True)


def stand_in(host, script):
    tools = host.base / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "skopeo").write_text(script)
    (tools / "skopeo").chmod(0o755)
    host.env["PATH"] = f"{tools}:{os.environ['PATH']}"


def reached(host, cache, ref, port):
    script = PROBE
    for name, value in (("base", host.base), ("cache", cache), ("pid", os.getpid()), ("port", port), ("calls", forbidden_calls.script())):
        script = script.replace("{" + name + "}", str(value))
    stand_in(host, script)
    as_user(host)
    answer = host.json("image", "import", *SIZE, "box", ref, check=1)
    assert answer["errorCode"] == "io" and "can: " in answer["error"], answer
    return set(answer["error"].split("can: ")[1].rstrip(".").split())


def test_what_skopeo_reaches(host, cache, home):
    """It reaches the image, or the network with the user's logins and certificates, the user's settings for registries,
    and two directories."""
    layout = simple(host, file("f", b"x"))
    with oci.registry(layout) as (address, _):
        port = address.split(":")[1]
        assert reached(host, cache, layout.path, port) == {*ALWAYS, "source"}
        assert reached(host, cache, f"docker://{address}/a/b:1", port) == {*ALWAYS, "network", "auth", "auth-beside", *CERTIFICATES}
    assert (home / ".docker" / "config.json").read_text() == '{"auths":{"mine":{}}}'
    assert_no_image(host, cache)


def test_an_image_of_another_user(host, cache):
    """root imports a file that only its owner may read; a user does not."""
    if os.getuid() != 0:
        pytest.skip("only root has images of others")
    layout = simple(host, file("f", b"x"))
    subprocess.run(["chown", "-R", "4242:4242", layout.path], check=True)
    subprocess.run(["chmod", "-R", "go=", layout.path], check=True)
    host("image", "import", *SIZE, "box", layout.path, check=0)
    assert set(listing(cache)) == {"f"}


def test_without_a_cell(host, cache):
    """Nothing is fetched, what is missing is named, and an option of the user does without."""
    layout = simple(host, file("f", b"x")).path
    bin = host.base / "bin"
    bin.mkdir()
    for program in ("skopeo", "mke2fs", "e2fsck"):
        (bin / program).symlink_to(shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin"))
    (bin / "bwrap").symlink_to("/nonexistent")

    def refused(text, **env):
        answer = host.json("image", "import", *SIZE, "box", layout, check=75, env=env)
        assert (answer["errorCode"], answer["errorReason"]) == ("unavailable", "no-cell") and text in answer["error"], answer
        assert "--unconfined" in answer["hint"]
        assert_no_image(host, cache)
        return answer["error"]

    if not any(Path(place, "bwrap").exists() for place in ("/usr/local/sbin", "/usr/sbin", "/sbin")):
        assert refused("", PATH=str(bin)) == "bwrap is not installed: apt-get install bubblewrap"
    if os.getuid() == 0:
        host.wrap = NO_NAMESPACES
        assert refused(SETTING).startswith("namespaces cannot be made here (bwrap: ")
    done = host("image", "import", *SIZE, "--unconfined", "box", layout, check=0)
    assert "skopeo runs without a cell" in done.stderr
    assert set(listing(cache)) == {"f"}


REACHING_ALONE = """#!/usr/bin/python3 -IS
import sys
sys.stdout = sys.stderr
print(end="can:")
{calls}
for path in "{secret}", "{cache}/images", "/etc/passwd", "/proc/self/status", "/tmp":
    try:
        os.listdir(path) if os.path.isdir(path) else open(path)
        print(end=" " + path)
    except OSError:
        pass
try:
    open("{secret}.new", "w")
    print(end=" new")
except OSError:
    pass
sys.exit(".")
"""


@pytest.mark.parametrize("tool", ["mke2fs", "e2fsck"])
def test_what_reaches_who_reads_a_file_system(host, cache, tool):
    """In the attack the reader connected to a socket of root, ended processes of root, and changed the modes of root's files."""
    if os.getuid() != 0:
        pytest.skip("only root has files and processes that other programs of root's must be kept from")
    secret = host.base / "secret"
    secret.write_text("s")
    secret.chmod(0o600)
    with subprocess.Popen(["sleep", "1000"]) as victim:
        calls = forbidden_calls.script((*forbidden_calls.CALLS, *forbidden_calls.alone(victim.pid, secret)))
        stand_in(host, REACHING_ALONE.format(calls=calls, secret=secret, cache=cache))
        (host.base / "tools" / "skopeo").rename(host.base / "tools" / tool)
        answer = host.json("image", "import", *SIZE, "box", simple(host, file("f", b"x")).path, check=1)
        ended = victim.poll()
        victim.kill()
    # Without Landlock the reader can open files, and the other limits hold.
    files = "" if HAS_LANDLOCK else f" {secret} {cache}/images /etc/passwd /proc/self/status /tmp new"
    assert answer["error"].endswith(f": {tool} failed with exit code 1: can:{files}."), answer
    assert ended is None and secret.stat().st_mode & 0o777 == 0o600 and not os.listxattr(secret)
    assert_no_image(host, cache)


# A stand-in for skopeo: an image whose only layer is a FIFO, which blocks its reader.
WAITING = """#!/bin/sh
case " $* " in
*" inspect "*) printf %s '{manifest}';;
*) cd fetched && printf %s '{config}' >{config_sha} && printf %s '{manifest}' >manifest.json && mkfifo {layer};;
esac
"""


def waiting_image(host):
    config = configuration([b""]).decode()
    layer_sha = "1" * 64
    manifest = {"config": {"digest": f"sha256:{sha256(config.encode())}"}, "layers": [{"digest": f"sha256:{layer_sha}"}]}
    stand_in(host, WAITING.format(config=config, config_sha=sha256(config.encode()), manifest=json.dumps(manifest), layer=layer_sha))


def child_of(pid):
    """Returns its only child, when that one has given up its rights."""
    found = []

    def confined():
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        found[:] = [child for child in children if status(child).get("Seccomp") == "2"]
        return found
    wait_until(confined, "the reader of archives")
    return int(found[0])


def test_who_reads_archives_has_no_rights(host, cache, home):
    """Seen from outside. The reader ends with the process that started it, however that ends."""
    if os.environ.get("SANITIZE"):
        pytest.skip("the sanitizers' own system calls are no business of the list")
    waiting_image(host)
    as_user(host)
    for number in (signal.SIGTERM, signal.SIGKILL):
        child = host.popen("image", "import", *SIZE, "box", "docker://localhost:1/a/b:1")
        reader = child_of(child.pid)
        facts = status(reader)
        for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(facts[kind], 16) == 0, (kind, facts[kind])
        assert facts["NoNewPrivs"] == "1"
        links = strays.descriptors(reader)
        assert links[0] == links[1] == "/dev/null" and len(links) <= 6, links
        assert sum(link.startswith("socket:") for link in links.values()) == 1, links
        os.kill(child.pid, number)
        child.communicate(timeout=HANG_S)
        wait_until(lambda: not Path(f"/proc/{reader}").exists(), "the reader's end")  # pylint: disable=cell-var-from-loop
    (host.base / "tools" / "skopeo").unlink()
    host("image", "import", *SIZE, "box", simple(host, file("f", b"x")).path, check=0)
    assert list((cache / "tmp").iterdir()) == []


@pytest.mark.parametrize("data,said", [
    (b"no archive at all", "it is not a tar archive, neither plain nor compressed by gzip, bzip2, xz or zstd"),
    (layer(file("f", b"c" * 5000))[:2000], '"f": the archive ends too early, in or after its entry 1: fetch or make it again'),
    (layer(file("f", b"c"), file("g", b"d"))[:1024] + b"x" * 512 + bytes(1024), "the archive is damaged in or after its entry 2: fetch or make it again"),
], ids=["none", "short", "damaged"])
def test_what_is_wrong_with_a_layer_is_told_in_words_of_ours(host, cache, data, said):
    layout = oci.Layout(host.base / "layout")
    layout.image([data], packed=False)
    answer = host.json("image", "import", *SIZE, "box", layout.path, check=1)
    assert (answer["errorCode"], answer["error"]) == ("invalid", f"oci:{layout.path}: layer 1 of 1: {said}")
    assert_no_image(host, cache)
