/* SPDX-License-Identifier: MIT */
#include "supervisor/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool is_path(const struct config *config)
{
	return config->cgroup && *config->cgroup == '/';
}

/* Opening for writing is the question of rights that the kernel asks at the move. */
static int open_procs(const char *path, struct error *err)
{
	struct statfs fs;
	autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 && errno == ENOENT)
		return error_set(err, ERR_NOT_FOUND, "%s does not exist", path);
	if (dir < 0 || fstatfs(dir, &fs) < 0)
		return error_errno(err, errno, "%s", path);
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return error_set(err, ERR_INVALID, "%s is no cgroup of version 2", path);
	int procs = openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	return procs >= 0 ? procs : error_errno(err, errno, "%s/cgroup.procs", path);
}

int cgroup_check(const struct config *config, struct error *err)
{
	if (!is_path(config))
		return 0;
	autoclose int procs = open_procs(config->cgroup, err);
	return procs < 0 ? error_prefix(err, "config.cgroup") : 0;
}

int cgroup_enter(const struct config *config, struct error *err)
{
	if (!is_path(config))
		return 0;
	autoclose int procs = open_procs(config->cgroup, err);
	if (procs < 0)
		return error_prefix(err, "config.cgroup");
	if (write(procs, "0", 1) != 1)
		return error_errno(err, errno, "config.cgroup: %s cannot be entered",
				   config->cgroup);
	return 0;
}
