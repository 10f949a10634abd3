/* SPDX-License-Identifier: MIT */
/* Adds a line to the text of the file passwd, group or shadow. The function is pure. */
#ifndef GUEST_ACCOUNT_LINES_H
#define GUEST_ACCOUNT_LINES_H

#include <stdint.h>

#include "base/error.h"

#define ACCOUNT_NO_ID UINT32_MAX

struct account_line {
	const char *name; /* the user's or group's name, which is the first field of the line */
	const char *line; /* the whole line to add, without a newline */
	/* The uid or gid, which is the third field of the line. ACCOUNT_NO_ID: the lines of this
	 * file have no number. */
	uint32_t id;
};

/* Returns the text with the line added. The caller frees the result. If the text already has a line
 * with this name and number, the result is the same as the text. Otherwise the new line comes
 * before the first line with this number, or at the end of the text. Fails with ERR_CONFLICT if the
 * text has a line with this name and another number. */
char *account_lines_add(const char *text, const struct account_line *line, struct error *err);

#endif
