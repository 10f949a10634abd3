/* SPDX-License-Identifier: MIT */
/*
 * What a VM's end means: from what was asked of it, what its guest reported and how the VMM says it
 * ended, to the state that is recorded. Pure.
 */
#ifndef SUPERVISOR_OUTCOME_H
#define SUPERVISOR_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/vm_end.h"
#include "base/error.h"
#include "contract/state.h"

/* Why the VM is being ended. The first that ends it by force stands; what was asked more mildly
 * before it gives way. */
enum intent {
	INTENT_NONE,	    /* it is meant to go on */
	INTENT_DONE,	    /* the workload's result is there */
	INTENT_HALT,	    /* asked to halt */
	INTENT_STOP,	    /* asked to stop */
	INTENT_KILL,	    /* asked to kill */
	INTENT_CALLER_GONE, /* a lifeline ended */
	INTENT_RUN_TOLD,    /* SIGTERM to the command run, which says so on the lifeline */
	INTENT_SIGNAL,	    /* SIGTERM to the live supervisor */
	INTENT_FAILED,	    /* something broke: cause says what */
	INTENT_COUNT
};
/* Ends the VM at once instead of asking the guest. */
bool intent_is_forced(enum intent intent);
/* The intent that stands when `next` comes while `present` is under way. */
enum intent intent_after(enum intent present, enum intent next);

/* How the detail of a quarantine begins in which there was no machine. */
#define NO_MACHINE "no machine was running"
/* How the detail of an event begins: of an end that was not the guest's own, and of the answer to
 * halt where there was nothing to halt. */
#define UNCLEAN "unclean: "
#define NOTHING_RAN NO_MACHINE ", and the workspace stays as it was"
/* How the detail begins of an event that follows a failure, and of an end by force. */
#define FAILED_BEFORE "failed: "
#define KILLED "killed"
/* What run answers, and its event says, where SIGTERM told it to end. */
#define RUN_TOLD "run was told to end by SIGTERM"
/* Of a live supervisor that a command has killed. */
#define LIVE_KILLED "the live supervisor did not answer and was killed"
/* Of a VM that was killed since it could not be proven to be cut off. */
#define QUARANTINE_FAILED "quarantine failed and the machine was killed"
/* Of a VM that could not be killed either. */
#define QUARANTINE_FAILED_ALIVE \
	"quarantine failed, and processes of the workspace are still alive although they were to be killed"

struct outcome {
	enum intent intent;
	struct error cause; /* INTENT_FAILED */
	bool ready;	    /* the guest had reported ready */
	bool workload;	    /* the config has a command */
	bool has_result;
	/* with has_result */
	int exit_code;
	bool timed_out;		 /* timeout_seconds passed */
	int64_t timeout_seconds; /* of the workload; 0: none */
	char start_error[256];	 /* why it never ran; "" where it did */

	bool quarantined; /* every channel was cut before */
	/* Why a graceful end that was asked for had to be forced; NULL where it had not. */
	const char *forced_why;
};

/* The state to be recorded, its detail ("" for none) and, for a VM that broke rather than ended,
 * *failure with a code; failure->code stays ERR_NONE otherwise. */
enum state outcome_state(const struct outcome *outcome, enum vm_end end, const char *end_detail,
			 char *detail, size_t detail_size, struct error *failure);

/* Writes to out what the events after an end repeat of it: that it was unclean, or a failure. A
 * later state must not make an orderly end of it. state, detail: of the latest event. "" where the
 * end was in order. */
void outcome_carry(enum state state, const char *detail, char *out, size_t size);

#endif
