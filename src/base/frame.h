/* SPDX-License-Identifier: MIT */
/* Frames: a 4-byte big-endian length, followed by as many bytes. All stream protocols of this
 * project use frames. */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define FRAME_HEADER 4
/* The largest payload in bytes. Because of this limit the first byte of a frame is 0 or 1, and
 * never '{', with which JSON without a frame begins. */
#define FRAME_MAX UINT32_C(16777216)

static inline void be32_put(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}
static inline uint32_t be32_get(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static inline void be64_put(uint8_t *p, uint64_t v)
{
	be32_put(p, (uint32_t)(v >> 32));
	be32_put(p + 4, (uint32_t)v);
}
static inline uint64_t be64_get(const uint8_t *p)
{
	return (uint64_t)be32_get(p) << 32 | be32_get(p + 4);
}

/* Examines the beginning of a receive queue. Returns 1 if b begins with a complete frame, and sets
 * *payload and *len. The payload stays in b until the caller drops the frame (FRAME_HEADER + *len
 * bytes) with buf_consume(). Returns 0 if more bytes are needed; -1 with ERR_INVALID if the length
 * is zero or above max. */
int frame_peek(const struct buf *b, size_t max, const uint8_t **payload, size_t *len,
	       struct error *err);
/* Appends a frame to b. ERR_INVALID if `len` is 0 or above FRAME_MAX. */
int frame_append(struct buf *b, const void *payload, size_t len, struct error *err);

#endif
