/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_SPAWN_H
#define HYPERV_SPAWN_H

#include "hyperv/store/store.h"

/* Starts this program as the live supervisor of the workspace (keeper_main()). Returns the read end
 * of a pipe with the reports of the live supervisor, which the caller closes, or
 * INVALID_HANDLE_VALUE with err set. The live supervisor does not get the console of this process,
 * has the file supervisor.log as its stderr, and inherits no other handles. */
HANDLE spawn_keeper(const struct store *store, const char *state_dir, const char *id,
		    struct error *err);
/* The first option on the command line of a live supervisor. The number of the handle for its
 * reports follows the option. */
#define KEEPER_OPTION "--keeper-reports-to="

#endif
