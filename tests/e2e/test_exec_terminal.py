# SPDX-License-Identifier: MIT
"""Tests `microagent exec -t` as a person uses it: a shell in a real terminal emulator (tmux), and full-screen programs
of the debian image in it. Afterwards the terminal is as before."""

import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import BIN, pid_lines, wait_until

PROMPT = "here> "


class Tmux:
    """A tmux server with one window, in which a shell of the host runs. It is bash with job control, since bash does
    not repair the terminal after a job that ended well."""

    def __init__(self, host, shell=None, env=None):
        self.socket = host.base / "tmux"
        self.host = host
        self.asked = 0  # how often for the terminal's modes
        env = {**host.env, "PATH": f"{BIN}:{host.env['PATH']}", "LC_ALL": "C.UTF-8", **(env or {})}
        env.pop("TMUX", None)
        (host.base / "bashrc").write_text(f"PS1='{PROMPT}'; unset HISTFILE\n")
        shell = shell or ("bash", "--rcfile", host.base / "bashrc")
        subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
                        shlex.join(map(str, shell))], env=env, check=True, timeout=60)
        try:
            self.await_screen(lambda s: PROMPT.strip() in s, "the prompt")
        except BaseException:
            self.close()
            raise

    def __call__(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *map(str, words)], env=self.host.env, check=True,
                              capture_output=True, text=True, timeout=60).stdout

    def screen(self):
        return self("capture-pane", "-p")

    def type(self, *keys):
        self("send-keys", *keys)

    def line(self, text):
        self("send-keys", "-l", text)
        self("send-keys", "Enter")

    def await_screen(self, condition, what, seconds=60):
        last = [""]

        def there():
            last[0] = self.screen()
            return condition(last[0])
        try:
            wait_until(there, what, seconds)
        except AssertionError:
            raise AssertionError(f"still waiting for {what}; the screen:\n{last[0]}") from None
        return last[0]

    def await_text(self, text):
        return self.await_screen(lambda s: text in s, repr(text))

    def resize(self, columns, rows):
        self("resize-window", "-x", columns, "-y", rows)

    def stty(self):
        """Returns a digest of the terminal's modes, as the shell's next command sees them."""
        # The earlier answer may still be on the screen. So each answer has a number of its own, which is not typed.
        self.asked += 1
        self.line(f"clear; stty -g | md5sum; echo en''d-{self.asked}")
        answer = rf"^(\w{{32}})  -\nend-{self.asked}$"
        return re.search(answer, self.await_screen(lambda s: re.search(answer, s, re.M), "stty -g"), re.M)[1]

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False, capture_output=True, timeout=60)


class Desk:
    """A debian machine and a person's terminal beside it."""

    def __init__(self, host):
        self.host, self.tmux = host, Tmux(host)

    def clear(self):
        """Requires that nothing goes on in the terminal or in the guest, and that nothing of it is left."""
        self.tmux.close()
        for left in ("tmux", "bashrc"):
            (self.host.base / left).unlink(missing_ok=True)
        wait_until(lambda: not clients(self.host), "the clients in the terminal to end")
        self.host("exec", "-u", "root", "vm", "--", "sh", "-c", "pkill -KILL -u agent; rm -rf /home/agent/.bash_history /home/agent/.config /tmp/*",
                  check=0)

    def renew(self):
        self.clear()
        self.tmux = Tmux(self.host)


@pytest.fixture(scope="module")
def desk(debian_vm):
    it = Desk(debian_vm)
    yield it
    it.clear()


@pytest.fixture
def tmux(desk, request):
    """The terminal, which each test must leave as it found it. After a failed test it is ended with all that runs in it."""
    failed = request.session.testsfailed
    desk.tmux.resize(80, 24)
    before = desk.tmux.stty()
    yield desk.tmux
    try:
        assert request.session.testsfailed != failed or desk.tmux.stty() == before, desk.tmux.screen()
    except AssertionError:
        failed = None
        raise
    finally:
        if request.session.testsfailed != failed:
            desk.renew()


def clients(host):
    """Returns the processes of `microagent exec`, without the guardian of its terminal: the parents."""
    found = {}
    for pid, line in pid_lines("exec -t vm").items():
        environ = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
        if str(host.state) in environ and line.startswith("microagent "):
            found[pid] = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return [pid for pid, parent in found.items() if parent not in found]


def test_vi_types_saves_and_leaves(tmux):
    tmux.line("clear; microagent exec -t vm -- vi /tmp/letter; echo code $?")
    tmux.await_screen(lambda s: s.count("\n~") > 15 and '"/tmp/letter"' in s, "vi's empty screen")
    tmux.type("i")
    tmux("send-keys", "-l", "Dear reader,")
    tmux.type("Enter")
    tmux("send-keys", "-l", "this is vi.")
    tmux.type("Escape")
    seen = tmux.await_screen(lambda s: "this is vi." in s and "-- INSERT --" not in s, "the text")
    assert seen.split("\n")[:3] == ["Dear reader,", "this is vi.", "~"]
    assert seen.split("\n")[21] == "~"  # all of the screen is used
    tmux.resize(60, 12)
    tmux.await_screen(lambda s: s.split("\n")[:3] == ["Dear reader,", "this is vi.", "~"] and s.split("\n")[10] == "~",
                      "vi on a smaller screen")
    tmux.line(":wq")
    tmux.await_text("code 0")
    assert tmux.host("exec", "vm", "--", "cat", "/tmp/letter", check=0).stdout == "Dear reader,\nthis is vi.\n"


def test_top_is_drawn_resized_and_quits(tmux):
    def full(rows):
        """Its head is at the top, and a process is in the last line but one."""
        return lambda s: re.match(r"top - \d\d:\d\d:\d\d up", s) and "PID USER" in s and s.split("\n")[rows - 2].strip()
    tmux.line("clear; microagent exec -t vm -- top; echo code $?")
    tmux.await_screen(full(24), "top")
    tmux.resize(120, 30)
    tmux.await_screen(full(30), "a larger top")
    tmux.type("q")
    tmux.await_text("code 0")


def await_in_front(host, program):
    """Waits until the guest's program sleeps in the foreground of its terminal. Then the keys that make a signal go to
    it. The screen shows it too early: the typed line is there before it was read, and "Stopped" names the program as
    well."""
    # Fields of proc(5): state, parent, process group, session, terminal, the terminal's foreground group.
    look = f"set -- $(cat /proc/$(pidof {program})/stat); [ $3 = S ] && [ $5 = $8 ]"
    wait_until(lambda: host("exec", "vm", "--", "sh", "-c", look).returncode == 0, f"{program} in front")


def test_keys_that_signal_are_the_guests(tmux):
    tmux.line("clear; microagent exec -t vm -- bash --norc; echo code $?")
    tmux.await_text("bash-5")
    tmux.line("trap 'echo got''-quit' QUIT; sleep 1000")
    await_in_front(tmux.host, "sleep")
    tmux.type("C-z")
    tmux.await_text("Stopped")
    tmux.line("fg")
    await_in_front(tmux.host, "sleep")
    tmux.type("C-c")
    tmux.line("echo code-of-sleep $?")
    tmux.await_text("code-of-sleep 130")
    # A signal between bash's look at its traps and its read has no effect until the next key.
    waits = "test \"$(cat /proc/$(pidof bash)/wchan)\" = do_select"
    wait_until(lambda: tmux.host("exec", "-u", "root", "vm", "--", "sh", "-c", waits).returncode == 0, "bash in its read")
    tmux.type("C-\\")
    tmux.await_text("got-quit")
    tmux.line("stty size; tty; echo $TERM")
    tmux.await_screen(lambda s: "24 80" in s and "/dev/pts/" in s and re.search(r"^(screen|tmux)", s, re.M), "the terminal's facts")
    tmux.line("exit 7")
    tmux.await_text("code 7")


def test_stopped_and_brought_back(tmux):
    before = tmux.stty()
    tmux.line("clear; microagent exec -t vm -- bash --norc")
    tmux.await_text("bash-5")
    client, = clients(tmux.host)
    subprocess.run(["kill", "-TSTP", str(client)], check=True)
    tmux.await_text("Stopped")
    assert tmux.stty() == before
    tmux.resize(70, 20)
    tmux.line("clear; fg")
    tmux.line("echo ba''ck $(stty size)")
    tmux.await_text("back 20 70")  # its keys go to the guest again, and its size is the new one
    tmux.line("exit")
    tmux.await_text(PROMPT.strip())


@pytest.mark.parametrize("number,code", [(signal.SIGTERM, 143), (signal.SIGKILL, 137), (signal.SIGHUP, 129)])
def test_ended_from_outside(tmux, number, code):
    """The command outlives the first SIGTERM, and says so. Only then is the second sent, since two at once would be one."""
    # The awaited words differ from the typed ones.
    tmux.line("clear; microagent exec -t vm -- sh -c 'trap \"echo to\\\"\\\"ld\" TERM; echo rea\"\"dy; while :; do sleep 0.05; done'; "
              "c=$?; echo; echo code $c")
    tmux.await_text("ready")
    client, = clients(tmux.host)
    subprocess.run(["kill", f"-{int(number)}", str(client)], check=True)
    if number == signal.SIGTERM:
        tmux.await_text("told")
        assert clients(tmux.host) == [client]
        subprocess.run(["kill", f"-{int(number)}", str(client)], check=True)
    screen = tmux.await_screen(lambda s: re.search(r"^code \d", s, re.M), "the end")
    assert re.search(f"^code {code}$", screen, re.M), screen
    wait_until(lambda: not clients(tmux.host), "the client to be gone")


def test_without_a_terminal_of_ours(debian_vm):
    host = debian_vm
    assert host("exec", "-t", "vm", "--", "sh", "-c", "stty size; tty", check=0).stdout.split()[:2] == ["24", "80"]
    done = host("exec", "-it", "vm", "--", "sh", input="stty size; exit 5\n", check=5)
    assert "24 80" in done.stdout
    assert host("exec", "-t", "--env", "TERM=vt52", "vm", "--", "printenv", "TERM", check=0).stdout == "vt52\r\n"


def test_an_error_of_ours_leaves_the_terminal_alone(tmux):
    tmux.line("clear; microagent exec -t nosuch -- vi; echo code $?")
    tmux.await_text("code 125")
    tmux.line("clear; microagent exec -t vm -- nosuchprogram; echo code $?")
    tmux.await_text("code 127")
