/* SPDX-License-Identifier: MIT */
/*
 * Decides which state is recorded at the end of a VM. The state follows from the reason why the VM
 * was ended, from the reports of its guest, and from the VMM's report about the end. The functions
 * of this header read and write no files.
 */
#ifndef SUPERVISOR_OUTCOME_H
#define SUPERVISOR_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/vm_end.h"
#include "base/error.h"
#include "contract/state.h"

/* The reasons why the VM is ended, called intents. An intent either asks the guest to switch itself
 * off, or ends the VM by force. An intent by force replaces one that asks the guest. The first
 * intent by force is kept. */
enum intent {
	INTENT_NONE,	    /* the VM is not ended */
	INTENT_DONE,	    /* the workload's result has come */
	INTENT_HALT,	    /* the command halt ends the VM */
	INTENT_STOP,	    /* the command stop ends the VM */
	INTENT_KILL,	    /* the command kill ends the VM */
	INTENT_CALLER_GONE, /* a lifeline has ended */
	/* The command run got SIGTERM, and has written a byte to the lifeline to say so. */
	INTENT_RUN_TOLD,
	INTENT_SIGNAL, /* the live supervisor got SIGTERM */
	INTENT_FAILED, /* something has failed, and outcome.cause says what */
	INTENT_COUNT
};
/* Returns true if the intent ends the VM at once, without asking the guest first. */
bool intent_is_forced(enum intent intent);
/* Returns the intent that is kept if `next` comes after `present`. */
enum intent intent_after(enum intent present, enum intent next);

/* The beginning of the detail in the event of a quarantine, if no machine was running. */
#define NO_MACHINE "no machine was running"
/* The beginnings of two details. UNCLEAN begins the detail of an end in which the guest did not
 * switch itself off. NOTHING_RAN begins the detail in the answer to halt if no machine was
 * running. */
#define UNCLEAN "unclean: "
#define NOTHING_RAN NO_MACHINE ", and the workspace stays as it was"
/* The beginnings of two details. FAILED_BEFORE begins the detail of an event that follows a
 * failure. KILLED begins the detail of an end by force. */
#define FAILED_BEFORE "failed: "
#define KILLED "killed"
/* The text in the answer of run, and in its event, if SIGTERM told run to end. */
#define RUN_TOLD "run was told to end by SIGTERM"
/* The detail if a command has killed the live supervisor. */
#define LIVE_KILLED "the live supervisor did not answer and was killed"
/* The text if a quarantine could not be proven, and the machine was killed. */
#define QUARANTINE_FAILED "quarantine failed and the machine was killed"
/* The text if a quarantine could not be proven, and the machine could not be killed. */
#define QUARANTINE_FAILED_ALIVE \
	"quarantine failed, and processes of the workspace are still alive although they were to be killed"

struct outcome {
	enum intent intent;
	struct error cause; /* the failure, if the intent is INTENT_FAILED */
	bool ready;	    /* the guest has reported ready */
	bool workload;	    /* the config has a command, the workload */
	bool has_result;    /* the result has come, and the members from exit_code to start_error
			     * are set */
	int exit_code;
	bool timed_out;		 /* the workload took longer than timeout_seconds */
	int64_t timeout_seconds; /* the time limit of the workload, in seconds; 0: the workload has
				  * no time limit */
	char start_error[256];	 /* the reason why the workload could not be started; "": it was
				  * started */

	bool quarantined; /* the machine was in quarantine when it ended */
	/* The reason why the VM was killed after the guest had been asked to switch itself off;
	 * NULL: the VM was not killed in this way. */
	const char *forced_why;
};

/* Returns the state that must be recorded, and writes its detail to `detail`, which may be "". If
 * the VM has failed, sets *failure; otherwise failure->code stays ERR_NONE. */
enum state outcome_state(const struct outcome *outcome, enum vm_end end, const char *end_detail,
			 char *detail, size_t detail_size, struct error *failure);

/* Writes to `out` a text about the end of a machine, which the details of later events must repeat.
 * Otherwise a later state would hide that the end was unclean or a failure. `state` and `detail`
 * are those of the latest event. Writes "" if the machine ended in order. */
void outcome_carry(enum state state, const char *detail, char *out, size_t size);

#endif
