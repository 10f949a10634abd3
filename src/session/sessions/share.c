/* SPDX-License-Identifier: MIT */
/* The one directory of the host that a session may have: from the start, or given to it while it
 * runs. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "channel/control.h"
#include "session/sessions/session.h"
#include "store/share_pass.h"

#define TAG "workspace"
#define MOUNTPOINT "/workspace"

static json_t *session_share_json(const struct microagent_session_share *wanted, struct error *err)
{
	autofree char *path = path_absolute(wanted->dir, err);
	json_t *share;

	if (!path)
		return NULL;
	share = json_pack("{s:s, s:s, s:s, s:s, s:o*, s:s*, s:o*}", "tag", TAG, "path", path,
			  "mountpoint", wanted->at ? wanted->at : MOUNTPOINT, "mode",
			  wanted->read_only ? "ro" : "rw", "anyway",
			  wanted->anyway ? json_true() : NULL, "cache", wanted->cache,
			  "timeoutSeconds",
			  wanted->timeout_seconds ? json_integer(wanted->timeout_seconds) : NULL);
	if (!share)
		error_set(err, ERR_INVALID, "%s: a path must be UTF-8", path);
	return share;
}

static struct microagent_session_share spec_share(const struct microagent_session_spec *spec)
{
	return (struct microagent_session_share){
		.dir = spec->share,
		.at = spec->share_at,
		.read_only = spec->share_read_only,
		.anyway = spec->share_anyway,
		.cache = spec->share_cache,
		.timeout_seconds = spec->share_timeout_seconds,
	};
}

int session_share_put(json_t *config, const struct microagent_session_spec *spec, bool hotplug,
		      struct error *err)
{
	json_auto_t *share = NULL;

	if (!spec->share)
		return spec->no_share || !hotplug ? 0
						  : json_put(config, "hotplug", json_true(), err);
	if (spec->no_share)
		return error_set(err, ERR_INVALID,
				 "a session that is to have no shared directory cannot have %s",
				 spec->share);
	const struct microagent_session_share wanted = spec_share(spec);

	share = session_share_json(&wanted, err);
	return share ? json_put(config, "shares", json_pack("[O]", share), err) : -1;
}

json_t *session_share_told(const json_t *share)
{
	json_t *told = json_deep_copy(share);

	json_object_del(told, "tag");
	return told;
}

int session_share_record(json_t *record, json_t *config, bool later, struct error *err)
{
	const json_t *share = json_array_get(json_object_get(config, "shares"), 0);

	if (!share)
		return 0;
	if (json_put(record, "share", session_share_told(share), err) < 0)
		return -1;
	if (!later)
		return 0;
	json_object_del(config, "shares");
	return json_put(config, "hotplug", json_true(), err);
}

/* --- given to one that runs ------------------------------------------------------------------ */

/* The live supervisor can open nothing outside of its workspace. */
static int give_pass(const struct open_workspace *existing, const json_t *share, struct error *err)
{
	const struct share_wish wish = {
		.path = json_text(share, "path", ""),
		.state_dir = existing->dir.path,
		.read_only = strcmp(json_text(share, "mode", ""), "ro") == 0,
		.anyway = json_is_true(json_object_get(share, "anyway")),
	};

	const struct share_caching caching = share_caching(share);

	return share_pass_give(&existing->ws, &wish, &caching, err);
}

static int ask_share(const struct open_workspace *existing, const json_t *share, json_t **answer,
		     struct error *err)
{
	/* The cell of what serves it, QEMU's three answers, the guest's mount, and taking all back.
	 */
	uint64_t wait = limit_get(LIMIT_CONTROL_REQUEST_MS) + 2 * limit_get(LIMIT_CELL_MS) +
			4 * limit_get(LIMIT_QMP_MS) + 2 * limit_get(LIMIT_SHARE_MS);
	json_auto_t *request = json_pack("{s:s, s:O}", "command", "share-attach", "share", share);
	struct error absent = {0};

	if (!request)
		return error_errno(err, ENOMEM, "share");
	autopass int pass = give_pass(existing, share, err);
	if (pass < 0) {
		/* That nobody is there comes first. */
		autoclose int there = sock_connect_at(existing->ws.fd, CONTROL_SOCK_NAME, &absent);

		return there < 0 ? error_copy(err, &absent) : -1;
	}
	return control_ask(existing->ws.fd, request, clock_mono_ns() + wait * NS_PER_MS, answer,
			   err);
}

static int share_in(const struct microagent_session *session, const json_t *share, json_t **answer,
		    struct error *err)
{
	struct open_workspace existing = {0};
	struct error why = {0};
	int status;

	if (open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return -1;
	status = ask_share(&existing, share, answer, &why);
	open_workspace_close(&existing);
	if (status < 0 && (why.errnum == ENOENT || why.errnum == ECONNREFUSED)) {
		error_set(err, ERR_CONFLICT,
			  "session %s is not running, and a directory is shared with one that does",
			  session->name);
		return error_reason(err, REASON_SESSION_WITHOUT_SHARE, session->name);
	}
	if (status == 0)
		return 0;
	error_prefix(&why, "session %s", session->name);
	return error_copy(err, &why);
}

int microagent_session_give_share(struct microagent_session *session,
				  const struct microagent_session_share *share, json_t **told,
				  struct error *err)
{
	json_auto_t *wanted = session_share_json(share, err);
	json_auto_t *answer = NULL;

	if (strcmp(json_text(session->record, "guest", ""), SESSION_MACOS) == 0)
		return error_set(err, ERR_UNSUPPORTED,
				 "session %s is macOS, which gets its directory when it is made",
				 session->name);
	if (!wanted || share_in(session, wanted, &answer, err) < 0)
		return -1;
	if (told)
		*told = session_share_told(json_object_get(answer, "share"));
	return 0;
}

int microagent_session_share_workspace(struct microagent_session *session, const char *dir,
				       const char *at, bool read_only, json_t **share,
				       struct error *err)
{
	const struct microagent_session_share wanted = {
		.dir = dir, .at = at, .read_only = read_only};

	return microagent_session_give_share(session, &wanted, share, err);
}

/* --- given to a member of a pool ------------------------------------------------------------- */

/* What is there is read again: the live supervisor may have recorded another quota meanwhile. */
static json_t *write_share(const struct workspace *ws, json_t *told, struct error *err)
{
	json_auto_t *record = session_record_read(ws, err);

	if (!record || json_put(record, "share", json_incref(told), err) < 0)
		return NULL;
	/* It was on the disk when the machine was started, and is again. */
	if (workspace_write(ws, SESSION_RECORD, record, STORE_SYNC, err) < 0)
		return NULL;
	return steal_ptr(&record);
}

static int record_share(struct microagent_session *session, json_t *told, struct error *err)
{
	struct open_workspace existing = {0};
	json_t *record;

	if (open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return -1;
	record = write_share(&existing.ws, told, err);
	open_workspace_close(&existing);
	if (!record)
		return -1;
	json_decref(session->record);
	session->record = record;
	return 0;
}

int session_share_claimed(struct microagent_session *session,
			  const struct microagent_session_spec *spec, struct error *err)
{
	const struct microagent_session_share wanted = spec_share(spec);
	json_auto_t *told = NULL;

	if (microagent_session_give_share(session, &wanted, &told, err) < 0)
		return -1;
	return record_share(session, told, err);
}

int microagent_session_share_again(struct microagent_session *session, struct error *err)
{
	const json_t *source = json_object_get(session->record, "source");
	const json_t *told = json_object_get(session->record, "share");
	json_auto_t *share = told ? json_deep_copy(told) : NULL;

	if (!share || (strcmp(json_string_value(source), SESSION_POOL) != 0 &&
		       !json_object_get(session->record, "template")))
		return 0;
	if (json_put_string(share, "tag", TAG, err) < 0)
		return -1;
	return share_in(session, share, NULL, err);
}
