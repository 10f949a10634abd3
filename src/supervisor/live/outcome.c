/* SPDX-License-Identifier: MIT */
#include "supervisor/live/outcome.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

bool intent_is_forced(enum intent intent)
{
	return intent >= INTENT_KILL;
}

enum intent intent_after(enum intent present, enum intent next)
{
	if (present == INTENT_FAILED)
		return present;
	/* The workload is done, and its result has come. The end of the caller or a signal does not
	 * change this outcome any more. */
	if (present == INTENT_DONE &&
	    (next == INTENT_CALLER_GONE || next == INTENT_RUN_TOLD || next == INTENT_SIGNAL))
		return present;
	if (intent_is_forced(present) && !intent_is_forced(next))
		return present;
	return next;
}

/* Writes to *failure how the VM ended although no command asked for its end. If a ready guest
 * without a workload has switched itself off, this is not a failure, and *failure is not
 * changed. */
static void describe_own_end(const struct outcome *outcome, enum vm_end end, const char *end_detail,
			     struct error *failure)
{
	const char *when = outcome->ready ? "" : " before it was ready";

	switch (end) {
	case VM_END_POWERED_OFF:
		if (!outcome->ready)
			error_set(failure, ERR_IO, "the guest switched itself off%s", when);
		else if (outcome->workload)
			error_set(failure, ERR_IO,
				  "the guest switched itself off before its command had ended");
		break;
	case VM_END_RESET:
		error_set(failure, ERR_IO, "the guest panicked or rebooted%s", when);
		break;
	case VM_END_STOPPED:
		error_set(failure, ERR_IO, "the virtual machine stopped by itself%s: %s", when,
			  end_detail);
		break;
	case VM_END_KILLED:
	case VM_END_CRASHED:
		error_set(failure, ERR_IO, "the virtual machine monitor died%s%s%s", when,
			  end_detail && *end_detail ? ": " : "", end_detail ? end_detail : "");
		break;
	}
}

static enum state state_of_result(const struct outcome *outcome, char *detail, size_t detail_size)
{
	/* The exit code alone does not show success: a command that was ended at its timeout may
	 * handle the signal and exit with 0. */
	if (outcome->exit_code == 0 && !outcome->timed_out && !*outcome->start_error) {
		snprintf(detail, detail_size, "the command ended with exit code 0%s%s",
			 outcome->forced_why ? "; " UNCLEAN : "",
			 outcome->forced_why ? outcome->forced_why : "");
		return STATE_STOPPED;
	}
	if (*outcome->start_error)
		snprintf(detail, detail_size, "the command did not start: %s",
			 outcome->start_error);
	else if (outcome->timed_out && outcome->timeout_seconds > 0)
		snprintf(detail, detail_size,
			 "the command was ended: its timeout of %" PRId64 " s passed",
			 outcome->timeout_seconds);
	else if (outcome->timed_out)
		snprintf(detail, detail_size, "the command was ended: its timeout passed");
	else
		snprintf(detail, detail_size, "the command ended with exit code %d",
			 outcome->exit_code);
	return STATE_FAILED;
}

static enum state state_of_own_end(const struct outcome *outcome, enum vm_end end,
				   const char *end_detail, char *detail, size_t detail_size,
				   struct error *failure)
{
	if (outcome->has_result)
		return state_of_result(outcome, detail, detail_size);
	describe_own_end(outcome, end, end_detail, failure);
	if (failure->code == ERR_NONE) {
		snprintf(detail, detail_size, "the guest switched itself off");
		return STATE_STOPPED;
	}
	snprintf(detail, detail_size, "%s", failure->msg);
	return STATE_FAILED;
}

/* Returns the state for a quarantined machine that has ended without halt, stop or kill. The detail
 * says how the machine ended. The workspace stays quarantined. */
static enum state state_of_quarantined_end(const struct outcome *outcome, enum vm_end end,
					   const char *end_detail, char *detail, size_t detail_size,
					   struct error *failure)
{
	struct outcome plain = *outcome;
	char how[256] = "";

	plain.quarantined = false;
	/* A quarantined guest cannot send a result, so a missing result is not a failure. */
	plain.has_result = plain.workload = false;
	outcome_state(&plain, end, end_detail, how, sizeof(how), failure);
	snprintf(detail, detail_size, "%sthe machine ended in quarantine: %s",
		 end == VM_END_POWERED_OFF && !outcome->forced_why ? "" : UNCLEAN, how);
	*failure = (struct error){0};
	return STATE_QUARANTINED;
}

enum state outcome_state(const struct outcome *outcome, enum vm_end end, const char *end_detail,
			 char *detail, size_t detail_size, struct error *failure)
{
	static const char *const forced[INTENT_COUNT] = {
		[INTENT_KILL] = KILLED,
		[INTENT_CALLER_GONE] = KILLED ": the caller that started the machine went away",
		[INTENT_RUN_TOLD] = KILLED ": " RUN_TOLD,
		[INTENT_SIGNAL] = KILLED ": the live supervisor was told to end",
	};
	static_assert(ARRAY_SIZE(forced) == INTENT_COUNT, "a place for every intent");

	*failure = (struct error){0};
	if (outcome->quarantined && outcome->intent != INTENT_HALT &&
	    outcome->intent != INTENT_STOP && outcome->intent != INTENT_KILL)
		return state_of_quarantined_end(outcome, end, end_detail, detail, detail_size,
						failure);
	switch (outcome->intent) {
	case INTENT_NONE:
	case INTENT_DONE:
		return state_of_own_end(outcome, end, end_detail, detail, detail_size, failure);
	case INTENT_HALT:
	case INTENT_STOP:
		/* If the guest has not switched itself off, the machine was killed, and the detail
		 * says so. */
		if (end == VM_END_POWERED_OFF && !outcome->forced_why)
			snprintf(detail, detail_size, "the guest switched itself off when asked");
		else if (outcome->forced_why)
			snprintf(detail, detail_size, UNCLEAN "%s", outcome->forced_why);
		else
			snprintf(detail, detail_size,
				 UNCLEAN "the guest did not shut down cleanly");
		return outcome->intent == INTENT_HALT ? STATE_HALTED : STATE_STOPPED;
	case INTENT_FAILED:
		*failure = outcome->cause;
		snprintf(detail, detail_size, "%s", failure->msg);
		return STATE_FAILED;
	default:
		snprintf(detail, detail_size, "%s", forced[outcome->intent]);
		return STATE_STOPPED;
	}
}

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

void outcome_carry(enum state state, const char *detail, char *out, size_t size)
{
	const char *told =
		begins_with(detail, NO_MACHINE "; ") ? detail + strlen(NO_MACHINE "; ") : detail;
	/* UNCLEAN may also be in the middle of the text, after a text about a command that ended
	 * with exit code 0. */
	const char *unclean = strstr(told, UNCLEAN);

	if (unclean)
		snprintf(out, size, "%s", unclean);
	else if (begins_with(told, FAILED_BEFORE))
		snprintf(out, size, "%s", told);
	else if (state == STATE_FAILED)
		snprintf(out, size, FAILED_BEFORE "%s", told);
	else if (begins_with(told, KILLED))
		snprintf(out, size, UNCLEAN "%s", told);
	else
		snprintf(out, size, "%s", "");
}
