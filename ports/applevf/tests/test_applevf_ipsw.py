# SPDX-License-Identifier: MIT
"""Restore images of macOS come from Apple's hosts only. curl asks a server of the tests that has the name of one of
them (macos.py)."""

import fcntl
import os
import signal
import ssl

import pytest

from conftest import wait_until
from macos import IPSW, NOT_PUT, Apple, Mac

OTHER_PLACES = [
    "http://updates.cdn-apple.com/x.ipsw", "ftp://updates.cdn-apple.com/x.ipsw", "file:///etc/x.ipsw",
    "https://evil-cdn-apple.com/x.ipsw", "https://updates.cdn-apple.com.evil.example/x.ipsw", "https://cdn-apple.com/x.ipsw",
    "https://user@updates.cdn-apple.com/x.ipsw", "https://updates.cdn-apple.com@evil.example/x.ipsw",
    "https://updates.cdn-apple.com:8443/x.ipsw", "https://evil.example/.cdn-apple.com/x.ipsw", "https://evil.example\\.cdn-apple.com/x.ipsw",
    "https://updates.cdn-apple.com/x.ipsw?y", "https://updates.cdn-apple.com/../x.ipsw", "https://updates.cdn-apple.com/x.dmg",
]


@pytest.fixture
def backend():
    return "apple-vf"


@pytest.fixture
def mac(host):
    return Mac(host)


@pytest.fixture
def apple(mac):
    it = Apple(mac)
    yield it
    it.end()


def test_how_it_is_fetched(mac, apple):
    mac.refused(mac.base(ipsw=apple.url(), put=NOT_PUT), "is kept as")
    words = apple.words.read_text().splitlines()
    assert words[0] == "--disable" and {"--tlsv1.2", "--fail", "--globoff"} <= set(words)
    assert words[words.index("--proto") + 1] == "=https" and words[words.index("--max-redirs") + 1] == "0"
    assert len(apple.asked) == 1 and apple.kept.read_bytes() == IPSW
    apple.tidy()


def test_the_newest_is_the_one_that_the_catalog_names(mac, apple):
    """The address must be at Apple. No other host is asked, and nothing is left."""
    for elsewhere in ("https://evil.example/x.ipsw", "http://updates.cdn-apple.com/x.ipsw", "/etc/passwd"):
        mac.set(latestRestoreImage=elsewhere)
        mac.refused(mac.base(ipsw="latest"), f"{elsewhere}: restore images are fetched ")
    mac.set()
    done = mac.base(ipsw="latest")
    mac.refused(done, "Apple's catalog of restore images: ")
    assert done.returncode == 75
    assert not apple.words.exists() and apple.asked == []
    mac.set(latestRestoreImage=apple.url())
    done = mac.base(ipsw="latest", put=NOT_PUT)
    mac.refused(done, f"the restore image is kept as {apple.kept}")
    assert "==> asking Apple which macOS is the newest for this Mac\n==> fetching UniversalMac_14.5_Restore.ipsw from Apple\n" in done.stderr
    assert len(apple.asked) == 1 and apple.kept.read_bytes() == IPSW
    apple.tidy()


def test_what_was_cut_short_is_gone_on_with(mac, apple):
    apple.cut = 100
    done = mac.base(ipsw=apple.url())
    mac.refused(done, f"100 bytes of it are in {mac.host.state}/bases/.restore-images/UniversalMac_14.5_Restore.ipsw.part, "
                      "and the same command fetches the rest")
    apple.cut = None
    mac.refused(mac.base(ipsw=apple.url(), put=NOT_PUT), f"{NOT_PUT} ended with exit code 1; the restore image is kept as {apple.kept}")
    assert apple.asked[-1][1] == "bytes=100-" and apple.kept.read_bytes() == IPSW
    apple.tidy()


def test_a_fetch_that_is_ended(mac, apple):
    apple.cut, apple.stalls = 100, True
    child = mac.host.popen("base", "create", "mac", "--size", 16, "--from-ipsw", apple.url(), "--put-agent", NOT_PUT)
    part = mac.host.state / "bases/.restore-images/UniversalMac_14.5_Restore.ipsw.part"
    wait_until(lambda: part.exists() and part.stat().st_size == 100, "the first bytes")
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate()
    assert child.returncode == 128 + signal.SIGTERM and b"cancelled; 100 bytes of it are in" in err, err
    assert mac.bases() == [".restore-images"]
    apple.tidy()


def test_what_was_fetched_is_kept_when_it_cannot_be_installed(mac, apple):
    mac.set(faults={"install": {}})
    mac.refused(mac.base(ipsw=apple.url()), f"the restore image is kept as {apple.kept}, and the same command uses it the next time")
    mac.set()
    mac.refused(mac.base(ipsw=apple.url(), put=NOT_PUT), f"the restore image is kept as {apple.kept}")
    assert len(apple.asked) == 1
    apple.tidy()


def test_what_was_fetched_damaged_is_not_kept(mac, apple):
    apple.body = b"<html>" * 100
    mac.refused(mac.base(ipsw=apple.url()), "the restore image is damaged, or is none: ")
    assert apple.left() == []
    apple.tidy()


@pytest.mark.parametrize("change,words", [
    ({"status": 302, "location": "https://evil.example/x.ipsw"}, "the server redirects to another address (HTTP 302), which is not followed"),
    ({"status": 301, "location": "https://updates.cdn-apple.com/y.ipsw"}, "the server redirects to another address (HTTP 301)"),
    ({"status": 404}, "404"), ({"status": 204, "body": b""}, "curl could not fetch it"),
])
def test_answers_that_are_no_image(mac, apple, change, words):
    vars(apple).update(change)
    mac.refused(mac.base(ipsw=apple.url()), words)
    assert apple.left() == [] and len(apple.asked) == 1
    apple.tidy()


def test_a_redirect_takes_nothing_from_what_has_come(mac, apple):
    apple.cut = 100
    assert mac.base(ipsw=apple.url()).returncode == 1
    apple.status, apple.location, apple.cut = 302, "https://evil.example/x.ipsw", None
    assert "100 bytes of it are in" in mac.base(ipsw=apple.url()).stderr
    apple.status, apple.location, apple.ranges = 200, None, False  # and who has no ranges is asked anew
    assert mac.base(ipsw=apple.url()).returncode == 1
    assert apple.left() == []
    mac.refused(mac.base(ipsw=apple.url(), put=NOT_PUT), "is kept as")
    apple.tidy()


def test_a_host_without_a_certificate_for_its_name(mac, apple):
    mac.refused(mac.base(ipsw=apple.url().replace("updates", "other")), "curl: ")
    apple.tls.maximum_version = ssl.TLSVersion.TLSv1_1
    apple.tls.set_ciphers("DEFAULT:@SECLEVEL=0")
    mac.refused(mac.base(ipsw=apple.url()), "curl: (35)")
    assert apple.asked == [] and apple.left() == []
    apple.tidy()


def test_two_do_not_fetch_the_same(mac, apple):
    place = mac.host.state / "bases/.restore-images"
    place.mkdir(parents=True)
    with open(place / "UniversalMac_14.5_Restore.ipsw.part", "w", encoding="ascii") as part:
        fcntl.flock(part, fcntl.LOCK_EX)
        done = mac.base(ipsw=apple.url())
        assert done.returncode == 1 and "is being fetched by another command" in done.stderr and apple.asked == [], done.stderr
    apple.tidy()


def test_other_places_are_asked_for_nothing(mac):
    curl = mac.host.base / "curl"
    curl.write_text(f"#!/bin/sh\ntouch {mac.host.base}/asked\nexit 1\n")
    curl.chmod(0o755)
    mac.host.env["PATH"] = f"{mac.host.base}:{os.environ['PATH']}"
    for url in OTHER_PLACES:
        done = mac.base(ipsw=url)
        assert done.returncode == 1 and url in done.stderr, done.stderr
        assert any(words in done.stderr for words in ("only by https", "only from Apple's own hosts", "must end with /NAME.ipsw"))
    assert not (mac.host.base / "asked").exists() and not mac.host.state.exists()
