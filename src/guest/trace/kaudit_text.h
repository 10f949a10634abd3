/* SPDX-License-Identifier: MIT */
/*
 * Reads one record of the kernel's audit as it comes through netlink: "audit(1364481363.243:24287):
 * key=value ...". The kernel writes the keys. Many values come from a guest program (names,
 * arguments); the kernel writes them in quotes if they are plain, otherwise as hexadecimal digits.
 * The functions are pure.
 */
#ifndef GUEST_KAUDIT_TEXT_H
#define GUEST_KAUDIT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a text that the caller keeps, without a NUL at the end. */
struct kaudit_span {
	const char *at;
	size_t len;
};

/* The stamp, which all records of one event share. */
struct kaudit_stamp {
	int64_t real_ms;
	uint64_t serial;
};

/* Splits a record into its stamp and its fields. Returns false if the text is not a record. */
bool kaudit_header(struct kaudit_span text, struct kaudit_stamp *out, struct kaudit_span *fields);
/* Takes the next field off *rest. Skips words without '='. Returns false at the end. */
bool kaudit_field(struct kaudit_span *rest, struct kaudit_span *key, struct kaudit_span *value);
bool kaudit_is(struct kaudit_span span, const char *text);
/* Functions that read the whole span as a number (of that base, or of base 10). They return false
 * if the span is not such a number. */
bool kaudit_unsigned(struct kaudit_span span, int base, uint64_t *out);
bool kaudit_signed(struct kaudit_span span, int64_t *out);
/* Decodes a value from a program: quoted, hexadecimal, or (null), which means an empty value.
 * Returns the number of bytes written, or -1 if the value has none of these forms, or is longer
 * than `room`. */
long kaudit_decode(struct kaudit_span value, uint8_t *out, size_t room);

#endif
