#!/bin/bash
# SPDX-License-Identifier: MIT
# The static checks. Each is an error; exemptions are in .clang-tidy and .cppcheck-suppressions.
#   lint.sh         all of them
#   lint.sh quick   all but clang-tidy, which takes minutes, and what is for Windows
# shellcheck disable=SC2317  # the stages are called by name
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/release.sh
. scripts/release.sh

sources=$(git ls-files -- '*.c' '*.h' '*.m')
# What is for Windows alone is compiled and looked at apart; what is darwin's is compiled by darwin-check.
ours=(':!ports/*/tests/*' ':!ports/*/standin/*')
windows=$(git ls-files -- 'ports/hyperv/*.c' ':!ports/hyperv/machine' "${ours[@]}")
code=$(git ls-files -- 'src/*.c' 'ports/*.c' ':!src/**/darwin/*' ':!ports/**/darwin/*' ':!ports/hyperv' "${ours[@]}" &&
	git ls-files -- 'ports/hyperv/machine/*.c')
failed=0
stage() { # name, command...
	local began=$SECONDS name=$1
	shift
	if "$@"; then
		echo "ok    $name ($((SECONDS - began)) s)"
	else
		echo "FAIL  $name"
		failed=1
	fi
}

warnings="-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wcast-qual -Werror"
clang_compiles() {
	# shellcheck disable=SC2086  # words on purpose
	printf '%s\n' "$code" | xargs -P 2 -n 8 clang-$llvm -std=gnu17 -fsyntax-only -Isrc -Iports -Iinclude -D_GNU_SOURCE \
		-DMICROAGENT_VERSION='"lint"' $warnings
}

# What the end-to-end tests compile for themselves, by gcc.
hostile_compiles() {
	for compiler in gcc clang-$llvm; do
		# shellcheck disable=SC2046,SC2086  # lists on purpose
		"$compiler" -std=gnu17 -fsyntax-only -D_GNU_SOURCE $warnings $(git ls-files -- 'tests/hostile/*.c') || return
	done
}

tidy() {
	# shellcheck disable=SC2016  # $@ belongs to the inner shell
	printf '%s\n' "$code" | xargs -P 2 -n 4 sh -c 'clang-tidy --quiet "$@" -- -std=gnu17 -Isrc -Iports -Iinclude \
		-D_GNU_SOURCE -DMICROAGENT_VERSION=\"lint\" 2>/dev/null' sh
}

# What is retained and not released, or twice, in the Objective-C that a Mac runs. After the check for darwin, which
# fetches the headers.
retain_counts() {
	local standin="ports/applevf/standin"
	# shellcheck disable=SC2046  # a list on purpose
	"clang-$llvm" --analyze -Xclang -analyzer-werror -Xclang -analyzer-output=text -target arm64-apple-macos13 -nostdlibinc \
		-isystem build/sources/darwin/include/apple -isystem build/sources/darwin/include/other \
		-isystem "$standin/darwin" -isystem "$standin/include" -Isrc -Iports -Iinclude -D_GNU_SOURCE -std=gnu17 -fblocks \
		$(git ls-files -- 'ports/*.m' "${ours[@]}")
}

# By both compilers; the one that links is the Makefile's.
windows_words="--target=x86_64-w64-mingw32 -std=gnu17 -Iports/hyperv/posix -isystem build/sources/jansson-2.14/src \
	-isystem build/sources/jansson-2.14/android -Isrc -Iports -Iinclude -D_GNU_SOURCE -D_WIN32_WINNT=0x0A00 \
	-D__USE_MINGW_ANSI_STDIO=1 -DMICROAGENT_VERSION=__FILE__"
windows_compiles() {
	make -s windows standin-hyperv || return
	# shellcheck disable=SC2086  # words on purpose
	printf '%s\n' "$windows" | xargs -P 2 -n 8 clang-$llvm -fsyntax-only $windows_words $warnings
}
windows_tidy() {
	# shellcheck disable=SC2016  # $0 and $@ belong to the inner shell
	printf '%s\n' "$windows" | xargs -P 2 -n 4 sh -c 'clang-tidy --quiet "$@" -- $0 2>/dev/null' "$windows_words"
}

stage "include order" scripts/check-source.py includes
stage "systems" scripts/check-source.py systems
# shellcheck disable=SC2086  # lists of files on purpose
stage "clang-format" clang-format --dry-run --Werror $sources
stage "clang -Werror" clang_compiles
stage "tests/hostile -Werror" hostile_compiles
stage "cppcheck" cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
	--inline-suppr --suppressions-list=.cppcheck-suppressions -j 2 -Isrc -Iports -Iinclude -D_GNU_SOURCE \
	-DMICROAGENT_VERSION='"lint"' --library=posix --library=gnu -i ports/hyperv/tests -i ports/hyperv/standin src ports
# shellcheck disable=SC2046
stage "shellcheck" shellcheck -x $(git ls-files -- '*.sh') .ci/run images/macos/microagent-*-macos-agent images/macos/microagent-start
stage "codespell" codespell -q 3 -L "fo,inout,te,comand,lsit,delte,instal,passt,nown,conectix" README.md NEWS.md CONTRIBUTING.md docs src ports include tests schema images scripts python
stage "schema layout" scripts/layout-schemas.py --check schema/*.json
stage "pyflakes" pyflakes3 tests ports scripts python python/microagent-perf
stage "mypy" mypy --strict --cache-dir=build/mypy python/microagent
stage "darwin" scripts/darwin-check.sh
stage "retain counts" retain_counts
if [ "${1:-}" != quick ]; then
	stage "Windows -Werror" windows_compiles
	stage "clang-tidy" tidy
	stage "clang-tidy, Windows" windows_tidy
fi
exit $failed
