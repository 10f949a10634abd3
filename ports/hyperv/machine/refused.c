/* SPDX-License-Identifier: MIT */
#include "hyperv/machine/refused.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define HIGH_PORTS                                                                               \
	"ports from 2147483648 on are those of connections that the host makes; choose a lower " \
	"one"
#define IN_ROOTFS "; put what the guest needs into its root file system"

static bool asks_nat(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return config->network_mode == NETWORK_NAT;
}

static bool asks_bridge(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return config->network_mode == NETWORK_BRIDGED;
}

static bool asks_ram_root(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return !config->rootfs_path;
}

/* The lowest vsock port number that Linux's driver for HvSocket gives to connections from the host
 * (net/vmw_vsock/hyperv_transport.c, MIN_HOST_EPHEMERAL_PORT). A declared port must be lower. */
#define FIRST_PORT_OF_CONNECTIONS INT64_C(0x80000000)

static bool has_high_port(const json_t *declared)
{
	return json_integer_value(json_object_get(declared, "port")) >= FIRST_PORT_OF_CONNECTIONS;
}

static bool asks_high_mediation(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return has_high_port(config->mediation);
}

static bool asks_high_listener(const struct config *config, char path[REFUSAL_PATH])
{
	const json_t *listener;
	size_t i;

	json_array_foreach(config->vsock_listeners, i, listener)
	{
		if (!has_high_port(listener))
			continue;
		snprintf(path, REFUSAL_PATH, "vsockListeners[%u].port", (unsigned)i);
		return true;
	}
	return false;
}

static bool asks_cgroup_limits(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return config->cgroup_limits_required;
}

static bool asks_rates(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return config->limits.disk_bytes || config->limits.disk_ops || config->limits.net_bytes;
}

static bool asks_confinement(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return config->confinement != CONFINEMENT_CELL;
}

static bool asks_architecture(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return config->architecture != ARCHITECTURE_AMD64;
}

static bool asks_accelerator(const struct config *config, char path[REFUSAL_PATH])
{
	(void)path;
	return config->accelerator != ACCELERATOR_AUTO;
}

const struct backend_refusal hyperv_refusals[] = {
	{"network.mode",
	 "nat needs an endpoint of the Host Network Service, which this supervisor does not make, and its traffic would go unfiltered; ask for mode \"isolated\"",
	 asks_nat},
	{"network.mode",
	 "bridged needs an endpoint of the Host Network Service, which this supervisor does not make; ask for mode \"isolated\"",
	 asks_bridge},
	{"rootfsPath",
	 "a root in memory is two RAM disks in one file, which this supervisor does not put together",
	 asks_ram_root},
	{"macos", "only Apple's Virtualization.framework runs macOS guests", ASKS_BY_FIELD},
	{"shares", "no file server for the guest is built for Windows" IN_ROOTFS, ASKS_BY_FIELD},
	{"bundles", "no file system is built of an archive on Windows" IN_ROOTFS, ASKS_BY_FIELD},
	{"outputs", "what they name is read by a library that is not built for Windows",
	 ASKS_BY_FIELD},
	{"mediation.port", HIGH_PORTS, asks_high_mediation},
	{"vsockListeners[].port", HIGH_PORTS, asks_high_listener},
	{"cgroup", "Windows has no cgroups", ASKS_BY_FIELD},
	{"cgroupLimits", "Windows has no cgroups", asks_cgroup_limits},
	{"limits", "no rates are set on the disks of a machine of Hyper-V's", asks_rates},
	{"hotplug", "no directory can be given to a running machine of Hyper-V's", ASKS_BY_FIELD},
	{"confinement", "what confines a machine is Windows' own: there is no seccomp",
	 asks_confinement},
	{"console", "COM1 is read, and nothing is written to it", ASKS_BY_FIELD},
	{"architecture",
	 "Hyper-V runs machines of the host's own architecture, and this program is one of amd64",
	 asks_architecture},
	{"accelerator", "Hyper-V has the hypervisor of Windows and no other; leave it out",
	 asks_accelerator},
	{0},
};

const char *hyperv_refuses_command(enum command command)
{
	switch (command) {
	case COMMAND_CONSOLE:
		return "the console is not attached to on Windows; serial.log has what it said";
	case COMMAND_QUARANTINE:
		return "that every channel of a running machine is severed cannot be proven on Windows; kill the workspace, which keeps its disk and its history";
	default:
		return NULL;
	}
}

/* Returns true if Windows takes the name for the name of a device. Windows ignores the text after
 * the first dot. See "Naming Files, Paths, and Namespaces" (learn.microsoft.com,
 * windows/win32/fileio/naming-a-file). */
static bool is_device_name(const char *id)
{
	static const char *const names[] = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"};
	size_t len = strcspn(id, ".");

	while (len > 0 && id[len - 1] == ' ')
		len--;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && strncasecmp(id, names[i], len) == 0)
			return true;
	return len == 4 && (strncasecmp(id, "COM", 3) == 0 || strncasecmp(id, "LPT", 3) == 0) &&
	       isdigit((unsigned char)id[3]);
}

int hyperv_check_name(const char *id, struct error *err)
{
	size_t len = strlen(id);

	if (strpbrk(id, "<>:\"|?*") || (len > 0 && (id[len - 1] == '.' || id[len - 1] == ' ')))
		return error_set(
			err, ERR_INVALID,
			"identity.runtimeID \"%.200s\" has characters that no name of a directory of Windows can have: choose another name",
			id);
	if (is_device_name(id))
		return error_set(
			err, ERR_INVALID,
			"identity.runtimeID \"%.200s\" is the name of a device of Windows: choose another name",
			id);
	return 0;
}
