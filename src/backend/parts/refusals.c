/* SPDX-License-Identifier: MIT */
#include "backend/parts/refusals.h"

#include <stdio.h>
#include <string.h>

#define HOST_PORT_MAX 1073741823

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

static bool is_high(const json_t *declared)
{
	return json_integer_value(json_object_get(declared, "port")) > HOST_PORT_MAX;
}

bool refusal_of_high_listener(const struct config *config, char path[REFUSAL_PATH])
{
	const json_t *declared;
	size_t i;

	json_array_foreach(config->vsock_listeners, i, declared)
	{
		if (!is_high(declared))
			continue;
		snprintf(path, REFUSAL_PATH, "vsockListeners[%zu].port", i);
		return true;
	}
	return false;
}

bool refusal_of_high_mediation(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return is_high(config->mediation);
}
