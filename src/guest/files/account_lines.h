/* SPDX-License-Identifier: MIT */
/* Adds a line to the text of passwd, group or shadow. The function is pure. */
#ifndef GUEST_ACCOUNT_LINES_H
#define GUEST_ACCOUNT_LINES_H

#include <stdint.h>

#include "base/error.h"

#define ACCOUNT_NO_ID UINT32_MAX

struct account_line {
	const char *name; /* the first field */
	const char *line; /* the whole line, without newline */
	uint32_t id;	  /* the third field; ACCOUNT_NO_ID: the file has none */
};

/* Returns the text with the line in it, which the caller frees. The text is unchanged if it has a
 * line of that name and number. Otherwise the new line comes before the first line of that number,
 * or at the end. Fails with ERR_CONFLICT if the name has another number. */
char *account_lines_add(const char *text, const struct account_line *line, struct error *err);

#endif
