/* SPDX-License-Identifier: MIT */
/*
 * Bytes in several pieces of memory, consumed from the front. The caller owns the iovecs, and using
 * the span changes them. The bytes may be guest memory, which the guest can change at any time, so
 * no decision may depend on the bytes before they have been copied out.
 */
#ifndef VSOCKD_SPAN_H
#define VSOCKD_SPAN_H

#include <stddef.h>
#include <sys/uio.h>

struct span {
	struct iovec *iov;
	unsigned n;
	size_t bytes; /* the sum of the lengths */
};

/* Drops len bytes (at most all) from the front. */
void span_skip(struct span *span, size_t len);
/* Cuts off the end, so that at most len bytes stay. */
void span_limit(struct span *span, size_t len);
/* Writes the pieces of the bytes skip..skip+limit to out[*n..max) and advances *n. Returns how many
 * bytes the pieces have. Does not change the span. */
size_t span_pieces(const struct span *span, size_t skip, size_t limit, struct iovec *out,
		   unsigned max, unsigned *n);
/* Copy bytes out of the front, or into the front, and skip them. Return how many bytes there were,
 * at most len. */
size_t span_read(struct span *span, void *data, size_t len);
size_t span_write(struct span *span, const void *data, size_t len);

#endif
