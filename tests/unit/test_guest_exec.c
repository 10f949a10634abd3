/* SPDX-License-Identifier: MIT */
/* Tests commands through the agent, in the two buffered forms: how they start and end, and how much
 * output is kept. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest_exec_fixture.h"

#include "base/limits.h"

static void exit_codes(void **state)
{
	static const struct {
		const char *command;
		int code;
		const char *error; /* in startError */
	} cases[] = {
		{"[\"sh\",\"-c\",\"exit 0\"]", 0, NULL},
		{"[\"sh\",\"-c\",\"exit 255\"]", 255, NULL},
		{"[\"sh\",\"-c\",\"kill -TERM $$\"]", 143, NULL},
		{"[\"sh\",\"-c\",\"kill -KILL $$\"]", 137, NULL},
		{"[\"no-such-program\"]", 127,
		 "no-such-program: not found in PATH: install this program in the guest, or give its whole path"},
		{"[\"/no/such/program\"]", 127, "cannot execute /no/such/program"},
		{"[\"/etc/passwd\"]", 126, "cannot execute /etc/passwd: Permission denied"},
		{"[\"/tmp\"]", 126, "cannot execute /tmp"},
		{"[\"\"]", 127, "not found"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char request[128];
		json_auto_t *answer = NULL;

		snprintf(request, sizeof(request), "{\"id\":\"i\",\"cmd\":%s}", cases[i].command);
		answer = ask_frame(*state, request);
		assert_int_equal(number_of(answer, "exitCode"), cases[i].code);
		if (cases[i].error)
			assert_non_null(strstr(text_of(answer, "startError"), cases[i].error));
		else
			assert_null(json_object_get(answer, "startError"));
	}
}

/* execve() says ENOENT both for a missing file and for a missing interpreter. */
static void a_missing_interpreter_is_told(void **state)
{
	char dir[] = "/tmp/microagent-script-XXXXXX", path[64], request[160], expected[160];
	int fd;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0); /* the command runs as another user */
	snprintf(path, sizeof(path), "%s/script", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	assert_int_equal(dprintf(fd, "#!/no/such\n"), 11);
	assert_int_equal(close(fd), 0);
	snprintf(expected, sizeof(expected),
		 "cannot execute %s: the file exists, but the interpreter or loader", path);
	for (int by_name = 0; by_name < 2; by_name++) {
		json_auto_t *answer = NULL;

		snprintf(request, sizeof(request),
			 "{\"id\":\"i\",\"cmd\":[\"%s\"],\"env\":{\"PATH\":\"%s\"}}",
			 by_name ? "script" : path, dir);
		answer = ask_frame(*state, request);
		assert_int_equal(number_of(answer, "exitCode"), 127);
		assert_non_null(
			strstr(text_of(answer, "startError"),
			       by_name ? "cannot execute script: the file exists" : expected));
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void start_errors(void **state)
{
	static const struct {
		const char *rest, *error;
	} cases[] = {
		{"\"cmd\":[\"true\"],\"cwd\":\"/no/such/dir\"",
		 "cannot enter the directory /no/such/dir"},
		{"\"cmd\":[\"true\"],\"user\":\"nobody-here\"", "user \"nobody-here\" is not in"},
		{"\"cmd\":[]", "empty command"},
		{"\"cmd\":[true]", "cmd[0] must be a string without NUL"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char request[128];
		json_auto_t *answer = NULL;

		snprintf(request, sizeof(request), "{\"id\":\"i\",%s}", cases[i].rest);
		answer = ask_frame(*state, request);
		assert_int_equal(number_of(answer, "exitCode"), 125);
		assert_non_null(strstr(text_of(answer, "startError"), cases[i].error));
	}
}

/* The envelope form says the same in its own keys, and in stderr for a client that reads nothing
 * else. */
static void envelope_start_error(void **state)
{
	json_auto_t *answer = ask_json(
		*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"no-such-program\"]}}\n");

	assert_int_equal(number_of(answer, "exit_code"), 127);
	assert_string_equal(
		text_of(answer, "start_error"),
		"no-such-program: not found in PATH: install this program in the guest, or give its whole path");
	assert_string_equal(
		text_of(answer, "stderr"),
		"microagent: no-such-program: not found in PATH: install this program in the guest, or give its whole path\n");
}

static void timeout_in_both_forms(void **state)
{
	json_auto_t *framed = ask_frame(*state, "{\"id\":\"i\",\"cmd\":[\"sh\",\"-c\",\"echo a; "
						"sleep 1000\"],\"timeoutSeconds\":1}");
	json_auto_t *enveloped =
		ask_json(*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"sleep\",\"1000\"],"
				 "\"timeout_sec\":1}}\n");

	assert_int_equal(number_of(framed, "exitCode"), 124);
	assert_true(json_is_true(json_object_get(framed, "killed")));
	assert_true(json_is_true(json_object_get(framed, "timedOut")));
	assert_string_equal(text_of(framed, "stdout"), "YQo=");
	assert_int_equal(number_of(enveloped, "exit_code"), 124);
	assert_true(json_is_true(json_object_get(enveloped, "timed_out")));
}

/* A child in the background that keeps the pipe does not delay the exit. The child lives on, also
 * if it writes to the pipe that nobody reads any more. */
static void background_child(void **state)
{
	const struct fixture *f = *state;
	char request[512], path[64];
	json_auto_t *answer = NULL;
	autoclose int fifo = -1;
	char word[16] = "";

	snprintf(path, sizeof(path), "%s/alive", f->etc);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(chmod(path, 0666), 0);
	snprintf(request, sizeof(request),
		 "{\"id\":\"i\",\"cmd\":[\"sh\",\"-c\",\"(read x < %s; echo late; echo late; "
		 "echo alive > %s) & echo done\"]}",
		 path, path);
	answer = ask_frame(f, request);
	assert_string_equal(text_of(answer, "stdout"), "ZG9uZQo=");
	assert_int_equal(number_of(answer, "exitCode"), 0);
	fifo = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fifo, "go\n", 3), 3);
	close(fifo);
	fifo = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fifo, word, sizeof(word)), 6);
	assert_string_equal(word, "alive\n");
}

static void output_is_cut(void **state)
{
	json_auto_t *answer =
		ask_frame(*state, "{\"id\":\"i\",\"cmd\":[\"sh\",\"-c\",\"head -c 20000000 "
				  "/dev/zero; echo whole >&2\"]}");
	json_auto_t *whole = ask_frame(*state, "{\"id\":\"i\",\"cmd\":[\"head\",\"-c\",\"8388608\","
					       "\"/dev/zero\"]}");

	assert_int_equal(number_of(answer, "exitCode"), 0);
	assert_int_equal(strlen(text_of(answer, "stdout")),
			 (limit_get(LIMIT_EXEC_OUTPUT_BYTES) + 2) / 3 * 4);
	assert_true(json_is_true(json_object_get(answer, "stdoutTruncated")));
	assert_null(json_object_get(answer, "stderrTruncated"));
	assert_string_equal(text_of(answer, "stderr"), "d2hvbGUK");
	assert_null(json_object_get(whole, "stdoutTruncated"));
}

/* Both streams at their longest still make one frame. */
static void both_streams_fit_a_frame(void **state)
{
	json_auto_t *answer = ask_frame(
		*state, "{\"id\":\"i\",\"cmd\":[\"sh\",\"-c\",\"head -c 9000000 /dev/zero; "
			"head -c 9000000 /dev/zero >&2\"]}");

	assert_true(json_is_true(json_object_get(answer, "stdoutTruncated")));
	assert_true(json_is_true(json_object_get(answer, "stderrTruncated")));
	assert_true(strlen(text_of(answer, "stdout")) + strlen(text_of(answer, "stderr")) >
		    12 * 1024 * 1024);
}

static void environment_directory_and_user(void **state)
{
	autofree char *answer =
		ask(*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"/usr/bin/env\"],"
			    "\"env\":{\"A\":\"b c\",\"SHELL\":\"/bin/other\"}}}\n");
	autofree char *where =
		ask(*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"pwd\"]}}\n");
	autofree char *there = ask(
		*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"pwd\"],\"cwd\":\"/usr\"}}\n");
	autofree char *who =
		ask(*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"id\",\"-u\"]}}\n");
	char expected[64];

	assert_string_equal(
		answer, "{\"exit_code\":0,\"stdout\":\"PATH=/usr/local/sbin:/usr/local/bin:"
			"/usr/sbin:/usr/bin:/sbin:/bin\\nHOME=/tmp\\nUSER=agent\\nLOGNAME=agent\\n"
			"SHELL=/bin/other\\nA=b c\\n\",\"stderr\":\"\"}\n");
	assert_string_equal(where, "{\"exit_code\":0,\"stdout\":\"/tmp\\n\",\"stderr\":\"\"}\n");
	assert_string_equal(there, "{\"exit_code\":0,\"stdout\":\"/usr\\n\",\"stderr\":\"\"}\n");
	snprintf(expected, sizeof(expected),
		 "{\"exit_code\":0,\"stdout\":\"%u\\n\",\"stderr\":\"\"}\n",
		 geteuid() ? geteuid() : 1000);
	assert_string_equal(who, expected);
}

/* Also a soft limit that only the hard one moves, and a soft limit that lowers nothing else. */
static void resource_limits(void **state)
{
	autofree char *answer = ask(
		*state,
		"{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\",\"ulimit -Sn; "
		"ulimit -Hn; ulimit -Sc; ulimit -Sf\"],\"rlimits\":{\"nofile\":{\"hard\":300},"
		"\"core\":{\"soft\":0},\"fsize\":{\"soft\":512000,\"hard\":\"unlimited\"}}}}\n");
	json_auto_t *framed = ask_frame(
		*state, "{\"id\":\"i\",\"cmd\":[\"sh\",\"-c\",\"ulimit -n\"],\"rlimits\":{"
			"\"nofile\":{\"soft\":100,\"hard\":200}}}");

	assert_string_equal(
		answer,
		"{\"exit_code\":0,\"stdout\":\"300\\n300\\n0\\n1000\\n\",\"stderr\":\"\"}\n");
	assert_string_equal(text_of(framed, "stdout"), "MTAwCg==");
}

static void resource_limits_refused(void **state)
{
	static const struct {
		const char *limits, *error;
	} cases[] = {
		{"{\"nofiles\":{}}", "rlimits.nofiles is not a known field"},
		{"{\"nofile\":{\"sof\":1}}", "rlimits.nofile.sof is not a known field"},
		{"{\"nofile\":1}", "rlimits.nofile must be an object"},
		{"{\"nofile\":{\"soft\":-1}}", "rlimits.nofile.soft"},
		{"{\"nofile\":{\"soft\":\"much\"}}",
		 "rlimits.nofile.soft must be an integer or \"unlimited\""},
		{"{\"as\":{\"soft\":2,\"hard\":1}}",
		 "rlimits.as.soft is above rlimits.as.hard: lower the soft limit, or raise the hard one"},
		{"[]", "rlimits must be an object"},
		/* Above what the kernel lets even root have. */
		{"{\"nofile\":{\"hard\":4611686018427387904}}",
		 "cannot set the limit nofile: Operation not permitted"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char request[256];
		json_auto_t *answer = NULL;

		snprintf(request, sizeof(request),
			 "{\"id\":\"i\",\"cmd\":[\"true\"],\"rlimits\":%s}", cases[i].limits);
		answer = ask_frame(*state, request);
		assert_int_equal(number_of(answer, "exitCode"), 125);
		assert_non_null(strstr(text_of(answer, "startError"), cases[i].error));
	}
}

static uint64_t signal_mask(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, 16);
}

/* Descriptors 0 to 2 and the directory that lists them, no blocked and no ignored signal. */
static void nothing_leaks(void **state)
{
	autofree char *fds = ask(*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"ls\","
					 "\"/proc/self/fd\"]}}\n");
	autofree char *signals =
		ask(*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"grep\",\"-E\","
			    "\"^Sig(Blk|Ign|Cgt)\",\"/proc/self/status\"]}}\n");

	assert_string_equal(fds,
			    "{\"exit_code\":0,\"stdout\":\"0\\n1\\n2\\n3\\n\",\"stderr\":\"\"}\n");
	assert_int_equal(signal_mask(signals, "SigBlk:\\t"), 0);
	/* PID 1's children begin with nothing ignored. Here the user who runs the test may have
	 * signals ignored. */
	assert_int_equal(signal_mask(signals, "SigIgn:\\t") & (1u << (SIGPIPE - 1)), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(exit_codes, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(a_missing_interpreter_is_told, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(start_errors, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(envelope_start_error, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(timeout_in_both_forms, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(background_child, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(output_is_cut, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(both_streams_fit_a_frame, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(environment_directory_and_user, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(resource_limits, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(resource_limits_refused, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(nothing_leaks, guest_start, guest_end),
	};
	int code;

	if (fixture_role(argc, argv, &code))
		return code;
	return cmocka_run_group_tests_name("guest exec", tests, NULL, NULL);
}
