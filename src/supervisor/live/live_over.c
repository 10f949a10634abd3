/* SPDX-License-Identifier: MIT */
/*
 * When it is all over: the VM has ended, or will not although it was killed, or never began. The
 * one place where the outcome is decided, recorded and reported.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/handover/report.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/live/readiness.h"

/* The outcome; a VM that broke gets the serial log's last lines behind what is said of it. */
static enum state decide(struct live *live, enum vm_end end, const char *vm_detail, char *detail,
			 size_t size, struct error *failure)
{
	enum state state = outcome_state(&live->outcome, end, vm_detail, detail, size, failure);
	char tail[640];

	if (failure->code == ERR_NONE || live->outcome.intent == INTENT_FAILED)
		return state;
	serial_log_tail(&live->serial, tail, sizeof(tail));
	if (*tail) {
		size_t used = strlen(failure->msg);

		snprintf(failure->msg + used, sizeof(failure->msg) - used, "; serial.log ends: %s",
			 tail);
		snprintf(detail, size, "%s", failure->msg);
	}
	return state;
}

/* Under the command lock, so that nobody prepares the directory anew while it goes. */
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
	/* Of a session it knows what its record says: what it is given may have come later. */
	if (!live->ticket.remove &&
	    (term_read(&live->ws, &live->term.term, err) < 0 || !term_is_over(&live->term.term)))
		return error_set(err, ERR_DENIED, "the workspace is to stay");
	/* Nobody else's word is taken for the machine's end. */
	if (live->backend->end_all(live->vm, err) < 0)
		return error_prefix(err, "the workspace is not removed");
	/* No command finds the supervisor once its workspace has gone. It is to report the end yet, so
	 * it is not killed at once; what it has put into the workspace may take long to remove. */
	broker_end_asker(limit_deadline(LIMIT_KILL_MS));
	broker_take_no_more();
	return remove_own_workspace(live, err);
}

const struct broker_duty live_remove_duty = {serve_remove};

static void remove_workspace(struct live *live)
{
	static const struct broker_message nothing;
	struct error err = {0};

	if (broker_is_asked() ? broker_ask(&live_remove_duty, &nothing, NULL, &err) < 0
			      : remove_own_workspace(live, &err) < 0)
		log_line(&live->log, "%s", err.msg);
}

/* False where the root is removed with the workspace, another's to be looked at, or in memory. */
static bool keeps_its_root(const struct live *live)
{
	return !live->ticket.remove && !live->term.over && !live->ticket.reader &&
	       !live->ticket.writer && !live->ram_root;
}

void live_over(struct live *live, enum vm_end end, const char *vm_detail)
{
	char detail[1024] = "";
	struct error failure = {0}, err = {0};
	json_auto_t *line = NULL;
	enum state state;

	if (live->over)
		return;
	state = decide(live, end, vm_detail, detail, sizeof(detail), &failure);
	/* A failed command says nothing of the disk. Where anything else has failed the word of the VMM, that
	 * the guest switched itself off, is not believed. */
	live->at_rest = end == VM_END_POWERED_OFF &&
			(state != STATE_FAILED || live->outcome.has_result) && keeps_its_root(live);
	live->over = true;
	/* Nobody is left waiting for an answer, perhaps with the command lock in hand. */
	live_quarantine_over(live);
	live_share_cut(live, "ended");
	live_network_cut(live, "ended");
	live_save_cut(live, "ended");
	readiness_forget(live->readiness);
	control_sock_free(live->requests);
	live->requests = NULL;
	if (live->serial.lost > 0)
		log_line(&live->log, "%llu bytes of the serial console found no room on the disk",
			 (unsigned long long)live->serial.lost);
	live_cgroup_end(live);
	rootfs_take_back(&live->ws, LIVE_ROOTFS, &live->first_start);
	live_quota_end(live);
	if (leftover_remove_files(&live->ws, &err) < 0)
		log_line(&live->log, "%s", err.msg);
	live_mark(live, "ended");
	live_runtime_write(live);
	live_observe_end(live, end, state, detail);
	live_observe_free(live);
	live_audit_free(live);
	live_record(live, state, detail);
	if (!live_record_pending(live))
		log_line(&live->log, "the last events found no room on the disk");
	/* What was quarantined is kept, whatever its run was told before. */
	if ((live->ticket.remove || live->term.over) && !live->outcome.quarantined)
		remove_workspace(live);
	line = report_final(live->last_event, live->ticket.remove ? live->result : NULL, &failure);
	report_send(LIVE_REPORT, line);
	loop_stop(live->loop);
}
