# SPDX-License-Identifier: MIT
"""One running machine for all test files that only talk to it, since booting takes most of the suite's time. If a test
leaves it other than it was, the machine is replaced, and that is reported."""

import os
import shutil
from pathlib import Path

import strays

# Returns processes (without the kernel's own and this look), mounts, and the files that a test may have changed.
LOOK = r"""
for p in /proc/[0-9]*; do
	line=$(tr '\0' ' ' <$p/cmdline 2>/dev/null)
	[ -z "$line" ] || [ ${p#/proc/} = $$ ] || [ $(cut -d' ' -f4 $p/stat) = $$ ] || echo "process $line"
done
cat /proc/mounts
find /bin/ /dev /etc /home /mem /root /run /tmp /usr/local /var/tmp /workspace -maxdepth 4 2>/dev/null | sort
find /etc /home /root /tmp /workspace -type f -exec md5sum {} +
"""


class SharedMachine:
    """place makes its directory. words are the options of `microagent create` for it."""

    def __init__(self, place, *words):
        self.place, self.words, self.host, self.found = place, words, None, None

    def look(self):
        """Returns its present state, inside and outside. Returns None if nobody answers any more."""
        done = self.host("exec", "--user", "root", "vm", "--", "sh", "-c", LOOK)
        if done.returncode:
            return None
        outside = [*sorted(os.listdir(self.host.state / "vm")), *sorted(os.listdir(self.host.base)), *sorted(strays.running(self.host.base)),
                   self.host.wrap, sorted(self.host.env.items())]
        return [*done.stdout.splitlines(), *map(str, outside)]

    def take(self):
        if not self.host:
            self.host = self.place()
            self.host.spent = False
            self.host("create", "vm", *self.words, check=0)
            self.host("start", "vm", check=0)
            self.found = self.look()
        return self.host

    def give_back(self, who, well):
        """well: no test of the user has failed. A test that means to end it, or to cut it off, says so by its `spent`."""
        if well and self.host.spent:
            self.end()
            return
        now = self.look() if well else None
        if well and now != self.found:  # a command that was told to end may be ending just now
            now = self.look()
        if now == self.found:
            return
        changed = sorted(set(now or []) ^ set(self.found)) if now else ["the machine does not answer" if well else "a test failed"]
        tell(f"{who} leaves another machine than it found: {'; '.join(changed)[:200]}")
        self.end()

    def end(self):
        host, self.host = self.host, None
        if not host:
            return
        try:
            host("kill", "vm", check=0)
            host("delete", "vm", check=0)
            host.assert_clean()
        finally:
            host.sweep()
            shutil.rmtree(host.base, ignore_errors=True)


def tell(text):
    """tests/run.py prints it at the end."""
    told = os.environ.get("MICROAGENT_TEST_WHOLE_SUITE")
    if told:
        with open(Path(told) / f"{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}.notes", "a") as notes:
            notes.write(text + "\n")
    else:
        print(text)
