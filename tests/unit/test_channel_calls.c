/* SPDX-License-Identifier: MIT */
/* Tests many requests on one connection: how the client reads the guest's bytes. */
#include "test_calls.h"

#include <stdio.h>

#include "base/json.h"

static const char *const words[] = {"true", NULL};
static const struct microagent_exec exec = {.command = words};

static void feed_event(struct calls *calls, const char *name, uint64_t request, int code)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"event\":\"%s\",\"request\":%llu,\"exitCode\":%d}", name,
		 (unsigned long long)request, code);
	feed_text(calls, text);
}

/* Makes a connection that has reached the guest, with `count` calls begun. */
static void open_calls(struct calls *calls, struct agent_call *list, size_t count)
{
	struct call_item item;

	assert_int_equal(calls_init_dial(calls, NULL), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(calls_begin(calls, &list[i], &exec, AGENT_INPUT_STDIN, NULL), 0);
	feed_bytes(calls, "OK 1\n", 5);
	assert_int_equal(calls_next(calls, &item, NULL), 0);
	assert_true(calls->reached);
}

static int take_all(struct calls *calls, struct error *err)
{
	struct call_item item;
	int got;

	while ((got = calls_next(calls, &item, err)) == 1)
		if (item.kind == CALL_OUTPUT)
			assert_int_equal(agent_call_keep(&item, NULL), 0);
	return got;
}

static void test_requests_go_with_the_dial(void **state)
{
	static const char line[] = "CONNECT 2222\n";
	struct agent_call call = {0};
	autobuf struct buf request = BUF_INIT(0);
	struct calls calls;

	(void)state;
	assert_int_equal(
		agent_message_exec(&request, 1, &exec, AGENT_INPUT_STDIN, NULL, NULL, NULL), 0);
	assert_int_equal(calls_init_dial(&calls, NULL), 0);
	assert_int_equal(calls_begin(&calls, &call, &exec, AGENT_INPUT_STDIN, NULL), 0);
	assert_int_equal(calls.out.len, strlen(line) + request.len);
	assert_memory_equal(buf_bytes(&calls.out), line, strlen(line));
	assert_memory_equal(buf_bytes(&calls.out) + strlen(line), buf_bytes(&request), request.len);
	calls_free(&calls);
}

/* The agent's first word after the line, cut anywhere. */
static void test_an_answer_in_two_pieces(void **state)
{
	static const char start[] = "{\"event\":\"start\",\"request\":1}";
	uint8_t bytes[5 + FRAME_HEADER + sizeof(start) - 1] = "OK 7\n";
	size_t len = sizeof(bytes);

	(void)state;
	be32_put(bytes + 5, sizeof(start) - 1);
	memcpy(bytes + 5 + FRAME_HEADER, start, sizeof(start) - 1);
	for (size_t at = 1; at <= len; at++) {
		struct agent_call call = {0};
		struct call_item item;
		struct calls calls;

		assert_int_equal(calls_init_dial(&calls, NULL), 0);
		assert_int_equal(calls_begin(&calls, &call, &exec, AGENT_INPUT_NONE, NULL), 0);
		feed_bytes(&calls, bytes, at);
		assert_int_equal(calls_next(&calls, &item, NULL), at == len);
		assert_int_equal(calls.reached, at >= 5);
		feed_bytes(&calls, bytes + at, len - at);
		if (at < len)
			assert_int_equal(calls_next(&calls, &item, NULL), 1);
		assert_int_equal(item.kind, CALL_STARTED);
		assert_int_equal(calls_next(&calls, &item, NULL), 0);
		calls_free(&calls);
	}
}

static void test_a_wrong_answer_to_the_dial(void **state)
{
	static const char *const answers[] = {"NO 1\n", "OK\n",
					      "OK 11111111111111111111111111111111"};
	struct call_item item;
	struct calls calls;
	struct error err;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(calls_init_dial(&calls, NULL), 0);
		feed_bytes(&calls, answers[i], strlen(answers[i]));
		assert_int_equal(calls_next(&calls, &item, &err), -1);
		assert_int_equal(err.code, ERR_IO);
		calls_free(&calls);
	}
}

static void test_interleaved(void **state)
{
	struct agent_call list[3] = {{.cap = {9, 9}}, {.cap = {2, 9}}, {.cap = {9, 9}}};
	struct calls calls;

	(void)state;
	open_calls(&calls, list, 3);
	feed_event(&calls, "start", 2, 0);
	feed_event(&calls, "start", 1, 0);
	feed_data(&calls, 2, 2, "two");
	feed_data(&calls, 3, 1, "one");
	feed_data(&calls, 3, 2, "err");
	feed_event(&calls, "exit", 3, 127);
	feed_event(&calls, "exit", 2, 2);
	feed_event(&calls, "exit", 1, 1);
	assert_int_equal(take_all(&calls, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_true(list[i].ended);
	assert_int_equal(list[0].exit.exit_code, 1);
	assert_int_equal(list[1].exit.exit_code, 2);
	assert_int_equal(list[2].exit.exit_code, 127);
	assert_string_equal(buf_string(&list[0].kept[MICROAGENT_STDERR]), "one");
	assert_string_equal(buf_string(&list[1].kept[MICROAGENT_STDOUT]), "tw");
	assert_true(list[1].truncated[MICROAGENT_STDOUT]);
	assert_false(list[1].truncated[MICROAGENT_STDERR]);
	assert_int_equal(calls.count, 0);
	for (int i = 0; i < 3; i++)
		agent_call_free(&list[i]);
	calls_free(&calls);
}

/* An item's bytes are in the queue itself, and stay there until the next item is asked for. */
static void test_items_say_whose_they_are(void **state)
{
	struct agent_call list[2] = {{.cap = {9, 9}}, {.cap = {9, 9}}};
	struct call_item item;
	struct calls calls;

	(void)state;
	open_calls(&calls, list, 2);
	feed_event(&calls, "start", 2, 0);
	feed_data(&calls, 3, 2, "two");
	assert_int_equal(calls_next(&calls, &item, NULL), 1);
	assert_int_equal(item.kind, CALL_STARTED);
	assert_true(item.call == &list[1] && list[1].started && !list[0].started);
	assert_int_equal(calls_next(&calls, &item, NULL), 1);
	assert_int_equal(item.kind, CALL_OUTPUT);
	assert_true(item.call == &list[1] && item.output == MICROAGENT_STDERR);
	assert_int_equal(item.len, 3);
	assert_true(item.bytes + item.len == buf_bytes(&calls.in) + calls.in.len);
	assert_int_equal(calls_next(&calls, &item, NULL), 0);
	assert_int_equal(calls.in.len, 0);
	calls_free(&calls);
}

/* A call that is abandoned goes on in the guest. It is read to its end, and nothing is kept. */
static void test_abandoned(void **state)
{
	struct agent_call list[1] = {{.cap = {9, 9}}};
	struct calls calls;

	(void)state;
	open_calls(&calls, list, 1);
	calls_abandon(&calls, &list[0]);
	memset(list, 0xff, sizeof(list));
	feed_event(&calls, "start", 1, 0);
	feed_data(&calls, 2, 1, "x");
	feed_event(&calls, "exit", 1, 0);
	assert_int_equal(take_all(&calls, NULL), 0);
	assert_int_equal(calls.count, 0);
	calls_free(&calls);
}

static void test_numbers_are_not_used_again(void **state)
{
	static struct agent_call list[CALLS_MAX + 1];
	struct calls calls;
	struct error err;

	(void)state;
	memset(list, 0, sizeof(list));
	open_calls(&calls, list, CALLS_MAX);
	assert_int_equal(calls_begin(&calls, &list[CALLS_MAX], &exec, AGENT_INPUT_STDIN, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	feed_event(&calls, "exit", 7, 0);
	assert_int_equal(take_all(&calls, NULL), 0);
	assert_int_equal(calls_begin(&calls, &list[CALLS_MAX], &exec, AGENT_INPUT_STDIN, &err), 0);
	assert_true(list[CALLS_MAX].number > CALLS_MAX);
	calls_free(&calls);
}

/* One row: the guest's messages with calls 1 and 2 begun and 1 started. */
static void test_breaches(void **state)
{
	static const struct {
		const char *event; /* NULL: data */
		uint64_t request;
		const char *because;
	} rows[] = {
		{"start", 1, "reports a second start"},
		{"start", 3, "request 3"},
		{"exit", 3, "request 3"},
		{"exit", 257, "request 257"},
		{NULL, 2, "2, which has not started"},
		{NULL, 3, "request 3"},
		{NULL, 0, "request 0"},
		{NULL, UINT64_MAX, "which"},
		{"error", 1, "reports"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct agent_call list[2] = {{.cap = {9, 9}}, {.cap = {9, 9}}};
		struct calls calls;
		struct error err = {0};

		open_calls(&calls, list, 2);
		feed_event(&calls, "start", 1, 0);
		if (rows[i].event)
			feed_event(&calls, rows[i].event, rows[i].request, 0);
		else
			feed_data(&calls, 2, rows[i].request, "x");
		assert_int_equal(take_all(&calls, &err), -1);
		assert_int_equal(err.code, ERR_IO);
		if (!strstr(err.msg, rows[i].because))
			fail_msg("\"%s\" does not say \"%s\"", err.msg, rows[i].because);
		calls_free(&calls);
	}
}

static void test_two_answers_for_one_number(void **state)
{
	struct agent_call list[1] = {{0}};
	struct calls calls;
	struct error err = {0};

	(void)state;
	open_calls(&calls, list, 1);
	feed_event(&calls, "exit", 1, 0);
	feed_event(&calls, "exit", 1, 0);
	assert_int_equal(take_all(&calls, &err), -1);
	assert_int_equal(err.code, ERR_IO);
	assert_true(list[0].ended);
	calls_free(&calls);
}

/* --- stdin ----------------------------------------------------------------------------------- */

#define WINDOW 524288 /* LIMIT_STDIN_WINDOW_BYTES */

static void feed_offset(struct calls *calls, const char *name, uint64_t request, uint64_t offset)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"event\":\"%s\",\"request\":%llu,\"stdinOffset\":%llu}",
		 name, (unsigned long long)request, (unsigned long long)offset);
	feed_text(calls, text);
}

/* Sends as much as allowed. Queued bytes count as sent. */
static size_t send_stdin(struct calls *calls, const struct agent_call *call, size_t most)
{
	static const uint8_t bytes[65536];
	size_t sent = 0, n;

	while (sent < most && (n = calls_stdin_room(calls, call)) > 0) {
		n = n < most - sent ? n : most - sent;
		assert_true(n <= sizeof(bytes));
		assert_int_equal(calls_stdin(calls, call, bytes, n, NULL), 0);
		buf_consume(&calls->out, calls->out.len);
		sent += n;
	}
	return sent;
}

static void test_stdin_has_a_window(void **state)
{
	struct agent_call list[2] = {0};
	struct calls calls;

	(void)state;
	open_calls(&calls, list, 2);
	assert_int_equal(send_stdin(&calls, &list[0], 1 << 20), WINDOW); /* before the start too */
	feed_offset(&calls, "start", 1, 1000);
	assert_int_equal(take_all(&calls, NULL), 0);
	assert_int_equal(send_stdin(&calls, &list[0], 1 << 20), 1000);
	assert_int_equal(send_stdin(&calls, &list[1], 1 << 20), WINDOW); /* its own */
	feed_offset(&calls, "ack", 1, WINDOW + 1000);
	assert_int_equal(take_all(&calls, NULL), 0);
	assert_int_equal(send_stdin(&calls, &list[0], 1 << 20), WINDOW);
	calls_free(&calls);
}

static void test_an_agent_without_windows(void **state)
{
	struct agent_call call = {0};
	struct calls calls;

	(void)state;
	open_calls(&calls, &call, 1);
	assert_int_equal(send_stdin(&calls, &call, 1 << 20), WINDOW);
	feed_event(&calls, "start", 1, 0);
	assert_int_equal(take_all(&calls, NULL), 0);
	assert_int_equal(send_stdin(&calls, &call, 1 << 20), 1 << 20);
	calls_free(&calls);
}

/* A full queue delays calls, except those that have nothing in it. */
static void test_everybody_has_a_turn(void **state)
{
	static const uint8_t bytes[65536];
	struct agent_call list[6] = {0};
	struct calls calls;
	int queued = 0;

	(void)state;
	open_calls(&calls, list, 6);
	for (int i = 0; i < 2; i++)
		for (size_t n; (n = calls_stdin_room(&calls, &list[i])) > 0; queued++)
			assert_int_equal(calls_stdin(&calls, &list[i], bytes, n, NULL), 0);
	assert_in_range(queued, 4, 6);
	assert_int_equal(calls_stdin_room(&calls, &list[0]), 0);
	assert_int_equal(calls_stdin_room(&calls, &list[5]), sizeof(bytes));
	calls_free(&calls);
}

static void test_offsets_that_cannot_be(void **state)
{
	static const uint64_t offsets[] = {101, 9};
	struct agent_call call = {0};
	struct calls calls;
	struct error err;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		open_calls(&calls, &call, 1);
		assert_int_equal(send_stdin(&calls, &call, 100), 100);
		feed_offset(&calls, "start", 1, 10);
		assert_int_equal(take_all(&calls, NULL), 0);
		feed_offset(&calls, "ack", 1, offsets[i]);
		assert_int_equal(take_all(&calls, &err), -1);
		assert_int_equal(err.code, ERR_IO);
		assert_non_null(strstr(err.msg, "bytes of stdin, which cannot be true"));
		calls_free(&calls);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_go_with_the_dial),
		cmocka_unit_test(test_an_answer_in_two_pieces),
		cmocka_unit_test(test_a_wrong_answer_to_the_dial),
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_items_say_whose_they_are),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_numbers_are_not_used_again),
		cmocka_unit_test(test_breaches),
		cmocka_unit_test(test_two_answers_for_one_number),
		cmocka_unit_test(test_stdin_has_a_window),
		cmocka_unit_test(test_an_agent_without_windows),
		cmocka_unit_test(test_everybody_has_a_turn),
		cmocka_unit_test(test_offsets_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
