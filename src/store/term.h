/* SPDX-License-Identifier: MIT */
/*
 * The times after which a session ends. session.json records how long the session may live, and how
 * long it may be unused; after either time the session is destroyed. The live supervisor of the
 * session applies the end. If that supervisor does not live, any sweep of the sessions applies the
 * end.
 */
#ifndef STORE_TERM_H
#define STORE_TERM_H

#include "store/store.h"

/* The end of a session. */
struct term {
	/* The seconds that the session may live, and that it may be unused; 0: no bound. */
	int64_t lifetime_s, idle_s;
	/* The real time at which the session ends, in nanoseconds; 0: not known yet, since the
	 * lifetime has not begun. */
	int64_t ends_ns;
	bool idled;    /* at `ends_ns` the session had not been used for `idle_s` */
	bool orphaned; /* at `ends_ns` the process that the session belonged to was gone */
};

#define TERM_MAX_S (INT64_C(36525) * 86400)

/* Checks both numbers. ERR_INVALID: a number is below 0 or above TERM_MAX_S. 0 is allowed and means
 * that there is no bound. */
int term_check(int64_t lifetime_s, int64_t idle_s, struct error *err);
static inline bool term_is_given(const struct term *term)
{
	return term->lifetime_s > 0 || term->idle_s > 0;
}

/* Puts the members of `term` that are set into a record. Does not change the record's members for
 * which `term` has no value. */
int term_put(const struct term *term, json_t *record, struct error *err);
/* Reads the end from session.json. *out is all 0 if the workspace is no session, or has no end. */
int term_read(const struct workspace *ws, struct term *out, struct error *err);
/* Writes the end into session.json. quota_write() says which lock the caller holds, and which
 * errors are possible. */
int term_write(const struct workspace *ws, const struct term *term, struct error *err);

/* Returns whether the end of a running session has come. */
bool term_is_over(const struct term *term);
/* Returns whether the end of a session that does not run has come. The lifetime of the session
 * began when the session was made. The time without use began at the last event of the session.
 * Sets term->ends_ns and term->idled by these times. Returns false while the session is
 * quarantined: a machine that was cut off is kept to be examined. */
bool term_is_over_for(const struct workspace *ws, struct term *term);

/* Writes the reason of the end: "its lifetime of 2h is over", "nobody has used it for 30m", "the
 * process that it belonged to is gone". */
#define TERM_TEXT 64
void term_text(const struct term *term, char out[TERM_TEXT]);

#endif
