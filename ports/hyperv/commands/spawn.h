/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_SPAWN_H
#define HYPERV_SPAWN_H

#include "hyperv/store/store.h"

/* Starts this program again as the keeper of the workspace (keeper_main()), apart from the present
 * console. Returns the reading end of the keeper's reports; INVALID_HANDLE_VALUE with an error. The
 * keeper's stderr is supervisor.log; the keeper inherits no other handle. */
HANDLE spawn_keeper(const struct store *store, const char *state_dir, const char *id,
		    struct error *err);
/* The beginning of the keeper's command line. */
#define KEEPER_OPTION "--keeper-reports-to="

#endif
