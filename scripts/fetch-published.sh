#!/bin/sh
# SPDX-License-Identifier: MIT
# What others have made of the headers of Apple and Microsoft, below DIR/NAME, for tests/e2e/test_published.py, which compares
# the stand-ins with it. Each is fetched by the client of its registry as that is configured, and compared with the digest
# here; nothing of it is run or built. With it there nothing is done.
#   fetch-published.sh pyobjc|objc2|windows|hcsshim DIR
set -eu

name=${1:?name}
case "$name" in
pyobjc) # constants of Apple's SDK; SHA-256 of the wheel
	package=pyobjc-framework-Virtualization version=12.2.2 client=python3
	digest=fca85933d125019af39ca5937bdbd697784b5bc9aa76b35c2f0f6d35e164764a
	;;
objc2) # classes and selectors of Apple's SDK; SHA-256 of the package
	package=objc2-virtualization version=0.3.2 client=cargo
	digest=8edb98625ad1f7dea2e82ab54d5bdf3f477e6645b550f4a7cced1818be9ff59d
	;;
windows) # functions and codes of Microsoft's metadata; SHA-256 of the package
	package=windows-sys version=0.61.2 client=cargo
	digest=ae137229bcbd6cdf0f7b80a31df61766145077ddf49416a728b02cb3921ff3fc
	;;
hcsshim) # documents of HCS's schema as structs; the module's sum as go.sum has it
	package=github.com/Microsoft/hcsshim version=v0.15.0 client=go
	digest=h1:AWiHGf0+9f7cDcfhuU3zXORCAPmIOWzTYfHhcrMcx3U=
	;;
*)
	echo "fetch-published.sh: there is no \"$name\" (pyobjc, objc2, windows, hcsshim)" >&2
	exit 2
	;;
esac

dir=${2:?directory}/$name
[ "$(cat "$dir/.complete" 2>/dev/null)" != "$package $version $digest" ] || exit 0
command -v "$client" >/dev/null || {
	echo "fetch-published.sh: $client is needed to fetch $package" >&2
	exit 1
}
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"

fetch_wheel() {
	echo "$package==$version --hash=sha256:$digest" >requirements.txt
	python3 -m pip download -q --no-deps --require-hashes --only-binary=:all: --platform macosx_11_0_universal2 \
		--implementation cp --python-version 3.11 --abi cp311 -r requirements.txt &&
		python3 -m zipfile -e ./*.whl .
}

# cargo compares what it gets with the registry's own digest, and writes that down beside it.
fetch_crate() {
	mkdir src
	: >src/lib.rs
	printf '[package]\nname = "published"\nversion = "0.0.0"\n[dependencies.%s]\nversion = "=%s"\ndefault-features = false\n' \
		"$package" "$version" >Cargo.toml
	cargo vendor -q --versioned-dirs >&2 && ln -s "vendor/$package-$version/src" source || return
	grep -q "\"package\":\"$digest\"" "vendor/$package-$version/.cargo-checksum.json" || {
		echo "fetch-published.sh: $package has not the digest $digest" >&2
		return 1
	}
}

fetch_module() {
	printf 'module published\n' >go.mod
	echo "$package $version $digest" >go.sum
	GOMODCACHE=$PWD/cache GOFLAGS=-modcacherw GOTOOLCHAIN=local go mod download "$package@$version" &&
		ln -s cache/github.com/*/hcsshim@*/internal/hcs source
}

case "$client" in
python3) fetch_wheel ;;
cargo) fetch_crate ;;
go) fetch_module ;;
esac || {
	echo "fetch-published.sh: $package $version cannot be had" >&2
	exit 1
}
echo "$package $version $digest" >.complete
