/* SPDX-License-Identifier: MIT */
/*
 * An argument vector that grows. If a word cannot be added, later calls add nothing, and
 * argv_finish() reports the failure. So a caller that adds many words need not check each call.
 */
#ifndef BASE_ARGV_H
#define BASE_ARGV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct argv {
	char **words; /* the words, each malloc'd; argv_finish() puts a NULL after them */
	size_t count, cap;
	bool failed; /* a word could not be added, because there was no memory */
};
#define ARGV_INIT \
	{         \
		0 \
	}
void argv_free(struct argv *argv); /* accepts a zeroed struct */
#define autoargv __attribute__((cleanup(argv_free)))

void argv_add(struct argv *argv, const char *word);
void argv_addf(struct argv *argv, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds all words of a NULL-terminated list. */
void argv_add_list(struct argv *argv, const char *const *words);
/* Returns the vector, which belongs to `argv`. Returns NULL with ERR_IO (ENOMEM) if a word could
 * not be added. */
const char *const *argv_finish(struct argv *argv, struct error *err);

#endif
