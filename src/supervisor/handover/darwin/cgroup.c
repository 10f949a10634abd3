/* SPDX-License-Identifier: MIT */
/* macOS has no cgroups. A request that names a cgroup is refused. For all other requests memory and
 * processes are not limited, and the log says so. */
#include "supervisor/handover/cgroup.h"

#include <stdlib.h>
#include <string.h>

#include "base/broker.h"
#include "base/cleanup.h"
#include "supervisor/handover/cgroup_find.h"

#define NO_CGROUPS "macOS has no cgroups"

const char *const cgroup_controller_names[CGROUP_CONTROLLERS] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
};

int cgroup_check(const struct config *config, struct error *err)
{
	if (config->cgroup && strcmp(config->cgroup, "inherit") != 0)
		return error_set(err, ERR_UNSUPPORTED, "config.cgroup: " NO_CGROUPS);
	return config->cgroup_limits_required
		       ? error_set(err, ERR_UNSUPPORTED, "config.cgroupLimits: " NO_CGROUPS)
		       : 0;
}

int cgroup_enter(const struct config *config, const char *id, uint64_t memory_bytes,
		 struct cgroup *out, struct log *log, struct error *err)
{
	(void)id, (void)memory_bytes, (void)out;
	if (!config->cgroup)
		log_line(log, "cgroup: memory and processes are not limited: " NO_CGROUPS);
	return cgroup_check(config, err);
}

int cgroup_take(const struct cgroup *group, pid_t pid, struct error *err)
{
	(void)group, (void)pid, (void)err;
	return 0;
}

int cgroup_leave(struct cgroup *group, struct error *err)
{
	(void)group, (void)err;
	return 0;
}

void cgroup_free(struct cgroup *group)
{
	free(group->path);
	cleanup_close(&group->home);
	*group = (struct cgroup)CGROUP_NONE;
}

int cgroup_remove(const char *path, const struct cgroup_owner *owner, uint64_t deadline_ns,
		  struct error *err)
{
	(void)owner, (void)deadline_ns;
	return error_set(err, ERR_UNSUPPORTED, "%s: " NO_CGROUPS, path);
}

char *cgroup_find(struct error *err)
{
	error_set(err, ERR_UNAVAILABLE, NO_CGROUPS);
	return NULL;
}
