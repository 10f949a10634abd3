/* SPDX-License-Identifier: MIT */
/* Tests the decoding of the two wire forms, and the answers: the documents' own examples word for
 * word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest/agent/answer.h"
#include "guest/agent/answer_file.h"
#include "guest/agent/request.h"

static int envelope(const char *text, struct request *out, struct error *err)
{
	return request_decode_envelope(text, strlen(text), out, err);
}

static int frame(const char *text, struct request *out, struct error *err)
{
	return request_decode_frame(text, strlen(text), out, err);
}

static void envelope_exec_as_documented(void **state)
{
	struct request r = {0};

	(void)state;
	assert_int_equal(envelope("{\"op\": \"exec\",\"payload\": {\"command\": [\"go\", \"test\", "
				  "\"./...\"],\"cwd\": \"/workspace\",\"env\": {\"GOOS\": "
				  "\"linux\"},\"timeout_sec\": 30}}",
				  &r, NULL),
			 0);
	assert_int_equal(r.kind, REQUEST_EXEC);
	assert_string_equal(r.problem, "");
	assert_string_equal(r.argv[0], "go");
	assert_string_equal(r.argv[1], "test");
	assert_string_equal(r.argv[2], "./...");
	assert_null(r.argv[3]);
	assert_string_equal(r.cwd, "/workspace");
	assert_string_equal(json_string_value(json_object_get(r.env, "GOOS")), "linux");
	assert_int_equal(r.timeout_ms, 30000);
	assert_null(r.user);
	assert_false(r.stdin_open);
	request_free(&r);
}

static void envelope_copyout_as_documented(void **state)
{
	struct request r = {0};

	(void)state;
	assert_int_equal(envelope("{\"op\": \"copyout\",\"payload\": {\"guest_path\": "
				  "\"/workspace/log.txt\"}}",
				  &r, NULL),
			 0);
	assert_int_equal(r.kind, REQUEST_COPYOUT);
	assert_string_equal(r.problem, "");
	assert_string_equal(r.guest_path, "/workspace/log.txt");
	request_free(&r);
}

static void envelope_answers_as_documented(void **state)
{
	struct captured output = {0};
	struct job_end end = {0};
	struct buf data = {0};
	autofree char *exec = NULL, *copy = NULL;

	(void)state;
	buf_printf(&output.bytes[0], NULL,
		   "PASS\nok github.com/yanurag-dev/sandforge/internal/policy\n");
	exec = answer_envelope_exec(&end, &output, NULL);
	assert_string_equal(exec, "{\"exit_code\":0,\"stdout\":\"PASS\\nok "
				  "github.com/yanurag-dev/sandforge/internal/policy\\n\","
				  "\"stderr\":\"\"}");
	buf_printf(&data, NULL, "hello world");
	copy = answer_copyout(&(struct file_end){.output = &data, .error = ""}, NULL);
	assert_string_equal(copy, "{\"data\":\"aGVsbG8gd29ybGQ=\",\"error\":\"\"}");
	buf_free(&output.bytes[0]);
	buf_free(&data);
}

static void envelope_answers_with_more(void **state)
{
	struct captured output = {.truncated = {true, true}};
	struct job_end end = {.exit_code = 124, .timed_out = true, .start_error = "no"};
	autofree char *text = NULL;

	(void)state;
	buf_append(&output.bytes[0], "a\xff\0b", 4, NULL);
	text = answer_envelope_exec(&end, &output, NULL);
	assert_string_equal(text,
			    "{\"exit_code\":124,\"stdout\":\"a\xef\xbf\xbd\xef\xbf\xbd"
			    "b\",\"stderr\":\"\",\"stdout_base64\":\"Yf8AYg==\",\"timed_out\":true,"
			    "\"stdout_truncated\":true,\"stderr_truncated\":true,"
			    "\"start_error\":\"no\"}");
	buf_free(&output.bytes[0]);
}

static void a_null_environment_is_absent(void **state)
{
	struct request r = {0};

	(void)state;
	assert_int_equal(frame("{\"id\":\"a\",\"cmd\":[\"x\"],\"env\":null}", &r, NULL), 0);
	assert_null(r.env);
	request_free(&r);
	assert_int_equal(
		envelope("{\"op\":\"exec\",\"payload\":{\"command\":[\"x\"],\"env\":null}}", &r,
			 NULL),
		0);
	assert_null(r.env);
	request_free(&r);
}

/* Each optional member of a frame, as an encoder writes an absent one. */
static void null_members_are_absent(void **state)
{
	static const char buffered[] =
		"{\"id\":\"a\",\"cmd\":[\"x\"],\"event\":null,\"stream\":null,\"stdin\":null,\"cwd\":null,"
		"\"user\":null,\"timeoutSeconds\":null,\"rlimits\":{\"nofile\":null}}";
	static const char streamed[] =
		"{\"id\":\"a\",\"request\":1,\"stream\":true,\"cmd\":[\"x\"],\"stdin\":null,\"pty\":null,"
		"\"stdinWindow\":null,\"handOver\":null,\"resume\":null,\"exec\":null,\"container\":null}";
	const char *const frames[] = {buffered, streamed};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		struct request r;

		assert_int_equal(frame(frames[i], &r, NULL), 0);
		assert_string_equal(r.problem, "");
		assert_false(r.stdin_open);
		request_free(&r);
	}
}

/* A word of a command, or the value of a variable, is no member: it has a value. */
static void null_values_are_refused(void **state)
{
	static const char *const frames[] = {
		"{\"id\":\"a\",\"cmd\":[\"x\",null]}",
		"{\"id\":\"a\",\"cmd\":[\"x\"],\"env\":{\"A\":null}}",
		"{\"id\":\"a\",\"cmd\":null}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		struct request r;

		assert_int_equal(frame(frames[i], &r, NULL), 0);
		assert_string_not_equal(r.problem, "");
		request_free(&r);
	}
}

static void frame_as_documented(void **state)
{
	struct request r = {0};

	(void)state;
	assert_int_equal(
		frame("{\n\"id\": \"uuid-string\",\n\"cmd\": [\"bash\", \"-c\", \"...\"],\n"
		      "\"env\": { \"PATH\": \"...\" },\n\"cwd\": \"/Users/agent\",\n"
		      "\"timeoutSeconds\": 300,\n\"stdin\": \"\"\n}",
		      &r, NULL),
		0);
	assert_int_equal(r.kind, REQUEST_EXEC);
	assert_string_equal(r.problem, "");
	assert_string_equal(r.id, "uuid-string");
	assert_string_equal(r.argv[0], "bash");
	assert_string_equal(r.argv[2], "...");
	assert_null(r.argv[3]);
	assert_string_equal(r.cwd, "/Users/agent");
	assert_int_equal(r.timeout_ms, 300000);
	assert_false(r.stdin_open);
	assert_false(r.stream);
	request_free(&r);
}

static void frame_answer_as_documented(void **state)
{
	struct captured output = {0};
	struct job_end end = {.elapsed_ms = 1247};
	autofree char *text = NULL, *more = NULL;

	(void)state;
	buf_printf(&output.bytes[0], NULL, "hello world");
	text = answer_frame_exec("uuid-string", &end, &output, NULL);
	assert_string_equal(text, "{\"id\":\"uuid-string\",\"stdout\":\"aGVsbG8gd29ybGQ=\","
				  "\"stderr\":\"\",\"exitCode\":0,\"elapsedMs\":1247,"
				  "\"killed\":false}");
	end = (struct job_end){.exit_code = 124, .signal = 9, .timed_out = true, .killed = true};
	output.truncated[1] = true;
	more = answer_frame_exec("x", &end, &output, NULL);
	assert_string_equal(more, "{\"id\":\"x\",\"stdout\":\"aGVsbG8gd29ybGQ=\",\"stderr\":\"\","
				  "\"exitCode\":124,\"elapsedMs\":0,\"killed\":true,\"signal\":9,"
				  "\"timedOut\":true,\"stderrTruncated\":true}");
	buf_free(&output.bytes[0]);
}

/* Text that is written by hand reads back as it went in, for every byte and a few sequences. */
static void every_byte_survives(void **state)
{
	struct captured output = {0};
	struct job_end end = {0};
	autofree char *text = NULL;
	json_auto_t *answer = NULL;
	char expected[512];
	size_t n = 0;

	(void)state;
	for (int c = 1; c < 0x80; c++) {
		char byte = (char)c;
		buf_append(&output.bytes[0], &byte, 1, NULL);
		expected[n++] = byte;
	}
	buf_printf(&output.bytes[0], NULL, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xc0\xaf\xe2\x82");
	memcpy(expected + n,
	       "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 19);
	text = answer_envelope_exec(&end, &output, NULL);
	answer = json_load_strict(text, strlen(text), NULL);
	assert_non_null(answer);
	assert_string_equal(json_string_value(json_object_get(answer, "stdout")), expected);
	buf_free(&output.bytes[0]);
}

static void stream_events(void **state)
{
	struct job_end end = {.exit_code = 143, .signal = 15, .elapsed_ms = 7};
	const struct stdin_window window = {.taken = 9};
	autofree char *start = answer_start(5, "a", 77, NULL, NULL, NULL);
	autofree char *windowed = answer_start(5, "a", 77, NULL, &window, NULL);
	autofree char *resumable = answer_start(5, "a", 77, "r", &window, NULL);
	autofree char *end_text = answer_exit(5, "a", &end, NULL);
	autofree char *about = answer_error(5, "why", NULL);
	autofree char *error = answer_error(0, "why", NULL);

	(void)state;
	assert_string_equal(start, "{\"event\":\"start\",\"request\":5,\"id\":\"a\",\"pid\":77}");
	assert_string_equal(windowed, "{\"event\":\"start\",\"request\":5,\"id\":\"a\",\"pid\":77,"
				      "\"stdinOffset\":9}");
	assert_string_equal(resumable, "{\"event\":\"start\",\"request\":5,\"id\":\"a\",\"pid\":77,"
				       "\"exec\":\"r\",\"stdinOffset\":9}");
	assert_string_equal(end_text, "{\"event\":\"exit\",\"request\":5,\"id\":\"a\","
				      "\"exitCode\":143,\"signal\":15,\"killed\":false,"
				      "\"elapsedMs\":7}");
	assert_string_equal(about, "{\"event\":\"error\",\"request\":5,\"error\":\"why\"}");
	assert_string_equal(error, "{\"event\":\"error\",\"error\":\"why\"}");
}

static void control_messages(void **state)
{
	struct captured output = {.truncated = {true, false}};
	struct job_end end = {
		.exit_code = 127,
		.start_error =
			"no-such: not found in PATH: install this program in the guest, or give its whole path"};
	autofree char *hello = answer_hello("b", false, false, NULL), *ready = answer_ready(NULL);
	autofree char *result = NULL;

	(void)state;
	assert_string_equal(hello, "{\"type\":\"hello\",\"format\":1,\"protocol\":{\"min\":1,"
				   "\"max\":1},\"version\":\"" MICROAGENT_VERSION
				   "\",\"bootId\":\"b\",\"generation\":0}");
	assert_string_equal(ready, "{\"type\":\"ready\",\"format\":1}");
	result = answer_result(&end, &output, NULL);
	assert_string_equal(
		result,
		"{\"type\":\"result\",\"format\":1,"
		"\"startedAt\":\"1970-01-01T00:00:00.000Z\","
		"\"completedAt\":\"1970-01-01T00:00:00.000Z\",\"exitCode\":127,"
		"\"stdout\":\"\",\"stderr\":\"\",\"stdoutTruncated\":true,"
		"\"error\":\"no-such: not found in PATH: install this program in the guest, or give its whole path\","
		"\"startError\":\"no-such: not found in PATH: install this program in the guest, or give its whole path\"}");
}

static void stream_request(void **state)
{
	struct request r = {0};

	(void)state;
	assert_int_equal(frame("{\"id\":\"i\",\"request\":9223372036854775807,\"stream\":true,"
			       "\"cmd\":[\"sh\"],\"user\":\"root\",\"stdin\":true,"
			       "\"pty\":{\"rows\":50,\"cols\":132},\"later\":1}",
			       &r, NULL),
			 0);
	assert_true(r.stream && r.stdin_open && r.terminal);
	assert_int_equal(r.number, INT64_MAX);
	assert_int_equal(r.rows, 50);
	assert_int_equal(r.columns, 132);
	assert_int_equal(r.timeout_ms, 0);
	assert_string_equal(r.user, "root");
	request_free(&r);
}

static void defaults_of_timeouts(void **state)
{
	struct request r = {0};

	(void)state;
	assert_int_equal(envelope("{\"op\":\"exec\",\"payload\":{\"command\":[\"a\"]}}", &r, NULL),
			 0);
	assert_int_equal(r.timeout_ms, limit_get(LIMIT_EXEC_ENVELOPE_MS));
	request_free(&r);
	assert_int_equal(frame("{\"id\":\"i\",\"cmd\":[\"a\"],\"timeoutSeconds\":0}", &r, NULL), 0);
	assert_int_equal(r.timeout_ms, limit_get(LIMIT_EXEC_FRAME_MS));
	request_free(&r);
}

static void stdin_of_a_buffered_request(void **state)
{
	struct request r = {0};

	(void)state;
	assert_int_equal(frame("{\"id\":\"i\",\"cmd\":[\"a\"],\"stdin\":\"AAEC\"}", &r, NULL), 0);
	assert_true(r.stdin_open);
	assert_int_equal(r.stdin_bytes.len, 3);
	assert_memory_equal(buf_bytes(&r.stdin_bytes), "\0\1\2", 3);
	request_free(&r);
}

static void events(void **state)
{
	static const struct {
		const char *text;
		enum request_kind kind;
	} cases[] = {
		{"{\"event\":\"attach\",\"request\":1,\"exec\":\"workload\"}", REQUEST_ATTACH},
		{"{\"event\":\"signal\",\"request\":1,\"signal\":15}", REQUEST_SIGNAL},
		{"{\"event\":\"resize\",\"request\":1,\"rows\":5,\"cols\":6}", REQUEST_RESIZE},
		{"{\"event\":\"stdin-close\",\"request\":1}", REQUEST_STDIN_CLOSE},
		{"{\"event\":\"cancel\",\"request\":1}", REQUEST_CANCEL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct request r = {0};
		assert_int_equal(frame(cases[i].text, &r, NULL), 0);
		assert_int_equal(r.kind, cases[i].kind);
		assert_int_equal(r.number, 1);
		request_free(&r);
	}
}

static void breaches(void **state)
{
	static const char *const cases[] = {
		"",
		"[]",
		"{",
		"{\"cmd\":[\"a\"]}",
		"{\"id\":7,\"cmd\":[\"a\"]}",
		"{\"id\":\"i\",\"cmd\":[\"a\"],\"stream\":true}",
		"{\"id\":\"i\",\"cmd\":[\"a\"],\"stream\":true,\"request\":0}",
		"{\"id\":\"i\",\"cmd\":[\"a\"],\"stream\":1,\"request\":1}",
		"{\"id\":\"i\",\"id\":\"j\",\"cmd\":[\"a\"]}",
		"{\"event\":\"dance\",\"request\":1}",
		"{\"event\":\"signal\",\"request\":1,\"signal\":65}",
		"{\"event\":\"signal\",\"request\":1}",
		"{\"event\":\"resize\",\"request\":1,\"rows\":0,\"cols\":1}",
		"{\"event\":\"resize\",\"request\":1,\"rows\":1}",
		"{\"event\":\"cancel\"}",
		"{\"id\":\"i\",\"cmd\":[\"a\\u0000\"]}",
		"{\"event\":\"attach\",\"request\":1,\"exec\":\"../x\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct request r = {0};
		struct error err = {0};
		assert_int_equal(frame(cases[i], &r, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_null(r.doc);
	}
}

static void problems(void **state)
{
	static const struct {
		const char *text, *problem;
	} cases[] = {
		{"{\"id\":\"i\"}", "cmd is required"},
		{"{\"id\":\"i\",\"cmd\":[]}", "empty command"},
		{"{\"id\":\"i\",\"cmd\":\"sh -c x\"}", "cmd must be"},
		{"{\"id\":\"i\",\"cmd\":[\"a\",1]}", "cmd[1] must be a string"},
		{"{\"id\":\"i\",\"cmd\":[\"a\"],\"env\":{\"A=B\":\"\"}}",
		 "is not the name of a variable"},
		{"{\"id\":\"i\",\"cmd\":[\"a\"],\"env\":{\"A\":1}}", "env.A must be"},
		{"{\"id\":\"i\",\"cmd\":[\"a\"],\"cwd\":1}", "cwd must be"},
		{"{\"id\":\"i\",\"cmd\":[\"a\"],\"timeoutSeconds\":-1}", "timeoutSeconds"},
		{"{\"id\":\"i\",\"cmd\":[\"a\"],\"stdin\":\"!\"}", "stdin"},
		{"{\"id\":\"i\",\"cmd\":[\"a\"],\"stream\":true,\"request\":1,\"pty\":1}",
		 "pty must"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct request r = {0};
		assert_int_equal(frame(cases[i].text, &r, NULL), 0);
		assert_int_equal(r.kind, REQUEST_EXEC);
		assert_non_null(strstr(r.problem, cases[i].problem));
		request_free(&r);
	}
}

static void envelope_refusals(void **state)
{
	struct request r = {0};

	(void)state;
	assert_int_equal(envelope("{\"payload\":{}}", &r, NULL), -1);
	assert_int_equal(envelope("nonsense", &r, NULL), -1);
	assert_int_equal(envelope("{\"op\":\"dance\"}", &r, NULL), 0);
	assert_int_equal(r.kind, REQUEST_UNKNOWN_OP);
	assert_string_equal(r.op, "dance");
	request_free(&r);
	assert_int_equal(envelope("{\"op\":\"exec\"}", &r, NULL), 0);
	assert_non_null(strstr(r.problem, "payload is required"));
	request_free(&r);
	assert_int_equal(
		envelope("{\"op\":\"copyout\",\"payload\":{\"guest_path\":\"x\"}}", &r, NULL), 0);
	assert_non_null(strstr(r.problem, "absolute"));
	request_free(&r);
}

/* Fed byte by byte, the scanner finds the same ends as at once. */
static void scanner(void **state)
{
	static const char text[] = "{\"a\":\"}\\\"{\",\"b\":[1,{}]}\n{}  {\"c\":\n{}}]\nx\n";
	static const char *const values[] = {
		"{\"a\":\"}\\\"{\",\"b\":[1,{}]}", "\n", "{}", "  {\"c\":\n{}}", "]\n", "x\n"};
	struct envelope_scan scan = {0};
	const uint8_t *bytes = (const uint8_t *)text;
	size_t value = 0, have = 0, left = sizeof(text) - 1;

	(void)state;
	while (left > 0) {
		size_t len = envelope_scan(&scan, bytes, have);
		if (len == 0) {
			assert_true(have < left);
			have++;
			continue;
		}
		assert_true(value < ARRAY_SIZE(values));
		assert_int_equal(len, strlen(values[value]));
		assert_memory_equal(bytes, values[value], len);
		value++;
		bytes += len;
		left -= len;
		have -= len;
		scan = (struct envelope_scan){0};
	}
	assert_int_equal(value, ARRAY_SIZE(values));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(envelope_exec_as_documented),
		cmocka_unit_test(envelope_copyout_as_documented),
		cmocka_unit_test(envelope_answers_as_documented),
		cmocka_unit_test(envelope_answers_with_more),
		cmocka_unit_test(a_null_environment_is_absent),
		cmocka_unit_test(null_members_are_absent),
		cmocka_unit_test(null_values_are_refused),
		cmocka_unit_test(frame_as_documented),
		cmocka_unit_test(frame_answer_as_documented),
		cmocka_unit_test(every_byte_survives),
		cmocka_unit_test(stream_events),
		cmocka_unit_test(control_messages),
		cmocka_unit_test(stream_request),
		cmocka_unit_test(defaults_of_timeouts),
		cmocka_unit_test(stdin_of_a_buffered_request),
		cmocka_unit_test(events),
		cmocka_unit_test(breaches),
		cmocka_unit_test(problems),
		cmocka_unit_test(envelope_refusals),
		cmocka_unit_test(scanner),
	};

	return cmocka_run_group_tests_name("guest request", tests, NULL, NULL);
}
