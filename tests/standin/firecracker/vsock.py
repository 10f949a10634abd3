# SPDX-License-Identifier: MIT
"""The vsock device: vsock.c in a thread of this process. It listens from the PUT on, as Firecracker does, and answers
once the machine runs. The guest's dials go to uds_path_PORT; which of these there are is looked up at the start, so
one that is made later is not seen (Firecracker looks at each dial)."""

import ctypes
import os
import socket
import threading

PATH_BYTES = 108


class HostPort(ctypes.Structure):
    _fields_ = [("port", ctypes.c_uint32), ("path", ctypes.c_char * PATH_BYTES)]


def load(library):
    loaded = ctypes.CDLL(str(library))
    loaded.standin_vsock.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(HostPort), ctypes.c_uint]
    return loaded


def listen(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    listener.setblocking(False)
    return listener


def host_ports(path):
    above, name = os.path.split(path)
    for entry in os.listdir(above or "."):
        digits = entry.removeprefix(name + "_")
        if entry.startswith(name + "_") and digits.isascii() and digits.isdigit():
            yield int(digits), f"{path}_{digits}"


def serve(library, vhost, listener, config):
    found = [HostPort(port, path.encode()) for port, path in host_ports(config["uds_path"])]
    ports = (HostPort * max(len(found), 1))(*found)

    def run():
        library.standin_vsock(vhost.detach(), listener.fileno(), config["guest_cid"], ports, len(found))
        listener.close()

    threading.Thread(target=run, daemon=True).start()
