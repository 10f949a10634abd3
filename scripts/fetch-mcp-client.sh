#!/bin/sh
# SPDX-License-Identifier: MIT
# The official client of the Model Context Protocol, below DIR/node_modules, for tests/e2e/test_mcp_sdk.py: the versions of
# tests/e2e/mcp/package-lock.json, each compared with its SHA-512 there; no script of theirs is run. npm's registry is
# whichever npm is configured for. With all of it there nothing is done.
#   fetch-mcp-client.sh DIR
set -eu

dir=${1:?directory}
from=$(dirname "$0")/../tests/e2e/mcp
! cmp -s "$from/package-lock.json" "$dir/.complete" || exit 0
for program in node npm; do
	command -v $program >/dev/null || {
		echo "fetch-mcp-client.sh: $program is needed" >&2
		exit 1
	}
done
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || {
	echo "fetch-mcp-client.sh: node is older than 20, which the client needs" >&2
	exit 1
}
rm -rf "$dir"
mkdir -p "$dir"
cp "$from/package.json" "$from/package-lock.json" "$dir"
(cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund --silent) || {
	echo "fetch-mcp-client.sh: its packages cannot be had" >&2
	exit 1
}
cp "$from/package-lock.json" "$dir/.complete"
