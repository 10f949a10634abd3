/* SPDX-License-Identifier: MIT */
/* Checks whether a session's lifetime or idle time is over, and gives a member of a pool a lifetime
 * or an idle time. */
#include "store/term.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/control.h"
#include "contract/kind.h"
#include "session/sessions/orphan.h"
#include "session/sessions/session.h"

/* Returns the time at which the session must be checked again (real time in nanoseconds). The live
 * supervisor ends a running session itself. If the live supervisor is killed before, the next check
 * finds the session. */
static int64_t look_again(const struct term *term)
{
	int64_t soon =
		clock_real_ns() + (int64_t)limit_get(LIMIT_SESSION_ENDS_MS) * (int64_t)NS_PER_MS;

	return term->idle_s || term->ends_ns < soon ? soon : term->ends_ns;
}

/* Returns true if the lifetime ended more than LIMIT_SESSION_ENDS_MS ago. The live supervisor
 * destroys its session at the end of the lifetime. So if the session exists for longer, its live
 * supervisor has failed to destroy it. */
static bool is_long_over(const struct term *term)
{
	const int64_t late = (int64_t)limit_get(LIMIT_SESSION_ENDS_MS) * (int64_t)NS_PER_MS;

	return term->ends_ns && clock_real_ns() >= term->ends_ns + late;
}

bool session_over_by(const struct state_dir *dir, const char *id, char why[TERM_TEXT],
		     int64_t *next)
{
	int64_t again = INT64_MAX;
	struct workspace ws;
	struct term term = {0};
	bool over = false;

	if (workspace_open(dir, id, false, &ws, NULL) < 0)
		return false;
	if (ws.fd >= 0 && term_read(&ws, &term, NULL) == 0 && term_is_given(&term)) {
		again = look_again(&term);
		if (unfinished_of(dir, id) == UNFINISHED_NOT &&
		    (!lease_is_held(&ws) || is_long_over(&term)))
			over = term_is_over_for(&ws, &term);
	}
	workspace_close(&ws);
	if (over)
		term_text(&term, why);
	if (again < *next)
		*next = again;
	return over;
}

bool session_over_in(const struct state_dir *dir, const char *id, char why[TERM_TEXT])
{
	int64_t next = INT64_MAX;

	return session_over_by(dir, id, why, &next);
}

int session_refuse_over(const struct microagent *agent, struct microagent_session *session,
			const struct state_dir *dir, struct error *err)
{
	char why[TERM_TEXT];

	if (!session_over_in(dir, session->id, why))
		return 0;
	(void)orphan_remove(agent, session, ORPHAN_EXPIRED, why, NULL);
	error_set(err, ERR_NOT_FOUND, "session %s is destroyed: %s", session->name, why);
	return error_reason(err, REASON_NO_SESSION, session->name);
}

/* --- in a description ------------------------------------------------------------------------ */

/* Returns true if the live supervisor is ending the session. A live supervisor does not end a
 * session in quarantine. */
static bool is_expiring(const struct workspace *ws, struct term *term)
{
	json_auto_t *event = NULL;
	enum state state;

	return term_read(ws, term, NULL) == 0 && term_is_over(term) &&
	       workspace_state(ws, &state, &event, NULL) == 0 && state != STATE_QUARANTINED;
}

int session_term_told(const struct state_dir *dir, const struct workspace *ws, json_t *entry,
		      struct error *err)
{
	char why[TERM_TEXT], text[2 * TERM_TEXT];
	struct term term = {0};
	bool left = session_over_in(dir, ws->id, why);

	if (!left && !is_expiring(ws, &term))
		return 0;
	if (!left)
		term_text(&term, why);
	snprintf(text, sizeof(text), "%s: it is %s", why,
		 left ? "to be destroyed" : "being destroyed");
	if (json_put_string(entry, "detail", text, err) < 0)
		return -1;
	return left ? json_put_string(entry, "reason", error_reason_name(REASON_SESSION_OVER), err)
		    : 0;
}

/* --- a term for a member of a pool ----------------------------------------------------------- */

int session_term_claimed(struct microagent_session *session,
			 const struct microagent_session_spec *spec, struct error *err)
{
	const struct term term = {.lifetime_s = spec->lifetime_seconds,
				  .idle_s = spec->idle_seconds};
	json_auto_t *request = json_pack("{s:s}", "command", "session-term");
	struct open_workspace existing = {0};
	int status;

	if (!request || term_put(&term, request, err) < 0 ||
	    open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return request ? -1 : error_errno(err, ENOMEM, "session");
	status = control_ask(existing.ws.fd, request, limit_deadline(LIMIT_CONTROL_REQUEST_MS),
			     NULL, err);
	if (status == 0)
		status = session_ends_note(&existing.dir, &term, err);
	open_workspace_close(&existing);
	if (status < 0)
		return kind_prefix(session->id, err);
	return session_read_record(session, err);
}

/* --- holding a session ------------------------------------------------------------------------ */

int session_hold(struct microagent_session *session, struct error *err)
{
	json_auto_t *request = json_pack("{s:s}", "command", "session-hold");
	struct open_workspace existing = {0};

	if (!request)
		return error_errno(err, ENOMEM, "session");
	if (open_workspace_named(session->agent, session->id, &existing, err) < 0)
		return -1;
	session->lifeline = control_hold(existing.ws.fd, request,
					 limit_deadline(LIMIT_CONTROL_REQUEST_MS), err);
	open_workspace_close(&existing);
	return session->lifeline < 0 ? kind_prefix(session->id, err) : 0;
}
