# SPDX-License-Identifier: MIT
"""macOS guests on the stand-in for Apple's framework. Its restore images are a few bytes that look like an archive. Its
installer writes a line to the disk. Instead of macOS it boots the Linux that its settings name. The program that
puts the agent on the disk puts a whole Linux there."""

import http.server
import json
import os
import shlex
import shutil
import ssl
import subprocess
import threading

from conftest import BUILD, HANG_S, default_kernel, image

IPSW = b"PK\x03\x04 a stand-in for a restore image\n" * 40
BASE = ("base", "create", "mac", "--size", "16", "--network", "isolated")
NOT_PUT = "/bin/false"


class Mac:
    """A host whose backend is apple-vf, with the settings that a test gives to its stand-in."""

    def __init__(self, host):
        self.host, self.settings, self.record = host, host.base / "vz.json", host.base / "record"
        self.ipsw, self.put = host.base / "restore.ipsw", host.base / "put-linux"
        self.ipsw.write_bytes(IPSW)
        self.put.write_text(f'#!/bin/sh\nhead -c 9 "$1"; echo\nexec cp --sparse=always {image(host, "busybox")["path"]} "$1"\n')
        self.put.chmod(0o755)
        host.env["MICROAGENT_STANDIN_VZ"] = str(self.settings)
        self.set()

    def set(self, **settings):
        """Writes the file in one piece, since it is read at any time."""
        kernel = default_kernel(self.host)["path"]
        whole = {"record": str(self.record), "macMinimumMemory": 256 << 20, "macMinimumCPUs": 1,
                 "macGuest": {"kernel": kernel, "initrd": f"{kernel}.initrd", "commandLine": "console=hvc0 quiet panic=-1"}, **settings}
        written = self.settings.with_suffix(".new")
        written.write_text(json.dumps(whole), encoding="utf-8")
        written.rename(self.settings)

    def guest(self, **changes):
        """Makes another Linux the one that boots instead of macOS."""
        whole = json.loads(self.settings.read_text())
        self.set(macGuest={**whole["macGuest"], **changes})

    def calls(self, name):
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return [call for call in map(json.loads, lines) if call["call"] == name]

    def base(self, *words, ipsw=None, put=None, **kw):
        """Makes a base of the image, or tries to. With NOT_PUT the image is installed, and the work ends before a boot."""
        return self.host(*BASE, "--from-ipsw", ipsw or self.ipsw, "--put-agent", put or self.put, *words, **kw)

    def bases(self):
        """Returns all files in the directory of bases, except marks."""
        place = self.host.state / "bases"
        return sorted(p.name for p in place.iterdir() if p.name not in (".locks", ".microagent-state")) if place.exists() else []

    def refused(self, done, words):
        """Requires that the image is refused in these words, and that nothing is left of it."""
        assert done.returncode in (1, 75) and not done.stdout, (done.returncode, done.stdout, done.stderr)
        assert words in done.stderr, done.stderr
        assert self.bases() in ([], [".restore-images"]), self.bases()


INIT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /tmp /root /Users/Shared
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
rm /bin/poweroff; printf '#!/bin/sh\\nexec /bin/busybox poweroff -f\\n' > /bin/poweroff; chmod 755 /bin/poweroff
echo "the agent of macOS begins"
/usr/local/libexec/microagent-macos-agent
"""


def agents_own_guest(place):
    """Makes an initramfs with a Linux that has only the agent of macOS guests. So the code of ours in the guest is the
    code that will run on a Mac, except the calls of the system."""
    tree = place / "tree"
    for directory in ("bin", "etc", "usr/local/libexec"):
        (tree / directory).mkdir(parents=True)
    shutil.copy("/bin/busybox", tree / "bin/busybox")
    shutil.copy(BUILD / "standin/microagent-macos-agent", tree / "usr/local/libexec/microagent-macos-agent")
    (tree / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nagent:x:501:501::/tmp:/bin/sh\n")
    (tree / "etc/group").write_text("root:x:0:\nagent:x:501:\n")
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    names = subprocess.run(["find", "."], cwd=tree, check=True, capture_output=True).stdout
    with open(place / "guest.initrd", "wb") as out:
        subprocess.run(["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"], cwd=tree, input=names, stdout=out, check=True)
    return place / "guest.initrd"


class Apple:
    """Serves as one of Apple's hosts, on a port of this host. Words that are added to curl's own lead it there."""

    NAME = "updates.cdn-apple.com"

    def __init__(self, mac):
        self.mac, self.asked, self.body = mac, [], IPSW
        self.status, self.location, self.cut, self.ranges = 200, None, None, True
        self.stalls, self.go_on = False, threading.Event()
        place = mac.host.base / "apple"
        place.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-keyout", place / "key", "-out", place / "cert", "-subj", f"/CN={self.NAME}",
                        "-addext", f"subjectAltName=DNS:{self.NAME}"], check=True, capture_output=True)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(place / "cert", place / "key")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.words = place / "words"
        real = shutil.which("curl")
        (place / "curl").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {self.words}\nexec {shlex.quote(real)} "$@" --cacert {place}/cert '
                                    f'--connect-to {self.NAME}:443:127.0.0.1:{self.server.server_port} --noproxy "*"\n')
        (place / "curl").chmod(0o755)
        mac.host.env["PATH"] = f"{place}:{os.environ['PATH']}"

    def url(self, name="UniversalMac_14.5_Restore.ipsw"):
        return f"https://{self.NAME}/2024/fullrestores/{name}"

    def handler(self):
        apple = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                given = self.headers.get("Range")
                first = int(given.removeprefix("bytes=").split("-")[0]) if given and apple.ranges else 0
                apple.asked.append((self.path, given))
                self.send_response(206 if first and apple.status == 200 else apple.status)
                body = apple.body[first:] if apple.status == 200 else b"elsewhere\n"
                if first:
                    self.send_header("Content-Range", f"bytes {first}-{len(apple.body) - 1}/{len(apple.body)}")
                if apple.location:
                    self.send_header("Location", apple.location)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[:apple.cut])
                if apple.stalls:
                    self.wfile.flush()
                    apple.go_on.wait(HANG_S)
                self.close_connection = True

            def log_message(self, *_):
                pass

        return Handler

    @property
    def kept(self):
        """Returns the image that was fetched and is not a part of a base yet."""
        return self.mac.host.state / "bases/.restore-images/UniversalMac_14.5_Restore.ipsw"

    def left(self):
        return sorted(p.name for p in self.kept.parent.iterdir() if p.name != ".microagent-state")

    def tidy(self):
        """The directory for fetched images stays. This is for the fixture that finds left files."""
        for name in [*self.left(), ".microagent-state"]:
            (self.kept.parent / name).unlink(missing_ok=True)
        self.kept.parent.rmdir()

    def end(self):
        self.go_on.set()
        self.server.shutdown()
        self.server.server_close()
