/* SPDX-License-Identifier: MIT */
/* Tells the user which autorun files have changed in shared directories. */
#ifndef CLI_CHANGES_H
#define CLI_CHANGES_H

#include "cli/options/guest.h"

/* Warns about each autorun file that has changed since `since_ns` (CLOCK_REALTIME, in nanoseconds)
 * in the writable directories that the machine of `values` had, and in the repository that
 * --share-git shared too. A command that makes a machine and ends it calls this function after the
 * machine has ended. */
void changes_warn(const struct cli *cli, const struct guest_values *values, int64_t since_ns);

#endif
