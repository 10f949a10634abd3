/* SPDX-License-Identifier: MIT */
/* Tests the two buffered forms of a request, envelopes and frames: what is read, answered and
 * refused. */
#include "guest_exec_fixture.h"

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

/* Go writes null for absent values. */
static void envelope_nulls(void **state)
{
	autofree char *answer =
		ask(*state, "{\"op\":\"exec\",\"payload\":{\"command\":[\"true\"],\"cwd\":\"\","
			    "\"env\":null,\"timeout_sec\":0,\"user\":null,\"rlimits\":null}}\n");

	assert_string_equal(answer, "{\"exit_code\":0,\"stdout\":\"\",\"stderr\":\"\"}\n");
}

/* The next request may wait for the answer. A request that never comes ends the connection. */
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
		{"/tmp",
		 "/tmp in the guest is not a regular file, so it cannot be copied: name a regular file"},
		{"relative", "payload.guest_path must be an absolute path, like /root/file"},
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
		cmocka_unit_test_setup_teardown(frames_at_once, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(breach_ends_the_connection, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(lengths_that_are_refused, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(half_closed_client, guest_start, guest_end),
	};
	int code;

	if (fixture_role(argc, argv, &code))
		return code;
	return cmocka_run_group_tests_name("guest exec forms", tests, NULL, NULL);
}
