/* SPDX-License-Identifier: MIT */
/*
 * A queue of bytes in one block of memory. buf_consume() only moves `start`. When there is no room
 * after the contents, they are moved to the start of the block, but only if they are no longer than
 * the free room before them. So each byte of a queue costs constant time on average.
 */
#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_BLOCK 64

void buf_free(struct buf *b)
{
	size_t limit = b->limit;

	free(b->data);
	*b = (struct buf){.limit = limit};
}

const char *buf_string(struct buf *b)
{
	if (!b->data)
		return "";
	b->data[b->start + b->len] = '\0';
	return (const char *)(b->data + b->start);
}

/* Makes the block large enough for `need` bytes: the contents, the new bytes, and a NUL after
 * them. */
static int make_buf_room(struct buf *b, size_t need, struct error *err)
{
	size_t cap = need * 2 > SMALLEST_BLOCK ? need * 2 : SMALLEST_BLOCK;
	uint8_t *grown;

	if (b->data && need <= b->cap && b->start >= b->len) {
		memmove(b->data, b->data + b->start, b->len);
		b->start = 0;
		return 0;
	}
	grown = malloc(cap);
	if (!grown)
		return error_errno(err, ENOMEM, "buffer of %zu bytes", cap);
	if (b->data && b->len)
		memcpy(grown, b->data + b->start, b->len);
	free(b->data);
	b->data = grown;
	b->start = 0;
	b->cap = cap;
	return 0;
}

uint8_t *buf_reserve(struct buf *b, size_t n, struct error *err)
{
	if (b->limit && (b->len > b->limit || n > b->limit - b->len)) {
		error_set(err, ERR_INVALID, "the data has more than the limit of %zu bytes",
			  b->limit);
		return NULL;
	}
	if (n > SIZE_MAX / 4 || b->len > SIZE_MAX / 4) {
		error_errno(err, ENOMEM, "buffer of %zu more bytes", n);
		return NULL;
	}
	/* If there is a block, cap - start is at least `len` + 1. */
	if (!b->data || b->cap - b->start - b->len - 1 < n)
		if (make_buf_room(b, b->len + n + 1, err) < 0)
			return NULL;
	return b->data + b->start + b->len;
}

void buf_commit(struct buf *b, size_t n)
{
	assert(n == 0 || (b->data && n <= b->cap - b->start - b->len - 1));
	b->len += n;
}

int buf_append(struct buf *b, const void *data, size_t len, struct error *err)
{
	uint8_t *room = buf_reserve(b, len, err);

	if (!room)
		return -1;
	if (len)
		memcpy(room, data, len);
	buf_commit(b, len);
	return 0;
}

int buf_printf(struct buf *b, struct error *err, const char *fmt, ...)
{
	va_list args;
	uint8_t *room;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0)
		return error_set(
			err, ERR_INTERNAL,
			"a text of the form '%s' cannot be made: this is a bug of microagent", fmt);
	room = buf_reserve(b, (size_t)n, err);
	if (!room)
		return -1;
	va_start(args, fmt);
	vsnprintf((char *)room, (size_t)n + 1, fmt, args);
	va_end(args);
	buf_commit(b, (size_t)n);
	return 0;
}

void buf_consume(struct buf *b, size_t n)
{
	assert(n <= b->len);
	b->start += n;
	b->len -= n;
	if (b->len == 0)
		b->start = 0;
}

char *buf_steal_string(struct buf *b, struct error *err)
{
	char *text;

	if (!buf_reserve(b, 0, err))
		return NULL;
	if (b->start)
		memmove(b->data, b->data + b->start, b->len);
	b->data[b->len] = '\0';
	text = realloc(b->data, b->len + 1);
	if (!text)
		text = (char *)b->data; /* if the block cannot be made smaller, the function returns
					 * the larger block */
	*b = (struct buf){.limit = b->limit};
	return text;
}
