#!/bin/bash
# SPDX-License-Identifier: MIT
# Compiles what a Mac runs for macOS on arm64 and x86-64 and links it against the list of what libSystem exports. It
# cannot be run here: this says that each header, type, constant and symbol is there, and no more.
#   darwin-check.sh              all folders that the Makefile has for PLATFORM=darwin, programs and library too
#   darwin-check.sh FOLDER...    the objects of these alone; symbols of other folders may be missing
set -euo pipefail
cd "$(dirname "$0")/.."

sources=build/sources/darwin
deployment=13 # the macOS that is asked for at least
scripts/fetch-darwin-headers.sh "$sources"
fetched=$PWD/$sources

# Apple's headers are system headers: their own warnings are theirs. No library is found but those listed.
check() { # architecture, goal, variables of make...
	local architecture=$1 goal=$2
	shift 2
	MAKEFLAGS='' CPPFLAGS="-nostdlibinc -isystem $fetched/include/apple -isystem $fetched/include/other" \
		make -s -k -j"$(nproc)" PLATFORM=darwin BUILD="build/darwin/$architecture" AR=llvm-ar-14 \
		CC="clang-14 -target $architecture-apple-macos$deployment" \
		LDFLAGS="-fuse-ld=lld -nostdlib -L$fetched/lib" LDLIBS=-lSystem "$goal" "$@" >/dev/null
}

failed=0
for architecture in arm64 x86_64; do
	objects=$(make -s PLATFORM=darwin BUILD="build/darwin/$architecture" ${1+FOLDERS="$*"} list-objects)
	check "$architecture" objects ${1+FOLDERS="$*"} || failed=1
	# What did not compile is no object, and was told.
	mapfile -t compiled < <(for object in $objects; do [ ! -e "$object" ] || echo "$object"; done)
	# shellcheck disable=SC2086  # a list of words on purpose
	scripts/darwin-symbols.py ${1:+--some} "$sources"/lib/*.tbd -- "${compiled[@]}" || failed=1
	if [ $# -eq 0 ] && [ $failed -eq 0 ]; then
		check "$architecture" all || failed=1
	fi
	echo "darwin: $architecture: ${#compiled[@]} of $(wc -w <<<"$objects") objects"
done
exit $failed
