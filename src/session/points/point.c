/* SPDX-License-Identifier: MIT */
#include "session/points/point.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "base/platform/sync.h"
#include "store/digests.h"

#define MAKING ".making-"
#define GONE ".gone-"
#define RECORD_BYTES (1u << 20)

void point_close(struct point *point)
{
	if (point->made)
		(void)path_remove_tree_at(point->points, point->name, NULL);
	cleanup_close(&point->fd);
	cleanup_close(&point->points);
	free(point->path);
	json_decref(point->record);
	*point = (struct point)POINT_NONE;
}

int point_check_name(const char *word, struct error *err)
{
	if (strlen(word) <= POINT_NAME_MAX && microagent_check_name(word, NULL) == 0)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"\"%.128s\" cannot be a snapshot's name, which begins with a letter or digit, has letters, digits, '.', '_' and '-', and is at most %d long",
		word, POINT_NAME_MAX);
}

/* --- all points ------------------------------------------------------------------------------ */

static int open_points(const struct workspace *ws, bool create, struct error *err)
{
	int fd;

	if (create && mkdirat(ws->fd, POINTS_DIR, 0700) < 0 && errno != EEXIST)
		return error_errno(err, errno, "%s/%s/" POINTS_DIR, ws->dir->path, ws->id);
	fd = openat(ws->fd, POINTS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? error_errno(err, errno, "%s/%s/" POINTS_DIR, ws->dir->path, ws->id) : fd;
}

/* Returns true if `name` is a temporary name, which a point has while it is being made or
 * removed. */
static bool is_point_passing(const char *name)
{
	return strncmp(name, MAKING, strlen(MAKING)) == 0 || strncmp(name, GONE, strlen(GONE)) == 0;
}

/* Removes an unfinished point if no living process makes it. Returns 1 if the point was removed, 0
 * if the removal failed, or -1 if the process that makes it still lives. */
static int remove_abandoned_point(int points, const char *name)
{
	autoclose int fd = openat(points, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -1;
	return path_remove_tree_at(points, name, NULL) == 0;
}

/* Appends the text SESSION/FILE to removed, which may be NULL. The text has the file's name too,
 * because only the file was removed, and not the session. */
static void list_removed(const struct workspace *ws, const char *directory, const char *file,
			 json_t *removed)
{
	char session[SESSION_NAME_ROOM];

	if (removed && session_name_of_id(ws->id, session))
		json_array_append_new(removed, json_sprintf("%s/%s%s", session, directory, file));
}

/* Removes the unfinished points that no living process makes. The caller has locked the directory
 * `points`. If no process makes a point, also removes the files that a live supervisor has saved in
 * the session's directory. No command needs these files then: a command has the locked directory of
 * a new point before it lets the supervisor save files. */
static void points_sweep_locked(const struct workspace *ws, int points, json_t *removed)
{
	static const char *const saved[] = {"fork.state", "fork.disk"};
	int own = openat(points, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;
	bool living = !entries;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries))) {
		int gone = is_point_passing(entry->d_name)
				   ? remove_abandoned_point(points, entry->d_name)
				   : 0;

		living |= gone < 0;
		if (gone > 0)
			list_removed(ws, POINTS_DIR "/", entry->d_name, removed);
	}
	for (size_t i = 0; !living && i < ARRAY_SIZE(saved); i++)
		if (unlinkat(ws->fd, saved[i], 0) == 0)
			list_removed(ws, "", saved[i], removed);
}

void points_sweep(const struct microagent *agent, json_t *removed)
{
	auto_state_dir struct state_dir dir = {0};
	json_auto_t *ids = NULL;
	const json_t *id;
	size_t i;

	if (state_sub_open(agent, SESSIONS_DIR, false, &dir, NULL) < 0)
		return;
	ids = state_dir_list(&dir, NULL);
	json_array_foreach(ids, i, id)
	{
		auto_workspace struct workspace ws = {0};
		autoclose int points = -1;

		if (workspace_open(&dir, json_string_value(id), false, &ws, NULL) < 0 || ws.fd < 0)
			continue;
		points = open_points(&ws, false, NULL);
		/* If another process holds the lock, that process removes the unfinished points
		 * itself, or has just begun a new point. */
		if (points >= 0 && flock(points, LOCK_EX | LOCK_NB) == 0)
			points_sweep_locked(&ws, points, removed);
	}
}

static int compare_points(const void *a, const void *b)
{
	return strcmp(json_string_value(*(json_t *const *)a),
		      json_string_value(*(json_t *const *)b));
}

static json_t *sorted_points(const json_t *names, struct error *err)
{
	size_t count = json_array_size(names);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the array contains pointers */
	autofree json_t **items = calloc(count + 1, sizeof(*items));
	json_auto_t *out = json_array();

	for (size_t i = 0; items && i < count; i++)
		items[i] = json_array_get(names, i);
	if (items)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): likewise */
		qsort(items, count, sizeof(*items), compare_points);
	for (size_t i = 0; items && out && i < count; i++)
		json_array_append(out, items[i]);
	if (items && out && json_array_size(out) == count)
		return steal_ptr(&out);
	error_errno(err, ENOMEM, "snapshots");
	return NULL;
}

json_t *point_names(const struct workspace *ws, struct error *err)
{
	int own = openat(ws->fd, POINTS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	json_auto_t *names = json_array();
	const struct dirent *entry;

	if (!entries && errno != ENOENT) {
		error_errno(err, errno, "%s/%s/" POINTS_DIR, ws->dir->path, ws->id);
		cleanup_close(&own);
		return NULL;
	}
	while (entries && (entry = readdir(entries)))
		if (point_check_name(entry->d_name, NULL) == 0)
			json_array_append_new(names, json_string(entry->d_name));
	return sorted_points(names, err);
}

/* --- making a point -------------------------------------------------------------------------- */

int point_begin(const struct workspace *ws, struct point *out, struct error *err)
{
	autoclose int lock = open_points(ws, true, err);
	auto_point struct point point = POINT_NONE;

	/* Waits for the lock, because other processes hold it only for a moment. */
	if (lock < 0 || flock_until(lock, LOCK_EX, limit_deadline(LIMIT_COMMAND_LOCK_MS),
				    "the session's snapshots", err) < 0)
		return -1;
	points_sweep_locked(ws, lock, NULL);
	point.points = open_points(ws, false, err);
	if (point.points < 0)
		return -1;
	point.path = workspace_path(ws, POINTS_DIR "/" MAKING "XXXXXX", err);
	if (!point.path)
		return -1;
	if (!mkdtemp(point.path))
		return error_errno(err, errno, "%s", point.path);
	snprintf(point.name, sizeof(point.name), "%.32s", strrchr(point.path, '/') + 1);
	point.made = true;
	point.fd =
		openat(point.points, point.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (point.fd < 0 || flock(point.fd, LOCK_EX | LOCK_NB) < 0)
		return error_errno(err, errno, "%s", point.path);
	*out = point;
	point = (struct point)POINT_NONE;
	return 0;
}

int point_is_there(const struct workspace *ws, const char *name, struct error *err)
{
	char subject[sizeof(err->subject)];

	snprintf(subject, sizeof(subject), "%.*s %s", (int)kind_name_length(ws->id), ws->id, name);
	error_set(err, ERR_CONFLICT, "there is a snapshot \"%s\" of this session already", name);
	return error_reason(err, REASON_SNAPSHOT_EXISTS, subject);
}

int point_name(struct point *point, const struct workspace *ws, const char *name, struct error *err)
{
	if (file_rename_new(point->points, point->name, point->points, name) < 0)
		return errno == EEXIST ? point_is_there(ws, name, err)
				       : error_errno(err, errno, "%s", point->path);
	point->made = false;
	if (file_sync(point->points) < 0) {
		error_errno(err, errno, "%s", point->path);
		(void)path_remove_tree_at(point->points, name, NULL);
		return -1;
	}
	return 0;
}

/* --- whole ----------------------------------------------------------------------------------- */

static int check_point_file(const json_t *record, const char *key, struct error *err)
{
	const json_t *file = json_object_get(record, key);
	int64_t bytes = 0;

	if (json_get_int(file, key, "bytes", JSON_REQUIRED, 0, INT64_MAX, &bytes, err) < 0)
		return -1;
	return digest_is_valid(json_text(file, "sha256", NULL))
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "the snapshot's record is damaged, because %s.sha256 is not a digest of 64 digits of 0-9 and a-f",
				 key);
}

static int read_point_record(struct point *point, struct error *err)
{
	autobuf struct buf text = BUF_INIT(RECORD_BYTES);
	json_auto_t *record = NULL;
	struct error why = {0};

	if (path_read_file_at(point->fd, POINT_RECORD, &text, &why) == 0)
		record = json_load_strict(buf_bytes(&text), text.len, &why);
	if (!record || check_point_file(record, "state", &why) < 0 ||
	    check_point_file(record, "disk", &why) < 0)
		return error_set(err, ERR_IO, "%s/" POINT_RECORD ": %s", point->path, why.msg);
	point->record = steal_ptr(&record);
	return 0;
}

static int no_such_point(const struct workspace *ws, const char *name, struct error *err)
{
	char session[SESSION_NAME_ROOM] = "";

	(void)session_name_of_id(ws->id, session);
	error_set(err, ERR_NOT_FOUND, "session %s has no snapshot \"%s\"", session, name);
	return error_reason(err, REASON_NO_SNAPSHOT, session);
}

int point_open(const struct workspace *ws, const char *name, enum point_use use, struct point *out,
	       struct error *err)
{
	auto_point struct point point = POINT_NONE;
	struct error why = {0};

	if (point_check_name(name, err) < 0)
		return -1;
	snprintf(point.name, sizeof(point.name), "%s", name);
	point.points = open_points(ws, false, &why);
	if (point.points < 0)
		return why.code == ERR_NOT_FOUND ? no_such_point(ws, name, err)
						 : error_copy(err, &why);
	point.fd = openat(point.points, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (point.fd < 0)
		return errno == ENOENT ? no_such_point(ws, name, err)
				       : error_errno(err, errno, "snapshot %s", name);
	if (flock(point.fd, LOCK_SH | LOCK_NB) < 0)
		return error_set(
			err, ERR_CONFLICT,
			"snapshot %s is being deleted by another command: choose another snapshot",
			name);
	if (asprintf(&point.path, "%s/%s/" POINTS_DIR "/%s", ws->dir->path, ws->id, name) < 0) {
		point.path = NULL;
		return error_errno(err, ENOMEM, "snapshot");
	}
	if (read_point_record(&point, use == POINT_ANY ? NULL : err) < 0 && use == POINT_WHOLE)
		return -1;
	*out = point;
	point = (struct point)POINT_NONE;
	return 0;
}

/* The point is renamed before it is removed. If this process is killed meanwhile, the next sweep
 * removes the files under the temporary name. */
int point_remove(struct point *point, struct error *err)
{
	char gone[sizeof(GONE) + POINT_NAME_MAX + 1];

	if (flock(point->fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(
			err, ERR_CONFLICT,
			"snapshot %s is being used by another command: try again when that command has ended",
			point->name);
	snprintf(gone, sizeof(gone), GONE "%s", point->name);
	if (path_remove_tree_at(point->points, gone, err) < 0)
		return -1;
	if (renameat(point->points, point->name, point->points, gone) < 0)
		return error_errno(err, errno, "%s", point->path);
	return path_remove_tree_at(point->points, gone, err);
}
