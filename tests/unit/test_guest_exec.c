/* SPDX-License-Identifier: MIT */
/* Commands through the agent, in the two buffered forms. */
#include <signal.h>

#include "guest_client.h"

#include "base/base64.h"
#include "base/limits.h"

/* An agent that closes an idle connection soon. */
static int start_impatient(void **state)
{
	int got;

	limit_set(LIMIT_AGENT_IDLE_MS, 300);
	got = guest_start(state);
	limit_reset(LIMIT_AGENT_IDLE_MS);
	return got;
}

static char *ask(const struct fixture *f, const char *request)
{
	return ask_envelope(f, request);
}

static json_t *ask_json(const struct fixture *f, const char *request)
{
	autofree char *text = ask(f, request);
	json_t *answer = json_load_strict(text, strlen(text), NULL);

	assert_non_null(answer);
	return answer;
}

/* The same in the frame form. */
static json_t *ask_frame(const struct fixture *f, const char *request)
{
	autoclose int fd = dial(f);
	json_t *answer;
	char more;

	send_message(fd, request);
	answer = read_message(fd);
	assert_int_equal(read(fd, &more, 1), 0); /* the agent closes after the answer */
	return answer;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	assert_non_null(text);
	return text;
}

static void envelope_exec(void **state)
{
	autofree char *answer =
		ask(*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\",\"echo out; "
			    "echo err >&2; exit 7\"],\"timeout_sec\":30}}\n");

	assert_string_equal(answer,
			    "{\"exit_code\":7,\"stdout\":\"out\\n\",\"stderr\":\"err\\n\"}\n");
}

static void envelope_without_newline(void **state)
{
	autofree char *answer =
		ask(*state, "  {\"op\":\"exec\",\"payload\":\n{\"command\":[\"true\"]}}");

	assert_string_equal(answer, "{\"exit_code\":0,\"stdout\":\"\",\"stderr\":\"\"}\n");
}

static void envelopes_in_a_row(void **state)
{
	autofree char *answer =
		ask(*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"echo\",\"1\"]}}\n"
			    "{\"op\":\"dance\"}\n"
			    "{\"op\":\"exec\",\"payload\":{\"command\":[\"echo\",\"2\"]}}\n");

	assert_string_equal(answer, "{\"exit_code\":0,\"stdout\":\"1\\n\",\"stderr\":\"\"}\n"
				    "{\"error\":\"unknown op: dance\"}\n"
				    "{\"exit_code\":0,\"stdout\":\"2\\n\",\"stderr\":\"\"}\n");
}

static void envelope_noise(void **state)
{
	autofree char *answer = ask(*state, "{nonsense}\n");

	assert_non_null(strstr(answer, "{\"error\":\"decode envelope: "));
}

/* Go writes null for what it does not have. */
static void envelope_nulls(void **state)
{
	autofree char *answer =
		ask(*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"true\"],\"cwd\":\"\","
			    "\"env\":null,\"timeout_sec\":0,\"user\":null,\"rlimits\":null}}\n");

	assert_string_equal(answer, "{\"exit_code\":0,\"stdout\":\"\",\"stderr\":\"\"}\n");
}

/* The next request may wait for the answer; one that never comes ends the connection. */
static void envelopes_one_by_one(void **state)
{
	autoclose int fd = dial(*state);
	autofree char *rest = NULL;
	char line[128];

	for (int i = 0; i < 2; i++) {
		size_t n = 0;

		send_text(fd, "{\"op\":\"exec\",\"payload\":{\"command\":[\"echo\"]}}\n");
		while (n < sizeof(line) - 1 && read(fd, line + n, 1) == 1 && line[n] != '\n')
			n++;
		line[n] = '\0';
		assert_string_equal(line, "{\"exit_code\":0,\"stdout\":\"\\n\",\"stderr\":\"\"}");
	}
	rest = read_all(fd);
	assert_string_equal(rest, "");
}

static void copyout(void **state)
{
	const struct fixture *f = *state;
	char request[128], path[64];
	autofree char *answer = NULL;

	write_file(f->etc, "log.txt", "hello world");
	snprintf(path, sizeof(path), "%s/log.txt", f->etc);
	snprintf(request, sizeof(request),
		 "{\"op\": \"copyout\",\"payload\": {\"guest_path\": \"%s\"}}\n", path);
	answer = ask(f, request);
	assert_string_equal(answer, "{\"data\":\"aGVsbG8gd29ybGQ=\",\"error\":\"\"}\n");
}

static void copyout_refusals(void **state)
{
	static const struct {
		const char *path, *why;
	} cases[] = {
		{"/no/such/file", "/no/such/file: No such file or directory"},
		{"/tmp", "/tmp: not a regular file"},
		{"relative", "payload.guest_path must be absolute"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char request[128], expected[128];
		autofree char *answer = NULL;

		snprintf(request, sizeof(request),
			 "{\"op\":\"copyout\",\"payload\":{\"guest_path\":\"%s\"}}\n",
			 cases[i].path);
		snprintf(expected, sizeof(expected), "{\"data\":\"\",\"error\":\"%s\"}\n",
			 cases[i].why);
		answer = ask(*state, request);
		assert_string_equal(answer, expected);
	}
}

static void frame_exec(void **state)
{
	json_auto_t *answer = ask_frame(*state, "{\"id\":\"one\",\"cmd\":[\"cat\"],\"env\":{},"
						"\"cwd\":\"/\",\"timeoutSeconds\":30,"
						"\"stdin\":\"aGVsbG8gd29ybGQ=\"}");

	assert_string_equal(text_of(answer, "id"), "one");
	assert_string_equal(text_of(answer, "stdout"), "aGVsbG8gd29ybGQ=");
	assert_string_equal(text_of(answer, "stderr"), "");
	assert_int_equal(number_of(answer, "exitCode"), 0);
	assert_true(number_of(answer, "elapsedMs") >= 0);
	assert_true(json_is_false(json_object_get(answer, "killed")));
	assert_int_equal(json_object_size(answer), 6);
}

/* A megabyte of stdin that is echoed, so that both pipes fill. */
static void frame_stdin_larger_than_a_pipe(void **state)
{
	enum { SIZE = 1 << 20 };
	autofree char *encoded = NULL, *request = NULL;
	autofree uint8_t *bytes = malloc(SIZE);
	json_auto_t *answer = NULL;

	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	encoded = base64_encode(bytes, SIZE, NULL);
	assert_true(asprintf(&request, "{\"id\":\"i\",\"cmd\":[\"cat\"],\"stdin\":\"%s\"}",
			     encoded) > 0);
	answer = ask_frame(*state, request);
	assert_string_equal(text_of(answer, "stdout"), encoded);
	assert_int_equal(number_of(answer, "exitCode"), 0);
}

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
		{"[\"no-such-program\"]", 127, "no-such-program: not found in PATH"},
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

static void start_errors(void **state)
{
	static const struct {
		const char *rest, *error;
	} cases[] = {
		{"\"cmd\":[\"true\"],\"cwd\":\"/no/such/dir\"",
		 "cannot enter the directory /no/such/dir"},
		{"\"cmd\":[\"true\"],\"user\":\"nobody-here\"", "user \"nobody-here\" is not in"},
		{"\"cmd\":[]", "empty command"},
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

/* The envelope form says the same in its own keys, and in stderr for who reads nothing else. */
static void envelope_start_error(void **state)
{
	json_auto_t *answer = ask_json(
		*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"no-such-program\"]}}\n");

	assert_int_equal(number_of(answer, "exit_code"), 127);
	assert_string_equal(text_of(answer, "start_error"), "no-such-program: not found in PATH");
	assert_string_equal(text_of(answer, "stderr"),
			    "microagent: no-such-program: not found in PATH\n");
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

/* A child in the background that keeps the pipe does not keep the exit, and lives on, also when it
 * writes to the pipe that nobody reads any more. */
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

/* Also the soft limit that only the hard one moves, and a soft one that lowers nothing else. */
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
		{"{\"as\":{\"soft\":2,\"hard\":1}}", "rlimits.as.soft is above rlimits.as.hard"},
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
	/* PID 1's children begin with nothing ignored; here it may be so from whoever runs the
	 * test. */
	assert_int_equal(signal_mask(signals, "SigIgn:\\t") & (1u << (SIGPIPE - 1)), 0);
}

/* Answers come as commands end, each with its id. */
static void frames_at_once(void **state)
{
	autoclose int fd = dial(*state);
	json_auto_t *first = NULL, *second = NULL;

	send_message(fd, "{\"id\":\"slow\",\"cmd\":[\"sleep\",\"0.5\"]}");
	send_message(fd, "{\"id\":\"quick\",\"cmd\":[\"true\"]}");
	first = read_message(fd);
	second = read_message(fd);
	assert_string_equal(text_of(first, "id"), "quick");
	assert_string_equal(text_of(second, "id"), "slow");
}

static void breach_ends_the_connection(void **state)
{
	static const char *const frames[] = {"{\"id\":1}", "\x07what", "\x01short"};

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		autoclose int fd = dial(*state);
		json_auto_t *answer = NULL;
		char more;

		send_message(fd, frames[i]);
		answer = read_message(fd);
		assert_string_equal(text_of(answer, "event"), "error");
		assert_int_equal(read(fd, &more, 1), 0);
	}
}

static void lengths_that_are_refused(void **state)
{
	static const uint8_t heads[][4] = {{0, 0, 0, 0}, {1, 0, 0, 1}, {0xff, 0xff, 0xff, 0xff}};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		autoclose int fd = dial(*state);
		json_auto_t *answer = NULL;

		assert_int_equal(fd_write_all(fd, heads[i], 4, NULL), 0);
		answer = read_message(fd);
		assert_string_equal(text_of(answer, "event"), "error");
	}
}

/* A client that sends no more still gets its answer. */
static void half_closed_client(void **state)
{
	autoclose int fd = dial(*state);
	autofree char *answer = NULL;

	send_text(fd, "{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\",\"sleep 0.2; echo "
		      "x\"]}}");
	shutdown(fd, SHUT_WR);
	answer = read_all(fd);
	assert_string_equal(answer, "{\"exit_code\":0,\"stdout\":\"x\\n\",\"stderr\":\"\"}\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(envelope_exec, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(envelope_without_newline, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(envelopes_in_a_row, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(envelope_noise, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(envelope_nulls, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(envelopes_one_by_one, start_impatient, guest_end),
		cmocka_unit_test_setup_teardown(copyout, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(copyout_refusals, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(frame_exec, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(frame_stdin_larger_than_a_pipe, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(exit_codes, guest_start, guest_end),
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
		cmocka_unit_test_setup_teardown(frames_at_once, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(breach_ends_the_connection, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(lengths_that_are_refused, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(half_closed_client, guest_start, guest_end),
	};
	int code;

	if (fixture_role(argc, argv, &code))
		return code;
	return cmocka_run_group_tests_name("guest exec", tests, NULL, NULL);
}
