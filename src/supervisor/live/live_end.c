/* SPDX-License-Identifier: MIT */
/*
 * How a live supervisor's VM is brought to its end. Whoever wants it to end says so by live_end();
 * what stands of several wishes is intent_after()'s business. What the end meant is told by
 * live_over.c.
 *
 * A guest tells of what happens in it with a delay of up to 120 ms (guest/trace/tracer.c), and what
 * a command does last is what an audit is read for. So the guest of a session tells the rest before
 * its VM is killed. The time for that is bounded, and where the rest does not come, the log says so.
 */

#include "base/limits.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"

/* Forced, and still not over: the VMM or a companion is stuck. Our death is theirs too. */
static void on_kill_timer(struct loop *loop, void *data)
{
	struct live *live = data;

	(void)loop;
	live->end_timer = NULL;
	log_line(&live->log, LIVE_STUCK);
	loop_stop(live->loop);
}

static void set_end_timer(struct live *live, enum limit limit, loop_timer_fn *fn)
{
	struct error err;

	loop_remove(live->end_timer);
	live->end_timer = loop_add_timer(live->loop, limit_deadline(limit), fn, live, &err);
	if (!live->end_timer)
		log_line(&live->log, "%s", err.msg);
}

static void kill_now(struct live *live)
{
	live->settling = false;
	set_end_timer(live, LIMIT_KILL_MS, on_kill_timer);
	live->backend->kill(live->vm);
}

static void on_settle_timer(struct loop *loop, void *data)
{
	struct live *live = data;

	(void)loop;
	live->end_timer = NULL;
	live_observe_untold(live, "its agent has not answered in time");
	kill_now(live);
}

/* A quarantine has cut the way to the guest, which the log tells by itself. */
static bool has_more_to_tell(const struct live *live)
{
	return live->audit && live->outcome.ready && !live->severed;
}

static void kill_vm(struct live *live)
{
	struct error why = {0};

	if (live->settling)
		return;
	if (!has_more_to_tell(live)) {
		kill_now(live);
		return;
	}
	if (live->paused)
		error_set(&why, ERR_UNAVAILABLE, "it stands still");
	else
		live->settling = control_stream_settle(live->control, &why) == 0;
	if (live->settling) {
		set_end_timer(live, LIMIT_SETTLE_MS, on_settle_timer);
		if (live->end_timer)
			return;
		error_set(&why, ERR_IO, "there is no timer for it");
	}
	live_observe_untold(live, why.msg);
	kill_now(live);
}

void live_settled(struct live *live)
{
	if (live->settling)
		kill_now(live);
}

void live_cannot_power_off(struct live *live)
{
	log_line(&live->log, "the guest is paused, and cannot switch itself off");
	kill_vm(live);
}

static void on_halt_timer(struct loop *loop, void *data)
{
	struct live *live = data;

	(void)loop;
	live->end_timer = NULL;
	live->outcome.forced_why = "the guest did not switch itself off in time";
	log_line(&live->log, "%s", live->outcome.forced_why);
	kill_vm(live);
}

/* Nothing is waited for: a machine of Firecracker's on arm64 in quarantine, say. */
static void cannot_press(struct live *live, const struct error *why)
{
	log_line(&live->log, "power button: %s", why->msg);
	live->outcome.forced_why = "the guest could not be asked to switch itself off";
	kill_vm(live);
}

/* The agent is asked; without one the power button is pressed. */
static void ask_guest_to_power_off(struct live *live)
{
	struct error err;

	/* Paused for as long as nobody raises it. */
	if (live->quota.reached) {
		live_cannot_power_off(live);
		return;
	}
	set_end_timer(live, LIMIT_HALT_MS, on_halt_timer);
	if (control_stream_is_ready(live->control))
		control_stream_power_off(live->control);
	else if (live->backend->power_button && live->backend->power_button(live->vm, &err) < 0)
		cannot_press(live, &err);
}

static bool is_ending(const struct live *live)
{
	return live->outcome.intent != INTENT_NONE;
}

void live_end(struct live *live, enum intent intent, const struct error *cause)
{
	bool was_ending = is_ending(live), was_forced = intent_is_forced(live->outcome.intent);
	enum intent now = intent_after(live->outcome.intent, intent);

	if (live->over)
		return;
	if (now == INTENT_FAILED && live->outcome.intent != INTENT_FAILED && cause)
		live->outcome.cause = *cause;
	live->outcome.intent = now;
	if ((now == INTENT_HALT || now == INTENT_STOP) && live->state != STATE_STOPPING)
		live_record(live, STATE_STOPPING, NULL);
	/* A done workload whose caller is gone keeps its outcome, but nobody waits for a clean
	 * end any more. */
	if (intent_is_forced(intent) || (now == INTENT_DONE && live->ticket.remove)) {
		if (!was_forced)
			kill_vm(live);
	} else if (!was_ending) {
		ask_guest_to_power_off(live);
	}
}

void live_done(struct live *live)
{
	/* Asked to stop already: the result came on the way, the power-off is under way. */
	if (!is_ending(live))
		live_end(live, INTENT_DONE, NULL);
}

void live_fail(struct live *live, enum error_code code, const char *text)
{
	live_fail_for(live, code, REASON_NONE, text);
}

void live_fail_for(struct live *live, enum error_code code, enum error_reason reason,
		   const char *text)
{
	struct error cause = {0};
	char tail[640];

	serial_log_tail(&live->serial, tail, sizeof(tail));
	if (*tail)
		error_set(&cause, code, "%s; serial.log ends: %s", text, tail);
	else if (live->awaits_kernel)
		error_set(&cause, code,
			  "%s; the machine is still in its firmware, or nothing is seen of the "
			  "guest's kernel yet",
			  text);
	else
		error_set(&cause, code, "%s; the guest said nothing on its serial console", text);
	error_reason(&cause, reason, "");
	live_end(live, INTENT_FAILED, &cause);
}
