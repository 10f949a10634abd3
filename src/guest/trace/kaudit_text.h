/* SPDX-License-Identifier: MIT */
/*
 * Reads one record of the kernel's audit. Netlink delivers a record in this form:
 * "audit(1364481363.243:24287): key=value ...". The kernel writes the keys. Many values, such as
 * file names and arguments, come from a program of the guest. The kernel writes such a value in
 * quotes if it has no space, quote or control character, and otherwise as hexadecimal digits. The
 * functions are pure.
 */
#ifndef GUEST_KAUDIT_TEXT_H
#define GUEST_KAUDIT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a text, without a NUL at its end. The pointer leads into memory of the caller. */
struct kaudit_span {
	const char *at;
	size_t len;
};

/* The time and the serial number of a record. All records of one event have the same time and
 * serial number. */
struct kaudit_stamp {
	int64_t real_ms;
	uint64_t serial;
};

/* Splits a record into its time and serial number, and the text of its fields. Returns false if the
 * text is not a record. */
bool kaudit_header(struct kaudit_span text, struct kaudit_stamp *out, struct kaudit_span *fields);
/* Gets the next field of *rest, and sets *rest to the text after this field. Skips words without
 * '='. Returns false if no field is left. */
bool kaudit_field(struct kaudit_span *rest, struct kaudit_span *key, struct kaudit_span *value);
bool kaudit_is(struct kaudit_span span, const char *text);
/* Functions that parse the whole span as a number. The number is decimal, except that
 * kaudit_unsigned() uses `base`. These functions return false if the span is not a number. */
bool kaudit_unsigned(struct kaudit_span span, int base, uint64_t *out);
bool kaudit_signed(struct kaudit_span span, int64_t *out);
/* Decodes a value that comes from a program. The value is in quotes, or in hexadecimal digits, or
 * is the text (null), which means an empty value. Writes the decoded bytes to `out` and returns
 * their number. Returns -1 if the value has none of these forms, or if there are more than `room`
 * bytes. */
long kaudit_decode(struct kaudit_span value, uint8_t *out, size_t room);

#endif
