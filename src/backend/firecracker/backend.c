/* SPDX-License-Identifier: MIT */
/* The Firecracker backend: the struct backend that the supervisor uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/firecracker/binary.h"
#include "backend/firecracker/check.h"
#include "backend/firecracker/firecracker.h"
#include "backend/parts/cell_tap.h"
#include "backend/parts/host.h"
#include "backend/parts/kvm_probe.h"
#include "base/architecture.h"
#include "base/cleanup.h"

#define STAND_IN_REASON \
	"this is not Firecracker but the stand-in of the tests: its machines are emulated, and what they do says nothing of the real program"

static void fc_host_free(struct backend_host *host)
{
	free(host->binary_path);
	free(host->binary_version);
	*host = (struct backend_host){0};
}

#define KVM_ALONE "Firecracker runs machines only under KVM: "

static int need_kvm(const struct config *config, char reason[256], struct error *err)
{
	struct kvm_facts facts = {0};

	if (kvm_probe(config->kernel_path, &facts, err) < 0)
		return -1;
	snprintf(reason, 256, "%s", facts.reason);
	if (kvm_can_serve(&facts, config->accelerator))
		return 0;
	error_set(err, ERR_UNAVAILABLE, KVM_ALONE "%.150s", facts.reason);
	return error_reason(err, REASON_NO_KVM, "firecracker");
}

/* Finds the accelerator. Firecracker needs KVM. Tests use a stand-in for Firecracker, which names
 * itself in its version. The stand-in emulates, so its accelerator is TCG, and a config that asks
 * for KVM is refused. */
static int fc_accelerator(const struct config *config, enum accelerator *out, char reason[256],
			  struct error *err)
{
	__attribute__((cleanup(fc_version_free))) struct fc_version version = {0};
	autofree char *path = fc_find(err);

	if (!path || fc_check(path, &version, err) < 0)
		return -1;
	if (version.stand_in && config->accelerator == ACCELERATOR_KVM)
		return error_set(err, ERR_UNAVAILABLE, "accelerator kvm: " STAND_IN_REASON);
	if (version.stand_in)
		snprintf(reason, 256, "%s", STAND_IN_REASON);
	else if (need_kvm(config, reason, err) < 0)
		return -1;
	*out = version.stand_in ? ACCELERATOR_TCG : ACCELERATOR_KVM;
	return 0;
}

static int find_firecracker(struct backend_host *host, struct error *err)
{
	__attribute__((cleanup(fc_version_free))) struct fc_version version = {0};
	autofree char *path = fc_find(err);

	if (!path || fc_check(path, &version, err) < 0)
		return -1;
	host->accelerator = version.stand_in ? ACCELERATOR_TCG : ACCELERATOR_KVM;
	if (version.stand_in && asprintf(&host->binary_version, "%s (stand-in)", version.text) < 0)
		host->binary_version = NULL;
	if (!version.stand_in)
		host->binary_version = strdup(version.text);
	host->binary_path = steal_ptr(&path);
	return 0;
}

/* Finds the architectures whose machines can run on this host. For each other architecture, finds
 * the reason why not. Only machines of the host's own architecture can run. Such machines need a
 * usable Firecracker with KVM, or the stand-in of the tests. */
static void find_machines(struct backend_host *host, enum kvm_kernels kernels,
			  const struct error *missing)
{
	bool usable = kernels != KVM_KERNELS_NONE || host->accelerator == ACCELERATOR_TCG;
	char no_kvm[256];

	snprintf(no_kvm, sizeof(no_kvm), KVM_ALONE "%.150s", host->accelerator_reason);
	for (int i = 0; i < ARCHITECTURE_COUNT; i++) {
		bool own = (enum architecture)i == architecture_of_host();

		host->runs[i] = own && host->vsock_available && usable;
		snprintf(host->not_run[i], sizeof(host->not_run[i]), "%.255s",
			 !own			 ? FC_OWN_MACHINES
			 : host->vsock_available ? no_kvm
						 : missing->msg);
	}
}

/* Describes this host. If there is no usable Firecracker, accelerator_reason has the reason. */
static int fc_host(struct backend_host *out, struct error *err)
{
	struct backend_host host = {.architecture = architecture_name(architecture_of_host()),
				    .accelerator = ACCELERATOR_KVM};
	struct kvm_facts facts = {0};
	struct error missing = {0};

	if (host_find_kvm(&host, &facts, err) < 0)
		return -1;
	snprintf(host.accelerator_reason, sizeof(host.accelerator_reason), "%s", facts.reason);
	/* The version may have been remembered, and a script at Firecracker's path may run another
	 * program now. The caller wants the facts of this moment, so the remembered version is
	 * forgotten. */
	fc_check_forget();
	host.vsock_available = find_firecracker(&host, &missing) == 0;
	if (!host.vsock_available)
		snprintf(host.accelerator_reason, sizeof(host.accelerator_reason), "%.255s",
			 missing.msg);
	else if (host.accelerator == ACCELERATOR_TCG)
		snprintf(host.accelerator_reason, sizeof(host.accelerator_reason), "%s",
			 STAND_IN_REASON);
	find_machines(&host, facts.kernels, &missing);
	host.untested = "its tests use a stand-in; the real program was run only by hand";
	host_find_confinement(&host);
	host_find_networks(&host);
	*out = host;
	return 0;
}

static int fc_check_config(const struct config *config, struct error *err)
{
	enum accelerator accelerator;
	char reason[256];

	if (fc_check_bounds(config, err) < 0 || host_check_network(config, err) < 0 ||
	    (config->network_mode != NETWORK_ISOLATED && cell_tap_check(err) < 0) ||
	    host_check_cell(config, err) < 0)
		return -1;
	return fc_accelerator(config, &accelerator, reason, err);
}

static json_t *fc_programs(void)
{
	return programs_here(fc_binaries);
}

const struct backend backend_firecracker = {
	.name = "firecracker",
	/* Firecracker before 1.17 cannot boot a bzImage. Later versions can also boot the unpacked
	 * kernel. */
	.takes_no_bzimage = true,
	.binds_vsock = true,
	.powers_off_by_reset = true,
	/* aarch64 has no SendCtrlAltDel (src/firecracker/src/api_server/request/actions.rs). */
	.lacks_power_button = {[ARCHITECTURE_ARM64] = true},
	.refusals = fc_refusals,
	.host = fc_host,
	.host_free = fc_host_free,
	.check = fc_check_config,
	.programs = fc_programs,
	.accelerator = fc_accelerator,
	.boot = fc_boot,
	.describe = vm_describe,
	.power_button = fc_power_button,
	.kill = vm_kill,
	.resume = fc_resume,
	.pause = fc_pause,
	.balloon = fc_balloon,
	.console = fc_console,
	.linked = fc_linked,
	.egress = vm_net_egress,
	.sever = vm_sever,
	.user = cell_id,
	.sever_duty = &vm_sever_duty,
	.socket_duty = &fc_socket_duty,
	.broker_fds = vm_broker_fds,
	.end_all = vm_end_all,
	.free = fc_free,
};
