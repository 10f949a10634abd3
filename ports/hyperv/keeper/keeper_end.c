/* SPDX-License-Identifier: MIT */
/* Ends the live supervisor's machine, and finds out how the machine has ended. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "hyperv/keeper/keeper_impl.h"
#include "supervisor/live/control_message.h"

void keeper_await(struct keeper *keeper, enum awaited what, uint64_t ms)
{
	keeper->awaited = what;
	keeper->deadline = what == AWAIT_NOTHING ? UINT64_MAX : clock_mono_ns() + ms * NS_PER_MS;
}

static bool keeper_is_ending(const struct keeper *keeper)
{
	return keeper->outcome.intent != INTENT_NONE;
}

/* Terminates the machine. If there is no machine yet, or if HCS fails to terminate it, makes the
 * live supervisor's loop end at once. HCS then ends the machine when its handle is closed. */
static void terminate(struct keeper *keeper)
{
	struct error err = {0};

	keeper_await(keeper, AWAIT_TERMINATED, limit_get(LIMIT_KILL_MS));
	if (!keeper->started) {
		keeper->over = true;
	} else if (hcs_system_terminate(keeper->system, &err) < 0) {
		keeper_log("%s", err.msg);
		keeper->over = true;
	}
}

/* Asks the guest to switch itself off. If the guest is ready, sends a message on the control
 * stream. Otherwise uses Hyper-V's service in the guest, which some guests do not have. */
static void ask_guest_to_end(struct keeper *keeper)
{
	json_auto_t *message = NULL;
	struct error err = {0};
	int asked;

	if (!keeper->started) {
		keeper->over = true;
		return;
	}
	keeper_await(keeper, AWAIT_HALT, limit_get(LIMIT_HALT_MS));
	if (keeper->outcome.ready) {
		message = control_power_off(&err);
		asked = message ? guest_say(keeper->guest, message, &err) : -1;
	} else {
		asked = hcs_system_shut_down(keeper->system, &err);
	}
	if (asked == 0)
		return;
	keeper_log("%s", err.msg);
	keeper->outcome.forced_why = "the guest could not be asked to switch itself off";
	terminate(keeper);
}

void keeper_end(struct keeper *keeper, enum intent intent, const struct error *cause)
{
	bool was_ending = keeper_is_ending(keeper);
	bool was_forced = intent_is_forced(keeper->outcome.intent);
	enum intent now = intent_after(keeper->outcome.intent, intent);

	if (keeper->over)
		return;
	if (now == INTENT_FAILED && keeper->outcome.intent != INTENT_FAILED && cause)
		keeper->outcome.cause = *cause;
	keeper->outcome.intent = now;
	if ((now == INTENT_HALT || now == INTENT_STOP) && keeper->record.state != STATE_STOPPING)
		keeper_note(keeper, STATE_STOPPING, NULL);
	if (intent_is_forced(intent)) {
		if (!was_forced)
			terminate(keeper);
	} else if (!was_ending) {
		ask_guest_to_end(keeper);
	}
}

void keeper_fail(struct keeper *keeper, enum error_code code, const char *text)
{
	struct error cause = {0};

	error_set(&cause, code, "%s", text);
	keeper_end(keeper, INTENT_FAILED, &cause);
}

void keeper_late(struct keeper *keeper)
{
	switch (keeper->awaited) {
	case AWAIT_READY:
		keeper_fail(keeper, ERR_TIMEOUT, "the guest was not ready in time");
		break;
	case AWAIT_RESULT:
		keeper_fail(keeper, ERR_TIMEOUT,
			    "the command's timeout passed and the guest did not report its end");
		break;
	case AWAIT_EXIT:
		keeper_fail(keeper, ERR_IO, "the guest's agent is lost: its control stream ended");
		break;
	case AWAIT_HALT:
		keeper->outcome.forced_why = "the guest did not switch itself off in time";
		keeper_log("%s", keeper->outcome.forced_why);
		terminate(keeper);
		break;
	case AWAIT_TERMINATED:
		keeper_log("HCS has not told of the machine's end; its handle is closed");
		keeper->over = true;
		break;
	case AWAIT_NOTHING:
		break;
	}
}

/* Returns how the machine ended. A guest that switches itself off sends `ending` and then resets
 * the machine. So only the message `ending` shows that a reset is an orderly end. */
static enum vm_end end_of(const struct keeper *keeper, const char **detail)
{
	*detail = "";
	if (intent_is_forced(keeper->outcome.intent) || keeper->outcome.forced_why)
		return VM_END_KILLED;
	if (keeper->ending)
		return VM_END_POWERED_OFF;
	*detail = strcmp(keeper->exit_type, HCS_GONE) == 0 ? "the Host Compute Service went away"
							   : keeper->exit_type;
	if (strcmp(keeper->exit_type, "GracefulExit") == 0)
		return VM_END_RESET;
	return VM_END_CRASHED;
}

enum state keeper_outcome(struct keeper *keeper, char *detail, size_t size, struct error *failure)
{
	const char *how = "";
	enum vm_end end = end_of(keeper, &how);
	enum state state = outcome_state(&keeper->outcome, end, how, detail, size, failure);
	char tail[512] = "";

	if (failure->code == ERR_NONE)
		return state;
	if (keeper->serial)
		serial_tail(keeper->serial, tail, sizeof(tail));
	size_t used = strlen(failure->msg);
	if (*tail)
		snprintf(failure->msg + used, sizeof(failure->msg) - used, "; serial.log ends: %s",
			 tail);
	snprintf(detail, size, "%s", failure->msg);
	return state;
}
