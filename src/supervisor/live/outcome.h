/* SPDX-License-Identifier: MIT */
/*
 * Finds which state is recorded at the end of a VM. The state follows from the reason why the VM
 * was ended, from the reports of its guest, and from the way in which the VM ended by the word of
 * the VMM. Pure.
 */
#ifndef SUPERVISOR_OUTCOME_H
#define SUPERVISOR_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/vm_end.h"
#include "base/error.h"
#include "contract/state.h"

/* The reasons why the VM is ended. The first intent that ends the VM by force is kept. It replaces
 * an earlier intent that only asked the guest to end. */
enum intent {
	INTENT_NONE,	    /* the VM is not ended */
	INTENT_DONE,	    /* the workload's result has come */
	INTENT_HALT,	    /* the command halt */
	INTENT_STOP,	    /* the command stop */
	INTENT_KILL,	    /* the command kill */
	INTENT_CALLER_GONE, /* a lifeline has ended */
	INTENT_RUN_TOLD,    /* the command run got SIGTERM, and has written this to the lifeline */
	INTENT_SIGNAL,	    /* the live supervisor got SIGTERM */
	INTENT_FAILED,	    /* something has failed: outcome.cause says what */
	INTENT_COUNT
};
/* Returns whether the intent ends the VM at once instead of asking the guest. */
bool intent_is_forced(enum intent intent);
/* Returns the intent that is kept if `next` comes after `present`. */
enum intent intent_after(enum intent present, enum intent next);

/* The beginning of the detail of the event of a quarantine, if no machine was running. */
#define NO_MACHINE "no machine was running"
/* The beginnings of the details of two events: UNCLEAN of an end that was not the guest's own,
 * NOTHING_RAN of the answer to halt if there was nothing to halt. */
#define UNCLEAN "unclean: "
#define NOTHING_RAN NO_MACHINE ", and the workspace stays as it was"
/* The beginnings of the details of two events: FAILED_BEFORE of an event that follows a failure,
 * KILLED of an end by force. */
#define FAILED_BEFORE "failed: "
#define KILLED "killed"
/* The text of run's answer, and of its event, if SIGTERM told run to end. */
#define RUN_TOLD "run was told to end by SIGTERM"
/* The text if a command has killed the live supervisor. */
#define LIVE_KILLED "the live supervisor did not answer and was killed"
/* The text if a quarantine could not prove that the machine is cut off, so that the machine was
 * killed. */
#define QUARANTINE_FAILED "quarantine failed and the machine was killed"
/* The text if a quarantine could not prove that the machine is cut off, and the machine could not
 * be killed either. */
#define QUARANTINE_FAILED_ALIVE \
	"quarantine failed, and processes of the workspace are still alive although they were to be killed"

struct outcome {
	enum intent intent;
	struct error cause; /* the failure, with INTENT_FAILED */
	bool ready;	    /* the guest had reported ready */
	bool workload;	    /* the config has a command */
	bool has_result;    /* the next four members are set */
	int exit_code;
	bool timed_out;		 /* the workload took longer than timeout_seconds */
	int64_t timeout_seconds; /* the time limit of the workload; 0: none */
	char start_error[256];	 /* the reason why the workload did not run; "": it ran */

	bool quarantined; /* the machine was in quarantine when it ended */
	/* The reason why the VM was ended by force although the guest was asked to end; NULL: the
	 * VM was not ended so. */
	const char *forced_why;
};

/* Returns the state that must be recorded, and writes its detail ("": none). If the VM has failed,
 * sets *failure; otherwise failure->code stays ERR_NONE. */
enum state outcome_state(const struct outcome *outcome, enum vm_end end, const char *end_detail,
			 char *detail, size_t detail_size, struct error *failure);

/* Writes to `out` the text about the end of a machine that the detail of later events must repeat,
 * so that a later state does not hide that the end was unclean or a failure. `state` and `detail`
 * are those of the latest event. Writes "" if the end was in order. */
void outcome_carry(enum state state, const char *detail, char *out, size_t size);

#endif
