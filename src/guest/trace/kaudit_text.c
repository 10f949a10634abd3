/* SPDX-License-Identifier: MIT */
#include "guest/trace/kaudit_text.h"

#include <string.h>

#define START "audit("
/* The latest time that is accepted, in seconds since 1970. This time is in the year 2096, and fits
 * into 64 bits as nanoseconds. */
#define SECONDS_MAX 4000000000u

bool kaudit_is(struct kaudit_span span, const char *text)
{
	return span.len == strlen(text) && memcmp(span.at, text, span.len) == 0;
}

/* Sets *out to the text of *rest before the first character `c`, and *rest to the text after that
 * character. Returns false if the text does not have the character. */
static bool cut_at(struct kaudit_span *rest, char c, struct kaudit_span *out)
{
	const char *found = memchr(rest->at, c, rest->len);

	if (!found)
		return false;
	*out = (struct kaudit_span){rest->at, (size_t)(found - rest->at)};
	rest->at = found + 1;
	rest->len -= out->len + 1;
	return true;
}

static int hex_digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

bool kaudit_unsigned(struct kaudit_span span, int base, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = 0; i < span.len; i++) {
		int digit = hex_digit_of(span.at[i]);

		if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	if (span.len == 0)
		return false;
	*out = value;
	return true;
}

bool kaudit_signed(struct kaudit_span span, int64_t *out)
{
	bool negative = span.len > 0 && span.at[0] == '-';
	uint64_t value;

	if (negative)
		span = (struct kaudit_span){span.at + 1, span.len - 1};
	if (!kaudit_unsigned(span, 10, &value) || value > INT64_MAX)
		return false;
	*out = negative ? -(int64_t)value : (int64_t)value;
	return true;
}

bool kaudit_header(struct kaudit_span text, struct kaudit_stamp *out, struct kaudit_span *fields)
{
	struct kaudit_span seconds, millis, serial;
	uint64_t s, ms, number;

	if (text.len < strlen(START) || memcmp(text.at, START, strlen(START)) != 0)
		return false;
	text = (struct kaudit_span){text.at + strlen(START), text.len - strlen(START)};
	if (!cut_at(&text, '.', &seconds) || !cut_at(&text, ':', &millis) ||
	    !cut_at(&text, ')', &serial) || text.len == 0 || text.at[0] != ':')
		return false;
	if (!kaudit_unsigned(seconds, 10, &s) || !kaudit_unsigned(millis, 10, &ms) ||
	    !kaudit_unsigned(serial, 10, &number) || s > SECONDS_MAX || ms > 999)
		return false;
	*out = (struct kaudit_stamp){.real_ms = (int64_t)(s * 1000 + ms), .serial = number};
	*fields = (struct kaudit_span){text.at + 1, text.len - 1};
	return true;
}

bool kaudit_field(struct kaudit_span *rest, struct kaudit_span *key, struct kaudit_span *value)
{
	while (rest->len > 0) {
		struct kaudit_span word = *rest;

		if (!cut_at(rest, ' ', &word))
			*rest = (struct kaudit_span){rest->at + rest->len, 0};
		*value = word;
		if (cut_at(value, '=', key))
			return true;
	}
	return false;
}

static long decode_hex(struct kaudit_span value, uint8_t *out, size_t room)
{
	if (value.len % 2 != 0 || value.len / 2 > room)
		return -1;
	for (size_t i = 0; i < value.len; i += 2) {
		int high = hex_digit_of(value.at[i]), low = hex_digit_of(value.at[i + 1]);

		if (high > 15 || low > 15)
			return -1;
		out[i / 2] = (uint8_t)(high * 16 + low);
	}
	return (long)(value.len / 2);
}

long kaudit_decode(struct kaudit_span value, uint8_t *out, size_t room)
{
	if (kaudit_is(value, "(null)"))
		return 0;
	if (value.len < 2 || value.at[0] != '"')
		return decode_hex(value, out, room);
	if (value.at[value.len - 1] != '"' || value.len - 2 > room)
		return -1;
	memcpy(out, value.at + 1, value.len - 2);
	return (long)value.len - 2;
}
