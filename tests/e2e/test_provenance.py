# SPDX-License-Identifier: MIT
"""Tests the origin of a root file system: the names and the digest of its image, in every answer and in the audit log."""

import importing
import oci
from conftest import image
from importing import RUN, SIZE
from oci import Layout, file, layer
from test_audit import events, verdict
from test_image_identity import trust

cache = importing.cache

NAMES = ("imageRef", "resolvedRef", "imageDigest")
BOX = ("--memory", 256, "--cpus", 1)


def names_of(found):
    return {name: found[name] for name in NAMES if name in found}


def verified(host, *words, **where):
    """Returns the names in the verification block of a command's answer, in which each file is as prepared."""
    found = host.json(*words, **where)["verification"]
    assert found["ok"] is True
    return names_of(found)


def session_of(host, base):
    name = host.json("session", "create", "--base", base, "--network", "isolated")["name"]
    cloned = events(host, name, "session.cloned")
    assert len(cloned) == 1
    status = verified(host, "status", f"{name}.bundle", env={"MICROAGENT_STATE_DIR": str(host.state / "sessions")})
    return name, status, names_of(cloned[0]["data"])


def end(host, name):
    """The log is whole while its session lives, and when it is closed."""
    assert verdict(host, name)["verdict"] == "open"
    host("session", "destroy", name, check=0)
    assert verdict(host, name)["verdict"] == "closed"
    assert names_of(events(host, name, "session.cloned")[0]["data"])


def pull_through(host, address):
    """A mirror of Docker's registry, as registries.conf(5) has it."""
    trust(host, address)
    conf = host.base / ".config" / "containers" / "registries.conf"
    conf.write_text(f'[[registry]]\nprefix = "docker.io"\nlocation = "{address}"\ninsecure = true\n')


def test_an_image_of_a_registry(host, cache):
    """From its import to the end of a session's audit log."""
    layout = Layout(host.base / "layout")
    digest = "sha256:" + layout.image([layer(*oci.busybox("sh", "true"))], {"Cmd": ["true"], "Env": ["PATH=/bin"]}, tag="1.36")
    expected = {"imageRef": "docker.io/library/busybox:1.36", "resolvedRef": f"docker.io/library/busybox@{digest}",
                "imageDigest": digest}
    with oci.registry(layout) as (address, _):
        pull_through(host, address)
        host("image", "import", *SIZE, "box", "busybox:1.36", check=0)
        # Another name of the image, for a user who asks by its digest.
        host("image", "import", *SIZE, "pinned", f"docker.io/busybox@{digest}", check=0)
    assert verified(host, "create", "w", "--image", "box", *RUN) == expected
    assert verified(host, "create", "p", "--image", "pinned", *RUN) == {**expected, "imageRef": expected["resolvedRef"]}
    assert verified(host, "start", "w") == expected == verified(host, "status", "w")
    host("kill", "w", check=0)
    host("delete", "w", "p", check=0)

    host("base", "create", "web", "--image", "box", *BOX, check=0)
    # For a restored session, and for a fork, which goes on from the same base.
    can_save = "save" in host.support()["features"]
    if can_save:
        host("base", "warm", "web", check=0)
    name, status, cloned = session_of(host, "web")
    assert status == cloned == expected
    if can_save:
        fork = host.json("session", "fork", name)["sessions"][0]["name"]
        assert names_of(events(host, fork, "session.cloned")[0]["data"]) == expected
        host("session", "destroy", fork, check=0)
    end(host, name)
    host("base", "delete", "web-v1", check=0)


def test_an_image_of_an_archive(host, cache):
    """It is known by its place, since the name that an archive gives itself proves nothing."""
    layout = Layout(host.base / "layout")
    digest = "sha256:" + layout.image([layer(*oci.busybox("sh", "true"))], {"Env": ["PATH=/bin"]}, tag="docker.io/library/busybox:1.36")
    archive = layout.archive(host.base / "a.tar")
    host("image", "import", *SIZE, "box", f"{archive}:docker.io/library/busybox:1.36", check=0)
    ref = f"oci-archive:{archive}:docker.io/library/busybox:1.36"
    expected = {"imageRef": ref, "resolvedRef": f"{ref}@{digest}", "imageDigest": digest}
    assert verified(host, "create", "w", "--image", "box", *RUN) == expected
    host("delete", "w", check=0)
    host("base", "create", "web", "--from-oci", layout.path, *BOX, check=0)
    name, status, cloned = session_of(host, "web")
    assert status == cloned == {"imageRef": f"oci:{layout.path}", "resolvedRef": f"oci:{layout.path}@{digest}", "imageDigest": digest}
    end(host, name)
    host("base", "delete", "web-v1", check=0)


def test_an_image_of_our_own_and_a_file(host):
    """The first image has its name in the cache and the digest of its file; the other is known only to the user."""
    own = image(host, "busybox")
    digest = f"sha256:{own['sha256']}"
    expected = {"imageRef": "busybox", "resolvedRef": f"busybox@{digest}", "imageDigest": digest}
    assert verified(host, "create", "w", *BOX) == expected
    assert verified(host, "create", "f", "--image", host.state / "w" / "rootfs.ext4", *BOX) == {}
    host("base", "create", "web", *BOX, check=0)
    host("base", "create", "file", "--image", host.state / "f" / "rootfs.ext4", *BOX, check=0)
    for base, names in (("web", expected), ("file", {})):
        name, status, cloned = session_of(host, base)
        assert status == cloned == names
        host("session", "destroy", name, check=0)
        host("base", "delete", f"{base}-v1", check=0)
    host("delete", "w", "f", check=0)


def test_an_archive_with_a_strange_path(host, cache):
    """Its image can be used, and has no name that a request could hold."""
    layout = Layout(host.base / "lay\nout")
    digest = "sha256:" + layout.image([layer(file("f", b"x"))])
    host("image", "import", *SIZE, "box", layout.path, check=0)
    assert verified(host, "create", "w", "--image", "box", *RUN) == {"imageDigest": digest}
    host("delete", "w", check=0)
