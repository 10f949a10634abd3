# SPDX-License-Identifier: MIT
"""Makes images for tests, damaged and hostile ones too: layers, OCI layouts and archives as of `docker save`, and a
registry on the loopback. They are made by hand, so that only the program under test decides what is right."""

import contextlib
import gzip
import hashlib
import http.server
import io
import json
import platform
import re
import tarfile
import threading
from pathlib import Path

LAYER = "application/vnd.oci.image.layer.v1.tar"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def file(name, data=b"", mode=0o644, kind=tarfile.REGTYPE, link="", uid=0, gid=0, mtime=1700000000, xattrs=None,
         device=(0, 0)):
    """Returns one entry of a layer: (TarInfo, bytes)."""
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.linkname, info.uid, info.gid, info.mtime = kind, mode, link, uid, gid, mtime
    info.size = len(data)
    info.devmajor, info.devminor = device
    # The values are bytes. Text that tarfile encodes as UTF-8 must come out unchanged.
    info.pax_headers = {f"SCHILY.xattr.{name}": value.decode() for name, value in (xattrs or {}).items()}
    return info, data


def directory(name, mode=0o755, **kw):
    return file(name, mode=mode, kind=tarfile.DIRTYPE, **kw)


def symlink(name, target, **kw):
    return file(name, kind=tarfile.SYMTYPE, link=target, mode=0o777, **kw)


def hardlink(name, target):
    return file(name, kind=tarfile.LNKTYPE, link=target)


def layer(*entries, form=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, encoding="utf-8", errors="surrogateescape") as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def busybox(*applets):
    """Returns a config with a command to run."""
    program = Path("/bin/busybox").read_bytes()
    return (directory("bin"), file("bin/busybox", program, mode=0o755),
            *(hardlink(f"bin/{name}", "bin/busybox") for name in applets))


def configuration(layers, config=None, **changes):
    """changes: members that replace those of the document; None removes one."""
    document = {"architecture": ARCHITECTURE, "os": "linux", "config": config,
                "rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha256(data) for data in layers]}}
    document.update(changes)
    return json.dumps({key: value for key, value in document.items() if value is not None or key == "config"}).encode()


class Layout:
    """An OCI layout in a directory; blobs is its directory of blobs."""

    def __init__(self, path):
        self.path = Path(path)
        self.blobs = self.path / "blobs" / "sha256"
        self.blobs.mkdir(parents=True)
        (self.path / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        self.index = []

    def blob(self, data, kind):
        (self.blobs / sha256(data)).write_bytes(data)
        return {"mediaType": kind, "digest": "sha256:" + sha256(data), "size": len(data)}

    def image(self, layers, config=None, tag=None, packed=True, of_layers=None, **changes):
        """Returns the digest of its manifest, without "sha256:". of_layers: further members of its layers' descriptors."""
        stored = [self.blob(gzip.compress(data, mtime=0) if packed else data, LAYER + "+gzip" * packed)
                  for data in layers]
        document = {"schemaVersion": 2, "mediaType": MANIFEST, "layers": [{**one, **(of_layers or {})} for one in stored],
                    "config": self.blob(configuration(layers, config, **changes),
                                        "application/vnd.oci.image.config.v1+json")}
        manifest = self.blob(json.dumps(document).encode(), MANIFEST)
        if tag:
            manifest["annotations"] = {"org.opencontainers.image.ref.name": tag}
        self.index.append(manifest)
        self.put_index(*self.index)
        return manifest["digest"][7:]

    def index_of(self, manifests, architecture=ARCHITECTURE):
        """Returns the descriptor of a further index, which index.json can have in place of manifests."""
        platform = {"os": "linux", "architecture": architecture}
        document = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [{"platform": platform, **one} for one in manifests]}
        return self.blob(json.dumps(document).encode(), INDEX)

    def platforms(self, *words, tag=None):
        """Makes one image for each platform, like "linux/arm64/v8", with a file of the architecture's name in it, as
        one index. Returns its bytes."""
        manifests = []
        for word in words:
            name, architecture, *variant = word.split("/")
            self.image([layer(file(architecture, word.encode()))], architecture=architecture, os=name)
            manifests.append({**self.index.pop(), "platform": {"os": name, "architecture": architecture, **({"variant": variant[0]} if variant else {})}})
        self.index = [{**self.index_of(manifests), **({"annotations": {"org.opencontainers.image.ref.name": tag}} if tag else {})}]
        self.put_index(*self.index)
        return (self.blobs / self.index[0]["digest"][7:]).read_bytes()

    def put_index(self, *manifests):
        (self.path / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": manifests}))

    def archive(self, path):
        with tarfile.open(path, "w") as tar:
            tar.add(self.path, ".")
        return path


def docker_archive(path, layers, config=None, name="test/image:1", damage=None):
    """Writes an archive as `docker save` does. damage: a layer whose bytes are changed."""
    document = configuration(layers, config)
    entries = [file(f"{sha256(document)}.json", document)]
    for i, data in enumerate(layers):
        entries.append(file(f"{i}/layer.tar", data.replace(b"contents", b"tampered") if i == damage else data))
    manifest = [{"Config": f"{sha256(document)}.json", "RepoTags": [name],
                 "Layers": [f"{i}/layer.tar" for i in range(len(layers))]}]
    entries.append(file("manifest.json", json.dumps(manifest).encode()))
    Path(path).write_bytes(layer(*entries))
    return path


class Registry(http.server.BaseHTTPRequestHandler):
    """Serves the pulling half of the distribution protocol, for one layout."""
    layout = None
    asked = None

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, with_body):
        self.asked.append(self.path)
        if self.path == "/v2/":
            return self.send(b"{}", "application/json", with_body)
        match = re.fullmatch(r"/v2/.+/(manifests|blobs)/(?:sha256:)?([^/]+)", self.path)
        name = match.group(2) if match else ""
        for manifest in self.layout.index:
            if manifest.get("annotations", {}).get("org.opencontainers.image.ref.name") == name:
                name = manifest["digest"][7:]
        blob = self.layout.blobs / name
        if not name or not blob.is_file():
            return self.send_error(404)
        data = blob.read_bytes()
        kind = json.loads(data)["mediaType"] if match.group(1) == "manifests" else "application/octet-stream"
        return self.send(data, kind, with_body)

    def send(self, data, kind, with_body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if with_body:
            self.wfile.write(data)


@contextlib.contextmanager
def registry(layout):
    """Runs a server. Returns its address and the list of paths that it was asked for."""
    handler = type("Handler", (Registry,), {"layout": layout, "asked": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", handler.asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
