/* SPDX-License-Identifier: MIT */
/*
 * One JSON object, written as text as its members are put. The agent's answers are flat, or a list
 * of flat ones, and some hold megabytes: a tree of them first would be three more copies, and for
 * the small ones it is most of the work that an answer costs.
 *
 * The first failure is remembered and what follows does nothing, so that a message reads as a list.
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
	bool begun; /* there is a member or item before the next one */
};

struct writer writer_begin(struct error *err);
/* Keys are ours: plain ASCII without quotes. Bytes that are no UTF-8, and NUL, become U+FFFD. */
void writer_bytes(struct writer *w, const char *key, const void *bytes, size_t len);
void writer_text(struct writer *w, const char *key, const char *text);
void writer_number(struct writer *w, const char *key, int64_t number);
void writer_bool(struct writer *w, const char *key, bool value);
void writer_if_true(struct writer *w, const char *key, bool value);
void writer_base64(struct writer *w, const char *key, const void *bytes, size_t len);
/* value is JSON already. */
void writer_raw(struct writer *w, const char *key, const char *value);
/* A list of objects: members put between the two of an item are the item's. Or of strings. */
void writer_open_list(struct writer *w, const char *key);
void writer_open_item(struct writer *w);
void writer_close_item(struct writer *w);
void writer_list_bytes(struct writer *w, const void *bytes, size_t len);
void writer_close_list(struct writer *w);
/* The object as a malloc'd string; NULL after a failure. */
char *writer_end(struct writer *w);

#endif
