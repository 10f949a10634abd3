/* SPDX-License-Identifier: MIT */
/* Text on its way to the service: the caller's UTF-16 as JSON, and back. */
#ifndef HYPERV_TEXT_H
#define HYPERV_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <winsock2.h>

#include <windows.h>

/* One line of a request. If there is no memory it is marked as failed, and no part of it may be
 * sent. */
struct text {
	char *at;
	size_t len, room;
	bool failed;
};

void text_add(struct text *text, const char *words);
void text_add_number(struct text *text, const char *key, unsigned long long number);
/* Adds a key and a string. Adds nothing for NULL. */
void text_add_wide(struct text *text, const char *key, const WCHAR *value);
void text_free(struct text *text);

/* Allocates by LocalAlloc, as the API's callers free it. Returns NULL without memory. */
WCHAR *text_to_wide(const char *bytes, size_t len);
WCHAR *text_copy_wide(const WCHAR *wide);

#endif
