/* SPDX-License-Identifier: MIT */
/*
 * Gives and checks the proof that a machine is cut off. A live supervisor that was taken over may
 * record a false state. So its broker gives the proof, after it has checked which connections the
 * machine and the supervisor have. The proof is a lock (flock) on a file in the directory of locks,
 * which no process of the workspace can reach. The kernel releases the lock when the broker exits,
 * so a valid proof is never about an earlier machine.
 *
 * The mode of the file records that the machine was cut off, also after the broker has exited: the
 * file then has no right to write. Until a user ends the quarantine, a sweep keeps the workspace,
 * and the workspace cannot be started, whatever the live supervisor has recorded. A mode is used
 * because changing a mode needs no space on the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "store/internal.h"

static void name_proof(const struct workspace *ws, char out[QUARANTINE_PROOF_ROOM])
{
	snprintf(out, QUARANTINE_PROOF_ROOM, QUARANTINE_PROOF "%.160s", ws->id);
}

int quarantine_proof_open(const struct workspace *ws, struct error *err)
{
	autoclose int locks = path_open_dir_at(ws->dir->fd, LOCKS_DIR, true, 0700, err);
	char name[QUARANTINE_PROOF_ROOM];
	int fd;

	if (locks < 0)
		return error_prefix(err, "%s/" LOCKS_DIR, ws->dir->path);
	name_proof(ws, name);
	fd = openat(locks, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? error_errno(err, errno, "%s/" LOCKS_DIR "/%s", ws->dir->path, name) : fd;
}

int quarantine_proof_give(int fd, struct error *err)
{
	/* Waits for the lock, because a command that checks the proof holds it for a moment. */
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return error_errno(err, errno, "the proof that the machine is cut off");
	return fchmod(fd, S_IRUSR) < 0
		       ? error_errno(err, errno, "the record that the machine is cut off")
		       : 0;
}

bool quarantine_proof_was_given(const struct workspace *ws)
{
	char path[sizeof(LOCKS_DIR) + QUARANTINE_PROOF_ROOM];
	struct stat st;

	snprintf(path, sizeof(path), LOCKS_DIR "/" QUARANTINE_PROOF "%.160s", ws->id);
	return fstatat(ws->dir->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       !(st.st_mode & S_IWUSR);
}

int quarantine_proof_take_back(const struct workspace *ws, struct error *err)
{
	char path[sizeof(LOCKS_DIR) + QUARANTINE_PROOF_ROOM];

	if (!quarantine_proof_was_given(ws))
		return 0;
	snprintf(path, sizeof(path), LOCKS_DIR "/" QUARANTINE_PROOF "%.160s", ws->id);
	return fchmodat(ws->dir->fd, path, S_IRUSR | S_IWUSR, 0) < 0
		       ? error_errno(err, errno, "%s/%s", ws->dir->path, path)
		       : 0;
}

bool quarantine_proof_is_given(const struct workspace *ws)
{
	autoclose int locks = path_open_dir_at(ws->dir->fd, LOCKS_DIR, false, 0700, NULL);
	char name[QUARANTINE_PROOF_ROOM];

	if (locks < 0)
		return false;
	name_proof(ws, name);
	autoclose int fd = openat(locks, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}
