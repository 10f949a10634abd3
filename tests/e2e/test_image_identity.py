# SPDX-License-Identifier: MIT
"""Tests whether an image is the one that its name says. Its layers are those that its configuration names. A file of
the cache is linked only for the same image. A digest in a name must match."""

import hashlib
import json
import os

import pytest

import importing
import oci
from importing import SIZE, assert_no_image, debugfs, disk, listing, record, refused
from oci import Layout, file, layer, sha256
from test_importer import stand_in

cache = importing.cache

GENUINE = [layer(file("program", b"genuine")), layer(file("data", b"genuine too"))]
EVIL = [layer(file("program", b"evil")), layer(file("data", b"genuine too"))]


def layout_of(path, layers=None, named=None, **kw):
    """Makes an image of layers, with the configuration of an image of other layers."""
    layout = Layout(path)
    layers = GENUINE if layers is None else layers
    rootfs = {"type": "layers", "diff_ids": ["sha256:" + sha256(data) for data in named or GENUINE]}
    layout.image(layers, rootfs=rootfs, **kw)
    return layout


def says(number, layers=None):
    """What is wrong with that layer."""
    return (f"layer {number} of 2: the contents of the layer have the digest "
            f"sha256:{sha256((layers or EVIL)[number - 1])}, but the image's configuration names sha256:{sha256(GENUINE[number - 1])}: fetch the image again, or ask its maker")


def trust(host, address):
    """skopeo speaks HTTP with the registry of a test."""
    conf = host.base / ".config" / "containers" / "registries.conf"
    conf.parent.mkdir(parents=True, exist_ok=True)
    conf.write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
    host.env["HOME"] = str(host.base)


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "plain"])
def test_an_image_with_the_configuration_of_another(host, cache, packed):
    """In the attack an image took another one's place: the import of the other became a link to its disk, also by its digest."""
    evil, genuine = layout_of(host.base / "evil", EVIL, packed=packed), layout_of(host.base / "genuine", packed=packed, tag="1")
    assert json.loads((evil.blobs / evil.index[0]["digest"][7:]).read_text())["config"] == json.loads(
        (genuine.blobs / genuine.index[0]["digest"][7:]).read_text())["config"]
    archive = evil.archive(host.base / "evil.tar")
    assert refused(host, cache, evil.path) == f"oci:{evil.path}: {says(1)}"
    assert refused(host, cache, archive) == f"oci-archive:{archive}: {says(1)}"
    with oci.registry(evil) as (address, _):
        trust(host, address)
        name = f"{address}/a/b@{evil.index[0]['digest']}"
        assert refused(host, cache, name) == f"docker://{name}: {says(1)}"
    answer = host.json("base", "create", "web", "--from-oci", str(evil.path), check=1)
    assert says(1) in answer["error"], answer
    assert_no_image(host, cache)
    assert host.json("base", "list")["bases"] == []
    with oci.registry(genuine) as (address, _):
        trust(host, address)
        host("image", "import", *SIZE, "box", f"{address}/a/b@{genuine.index[0]['digest']}", check=0)
    assert debugfs(cache, "cat /program") == "genuine" and debugfs(cache, "cat /data") == "genuine too"


@pytest.mark.parametrize("layers,said", [
    ([GENUINE[0], EVIL[0]], says(2, [GENUINE[0], EVIL[0]])),
    ([GENUINE[1], GENUINE[0]], says(1, [GENUINE[1], GENUINE[0]])),
    ([GENUINE[0], GENUINE[1] + b"\0"], says(2, [GENUINE[0], GENUINE[1] + b"\0"])),
    ([GENUINE[0], b""], says(2, [GENUINE[0], b""])),
    (GENUINE[:1], "configuration: rootfs.diff_ids names 2 layers, but the manifest has 1: the image is damaged; fetch or make it again"),
    ([*GENUINE, EVIL[0]], "configuration: rootfs.diff_ids names 2 layers, but the manifest has 3: the image is damaged; fetch or make it again"),
    ([], "configuration: rootfs.diff_ids names 2 layers, but the manifest has 0: the image is damaged; fetch or make it again"),
], ids=["other", "order", "one-byte", "empty", "fewer", "more", "none"])
def test_layers_that_the_configuration_does_not_name(host, cache, layers, said):
    layout = layout_of(host.base / "layout", layers)
    assert refused(host, cache, layout.path) == f"oci:{layout.path}: {said}"


def test_layers_of_docker(host, cache):
    """skopeo finds the layers of its archives by the names in the configuration."""
    ref = oci.docker_archive(host.base / "d.tar", [layer(file("f", b"contents"))], damage=0)
    assert "igest" in refused(host, cache, ref, code="io")
    host("image", "import", *SIZE, "box", oci.docker_archive(host.base / "d.tar", GENUINE), check=0)
    assert debugfs(cache, "cat /program") == "genuine"


def test_layers_with_more_behind_their_ends_than_they_may(host, cache):
    host.env["MICROAGENT_TEST_LIMIT_LAYER_TAIL_BYTES"] = "1000000"
    layers = [GENUINE[0] + bytes(700_000), GENUINE[1] + bytes(700_000)]
    layout = layout_of(host.base / "layout", layers, layers)
    assert refused(host, cache, layout.path) == \
        f"oci:{layout.path}: layer 2 of 2: this layer and the layers before it have more than 1000000 bytes after the ends of their archives, the most that microagent reads: make the image again"
    host.env["MICROAGENT_TEST_LIMIT_LAYER_TAIL_BYTES"] = "2000000"
    host("image", "import", *SIZE, "box", layout.path, check=0)


def test_what_an_earlier_program_has_recorded(host, cache):
    """An earlier version compared no layer with its configuration. Its image is neither a twin nor up to date, and an
    import repairs it."""
    layout = layout_of(host.base / "layout")
    host("image", "import", *SIZE, "box", layout.path, check=0)
    manifest = json.loads((layout.blobs / layout.index[0]["digest"][7:]).read_text())
    recipe = f"import 1 {manifest['config']['digest'][7:]} {128 << 20}"
    path = cache / "images" / "box.json"
    old = {**record(cache), "recipeSha256": hashlib.sha256(recipe.encode()).hexdigest()}
    path.unlink()
    path.write_text(json.dumps(old))
    inode = disk(cache).stat().st_ino
    host("image", "import", *SIZE, "twin", layout.path, check=0)
    assert disk(cache, "twin").stat().st_ino != inode
    assert host("image", "import", *SIZE, "box", layout.path, check=0).stdout == "image box is imported\n"
    assert os.path.samefile(disk(cache), disk(cache, "twin")) and disk(cache).stat().st_ino != inode
    assert host("image", "import", *SIZE, "box", layout.path, check=0).stdout == "image box is there already\n"


def test_an_image_is_known_by_its_manifest(host, cache):
    """The configuration alone does not identify an image, since a reader that hostile layers took over could give another's."""
    packed, plain = layout_of(host.base / "packed"), layout_of(host.base / "plain", packed=False)
    host("image", "import", *SIZE, "box", packed.path, check=0)
    host("image", "import", *SIZE, "same", packed.archive(host.base / "a.tar"), check=0)
    host("image", "import", *SIZE, "other", plain.path, check=0)
    assert os.path.samefile(disk(cache), disk(cache, "same"))
    assert not os.path.samefile(disk(cache), disk(cache, "other"))
    assert record(cache)["sha256"] == record(cache, "other")["sha256"]
    # The same image is found in an index.
    packed.put_index(packed.index_of(packed.index))
    assert host("image", "import", *SIZE, "box", packed.path, check=0).stdout == "image box is there already\n"
    host("image", "import", *SIZE, "third", packed.path, check=0)
    assert os.path.samefile(disk(cache), disk(cache, "third"))


def put_manifest(layout, change):
    """Changes the layout's manifest. Returns its digest."""
    manifest = json.loads((layout.blobs / layout.index[0]["digest"][7:]).read_text())
    change(manifest)
    layout.index = [layout.blob(json.dumps(manifest).encode(), oci.MANIFEST)]
    layout.put_index(*layout.index)
    return layout


@pytest.mark.parametrize("change,said", [
    (lambda m: m["layers"][1].update(size=m["layers"][1]["size"] + 1), "layers[1] has "),
    (lambda m: m["layers"][0].update(mediaType="application/vnd.in-toto+json"), 'layers[0].mediaType is "application/vnd.in-toto+json", which is not the type of an image: name another image'),
], ids=["size", "type"])
def test_a_manifest_that_is_wrong(host, cache, change, said):
    layout = put_manifest(layout_of(host.base / "layout"), change)
    error = host.json("image", "import", *SIZE, "box", layout.path, check=1)["error"]
    assert error.startswith(f"oci:{layout.path}: manifest: {said}"), error
    assert_no_image(host, cache)


def test_a_manifest_that_is_an_index_too(host, cache):
    """One reader takes the manifest for another kind, an index (CVE-2021-41190)."""
    layout = put_manifest(layout_of(host.base / "layout"), lambda m: m.update(manifests=[]))
    host.json("image", "import", *SIZE, "box", layout.path, check=1)
    assert_no_image(host, cache)


def test_a_registry_that_does_not_have_what_a_digest_names(host, cache):
    """The manifest, the configuration and the layers are compared, whatever the registry answers with."""
    layout = layout_of(host.base / "layout")
    other = layout_of(host.base / "other", EVIL, EVIL)
    digest = layout.index[0]["digest"]
    manifest = json.loads((layout.blobs / digest[7:]).read_text())
    wrong = json.loads((other.blobs / other.index[0]["digest"][7:]).read_text())
    with oci.registry(layout) as (address, _):
        trust(host, address)
        name = f"{address}/a/b@{digest}"
        for blob, instead, code, said in (
                (digest, other.index[0]["digest"], "invalid", f"docker://{name}: the image has another digest than its name says: fetch it again, or correct the name; its digest is {other.index[0]['digest']}"),
                (manifest["config"]["digest"], wrong["config"]["digest"], "io", "igest"),
                (manifest["layers"][0]["digest"], wrong["layers"][0]["digest"], "io", "igest")):
            whole = (layout.blobs / blob[7:]).read_bytes()
            (layout.blobs / blob[7:]).write_bytes((other.blobs / instead[7:]).read_bytes())
            assert said in refused(host, cache, name, code=code)
            (layout.blobs / blob[7:]).write_bytes(whole)
        host("image", "import", *SIZE, "box", name, check=0)
    assert set(listing(cache)) == {"program", "data"}


# A stand-in for skopeo: it looks at one image and fetches another.
FALSE_SKOPEO = """#!/bin/sh
case " $* " in
*" inspect "*) cat {looked};;
*) cp {fetched}/* fetched;;
esac
"""


def false_skopeo(host, looked, fetched):
    """The reader may be a program that was taken over by its input."""
    into = host.base / "fetched"
    into.mkdir()
    manifest = (fetched.blobs / fetched.index[0]["digest"][7:]).read_bytes()
    for blob in [json.loads(manifest)["config"], *json.loads(manifest)["layers"]]:
        (into / blob["digest"][7:]).write_bytes((fetched.blobs / blob["digest"][7:]).read_bytes())
    (into / "manifest.json").write_bytes(manifest)
    host.base.chmod(0o755)
    stand_in(host, FALSE_SKOPEO.format(looked=looked.blobs / looked.index[0]["digest"][7:], fetched=into))


def test_a_digest_is_held_against_skopeo_too(host, cache):
    layout, other = layout_of(host.base / "layout"), layout_of(host.base / "other", EVIL, EVIL)
    digest, instead = layout.index[0]["digest"], other.index[0]["digest"]
    name = f"docker://localhost:1/a/b@{digest}"
    false_skopeo(host, other, other)

    def import_of(ref, code):
        answer = host.json("image", "import", *SIZE, "--unconfined", "box", ref, check=code)
        assert_no_image(host, cache)
        return answer["errorCode"], answer["error"]
    assert import_of(name, 1) == ("invalid", f"{name}: the image has another digest than its name says: fetch it again, or correct the name; its digest is {instead}")
    stand_in(host, (host.base / "tools" / "skopeo").read_text().replace(str(other.blobs / instead[7:]), str(layout.blobs / digest[7:])))
    for ref in (name, "docker://localhost:1/a/b:1"):
        assert import_of(ref, 75) == ("unavailable", f"{ref} has changed while it was fetched: try again")
