/* SPDX-License-Identifier: MIT */
/* What no backend of this system gives: predicates for the rows of several of them. Pure. */
#ifndef BACKEND_PARTS_REFUSALS_H
#define BACKEND_PARTS_REFUSALS_H

#include "backend/backend.h"

#define REFUSED_SCOPE                                                                             \
	{                                                                                         \
		"cgroup", "this release has no scopes of systemd yet; give the path of a cgroup", \
			refusal_of_scope                                                          \
	}
#define REFUSED_BRIDGE_RATE                                                                   \
	{                                                                                     \
		"limits.netBytesPerSecond",                                                   \
			"what goes over a bridge is not seen by microagent; limit it at the " \
			"bridge, or take mode \"nat\"",                                       \
			refusal_of_bridge_rate                                                \
	}

bool refusal_of_scope(const struct config *config, char path[REFUSAL_PATH]);
bool refusal_of_bridge_rate(const struct config *config, char path[REFUSAL_PATH]);

#endif
