/* SPDX-License-Identifier: MIT */
#include "supervisor/handover/cgroup_find.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The directories where distributions mount cgroups of version 2: the first if version 2 is mounted
 * alone, the second if version 1 is mounted too. */
static const char *const tops[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
static const char *const wanted[] = {"memory", "pids"};

bool cgroup_own(char out[PATH_MAX])
{
	autofile FILE *file = fopen("/proc/self/cgroup", "re");

	while (file && fgets(out, PATH_MAX, file)) {
		if (strncmp(out, "0::/", 4) != 0)
			continue;
		out[strcspn(out, "\n")] = '\0';
		memmove(out, out + 3, strlen(out + 3) + 1);
		return true;
	}
	return false;
}

/* Reads the file `name` of the group into `text`. Returns the number of bytes; -1 if the file
 * cannot be read. */
static ssize_t read_control(int dir, const char *name, char text[256])
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, 255);

	text[n > 0 ? n : 0] = '\0';
	return n;
}

static bool has_controllers(int dir, const char *name)
{
	char text[256], *rest = text, *word;
	size_t found = 0;

	read_control(dir, name, text);
	while ((word = strtok_r(rest, " \n", &rest)))
		for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
			found += strcmp(word, wanted[i]) == 0;
	return found == ARRAY_SIZE(wanted);
}

/* Returns true if the user may write to those files of the group that must be written to make the
 * workspace's group and to enter it. */
static bool can_be_written(int dir)
{
	static const char *const names[] = {".", "cgroup.procs", "cgroup.subtree_control"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (faccessat(dir, names[i], W_OK, AT_EACCESS) < 0)
			return false;
	return true;
}

static bool can_limit_children(int dir)
{
	char text[256];

	if (has_controllers(dir, "cgroup.subtree_control") ||
	    faccessat(dir, "cgroup.type", F_OK, 0) < 0) /* the topmost group has no such file */
		return true;
	return read_control(dir, "cgroup.procs", text) == 0;
}

/* Returns true if the group was delegated to the user. systemd marks a delegated group with an
 * extended attribute. */
static bool is_given_away(int dir)
{
	static const char *const names[] = {"trusted.delegate", "user.delegate"};
	char value[2];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (fgetxattr(dir, names[i], value, sizeof(value)) == 1 && value[0] == '1')
			return true;
	return false;
}

static bool is_below_given(const char *path, size_t top)
{
	for (size_t len = strlen(path); len > top; len--) {
		autofree char *above = NULL;
		autoclose int at = -1;

		if (len < strlen(path) && path[len] != '/')
			continue;
		above = strndup(path, len);
		at = above ? open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
		if (at >= 0 && is_given_away(at))
			return true;
	}
	return false;
}

#define NO_CONTROLLERS "does not have both controllers memory and pids"
#define HAS_PROCESSES "contains processes, so its child groups cannot be limited"

const char *cgroup_limits_obstacle(int dir)
{
	if (!has_controllers(dir, "cgroup.controllers"))
		return NO_CONTROLLERS;
	return can_limit_children(dir) ? NULL : HAS_PROCESSES;
}

/* The reasons why a group cannot be used, in the order in which they are checked. */
static const char *const refusals[] = {
	"is not writable for this user",
	NO_CONTROLLERS,
	"is managed by systemd and is not delegated",
	HAS_PROCESSES,
};
#define WILL_DO ARRAY_SIZE(refusals)

static size_t judge_group(const char *path, size_t top, bool managed)
{
	autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || !can_be_written(dir))
		return 0;
	if (!has_controllers(dir, "cgroup.controllers"))
		return 1;
	if (managed && !is_below_given(path, top))
		return 2;
	return can_limit_children(dir) ? WILL_DO : 3;
}

/* Looks for a group that can be used, from `own` up to `top`. If no group can be used, the error
 * names the group that has passed the most checks. */
char *cgroup_find_below(const char *top, const char *own, bool managed, struct error *err)
{
	size_t length = strlen(top), best = 0;
	autofree char *path = NULL;

	if (asprintf(&path, "%s%s", top, own[1] ? own : "") < 0) {
		path = NULL;
		error_set(err, ERR_IO, "out of memory");
		return NULL;
	}
	for (bool first = true;; first = false) {
		size_t found = judge_group(path, length, managed);

		if (found == WILL_DO)
			return steal_ptr(&path);
		if (first || found > best)
			error_set(err, ERR_UNAVAILABLE, "%s %s", path, refusals[found]);
		best = found > best ? found : best;
		if (strlen(path) <= length)
			return NULL;
		*strrchr(path, '/') = '\0';
	}
}

/* If systemd manages the groups, root can write to all of them. But systemd may change or remove
 * whatever is in a group that it has not delegated, so this process must not use such a group. */
char *cgroup_find(struct error *err)
{
	bool managed = geteuid() == 0 && access("/run/systemd/system", F_OK) == 0;
	char own[PATH_MAX];
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		if (statfs(tops[i], &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		if (cgroup_own(own) && !strstr(own, "/.."))
			return cgroup_find_below(tops[i], own, managed, err);
	}
	error_set(
		err, ERR_UNAVAILABLE,
		"no cgroup file system of version 2 is mounted here, so the limits of a machine cannot be set: boot the host with cgroups of version 2");
	return NULL;
}
