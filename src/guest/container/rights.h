/* SPDX-License-Identifier: MIT */
/* What a contained program is: its ids, capabilities, filter. Of the process that calls it, which
 * is root with all capabilities, and in its container. */
#ifndef GUEST_RIGHTS_H
#define GUEST_RIGHTS_H

#include "base/error.h"
#include "guest/container/contained.h"

/* cwd is made where it is missing; NULL: "/". */
int rights_take(const struct contained_process *process, const char *cwd, bool first,
		struct error *err);

#endif
