/* SPDX-License-Identifier: MIT */
/* The cgroup of a running workspace: its limits, and its entry in runtime.json. After a crash of
 * the live supervisor, the next command finds the cgroup by this entry, kills the processes in the
 * cgroup, and removes the cgroup. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/live/live.h"

/* Returns the memory limit of the cgroup, in bytes. A root file system in memory counts three
 * times, because it exists three times while QEMU starts: joined with the initrd of microagent, in
 * the cell, and in QEMU. */
static uint64_t memory_of(const struct config *config)
{
	uint64_t mib = (uint64_t)config->memory_mib + limit_get(LIMIT_CGROUP_OVERHEAD_MIB);
	uint64_t root = 0;
	struct stat st;

	if (!config->rootfs_path && fstat(LIVE_ROOTFS, &st) == 0)
		root = 3 * (uint64_t)st.st_size;
	return (mib << 20) + root;
}

/* Writes cgroupUnlimited to runtime.json: the names of the controllers whose limits could not be
 * set, although the request names a group. Writes nothing if the request names no group, since it
 * then asks for no limits. */
static int put_unlimited(struct live *live, const struct config *config, struct error *err)
{
	json_auto_t *unlimited = json_array();

	for (size_t i = 0; config->cgroup && i < CGROUP_CONTROLLERS; i++)
		if (!live->cgroup.limited[i])
			json_array_append_new(unlimited, json_string(cgroup_controller_names[i]));
	return json_array_size(unlimited) == 0
		       ? 0
		       : json_put(live->runtime, "cgroupUnlimited", steal_ptr(&unlimited), err);
}

int live_cgroup_begin(struct live *live, const struct config *config, struct error *err)
{
	if (cgroup_enter(config, live->ws.id, memory_of(config), &live->cgroup, &live->log, err) <
	    0)
		return -1;
	if (!live->cgroup.path)
		return 0;
	/* The guard is moved into the cgroup only if it is still the parent of this process. If the
	 * guard was killed, its pid may belong to another process. */
	if (getppid() == live->guard && cgroup_take(&live->cgroup, live->guard, err) < 0)
		return -1;
	if (json_put_string(live->runtime, "cgroup", live->cgroup.path, err) < 0 ||
	    put_unlimited(live, config, err) < 0)
		return -1;
	live_runtime_write(live);
	return 0;
}

void live_cgroup_end(struct live *live)
{
	struct error err = {0};

	if (!live->cgroup.path)
		return;
	if (cgroup_leave(&live->cgroup, &err) < 0)
		log_line(&live->log, "cgroup: %s", err.msg);
	else
		json_object_del(live->runtime, "cgroup");
}
