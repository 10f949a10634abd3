/* SPDX-License-Identifier: MIT */
#include "guest/init/kernel_line.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define LINE_MAX_BYTES 4096

/* Calls it for each word until it says true. */
static bool any_word(bool (*fn)(const char *word, void *data), void *data)
{
	autofile FILE *file = fopen("/proc/cmdline", "re");
	char line[LINE_MAX_BYTES] = "", *rest = line;

	if (!file || !fgets(line, sizeof(line), file))
		return false;
	for (char *found; (found = strsep(&rest, " \n"));)
		if (fn(found, data))
			return true;
	return false;
}

static bool is_word(const char *word, void *data)
{
	return strcmp(word, data) == 0;
}

bool kernel_line_says(const char *word)
{
	char wanted[128];

	snprintf(wanted, sizeof(wanted), "%s", word);
	return any_word(is_word, wanted);
}

struct wanted {
	const char *front;
	char *out;
	size_t size;
};

static bool take_value(const char *word, void *data)
{
	struct wanted *w = data;
	size_t front = strlen(w->front);

	if (strncmp(word, w->front, front) != 0 || strlen(word + front) >= w->size)
		return false;
	snprintf(w->out, w->size, "%s", word + front);
	return true;
}

bool kernel_line_value(const char *front, char *out, size_t size)
{
	struct wanted wanted = {front, out, size};

	return any_word(take_value, &wanted);
}
