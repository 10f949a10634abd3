#!/bin/sh
# SPDX-License-Identifier: MIT
# Unpacks the QEMU of Debian's backports into DIR and prints its path: for tests that name it by
# MICROAGENT_QEMU. Nothing is installed, and apt's own lists and configuration stay as they are.
# Usage: fetch-newer-qemu.sh DIR
set -eu

dir=$(mkdir -p "$1" && cd "$1" && pwd)
program=$dir/usr/bin/qemu-system-x86_64
if [ -x "$program" ]; then
	echo "$program"
	exit 0
fi
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
# shellcheck disable=SC2016  # apt-get expands it
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $release" | head -n 1)
mkdir -p "$dir/lists/partial" "$dir/archives/partial"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release-backports main" \
	>"$dir/sources.list"
cat >"$dir/apt.conf" <<END
Dir::State::Lists "$dir/lists";
Dir::Cache "$dir";
Dir::Cache::Archives "$dir/archives";
Dir::Etc::SourceList "$dir/sources.list";
Dir::Etc::SourceParts "/dev/null";
APT::Sandbox::User "";
Acquire::Languages "none";
END
export APT_CONFIG="$dir/apt.conf"
{
	apt-get -q update
	cd "$dir/archives"
	apt-get -q download qemu-system-x86 qemu-system-common qemu-system-data seabios
	for package in *.deb; do
		dpkg-deb -x "$package" "$dir/unpacked"
	done
	mv "$dir/unpacked/usr" "$dir/usr"
	rm -rf "$dir/archives" "$dir/lists" "$dir/unpacked"
} >&2
echo "$program"
