# SPDX-License-Identifier: MIT
"""Runs the unit programs of arm64 (`make arm64`), each in a machine of arm64. They show what a program of the host
assumes about its architecture, before it has run on a real arm64 host."""

import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import BUILD, ROOT, make_host
from test_arm64 import FOREIGN

pytestmark = [pytest.mark.soak, pytest.mark.skipif(not FOREIGN, reason="this host is arm64 itself, and `make test` runs them")]
UNIT = BUILD / "arm64" / "unit"
SYSROOT = ROOT / "build" / "sysroot-arm64"
PROGRAMS = sorted(p.name for p in UNIT.glob("test_*") if p.suffix == "") or ["none"]
SECONDS = 1800  # the longest takes a quarter of an hour

# The sysroot's libraries, programs and locale are where Debian has them.
FURNISH = """
set -e
mount -t tmpfs -o mode=1777,nr_inodes=400000 tmp /tmp
ln -s /sysroot/lib/ld-linux-aarch64.so.1 /lib/
ln -s /sysroot/lib/aarch64-linux-gnu /lib/aarch64-linux-gnu
ln -s /sysroot/usr/lib/aarch64-linux-gnu /sysroot/usr/lib/locale /usr/lib/
ln -s /sysroot/etc/mke2fs.conf /etc/
for program in /sysroot/sbin/*; do ln -s "$program" /usr/sbin/; done
"""


@pytest.fixture(scope="module")
def results(request):
    """Returns the result of each program that was asked for. Two run at once, in one machine."""
    asked = [item.callspec.params["program"] for item in request.session.items if item.path == Path(__file__)]
    assert PROGRAMS != ["none"], f"{UNIT} is empty: `make arm64` builds them"
    host = make_host(Path(tempfile.mkdtemp(prefix="e-")))
    pool = ThreadPoolExecutor(2)
    try:
        host("create", "w", "--arch", "arm64", "--kernel", "debian", "--memory", 2048, "--cpus", 2, "--network", "isolated",
             "--share", f"{UNIT}:/unit:ro", "--share", f"{SYSROOT}:/sysroot:ro", "--share", f"{ROOT / 'tests'}:/source/tests:ro", check=0)
        host("start", "w", check=0)
        host("exec", "-u", "root", "w", "--", "sh", "-c", FURNISH, check=0)
        yield {name: pool.submit(host, "exec", "-u", "root", "-w", "/source", "--timeout", SECONDS, "w", "--", f"/unit/{name}",
                                 timeout=SECONDS + 60) for name in asked}
        pool.shutdown(cancel_futures=True)
        host("kill", "w", check=0)
        host("delete", "w", check=0)
        host.assert_clean()
    finally:
        pool.shutdown(cancel_futures=True)
        host.sweep()
        shutil.rmtree(host.base, ignore_errors=True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_passes_on_arm64(results, program):
    done = results[program].result()
    text = done.stdout + done.stderr
    assert done.returncode == 0, text[-4000:]
    assert re.search(r"\[={10}\] [1-9]\d* test\(s\) run", text) or "SKIPPED" in text, text[-1000:]  # one shuts the stream of PASSED
