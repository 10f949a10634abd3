/* SPDX-License-Identifier: MIT */
/*
 * Opens and removes a workspace's directory, and reads and writes the JSON documents in it. An
 * error about a document that cannot be read names the file. Such a document does not count as
 * missing, and is not overwritten, because it may be the only evidence of what happened.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "base/platform/sync.h"
#include "contract/kind.h"
#include "contract/runtime_id.h"
#include "store/internal.h"
#include "store/mountinfo.h"
#include "store/trusted_dir.h"

/* Files whose presence shows that a directory is a workspace, which may be unfinished. */
static const char *const marks[] = {
	"workspace.json", "event.json",	 "events.json",	 "runtime.json", "result.json",
	"lease",	  "rootfs.ext4", "rootfs.qcow2", "session.json", WORKSPACE_MAKING};

static bool is_marked(int fd)
{
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (!fstatat(fd, marks[i], &st, AT_SYMLINK_NOFOLLOW))
			return true;
	return false;
}

static bool is_empty_workspace(int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	return entries != NULL;
}

/*
 * Refuses a directory that is not a workspace. If the state directory also contains other
 * directories of the user, the user may give a workspace the name of such a directory. microagent
 * must neither write to that directory nor remove it.
 */
static int refuse_foreign(int fd, const char *path, struct error *err)
{
	if (is_marked(fd) || is_empty_workspace(fd))
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"%s is a directory that microagent did not make; choose another name or another state directory",
		path);
}

static int open_directory(const struct state_dir *dir, const char *id, const char *path,
			  bool create, struct error *err)
{
	autoclose int fd = -1;
	struct stat st;

	if (create && mkdirat(dir->fd, id, 0700) < 0 && errno != EEXIST)
		return error_errno(err, errno, "%s", path);
	fd = openat(dir->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	/* Restores the owner's rights to the directory. A live supervisor that was taken over may
	 * have removed them, and without them the commands of an ordinary user could not end this
	 * supervisor. */
	if (fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU && st.st_uid == geteuid() &&
	    state_dir_has_digests(dir, id))
		(void)fchmod(fd, S_IRWXU);
	if (trusted_dir_check_own(fd, path, err) < 0 ||
	    (create && refuse_foreign(fd, path, err) < 0))
		return -1;
	return steal_fd(&fd);
}

int workspace_open(const struct state_dir *dir, const char *id, bool create, struct workspace *out,
		   struct error *err)
{
	struct error why = {0};
	autofree char *path = NULL;
	autoclose int fd = -1;
	char *name;

	if (runtime_id_check(id, "workspace name", err) < 0)
		return -1;
	path = path_join(dir->path, id, err);
	if (!path)
		return -1;
	fd = open_directory(dir, id, path, create, &why);
	if (fd < 0 && (create || why.errnum != ENOENT))
		return error_copy(err, &why);
	name = strdup(id);
	if (!name)
		return error_errno(err, ENOMEM, "%s", path);
	*out = (struct workspace){.dir = dir, .id = name, .fd = steal_fd(&fd)};
	return 0;
}

void workspace_close(struct workspace *ws)
{
	if (ws->id && ws->fd >= 0)
		close(ws->fd);
	free(ws->id);
	*ws = (struct workspace){.fd = -1};
}

bool workspace_is_recorded(const struct workspace *ws)
{
	return ws->fd >= 0 && is_marked(ws->fd);
}

/* ROOTFS_RECORD shows that the workspace was started. Earlier versions of microagent wrote this
 * file only at the second start. If such a version made the first start, runtime.json shows whether
 * the guest got the disk. */
bool workspace_was_started(const struct workspace *ws)
{
	json_auto_t *runtime = NULL;
	struct stat st;

	if (ws->fd < 0)
		return false;
	if (fstatat(ws->fd, ROOTFS_RECORD, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	runtime = workspace_read(ws, "runtime.json", NULL);
	return json_object_get(runtime, "guest") != NULL;
}

char *workspace_path(const struct workspace *ws, const char *file, struct error *err)
{
	autofree char *own = path_join(ws->dir->path, ws->id, err);

	if (!own || !file)
		return steal_ptr(&own);
	return path_join(own, file, err);
}

static int file_error(const struct workspace *ws, const char *file, struct error *err)
{
	return error_prefix(err, "%s/%s/%s", ws->dir->path, ws->id, file);
}

/* Returns true if the value has the JSON type that microagent writes to `file`: an array in
 * events.json, an object in every other file. */
static bool has_right_type(const char *file, const json_t *value)
{
	return strcmp(file, "events.json") ? json_is_object(value) : json_is_array(value);
}

int workspace_give_damaged(const struct workspace *ws, struct error *err)
{
	char name[sizeof(err->subject)];

	snprintf(name, sizeof(name), "%.*s", (int)kind_name_length(ws->id), ws->id);
	return error_reason(err, REASON_WORKSPACE_DAMAGED, name);
}

int workspace_damaged(const struct workspace *ws, const char *file, const struct error *why,
		      struct error *err)
{
	const struct error was = *why;

	error_set(err, ERR_IO, "%s/%s/%s: %s", ws->dir->path, ws->id, file, was.msg);
	return workspace_give_damaged(ws, err);
}

static int read_failed(const struct workspace *ws, const char *file, const struct error *why,
		       struct error *err)
{
	if (why->code == ERR_NOT_FOUND) {
		error_set(err, ERR_NOT_FOUND, "%s/%s/%s does not exist", ws->dir->path, ws->id,
			  file);
		return strcmp(file, "workspace.json") == 0 ? workspace_give_damaged(ws, err) : -1;
	}
	if (why->errnum == 0) /* the file is not one that microagent wrote: it is a link, a
			       * directory, or much too long */
		return workspace_damaged(ws, file, why, err);
	error_copy(err, why);
	return file_error(ws, file, err);
}

json_t *workspace_read(const struct workspace *ws, const char *file, struct error *err)
{
	/* runtime.json has a smaller limit, because every command reads it. A live supervisor that
	 * was taken over could write a very long file. */
	const enum limit most =
		strcmp(file, "runtime.json") == 0 ? LIMIT_RUNTIME_BYTES : LIMIT_STATE_FILE_BYTES;
	autobuf struct buf text = BUF_INIT(limit_get(most));
	json_auto_t *value = NULL;
	struct error why = {0};

	if (ws->fd < 0) {
		error_set(err, ERR_NOT_FOUND, "workspace \"%s\" does not exist in %s", ws->id,
			  ws->dir->path);
		return NULL;
	}
	if (path_read_file_at(ws->fd, file, &text, &why) < 0) {
		read_failed(ws, file, &why, err);
		return NULL;
	}
	value = json_load_strict(buf_bytes(&text), text.len, &why);
	if (value && has_right_type(file, value))
		return steal_ptr(&value);
	if (value)
		error_set(
			&why, ERR_IO,
			"the file is damaged, because its JSON is of another type than microagent writes");
	workspace_damaged(ws, file, &why, err);
	return NULL;
}

int workspace_write(const struct workspace *ws, const char *file, const json_t *value,
		    enum store_sync sync, struct error *err)
{
	autofree char *text = json_pretty(value, err);
	size_t len;

	if (!text)
		return file_error(ws, file, err);
	len = strlen(text);
	text[len] = '\n'; /* the newline replaces the NUL, which is not written */
	if (path_replace_file_at(ws->fd, file, text, len + 1, 0600,
				 sync == STORE_SYNC ? PATH_SYNC : PATH_NO_SYNC, err) < 0)
		return file_error(ws, file, err);
	return 0;
}

int workspace_sync(const struct workspace *ws, const char *file, struct error *err)
{
	autoclose int fd = openat(ws->fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && file_sync(fd) == 0 && file_sync(ws->fd) == 0)
		return 0;
	error_errno(err, errno, "sync");
	return file_error(ws, file, err);
}

int workspace_remove_file(const struct workspace *ws, const char *file, struct error *err)
{
	if (ws->fd < 0 || unlinkat(ws->fd, file, 0) == 0 || errno == ENOENT)
		return 0;
	error_errno(err, errno, "remove");
	return file_error(ws, file, err);
}

int workspace_refuse_mounts(const struct workspace *ws, struct error *err)
{
	struct mountinfo mounts = {0};
	char path[4096];
	int status = 0;

	/* If the mounts cannot be listed, this function succeeds. The removal then stops at the
	 * mounts, because it never enters another file system. */
	if (ws->fd < 0 || file_path(ws->fd, path, sizeof(path)) < 0 ||
	    mountinfo_read(&mounts, NULL) < 0)
		return 0;
	for (size_t i = 0; status == 0 && i < mounts.count; i++)
		if (path_is_below(mounts.rows[i].point, path))
			status = error_set(
				err, ERR_CONFLICT,
				"%s is a mount point: unmount it first; nothing was removed",
				mounts.rows[i].point);
	mountinfo_free(&mounts);
	return status;
}

int workspace_remove(struct workspace *ws, struct error *err)
{
	autofree char *path = workspace_path(ws, NULL, err);

	if (!path)
		return -1;
	if ((ws->fd >= 0 &&
	     (refuse_foreign(ws->fd, path, err) < 0 || trash_remove(ws->dir, ws->id, err) < 0)) ||
	    trash_finish(ws->dir, ws->id, err) < 0)
		return error_prefix(err, "remove workspace \"%s\"", ws->id);
	if (ws->fd >= 0)
		close(steal_fd(&ws->fd));
	return 0;
}
