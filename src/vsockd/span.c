/* SPDX-License-Identifier: MIT */
#include "vsockd/span.h"

#include <stdint.h>
#include <string.h>

#include "base/min.h"

/* Drops the first len bytes of the first iovec, which has at least len bytes. */
static void skip_in_first(struct span *span, size_t len)
{
	struct iovec *first = span->iov;

	first->iov_base = (uint8_t *)first->iov_base + len;
	first->iov_len -= len;
	span->bytes -= len;
	if (!first->iov_len) {
		span->iov++;
		span->n--;
	}
}

void span_skip(struct span *span, size_t len)
{
	while (len && span->n) {
		size_t part = min_size(len, span->iov->iov_len);

		skip_in_first(span, part);
		len -= part;
	}
}

void span_limit(struct span *span, size_t len)
{
	size_t before = 0;
	unsigned i;

	if (span->bytes <= len)
		return;
	for (i = 0; i < span->n && before < len; i++) {
		span->iov[i].iov_len = min_size(span->iov[i].iov_len, len - before);
		before += span->iov[i].iov_len;
	}
	span->n = i;
	span->bytes = before;
}

size_t span_pieces(const struct span *span, size_t skip, size_t limit, struct iovec *out,
		   unsigned max, unsigned *n)
{
	size_t named = 0;

	for (unsigned i = 0; i < span->n && named < limit && *n < max; i++) {
		const struct iovec *v = &span->iov[i];
		size_t part;

		if (skip >= v->iov_len) {
			skip -= v->iov_len;
			continue;
		}
		part = min_size(v->iov_len - skip, limit - named);
		out[(*n)++] =
			(struct iovec){.iov_base = (uint8_t *)v->iov_base + skip, .iov_len = part};
		named += part;
		skip = 0;
	}
	return named;
}

size_t span_read(struct span *span, void *data, size_t len)
{
	size_t done = 0;

	while (done < len && span->n) {
		size_t part = min_size(len - done, span->iov->iov_len);

		memcpy((uint8_t *)data + done, span->iov->iov_base, part);
		skip_in_first(span, part);
		done += part;
	}
	return done;
}

size_t span_write(struct span *span, const void *data, size_t len)
{
	size_t done = 0;

	while (done < len && span->n) {
		size_t part = min_size(len - done, span->iov->iov_len);

		memcpy(span->iov->iov_base, (const uint8_t *)data + done, part);
		skip_in_first(span, part);
		done += part;
	}
	return done;
}
