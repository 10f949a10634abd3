/* SPDX-License-Identifier: MIT */
/* Adds a line to the text of the file passwd, group or shadow. The function is pure. */
#ifndef GUEST_ACCOUNT_LINES_H
#define GUEST_ACCOUNT_LINES_H

#include <stdint.h>

#include "base/error.h"

#define ACCOUNT_NO_ID UINT32_MAX

struct account_line {
	const char *name; /* the name, which is the first field of the line */
	const char *line; /* the whole line without its newline */
	/* The number, which is the third field; ACCOUNT_NO_ID: lines of this file have no
	 * number. */
	uint32_t id;
};

/* Returns the text with the line in it. The caller frees the result. If the text has a line of that
 * name and number already, the text is unchanged. Otherwise the new line comes before the first
 * line of that number, or at the end. Fails with ERR_CONFLICT if the text has the name with another
 * number. */
char *account_lines_add(const char *text, const struct account_line *line, struct error *err);

#endif
