/* SPDX-License-Identifier: MIT */
/* The quota of a session's disk, which is recorded in session.json and enforced by the live
 * supervisor. */
#include "store/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/control.h"
#include "contract/kind.h"
#include "session/sessions/session.h"
#include "store/audit.h"
#include "store/record_digest.h"

#define MIB (INT64_C(1) << 20)

static int check_mib(int64_t mib, struct error *err)
{
	int64_t most = (int64_t)limit_get(LIMIT_DISK_QUOTA_MIB_MAX);

	if (mib >= 1 && mib <= most)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"session.diskQuota: the quota of a disk must be between 1 and %lld MiB, and is %lld",
		(long long)most, (long long)mib);
}

int session_quota_of(const struct base *base, const struct microagent_session_spec *spec,
		     int64_t *bytes, struct error *err)
{
	const json_t *disk = json_object_get(base->metadata, "disk");
	int64_t size = json_integer_value(json_object_get(disk, "bytes"));
	int64_t most = (int64_t)limit_get(LIMIT_DISK_QUOTA_BYTES);

	if (spec->disk_quota_mib && check_mib(spec->disk_quota_mib, err) < 0)
		return -1;
	*bytes = spec->disk_quota_mib ? spec->disk_quota_mib * MIB : size < most ? size : most;
	return 0;
}

/* --- in a description ------------------------------------------------------------------------ */

/*
 * Finds by how many bytes the disk has grown. Returns false if this is unknown. The disk of a
 * running session must not be opened here, because the session's audit log names each process that
 * opens the disk. If the disk is a layer, it shares no bytes with the base. Then the growth is the
 * size of the layer, which fstatat() returns without opening the file. For any other disk, only the
 * live supervisor knows the growth while the session runs.
 */
static bool find_grown(const struct workspace *ws, const json_t *record, uint64_t *bytes)
{
	const char *clone = json_text(record, "clone", NULL);
	autoclose int disk = -1;
	struct quota quota;
	struct stat st;

	if (strcmp(clone, "overlay") == 0) {
		if (fstatat(ws->fd, SESSION_LAYER, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return false;
		*bytes = (uint64_t)st.st_blocks * 512;
		return true;
	}
	if (lease_is_held(ws))
		return false;
	disk = openat(ws->fd, session_disk(record), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (disk < 0 || quota_read(ws, &quota, NULL) < 0 || quota_grown(disk, bytes, NULL) < 0)
		return false;
	*bytes = quota_beyond(quota.copied, *bytes);
	return true;
}

int session_quota_told(const struct workspace *ws, const json_t *record, json_t *entry,
		       struct error *err)
{
	json_t *quota = json_object_get(record, "quotaBytes");
	uint64_t grown = 0;

	if (quota && json_put(entry, "quotaBytes", json_incref(quota), err) < 0)
		return -1;
	if (!find_grown(ws, record, &grown))
		return 0;
	return json_put(entry, "grownBytes", json_integer((json_int_t)grown), err);
}

/* --- set ------------------------------------------------------------------------------------- */

/* Records the quota. The caller holds the command lock, which prevents a start, and has checked
 * that no process of the session lives. */
static int record_quota(const struct workspace *ws, int64_t bytes, json_t **answer,
			struct error *err)
{
	json_auto_t *session = session_record_read(ws, err);
	struct audit_event event = {AUDIT_INFO, "session", "session.quota-set", NULL, 0};
	json_auto_t *data = NULL;
	struct quota before;
	uint64_t grown = 0;

	if (!session || quota_read(ws, &before, err) < 0)
		return -1;
	if (find_grown(ws, session, &grown) && (uint64_t)bytes < grown)
		return error_set(
			err, ERR_CONFLICT,
			"the session's disk has already grown to %llu MiB: give the session a larger quota",
			(unsigned long long)(grown + MIB - 1) / MIB);
	if (quota_write(ws, (uint64_t)bytes, err) < 0)
		return -1;
	event.data = data = json_pack("{s:I, s:I}", "quotaBytes", (json_int_t)bytes, "before",
				      (json_int_t)before.bytes);
	if (!data)
		return error_errno(err, ENOMEM, "quota");
	if (audit_note(ws, &event, err) < 0)
		return -1;
	*answer = json_pack("{s:b, s:{s:I, s:I}}", "ok", 1, "disk", "quotaBytes", (json_int_t)bytes,
			    "grownBytes", (json_int_t)grown);
	return *answer ? 0 : error_errno(err, ENOMEM, "quota");
}

#define ATTEMPTS 8

/* Asks the live supervisor to set the quota. If no live supervisor runs, takes the command lock,
 * which prevents a start, and records the quota itself. */
static int set_in(const struct open_workspace *existing, int64_t bytes, json_t **answer,
		  struct error *err)
{
	uint64_t wait = limit_get(LIMIT_CONTROL_REQUEST_MS) + limit_get(LIMIT_QMP_MS);
	uint64_t deadline = limit_deadline(LIMIT_COMMAND_LOCK_MS);
	json_auto_t *request =
		json_pack("{s:s, s:I}", "command", "disk-quota", "bytes", (json_int_t)bytes);
	struct error why = {0};
	/* Holds this lock, so that no other process changes session.json meanwhile. */
	autoclose int change = record_change_lock(&existing->ws, deadline, err);

	if (change < 0)
		return -1;
	if (!request)
		return error_errno(err, ENOMEM, "quota");
	for (int i = 0; i < ATTEMPTS; i++) {
		autoclose int lock = -1;

		if (control_ask(existing->ws.fd, request, clock_mono_ns() + wait * NS_PER_MS,
				answer, &why) == 0)
			return 0;
		if (why.errnum != ENOENT && why.errnum != ECONNREFUSED)
			break;
		lock = workspace_lock_opened(&existing->ws, deadline, err);
		if (lock < 0)
			return -1;
		if (!lease_is_held(&existing->ws))
			return record_quota(&existing->ws, bytes, answer, err);
		/* The live supervisor cannot be reached, but its lease is held. So the session is
		 * just starting or ending. */
		error_set(
			&why, ERR_CONFLICT,
			"the session cannot be reached, because it is ending or not yet running: try again when it is running");
	}
	return error_copy(err, &why);
}

int microagent_session_set_quota(struct microagent_session *session, int64_t mib, json_t **disk,
				 struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *answer = NULL;
	struct error why = {0};
	int status;

	if (check_mib(mib, err) < 0 ||
	    open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return -1;
	status = set_in(&existing, mib * MIB, &answer, &why);
	open_workspace_close(&existing);
	if (status < 0) {
		kind_prefix(session->id, &why);
		return error_copy(err, &why);
	}
	session->quota_bytes = mib * MIB;
	if (disk)
		*disk = json_incref(json_object_get(answer, "disk"));
	return 0;
}
