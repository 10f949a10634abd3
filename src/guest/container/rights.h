/* SPDX-License-Identifier: MIT */
/* Sets the user, the capabilities and the system call filter of a contained program. The calling
 * process must be root with all capabilities, and in its container. */
#ifndef GUEST_RIGHTS_H
#define GUEST_RIGHTS_H

#include "base/error.h"
#include "guest/container/contained.h"

/* Sets the rights of this process and its working directory. `cwd` NULL means "/". If `first` is
 * true, `cwd` is made if it is missing. */
int rights_take(const struct contained_process *process, const char *cwd, bool first,
		struct error *err);

#endif
