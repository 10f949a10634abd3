/* SPDX-License-Identifier: MIT */
/* A field that cannot be honoured is refused, never dropped. */
#include "backend/qemu/check.h"

#include <stdio.h>
#include <string.h>

#include "backend/qemu/command_line.h"
#include "base/cleanup.h"
#include "base/limits.h"

#define HOST_PORT_MAX ((1 << 30) - 1)
#define OWN_HOST_PORTS 2 /* the control stream's, and the one of mediation */

/* Bundles are disks too. */
static int check_count(const struct config *c, struct error *err)
{
	size_t count = json_array_size(c->disks) + json_array_size(c->bundles) +
		       json_array_size(c->shares);

	if (count <= MACHINE_EXTRAS_MAX)
		return 0;
	return error_set(err, ERR_INVALID,
			 "config.disks, config.bundles and config.shares have %zu entries "
			 "together, and a machine has room for %d",
			 count, MACHINE_EXTRAS_MAX);
}

/* microagent-vsockd takes no higher ones. */
static int check_host_port(const char *path, const json_t *declared, struct error *err)
{
	json_int_t port = json_integer_value(json_object_get(declared, "port"));

	if (port <= HOST_PORT_MAX)
		return 0;
	return error_set(err, ERR_UNSUPPORTED, "%s.port: QEMU's vsock device takes ports up to %d",
			 path, HOST_PORT_MAX);
}

static int check_host_ports(const struct config *c, struct error *err)
{
	size_t count = json_array_size(c->vsock_listeners);
	size_t most = (size_t)limit_get(LIMIT_VSOCK_HOST_PORTS) - OWN_HOST_PORTS;
	char path[64];

	if (count > most)
		return error_set(err, ERR_UNSUPPORTED,
				 "config.vsockListeners: a guest may have %zu, and these are %zu",
				 most, count);
	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "config.vsockListeners[%zu]", i);
		if (check_host_port(path, json_array_get(c->vsock_listeners, i), err) < 0)
			return -1;
	}
	return c->mediation ? check_host_port("config.mediation", c->mediation, err) : 0;
}

int check_fields(const struct config *c, struct error *err)
{
	if (c->cgroup && strcmp(c->cgroup, "systemd") == 0)
		return error_set(err, ERR_UNSUPPORTED,
				 "config.cgroup: this release has no scopes of systemd yet; give "
				 "the path of a cgroup");
	if (c->limits.net_bytes && c->network_mode == NETWORK_BRIDGED)
		return error_set(err, ERR_UNSUPPORTED,
				 "config.limits.netBytesPerSecond: what goes over a bridge is not "
				 "seen by microagent; limit it at the bridge, or take mode "
				 "\"nat\"");
	if (json_array_size(c->port_forwards) > limit_get(LIMIT_PUBLISHES))
		return error_set(err, ERR_INVALID,
				 "config.network.portForwards has %zu entries, and a guest may "
				 "publish %llu ports",
				 json_array_size(c->port_forwards),
				 (unsigned long long)limit_get(LIMIT_PUBLISHES));
	return check_count(c, err) < 0 ? -1 : check_host_ports(c, err);
}
