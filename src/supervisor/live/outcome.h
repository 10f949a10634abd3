/* SPDX-License-Identifier: MIT */
/*
 * Finds what the end of a VM means. From what was asked of the VM, what its guest reported, and how
 * the VMM says that it ended, follows the state that is recorded. Pure.
 */
#ifndef SUPERVISOR_OUTCOME_H
#define SUPERVISOR_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/vm_end.h"
#include "base/error.h"
#include "contract/state.h"

/* Why the VM is being ended. The first intent that ends the VM by force stays. A milder intent that
 * came before gives way to it. */
enum intent {
	INTENT_NONE,	    /* the VM goes on */
	INTENT_DONE,	    /* the workload's result is there */
	INTENT_HALT,	    /* asked to halt */
	INTENT_STOP,	    /* asked to stop */
	INTENT_KILL,	    /* asked to kill */
	INTENT_CALLER_GONE, /* a lifeline ended */
	INTENT_RUN_TOLD,    /* SIGTERM to the command run, which writes so to the lifeline */
	INTENT_SIGNAL,	    /* SIGTERM to the live supervisor */
	INTENT_FAILED,	    /* something broke: cause says what */
	INTENT_COUNT
};
/* Returns whether the intent ends the VM at once instead of asking the guest. */
bool intent_is_forced(enum intent intent);
/* Returns the intent that stands when `next` comes while `present` is under way. */
enum intent intent_after(enum intent present, enum intent next);

/* The beginning of the detail of a quarantine without a running machine. */
#define NO_MACHINE "no machine was running"
/* The beginning of the detail of two events: of an end that was not the guest's own, and of the
 * answer to halt if there was nothing to halt. */
#define UNCLEAN "unclean: "
#define NOTHING_RAN NO_MACHINE ", and the workspace stays as it was"
/* The beginning of the detail of an event that follows a failure, and of an end by force. */
#define FAILED_BEFORE "failed: "
#define KILLED "killed"
/* The text of run's answer, and of its event, if SIGTERM told run to end. */
#define RUN_TOLD "run was told to end by SIGTERM"
/* The text for a live supervisor that a command has killed. */
#define LIVE_KILLED "the live supervisor did not answer and was killed"
/* The text for a VM that was killed because its cut could not be proven. */
#define QUARANTINE_FAILED "quarantine failed and the machine was killed"
/* The text for a VM that could not be killed either. */
#define QUARANTINE_FAILED_ALIVE \
	"quarantine failed, and processes of the workspace are still alive although they were to be killed"

struct outcome {
	enum intent intent;
	struct error cause; /* INTENT_FAILED */
	bool ready;	    /* the guest had reported ready */
	bool workload;	    /* the config has a command */
	bool has_result;
	/* these and start_error: only with has_result */
	int exit_code;
	bool timed_out;		 /* timeout_seconds passed */
	int64_t timeout_seconds; /* time limit of the workload; 0: none */
	char start_error[256];	 /* why the workload never ran; "" if it ran */

	bool quarantined; /* every channel was cut before */
	/* Why a graceful end that was asked for had to be forced; NULL if it was not forced. */
	const char *forced_why;
};

/* Returns the state to be recorded. Writes its detail ("" for none). If the VM broke, sets *failure
 * with a code; otherwise failure->code stays ERR_NONE. */
enum state outcome_state(const struct outcome *outcome, enum vm_end end, const char *end_detail,
			 char *detail, size_t detail_size, struct error *failure);

/* Writes to out what later events repeat about the end: that it was unclean, or a failure. So a
 * later state cannot make the end look orderly. state and detail: of the latest event. Writes "" if
 * the end was in order. */
void outcome_carry(enum state state, const char *detail, char *out, size_t size);

#endif
