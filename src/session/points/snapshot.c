/* SPDX-License-Identifier: MIT */
/* Makes, lists, restores and deletes snapshots. A snapshot is a point that is kept. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/sync.h"
#include "contract/kind.h"
#include "session/points/point.h"
#include "store/audit.h"
#include "store/record_digest.h"

#define MIB (INT64_C(1) << 20)

static json_t *tell_point(const char *name, const json_t *record, struct error *err)
{
	json_t *told =
		json_pack("{s:s, s:O?, s:O?, s:O?, s:O?}", "name", name, "createdAt",
			  json_object_get(record, "createdAt"), "stateBytes",
			  json_object_get(json_object_get(record, "state"), "bytes"), "diskBytes",
			  json_object_get(json_object_get(record, "disk"), "allocatedBytes"),
			  "pauseMs", json_object_get(record, "pauseMs"));

	if (!told)
		error_errno(err, ENOMEM, "snapshot");
	return told;
}

/* --- made ------------------------------------------------------------------------------------ */

/* Checks that the session's disk and the disks of its snapshots, with the disk of the new snapshot
 * `point`, stay within the session's quota. */
static int require_quota(const struct point *point, const struct workspace *ws, struct error *err)
{
	json_auto_t *record = session_record_read(ws, err);
	int64_t quota, bytes;
	struct stat st;

	if (!record)
		return -1;
	quota = json_integer_value(json_object_get(record, "quotaBytes"));
	if (fstatat(point->fd, POINT_DISK, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(err, errno, "%s/" POINT_DISK, point->path);
	/* The copy in the snapshot has as many bytes as the session's layer has now. So this number
	 * counts twice: once for the copy, and once for the layer. */
	bytes = points_bytes(ws) + 2 * (int64_t)st.st_blocks * 512;
	if (!quota || bytes <= quota)
		return 0;
	error_set(
		err, ERR_CONFLICT,
		"with this snapshot the session's disk and the disks of its snapshots would have %lld MiB together, but the session's quota is %lld MiB",
		(long long)((bytes + MIB - 1) / MIB), (long long)(quota / MIB));
	return error_reason(err, REASON_SESSION_AT_QUOTA, json_text(record, "name", ""));
}

/* --- reviewed directories -------------------------------------------------------------------- */

#define SNAPSHOT_REVIEWS "snapshotReviews"

/* Records in session.json which files of reviewed directories belong to a snapshot; `reviews` is NULL:
 * none any more. A live supervisor that was taken over can write to the files of a snapshot, and to
 * template.json in it. It must not bring a list of its own into the workspace, by which the host then
 * judges what its guest has changed. So these digests are in the record that only commands write
 * (store/record_digest.h). */
static int record_reviews(const struct workspace *ws, const char *name, const json_t *reviews,
			  struct error *err)
{
	autoclose int lock = record_change_lock(ws, limit_deadline(LIMIT_COMMAND_LOCK_MS), err);
	json_auto_t *record = lock < 0 ? NULL : session_record_read(ws, err);
	json_t *all = json_object_get(record, SNAPSHOT_REVIEWS);

	if (!record)
		return -1;
	if (!reviews && !json_object_get(all, name))
		return 0;
	if (!all) {
		all = json_object();
		if (json_put(record, SNAPSHOT_REVIEWS, all, err) < 0)
			return -1;
	}
	if (reviews && json_put(all, name, json_deep_copy(reviews), err) < 0)
		return -1;
	if (!reviews)
		json_object_del(all, name);
	if (json_object_size(all) == 0)
		json_object_del(record, SNAPSHOT_REVIEWS);
	return workspace_write_accepted(ws, SESSION_RECORD, record, STORE_SYNC, err);
}

static int snapshot_in(struct microagent_session *session, const struct workspace *ws,
		       const char *name, json_t **told, struct error *err)
{
	auto_point struct point there = POINT_NONE, point = POINT_NONE;
	json_auto_t *saved = NULL, *made = NULL;
	struct error why = {0};

	if (point_open(ws, name, POINT_ANY, &there, &why) == 0 || why.code != ERR_NOT_FOUND)
		return point_is_there(ws, name, err);
	if (point_begin(ws, &point, err) < 0 ||
	    point_save(&point, session, ws, true, &saved, err) < 0 ||
	    require_quota(&point, ws, err) < 0)
		return -1;
	made = tell_point(name, point.record, err);
	if (!made ||
	    (point_reviews(&point) && record_reviews(ws, name, point_reviews(&point), err) < 0) ||
	    point_note(ws, "snapshot", name, NULL, err) < 0 ||
	    point_name(&point, ws, name, err) < 0)
		return -1;
	if (told)
		*told = steal_ptr(&made);
	return 0;
}

/* --- restoring a snapshot -------------------------------------------------------------------- */

static int refuse_quarantined(const struct workspace *ws, struct error *err)
{
	enum state state = STATE_UNKNOWN;
	json_t *event = NULL;
	int status = workspace_state(ws, &state, &event, err);

	json_decref(event);
	if (status < 0 || state != STATE_QUARANTINED)
		return status;
	return kind_say(KIND_KEPT, ws->id, NULL, ERR_CONFLICT, err);
}

/* Replaces the session's disk by `copy`, a copy of the snapshot's disk. Also replaces the files of the
 * reviewed directories `reviews`, which may be NULL, by those in `copy`. The caller has made the copy
 * while the machine still ran, so that a full disk of the host is noticed before anything is
 * changed. */
static int replace_disk(const struct workspace *ws, const struct point *copy, const json_t *reviews,
			const char *name, struct error *err)
{
	autoclose int lock = workspace_lock_opened(ws, limit_deadline(LIMIT_COMMAND_LOCK_MS), err);

	if (lock < 0)
		return -1;
	if (lease_is_held(ws))
		return error_set(
			err, ERR_CONFLICT,
			"the session was started again by another command meanwhile: try again");
	/* Another process may have put the session into quarantine meanwhile. Then the disk must
	 * not be changed. */
	if (refuse_quarantined(ws, err) < 0 ||
	    point_note_at_rest(ws, "restored", name, NULL, err) < 0)
		return -1;
	if (reviews_move(reviews, copy->fd, ws->fd, err) < 0)
		return -1;
	if (renameat(copy->fd, POINT_DISK, ws->fd, SESSION_LAYER) < 0 || file_sync(ws->fd) < 0)
		return error_errno(err, errno, SESSION_LAYER);
	return 0;
}

/* Returns the session's config, in which `disk` is the path of the disk. The caller releases the
 * config. */
static json_t *config_with_disk(const struct microagent_session *session, const char *disk,
				struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *config = NULL;

	if (open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return NULL;
	config = open_workspace_config(&existing, err);
	open_workspace_close(&existing);
	if (!config || json_put_string(config, "rootfsPath", disk, err) < 0 ||
	    request_confine(session->agent, config, config, err) < 0)
		return NULL;
	return steal_ptr(&config);
}

/* Checks that a machine could boot with the copy of the snapshot's disk. Changes nothing. Sets
 * *renewed if a file that the machine boots from is no longer the one that prepare recorded, for
 * example after an upgrade of microagent. The workspace must then be prepared anew, because
 * otherwise the start would be refused. */
static int check_boot(const struct microagent_session *session, const struct point *copy,
		      bool *renewed, struct error *err)
{
	json_auto_t *answer = NULL, *config = NULL;
	const json_t *verification, *divergence, *entry;
	autofree char *disk = path_join(copy->path, POINT_DISK, err);
	size_t i;

	config = disk ? config_with_disk(session, disk, err) : NULL;
	if (!config || request_call(session->agent, "check", session->id, steal_ptr(&config),
				    &answer, err) < 0)
		return -1;
	verification = json_object_get(answer, "verification");
	divergence = json_object_get(verification, "divergence");
	json_array_foreach(divergence, i, entry)
	{
		if (strcmp(json_text(entry, "artifact", ""), "base") != 0)
			continue;
		error_set(err, ERR_CONFLICT,
			  "the base's disk %s is not the disk from which the session was cloned",
			  json_text(json_object_get(verification, "base"), "path", ""));
		return error_reason(err, REASON_BASE_DAMAGED,
				    json_text(session->record, "base", session->name));
	}
	*renewed = json_array_size(divergence) > 0;
	return 0;
}

/* Copies the files of reviewed directories from the snapshot to `copy`, if the session has others now.
 * Then sets *renewed, since the workspace must be prepared anew with them. If the workspace must be
 * prepared anew in any case, the snapshot's files are taken too, because prepare then records whatever
 * files there are. Sets *out to a new reference of what is to be replaced, or to NULL. */
static int copy_reviews(const struct workspace *ws, const struct point *point,
			const struct point *copy, bool *renewed, json_t **out, struct error *err)
{
	json_auto_t *record = session_record_read(ws, err);
	json_auto_t *present = record ? reviews_describe(ws, err) : NULL;
	json_t *saved = json_object_get(json_object_get(record, SNAPSHOT_REVIEWS), point->name);

	if (!present)
		return -1;
	*out = NULL;
	if (!saved || (!*renewed && json_equal(saved, present)))
		return 0;
	if (reviews_copy(saved, point->fd, copy->fd, STORE_SYNC, err) < 0)
		return -1;
	*renewed = true;
	*out = json_incref(saved);
	return 0;
}

/* Restores the session to the snapshot. If the session's shared directories cannot be given to the
 * restored machine, sets *unshared to the reason, and does not fail. Otherwise leaves *unshared
 * unchanged. */
static int go_back(struct microagent_session *session, const struct workspace *ws,
		   const struct point *point, json_t **boot, json_t **unshared, struct error *err)
{
	auto_point struct point copy = POINT_NONE;
	json_auto_t *reviews = NULL;
	struct error why = {0};
	bool renewed = false;

	if (microagent_session_check_shares(session, err) < 0 || point_verify(point, err) < 0 ||
	    point_begin(ws, &copy, err) < 0)
		return -1;
	if (point_copy_disk(point, copy.fd, POINT_DISK, err) < 0 ||
	    check_boot(session, &copy, &renewed, err) < 0 ||
	    copy_reviews(ws, point, &copy, &renewed, &reviews, err) < 0 ||
	    state_require_room(ws->fd, "the session", err) < 0)
		return error_prefix(err, "session %s, snapshot \"%s\"", session->name, point->name);
	if (microagent_kill(session->agent, session->id, NULL, err) < 0 ||
	    replace_disk(ws, &copy, reviews, point->name, err) < 0 ||
	    (renewed && workspace_prepare_anew(session->agent, session->id, err) < 0))
		return -1;
	if (point_boot(session, point, boot, err) < 0)
		return -1;
	if (microagent_session_share_again(session, &why) < 0)
		*unshared = json_string_lossy(why.msg, strlen(why.msg));
	return 0;
}

static int restore_in(struct microagent_session *session, const struct workspace *ws,
		      const char *name, json_t **told, struct error *err)
{
	auto_point struct point point = POINT_NONE;
	json_auto_t *made = NULL, *boot = NULL, *unshared = NULL;

	if (point_open(ws, name, POINT_WHOLE, &point, err) < 0 || refuse_quarantined(ws, err) < 0)
		return -1;
	made = tell_point(name, point.record, err);
	if (!made || go_back(session, ws, &point, &boot, &unshared, err) < 0 ||
	    json_put(made, "boot", json_incref(boot), err) < 0 ||
	    (unshared && json_put(made, "unshared", json_incref(unshared), err) < 0))
		return -1;
	json_object_del(made, "pauseMs");
	if (told)
		*told = steal_ptr(&made);
	return 0;
}

/* --- deleting a snapshot --------------------------------------------------------------------- */

/* Deletes a snapshot. A damaged snapshot is deleted too. */
static int delete_in(struct microagent_session *session, const struct workspace *ws,
		     const char *name, json_t **told, struct error *err)
{
	auto_point struct point point = POINT_NONE;

	(void)session;
	(void)told;
	if (point_open(ws, name, POINT_ANY, &point, err) < 0 ||
	    point_note(ws, "snapshot-deleted", name, NULL, err) < 0 ||
	    point_remove(&point, err) < 0)
		return -1;
	return record_reviews(ws, name, NULL, err);
}

/* --- all snapshots --------------------------------------------------------------------------- */

static int list_point(const struct workspace *ws, const char *name, json_t *list, struct error *err)
{
	auto_point struct point point = POINT_NONE;
	struct error why = {0};
	json_t *entry;

	if (point_open(ws, name, POINT_WHOLE, &point, &why) == 0) {
		entry = tell_point(name, point.record, err);
	} else {
		/* Another process has just deleted the snapshot, or is deleting it. Such a snapshot
		 * is not listed. */
		if (why.code == ERR_NOT_FOUND || why.code == ERR_CONFLICT)
			return 0;
		entry = json_pack("{s:s, s:o}", "name", name, "error",
				  json_string_lossy(why.msg, strlen(why.msg)));
	}
	if (!entry || json_array_append_new(list, entry) < 0)
		return error_errno(err, ENOMEM, "snapshots");
	return 0;
}

static int list_in(struct microagent_session *session, const struct workspace *ws,
		   const char *nothing, json_t **told, struct error *err)
{
	json_auto_t *names = point_names(ws, err), *list = json_array();
	const json_t *name;
	size_t i;

	(void)session;
	(void)nothing;
	if (!names || !list)
		return names ? error_errno(err, ENOMEM, "snapshots") : -1;
	json_array_foreach(names, i, name)
	{
		if (list_point(ws, json_string_value(name), list, err) < 0)
			return -1;
	}
	*told = json_pack("{s:O}", "snapshots", list);
	return *told ? 0 : error_errno(err, ENOMEM, "snapshots");
}

/* --- the verbs ------------------------------------------------------------------------------- */

typedef int point_verb(struct microagent_session *session, const struct workspace *ws,
		       const char *name, json_t **told, struct error *err);

static int act_on_point(struct microagent_session *session, const char *name, point_verb *verb,
			json_t **told, struct error *err)
{
	struct open_workspace existing = {0};
	int status;

	if ((name && point_check_name(name, err) < 0) ||
	    open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return -1;
	status = verb(session, &existing.ws, name, told, err);
	open_workspace_close(&existing);
	return status;
}

int microagent_session_snapshot(struct microagent_session *session, const char *name, json_t **told,
				struct error *err)
{
	return act_on_point(session, name, snapshot_in, told, err);
}

int microagent_session_restore(struct microagent_session *session, const char *name, json_t **told,
			       struct error *err)
{
	int status;

	pthread_mutex_lock(&session->life);
	status = act_on_point(session, name, restore_in, told, err);
	pthread_mutex_unlock(&session->life);
	return status;
}

json_t *microagent_session_snapshots(struct microagent_session *session, struct error *err)
{
	json_t *list = NULL;

	return act_on_point(session, NULL, list_in, &list, err) == 0 ? list : NULL;
}

int microagent_session_snapshot_delete(struct microagent_session *session, const char *name,
				       struct error *err)
{
	return act_on_point(session, name, delete_in, NULL, err);
}

int microagent_snapshot_check_name(const char *word, struct error *err)
{
	return point_check_name(word, err);
}
