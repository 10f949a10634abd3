/* SPDX-License-Identifier: MIT */
/* A line more in the text of passwd, group or shadow. Pure. */
#ifndef GUEST_ACCOUNT_LINES_H
#define GUEST_ACCOUNT_LINES_H

#include <stdint.h>

#include "base/error.h"

#define ACCOUNT_NO_ID UINT32_MAX

struct account_line {
	const char *name; /* its first field */
	const char *line; /* all of it, without newline */
	uint32_t id;	  /* its third field; ACCOUNT_NO_ID: the file has none */
};

/* The text with the line in it, malloc'd: as it was where there is one of that name and number; in
 * front of the first one of that number; else at the end. ERR_CONFLICT: the name has another
 * number. */
char *account_lines_add(const char *text, const struct account_line *line, struct error *err);

#endif
