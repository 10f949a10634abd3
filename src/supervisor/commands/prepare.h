/* SPDX-License-Identifier: MIT */
/* Does the work of the command prepare. The command run also does this work if the workspace is not
 * prepared. */
#ifndef SUPERVISOR_PREPARE_H
#define SUPERVISOR_PREPARE_H

#include "base/error.h"
#include "supervisor/commands/record.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/bundles.h"

/* Makes the workspace's directory with the bundles in it, records the config and the digests,
 * removes the files of an earlier run, and records `prepared`. The caller holds the command lock
 * and has checked that prepare is allowed in the recorded state. */
int prepare_workspace(struct record *record, const struct boot_files *files,
		      const struct bundle_list *bundles, struct error *err);

#endif
