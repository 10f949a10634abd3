/* SPDX-License-Identifier: MIT */
#include "backend/parts/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/parts/confinement.h"
#include "backend/parts/host_routes.h"
#include "backend/parts/idmap.h"
#include "backend/parts/programs.h"
#include "backend/parts/tap.h"
#include "backend/parts/virtiofsd.h"
#include "base/cleanup.h"
#include "store/cache.h"

/* Refuses a start if this host cannot make cells, unless the config asks for a machine without a
 * cell. */
int host_check_cell(const struct config *config, struct error *err)
{
	if (config->confinement == CONFINEMENT_SECCOMP)
		return 0;
	autofree char *bwrap = confinement_bwrap(err);
	if (bwrap)
		return 0;
	error_reason(err, REASON_NO_CELL, "");
	return error_prefix(err, "config.confinement");
}

int host_check_shares(const struct config *config, struct error *err)
{
	struct virtiofsd program = {0};
	struct idmap map;
	int status;

	if (json_array_size(config->shares) == 0)
		return 0;
	status = virtiofsd_find(&program, err);
	for (size_t i = 0; i < json_array_size(config->shares) && status == 0; i++) {
		const json_t *share = json_array_get(config->shares, i);
		const struct virtiofsd_service service = {.terms = share_terms(share)};

		status = virtiofsd_check(&program, &service, err);
		if (status < 0)
			error_prefix(err, "config.shares[%zu]", i);
	}
	virtiofsd_free(&program);
	if (status < 0)
		return -1;
	autofree char *bwrap = idmap_find(-1, &map, err) == 0 ? confinement_bwrap(err) : NULL;
	return bwrap ? 0 : error_prefix(err, "config.shares");
}

static int check_nat(struct error *err)
{
	autofree char *passt = program_passt(err);
	autofree char *netgate = passt ? program_netgate(err) : NULL;

	return netgate ? 0 : -1;
}

int host_check_network(const struct config *config, struct error *err)
{
	switch (config->network_mode) {
	case NETWORK_NAT:
		return check_nat(err);
	case NETWORK_BRIDGED:
		/* A request always has an interface. The recorded config may lack it, since a live
		 * supervisor may have changed the record. */
		if (!config->network_interface)
			return error_set(
				err, ERR_INVALID,
				"config.network.interface is missing: mode \"bridged\" needs the name of a bridge of this host, for example \"br0\"");
		return tap_check(config->network_interface, err);
	case NETWORK_ISOLATED:
		break;
	}
	return 0;
}

int host_find_kvm(struct backend_host *host, struct kvm_facts *facts, struct error *err)
{
	struct cache_kernel kernel = {0};
	bool found = cache_kernel_find(NULL, architecture_of_host(), &kernel, NULL) == 0;
	int result = kvm_probe(found ? kernel.path : NULL, facts, err);

	cache_kernel_free(&kernel);
	if (result < 0)
		return -1;
	host->kvm_available = facts->kvm == KVM_USABLE;
	host->kvm_kernels = kvm_kernels_names[facts->kernels];
	return 0;
}

void host_find_confinement(struct backend_host *host)
{
	struct error why = {.msg = "bubblewrap makes namespaces here"};
	autofree char *bwrap = confinement_bwrap(&why);

	host->confinement = confinement_names[bwrap ? CONFINEMENT_CELL : CONFINEMENT_SECCOMP];
	snprintf(host->confinement_reason, sizeof(host->confinement_reason), "%.255s", why.msg);
}

void host_find_networks(struct backend_host *host)
{
	autofree struct host_routes *routes = malloc(sizeof(*routes));
	autoclose int table = host_routes_open(NULL);
	struct error why = {0};

	host->nat_available = check_nat(&why) == 0;
	if (!host->nat_available)
		snprintf(host->nat_reason, sizeof(host->nat_reason), "%.255s", why.msg);
	else if (routes && table >= 0 && host_routes_read(table, routes, &why) == 0 &&
		 !routes->has_default)
		snprintf(host->nat_reason, sizeof(host->nat_reason),
			 "this host has no default route: a machine on nat reaches nothing");
	host->bridged_available = tap_check(NULL, &why) == 0;
	if (!host->bridged_available)
		snprintf(host->bridged_reason, sizeof(host->bridged_reason), "%.255s", why.msg);
}
