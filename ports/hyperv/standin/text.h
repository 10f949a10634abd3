/* SPDX-License-Identifier: MIT */
/* Text on its way to the service: UTF-16 of the caller's as JSON, and back. */
#ifndef HYPERV_TEXT_H
#define HYPERV_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <winsock2.h>

#include <windows.h>

/* One line of a request. Without memory it is marked as failed and nothing of it may be sent. */
struct text {
	char *at;
	size_t len, room;
	bool failed;
};

void text_add(struct text *text, const char *words);
void text_add_number(struct text *text, const char *key, unsigned long long number);
/* A key and a string; nothing at all for NULL. */
void text_add_wide(struct text *text, const char *key, const WCHAR *value);
void text_free(struct text *text);

/* By LocalAlloc, as the API's callers free it. NULL without memory. */
WCHAR *text_to_wide(const char *bytes, size_t len);
WCHAR *text_copy_wide(const WCHAR *wide);

#endif
