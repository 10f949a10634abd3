#!/bin/sh
# SPDX-License-Identifier: MIT
# The source of jansson as Debian has it, in DIR: a library for Windows is built of it, which Debian does not have.
# apt finds and proves the archive, by a source list and a state of its own that leave this system's alone; the digest
# says that it is the one that was looked at. With it there nothing is done.
#   fetch-jansson.sh DIR
set -eu

dir=${1:?directory}
archive=jansson_2.14.orig.tar.gz
digest=c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b

is_right() {
	echo "$digest  $1" | sha256sum --status -c - 2>/dev/null
}

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
if ! is_right "$dir/$archive"; then
	own=$(mktemp -d)
	trap 'rm -rf "$own"' EXIT
	mkdir -p "$own/lists/partial" "$own/cache/archives/partial"
	# shellcheck disable=SC2016  # apt's own variables
	mirror=$(apt-get indextargets --format '$(ORIGIN)|$(CODENAME)|$(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian|bookworm|//p' | head -n 1)
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} bookworm main" \
		>"$own/sources.list"
	for words in update "source --download-only jansson"; do
		# shellcheck disable=SC2086  # a command and its options
		(cd "$own" && apt-get -qq -o "Dir::State::lists=$own/lists" -o "Dir::Cache=$own/cache" \
			-o "Dir::Etc::sourcelist=$own/sources.list" -o Dir::Etc::sourceparts=/dev/null \
			-o APT::Sandbox::User=root -o APT::Update::Error-Mode=any $words)
	done
	is_right "$own/$archive" || {
		echo "fetch-jansson.sh: $archive is not the one that is known, $digest" >&2
		exit 1
	}
	mv "$own/$archive" "$dir/$archive"
fi
# What its configure script would find out is said by the Makefile.
private=$dir/jansson-2.14/src/jansson_private_config.h
if [ ! -e "$private" ]; then
	tar -xf "$dir/$archive" -C "$dir" --no-same-owner
	: >"$private"
fi
