/* SPDX-License-Identifier: MIT */
/*
 * One record of the kernel's audit, as it comes by netlink: "audit(1364481363.243:24287): key=value
 * ...". The kernel writes the keys; many values are a guest program's (names, arguments), which the
 * kernel writes in quotes when they are plain and in hexadecimal digits when not. Pure.
 */
#ifndef GUEST_KAUDIT_TEXT_H
#define GUEST_KAUDIT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed bytes, without a NUL behind them. */
struct kaudit_span {
	const char *at;
	size_t len;
};

/* Of all records of one event alike. */
struct kaudit_stamp {
	int64_t real_ms;
	uint64_t serial;
};

/* false: no record. */
bool kaudit_header(struct kaudit_span text, struct kaudit_stamp *out, struct kaudit_span *fields);
/* The next field, which is taken off *rest. Words without '=' are passed over. */
bool kaudit_field(struct kaudit_span *rest, struct kaudit_span *key, struct kaudit_span *value);
bool kaudit_is(struct kaudit_span span, const char *text);
/* All of the span is a number of that base. */
bool kaudit_unsigned(struct kaudit_span span, int base, uint64_t *out);
bool kaudit_signed(struct kaudit_span span, int64_t *out);
/* What a program said: quoted, hexadecimal, or (null), which is nothing. The bytes written, at most
 * room; -1: neither of these, or longer. */
long kaudit_decode(struct kaudit_span value, uint8_t *out, size_t room);

#endif
