# SPDX-License-Identifier: MIT
"""Tests completion as a person uses it: the files of `make install`, in bash, zsh and fish, in a real terminal
emulator. The unit test test_cli_complete.c has the offers at each place. Here each shell must ask for them, and take
the answer."""

import hashlib
import json
import shutil

import pytest

from test_exec_terminal import PROMPT, Tmux
from test_library import make

SESSION = "session-2026-05-10T14-22-00Z-a7f3"
ODD = "$(touch x) 'y' ;"
SETTING = {
    "bash": ("bashrc", "PS1='{prompt}'; unset HISTFILE; . {share}/bash-completion/completions/microagent\n"),
    "zsh": (".zshrc", "PS1='{prompt}'; fpath=({share}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -D -u\n"),
    "fish": ("fish/config.fish", "function fish_prompt; echo -n '{prompt}'; end; set -g fish_greeting; set -g fish_autosuggestion_enabled 0\n"),
}
START = {"bash": ("bash", "--noprofile", "--rcfile", "bashrc"), "zsh": ("zsh", "-d", "-i"), "fish": ("fish", "-i")}


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed")
    make("install", f"PREFIX={prefix}")
    return prefix / "share"


def fill(host):
    """Names, and a directory to work in. Nothing runs, and no record can be read."""
    for name in ("calm-otter", f"sessions/{SESSION}.bundle", f"sessions/{SESSION}.bundle/points/before"):
        (host.state / name).mkdir(parents=True, mode=0o700)
    for name in ("calm-otter", f"sessions/{SESSION}.bundle"):
        (host.state / name / "event.json").touch()
    images = host.base / "cache" / "images"
    images.mkdir(parents=True, mode=0o700)
    record = {"format": 1, "kind": "imported", "sha256": hashlib.sha256(b"").hexdigest(), "sizeBytes": 0}
    (images / f"{ODD}.ext4").touch()
    (images / f"{ODD}.json").write_text(json.dumps({**record, "name": ODD}))
    (host.base / "here" / "folder").mkdir(parents=True)
    (host.base / "here" / "initrd of mine").touch()


@pytest.fixture(params=sorted(SETTING))
def shell(request, host, share):
    fill(host)
    file, text = SETTING[request.param]
    place = host.base / "settings" / file
    place.parent.mkdir(parents=True)
    place.write_text(text.format(prompt=PROMPT, share=share))
    start = [str(place) if word == "bashrc" else word for word in START[request.param]]
    settings = str(host.base / "settings")
    env = {"HOME": str(host.base / "here"), "TMPDIR": settings, "ZDOTDIR": settings, "XDG_CONFIG_HOME": settings,
           "XDG_DATA_DIRS": f"{share}:/usr/share", "MICROAGENT_CACHE_DIR": str(host.base / "cache")}
    tmux = Tmux(host, ["env", "-C", host.base / "here", *start], env)
    yield tmux
    tmux.close()
    for name in ("calm-otter", "sessions"):
        shutil.rmtree(host.state / name)


def last_line(screen):
    """Returns the text behind the last prompt. The screen has no blanks at the ends of lines."""
    return screen.rpartition(PROMPT.strip())[2].strip()


def completes(shell, typed, becomes):
    shell.type("-l", typed)
    shell.await_screen(lambda screen: last_line(screen) == typed, typed)
    shell.type("Tab")
    # Types one more key after the answer. Without it, text that needs no completion would be there already.
    shell.type("-l", "_")
    shell.await_screen(lambda screen: last_line(screen) == f"{becomes}_", f"{typed} to become {becomes}_")
    shell.type("C-u")
    shell.await_screen(lambda screen: last_line(screen) == "", "an empty line")


def test_a_shell_completes(shell):
    completes(shell, "microagent prof", "microagent profiles ")
    completes(shell, "microagent session snapshot-d", "microagent session snapshot-delete ")
    completes(shell, "microagent run --network-", "microagent run --network-interface ")
    completes(shell, "microagent run --network i", "microagent run --network isolated ")
    completes(shell, "microagent run --network=i", "microagent run --network=isolated ")
    completes(shell, "microagent status c", "microagent status calm-otter ")
    completes(shell, "microagent cp c", "microagent cp calm-otter:")
    completes(shell, f"microagent session restore {SESSION} b", f"microagent session restore {SESSION} before ")


def test_files_are_files(shell):
    completes(shell, "microagent run --initrd i", r"microagent run --initrd initrd\ of\ mine ")
    completes(shell, "microagent run --initrd=i", r"microagent run --initrd=initrd\ of\ mine ")
    completes(shell, "microagent --state-dir f", "microagent --state-dir folder/")
    completes(shell, "microagent run -- cat f", "microagent run -- cat f")


def test_an_odd_name_is_one_word(shell):
    """The result is the image of that name, and nothing is run for it."""
    shell.type("-l", "microagent image verify \\$")
    shell.await_screen(lambda screen: "\\$" in screen, "what is typed")
    shell.type("Tab")
    shell.await_screen(lambda screen: ";" in last_line(screen), "the name")
    shell.type("Enter")
    shell.await_screen(lambda screen: f"ok        {ODD} image" in screen, "its digest")
    assert not (shell.host.base / "here" / "x").exists()
