# SPDX-License-Identifier: MIT
"""The program: its start, its one loop and its end. See README.md."""

import json
import os
import re
import selectors
import signal
import socket
import sys
import time

import arguments
import checks
import facts
import http_wire
import settings as control
import vsock
from machine import Gone
from vmm import Refused, Vmm

HERE = os.path.dirname(os.path.abspath(__file__))
RESOURCE_ID = re.compile(r"\w+")
# The exit codes with which the handler of a signal ends the process (src/vmm/src/lib.rs).
SIGNALS = {signal.SIGHUP: 156, signal.SIGXCPU: 154, signal.SIGXFSZ: 151, signal.SIGBUS: 149, signal.SIGSYS: 148}


class Log:
    """The log. It goes to stdout, beside the guest's serial port, until a call names a file (docs/logger.md)."""

    def __init__(self, ident):
        self.fd, self.ident, self.level, self.show_level = 1, ident, facts.LEVELS["info"], False

    def open(self, fd):
        if self.fd != 1:
            os.close(self.fd)
        self.fd = fd

    def set_level(self, word):
        if word is not None:
            self.level = facts.LEVELS[word.lower()]

    def line(self, text, level="Info", thread="main"):
        if facts.LEVELS[level.lower()] > self.level:
            return
        now = time.time_ns()
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(now // 10**9)) + f".{now % 10**9:09}"
        shown = f":{level.upper()}" if self.show_level else ""
        try:
            os.write(self.fd, f"{when} [{self.ident}:{thread}{shown}] {text}\n".encode())
        except OSError:
            pass  # as in Firecracker, a line that cannot be written is lost


class Failed(Exception):
    """The end of the process: the line for the log, the text to print, and the exit code."""

    def __init__(self, logged, shown, code=facts.EXIT_ERROR):
        super().__init__(logged)
        self.shown, self.code = shown, code


class Client:
    def __init__(self, stream, limit):
        self.stream, self.reader = stream, http_wire.Reader(limit)


def find_call(method, path):
    """Returns (row, id from the path) of a call. Returns (None, None) if there is no such call."""
    tokens = [token for token in path.lstrip("/").split("/")]
    while tokens and not tokens[-1]:
        tokens.pop()
    for call in facts.CALLS:
        row = [token for token in call.path.lstrip("/").split("/") if token]
        if call.method == method and len(row) == len(tokens) and all(a == b or a[0] == "{" for a, b in zip(row, tokens)):
            return call, tokens[-1] if row and row[-1][0] == "{" else None
        if call.method == method and row[-1:] and row[-1][0] == "{" and tokens == row[:-1]:
            raise Refused("The ID cannot be empty.")
    return None, None


def is_absent(method, path):
    tokens = path.strip("/").split("/")
    return any(name.split(" ")[0] == method and len(row := name.split(" ")[1].strip("/").split("/")) == len(tokens)
               and all(a == b or a[0] == "{" for a, b in zip(row, tokens)) for name in facts.ABSENT)


class Server:
    def __init__(self, vmm, settings, listener, limit):
        self.vmm, self.settings, self.listener, self.limit = vmm, settings, listener, limit
        self.selector, self.clients = selectors.DefaultSelector(), {}
        self.death = None  # the time at which to die, as a fault
        # The time since which the client has asked nothing, and the time at which it asked. Their difference is the
        # client's time, and not the stand-in's.
        self.idle_since = self.asked_at = time.monotonic_ns()
        self.selector.register(listener, selectors.EVENT_READ, self.accept)

    # --- calls -----------------------------------------------------------------------------------------------------------

    def understand(self, request):
        """Returns (row, body). Raises Refused with the fault if it is no valid request."""
        method, path, body = request.method, request.path, request.body
        if body and method == "GET":
            raise Refused("GET request cannot have a body.")
        if is_absent(method, path):
            raise Refused(f"not in the stand-in: {method} {path}")
        if not body and method in ("PUT", "PATCH"):
            raise Refused(f"Empty {method} request.")
        call, ident = find_call(method, path)
        if not call:
            raise Refused(f"Invalid request method and/or path: {method} {path.lstrip('/').split('/')[0]}.")
        if ident is not None and not RESOURCE_ID.fullmatch(ident):
            raise Refused("API Resource IDs can only contain alphanumeric characters and underscores.")
        if not call.body:
            return call, None
        try:
            value = checks.parse_body(call, body, self.vmm.numbers)
        except checks.Wrong as wrong:
            raise Refused(f"An error occurred when deserializing the json body of a request: {wrong}.") from None
        self.compare_ids(call, ident, value)
        return call, value

    @staticmethod
    def compare_ids(call, ident, value):
        key = {"/drives/{drive_id}": "drive_id", "/network-interfaces/{iface_id}": "iface_id"}.get(call.path)
        if not key or value[key] == ident:
            return
        if key == "drive_id":
            raise Refused("The id from the path does not match the id from the body!")
        raise Refused(f"The id from the path [{ident}] does not match the id from the body [{value[key]}]!")

    def perform(self, request):
        """Returns (status, object or None)."""
        try:
            call, value = self.understand(request)
            found = self.vmm.perform(call, value)
        except Refused as refused:
            return 400, {"fault_message": str(refused)}
        return (204, None) if found is None else (200, found)

    def handle(self, client, request):
        name = f"{request.method} {request.path}"
        self.vmm.log.line(f'The API server received a {request.method.capitalize()} request on "{request.path}"'
                          + (f' with body "{request.body.decode(errors="replace")}".' if request.body else "."), thread="fc_api")
        fault = self.settings.fault(name, self.row_name(request)) or {}
        wrong = fault.get("do")
        if wrong == "die" and not fault.get("act"):
            control.die(fault)
        if fault.get("act", wrong not in ("500", "refuse")):
            status, found = self.perform(request)
            self.follow_guest()
        else:
            status, found = {"500": 500, "refuse": 400}.get(wrong, 400), {"fault_message": "refused because a test wants it"}
        if wrong == "empty":
            status, found = 204, None
        shown = json.loads(request.body) if request.body.strip()[:1] == b"{" and status != 400 else request.body.decode(errors="replace")
        self.settings.record(call=name, body=shown, status=status, answer=found, fault=wrong,
                             waited_ns=self.asked_at - self.idle_since)
        self.log_outcome(status, found)
        if wrong == "die":
            control.die(fault)
        old = status < 300 and isinstance(shown, dict) and any(shown.get(name) is not None for name in ("vsock_id", "cpu_template"))
        self.respond(client, http_wire.answer(status, None if found is None else json.dumps(found, separators=(",", ":")).encode(), old), fault)
        self.idle_since = time.monotonic_ns()
        if status == 204 and shown == {"action_type": "InstanceStart"} and (boot := self.settings.get("faults", {}).get("boot")):
            self.death = time.monotonic() + boot.get("seconds", 0)

    @staticmethod
    def row_name(request):
        try:
            call, _ = find_call(request.method, request.path)
        except Refused:
            return None
        return call.name if call else None

    def log_outcome(self, status, found):
        words = {200: "The request was executed successfully. Status code: 200 OK.",
                 204: "The request was executed successfully. Status code: 204 No Content."}
        self.vmm.log.line(words.get(status) or f"Received Error. Status code: {status} Bad Request. Message: {found['fault_message']}",
                          "Info" if status in words else "Error", "fc_api")

    def respond(self, client, data, fault):
        wrong = fault.get("do")
        if wrong == "hang":
            return
        if wrong == "slow":
            time.sleep(fault.get("seconds", 2))  # there is one thread, as in Firecracker, so all clients wait
        if wrong == "garbage":
            data = b"\x00\xff\x7fELF garbage \r\n\r\n{]" * 8
        if wrong == "half":
            data = data[:len(data) // 2]
        if wrong != "close":
            self.send(client, data)
        if wrong in ("half", "close"):
            self.drop(client)

    # --- connections -----------------------------------------------------------------------------------------------------

    def accept(self, _):
        try:
            stream, _ = self.listener.accept()
        except OSError:  # another thread has shut the socket down
            self.selector.unregister(self.listener)
            return
        if len(self.clients) >= facts.CONNECTIONS:
            stream.sendall(http_wire.FULL)
            stream.close()
            return
        client = self.clients[stream] = Client(stream, self.limit)
        self.selector.register(stream, selectors.EVENT_READ, lambda _: self.receive(client))

    def drop(self, client):
        if self.clients.pop(client.stream, None):
            self.selector.unregister(client.stream)
            client.stream.close()

    def send(self, client, data):
        try:
            client.stream.sendall(data)
        except OSError:
            self.drop(client)

    def receive(self, client):
        self.asked_at = time.monotonic_ns()
        try:
            data = client.stream.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.drop(client)
            return
        try:
            for request in client.reader.feed(data):
                if request == "continue":
                    self.send(client, http_wire.CONTINUE)
                else:
                    self.handle(client, request)
                if client.stream not in self.clients:
                    return
        except http_wire.Bad as why:
            client.reader.reset()
            self.settings.record(bad=str(why))
            self.send(client, http_wire.bad(why))

    # --- the loop --------------------------------------------------------------------------------------------------------

    def follow_guest(self):
        if self.vmm.guest and self.vmm.guest.events not in self.selector.get_map():
            self.selector.register(self.vmm.guest.events, selectors.EVENT_READ, lambda _: self.vmm.guest.take_events())

    def run(self):
        """Serves until the guest has ended. Returns the exit code."""
        while self.vmm.ended is None:
            left = None if self.death is None else self.death - time.monotonic()
            if left is not None and left <= 0:
                control.die({})
            for key, _ in self.selector.select(left):
                try:
                    key.data(key)
                except Gone:
                    # QEMU has ended and has not said why.
                    self.vmm.log.line(f"the stand-in's QEMU has ended: {self.vmm.guest.exit_code()}", "Error")
                    return facts.EXIT_ERROR
        return self.vmm.ended


def listen_api(path):
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(path)
    except OSError as why:
        if why.errno == 98:
            raise Failed(f"RunWithApiError error: Failed to open the API socket at: {path}. Check that it is not already used.",
                         f'RunWithApi(FailedToBindSocket("{path}"))') from None
        raise Failed(f"RunWithApiError error: Failed to bind and run the HTTP server: IO error: {why}",
                     f"RunWithApi(FailedToBindAndRunHttpServer(IOError({why})))") from None
    listener.listen(128)
    return listener


def check_options(given):
    absent = sorted(facts.ABSENT_OPTIONS & given.keys())
    if absent:
        raise Failed(f"not in the stand-in: --{absent[0]}", f"not in the stand-in: --{absent[0]}")
    if not 1 <= len(given["id"]) <= 64 or not all(c == "-" or c.isalnum() for c in given["id"]):
        os.write(2, f"thread 'main' panicked: Invalid instance ID: {given['id']}\n".encode())
        os.abort()
    level = given.get("level")
    if level is not None and level.lower() not in facts.LEVELS:
        raise Failed(f"Invalid value for logger level: {level}.Possible values: [Error, Warning, Info, Debug]",
                     f'InvalidLogLevel(LevelFilterFromStrError("{level}"))', facts.EXIT_BAD_LEVEL)


def configure_log(log, given):
    if "log-path" in given:
        try:
            log.open(os.open(given["log-path"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o644))
        except OSError as why:
            raise Failed(f"Could not initialize logger: Failed to open target file: {why}",
                         f"LoggerInitialization(LoggerUpdateError({why}))") from None
    log.set_level(given.get("level"))
    log.show_level = "show-level" in given


def serve(given, log, settings, version):
    check_options(given)
    log.ident = given["id"]
    configure_log(log, given)
    log.line(f"Running Firecracker v{version}")
    for number, code in SIGNALS.items():
        signal.signal(number, lambda *_, code=code: os._exit(code))
    library = vsock.load(settings["library"])
    listener = listen_api(given["api-sock"])
    log.line(f'Listening on API socket ("{given["api-sock"]}").')
    vmm = Vmm(settings, given["id"], given["api-sock"], version, log, library)
    if "metrics-path" in given:
        vmm.put_metrics({"metrics_path": given["metrics-path"]})
    log.line("API server started.", thread="fc_api")
    return Server(vmm, settings, listener, int(given["http-api-max-payload-size"])).run()


def needs(settings):
    """The files that a cell must show beside the launcher, so that the program can run."""
    python = os.path.realpath("/usr/bin/python3")
    return {"readable": ["/usr/bin/python3", python, f"/usr/lib/python{sys.version_info[0]}.{sys.version_info[1]}", HERE,
                         settings["library"], settings["qemu"], "/usr/share/qemu", "/usr/share/seabios", "/etc/ld.so.cache",
                         *([os.path.dirname(os.path.abspath(settings.path))] if settings.path else [])]}


def main(words, settings_path):
    settings = control.Settings(settings_path)
    root = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
    defaults = {"qemu": "/usr/bin/qemu-system-x86_64", "library": f"{root}/build/standin/libvsock.so", "version": facts.VERSION}
    settings.defaults = defaults
    settings.read()
    version, log = settings["version"], Log(facts.DEFAULTS["id"])
    if words == ["--standin-needs"]:
        print(json.dumps(needs(settings)))
        return 0
    try:
        given = arguments.parse(words)
        if "help" in given or "version" in given:
            print(f"Firecracker v{version}\n")
            if "version" in given:  # by this the supervisor recognises the stand-in and what its cell must show (backend/firecracker/binary.h)
                print("microagent stand-in: " + ":".join(needs(settings)["readable"]))
            print(*(f"  --{name}" + (f" <{name}>" if takes else "") for name, takes in sorted(facts.OPTIONS.items())),
                  sep="\n") if "help" in given else None
            return 0
        code = serve(given, log, settings, version)
    except arguments.Wrong as wrong:
        failed = Failed(f"Arguments parsing error: {wrong} \n\nFor more information try --help.", f"ParseArguments({wrong.shown})",
                        facts.EXIT_ARGUMENTS)
    except Failed as why:
        failed = why
    else:
        if code == facts.EXIT_OK:
            log.line("Firecracker exiting successfully. exit_code=0")
            return code
        failed = Failed("RunWithApiError error: MicroVM stopped with an error: GenericError",
                        "RunWithApi(MicroVMStoppedWithError(GenericError))", code)
    log.line(str(failed), "Error")
    os.write(2, f"Error: {failed.shown}\n".encode())
    log.line(f"Firecracker exiting with error. exit_code={failed.code}", "Error")
    return failed.code


def end(words, settings_path):
    """Runs main() as the last thing of the process, since a thread of the vsock device may still run."""
    code = main(words, settings_path)
    sys.stdout.flush()
    os._exit(code)
