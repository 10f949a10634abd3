# SPDX-License-Identifier: MIT
"""COM1's named pipe. Only a process of Windows can reach a pipe of Windows. worker.c is that process, like a small
vmwp.exe of Hyper-V, and there is one for each port. It opens the pipe before the machine starts, and brings its
bytes here."""

import os
import queue
import threading
import uuid

import facts
import processes
import relay
from checks import Wrong



def drain(serial):
    try:
        while serial.recv(65536):
            pass
    except OSError:
        pass


class Nowhere:
    def join(self, serial):
        threading.Thread(target=drain, args=(serial,), daemon=True).start()


class Attached:
    def __init__(self, stream):
        self.stream = stream

    def join(self, serial):
        # Closes the machine's side of the port, which is one of its two names here.
        threading.Thread(target=relay.join, args=(serial.dup(), self.stream), daemon=True).start()


class Consoles:
    def __init__(self, settings, port):
        self.settings, self.port, self.waiting = settings, port, {}

    def attach(self, stream, token, error):
        """Takes the connection of a worker. error is Win32's, 0 for a pipe that is open."""
        came = self.waiting.pop(token, None)
        if came:
            came.put((stream, int(error)))
        else:
            stream.close()

    def open(self, system):
        ports = system.virtual_machine.get("Devices", {}).get("ComPorts", {})
        pipe = ports.get("0", {}).get("NamedPipe")
        if ports.get("1", {}).get("NamedPipe"):
            raise Wrong(facts.E_NOT_SUPPORTED, "COM2: the stand-in has one port")
        if not pipe:
            return Nowhere()
        token, came = uuid.uuid4().hex, queue.SimpleQueue()
        self.waiting[token] = came
        settings = self.settings.read()
        worker = processes.spawn([settings["wine"], settings["worker"], self.port, token, pipe], self.settings.log(),
                                 env={**os.environ, "WINEDEBUG": "-all"})
        threading.Thread(target=lambda: (worker.wait(), came.put((None, None))), daemon=True).start()
        stream, error = came.get()
        if not stream:
            raise Wrong(facts.E_UNEXPECTED, f"{pipe}: the worker ended with {worker.returncode}")
        if error:
            raise Wrong(0x80070000 | error, f"{pipe}: Win32 error {error}")
        return Attached(stream)
