/* SPDX-License-Identifier: MIT */
/* Reports and removes orphans by the event session.orphaned. An orphan is what a crash, a reboot or
 * a manual change in the state directory has left of a session. */
#ifndef SESSION_ORPHAN_H
#define SESSION_ORPHAN_H

#include "session/sessions/session.h"

enum orphan_kind {
	ORPHAN_NO_PROCESS, /* the session is recorded as alive, but has no process */
	ORPHAN_NO_BUNDLE,  /* the session's machine runs, but the session's directory is gone */
	ORPHAN_HALF_MADE,
	ORPHAN_HALF_DESTROYED,
	ORPHAN_EXPIRED, /* the session's lifetime or idle time is over, and no process has destroyed
			 * the session */
	ORPHAN_GONE	/* the session's directory was removed manually */
};
enum orphan_action { ORPHAN_REMOVED, ORPHAN_ADOPTED, ORPHAN_LEFT };

/* Writes the event session.orphaned. `agent` is the handle of the state directory. `name` is the
 * name of the session, which need not exist. A failure to write the event is ignored. */
void orphan_tell(const struct microagent *agent, const char *name, enum orphan_kind kind,
		 enum orphan_action action, const char *why);
/* Writes the event about an orphan while the orphan's audit log still exists, and then removes the
 * orphan. If the removal fails, writes a second event with the failure. Returns the result of
 * session_remove(). */
int orphan_remove(const struct microagent *agent, struct microagent_session *session,
		  enum orphan_kind kind, const char *why, struct error *err);

/* Writes the event session.orphaned for each session of which neither a directory nor an archive is
 * left. Each such session is reported only once. Appends {"name","why"} about each of them to
 * `told`. */
int sessions_tell_gone(const struct microagent *agent, json_t *told, struct error *err);

#endif
