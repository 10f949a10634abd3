/* SPDX-License-Identifier: MIT */
/* The envelope form's answers about files, as JSON text. Pure; see answer.h. */
#ifndef GUEST_ANSWER_FILE_H
#define GUEST_ANSWER_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* How the process that did the work ended. */
struct file_end {
	const struct buf *output; /* empty when it failed */
	bool cut;		  /* there was more output than is kept */
	size_t written;		  /* bytes of the file that were given to it */
	const char *error;	  /* "": done */
};

/* {"data","error"}: both always, one of them "". */
char *answer_copyout(const struct file_end *end, struct error *err);
/* {"size","error"}: both always. */
char *answer_write(const struct file_end *end, struct error *err);
/* {"entries":[{"name","size","mode","is_dir","mod_time"}],"error"}, and "truncated" when it holds.
 */
char *answer_list(const struct file_end *end, struct error *err);
/* {"name","size","mode","is_dir","mod_time","error"}: always all. */
char *answer_stat(const struct file_end *end, struct error *err);

#endif
