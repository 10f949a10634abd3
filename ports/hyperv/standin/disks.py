# SPDX-License-Identifier: MIT
"""Files that the service opens: paths of Windows as files of this system, rights of machines on them, and virtual disks."""

import os
import struct
import threading
from pathlib import Path

import facts
from checks import Wrong

# [vhd] "Hard Disk Footer Format", big-endian: cookie, features, version, data offset, time, creator (application, version,
# system), original and current size, geometry, type, checksum, id, saved state, zeroes.
FOOTER = struct.Struct(">8sIIQI4sI4sQQIII16sB427s")
FOOTER_BYTES, SECTOR = 512, 512
CHECKSUM_AT = 64
VERSION = 0x00010000
NO_OFFSET = 2**64 - 1
FIXED, DYNAMIC = 2, 3
LARGEST = 2040 << 30
VHDX_SIGNATURE = b"vhdxfile"  # [MS-VHDX] 2.2.1


def unix_path(text, prefix):
    """Wine has a drive as a link in dosdevices (https://wiki.winehq.org/FAQ); Z: is the root."""
    text = text.removeprefix("\\\\?\\")
    drive, rest = text[:2].lower(), text[2:].replace("\\", "/")
    if drive == "z:":
        return Path(os.path.normpath(rest or "/"))
    if not prefix:
        raise Wrong(facts.E_PATH_NOT_FOUND, f"{text}: WINEPREFIX does not say where {drive} is")
    return Path(os.path.normpath(f"{prefix}/dosdevices/{drive}/{rest}"))


def must_be_file(path, text):
    if not path.parent.is_dir():
        raise Wrong(facts.E_PATH_NOT_FOUND, f"{text}: there is no such directory")
    if not path.is_file():
        raise Wrong(facts.E_FILE_NOT_FOUND, f"{text}: there is no such file")


class Rights:
    """[ref] HcsGrantVmAccess: an entry of the file's access list, for an account made from the system's id. It belongs
    to the file: it outlives the system, and a new file of the same name has none."""

    EVERY = None  # HcsGrantVmGroupAccess: all machines, to read

    def __init__(self):
        self.lock, self.entries = threading.Lock(), set()

    @staticmethod
    def key(path, ident):
        about = path.stat()
        return (about.st_dev, about.st_ino, ident and ident.lower())

    def grant(self, path, ident):
        with self.lock:
            self.entries.add(self.key(path, ident))

    def revoke(self, path, ident):
        with self.lock:
            self.entries.discard(self.key(path, ident))

    def allow(self, path, ident, read_only):
        with self.lock:
            return self.key(path, ident) in self.entries or (read_only and self.key(path, self.EVERY) in self.entries)


class Disk:
    """Returns QEMU's words for a disk. For QEMU a fixed VHD is its bytes without the footer, whatever its geometry says."""

    def __init__(self, driver, options, read_only, path):
        self.driver, self.options, self.read_only, self.path = driver, options, read_only, path


def read_footer(path, size):
    with open(path, "rb") as file:
        file.seek(max(0, size - FOOTER_BYTES))
        raw = file.read(FOOTER_BYTES)
    if len(raw) < FOOTER_BYTES or raw[:8] != b"conectix":
        raise Wrong(facts.VHD_DRIVE_FOOTER_MISSING, f"{path.name}: no footer")
    wanted = ~sum(raw[:CHECKSUM_AT] + raw[CHECKSUM_AT + 4:]) & 0xFFFFFFFF
    footer = FOOTER.unpack(raw)
    if footer[12] != wanted:
        raise Wrong(facts.VHD_DRIVE_FOOTER_CHECKSUM_MISMATCH, f"{path.name}: the footer's checksum is {footer[12]:#x} and not {wanted:#x}")
    return footer


def sectors_of(geometry):
    return (geometry >> 16) * (geometry >> 8 & 0xFF) * (geometry & 0xFF)


def check_geometry(footer, path):
    """[vhd] "CHS Calculation": no more than the disk has, and never zero."""
    sectors = sectors_of(footer[10])
    if sectors == 0 or sectors > footer[9] // SECTOR:
        raise Wrong(facts.VHD_DRIVE_FOOTER_CORRUPT, f"{path.name}: the footer's geometry has {sectors} sectors")


def check_footer(footer, path, size):
    _, features, version, offset, _, _, _, _, original, current, _, kind, _, _, saved, zeroes = footer
    if version >> 16 != VERSION >> 16:
        raise Wrong(facts.VHD_FORMAT_UNSUPPORTED_VERSION, f"{path.name}: version {version:#x}")
    if kind not in (FIXED, DYNAMIC):
        raise Wrong(facts.VHD_INVALID_TYPE, f"{path.name}: type {kind}")
    if not features & 2 or any(zeroes) or saved or original == 0 or (offset == NO_OFFSET) != (kind == FIXED):
        raise Wrong(facts.VHD_DRIVE_FOOTER_CORRUPT, f"{path.name}: the footer contradicts itself")
    if not 0 < current <= LARGEST or current % SECTOR:
        raise Wrong(facts.VHD_INVALID_SIZE, f"{path.name}: {current} bytes")
    if kind == FIXED and current != size - FOOTER_BYTES:
        raise Wrong(facts.VHD_INVALID_FILE_SIZE, f"{path.name}: {current} bytes in a file of {size}")
    check_geometry(footer, path)


def open_disk(path, read_only):
    size = path.stat().st_size
    if path.suffix.lower() == ".vhdx":
        with open(path, "rb") as file:
            if file.read(8) != VHDX_SIGNATURE:
                raise Wrong(facts.VHD_FORMAT_UNKNOWN, f"{path.name}: no VHDX")
        return Disk("vhdx", "", read_only, path)
    footer = read_footer(path, size)
    check_footer(footer, path, size)
    if footer[11] == DYNAMIC:
        return Disk("vpc", "", read_only, path)  # QEMU uses the geometry here
    return Disk("raw", f",offset=0,size={footer[9]}", read_only, path)


def check_kernel(path, text):
    """Kernels that boot directly: a vmlinux ([hcsshim], internal/uvm/create_lcow.go, KernelDirect), or a bzImage."""
    with open(path, "rb") as file:
        head = file.read(0x210)
    if head[:5] != b"\x7fELF\x02" and head[0x202:0x206] != b"HdrS":
        raise Wrong(facts.E_INVALID_DATA, f"{text}: no kernel of Linux's")
