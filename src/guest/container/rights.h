/* SPDX-License-Identifier: MIT */
/* Sets the user, the capabilities and the system call filter of a contained program. The calling
 * process must run as root with all capabilities, and must already be in the namespaces of its
 * container. */
#ifndef GUEST_RIGHTS_H
#define GUEST_RIGHTS_H

#include "base/error.h"
#include "guest/container/contained.h"

/* Sets the rights of this process, and enters its working directory. If `cwd` is NULL, the working
 * directory is "/". If `first` is true, a missing `cwd` is created. */
int rights_take(const struct contained_process *process, const char *cwd, bool first,
		struct error *err);

#endif
