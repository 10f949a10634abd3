/* SPDX-License-Identifier: MIT */
/* The code of the lease that is the same on all systems. linux/lease.c and darwin/lease.c have the
 * code for one system. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/process.h"
#include "store/internal.h"

int lease_guard_role(const struct workspace *ws, char out[LEASE_GUARD_ROLE], struct error *err)
{
	struct stat st;

	if (fstat(ws->fd, &st) < 0)
		return error_errno(err, errno, "the workspace's directory");
	snprintf(out, LEASE_GUARD_ROLE, "guard %llx:%llx", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	return 0;
}

/* --- names of the processes that hold a lease, only for messages --------------------------- */

#define NAMED_MAX 3

/* The other processes that hold the lease and that this process can see. `text` looks like
 * "qemu-system-x86 (4711), ... and 2 more". */
struct holders {
	struct stat lease;
	char text[128];
	int count;
	pid_t first;
};

/* Returns true if an open file is the reading end of a lease. `data` is the lease's struct stat. A
 * process that has only a writing end checks the lease, but does not hold it. */
static int is_that_lease(const struct process_file *file, void *data)
{
	const struct stat *lease = data;

	return file->is_read && file->dev == lease->st_dev && file->ino == lease->st_ino;
}

static int add_holder(pid_t pid, void *data)
{
	struct holders *holders = data;
	size_t used = strlen(holders->text);
	char name[17];

	if (pid == getpid() ||
	    !process_each_file(pid, lease_shown_name, is_that_lease, &holders->lease))
		return 0;
	process_name(pid, name);
	/* A guard is not named, because ending a guard ends no other process. */
	if (strcmp(name, LEASE_GUARD) == 0)
		return 0;
	if (holders->count++ == 0)
		holders->first = pid;
	if (holders->count <= NAMED_MAX)
		snprintf(holders->text + used, sizeof(holders->text) - used, "%s%s (%d)",
			 holders->count > 1 ? ", " : "", name, (int)pid);
	return 0;
}

bool lease_is_had_by(int watch, pid_t pid)
{
	struct stat lease;

	return fstat(watch, &lease) == 0 && lease_has_its_type(&lease) &&
	       process_each_file(pid, lease_shown_name, is_that_lease, &lease);
}

#define DEPTH_MAX 64

/* The pid of the child's parent is read a second time after the check, because the parent may have
 * exited during the check, and another process may have got its pid. */
bool lease_covers(int watch, pid_t pid)
{
	pid_t child = 0;

	for (int depth = 0; watch >= 0 && pid > 1 && depth < DEPTH_MAX; depth++) {
		if (lease_is_had_by(watch, pid) && (!child || process_parent(child) == pid))
			return true;
		child = pid;
		pid = process_parent(pid);
	}
	return false;
}

bool lease_is_damaged(const struct workspace *ws, struct error *why)
{
	char place[LEASE_PLACE];

	if (ws->fd < 0 || !lease_place(ws, place))
		return false;
	error_set(
		why, ERR_IO,
		"%s/%s is damaged, because it is of another type than the lease of a workspace: something else than microagent has put it there",
		ws->dir->path, place);
	(void)workspace_give_damaged(ws, why);
	return true;
}

int lease_error(const struct workspace *ws, int errnum, struct error *err)
{
	return lease_is_damaged(ws, err)
		       ? -1
		       : error_errno(err, errnum, "%s/%s/" LEASE_NAME, ws->dir->path, ws->id);
}

/* Sets the error about a lease that is held. The message names the processes that hold the lease,
 * if this process may see their open files. Usually this is a machine that reads the disk for
 * another command, and ends together with that command. */
int lease_busy(const struct workspace *ws, int lease, struct error *err)
{
	struct holders holders = {0};
	size_t used;

	if (fstat(lease, &holders.lease) == 0)
		(void)process_each(add_holder, &holders, NULL);
	if (!holders.first)
		return error_set(
			err, ERR_CONFLICT,
			"workspace \"%s\" has a process alive, which could not be found: it may run in another container; wait until that process has ended",
			ws->id);
	used = strlen(holders.text);
	if (holders.count > NAMED_MAX)
		snprintf(holders.text + used, sizeof(holders.text) - used, " and %d more",
			 holders.count - NAMED_MAX);
	return error_set(
		err, ERR_CONFLICT,
		"workspace \"%s\" has a process alive: %s; let it finish, or end it with `kill %d`",
		ws->id, holders.text, (int)holders.first);
}

void lease_drop(struct lease *lease)
{
	cleanup_close(&lease->life);
	cleanup_close(&lease->lock);
}

static bool is_free(int errnum)
{
	return errnum == ENOENT || errnum == ENXIO;
}

/* If the lease cannot be opened, it counts as held, because a workspace whose machine may still run
 * must not be deleted or started. */
bool lease_is_held(const struct workspace *ws)
{
	autoclose int fd = lease_look(ws);

	return fd >= 0 || !is_free(errno);
}

int lease_watch(const struct workspace *ws)
{
	return lease_look(ws);
}

int lease_wait_free(const struct workspace *ws, uint64_t deadline_ns, struct error *err)
{
	autoclose int fd = lease_look(ws);

	if (fd < 0 && !is_free(errno))
		return lease_error(ws, errno, err);
	return lease_wait_over(ws, fd, deadline_ns, err);
}
