/* SPDX-License-Identifier: MIT */
/* The client's side of the streaming mode: what it asks, and what it makes of the guest's bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/agent.h"

static const char *const true_words[] = {"true", NULL};

static void open_stream(struct agent_stream *stream)
{
	struct error err = {0};
	const struct agent_exec exec = {.command = true_words};

	assert_int_equal(agent_stream_exec(stream, &exec, &err), 0);
}

/* The next queued frame as JSON, and it is dropped from the queue. */
static json_t *take_json(struct agent_stream *stream)
{
	struct error err = {0};
	const uint8_t *payload;
	size_t len;
	json_t *value;

	assert_int_equal(frame_peek(&stream->out, FRAME_MAX, &payload, &len, &err), 1);
	value = json_load_strict(payload, len, &err);
	assert_non_null(value);
	buf_consume(&stream->out, FRAME_HEADER + len);
	return value;
}

static void feed_frame(struct agent_stream *stream, const void *payload, size_t len)
{
	uint8_t header[FRAME_HEADER];
	struct error err = {0};

	be32_put(header, (uint32_t)len);
	assert_int_equal(agent_stream_feed(stream, header, sizeof(header), &err), 0);
	assert_int_equal(agent_stream_feed(stream, payload, len, &err), 0);
}

static void feed_json(struct agent_stream *stream, const char *text)
{
	feed_frame(stream, text, strlen(text));
}

static void feed_data(struct agent_stream *stream, uint8_t type, uint64_t request, const char *text)
{
	uint8_t payload[64];
	size_t len = strlen(text);

	payload[0] = type;
	be64_put(payload + 1, request);
	memcpy(payload + 9, text, len);
	feed_frame(stream, payload, 9 + len);
}

static void assert_broken(const char *json, const char *because)
{
	struct agent_stream stream;
	struct agent_item item;
	struct error err = {0};

	open_stream(&stream);
	feed_json(&stream, json);
	assert_int_equal(agent_stream_next(&stream, &item, &err), -1);
	assert_int_equal(err.code, ERR_IO);
	if (!strstr(err.msg, because))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, because);
	agent_stream_free(&stream);
}

static void test_request(void **state)
{
	static const char *const words[] = {"sh", "-c", "exit 3", NULL};
	static const char *const env[] = {"A=1", "B=x=y", "A=2", NULL};
	const struct agent_exec exec = {.command = words,
					.env = env,
					.cwd = "/tmp",
					.user = "root",
					.timeout_seconds = 9,
					.stdin_open = true};
	struct agent_stream stream;
	struct error err = {0};
	json_auto_t *got = NULL, *want = NULL;
	char where[64];

	(void)state;
	assert_int_equal(agent_stream_exec(&stream, &exec, &err), 0);
	got = take_json(&stream);
	want = json_pack("{s:s,s:i,s:b,s:[sss],s:{s:s,s:s},s:s,s:s,s:i,s:b,s:b}", "id", "1",
			 "request", 1, "stream", 1, "cmd", "sh", "-c", "exit 3", "env", "A", "2",
			 "B", "x=y", "cwd", "/tmp", "user", "root", "timeoutSeconds", 9, "stdin", 1,
			 "stdinWindow", 1);
	assert_int_equal(json_first_difference(got, want, where, sizeof(where)), 0);
	agent_stream_free(&stream);
}

static void test_bad_requests(void **state)
{
	static const char *const none[] = {NULL};
	static const char *const bad_env[] = {"=x", NULL};
	static const char *const latin1[] = {"caf\xe9", NULL};
	const struct agent_exec execs[] = {{.command = none},
					   {.command = NULL},
					   {.command = true_words, .env = bad_env},
					   {.command = latin1}};
	struct agent_stream stream;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct error err = {0};

		assert_int_equal(agent_stream_exec(&stream, &execs[i], &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		agent_stream_free(&stream);
	}
}

static void test_control_events(void **state)
{
	struct agent_stream stream;
	struct error err = {0};
	const char *const names[] = {"attach", "stdin-close", "signal", "cancel"};

	(void)state;
	assert_int_equal(agent_stream_workload(&stream, &err), 0);
	assert_int_equal(agent_stream_stdin_close(&stream, &err), 0);
	assert_int_equal(agent_stream_signal(&stream, 15, &err), 0);
	assert_int_equal(agent_stream_cancel(&stream, &err), 0);
	for (size_t i = 0; i < 4; i++) {
		json_auto_t *event = take_json(&stream);

		assert_string_equal(json_string_value(json_object_get(event, "event")), names[i]);
		assert_int_equal(json_integer_value(json_object_get(event, "request")), 1);
	}
	assert_int_equal(stream.out.len, 0);
	agent_stream_free(&stream);
}

static void test_a_whole_run_byte_by_byte(void **state)
{
	struct agent_stream whole, stream;
	struct agent_item item;
	struct error err = {0};
	enum agent_item_kind seen[8];
	size_t count = 0;

	(void)state;
	open_stream(&whole);
	open_stream(&stream);
	feed_json(&whole, "{\"event\":\"start\",\"request\":1,\"id\":\"1\",\"pid\":7}");
	feed_data(&whole, 2, 1, "out");
	feed_json(&whole, "{\"event\":\"of a later version\",\"request\":1}");
	feed_data(&whole, 3, 1, "err");
	feed_data(&whole, 2, 1, "");
	feed_json(&whole, "{\"event\":\"exit\",\"request\":1,\"exitCode\":137,\"signal\":9,"
			  "\"killed\":true,\"elapsedMs\":12,\"later\":[]}");
	for (size_t i = 0; i < whole.in.len; i++) {
		int got;

		assert_int_equal(agent_stream_feed(&stream, buf_bytes(&whole.in) + i, 1, &err), 0);
		got = agent_stream_next(&stream, &item, &err);
		assert_true(got >= 0);
		if (got == 1) {
			assert_true(count < 8);
			seen[count++] = item.kind;
		}
		if (got == 1 && item.kind == AGENT_ITEM_STDERR)
			assert_memory_equal(item.bytes, "err", 3);
	}
	assert_int_equal(count, 5);
	assert_int_equal(seen[0], AGENT_ITEM_START);
	assert_int_equal(seen[1], AGENT_ITEM_STDOUT);
	assert_int_equal(seen[2], AGENT_ITEM_STDERR);
	assert_int_equal(seen[3], AGENT_ITEM_STDOUT);
	assert_int_equal(seen[4], AGENT_ITEM_EXIT);
	assert_int_equal(item.exit.exit_code, 137);
	assert_int_equal(item.exit.signal, 9);
	assert_true(item.exit.killed);
	assert_false(item.exit.timed_out);
	agent_stream_free(&whole);
	agent_stream_free(&stream);
}

static void test_nothing_after_the_exit(void **state)
{
	struct agent_stream stream;
	struct agent_item item;
	struct error err = {0};

	(void)state;
	open_stream(&stream);
	feed_json(&stream, "{\"event\":\"exit\",\"request\":1,\"exitCode\":127,"
			   "\"startError\":\"no-such: not found\"}");
	feed_data(&stream, 2, 1, "late");
	assert_int_equal(agent_stream_next(&stream, &item, &err), 1);
	assert_string_equal(item.exit.start_error, "no-such: not found");
	assert_int_equal(agent_stream_next(&stream, &item, &err), 0);
	agent_stream_free(&stream);
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
		struct agent_stream stream;
		struct agent_item item;
		struct error err = {0};

		open_stream(&stream);
		stream.started = cases[i].started;
		feed_data(&stream, cases[i].type, cases[i].request, "x");
		assert_int_equal(agent_stream_next(&stream, &item, &err), -1);
		assert_int_equal(err.code, ERR_IO);
		agent_stream_free(&stream);
	}
}

static void test_short_data_frame(void **state)
{
	struct agent_stream stream;
	struct agent_item item;
	struct error err = {0};

	(void)state;
	open_stream(&stream);
	stream.started = true;
	feed_frame(&stream, "\2\0\0\0\0\0\0\0", 8);
	assert_int_equal(agent_stream_next(&stream, &item, &err), -1);
	agent_stream_free(&stream);
}

static void test_frame_lengths(void **state)
{
	const uint32_t limit = (uint32_t)limit_get(LIMIT_STREAM_FRAME_BYTES) + 9;
	const uint32_t lengths[] = {0, limit + 1, 0x7b000000, UINT32_MAX};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct agent_stream stream;
		struct agent_item item;
		struct error err = {0};
		uint8_t header[FRAME_HEADER];

		open_stream(&stream);
		be32_put(header, lengths[i]);
		assert_int_equal(agent_stream_feed(&stream, header, sizeof(header), &err), 0);
		assert_int_equal(agent_stream_next(&stream, &item, &err), -1);
		assert_int_equal(err.code, ERR_IO);
		agent_stream_free(&stream);
	}
}

/* Room is bounded, and items that are taken give it back. */
static void test_room(void **state)
{
	struct agent_stream stream;
	struct agent_item item;
	struct error err = {0};
	static uint8_t payload[65536 + 9];
	const size_t frame = FRAME_HEADER + sizeof(payload);

	(void)state;
	open_stream(&stream);
	stream.started = true;
	payload[0] = 2;
	be64_put(payload + 1, 1);
	assert_int_equal(agent_stream_room(&stream), 2 * frame);
	feed_frame(&stream, payload, sizeof(payload));
	feed_frame(&stream, payload, sizeof(payload));
	assert_int_equal(agent_stream_room(&stream), 0);
	assert_int_equal(agent_stream_feed(&stream, "x", 1, &err), -1);
	assert_int_equal(agent_stream_next(&stream, &item, &err), 1);
	assert_int_equal(item.len, 65536);
	assert_int_equal(agent_stream_next(&stream, &item, &err), 1);
	assert_int_equal(agent_stream_room(&stream), frame);
	assert_int_equal(agent_stream_next(&stream, &item, &err), 0);
	assert_int_equal(agent_stream_room(&stream), 2 * frame);
	agent_stream_free(&stream);
}

static void test_stdin_is_bounded(void **state)
{
	struct agent_stream stream;
	struct error err = {0};
	static uint8_t bytes[65536];
	size_t queued = 0, room;

	(void)state;
	open_stream(&stream);
	while ((room = agent_stream_stdin_room(&stream)) > 0) {
		assert_true(room <= sizeof(bytes));
		assert_int_equal(agent_stream_stdin(&stream, bytes, room, &err), 0);
		queued += room;
		assert_true(queued <= 1 << 20);
	}
	assert_true(queued >= 65536);
	buf_consume(&stream.out, stream.out.len);
	assert_int_equal(agent_stream_stdin(&stream, "ab", 2, &err), 0);
	assert_int_equal(stream.out.len, 4 + 9 + 2);
	assert_memory_equal(buf_bytes(&stream.out),
			    "\0\0\0\x0b\1\0\0\0\0\0\0\0\1"
			    "ab",
			    15);
	agent_stream_free(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_control_events),
		cmocka_unit_test(test_a_whole_run_byte_by_byte),
		cmocka_unit_test(test_nothing_after_the_exit),
		cmocka_unit_test(test_hostile_json),
		cmocka_unit_test(test_hostile_data),
		cmocka_unit_test(test_short_data_frame),
		cmocka_unit_test(test_frame_lengths),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_stdin_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
