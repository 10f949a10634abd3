#!/bin/bash
# SPDX-License-Identifier: MIT
# Compiles what a Mac runs for macOS on arm64 and x86-64 and links it against the list of what libSystem exports. It
# cannot be run here: this says that each header, type, constant and symbol is there, and no more.
#   darwin-check.sh              all folders that the Makefile has for PLATFORM=darwin, programs and library too
#   darwin-check.sh FOLDER...    the objects of these alone; symbols of other folders may be missing
#
# Objective-C goes the same way by the Makefile's rules for it. Apple's frameworks are no open source: their headers are
# those of the stand-in (ports/applevf/standin; Foundation's for this alone are in its folder darwin), and what they
# export of what we use is listed, and reviewed, in scripts/darwin-frameworks.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/release.sh
. scripts/release.sh

sources=$PWD/build/sources/darwin
frameworks=$PWD/build/darwin/frameworks
standin=$PWD/ports/applevf/standin
deployment=13 # the macOS that is asked for at least

# A framework that exports what is listed, for the linker.
make_framework() { # its list
	local name=${1##*/} dir=$frameworks/${1##*/}.framework
	mkdir -p "$dir"
	cat >"$dir/$name.tbd" <<-END
		--- !tapi-tbd
		tbd-version: 4
		targets: [ x86_64-macos, arm64-macos ]
		install-name: '/System/Library/Frameworks/$name.framework/$name'
		exports:
		  - targets: [ x86_64-macos, arm64-macos ]
		    symbols: [ $(sed -n "s/^\(_.*\)/'\1'/p" "$1" | paste -sd, | sed 's/,/, /g') ]
		...
	END
}

# Apple's headers are system headers: their own warnings are theirs. No library is found but those listed.
check() { # architecture, goal, variables of make...
	local architecture=$1 goal=$2 includes="" dir
	shift 2
	for dir in "$sources/include/apple" "$sources/include/other" "$standin/darwin" "$standin/include"; do
		[ ! -d "$dir" ] || includes="$includes -isystem $dir"
	done
	MAKEFLAGS='' CPPFLAGS="-nostdlibinc$includes" \
		make -s -k -j"$(nproc)" PLATFORM=darwin BUILD="build/darwin/$architecture" AR=llvm-ar-$llvm \
		CC="clang-$llvm -target $architecture-apple-macos$deployment" CODESIGN=true LDLIBS=-lSystem \
		LDFLAGS="-fuse-ld=lld -nostdlib -L$sources/lib -F$frameworks" "$goal" "$@" >/dev/null
}

scripts/fetch-darwin-headers.sh "$sources"
for list in scripts/darwin-frameworks/*; do
	make_framework "$list"
done
failed=0
for architecture in arm64 x86_64; do
	objects=$(make -s PLATFORM=darwin BUILD="build/darwin/$architecture" ${1+FOLDERS="$*"} list-objects)
	check "$architecture" objects ${1+FOLDERS="$*"} || failed=1
	# What did not compile is no object, and was told.
	mapfile -t compiled < <(for object in $objects; do [ ! -e "$object" ] || echo "$object"; done)
	scripts/darwin-symbols.py ${1:+--some} "$sources"/lib/*.tbd "$frameworks"/*/*.tbd -- "${compiled[@]}" || failed=1
	if [ $# -eq 0 ] && [ $failed -eq 0 ]; then
		check "$architecture" all || failed=1
	fi
	echo "darwin: $architecture: ${#compiled[@]} of $(wc -w <<<"$objects") objects"
done
exit $failed
