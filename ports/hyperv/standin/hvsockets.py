# SPDX-License-Identifier: MIT
"""Hyper-V sockets between programs of the host and the guest's vsock: the right to connect and to bind, and the joining
of both. A guest's service is `<port in hex>-facb-11e6-bd58-64006a7986d3`, as of Linux's hv_sock
(net/vmw_vsock/hyperv_transport.c)."""

import contextlib
import socket
import threading
import uuid

import checks
import facts
import relay
from compute import RUNNING
from settings import await_fifo


class Refused(Exception):
    def __init__(self, error):
        super().__init__(f"Winsock error {error}")
        self.error = error


def port_of(service):
    """Returns the port of a service of the vsock template. Returns None for another service."""
    return int(service[:8], 16) if service.lower().endswith(facts.VSOCK_TEMPLATE) else None


def service_of(port):
    return f"{port:08x}{facts.VSOCK_TEMPLATE}"


def rights_of(system, service):
    table = system.sockets.get("ServiceTable", {})
    return next((rights for name, rights in table.items() if name.lower() == service.lower()), {})


def check_right(system, service, verb):
    """[schema] HvSocketServiceConfig: a service's own descriptor, else the system's default. Without one nobody may
    connect, since the registry's permissions (GuestCommunicationServices) do not exist here."""
    own, default = f"{verb}SecurityDescriptor", f"Default{verb}SecurityDescriptor"
    descriptor = rights_of(system, service).get(own, system.sockets.get(default))
    if not descriptor or not checks.allows(descriptor):
        raise Refused(facts.WSAEACCES)


class HvSockets:
    def __init__(self, settings):
        self.settings, self.systems = settings, None  # which are set once both are there
        self.lock, self.listeners, self.lives = threading.Lock(), {}, {}

    def new_life(self, token):
        """An event. The program's socket has a connection beside it, whose end is the end of the socket."""
        self.lives[token] = life = threading.Event()
        return life

    def serve_life(self, stream, token):
        life = self.lives.pop(token, None)
        with contextlib.suppress(OSError):
            stream.recv(1)
        stream.close()
        if life:
            life.set()

    def may_fail(self, verb):
        fault = self.settings.fault(verb)
        if "wait" in fault:
            await_fifo(fault["wait"])
        if "error" in fault:
            raise Refused(fault["error"])

    # --- host to guest -----------------------------------------------------------------------------------------------

    def connect(self, vm, service):
        if vm in (facts.WILDCARD, facts.BROADCAST, facts.CHILDREN):
            raise Refused(facts.WSAEADDRNOTAVAIL)
        system = self.systems.by_runtime(vm)
        if not system:
            raise Refused(facts.WSAENETUNREACH)
        check_right(system, service, "Connect")
        machine, port = system.machine, port_of(service)
        stream = machine.dial(port) if machine and system.state == RUNNING and port is not None else None
        if not stream:
            raise Refused(facts.WSAECONNREFUSED)
        return stream

    def serve_connect(self, client, vm, service, token=None):
        """token: that of the connection beside this one. Without it the end of the program's sending is no end for the guest."""
        try:
            self.may_fail("connect")
            stream = self.connect(vm, service)
        except Refused as why:
            client.sendall(f"error {why.error}\n".encode())
            client.close()
            return
        life = self.new_life(token) if token else None
        client.sendall(b"ok\n")
        relay.join(client, stream, life)

    # --- guest to host -----------------------------------------------------------------------------------------------

    def check_bind(self, vm, service):
        if vm in (facts.WILDCARD, facts.CHILDREN):
            return
        system = self.systems.by_runtime(vm)
        if not system:
            raise Refused(facts.WSAEADDRNOTAVAIL)
        check_right(system, service, "Bind")

    def serve_bind(self, client, vm, service):
        """One bound socket, which lives as long as the connection."""
        key = (vm, service)
        try:
            self.may_fail("bind")
            self.check_bind(*key)
            with self.lock:
                if key in self.listeners:
                    raise Refused(facts.WSAEADDRINUSE)
                self.listeners[key] = None
        except Refused as why:
            client.sendall(f"error {why.error}\n".encode())
            client.close()
            return
        try:
            client.sendall(b"ok\n")
            self.listen(client, key)
        except (OSError, EOFError):
            pass
        with self.lock:
            del self.listeners[key]
        client.close()

    def listen(self, client, key):
        port = int(relay.read_line(client).removeprefix("listen "))
        with self.lock:
            self.listeners[key] = port
        system = self.systems.by_runtime(key[0])
        machine = system.machine if system else None
        if machine:
            self.begin(system, machine)
        client.sendall(b"ok\n")
        relay.read_line(client)

    def listener(self, system, service):
        """Returns the port of the program that listens for this machine, or None."""
        vms = [system.runtime]
        if rights_of(system, service).get("AllowWildcardBinds"):
            vms += [facts.CHILDREN, facts.WILDCARD]
        with self.lock:
            return next((port for vm in vms if (port := self.listeners.get((vm, service)))), None)

    def ports(self, system):
        """Returns the services that the guest may dial: those of the table and those that are bound. vsockd gets them
        at the start, so a service that is neither by then cannot be dialled later."""
        with self.lock:
            bound = [service for vm, service in self.listeners if vm == system.runtime]
        found = {port_of(service) for service in [*system.sockets.get("ServiceTable", {}), *bound]}
        return tuple(sorted(port for port in found if port is not None))

    def begin(self, system, machine):
        """From here on the guest's dials are accepted, at each port with a listener. A port whose listener has gone
        accepts a dial and ends it at once."""
        for port, listener in machine.host_ports.items():
            with contextlib.suppress(OSError):  # the machine has ended meanwhile
                if self.listener(system, service_of(port)) and not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    listener.listen(64)
                    threading.Thread(target=self.take, args=(system, port, listener), daemon=True).start()

    def take(self, system, port, listener):
        while True:
            try:
                guest, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.hand_over, args=(system, port, guest), daemon=True).start()

    def hand_over(self, system, port, guest):
        to, host = self.listener(system, service_of(port)), socket.socket()
        try:
            host.connect(("127.0.0.1", to or 0))
            token = uuid.uuid4().hex
            life = self.new_life(token)
            host.sendall(f"from {system.runtime} {service_of(port)} {token}\n".encode())
        except OSError:
            host.close()
            guest.close()
            return
        relay.join(host, guest, life)
