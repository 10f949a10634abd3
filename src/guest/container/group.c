/* SPDX-License-Identifier: MIT */
#include "guest/container/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"

static int write_group_file(int dir, const char *name, const char *value)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value) ? 0 : -1;
}

/* Enables every controller that this kernel supports, for the cgroups below the directory `dir`. */
static void hand_down(int dir, const char *file)
{
	static const char *const controllers[] = {"+memory", "+pids", "+cpu", "+cpuset", "+io"};

	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++)
		(void)write_group_file(dir, file, controllers[i]);
}

int group_limit(int group, json_t *limits, struct error *err)
{
	const char *file;
	json_t *value;

	json_object_foreach(limits, file, value)
	{
		if (write_group_file(group, file, json_string_value(value)) < 0)
			return error_errno(err, errno, "limit %s of %s", file,
					   json_string_value(value));
	}
	return 0;
}

static int open_container_group(int commands, const char *id)
{
	autoclose int all = -1;

	if (mkdirat(commands, GROUP_CONTAINERS, 0755) == 0) {
		hand_down(commands, "../cgroup.subtree_control");
		hand_down(commands, "cgroup.subtree_control");
	}
	all = openat(commands, GROUP_CONTAINERS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (all < 0)
		return -1;
	hand_down(all, "cgroup.subtree_control");
	if (mkdirat(all, id, 0755) < 0 && errno != EEXIST)
		return -1;
	return openat(all, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int group_make(int commands, const char *id, const struct contained_plan *plan, struct error *err)
{
	if (commands < 0)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the guest's kernel has no cgroups of version 2, so the guest can run no containers: choose another kernel");
	autoclose int group = open_container_group(commands, id);
	if (group < 0)
		return error_errno(err, errno, "cgroup of container %s", id);
	if (group_limit(group, plan->cgroup, err) < 0 ||
	    group_rule_devices(group, plan->devices, plan->ndevices, err) < 0) {
		group_remove(commands, id);
		return -1;
	}
	return steal_fd(&group);
}

void group_remove(int commands, const char *id)
{
	autodir DIR *dir = NULL;
	char path[128];
	struct dirent *entry;
	int fd;

	snprintf(path, sizeof(path), GROUP_CONTAINERS "/%s", id);
	fd = openat(commands, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			(void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	(void)unlinkat(commands, path, AT_REMOVEDIR);
}
