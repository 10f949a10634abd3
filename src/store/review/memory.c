/* SPDX-License-Identifier: MIT */
#include "store/review/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)65536)

struct block {
	struct block *next;
	char bytes[];
};

struct review_memory {
	struct block *blocks; /* the texts are put into the first one */
	size_t used, size;    /* of the first block */
};

struct review_memory *review_memory_new(struct error *err)
{
	struct review_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		error_errno(err, ENOMEM, "changes");
	return memory;
}

void review_memory_free(struct review_memory *memory)
{
	while (memory && memory->blocks) {
		struct block *next = memory->blocks->next;

		free(memory->blocks);
		memory->blocks = next;
	}
	free(memory);
}

const char *review_keep(struct review_memory *memory, const char *a, const char *b, const char *c,
			struct error *err)
{
	const size_t la = strlen(a), lb = b ? strlen(b) : 0, lc = c ? strlen(c) : 0;
	const size_t need = la + lb + lc + 1;
	char *out;

	if (memory->size - memory->used < need) {
		const size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
		struct block *block = malloc(sizeof(*block) + size);

		if (!block) {
			error_errno(err, ENOMEM, "changes");
			return NULL;
		}
		block->next = memory->blocks;
		memory->blocks = block;
		memory->used = 0;
		memory->size = size;
	}
	out = memory->blocks->bytes + memory->used;
	memory->used += need;
	memcpy(out, a, la);
	if (b)
		memcpy(out + la, b, lb);
	if (c)
		memcpy(out + la + lb, c, lc);
	out[need - 1] = '\0';
	return out;
}
