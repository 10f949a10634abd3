/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_SPAWN_H
#define HYPERV_SPAWN_H

#include "hyperv/store/store.h"

/* Starts this program again as the keeper of the workspace (keeper_main()), apart from our console.
 * Returns the reading end of what it reports; INVALID_HANDLE_VALUE: err. Its stderr is
 * supervisor.log, and it inherits nothing else. */
HANDLE spawn_keeper(const struct store *store, const char *state_dir, const char *id,
		    struct error *err);
/* How its command line begins. */
#define KEEPER_OPTION "--keeper-reports-to="

#endif
