/* SPDX-License-Identifier: MIT */
/*
 * A span: bytes in several areas of memory, which are consumed from the front. Each area is an
 * iovec. The iovecs belong to the caller, and the functions that consume bytes change the iovecs.
 * The bytes may be guest memory, which the guest can change at any time. So they must be copied
 * before any decision depends on them.
 */
#ifndef VSOCKD_SPAN_H
#define VSOCKD_SPAN_H

#include <stddef.h>
#include <sys/uio.h>

struct span {
	struct iovec *iov;
	unsigned n;
	size_t bytes; /* the sum of the lengths of all iovecs */
};

/* Drops the first `len` bytes of the span; all bytes if the span has fewer. */
void span_skip(struct span *span, size_t len);
/* Cuts off the end of the span, so that at most `len` bytes stay. */
void span_limit(struct span *span, size_t len);
/* Finds the memory of the bytes `skip` to `skip` + `limit` of the span. Writes the areas of this
 * memory to `out` from out[*n] on, up to out[max - 1], and adds their number to *n. Returns how
 * many bytes these areas have. Does not change the span. */
size_t span_pieces(const struct span *span, size_t skip, size_t limit, struct iovec *out,
		   unsigned max, unsigned *n);
/* span_read() copies `len` bytes from the front of the span to `data`. span_write() copies `len`
 * bytes of `data` to the front of the span. Both functions then drop these bytes from the span.
 * Both return how many bytes were copied: fewer than `len` only if the span has fewer bytes. */
size_t span_read(struct span *span, void *data, size_t len);
size_t span_write(struct span *span, const void *data, size_t len);

#endif
