/* SPDX-License-Identifier: MIT */
#ifndef GUEST_PID1_H
#define GUEST_PID1_H

#include <stdbool.h>

#include "base/error.h"

/* The life of PID 1 in the root file system. Returns only when it cannot begin; ends the machine.
 * shell: it keeps one on the console. */
int pid1_run(int program_fd, bool shell, struct error *err);

#endif
