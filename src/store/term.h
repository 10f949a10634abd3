/* SPDX-License-Identifier: MIT */
/*
 * The end that a session was given, as session.json says: a time after which the session is
 * destroyed, and how long nobody may use it before it is destroyed. The live supervisor of the
 * session applies the end. If no live supervisor lives, any sweep of the sessions does.
 */
#ifndef STORE_TERM_H
#define STORE_TERM_H

#include "store/store.h"

/* The end of a session. 0: the session has no such end. */
struct term {
	int64_t lifetime_s, idle_s;
	int64_t ends_ns; /* real time at which the lifetime is over; 0: it has not begun */
	bool idled;	 /* at ends_ns nobody had used the session for idle_s */
	bool orphaned;	 /* at ends_ns the process that the session belonged to was gone */
};

#define TERM_MAX_S (INT64_C(36525) * 86400)

/* Checks both numbers. ERR_INVALID: one is no number of seconds up to TERM_MAX_S. 0 means no such
 * end. */
int term_check(int64_t lifetime_s, int64_t idle_s, struct error *err);
static inline bool term_is_given(const struct term *term)
{
	return term->lifetime_s > 0 || term->idle_s > 0;
}

/* Puts the members that are set into a record. */
int term_put(const struct term *term, json_t *record, struct error *err);
/* Leaves *out empty unless the workspace is a session with a limited lifetime or idle time. */
int term_read(const struct workspace *ws, struct term *out, struct error *err);
/* Writes the end into session.json. The caller and the errors are as for quota_write(). */
int term_write(const struct workspace *ws, const struct term *term, struct error *err);

/* Returns whether the end of a running session has come. */
bool term_is_over(const struct term *term);
/* Returns whether the end of a session that does not run has come. Its lifetime began when it was
 * made, and nobody has used it since its last event. Returns false while the session is
 * quarantined: a machine that was cut off is kept to be examined. */
bool term_is_over_for(const struct workspace *ws, struct term *term);

/* Writes the reason of the end: "its lifetime of 2h is over", "nobody has used it for 30m", "the
 * process that it belonged to is gone". */
#define TERM_TEXT 64
void term_text(const struct term *term, char out[TERM_TEXT]);

#endif
