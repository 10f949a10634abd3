/* SPDX-License-Identifier: MIT */
/*
 * Implements the command lock, which is a flock. If the workspace does not exist any more, the
 * process that holds the lock removes the lock's file. Otherwise a file would stay for every name
 * that was ever used.
 *
 * A flock belongs to a file and not to the file's name. While a process waits for the lock, another
 * process may remove the lock's file. Then the first process gets the lock of a file without a
 * name, and a third process can make and lock a new file. So after taking the lock, a process
 * checks that its file still has the name, and tries again if not. From then on the file keeps the
 * name, because only the process that holds the lock may remove the file. So two processes never
 * hold the command lock at the same time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "contract/kind.h"
#include "contract/runtime_id.h"
#include "store/internal.h"
#include "store/record_digest.h"

/* Makes and locks a file for the workspace `id`. `file` is the name of the file in the directory
 * .locks. */
static int lock_file(const struct state_dir *dir, const char *file, const char *id,
		     uint64_t deadline_ns, struct error *err)
{
	autoclose int locks = path_open_dir_at(dir->fd, LOCKS_DIR, true, 0700, err);
	char what[KIND_NAME_ROOM];

	kind_name(id, what);
	if (locks < 0)
		return error_prefix(err, "%s/" LOCKS_DIR, dir->path);
	for (;;) {
		autoclose int fd =
			openat(locks, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return error_errno(err, errno, "%s/" LOCKS_DIR "/%s", dir->path, file);
		if (flock_until(fd, LOCK_EX, deadline_ns, what, err) < 0)
			return -1;
		if (fd_has_name(fd, locks, file))
			return steal_fd(&fd);
		if (clock_mono_ns() >= deadline_ns)
			return error_set(
				err, ERR_TIMEOUT,
				"%s is used by another command: try again when that has ended",
				what);
	}
}

int workspace_lock(const struct state_dir *dir, const char *id, uint64_t deadline_ns,
		   struct error *err)
{
	return runtime_id_check(id, "workspace name", err) < 0
		       ? -1
		       : lock_file(dir, id, id, deadline_ns, err);
}

int record_change_lock(const struct workspace *ws, uint64_t deadline_ns, struct error *err)
{
	char file[RECORD_DIGEST_ROOM];

	snprintf(file, sizeof(file), CHANGE_LOCK "%.160s", ws->id);
	return lock_file(ws->dir, file, ws->id, deadline_ns, err);
}

int workspace_lock_opened(const struct workspace *ws, uint64_t deadline_ns, struct error *err)
{
	autoclose int lock = workspace_lock(ws->dir, ws->id, deadline_ns, err);
	char what[KIND_NAME_ROOM];

	if (lock < 0 || fd_has_name(ws->fd, ws->dir->fd, ws->id))
		return steal_fd(&lock);
	/* The workspace was removed with its lock's file, and this function has made the file
	 * again. So this function removes it. */
	if (faccessat(ws->dir->fd, ws->id, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		workspace_lock_remove(ws->dir, ws->id);
	kind_name(ws->id, what);
	return error_set(
		err, ERR_NOT_FOUND,
		"%s was removed by another command meanwhile: make it again if it is needed", what);
}

void workspace_lock_remove(const struct state_dir *dir, const char *id)
{
	autoclose int locks = path_open_dir_at(dir->fd, LOCKS_DIR, false, 0700, NULL);
	static const char *const beside[] = {SHARE_PASS, LEASE_KEPT, CHANGE_LOCK, QUARANTINE_PROOF};
	struct error ignored;
	char name[192];

	if (locks < 0)
		return;
	record_digest_forget(dir, id);
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		snprintf(name, sizeof(name), "%s%.160s", beside[i], id);
		if (unlinkat(locks, name, 0) < 0 && errno != ENOENT)
			(void)path_remove_tree_at(locks, name, &ignored);
	}
	(void)unlinkat(locks, id, 0);
}
