/* SPDX-License-Identifier: MIT */
/* Shares directories of the host with a session, from its start or while it runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/share_git.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "channel/control.h"
#include "contract/kind.h"
#include "session/points/point.h"
#include "session/sessions/session.h"
#include "store/record_digest.h"
#include "store/share/pass.h"
#include "store/share/rules.h"

/* The virtio-fs tag of the first share. The tags of the next shares are this text followed by a
 * number. */
#define TAG "workspace"
#define TAG_ROOM 32
#define MOUNTPOINT "/workspace"

struct tag {
	char text[TAG_ROOM];
};

static struct tag tag_of(size_t number)
{
	struct tag tag = {TAG};

	if (number > 0)
		snprintf(tag.text, sizeof(tag.text), TAG "-%zu", number + 1);
	return tag;
}

/* --- shares in a config ---------------------------------------------------------------------- */

static json_t *session_share_json(const struct microagent_session_share *wanted, const char *tag,
				  struct error *err)
{
	autofree char *path = path_absolute(wanted->dir, err);
	json_t *share;

	if (!path)
		return NULL;
	share = json_pack("{s:s, s:s, s:s, s:s, s:o*, s:s*, s:o*}", "tag", tag, "path", path,
			  "mountpoint", wanted->at ? wanted->at : MOUNTPOINT, "mode",
			  wanted->read_only ? "ro" : "rw", "anyway",
			  wanted->anyway ? json_true() : NULL, "cache", wanted->cache,
			  "timeoutSeconds",
			  wanted->timeout_seconds ? json_integer(wanted->timeout_seconds) : NULL);
	if (!share)
		error_set(
			err, ERR_INVALID,
			"%s is not UTF-8, and only paths in UTF-8 can be shared: rename the directory",
			path);
	return share;
}

static int append_share(json_t *shares, json_t *share, struct error *err)
{
	if (!share)
		return -1;
	return json_array_append_new(shares, share) == 0 ? 0 : error_errno(err, ENOMEM, "share");
}

/* Returns an array with the share `wanted` if count is 1, or an empty array if count is 0. The
 * caller releases it. */
static json_t *shares_json(const struct microagent_session_share *wanted, size_t count,
			   struct error *err)
{
	json_auto_t *shares = json_array();

	if (count > 0 &&
	    append_share(shares, session_share_json(wanted, tag_of(0).text, err), err) < 0)
		return NULL;
	return json_incref(shares);
}

static int append_word(json_t *shares, const char *word, bool anyway, struct error *err)
{
	json_t *share = attach_share(word, tag_of(json_array_size(shares)).text, err);

	if (share && anyway && json_put(share, "anyway", json_true(), err) < 0) {
		json_decref(share);
		return -1;
	}
	return append_share(shares, share, err);
}

bool session_has_share(const struct microagent_session_spec *spec)
{
	const char *const *words = spec->machine.shares;

	for (size_t i = 0; words && words[i]; i++)
		if (!microagent_share_is_review(words[i]))
			return true;
	return spec->share != NULL;
}

size_t session_reviews(const struct microagent_session_spec *spec)
{
	const char *const *words = spec->machine.shares;
	size_t count = 0;

	for (size_t i = 0; words && words[i]; i++)
		count += microagent_share_is_review(words[i]);
	return count;
}

json_t *session_shares(const struct microagent_session_spec *spec, struct error *err)
{
	const struct microagent_session_share first = {
		.dir = spec->share,
		.at = spec->share_at,
		.read_only = spec->share_read_only,
		.anyway = spec->machine.share_anyway,
		.cache = spec->share_cache,
		.timeout_seconds = spec->share_timeout_seconds,
	};
	json_auto_t *shares = shares_json(&first, spec->share ? 1 : 0, err);

	if (!shares)
		return NULL;
	for (size_t i = 0; spec->machine.shares && spec->machine.shares[i]; i++)
		if (!microagent_share_is_review(spec->machine.shares[i]) &&
		    append_word(shares, spec->machine.shares[i], spec->machine.share_anyway, err) <
			    0)
			return NULL;
	if (attach_settle_shares(shares, err) < 0 ||
	    (spec->machine.share_git && share_git_add(shares, err) < 0))
		return NULL;
	return json_incref(shares);
}

bool session_can_be_given(const struct microagent *agent,
			  const struct microagent_session_spec *spec)
{
	json_auto_t *shares = session_shares(spec, NULL);

	return shares && json_array_size(shares) <= (size_t)agent->backend->plugs;
}

int session_share_put(json_t *config, const struct microagent_session_spec *spec, bool hotplug,
		      struct error *err)
{
	json_t *shares;

	if (attach_reviews(config, spec->machine.shares, spec->machine.share_anyway, err) < 0)
		return -1;
	if (!session_has_share(spec))
		return spec->no_share || !hotplug ? 0
						  : json_put(config, "hotplug", json_true(), err);
	if (spec->no_share)
		return error_set(
			err, ERR_INVALID,
			"the session is made without shared directories, so it cannot have %s: leave out one of the two",
			spec->share ? spec->share : spec->machine.shares[0]);
	shares = session_shares(spec, err);
	return shares ? json_put(config, "shares", shares, err) : -1;
}

json_t *session_shares_told(const json_t *shares)
{
	json_t *told = json_deep_copy(shares), *share;
	size_t i;

	json_array_foreach(told, i, share)
	{
		json_object_del(share, "tag");
	}
	return told;
}

int session_share_record(json_t *record, json_t *config, bool later, struct error *err)
{
	const json_t *shares = json_object_get(config, "shares");

	if (!json_array_size(shares))
		return 0;
	if (json_put(record, "shares", session_shares_told(shares), err) < 0)
		return -1;
	if (!later)
		return 0;
	json_object_del(config, "shares");
	return json_put(config, "hotplug", json_true(), err);
}

/* --- shares for a running session ------------------------------------------------------------ */

static struct share_wish wish_of(const struct open_workspace *existing, const json_t *shares,
				 const json_t *share)
{
	return (struct share_wish){
		.path = json_text(share, "path", ""),
		.state_dir = existing->dir.path,
		.read_only = strcmp(json_text(share, "mode", ""), "ro") == 0,
		.anyway = json_is_true(json_object_get(share, "anyway")),
		.direct = json_is_true(json_object_get(share, "direct")) ||
			  share_is_within(json_text(share, "path", ""), shares),
	};
}

/* Makes a pass (store/share/pass.h) for the shares, because the live supervisor itself cannot open
 * files outside its workspace. Returns a descriptor of the pass, which the caller closes. */
static int give_pass(const struct open_workspace *existing, const json_t *shares, struct error *err)
{
	size_t count = json_array_size(shares);
	autofree struct share_pass_row *rows = calloc(count + 1, sizeof(*rows));
	const json_t *share;
	size_t i;

	if (!rows)
		return error_errno(err, ENOMEM, "share");
	json_array_foreach(shares, i, share)
	{
		rows[i].wish = wish_of(existing, shares, share);
		rows[i].terms = share_terms(share);
	}
	return share_pass_give(&existing->ws, rows, count, err);
}

/* Makes the request for the live supervisor. The request also has the member "share" if there is
 * only one share, because a live supervisor of an earlier version knows only this member. */
static json_t *share_request(const json_t *shares)
{
	json_t *first = json_array_get(shares, 0);

	return json_pack("{s:s, s:O, s:O*}", "command", "share-attach", "shares", shares, "share",
			 json_array_size(shares) == 1 ? first : NULL);
}

static int ask_shares(const struct open_workspace *existing, const json_t *shares,
		      struct error *err)
{
	/* The time limit counts, for each share, the start of the share's companion and the answers
	 * of QEMU. The time limit also counts the mounts in the guest, and the removal of all
	 * shares if one of them fails. */
	uint64_t each = 2 * limit_get(LIMIT_CELL_MS) + 4 * limit_get(LIMIT_QMP_MS);
	uint64_t wait = limit_get(LIMIT_CONTROL_REQUEST_MS) + json_array_size(shares) * each +
			2 * limit_get(LIMIT_SHARE_MS);
	json_auto_t *request = share_request(shares);
	struct error absent = {0};

	if (!request)
		return error_errno(err, ENOMEM, "share");
	autopass int pass = give_pass(existing, shares, err);
	if (pass < 0) {
		/* If no live supervisor runs, the error says so, because that matters more than the
		 * missing pass. */
		autoclose int there = sock_connect_at(existing->ws.fd, CONTROL_SOCK_NAME, &absent);

		return there < 0 ? error_copy(err, &absent) : -1;
	}
	return control_ask(existing->ws.fd, request, clock_mono_ns() + wait * NS_PER_MS, NULL, err);
}

static int share_in(const struct microagent_session *session, const json_t *shares,
		    struct error *err)
{
	struct open_workspace existing = {0};
	struct error why = {0};
	int status;

	if (open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return -1;
	status = ask_shares(&existing, shares, &why);
	open_workspace_close(&existing);
	if (status < 0 && (why.errnum == ENOENT || why.errnum == ECONNREFUSED)) {
		error_set(
			err, ERR_CONFLICT,
			"session %s is not running, and only a running session can get a directory",
			session->name);
		return error_reason(err, REASON_SESSION_WITHOUT_SHARE, session->name);
	}
	if (status == 0)
		return 0;
	kind_prefix(session->id, &why);
	return error_copy(err, &why);
}

/* --- shares in the record, for the next start ------------------------------------------------ */

/* Writes the shares into the record. Holds the record's lock, so that no other command lets the
 * live supervisor change the quota in the record meanwhile. */
static int write_shares(const struct workspace *ws, json_t *told, struct error *err)
{
	autoclose int lock = record_change_lock(ws, limit_deadline(LIMIT_COMMAND_LOCK_MS), err);
	json_auto_t *record = lock < 0 ? NULL : session_record_read(ws, err);

	if (!record || json_put(record, "shares", json_incref(told), err) < 0)
		return -1;
	/* The old contents of the record were synced when the machine was started, so the new
	 * contents are synced too. */
	return workspace_write_accepted(ws, SESSION_RECORD, record, STORE_SYNC, err);
}

/* Records the shares on disk. session->record is not changed, because other threads may be reading
 * it. */
static int record_shares(const struct microagent_session *session, json_t *told, struct error *err)
{
	struct open_workspace existing = {0};
	int status;

	if (open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return -1;
	status = write_shares(&existing.ws, told, err);
	open_workspace_close(&existing);
	return status;
}

/* Returns the shares in the form of a config, but without tags. The caller releases the result. */
static json_t *shares_asked(const json_t *shares, struct error *err)
{
	json_auto_t *asked = json_array();
	const json_t *share;
	size_t i;

	if (!asked) {
		error_errno(err, ENOMEM, "share");
		return NULL;
	}
	json_array_foreach(shares, i, share)
	{
		json_t *decoded = share_decode(share, "share", err);

		if (!decoded)
			return NULL;
		if (json_array_append_new(asked, decoded) < 0) {
			error_errno(err, ENOMEM, "share");
			return NULL;
		}
	}
	return session_shares_told(asked);
}

static int give_shares(struct microagent_session *session, const json_t *shares, json_t **told,
		       struct error *err)
{
	json_auto_t *shown = NULL;

	if (strcmp(json_text(session->record, "guest", ""), SESSION_MACOS) == 0)
		return error_set(
			err, ERR_UNSUPPORTED,
			"session %s has a macOS guest, which can get directories only when the session is made: make another session with the directory",
			session->name);
	if (share_in(session, shares, err) < 0)
		return -1;
	/* The requested shares are recorded, and not those in the live supervisor's answer, because
	 * a guest may have taken the supervisor over. The answer only means that the supervisor
	 * says that the guest has the requested shares. */
	shown = shares_asked(shares, err);
	if (!shown)
		return -1;
	if (record_shares(session, shown, err) < 0)
		return error_prefix(
			err,
			"session %s has its directories only until its machine ends, because they could not be recorded",
			session->name);
	if (told)
		*told = steal_ptr(&shown);
	return 0;
}

int microagent_session_give_shares(struct microagent_session *session,
				   const struct microagent_session_spec *spec, json_t **told,
				   struct error *err)
{
	json_auto_t *shares = session_shares(spec, err);

	if (!shares)
		return -1;
	if (json_array_size(shares) == 0)
		return error_set(
			err, ERR_INVALID,
			"no directory is given that a running session could get (a session with a directory for a review is made with it): name one for session %s",
			session->name);
	return give_shares(session, shares, told, err);
}

int microagent_session_give_share(struct microagent_session *session,
				  const struct microagent_session_share *share, json_t **told,
				  struct error *err)
{
	json_auto_t *shares = shares_json(share, 1, err);
	json_auto_t *all = NULL;

	if (!shares || attach_settle_shares(shares, err) < 0 ||
	    give_shares(session, shares, &all, err) < 0)
		return -1;
	if (told)
		*told = json_incref(json_array_get(all, 0));
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

/* --- shares for a member of a pool ----------------------------------------------------------- */

int session_share_claimed(struct microagent_session *session,
			  const struct microagent_session_spec *spec, struct error *err)
{
	json_auto_t *shares = session_shares(spec, err);

	if (!shares || give_shares(session, shares, NULL, err) < 0)
		return -1;
	return session_read_record(session, err); /* the record may be changed here, because no
						   * other thread has the handle yet */
}

/* --- shares after a start -------------------------------------------------------------------- */

/* Finds the shares that the machine must get while it runs. Sets *shares to an array of these
 * shares in the form of a config. The caller releases the array. Leaves *shares unchanged if the
 * session has no shares, or boots with them. */
static int shares_to_give(const struct open_workspace *existing, json_t **shares, struct error *err)
{
	json_auto_t *record = session_record_read(&existing->ws, err);
	const json_t *told = json_object_get(record, "shares");
	json_auto_t *config = NULL, *again = NULL;
	json_t *share;
	size_t i;

	if (!record)
		return -1;
	if (!json_array_size(told))
		return 0;
	config = open_workspace_config(existing, err);
	if (!config)
		return -1;
	if (json_array_size(json_object_get(config, "shares")) > 0)
		return 0;
	again = json_deep_copy(told);
	if (!again)
		return error_errno(err, ENOMEM, "share");
	json_array_foreach(again, i, share)
	{
		if (json_put_string(share, "tag", tag_of(i).text, err) < 0)
			return -1;
	}
	*shares = steal_ptr(&again);
	return 0;
}

int microagent_session_check_shares(const struct microagent_session *session, struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *shares = NULL;
	struct error why = {0};
	const json_t *share;
	int status;
	size_t i;

	if (open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return -1;
	status = shares_to_give(&existing, &shares, &why);
	json_array_foreach(shares, i, share)
	{
		const struct share_wish wish = wish_of(&existing, shares, share);
		autoclose int dir = share_open_allowed(&wish, &why);

		status = dir < 0 ? -1 : status;
		if (status < 0)
			break;
	}
	open_workspace_close(&existing);
	if (status == 0)
		return 0;
	kind_prefix(session->id, &why);
	return error_copy(err, &why);
}

/* Writes a line to the audit log for each missing share. Failures are ignored. */
static void note_missing(const struct open_workspace *existing, const json_t *shares,
			 const struct error *why)
{
	const json_t *share;
	struct error ignored;
	size_t i;

	json_array_foreach(shares, i, share)
	{
		json_auto_t *more =
			json_pack("{s:O*, s:o}", "mountpoint", json_object_get(share, "mountpoint"),
				  "why", json_string_lossy(why->msg, strlen(why->msg)));

		(void)point_note(&existing->ws, "share-missing", json_text(share, "path", ""), more,
				 &ignored);
	}
}

int microagent_session_share_again(struct microagent_session *session, struct error *err)
{
	struct open_workspace existing = {0};
	json_auto_t *shares = NULL;
	struct error why = {0};
	int status;

	if (open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return -1;
	status = shares_to_give(&existing, &shares, &why);
	if (status == 0 && shares)
		status = share_in(session, shares, &why);
	if (status < 0)
		note_missing(&existing, shares, &why);
	open_workspace_close(&existing);
	return status < 0 ? error_copy(err, &why) : 0;
}
