# SPDX-License-Identifier: MIT
"""Tests the sources of `microagent image import`: layouts, archives and registries, whole, damaged and misnamed."""

import json
import os

import pytest

import importing
import oci
from importing import SIZE, assert_no_image, debugfs, disk, listing, record, refused, simple
from oci import Layout, file, layer

cache = importing.cache


def damage(path):
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def test_damaged_blobs(host, cache):
    layout = Layout(host.base / "layout")
    layout.image([layer(file("f", b"contents"))])
    manifest = json.loads((layout.blobs / layout.index[0]["digest"][7:]).read_text())
    for blob in (manifest["layers"][0], manifest["config"]):
        file_of = layout.blobs / blob["digest"][7:]
        whole = file_of.read_bytes()
        damage(file_of)
        assert "igest" in refused(host, cache, layout.path, code="io")
        file_of.write_bytes(whole)
    file_of = layout.blobs / layout.index[0]["digest"][7:]
    whole = file_of.read_bytes()
    file_of.write_bytes(whole + b" ")
    assert "of its manifest: fetch or make the image again" in refused(host, cache, layout.path)
    assert "of its manifest: fetch or make the image again" in refused(host, cache, layout.archive(host.base / "a.tar"))
    file_of.write_bytes(whole)
    (layout.blobs / manifest["layers"][0]["digest"][7:]).unlink()
    refused(host, cache, layout.path, code="io")


def test_a_layer_that_is_there_twice(host, cache):
    """Many builders make images in which each empty step is the same layer."""
    layout = Layout(host.base / "layout")
    twice = layer(file("f", b"lower"))
    layout.image([twice, layer(file("f", b"between"), file("g", b"x")), twice])
    host("image", "import", *SIZE, "box", layout.path, check=0)
    assert set(listing(cache)) == {"f", "g"} and debugfs(cache, "cat /f") == "lower"


def test_an_archive_has_nothing_fetched(host, cache):
    """A layer may name addresses to fetch it from, for example in this host's own network."""
    layout = Layout(host.base / "layout")
    with oci.registry(layout) as (address, asked):
        layout.image([layer(file("f", b"x"))], of_layers={
            "mediaType": "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", "urls": [f"http://{address}/v2/x/blobs/y"]})
        refused(host, cache, layout.path, code="io")
        refused(host, cache, layout.archive(host.base / "a.tar"), code="io")
        assert asked == []


def test_a_damaged_layer_of_docker_is_known_by_its_own_digest(host, cache):
    ref = oci.docker_archive(host.base / "d.tar", [layer(file("f", b"contents"))], damage=0)
    assert "igest" in refused(host, cache, ref, code="io")


def test_a_layer_that_ends_too_early(host, cache):
    layout = Layout(host.base / "layout")
    layout.image([layer(file("f", b"c" * 5000))[:2000]])
    assert "layer 1 of 1" in refused(host, cache, layout.path)
    layout = Layout(host.base / "other")
    layout.image([b"no archive at all"])
    assert "layer 1 of 1" in refused(host, cache, layout.path)


@pytest.mark.parametrize("changes,code,said", [
    ({"architecture": "s390x"}, "unsupported", "s390x"),
    ({"architecture": None}, "invalid", "configuration: architecture is required"),
    ({"config": {"Env": ["novalue"]}}, "invalid", "Env[0]"),
    ({"config": {"Entrypoint": "sh"}}, "invalid", "Entrypoint"),
    ({"config": {"Cmd": ["a\0b"]}}, "invalid", "NUL"),
    ({"config": {"WorkingDir": "not/absolute"}}, "invalid", "WorkingDir"),
    ({"config": {"WorkingDir": "/a\tb"}}, "invalid", "configuration: the image's config.WorkingDir must be text without control characters"),
    ({"config": {"User": "a\nb"}}, "invalid", "User"),
    ({"config": {"Env": ["A=" + "x" * 70000]}}, "invalid", "60000"),
    ({"rootfs": None}, "invalid", "configuration: rootfs is required"),
    ({"rootfs": {"type": "layers", "diff_ids": None}}, "invalid", "configuration: rootfs.diff_ids names 0 layers, but the manifest has 1"),
])
def test_a_bad_configuration(host, cache, changes, code, said):
    layout = Layout(host.base / "layout")
    layout.image([layer(file("f", b"x"))], **changes)
    assert said in refused(host, cache, layout.path, code=code)


def test_indexes(host, cache):
    """An index of several platforms. An index inside another one is none."""
    layout = simple(host, file("f", b"x"))
    whole = layout.index_of(layout.index)
    layout.put_index(layout.index_of(layout.index, "s390x"))
    error = refused(host, cache, layout.path, code="unsupported")
    assert error == f"oci:{layout.path} has no image for linux/{oci.ARCHITECTURE}, only for linux/s390x: name another image or architecture"
    layout.put_index(layout.index_of([whole]))
    assert "manifest list" in refused(host, cache, layout.path, code="io")
    layout.put_index(whole)
    host("image", "import", *SIZE, "box", layout.path, check=0)
    assert set(listing(cache)) == {"f"}


THREE = ("linux/amd64", "linux/arm64/v8", "linux/s390x")


def test_an_image_of_several_platforms(host, cache):
    """Each architecture gets its own files. Both are there, under one name."""
    layout = Layout(host.base / "layout")
    layout.platforms(*THREE)
    own, other = ("amd64", "arm64") if oci.ARCHITECTURE == "amd64" else ("arm64", "amd64")
    words = {"amd64": "x86_64", "arm64": "aarch64"}
    assert host.json("image", "import", *SIZE, "box", layout.path)["architecture"] == own
    assert host.json("image", "import", *SIZE, "--arch", other, "box", layout.path)["architecture"] == other
    for architecture in (own, other):
        said = host("image", "import", *SIZE, "--arch", words[architecture], "box", layout.path, check=0).stdout
        assert said.endswith(" is there already\n"), said
    listed = host.json("image", "list")["images"]
    assert [(i["name"], i["architecture"]) for i in listed] == (
        [("box", "amd64"), ("box-arm64", "arm64")] if own == "amd64" else [("box-arm64", "arm64"), ("box", "amd64")])
    for image in listed:
        assert set(listing(cache, name=image["name"])) == {image["architecture"]}
        assert record(cache, image["name"])["architecture"] == image["architecture"]
    # Another name of one of them has its architecture too.
    host("image", "import", *SIZE, "--arch", "arm64", "twin", layout.archive(host.base / "a.tar"), check=0)
    assert os.path.samefile(disk(cache, "box-arm64"), disk(cache, "twin-arm64"))
    assert record(cache, "twin-arm64")["architecture"] == "arm64"


def test_a_record_of_the_wrong_architecture_has_no_twin(host, cache):
    """Earlier programs wrote this for a configuration that names no architecture."""
    layout = Layout(host.base / "layout")
    layout.platforms(*THREE)
    host("image", "import", *SIZE, "--arch", "arm64", "box", layout.path, check=0)
    path = cache / "images" / "box-arm64.json"
    path.write_text(json.dumps({**record(cache, "box-arm64"), "architecture": "amd64"}))
    for name in ("twin", "box"):
        assert "is imported" in host("image", "import", *SIZE, "--arch", "arm64", name, layout.path, check=0).stdout
        assert record(cache, f"{name}-arm64")["architecture"] == "arm64"


def test_what_an_index_lacks_is_told_with_what_it_has(host, cache):
    layout = Layout(host.base / "layout")
    layout.platforms("linux/amd64", "linux/s390x", "unknown/unknown", "linux/amd64", "linux/arm/v7")
    for ref, name in ((layout.path, f"oci:{layout.path}"), (layout.archive(host.base / "a.tar"), f"oci-archive:{host.base}/a.tar")):
        error = refused(host, cache, ref, *SIZE, "--arch", "arm64", code="unsupported")
        assert error == f"{name} has no image for linux/arm64, only for linux/amd64, linux/s390x, linux/arm/v7: name another image or architecture"
    layout = Layout(host.base / "many")
    layout.platforms(*(f"linux/m{i}" for i in range(40)))
    error = refused(host, cache, layout.path, code="unsupported")
    assert error.endswith(", linux/m18, linux/m19 and more: name another image or architecture")
    # An error without a text, and one with a text that a terminal would obey.
    layout = Layout(host.base / "odd")
    layout.platforms("unknown/unknown")
    assert "no image found" in refused(host, cache, layout.path, code="io")
    layout = Layout(host.base / "odder")
    layout.platforms("linux/\x1b[2J" + "x" * 5000)
    said = host("image", "import", *SIZE, "box", layout.path, check=1).stderr
    assert said.count("\n") == 1 and "\x1b" not in said and len(said) < 400, said


def test_archives_and_tags(host, cache):
    """Each form, by its path alone and by skopeo's name for it; also with ':' in the path."""
    layout = Layout(host.base / "lay:out")
    layout.image([layer(file("one", b"1"))], tag="first")
    layout.image([layer(file("two", b"2"))], tag="second")
    archive = layout.archive(host.base / "oci.tar")
    docker = oci.docker_archive(host.base / "docker.tar", [layer(file("three", b"3"))])
    for ref, there in ((f"{layout.path}:first", "one"), (f"oci:{layout.path}:second", "two"),
                       (f"oci-archive:{archive}:first", "one"), (f"{archive}:second", "two"), (docker, "three")):
        host("image", "import", *SIZE, "box", ref, check=0)
        assert set(listing(cache)) == {there}
        assert "is there already" in host("image", "import", *SIZE, "box", ref, check=0).stdout
    assert record(cache)["source"]["ref"] == f"docker-archive:{docker}"
    host("image", "import", *SIZE, "--rebuild", "box", f"docker-archive:{docker}:test/image:1", check=0)
    assert record(cache)["source"]["ref"] == f"docker-archive:{docker}:test/image:1"
    # The tag is missing, or wrong.
    for ref in (layout.path, archive):
        said = host("image", "import", *SIZE, "box", ref, check=1).stderr
        assert said == f"microagent: {ref} has 2 images in it: name one, as {ref}:first; they are first, second\n"
    said = host("image", "import", *SIZE, "box", f"oci:{layout.path}:third", check=1).stderr
    assert said == f'microagent: {layout.path} has no image "third" in it: name one of first, second\n'
    said = host("image", "import", *SIZE, "box", f"{docker}:test/image:2", check=1).stderr
    assert said == f'microagent: {docker} has no image "test/image:2" in it: name one of test/image:1\n'
    assert set(listing(cache)) == {"three"}


def test_a_registry(host, cache):
    layout = Layout(host.base / "layout")
    layout.image([layer(file("one", b"1"))], tag="1.0")
    with oci.registry(layout) as (address, asked):
        conf = host.base / ".config" / "containers" / "registries.conf"
        conf.parent.mkdir(parents=True)
        conf.write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
        host.env["HOME"] = str(host.base)
        host("image", "import", *SIZE, "box", f"{address}/team/app:1.0", check=0)
        assert set(listing(cache)) == {"one"} and any("/blobs/" in path for path in asked)
        assert record(cache)["source"]["ref"] == f"docker://{address}/team/app:1.0"
        before = record(cache)["sha256"]
        # By its digest no layer is fetched again, not even under another name.
        blobs = {"/v2/team/app/blobs/" + json.loads(b)["layers"][0]["digest"] for b in [(layout.blobs / layout.index[0]["digest"][7:]).read_text()]}
        asked.clear()
        assert "is there already" in host("image", "import", *SIZE, "box", f"{address}/team/app:1.0", check=0).stdout
        host("image", "import", *SIZE, "twin", f"docker://{address}/team/app:1.0", check=0)
        assert asked and not blobs & set(asked)
        assert os.path.samefile(disk(cache), disk(cache, "twin"))
        assert record(cache, "twin")["name"] == "twin" and host.json("image", "verify")["ok"]
        # The tag has moved to another image.
        layout.index.clear()
        layout.image([layer(file("two", b"2"))], tag="1.0")
        said = host("image", "import", *SIZE, "box", f"{address}/team/app:1.0", check=0).stdout
        assert said == (f"image box is imported; it replaces another of that name, from docker://{address}/team/app:1.0 "
                        f"({before[:12]})\n")
        assert set(listing(cache)) == {"two"} and set(listing(cache, name="twin")) == {"one"}
        assert host("image", "import", *SIZE, "other", f"{address}/team/app:none", check=1).stderr
        # The index has only images for other platforms.
        layout.platforms("linux/s390x", "windows/amd64", tag="2.0")
        answer = host.json("image", "import", *SIZE, "other", f"{address}/team/app:2.0", check=1)
        assert (answer["errorCode"], answer["error"]) == (
            "unsupported", f"docker://{address}/team/app:2.0 has no image for linux/{oci.ARCHITECTURE}, only for linux/s390x, windows/amd64: name another image or architecture")


@pytest.mark.parametrize("ref,said,code", [
    *[(f"nosuch{end}", f"nosuch{end} does not exist", "not-found") for end in (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.zst")],
    ("./nosuch", "./nosuch does not exist", "not-found"), ("../nosuch", "../nosuch does not exist", "not-found"),
    *[(ref, f"{ref}: images are imported from a path", "invalid")
      for ref in ("dir:/tmp", "https://localhost:1/x", "docker-daemon:debian:12", "containers-storage:x")],
])
def test_what_no_registry_is_asked_for(host, cache, ref, said, code):
    assert refused(host, cache, ref, code=code).startswith(said)


def test_what_skopeo_says_is_told_of_the_users_image(host, cache):
    """The log's time and level, and skopeo's name, do not interest the user."""
    host.env["HOME"] = str(host.base)
    said = host("image", "import", *SIZE, "box", "localhost:1/team/app:1", check=1).stderr
    assert said.startswith("microagent: docker://localhost:1/team/app:1: pinging container registry localhost:1: ")
    layout = simple(host, file("f", b"x"))
    (layout.path / "index.json").write_text("{")
    for ref in (layout.path, layout.archive(host.base / "a.tar")):
        error = refused(host, cache, ref, code="io")
        assert f"{ref}" in error and "level=" not in error and "source" not in error and "\\" not in error, error


def test_names_that_are_none(host, cache):
    ref = simple(host, file("f", b"x")).path
    (host.base / "plain").mkdir()
    (host.base / "text").write_text("no archive")
    (host.base / "tar").write_bytes(layer(file("f", b"x")))
    for where, said, code in ((host.base / "absent", "does not exist", "not-found"), ("oci:" + str(host.base / "absent"), "does not exist", "not-found"),
                              (host.base / "plain", "oci-layout", "invalid"), (host.base / "text", "not an archive of an image", "invalid"),
                              (host.base / "tar", "neither oci-layout nor manifest.json", "invalid"), ("", "without a name", "not-found")):
        assert said in refused(host, cache, where, code=code)
    # Words behind "--" are names, whatever they look like.
    for word in ("--help", "--json", "--rebuild", "-h"):
        assert host("image", "import", *SIZE, "--", "box", word, check=1).stderr.startswith(f"microagent: {word} does not exist")
    for name in ("busybox", "debian", "a/b", "../x", ".hidden", "Large", "x" * 65, "", "--help"):
        answer = host.json("image", "import", *SIZE, "--", name, ref, check=2)
        assert answer["errorCode"] == "invalid" and "name of an image" in answer["error"], answer
    for name in ("busybox-arm64", "debian-arm64"):
        for words in ((), ("--arch", "arm64")):
            answer = host.json("image", "import", *SIZE, *words, name, ref, check=2)
            assert answer["errorCode"] == "invalid" and "name of an image that microagent builds" in answer["error"], answer
    assert_no_image(host, cache)
