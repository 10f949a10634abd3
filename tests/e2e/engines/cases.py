# SPDX-License-Identifier: MIT
"""Tests that are the same for Docker and podman, as a class. The file that uses it says by a fixture which engine it tests."""

import pytest

from engines.terminal import SIZES, try_size

soak = pytest.mark.soak
WAITING = "sleep infinity & wait"


class RunAndExec:
    def test_exit_code_and_output(self, engine):
        done = engine.container("/bin/sh", "-c", "echo out; echo err >&2; exit 7")
        assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")

    def test_exec_with_stdin_and_its_end(self, engine):
        name = engine.detached("/bin/sh", "-c", WAITING)
        done = engine("exec", "--interactive", name, "/bin/sh", "-c", "cat; exit 5", input=b"a line\n")
        assert (done.returncode, done.stdout) == (5, "a line\n"), done.stderr

    @soak
    def test_stdin_and_its_end(self, engine):
        assert engine.container("cat", options=("--interactive",), input=b"one\ntwo", check=0).stdout == "one\ntwo"

    @soak
    def test_exec_with_a_terminal(self, engine):
        name = engine.detached("/bin/sh", "-c", WAITING)
        try_size(engine.exec_terminal(name, *SIZES))

    @soak
    def test_user_folder_environment_and_hostname(self, engine):
        done = engine.container("/bin/sh", "-c", "id -u; id -g; pwd; echo $OF_IMAGE $ADDED; hostname; touch /etc/motd || echo refused", check=0,
                                options=("--user", "user", "--workdir", "/home/user", "--env", "ADDED=a b", "--hostname", "named"))
        assert done.stdout == "1000\n1000\n/home/user\nyes a b\nnamed\nrefused\n"

    @soak
    def test_what_cannot_be_begun(self, engine):
        """The exit code is 127 for a file that does not exist, and 126 for one that is no program. For both the reason is printed."""
        absent = engine.container("/bin/nothing")
        assert absent.returncode == 127, absent.stderr
        assert "/bin/nothing" in absent.stderr
        refused = engine.container("/etc/motd")
        assert refused.returncode == 126, refused.stderr
        assert "permission denied" in refused.stderr.lower()
