/* SPDX-License-Identifier: MIT */
/* The processes of this host, as far as it shows them to us. A number may be another's a moment
 * later: whoever ends a process that was found here opens it and looks again. */
#ifndef BASE_PLATFORM_PROCESS_LIST_H
#define BASE_PLATFORM_PROCESS_LIST_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

/* Ends at the first -1. */
typedef int process_fn(void *data, pid_t pid, struct error *err);
int process_each(process_fn *fn, void *data, struct error *err);

#define PROCESS_TITLE_BYTES 8192
/* What the process shows in the place of its first argument, with its arguments behind NULs. out:
 * of at least that size. -1: it is not to be had. */
int process_title(pid_t pid, struct buf *out);

#endif
