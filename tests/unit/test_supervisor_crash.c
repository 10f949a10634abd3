/* SPDX-License-Identifier: MIT */
/* Tests a workspace whose processes are killed, hang, or refuse to do their work. */
#include "test_supervisor_life.h"

static pid_t pid_in_runtime(const struct life *life, const char *key)
{
	json_auto_t *runtime = file(life, "runtime.json");

	return (pid_t)json_integer_value(json_object_get(runtime, key));
}

static void kill_ends_a_start_that_hangs(void **state)
{
	struct life *life = *state;
	struct asked starting;
	json_auto_t *answer = NULL;
	int watch;

	life->command = "[\"mute\"]";
	expect(life, "prepare", "prepared");
	watch = watch_directory(life);
	starting = ask_begin(life, "start", NULL);
	wait_for_file(life, watch, "control.sock");
	expect(life, "kill", "stopped");
	answer = ask_end(&starting);
	assert_string_equal(json_string_value(json_object_get(answer, "errorCode")), "conflict");
	assert_string_equal(text_in(answer, "event", "state"), "stopped");
}

static void kill_9_of_the_live_supervisor(void **state)
{
	struct life *life = *state;
	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGKILL), 0);
	wait_for_end(life); /* the guest holds the lease too */
	expect(life, "inspect", "failed");
	expect_nothing_left(life);
	expect(life, "start", "running");
	assert_int_equal(kill(pid_in_runtime(life, "pid"), SIGKILL), 0);
	wait_for_end(life);
	expect(life, "inspect", "failed");
	expect_states(life, "prepared starting running failed starting running failed ");
}

/* The waiting run does what its live supervisor cannot do any more. */
static void kill_9_during_a_run(void **state)
{
	static const char *const options[] = {NULL, "--remove"};
	struct life *life = *state;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct asked asked;
		json_auto_t *answer = NULL;
		int watch;

		expect(life, "prepare", "prepared");
		watch = watch_directory(life);
		asked = ask_begin(life, "run", options[i]);
		wait_for_file(life, watch, "vsock.sock");
		assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGKILL), 0);
		answer = ask_end(&asked);
		assert_string_equal(
			json_string_value(json_object_get(answer, "error")),
			"the live supervisor died and did not say why: supervisor.log in the workspace may say more");
		assert_string_equal(text_in(answer, "event", "state"), "failed");
		assert_int_equal(exists(life, "."), options[i] == NULL);
	}
}

/* A machine that cannot be proven to be cut off does not go on, and the record says so. */
static void a_quarantine_that_fails_kills(void **state)
{
	static const struct {
		const char *how, *code, *word;
	} rows[] = {{"unproven", "denied", "the listing was refused"},
		    {"refused", "io", "the companions cannot be found"},
		    {"late", "io", "passt did not end"},
		    {"stuck", "io", "quarantine failed"}};
	const char *const once = "quarantine failed and the machine was killed: ";
	struct life *life = *state;

	life->command = "[\"deaf\"]"; /* goes on without its control stream, as a guest does */
	expect(life, "prepare", "prepared");
	life_limit(CONTROL_REQUEST_MS, 300);
	life_limit(SEVER_MS, 300);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_auto_t *answer = NULL;
		struct asked asked;
		const char *detail;

		setenv("STANDIN_SEVER", rows[i].how, 1);
		expect(life, "start", "running");
		asked = ask_begin(life, "quarantine", NULL);
		answer = ask_end(&asked);
		assert_int_equal(asked.code, 1);
		assert_string_equal(json_string_value(json_object_get(answer, "errorCode")),
				    rows[i].code);
		assert_non_null(
			strstr(json_string_value(json_object_get(answer, "error")), rows[i].word));
		assert_string_equal(text_in(answer, "event", "state"), "failed");
		detail = text_in(answer, "event", "detail");
		assert_int_equal(strncmp(detail, once, strlen(once)), 0);
		assert_null(strstr(detail + 1, once));
		assert_non_null(strstr(detail, rows[i].word));
		expect(life, "inspect", "failed");
		expect_nothing_left(life);
	}
	expect_states(life, "prepared starting running failed starting running failed "
			    "starting running failed starting running failed ");
	unsetenv("STANDIN_SEVER");
	life_limit_over(SEVER_MS);
	life_limit_over(CONTROL_REQUEST_MS);
}

/* A run in the foreground ends with it. The machine and its directory stay, whatever the run was
 * told. */
static void a_run_that_is_quarantined(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;
	struct asked asked;
	int watch;

	life->command = "[\"deaf\"]"; /* goes on without its control stream, as a guest does */
	expect(life, "prepare", "prepared");
	watch = watch_directory(life);
	asked = ask_begin(life, "run", "--remove");
	wait_for_file(life, watch, "vsock.sock");
	for (;;) {
		json_auto_t *said = ask(life, "quarantine");

		if (json_is_true(json_object_get(said, "ok")))
			break; /* until then it was starting */
	}
	answer = ask_end(&asked);
	assert_string_equal(json_string_value(json_object_get(answer, "errorCode")), "conflict");
	assert_string_equal(text_in(answer, "event", "state"), "quarantined");
	assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGTERM), 0);
	wait_for_end(life);
	expect(life, "inspect", "quarantined");
	expect_nothing_left(life);
	refused(life, "start", "conflict");
	expect(life, "kill", "stopped");
}

/* A run that is told to end ends its machine, and answers with the machine's end. */
static void sigterm_to_a_run(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;
	struct asked asked;
	int watch;

	life->command = "[\"deaf\"]";
	expect(life, "prepare", "prepared");
	watch = watch_directory(life);
	asked = ask_begin(life, "run", NULL);
	wait_for_file(life, watch, "vsock.sock");
	assert_int_equal(kill(asked.proc.pid, SIGTERM), 0);
	answer = ask_end(&asked);
	assert_int_equal(asked.code, 1);
	assert_string_equal(json_string_value(json_object_get(answer, "errorCode")), "conflict");
	assert_string_equal(text_in(answer, "event", "state"), "stopped");
	expect_nothing_left(life);
	expect(life, "inspect", "stopped");
}

static void sigterm_to_the_live_supervisor(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGTERM), 0);
	wait_for_end(life);
	answer = ask(life, "inspect");
	assert_string_equal(text_in(answer, "event", "state"), "stopped");
	assert_non_null(strstr(text_in(answer, "event", "detail"), "told to end"));
	expect_nothing_left(life);
}

static void a_live_supervisor_that_does_not_answer_is_killed(void **state)
{
	struct life *life = *state;

	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGSTOP), 0);
	life_limit(CONTROL_REQUEST_MS, 50);
	life_limit(ENDING_MS, 50);
	expect(life, "stop", "stopped");
	life_limit_over(CONTROL_REQUEST_MS);
	life_limit_over(ENDING_MS);
	wait_for_end(life);
	expect_nothing_left(life);
}

static void a_reboot_of_the_host(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;
	autofree char *text = NULL;
	json_auto_t *runtime = NULL;
	char dir[2048];

	expect(life, "prepare", "prepared");
	expect(life, "start", "running");
	assert_int_equal(kill(pid_in_runtime(life, "supervisorPid"), SIGKILL), 0);
	wait_for_end(life);
	runtime = file(life, "runtime.json");
	json_object_set_new(runtime, "bootId", json_string("00000000-0000-4000-8000-000000000000"));
	text = json_line(runtime, NULL);
	snprintf(dir, sizeof(dir), "%s/w", life->state);
	put(dir, "runtime.json", text, strlen(text), 0600);
	answer = ask(life, "inspect");
	assert_string_equal(text_in(answer, "event", "state"), "failed");
	assert_non_null(strstr(text_in(answer, "event", "detail"), "rebooted"));
	expect_nothing_left(life);
}

static void a_backend_that_cannot_boot(void **state)
{
	struct life *life = *state;
	json_auto_t *answer = NULL;

	setenv("STANDIN_NO_BOOT", "1", 1);
	expect(life, "prepare", "prepared");
	answer = ask(life, "start");
	assert_string_equal(json_string_value(json_object_get(answer, "error")),
			    "the standin does not boot");
	assert_string_equal(json_string_value(json_object_get(answer, "errorCode")), "unavailable");
	assert_string_equal(text_in(answer, "event", "state"), "failed");
	expect_nothing_left(life);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		life_test(kill_ends_a_start_that_hangs),
		life_test(kill_9_of_the_live_supervisor),
		life_test(kill_9_during_a_run),
		life_test(a_quarantine_that_fails_kills),
		life_test(a_run_that_is_quarantined),
		life_test(sigterm_to_a_run),
		life_test(sigterm_to_the_live_supervisor),
		life_test(a_live_supervisor_that_does_not_answer_is_killed),
		life_test(a_reboot_of_the_host),
		life_test(a_backend_that_cannot_boot),
	};

	if (getenv("STANDIN"))
		return supervisor_main(&standin_backend, argc, argv);
	return cmocka_run_group_tests_name("supervisor crashes", tests, NULL, NULL);
}
