# SPDX-License-Identifier: MIT
"""Kills a command at each of its steps: before the Nth call that changes a file, with all of its processes."""

import os
import signal
import subprocess

from conftest import BIN, BUILD, HANG_S, ROOT

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A file counts, for all processes of the command. */
static void step(void)
{
	const char *steps = getenv("KILLING_STEPS"), *at = getenv("KILLING_AT");
	struct stat st = {0};
	int fd;

	if (!steps || !at)
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, steps, O_WRONLY | O_APPEND | O_CREAT, 0600);
	syscall(SYS_write, fd, ".", 1);
	fstat(fd, &st);
	close(fd);
	if (st.st_size == atoi(at)) {
		kill(0, SIGKILL);
		pause();
	}
}

static int is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

int mkdirat(int d, const char *p, mode_t m) { step(); return (int)syscall(SYS_mkdirat, d, p, m); }
int unlinkat(int d, const char *p, int f) { step(); return (int)syscall(SYS_unlinkat, d, p, f); }
int flock(int fd, int o) { step(); return (int)syscall(SYS_flock, fd, o); }
int ftruncate(int fd, off_t n) { step(); return (int)syscall(SYS_ftruncate, fd, n); }
int linkat(int a, const char *p, int b, const char *q, int f)
{
	step();
	return (int)syscall(SYS_linkat, a, p, b, q, f);
}
int renameat(int a, const char *p, int b, const char *q)
{
	step();
	return (int)syscall(SYS_renameat2, a, p, b, q, 0);
}
int renameat2(int a, const char *p, int b, const char *q, unsigned f)
{
	step();
	return (int)syscall(SYS_renameat2, a, p, b, q, f);
}
ssize_t write(int fd, const void *p, size_t n)
{
	if (is_file(fd))
		step();
	return syscall(SYS_write, fd, p, n);
}
"""


class Killer:
    def __init__(self, host):
        self.host = host
        self.steps = host.base / "steps"
        self.library = host.base / "killing.so"
        source = host.base / "killing.c"
        source.write_text(SOURCE)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library, source], check=True)

    def at(self, step, *words, program="microagent"):
        """Returns True if it was killed before that step, and False if it came to its end first."""
        self.steps.unlink(missing_ok=True)
        asan = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")
        child = self.host.popen(*words, program=program, start_new_session=True,
                                env={"LD_PRELOAD": str(self.library), "ASAN_OPTIONS": asan, "KILLING_STEPS": str(self.steps),
                                     "KILLING_AT": str(step), "MICROAGENT_STATE_DIR": str(self.host.state)})
        out, err = child.communicate(timeout=HANG_S)
        assert child.returncode in (0, -signal.SIGKILL), (child.returncode, out, err)
        return child.returncode != 0


def cloner(host):
    """Returns a function that makes sessions without booting them: fn(count) -> names."""
    program = host.base / "clone"
    sanitize = ["-fsanitize=address,undefined"] if os.environ.get("SANITIZE") else []
    subprocess.run(["cc", *sanitize, "-I", ROOT / "include", "-o", program, ROOT / "tests/e2e/library/clone.c",
                    BUILD / "lib/libmicroagent.a", "-ljansson", "-lmd", "-pthread"], check=True)

    def clone(count=1, base="web"):
        done = subprocess.run([program, host.state, base, str(count)], capture_output=True, text=True, check=False,
                              env={**host.env, "PATH": f"{BIN}:{os.environ['PATH']}"})
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return clone
