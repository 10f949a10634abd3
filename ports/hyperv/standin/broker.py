#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Host Compute Service's stand-in: see README.md. Prints `port N` and serves until the end of stdin."""

import argparse
import json
import os
import shutil
import socket
import tempfile
import threading
import traceback
from pathlib import Path

import checks
import compute
import console
import facts
import hvsockets
import processes
import relay
import settings as settings_file
from checks import Wrong


class Client:
    """A process that uses computecore.dll. service.h describes the messages on the connection."""

    def __init__(self, service, stream):
        self.service, self.stream, self.lock, self.systems = service, stream, threading.Lock(), {}

    def send(self, kind, number, value, document):
        data = (document or "").encode("utf-8", "replace")
        try:
            with self.lock:
                self.stream.sendall(f"{kind} {number} {value:x} {len(data)}\n".encode() + data)
        except OSError:
            pass  # serve() sees too that the process has gone

    def event(self, number, kind, document):
        self.send("event", number, kind, document)

    def serve(self):
        with self.stream.makefile("rb") as lines:
            try:
                for line in lines:
                    threading.Thread(target=self.service.answer, args=(self, json.loads(line)), daemon=True).start()
            except OSError:
                pass
            finally:
                self.stream.close()
                self.service.forget(self)


class Service:
    def __init__(self, settings, place, prefix, port):
        self.settings, self.clients = settings, set()
        self.consoles, self.sockets = console.Consoles(settings, port), hvsockets.HvSockets(settings)
        self.systems = compute.Systems(settings, place, prefix, self.consoles, self.sockets)
        self.sockets.systems = self.systems

    # --- calls -------------------------------------------------------------------------------------------------------

    def system(self, client, request):
        found = client.systems.get(request["system"])
        if not found:
            raise Wrong(facts.HCS_E_SYSTEM_NOT_FOUND, "the handle's system was never made")
        return found

    def create(self, client, request):
        number = request["system"]
        client.systems[number] = self.systems.create(request["id"], request["document"], (client, number))

    def open(self, client, request):
        number = request["system"]
        client.systems[number] = found = self.systems.find(request["id"])
        found.handles.add((client, number))

    def close(self, client, request):
        found = client.systems.pop(request["system"], None)
        if found:
            self.systems.close(found, (client, request["system"]))

    def change_right(self, client, request):
        path = self.systems.file(request["path"])
        change = self.systems.rights.grant if "Grant" in request["call"] else self.systems.rights.revoke
        change(path, request.get("id"))

    def service_properties(self, client, request):
        schema = self.settings.read()["schema"]
        asked = checks.small(request.get("document"), "Service_PropertyQuery", schema).get("PropertyTypes", [])
        basic = {"SupportedSchemaVersions": [{"Major": 1, "Minor": 0}, {"Major": schema[0], "Minor": schema[1]}]}
        if set(asked) - {"Basic"}:
            raise Wrong(facts.E_NOT_SUPPORTED, "the stand-in knows the property Basic alone")
        return json.dumps({"Properties": [basic for _ in asked]})

    def on_system(self, method, *names):
        def call(client, request):
            return method(self.systems, self.system(client, request), *(request.get(name) for name in names))
        return call

    def function(self, call):
        systems = compute.Systems
        return {
            "HcsCreateComputeSystem": self.create, "HcsOpenComputeSystem": self.open, "HcsCloseComputeSystem": self.close,
            "HcsStartComputeSystem": self.on_system(systems.start),
            "HcsShutDownComputeSystem": self.on_system(systems.shut_down, "document"),
            "HcsTerminateComputeSystem": self.on_system(systems.terminate),
            "HcsPauseComputeSystem": self.on_system(systems.pause, "document"),
            "HcsResumeComputeSystem": self.on_system(systems.resume),
            "HcsModifyComputeSystem": self.on_system(systems.modify, "document"),
            "HcsGetComputeSystemProperties": self.on_system(systems.properties, "document"),
            "HcsEnumerateComputeSystems": lambda client, request: self.systems.enumerate(request.get("document")),
            "HcsGrantVmAccess": self.change_right, "HcsRevokeVmAccess": self.change_right,
            "HcsGrantVmGroupAccess": self.change_right, "HcsRevokeVmGroupAccess": self.change_right,
            "HcsGetServiceProperties": self.service_properties}[call]

    # --- answers -----------------------------------------------------------------------------------------------------

    def run(self, client, request, fault):
        """Returns (HRESULT, document) of a call, with the call's effect unless a fault replaces it."""
        try:
            document = None
            if "hresult" not in fault or fault.get("act"):
                document = self.function(request["call"])(client, request)
            running = self.system(client, request).machine if fault.get("do") == "crash" else None
            if running:
                running.kill()
            if "hresult" in fault:
                raise Wrong(int(fault["hresult"], 16), fault.get("words", "a fault that the test asked for"))
            return 0, document
        except Wrong as why:
            hresult, words = why.hresult, str(why)
        except Exception as why:  # a fault of the stand-in itself, which no test may take for one of Hyper-V
            traceback.print_exc()
            hresult, words = facts.E_UNEXPECTED, f"the stand-in broke: {why!r}"
        return hresult, json.dumps({"Error": compute.int32(hresult), "ErrorMessage": words})

    def fault(self, call):
        try:
            return self.settings.fault(call)
        except ValueError as why:
            traceback.print_exc()
            return {"hresult": f"{facts.E_UNEXPECTED:#x}", "words": str(why)}

    def answer(self, client, request):
        fault, operation = self.fault(request["call"]), request.get("operation")
        if operation is not None and fault.get("when") == "call":
            operation = None  # an operation that has not begun has no result
        elif operation is not None:
            client.send("accepted", request["n"], 0, None)
        if "wait" in fault:
            settings_file.await_fifo(fault["wait"])
        if fault.get("do") == "gone":
            self.drop_clients()
            return
        hresult, document = self.run(client, request, fault)
        self.settings.record(call=request["call"], id=request.get("id"), document=request.get("document"), path=request.get("path"),
                             hresult=f"0x{hresult:08x}", answer=document)
        if operation is not None:
            client.send("done", operation, hresult, document)
        else:
            client.send("accepted", request["n"], hresult, document)

    def drop_clients(self):
        """The service has crashed and come back. The machines of Hyper-V have processes of their own and go on."""
        for client in list(self.clients):
            client.stream.shutdown(socket.SHUT_RDWR)

    def forget(self, client):
        self.clients.discard(client)
        for number, system in list(client.systems.items()):
            self.systems.close(system, (client, number))

    # --- connections -------------------------------------------------------------------------------------------------

    def serve(self, stream):
        try:
            words = relay.read_line(stream).split(" ")
        except (OSError, EOFError):
            stream.close()
            return
        if words == ["hcs"]:
            client = Client(self, stream)
            self.clients.add(client)
            client.serve()
        elif words[0] == "connect":
            self.sockets.serve_connect(stream, *words[1:])
        elif words[0] == "bind":
            self.sockets.serve_bind(stream, *words[1:])
        elif words[0] == "life":
            self.sockets.serve_life(stream, *words[1:])
        elif words[0] == "console":
            self.consoles.attach(stream, *words[1:])

    def accept(self, listener):
        while True:
            stream, _ = listener.accept()
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=int(os.environ.get("MICROAGENT_STANDIN_HCS_PORT", 0)))
    parser.add_argument("--place", help="a directory for sockets, of short name")
    parser.add_argument("--settings", default=os.environ.get("MICROAGENT_STANDIN_HCS"))
    parser.add_argument("--build", type=Path, default=settings_file.ROOT / os.environ.get("BUILD", "build"))
    parser.add_argument("--prefix", default=os.environ.get("WINEPREFIX"), help="Wine's, for paths of other drives than Z:")
    given = parser.parse_args()
    place = tempfile.mkdtemp(prefix="hcs-", dir=given.place)
    listener = socket.create_server(("127.0.0.1", given.port))
    port = listener.getsockname()[1]
    service = Service(settings_file.Settings(given.settings, given.build), place, given.prefix, port)
    processes.end_with_parent(lambda: shutil.rmtree(place, ignore_errors=True))
    threading.Thread(target=service.accept, args=(listener,), daemon=True).start()
    print(f"port {port}", flush=True)
    processes.serve()


if __name__ == "__main__":
    main()
