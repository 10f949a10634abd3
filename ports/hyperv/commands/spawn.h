/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_SPAWN_H
#define HYPERV_SPAWN_H

#include "hyperv/store/store.h"

/* Starts this program as the live supervisor (keeper) of the workspace (keeper_main()). The keeper
 * does not get the console of this process. Returns the read end of a pipe with the keeper's
 * reports, which the caller closes, or INVALID_HANDLE_VALUE with err set. The keeper's stderr is
 * the file supervisor.log. The keeper inherits no other handles. */
HANDLE spawn_keeper(const struct store *store, const char *state_dir, const char *id,
		    struct error *err);
/* The first option of the keeper's command line. The number of the handle for its reports follows
 * it. */
#define KEEPER_OPTION "--keeper-reports-to="

#endif
