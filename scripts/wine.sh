#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a program of Windows under Wine, in a prefix of the tests' own that is made once and stays in the user's cache.
# Debian's package wine64 puts nothing into PATH. No display is needed.
#   wine.sh PROGRAM [ARGUMENT]...    with no program: only makes the prefix
set -eu

prefix=${MICROAGENT_WINE_PREFIX:-${XDG_CACHE_HOME:-$HOME/.cache}/microagent-wine}
export WINEPREFIX="$prefix" WINEDEBUG="${WINEDEBUG:--all}" WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe=d"
unset DISPLAY

# One of several that come at once makes it, and it is there when all of it is.
if [ ! -e "$prefix/.complete" ]; then
	mkdir -p "$prefix"
	(
		flock 9
		[ -e "$prefix/.complete" ] || /usr/lib/wine/wine64 wineboot --init >/dev/null 2>&1 9>&-
		/usr/lib/wine/wineserver64 -w 9>&-
		: >"$prefix/.complete"
	) 9>"$prefix/.lock"
fi
[ $# -eq 0 ] || exec /usr/lib/wine/wine64 "$@"
