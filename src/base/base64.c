/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *data, size_t len, struct error *err)
{
	const uint8_t *in = data;
	char *text = len < SIZE_MAX / 2 ? malloc((len + 2) / 3 * 4 + 1) : NULL;
	char *out = text;

	if (!text) {
		error_errno(err, ENOMEM, "base64 of %zu bytes", len);
		return NULL;
	}
	for (size_t i = 0; i < len; i += 3, out += 4) {
		size_t left = len - i;
		uint32_t v = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
			     (left > 2 ? in[i + 2] : 0);

		out[0] = alphabet[v >> 18];
		out[1] = alphabet[v >> 12 & 63];
		out[2] = left > 1 ? alphabet[v >> 6 & 63] : '=';
		out[3] = left > 2 ? alphabet[v & 63] : '=';
	}
	*out = '\0';
	return text;
}

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes one group of four characters. Returns the number of bytes written (1 to 3), or 0 if the
 * group is malformed. The unused bits of a padded group must be zero, so that each value has
 * exactly one encoding. */
static size_t decode_group(const char *in, bool last, uint8_t *out)
{
	size_t pad = !last || in[3] != '=' ? 0 : in[2] != '=' ? 1 : 2;
	uint32_t v = 0;

	for (size_t i = 0; i < 4; i++) {
		int bits = i < 4 - pad ? value_of(in[i]) : 0;
		if (bits < 0)
			return 0;
		v = v << 6 | (uint32_t)bits;
	}
	if (pad && (v & (pad == 1 ? 0xffu : 0xffffu)))
		return 0;
	out[0] = (uint8_t)(v >> 16);
	if (pad < 2)
		out[1] = (uint8_t)(v >> 8);
	if (pad < 1)
		out[2] = (uint8_t)v;
	return 3 - pad;
}

int base64_decode(const char *text, size_t len, struct buf *out, struct error *err)
{
	size_t most = len / 4 * 3, done = 0;
	uint8_t *room;

	if (len % 4)
		return error_set(
			err, ERR_INVALID,
			"the text is not valid base64, because its length of %zu bytes is not a multiple of 4",
			len);
	if (len && text[len - 1] == '=')
		most -= text[len - 2] == '=' ? 2 : 1;
	room = buf_reserve(out, most, err);
	if (!room)
		return -1;
	for (size_t i = 0; i < len; i += 4) {
		size_t n = decode_group(text + i, i + 4 == len, room + done);
		if (n == 0)
			return error_set(err, ERR_INVALID,
					 "the text is not valid base64 from byte %zu on", i);
		done += n;
	}
	buf_commit(out, done);
	return 0;
}
