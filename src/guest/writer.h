/* SPDX-License-Identifier: MIT */
/*
 * Writes one JSON object as text, member by member. The agent's answers are flat objects, or lists
 * of flat objects, and some answers have megabytes. This code builds no tree of JSON values. A tree
 * would need three more copies of a large answer, and would take most of the time that a small
 * answer takes.
 *
 * After the first failure, all later calls do nothing, and writer_end() reports the failure. So a
 * caller need not check each call.
 */
#ifndef GUEST_WRITER_H
#define GUEST_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct writer {
	struct buf text;
	struct error *err;
	bool failed;
	bool begun; /* the next member or list item needs a comma before it */
};

struct writer writer_begin(struct error *err);
/* Functions that add a member to the object. A key must be ASCII without quotes. Bytes that are not
 * UTF-8, and NUL bytes, become U+FFFD. writer_if_true() adds nothing if `value` is false. */
void writer_bytes(struct writer *w, const char *key, const void *bytes, size_t len);
void writer_text(struct writer *w, const char *key, const char *text);
void writer_number(struct writer *w, const char *key, int64_t number);
void writer_bool(struct writer *w, const char *key, bool value);
void writer_if_true(struct writer *w, const char *key, bool value);
void writer_base64(struct writer *w, const char *key, const void *bytes, size_t len);
/* Adds a member whose value is already JSON text. */
void writer_raw(struct writer *w, const char *key, const char *value);
/* Functions that add a list of objects or a list of strings. The members that are added between
 * writer_open_item() and writer_close_item() belong to one object of the list. */
void writer_open_list(struct writer *w, const char *key);
void writer_open_item(struct writer *w);
void writer_close_item(struct writer *w);
void writer_list_bytes(struct writer *w, const void *bytes, size_t len);
void writer_close_list(struct writer *w);
/* Returns the object as a string, which the caller frees. Returns NULL if an earlier call has
 * failed. */
char *writer_end(struct writer *w);

#endif
