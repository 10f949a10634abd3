/* SPDX-License-Identifier: MIT */
/*
 * The end that a session was given, as session.json says it: a time after which it is destroyed,
 * and how long nobody may use it before it is. Its live supervisor sees to that; where none lives
 * any sweep of the sessions does.
 */
#ifndef STORE_TERM_H
#define STORE_TERM_H

#include "store/store.h"

/* 0: no such end. */
struct term {
	int64_t lifetime_s, idle_s;
	int64_t ends_ns; /* real time, when the lifetime is over; 0: it has not begun */
	bool idled;	 /* nobody used it for so long, at ends_ns */
	bool orphaned;	 /* whose it was, was gone at ends_ns */
};

#define TERM_MAX_S (INT64_C(36525) * 86400)

/* ERR_INVALID for what is no number of seconds up to TERM_MAX_S; 0 is none. */
int term_check(int64_t lifetime_s, int64_t idle_s, struct error *err);
static inline bool term_is_given(const struct term *term)
{
	return term->lifetime_s > 0 || term->idle_s > 0;
}

/* Into a record, what it has. */
int term_put(const struct term *term, json_t *record, struct error *err);
/* Nothing for a workspace that is no session, or one without an end. */
int term_read(const struct workspace *ws, struct term *out, struct error *err);
/* As of quota_write(). */
int term_write(const struct workspace *ws, const struct term *term, struct error *err);

/* Whether it is over by now, for one that runs. */
bool term_is_over(const struct term *term);
/* The same for one that does not: its lifetime has begun when it was made, and nobody uses it since
 * its last event. Not while it is quarantined: what was cut off is kept to be looked at. */
bool term_is_over_for(const struct workspace *ws, struct term *term);

/* "its lifetime of 2h is over", "nobody has used it for 30m", "the process that it belonged to is
 * gone" */
#define TERM_TEXT 64
void term_text(const struct term *term, char out[TERM_TEXT]);

#endif
