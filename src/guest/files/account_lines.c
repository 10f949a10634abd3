/* SPDX-License-Identifier: MIT */
#include "guest/files/account_lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

/* Returns the field with the index `n`, counted from 0, of a line of `end` bytes. Sets *len to the
 * field's length in bytes, or to 0 if there is no such field. */
static const char *nth_field(const char *line, size_t end, unsigned n, size_t *len)
{
	const char *at = line, *stop = line + end;

	for (; n > 0; n--) {
		const char *colon = memchr(at, ':', (size_t)(stop - at));

		if (!colon) {
			*len = 0;
			return stop;
		}
		at = colon + 1;
	}
	*len = strcspn(at, ":\n");
	if (*len > (size_t)(stop - at))
		*len = (size_t)(stop - at);
	return at;
}

static bool field_is(const char *line, size_t end, unsigned n, const char *text)
{
	size_t len;
	const char *at = nth_field(line, end, n, &len);

	return len == strlen(text) && memcmp(at, text, len) == 0;
}

char *account_lines_add(const char *text, const struct account_line *line, struct error *err)
{
	autobuf struct buf out = BUF_INIT(0);
	size_t place = strlen(text), next;
	bool placed = false, in_line;
	char id[16] = "";

	if (line->id != ACCOUNT_NO_ID)
		snprintf(id, sizeof(id), "%u", line->id);
	for (size_t at = 0; text[at]; at = next) {
		size_t end = strcspn(text + at, "\n");

		next = at + end + (text[at + end] == '\n');
		if (field_is(text + at, end, 0, line->name)) {
			if (*id && !field_is(text + at, end, 2, id)) {
				error_set(
					err, ERR_CONFLICT,
					"\"%s\" is already in this file with a number other than %s: remove its line from the image",
					line->name, id);
				return NULL;
			}
			return strdup(text);
		}
		if (*id && !placed && field_is(text + at, end, 2, id)) {
			place = at;
			placed = true;
		}
	}
	in_line = place > 0 && text[place - 1] != '\n';
	if (buf_append(&out, text, place, err) < 0 ||
	    buf_printf(&out, err, "%s%s\n%s", in_line ? "\n" : "", line->line, text + place) < 0)
		return NULL;
	return buf_steal_string(&out, err);
}
