/* SPDX-License-Identifier: MIT */
/*
 * Ends the VM of a live supervisor. Each module that wants to end the VM calls live_end() with its
 * reason. If there are several reasons, intent_after() decides which of them is kept. live_over()
 * is called when the VM has ended, when it was killed and did not end, or when it never started.
 * Only live_over() decides, records and reports the outcome.
 *
 * A guest reports what happens in it with a delay of up to 120 ms (guest/trace/tracer.c). But
 * people often read an audit log to find the last actions of a command. So before the VM of a
 * session is killed, its guest gets a limited time to send the reports that it has not sent yet. If
 * these reports do not come, the log says so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/handover/report.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/live/readiness.h"

/* Exits, because the VM was killed and has not ended in time: the VMM or a companion is stuck. The
 * VMM and the companions are killed when this process exits. */
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

static void kill_vm(struct live *live)
{
	struct error why = {0};

	if (live->settling)
		return;
	/* A quarantined guest cannot send reports. The log says that the machine is in quarantine,
	 * so the log needs no line about missing reports. */
	if (!live->audit || !live->outcome.ready || live->severed) {
		kill_now(live);
		return;
	}
	if (live->pause.why)
		error_set(&why, ERR_UNAVAILABLE,
			  "the machine is paused, so its guest can send no last reports");
	else
		live->settling = control_stream_settle(live->control, &why) == 0;
	if (live->settling) {
		set_end_timer(live, LIMIT_SETTLE_MS, on_settle_timer);
		if (live->end_timer)
			return;
		error_set(
			&why, ERR_IO,
			"the guest's last reports cannot be awaited, because no timer could be made");
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

/* Asks the agent to switch the machine off. If the agent is not ready, presses the machine's power
 * button. */
static void ask_guest_to_power_off(struct live *live)
{
	struct error err;

	/* A machine that is paused at its quota does not go on by itself, so its guest cannot
	 * switch itself off. */
	if (live->pause.why == PAUSE_AT_QUOTA) {
		live_cannot_power_off(live);
		return;
	}
	set_end_timer(live, LIMIT_HALT_MS, on_halt_timer);
	if (control_stream_is_ready(live->control)) {
		control_stream_power_off(live->control);
	} else if (live->backend->power_button && live->backend->power_button(live->vm, &err) < 0) {
		/* If the power button cannot be pressed, the guest cannot end the machine, so there
		 * is no reason to wait. An example is a quarantined machine of Firecracker on
		 * arm64. */
		log_line(&live->log, "power button: %s", err.msg);
		live->outcome.forced_why = "the guest could not be asked to switch itself off";
		kill_vm(live);
	}
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
	/* If a machine was saved while it ends, no useful machine could be restored from the save.
	 * So the save fails. */
	live_save_cut(live, "ended");
	/* When a workload is done, an end of its caller does not change the outcome. But then the
	 * VM is killed, since no process waits for an orderly end. The VM is also killed if its
	 * workspace will be removed. */
	if (intent_is_forced(intent) || (now == INTENT_DONE && live->ticket.remove)) {
		if (!was_forced)
			kill_vm(live);
	} else if (!was_ending) {
		ask_guest_to_power_off(live);
	}
}

void live_done(struct live *live)
{
	/* If the machine is already ending, the result has come during the power-off, and there is
	 * nothing more to do. */
	if (!is_ending(live))
		live_end(live, INTENT_DONE, NULL);
}

void live_fail(struct live *live, enum error_code code, const char *text)
{
	live_fail_for(live, code, REASON_NONE, text);
}

/* The text for a machine whose serial console has only the lines that every boot prints. */
#define UNTELLING "the guest's serial console does not say why"

void live_fail_for(struct live *live, enum error_code code, enum error_reason reason,
		   const char *text)
{
	struct error cause = {0};
	char tail[640];

	serial_log_tail(&live->serial, tail, sizeof(tail));
	if (*tail)
		error_set(&cause, code, "%s; serial.log ends: %s", text, tail);
	else if (serial_log_was_written(&live->serial))
		error_set(&cause, code, "%s; " UNTELLING, text);
	else if (live->awaits_kernel)
		error_set(
			&cause, code,
			"%s; the machine is still in its firmware, or the guest's kernel has not shown any sign yet",
			text);
	else
		error_set(&cause, code, "%s; the guest said nothing on its serial console", text);
	error_reason(&cause, reason, "");
	live_end(live, INTENT_FAILED, &cause);
}

/* --- the outcome ----------------------------------------------------------------------------- */

/* Removes the workspace under the command lock. Otherwise a command could make the directory again
 * at the same time. */
static int remove_own_workspace(struct live *live, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_CONTROL_REQUEST_MS);
	autoclose int lock = workspace_lock(&live->dir, live->ws.id, deadline, err);

	if (lock < 0)
		return -1;
	if (audit_is_kept(&live->ws) &&
	    (workspace_refuse_mounts(&live->ws, err) < 0 || audit_archive(&live->ws, err) < 0))
		return -1;
	if (workspace_remove(&live->ws, err) < 0)
		return -1;
	workspace_lock_remove(&live->dir, live->ws.id);
	return 0;
}

static int serve_remove(void *data, const struct broker_message *in, struct broker_message *out,
			struct error *err)
{
	struct live *live = data;

	(void)in, (void)out;
	/* The time of the session may have ended after the broker was forked, so the broker reads
	 * the record. */
	if (!live->ticket.remove &&
	    (term_read(&live->ws, &live->term.term, err) < 0 || !term_is_over(&live->term.term)))
		return error_set(
			err, ERR_DENIED,
			"the broker refuses to remove the workspace, because the workspace is to be kept after the machine's end");
	/* The broker does not trust the supervisor's report that the machine has ended. So the
	 * broker itself ends all processes of the machine. */
	if (live->backend->end_all(live->vm, err) < 0)
		return error_prefix(err, "the workspace is not removed");
	/* After its workspace is removed, no command can find the supervisor. So the broker ends
	 * the supervisor after a deadline. The supervisor needs this time to report the end of the
	 * machine. The deadline holds even if the removal of the workspace takes long. */
	broker_end_asker(limit_deadline(LIMIT_KILL_MS));
	broker_take_no_more();
	return remove_own_workspace(live, err);
}

const struct broker_duty live_remove_duty = {serve_remove};

void live_over(struct live *live, enum vm_end end, const char *vm_detail)
{
	static const struct broker_message nothing;
	char detail[1024] = "", tail[640];
	bool keeps_root;
	struct error failure = {0}, err = {0};
	json_auto_t *line = NULL;
	enum state state;

	if (live->over)
		return;
	state = outcome_state(&live->outcome, end, vm_detail, detail, sizeof(detail), &failure);
	/* If the VM has failed by itself, appends the last lines of the serial log to the
	 * message. */
	if (failure.code != ERR_NONE && live->outcome.intent != INTENT_FAILED) {
		size_t used = strlen(failure.msg);

		serial_log_tail(&live->serial, tail, sizeof(tail));
		if (*tail)
			snprintf(failure.msg + used, sizeof(failure.msg) - used,
				 "; serial.log ends: %s", tail);
		else if (end == VM_END_RESET && !live->outcome.ready)
			/* A Linux kernel that has too little memory to unpack itself resets the
			 * machine. */
			snprintf(failure.msg + used, sizeof(failure.msg) - used,
				 "; %s: %" PRId64
				 " MiB of memory may be too little for this kernel",
				 serial_log_was_written(&live->serial) ? UNTELLING
								       : "serial.log is empty",
				 live->memory_mib);
		if (failure.msg[used])
			snprintf(detail, sizeof(detail), "%s", failure.msg);
	}
	/* True if the root file system is kept as this machine's disk. False if it is removed with
	 * the workspace, was only read or written for a command, or is in memory. */
	keeps_root = !live->ticket.remove && !live->term.over && !live->ticket.reader &&
		     !live->ticket.writer && !live->ram_root;
	/* A workload that failed does not affect the disk. After any other failure the VMM's report
	 * that the guest has switched itself off is not trusted. */
	live->at_rest = end == VM_END_POWERED_OFF &&
			(state != STATE_FAILED || live->outcome.has_result) && keeps_root;
	live->over = true;
	/* Each client that still waits gets an answer now, since it may hold the command lock and
	 * so block all other commands. */
	live_quarantine_over(live);
	live_share_cut(live, "ended");
	live_network_cut(live, "ended");
	live_save_cut(live, "ended");
	readiness_forget(live->readiness);
	control_sock_free(live->requests);
	live->requests = NULL;
	if (live->serial.lost > 0)
		log_line(&live->log,
			 "%llu bytes of the serial console were lost: the disk was full",
			 (unsigned long long)live->serial.lost);
	live_cgroup_end(live);
	rootfs_take_back(&live->ws, LIVE_ROOTFS, &live->first_start);
	live_quota_end(live);
	if (leftover_remove_files(&live->ws, &err) < 0)
		log_line(&live->log, "%s", err.msg);
	live_mark(live, "ended");
	json_object_del(live->runtime, "shares");
	live_runtime_write(live);
	live_observe_end(live, end, state, detail);
	live_observe_free(live);
	live_audit_free(live);
	live_record(live, state, detail);
	if (!live_record_pending(live))
		log_line(&live->log, "the last events were lost: the disk was full");
	/* A quarantined workspace is kept as evidence, even if it was to be removed. */
	if ((live->ticket.remove || live->term.over) && !live->outcome.quarantined) {
		if (broker_is_asked() ? broker_ask(&live_remove_duty, &nothing, NULL, &err) < 0
				      : remove_own_workspace(live, &err) < 0)
			log_line(&live->log, "%s", err.msg);
	}
	line = report_final(live->last_event, live->ticket.remove ? live->result : NULL, &failure);
	report_send(LIVE_REPORT, line);
	loop_stop(live->loop);
}
