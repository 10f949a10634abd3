/* SPDX-License-Identifier: MIT */
#include "store/term.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

#define SESSION_RECORD "session.json"
#define LIFETIME "lifetimeSeconds"
#define IDLE "idleSeconds"
#define ENDS "endsAt"
#define IDLED "idled"
#define ORPHANED "orphaned"

static int check_seconds(const char *what, int64_t seconds, struct error *err)
{
	if (seconds >= 0 && seconds <= TERM_MAX_S)
		return 0;
	return error_set(err, ERR_INVALID,
			 "the %s of a session must be between 1 and %" PRId64
			 " seconds, and is %" PRId64,
			 what, TERM_MAX_S, seconds);
}

int term_check(int64_t lifetime_s, int64_t idle_s, struct error *err)
{
	return check_seconds("lifetime", lifetime_s, err) < 0
		       ? -1
		       : check_seconds("idle time", idle_s, err);
}

/* --- the record ------------------------------------------------------------------------------ */

int term_put(const struct term *term, json_t *record, struct error *err)
{
	char ends[CLOCK_TEXT];

	clock_rfc3339(term->ends_ns, ends);
	if ((term->lifetime_s && json_put(record, LIFETIME, json_integer(term->lifetime_s), err)) ||
	    (term->idle_s && json_put(record, IDLE, json_integer(term->idle_s), err)) ||
	    (term->ends_ns && json_put_string(record, ENDS, ends, err)) ||
	    (term->idled && json_put(record, IDLED, json_true(), err)) ||
	    (term->orphaned && json_put(record, ORPHANED, json_true(), err)))
		return -1;
	return 0;
}

static int take_term(json_t *record, struct term *out, struct error *err)
{
	const char *ends = NULL;

	if (json_get_int(record, "", LIFETIME, JSON_OPTIONAL, 1, TERM_MAX_S, &out->lifetime_s,
			 err) < 0 ||
	    json_get_int(record, "", IDLE, JSON_OPTIONAL, 1, TERM_MAX_S, &out->idle_s, err) < 0 ||
	    json_get_bool(record, "", IDLED, JSON_OPTIONAL, &out->idled, err) < 0 ||
	    json_get_bool(record, "", ORPHANED, JSON_OPTIONAL, &out->orphaned, err) < 0 ||
	    json_get_string(record, "", ENDS, JSON_OPTIONAL, &ends, err) < 0)
		return -1;
	out->ends_ns = ends ? clock_of_rfc3339(ends) : 0;
	return out->ends_ns < 0
		       ? error_set(
				 err, ERR_INVALID,
				 ENDS
				 " of the session's record is not a time in UTC like 2026-01-31T12:00:00Z")
		       : 0;
}

int term_read(const struct workspace *ws, struct term *out, struct error *err)
{
	struct error why = {0};
	json_auto_t *record = workspace_read(ws, SESSION_RECORD, &why);
	struct term term = {0};

	if (!record && why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	if (record && take_term(record, &term, &why) < 0)
		return workspace_damaged(ws, SESSION_RECORD, &why, err);
	*out = term;
	return 0;
}

int term_write(const struct workspace *ws, const struct term *term, struct error *err)
{
	json_auto_t *record = workspace_read(ws, SESSION_RECORD, err);

	if (!record || term_put(term, record, err) < 0)
		return -1;
	return workspace_write(ws, SESSION_RECORD, record, STORE_SYNC, err);
}

/* --- over ------------------------------------------------------------------------------------ */

bool term_is_over(const struct term *term)
{
	return term->ends_ns && clock_real_ns() >= term->ends_ns;
}

bool term_is_over_for(const struct workspace *ws, struct term *term)
{
	json_auto_t *event = NULL, *record = NULL;
	int64_t made, last; /* times in nanoseconds since 1970; -1: unknown */
	enum state state;

	if (!term_is_given(term) || workspace_state(ws, &state, &event, NULL) < 0 ||
	    state == STATE_QUARANTINED)
		return false;
	record = workspace_read(ws, SESSION_RECORD, NULL);
	made = clock_of_rfc3339(json_text(record, "createdAt", ""));
	last = clock_of_rfc3339(json_text(event, "observedAt", ""));
	if (!term->ends_ns && term->lifetime_s && made >= 0)
		term->ends_ns = made + term->lifetime_s * (int64_t)NS_PER_S;
	if (term_is_over(term))
		return true;
	term->idled = term->idle_s && last >= 0 &&
		      clock_real_ns() >= last + term->idle_s * (int64_t)NS_PER_S;
	return term->idled;
}

void term_text(const struct term *term, char out[TERM_TEXT])
{
	static const struct {
		int64_t seconds;
		char unit;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
	int64_t seconds = term->idled ? term->idle_s : term->lifetime_s;
	size_t i = 0;

	if (term->orphaned) {
		snprintf(out, TERM_TEXT, "the process that it belonged to is gone");
		return;
	}
	while (seconds % units[i].seconds)
		i++;
	if (term->idled)
		snprintf(out, TERM_TEXT, "nobody has used it for %" PRId64 "%c",
			 seconds / units[i].seconds, units[i].unit);
	else
		snprintf(out, TERM_TEXT, "its lifetime of %" PRId64 "%c is over",
			 seconds / units[i].seconds, units[i].unit);
}
