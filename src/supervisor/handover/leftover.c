/* SPDX-License-Identifier: MIT */
#include "supervisor/handover/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/platform/process.h"
#include "base/print_safe.h"
#include "base/proc.h"
#include "supervisor/handover/cgroup.h"
#include "supervisor/handover/exiting.h"

/* The greatest number of companions that a record may name. No machine has so many companions. */
#define COMPANIONS_MAX 256

static json_t *read_runtime(const struct workspace *ws)
{
	struct error err;

	return ws->fd >= 0 ? workspace_read(ws, "runtime.json", &err) : NULL;
}

static bool runtime_is_of_this_boot(const json_t *runtime)
{
	const char *recorded = json_text(runtime, "bootId", NULL);
	char present[37];
	struct error err;

	return recorded && process_boot_id(present, &err) == 0 && !strcmp(recorded, present);
}

bool leftover_of_another_boot(const struct workspace *ws)
{
	json_auto_t *runtime = read_runtime(ws);

	return runtime && json_object_get(runtime, "bootId") && !runtime_is_of_this_boot(runtime);
}

/* Returns true if runtime.json describes processes of this workspace. If the workspace's directory
 * was copied while the machine ran, the copied runtime.json describes processes of the original
 * workspace. */
static bool runtime_is_of(const struct workspace *ws, const json_t *runtime)
{
	json_t *directory = json_object_get(runtime, "directory");
	json_int_t device, inode;
	struct stat st;

	return runtime_is_of_this_boot(runtime) && fstat(ws->fd, &st) == 0 &&
	       json_unpack(directory, "{s:I, s:I}", "device", &device, "inode", &inode) == 0 &&
	       (json_int_t)st.st_dev == device && (json_int_t)st.st_ino == inode;
}

/* Opens a descriptor of the process that the record names. Returns 1 if the descriptor is open, 0
 * if the process has exited, -1 on an error. */
static int try_to_hold_recorded(const json_t *pid, const json_t *start_time, struct proc *out,
				struct error *err)
{
	struct proc held = PROC_NONE;
	struct error why = {0};
	uint64_t ticks;

	if (!json_is_integer(pid) || !json_is_integer(start_time) || json_integer_value(pid) <= 1 ||
	    json_integer_value(pid) > INT32_MAX)
		return 0;
	if (proc_hold((pid_t)json_integer_value(pid), &held, &why) < 0) {
		if (why.code == ERR_NOT_FOUND)
			return 0;
		if (err)
			*err = why;
		return -1;
	}
	/* The start time is compared while the descriptor is open, so that the pid cannot pass to
	 * another process after the comparison. */
	if (proc_start_time(held.pid, &ticks, NULL) < 0 ||
	    ticks != (uint64_t)json_integer_value(start_time)) {
		proc_let_go(&held);
		return 0;
	}
	*out = held;
	return 1;
}

static bool hold_recorded(const json_t *pid, const json_t *start_time, struct proc *out)
{
	return try_to_hold_recorded(pid, start_time, out, NULL) > 0;
}

/* Returns true if the companion is the monitor of the VMM's cell. The record lists the monitor with
 * the companions, but it lives as long as the VMM, which is its child. */
static bool is_cell_monitor(const json_t *runtime, const struct proc *companion)
{
	pid_t vmm = (pid_t)json_integer_value(json_object_get(runtime, "pid"));

	return vmm > 1 && process_parent(vmm) == companion->pid;
}

int leftover_hold_companions(const struct workspace *ws, struct leftover_companions *out,
			     struct error *err)
{
	json_auto_t *runtime = read_runtime(ws);
	const json_t *companions = json_object_get(runtime, "companions"), *companion;
	struct leftover_companions held = {0};
	size_t i;

	if (!runtime || !runtime_is_of(ws, runtime))
		return 0;
	if (json_array_size(companions) > COMPANIONS_MAX)
		return error_set(
			err, ERR_TIMEOUT,
			"runtime.json in the workspace is damaged: it names %zu companions, and a machine cannot have so many",
			json_array_size(companions));
	held.at = calloc(json_array_size(companions) + 1, sizeof(*held.at));
	if (!held.at)
		return error_errno(err, ENOMEM, "companions");
	json_array_foreach(companions, i, companion)
	{
		struct leftover_companion *next = &held.at[held.count];
		int found = try_to_hold_recorded(json_object_get(companion, "pid"),
						 json_object_get(companion, "startTime"),
						 &next->proc, err);

		if (found < 0) {
			leftover_let_go(&held);
			return -1;
		}
		if (found == 0)
			continue;
		if (is_cell_monitor(runtime, &next->proc)) {
			proc_let_go(&next->proc);
			continue;
		}
		snprintf(next->name, sizeof(next->name), "%.31s",
			 json_text(companion, "name", "?"));
		held.count++;
	}
	*out = held;
	return 0;
}

void leftover_let_go(struct leftover_companions *companions)
{
	for (size_t i = 0; i < companions->count; i++)
		proc_let_go(&companions->at[i].proc);
	free(companions->at);
	*companions = (struct leftover_companions){0};
}

int leftover_await_companions(const struct leftover_companions *companions, uint64_t deadline_ns,
			      struct error *err)
{
	for (size_t i = 0; i < companions->count; i++) {
		const struct leftover_companion *one = &companions->at[i];
		struct error ignored;

		if (fd_wait(one->proc.pidfd, POLLIN, deadline_ns, &ignored) < 0)
			return error_set(
				err, ERR_TIMEOUT,
				"the live supervisor says that all channels are cut, but %s (process %d) still runs",
				one->name, (int)one->proc.pid);
	}
	return 0;
}

/* --- one process ------------------------------------------------------------------------------ */

/* Waits until the deadline for the process to exit, and then kills a process that has not
 * exited. */
static void end_held(const struct proc *held, uint64_t deadline_ns)
{
	struct error err;

	if (fd_wait(held->pidfd, POLLIN, deadline_ns, &err) == 0)
		return;
	(void)proc_signal(held, SIGKILL, NULL);
	(void)fd_wait(held->pidfd, POLLIN, limit_deadline(LIMIT_KILL_MS), &err);
}

/* Ends the process that the record names. An exiting process has already closed its lease, so it
 * cannot be recognised as a process of the workspace. The function only waits for the exit of such
 * a process. */
static void end_recorded(const json_t *pid, const json_t *start_time, int watch,
			 uint64_t deadline_ns)
{
	struct proc held = PROC_NONE;
	struct error err;

	if (!hold_recorded(pid, start_time, &held))
		return;
	if (lease_covers(watch, held.pid))
		end_held(&held, deadline_ns);
	else if (process_is_exiting(held.pid))
		(void)fd_wait(held.pidfd, POLLIN, deadline_ns, &err);
	proc_let_go(&held);
}

/* --- lists of processes ----------------------------------------------------------------------- */

static void let_go_list(struct proc_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		proc_let_go(&list->at[i]);
	free(list->at);
	*list = (struct proc_list){0};
}

static bool is_in_list(const struct proc_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->at[i].pid == pid)
			return true;
	return false;
}

/* Adds the process to the list, which then owns the process's descriptor. If there is no memory,
 * closes the descriptor instead, and the list lacks the process. */
static void add_to_list(struct proc_list *list, struct proc *held)
{
	struct proc *grown = realloc(list->at, (list->count + 1) * sizeof(*grown));

	if (!grown) {
		proc_let_go(held);
		return;
	}
	list->at = grown;
	grown[list->count++] = *held;
}

/* --- the guard -------------------------------------------------------------------------------- */

struct guard_search {
	const struct workspace *ws;
	int watch;
	struct proc_list *found;
};

/* Returns whether the process has the title of this workspace's guard. The title must be compared,
 * since the guard of another workspace can also have this workspace's lease: the machine of that
 * workspace may read this workspace's disk for a command. */
static bool is_titled_guard(pid_t pid, const struct workspace *ws)
{
	autobuf struct buf title = BUF_INIT((size_t)4 * PATH_MAX);
	char role[LEASE_GUARD_ROLE], label[LEASE_GUARD_ROLE + 3];
	struct error ignored;

	if (lease_guard_role(ws, role, &ignored) < 0 || process_arguments(pid, &title) < 0)
		return false;
	snprintf(label, sizeof(label), ": %s ", role);
	return buf_string(&title) && strstr(buf_string(&title), label);
}

static bool is_guard_of(pid_t pid, const struct guard_search *search)
{
	char name[17];

	process_name(pid, name);
	return strcmp(name, LEASE_GUARD) == 0 && lease_is_had_by(search->watch, pid) &&
	       is_titled_guard(pid, search->ws);
}

static int hold_one_guard(pid_t pid, void *data)
{
	const struct guard_search *search = data;
	struct proc guard = PROC_NONE;

	if (!is_guard_of(pid, search) || proc_hold(pid, &guard, NULL) < 0)
		return 0;
	/* Checks the process again, since the pid could have passed to another process before the
	 * descriptor was opened. */
	if (is_guard_of(pid, search))
		add_to_list(search->found, &guard);
	else
		proc_let_go(&guard);
	return 0;
}

static void hold_guards(const struct workspace *ws, struct proc_list *out)
{
	autoclose int watch = lease_watch(ws);
	struct guard_search search = {.ws = ws, .watch = watch, .found = out};

	if (watch >= 0)
		(void)process_each(hold_one_guard, &search, NULL);
}

/* --- the live supervisor ---------------------------------------------------------------------- */

/* Returns true if the parent of the process is in the list and still lives. The pid of a living
 * parent cannot pass to another process. */
static bool is_child_of(pid_t pid, const struct proc_list *parents)
{
	const pid_t parent = process_parent(pid);
	struct error ignored;

	for (size_t i = 0; i < parents->count; i++)
		if (parents->at[i].pid == parent &&
		    fd_wait(parents->at[i].pidfd, POLLIN, 0, &ignored) < 0)
			return true;
	return false;
}

static int hold_one_child(pid_t pid, void *data)
{
	struct leftover_supervisor *out = data;
	struct proc child = PROC_NONE;

	if (!is_child_of(pid, &out->guards) || proc_hold(pid, &child, NULL) < 0)
		return 0;
	if (is_child_of(pid, &out->guards))
		add_to_list(&out->children, &child);
	else
		proc_let_go(&child);
	return 0;
}

static void hold_guards_and_children(const struct workspace *ws, struct leftover_supervisor *out)
{
	hold_guards(ws, &out->guards);
	if (out->guards.count > 0)
		(void)process_each(hold_one_child, out, NULL);
}

/*
 * Kills the live supervisor, which is the child of its guard. Does not read the record, which may
 * be wrong. When the live supervisor has exited, the guard ends all other processes of the machine.
 * No process of the machine can change or end its guard, or take the lease from the guard. If
 * another process of the machine pretends to be a guard, only the children of that process are
 * killed too. Returns false if there is no guard.
 */
static bool kill_by_guard(const struct workspace *ws)
{
	__attribute__((cleanup(leftover_let_go_supervisor))) struct leftover_supervisor held = {
		.proc = PROC_NONE};

	hold_guards_and_children(ws, &held);
	for (size_t i = 0; i < held.children.count; i++)
		(void)proc_signal(&held.children.at[i], SIGKILL, NULL);
	return held.guards.count > 0;
}

void leftover_hold_supervisor(const struct workspace *ws, struct leftover_supervisor *out)
{
	json_auto_t *runtime = read_runtime(ws);
	const json_t *start_time = json_object_get(runtime, "supervisorStartTime");

	*out = (struct leftover_supervisor){.proc = PROC_NONE};
	hold_guards_and_children(ws, out);
	if (out->guards.count == 0 && runtime && runtime_is_of(ws, runtime) &&
	    hold_recorded(json_object_get(runtime, "supervisorPid"), start_time, &out->proc))
		out->start_time = (uint64_t)json_integer_value(start_time);
}

void leftover_let_go_supervisor(struct leftover_supervisor *held)
{
	let_go_list(&held->guards);
	let_go_list(&held->children);
	proc_let_go(&held->proc);
}

bool leftover_has_held_supervisor(const struct leftover_supervisor *held)
{
	return held->children.count > 0 || held->proc.pid;
}

bool leftover_await_supervisor(const struct leftover_supervisor *held, uint64_t deadline_ns)
{
	struct error ignored;

	for (size_t i = 0; i < held->children.count; i++)
		if (fd_wait(held->children.at[i].pidfd, POLLIN, deadline_ns, &ignored) < 0)
			return false;
	return !held->proc.pid || fd_wait(held->proc.pidfd, POLLIN, deadline_ns, &ignored) == 0;
}

static bool has_guard_beside(const struct workspace *ws, const struct proc_list *known)
{
	__attribute__((cleanup(let_go_list))) struct proc_list now = {0};

	hold_guards(ws, &now);
	for (size_t i = 0; i < now.count; i++)
		if (!is_in_list(known, now.at[i].pid))
			return true;
	return false;
}

bool leftover_has_another_supervisor(const struct workspace *ws,
				     const struct leftover_supervisor *held)
{
	json_auto_t *runtime = held->proc.pid ? read_runtime(ws) : NULL;
	json_int_t pid = json_integer_value(json_object_get(runtime, "supervisorPid"));
	json_int_t start_time = json_integer_value(json_object_get(runtime, "supervisorStartTime"));

	if (!held->proc.pid)
		return has_guard_beside(ws, &held->guards);
	return runtime && (pid != held->proc.pid || (uint64_t)start_time != held->start_time);
}

bool leftover_supervisor_is_gone(const struct workspace *ws)
{
	json_auto_t *runtime = read_runtime(ws);
	const json_t *pid = json_object_get(runtime, "supervisorPid");
	const struct proc_list nobody = {0};
	uint64_t deadline = limit_deadline(LIMIT_KILL_MS);
	struct proc supervisor = PROC_NONE;
	struct error err;
	bool gone;

	if (!pid)
		return false;
	/* A runtime.json of another workspace does not prove that the live supervisor has ended,
	 * since the supervisor can write anything into that file. But every live supervisor has a
	 * guard, so the function looks for a guard. */
	if (!runtime_is_of(ws, runtime))
		return !has_guard_beside(ws, &nobody);
	if (!hold_recorded(pid, json_object_get(runtime, "supervisorStartTime"), &supervisor))
		return true;
	if (!process_is_exiting(supervisor.pid))
		deadline = 0;
	gone = fd_wait(supervisor.pidfd, POLLIN, deadline, &err) == 0;
	proc_let_go(&supervisor);
	return gone;
}

void leftover_kill_supervisor(const struct workspace *ws)
{
	json_auto_t *runtime = read_runtime(ws);
	autoclose int watch = lease_watch(ws);

	if (!kill_by_guard(ws) && runtime && runtime_is_of(ws, runtime))
		end_recorded(json_object_get(runtime, "supervisorPid"),
			     json_object_get(runtime, "supervisorStartTime"), watch, 0);
}

/* --- all processes ---------------------------------------------------------------------------- */

static bool may_be_killed(pid_t pid, void *data)
{
	const int *watch = data;

	return lease_covers(*watch, pid) || process_is_exiting(pid);
}

/* Reports that the cgroup was not removed. Writes to standard error, for the user of the command,
 * and to supervisor.log. */
static void say_cgroup_is_left(const struct workspace *ws, const char *why)
{
	static const char said[] = "the cgroup of the machine was not removed";
	autoclose int fd = openat(ws->fd, "supervisor.log",
				  O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct log log;

	fprintf(stderr, "%s: ", said);
	print_safe(stderr, why);
	fputc('\n', stderr);
	log_init(&log, fd, 0);
	log_line(&log, "%s: %s", said, why);
}

/* Ends the processes in the cgroup that the live supervisor has left behind, and removes the
 * cgroup. */
static void end_cgroup(const struct workspace *ws, const json_t *runtime, int watch,
		       uint64_t deadline_ns)
{
	const char *path = json_text(runtime, "cgroup", NULL);
	const struct cgroup_owner owner = {.id = ws->id, .may_kill = may_be_killed, .data = &watch};
	struct error err = {0};

	if (path && cgroup_remove(path, &owner, deadline_ns, &err) < 0)
		say_cgroup_is_left(ws, err.msg);
}

static bool lives_as_recorded(const json_t *process, const char *pid, const char *start_time)
{
	struct proc held = PROC_NONE;
	int found = try_to_hold_recorded(json_object_get(process, pid),
					 json_object_get(process, start_time), &held, NULL);

	proc_let_go(&held);
	return found != 0;
}

static int is_guard_by_name(pid_t pid, void *data)
{
	char name[17];

	process_name(pid, name);
	return strcmp(name, LEASE_GUARD) == 0 && is_titled_guard(pid, data);
}

bool leftover_lives_by_name(const struct workspace *ws)
{
	json_auto_t *runtime = read_runtime(ws);
	const json_t *companions = json_object_get(runtime, "companions"), *companion;
	struct workspace looked_at = *ws;
	size_t i;

	/* If the processes cannot be examined, the function returns true, as lives_as_recorded()
	 * does. */
	if (process_each(is_guard_by_name, &looked_at, NULL) != 0)
		return true;
	if (!runtime || !runtime_is_of(ws, runtime))
		return false;
	json_array_foreach(companions, i, companion)
	{
		if (lives_as_recorded(companion, "pid", "startTime"))
			return true;
	}
	return lives_as_recorded(runtime, "supervisorPid", "supervisorStartTime") ||
	       lives_as_recorded(runtime, "pid", "startTime") ||
	       lives_as_recorded(json_object_get(runtime, "broker"), "pid", "startTime");
}

static void end_all_recorded(const json_t *runtime, int watch, uint64_t deadline_ns)
{
	const json_t *companions = json_object_get(runtime, "companions");
	const json_t *broker = json_object_get(runtime, "broker");

	end_recorded(json_object_get(runtime, "supervisorPid"),
		     json_object_get(runtime, "supervisorStartTime"), watch, deadline_ns);
	end_recorded(json_object_get(broker, "pid"), json_object_get(broker, "startTime"), watch,
		     deadline_ns);
	end_recorded(json_object_get(runtime, "pid"), json_object_get(runtime, "startTime"), watch,
		     deadline_ns);
	for (size_t i = 0; i < json_array_size(companions) && i < COMPANIONS_MAX; i++) {
		const json_t *companion = json_array_get(companions, i);

		end_recorded(json_object_get(companion, "pid"),
			     json_object_get(companion, "startTime"), watch, deadline_ns);
	}
}

void leftover_end_all(const struct workspace *ws, uint64_t deadline_ns)
{
	json_auto_t *runtime = read_runtime(ws);
	autoclose int watch = lease_watch(ws);

	/* First kills the live supervisor, which is found as the child of its guard. Does so even
	 * if the record says that the live supervisor has exited: while a guard exists, the record
	 * may be wrong. */
	(void)kill_by_guard(ws);
	if (!runtime || !runtime_is_of(ws, runtime))
		return;
	end_all_recorded(runtime, watch, deadline_ns);
	end_cgroup(ws, runtime, watch, deadline_ns);
}

void leftover_end_cgroup(const struct workspace *ws, uint64_t deadline_ns)
{
	json_auto_t *runtime = read_runtime(ws);
	autoclose int watch = lease_watch(ws);

	if (runtime && runtime_is_of(ws, runtime))
		end_cgroup(ws, runtime, watch, deadline_ns);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Returns true if `name` is the name of a socket that connects the host and the guest: vsock.sock,
 * vsock.sock_<P>, agent.sock, console.sock. */
static bool is_channel(const char *name)
{
	return !strncmp(name, "vsock.sock", strlen("vsock.sock")) ||
	       !strncmp(name, AGENT_SOCK, strlen(AGENT_SOCK)) || !strcmp(name, "console.sock");
}

static bool is_our_socket(const char *name)
{
	return is_channel(name) || !strcmp(name, "control.sock");
}

static int remove_sockets(const struct workspace *ws, bool (*which)(const char *name),
			  struct error *err)
{
	autoclose int fd = openat(ws->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct stat st;

	if (!dir)
		return error_errno(err, errno, "%s", ws->id);
	steal_fd(&fd); /* `dir` owns the descriptor from now on */
	while ((entry = readdir(dir))) {
		if (!which(entry->d_name) ||
		    fstatat(ws->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISSOCK(st.st_mode))
			continue;
		if (workspace_remove_file(ws, entry->d_name, err) < 0)
			return -1;
	}
	return 0;
}

int leftover_remove_channels(const struct workspace *ws, struct error *err)
{
	return remove_sockets(ws, is_channel, err);
}

/* Removes the run directory with its sockets and links, which no process serves any more. Leaves a
 * subdirectory, and so also the run directory: only a VMM can have made a subdirectory, and no
 * process uses it. Both directories are removed with the workspace, or before the next start. */
static void remove_run_dir(const struct workspace *ws)
{
	autoclose int fd =
		openat(ws->fd, VM_RUN_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autodir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (!dir)
		return;
	steal_fd(&fd); /* `dir` owns the descriptor from now on */
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	(void)unlinkat(ws->fd, VM_RUN_DIR, AT_REMOVEDIR);
}

int leftover_remove_files(const struct workspace *ws, struct error *err)
{
	if (remove_sockets(ws, is_our_socket, err) < 0)
		return -1;
	remove_run_dir(ws);
	return workspace_remove_file(ws, LEFTOVER_RESERVE, err);
}

bool leftover_has_control(const struct workspace *ws)
{
	return ws->fd >= 0 && faccessat(ws->fd, "control.sock", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
