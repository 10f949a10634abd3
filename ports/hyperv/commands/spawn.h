/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_SPAWN_H
#define HYPERV_SPAWN_H

#include "hyperv/store/store.h"

/* Starts this program as the keeper of the workspace (keeper_main()), without the console of this
 * process. Returns the end of a pipe from which the keeper's reports are read; INVALID_HANDLE_VALUE
 * with an error. The caller closes it. supervisor.log is the keeper's stderr. The keeper inherits
 * no other handles. */
HANDLE spawn_keeper(const struct store *store, const char *state_dir, const char *id,
		    struct error *err);
/* The option with which the keeper's command line begins. The number of a handle comes after it. */
#define KEEPER_OPTION "--keeper-reports-to="

#endif
