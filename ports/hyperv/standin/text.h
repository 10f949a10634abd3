/* SPDX-License-Identifier: MIT */
/* Conversions between the UTF-16 texts of the program and the JSON texts for the service. */
#ifndef HYPERV_TEXT_H
#define HYPERV_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <winsock2.h>

#include <windows.h>

/* A request to the service, which is one line. If `failed` is true, there was no memory, and the
 * line must not be sent. */
struct text {
	char *at;
	size_t len, room;
	bool failed;
};

void text_add(struct text *text, const char *words);
void text_add_number(struct text *text, const char *key, unsigned long long number);
/* Adds a key and a string. Adds nothing if `value` is NULL. */
void text_add_wide(struct text *text, const char *key, const WCHAR *value);
void text_free(struct text *text);

/* Functions that return UTF-16 text, which the caller frees with LocalFree(), or NULL if there is
 * no memory. */
WCHAR *text_to_wide(const char *bytes, size_t len);
WCHAR *text_copy_wide(const WCHAR *wide);

#endif
