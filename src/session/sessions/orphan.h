/* SPDX-License-Identifier: MIT */
/* session.orphaned: what a crash, a reboot or a hand in the state directory has left of a session.
 */
#ifndef SESSION_ORPHAN_H
#define SESSION_ORPHAN_H

#include "session/sessions/session.h"

enum orphan_kind {
	ORPHAN_NO_PROCESS, /* recorded as alive, and nothing of it lives */
	ORPHAN_NO_BUNDLE,  /* its machine runs, and its directory is gone */
	ORPHAN_HALF_MADE,
	ORPHAN_HALF_DESTROYED,
	ORPHAN_EXPIRED, /* the end that it was given has come, and nothing of it lives */
	ORPHAN_GONE	/* its directory was removed by hand */
};
enum orphan_action { ORPHAN_REMOVED, ORPHAN_ADOPTED, ORPHAN_LEFT };

/* agent is of the state directory; name of the session, which need not be there. */
void orphan_tell(const struct microagent *agent, const char *name, enum orphan_kind kind,
		 enum orphan_action action, const char *why);
/* Told while its log is still there, and removed; if that fails, told again. 1: as of
 * session_remove(). */
int orphan_remove(const struct microagent *agent, struct microagent_session *session,
		  enum orphan_kind kind, const char *why, struct error *err);

/* Those of which nothing is left are told once, and appended to told: {"name","why"}. */
int sessions_tell_gone(const struct microagent *agent, json_t *told, struct error *err);

#endif
