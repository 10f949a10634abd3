/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void text_add_bytes(struct text *text, const char *bytes, size_t len)
{
	if (text->failed)
		return;
	if (text->len + len + 1 > text->room) {
		size_t room = 2 * (text->len + len + 1);
		char *grown = realloc(text->at, room);

		if (!grown) {
			text->failed = true;
			return;
		}
		text->at = grown;
		text->room = room;
	}
	memcpy(text->at + text->len, bytes, len);
	text->len += len;
	text->at[text->len] = '\0';
}

void text_add(struct text *text, const char *words)
{
	text_add_bytes(text, words, strlen(words));
}

static void text_add_key(struct text *text, const char *key)
{
	if (text->len > 1)
		text_add(text, ",");
	text_add(text, "\"");
	text_add(text, key);
	text_add(text, "\":");
}

void text_add_number(struct text *text, const char *key, unsigned long long number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", number);
	text_add_key(text, key);
	text_add(text, digits);
}

/* Adds a key and a string. Writes each UTF-16 unit that is not ASCII as its number. So the encoding
 * cannot be wrong, and even a surrogate without its pair arrives unchanged. */
void text_add_wide(struct text *text, const char *key, const WCHAR *value)
{
	char unit[8];

	if (!value)
		return;
	text_add_key(text, key);
	text_add(text, "\"");
	for (; *value; value++) {
		bool plain = *value >= 0x20 && *value < 0x7f && *value != '"' && *value != '\\';

		snprintf(unit, sizeof(unit), plain ? "%c" : "\\u%04x", (unsigned)*value);
		text_add(text, unit);
	}
	text_add(text, "\"");
}

void text_free(struct text *text)
{
	free(text->at);
	*text = (struct text){0};
}

WCHAR *text_to_wide(const char *bytes, size_t len)
{
	int units = MultiByteToWideChar(CP_UTF8, 0, bytes, (int)len, NULL, 0);
	WCHAR *wide = LocalAlloc(LMEM_FIXED, ((size_t)units + 1) * sizeof(WCHAR));

	if (!wide)
		return NULL;
	MultiByteToWideChar(CP_UTF8, 0, bytes, (int)len, wide, units);
	wide[units] = L'\0';
	return wide;
}

WCHAR *text_copy_wide(const WCHAR *wide)
{
	size_t bytes = (wcslen(wide) + 1) * sizeof(WCHAR);
	WCHAR *copy = LocalAlloc(LMEM_FIXED, bytes);

	if (copy)
		memcpy(copy, wide, bytes);
	return copy;
}
