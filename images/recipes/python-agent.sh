#!/bin/sh
# SPDX-License-Identifier: MIT
#
# An agent runtime that is published as a Python package, for every session of the base, in an environment of its own
# whose commands are in /usr/local/bin:
#
#   microagent base create agent --image debian --provision python-agent.sh --stage python-packages
#
# What may be staged (--stage FILE); one of the first two is needed:
#
#   python-packages      a text file: names for `pip install`, one a line, as in a requirements file
#   agent-1.2-*.whl      the runtime as a wheel, or as an archive (.tar.gz) of its source. Several may be staged; with
#                        all that they depend on among them the registry is asked for nothing
#   pip-23.0-*.whl       pip, for a Python that comes without it. Otherwise: Debian's python3-venv
#   company.crt          a certificate authority (PEM) that the network asks for
set -eu
prefix=/usr/local/lib/agent

first() { # the first of the words that is a file
	for file in "$@"; do
		if [ -f "$file" ]; then
			echo "$file"
			return
		fi
	done
}

packages=$(first "$MICROAGENT_STAGE/python-packages")
set --
for file in "$MICROAGENT_STAGE"/*.whl "$MICROAGENT_STAGE"/*.tar.gz; do
	case $file in
	*/pip-*) ;;
	*) [ ! -f "$file" ] || set -- "$@" "$file" ;;
	esac
done
[ -z "$packages" ] || set -- "$@" -r "$packages"
if [ $# -eq 0 ]; then
	echo "stage a wheel, or a file python-packages with names, one a line" >&2
	exit 1
fi
authority=$(first "$MICROAGENT_STAGE"/*.crt)
[ -z "$authority" ] || export PIP_CERT="$authority"

echo "### Python"
pip=$(first "$MICROAGENT_STAGE"/pip-*.whl)
if [ -z "$pip" ] && ! python3 -c 'import ensurepip' 2>/dev/null; then
	if ! command -v apt-get >/dev/null; then
		echo "this image has no apt-get and no pip: stage pip-*.whl" >&2
		exit 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get update
	apt-get install -y --no-install-recommends python3-venv ca-certificates
	apt-get clean
	rm -rf /var/lib/apt/lists/*
fi
python3 -m venv ${pip:+--without-pip} "$prefix"
pip=${pip:+$pip/pip} # a wheel of it is a program too
install() {
	"$prefix/bin/python" "${pip:-$prefix/bin/pip}" install --no-cache-dir --find-links "$MICROAGENT_STAGE" "$@"
}

echo "### runtime"
install --no-index "$@" 2>/dev/null || install "$@"
for program in "$prefix"/bin/*; do
	case ${program##*/} in
	python* | pip* | activate* | Activate*) ;;
	*)
		ln -sf "$program" /usr/local/bin/
		echo "${program##*/}"
		;;
	esac
done
