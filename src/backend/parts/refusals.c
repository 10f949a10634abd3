/* SPDX-License-Identifier: MIT */
#include "backend/parts/refusals.h"

#include <string.h>

bool refusal_of_scope(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return config->cgroup && strcmp(config->cgroup, "systemd") == 0;
}

bool refusal_of_bridge_rate(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return config->limits.net_bytes && config->network_mode == NETWORK_BRIDGED;
}
