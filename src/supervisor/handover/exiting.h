/* SPDX-License-Identifier: MIT */
#ifndef SUPERVISOR_EXITING_H
#define SUPERVISOR_EXITING_H

#include <stdbool.h>
#include <sys/types.h>

/* Between the death of a process and its end lies the giving back of its memory and descriptors.
 * Whether it is there, or gone. */
bool process_is_exiting(pid_t pid);

#endif
