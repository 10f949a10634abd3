#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the path of the Wine prefix that the tests of Windows' programs run in, and makes it first if there is none: once,
# in the user's cache, 700 MB. No display and no sound is asked for.
set -eu

wine=/usr/lib/wine/wine64
server=/usr/lib/wine/wineserver64
if [ ! -x "$wine" ] || [ ! -x "$server" ]; then
	echo "wine-prefix.sh: no $wine; scripts/install-packages.sh windows installs it" >&2
	exit 1
fi
prefix=${MICROAGENT_WINE_PREFIX:-${XDG_CACHE_HOME:-$HOME/.cache}/microagent-wine}

run_clean() {
	env -i HOME="$HOME" PATH=/usr/bin:/bin WINEPREFIX="$prefix" WINEDEBUG=-all \
		WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe=d" "$@" </dev/null >/dev/null 2>&1 9>&-
}

# One of several that come at once makes it, and it is there when all of it is.
if [ ! -e "$prefix/.complete" ]; then
	mkdir -p "$prefix"
	exec 9>"$prefix/.lock"
	flock 9
	[ -e "$prefix/.complete" ] || run_clean "$wine" wineboot.exe --init
	run_clean "$server" -w
	: >"$prefix/.complete"
fi
echo "$prefix"
