/* SPDX-License-Identifier: MIT */
/* Finds the known word that the user has probably meant by an unknown word. */
#include <string.h>

#include "base/nearest.h"
#include "cli/cli.h"

#define PREFIX 3

static const char *only_with_prefix(const char *word, const char *const *names)
{
	const char *found = NULL;

	if (strlen(word) < PREFIX)
		return NULL;
	for (; *names; names++) {
		if (strncmp(word, *names, PREFIX) != 0)
			continue;
		if (found)
			return NULL;
		found = *names;
	}
	return found;
}

const char *cli_nearest(const char *word, const char *const *names)
{
	const char *near = nearest_name(word, names);

	return near ? near : only_with_prefix(word, names);
}
