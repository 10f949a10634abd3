/* SPDX-License-Identifier: MIT */
/* Tests the client of a supervisor, with shell scripts in its place. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/supervisor.h"

struct rig {
	char dir[64];
	char path[96];
	json_t *request;
};

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	strcpy(rig->dir, "/tmp/test_channel_supervisor.XXXXXX");
	if (!mkdtemp(rig->dir))
		return -1;
	snprintf(rig->path, sizeof(rig->path), "%s/supervisor", rig->dir);
	rig->request = json_pack("{s:s}", "command", "host");
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	path_remove_tree_at(AT_FDCWD, rig->dir, NULL);
	json_decref(rig->request);
	free(rig);
	return 0;
}

static void script(const struct rig *rig, const char *text)
{
	int fd = open(rig->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, "#!/bin/sh\n", 10, NULL), 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text), NULL), 0);
	close(fd);
}

static json_t *call(const struct rig *rig, int *code, struct error *err)
{
	return supervisor_call(rig->path, NULL, rig->request, NULL, code, err);
}

static void test_request_and_answer(void **state)
{
	struct rig *rig = *state;
	struct error err = {0};
	json_auto_t *answer = NULL;
	int code = -1;

	script(rig, "printf '{\"ok\":true,\"got\":%s}\\n' \"$(cat)\"\n");
	answer = call(rig, &code, &err);
	assert_non_null(answer);
	assert_int_equal(code, 0);
	assert_int_equal(supervisor_error(answer, &err), 0);
	assert_true(json_equal(json_object_get(answer, "got"), rig->request));
}

static void test_a_failing_answer(void **state)
{
	struct rig *rig = *state;
	struct error err = {0};
	json_auto_t *answer = NULL;
	int code = -1;

	script(rig, "cat >/dev/null\n"
		    "echo '{\"ok\":false,\"error\":\"no room\",\"errorCode\":\"unavailable\"}'\n"
		    "exit 75\n");
	answer = call(rig, &code, &err);
	assert_non_null(answer);
	assert_int_equal(code, 75);
	assert_int_equal(supervisor_error(answer, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_string_equal(err.msg, "no room");
}

/* Nothing of it reaches our own stderr, so the error must contain it. */
static void test_no_answer(void **state)
{
	static const struct {
		const char *script, *says;
	} cases[] = {
		{"echo 'it burns' >&2; exit 3\n", "exit code 3 and no answer: it burns"},
		{"kill -9 $$\n", "exit code 137"},
		{"exit 0\n", "no answer"},
		{"echo '{'\n", "the supervisor's answer cannot be read"},
		{"echo '{} {}'\n", "the supervisor's answer cannot be read"},
	};
	struct rig *rig = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = {0};
		int code;

		script(rig, cases[i].script);
		assert_null(call(rig, &code, &err));
		assert_int_equal(err.code, ERR_IO);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("\"%s\" does not say \"%s\"", err.msg, cases[i].says);
	}
}

/* As a child of the caller would have it, forked by another thread while we had that end. */
static void test_somebody_else_has_the_end_of_the_answer(void **state)
{
	struct rig *rig = *state;
	struct error err = {0};
	int code = -1;

	script(rig, "sleep 1000 2>/dev/null &\nprintf '{\"ok\":true,\"pid\":%s}\\n' $!\n");
	json_auto_t *answer = call(rig, &code, &err);
	assert_non_null(answer);
	assert_int_equal(code, 0);
	pid_t holder = (pid_t)json_integer_value(json_object_get(answer, "pid"));
	assert_true(holder > 1);
	assert_int_equal(kill(holder, SIGKILL), 0);

	script(rig, "sleep 1000 2>/dev/null &\necho $! >&2\nexit 3\n");
	assert_null(call(rig, &code, &err));
	assert_non_null(strstr(err.msg, "exit code 3 and no answer: "));
	holder = (pid_t)strtol(strrchr(err.msg, ' '), NULL, 10);
	assert_true(holder > 1);
	assert_int_equal(kill(holder, SIGKILL), 0);
}

static void test_bad_answers_are_errors(void **state)
{
	static const char *const texts[] = {"{}", "{\"ok\":1}", "[]", "{\"ok\":false,\"error\":7}"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		json_auto_t *answer = json_load_strict(texts[i], strlen(texts[i]), NULL);
		struct error err = {0};

		assert_non_null(answer);
		assert_int_equal(supervisor_error(answer, &err), -1);
		assert_string_not_equal(err.msg, "");
	}
}

static void test_missing_program(void **state)
{
	struct rig *rig = *state;
	struct error err = {0};
	int code;

	assert_null(call(rig, &code, &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, rig->path));
}

static void test_find(void **state)
{
	struct rig *rig = *state;
	struct error err = {0};
	char *found, want[128];

	setenv("MICROAGENT_APPLE_VF_SUPERVISOR", "/opt/vf", 1);
	found = supervisor_find("apple-vf", &err);
	assert_string_equal(found, "/opt/vf");
	free(found);

	assert_null(supervisor_find("nowhere", &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);

	snprintf(want, sizeof(want), "%s/microagent-nowhere-supervisor", rig->dir);
	assert_int_equal(symlink("/bin/true", want), 0);
	setenv("PATH", "/nonexistent::", 1);
	assert_null(supervisor_find("nowhere", &err));
	setenv("PATH", rig->dir, 1);
	found = supervisor_find("nowhere", &err);
	assert_string_equal(found, want);
	free(found);
	setenv("PATH", "/usr/bin:/bin", 1);
}

/* The descriptors are those of the options, and the end of the lifeline is seen. */
static const char run_script[] =
	"[ \"$*\" = \"--attach --lifeline-fd 3 --events-fd 4$MORE\" ] || exit 9\n"
	"cat >/dev/null\n"
	"printf '{\"state\":\"starting\"}\\n{\"state\":' >&4\n"
	"printf '\"running\"}\\n' >&4\n"
	"read nothing <&3\n"
	"exec 4>&-\n"
	"echo '{\"ok\":true}'\n";

static json_t *next_event(struct supervisor_run *run, struct error *err)
{
	json_t *event = NULL;
	int got;

	while ((got = supervisor_run_event(run, &event, err)) == 0)
		assert_int_equal(fd_wait(run->events, POLLIN, UINT64_MAX, NULL), 0);
	return got == 1 ? event : NULL;
}

static void test_run(void **state)
{
	static const char *const states[] = {"starting", "running"};
	struct rig *rig = *state;

	script(rig, run_script);
	for (int keep = 0; keep < 2; keep++) {
		struct supervisor_run run = SUPERVISOR_RUN_NONE;
		struct error err = {0};
		json_t *answer;
		int code = -1;

		setenv("MORE", keep ? "" : " --remove", 1);
		assert_int_equal(
			supervisor_run_start(rig->path, rig->request, NULL, keep, &run, &err), 0);
		for (int i = 0; i < 2; i++) {
			json_auto_t *event = next_event(&run, &err);

			assert_non_null(event);
			assert_string_equal(json_string_value(json_object_get(event, "state")),
					    states[i]);
		}
		supervisor_run_cut(&run);
		assert_null(next_event(&run, &err));
		assert_int_equal(err.code, ERR_UNAVAILABLE);
		answer = supervisor_run_finish(&run, NULL, &code, &err);
		assert_non_null(answer);
		assert_int_equal(code, 0);
		json_decref(answer);
		supervisor_run_free(&run);
	}
}

/* A caller that gives up cuts the lifeline, and the process is waited for. */
static void test_run_given_up(void **state)
{
	struct rig *rig = *state;
	struct supervisor_run run = SUPERVISOR_RUN_NONE;
	struct error err = {0};
	int ends[2], code;

	script(rig, run_script);
	setenv("MORE", " --remove", 1);
	assert_int_equal(supervisor_run_start(rig->path, rig->request, NULL, false, &run, &err), 0);
	supervisor_run_free(&run);
	assert_int_equal(run.proc.pid, 0);

	/* The same while waiting for the answer. */
	assert_int_equal(fd_pipe(ends, &err), 0);
	close(ends[1]);
	assert_int_equal(supervisor_run_start(rig->path, rig->request, NULL, false, &run, &err), 0);
	json_auto_t *answer = supervisor_run_finish(
		&run, &(struct supervisor_wait){.cancel = ends[0]}, &code, &err);

	assert_non_null(answer);
	assert_int_equal(run.lifeline, -1);
	supervisor_run_free(&run);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_request_and_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_failing_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_somebody_else_has_the_end_of_the_answer,
						set_up, tear_down),
		cmocka_unit_test(test_bad_answers_are_errors),
		cmocka_unit_test_setup_teardown(test_missing_program, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_find, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_run_given_up, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
