/* SPDX-License-Identifier: MIT */
#include "oci/group.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/proc.h"
#include "store/mountinfo.h"

#define PATH_BYTES 4096u

/* Appends the directories of a slice. Each dash in the name stands for a directory, so "a-b.slice"
 * is in "a.slice" (systemd.slice(5)). */
static int add_slices(struct buf *out, const char *slice, struct error *err)
{
	size_t len = strlen(slice);

	if (len < 6 || strcmp(slice + len - 6, ".slice") != 0 || strchr(slice, '/'))
		return error_set(
			err, ERR_INVALID,
			"linux.cgroupsPath: %.64s is not the name of a slice of systemd, which ends in .slice and has no slash",
			slice);
	if (strcmp(slice, "-.slice") == 0)
		return 0;
	for (size_t i = 1; i <= len - 6; i++)
		if ((slice[i] == '-' || i == len - 6) &&
		    buf_printf(out, err, "/%.*s.slice", (int)i, slice) < 0)
			return -1;
	return 0;
}

char *group_path(const char *path, struct error *err)
{
	autobuf struct buf out = BUF_INIT(PATH_BYTES);
	char slice[256], prefix[256], name[512];

	if (path[0] != '/' &&
	    sscanf(path, "%255[^:]:%255[^:]:%511[^:]", slice, prefix, name) == 3) {
		if (add_slices(&out, slice, err) < 0 ||
		    buf_printf(&out, err, "/%s-%s.scope", prefix, name) < 0)
			return NULL;
	} else if (buf_printf(&out, err, "%s%s", path[0] == '/' ? "" : "/", path) < 0) {
		return NULL;
	}
	if (memmem(buf_bytes(&out), out.len, "/..", 3)) {
		error_set(
			err, ERR_INVALID,
			"linux.cgroupsPath: %.200s leads out of the cgroup hierarchy: give a path without \"..\"",
			path);
		return NULL;
	}
	return buf_steal_string(&out, err);
}

/* Copies the file of a new cpuset from the parent directory. In cgroup v1 a new cpuset has no CPUs
 * and no memory nodes, and accepts no process before it has both. */
static void inherit_cpuset(const char *dir, const char *file)
{
	char from[PATH_MAX], to[PATH_MAX], text[512];
	char *slash;

	if ((size_t)snprintf(to, sizeof(to), "%s/%s", dir, file) >= sizeof(to))
		return;
	snprintf(from, sizeof(from), "%s", dir);
	slash = strrchr(from, '/');
	snprintf(slash + 1, sizeof(from) - (size_t)(slash + 1 - from), "%s", file);
	autoclose int source = open(from, O_RDONLY | O_CLOEXEC);
	autoclose int target = open(to, O_WRONLY | O_CLOEXEC);
	ssize_t n = source < 0 ? -1 : read(source, text, sizeof(text));
	if (n > 0 && target >= 0)
		(void)!write(target, text, (size_t)n);
}

typedef int hierarchy_fn(const char *point, const char *path, void *arg, struct error *err);

static int note_missing(const char *point, const char *path, void *missing, struct error *err)
{
	char whole[PATH_MAX];
	size_t base = strlen(point);

	if ((size_t)snprintf(whole, sizeof(whole), "%s%s", point, path) >= sizeof(whole))
		return error_errno(err, ENAMETOOLONG, "linux.cgroupsPath");
	for (char *end = whole + base; *end;) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		char kept = *end;

		*end = '\0';
		if (access(whole, F_OK) < 0)
			json_array_append_new(missing, json_string(whole));
		*end = kept;
	}
	return 0;
}

static int enter_hierarchy(const char *point, const char *path, void *arg, struct error *err)
{
	const pid_t *pid = arg;
	char file[PATH_MAX];

	if ((size_t)snprintf(file, sizeof(file), "%s%s/cgroup.procs", point, path) >= sizeof(file))
		return error_errno(err, ENAMETOOLONG, "linux.cgroupsPath");
	autoclose int fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || dprintf(fd, "%d", (int)*pid) < 0)
		return error_errno(err, errno, "%s", file);
	return 0;
}

static int each_hierarchy(const char *path, hierarchy_fn *act, void *arg, struct error *err)
{
	__attribute__((cleanup(mountinfo_free))) struct mountinfo mounts = {0};
	autofree char *spread = group_path(path, err);

	if (!spread || mountinfo_read(&mounts, err) < 0)
		return -1;
	for (size_t i = 0; i < mounts.count; i++) {
		const struct mount_row *row = &mounts.rows[i];
		bool is = strcmp(row->type, "cgroup") == 0 || strcmp(row->type, "cgroup2") == 0;

		/* Skips a mount that shows only a part of a hierarchy, as mounts in containers
		 * do. */
		if (is && strcmp(row->root, "/") == 0 && access(row->point, W_OK) == 0 &&
		    act(row->point, spread, arg, err) < 0)
			return -1;
	}
	return 0;
}

int group_missing(const char *path, json_t *missing, struct error *err)
{
	return each_hierarchy(path, note_missing, missing, err);
}

int group_make(const json_t *missing, struct error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(missing, i, item)
	{
		const char *dir = json_string_value(item);

		if (mkdir(dir, 0755) == 0) {
			inherit_cpuset(dir, "cpuset.cpus");
			inherit_cpuset(dir, "cpuset.mems");
		} else if (errno != EEXIST) {
			return error_errno(err, errno, "%s", dir);
		}
	}
	return 0;
}

int group_enter(const char *path, pid_t pid, struct error *err)
{
	return each_hierarchy(path, enter_hierarchy, &pid, err);
}

/* Waits until the processes that the group lists have ended, or until the deadline. Returns false
 * if the group lists no process. The wait is needed, since a process closes its files, and so
 * releases its machine's lease, before it leaves its cgroup. Two kinds of processes are not listed:
 * the first process of a pid namespace while it waits for the end of the others, and a process
 * whose first thread has ended. */
static bool await_listed(const char *group, uint64_t deadline)
{
	char path[PATH_MAX];
	char number[16];
	bool any = false;

	if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.procs", group) >= sizeof(path))
		return false;
	autofile FILE *file = fopen(path, "re");
	while (file && fscanf(file, "%15s", number) == 1) {
		struct proc proc = PROC_NONE;

		any = true;
		if (proc_hold((pid_t)strtol(number, NULL, 10), &proc, NULL) < 0)
			continue;
		(void)fd_wait(proc.pidfd, POLLIN, deadline, NULL);
		proc_let_go(&proc);
	}
	return any;
}

/* Returns true if the cgroup has child cgroups, which another program must have made, or if the
 * cgroup does not exist. */
static bool has_groups(const char *group)
{
	struct stat st;

	return stat(group, &st) < 0 || st.st_nlink > 2;
}

void group_leave(const json_t *made)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	uint64_t deadline = limit_deadline(LIMIT_KILL_MS);

	for (size_t i = json_array_size(made); i > 0; i--) {
		const char *path = json_string_value(json_array_get(made, i - 1));

		/* Tries repeatedly, since not every hierarchy reports when a cgroup becomes
		 * empty. */
		while (path && rmdir(path) < 0 && errno == EBUSY && !has_groups(path) &&
		       clock_mono_ns() < deadline)
			if (!await_listed(path, deadline))
				nanosleep(&moment, NULL);
	}
}
