#!/bin/sh
# SPDX-License-Identifier: MIT
# What a compiler for arm64 needs of Debian's libraries, below DIR: the packages that gcc would be given on an arm64
# system and all that they depend on, unpacked and not installed; and what the unit programs need besides when they
# run in a machine of arm64: the C.UTF-8 locale and the programs that check a file system. apt finds, fetches and verifies them by a
# configuration of their own, so that this system stays one of one architecture (no dpkg --add-architecture) and
# nobody needs root. With all of it there nothing is done.
#   fetch-sysroot.sh DIR
set -eu

dir=${1:?directory}
architecture=arm64
packages="libc6-dev libjansson-dev libxxhash-dev libseccomp-dev libmd-dev libarchive-dev libssl-dev libext2fs-dev
	comerr-dev libcmocka-dev libc-bin e2fsprogs"

complete="$dir/.complete"
[ "$(cat "$complete" 2>/dev/null)" != "$packages" ] || exit 0

rm -rf "$dir"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"
dir=$(cd "$dir" && pwd)
# A file of ours, since apt locks the directory that it is in.
: >"$dir/apt/status"
cat >"$dir/apt/apt.conf" <<END
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Dir::State::lists "$dir/apt/lists";
Dir::State::status "$dir/apt/status";
Dir::State::extended_states "/dev/null";
Dir::Cache "$dir/apt/cache";
END
export APT_CONFIG="$dir/apt/apt.conf"
apt-get -q update
# shellcheck disable=SC2086  # a list of words on purpose
apt-get -q -y --download-only --no-remove install $packages
for package in "$dir"/apt/cache/archives/*.deb; do
	dpkg-deb -x "$package" "$dir"
done
# Links to /lib lead out of here.
find "$dir" -type l -lname '/*' | while read -r link; do
	ln -srfn "$dir$(readlink "$link")" "$link"
done
# Since /lib is a link into /usr no package brings it.
[ -e "$dir/lib" ] || ln -s usr/lib "$dir/lib"
rm -rf "$dir/apt" "$dir/usr/share/doc" "$dir/usr/share/locale"
echo "$packages" >"$complete"
