/* SPDX-License-Identifier: MIT */
/*
 * Bytes scattered over memory, consumed from the front. The iovecs are the caller's and are changed
 * while the span is worked through; the bytes may be guest memory, which changes under our hands,
 * so nothing is decided on them before they have been copied out.
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
/* Cuts the end off so that at most len bytes stay. */
void span_limit(struct span *span, size_t len);
/* Writes the pieces of the bytes skip..skip+limit to out[*n..max), moves *n on, and returns how
 * many bytes they name. The span stays as it is. */
size_t span_pieces(const struct span *span, size_t skip, size_t limit, struct iovec *out,
		   unsigned max, unsigned *n);
/* Copy out of, and into, the front; return how many bytes were there, and skip them. */
size_t span_read(struct span *span, void *data, size_t len);
size_t span_write(struct span *span, const void *data, size_t len);

#endif
