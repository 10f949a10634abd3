/* SPDX-License-Identifier: MIT */
#include "supervisor/live/live_audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"

/* The limits for one part of the audit log: the events of one kind that a guest can cause. Events
 * beyond a rate, or beyond a fraction of the file's size, are only counted and not written. So a
 * part never uses the space for the host's own lines or for another part. */
struct allowance {
	enum limit lines; /* the limit on lines per second */
	/* The part may use the fraction 1/of_room of the file's size, and of the greatest number of
	 * waiting events. */
	unsigned of_room;
	const char *name; /* the name of the part in audit.full */
	const char *no_room, *too_many;
};

static const struct allowance allowances[AUDIT_PARTS] = {
	[AUDIT_PART_HOST] = {.of_room = 1},
	[AUDIT_PART_NETWORK] = {LIMIT_AUDIT_NET_LINES, 4, "connections",
				"the connections have used up their room in the log",
				"there were more connections in one second than are listed"},
	[AUDIT_PART_GUEST] = {LIMIT_AUDIT_GUEST_LINES, 2, "guest",
			      "the guest's own reports have used up their room in the log",
			      "the guest reported more in one second than is listed"},
};

struct audit_spending {
	/* The number of events since the last audit.gap that were counted and not written. */
	uint64_t suppressed;
	uint64_t window_ns;
	unsigned in_window;
	bool full; /* the part has used up its fraction of the file, and audit.full was written */
};

struct live_audit {
	struct audit log;
	json_t *waiting; /* the events for which the host's disk has no room, the oldest first */
	/* The number of events since the last audit.gap that were lost because too many events were
	 * waiting. */
	uint64_t lost;
	struct audit_spending spent[AUDIT_PARTS];
	/* The last write has failed, and an event of the workspace reports this. */
	bool without_room;
	/* The reason of the latest failed write; "": no write has failed. */
	char why[160];
	/* The latest change of the log that was found and reported. */
	enum audit_tampering tampering;
	/* The security log has no room, and an event audit.unconfirmed reports this. */
	bool unconfirmed;
	struct loop_watch *sync_timer, *room_timer;
};

/* Opens the audit log. ERR_CONFLICT: the log is closed, because a command has begun to destroy the
 * session. Even if that command was killed, no line may be written to a closed log, since no
 * archive would contain the line. */
static int open_audit_log(const struct workspace *ws, struct audit *log, struct error *err)
{
	if (audit_open(ws, log, err) < 0)
		return -1;
	if (!log->closed && !log->destroyed)
		return 0;
	error_set(
		err, ERR_CONFLICT,
		"nothing more can be recorded, because the session is being destroyed: its " AUDIT_LOG
		" is closed");
	error_reason(err, REASON_SESSION_ENDING, log->session);
	audit_release(log);
	return -1;
}

int live_audit_begin(struct live *live, struct error *err)
{
	struct live_audit *audit;

	if (!audit_is_kept(&live->ws))
		return 0;
	audit = calloc(1, sizeof(*audit));
	if (!audit)
		return error_errno(err, ENOMEM, "audit");
	audit->waiting = json_array();
	if (!audit->waiting || open_audit_log(&live->ws, &audit->log, err) < 0) {
		json_decref(audit->waiting);
		free(audit);
		return -1;
	}
	live->audit = audit;
	return 0;
}

/* --- writing events --------------------------------------------------------------------------- */

static void on_sync_timer(struct loop *loop, void *data);

static void sync_later(struct live *live)
{
	struct error err;

	if (live->audit->sync_timer)
		return;
	live->audit->sync_timer = loop_add_timer(live->loop, limit_deadline(LIMIT_AUDIT_SYNC_MS),
						 on_sync_timer, live, &err);
	if (!live->audit->sync_timer)
		log_line(&live->log, "audit: %s", err.msg);
}

/* Returns the event of an item of `waiting`:
 * {"severity","subsystem","event","data","at","sync","part"}. An item whose event is already in the
 * security log also has `aside`. The event is valid as long as the item exists. */
static struct audit_event item_event(const json_t *item)
{
	return (struct audit_event){
		.severity =
			(enum audit_severity)json_integer_value(json_object_get(item, "severity")),
		.subsystem = json_text(item, "subsystem", NULL),
		.event = json_text(item, "event", NULL),
		.data = json_object_get(item, "data"),
		.real_ns = json_integer_value(json_object_get(item, "at")),
	};
}

static int write_one(struct live *live, const json_t *item, struct error *err)
{
	bool sync = json_is_true(json_object_get(item, "sync"));
	const struct audit_event event = item_event(item);

	if (audit_append(&live->audit->log, &event, sync ? STORE_SYNC : STORE_NO_SYNC, err) < 0) {
		snprintf(live->audit->why, sizeof(live->audit->why), "%.150s", err->msg);
		return -1;
	}
	if (!sync)
		sync_later(live);
	return 0;
}

static json_t *item_json(enum audit_severity severity, const char *subsystem, const char *event,
			 json_t *data, bool sync)
{
	return json_pack("{s:i, s:s, s:s, s:o, s:I, s:b, s:i}", "severity", (int)severity,
			 "subsystem", subsystem, "event", event, "data",
			 data ? data : json_object(), "at", (json_int_t)clock_real_ns(), "sync",
			 sync, "part", AUDIT_PART_HOST);
}

/* If *lost is not 0, writes an audit.gap with *lost as the number of lost events, and sets *lost to
 * 0. */
static int tell_gap(struct live *live, uint64_t *lost, const char *why, struct error *err)
{
	json_auto_t *item = NULL;

	if (*lost == 0)
		return 0;
	item = item_json(AUDIT_WARNING, "audit", "audit.gap",
			 json_pack("{s:I, s:s}", "lost", (json_int_t)*lost, "why", why), true);
	if (!item || write_one(live, item, err) < 0)
		return -1;
	*lost = 0;
	return 0;
}

static void tell_lost_heads(struct live *live)
{
	json_auto_t *item = item_json(
		AUDIT_WARNING, "audit", "audit.unconfirmed",
		json_pack("{s:I}", "lines", (json_int_t)live->audit->log.heads_lost), true);
	struct error why = {0};

	if (item && write_one(live, item, &why) < 0)
		log_limited(&live->log, "audit: %s", why.msg);
}

/* Writes audit.unconfirmed when the security log has no more room for digests. When the security
 * log has room again, writes audit.unconfirmed once more, with the number of lost digests. `before`
 * is the number of lost digests before the last lines were written. */
static void look_at_lost_heads(struct live *live, uint64_t before)
{
	struct live_audit *audit = live->audit;

	if (audit->log.heads_lost == 0)
		return;
	if (!audit->unconfirmed) {
		audit->unconfirmed = true;
		tell_lost_heads(live);
	} else if (audit->log.heads_lost == before) {
		tell_lost_heads(live);
		audit->unconfirmed = false;
		audit->log.heads_lost = 0;
	}
}

static int write_waiting(struct live *live, struct error *err)
{
	struct live_audit *audit = live->audit;

	while (json_array_size(audit->waiting) > 0) {
		if (write_one(live, json_array_get(audit->waiting, 0), err) < 0)
			return -1;
		json_array_remove(audit->waiting, 0);
	}
	return tell_gap(live, &audit->lost, "there was no room on the disk", err);
}

/* --- events that could not be written to the audit log ---------------------------------------- */

/* If the event is an alarm (AUDIT_CRITICAL), writes it to the security log now, even if the audit
 * log has no room: the security log may be on another disk. `item` is one of the items of
 * `waiting`. */
static void note_alarm(struct live *live, json_t *item)
{
	const struct audit_event event = item_event(item);
	struct error why = {0};

	if (event.severity != AUDIT_CRITICAL || json_object_get(item, "aside"))
		return;
	if (security_log_aside(&live->audit->log, &event, &why) < 0)
		log_limited(&live->log, "audit: %s", why.msg);
	else
		json_object_set_new(item, "aside", json_true());
}

static void note_waiting_alarms(struct live *live)
{
	json_t *item;
	size_t i;

	json_array_foreach(live->audit->waiting, i, item)
	{
		note_alarm(live, item);
	}
}

static uint64_t unwritten_events(const struct live_audit *audit)
{
	uint64_t count = audit->lost + json_array_size(audit->waiting);

	for (int part = 0; part < AUDIT_PARTS; part++)
		count += audit->spent[part].suppressed;
	return count;
}

/* Writes to the security log the number of events that were never written to the audit log. */
static void note_unwritten(struct live *live)
{
	uint64_t count = unwritten_events(live->audit);
	char text[256];
	json_auto_t *item = NULL;
	struct audit_event event;
	struct error err = {0};

	if (count == 0)
		return;
	snprintf(text, sizeof(text), "audit.log could not be written to the end: %s",
		 live->audit->why);
	log_line(&live->log, "audit: %llu events are lost: %s", (unsigned long long)count, text);
	item = item_json(AUDIT_WARNING, "audit", "audit.gap",
			 json_pack("{s:I, s:s}", "lost", (json_int_t)count, "why", text), true);
	if (!item)
		return;
	event = item_event(item);
	if (security_log_aside(&live->audit->log, &event, &err) < 0)
		log_line(&live->log, "audit: %s", err.msg);
}

/* --- a log that was removed or replaced ------------------------------------------------------- */

static bool is_taken_away(const struct live_audit *audit)
{
	return audit->tampering == AUDIT_REMOVED || audit->tampering == AUDIT_REPLACED;
}

/* Puts a removed log back at its path. Reports a success; reports a failure only if first_try is
 * true. After a failure, lines are still written to the open file, whose path is gone, and their
 * digests to the security log. So the command `verify` finds that lines are missing. */
static void put_log_back(struct live *live, bool first_try)
{
	struct live_audit *audit = live->audit;
	const char *how = audit_tampering_names[audit->tampering];
	struct error why = {0};
	char text[256];

	if (audit_put_back(&audit->log, &why) == 0) {
		snprintf(text, sizeof(text), AUDIT_LOG " was %s, and was put back", how);
		audit->tampering = AUDIT_UNTOUCHED;
	} else {
		snprintf(text, sizeof(text), AUDIT_LOG " was %s, and cannot be put back: %.150s",
			 how, why.msg);
		if (!first_try)
			return;
	}
	live_remark(live, text);
}

/* Adds an event about a change of the log to the end of the waiting events. */
static void put_changed(struct live *live, enum audit_tampering how)
{
	json_t *item = item_json(AUDIT_CRITICAL, "audit", "audit.changed",
				 json_pack("{s:s}", "how", audit_tampering_names[how]), true);

	if (!item || json_array_append_new(live->audit->waiting, item) < 0)
		live->audit->lost++;
}

/* Checks if another process has changed the log. Reports each kind of change once. */
static void look_at_log(struct live *live)
{
	struct live_audit *audit = live->audit;
	enum audit_tampering found = audit_tampering(&audit->log);

	if (found == audit->tampering)
		return;
	audit->tampering = found;
	if (found == AUDIT_UNTOUCHED)
		return;
	put_changed(live, found);
	if (is_taken_away(audit))
		put_log_back(live, true);
}

/* If a change of the security log was found when lines were written to it, reports this change and
 * returns true. Otherwise returns false. */
static bool take_security_tampering(struct live *live)
{
	enum audit_tampering found = live->audit->log.security_tampering;

	live->audit->log.security_tampering = AUDIT_UNTOUCHED;
	if (found == AUDIT_UNTOUCHED)
		return false;
	put_changed(live, found);
	return true;
}

/* --- waiting --------------------------------------------------------------------------------- */

static void on_audit_room_timer(struct loop *loop, void *data);

static void say_without_room(struct live *live, const struct error *why)
{
	char text[256];
	struct error err;

	if (live->audit->without_room)
		return;
	live->audit->without_room = true;
	snprintf(text, sizeof(text), "audit.log cannot be written, events wait: %.150s", why->msg);
	live_remark(live, text);
	live->audit->room_timer =
		loop_add_interval(live->loop, limit_get(LIMIT_DISK_CHECK_MS) * NS_PER_MS,
				  on_audit_room_timer, live, &err);
	if (!live->audit->room_timer)
		log_line(&live->log, "audit: %s", err.msg);
}

static void flush_waiting(struct live *live)
{
	struct error why = {0};

	look_at_log(live);
	do {
		if (write_waiting(live, &why) < 0) {
			note_waiting_alarms(live);
			say_without_room(live, &why);
			return;
		}
	} while (take_security_tampering(live));
	/* A change of the log's size by another process from now on is reported as a new change. */
	if (!is_taken_away(live->audit))
		live->audit->tampering = AUDIT_UNTOUCHED;
	if (!live->audit->without_room)
		return;
	live->audit->without_room = false;
	loop_remove(steal_ptr(&live->audit->room_timer));
	live_remark(live, "audit.log is written again");
}

static void on_audit_room_timer(struct loop *loop, void *data)
{
	(void)loop;
	flush_waiting(data);
}

/* Returns true if the event may wait. The number of waiting events is limited, and events that a
 * guest can cause may use only a fraction of it, so that they cannot displace other events. */
static bool may_wait(const struct live_audit *audit, const json_t *item)
{
	json_int_t part = json_integer_value(json_object_get(item, "part"));
	size_t alike = 0, i, most = limit_get(LIMIT_AUDIT_WAITING);
	const json_t *other;

	json_array_foreach(audit->waiting, i, other)
	{
		alike += json_integer_value(json_object_get(other, "part")) == part;
	}
	return i < most && alike < most / allowances[part].of_room;
}

static void put_waiting(struct live *live, json_t *item)
{
	struct live_audit *audit = live->audit;
	uint64_t lost_heads = audit->log.heads_lost;

	if (!item || !may_wait(audit, item) || json_array_append(audit->waiting, item) < 0)
		audit->lost++;
	/* While the host's disk has no room, only the timer tries to write. A new event waits. An
	 * alarm is also written to the security log at once. */
	if (!audit->without_room)
		flush_waiting(live);
	else if (item)
		note_alarm(live, item);
	json_decref(item);
	if (!audit->without_room)
		look_at_lost_heads(live, lost_heads);
}

void live_audit_look(struct live *live)
{
	struct live_audit *audit = live->audit;
	uint64_t lost_heads = audit->log.heads_lost;

	if (is_taken_away(audit))
		put_log_back(live, false);
	security_log_look(&audit->log);
	if (audit->without_room)
		return;
	flush_waiting(live);
	/* If no further digest was lost, perhaps no line was written at all. So the security log
	 * may still have no room. */
	if (audit->log.heads_lost > lost_heads)
		look_at_lost_heads(live, lost_heads);
}

struct audit *live_audit_log(const struct live *live)
{
	return live->audit ? &live->audit->log : NULL;
}

void live_audit(struct live *live, enum audit_severity severity, const char *subsystem,
		const char *event, json_t *data)
{
	if (live->audit)
		put_waiting(live,
			    item_json(severity, subsystem, event, data, severity != AUDIT_INFO));
	else
		json_decref(data);
}

void live_audit_step(struct live *live, const char *subsystem, const char *event, json_t *data)
{
	if (live->audit)
		put_waiting(live, item_json(AUDIT_INFO, subsystem, event, data, true));
	else
		json_decref(data);
}

/* --- events that a guest causes --------------------------------------------------------------- */

static void tell_suppressed_events(struct live *live, bool of_full)
{
	struct live_audit *audit = live->audit;
	struct error why = {0};

	for (int part = 0; part < AUDIT_PARTS && !audit->without_room; part++) {
		struct audit_spending *spent = &audit->spent[part];

		if (of_full || !spent->full)
			(void)tell_gap(live, &spent->suppressed,
				       spent->full ? allowances[part].no_room
						   : allowances[part].too_many,
				       &why);
	}
}

static void on_sync_timer(struct loop *loop, void *data)
{
	struct live *live = data;
	struct error err;

	(void)loop;
	live->audit->sync_timer = NULL;
	/* A part that has used up its room is reported only at the end. Otherwise repeated lines
	 * about it would fill the file. */
	tell_suppressed_events(live, false);
	if (audit_sync(&live->audit->log, &err) < 0)
		log_limited(&live->log, "audit: %s", err.msg);
}

/* Returns true if the part has used up its fraction of the file, so that a line with `data` does
 * not fit. Writes audit.full the first time. */
static bool has_used_up(struct live *live, enum audit_part part, const json_t *data)
{
	struct live_audit *audit = live->audit;
	uint64_t room = limit_get(LIMIT_AUDIT_BYTES) / allowances[part].of_room;
	autofree char *text = json_line(data, NULL);
	uint64_t line = AUDIT_LINE_FRAME + (text ? strlen(text) : 0);

	if (!audit->spent[part].full && audit->log.used[part] + line > room) {
		audit->spent[part].full = true;
		live_audit(live, AUDIT_CRITICAL, "audit", "audit.full",
			   json_pack("{s:s, s:I}", "of", allowances[part].name, "bytes",
				     (json_int_t)audit->log.used[part]));
	}
	return audit->spent[part].full;
}

static bool is_too_much(struct audit_spending *spent, enum audit_part part)
{
	uint64_t now = clock_mono_ns();

	if (now - spent->window_ns >= NS_PER_S) {
		spent->window_ns = now;
		spent->in_window = 0;
	}
	return ++spent->in_window > limit_get(allowances[part].lines);
}

static void audit_within(struct live *live, enum audit_part part, enum audit_severity severity,
			 const char *subsystem, const char *event, json_t *data)
{
	struct audit_spending *spent;
	json_t *item;

	if (!live->audit || !data) {
		json_decref(data);
		return;
	}
	spent = &live->audit->spent[part];
	if (!is_too_much(spent, part) && !has_used_up(live, part, data)) {
		item = item_json(severity, subsystem, event, data, false);
		json_object_set_new(item, "part", json_integer(part));
		put_waiting(live, item);
		return;
	}
	json_decref(data);
	spent->suppressed++;
	sync_later(live);
}

void live_audit_guest(struct live *live, enum audit_severity severity, const char *subsystem,
		      const char *event, json_t *data)
{
	audit_within(live, AUDIT_PART_GUEST, severity, subsystem, event, data);
}

void live_audit_network(struct live *live, enum audit_severity severity, const char *event,
			json_t *data)
{
	audit_within(live, AUDIT_PART_NETWORK, severity, "network", event, data);
}

void live_audit_free(struct live *live)
{
	struct live_audit *audit = live->audit;
	struct error err = {0};

	if (!audit)
		return;
	flush_waiting(live);
	tell_suppressed_events(live, true);
	if (is_taken_away(audit))
		put_log_back(live, true);
	note_unwritten(live);
	loop_remove(audit->sync_timer);
	loop_remove(audit->room_timer);
	if (audit->log.heads_lost > 0)
		tell_lost_heads(live);
	if (audit_sync(&audit->log, &err) < 0)
		log_line(&live->log, "audit: %s", err.msg);
	audit_release(&audit->log);
	json_decref(audit->waiting);
	free(audit);
	live->audit = NULL;
}
