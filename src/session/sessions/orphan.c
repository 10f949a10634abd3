/* SPDX-License-Identifier: MIT */
/* Records which orphans were found, and what was done about them. If the session's audit log exists
 * and can be written, a line is written to it. A line is always written to the security log. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "session/sessions/orphan.h"
#include "store/audit.h"

static const char *const kind_names[] = {[ORPHAN_NO_PROCESS] = "bundle-without-process",
					 [ORPHAN_NO_BUNDLE] = SECURITY_KIND_LOST,
					 [ORPHAN_HALF_MADE] = "half-made",
					 [ORPHAN_HALF_DESTROYED] = "half-destroyed",
					 [ORPHAN_EXPIRED] = "expired",
					 [ORPHAN_GONE] = SECURITY_KIND_GONE};
static const char *const action_names[] = {[ORPHAN_REMOVED] = SECURITY_ACTION_REMOVED,
					   [ORPHAN_ADOPTED] = "adopted",
					   [ORPHAN_LEFT] = "left"};

/* Writes a line to the session's audit log. The digest of the line then also gets into the security
 * log. Returns false if the audit log does not exist or cannot be written now. An audit log has
 * only one writer: the live supervisor. If there is no live supervisor, the process that holds the
 * command lock is the writer. */
static bool note_in_bundle(const struct microagent *agent, const char *name,
			   const struct audit_event *event)
{
	auto_state_dir struct state_dir dir = {0};
	auto_workspace struct workspace ws = {0};
	autoclose int lock = -1;
	char id[SESSION_ID_ROOM];

	if (state_sub_open(agent, SESSIONS_DIR, false, &dir, NULL) < 0)
		return false;
	snprintf(id, sizeof(id), "%s" BUNDLE_SUFFIX, name);
	if (workspace_open(&dir, id, false, &ws, NULL) < 0 || !audit_is_kept(&ws))
		return false;
	lock = workspace_lock_opened(&ws, limit_deadline(LIMIT_COMMAND_LOCK_MS), NULL);
	return lock >= 0 && audit_is_kept(&ws) && !lease_is_held(&ws) &&
	       audit_note(&ws, event, NULL) == 0;
}

void orphan_tell(const struct microagent *agent, const char *name, enum orphan_kind kind,
		 enum orphan_action action, const char *why)
{
	json_auto_t *data =
		json_pack("{s:s, s:s, s:o}", "kind", kind_names[kind], "action",
			  action_names[action], "why", json_string_lossy(why, strlen(why)));
	const struct audit_event event = {AUDIT_WARNING, "session", SECURITY_ORPHANED, data, 0};

	/* An error is ignored, because a full disk must not prevent the removal of an orphan. */
	if (data && !note_in_bundle(agent, name, &event))
		(void)security_log_note(agent->state_path, name, &event, NULL);
}

int orphan_remove(const struct microagent *agent, struct microagent_session *session,
		  enum orphan_kind kind, const char *why, struct error *err)
{
	struct error failed = {0};
	int status;

	/* The session's processes are ended first, because the live supervisor would write to the
	 * log at the same time. */
	if (microagent_kill(session->agent, session->id, NULL, &failed) < 0 &&
	    failed.reason == REASON_SESSION_QUARANTINED)
		return error_copy(err, &failed);
	orphan_tell(agent, session->name, kind, ORPHAN_REMOVED, why);
	status = session_remove(session, &failed);
	if (status >= 0)
		return status;
	orphan_tell(agent, session->name, kind, ORPHAN_LEFT, failed.msg);
	return error_copy(err, &failed);
}
