# SPDX-License-Identifier: MIT
"""Tests bundles: a tar archive becomes a read-only disk of the guest."""

import gzip
import hashlib
import io
import json
import lzma
import os
import struct
import subprocess
import tarfile
import zlib

import pytest

from conftest import cache_dir


IDENTITY = {"requestID": "req-1", "runtimeID": "w", "role": "workload", "backend": "qemu"}


def ask(host, command, config=None, env=None):
    config = config or {"stateDir": str(host.state)}
    code, answer, _ = host.supervisor({"command": command, "identity": IDENTITY, "config": config}, env=env)
    return code, answer


def entry(name, kind=tarfile.REGTYPE, mode=0o644, uid=0, gid=0, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.uid, info.gid, info.linkname, info.mtime = kind, mode, uid, gid, link, 1767225600
    return info


def archive(path, *entries, mode="w"):
    """entries: each is a TarInfo, or one with its bytes."""
    with tarfile.open(path, mode) as tar:
        for item in entries:
            info, data = item if isinstance(item, tuple) else (item, b"")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def small_config(host, **changes):
    """The root disk is hashed in no time, and nothing is booted from it."""
    disk = host.base / "small.ext4"
    if not disk.exists():
        subprocess.run(["mke2fs", "-q", "-t", "ext4", disk, "8M"], check=True)
    return host.config(rootfsPath=str(disk), **changes)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def listing(disk, path="/"):
    """Returns {name: (mode, uid, gid)}, by a reader that is not ours."""
    out = subprocess.run(["debugfs", "-R", f"ls -p {path}", disk], capture_output=True, text=True, check=True).stdout
    rows = [line.split("/") for line in out.splitlines() if line.startswith("/")]
    return {r[5]: (int(r[2], 8), int(r[3]), int(r[4])) for r in rows if r[5] not in (".", "..", "lost+found")}


def test_bundles_are_disks_of_the_guest(host):
    archive(host.base / "one.tar.gz",
            entry("./", tarfile.DIRTYPE, 0o751, 7, 8),
            (entry("./private", mode=0o600, uid=1000, gid=1000), b"mine\n"),
            (entry("./tool", mode=0o4755, uid=0), b"#!/bin/sh\necho ran\n"),
            (entry("./deep/er/file", mode=0o644, uid=5, gid=6), b"deep\n"),
            entry("./link", tarfile.SYMTYPE, link="deep/er/file"),
            entry("./out", tarfile.SYMTYPE, link="/etc/passwd"),
            entry("./hard", tarfile.LNKTYPE, link="./private"),
            entry("./null", tarfile.CHRTYPE), entry("./pipe", tarfile.FIFOTYPE),
            (entry("./odd \"name\" ü"), b"odd\n"), (entry("./a\nsif . uid 7"), b"line break\n"), mode="w:gz")
    archive(host.base / "two.tar", *[(entry(f"many/{i}"), b"x") for i in range(300)])
    bundles = [{"name": "one", "path": str(host.base / "one.tar.gz"), "mountpoint": "/one"},
               {"name": "a-long-name-of-" + "n" * 60, "path": str(host.base / "two.tar"), "mountpoint": "/data/two"}]
    config = host.config(bundles=bundles, outputs=[{"name": "report", "path": "/one/report"}])
    declared = {"ingress": [{**b, "mode": "ro", "kind": "bundle"} for b in bundles],
                "egress": [{"name": "report", "path": "/one/report", "kind": "output"}]}
    code, answer = ask(host, "check", config)
    assert code == 0 and "artifacts" not in answer
    code, answer = ask(host, "prepare", config)
    assert code == 0 and answer["artifacts"] == declared
    disk = host.state / "w" / "bundle-one.ext4"
    assert disk.stat().st_mode & 0o777 == 0o600
    found = listing(disk)
    assert found["private"] == found["hard"] == (0o100600, 1000, 1000)
    assert found["tool"] == (0o104755, 0, 0)
    assert found["deep"] == (0o040755, 0, 0)  # a parent that the archive does not list
    assert listing(disk, "/deep/er")["file"] == (0o100644, 5, 6)
    assert not {"null", "pipe"} & set(found)
    recorded = json.loads((host.state / "w" / "workspace.json").read_text())["artifacts"]["bundles"]
    assert recorded == [{"name": b["name"], "path": b["path"], "sha256": sha256(b["path"]),
                         "diskSHA256": sha256(host.state / "w" / f"bundle-{b['name']}.ext4")} for b in bundles]
    verified = [{"name": b["name"], "path": str(host.state / "w" / f"bundle-{b['name']}.ext4"),
                 "sha256": b["diskSHA256"], "recordedSHA256": b["diskSHA256"]} for b in recorded]
    assert answer["verification"]["ok"] and answer["verification"]["bundles"] == verified
    assert (host.base / "one.tar.gz").unlink() is None  # prepare has taken its contents

    code, answer = ask(host, "start", config)
    assert code == 0 and answer["artifacts"] == declared, answer
    assert answer["verification"]["bundles"] == verified

    def guest(*words, check=0):
        return host("exec", "--user", "root", "w", "--", *words, check=check).stdout

    assert guest("cat", "/one/private", "/one/link", '/one/odd "name" ü', "/one/a\nsif . uid 7") == \
        "mine\ndeep\nodd\nline break\n"
    assert guest("sh", "-c", "stat -c '%a %u %g' /one; readlink /one/out; ls /data/two/many | wc -l") == \
        "751 7 8\n/etc/passwd\n300\n"
    host("exec", "w", "--", "cat", "/one/private", check=0)  # uid 1000 owns it
    read_only = guest("sh", "-c", "echo x > /one/private; mount -o remount,rw /one; echo x > /one/private; "
                      "echo x | dd of=/dev/vdb conv=notrunc; true")
    assert read_only == "" and guest("cat", "/one/private") == "mine\n"
    code, answer = ask(host, "inspect")
    assert answer["artifacts"] == declared
    assert ask(host, "kill")[0] == 0
    assert answer["verification"]["ok"] and answer["verification"]["bundles"] == verified

    # No guest can have written to the disk, so it must be the same one at every start.
    with open(disk, "r+b") as file:
        file.seek(4096)
        file.write(b"changed")
    for command in ("inspect", "check"):
        (found,) = ask(host, command, config if command == "inspect" else
                       dict(config, bundles=[{**bundles[0], "path": bundles[1]["path"]}]))[1]["verification"]["divergence"]
        assert found == {"artifact": "bundle:one", "field": "sha256", "expected": recorded[0]["diskSHA256"],
                         "actual": sha256(disk)}, command
    assert "bundle:one" in host("status", "w", check=0).stdout
    code, answer = ask(host, "start", config)
    assert (code, answer["errorCode"]) == (1, "conflict") and 'bundle "one"' in answer["error"], answer
    assert "prepare the workspace again" in answer["error"]

    # The next prepare replaces them.
    changed = dict(config, bundles=[{**bundles[1], "name": "other"}])
    assert ask(host, "prepare", changed)[0] == 0
    assert [p.name for p in (host.state / "w").glob("bundle-*")] == ["bundle-other.ext4"]
    (host.state / "w" / "bundle-other.ext4").unlink()
    code, answer = ask(host, "start", changed)
    assert (code, answer["errorCode"]) == (1, "not-found") and "bundle-other.ext4" in answer["error"]
    assert ask(host, "delete")[0] == 0


@pytest.mark.parametrize("name,entries,text", [
    ("up", [(entry("../escaped"), b"x")], '".."'),
    ("inner-up", [(entry("a/../../escaped"), b"x")], '".."'),
    ("absolute", [(entry("/tmp/escaped"), b"x")], "absolute"),
    ("through-link", [entry("d", tarfile.SYMTYPE, link="/tmp"), (entry("d/escaped"), b"x")], "symbolic link"),
    ("hard-link-out", [entry("h", tarfile.LNKTYPE, link="../../../../etc/passwd")], ""),
    ("hard-link-absolute", [entry("h", tarfile.LNKTYPE, link="/etc/passwd")], ""),
    ("hard-link-through-link", [entry("d", tarfile.SYMTYPE, link="/etc"), entry("h", tarfile.LNKTYPE, link="d/passwd")], ""),
    ("long", [(entry("/".join(["!touch escaped;#"] * 600)), b"x")], "the path is longer than 4000 bytes"),
])
def test_hostile_archives(host, name, entries, text):
    path = archive(host.base / f"{name}.tar", *entries)
    config = small_config(host, bundles=[{"name": "b", "path": str(path), "mountpoint": "/b"}])
    code, answer = ask(host, "prepare", config)
    assert code == 1 and "config.bundles[0].path" in answer["error"] and str(path) in answer["error"], answer
    assert text in answer["error"] and answer["errorCode"] == "invalid"
    assert not (host.state / "w").exists()
    assert not os.path.exists("/tmp/escaped") and not (host.base / "escaped").exists()
    assert not (cache_dir(host) / "tmp" / "bundle").exists()


def many_holes(count):
    """Makes a file of holes in GNU's format 1.0: each takes a few bytes of the archive, and much memory."""
    places = b"%d\n" % count + b"0\n0\n" * count
    info = entry("holes")
    info.size = -(-len(places) // 512) * 512
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "holes",
                        "GNU.sparse.realsize": "0"}
    return gzip.compress(info.tobuf(tarfile.PAX_FORMAT) + places.ljust(info.size, b"\0") + bytes(1024))


def with_dictionary(data, size):
    """Returns data as xz, whose first block asks for a dictionary of that code's size (xz file format 1.2, sections 3.1
    and 5.3.1)."""
    packed = bytearray(lzma.compress(data, preset=0))
    end = 12 + (packed[12] + 1) * 4
    filters = packed.index(b"\x21\x01", 13, end)
    packed[filters + 2] = size
    packed[end - 4:end] = struct.pack("<I", zlib.crc32(packed[12:end - 4]))
    return bytes(packed)


def test_archives_that_are_none_or_too_much(host):
    def refused(data, text, code="", env=None):
        path = host.base / "b.tar"
        path.write_bytes(data)
        config = small_config(host, bundles=[{"name": "b", "path": str(path), "mountpoint": "/b"}])
        exit_code, answer = ask(host, "prepare", config, env=env)
        assert exit_code == 1 and text in answer["error"] and code in answer["errorCode"], answer
        assert not (host.state / "w").exists()

    refused(b"no archive at all" * 100, "config.bundles[0].path", "invalid")
    refused(b"", "config.bundles[0].path", "invalid")
    # The file begins as the end of an archive does, and as a disk image.
    for behind in (b"x", bytes(1 << 20) + b"x"):
        for packed in (bytes, gzip.compress):
            refused(packed(bytes(1024) + behind), "it is not a tar archive", "invalid")
    huge = entry("huge")
    huge.size = 1 << 45  # 32 TiB that do not exist
    refused(huge.tobuf(), "more than", "invalid")
    archive(host.base / "s.tar", *[(entry(str(i)), b"x" * 5000) for i in range(10)])
    data = (host.base / "s.tar").read_bytes()
    refused(data, "more than 40000 bytes", "invalid", env={"MICROAGENT_TEST_LIMIT_BUNDLE_BYTES": "40000"})
    refused(data, "more than 5 files", "invalid", env={"MICROAGENT_TEST_LIMIT_BUNDLE_FILES": "5"})
    few = {"MICROAGENT_TEST_LIMIT_ARCHIVE_MEMORY_MIB": "32"}
    for greedy in (many_holes(1_000_000), with_dictionary(data, 30)):  # of 128 MiB
        refused(greedy, "more than 32 MiB of memory are needed to read the archive", "invalid", env=few)
    refused(with_dictionary(data, 40), "more than 1024 MiB of memory are needed to read the archive", "invalid")  # of 4 GiB
    refused(data[:3000], "the archive ends too early, in or after its entry 1: fetch or make it again", "invalid")
    for path, text in (("/nonexistent.tar", "No such file"), (str(host.base), "not a regular file")):
        config = small_config(host, bundles=[{"name": "b", "path": path, "mountpoint": "/b"}])
        for command in ("check", "prepare", "run"):
            code, answer = ask(host, command, config)
            assert code == 1 and text in answer["error"] and "config.bundles[0].path" in answer["error"]
    assert not (host.state / "w").exists()
