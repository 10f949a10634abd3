/* SPDX-License-Identifier: MIT */
/* The answers about files in the envelope form, as JSON text. The functions are pure; see
 * answer.h. */
#ifndef GUEST_ANSWER_FILE_H
#define GUEST_ANSWER_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* The end of the process that did the work. */
struct file_end {
	const struct buf *output; /* empty if the process failed */
	bool cut;		  /* there was more output than is kept */
	size_t written;		  /* bytes of the file that were given to the process */
	const char *error;	  /* "": the work was done */
};

/* Returns {"data","error"}. Both are always there, and one of them is "". */
char *answer_copyout(const struct file_end *end, struct error *err);
/* Returns {"size","error"}. Both are always there. */
char *answer_write(const struct file_end *end, struct error *err);
/* Returns {"entries":[{"name","size","mode","is_dir","mod_time"}],"error"}, and "truncated" if
 * entries are missing. */
char *answer_list(const struct file_end *end, struct error *err);
/* Returns {"name","size","mode","is_dir","mod_time","error"}. All are always there. */
char *answer_stat(const struct file_end *end, struct error *err);

#endif
