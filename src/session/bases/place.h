/* SPDX-License-Identifier: MIT */
/* The places of bases and sessions below the state directory. contract/kind.h says how their
 * directories are named. */
#ifndef SESSION_PLACE_H
#define SESSION_PLACE_H

#include "api/api.h"
#include "contract/kind.h"

#define BASES_DIR "bases"
#define SESSIONS_DIR "sessions"

/* Opens <state>/<sub>. If it is missing, it is made with `create`, and without `create` the error
 * is ERR_NOT_FOUND. */
int state_sub_open(const struct microagent *agent, const char *sub, bool create,
		   struct state_dir *out, struct error *err);

#endif
