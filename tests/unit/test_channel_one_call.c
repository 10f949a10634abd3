/* SPDX-License-Identifier: MIT */
/* Tests one call on a connection: its request, and how the guest's bytes are read. */
#include "test_calls.h"

#include "base/json.h"
#include "base/limits.h"

static const char *const true_words[] = {"true", NULL};

static void open_one(struct one *one)
{
	struct error err = {0};
	static const struct microagent_exec exec = {.command = true_words};

	assert_int_equal(one_begin(one, &exec, AGENT_INPUT_NONE, &err), 0);
}

/* Returns the next queued frame as JSON, and drops it from the queue. */
static json_t *take_json(struct one *one)
{
	struct error err = {0};
	const uint8_t *payload;
	size_t len;
	json_t *value;

	assert_int_equal(frame_peek(&one->calls.out, FRAME_MAX, &payload, &len, &err), 1);
	value = json_load_strict(payload, len, &err);
	assert_non_null(value);
	buf_consume(&one->calls.out, FRAME_HEADER + len);
	return value;
}

static void assert_broken(const char *json, const char *because)
{
	struct one one;
	struct call_item item;
	struct error err = {0};

	open_one(&one);
	feed_text(&one.calls, json);
	assert_int_equal(calls_next(&one.calls, &item, &err), -1);
	assert_int_equal(err.code, ERR_IO);
	if (!strstr(err.msg, because))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, because);
	calls_free(&one.calls);
}

static void test_request(void **state)
{
	static const char *const words[] = {"sh", "-c", "exit 3", NULL};
	static const char *const env[] = {"A=1", "B=x=y", "A=2", NULL};
	const struct microagent_exec exec = {
		.command = words, .env = env, .cwd = "/tmp", .user = "root", .timeout_seconds = 9};
	struct one one;
	struct error err = {0};
	json_auto_t *got = NULL, *want = NULL;
	char where[64];

	(void)state;
	assert_int_equal(one_begin(&one, &exec, AGENT_INPUT_STDIN, &err), 0);
	got = take_json(&one);
	want = json_pack("{s:s,s:i,s:b,s:[sss],s:{s:s,s:s},s:s,s:s,s:i,s:b,s:b}", "id", "1",
			 "request", 1, "stream", 1, "cmd", "sh", "-c", "exit 3", "env", "A", "2",
			 "B", "x=y", "cwd", "/tmp", "user", "root", "timeoutSeconds", 9, "stdin", 1,
			 "stdinWindow", 1);
	assert_int_equal(json_first_difference(got, want, where, sizeof(where)), 0);
	calls_free(&one.calls);
}

static void test_bad_requests(void **state)
{
	static const char *const none[] = {NULL};
	static const char *const bad_env[] = {"=x", NULL};
	static const char *const latin1[] = {"caf\xe9", NULL};
	const struct microagent_exec execs[] = {{.command = none},
						{.command = NULL},
						{.command = true_words, .env = bad_env},
						{.command = latin1}};
	struct one one;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct error err = {0};

		assert_int_equal(one_begin(&one, &execs[i], AGENT_INPUT_NONE, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		calls_free(&one.calls);
	}
}

static void test_control_events(void **state)
{
	struct one one = {0};
	struct error err = {0};
	const char *const names[] = {"attach", "stdin-close", "signal", "cancel"};

	(void)state;
	calls_init(&one.calls);
	assert_int_equal(calls_begin_workload(&one.calls, &one.call, &err), 0);
	assert_int_equal(calls_stdin_close(&one.calls, &one.call, &err), 0);
	assert_int_equal(calls_signal(&one.calls, &one.call, 15, &err), 0);
	assert_int_equal(calls_cancel(&one.calls, &one.call, &err), 0);
	for (size_t i = 0; i < 4; i++) {
		json_auto_t *event = take_json(&one);

		assert_string_equal(json_string_value(json_object_get(event, "event")), names[i]);
		assert_int_equal(json_integer_value(json_object_get(event, "request")), 1);
	}
	assert_int_equal(one.calls.out.len, 0);
	calls_free(&one.calls);
}

static void test_a_whole_run_byte_by_byte(void **state)
{
	struct one whole, one;
	struct call_item item;
	struct error err = {0};
	int seen[8]; /* kinds; of output which, behind them */
	size_t count = 0;

	(void)state;
	open_one(&whole);
	open_one(&one);
	feed_text(&whole.calls, "{\"event\":\"start\",\"request\":1,\"id\":\"1\",\"pid\":7}");
	feed_data(&whole.calls, 2, 1, "out");
	feed_text(&whole.calls, "{\"event\":\"of a later version\",\"request\":1}");
	feed_data(&whole.calls, 3, 1, "err");
	feed_data(&whole.calls, 2, 1, "");
	feed_text(&whole.calls, "{\"event\":\"exit\",\"request\":1,\"exitCode\":137,\"signal\":9,"
				"\"killed\":true,\"elapsedMs\":12,\"later\":[]}");
	for (size_t i = 0; i < whole.calls.in.len; i++) {
		int got;

		feed_bytes(&one.calls, buf_bytes(&whole.calls.in) + i, 1);
		got = calls_next(&one.calls, &item, &err);
		assert_true(got >= 0);
		if (got == 1) {
			assert_true(count < 8);
			seen[count++] = item.kind == CALL_OUTPUT
						? CALL_EXITED + 1 + (int)item.output
						: (int)item.kind;
		}
		if (got == 1 && item.kind == CALL_OUTPUT && item.output == MICROAGENT_STDERR)
			assert_memory_equal(item.bytes, "err", 3);
	}
	assert_int_equal(count, 5);
	assert_int_equal(seen[0], CALL_STARTED);
	assert_int_equal(seen[1], CALL_EXITED + 1 + MICROAGENT_STDOUT);
	assert_int_equal(seen[2], CALL_EXITED + 1 + MICROAGENT_STDERR);
	assert_int_equal(seen[3], CALL_EXITED + 1 + MICROAGENT_STDOUT);
	assert_int_equal(seen[4], CALL_EXITED);
	assert_int_equal(one.call.exit.exit_code, 137);
	assert_int_equal(one.call.exit.signal, 9);
	assert_true(one.call.exit.killed);
	assert_false(one.call.exit.timed_out);
	calls_free(&whole.calls);
	calls_free(&one.calls);
}

static void test_output_after_the_exit(void **state)
{
	struct one one;
	struct call_item item;
	struct error err = {0};

	(void)state;
	open_one(&one);
	feed_text(&one.calls, "{\"event\":\"exit\",\"request\":1,\"exitCode\":127,"
			      "\"startError\":\"no-such: not found\"}");
	assert_int_equal(calls_next(&one.calls, &item, &err), 1);
	assert_string_equal(one.call.exit.start_error, "no-such: not found");
	assert_int_equal(calls_next(&one.calls, &item, &err), 0);
	feed_data(&one.calls, 2, 1, "late");
	assert_int_equal(calls_next(&one.calls, &item, &err), -1);
	assert_int_equal(err.code, ERR_IO);
	assert_string_equal(one.call.exit.start_error, "no-such: not found");
	calls_free(&one.calls);
}

/* Whatever killed it in the end, people know the code of timeout(1). */
static void test_a_time_limit_of_the_guest(void **state)
{
	struct one one;
	struct call_item item;

	(void)state;
	open_one(&one);
	feed_text(&one.calls, "{\"event\":\"exit\",\"request\":1,\"exitCode\":137,\"signal\":9,"
			      "\"timedOut\":true}");
	assert_int_equal(calls_next(&one.calls, &item, NULL), 1);
	assert_int_equal(item.kind, CALL_EXITED);
	assert_int_equal(one.call.exit.exit_code, 124);
	assert_int_equal(one.call.exit.signal, 9);
	assert_true(one.call.exit.timed_out);
	calls_free(&one.calls);
}

static void test_hostile_json(void **state)
{
	(void)state;
	assert_broken("{\"event\":\"error\",\"error\":\"no such user\"}", "no such user");
	assert_broken("{\"event\":\"error\"}", "no reason");
	assert_broken("{\"event\":7}", "event");
	assert_broken("{}", "event");
	assert_broken("{", "");
	assert_broken("x", "");
	assert_broken("{\"event\":\"start\",\"request\":2}", "request 2");
	assert_broken("{\"event\":\"start\",\"request\":-1}", "request");
	assert_broken("{\"event\":\"exit\",\"request\":1}", "exitCode");
	assert_broken("{\"event\":\"exit\",\"request\":1,\"exitCode\":256}", "exitCode");
	assert_broken("{\"event\":\"exit\",\"request\":1,\"exitCode\":-1}", "exitCode");
	assert_broken("{\"event\":\"exit\",\"request\":1,\"exitCode\":0,\"signal\":65}", "signal");
	assert_broken("{\"event\":\"exit\",\"request\":1,\"exitCode\":0,\"startError\":1}",
		      "startError");
}

static void test_hostile_data(void **state)
{
	static const struct {
		uint8_t type;
		uint64_t request;
		bool started;
	} cases[] = {{2, 1, false}, {2, 2, true}, {3, UINT64_MAX, true}, {1, 1, true}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct one one;
		struct call_item item;
		struct error err = {0};

		open_one(&one);
		one.calls.slots[1].started = cases[i].started;
		feed_data(&one.calls, cases[i].type, cases[i].request, "x");
		assert_int_equal(calls_next(&one.calls, &item, &err), -1);
		assert_int_equal(err.code, ERR_IO);
		calls_free(&one.calls);
	}
}

static void test_short_data_frame(void **state)
{
	struct one one;
	struct call_item item;
	struct error err = {0};

	(void)state;
	open_one(&one);
	one.calls.slots[1].started = true;
	feed_frame(&one.calls, "\2\0\0\0\0\0\0\0", 8);
	assert_int_equal(calls_next(&one.calls, &item, &err), -1);
	calls_free(&one.calls);
}

static void test_frame_lengths(void **state)
{
	const uint32_t limit = (uint32_t)limit_get(LIMIT_STREAM_FRAME_BYTES) + 9;
	const uint32_t lengths[] = {0, limit + 1, 0x7b000000, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct one one;
		struct call_item item;
		struct error err = {0};
		uint8_t header[FRAME_HEADER];

		open_one(&one);
		be32_put(header, lengths[i]);
		feed_bytes(&one.calls, header, sizeof(header));
		assert_int_equal(calls_next(&one.calls, &item, &err), -1);
		assert_int_equal(err.code, ERR_IO);
		calls_free(&one.calls);
	}
}

static size_t left(const struct calls *calls)
{
	return calls->in.limit - calls->in.len;
}

static size_t room_of(struct calls *calls)
{
	size_t room = 1;

	assert_non_null(calls_space(calls, &room, NULL));
	return room;
}

/* Room is bounded, and items that are taken give it back. */
static void test_room(void **state)
{
	struct one one;
	struct call_item item;
	struct error err = {0};
	static uint8_t payload[65536 + 9];
	const size_t frame = FRAME_HEADER + sizeof(payload);

	(void)state;
	open_one(&one);
	one.calls.slots[1].started = true;
	payload[0] = 2;
	be64_put(payload + 1, 1);
	assert_int_equal(left(&one.calls), 2 * frame);
	feed_frame(&one.calls, payload, sizeof(payload));
	feed_frame(&one.calls, payload, sizeof(payload));
	assert_int_equal(left(&one.calls), 0);
	assert_int_equal(room_of(&one.calls), 0);
	assert_int_equal(calls_next(&one.calls, &item, &err), 1);
	assert_int_equal(item.len, 65536);
	assert_int_equal(calls_next(&one.calls, &item, &err), 1);
	assert_int_equal(left(&one.calls), frame);
	assert_int_equal(calls_next(&one.calls, &item, &err), 0);
	assert_int_equal(left(&one.calls), 2 * frame);
	calls_free(&one.calls);
}

static void test_stdin_is_bounded(void **state)
{
	struct one one;
	struct error err = {0};
	static uint8_t bytes[65536];
	size_t queued = 0, room;

	(void)state;
	open_one(&one);
	while ((room = calls_stdin_room(&one.calls, &one.call)) > 0) {
		assert_true(room <= sizeof(bytes));
		assert_int_equal(calls_stdin(&one.calls, &one.call, bytes, room, &err), 0);
		queued += room;
		assert_true(queued <= 1 << 20);
	}
	assert_true(queued >= 65536);
	buf_consume(&one.calls.out, one.calls.out.len);
	assert_int_equal(calls_stdin(&one.calls, &one.call, "ab", 2, &err), 0);
	assert_int_equal(one.calls.out.len, 4 + 9 + 2);
	assert_memory_equal(buf_bytes(&one.calls.out),
			    "\0\0\0\x0b\1\0\0\0\0\0\0\0\1"
			    "ab",
			    15);
	calls_free(&one.calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_control_events),
		cmocka_unit_test(test_a_whole_run_byte_by_byte),
		cmocka_unit_test(test_output_after_the_exit),
		cmocka_unit_test(test_a_time_limit_of_the_guest),
		cmocka_unit_test(test_hostile_json),
		cmocka_unit_test(test_hostile_data),
		cmocka_unit_test(test_short_data_frame),
		cmocka_unit_test(test_frame_lengths),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_stdin_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
