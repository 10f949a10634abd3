# SPDX-License-Identifier: MIT
"""Published ports: TCP of the host to TCP of the guest, over vsock."""

import pytest

SMALL = ("--memory", 256, "--cpus", 1)


@pytest.mark.parametrize("words,code,text", [
    (("-p", "80"), 2, "--publish"),
    (("-p", "8080:80/udp"), 2, "--publish"),
    (("-p", ":80:80"), 2, "--publish"),
    (("-p", "0:80"), 2, "--publish"),
    (("-p", "65536:80"), 2, "--publish"),
    (("-p", "8080:80x"), 2, "--publish"),
    (("-p", "8080:80", "-p", "8080:81"), 1, "--publish"),
    (("-p", "example.org:8080:80"), 1, "--publish"),
    (("--mediation", "2048"), 2, "--mediation"),
    (("--mediation", "2048=:80"), 2, "--mediation"),
    (("--mediation", "1024=127.0.0.1:80"), 1, "--mediation"),
    (("--mediation-optional",), 2, "--mediation"),
    (("--vsock", "x=127.0.0.1:80"), 2, "--vsock"),
    (("--vsock", "3000=127.0.0.1:80", "--vsock", "3000=127.0.0.1:80"), 1, "--vsock"),
])
def test_refused_words(host, words, code, text):
    done = host("create", "w", *SMALL, *words)
    assert done.returncode == code and text in done.stderr, done.stderr
    assert not (host.state / "w").exists()


def test_mediation_by_the_command_line(host):
    host("create", "w", *SMALL, "--mediation", "2048=127.0.0.1:9", "--mediation-optional", "--vsock",
         "3000=localhost:10", check=0)
    status = host.json("status", "w")
    assert status["mediation"] == {"enabled": True, "required": False, "port": 2048,
                                   "target": "127.0.0.1:9", "failClosed": True}
    assert "optional, port 2048 to 127.0.0.1:9" in host("status", "w").stdout
    host("delete", "w", check=0)
