/* SPDX-License-Identifier: MIT */
/* Saves the contents of a point. The live supervisor saves two files in the session's workspace.
 * Then this code moves these files into the directory of the point, and writes the point's record,
 * which describes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/explain.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/sync.h"
#include "channel/control.h"
#include "channel/hasher.h"
#include "contract/kind.h"
#include "session/points/point.h"

#define SAVED_STATE "fork.state"
#define SAVED_DISK "fork.disk"
#define FORMAT 1

/* --- why a machine was not saved ------------------------------------------------------------- */

static bool is_quarantined(const struct workspace *ws)
{
	enum state state = STATE_UNKNOWN;
	json_t *event = NULL;
	bool is = workspace_state(ws, &state, &event, NULL) == 0 && state == STATE_QUARANTINED;

	json_decref(event);
	return is;
}

/* Sets `err` to the reason why the machine was not saved. `why` is the error of the request.
 * runtime.json tells whether the machine booted or was restored: only a restored machine can be
 * saved. */
static int explain_refusal(const struct microagent_session *session, const struct workspace *ws,
			   struct error *why, struct error *err)
{
	json_auto_t *runtime = workspace_read(ws, "runtime.json", NULL);
	const json_t *boot = json_object_get(runtime, "boot");
	const char *cold = json_text(boot, "why", NULL);

	if (why->errnum == ENOENT || why->errnum == ECONNREFUSED) { /* no live supervisor runs */
		enum state state = STATE_UNKNOWN;
		json_t *event = NULL;

		if (workspace_state(ws, &state, &event, NULL) < 0)
			state = STATE_UNKNOWN;
		json_decref(event);
		if (state == STATE_RUNNING)
			state = STATE_FAILED;
		error_set(
			err, ERR_CONFLICT,
			"session %s is %s, and only a running machine can be saved with its memory",
			session->name, state_names[state]);
		return error_reason(err,
				    state == STATE_QUARANTINED ? REASON_SESSION_QUARANTINED
							       : REASON_SESSION_DOWN,
				    session->name);
	}
	if ((why->code == ERR_UNAVAILABLE || why->code == ERR_TIMEOUT) &&
	    explain_paused(ws, why) < 0)
		return error_copy(err, why);
	if (why->code != ERR_CONFLICT || !runtime || is_quarantined(ws) ||
	    strcmp(json_text(boot, "how", ""), "restored") == 0) {
		kind_prefix(session->id, why);
		/* The live supervisor knows only the session's id, so the user's name for the
		 * session is put into the error. */
		if (why->reason == REASON_SESSION_SHARES)
			error_reason(why, why->reason, session->name);
		return error_copy(err, why);
	}
	error_set(
		err, ERR_CONFLICT,
		"session %s was booted%s%.160s; only a machine that was restored from a template can be saved while it runs",
		session->name, cold ? ": " : "", cold ? cold : "");
	return error_reason(err, REASON_SESSION_COLD,
			    json_text(session->record, "base", session->name));
}

/* --- taken ----------------------------------------------------------------------------------- */

static int take_saved_file(const struct point *point, const struct workspace *ws, const char *saved,
			   const char *name, struct error *err)
{
	return renameat(ws->fd, saved, point->fd, name) == 0
		       ? 0
		       : error_errno(err, errno, "%s/%s", point->path, name);
}

/* Makes the saved file `name` read-only, and returns the object
 * {"bytes","allocatedBytes","sha256"?} about the file. If `hashed` is set, the object has "sha256".
 * If `kept` is set, the file is synced first. */
static json_t *describe_file(const struct point *point, const char *name, bool hashed, bool kept,
			     struct error *err)
{
	autoclose int fd = openat(point->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	json_auto_t *file = NULL;
	char digest[DIGEST_TEXT];
	struct digest_key before, after;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		error_errno(err, errno, "%s/%s", point->path, name);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		error_set(
			err, ERR_IO,
			"%s/%s is not a regular file, although the live supervisor says that it saved a snapshot there: this is a bug, or the supervisor was taken over",
			point->path, name);
		return NULL;
	}
	if (fchmod(fd, 0400) < 0 || (kept && file_sync(fd) < 0) || fstat(fd, &st) < 0) {
		error_errno(err, errno, "%s/%s", point->path, name);
		return NULL;
	}
	file = json_pack("{s:I, s:I}", "bytes", (json_int_t)st.st_size, "allocatedBytes",
			 (json_int_t)st.st_blocks * 512);
	if (!file) {
		error_errno(err, ENOMEM, "snapshot");
		return NULL;
	}
	if (hashed) {
		bool keyed = digest_key(fd, DIGEST_FILE, &before, NULL) == 0;

		if (digest_of(fd, DIGEST_FILE, digest, err) < 0)
			return NULL;
		/* Digests of new files are usually not remembered. This digest is remembered, but
		 * not if the file changed while its digest was computed. The live supervisor has
		 * made the file and can still change it, and a guest may have taken the supervisor
		 * over. */
		if (keyed && digest_key(fd, DIGEST_FILE, &after, NULL) == 0 &&
		    digest_key_equal(&before, &after))
			digest_remember(&after, digest);
		if (json_put_string(file, "sha256", digest, err) < 0)
			return NULL;
	}
	return steal_ptr(&file);
}

static json_t *describe_machine(const struct workspace *ws, const json_t *fork, struct error *err)
{
	json_auto_t *manifest = workspace_read(ws, "workspace.json", err);
	const json_t *config = json_object_get(manifest, "config");
	json_t *record;
	char now[CLOCK_TEXT];

	if (!manifest)
		return NULL;
	clock_rfc3339(clock_real_ns(), now);
	record = json_pack("{s:i, s:s, s:O?, s:O?, s:O?, s:O?}", "format", FORMAT, "createdAt", now,
			   "facts", json_object_get(fork, "facts"), "memoryMiB",
			   json_object_get(config, "memoryMiB"), "cpuCount",
			   json_object_get(config, "cpuCount"), "pauseMs",
			   json_object_get(fork, "pauseMs"));
	if (!record)
		error_errno(err, ENOMEM, "snapshot");
	return record;
}

static bool has_upper(const json_t *disks, const json_t *review)
{
	const json_t *disk;
	size_t i;

	json_array_foreach(disks, i, disk)
	{
		if (json_equal(json_object_get(disk, "name"), json_object_get(review, "name")))
			return json_equal(json_object_get(disk, "upper"),
					  json_object_get(review, "upper"));
	}
	return false;
}

/* Describes the reviewed directories whose disks the saved machine has. The workspace may have other
 * files already for the next start. Then the saved memory does not belong to them. */
static int describe_reviews(const struct microagent_session *session, const struct workspace *ws,
			    const json_t *fork, json_t *record, struct error *err)
{
	const json_t *disks = json_object_get(json_object_get(fork, "facts"), "disks");
	json_auto_t *reviews = reviews_describe(ws, err);
	const json_t *review;
	size_t i;

	if (!reviews)
		return -1;
	json_array_foreach(reviews, i, review)
	{
		if (!has_upper(disks, review))
			return error_set(
				err, ERR_CONFLICT,
				"the reviewed directory of session %s was taken anew after the session was started, so the memory of its machine does not belong to the files: make another session",
				session->name);
	}
	return json_array_size(reviews) > 0 ? json_put(record, "reviews", json_incref(reviews), err)
					    : 0;
}

const json_t *point_reviews(const struct point *point)
{
	return json_object_get(point->record, "reviews");
}

/* Writes the point's record. The state gets a digest only if the point is kept. Computing this
 * digest takes long, because the state may be as large as the machine's memory. */
static int describe_point(struct point *point, const struct microagent_session *session,
			  const struct workspace *ws, const json_t *fork, bool kept,
			  struct error *err)
{
	json_auto_t *record = describe_machine(ws, fork, err);
	json_t *state = record ? describe_file(point, POINT_STATE, kept, kept, err) : NULL;
	autofree char *text = NULL;

	if (!state || json_put(record, "state", state, err) < 0)
		return -1;
	json_t *disk = describe_file(point, POINT_DISK, true, kept, err);
	if (!disk || json_put(record, "disk", disk, err) < 0 ||
	    describe_reviews(session, ws, fork, record, err) < 0)
		return -1;
	/* A point that is kept has the files, since the session may get others later. */
	if (kept && reviews_copy(json_object_get(record, "reviews"), ws->fd, point->fd, STORE_SYNC,
				 err) < 0)
		return -1;
	text = json_pretty(record, err);
	if (!text || path_replace_file_at(point->fd, POINT_RECORD, text, strlen(text), 0400,
					  kept ? PATH_SYNC : PATH_NO_SYNC, err) < 0)
		return -1;
	point->record = steal_ptr(&record);
	return 0;
}

int point_save(struct point *point, const struct microagent_session *session,
	       const struct workspace *ws, bool kept, json_t **told, struct error *err)
{
	uint64_t wait = limit_get(LIMIT_CONTROL_REQUEST_MS) + limit_get(LIMIT_SAVE_MS) +
			4 * limit_get(LIMIT_QMP_MS);
	json_auto_t *request = json_pack("{s:s}", "command", "fork");
	json_auto_t *answer = NULL;
	struct error why = {0};
	json_t *fork;

	if (!request)
		return error_errno(err, ENOMEM, "fork");
	if (control_ask(ws->fd, request, clock_mono_ns() + wait * NS_PER_MS, &answer, &why) < 0)
		return explain_refusal(session, ws, &why, err);
	fork = json_object_get(answer, "fork");
	if (take_saved_file(point, ws, SAVED_STATE, POINT_STATE, err) < 0 ||
	    take_saved_file(point, ws, SAVED_DISK, POINT_DISK, err) < 0 ||
	    describe_point(point, session, ws, fork, kept, err) < 0)
		return -1;
	json_object_del(fork, "facts");
	/* "diskBytes" is the number of allocated bytes and not the file's size, because most of the
	 * file is holes. */
	json_object_set(fork, "diskBytes",
			json_object_get(json_object_get(point->record, "disk"), "allocatedBytes"));
	*told = json_incref(fork);
	return 0;
}

/* --- used ------------------------------------------------------------------------------------ */

static int verify_file(const struct point *point, const char *name, const char *key,
		       struct error *err)
{
	const json_t *said = json_object_get(point->record, key);
	autoclose int fd = openat(point->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char digest[DIGEST_TEXT];

	if (fd < 0)
		return error_errno(err, errno, "%s/%s", point->path, name);
	if (digest_of(fd, DIGEST_FILE, digest, err) < 0)
		return error_prefix(err, "%s/%s", point->path, name);
	if (strcmp(digest, json_text(said, "sha256", "")) == 0)
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"the snapshot is damaged, because %s/%s is not what was saved: choose another snapshot",
		point->path, name);
}

int point_verify(const struct point *point, struct error *err)
{
	return verify_file(point, POINT_DISK, "disk", err) < 0
		       ? -1
		       : verify_file(point, POINT_STATE, "state", err);
}

int point_copy_disk(const struct point *point, int dir, const char *name, struct error *err)
{
	autoclose int from =
		openat(point->fd, POINT_DISK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (from < 0)
		return error_errno(err, errno, "%s/" POINT_DISK, point->path);
	return clone_with_digest(from, dir, name, NULL, err);
}

int64_t points_bytes(const struct workspace *ws)
{
	json_auto_t *names = point_names(ws, NULL);
	const json_t *name;
	int64_t bytes = 0;
	size_t i;

	json_array_foreach(names, i, name)
	{
		autofree char *path = NULL;
		struct stat st;

		if (asprintf(&path, POINTS_DIR "/%s/" POINT_DISK, json_string_value(name)) < 0)
			path = NULL;
		if (path && fstatat(ws->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (int64_t)st.st_blocks * 512;
	}
	return bytes;
}
