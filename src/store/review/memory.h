/* SPDX-License-Identifier: MIT */
/* Texts that are released together. */
#ifndef STORE_REVIEW_MEMORY_H
#define STORE_REVIEW_MEMORY_H

#include <stddef.h>

#include "base/error.h"

struct review_memory;

struct review_memory *review_memory_new(struct error *err);
void review_memory_free(struct review_memory *memory); /* accepts NULL */
/* Returns the texts one behind the other as a new text, which belongs to `memory`; NULL with err
 * set if there is no memory. `b` and `c` may be NULL. */
const char *review_keep(struct review_memory *memory, const char *a, const char *b, const char *c,
			struct error *err);

#endif
