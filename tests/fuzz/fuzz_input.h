/* SPDX-License-Identifier: MIT */
/* Input that is taken bit by bit to choose the next steps. After its end there are zeros. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define HOLDS(condition)          \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

struct input {
	const uint8_t *data;
	size_t left;
};

static inline uint8_t next(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->data++;
}

/* Takes a little-endian number of so many bytes. */
static inline uint64_t next_number(struct input *in, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)next(in) << 8 * i;
	return v;
}

static inline uint16_t next16(struct input *in)
{
	return (uint16_t)next_number(in, 2);
}

static inline uint32_t next32(struct input *in)
{
	return (uint32_t)next_number(in, 4);
}

static inline uint64_t next64(struct input *in)
{
	return next_number(in, 8);
}

#endif
