/* SPDX-License-Identifier: MIT */
/* Things that the tests of JSON share. */
#ifndef TEST_BASE_JSON_H
#define TEST_BASE_JSON_H

#include "test_base.h"

#include "base/json.h"

#define TEXT(s) (s), sizeof(s) - 1

static inline json_t *load(const char *text)
{
	struct error err;
	json_t *value = json_load_strict(text, strlen(text), &err);

	if (!value)
		fail_msg("%s: %s", text, err.msg);
	return value;
}

/* open brackets, `depth` of them, and what closes them; or, unbalanced, only the first half */
static inline size_t nest(char *out, size_t depth, const char *open, char close)
{
	size_t n = 0;

	for (size_t i = 0; i < depth; i++) {
		memcpy(out + n, open, strlen(open));
		n += strlen(open);
	}
	if (close == '}')
		out[n++] = '1';
	for (size_t i = 0; close && i < depth; i++)
		out[n++] = close;
	return n;
}

#endif
