/* SPDX-License-Identifier: MIT */
#include "store/review/parents.h"

#include <string.h>

#include "store/review/list.h"

size_t review_parents_find(struct review_parents *parents, const char *path)
{
	const char *slash = strrchr(path, '/');
	const size_t len = slash ? (size_t)(slash - path) : 0;
	size_t from = 0, to;

	while (parents->depth > 0) {
		const struct review_parent *last = &parents->stack[parents->depth - 1];

		if (strncmp(path, last->path, last->len) == 0)
			break;
		parents->depth--;
	}
	if (!slash)
		return REVIEW_ROOT;
	for (to = parents->depth; from < to;) {
		size_t middle = from + (to - from) / 2;

		if (parents->stack[middle].len < len)
			from = middle + 1;
		else
			to = middle;
	}
	return from < parents->depth && parents->stack[from].len == len ? parents->stack[from].at
									: REVIEW_NONE;
}

void review_parents_add(struct review_parents *parents, const char *path, size_t at)
{
	parents->stack[parents->depth++] =
		(struct review_parent){.path = path, .len = strlen(path), .at = at};
}
