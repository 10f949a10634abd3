/* SPDX-License-Identifier: MIT */
#include "supervisor/handover/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "supervisor/handover/cgroup_find.h"

#define GROUP_PREFIX "microagent."
#define DEPTH_MAX 64 /* the greatest depth of nested cgroups that is handled */

static bool is_path(const struct config *config)
{
	return config->cgroup && *config->cgroup == '/';
}

static int open_group(const char *path, struct error *err)
{
	struct statfs fs;
	autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 && errno == ENOENT)
		return error_set(
			err, ERR_NOT_FOUND,
			"the cgroup %s does not exist: make it, or name another in config.cgroup",
			path);
	if (dir < 0 || fstatfs(dir, &fs) < 0)
		return error_errno(err, errno, "%s", path);
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return error_set(err, ERR_INVALID,
				 "%s is not a cgroup of version 2: name one in config.cgroup",
				 path);
	return steal_fd(&dir);
}

/* Opens cgroup.procs for writing. The open succeeds only for a user who may move processes into the
 * group. */
static int open_procs(int dir, const char *path, struct error *err)
{
	int procs = openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	return procs >= 0 ? procs : error_errno(err, errno, "%s/cgroup.procs", path);
}

static int check_limits(const struct config *config, int dir, struct error *err)
{
	const char *obstacle = config->cgroup_limits_required ? cgroup_limits_obstacle(dir) : NULL;

	return obstacle
		       ? error_set(
				 err, ERR_UNAVAILABLE,
				 "config.cgroup: %s %s: correct that, or set config.cgroupLimits to \"optional\" for a machine without the limits that cannot be set",
				 config->cgroup, obstacle)
		       : 0;
}

/* If the config requires limits and names no cgroup, checks that cgroup_enter() would find a
 * cgroup. */
static int check_found(const struct config *config, struct error *err)
{
	autofree char *found = NULL;

	if (config->cgroup || !config->cgroup_limits_required)
		return 0;
	found = cgroup_find(err);
	return found ? 0 : error_prefix(err, "config.cgroupLimits");
}

int cgroup_check(const struct config *config, struct error *err)
{
	if (!is_path(config))
		return check_found(config, err);
	autoclose int dir = open_group(config->cgroup, err);
	autoclose int procs = dir < 0 ? -1 : open_procs(dir, config->cgroup, err);

	if (procs < 0)
		return error_prefix(err, "config.cgroup");
	if (faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return error_errno(err, errno, "config.cgroup: cannot make a group in %s",
				   config->cgroup);
	return check_limits(config, dir, err);
}

/* --- limits ---------------------------------------------------------------------------------- */

static int write_word(int dir, const char *name, const char *word, struct error *err)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, word, strlen(word)) != (ssize_t)strlen(word))
		return error_errno(err, errno, "%s", name);
	return 0;
}

int cgroup_limit(int dir, const char *name, uint64_t value, struct error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return write_word(dir, name, text, err);
}

const char *const cgroup_controller_names[CGROUP_CONTROLLERS] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
};

/* Enables the controller for the children of the group `parent`, and sets the limit of the group
 * `dir`. Fails if the kernel does not offer the controller, or if `parent` itself has processes. */
static int limit(int parent, int dir, const char *controller, uint64_t value, struct log *log,
		 struct error *err)
{
	struct error why = {0}, ignored;
	char word[32], name[32];

	snprintf(word, sizeof(word), "+%s", controller);
	snprintf(name, sizeof(name), "%s.max", controller);
	(void)write_word(parent, "cgroup.subtree_control", word, &why);
	if (cgroup_limit(dir, name, value, why.code ? &ignored : &why) < 0)
		return error_set(
			err, ERR_UNAVAILABLE,
			"the limit %s is not set, because the cgroup controller \"%s\" is not available: %s",
			name, controller, why.msg);
	log_line(log, "cgroup: %s is %" PRIu64, name, value);
	return 0;
}

static int limit_group(int parent, int dir, struct cgroup *group, uint64_t memory_bytes,
		       bool required, struct log *log, struct error *err)
{
	const uint64_t values[CGROUP_CONTROLLERS] = {
		[CGROUP_MEMORY] = memory_bytes,
		[CGROUP_PIDS] = limit_get(LIMIT_CGROUP_PIDS),
	};

	for (size_t i = 0; i < CGROUP_CONTROLLERS; i++) {
		struct error why = {0};

		group->limited[i] =
			limit(parent, dir, cgroup_controller_names[i], values[i], log, &why) == 0;
		if (!group->limited[i] && required)
			return error_copy(err, &why);
		if (!group->limited[i])
			log_line(log, "cgroup: %s", why.msg);
	}
	return 0;
}

/* --- the workspace's group ------------------------------------------------------------------- */

/* Opens the topmost directory of the cgroup mount that contains the group. Returns -1 if the
 * directory cannot be opened. */
static int open_top(int dir)
{
	autoclose int at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	for (int depth = 0; at >= 0 && depth < DEPTH_MAX; depth++) {
		autoclose int above = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (above < 0 || fstatfs(above, &fs) < 0)
			return -1;
		if (fs.f_type != CGROUP2_SUPER_MAGIC)
			return steal_fd(&at);
		close(at);
		at = steal_fd(&above);
	}
	return -1;
}

static int open_home(int parent)
{
	char own[PATH_MAX];
	autoclose int top = open_top(parent);
	autoclose int home = -1;

	if (top < 0 || !cgroup_own(own))
		return -1;
	home = own[1] ? openat(top, own + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : steal_fd(&top);
	return home < 0 ? -1 : openat(home, "cgroup.procs", O_WRONLY | O_CLOEXEC);
}

/* Makes a group for the workspace `id`. The group's name has a prefix that marks it as a group of
 * microagent, the id, and the pid of this process, which makes the name different at every start.
 * If a group with this name exists, a process that has exited made it, so it is removed first. */
static int make_group(int parent, const char *given, const char *id, char **path, struct error *err)
{
	const char *name;

	if (asprintf(path, "%s/" GROUP_PREFIX "%.200s.%d", given, id, (int)getpid()) < 0) {
		*path = NULL;
		return error_set(err, ERR_IO, "out of memory");
	}
	name = strrchr(*path, '/') + 1;
	(void)unlinkat(parent, name, AT_REMOVEDIR);
	if (mkdirat(parent, name, 0755) == 0)
		return 0;
	error_errno(err, errno, "%s", *path);
	free(steal_ptr(path));
	return -1;
}

static int enter_group(int parent, struct cgroup *group, uint64_t memory_bytes, bool required,
		       struct log *log, struct error *err)
{
	autoclose int dir = open_group(group->path, err);
	autoclose int procs = dir < 0 ? -1 : open_procs(dir, group->path, err);

	if (procs < 0)
		return -1;
	log_line(log, "cgroup: %s", group->path);
	if (limit_group(parent, dir, group, memory_bytes, required, log, err) < 0)
		return -1;
	group->home = open_home(parent);
	if (write(procs, "0", 1) != 1)
		return error_errno(err, errno, "cannot enter the cgroup %s", group->path);
	return 0;
}

static int enter_below(const char *given, const char *id, uint64_t memory_bytes, bool required,
		       struct cgroup *out, struct log *log, struct error *err)
{
	struct cgroup group = CGROUP_NONE;
	autoclose int parent = open_group(given, err);

	if (parent < 0 || make_group(parent, given, id, &group.path, err) < 0)
		return -1;
	if (enter_group(parent, &group, memory_bytes, required, log, err) == 0) {
		*out = group;
		return 0;
	}
	rmdir(group.path);
	cgroup_free(&group);
	return -1;
}

int cgroup_enter(const struct config *config, const char *id, uint64_t memory_bytes,
		 struct cgroup *out, struct log *log, struct error *err)
{
	const bool required = config->cgroup_limits_required;
	struct error why = {0};
	autofree char *found = NULL;

	if (is_path(config))
		return enter_below(config->cgroup, id, memory_bytes, required, out, log, err) < 0
			       ? error_prefix(err, "config.cgroup")
			       : 0;
	if (config->cgroup)
		return 0;
	found = cgroup_find(&why);
	if (found && enter_below(found, id, memory_bytes, required, out, log, &why) == 0)
		return 0;
	if (required) {
		error_copy(err, &why);
		return error_prefix(err, "config.cgroupLimits");
	}
	log_line(log, "cgroup: memory and processes are not limited: %s", why.msg);
	return 0;
}

static bool move_to(int procs, pid_t pid)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", (int)pid);

	return procs >= 0 && write(procs, text, (size_t)len) == len;
}

int cgroup_take(const struct cgroup *group, pid_t pid, struct error *err)
{
	if (!group->path)
		return 0;
	autoclose int dir = open_group(group->path, err);
	autoclose int procs = dir < 0 ? -1 : open_procs(dir, group->path, err);

	if (procs < 0)
		return -1;
	return move_to(procs, pid) || errno == ESRCH
		       ? 0
		       : error_errno(err, errno, "%s does not accept process %d", group->path,
				     (int)pid);
}

/* --- the end of a group ---------------------------------------------------------------------- */

static bool is_group_empty(int events)
{
	char text[256];
	ssize_t n = pread(events, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return strstr(text, "populated 0") != NULL;
}

/* Checks that all processes in the group may be killed. Refuses a group that has child groups,
 * since no process of the workspace makes groups there. */
static int check_processes(int dir, const char *path, const struct cgroup_owner *owner,
			   struct error *err)
{
	autobuf struct buf stat = BUF_INIT(4096);
	autoclose int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	autofile FILE *procs = fd >= 0 ? fdopen(fd, "r") : NULL;
	char number[16];

	if (!procs)
		return error_errno(err, errno, "%s/cgroup.procs", path);
	steal_fd(&fd); /* `procs` owns the descriptor from now on */
	if (path_read_file_at(dir, "cgroup.stat", &stat, err) < 0)
		return error_prefix(err, "%s", path);
	if (!strstr(buf_string(&stat), "nr_descendants 0\n"))
		return error_set(
			err, ERR_DENIED,
			"%s is not removed, because it contains other groups: remove those first",
			path);
	while (fscanf(procs, "%15s", number) == 1) {
		pid_t pid = (pid_t)strtol(number, NULL, 10);

		if (!owner->may_kill(pid, owner->data))
			return error_set(
				err, ERR_DENIED,
				"%s is not removed, because it contains process %d, which is not a process of the workspace: move that process to another cgroup",
				path, (int)pid);
	}
	return 0;
}

/* Ends all processes in the group, and waits until the group is empty. poll() reports a change of
 * cgroup.events as POLLPRI. `owner` is NULL if this process itself made the group, so that no check
 * is needed. */
static int empty(int dir, const char *path, const struct cgroup_owner *owner, uint64_t deadline_ns,
		 struct error *err)
{
	autoclose int events = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);

	if (events < 0)
		return error_errno(err, errno, "%s/cgroup.events", path);
	if (is_group_empty(events))
		return 0;
	if (owner && check_processes(dir, path, owner, err) < 0)
		return -1;
	if (write_word(dir, "cgroup.kill", "1", err) < 0)
		return error_prefix(err, "%s", path);
	while (!is_group_empty(events))
		if (fd_wait(events, POLLPRI, deadline_ns, err) < 0)
			return error_prefix(
				err, "%s is not removed, because its processes did not end", path);
	return 0;
}

static int remove_group(const char *path, const struct cgroup_owner *owner, uint64_t deadline_ns,
			struct error *err)
{
	struct error why = {0};
	autoclose int dir = open_group(path, &why);

	if (dir < 0)
		return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	if (empty(dir, path, owner, deadline_ns, err) < 0)
		return -1;
	return rmdir(path) == 0 ? 0 : error_errno(err, errno, "%s", path);
}

/* Returns whether the last component of `path` is one that make_group() gives for the workspace
 * `id`. */
static bool is_group_of(const char *path, const char *id)
{
	const char *name = strrchr(path, '/');
	char front[sizeof(GROUP_PREFIX) + 202];
	int len = snprintf(front, sizeof(front), "/" GROUP_PREFIX "%.200s.", id);

	if (!name || strncmp(name, front, (size_t)len) != 0)
		return false;
	return name[len] && name[len + (int)strspn(name + len, "0123456789")] == '\0';
}

int cgroup_remove(const char *path, const struct cgroup_owner *owner, uint64_t deadline_ns,
		  struct error *err)
{
	if (!is_group_of(path, owner->id))
		return error_set(
			err, ERR_INVALID,
			"%s is not removed, because it is not a cgroup of the workspace \"%s\": the record of the machine is damaged",
			path, owner->id);
	return remove_group(path, owner, deadline_ns, err);
}

/* --- leaving the group ----------------------------------------------------------------------- */

/* Moves the supervisor to another group. If the broker calls this function for the supervisor, also
 * moves the broker. */
static bool move_both(int procs, pid_t supervisor)
{
	return move_to(procs, supervisor) && (supervisor == getpid() || move_to(procs, getpid()));
}

/* Moves the supervisor back to the group in which it was started. If the supervisor cannot be moved
 * there, moves it to the parent of the machine's group. The second move succeeds only if the parent
 * may have both processes and child groups. */
static int go_home(const struct cgroup *group, pid_t supervisor, struct error *err)
{
	if (move_both(group->home, supervisor))
		return 0;
	autoclose int dir = open_group(group->path, err);
	autoclose int above = dir < 0 ? -1 : openat(dir, "../cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (move_both(above, supervisor))
		return 0;
	return error_errno(err, errno, "cannot leave the cgroup %s", group->path);
}

static int leave_group(const struct cgroup *group, pid_t supervisor, struct error *err)
{
	if (go_home(group, supervisor, err) < 0)
		return -1;
	return remove_group(group->path, NULL, limit_deadline(LIMIT_VMM_END_MS), err);
}

/* Serves the broker's duty that moves the supervisor out of the group. The broker leaves the group
 * too. */
static int serve_leave(void *data, const struct broker_message *in, struct broker_message *out,
		       struct error *err)
{
	const struct cgroup *group = data;

	(void)in, (void)out;
	if (!group->path)
		return 0;
	/* The supervisor may ask for this duty at any time, and has no limits once it is outside
	 * the group. So the supervisor gets only the time that it needs to exit, and is then
	 * killed. */
	broker_end_asker(limit_deadline(LIMIT_KILL_MS));
	return leave_group(group, broker_asker(), err);
}

const struct broker_duty cgroup_duty = {serve_leave};

int cgroup_leave(struct cgroup *group, struct error *err)
{
	static const struct broker_message nothing;

	if (!group->path)
		return 0;
	if (broker_is_asked() ? broker_ask(&cgroup_duty, &nothing, NULL, err) < 0
			      : leave_group(group, getpid(), err) < 0)
		return -1;
	cgroup_free(group);
	return 0;
}

void cgroup_free(struct cgroup *group)
{
	free(group->path);
	cleanup_close(&group->home);
	*group = (struct cgroup)CGROUP_NONE;
}
