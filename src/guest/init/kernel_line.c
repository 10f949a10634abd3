/* SPDX-License-Identifier: MIT */
#include "guest/init/kernel_line.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define LINE_MAX_BYTES 4096

bool kernel_line_value(const char *front, char *out, size_t size)
{
	autofile FILE *file = fopen("/proc/cmdline", "re");
	char line[LINE_MAX_BYTES] = "", *rest = line;
	size_t len = strlen(front);

	if (!file || !fgets(line, sizeof(line), file))
		return false;
	for (char *word; (word = strsep(&rest, " \n"));) {
		if (strncmp(word, front, len) != 0 || strlen(word + len) >= size)
			continue;
		snprintf(out, size, "%s", word + len);
		return true;
	}
	return false;
}

bool kernel_line_says(const char *word)
{
	/* A buffer for the NUL only. So kernel_line_value() returns true only if nothing follows
	 * `word` in the command line's word. */
	char nothing[1];

	return kernel_line_value(word, nothing, sizeof(nothing));
}
