/* SPDX-License-Identifier: MIT */
/*
 * Notices and repairs changes of an audit log by processes that are not its writer. The writer has
 * the file open, so it can still read all lines if the file was removed. The writer then makes a
 * copy of the file under the log's name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/sync.h"
#include "store/audit_line.h"

/* The name of the copy of the log, until the copy gets the log's name. */
#define COPY AUDIT_LOG ".copy"

const char *const audit_tampering_names[] = {[AUDIT_UNTOUCHED] = "untouched",
					     [AUDIT_REMOVED] = "removed",
					     [AUDIT_REPLACED] = "replaced",
					     [AUDIT_SHORTENED] = "shortened",
					     [AUDIT_LENGTHENED] = "lengthened",
					     [AUDIT_SECURITY_REMOVED] = "security-log-removed",
					     [AUDIT_SECURITY_MOVED] = "security-log-moved",
					     [AUDIT_SECURITY_SHORTENED] = "security-log-shortened"};

enum audit_tampering audit_tampering(const struct audit *audit)
{
	struct stat ours, named;

	if (fstat(audit->fd, &ours) < 0)
		return AUDIT_UNTOUCHED;
	if (fstatat(audit->dirfd, AUDIT_LOG, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? AUDIT_REMOVED : AUDIT_UNTOUCHED;
	if (named.st_dev != ours.st_dev || named.st_ino != ours.st_ino)
		return AUDIT_REPLACED;
	/* audit->end is negative if a write failed half-way and the partly written line could not
	 * be removed. Then the correct size is unknown. */
	if (audit->end >= 0 && ours.st_size != audit->end)
		return ours.st_size < audit->end ? AUDIT_SHORTENED : AUDIT_LENGTHENED;
	return AUDIT_UNTOUCHED;
}

int audit_clear_place(int dirfd, struct error *err)
{
	struct stat st;

	if (fstatat(dirfd, AUDIT_LOG, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(st.st_mode))
		return 0;
	return path_remove_tree_at(dirfd, AUDIT_LOG, err);
}

/* Gives the copy the log's name. Returns a descriptor of the copy, or -1 with err set. */
static int copy_into_place(const struct audit *audit, struct error *err)
{
	autoclose int fd =
		openat(audit->dirfd, COPY, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || file_sync(fd) < 0)
		return error_errno(err, errno, COPY);
	if (audit_clear_place(audit->dirfd, err) < 0)
		return -1;
	if (renameat(audit->dirfd, COPY, audit->dirfd, AUDIT_LOG) < 0)
		return error_errno(err, errno, AUDIT_LOG);
	return steal_fd(&fd);
}

int audit_put_back(struct audit *audit, struct error *err)
{
	int fd;

	/* Removes the copy of an earlier writer that was killed before it could rename the copy. */
	(void)unlinkat(audit->dirfd, COPY, 0);
	if (path_clone_file_at(audit->fd, audit->dirfd, COPY, 0600, NULL, err) < 0)
		return -1;
	fd = copy_into_place(audit, err);
	if (fd < 0) {
		(void)unlinkat(audit->dirfd, COPY, 0);
		return -1;
	}
	close(audit->fd);
	audit->fd = fd;
	return file_sync(audit->dirfd) < 0 ? error_errno(err, errno, AUDIT_LOG) : 0;
}
