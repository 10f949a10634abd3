/* SPDX-License-Identifier: MIT */
/* Where bases and sessions are below the state directory, and how their directories are called. */
#ifndef SESSION_PLACE_H
#define SESSION_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"

#define BASES_DIR "bases"
#define SESSIONS_DIR "sessions"
#define BUNDLE_SUFFIX ".bundle"

/* Opens <state>/<sub>, made where it is missing and create is set; ERR_NOT_FOUND otherwise. */
int state_sub_open(const struct microagent *agent, const char *sub, bool create,
		   struct state_dir *out, struct error *err);
/* How many bytes of word stand in front of BUNDLE_SUFFIX: all of them, where it is not there. */
size_t bundle_name_length(const char *word);

#endif
