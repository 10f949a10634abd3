# SPDX-License-Identifier: MIT
"""Tests a guest bundle: it is made from the cache here, taken into an empty cache there, and booted. Tests every fault
of a bundle too."""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess

import pytest

import schema_check
import strays
import test_arm64
from conftest import BIN, ROOT, wait_until

arm64_kernel, arm64_image = test_arm64.arm64_kernel, test_arm64.arm64_image  # fixtures
OWN, OTHER = ("arm64", "amd64") if os.uname().machine == "aarch64" else ("amd64", "arm64")


@pytest.fixture(scope="session")
def made(tmp_path_factory, arm64_kernel, arm64_image, debian_kernel):
    """Makes a bundle for both architectures; no test changes it."""
    place = tmp_path_factory.mktemp("bundle") / "guest-bundle"
    done = subprocess.run([BIN / "microagent", "--json", "guest-bundle", "make", "--kernel", "debian", place], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    schema_check.validate_cli(["guest-bundle", "make"], answer)
    return place, answer


@pytest.fixture
def bundle(made, tmp_path):
    """Makes a bundle that a test may damage. Its files are those of the other bundle, except those that own() has copied."""
    place = tmp_path / "guest-bundle"
    subprocess.run(["cp", "-rl", made[0], place], check=True)
    own(place / "manifest.json")
    return place


def own(path):
    """Replaces a file that other tests share by the test's own copy."""
    copy = path.with_name("copy")
    subprocess.run(["cp", "--sparse=always", path, copy], check=True)
    copy.rename(path)
    return path


@pytest.fixture
def elsewhere(host, tmp_path):
    """A host with nothing in its cache, and no program that could make or hash anything."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("microagent", "microagent-qemu-supervisor", "microagent-vsockd", "microagent-netgate"):
        shutil.copy(BIN / name, programs)
    host.bin, host.cache = programs, tmp_path / "cache"
    host.env["MICROAGENT_CACHE_DIR"] = str(host.cache)
    return host


def files(cache):
    return sorted(str(p.relative_to(cache)) for p in cache.glob("*/*") if p.parent.name not in (".locks", "digests"))


def edit(bundle, change):
    path = bundle / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def entry(manifest, part, architecture=OWN):
    return next(e for e in manifest["entries"] if e["part"] == part and e["record"]["architecture"] == architecture)


def test_what_is_made(made):
    place, answer = made
    text = (place / "manifest.json").read_bytes()
    assert answer["sha256"] == hashlib.sha256(text).hexdigest() and answer["path"] == str(place)
    manifest = json.loads(text)
    schema_check.validate("guest-bundle", manifest)
    assert {(e["part"], e["architecture"]) for e in answer["entries"]} == {(p, a) for p in ("kernels", "images") for a in (OWN, OTHER)}
    said = {f["file"]: f for e in manifest["entries"] for f in e["files"]}
    assert {str(p.relative_to(place)) for p in place.glob("*/*")} == set(said)
    for name, file in said.items():
        data = (place / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file["sizeBytes"], file["sha256"])
    # A Mac needs a kernel that is an unpacked Image (Documentation/arch/arm64/booting.rst: the magic at 56).
    arm64 = place / next(n for n in said if n.startswith("kernels/") and n.endswith("-arm64"))
    assert arm64.read_bytes()[56:60] == b"ARM\x64"
    # Holes are still holes.
    assert os.stat(place / "images/busybox.ext4").st_blocks * 512 < 64 << 20


def test_taken_in_and_booted(elsewhere, made):
    place, answer = made
    taken = elsewhere.json("guest-bundle", "import", place, "--sha256", answer["sha256"])
    assert {(e["part"], e["architecture"]) for e in taken["entries"]} == {("kernels", OWN), ("images", OWN)}
    kernel, = elsewhere.json("kernel", "list")["kernels"]
    assert kernel["architecture"] == OWN and kernel["kind"] == "debian" and kernel["initrd"]
    assert [i["name"] for i in elsewhere.json("image", "list")["images"]] == ["busybox"]
    assert not list((elsewhere.cache / "tmp").iterdir())
    # The bundle's maker says what its entries were made from. Believed, they would pass for entries that are imported
    # here later.
    origins = ("recipeSha256", "packageSha256", "configSha256")
    assert any(key in e["record"] for key in origins for e in json.loads((place / "manifest.json").read_text())["entries"])
    assert not any(key in path.read_text() for key in origins for path in elsewhere.cache.glob("*/*.json"))
    before = files(elsewhere.cache)
    said = elsewhere("guest-bundle", "import", place, check=0).stdout  # again: it is as it was
    assert answer["sha256"] in said and "replaces" not in said and files(elsewhere.cache) == before
    record, = (elsewhere.cache / "images").glob("*.json")
    image = json.loads(record.read_text())
    record.write_text(json.dumps({**image, "sha256": "1" * 64}))  # another entry of that name
    said = elsewhere("guest-bundle", "import", place, check=0).stdout
    assert "busybox replaces another image of that name, 111111111111\n" in said, said
    record.write_text(json.dumps({**image, "sha256": "1" * 64}))
    told = elsewhere.json("guest-bundle", "import", place)["entries"]
    assert {e["name"]: e.get("replacedSha256") for e in told} == {"busybox": "1" * 64, kernel["name"]: None}
    shutil.copy(BIN / "microagent-artifact", elsewhere.bin)  # by this entry this host's supervisor hashes
    done = elsewhere("run", "--memory", 256, "--cpus", 1, "--", "uname", "-rm", check=0)
    assert kernel["version"].split("-")[0].rsplit(".", 1)[0] in done.stdout


def test_a_kernel_of_a_bundle_is_not_the_default_one(elsewhere, made, tmp_path):
    """In the attack a bundle called its kernel tuned, of version 999, and all later machines booted it."""
    place = tmp_path / "lying"
    shutil.copytree(made[0], place)
    manifest = json.loads((place / "manifest.json").read_text())
    for entry in manifest["entries"]:
        if entry["part"] == "kernels":
            entry["record"].update(kind="tuned", version="999")
    (place / "manifest.json").write_text(json.dumps(manifest))
    elsewhere("guest-bundle", "import", place, check=0)
    own, = elsewhere.json("kernel", "list")["kernels"]
    assert (own["kind"], own["version"]) == ("tuned", "999")  # it is the only one
    record, = (elsewhere.cache / "kernels").glob("*.json")
    of_this_host = {**json.loads(record.read_text()), "name": "mine", "kind": "debian", "version": "1"}
    del of_this_host["bundled"]
    for part in record.parent.glob(f"{record.stem}*"):
        shutil.copy(part, record.parent / part.name.replace(record.stem, "mine"))
    (record.parent / "mine.json").write_text(json.dumps(of_this_host))
    assert [kernel["name"] for kernel in elsewhere.json("kernel", "list")["kernels"]] == ["mine", own["name"]]


def test_the_source_that_a_bundle_names_is_not_recorded(elsewhere, made, tmp_path):
    """In the attack `image list` said of any image that it came from a registry, under a digest of the bundle's choice."""
    place = tmp_path / "lying"
    shutil.copytree(made[0], place)
    manifest = json.loads((place / "manifest.json").read_text())
    image, = (e for e in manifest["entries"] if (e["part"], e["record"]["architecture"]) == ("images", OWN))
    image["record"]["source"] = {"ref": "docker://docker.io/library/debian:12", "digest": "sha256:" + "1" * 64}
    (place / "manifest.json").write_text(json.dumps(manifest))
    elsewhere.json("guest-bundle", "import", place)
    image, = elsewhere.json("image", "list")["images"]
    assert image["name"] == "busybox" and "source" not in image, image
    assert not any("docker.io" in path.read_text() for path in elsewhere.cache.glob("*/*.json"))


def test_what_is_for_another_architecture(elsewhere, made):
    """The entry is taken if it is asked for by name, and otherwise left."""
    elsewhere.json("guest-bundle", "import", made[0], "--arch", OTHER)
    assert {k["architecture"] for k in elsewhere.json("kernel", "list")["kernels"]} == {OTHER}


def test_a_bundle_of_another_architecture(elsewhere, tmp_path):
    place = tmp_path / "foreign"
    subprocess.run([BIN / "microagent", "guest-bundle", "make", "--arch", OTHER, "--kernel", "debian", place], check=True, capture_output=True)
    done = elsewhere("guest-bundle", "import", place, check=1)
    assert f"{place} has nothing for {OWN}: it is for {OTHER}" in done.stderr
    assert files(elsewhere.cache) == []


def refused(elsewhere, bundle, text, *words):
    done = elsewhere("guest-bundle", "import", bundle, *words, check=1)
    assert text in done.stderr, done.stderr
    assert files(elsewhere.cache) == [] and not list((elsewhere.cache / "tmp").glob("*"))


@pytest.mark.parametrize("part, suffix", [("kernels", ""), ("kernels", ".initrd"), ("images", ".ext4")])
def test_one_byte_is_another(elsewhere, bundle, part, suffix):
    name = entry(json.loads((bundle / "manifest.json").read_text()), part)["record"]["name"]
    with open(own(bundle / part / (name + suffix)), "r+b") as file:
        file.seek(-1000, os.SEEK_END)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    refused(elsewhere, bundle, f"{bundle}/{part}/{name}{suffix}: the file is damaged, because it does not have the digest that the manifest says: fetch the bundle again")


def test_a_file_that_is_cut_off_or_missing(elsewhere, bundle):
    name = entry(json.loads((bundle / "manifest.json").read_text()), "images")["record"]["name"]
    image = own(bundle / "images" / f"{name}.ext4")
    os.truncate(image, image.stat().st_size - 1)
    refused(elsewhere, bundle, "the file does not have the size that the manifest says: fetch the bundle again")
    image.unlink()
    refused(elsewhere, bundle, "No such file or directory")
    image.symlink_to("/etc/passwd")
    refused(elsewhere, bundle, f"{name}.ext4 is a symbolic link")
    image.unlink()
    os.mkfifo(image)
    refused(elsewhere, bundle, "the source of the copy is not a regular file")


def set_architecture(manifest):
    """A kernel for the other architecture under a name of this one."""
    ours, theirs = entry(manifest, "kernels"), entry(manifest, "kernels", OTHER)
    ours["record"]["sha256"] = theirs["record"]["sha256"]
    ours["files"][0].update(sizeBytes=theirs["files"][0]["sizeBytes"], sha256=theirs["files"][0]["sha256"])


def test_a_kernel_that_is_for_another_architecture(elsewhere, bundle):
    manifest = json.loads((bundle / "manifest.json").read_text())
    ours, theirs = (entry(manifest, "kernels", a)["files"][0]["file"] for a in (OWN, OTHER))
    shutil.copy(bundle / theirs, own(bundle / ours))
    edit(bundle, set_architecture)
    refused(elsewhere, bundle, f"the kernel is for {OTHER}, but the manifest says {OWN}")


def drop(key):
    return lambda m: entry(m, "kernels").pop(key)


WRONG = {
    "format": (lambda m: m.update(format=2), "format"),
    "entries": (lambda m: m.pop("entries"), "entries"),
    "part": (lambda m: entry(m, "kernels").update(part="../x"), "the entry is for a part of the cache that this version of microagent does not know: use a newer version"),
    "record": (drop("record"), "record"),
    "files": (drop("files"), "files"),
    "a name that leads out": (lambda m: entry(m, "kernels")["record"].update(name="../../x"), "cannot be the name of an entry"),
    "a hidden name": (lambda m: entry(m, "kernels")["record"].update(name=".x"), "cannot be the name of an entry"),
    "the name of a file beside": (lambda m: entry(m, "kernels")["record"].update(name="x.initrd"), "cannot be the name of an entry"),
    "another's name": (lambda m: entry(m, "kernels", "arm64")["record"].update(name="x"), "cannot be the name of an entry for arm64"),
    "a third architecture": (lambda m: entry(m, "images")["record"].update(architecture="riscv64"), "the architecture of"),
    "a digest of the record": (lambda m: entry(m, "images")["record"].update(sha256="0" * 64), "the file is damaged, because it does not have the digest that its record says"),
    "a length of the record": (lambda m: entry(m, "images")["record"].update(sizeBytes=1), "the file is damaged, because it does not have the size that its record says"),
    "a record without a kind": (lambda m: entry(m, "kernels")["record"].pop("kind"), "kind"),
    "a record without an initrd's digest": (lambda m: entry(m, "kernels")["record"].pop("initrdSha256"), "the file is damaged, because it does not have the digest that its record says"),
    "no initrd": (lambda m: entry(m, "kernels").update(files=entry(m, "kernels")["files"][:1]), "is not a whole guest bundle, because its manifest has no"),
    "an entry twice": (lambda m: m["entries"].append(entry(m, "kernels")), "File exists"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_manifest_that_is_wrong(elsewhere, bundle, what):
    edit(bundle, WRONG[what][0])
    refused(elsewhere, bundle, WRONG[what][1])


def test_a_manifest_that_is_none(elsewhere, bundle, made, tmp_path):
    refused(elsewhere, bundle, f"manifest.json has the digest {made[1]['sha256']}, not " + "0" * 64, "--sha256", "0" * 64)
    assert elsewhere("guest-bundle", "import", bundle, "--sha256", "abc", check=2).stderr
    (bundle / "manifest.json").write_text("{")
    refused(elsewhere, bundle, "manifest.json")
    (bundle / "manifest.json").write_text("[]")
    refused(elsewhere, bundle, "manifest.json")
    (bundle / "manifest.json").unlink()
    refused(elsewhere, bundle, f"guest bundle: {bundle}: the directory is not a guest bundle: manifest.json: No such file or directory")
    refused(elsewhere, tmp_path / "none", "none: No such file or directory")
    (tmp_path / "archive").write_bytes(b"x")
    refused(elsewhere, tmp_path / "archive", "archive is not a directory: if it is an archive, unpack it first")


def test_what_cannot_be_made(host, tmp_path):
    place = tmp_path / "guest-bundle"
    for words, text in [(("--kernel", "no-such"), "no-such"), (("--image", "/etc/passwd"), "a bundle is made of entries of the cache"),
                        (("--kernel", host.config()["kernelPath"] + ".initrd"), "")]:
        done = host("guest-bundle", "make", place, *words, check=1)
        assert text in done.stderr and not place.exists(), done.stderr
    place.mkdir()
    assert f"{place} is there already" in host("guest-bundle", "make", place, check=1).stderr and place.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_maker_that_is_told_to_end(elsewhere, made, tmp_path, number):
    """Killed in the middle of a file that would take minutes; nothing is left of it."""
    elsewhere.json("guest-bundle", "import", made[0])
    image = elsewhere.cache / "images" / "busybox"
    record = json.loads(image.with_suffix(".json").read_text())
    image.with_suffix(".json").write_text(json.dumps({**record, "sizeBytes": 1 << 40}))
    os.truncate(own(image.with_suffix(".ext4")), 1 << 40)
    child = elsewhere.popen("guest-bundle", "make", tmp_path / "new")
    wait_until((tmp_path / "new/images/busybox.ext4").exists, "the image to be copied")
    child.send_signal(number)
    out, err = child.communicate()
    assert child.returncode == 128 + number and b"cancelled" in err and not out, (child.returncode, out, err)
    assert not (tmp_path / "new").exists()


def test_a_taker_that_is_told_to_end(elsewhere, made):
    """Killed while it waits for another command that uses the cache."""
    elsewhere.json("guest-bundle", "import", made[0])
    before = files(elsewhere.cache)
    with open(elsewhere.cache / ".locks" / "kernels", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        child = elsewhere.popen("guest-bundle", "import", made[0])
        name = os.path.realpath(lock.name)
        wait_until(lambda: name in strays.descriptors(child.pid).values(), "it to wait for the lock")
        child.send_signal(signal.SIGINT)
        _, err = child.communicate()
    assert child.returncode == 130 and b"cancelled" in err, (child.returncode, err)
    assert files(elsewhere.cache) == before


def test_an_entry_that_is_damaged_is_not_made(elsewhere, made, tmp_path):
    elsewhere.json("guest-bundle", "import", made[0])
    initrd = next((elsewhere.cache / "kernels").glob("*.initrd"))
    initrd.chmod(0o644)
    with open(initrd, "ab") as file:
        file.write(b"x")
    done = elsewhere("guest-bundle", "make", tmp_path / "new", check=1)
    assert f"{initrd} differs from the cache's record of it" in done.stderr and not (tmp_path / "new").exists()


def test_make_replaces_no_directory_of_somebody(tmp_path):
    """Before anything is built."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept").write_text("kept")
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "-C", ROOT, "guest-bundle", f"BUILD={BIN.parent}", f"GUEST_BUNDLE={tmp_path / 'mine'}"],
                          env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and f"make: {tmp_path / 'mine'} is there, and is no guest bundle\n" in done.stderr, done
    assert [path.name for path in tmp_path.iterdir()] == ["mine"] and (tmp_path / "mine" / "kept").read_text() == "kept"
