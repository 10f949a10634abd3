/* SPDX-License-Identifier: MIT */
/* The client's side of a resumable exec: what it says on each of its connections, and what it does
 * not believe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/frame.h"
#include "base/json.h"
#include "channel/agent.h"

#define WINDOW 131072 /* STDIN_AGAIN_BYTES */
#define ACK 32768     /* LIMIT_ACK_BYTES */

static const char *const words[] = {"cat", NULL};

static int open_stream(void **state)
{
	static struct agent_stream stream;
	const struct agent_exec exec = {.command = words, .stdin_open = true, .resume_seconds = 60};

	assert_int_equal(agent_stream_exec(&stream, &exec, NULL), 0);
	strcpy(stream.resumption.exec, "known");
	*state = &stream;
	return 0;
}

static int close_stream(void **state)
{
	agent_stream_free(*state);
	return 0;
}

/* The next queued frame: JSON, or NULL with its length for one of stdin. */
static json_t *said(struct agent_stream *stream, size_t *stdin_len)
{
	const uint8_t *payload;
	json_t *value = NULL;
	size_t len;

	assert_int_equal(frame_peek(&stream->out, FRAME_MAX, &payload, &len, NULL), 1);
	if (payload[0] == '{') {
		value = json_load_strict(payload, len, NULL);
		assert_non_null(value);
	} else {
		assert_non_null(stdin_len);
		assert_int_equal(payload[0], 1);
		*stdin_len = len - 9;
	}
	buf_consume(&stream->out, FRAME_HEADER + len);
	return value;
}

static int64_t number_of(const json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

static json_t *said_event(struct agent_stream *stream, const char *event)
{
	json_t *value = said(stream, NULL);

	assert_string_equal(json_string_value(json_object_get(value, "event")), event);
	return value;
}

static void feed(struct agent_stream *stream, const void *payload, size_t len)
{
	uint8_t head[FRAME_HEADER];

	be32_put(head, (uint32_t)len);
	assert_int_equal(agent_stream_feed(stream, head, sizeof(head), NULL), 0);
	assert_int_equal(agent_stream_feed(stream, payload, len, NULL), 0);
}

static void feed_start(struct agent_stream *stream, const char *exec, int64_t offset)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "{\"event\":\"start\",\"request\":1,\"id\":\"1\",\"pid\":2,\"exec\":\"%s\","
		 "\"stdinOffset\":%lld}",
		 exec, (long long)offset);
	feed(stream, text, strlen(text));
}

static void feed_text(struct agent_stream *stream, const char *text)
{
	feed(stream, text, strlen(text));
}

static void feed_output(struct agent_stream *stream, uint8_t type, size_t len)
{
	static uint8_t payload[9 + 65536];

	payload[0] = type;
	be64_put(payload + 1, 1);
	feed(stream, payload, 9 + len);
}

static struct agent_item next(struct agent_stream *stream, enum agent_item_kind kind)
{
	struct agent_item item;

	assert_int_equal(agent_stream_next(stream, &item, NULL), 1);
	assert_int_equal(item.kind, kind);
	return item;
}

static void nothing_more(struct agent_stream *stream)
{
	struct agent_item item;

	assert_int_equal(agent_stream_next(stream, &item, NULL), 0);
}

static void refused(struct agent_stream *stream, const char *because)
{
	struct agent_item item;
	struct error err = {0};

	assert_int_equal(agent_stream_next(stream, &item, &err), -1);
	assert_int_equal(err.code, ERR_IO);
	if (!strstr(err.msg, because))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, because);
}

static void begun(struct agent_stream *stream)
{
	json_decref(said(stream, NULL));
	feed_start(stream, "known", 0);
	next(stream, AGENT_ITEM_START);
}

static void test_request(void **state)
{
	struct agent_stream stream;
	const struct agent_exec exec = {.command = words, .resume_seconds = 60};
	json_auto_t *request = NULL;

	(void)state;
	assert_int_equal(agent_stream_exec(&stream, &exec, NULL), 0);
	request = said(&stream, NULL);
	assert_int_equal(number_of(request, "resume"), 60);
	assert_int_equal(json_string_length(json_object_get(request, "exec")), RESUMPTION_ID);
	agent_stream_free(&stream);
}

/* Output counts when the caller is done with it, and is acknowledged in lots. */
static void test_acknowledges_what_was_taken(void **state)
{
	struct agent_stream *stream = *state;
	json_auto_t *ack = NULL;

	begun(stream);
	feed_output(stream, 2, ACK - 1);
	feed_output(stream, 3, 5);
	next(stream, AGENT_ITEM_STDOUT);
	next(stream, AGENT_ITEM_STDERR);
	assert_int_equal(stream->out.len, 0);
	feed_output(stream, 2, 1);
	next(stream, AGENT_ITEM_STDOUT);
	nothing_more(stream);
	ack = said_event(stream, "ack");
	assert_int_equal(number_of(ack, "stdoutOffset"), ACK);
	assert_int_equal(number_of(ack, "stderrOffset"), 5);
	feed_text(stream, "{\"event\":\"exit\",\"request\":1,\"id\":\"1\",\"exitCode\":0,"
			  "\"killed\":false,\"elapsedMs\":1}");
	next(stream, AGENT_ITEM_EXIT);
	assert_false(agent_stream_can_resume(stream));
	assert_int_equal(agent_stream_release(stream, NULL), 0);
	json_decref(said_event(stream, "release"));
}

static void test_goes_on_over_another_connection(void **state)
{
	struct agent_stream *stream = *state;
	static uint8_t bytes[65536];
	json_t *event;
	size_t len;

	begun(stream);
	assert_int_equal(agent_stream_stdin(stream, bytes, 65536, NULL), 0);
	assert_int_equal(agent_stream_stdin(stream, bytes, 100, NULL), 0);
	assert_int_equal(agent_stream_stdin_close(stream, NULL), 0);
	feed_output(stream, 2, 70);
	next(stream, AGENT_ITEM_STDOUT);
	nothing_more(stream);
	assert_int_equal(agent_stream_feed(stream, "\0\0\0\x50half", 8, NULL), 0);
	nothing_more(stream);

	assert_true(agent_stream_can_resume(stream));
	assert_int_equal(agent_stream_resume(stream, NULL), 0);
	assert_int_equal(agent_stream_stdin_room(stream), 0);
	event = said_event(stream, "attach");
	assert_int_equal(number_of(event, "stdoutOffset"), 70);
	assert_int_equal(number_of(event, "stderrOffset"), 0);
	json_decref(event);
	assert_int_equal(stream->out.len, 0);
	feed_start(stream, "known", 65000);
	nothing_more(stream); /* the caller has had its start */
	assert_null(said(stream, &len));
	assert_int_equal(len, 636);
	json_decref(said_event(stream, "stdin-close"));
	assert_int_equal(stream->out.len, 0);
}

static void test_stdin_waits_for_the_command(void **state)
{
	struct agent_stream *stream = *state;
	static uint8_t bytes[65536];

	begun(stream);
	for (int i = 0; i < WINDOW / 65536; i++) {
		assert_int_equal(agent_stream_stdin_room(stream), 65536);
		assert_int_equal(agent_stream_stdin(stream, bytes, 65536, NULL), 0);
		buf_consume(&stream->out, stream->out.len);
	}
	assert_int_equal(agent_stream_stdin_room(stream), 0);
	feed_text(stream, "{\"event\":\"ack\",\"request\":1,\"stdinOffset\":40000}");
	nothing_more(stream);
	assert_int_equal(agent_stream_stdin_room(stream), 40000);
}

/* The break may have come before the agent had the request, or before it could answer. */
static void test_asks_again_what_never_arrived(void **state)
{
	struct agent_stream *stream = *state;
	static const char gone[] = "{\"event\":\"detached\",\"request\":1,\"error\":\"none\","
				   "\"errorCode\":\"not-found\"}";
	json_auto_t *first = said(stream, NULL), *again = NULL;
	char where[64];

	assert_int_equal(agent_stream_resume(stream, NULL), 0);
	json_decref(said_event(stream, "attach"));
	feed_text(stream, gone);
	nothing_more(stream);
	again = said(stream, NULL);
	assert_int_equal(json_first_difference(first, again, where, sizeof(where)), 0);
	feed_start(stream, "known", 0);
	next(stream, AGENT_ITEM_START);
	/* Now the agent has had it, and has no excuse. */
	assert_int_equal(agent_stream_resume(stream, NULL), 0);
	feed_text(stream, gone);
	refused(stream, "has let go of the command: none");
}

/* An agent that knows nothing of this runs the command as ever. */
static void test_an_agent_without_it(void **state)
{
	struct agent_stream *stream = *state;

	json_decref(said(stream, NULL));
	feed_text(stream, "{\"event\":\"start\",\"request\":1,\"id\":\"1\",\"pid\":2}");
	next(stream, AGENT_ITEM_START);
	assert_false(agent_stream_can_resume(stream));
	feed_output(stream, 2, 65536);
	next(stream, AGENT_ITEM_STDOUT);
	nothing_more(stream);
	assert_int_equal(agent_stream_release(stream, NULL), 0);
	assert_int_equal(stream->out.len, 0);
}

static void test_lies(void **state)
{
	static const struct {
		const char *text, *because;
	} lies[] = {
		{"{\"event\":\"ack\",\"request\":1,\"stdinOffset\":1}",
		 "cannot have taken 1 bytes"},
		{"{\"event\":\"ack\",\"request\":1,\"stdinOffset\":-1}", "stdinOffset"},
		{"{\"event\":\"ack\",\"request\":1}", "stdinOffset"},
		{"{\"event\":\"ack\",\"request\":2,\"stdinOffset\":0}", "request 2"},
		{"{\"event\":\"detached\",\"request\":1,\"error\":\"mine\",\"errorCode\":"
		 "\"conflict\"}",
		 "has let go of the command: mine"},
		{"{\"event\":\"detached\",\"request\":1,\"errorCode\":\"not-found\"}",
		 "has let go of the command"},
		{"{\"event\":\"detached\",\"request\":1,\"error\":\"x\"}", "errorCode"},
		{"{\"event\":\"start\",\"request\":1,\"id\":\"1\",\"pid\":2}", "second start"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		void *stream = NULL;

		open_stream(&stream);
		begun(stream);
		feed_text(stream, lies[i].text);
		refused(stream, lies[i].because);
		close_stream(&stream);
	}
}

static void test_lies_about_the_start(void **state)
{
	static const struct {
		const char *exec, *because;
		int64_t offset;
	} lies[] = {
		{"other", "start of another exec", 0},
		{"known", "cannot have taken 3 bytes", 3},
		{"known", "stdinOffset", -3},
		{"a-name-that-is-longer-than-any-id-of-an-exec-may-be-in-this-protocol",
		 "longer than an id", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		void *stream = NULL;

		open_stream(&stream);
		feed_start(stream, lies[i].exec, lies[i].offset);
		refused(stream, lies[i].because);
		close_stream(&stream);
	}
}

/* A guest that floods and never reads: what is queued for it does not grow with that. */
static void test_a_deaf_guest_costs_little(void **state)
{
	struct agent_stream *stream = *state;

	begun(stream);
	for (int i = 0; i < 8000; i++) {
		feed_output(stream, 2, 65536);
		next(stream, AGENT_ITEM_STDOUT);
	}
	assert_in_range(stream->out.len, 100000, 600000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test_setup_teardown(test_acknowledges_what_was_taken, open_stream,
						close_stream),
		cmocka_unit_test_setup_teardown(test_goes_on_over_another_connection, open_stream,
						close_stream),
		cmocka_unit_test_setup_teardown(test_stdin_waits_for_the_command, open_stream,
						close_stream),
		cmocka_unit_test_setup_teardown(test_asks_again_what_never_arrived, open_stream,
						close_stream),
		cmocka_unit_test_setup_teardown(test_an_agent_without_it, open_stream,
						close_stream),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_lies_about_the_start),
		cmocka_unit_test_setup_teardown(test_a_deaf_guest_costs_little, open_stream,
						close_stream),
	};

	return cmocka_run_group_tests_name("channel resumption", tests, NULL, NULL);
}
