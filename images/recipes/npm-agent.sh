#!/bin/sh
# SPDX-License-Identifier: MIT
#
# An agent runtime that is published as an npm package, for every session of the base:
#
#   microagent base create agent --image debian --provision npm-agent.sh
#
# What may be staged (--stage FILE), so that less or nothing is fetched:
#
#   node-v22.12.0-linux-x64.tar.xz   Node.js as nodejs.org packs it. Otherwise: Debian's nodejs
#   runtime-1.2.3.tgz                the runtime as `npm pack` makes it; with dependencies only where
#                                    it bundles them, else the registry is asked for those. Several
#                                    may be staged
#   npm-packages                     a text file: names for `npm install`, one a line, to be had from
#                                    the registry. Otherwise, and without a staged runtime, the
#                                    default below
#   company.crt                      a certificate authority (PEM) that the network asks for; it stays
#                                    in the base
default_package=@anthropic-ai/claude-code

# For a Node.js that comes without npm (Debian's npm is some 400 packages).
npm_version=10.9.2
npm_sha512='iriPEPIkoMYUy3F6f3wwSZAU93E0Eg6cHwIR6jzzOXWSy+SD/rOODEs74cVONHKSx2obXtuUoyidVEhISrisgQ=='

set -eu
prefix=/usr/local
scratch=/tmp/npm-agent
mkdir -p "$scratch"
trap 'rm -rf "$scratch"' EXIT

first() { # the first of the words that is a file
	for file in "$@"; do
		if [ -f "$file" ]; then
			echo "$file"
			return
		fi
	done
}

authority=$(first "$MICROAGENT_STAGE"/*.crt)
if [ -n "$authority" ]; then
	echo "### certificate authority"
	mkdir -p "$prefix/share/ca-certificates"
	cp "$authority" "$prefix/share/ca-certificates/staged.crt"
	if command -v update-ca-certificates >/dev/null; then update-ca-certificates; fi
	export NODE_EXTRA_CA_CERTS="$authority"
fi

echo "### Node.js"
node_archive=$(first "$MICROAGENT_STAGE"/node-v*-linux-*.tar.*)
if [ -n "$node_archive" ]; then
	tar -C "$prefix" --strip-components=1 -xf "$node_archive"
	chown -R 0:0 "$prefix"
elif ! command -v node >/dev/null; then
	if ! command -v apt-get >/dev/null; then
		echo "this image has no apt-get: stage node-v*-linux-*.tar.xz of nodejs.org" >&2
		exit 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get update
	apt-get install -y --no-install-recommends nodejs ca-certificates
	apt-get clean
	rm -rf /var/lib/apt/lists/*
fi
node --version

echo "### npm"
if ! command -v npm >/dev/null; then
	node - "$npm_version" "$npm_sha512" "$scratch/npm.tgz" <<'EOF'
const [version, sha512, file] = process.argv.slice(2)
async function main() {
	const answer = await fetch(`https://registry.npmjs.org/npm/-/npm-${version}.tgz`)
	if (!answer.ok)
		throw new Error(`${answer.url}: ${answer.status}`)
	const bytes = Buffer.from(await answer.arrayBuffer())
	const got = require('crypto').createHash('sha512').update(bytes).digest('base64')
	if (got !== sha512)
		throw new Error(`${answer.url} is not what was expected: sha512 ${got}`)
	require('fs').writeFileSync(file, bytes)
}
main().catch(error => {
	console.error(error)
	if (/CERT|ISSUER|SELF_SIGNED/.test(error.cause && error.cause.code))
		console.error('the network shows a certificate of its own: its authority is staged as company.crt (--stage)')
	process.exit(1)
})
EOF
	mkdir -p "$prefix/lib/node_modules/npm" "$prefix/bin"
	tar -C "$prefix/lib/node_modules/npm" --strip-components=1 -xzf "$scratch/npm.tgz"
	chown -R 0:0 "$prefix/lib/node_modules/npm"
	ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$prefix/bin/npm"
fi
npm --version

echo "### runtime"
set --
for file in "$MICROAGENT_STAGE"/*.tgz; do
	[ ! -f "$file" ] || set -- "$@" "$file"
done
if [ -f "$MICROAGENT_STAGE/npm-packages" ]; then
	while read -r name; do
		[ -z "$name" ] || set -- "$@" "$name"
	done <"$MICROAGENT_STAGE/npm-packages"
fi
[ $# -gt 0 ] || set -- "$default_package"
npm install --global --prefix "$prefix" --cache "$scratch/cache" --no-fund --no-audit "$@"
ls "$prefix/bin"
