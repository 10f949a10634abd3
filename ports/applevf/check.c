/* SPDX-License-Identifier: MIT */
/* Checks a config for a machine of Virtualization.framework. Some checks depend on this host, and
 * others are the same on all hosts. */
#include <stdio.h>
#include <string.h>

#include "applevf/applevf.h"
#include "applevf/vz_macos.h"
#include "backend/parts/bounds.h"
#include "base/architecture.h"

int applevf_check_host(const struct vz_host *host, struct error *err)
{
	if (!host->framework)
		return error_set(
			err, ERR_UNAVAILABLE,
			"Virtualization.framework is missing: this program needs macOS 13 or newer");
	if (!host->supported)
		return error_set(
			err, ERR_UNAVAILABLE,
			"Virtualization.framework runs no machines on this Mac (VZVirtualMachine.isSupported is false): use another Mac");
	if (!host->entitled)
		return error_set(
			err, ERR_DENIED,
			"this program is not signed with the entitlement com.apple.security.virtualization: sign it by codesign, as `make` does; anybody may do so");
	return 0;
}

int applevf_check_bridge(const struct vz_host *host, struct error *err)
{
	if (host->entitled_to_bridge)
		return 0;
	return error_set(
		err, ERR_DENIED,
		"mode \"bridged\" needs the entitlement com.apple.vm.networking, which this program is not signed with: Apple gives it on request to developers of virtualization software, and root does not replace it; choose mode \"nat\"");
}

static int check_network(const struct config *config, const struct vz_host *host, struct error *err)
{
	if (config->network_mode != NETWORK_BRIDGED)
		return 0;
	/* Refuses a config without an interface. A request always names an interface, but the
	 * config may also come from a record of a live supervisor, where the interface may be
	 * missing. */
	if (!config->network_interface)
		return error_set(
			err, ERR_INVALID,
			"config.network.interface: mode \"bridged\" needs the identifier or the name of an interface, like en0");
	if (applevf_check_bridge(host, err) < 0)
		return error_prefix(err, "config.network.mode");
	return vz_check_interface(config->network_interface, err);
}

static int check_memory(const struct config *config, const struct vz_host *host, struct error *err)
{
	uint64_t bytes = (uint64_t)config->memory_mib << 20;

	if (bytes >= host->memory_min && bytes <= host->memory_max)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"config.memoryMiB must be from %llu to %llu MiB with Virtualization.framework on this Mac, and is %lld",
		(unsigned long long)(host->memory_min >> 20),
		(unsigned long long)(host->memory_max >> 20), (long long)config->memory_mib);
}

/* Checks the number of processors. 0 means that the config has no number. */
static int check_cpus(const struct config *config, const struct vz_host *host, struct error *err)
{
	uint64_t cpus = (uint64_t)config->cpus;

	if (cpus == 0 || (cpus >= host->cpus_min && cpus <= host->cpus_max))
		return 0;
	return error_set(
		err, ERR_INVALID,
		"config.cpuCount must be from %llu to %llu with Virtualization.framework on this Mac, and is %llu",
		(unsigned long long)host->cpus_min, (unsigned long long)host->cpus_max,
		(unsigned long long)cpus);
}

/* Asks the framework to check the config. Leaves out files that do not exist on this host. */
static int ask_framework(const struct config *config, const struct vz_host *host, struct error *err)
{
	__attribute__((cleanup(plan_free))) struct plan plan = PLAN_NONE;

	if (plan_of_config(config, &plan, err) < 0)
		return -1;
	if (plan.cpus == 0)
		plan.cpus = (int64_t)host->cpus_min;
	return vz_check(&plan, err);
}

int applevf_check(const struct config *config, struct error *err)
{
	struct vz_host host;

	vz_host(&host);
	if (applevf_check_host(&host, err) < 0 || bounds_check(config, err) < 0 ||
	    check_memory(config, &host, err) < 0 || check_cpus(config, &host, err) < 0 ||
	    check_network(config, &host, err) < 0)
		return -1;
	if (config->macos.hardware_model && vz_macos_check(err) < 0)
		return error_prefix(err, "config.macos");
	return ask_framework(config, &host, err);
}

/* --- what no machine of it can have ----------------------------------------------------------- */

static bool vf_asks_cgroup_limits(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return c->cgroup_limits_required;
}

static bool asks_other_architecture(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return c->architecture != architecture_of_host();
}

static bool vf_asks_accelerator(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return c->accelerator != ACCELERATOR_AUTO;
}

static bool vf_asks_confinement(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return c->confinement == CONFINEMENT_SECCOMP;
}

static bool asks_locks(const struct config *c, char path[REFUSAL_PATH])
{
	const json_t *share;
	size_t i;

	json_array_foreach(c->shares, i, share)
	{
		if (!share_terms(share).locks)
			continue;
		snprintf(path, REFUSAL_PATH, "shares[%zu].locks", i);
		return true;
	}
	return false;
}

static bool asks_caching(const struct config *c, char path[REFUSAL_PATH])
{
	const json_t *share;
	size_t i;

	json_array_foreach(c->shares, i, share)
	{
		struct share_terms terms = share_terms(share);

		if (terms.cache == SHARE_CACHE_AUTO && !terms.timeout_seconds)
			continue;
		snprintf(path, REFUSAL_PATH, "shares[%zu].%s", i,
			 terms.timeout_seconds ? "timeoutSeconds" : "cache");
		return true;
	}
	return false;
}

/* --- what no macOS guest can have ------------------------------------------------------------- */

static bool is_macos(const struct config *c)
{
	return c->macos.hardware_model != NULL;
}

static bool asks_macos_command(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return is_macos(c) && c->command;
}

static bool asks_macos_disks(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return is_macos(c) && json_array_size(c->disks) > 0;
}

static bool asks_macos_bundles(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return is_macos(c) && json_array_size(c->bundles) > 0;
}

static bool asks_macos_console(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return is_macos(c) && c->console_shell;
}

static bool asks_macos_forwards(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return is_macos(c) && json_array_size(c->port_forwards) > 0;
}

#define NO_EXT4 "a macOS guest (config.macos) does not know ext4, the file system of these disks"
#define MACOS_AGENT "the agent of a macOS guest (config.macos) "

#define NO_DISK_RATE "Virtualization.framework has no rates for disks"

const struct backend_refusal applevf_refusals[] = {
	{"architecture",
	 "Virtualization.framework runs only machines of the Mac's own architecture",
	 asks_other_architecture},
	{"accelerator",
	 "Virtualization.framework is the one accelerator of a Mac: there is no KVM, and it emulates no processor",
	 vf_asks_accelerator},
	{"confinement",
	 "the machine runs in its supervisor's process, which only macOS confines: there are no cells and no lists of system calls",
	 vf_asks_confinement},
	{"cgroup", "macOS has no cgroups", ASKS_BY_FIELD},
	{"cgroupLimits", "macOS has no cgroups", vf_asks_cgroup_limits},
	{"network.allow",
	 "microagent does not see the traffic of Virtualization.framework's NAT, so it cannot allow or block a prefix",
	 ASKS_BY_FIELD},
	{"network.egress",
	 "microagent does not see the traffic of Virtualization.framework's NAT, so it cannot allow or block a name",
	 ASKS_BY_FIELD},
	{"limits.diskBytesPerSecond", NO_DISK_RATE, ASKS_BY_FIELD},
	{"limits.diskOpsPerSecond", NO_DISK_RATE, ASKS_BY_FIELD},
	{"limits.netBytesPerSecond", "Virtualization.framework has no rates for networks",
	 ASKS_BY_FIELD},
	/* The entry for locks must come first. A share with locks has the cache "none" by default,
	 * so the entry for caches would refuse it with the wrong reason. */
	{"shares[].locks", APPLEVF_NO_LOCKS, asks_locks},
	{"shares[].cache", APPLEVF_NO_CACHING, asks_caching},
	{"command", MACOS_AGENT "runs what it is asked to, and nothing by itself",
	 asks_macos_command},
	{"disks", NO_EXT4, asks_macos_disks},
	{"bundles", NO_EXT4, asks_macos_bundles},
	{"console", MACOS_AGENT "keeps no shell on its console", asks_macos_console},
	{"network.portForwards", MACOS_AGENT "publishes no ports", asks_macos_forwards},
	{0},
};
