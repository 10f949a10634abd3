/* SPDX-License-Identifier: MIT */
/*
 * Makes the archive of a destroyed session. The archive has the closed audit log, and the files
 * that belong to the log. If the process is killed at any step, a later call continues the work,
 * and closes the log only if it is still open. The archive gets its final name when it is complete.
 * The bundle keeps all its files until the bundle is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/sync.h"
#include "store/audit_line.h"
#include "store/internal.h"
#include "store/trusted_dir.h"

static const char *const kept[] = {AUDIT_LOG, AUDIT_TELEMETRY, "events.json", "session.json",
				   SANDBOX_RECORD};

/* ---- the last words
 * ------------------------------------------------------------------------------ */

static bool has_too_long_log(const struct workspace *ws)
{
	autoclose int fd =
		openat(ws->fd, AUDIT_LOG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && audit_is_too_long(fd);
}

static int close_log(const struct workspace *ws, struct error *err)
{
	static const struct audit_event event = {.subsystem = "session",
						 .event = AUDIT_EVENT_DESTROYED};
	auto_audit struct audit audit = AUDIT_NONE;

	/* A log that is too long was made so by somebody else than its writer, and is evidence.
	 * Such a log is not closed, because its last line could only be found by reading the whole
	 * log. */
	if (has_too_long_log(ws)) {
		json_auto_t *data =
			json_pack("{s:s}", "how", audit_tampering_names[AUDIT_LENGTHENED]);
		const struct audit_event changed = {AUDIT_CRITICAL, AUDIT_SUBSYSTEM,
						    AUDIT_EVENT_CHANGED, data, 0};

		return data ? audit_note_aside(ws, &changed, err)
			    : error_errno(err, ENOMEM, AUDIT_LOG);
	}
	if (audit_clear_place(ws->fd, err) < 0 || audit_open(ws, &audit, err) < 0)
		return -1;
	audit.last_words = true;
	/* The line that the session is destroyed may already be in the log: an earlier call may
	 * have been killed before it could close the log. */
	if (!audit.closed && !audit.destroyed &&
	    (audit_vouch_telemetry(ws, &audit, err) < 0 ||
	     audit_append(&audit, &event, STORE_NO_SYNC, err) < 0))
		return -1;
	return audit_finish(&audit, err);
}

/* ---- the files
 * ----------------------------------------------------------------------------------- */

/* Copies the file into the archive. This is needed if the file system has no hard links, or if the
 * archive is on another file system. */
static int copy_to_archive(const struct workspace *ws, int to, const char *name, struct error *err)
{
	autoclose int from = openat(ws->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	autoclose int copied = -1;

	if (from < 0 || path_clone_file_at(from, to, name, 0600, NULL, err) < 0)
		return from < 0 ? error_errno(err, errno, "%s", name) : -1;
	copied = openat(to, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return copied >= 0 && file_sync(copied) == 0 ? 0 : error_errno(err, errno, "%s", name);
}

/* Puts a file into the archive, as a hard link or a copy. Skips anything that is not a regular
 * file, for example a symbolic link. */
static int keep_in_archive(const struct workspace *ws, int to, const char *name, struct error *err)
{
	struct stat st;

	if (fstatat(ws->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return 0;
	/* The file is synced before the archive gets its final name. So even after a power failure,
	 * an archive with a final name is complete. */
	autoclose int fd = openat(ws->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || file_sync(fd) < 0)
		return error_errno(err, errno, "%s", name);
	if (linkat(ws->fd, name, to, name, 0) == 0)
		return 0;
	if (errno == EXDEV || errno == EPERM || errno == EMLINK || errno == EOPNOTSUPP)
		return copy_to_archive(ws, to, name, err);
	return error_errno(err, errno, "%s", name);
}

/* ---- the archive
 * --------------------------------------------------------------------------------- */

/* Returns true if two logs are equal. If both are longer than audit_most_bytes(), compares only
 * their lengths. */
static bool same_bytes(int a, int b)
{
	char one[4096], other[sizeof(one)];
	struct stat of_one, of_other;
	off_t at = 0;
	ssize_t n;

	if (fstat(a, &of_one) < 0 || fstat(b, &of_other) < 0 || of_one.st_size != of_other.st_size)
		return false;
	if (audit_is_too_long(a))
		return true;
	do {
		n = pread(a, one, sizeof(one), at);
		if (n < 0 || pread(b, other, sizeof(other), at) != n ||
		    memcmp(one, other, (size_t)n) != 0)
			return false;
		at += n;
	} while (n > 0);
	return true;
}

/* Returns 1 if the session's archive already exists: an earlier call was killed after it had made
 * the archive. Returns 0 if there is no archive. Returns -1 with err set if the archive is that of
 * another session. */
static int has_archive(const struct workspace *ws, int archives, const char *session,
		       struct error *err)
{
	autoclose int archive =
		openat(archives, session, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (archive < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", session);
	/* The archive of this session has the same log as the bundle. If the bundle has no log,
	 * somebody may have removed the log from the bundle, and the archive counts as that of this
	 * session. */
	autoclose int here =
		openat(ws->fd, AUDIT_LOG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	autoclose int there =
		openat(archive, AUDIT_LOG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (there >= 0 && (here < 0 || same_bytes(here, there)))
		return 1;
	return error_set(
		err, ERR_CONFLICT,
		"there is already an archive of another session %s: move it out of " ARCHIVE_DIR
		" first",
		session);
}

static int make_archive(const struct workspace *ws, int archives, const char *session,
			struct error *err)
{
	char making[AUDIT_SESSION_ROOM + 16];
	autoclose int to = -1;

	snprintf(making, sizeof(making), ".making-%s", session);
	if (path_remove_tree_at(archives, making, err) < 0)
		return -1;
	to = path_open_dir_at(archives, making, true, 0700, err);
	if (to < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (keep_in_archive(ws, to, kept[i], err) < 0)
			return -1;
	if (file_sync(to) < 0)
		return error_errno(err, errno, ARCHIVE_DIR);
	if (renameat(archives, making, archives, session) < 0 || file_sync(archives) < 0)
		return error_errno(err, errno, "%s", session);
	return 0;
}

static int archive(const struct workspace *ws, struct error *err)
{
	autofree char *path = audit_state_path(ws, ARCHIVE_DIR, err);
	autoclose int archives = path ? path_open_dir_at(AT_FDCWD, path, true, 0700, err) : -1;
	char session[AUDIT_SESSION_ROOM];
	int there;

	if (archives < 0 || trusted_dir_check_own(archives, path, err) < 0)
		return -1;
	audit_name_session(ws, session);
	/* If there is an archive, and no log in the bundle, an earlier call was killed after it had
	 * made the archive. close_log() is not called then, because it would begin a new log, and
	 * two logs of one session would look like a forgery. */
	if (faccessat(ws->fd, AUDIT_LOG, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    has_archive(ws, archives, session, NULL) == 1)
		return 0;
	if (close_log(ws, err) < 0)
		return -1;
	there = has_archive(ws, archives, session, err);
	return there == 0 ? make_archive(ws, archives, session, err) : there < 0 ? -1 : 0;
}

int audit_archive(const struct workspace *ws, struct error *err)
{
	static const char *const large[] = {"reserve", "rootfs.ext4", "rootfs.qcow2", "serial.log"};
	struct error why = {0};

	if (!audit_is_kept(ws) || archive(ws, &why) == 0)
		return 0;
	/* If the disk has no room for the last lines of the log, the large files of the workspace
	 * are removed first, since the whole workspace will be removed anyway. */
	if (why.errnum == ENOSPC || why.errnum == EDQUOT) {
		for (size_t i = 0; i < ARRAY_SIZE(large); i++)
			if (workspace_remove_file(ws, large[i], err) < 0)
				return -1;
		why = (struct error){0};
		/* A sandbox may be removed without an archive, because its engine must always be
		 * able to remove it. The state directory of a sandbox is usually in memory, and has
		 * no large files to remove. The security log has the digests of the log's lines,
		 * and so shows later that there was a log. */
		if (archive(ws, &why) == 0 || audit_is_of_sandbox(ws))
			return 0;
	}
	error_copy(err, &why);
	return error_prefix(err, "workspace \"%s\" cannot be put away into its archive", ws->id);
}
