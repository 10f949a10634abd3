/* SPDX-License-Identifier: MIT */
#include "store/taken.h"

#include <errno.h>
#include <limits.h>
#include <sys/file.h>

#include "base/limits.h"
#include "store/internal.h"

int file_take(int fd, const char *path, bool read_only, struct error *err)
{
	int operation = read_only ? LOCK_SH : LOCK_EX;
	char user[PATH_MAX] = "";
	bool known;

	/* Where locks are not to be had the VMM's own have to do. */
	if (flock(fd, operation | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	known = taken_by(fd, user, sizeof(user));
	if (!known && flock_until(fd, operation, limit_deadline(LIMIT_ENDING_MS), path, NULL) == 0)
		return 0;
	error_set(err, ERR_CONFLICT, "%s is used by %s%s, which runs%s", path,
		  known ? "the workspace " : "another workspace", known ? user : "",
		  read_only ? " and writes to it" : "");
	return error_reason(err, REASON_DISK_TAKEN, path);
}

void file_give_back(int fd)
{
	if (fd >= 0)
		(void)flock(fd, LOCK_UN);
}
