/* SPDX-License-Identifier: MIT */
/* A byte buffer that grows up to a limit. The buffer has a read position, so that it can also be a
 * queue. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct buf {
	uint8_t *data; /* the contents are the `len` bytes from data[start] on; there is always room
		        * for a NUL after them */
	size_t start;
	size_t len;
	size_t cap;
	size_t limit; /* the largest `len` that is allowed; 0: no limit */
};
#define BUF_INIT(max)          \
	{                      \
		.limit = (max) \
	}
void buf_free(struct buf *b); /* accepts a zeroed buffer; afterwards the buffer is empty and can be
			       * used again */
#define autobuf __attribute__((cleanup(buf_free)))

static inline const uint8_t *buf_bytes(const struct buf *b)
{
	return b->data ? b->data + b->start : (const uint8_t *)"";
}
/* Returns the contents with a NUL after them. The string belongs to the buffer. The contents
 * themselves may contain NULs. */
const char *buf_string(struct buf *b);
/* Append to the buffer. ERR_INVALID if the contents would exceed the limit, ERR_IO (ENOMEM) if
 * there is no memory. On failure the contents are unchanged. */
int buf_append(struct buf *b, const void *data, size_t len, struct error *err);
int buf_printf(struct buf *b, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns a pointer to room for at least n more bytes after the contents, or NULL with an error.
 * The caller writes to this room, and then calls buf_commit(), which adds the written bytes to the
 * contents. */
uint8_t *buf_reserve(struct buf *b, size_t n, struct error *err);
void buf_commit(struct buf *b, size_t n);
/* Drops n bytes (n <= len) from the front. */
void buf_consume(struct buf *b, size_t n);
/* Returns the contents as a NUL-terminated string, which the caller frees. The buffer is empty
 * afterwards. Returns NULL with an error if there is no memory. */
char *buf_steal_string(struct buf *b, struct error *err);

#endif
