/* SPDX-License-Identifier: MIT */
#include "backend/parts/bounds.h"

#include "base/limits.h"

/* The number of ports that microagent itself uses: one for the control stream and one for the
 * mediation. */
#define OWN_HOST_PORTS 2

int bounds_check(const struct config *c, struct error *err)
{
	size_t listeners = json_array_size(c->vsock_listeners);
	size_t most = (size_t)limit_get(LIMIT_VSOCK_HOST_PORTS) - OWN_HOST_PORTS;

	if (json_array_size(c->port_forwards) > limit_get(LIMIT_PUBLISHES))
		return error_set(
			err, ERR_INVALID,
			"config.network.portForwards has %zu entries, but a guest may publish at most %llu ports: leave some out",
			json_array_size(c->port_forwards),
			(unsigned long long)limit_get(LIMIT_PUBLISHES));
	if (listeners <= most)
		return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"config.vsockListeners: a guest may have at most %zu listeners, but the config has %zu: leave some out",
		most, listeners);
}
