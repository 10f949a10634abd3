/* SPDX-License-Identifier: MIT */
/*
 * The times after which a session ends. session.json records how long the session may live, and how
 * long it may be unused. After either time, the session is destroyed. The live supervisor of the
 * session does this. If no live supervisor exists, any sweep of the sessions does it.
 */
#ifndef STORE_TERM_H
#define STORE_TERM_H

#include "store/store.h"

/* When and why a session ends. */
struct term {
	/* The number of seconds that the session may live, and that it may be unused; 0: no
	 * limit. */
	int64_t lifetime_s, idle_s;
	/* The real time at which the session ends, in nanoseconds since 1970; 0: unknown, because
	 * the lifetime has not begun. */
	int64_t ends_ns;
	bool idled;    /* at `ends_ns` the session had not been used for `idle_s` */
	bool orphaned; /* at `ends_ns` the process that the session belonged to was gone */
};

#define TERM_MAX_S (INT64_C(36525) * 86400)

/* Checks both numbers of seconds. ERR_INVALID: a number is negative or greater than TERM_MAX_S. The
 * number 0 is allowed, and means no limit. */
int term_check(int64_t lifetime_s, int64_t idle_s, struct error *err);
static inline bool term_is_given(const struct term *term)
{
	return term->lifetime_s > 0 || term->idle_s > 0;
}

/* Puts the members of `term` that are set into a record. The other members of the record are not
 * changed. */
int term_put(const struct term *term, json_t *record, struct error *err);
/* Reads the end of a session from session.json. If the workspace is not a session, or has no end,
 * sets *out to all zeros. */
int term_read(const struct workspace *ws, struct term *out, struct error *err);
/* Writes the end of a session to session.json. The needed lock and the errors are those of
 * quota_write(). */
int term_write(const struct workspace *ws, const struct term *term, struct error *err);

/* Returns true if the end of a running session has come. */
bool term_is_over(const struct term *term);
/* Returns true if the end of a session that does not run has come. The lifetime of the session
 * began when it was made. The time without use began at its last event. Sets term->ends_ns and
 * term->idled by these times. Returns false while the session is quarantined, because a machine
 * that was cut off is kept for examination. */
bool term_is_over_for(const struct workspace *ws, struct term *term);

/* Writes the reason for the end, such as "its lifetime of 2h is over", "nobody has used it for 30m"
 * or "the process that it belonged to is gone", to out. */
#define TERM_TEXT 64
void term_text(const struct term *term, char out[TERM_TEXT]);

#endif
