/* SPDX-License-Identifier: MIT */
/* Reads session.json. A record is damaged if it lacks a member that every session has. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/macos.h"
#include "session/sessions/session.h"
#include "store/record_digest.h"

const char *session_disk(const json_t *record)
{
	return strcmp(json_text(record, "guest", ""), SESSION_MACOS) ? SESSION_RAW : MACOS_DISK;
}

void session_shares_of_before(json_t *record)
{
	json_t *share = json_object_get(record, "share");

	if (!json_is_object(share))
		return;
	json_object_set_new(record, "shares", json_pack("[O]", share));
	json_object_del(record, "share");
}

/* Checks the base's name in the record. A guest may have taken over the live supervisor, which can
 * write the record, and the name becomes a part of the paths of the pool, the base and the
 * template. */
static int check_base(const json_t *record, struct error *err)
{
	const char *base = NULL;

	if (json_get_string(record, "", "base", JSON_REQUIRED, &base, err) < 0)
		return -1;
	return base_version_check(base, err) < 0 ? error_prefix(err, "base") : 0;
}

json_t *session_record_read(const struct workspace *ws, struct error *err)
{
	const char *text = NULL;
	struct error why = {0};
	json_auto_t *record = workspace_read_accepted(ws, SESSION_RECORD, &why);
	int64_t quota = 0;

	if (!record) {
		/* A record whose digest does not match (ERR_CONFLICT) counts as damaged (ERR_IO),
		 * because the commands that destroy a session accept only ERR_IO. */
		if (why.code == ERR_CONFLICT)
			why.code = ERR_IO;
		error_copy(err, &why);
		return NULL;
	}
	session_shares_of_before(record);
	if (json_get_string(record, "", "name", JSON_REQUIRED, &text, &why) == 0 &&
	    check_base(record, &why) == 0 &&
	    json_get_string(record, "", "clone", JSON_REQUIRED, &text, &why) == 0 &&
	    json_get_string(record, "", "source", JSON_REQUIRED, &text, &why) == 0 &&
	    json_get_string(record, "", "createdAt", JSON_REQUIRED, &text, &why) == 0 &&
	    json_get_int(record, "", "quotaBytes", JSON_OPTIONAL, 1, INT64_MAX, &quota, &why) == 0)
		return steal_ptr(&record);
	workspace_damaged(ws, SESSION_RECORD, &why, err);
	return NULL;
}

int session_record_settle(const struct microagent_session *session, struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *record = NULL;
	int status;

	if (open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return -1;
	record = workspace_read_accepted(&existing.ws, SESSION_RECORD, err);
	status = record ? record_digest_settle(&existing.ws, SESSION_RECORD, record, err) : -1;
	open_workspace_close(&existing);
	return status;
}
