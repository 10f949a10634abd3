/* SPDX-License-Identifier: MIT */
/*
 * The term of a session: session.json records how long the session may live, and how long it may be
 * unused. When one of these times is over, the live supervisor destroys the session. If the session
 * has no live supervisor, the next sweep of the sessions destroys it.
 */
#ifndef STORE_TERM_H
#define STORE_TERM_H

#include "store/store.h"

/* When and why a session ends. */
struct term {
	/* How many seconds the session may live, and how many seconds it may be unused; 0: no
	 * limit. */
	int64_t lifetime_s, idle_s;
	/* The real time at which the session ends, in nanoseconds since 1970; 0: unknown, because
	 * the lifetime has not begun. */
	int64_t ends_ns;
	bool idled;    /* at `ends_ns` the session had not been used for `idle_s` */
	bool orphaned; /* at `ends_ns` the process that owned the session was gone */
};

#define TERM_MAX_S (INT64_C(36525) * 86400)

/* Checks both numbers of seconds. ERR_INVALID: a number is negative or greater than TERM_MAX_S. The
 * number 0 is allowed, and means no limit. */
int term_check(int64_t lifetime_s, int64_t idle_s, struct error *err);
static inline bool term_is_given(const struct term *term)
{
	return term->lifetime_s > 0 || term->idle_s > 0;
}

/* Puts the members of `term` that are not 0 or false into a record. Does not change other members
 * of the record. */
int term_put(const struct term *term, json_t *record, struct error *err);
/* Reads the term of a session from session.json. If the workspace is not a session, or the session
 * has no limit, sets *out to all zeros. */
int term_read(const struct workspace *ws, struct term *out, struct error *err);
/* Writes the term of a session to session.json. The caller must hold the lock that quota_write()
 * needs, and gets the errors of quota_write(). */
int term_write(const struct workspace *ws, const struct term *term, struct error *err);

/* Returns true if the time at which a running session ends has come. */
bool term_is_over(const struct term *term);
/* Returns true if a session that does not run must be destroyed. The session's lifetime is counted
 * from when it was made, and its idle time from its last event. Sets term->ends_ns and term->idled
 * accordingly. Returns false while the session is quarantined, because a machine that was cut off
 * is kept for examination. */
bool term_is_over_for(const struct workspace *ws, struct term *term);

/* Writes the reason why the session ends to `out`, for example "its lifetime of 2h is over",
 * "nobody has used it for 30m" or "the process that it belonged to is gone". */
#define TERM_TEXT 64
void term_text(const struct term *term, char out[TERM_TEXT]);

#endif
