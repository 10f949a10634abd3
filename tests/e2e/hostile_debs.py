# SPDX-License-Identifier: MIT
"""Debian packages of kernels, as small as an installable one can be, and such as hostile makers might make."""

import os
import platform

from oci import file, layer

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
RELEASE = "6.1.0-9-test"
VERSION = "6.1.9-1"
# The name of an entry of the cache.
NAME = f"debian-{VERSION}" + ("-arm64" if ARCHITECTURE == "arm64" else "")
# The modules that a guest gets (src/artifact/modules.c). Here each is built in, except those that a test wants as
# files.
MODULES = ("virtio_mmio virtio_pci virtio_blk virtio_console virtio_rng vmw_vsock_virtio_transport virtio_net virtio_balloon fuse virtiofs "
           "overlay squashfs button virtio_input evdev").split()


def member(name, data):
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)


def deb(path, *entries, package=f"linux-image-{RELEASE}", version=VERSION, pack=lambda data: data, end=""):
    """pack and end say how its files are compressed."""
    control = f"Package: {package}\nVersion: {version}\nArchitecture: {ARCHITECTURE}\nMaintainer: x <x@x>\nDescription: x\n"
    path.write_bytes(b"!<arch>\n" + member("debian-binary", b"2.0\n") + member("control.tar", layer(file("./control", control.encode()))) +
                     member("data.tar" + end, pack(layer(*entries))))
    return path


def bzimage(payload=b""):
    """Returns the head of an amd64 kernel that has something packed in it (https://docs.kernel.org/arch/x86/boot.html)."""
    head = bytearray(0x1000)
    head[0x1f1] = 4
    head[0x202:0x208] = b"HdrS\x0f\x02"
    head[0x248:0x24c] = (len(head) - 5 * 512).to_bytes(4, "little")
    head[0x24c:0x250] = (len(payload) + 4).to_bytes(4, "little")
    return bytes(head) + payload + len(payload).to_bytes(4, "little")


def kernel():
    return bzimage() if ARCHITECTURE == "amd64" else bytes(0x38) + b"ARM\x64" + bytes(4096)


def boot(data=None):
    return file(f"./boot/vmlinuz-{RELEASE}", data or kernel())


def builtin(*but):
    return file(f"./lib/modules/{RELEASE}/modules.builtin", "".join(f"kernel/{name}.ko\n" for name in MODULES if name not in but).encode())


def order(*names):
    return file(f"./lib/modules/{RELEASE}/modules.order", "".join(f"kernel/{name}.ko\n" for name in names).encode())


def tree(path):
    """Returns everything in a directory of the host, to see whether it was changed."""
    return {os.path.join(where, name): (os.lstat(os.path.join(where, name)).st_mtime_ns, os.lstat(os.path.join(where, name)).st_size)
            for where, dirs, files in os.walk(path) for name in [*dirs, *files]}
