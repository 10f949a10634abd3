/* SPDX-License-Identifier: MIT */
/* Where bases and sessions are below the state directory; contract/kind.h says how their
 * directories are called. */
#ifndef SESSION_PLACE_H
#define SESSION_PLACE_H

#include "api/api.h"
#include "contract/kind.h"

#define BASES_DIR "bases"
#define SESSIONS_DIR "sessions"

/* Opens <state>/<sub>, made where it is missing and create is set; ERR_NOT_FOUND otherwise. */
int state_sub_open(const struct microagent *agent, const char *sub, bool create,
		   struct state_dir *out, struct error *err);

#endif
