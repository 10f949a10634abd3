/* SPDX-License-Identifier: MIT */
/*
 * Tests the supervisor's commands and its live supervisor as real processes, with a stand-in for
 * the VM. This program is both: with STANDIN set it is the supervisor of the stand-in backend.
 */
#include "test_supervisor_life.h"

static void whole_life(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	expect(life, "check", "unknown");
	expect(life, "inspect", "unknown");
	refused(life, "start", "not-found");
	refused(life, "stop", "not-found");
	expect(life, "delete", "stopped");
	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	refused(life, "start", "conflict");
	refused(life, "prepare", "conflict");
	refused(life, "delete", "conflict");
	refused(life, "console", "unsupported");
	answer = ask(life, "inspect");
	assert_string_equal(json_string_value(json_object_get(answer, "consoleMode")), "none");
	assert_true(json_is_true(json_object_get(
		json_object_get(json_object_get(answer, "readiness"), "shellReady"), "ready")));
	assert_true(json_is_true(json_object_get(
		json_object_get(json_object_get(answer, "readiness"), "guestReady"), "ready")));
	expect(life, "halt", "halted");
	expect_nothing_left(life);
	expect(life, "start", "running");
	expect(life, "stop", "stopped");
	expect(life, "start", "running");
	expect(life, "kill", "stopped");
	expect(life, "halt", "stopped");
	expect_states(life, "prepared starting running stopping halted starting running stopping "
			    "stopped starting running stopped ");
	expect(life, "delete", "stopped");
	expect(life, "inspect", "unknown");
}

/* For a backend without one. */
static void a_shell_needs_a_console(void **state)
{
	static const char *const commands[] = {"check", "prepare", "run", "start", "console"};
	struct life *life = *state;

	life->command = "[\"true\"],\"console\":\"shell\"";
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		json_auto_t *answer = ask(life, commands[i]);

		assert_string_equal(json_string_value(json_object_get(answer, "errorCode")),
				    "unsupported");
		assert_string_equal(json_string_value(json_object_get(answer, "error")),
				    "config.console: a process has no console");
	}
	assert_false(exists(life, ""));
}

static void run_answers_with_the_result(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;
	json_auto_t *again = NULL;

	life->command = "[\"exit\",\"7\"]";
	answer = ask(life, "run"); /* prepares first */
	assert_true(json_is_true(json_object_get(answer, "ok")));
	assert_string_equal(text_in(answer, "event", "state"), "failed");
	assert_string_equal(text_in(answer, "result", "stdout"), "hello\n");
	assert_string_equal(text_in(answer, "result", "stderrBase64"), "/w==");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(answer, "result"), "exitCode")),
		7);
	expect_states(life, "prepared starting running failed ");
	expect_nothing_left(life);
	again = ask(life, "inspect");
	assert_true(
		json_equal(json_object_get(answer, "result"), json_object_get(again, "result")));
	expect(life, "prepare", "prepared");
	assert_false(exists(life, "result.json"));
}

static void run_with_remove_leaves_nothing(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;
	struct asked asked;

	life->command = "[\"exit\",\"0\"]";
	asked = ask_begin(life, "run", "--remove");
	answer = ask_end(&asked);
	assert_string_equal(text_in(answer, "event", "state"), "stopped");
	assert_string_equal(text_in(answer, "result", "stdout"), "hello\n");
	assert_false(exists(life, "."));
}

static void a_dead_caller_ends_the_vm(void **state)
{
	struct life *life = *state;
	struct asked asked;
	struct error err;
	int code, watch;

	expect(life, "prepare", "prepared");
	watch = watch_directory(life);
	asked = ask_begin(life, "run", NULL);
	wait_for_file(life, watch, "vsock.sock");
	assert_int_equal(proc_signal(&asked.proc, SIGKILL, &err), 0);
	assert_int_equal(proc_wait(&asked.proc, UINT64_MAX, &code, &err), 0);
	close(asked.out);
	wait_for_end(life);
	expect(life, "inspect", "stopped");
	expect_nothing_left(life);
}

static bool is_shell_ready(const json_t *answer)
{
	const json_t *readiness = json_object_get(answer, "readiness");

	return json_is_true(json_object_get(json_object_get(readiness, "shellReady"), "ready"));
}

/* A shell that answered once is not asked again soon. One that did not answer is asked again by the
 * next caller. */
static void a_shell_that_is_late_is_not_held_against_it(void **state)
{
	struct life *life = *state;
	json_auto_t *first = NULL, *second = NULL, *third = NULL;

	life_limit(PROBE_KEPT_MS, 600000);
	life->command = "[\"coy\"]";
	expect(life, "prepare", "prepared");
	first = ask(life, "start");
	life_limit_over(PROBE_KEPT_MS);
	assert_string_equal(text_in(first, "event", "state"), "running");
	assert_false(is_shell_ready(first));
	second = ask(life, "inspect");
	assert_true(is_shell_ready(second));
	third = ask(life, "inspect");
	assert_true(json_equal(json_object_get(second, "readiness"),
			       json_object_get(third, "readiness")));
	expect(life, "kill", "stopped");
}

static void ended(struct life *life, const char *command, const char *state, const char *word)
{
	json_auto_t *answer = NULL;
	autofree char *text = NULL;

	life->command = command;
	expect(life, "prepare", "prepared");
	answer = ask(life, "run");
	text = json_line(answer, NULL);
	if (strcmp(text_in(answer, "event", "state"), state) != 0 ||
	    !strstr(text_in(answer, "event", "detail"), word))
		fail_msg("%s should have ended as %s (%s): %s", command, state, word, text);
	expect_nothing_left(life);
}

static void guests_that_end_in_their_own_way(void **state)
{
	struct life *life = *state;

	life_limit(AGENT_LOST_MS, 20);
	ended(life, "[\"exit\",\"0\"]", "stopped", "exit code 0");
	ended(life, "[\"panic\"]", "failed", "panicked");
	ended(life, "[\"garbage\"]", "failed", "broke the control protocol");
	ended(life, "[\"twice\"]", "failed", "broke the control protocol");
	ended(life, "[\"lost\"]", "failed", "agent is lost");
	ended(life, "[\"off\"]", "failed", "switched itself off");
	life_limit_over(AGENT_LOST_MS);
}

static void expect_deadline(struct life *life, const char *command, const char *error)
{
	json_auto_t *answer = NULL;

	life->command = command;
	expect(life, "prepare", "prepared");
	answer = ask(life, "start");
	assert_string_equal(json_string_value(json_object_get(answer, "errorCode")), "timeout");
	assert_string_equal(text_in(answer, "event", "state"), "failed");
	assert_string_equal(json_string_value(json_object_get(answer, "error")), error);
	expect(life, "inspect", "failed");
	expect_nothing_left(life);
}

#define DEADLINE "the boot deadline passed: the guest was not ready within 50 ms "
#define IN_FIRMWARE                                                              \
	"; the machine is still in its firmware, or the guest's kernel has not " \
	"shown any sign yet"

static void the_boot_deadline(void **state)
{
	life_limit(BOOT_TCG_MS, 50);
	expect_deadline(*state, "[\"firmware\"]", DEADLINE "(tcg)" IN_FIRMWARE);
}

static void the_boot_deadline_of_a_kernel(void **state)
{
	life_limit(BOOT_TCG_MS, 50);
	expect_deadline(*state, "[\"mute\"]", DEADLINE "(tcg); serial.log ends: standin: booting");
}

static void a_firmware_has_a_deadline_of_its_own_under_kvm(void **state)
{
	setenv("STANDIN_KVM", "1", 1);
	life_limit(FIRMWARE_MS, 50);
	expect_deadline(*state, "[\"firmware\"]", DEADLINE "(kvm)" IN_FIRMWARE);
}

static void the_boot_deadline_begins_with_the_kernel_under_kvm(void **state)
{
	setenv("STANDIN_KVM", "1", 1);
	life_limit(BOOT_KVM_MS, 50);
	expect_deadline(*state, "[\"late\"]",
			DEADLINE
			"after its kernel had begun (kvm); serial.log ends: standin: booting");
}

static void a_guest_that_does_not_switch_itself_off(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	life->command = "[\"deaf\"]";
	life_limit(HALT_MS, 50);
	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	answer = ask(life, "halt");
	assert_string_equal(text_in(answer, "event", "state"), "halted");
	assert_non_null(strstr(text_in(answer, "event", "detail"), "unclean"));
	json_decref(answer);
	answer = ask(life, "halt"); /* says that nothing ran, and what was is not forgotten */
	assert_string_equal(text_in(answer, "event", "state"), "halted");
	assert_non_null(strstr(text_in(answer, "event", "detail"), "no machine was running"));
	assert_non_null(strstr(text_in(answer, "event", "detail"), "unclean"));
	json_decref(answer);
	answer = ask(life, "stop");
	assert_string_equal(text_in(answer, "event", "state"), "stopped");
	assert_non_null(strstr(text_in(answer, "event", "detail"), "unclean"));
	expect_states(life, "prepared starting running stopping halted stopped ");
	/* A quarantine does not make this end an orderly one. */
	expect(life, "quarantine", "quarantined");
	answer = ask(life, "halt");
	assert_string_equal(text_in(answer, "event", "state"), "halted");
	assert_string_equal(text_in(answer, "event", "detail"),
			    "unclean: the guest did not switch itself off in time");
	json_decref(answer);
}

static void a_changed_kernel_is_refused(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	expect(life, "prepare", "prepared");
	put(life->base, "kernel", elf_kernel, sizeof(elf_kernel) - 1, 0600);
	answer = ask(life, "inspect");
	assert_true(json_is_false(json_object_get(json_object_get(answer, "verification"), "ok")));
	refused(life, "start", "conflict");
	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	expect(life, "kill", "stopped");
}

static void a_long_state_directory(void **state)
{
	struct life *life = *state;

	for (int i = 0; i < 5; i++) {
		strcat(life->state, "/");
		for (int n = 0; n < 60; n++)
			strcat(life->state, "d");
	}
	life->command = "[\"exit\",\"0\"]";
	expect(life, "run", "stopped");
}

/* Earlier messages of a guest, or of a long life, leave enough room for later ones. */
static void a_log_at_its_cap_goes_on(void **state)
{
	struct life *life = *state;
	char path[1152];

	life_limit(SUPERVISOR_LOG_BYTES, 300);
	expect(life, "prepare", "prepared");
	for (int i = 0; i < 3; i++) {
		expect(life, "start", "running");
		expect(life, "stop", "stopped");
	}
	life_limit_over(SUPERVISOR_LOG_BYTES);
	for (size_t i = 0; i < 2; i++) {
		char text[512] = "";

		snprintf(path, sizeof(path), "%s/w/supervisor.log%s", life->state, i ? ".1" : "");
		autofile FILE *log = fopen(path, "r");
		assert_non_null(log);
		text[fread(text, 1, sizeof(text) - 1, log)] = '\0';
		assert_in_range(strlen(text), 1, 300);
		assert_true(i || strstr(text, " stopped"));
	}
	expect(life, "delete", "stopped");
}

static void fifty_at_once(void **state)
{
	struct life *life = *state;
	static const char *const commands[] = {"start", "stop", "inspect", "kill", "halt"};
	struct asked asked[50];

	expect(life, "prepare", "prepared");
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		asked[i] = ask_begin(life, commands[i % ARRAY_SIZE(commands)], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		json_decref(ask_end(&asked[i]));
	expect(life, "kill", "stopped");
	expect_nothing_left(life);
	expect(life, "start", "running");
	expect(life, "stop", "stopped");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		life_test(whole_life),
		life_test(a_shell_needs_a_console),
		life_test(run_answers_with_the_result),
		life_test(run_with_remove_leaves_nothing),
		life_test(a_dead_caller_ends_the_vm),
		life_test(a_shell_that_is_late_is_not_held_against_it),
		life_test(guests_that_end_in_their_own_way),
		life_test(the_boot_deadline),
		life_test(the_boot_deadline_of_a_kernel),
		life_test(a_firmware_has_a_deadline_of_its_own_under_kvm),
		life_test(the_boot_deadline_begins_with_the_kernel_under_kvm),
		life_test(a_guest_that_does_not_switch_itself_off),
		life_test(a_changed_kernel_is_refused),
		life_test(a_long_state_directory),
		life_test(a_log_at_its_cap_goes_on),
		life_test(fifty_at_once),
	};

	if (getenv("STANDIN"))
		return supervisor_main(&standin_backend, argc, argv);
	return cmocka_run_group_tests_name("supervisor life", tests, NULL, NULL);
}
