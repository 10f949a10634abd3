# SPDX-License-Identifier: MIT
"""Opens a tap as Firecracker does: by its name, without packet information, with virtio headers of 12 bytes
(docs/network-setup.md; src/vmm/src/devices/virtio/net/tap.rs)."""

import fcntl
import os
import struct

TUNSETIFF, TUNSETOFFLOAD, TUNSETVNETHDRSZ = 0x400454CA, 0x400454D0, 0x400454D8
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x2, 0x1000, 0x4000
NAME_BYTES, HEADER_BYTES = 16, 12


class Wrong(Exception):
    pass


def os_error(why):
    return f"{os.strerror(why.errno)} (os error {why.errno})"


def open_named(name):
    if len(name.encode()) >= NAME_BYTES:
        raise Wrong("Invalid interface name")
    try:
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as why:
        raise Wrong(f"Couldn't open /dev/net/tun: {os_error(why)}") from None
    try:
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    except OSError as why:
        os.close(tap)
        raise Wrong(f"Error while creating ifreq structure: {os_error(why)}. Invalid TUN/TAP Backend provided by {name}. "
                    "Check our documentation on setting up the network devices.") from None
    fcntl.ioctl(tap, TUNSETVNETHDRSZ, struct.pack("i", HEADER_BYTES))
    return tap
