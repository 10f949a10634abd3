/* SPDX-License-Identifier: MIT */
#include "backend/firecracker/check.h"

#include <stdio.h>
#include <string.h>

#include "backend/firecracker/requests.h"
#include "backend/parts/bounds.h"
#include "backend/parts/refusals.h"
#include "base/json.h"

int fc_check_bounds(const struct config *c, struct error *err)
{
	size_t drives = json_array_size(c->disks) + json_array_size(c->bundles);

	if (bounds_check(c, err) < 0)
		return -1;
	if (c->cpus > FC_CPUS_MAX)
		return error_set(
			err, ERR_INVALID,
			"config.cpuCount must be at most %d for a Firecracker machine, and is %lld",
			FC_CPUS_MAX, (long long)c->cpus);
	if (drives > FC_DISKS_MAX)
		return error_set(
			err, ERR_INVALID,
			"config.disks and config.bundles have %zu entries together, but a Firecracker machine has room for %d: leave some out",
			drives, FC_DISKS_MAX);
	return 0;
}

/* --- what no Firecracker machine can have ----------------------------------------------------- */

static bool asks_emulation(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return c->accelerator == ACCELERATOR_TCG;
}

static bool asks_no_cell(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return c->confinement == CONFINEMENT_SECCOMP;
}

static bool has_several_written(const struct config *c)
{
	size_t written = c->rootfs_path ? 1 : 0, i;
	const json_t *disk;

	json_array_foreach(c->disks, i, disk)
	{
		const char *mode = json_text(disk, "mode", NULL);

		written += mode && strcmp(mode, "rw") == 0;
	}
	return written > 1;
}

static bool asks_foreign(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return c->architecture != architecture_of_host();
}

static bool asks_disk_bytes(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return c->limits.disk_bytes && has_several_written(c);
}

static bool asks_disk_ops(const struct config *c, char path[REFUSAL_PATH])
{
	(void)path;
	return c->limits.disk_ops && has_several_written(c);
}

#define FC_HIGH_PORT "Firecracker uses the ports from 1073741824 on for the host's own connections"
#define EACH_DRIVE_ALONE \
	"Firecracker limits each disk by itself and not several together: it can limit one writable disk"

const struct backend_refusal fc_refusals[] = {
	REFUSED_MACOS,
	REFUSED_SCOPE,
	{"architecture", FC_OWN_MACHINES, asks_foreign},
	{"accelerator", "Firecracker runs machines only under KVM, and cannot emulate them",
	 asks_emulation},
	{"confinement",
	 "Firecracker opens its files by name, and only in a cell do the names lead to the files that were checked",
	 asks_no_cell},
	{"shares", "Firecracker has no virtio-fs, so it cannot share directories", ASKS_BY_FIELD},
	{"hotplug", "Firecracker has no virtio-fs, so no directory can be given later",
	 ASKS_BY_FIELD},
	REFUSED_BRIDGE_RATE,
	{"limits.diskBytesPerSecond", EACH_DRIVE_ALONE, asks_disk_bytes},
	{"limits.diskOpsPerSecond", EACH_DRIVE_ALONE, asks_disk_ops},
	REFUSED_HIGH_LISTENER(FC_HIGH_PORT),
	REFUSED_HIGH_MEDIATION(FC_HIGH_PORT),
	{0},
};
