/* SPDX-License-Identifier: MIT */
#include "backend/qemu/binary.h"

#include <stdlib.h>
#include <string.h>

#include "backend/parts/programs.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/proc.h"

char *binary_find(struct error *err)
{
	const char *named = getenv("MICROAGENT_QEMU");

	if (named && *named) {
		if (program_is(named))
			return path_absolute(named, err);
		error_set(err, ERR_UNAVAILABLE,
			  "QEMU: MICROAGENT_QEMU names %s, which is no program; without it "
			  "QEMU comes from PATH (apt-get install qemu-system-x86)",
			  named);
		return NULL;
	}
	char *found = program_in_path("qemu-system-x86_64");
	if (!found)
		error_set(err, ERR_UNAVAILABLE,
			  "qemu-system-x86_64 is not installed: apt-get install qemu-system-x86");
	return found;
}

/* Of "QEMU emulator version 7.2.22 (Debian ...)". */
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
