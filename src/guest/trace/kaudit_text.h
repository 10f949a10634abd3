/* SPDX-License-Identifier: MIT */
/*
 * Reads one record of the kernel's audit. Netlink delivers it in this form:
 * "audit(1364481363.243:24287): key=value ...". The kernel writes the keys. Many values, such as
 * names and arguments, come from a program of the guest. The kernel writes such a value in quotes
 * if it is plain, and otherwise as hexadecimal digits. The functions are pure.
 */
#ifndef GUEST_KAUDIT_TEXT_H
#define GUEST_KAUDIT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a text, without a NUL at its end. The caller keeps the text. */
struct kaudit_span {
	const char *at;
	size_t len;
};

/* The stamp of a record. All records of one event have the same stamp. */
struct kaudit_stamp {
	int64_t real_ms;
	uint64_t serial;
};

/* Splits a record into its stamp and the text of its fields. Returns false if the text is not a
 * record. */
bool kaudit_header(struct kaudit_span text, struct kaudit_stamp *out, struct kaudit_span *fields);
/* Takes the next field off *rest. Skips words without '='. Returns false if no field is left. */
bool kaudit_field(struct kaudit_span *rest, struct kaudit_span *key, struct kaudit_span *value);
bool kaudit_is(struct kaudit_span span, const char *text);
/* Functions that read the whole span as a number, which is decimal unless `base` says otherwise.
 * They return false if the span is not such a number. */
bool kaudit_unsigned(struct kaudit_span span, int base, uint64_t *out);
bool kaudit_signed(struct kaudit_span span, int64_t *out);
/* Decodes a value that a program has chosen. It is quoted, hexadecimal, or (null), which means an
 * empty value. Returns the number of bytes that were written. Returns -1 if the value has none of
 * these forms, or is longer than `room` bytes. */
long kaudit_decode(struct kaudit_span value, uint8_t *out, size_t room);

#endif
