# SPDX-License-Identifier: MIT
"""A guest of two CPUs with QEMU's words as the product gives them, and only a program of ours in it (smp_guest.c). It
is the cheapest boot in which a kernel patches its own code."""

import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The words that make the processors and the memory; devices have no part in it.
KEPT = ("-machine", "-accel", "-cpu", "-smp", "-m", "-object", "-global", "-append")
HANG_S = 300  # on a quiet host it is over in seconds


def initrd(place):
    """Makes an initramfs with smp_guest.c as its init."""
    tree = Path(place, "smp")
    tree.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-static", "-s", "-o", tree / "init", HERE / "smp_guest.c"], check=True)
    with open(Path(place, "smp.initrd"), "wb") as out:
        subprocess.run(["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"], cwd=tree, input=b"init\n", stdout=out, check=True)
    return Path(place, "smp.initrd")


def machine(words):
    """Returns those words of QEMU's command line that a bare QEMU needs."""
    kept = [words[0], "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
    for option, value in zip(words, words[1:]):
        if option in KEPT and (option != "-object" or "memory-backend" in value):
            kept += [option, value]
    return kept


def boot(machine_words, kernel, initrd_path, *guest_words, **changes):
    """Returns all output of the guest. changes: accel="..." replaces the product's."""
    words = list(machine_words)
    for option, value in changes.items():
        words[words.index(f"-{option}") + 1] = value
    at = words.index("-append") + 1
    words[at] = re.sub(r" -- .*", "", words[at]) + " -- " + " ".join(map(str, guest_words))
    done = subprocess.run([*words, "-serial", "stdio", "-kernel", kernel, "-initrd", initrd_path], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_S)
    return done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
