/* SPDX-License-Identifier: MIT */
#ifndef SUPERVISOR_EXITING_H
#define SUPERVISOR_EXITING_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns true if the process is exiting or has exited. An exiting process still exists while the
 * kernel frees its memory and descriptors. */
bool process_is_exiting(pid_t pid);

#endif
