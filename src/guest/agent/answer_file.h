/* SPDX-License-Identifier: MIT */
/* The answers about files in the envelope form, as JSON text. The functions are pure; see
 * answer.h. */
#ifndef GUEST_ANSWER_FILE_H
#define GUEST_ANSWER_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* The result of a file operation. A process has done the work, and has exited. */
struct file_end {
	const struct buf *output; /* the process's output; empty if the process failed */
	bool cut;		  /* the process wrote more output than the agent keeps */
	/* The number of bytes of file contents that the process got on its stdin. */
	size_t written;
	const char *error; /* the reason why the operation failed; "": it succeeded */
};

/* Returns the answer to a copyout: {"data","error"}. The answer always has both members, and at
 * least one of the two is "". */
char *answer_copyout(const struct file_end *end, struct error *err);
/* Returns the answer to a write: {"size","error"}. The answer always has both members. */
char *answer_write(const struct file_end *end, struct error *err);
/* Returns the answer to a list: {"entries":[{"name","size","mode","is_dir","mod_time"}],"error"},
 * and also "truncated" if the list is not complete. */
char *answer_list(const struct file_end *end, struct error *err);
/* Returns the answer to a stat: {"name","size","mode","is_dir","mod_time","error"}. All members are
 * always present. */
char *answer_stat(const struct file_end *end, struct error *err);

#endif
