#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages of the named sets (run, e2e, test, deb, bench, engines, validation, arm64, darwin, windows, lint) that are missing. Quick and
# without a network when none is; uses sudo only when not root.
set -eu
# shellcheck source=scripts/release.sh
. "$(dirname "$0")/release.sh"

run_set="gcc libc6-dev make binutils libjansson-dev libxxhash-dev libseccomp-dev libmd-dev libarchive-dev libssl-dev
	libext2fs-dev comerr-dev
	qemu-system-x86 qemu-system-common bubblewrap passt uidmap e2fsprogs busybox-static apt-utils xz-utils kmod ca-certificates
	skopeo $share_package"
# What the end-to-end tests drive the programs with.
e2e_set="python3 python3-yaml python3-pytest python3-pytest-xdist python3-pytest-timeout python3-jsonschema
	procps pkgconf mmdebstrap qemu-utils xfsprogs cpio rsync strace util-linux iproute2 tmux curl openssl lz4 zstd zsh fish"
test_set="$e2e_set clang-$llvm libclang-rt-$llvm-dev libcmocka-dev bc bison flex libelf-dev scdoc
	libobjc-$objc-dev libgnustep-base-dev libblocksruntime-dev
	python3-build python3-setuptools python3-wheel python3-pip-whl golang-go rustc"
# What debian/control says that its packages are built with, and what reads their profile.
deb_set="build-essential debhelper dh-apparmor dh-python dpkg-dev fakeroot scdoc pybuild-plugin-pyproject python3-all python3-setuptools python3-wheel apparmor"
bench_set="runc containerd openssh-client git"
# The engines of containers that the tests of microagent-oci drive, each as a process of its own: no service of theirs runs.
engines_set="containerd runc podman conmon docker.io $docker_client containernetworking-plugins umoci skopeo busybox-static iptables iproute2
	python3-grpcio python3-grpc-tools"
engines_units="containerd.service docker.service docker.socket podman.service podman.socket podman-restart.service
	podman-auto-update.service podman-auto-update.timer"
# What builds the validation programs of runtime-tools (tests/e2e/engines/validation.py), where their source is.
validation_set="golang-go runc"
# To build for arm64 (scripts/fetch-sysroot.sh has the libraries) and to run its machines.
arm64_set="gcc-aarch64-linux-gnu binutils-aarch64-linux-gnu qemu-system-arm"
# To compile and link for macOS (scripts/darwin-check.sh). npm comes with Debian's package of that name or with another
# nodejs, which that would replace.
darwin_set="clang-$llvm lld-$llvm llvm-$llvm openssl libjansson-dev libxxhash-dev"
command -v npm >/dev/null || darwin_set="$darwin_set npm"
# Windows' programs (scripts/fetch-jansson.sh has their library) and the stand-in for Hyper-V: a compiler and 1 GB of Wine.
windows_set="gcc-mingw-w64-x86-64-win32 wine64"
lint_set="clang-format clang-tidy cppcheck shellcheck codespell pyflakes3 mypy"

wanted=""
for set_name in "$@"; do
	case "$set_name" in
	run) wanted="$wanted $run_set" ;;
	e2e) wanted="$wanted $e2e_set" ;;
	test) wanted="$wanted $test_set" ;;
	deb) wanted="$wanted $deb_set" ;;
	bench) wanted="$wanted $bench_set" ;;
	engines) wanted="$wanted $engines_set" ;;
	validation) wanted="$wanted $validation_set" ;;
	arm64) wanted="$wanted $arm64_set" ;;
	darwin) wanted="$wanted $darwin_set" ;;
	windows) wanted="$wanted $windows_set" ;;
	lint) wanted="$wanted $run_set $lint_set $darwin_set" ;;
	*)
		echo "install-packages.sh: no package set '$set_name' (run, e2e, test, deb, bench, engines, validation, arm64, darwin, windows, lint)" >&2
		exit 2
		;;
	esac
done

# One query for all: an unknown package is simply not listed.
# shellcheck disable=SC2086  # a list of words on purpose
installed=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' $wanted 2>/dev/null |
	sed -n 's/^ii *//p' | tr '\n' ' ')"
missing=""
for package in $wanted; do
	case "$installed" in
	*" $package "*) ;;
	*) missing="$missing $package" ;;
	esac
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "install-packages.sh: not root and no sudo; as root run: apt-get install$missing" >&2
		exit 1
	}
	as_root="sudo"
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# A unit that is masked is neither started nor enabled. Only of engines that come now: what a host has already is its own.
masked=""
if command -v systemctl >/dev/null; then
	for unit in $engines_units; do
		engine=${unit%%[.-]*}
		case "$missing " in
		*" $engine "* | *" $engine.io "*) masked="$masked $unit" ;;
		esac
	done
fi
# shellcheck disable=SC2086  # a list of words on purpose
[ -z "$masked" ] || $as_root systemctl -q mask $masked
$as_root apt-get -q update
# shellcheck disable=SC2086  # a list of words on purpose
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $missing
if [ -n "$masked" ]; then
	# shellcheck disable=SC2086  # a list of words on purpose
	$as_root systemctl -q unmask $masked
	# shellcheck disable=SC2086  # a list of words on purpose
	$as_root systemctl -q disable $masked 2>/dev/null || true
fi
