/* SPDX-License-Identifier: MIT */
/*
 * Ends a session when its time is over (store/term.h). The guest is then asked to switch itself
 * off. As the last step the broker destroys the session: the audit log is closed and archived, and
 * the workspace is removed.
 *
 * The lifetime of a session is measured by the wall clock. The lifetime begins when the session is
 * ready for the first time, or is claimed from a pool. The lifetime goes on while the session does
 * not run. A session is in use while the host has a stream to the guest, and while a command runs
 * in the guest. vsockd reports the streams, and the guest reports the commands. The guest's report
 * is needed for a command whose client has disconnected and will connect again: meanwhile no stream
 * belongs to this command. A guest that lies about its commands can only keep its session until the
 * end of the lifetime, or end the session earlier.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/kind.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"

static bool is_used(const struct live *live)
{
	return live->term.streams || live->term.commands > 0;
}

static bool may_be_over(const struct live *live)
{
	return live->state == STATE_RUNNING && live->outcome.intent == INTENT_NONE && !live->over;
}

static uint64_t idle_until(const struct live *live)
{
	return live->term.idle_from_ns + (uint64_t)live->term.term.idle_s * NS_PER_S;
}

static bool has_idled(const struct live *live)
{
	return live->term.term.idle_s && !is_used(live) && clock_mono_ns() >= idle_until(live);
}

/* Records that the time of the session is over, and writes the reason to `why`. From now on the
 * session can only be destroyed. */
static void note_over(struct live *live, char why[TERM_TEXT])
{
	struct term *term = &live->term.term;
	struct error err;

	if (!term_is_over(term)) {
		term->idled = true;
		term->ends_ns = clock_real_ns();
	}
	term_text(term, why);
	/* If this process is killed before the session is destroyed, the next command learns from
	 * the record that the time of the session is over. */
	if (term_write(&live->ws, term, &err) < 0)
		log_line(&live->log, "%s", err.msg);
	live->term.over = true;
	live_audit_step(live, "session", "session.expired", json_pack("{s:s}", "why", why));
}

static void expire_session(struct live *live)
{
	char why[TERM_TEXT], text[2 * TERM_TEXT];

	note_over(live, why);
	snprintf(text, sizeof(text), "%s: it is being destroyed", why);
	live_record(live, STATE_STOPPING, text);
	live_end(live, INTENT_STOP, NULL);
}

static void on_term_timer(struct loop *loop, void *data)
{
	struct live *live = data;

	(void)loop;
	live->term.timer = NULL;
	live_term_look(live);
}

void live_term_orphan(struct live *live)
{
	char why[TERM_TEXT];

	/* If the machine is already ending, that end decides what happens to the machine and its
	 * session. So nothing is done here. */
	if (live->over || live->outcome.intent != INTENT_NONE ||
	    (live->state != STATE_RUNNING && live->state != STATE_STARTING))
		return;
	live->term.term.orphaned = true;
	live->term.term.ends_ns = clock_real_ns();
	if (live->state == STATE_RUNNING) {
		expire_session(live);
		return;
	}
	/* No command has run in this session yet, so the machine need not end in order. */
	note_over(live, why);
	live_end(live, INTENT_CALLER_GONE, NULL);
}

void live_term_look(struct live *live)
{
	const struct term *term = &live->term.term;
	uint64_t next = UINT64_MAX;
	struct error err = {0};

	loop_remove(steal_ptr(&live->term.timer));
	if (!may_be_over(live))
		return;
	if (term_is_over(term) || has_idled(live)) {
		expire_session(live);
		return;
	}
	/* `next` is the monotonic time of the next check; UINT64_MAX: no check is needed. */
	if (term->ends_ns)
		next = clock_mono_ns() + (uint64_t)(term->ends_ns - clock_real_ns());
	if (term->idle_s && !is_used(live) && idle_until(live) < next)
		next = idle_until(live);
	if (next == UINT64_MAX)
		return;
	live->term.timer = loop_add_timer(live->loop, next, on_term_timer, live, &err);
	/* If the end of a session cannot be enforced, the session must not go on. */
	if (!live->term.timer)
		live_fail(live, err.code, err.msg);
}

int live_term_begin(struct live *live, struct error *err)
{
	char why[TERM_TEXT];

	if (term_read(&live->ws, &live->term.term, err) < 0)
		return -1;
	if (!term_is_over(&live->term.term))
		return 0;
	term_text(&live->term.term, why);
	error_set(err, ERR_CONFLICT, "%s", why);
	return error_reason(err, REASON_SESSION_OVER, "");
}

static int begin_term(struct live *live, const struct term *given, struct error *err)
{
	struct term term = *given;

	if (term.lifetime_s && !term.ends_ns)
		term.ends_ns = clock_real_ns() + term.lifetime_s * (int64_t)NS_PER_S;
	if (term_write(&live->ws, &term, err) < 0)
		return -1;
	live->term.term = term;
	return 0;
}

static void use_ends(struct live *live)
{
	live->term.idle_from_ns = clock_mono_ns();
	live_term_look(live);
}

int live_term_begin_lifetime(struct live *live, struct error *err)
{
	const struct term *term = &live->term.term;

	return term->lifetime_s && !term->ends_ns ? begin_term(live, term, err) : 0;
}

void live_term_ready(struct live *live)
{
	use_ends(live);
}

void live_term_streams(struct live *live, bool any)
{
	live->term.streams = any;
	use_ends(live);
}

void live_term_command(struct live *live, bool began)
{
	if (began)
		live->term.commands++;
	else if (live->term.commands > 0)
		live->term.commands--;
	use_ends(live);
}

int live_term_set(struct live *live, const json_t *request, struct control_client *client,
		  struct error *err)
{
	struct term term = {0};

	(void)client;
	if (json_get_int(request, "", "lifetimeSeconds", JSON_OPTIONAL, 1, TERM_MAX_S,
			 &term.lifetime_s, err) < 0 ||
	    json_get_int(request, "", "idleSeconds", JSON_OPTIONAL, 1, TERM_MAX_S, &term.idle_s,
			 err) < 0)
		return -1;
	if (!live->audit)
		return kind_error(live->ws.id, ERR_UNSUPPORTED, err, "is not a session");
	if (!may_be_over(live) || term_is_given(&live->term.term))
		return error_set(
			err, ERR_CONFLICT,
			"the time when the session ends cannot be set, because the session is not running, or that time is already set");
	if (begin_term(live, &term, err) < 0)
		return -1;
	use_ends(live);
	return 0;
}

/* --- sessions with a client as lifeline ------------------------------------------------------- */

static void on_holder_gone(void *data, bool let_go)
{
	struct live *live = data;

	live->term.held = false;
	if (!let_go)
		live_term_orphan(live);
}

int live_term_hold(struct live *live, const json_t *request, struct control_client *client,
		   struct error *err)
{
	(void)request;
	if (!live->audit)
		return kind_error(live->ws.id, ERR_UNSUPPORTED, err, "is not a session");
	if (!may_be_over(live) || live->term.held)
		return error_set(
			err, ERR_CONFLICT,
			"the session cannot be bound to the process that asked, because the session is not running, or another process already holds it");
	live->term.held = true;
	control_sock_keep(client, on_holder_gone, live);
	return 0;
}
