/* SPDX-License-Identifier: MIT */
/* The QEMU backend as the supervisor sees it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/qemu/accel_probe.h"
#include "backend/qemu/check.h"
#include "backend/qemu/confinement.h"
#include "backend/qemu/host_routes.h"
#include "backend/qemu/idmap.h"
#include "backend/qemu/programs.h"
#include "backend/qemu/tap.h"
#include "backend/qemu/vm.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"

/* "QEMU emulator version 7.2.22 (Debian ...)" without its first words; NULL when it does not say.
 */
static char *version_of(const char *binary)
{
	static const char before[] = "version ";
	autobuf struct buf out = BUF_INIT(65536);
	const char *const argv[] = {binary, "--version", NULL};
	uint64_t deadline = limit_deadline(LIMIT_QMP_MS);
	struct error ignored;

	if (proc_run(argv, &out, deadline, &ignored) < 0)
		return NULL;
	const char *text = buf_string(&out), *at = text ? strstr(text, before) : NULL;
	if (!at)
		return NULL;
	at += sizeof(before) - 1;
	return strndup(at, strcspn(at, "\n"));
}

static void qemu_host_free(struct backend_host *host)
{
	free(host->binary_path);
	free(host->binary_version);
	*host = (struct backend_host){0};
}

static int qemu_accelerator(enum accelerator wanted, enum accelerator *out, char reason[256],
			    struct error *err)
{
	struct accel_facts facts = {0};

	/* Asked for by name, TCG needs no look at KVM. */
	if (wanted != ACCELERATOR_TCG && accel_probe(&facts, err) < 0)
		return -1;
	return accel_choose(wanted, &facts, out, reason, err);
}

static void find_confinement(struct backend_host *host)
{
	struct error why = {.msg = "bubblewrap makes namespaces here"};
	autofree char *bwrap = confinement_bwrap(&why);

	host->confinement = confinement_names[bwrap ? CONFINEMENT_CELL : CONFINEMENT_SECCOMP];
	snprintf(host->confinement_reason, sizeof(host->confinement_reason), "%.255s", why.msg);
}

static int check_nat(struct error *err)
{
	autofree char *passt = program_passt(err);
	autofree char *netgate = passt ? program_netgate(err) : NULL;

	return netgate ? 0 : -1;
}

static int check_qemu_network(const struct config *config, struct error *err)
{
	switch (config->network_mode) {
	case NETWORK_NAT:
		return check_nat(err);
	case NETWORK_BRIDGED:
		if (!config->network_interface)
			return error_set(
				err, ERR_INVALID,
				"config.network.interface: mode \"bridged\" needs the name "
				"of a bridge");
		return tap_check(config->network_interface, err);
	case NETWORK_ISOLATED:
		break;
	}
	return 0;
}

static void find_networks(struct backend_host *host)
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
			 "this host has no default route: the link of nat leads nowhere");
	host->bridged_available = tap_check(NULL, &why) == 0;
	if (!host->bridged_available)
		snprintf(host->bridged_reason, sizeof(host->bridged_reason), "%.255s", why.msg);
}

static int qemu_host(struct backend_host *out, struct error *err)
{
	struct backend_host host = {.architecture = "amd64"}; /* the protocol's word for it */
	struct accel_facts facts;
	struct error missing;
	autofree char *vsockd = program_vsockd(&missing);

	if (accel_probe(&facts, err) < 0 ||
	    accel_choose(ACCELERATOR_AUTO, &facts, &host.accelerator, host.accelerator_reason,
			 err) < 0)
		return -1;
	host.kvm_available = facts.kvm == KVM_USABLE;
	host.vsock_available = vsockd != NULL;
	find_confinement(&host);
	find_networks(&host);
	host.binary_path = program_qemu(&missing);
	if (host.binary_path)
		host.binary_version = version_of(host.binary_path);
	*out = host;
	return 0;
}

static int check_shares(const struct config *config, struct error *err)
{
	struct idmap map;

	if (json_array_size(config->shares) == 0)
		return 0;
	autofree char *virtiofsd = program_virtiofsd(err);
	if (!virtiofsd || idmap_find(-1, &map, err) < 0)
		return -1;
	autofree char *bwrap = confinement_bwrap(err);
	return bwrap ? 0 : -1;
}

/* No cell, no start; unless that is what was asked for. */
static int check_cell(const struct config *config, struct error *err)
{
	if (config->confinement == CONFINEMENT_SECCOMP)
		return 0;
	autofree char *bwrap = confinement_bwrap(err);
	return bwrap ? 0 : error_reason(err, REASON_NO_CELL, "");
}

static int qemu_check(const struct config *config, struct error *err)
{
	enum accelerator accelerator;
	char reason[256];

	if (check_fields(config, err) < 0)
		return -1;
	autofree char *qemu = program_qemu(err);
	autofree char *vsockd = qemu ? program_vsockd(err) : NULL;
	if (!vsockd || check_qemu_network(config, err) < 0)
		return -1;
	if (check_cell(config, err) < 0)
		return error_prefix(err, "config.confinement");
	if (check_shares(config, err) < 0)
		return error_prefix(err, "config.shares");
	return qemu_accelerator(config->accelerator, &accelerator, reason, err);
}

const struct backend backend_qemu = {
	.name = "qemu",
	.host = qemu_host,
	.host_free = qemu_host_free,
	.honours = check_fields,
	.check = qemu_check,
	.programs = programs_here,
	.accelerator = qemu_accelerator,
	.boot = vm_boot,
	.describe = vm_describe,
	.power_button = vm_power_button,
	.kill = vm_kill,
	.resume = vm_resume,
	.pause = vm_pause,
	.layer_room = vm_layer_room,
	.balloon = vm_balloon,
	.share_attach = vm_share_attach,
	.share_detach = vm_share_detach,
	.console = vm_console,
	.sever = vm_sever,
	.user = cell_id,
	.share_duty = &vm_share_duty,
	.sever_duty = &vm_sever_duty,
	.broker_fds = vm_broker_fds,
	.free = vm_free,
};
