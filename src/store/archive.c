/* SPDX-License-Identifier: MIT */
/* What is kept of a session that is destroyed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "store/audit_line.h"
#include "store/internal.h"

/* In this order: as long as session.json is where it was, a later call goes on with the rest. */
static const char *const kept[] = {AUDIT_LOG, "events.json", "session.json"};

static int say_destroyed(const struct workspace *ws, struct audit *audit, struct error *err)
{
	static const struct audit_event event = {.subsystem = "session",
						 .event = "session.destroyed"};

	if (audit_open(ws, audit, err) < 0)
		return -1;
	if (!audit->closed && audit_append(audit, &event, STORE_NO_SYNC, err) < 0)
		return -1;
	return audit_finish(audit, err);
}

/* The disks go anyway; where there is no room even for the last words, they go first. */
static int close_log(const struct workspace *ws, struct audit *audit, struct error *err)
{
	static const char *const disks[] = {"reserve", "rootfs.ext4", "rootfs.qcow2"};
	struct error why = {0};

	if (say_destroyed(ws, audit, &why) == 0)
		return 0;
	if (why.errnum != ENOSPC && why.errnum != EDQUOT)
		return error_copy(err, &why);
	audit_release(audit);
	for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
		if (workspace_remove_file(ws, disks[i], err) < 0)
			return -1;
	return say_destroyed(ws, audit, err);
}

static int open_archive(const struct workspace *ws, const struct audit *audit, struct error *err)
{
	autofree char *path = audit_state_path(ws, ARCHIVE_DIR, err);
	autoclose int archive = path ? path_open_dir_at(AT_FDCWD, path, true, 0700, err) : -1;

	if (archive < 0 || store_check_directory(archive, path, err) < 0)
		return -1;
	return path_open_dir_at(archive, audit->session, true, 0700, err);
}

/* The archive may be on another file system. */
static int copy(const struct workspace *ws, int archive, const char *name, struct error *err)
{
	autoclose int from = openat(ws->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (from < 0)
		return error_errno(err, errno, "%s", name);
	if (unlinkat(archive, name, 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, ARCHIVE_DIR "/%s", name);
	if (path_clone_file_at(from, archive, name, 0600, NULL, err) < 0)
		return -1;
	return workspace_remove_file(ws, name, err);
}

static int keep(const struct workspace *ws, int archive, const char *name, struct error *err)
{
	if (renameat(ws->fd, name, archive, name) == 0 || errno == ENOENT)
		return 0;
	return errno == EXDEV ? copy(ws, archive, name, err)
			      : error_errno(err, errno, ARCHIVE_DIR "/%s", name);
}

/* An earlier call was killed after it had moved the log: a new one would be a forgery of it. */
static bool log_is_gone(const struct workspace *ws, int archive)
{
	return faccessat(ws->fd, AUDIT_LOG, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	       faccessat(archive, AUDIT_LOG, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int audit_archive(const struct workspace *ws, struct error *err)
{
	auto_audit struct audit audit = AUDIT_NONE;
	autoclose int archive = -1;

	if (!audit_is_kept(ws))
		return 0;
	audit_name_session(ws, audit.session);
	archive = open_archive(ws, &audit, err);
	if (archive < 0 || (!log_is_gone(ws, archive) && close_log(ws, &audit, err) < 0))
		return error_prefix(err, "archive of workspace \"%s\"", ws->id);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (keep(ws, archive, kept[i], err) < 0)
			return error_prefix(err, "archive of workspace \"%s\"", ws->id);
	if (fsync(archive) < 0)
		return error_errno(err, errno, "archive of workspace \"%s\"", ws->id);
	return 0;
}
