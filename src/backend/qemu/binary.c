/* SPDX-License-Identifier: MIT */
#include "backend/qemu/binary.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/program.h"

static const struct {
	const char *program, *package;
	/* The environment variable that names this QEMU on a host of another architecture. */
	const char *variable;
} binaries[ARCHITECTURE_COUNT] = {
	[ARCHITECTURE_AMD64] = {"qemu-system-x86_64", "qemu-system-x86", "MICROAGENT_QEMU_AMD64"},
	[ARCHITECTURE_ARM64] = {"qemu-system-aarch64", "qemu-system-arm", "MICROAGENT_QEMU_ARM64"},
};

char *binary_find(enum architecture architecture, struct error *err)
{
	const char *program = binaries[architecture].program;
	const char *package = binaries[architecture].package;
	const char *variable = architecture == architecture_of_host()
				       ? "MICROAGENT_QEMU"
				       : binaries[architecture].variable;
	const char *named = getenv(variable);

	if (named && *named) {
		if (program_is(named))
			return path_absolute(named, err);
		error_set(
			err, ERR_UNAVAILABLE,
			"QEMU: the variable %s names %s, which is not a program that can be run: name QEMU's program, or unset the variable and install %s",
			variable, named, package);
		return NULL;
	}
	char *found = program_in_path(program);
	if (!found)
		error_set(err, ERR_UNAVAILABLE, "%s is not installed: apt-get install %s", program,
			  package);
	return found;
}

static char *find_amd64(struct error *err)
{
	return binary_find(ARCHITECTURE_AMD64, err);
}

static char *find_arm64(struct error *err)
{
	return binary_find(ARCHITECTURE_ARM64, err);
}

program_finder *const binary_finders[] = {find_amd64, find_arm64, NULL};

/* Finds the version in a line such as "QEMU emulator version 7.2.22 (Debian ...)". */
char *binary_version(const char *path)
{
	static const char before[] = "version ";
	autobuf struct buf out = BUF_INIT(65536);
	const char *const argv[] = {path, "--version", NULL};
	uint64_t deadline = limit_deadline(LIMIT_QMP_MS);
	struct error ignored;

	if (proc_run(argv, &out, deadline, &ignored) < 0)
		return NULL;
	const char *text = buf_string(&out), *at = text ? strstr(text, before) : NULL;
	if (!at)
		return NULL;
	at += sizeof(before) - 1;
	return strndup(at, strcspn(at, "\n"));
}
