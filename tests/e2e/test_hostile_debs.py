# SPDX-License-Identifier: MIT
"""Tests what the maker of a kernel's package, or of a kernel, can reach on the host that installs it: nothing."""

import bz2
import gzip
import hashlib
import json
import lzma
import os
import shutil
import signal
import socket
import subprocess
import tarfile
from pathlib import Path

import pytest

import forbidden_calls
import hostile_debs
from conftest import HANG_S, wait_until
from hostile_debs import NAME, RELEASE, VERSION, boot, builtin, bzimage, deb, order, tree
from oci import directory, file, hardlink, layer, symlink
from test_importer import stand_in
from test_unconfined import NO_NAMESPACES, SETTING

SECRET = b"of root alone " * 100
AMD64 = pytest.mark.skipif(hostile_debs.ARCHITECTURE != "amd64", reason="kernels of arm64 are not packed so")


@pytest.fixture
def cache(host):
    path = host.base / "cache"
    host.env["MICROAGENT_CACHE_DIR"] = str(path)
    return path


@pytest.fixture
def secret(host):
    path = host.base / "secret"
    path.write_bytes(SECRET)
    path.chmod(0o600)
    return path


def assert_nothing_of_it(cache):
    """Requires no entry and nothing half-made."""
    for part in ("kernels", "tmp", "build"):
        assert not (cache / part).exists() or not list((cache / part).iterdir()), part


def refused(host, cache, path, said, code="invalid", command="install"):
    answer = host.json("kernel", command, "--from", path, check=1)
    assert (answer["errorCode"], answer["error"]) == (code, said), answer
    assert_nothing_of_it(cache)


def installed(host, cache, path, *words):
    """Returns the record of its entry."""
    assert host.json("kernel", "install", *words, "--from", path)["name"] == NAME
    assert list((cache / "tmp").iterdir()) == []
    return json.loads((cache / "kernels" / f"{NAME}.json").read_text())


def of_package(rest):
    return f"kernel linux-image-{RELEASE}: {rest}"


@pytest.mark.parametrize("end,pack", [("", lambda d: d), (".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress),
                                      (".zst", lambda d: subprocess.run(["zstd", "-c"], input=d, capture_output=True, check=True).stdout)])
def test_a_package_is_taken_however_it_is_compressed(host, cache, end, pack):
    path = deb(host.base / "k.deb", boot(), builtin(), pack=pack, end=end)
    record = installed(host, cache, path)
    assert record["release"] == RELEASE and record["packageSha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert host.json("kernel", "verify", NAME)["ok"]


@pytest.mark.parametrize("link", [symlink, hardlink])
def test_a_link_in_the_place_of_a_module(host, cache, secret, link):
    """The attack put a file of root into the initrd of every guest of that kernel."""
    path = deb(host.base / "k.deb", boot(), builtin("virtio_pci"), order("virtio_pci"), link(f"./lib/modules/{RELEASE}/kernel/virtio_pci.ko", str(secret)))
    refused(host, cache, path, of_package(f"modules of kernel {RELEASE}: this kernel does not have the module virtio_pci, which a guest needs: choose a kernel of Debian's, or build one"), "not-found")


@pytest.mark.parametrize("name", ["lib", "lib/modules", f"lib/modules/{RELEASE}", f"usr/lib/modules/{RELEASE}"])
def test_a_link_in_the_place_of_the_modules(host, cache, name):
    """In the attack, depmod as root replaced ten files of the directory to which the link led."""
    victim = host.base / "victim"
    below = victim / f"lib/modules/{RELEASE}"[len(name.removeprefix("usr/")):].lstrip("/")
    below.mkdir(parents=True, exist_ok=True)
    (below / "modules.builtin").write_bytes(builtin()[1])
    (below / "modules.dep").write_text("the host's")
    before = tree(victim)
    path = deb(host.base / "k.deb", boot(), symlink(name, str(victim)))
    answer = host.json("kernel", "install", "--from", path, check=1)
    assert answer["error"].startswith(of_package(f"modules of kernel {RELEASE}: depmod failed with exit code 1: ")), answer
    assert_nothing_of_it(cache)
    assert tree(victim) == before and (below / "modules.dep").read_text() == "the host's"


def test_a_link_in_the_place_of_the_kernel(host, cache):
    """The attack made a file of the host the kernel of guests."""
    victim = host.base / "victim"
    victim.mkdir()
    (victim / f"vmlinuz-{RELEASE}").write_bytes(hostile_debs.kernel() + SECRET)
    said = of_package("the package has no file boot/vmlinuz-*, so it is not the package of a kernel: give a package like linux-image-6.1.0-1-amd64")
    for entry in (symlink("boot", str(victim)), symlink(f"boot/vmlinuz-{RELEASE}", str(victim / f"vmlinuz-{RELEASE}")),
                  hardlink(f"boot/vmlinuz-{RELEASE}", str(victim / f"vmlinuz-{RELEASE}")), file(f"boot/vmlinuz-{RELEASE}", kind=tarfile.FIFOTYPE)):
        refused(host, cache, deb(host.base / "k.deb", entry, builtin()), said)


@pytest.mark.parametrize("entries,said", [
    ([file("./lib/modules/../../../outside", b"x")], '"./lib/modules/../../../outside": the path leads out of the package, or is too long: the package is damaged, or is made to attack its reader'),
    ([boot(), file(f"usr/boot/vmlinuz-{RELEASE}", b"x")], f'"usr/boot/vmlinuz-{RELEASE}": the package has two different files at this path: it is damaged, or is made to attack its reader'),
    ([boot(), file(f"boot/vmlinuz-{RELEASE}/below", b"x")], f'"boot/vmlinuz-{RELEASE}/below": the package has two different files at this path: it is damaged, or is made to attack its reader'),
])
def test_names_that_lead_elsewhere(host, cache, entries, said):
    path = deb(host.base / "k.deb", *entries)
    refused(host, cache, path, of_package(f"{path}: {said}"))


@pytest.mark.parametrize("release", ["-b", ".hidden", "a b", "\033[2J", "x" * 200])
def test_a_release_is_a_plain_name(host, cache, release):
    """The name is a word of depmod's, a directory, and a line that people read."""
    path = deb(host.base / "k.deb", file(f"boot/vmlinuz-{release}", hostile_debs.kernel()))
    refused(host, cache, path, of_package(f"the package's kernel boot/vmlinuz-{release} does not end with a plain release, as boot/vmlinuz-6.1.0-1-amd64 does: give another package"))
    assert "\033" not in host("kernel", "install", "--from", path, check=1).stderr


def test_what_it_unpacks_to_is_bounded(host, cache):
    path = deb(host.base / "k.deb", boot(), builtin(), *(file(f"lib/modules/{RELEASE}/{i}", bytes(1 << 20)) for i in range(8)), pack=gzip.compress, end=".gz")
    most = "which is the most that microagent unpacks: give an archive with"
    for limit, value, said in (
        ("BYTES", 4 << 20, f"the files of the archive would take more than 4194304 bytes on a disk, {most} less in it"),
        ("FILES", 4, f"the archive has more than 4 files, {most} fewer files"),
    ):
        host.env[f"MICROAGENT_TEST_LIMIT_PACKAGE_{limit}"] = str(value)
        answer = host.json("kernel", "install", "--from", path, check=1)
        assert answer["errorCode"] == "invalid" and answer["error"].endswith(said), answer
        assert_nothing_of_it(cache)
        del host.env[f"MICROAGENT_TEST_LIMIT_PACKAGE_{limit}"]


def test_what_is_no_package(host, cache):
    whole = deb(host.base / "k.deb", boot(), builtin()).read_bytes()
    path = host.base / "wrong.deb"
    for data, said in ((b"", "the file is not a Debian package: give a .deb file"), (whole[:8], "the file is not a Debian package, because it has no control.tar: give a .deb file"),
                       (b"!<arch>\n" + hostile_debs.member("control.tar", b"no archive"), "control.tar: it is not a tar archive, neither plain nor "
                        "compressed by gzip, bzip2, xz or zstd"), (whole.replace(b"Package: ", b"Packets: "), "fetch the package again, because its description is damaged: it has no line Package: ")):
        path.write_bytes(data)
        for command in ("install", "build"):
            answer = host.json("kernel", command, "--from", path, check=1)
            assert answer["error"].endswith(f"{path}: {said}"), answer
            assert_nothing_of_it(cache)
    path.write_bytes(whole[:whole.index(b"data.tar")])
    refused(host, cache, path, of_package(f"{path}: the file is not a Debian package, because it has no data.tar: give a .deb file"))


# Stand-ins for depmod, make and strip. Each prints what it can reach.
PROBE = """#!/bin/bash
try() {{ if (eval "$2") >/dev/null 2>&1; then said="$said $1"; fi; }}
try secret 'cat {base}/secret'
try users 'cat /etc/passwd'
try registries 'cat {base}/.config/containers/registries.conf'
try cache 'ls {base}/cache'
try processes 'ls /proc/1'
try kill 'kill -0 {pid}'
try program 'echo x >>/usr/bin/true'
try root 'touch /x'
try tree 'touch {tree}/x'
try temporary 'touch $TMPDIR/x'
try token 'test -n "$SECRET_TOKEN"'
try network 'exec 3<>/dev/tcp/127.0.0.1/{port}'
try rights 'unshare --mount true'
try owner 'chown 4242 {tree}/x'
try descriptors 'for fd in 3 4 5 6 7 8 9; do if {{ : >&$fd; }}; then exit 0; fi; done; exit 1'
try keys-of-the-host 'test -e /etc/ssl/private || test -e /etc/docker || test -e /etc/containers || test -e /etc/hosts'
said="$said$(python3 -I -S - <<'SCRIPT'
CALLS
SCRIPT
)"
echo "can:$said." >&2
exit 1
"""


@pytest.fixture
def port():
    """A socket of the loopback, where somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def probe(host, tool, tree_of, port):
    (host.base / ".config" / "containers").mkdir(parents=True)
    (host.base / ".config" / "containers" / "registries.conf").write_text("")
    host.env.update(HOME=str(host.base), SECRET_TOKEN="s")
    script = PROBE.format(base=host.base, pid=os.getpid(), tree=tree_of, port=port)
    stand_in(host, script.replace("CALLS", forbidden_calls.script()))
    (host.base / "tools" / "skopeo").rename(host.base / "tools" / tool)


def test_what_depmod_reaches(host, cache, secret, port):
    """The tree that it works on, and room for temporary files."""
    probe(host, "depmod", "root", port)
    answer = host.json("kernel", "install", "--from", deb(host.base / "k.deb", boot(), builtin()), check=1)
    assert answer["error"] == of_package(f"modules of kernel {RELEASE}: depmod failed with exit code 1: can: tree temporary."), answer
    assert_nothing_of_it(cache)
    assert secret.exists()


def test_what_depmod_leaves_leads_nowhere(host, cache, secret):
    """A depmod that was taken over by a module puts links where its files are looked for."""
    for script in (f"ln -s {secret} root/lib/modules/{RELEASE}/modules.dep",
                   f"echo kernel/virtio_pci.ko: >root/lib/modules/{RELEASE}/modules.dep; mkdir root/lib/modules/{RELEASE}/kernel; "
                   f"ln -s {secret} root/lib/modules/{RELEASE}/kernel/virtio_pci.ko",
                   f"mkdir root/lib/modules/{RELEASE}/kernel; echo kernel/../../../../../../..{secret.parent}/virtio_pci.ko: >root/lib/modules/{RELEASE}/modules.dep"):
        stand_in(host, f"#!/bin/sh\n{script}\n")
        (host.base / "tools" / "skopeo").rename(host.base / "tools" / "depmod")
        (secret.parent / "virtio_pci.ko").write_bytes(SECRET)
        answer = host.json("kernel", "install", "--from", deb(host.base / "k.deb", boot(), builtin("virtio_pci")), check=1)
        assert answer["errorCode"] == "invalid" and answer["error"].endswith("is not read, because it is a link or leads out of its directory tree: put a regular file there"), answer
        assert_nothing_of_it(cache)


def without_cells(host):
    if os.getuid() != 0:
        pytest.skip("only root can have the host make no namespaces")
    host.wrap = NO_NAMESPACES


def test_without_a_cell(host, cache):
    """Nothing is installed, what is missing is named, and an option of the user does without."""
    without_cells(host)
    path = deb(host.base / "k.deb", boot(), builtin())
    answer = host.json("kernel", "install", "--from", path, check=75)
    assert (answer["errorCode"], answer["errorReason"]) == ("unavailable", "no-cell") and SETTING in answer["error"], answer
    assert answer["hint"] == "--unconfined does without a cell"
    assert_nothing_of_it(cache)
    done = host("kernel", "install", "--unconfined", "--from", path, check=0)
    assert "the programs that read the package run without a cell" in done.stderr
    assert host.json("kernel", "verify", NAME)["ok"]


def test_debians_own_needs_no_cell(host, cache):
    """Packages that apt has verified are as trustworthy as the host's own programs, and a host without namespaces needs
    kernels too."""
    without_cells(host)
    name = host.json("kernel", "install")["name"]
    assert host.json("kernel", "verify", name)["ok"]
    assert json.loads((cache / "kernels" / f"{name}.json").read_text())["packageSha256"]


def test_another_package_of_the_same_version(host, cache):
    """It is not taken for the kernel of that name in the cache, and the cache's kernel is not taken for it."""
    first = deb(host.base / "a.deb", boot(hostile_debs.kernel() + b"first"), builtin())
    second = deb(host.base / "b.deb", boot(hostile_debs.kernel() + b"second"), builtin())
    assert b"first" in Path(host.json("kernel", "install", "--from", first)["path"]).read_bytes()
    assert host("kernel", "install", "--from", first, check=0).stdout == f"{NAME} is installed\n"
    said = host("kernel", "install", "--from", second, check=0).stdout
    assert said == f"{NAME} is installed; it replaces the kernel that had this name\n"
    assert b"second" in (cache / "kernels" / NAME).read_bytes()
    # A record from a time when no package was noted belongs to none.
    path = cache / "kernels" / f"{NAME}.json"
    record = json.loads(path.read_text())
    path.unlink()
    path.write_text(json.dumps({k: v for k, v in record.items() if k != "packageSha256"}))
    host("kernel", "install", "--from", first, check=0)
    assert b"first" in (cache / "kernels" / NAME).read_bytes()


# --- what is packed in a bzImage ---------------------------------------------------------------

ELF = b"\x7fELF" + bytes(100) + b"a kernel"
# Formats that libarchive has a program of PATH unpack (archive_read_support_filter_all()), by their first bytes.
BY_PROGRAMS = {"lrzip": b"LRZI\x00\x06" + bytes(40), "grzip": b"GRZipII\x00\x02\x04:)" + bytes(40), "lzop": b"\x89LZO\x00\x0d\x0a\x1a\x0a" + bytes(60)}


@AMD64
@pytest.mark.parametrize("program", BY_PROGRAMS)
def test_no_program_is_run_on_what_is_packed_in_it(host, cache, program):
    """In the attack lrzip of PATH was run, as root, on bytes of the kernel's maker."""
    ran = host.base / "ran"
    stand_in(host, f"#!/bin/sh\ntouch {ran}\nprintf '\\177ELF'; head -c 4096 /dev/zero\n")
    for name in BY_PROGRAMS:
        shutil.copy(host.base / "tools" / "skopeo", host.base / "tools" / name)
    image = bzimage(BY_PROGRAMS[program])
    assert "vmlinuxSha256" not in installed(host, cache, deb(host.base / "k.deb", boot(image), builtin()))
    (host.base / "bzImage").write_bytes(image)
    host.json("kernel", "install", "--from", host.base / "bzImage", "--name", "mine")
    assert host.json("kernel", "refresh") == {"refreshed": 2}  # it tries again to unpack a kernel without a vmlinux
    assert sorted(p.name for p in (cache / "kernels").glob("*.vmlinux")) == [] and not ran.exists()
    assert list((cache / "tmp").iterdir()) == []


def lz4_legacy(data):
    return subprocess.run(["lz4", "-l", "-c"], input=data, capture_output=True, check=True).stdout


@AMD64
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, lambda d: lzma.compress(d, lzma.FORMAT_ALONE), lz4_legacy,
                                  lambda d: subprocess.run(["zstd", "-c"], input=d, capture_output=True, check=True).stdout],
                         ids=["gzip", "bzip2", "xz", "lzma", "lz4", "zstd"])
def test_what_a_kernel_is_packed_by(host, cache, pack):
    (host.base / "bzImage").write_bytes(bzimage(pack(ELF)))
    host.json("kernel", "install", "--from", host.base / "bzImage", "--name", "mine")
    assert (cache / "kernels" / "mine.vmlinux").read_bytes() == ELF
    assert host.json("kernel", "verify", "mine")["ok"]


@AMD64
@pytest.mark.parametrize("payload", [gzip.compress(b"no ELF"), gzip.compress(ELF)[:20], b"\x00" * 100,
                                     lzma.compress(ELF, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1536 << 20}])[:200]],
                         ids=["no-elf", "short", "nothing", "memory"])
def test_a_kernel_that_cannot_be_unpacked_is_installed_without(host, cache, payload):
    """Such a kernel is of use to VMMs that unpack it themselves."""
    (host.base / "bzImage").write_bytes(bzimage(payload))
    host.env["MICROAGENT_TEST_LIMIT_ARCHIVE_MEMORY_MIB"] = "64"
    host.json("kernel", "install", "--from", host.base / "bzImage", "--name", "mine")
    assert sorted(p.name for p in (cache / "kernels").iterdir()) == ["mine", "mine.initrd", "mine.json"]
    assert list((cache / "tmp").iterdir()) == []


# --- sources of a kernel -----------------------------------------------------------------------

SOURCE = "linux-source-6.1"
# The part of a kernel's build that a test asks for. vmlinux has the contents that the test gives.
MAKEFILE = """
allnoconfig:
\tcp $(KCONFIG_ALLCONFIG) .config
vmlinux arch/arm64/boot/Image:
\tmkdir -p include/config arch/arm64/boot && echo {release} >include/config/kernel.release
\t{recipe}
Image: arch/arm64/boot/Image
"""


def source(path, *entries, version=VERSION):
    archive = lzma.compress(layer(*entries))
    return deb(path, file(f"./usr/src/{SOURCE}.tar.xz", archive), package=SOURCE, version=version)


def makefile(recipe, release=RELEASE):
    return file(f"{SOURCE}/Makefile", MAKEFILE.format(recipe=recipe, release=release).encode())


def build_refused(host, cache, path, said, code):
    answer = host.json("kernel", "build", "--from", path, check=1)
    assert code in (None, answer["errorCode"]) and said in answer["error"] and "of-root" not in answer["error"], answer
    assert not list((cache / "kernels").iterdir()) and list((cache / "tmp").iterdir()) == []


BUILT = "vmlinux" if hostile_debs.ARCHITECTURE == "amd64" else "arch/arm64/boot/Image"


def test_what_a_kernels_build_reaches(host, cache, secret, port):
    """The build runs programs of the maker of the source: in a cell, on the tree alone."""
    probe(host, "unused", SOURCE, port)
    script = (host.base / "tools" / "unused").read_text().replace(f"{SOURCE}/x", "x")
    path = source(host.base / "s.deb", makefile("bash ./probe"), file(f"{SOURCE}/probe", script.encode(), mode=0o755))
    build_refused(host, cache, path, "can: tree temporary.", "io")
    assert secret.exists()


def test_links_that_a_kernels_build_leaves(host, cache):
    """In the attack a program of root became the kernel of guests, and a text of root a part of its record."""
    program, text = host.base / "program", host.base / "text"
    shutil.copy("/usr/bin/true", program)
    text.write_text("of-root-alone")
    for path in (program, text):
        path.chmod(0o600)
    for recipe in (f"ln -s {program} {BUILT}", f"cp /usr/bin/true {BUILT} && ln -sf {text} include/config/kernel.release"):
        build_refused(host, cache, source(host.base / "s.deb", makefile(recipe)), "kernel build: ", None)


def test_a_source_that_is_a_link(host, cache):
    victim = host.base / "victim"
    victim.mkdir()
    (victim / "Makefile").write_text(f"allnoconfig:\n\ttouch {victim}/ran\n")
    before = tree(victim)
    path = source(host.base / "s.deb", symlink(SOURCE, str(victim)))
    build_refused(host, cache, path, f"the archive of the kernel's sources, {path}, has no directory {SOURCE}, so it is damaged or another archive: fetch it again", "invalid")
    path = source(host.base / "s.deb", directory(SOURCE), symlink(f"{SOURCE}/Makefile", str(victim / "Makefile")))
    build_refused(host, cache, path, f"{SOURCE}/Makefile is not read, because it is a link or leads out of its directory tree", "invalid")
    assert tree(victim) == before


# A program of the source reads and writes the target of a link, by all names that it has for it.
REACHING = "for d in /var/tmp . .. ../tmp ../tree ../.. ../../tmp $$TMPDIR; do echo x >$$d/written; cp $$d/secret . || true; done"
LINKS = ("tmp", "tree", "unpacked", ".unpacked", "tuned.config")


@pytest.mark.parametrize("who", ["tar", "make", "make, of the source too"])
def test_links_in_the_place_of_a_builds_directories(host, cache, who):
    """In the attack bwrap followed a link to the host's root, which an earlier cell had left in the place of the next
    one's temporary files."""
    victim = host.base / "victim"
    victim.mkdir()
    (victim / "secret").write_bytes(SECRET)
    before = tree(victim)
    entries, recipe = [], "true"
    if who == "tar":
        entries = [symlink(name, str(victim)) for name in LINKS]
    else:
        recipe = "; ".join(f"rmdir {where}/{name}; ln -sfn {victim} {where}/{name}" for where in ("..", "../..") for name in LINKS)
        if who != "make":
            recipe += f"; mv ../{SOURCE} ../moved; ln -s {victim} ../{SOURCE}"
    text = MAKEFILE.format(release=RELEASE, recipe=REACHING + "; false").replace("\nvmlinux", f"\n\t({recipe}) 2>/dev/null || true\nvmlinux")
    path = source(host.base / "s.deb", file(f"{SOURCE}/Makefile", text.encode()), *entries)
    said = "is not read, because it is a link or leads out of its directory tree" if who.startswith("make,") else "make failed with exit code 2: "
    for _ in range(2):  # the second one goes on with the files of the first
        answer = host.json("kernel", "build", "--from", path, check=1)
        assert said in answer["error"], answer
        assert tree(victim) == before
        assert "secret" not in {found.name for found in (cache / "build").glob("**/*")}
        assert not list((cache / "kernels").iterdir()) and list((cache / "tmp").iterdir()) == []


def test_another_source_of_the_same_version(host, cache):
    """A build goes on where it was interrupted, unless the source has other bytes."""
    evil = source(host.base / "evil.deb", makefile(f"cp /usr/bin/false {BUILT}; exit 1"))
    good = source(host.base / "good.deb", makefile(f"cp /usr/bin/true {BUILT}"))
    host.json("kernel", "build", "--from", evil, check=1)
    left = [p.name for p in (cache / "build").iterdir()]
    assert len(left) == 1 and left[0].startswith(f"linux-{VERSION}-{hashlib.sha256(evil.read_bytes()).hexdigest()[:32]}"), left
    name = host.json("kernel", "build", "--from", good)["name"]
    record = json.loads((cache / "kernels" / f"{name}.json").read_text())
    assert record["packageSha256"] == hashlib.sha256(good.read_bytes()).hexdigest() and record["release"] == RELEASE
    assert [p.name for p in (cache / "build").iterdir()] == left


def running(words):
    """Returns whether a process of the host has that command line."""
    def read(path):
        try:
            return path.read_bytes()
        except OSError:
            return b""
    return any(read(path) == b"\0".join(words) + b"\0" for path in Path("/proc").glob("[0-9]*/cmdline"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_kernels_build_ends_with_who_started_it(host, cache, number):
    """All of its processes end, and the next build goes on in its tree."""
    sleep = [b"sleep", b"98765.%d" % os.getpid()]
    path = source(host.base / "s.deb", makefile(f"test -f begun && cp /usr/bin/true {BUILT} || {{ touch begun; {b' '.join(sleep).decode()}; }}"))
    child = host.popen("kernel", "build", "--from", path)
    wait_until(lambda: running(sleep), "the build to begin")
    child.send_signal(number)
    child.communicate(timeout=HANG_S)
    assert child.returncode == -number
    wait_until(lambda: not running(sleep), "the end of what it ran")
    assert list((cache / "kernels").iterdir()) == []
    assert host.json("kernel", "verify", host.json("kernel", "build", "--from", path)["name"])["ok"]
    assert list((cache / "tmp").iterdir()) == list((cache / "build").iterdir()) == []


def test_a_kernels_build_without_a_cell(host, cache):
    without_cells(host)
    path = source(host.base / "s.deb", makefile(f"cp /usr/bin/true {BUILT}"))
    answer = host.json("kernel", "build", "--from", path, check=75)
    assert answer["errorReason"] == "no-cell" and answer["hint"] == "--unconfined does without a cell", answer
    assert not list((cache / "kernels").iterdir()) and list((cache / "tmp").iterdir()) == []
    done = host("kernel", "build", "--unconfined", "--from", path, check=0)
    assert "the programs that read the package run without a cell" in done.stderr
