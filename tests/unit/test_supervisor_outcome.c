/* SPDX-License-Identifier: MIT */
/* Tests the meaning of the end of a VM: every intent and every kind of end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "supervisor/live/outcome.h"

static void the_first_force_stands(void **state)
{
	(void)state;
	assert_int_equal(intent_after(INTENT_NONE, INTENT_HALT), INTENT_HALT);
	assert_int_equal(intent_after(INTENT_HALT, INTENT_STOP), INTENT_STOP);
	assert_int_equal(intent_after(INTENT_STOP, INTENT_KILL), INTENT_KILL);
	assert_int_equal(intent_after(INTENT_KILL, INTENT_STOP), INTENT_KILL);
	assert_int_equal(intent_after(INTENT_DONE, INTENT_STOP), INTENT_STOP);
	for (int i = 0; i < INTENT_COUNT; i++) {
		assert_int_equal(intent_after(INTENT_FAILED, (enum intent)i), INTENT_FAILED);
		assert_int_equal(intent_after(INTENT_NONE, (enum intent)i), i);
	}
}

static void a_done_workload_keeps_its_outcome(void **state)
{
	(void)state;
	assert_int_equal(intent_after(INTENT_DONE, INTENT_CALLER_GONE), INTENT_DONE);
	assert_int_equal(intent_after(INTENT_DONE, INTENT_RUN_TOLD), INTENT_DONE);
	assert_int_equal(intent_after(INTENT_DONE, INTENT_SIGNAL), INTENT_DONE);
	assert_int_equal(intent_after(INTENT_DONE, INTENT_KILL), INTENT_KILL);
	assert_int_equal(intent_after(INTENT_DONE, INTENT_FAILED), INTENT_FAILED);
}

struct row {
	struct outcome outcome;
	enum vm_end end;
	enum state state;
	enum error_code failure;
	const char *detail; /* a part of it */
};

#define READY .ready = true
#define WORKING .ready = true, .workload = true
#define DONE WORKING, .has_result = true, .intent = INTENT_DONE
#define LATE .forced_why = "the guest did not switch itself off in time"

static const struct row rows[] = {
	{{READY}, VM_END_POWERED_OFF, STATE_STOPPED, ERR_NONE, "switched itself off"},
	{{READY}, VM_END_RESET, STATE_FAILED, ERR_IO, "panicked"},
	{{READY}, VM_END_CRASHED, STATE_FAILED, ERR_IO, "died: why"},
	{{READY}, VM_END_STOPPED, STATE_FAILED, ERR_IO, "stopped by itself: why"},
	{{0}, VM_END_STOPPED, STATE_FAILED, ERR_IO, "stopped by itself before it was ready: why"},
	{{READY}, VM_END_KILLED, STATE_FAILED, ERR_IO, "died: why"},
	{{0}, VM_END_POWERED_OFF, STATE_FAILED, ERR_IO, "before it was ready"},
	{{0}, VM_END_RESET, STATE_FAILED, ERR_IO, "before it was ready"},
	{{0}, VM_END_CRASHED, STATE_FAILED, ERR_IO, "before it was ready: why"},
	{{WORKING}, VM_END_POWERED_OFF, STATE_FAILED, ERR_IO, "before its command had ended"},
	{{DONE}, VM_END_POWERED_OFF, STATE_STOPPED, ERR_NONE, "exit code 0"},
	{{DONE, .exit_code = 7}, VM_END_RESET, STATE_FAILED, ERR_NONE, "exit code 7"},
	{{DONE, .exit_code = 124, .timed_out = true, .timeout_seconds = 5},
	 VM_END_POWERED_OFF,
	 STATE_FAILED,
	 ERR_NONE,
	 "timeout of 5 s passed"},
	{{DONE, .exit_code = 124, .timeout_seconds = 5}, /* its own exit code */
	 VM_END_POWERED_OFF,
	 STATE_FAILED,
	 ERR_NONE,
	 "exit code 124"},
	{{DONE, .exit_code = 127, .start_error = "no-such: not found"},
	 VM_END_POWERED_OFF,
	 STATE_FAILED,
	 ERR_NONE,
	 "did not start: no-such: not found"},
	{{DONE, LATE}, VM_END_KILLED, STATE_STOPPED, ERR_NONE, "unclean"},
	{{.intent = INTENT_HALT}, VM_END_POWERED_OFF, STATE_HALTED, ERR_NONE, "when asked"},
	{{.intent = INTENT_HALT, LATE}, VM_END_KILLED, STATE_HALTED, ERR_NONE, "unclean"},
	{{.intent = INTENT_HALT}, VM_END_RESET, STATE_HALTED, ERR_NONE, "unclean"},
	{{.intent = INTENT_STOP}, VM_END_POWERED_OFF, STATE_STOPPED, ERR_NONE, "when asked"},
	{{.intent = INTENT_STOP, LATE}, VM_END_KILLED, STATE_STOPPED, ERR_NONE, "unclean"},
	{{.intent = INTENT_KILL, .has_result = true, .exit_code = 3},
	 VM_END_KILLED,
	 STATE_STOPPED,
	 ERR_NONE,
	 "killed"},
	{{.intent = INTENT_CALLER_GONE}, VM_END_KILLED, STATE_STOPPED, ERR_NONE, "caller"},
	{{.intent = INTENT_RUN_TOLD},
	 VM_END_KILLED,
	 STATE_STOPPED,
	 ERR_NONE,
	 "told to end by SIGTERM"},
	{{.intent = INTENT_SIGNAL}, VM_END_KILLED, STATE_STOPPED, ERR_NONE, "told to end"},
	{{.intent = INTENT_FAILED, .cause = {.code = ERR_TIMEOUT, .msg = "too late"}},
	 VM_END_KILLED,
	 STATE_FAILED,
	 ERR_TIMEOUT,
	 "too late"},
};

static void every_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char detail[256] = "";
		struct error failure;
		enum state got = outcome_state(&rows[i].outcome, rows[i].end, "why", detail,
					       sizeof(detail), &failure);

		if (got != rows[i].state || failure.code != rows[i].failure ||
		    !strstr(detail, rows[i].detail))
			fail_msg("row %zu: %s, \"%s\", %s", i, state_names[got], detail,
				 error_code_name(failure.code));
	}
}

static void an_end_in_quarantine_tells_whether_it_was_in_order(void **state)
{
	static const struct {
		enum vm_end end;
		const char *detail;
	} ends[] = {
		{VM_END_POWERED_OFF,
		 "the machine ended in quarantine: the guest switched itself off"},
		{VM_END_CRASHED, UNCLEAN "the machine ended in quarantine: the virtual machine "
					 "monitor died: why"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const struct outcome outcome = {.ready = true, .quarantined = true};
		struct error failure;
		char detail[256];

		assert_int_equal(outcome_state(&outcome, ends[i].end, "why", detail, sizeof(detail),
					       &failure),
				 STATE_QUARANTINED);
		assert_string_equal(detail, ends[i].detail);
		assert_int_equal(failure.code, ERR_NONE);
	}
}

static void what_later_events_repeat(void **state)
{
	static const struct {
		enum state state;
		const char *detail, *carried;
	} events[] = {
		{STATE_PREPARED, "", ""},
		{STATE_STOPPED, "the guest switched itself off", ""},
		{STATE_HALTED, "the guest switched itself off when asked", ""},
		{STATE_QUARANTINED, "no machine was running", ""},
		{STATE_QUARANTINED,
		 "the machine ended in quarantine: the guest switched itself off", ""},
		{STATE_HALTED, "unclean: why", "unclean: why"},
		{STATE_QUARANTINED, "no machine was running; unclean: why", "unclean: why"},
		{STATE_STOPPED, "the command ended with exit code 0; unclean: why", "unclean: why"},
		{STATE_STOPPED, "killed", "unclean: killed"},
		{STATE_STOPPED, "killed: why", "unclean: killed: why"},
		{STATE_FAILED, "why", "failed: why"},
		{STATE_STOPPED, "failed: why", "failed: why"},
		{STATE_QUARANTINED, "no machine was running; failed: why", "failed: why"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		char carried[64] = "before";

		outcome_carry(events[i].state, events[i].detail, carried, sizeof(carried));
		assert_string_equal(carried, events[i].carried);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_force_stands),
		cmocka_unit_test(a_done_workload_keeps_its_outcome),
		cmocka_unit_test(every_end),
		cmocka_unit_test(an_end_in_quarantine_tells_whether_it_was_in_order),
		cmocka_unit_test(what_later_events_repeat),
	};

	return cmocka_run_group_tests_name("supervisor outcome", tests, NULL, NULL);
}
