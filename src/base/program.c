/* SPDX-License-Identifier: MIT */
#include "base/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

bool program_is(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Returns the next absolute entry of the list, and moves *list to the text after this entry.
 * Returns NULL if there is no further absolute entry. */
static const char *next_absolute(const char **list, size_t *len)
{
	while (*list) {
		const char *entry = *list;

		*len = strcspn(entry, ":");
		*list = entry[*len] ? entry + *len + 1 : NULL;
		if (*entry == '/')
			return entry;
	}
	return NULL;
}

char *program_in_path(const char *name)
{
	const char *given = getenv("PATH"), *list = given && *given ? given : USUAL_PATH;
	char path[PATH_MAX];
	const char *dir;
	size_t len;

	while ((dir = next_absolute(&list, &len))) {
		int n = snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, name);

		if (n >= 0 && (size_t)n < sizeof(path) && program_is(path))
			return path_absolute(path, NULL);
	}
	return NULL;
}

int program_clean_path(struct error *err)
{
	const char *given = getenv("PATH"), *list = given, *dir;
	autobuf struct buf clean = BUF_INIT(0);
	size_t len;

	while ((dir = next_absolute(&list, &len)))
		if (buf_printf(&clean, err, "%s%.*s", clean.len ? ":" : "", (int)len, dir) < 0)
			return -1;
	if (clean.len == 0 && buf_printf(&clean, err, USUAL_PATH) < 0)
		return -1;
	if (given && strcmp(given, buf_string(&clean)) == 0)
		return 0;
	if ((given && setenv(PROGRAM_PATH_GIVEN, given, 1) < 0) ||
	    setenv("PATH", buf_string(&clean), 1) < 0)
		return error_errno(err, errno, "PATH");
	return 0;
}
