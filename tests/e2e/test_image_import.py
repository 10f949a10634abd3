# SPDX-License-Identifier: MIT
"""Tests `microagent image import`: images of the OCI and of Docker become disks, whole or not at all."""

import bz2
import gzip
import json
import os
import pty
import shutil
import signal
import stat
import subprocess
import tarfile

import pytest

import importing
import oci
from conftest import BIN, HANG_S, wait_until
from importing import RUN, SIZE, assert_no_image, debugfs, disk, listing, record, refused, simple
from oci import Layout, directory, file, hardlink, layer, symlink
from planted import plant

# Any bytes would do. These are UTF-8, since tarfile can write no others into a header.
CAPABILITY = b"\x01\x00\x00\x02\x00\x04" + bytes(14)
PASSWD = b"root:x:0:0::/root:/bin/sh\nbob:x:1234:1234::/home/bob:/bin/sh\n"

cache = importing.cache


def test_an_image_is_imported_and_runs(host, cache):
    layout = Layout(host.base / "layout")
    lower = layer(*oci.busybox("sh", "echo", "id", "pwd", "hostname", "ping"), file("etc/passwd", PASSWD),
                  directory("home/bob", mode=0o700, uid=1234, gid=1234))
    digest = layout.image([lower], {"Entrypoint": ["sh", "-c", 'echo "$0 $*"; id -u; pwd; echo $FOO'], "Cmd": ["a", "b"],
                                    "Env": ["PATH=/bin", "FOO=x=y"], "User": "bob", "WorkingDir": "/home/bob/work"})
    answer = host.json("image", "import", "box", layout.path)
    assert answer["name"] == "box" and answer["path"] == str(disk(cache))
    assert host.json("image", "verify", "box")["ok"]
    assert stat.S_IMODE(disk(cache).stat().st_mode) == 0o444
    # The size is the contents and a GiB.
    assert 1 << 30 <= disk(cache).stat().st_size < (1 << 30) + (8 << 20)
    entry = host.json("image", "list")["images"][0]
    assert entry["source"] == f"oci:{layout.path}" and entry["user"] == "bob"
    assert record(cache)["source"]["digest"] == f"sha256:{digest}"
    assert f"oci:{layout.path}" in host("image", "list", check=0).stdout

    done = host("run", "--image", "box", *RUN, check=0)
    assert done.stdout == "a b\n1234\n/home/bob/work\nx=y\n"
    # CMD is the whole command line. Everything else stays the image's, except what is given.
    done = host("run", "--image", "box", *RUN, "--env", "FOO=mine", "--", "sh", "-c", "id -u; pwd; echo $FOO", check=0)
    assert done.stdout == "1234\n/home/bob/work\nmine\n"
    # It has no /etc/hosts.
    done = host("run", "--image", "box", *RUN, "--user", "root", "--", "sh", "-c", "ping -c 1 -w 9 localhost && ping -c 1 -w 9 $(hostname)", check=0)
    assert "PING localhost (127.0.0.1)" in done.stdout and "(127.0.1.1)" in done.stdout, done
    # A workspace of the image has its entrypoint as its workload, and `exec` uses the image's user.
    host("create", "w", "--image", "box", *RUN, check=0)
    config = json.loads((host.state / "w" / "workspace.json").read_text())["config"]
    assert config["command"][0] == "sh" and config["command"][-2:] == ["a", "b"]
    assert config["cwd"] == "/home/bob/work" and config["env"] == {"PATH": "/bin", "FOO": "x=y"}
    host("delete", "w", check=0)


def test_arguments_without_an_entrypoint(host, cache):
    """`run` uses them. A workspace that stays waits for exec, since the default command is often a shell."""
    ref = simple(host, *oci.busybox("sh", "id", "echo"), config={"Cmd": ["echo", "by itself"], "Env": ["PATH=/bin"]}).path
    host("image", "import", *SIZE, "box", ref, check=0)
    assert "user" not in record(cache)
    assert host("run", "--image", "box", *RUN, check=0).stdout == "by itself\n"
    host("create", "w", "--image", "box", *RUN, check=0)
    assert "command" not in json.loads((host.state / "w" / "workspace.json").read_text())["config"]
    host("start", "w", check=0)
    assert host("exec", "w", "--", "/bin/id", "-u", check=0).stdout == "1000\n"
    host("kill", "w", check=0)
    host("delete", "w", check=0)


def test_an_image_that_names_no_command(host, cache):
    ref = simple(host, file("f", b"x")).path
    host("image", "import", *SIZE, "box", ref, check=0)
    done = host("run", "--image", "box", check=125)
    assert "no command is given, and the image (box) does not name one: give a command" in done.stderr


def test_everything_of_a_file_is_kept(host, cache):
    ref = simple(
        host, directory("d", mode=0o1770, uid=5, gid=6), file("d/plain", b"text", mode=0o4711, uid=70000, gid=80000, mtime=1234567890,
                                                              xattrs={"security.capability": CAPABILITY, "user.note": b"kept", "user.none": b""}),
        hardlink("d/again", "d/plain"), hardlink("./d/third", "/d/again"), symlink("link", "/d/plain", uid=7, gid=8),
        hardlink("link2", "link"), file("pipe", kind=tarfile.FIFOTYPE, mode=0o620),
        file("null", kind=tarfile.CHRTYPE, device=(1, 3)), file('a "quoted" näme', b"q"), file("empty"),
        file("deep/" * 200 + "f", b"deep"), file("locked", b"x", mode=0)).path
    host("image", "import", *SIZE, "box", ref, check=0)
    root, below = listing(cache), listing(cache, "/d")
    assert root["d"][1:] == (stat.S_IFDIR | 0o1770, 5, 6)
    assert below["plain"][1:] == (stat.S_IFREG | 0o4711, 70000, 80000)
    assert {below[n][0] for n in ("plain", "again", "third")} == {below["plain"][0]}
    assert root["link"][1:] == (stat.S_IFLNK | 0o777, 7, 8) and root["link2"][1:] == root["link"][1:]
    assert root["pipe"][1] == stat.S_IFIFO | 0o620
    assert root["locked"][1] == stat.S_IFREG and debugfs(cache, "cat /locked") == "x"
    assert 'a "quoted" näme' in root and "null" not in root
    about = debugfs(cache, "stat /d/plain")
    assert "Links: 3" in about and " mtime: 0x499602d2" in about
    assert debugfs(cache, "ea_get -x /d/plain security.capability").split("= ")[1].split() == [f"{b:02x}" for b in CAPABILITY]
    assert 'user.note (4) = "kept"' in about and "user.none (0)" in about
    assert debugfs(cache, "cat /" + "deep/" * 200 + "f") == "deep"
    subprocess.run(["e2fsck", "-fn", disk(cache)], check=True, capture_output=True)


def test_layers_over_each_other(host, cache):
    layout = Layout(host.base / "layout")
    layout.image([
        layer(file("gone", b"x"), file("d/gone", b"x"), file("d/stays", b"low"), file("opaque/low", b"x"), file("tree/a/b/c", b"x"),
              symlink("lib", "usr/lib"), symlink("abs", "/etc"), symlink("up", "../../../etc"), symlink("both", "one"), file("was-file", b"x"),
              file("was-dir/f", b"x"), file("changed", b"old"), hardlink("same", "changed"), file("own/x", b"low")),
        layer(file(".wh.gone"), file("d/.wh.gone"), file("opaque/.wh..wh..opq"), file("opaque/high", b"new"), file("opaque/.wh..wh..opq"), file(".wh..wh.plnk"), file(".wh.tree"),
              file("lib/lib.so", b"so"), file("abs/one", b"1"), file("up/two", b"2"), directory("was-file"),
              file("was-dir", b"new"), file("changed", b"new", mode=0o600), hardlink("d/cross", "same"),
              file("both/f", b"through"), file("own/y", b"high"), file(".wh.own"), file(".wh.never-there"), file("no/.wh.where")),
    ], packed=False)
    host("image", "import", *SIZE, "box", layout.path, check=0)
    root = listing(cache)
    assert set(root) == {"d", "opaque", "lib", "abs", "up", "both", "one", "was-file", "was-dir", "changed", "same", "usr", "etc", "own"}
    assert set(listing(cache, "/d")) == {"stays", "cross"}
    assert set(listing(cache, "/opaque")) == {"high"}
    assert set(listing(cache, "/own")) == {"y"}  # a layer hides what is below it, whatever the order in the layer
    assert set(listing(cache, "/usr/lib")) == {"lib.so"} and set(listing(cache, "/etc")) == {"one", "two"}
    assert set(listing(cache, "/one")) == {"f"} and stat.S_ISLNK(root["both"][1])
    assert stat.S_ISDIR(root["was-file"][1]) and debugfs(cache, "cat /was-dir") == "new"
    assert debugfs(cache, "cat /changed") == "new" and debugfs(cache, "cat /same") == "old"
    assert listing(cache, "/d")["cross"][0] == root["same"][0] != root["changed"][0]


@pytest.mark.parametrize("entries,said", [
    ([file("../outside", b"x")], '"../outside": the path has ".."'),
    ([file("a/../../outside", b"x")], '".."'),
    ([hardlink("passwd", "/etc/passwd")], "which does not exist"),
    ([hardlink("f", "../../etc/passwd")], '".."'),
    ([directory("d"), hardlink("f", "d")], "a directory"),
    ([file("f", b"x"), file("f/below", b"x")], "not a directory"),
    ([symlink("a", "b"), symlink("b", "a"), file("a/f", b"x")], "too many links"),
    # Each file is 70 KB of link targets away: minutes of processor time for a layer of 187 KB.
    ([directory("d"), *(symlink(f"l{i}", "./" * 900 + (f"l{i + 1}" if i < 38 else "d")) for i in range(39)),
      *(file(f"l0/{i}", b"") for i in range(2000))], "have more than 67108864 bytes in all"),
    ([file("d/.wh...", b"")], "marks a deleted file, but names none"),
    ([file(".wh.", b"")], "marks a deleted file, but names none"),
    ([file("x", b"", xattrs={"user.big": b"v" * 5000})], "extended attributes"),
    ([file("x", b"", xattrs={"user." + "n" * 251: b""})], "longer than 255 bytes"),
    ([file("/".join(["d" * 200] * 25), b"x")], "the path is longer than"),
])
def test_a_hostile_layer(host, cache, entries, said):
    assert said in refused(host, cache, simple(host, *entries).path)


# Each name means something to a shell, to a tool or to a terminal, or to nobody. All are bytes of a name.
ODD_NAMES = [b"two  spaces ", b"back\\slash\\n", b'"', b'a""b"', b"'", b"-l", b"--", b"$(id)`id`", b";!id", b"!id", b"#x", b"*?[a]", b"<2>", b"~",
             b"line\n\033[2J\302\233break", b"a\nsif . uid 0", b"\xff\xfe\x80", "näme \u202e \U0001f4be".encode(), b"|&><", b"q" * 255, b'"' * 255, b"..."]


@pytest.mark.parametrize("what", ["oci-layout", "index.json", "blobs", "blobs/sha256", "manifest", "layer", "further"])
def test_what_is_to_be_a_file_is_one(host, cache, what):
    """A FIFO, which would block a program that opens it, and a link; also in an archive of the layout, which skopeo unpacks."""
    layout = simple(host, file("etc/x", b"x"))
    blobs = layout.path / "blobs" / "sha256"
    manifest = json.loads((layout.path / "index.json").read_text())["manifests"][0]["digest"].partition(":")[2]
    layer_digest = json.loads((blobs / manifest).read_text())["layers"][0]["digest"].partition(":")[2]
    name = {"manifest": f"blobs/sha256/{manifest}", "layer": f"blobs/sha256/{layer_digest}", "further": f"blobs/sha256/{'f' * 64}"}.get(what, what)
    place, kept = layout.path / name, host.base / "kept"
    if place.exists():
        place.rename(kept)
    kind = "directory" if what.startswith("blobs") else "regular file"
    for make in (os.mkfifo, lambda path: path.symlink_to(kept)):
        make(place)
        assert refused(host, cache, layout.path).endswith(f"{name} is not a {kind}, so the image is damaged: fetch or make the image again")
        assert refused(host, cache, f"oci:{layout.path}").endswith(f"{name} is not a {kind}, so the image is damaged: fetch or make the image again")
        with tarfile.open(host.base / "layout.tar", "w") as archive:
            archive.add(layout.path, ".")
        assert refused(host, cache, f"oci-archive:{host.base}/layout.tar").endswith(f"the archive's entry ./{name} is neither a regular file nor a directory: make the archive without it")
        place.unlink()
    if kept.exists():
        kept.rename(place)
    host.env["MICROAGENT_TEST_LIMIT_IMAGE_BLOBS"] = "1"
    assert refused(host, cache, layout.path).endswith("blobs/sha256/ has more files than the directory of an image may have: give a directory that has only the image")
    del host.env["MICROAGENT_TEST_LIMIT_IMAGE_BLOBS"]
    host.json("image", "import", *SIZE, "box", layout.path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root reads what another user alone can change")
@pytest.mark.parametrize("kind", ("layout", "blobs", "archive", "link", "file"))
def test_nobody_else_exchanges_a_source(host, cache, kind):
    """Another user puts a FIFO in the place of each file when skopeo is about to open it, or changes a file of that
    user. A copy was made before. A source that is larger than the free room is not copied."""
    theirs, tools = host.base / "theirs", host.base / "tools"
    theirs.mkdir()
    tools.mkdir()
    layout, source = simple(host, file("etc/x", b"x")), theirs / "source"
    if kind in ("layout", "blobs"):
        shutil.copytree(layout.path, source)
    else:
        with tarfile.open(source, "w") as archive:
            archive.add(layout.path, ".")
    shutil.copytree(layout.path, theirs / "long")
    os.truncate(next((theirs / "long" / "blobs" / "sha256").iterdir()), 1 << 42)
    subprocess.run(["chown", "-R", "4242:4242", theirs], check=True)
    assert refused(host, cache, theirs / "long").endswith("fetching and unpacking the image takes more than 1024 MiB of disk")
    if kind == "link":
        source = host.base / "link"
        source.symlink_to(theirs / "source")
    elif kind == "file":
        source = source.rename(host.base / "source")
    elif kind == "blobs":
        for path in (theirs, source, source / "blobs"):
            os.chown(path, 0, 0)
    (tools / "skopeo").write_text(f"""#!/bin/sh
[ {kind} != file ] || : > {source}
find {theirs} -type f | while read -r f; do mv "$f" {host.base}/gone && mkfifo "$f"; done
exec {shutil.which("skopeo")} "$@"
""")
    (tools / "skopeo").chmod(0o755)
    path = {"PATH": f"{tools}:{os.environ['PATH']}"}
    host("image", "import", *SIZE, "--unconfined", "box", source, env=path, check=0)
    assert debugfs(cache, "cat /etc/x") == "x"
    assert [path for path in theirs.rglob("*") if stat.S_ISFIFO(path.lstat().st_mode)]


def test_readers_of_an_archive_agree(host, cache):
    """One reader takes the bytes for the contents of a hard link, and another takes them for the next entry: here a
    FIFO in the place of the index."""
    def header(name, kind, size=0, link="", mode=0o644):
        info = tarfile.TarInfo(name)
        info.type, info.size, info.linkname, info.mode = kind, size, link, mode
        return info.tobuf(format=tarfile.USTAR_FORMAT)
    version, note = b'{"imageLayoutVersion":"1.0.0"}', b"14 comment=xy\n"
    fifo = header("index.json", tarfile.FIFOTYPE)
    (host.base / "two.tar").write_bytes(b"".join([
        header("oci-layout", tarfile.REGTYPE, len(version)), version.ljust(512, b"\0"), header("pax", tarfile.XHDTYPE, len(note)),
        note.ljust(512, b"\0"), header("other", tarfile.LNKTYPE, len(fifo), "oci-layout"), fifo,
        header("blobs/", tarfile.DIRTYPE, mode=0o755), header("blobs/sha256/", tarfile.DIRTYPE, mode=0o755), bytes(10240)]))
    assert refused(host, cache, f"oci-archive:{host.base}/two.tar").endswith("the archive's entry other is a link, but has contents, which readers of archives understand in different ways: make the archive again")


def test_names_are_bytes_to_the_last_one(host, cache):
    """The guest's own kernel lists them, also if an attribute names them a second time."""
    odd = [(os.fsdecode(name), b"%d" % i) for i, name in enumerate(ODD_NAMES)]
    layout = Layout(host.base / "layout")
    layout.image([layer(*oci.busybox("sh", "find", "od", "cat")),
                  layer(*[file(f"pax/{name}", data, xattrs={"user.note": b"x"}) for name, data in odd]),
                  layer(*[file(f"gnu/{name}/{name}", data) for name, data in odd], form=tarfile.GNU_FORMAT)], {"Env": ["PATH=/bin"]})
    host("image", "import", *SIZE, "box", layout.path, check=0)
    script = 'find pax gnu -type f -print0 | od -An -v -tx1; echo = ; cd pax; for f in * ...; do cat "./$f"; echo; done'
    names, numbers = host("run", "--image", "box", *RUN, "--", "sh", "-c", script, check=0).stdout.split("=")
    assert sorted(bytes.fromhex(names).split(b"\0")[:-1]) == sorted(
        [b"pax/" + name for name in ODD_NAMES] + [b"gnu/" + name + b"/" + name for name in ODD_NAMES])
    assert sorted(map(int, numbers.split())) == list(range(len(ODD_NAMES)))


def test_no_name_and_no_attribute_is_too_odd(host, cache):
    """The longest path of quotes with the longest name of an attribute, and an attribute with a line break."""
    quotes = "/".join(['"' * 249] * 16)
    ref = simple(host, file(quotes, b"deep", xattrs={"user." + "!" * 250: b"x", "user.line\nbreak": b"two\nlines"}),
                 file("many", xattrs={f"user.{i}": b"v" * 50 for i in range(40)})).path
    host("image", "import", *SIZE, "box", ref, check=0)
    doubled = quotes.replace('"', '""')
    assert debugfs(cache, f'cat "/{doubled}"') == "deep"
    about = debugfs(cache, f'stat "/{doubled}"')
    assert "user." + "!" * 250 + ' (1) = "x"' in about and " (9) = " in about
    assert debugfs(cache, "stat /many").count("user.") == 40
    subprocess.run(["e2fsck", "-fn", disk(cache)], check=True, capture_output=True)


def test_a_message_about_an_odd_name_is_one_line(host, cache):
    ref = simple(host, file("d/line\n\033[2J\u009b \u202ebreak/../f", b"x")).path
    said = host("image", "import", *SIZE, "box", ref, check=1).stderr
    assert '"d/line??[2J? ?break/../f": the path has ".." in it' in said and said.count("\n") == 1
    assert_no_image(host, cache)


def test_links_never_lead_out(host, cache):
    """A layer that writes through its links writes into the image, and the host's files stay."""
    victim = host.base / "victim"
    victim.mkdir()
    (victim / "f").write_text("the host's")
    ref = simple(host, symlink("out", str(victim)), file("out/f", b"the image's"), symlink("evil", "/etc/passwd"),
                 file("evil", b"replaced"), file("/absolute", b"x"), symlink("up", f"../../../../../../{victim}"), file("up/g", b"x")).path
    host("image", "import", *SIZE, "box", ref, check=0)
    assert [p.name for p in victim.iterdir()] == ["f"] and (victim / "f").read_text() == "the host's"
    assert debugfs(cache, f"cat {victim}/f") == "the image's" and "g" in listing(cache, str(victim))
    assert debugfs(cache, "cat /evil") == "replaced" and "absolute" in listing(cache)


def test_sizes(host, cache):
    layout = simple(host, file("f", bytes(120 << 20)), name="large", packed=True)
    error = refused(host, cache, layout.path)
    assert "MiB" in error
    said = host("image", "import", *SIZE, "box", layout.path, check=1).stderr
    assert "MiB" in said and "microagent: hint: --size MIB makes room for more\n" in said
    host("image", "import", "--size", 256, "box", layout.path, check=0)
    assert disk(cache).stat().st_size == 256 << 20
    assert "MiB" in refused_more(host, simple(host, file("f", bytes(130 << 20)), name="larger", packed=True).path)
    said = host("image", "import", "--size", 1, "box", layout.path, check=2).stderr
    assert said == "microagent: --size is 1 MiB, but must be at least 128 MiB: the file system needs a part of the disk for itself\n"
    for wrong in ("0", "127", "-1", "99999999", "x"):
        assert host("image", "import", "--size", wrong, "box", layout.path).returncode == 2
    # Many small files need more inodes than the size alone would give.
    many = simple(host, *(file(f"{i % 20}/{i}", b"x") for i in range(8400)), name="many")
    host("image", "import", *SIZE, "many", many.path, check=0)
    assert len(listing(cache, "/7", "many")) == 420


def headers(*infos):
    return b"".join(info.tobuf(tarfile.PAX_FORMAT) for info in infos)


def told_of_contents(kind):
    """A pax archive can have this for an entry that is no file."""
    info, _ = file("l", kind=kind, link="f")
    info.size, info.pax_headers = 600 << 20, {"size": str(600 << 20)}
    return headers(info)


def comment(kind):
    """A special header of 1 MiB, which no program reports."""
    info, _ = file("pax", kind=kind)
    info.size = (1 << 20) - 512
    return info.tobuf(tarfile.USTAR_FORMAT) + b"1048064 comment=" + b"A" * 1048047 + b"\n"


def test_what_is_replaced_counts_too(host, cache):
    """It is off the disk again, and has cost as much time: a layer of a megabyte took hours."""
    too_much = "the archive unpacks, with its headers and the files that it replaces, to more than 512 MiB"
    again = simple(host, *(file("f", bytes(60 << 20)) for _ in range(10)), name="again", packed=True)
    assert too_much in host("image", "import", *SIZE, "box", again.path, check=1).stderr
    assert not list(cache.glob("*/box*")) and not list((cache / "tmp").iterdir())
    zeros = gzip.compress(bytes(60 << 20), 1) * 10
    layers = [gzip.compress(told_of_contents(kind)) + zeros for kind in (tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE)]
    # A device leaves nothing in the image, and counts as a file of one block.
    layers.append(gzip.compress(headers(file("d", kind=tarfile.CHRTYPE)[0]) * (512 * 256 + 1), 1))
    # Readers of archives accept any number of special headers for one entry.
    last = headers(directory("d")[0])
    layers += [gzip.compress(one, 1) * 20 for one in ((comment(tarfile.XHDTYPE) + last) * 30, comment(tarfile.XGLTYPE) * 30 + last)]
    for number, odd in enumerate(layers):
        layout = Layout(host.base / f"odd{number}")
        layout.image([gzip.compress(headers(file("f")[0])) + odd], packed=False, of_layers={"mediaType": oci.LAYER + "+gzip"})
        said = host("image", "import", *SIZE, "box", layout.path, check=1).stderr
        assert too_much in said, (number, said)
    assert not list(cache.glob("*/box*")) and not list((cache / "tmp").iterdir())
    fits = simple(host, *(file("f", bytes(60 << 20)) for _ in range(8)), name="fits", packed=True)
    host("image", "import", *SIZE, "box", fits.path, check=0)


def refused_more(host, ref):
    """Before it is unpacked, its size is known to be larger than the disk."""
    return host.json("image", "import", *SIZE, "more", ref, check=1)["error"]


FETCH_BYTES = "MICROAGENT_TEST_LIMIT_IMAGE_FETCH_BYTES"


def test_what_skopeo_writes_is_bounded(host, cache):
    """skopeo unpacks an archive on this host's disk before anybody looks into it: one long file, and several shorter ones."""
    plain = oci.docker_archive(host.base / "d.tar", [layer(file("f", b"contents")), layer(file("zeros", bytes(16 << 20)))])
    packed = plain.with_suffix(".tar.bz2")
    packed.write_bytes(bz2.compress(plain.read_bytes()))
    layout = Layout(host.base / "layout")
    layout.image([layer(file("f", b"contents")), *(layer(file(f"{i}", os.urandom(3 << 20))) for i in range(3))])
    host.env[FETCH_BYTES] = str(8 << 20)
    more = "fetching and unpacking the image takes more than 8 MiB of disk"
    for words in ((), ("--unconfined",)):
        for ref in (f"docker-archive:{packed}", f"docker-archive:{plain}", f"oci:{layout.path}"):
            assert refused(host, cache, ref, *SIZE, *words) == f"{ref}: {more}"
    said = host("image", "import", *SIZE, "box", layout.path, check=1).stderr
    assert more in said and "microagent: hint: --size MIB makes room for more\n" in said
    assert refused(host, cache, packed).startswith(f"{packed} is not an archive of an image: the archive unpacks, ")
    assert not [path for path in os.listdir("/var/tmp") if path.startswith(("docker-tar", "oci"))]
    host.env[FETCH_BYTES] = str(64 << 20)
    host("image", "import", *SIZE, "box", packed, check=0)
    assert debugfs(cache, "cat /f") == "contents"


def test_skopeo_is_ended_while_it_writes_too_much(host, cache):
    """skopeo removes the unpacked files at its end, so the test looks before that."""
    tools = host.base / "tools"
    tools.mkdir()
    real = shutil.which("skopeo")  # some bytes: there is no /dev/zero
    (tools / "skopeo").write_text(f'#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9; do head -c 1048576 {real} >"$TMPDIR/$i"; done\nexec sleep 600\n')
    (tools / "skopeo").chmod(0o755)
    host.env["PATH"] = f"{tools}:{os.environ['PATH']}"
    host.env[FETCH_BYTES] = str(8 << 20)
    layout = simple(host, file("f", b"x"))
    for words in ((), ("--unconfined",)):
        assert "fetching and unpacking the image takes more than 8 MiB" in refused(host, cache, layout.path, *SIZE, *words)


def test_it_is_the_same_disk_whoever_imports_it(host, cache):
    ref = simple(host, file("f", b"x", uid=1000), directory("d", uid=33)).path
    host("image", "import", *SIZE, "box", ref, check=0)
    first = record(cache)["sha256"]
    host("image", "import", *SIZE, "--rebuild", "box", ref, check=0)
    assert record(cache)["sha256"] == first
    if os.getuid() != 0:
        return  # then an ordinary user ran it
    home = host.base / "home"
    shutil.copytree(BIN, home / "bin")
    shutil.copytree(ref, home / "layout")
    subprocess.run(["chown", "-R", "4242:4242", home], check=True)
    done = subprocess.run(["setpriv", "--reuid", "4242", "--regid", "4242", "--groups", "4242", home / "bin" / "microagent", "image",
                           "import", "--size", "128", "box", home / "layout"],
                          env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(host.tmp)}, capture_output=True, text=True,
                          timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    theirs = home / ".cache" / "microagent"
    assert json.loads((theirs / "images" / "box.json").read_text())["sha256"] == first
    assert list((theirs / "tmp").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_broken_off_import_leaves_nothing(host, cache, number):
    """A layer of zeros, far longer than it says, keeps skopeo busy."""
    layout = Layout(host.base / "layout")
    layout.image([layer(file("f", b"x"))], tag="1")
    longer = layout.blobs / json.loads((layout.blobs / layout.index[0]["digest"][7:]).read_text())["layers"][0]["digest"][7:]
    os.truncate(longer, 8 << 30)
    ours, theirs = pty.openpty()
    child = host.popen("image", "import", *SIZE, "box", layout.path, stderr=theirs)
    os.close(theirs)
    seen = b""
    while b"fetching oci:" not in seen:  # the progress, which is there for a terminal
        seen += os.read(ours, 4096)
    wait_until(lambda: list((cache / "tmp" / "image-box" / "fetched").iterdir()), "skopeo to begin")
    child.send_signal(number)
    child.communicate(timeout=HANG_S)
    os.close(ours)
    assert child.returncode == -number
    assert_no_image(host, cache)


STEPS = {"mke2fs": b"making the file system", "e2fsck": b"checking the file system"}


def test_each_step_is_shown(host, cache):
    """On a terminal, when it takes longer than a second: each tool waits until its step was seen."""
    tools = host.base / "tools"
    tools.mkdir()
    for tool in STEPS:
        real = shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        os.mkfifo(tools / f"{tool}.go")
        (tools / tool).write_text(f'#!/bin/sh\nread go <"{tools}/{tool}.go"\nexec {real} "$@"\n')
        (tools / tool).chmod(0o755)
    host.env["PATH"] = f"{tools}:{os.environ['PATH']}"
    ours, theirs = pty.openpty()
    child = host.popen("image", "import", *SIZE, "box", simple(host, file("f", b"x")).path, stderr=theirs)
    os.close(theirs)
    for tool, step in STEPS.items():
        seen = b""
        while step not in seen:
            seen += os.read(ours, 4096)
        (tools / f"{tool}.go").write_text("go\n")
    assert child.communicate(timeout=HANG_S)[0] == b"image box is imported\n" and child.returncode == 0
    os.close(ours)


@pytest.mark.parametrize("entry", ("node_modules/.bin", "", "../project/node_modules/.bin"))
def test_nothing_of_where_the_user_works_is_run(host, cache, entry):
    """No program that runs sees it either."""
    project, tools, layout = host.base / "project", host.base / "tools", simple(host, file("f", b"x"))
    bin_ = project / "node_modules" / ".bin" if entry else project
    plant(bin_)
    tools.mkdir()
    (tools / "skopeo").write_text(f'#!/bin/sh\nprintf %s "$PATH" >{tools}/path\nexec {shutil.which("skopeo")} "$@"\n')
    (tools / "skopeo").chmod(0o755)
    host.wrap = ["/usr/bin/env", "-C", str(project)]
    for words, path in (([], os.environ["PATH"]), (["--unconfined"], f"{tools}:{os.environ['PATH']}")):
        host("image", "import", *SIZE, *words, "box", layout.path, env={"PATH": f"{entry}:{path}:{entry}"}, check=0)
        assert not (bin_ / "ran").exists() and debugfs(cache, "cat /f") == "x"
        host("image", "remove", "box", check=0)
    said = (tools / "path").read_text().split(":")
    assert str(tools) in said and all(part.startswith("/") for part in said), said


def test_a_killed_import_is_swept_by_the_next(host, cache):
    layout = simple(host, file("f", b"x"))
    left = cache / "tmp" / "image-box" / "data"
    left.mkdir(parents=True)
    (left / "1").write_text("of a killed one")
    host("image", "import", *SIZE, "box", layout.path, check=0)
    assert list((cache / "tmp").iterdir()) == [] and set(listing(cache)) == {"f"}


def test_a_full_disk(host, cache):
    if os.getuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    ref = simple(host, file("f", os.urandom(8 << 20))).path
    small = host.base / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m,mode=700", "tmpfs", small], check=True)
    try:
        host.env["MICROAGENT_CACHE_DIR"] = str(small)
        assert "space" in refused(host, small, ref, code="io")
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_missing_tool_is_named_with_its_package(host, cache):
    ref = simple(host, file("f", b"x")).path
    answer = host.json("image", "import", "box", ref, check=1, env={"PATH": "/nonexistent"})
    assert answer["errorCode"] == "not-found" and "apt-get install skopeo" in answer["error"]


def test_remove(host, cache):
    ref = simple(host, file("f", b"x")).path
    host("image", "import", *SIZE, "box", ref, check=0)
    assert host.json("image", "remove", "box") == {"removed": "box"}
    assert_no_image(host, cache)
    assert "there is no image box" in host("image", "remove", "box", check=1).stderr
    outside = host.base / "file"
    outside.write_text("the user's")
    assert host.json("image", "remove", outside, check=2)["errorCode"] == "invalid"
    assert outside.exists()
