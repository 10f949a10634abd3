/* SPDX-License-Identifier: MIT */
/* Rows for requests that neither QEMU nor Firecracker can fulfil, and functions that both backends
 * use in their own rows. The functions are pure. */
#ifndef BACKEND_PARTS_REFUSALS_H
#define BACKEND_PARTS_REFUSALS_H

#include "backend/backend.h"

#define REFUSED_SCOPE                                                                                \
	{                                                                                            \
		"cgroup",                                                                            \
			"this release cannot make scopes of systemd yet; give the path of a cgroup", \
			refusal_of_scope                                                             \
	}
#define REFUSED_MACOS                                                                             \
	{                                                                                         \
		"macos", "only Apple's Virtualization.framework runs macOS guests", ASKS_BY_FIELD \
	}
#define REFUSED_BRIDGE_RATE                                                                                             \
	{                                                                                                               \
		"limits.netBytesPerSecond",                                                                             \
			"microagent does not see the traffic of a bridge; limit it at the bridge, or use mode \"nat\"", \
			refusal_of_bridge_rate                                                                          \
	}

/* Rows that refuse ports above 2^30 - 1. The host's own connections use the numbers from 2^30
 * on. */
#define REFUSED_HIGH_LISTENER(limitation)                                     \
	{                                                                     \
		"vsockListeners[].port", limitation, refusal_of_high_listener \
	}
#define REFUSED_HIGH_MEDIATION(limitation)                              \
	{                                                               \
		"mediation.port", limitation, refusal_of_high_mediation \
	}

bool refusal_of_scope(const struct config *config, char path[REFUSAL_PATH]);
bool refusal_of_bridge_rate(const struct config *config, char path[REFUSAL_PATH]);
bool refusal_of_high_listener(const struct config *config, char path[REFUSAL_PATH]);
bool refusal_of_high_mediation(const struct config *config, char path[REFUSAL_PATH]);

#endif
