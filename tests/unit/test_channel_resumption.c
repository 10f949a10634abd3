/* SPDX-License-Identifier: MIT */
/* Tests the client's side of a resumable exec: its messages on each of its connections, and what it
 * does not believe. */
#include "test_calls.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/json.h"

#define WINDOW 131072 /* STDIN_AGAIN_BYTES */
#define ACK 32768     /* LIMIT_ACK_BYTES */

static const char *const words[] = {"cat", NULL};

static int open_one(void **state)
{
	static struct one one;
	static const struct microagent_exec exec = {.command = words, .resume_seconds = 60};

	assert_int_equal(one_begin(&one, &exec, AGENT_INPUT_STDIN, NULL), 0);
	strcpy(one.calls.resumption.exec, "known");
	*state = &one;
	return 0;
}

static int close_one(void **state)
{
	struct one *one = *state;

	calls_free(&one->calls);
	return 0;
}

/* Returns the next queued frame: JSON, or NULL with its length for one of stdin. */
static json_t *said(struct one *one, size_t *stdin_len)
{
	const uint8_t *payload;
	json_t *value = NULL;
	size_t len;

	assert_int_equal(frame_peek(&one->calls.out, FRAME_MAX, &payload, &len, NULL), 1);
	if (payload[0] == '{') {
		value = json_load_strict(payload, len, NULL);
		assert_non_null(value);
	} else {
		assert_non_null(stdin_len);
		assert_int_equal(payload[0], 1);
		*stdin_len = len - 9;
	}
	buf_consume(&one->calls.out, FRAME_HEADER + len);
	return value;
}

static int64_t number_of(const json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

static json_t *said_event(struct one *one, const char *event)
{
	json_t *value = said(one, NULL);

	assert_string_equal(json_string_value(json_object_get(value, "event")), event);
	return value;
}

static void feed_start(struct one *one, const char *exec, int64_t offset)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "{\"event\":\"start\",\"request\":1,\"id\":\"1\",\"pid\":2,\"exec\":\"%s\","
		 "\"stdinOffset\":%lld}",
		 exec, (long long)offset);
	feed_text(&one->calls, text);
}

static void feed_output(struct one *one, uint8_t type, size_t len)
{
	static uint8_t payload[9 + 65536];

	payload[0] = type;
	be64_put(payload + 1, 1);
	feed_frame(&one->calls, payload, 9 + len);
}

/* Returns the next item; output < 0: there is none. */
static void next(struct one *one, enum call_item_kind kind, int output)
{
	struct call_item item;

	assert_int_equal(calls_next(&one->calls, &item, NULL), 1);
	assert_int_equal(item.kind, kind);
	if (output >= 0)
		assert_int_equal(item.output, output);
}

static void nothing_more(struct one *one)
{
	struct call_item item;

	assert_int_equal(calls_next(&one->calls, &item, NULL), 0);
}

static void refused(struct one *one, const char *because)
{
	struct call_item item;
	struct error err = {0};

	assert_int_equal(calls_next(&one->calls, &item, &err), -1);
	assert_int_equal(err.code, ERR_IO);
	if (!strstr(err.msg, because))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, because);
}

static void begun(struct one *one)
{
	json_decref(said(one, NULL));
	feed_start(one, "known", 0);
	next(one, CALL_STARTED, -1);
}

static void test_request(void **state)
{
	struct one one;
	const struct microagent_exec exec = {.command = words, .resume_seconds = 60};
	json_auto_t *request = NULL;

	(void)state;
	assert_int_equal(one_begin(&one, &exec, AGENT_INPUT_STDIN, NULL), 0);
	request = said(&one, NULL);
	assert_int_equal(number_of(request, "resume"), 60);
	assert_int_equal(json_string_length(json_object_get(request, "exec")), RESUMPTION_ID);
	calls_free(&one.calls);
}

/* Output counts when the caller is done with it, and is acknowledged in groups. */
static void test_acknowledges_what_was_taken(void **state)
{
	struct one *one = *state;
	json_auto_t *ack = NULL;

	begun(one);
	feed_output(one, 2, ACK - 1);
	feed_output(one, 3, 5);
	next(one, CALL_OUTPUT, MICROAGENT_STDOUT);
	next(one, CALL_OUTPUT, MICROAGENT_STDERR);
	assert_int_equal(one->calls.out.len, 0);
	feed_output(one, 2, 1);
	next(one, CALL_OUTPUT, MICROAGENT_STDOUT);
	nothing_more(one);
	ack = said_event(one, "ack");
	assert_int_equal(number_of(ack, "stdoutOffset"), ACK);
	assert_int_equal(number_of(ack, "stderrOffset"), 5);
	feed_text(&one->calls, "{\"event\":\"exit\",\"request\":1,\"id\":\"1\",\"exitCode\":0,"
			       "\"killed\":false,\"elapsedMs\":1}");
	next(one, CALL_EXITED, -1);
	assert_false(calls_can_resume(&one->calls));
	assert_int_equal(calls_release(&one->calls, NULL), 0);
	json_decref(said_event(one, "release"));
}

static void test_goes_on_over_another_connection(void **state)
{
	struct one *one = *state;
	static uint8_t bytes[65536];
	json_t *event;
	size_t len;

	begun(one);
	assert_int_equal(calls_stdin(&one->calls, &one->call, bytes, 65536, NULL), 0);
	assert_int_equal(calls_stdin(&one->calls, &one->call, bytes, 100, NULL), 0);
	assert_int_equal(calls_stdin_close(&one->calls, &one->call, NULL), 0);
	feed_output(one, 2, 70);
	next(one, CALL_OUTPUT, MICROAGENT_STDOUT);
	nothing_more(one);
	feed_bytes(&one->calls, "\0\0\0\x50half", 8);
	nothing_more(one);

	assert_true(calls_can_resume(&one->calls));
	assert_int_equal(calls_resume(&one->calls, NULL), 0);
	assert_int_equal(calls_stdin_room(&one->calls, &one->call), 0);
	event = said_event(one, "attach");
	assert_int_equal(number_of(event, "stdoutOffset"), 70);
	assert_int_equal(number_of(event, "stderrOffset"), 0);
	json_decref(event);
	assert_int_equal(one->calls.out.len, 0);
	feed_start(one, "known", 65000);
	nothing_more(one); /* the caller has had its start */
	assert_null(said(one, &len));
	assert_int_equal(len, 636);
	json_decref(said_event(one, "stdin-close"));
	assert_int_equal(one->calls.out.len, 0);
}

static void test_stdin_waits_for_the_command(void **state)
{
	struct one *one = *state;
	static uint8_t bytes[65536];

	begun(one);
	for (int i = 0; i < WINDOW / 65536; i++) {
		assert_int_equal(calls_stdin_room(&one->calls, &one->call), 65536);
		assert_int_equal(calls_stdin(&one->calls, &one->call, bytes, 65536, NULL), 0);
		buf_consume(&one->calls.out, one->calls.out.len);
	}
	assert_int_equal(calls_stdin_room(&one->calls, &one->call), 0);
	feed_text(&one->calls, "{\"event\":\"ack\",\"request\":1,\"stdinOffset\":40000}");
	nothing_more(one);
	assert_int_equal(calls_stdin_room(&one->calls, &one->call), 40000);
}

/* The break may have come before the agent had the request, or before it could answer. */
static void test_asks_again_what_never_arrived(void **state)
{
	struct one *one = *state;
	static const char gone[] = "{\"event\":\"detached\",\"request\":1,\"error\":\"none\","
				   "\"errorCode\":\"not-found\"}";
	json_auto_t *first = said(one, NULL), *again = NULL;
	char where[64];

	assert_int_equal(calls_resume(&one->calls, NULL), 0);
	json_decref(said_event(one, "attach"));
	feed_text(&one->calls, gone);
	nothing_more(one);
	again = said(one, NULL);
	assert_int_equal(json_first_difference(first, again, where, sizeof(where)), 0);
	feed_start(one, "known", 0);
	next(one, CALL_STARTED, -1);
	/* Now the agent has the request, and must know the call. */
	assert_int_equal(calls_resume(&one->calls, NULL), 0);
	feed_text(&one->calls, gone);
	refused(one, "gave up the command: none");
}

/* An agent that does not know this form runs the command as always. */
static void test_an_agent_without_it(void **state)
{
	struct one *one = *state;

	json_decref(said(one, NULL));
	feed_text(&one->calls, "{\"event\":\"start\",\"request\":1,\"id\":\"1\",\"pid\":2}");
	next(one, CALL_STARTED, -1);
	assert_false(calls_can_resume(&one->calls));
	feed_output(one, 2, 65536);
	next(one, CALL_OUTPUT, MICROAGENT_STDOUT);
	nothing_more(one);
	assert_int_equal(calls_release(&one->calls, NULL), 0);
	assert_int_equal(one->calls.out.len, 0);
}

static void feed_lie(struct one *one, const char *text)
{
	feed_text(&one->calls, text);
}

static void test_lies(void **state)
{
	static const struct {
		const char *text, *because;
	} lies[] = {
		{"{\"event\":\"ack\",\"request\":1,\"stdinOffset\":1}",
		 "took 1 bytes of stdin, which cannot be true"},
		{"{\"event\":\"ack\",\"request\":1,\"stdinOffset\":-1}", "stdinOffset"},
		{"{\"event\":\"ack\",\"request\":1}", "stdinOffset"},
		{"{\"event\":\"ack\",\"request\":2,\"stdinOffset\":0}", "request 2"},
		{"{\"event\":\"detached\",\"request\":1,\"error\":\"mine\",\"errorCode\":"
		 "\"conflict\"}",
		 "gave up the command: mine"},
		{"{\"event\":\"detached\",\"request\":1,\"errorCode\":\"not-found\"}",
		 "gave up the command"},
		{"{\"event\":\"detached\",\"request\":1,\"error\":\"x\"}", "errorCode"},
		{"{\"event\":\"start\",\"request\":1,\"id\":\"1\",\"pid\":2}", "second start"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		void *one = NULL;

		open_one(&one);
		begun(one);
		feed_lie(one, lies[i].text);
		refused(one, lies[i].because);
		close_one(&one);
	}
}

static void test_lies_about_the_start(void **state)
{
	static const struct {
		const char *exec, *because;
		int64_t offset;
	} lies[] = {
		{"other",
		 "message reports the start of another command than was asked for: this is a bug, or the guest attacks its host",
		 0},
		{"known", "took 3 bytes of stdin, which cannot be true", 3},
		{"known", "stdinOffset", -3},
		{"a-name-that-is-longer-than-any-id-of-an-exec-may-be-in-this-protocol",
		 "the guest's answer names an exec by an id that is too long: this is a bug, or the guest attacks its host",
		 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		void *one = NULL;

		open_one(&one);
		feed_start(one, lies[i].exec, lies[i].offset);
		refused(one, lies[i].because);
		close_one(&one);
	}
}

/* A guest that floods and never reads: the queue for it does not grow. */
static void test_a_deaf_guest_costs_little(void **state)
{
	struct one *one = *state;

	begun(one);
	for (int i = 0; i < 8000; i++) {
		feed_output(one, 2, 65536);
		next(one, CALL_OUTPUT, MICROAGENT_STDOUT);
	}
	assert_in_range(one->calls.out.len, 100000, 600000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test_setup_teardown(test_acknowledges_what_was_taken, open_one,
						close_one),
		cmocka_unit_test_setup_teardown(test_goes_on_over_another_connection, open_one,
						close_one),
		cmocka_unit_test_setup_teardown(test_stdin_waits_for_the_command, open_one,
						close_one),
		cmocka_unit_test_setup_teardown(test_asks_again_what_never_arrived, open_one,
						close_one),
		cmocka_unit_test_setup_teardown(test_an_agent_without_it, open_one, close_one),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_lies_about_the_start),
		cmocka_unit_test_setup_teardown(test_a_deaf_guest_costs_little, open_one,
						close_one),
	};

	return cmocka_run_group_tests_name("channel resumption", tests, NULL, NULL);
}
