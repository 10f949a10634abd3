/* SPDX-License-Identifier: MIT */
/* What prepare does, for itself and for a run in an unprepared directory. */
#ifndef SUPERVISOR_PREPARE_H
#define SUPERVISOR_PREPARE_H

#include "base/error.h"
#include "supervisor/commands/record.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/bundles.h"

/* Makes the workspace's directory with the bundles in it, records the config and the digests,
 * forgets an earlier run, and records `prepared`. Under the command lock, in a state that allows
 * prepare. */
int prepare_workspace(struct record *record, const struct boot_files *files,
		      const struct bundle_list *bundles, struct error *err);

#endif
