/* SPDX-License-Identifier: MIT */
/* Makes ClientHellos, for tests of the filter. */
#ifndef HELLO_FIXTURE_H
#define HELLO_FIXTURE_H

#include "test_netgate.h"

struct hello {
	size_t len;
	uint8_t bytes[16384];
};

enum {
	HELLO_SESSION = 5 + 4 + 34,
	HELLO_EXTENSIONS = HELLO_SESSION + 1 + 4 + 2, /* their length */
	HELLO_NAME = HELLO_EXTENSIONS + 2 + 4 + 5     /* of the first of them */
};

static inline void hello_add(struct hello *h, const void *bytes, size_t len)
{
	memcpy(h->bytes + h->len, bytes, len);
	h->len += len;
}

static inline void hello_add_name(struct hello *h, const char *name)
{
	uint8_t header[9] = {0};
	size_t len = strlen(name);

	put16(header + 2, (unsigned)len + 5);
	put16(header + 4, (unsigned)len + 3);
	put16(header + 7, (unsigned)len);
	hello_add(h, header, sizeof(header));
	hello_add(h, name, len);
}

static inline struct hello hello_begin(void)
{
	static const uint8_t fixed[] = {0, 2, 0x13, 0x01, /* a cipher */
					1, 0};		  /* no compression */
	struct hello h = {.len = HELLO_SESSION + 1};

	memcpy(h.bytes, "\x16\x03\x01\0\0\x01\0\0\0\x03\x03", 11);
	hello_add(&h, fixed, sizeof(fixed));
	return h;
}

static inline struct hello hello_end(struct hello h)
{
	put16(h.bytes + 3, (unsigned)h.len - 5);
	put16(h.bytes + 7, (unsigned)h.len - 9);
	if (h.len > HELLO_EXTENSIONS)
		put16(h.bytes + HELLO_EXTENSIONS, (unsigned)(h.len - HELLO_EXTENSIONS - 2));
	return h;
}

static inline struct hello hello_without_extensions(void)
{
	return hello_end(hello_begin());
}

/* Makes one with or without a name, and with an encrypted name (ECH) and a key share of that
 * size. */
static inline struct hello hello_of(const char *name, size_t share)
{
	static const uint8_t ech[] = {0xfe, 0x0d, 0, 3, 1, 2, 3};
	uint8_t header[4] = {0, 0x33};
	struct hello h = hello_begin();

	h.len += 2;
	if (name)
		hello_add_name(&h, name);
	hello_add(&h, ech, sizeof(ech));
	put16(header + 2, (unsigned)share);
	hello_add(&h, header, sizeof(header));
	h.len += share;
	return hello_end(h);
}

static inline struct hello hello_with_two_names(const char *one, const char *other)
{
	struct hello h = hello_begin();

	h.len += 2;
	hello_add_name(&h, one);
	hello_add_name(&h, other);
	return hello_end(h);
}

/* Makes the same message in records of at most so many bytes. */
static inline struct hello hello_in_records(const struct hello *whole, size_t size)
{
	struct hello h = {0};

	for (size_t at = 5; at < whole->len; at += size) {
		size_t n = whole->len - at < size ? whole->len - at : size;
		uint8_t header[5] = {0x16, 3, 1};

		put16(header + 3, (unsigned)n);
		hello_add(&h, header, sizeof(header));
		hello_add(&h, whole->bytes + at, n);
	}
	return h;
}

#endif
