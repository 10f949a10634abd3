#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a command in a Debian of another release, as root, with the present directory in its place and this host's kernel,
# devices and processes. The release's own root is made below DIR the first time (mmdebstrap), and kept with what is
# installed in it.
#   in-debian.sh CODENAME DIR COMMAND...
set -eu

release=${1:?codename} root=${2:?directory}/root
shift 2
if [ ! -e "$root/etc/microagent-tests" ]; then
	rm -rf "$root"
	mkdir -p "$root"
	# shellcheck disable=SC2016,SC1091  # apt-get expands it; the host's own file
	mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $(. /etc/os-release && echo "$VERSION_CODENAME")" | head -n 1)
	mmdebstrap --quiet --variant=minbase --include=ca-certificates,git,make,procps "$release" "$root" "$mirror" >&2
	# How this host reaches the mirror is how the other does.
	apt-config dump Acquire >"$root/etc/apt/apt.conf.d/00host"
	: >"$root/etc/microagent-tests"
fi
root=$(cd "$root" && pwd)
mkdir -p "$root$PWD" "$root/host"
# A root by pivot_root(2): from within a chroot(2) nobody makes a user namespace.
# shellcheck disable=SC2016  # the inner shell expands it
exec unshare --mount --propagation private sh -euc '
	root=$1 place=$PWD
	shift
	mount --rbind "$root" "$root"
	for dir in /proc /sys /dev "$place"; do mount --rbind "$dir" "$root$dir"; done
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	cd "$root"
	pivot_root . host
	umount -l /host
	cd "$place"
	exec env -i HOME=/root USER=root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
' sh "$root" "$@"
