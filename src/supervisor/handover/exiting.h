/* SPDX-License-Identifier: MIT */
#ifndef SUPERVISOR_EXITING_H
#define SUPERVISOR_EXITING_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns whether the process is exiting or has gone. A process that has died gives back its memory
 * and descriptors before it is gone. */
bool process_is_exiting(pid_t pid);

#endif
