/* SPDX-License-Identifier: MIT */
#include "cli/options/guest_path.h"

#include <string.h>

bool guest_path_parse(const char *word, char name[64], const char **path)
{
	const char *colon = strchr(word, ':');
	size_t len = colon ? (size_t)(colon - word) : 0;

	if (!colon || colon[1] != '/' || len == 0 || len >= 64 || memchr(word, '/', len))
		return false;
	memcpy(name, word, len);
	name[len] = '\0';
	*path = colon + 1;
	return true;
}
