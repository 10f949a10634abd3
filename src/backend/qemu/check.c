/* SPDX-License-Identifier: MIT */
/* A field that cannot be honoured is refused, never dropped. Rows go as releases bring the parts. */
#include "backend/qemu/check.h"

#include "backend/qemu/command_line.h"
#include "base/cleanup.h"

struct refusal {
	const char *path;
	const char *missing;
};

static int refuse(const struct refusal *r, struct error *err)
{
	return error_set(err, ERR_UNSUPPORTED, "%s: this release has no %s", r->path, r->missing);
}

static const struct refusal modes[] = {
	[NETWORK_NAT] = {"config.network.mode",
			 "network card for QEMU yet, so nat is not to be had: use \"isolated\""},
	[NETWORK_BRIDGED] = {"config.network.mode", "network card for QEMU yet, so bridged is not "
						    "to be had: use \"isolated\""},
};

static bool holds_something(const json_t *value)
{
	return json_array_size(value) || json_object_size(value);
}

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

int check_fields(const struct config *c, struct error *err)
{
	const struct {
		bool given;
		struct refusal refusal;
	} rows[] = {
		{c->network_interface != NULL,
		 {"config.network.interface", "network card for QEMU yet"}},
		{holds_something(c->port_forwards),
		 {"config.network.portForwards", "published ports yet"}},
		{holds_something(c->mediation), {"config.mediation", "mediation yet"}},
		{holds_something(c->vsock_listeners),
		 {"config.vsockListeners", "further vsock listeners yet"}},
		{holds_something(c->bundles), {"config.bundles", "bundles yet"}},
		{holds_something(c->outputs), {"config.outputs", "outputs yet"}},
		{c->cgroup != NULL, {"config.cgroup", "placement in a cgroup yet"}},
	};

	if (c->network_mode != NETWORK_ISOLATED)
		return refuse(&modes[c->network_mode], err);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].given)
			return refuse(&rows[i].refusal, err);
	return check_count(c, err);
}
