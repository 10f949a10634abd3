# SPDX-License-Identifier: MIT
"""Tests the shell and the serial console of one running workspace: real terminals on our side, and a real guest."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import termios
import time

import pytest

from conftest import BACKEND, wait_until

HANG_S = 60  # only bounds a hang

TTY = "hvc0" if BACKEND == "apple-vf" else "ttyS0"  # the one console that the guest has with this backend, or the first
IDENTITY = {"requestID": "req-1", "runtimeID": "vm", "role": "workload", "backend": "qemu"}


class Terminal:
    """Runs `microagent connect` as a person does: on a terminal of its own, in a session of its own."""

    def __init__(self, host, *words, rows=30, columns=100):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.child = host.popen("connect", *words, stdin=self.slave, stdout=self.slave,
                                stderr=self.slave, start_new_session=True,
                                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.seen = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text)

    def await_text(self, pattern):
        """Reads until the pattern has been seen. Output up to it is dropped."""
        end = time.monotonic() + HANG_S
        while True:
            found = re.search(pattern, self.seen, re.S)
            if found:
                self.seen = self.seen[found.end():]
                return found
            assert time.monotonic() < end and self.child.poll() is None, (pattern, self.seen)
            if select.select([self.master], [], [], 0.2)[0]:
                self.seen += os.read(self.master, 65536)

    def wait(self):
        """Returns the exit code. The rest of the output is read, since the child could not end otherwise."""
        while self.child.poll() is None:
            if select.select([self.master], [], [], 0.05)[0]:
                self.seen += os.read(self.master, 65536)
        while select.select([self.master], [], [], 0)[0]:  # output just before its end
            self.seen += os.read(self.master, 65536)
        return self.child.returncode

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & termios.ICANON

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        wait_until(lambda: termios.tcgetattr(self.slave) == self.before, "the terminal to be as before")
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(vm):
    made = []

    def make(*words, **kw):
        made.append(Terminal(vm, *words, **kw))
        return made[-1]
    yield make
    for it in made:
        it.close()


def console_answer(host):
    config = json.loads((host.state / "vm" / "workspace.json").read_text())["config"]
    return host.supervisor({"command": "console", "identity": IDENTITY, "config": config})


def test_send_prints_the_output_and_gives_the_code(vm):
    done = vm("connect", "vm", "--send", "echo one; echo two >&2; id -u; exit 7", check=7)
    assert (done.stdout, done.stderr) == ("one\n1000\n", "two\n")
    assert vm("connect", "vm", "--user", "root", "--send", "id -u", check=0).stdout == "0\n"
    # Output is not interpreted: text that looks like an end marker or an echo is output like any other.
    text = "stty -echo; exit; done 0 $?"
    assert vm("connect", "vm", "--send", f"echo '{text}'", check=0).stdout == text + "\n"
    assert vm("connect", "vm", "--timeout", 1, "--send", "sleep 100").returncode == 124
    assert vm("connect", "vm", "--send", "nosuchprogram").returncode == 127
    big = vm("connect", "vm", "--send", "head -c 1000000 /dev/zero", text=False, check=0)
    assert big.stdout == bytes(1000000)


@pytest.mark.parametrize("words,said", [
    (("vm",), "stdin is not a terminal"), (("vm", "--serial", "--send", "x"), "--serial"),
    (("vm", "--serial", "--user", "root"), "--serial"), (("vm", "--timeout", 3), "--timeout")])
def test_words_that_do_not_go_together(vm, words, said):
    done = vm("connect", *words, check=2)
    assert said in done.stderr and done.stdout == ""


def test_connect_needs_a_running_workspace(host):
    host("create", "w", "--memory", 256, "--cpus", 1, check=0)
    for words in (("--send", "true"), ("--serial",)):
        done = host("connect", "w", *words, check=125)
        assert "prepared" in done.stderr, done.stderr
    done = host("connect", "absent", "--send", "true", check=125)
    assert "there is no workspace" in done.stderr
    host("delete", "w", check=0)


def test_a_shell_on_a_terminal(vm, terminal):
    it = terminal("vm", rows=33, columns=111)
    it.await_text(rb"Ctrl-\] detaches")
    it.type(b"echo ma''rk $0 $(tty) $(stty size) $(id -u)\n")
    found = it.await_text(rb"mark (\S+) (/dev/pts/\d+) (\d+ \d+) (\d+)\r\n")
    assert found[3] == b"33 111" and found[4] == b"1000"
    assert it.is_raw()
    # The terminal follows the size of the window.
    it.type(b"echo wai''ting; until [ \"$(stty size)\" = '50 140' ]; do sleep 0.1; done; echo fol''lowed\n")
    it.await_text(rb"waiting")
    it.resize(50, 140)
    it.await_text(rb"followed")
    # Ctrl-C goes to the guest.
    it.type(b"sh -c \"echo sl''eeping; exec sleep 1000\"\n")
    it.await_text(rb"sleeping")
    it.type(b"\x03")
    it.type(b"echo af''ter $?\n")
    assert it.await_text(rb"after (\d+)\r\n")[1] == b"130"
    it.type(b"exit 9\n")
    assert it.wait() == 9
    assert not it.is_raw()


def test_detaching_ends_the_shell_and_restores_the_terminal(vm, terminal):
    it = terminal("vm")
    it.await_text(rb"[$#] ")
    it.type(b"sleep 4321\n")
    wait_until(lambda: vm("exec", "vm", "--", "pidof", "sleep").returncode == 0, "the sleep in the guest")
    assert it.is_raw()
    it.type(b"\x1d")
    assert it.wait() == 0
    assert not it.is_raw() and termios.tcgetattr(it.slave) == it.before
    assert b"detached" in it.seen
    wait_until(lambda: vm("exec", "vm", "--", "pidof", "sleep").returncode == 1, "the sleep to be gone")


@pytest.mark.parametrize("number,code", [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)])
def test_the_terminal_is_restored_however_it_ends(vm, terminal, number, code):
    it = terminal("vm")
    it.await_text(rb"[$#] ")
    assert it.is_raw()
    it.child.send_signal(number)
    assert it.wait() == code
    wait_until(lambda: termios.tcgetattr(it.slave) == it.before, "the terminal to be as before")


def test_console_command(vm):
    code, answer, _ = console_answer(vm)
    path = vm.state / "vm" / "console.sock"
    assert (code, answer["event"]["state"], answer["event"]["detail"]) == (0, "running", str(path))
    assert set(answer) == {"ok", "backend", "event"}
    assert stat.S_ISSOCK(path.lstat().st_mode) and stat.S_IMODE(path.lstat().st_mode) == 0o600
    # it records nothing
    states = [e["state"] for e in vm.json("events", "vm")["events"]]
    assert states == ["prepared", "starting", "running"]
    config = json.loads((vm.state / "vm" / "workspace.json").read_text())["config"]
    other = {**config, "memoryMiB": 300}
    code, answer, _ = vm.supervisor({"command": "console", "identity": IDENTITY, "config": other})
    assert (code, answer["errorCode"]) == (1, "conflict") and "config.memoryMiB" in answer["error"]


def reader_in_guest(vm):
    """A process in the guest that reads a line of the serial console."""
    return vm.popen("exec", "--user", "root", "vm", "--", "sh", "-c",
                    f"stty -echo < /dev/{TTY}; echo ready; head -n 1 /dev/{TTY}")


def test_serial_both_ways_for_one_client(vm, terminal):
    it = terminal("vm", "--serial")
    it.await_text(rb"Ctrl-\] detaches")
    reader = reader_in_guest(vm)
    assert reader.stdout.readline() == b"ready\n"
    it.type(b"to the guest\r")
    assert reader.communicate(timeout=60)[0] == b"to the guest\n"
    vm("exec", "--user", "root", "vm", "--", "sh", "-c", f"echo from the guest > /dev/{TTY}", check=0)
    it.await_text(rb"from the guest\r\n")
    # A second client is told that the console is used, and disturbs nobody.
    second = vm("connect", "vm", "--serial", check=125)
    assert "somebody else is connected" in second.stderr
    it.type(b"\x1d")
    assert it.wait() == 0 and not it.is_raw()
    assert b"from the guest" in (vm.state / "vm" / "serial.log").read_bytes()
    # With a pipe, only the console's output goes to stdout. The console is free again afterwards.
    with vm.popen("connect", "vm", "--serial", stdin=subprocess.PIPE) as piped:
        reader = reader_in_guest(vm)
        assert reader.stdout.readline() == b"ready\n"
        piped.stdin.write(b"piped\n")
        piped.stdin.flush()
        assert reader.communicate(timeout=60)[0] == b"piped\n"
        vm("exec", "--user", "root", "vm", "--", "sh", "-c", f"echo again > /dev/{TTY}", check=0)
        assert piped.stdout.readline() == b"again\r\n"
        piped.terminate()
        assert piped.wait(timeout=60) == 143


@pytest.mark.skipif(BACKEND != "qemu", reason="a machine of QEMU's has two consoles")
def test_what_is_typed_goes_to_the_console_that_spoke_last(vm, terminal):
    """hvc0 gets it as well as ttyS0. A line that was begun is not split by output on the other console."""
    def on(device, word, then="true"):
        script = f"exec 3<>/dev/{device}; stty echo <&3; echo {word} >&3; {then}"
        return vm.popen("exec", "--user", "root", "vm", "--", "sh", "-c", script)
    it = terminal("vm", "--serial")
    it.await_text(rb"Ctrl-\] detaches")
    for device in ("hvc0", "ttyS0", "hvc0"):
        reader = on(device, f"prompt-of-{device}", "head -n 1 <&3")
        it.await_text(f"prompt-of-{device}".encode())
        it.type(b"begun ")
        it.await_text(b"begun ")  # the guest's echo
        if device == "hvc0":
            assert on("ttyS0", "between").wait() == 0
            it.await_text(rb"between\r\n")
        it.type(f"on {device}\r".encode())
        assert reader.communicate(timeout=HANG_S)[0] == f"begun on {device}\n".encode()
    # The other console again, for the tests that come next.
    assert on("ttyS0", "last").wait() == 0
    it.await_text(rb"last\r\n")
    it.type(b"\x1d")
    assert it.wait() == 0


def test_without_a_shell_there_is_an_echo(vm, terminal):
    runtime = json.loads((vm.state / "vm" / "runtime.json").read_text())
    assert (runtime["consoleMode"], vm.json("status", "vm")["consoleMode"]) == ("raw", "raw")
    assert vm.supervisor({"command": "host"})[1]["host"]["consoleMode"] == "interactive"
    vm("exec", "--user", "root", "vm", "--", "sh", "-c", f"stty echo </dev/{TTY}", check=0)  # readers of other tests have none
    it = terminal("vm", "--serial")
    it.await_text(rb"Ctrl-\] detaches")
    it.type(b"echo $((6*7))\r")
    it.await_text(rb"echo \$\(\(6\*7\)\)\r\n")
    # Nobody has read the input, so the next reader gets it.
    reader = vm.popen("exec", "--user", "root", "vm", "--", "head", "-n", "1", f"/dev/{TTY}")
    assert reader.communicate(timeout=HANG_S)[0] == b"echo $((6*7))\n"
    assert b"42" not in it.seen
    it.type(b"\x1d")
    assert it.wait() == 0


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_a_client_that_does_not_read_costs_a_bounded_amount(vm):
    """A client that does not read loses bytes. The VM, its log and the next client do not notice."""
    pid = json.loads((vm.state / "vm" / "runtime.json").read_text())["supervisorPid"]
    log, said = vm.state / "vm" / "serial.log", vm.state / "vm" / "supervisor.log"
    told = said.read_text().count("did not read")  # output of an earlier client
    sock = socket.socket(socket.AF_UNIX)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(console_answer(vm)[1]["event"]["detail"])
    before, size = resident_kib(pid), log.stat().st_size
    vm("exec", "--user", "root", "vm", "--", "sh", "-c",
       f"yes 0123456789012345678901234567890123456789012345678901234567890 | head -c 600000 > /dev/{TTY}",
       check=0)
    wait_until(lambda: log.stat().st_size >= size + 600000, "the log to have it all")
    assert resident_kib(pid) - before < 2048
    sock.close()
    wait_until(lambda: said.read_text().count("did not read") > told, "the loss to be told")
    again = socket.socket(socket.AF_UNIX)
    again.connect(console_answer(vm)[1]["event"]["detail"])
    vm("exec", "--user", "root", "vm", "--", "sh", "-c", f"echo here > /dev/{TTY}", check=0)
    again.settimeout(60)
    assert again.recv(100)
    # A client that has sent all of its input goes on to get output.
    again.shutdown(socket.SHUT_WR)
    vm("exec", "--user", "root", "vm", "--", "sh", "-c", f"echo still > /dev/{TTY}", check=0)
    heard = b""
    while b"still" not in heard:
        more = again.recv(100)
        assert more
        heard += more
    again.close()
