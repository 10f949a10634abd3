/* SPDX-License-Identifier: MIT */
/* Opens the directories of bases and sessions below the state directory. contract/kind.h has the
 * names of these directories. */
#ifndef SESSION_PLACE_H
#define SESSION_PLACE_H

#include "api/api.h"
#include "contract/kind.h"

#define BASES_DIR "bases"
#define SESSIONS_DIR "sessions"

/* Opens the directory <state>/<sub>. A missing directory is made if `create` is true. Otherwise the
 * call fails with ERR_NOT_FOUND. */
int state_sub_open(const struct microagent *agent, const char *sub, bool create,
		   struct state_dir *out, struct error *err);

#endif
