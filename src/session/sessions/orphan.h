/* SPDX-License-Identifier: MIT */
/* The event session.orphaned: what a crash, a reboot or a manual change in the state directory has
 * left of a session. */
#ifndef SESSION_ORPHAN_H
#define SESSION_ORPHAN_H

#include "session/sessions/session.h"

enum orphan_kind {
	ORPHAN_NO_PROCESS, /* recorded as alive, but nothing of it lives */
	ORPHAN_NO_BUNDLE,  /* its machine runs, but its directory is gone */
	ORPHAN_HALF_MADE,
	ORPHAN_HALF_DESTROYED,
	ORPHAN_EXPIRED, /* the session's end has come, and nothing of it lives */
	ORPHAN_GONE	/* its directory was removed by hand */
};
enum orphan_action { ORPHAN_REMOVED, ORPHAN_ADOPTED, ORPHAN_LEFT };

/* Tells of an orphan. agent is the handle of the state directory. name is the name of the session,
 * which need not exist. */
void orphan_tell(const struct microagent *agent, const char *name, enum orphan_kind kind,
		 enum orphan_action action, const char *why);
/* Tells of an orphan while its log still exists, and removes the orphan. If the removal fails,
 * tells of it again. Returns 1 in the same case as session_remove(). */
int orphan_remove(const struct microagent *agent, struct microagent_session *session,
		  enum orphan_kind kind, const char *why, struct error *err);

/* Tells once of each session that left nothing behind, and appends {"name","why"} to told. */
int sessions_tell_gone(const struct microagent *agent, json_t *told, struct error *err);

#endif
