/* SPDX-License-Identifier: MIT */
/* Tests the agent of macOS guests: streaming mode, and clients that break the protocol. */
#include "guest_macos_fixture.h"

static json_t *stream_request(json_int_t number, const char *script)
{
	return json_pack("{s:s, s:I, s:b, s:[s,s,s], s:b}", "id", "s", "request", number, "stream",
			 1, "cmd", "sh", "-c", script, "stdin", 1);
}

static void say_event(struct macos *m, const char *event, json_int_t number)
{
	say_json(m->fd, json_pack("{s:s, s:I}", "event", event, "request", number));
}

static void hear_start(struct macos *m, json_int_t number)
{
	json_t *answer = hear_json(m, m->fd);

	text_is(answer, "event", "start");
	text_is(answer, "id", "s");
	number_is(answer, "request", number);
	assert_true(json_integer_value(json_object_get(answer, "pid")) > 1);
	json_decref(answer);
}

/* Reads frames of the type `type` and appends their bytes to `text`, until `text` has `len`
 * bytes. */
static void hear_output(struct macos *m, uint8_t type, json_int_t number, char *text, size_t len)
{
	size_t got = 0;

	while (got < len) {
		size_t size;
		const uint8_t *payload = hear_frame(m, m->fd, &size);

		assert_int_equal(payload[0], type);
		assert_int_equal(be64_get(payload + 1), number);
		assert_in_range(size - 9, 1, 65536);
		assert_true(got + size - 9 <= len);
		memcpy(text + got, payload + 9, size - 9);
		got += size - 9;
		drop_frame(m, size);
	}
	text[len] = '\0';
}

static json_t *hear_exit(struct macos *m, json_int_t number, json_int_t code)
{
	json_t *answer = hear_json(m, m->fd);

	text_is(answer, "event", "exit");
	number_is(answer, "request", number);
	number_is(answer, "exitCode", code);
	return answer;
}

static void stdin_and_output_as_they_come(void **state)
{
	struct macos *m = *state;
	char text[32];

	say_json(m->fd, stream_request(1, "cat; echo done >&2; exit 3"));
	hear_start(m, 1);
	say_stdin(m, 1, "hello", 5);
	hear_output(m, AGENT_FRAME_STDOUT, 1, text, 5);
	assert_string_equal(text, "hello");
	say_stdin(m, 1, " again", 6);
	hear_output(m, AGENT_FRAME_STDOUT, 1, text, 6);
	say_event(m, "stdin-close", 1);
	hear_output(m, AGENT_FRAME_STDERR, 1, text, 5);
	assert_string_equal(text, "done\n");
	json_decref(hear_exit(m, 1, 3));
	/* The connection stays open after the exit of the command, and the client may use the
	 * number 1 for another request. */
	say_json(m->fd, stream_request(1, "exit 4"));
	hear_start(m, 1);
	json_decref(hear_exit(m, 1, 4));
}

static void requests_are_told_apart(void **state)
{
	struct macos *m = *state;
	char text[32];

	say_json(m->fd, stream_request(7, "read x; echo $x"));
	hear_start(m, 7);
	say_json(m->fd, stream_request(9, "read x; echo $x"));
	hear_start(m, 9);
	say_stdin(m, 9, "nine\n", 5);
	hear_output(m, AGENT_FRAME_STDOUT, 9, text, 5);
	json_decref(hear_exit(m, 9, 0));
	say_stdin(m, 9, "late", 4); /* the command has already ended */
	say_event(m, "cancel", 9);
	say_stdin(m, 7, "seven\n", 6);
	hear_output(m, AGENT_FRAME_STDOUT, 7, text, 6);
	json_decref(hear_exit(m, 7, 0));
}

static void signals_and_cancels(void **state)
{
	struct macos *m = *state;
	char path[128], script[256], text[8];
	int fifo = make_fifo(m, path);
	json_t *answer;

	/* Sends the shell's stderr to /dev/null, since some shells report on stderr that a signal
	 * has ended `sleep`. */
	say_json(m->fd, stream_request(1, "exec 2>/dev/null; trap 'echo hup; exit 9' HUP; echo up; "
					  "while :; do sleep 0.1; done"));
	hear_start(m, 1);
	hear_output(m, AGENT_FRAME_STDOUT, 1, text, 3);
	say_json(m->fd,
		 json_pack("{s:s, s:i, s:i}", "event", "signal", "request", 1, "signal", SIGHUP));
	hear_output(m, AGENT_FRAME_STDOUT, 1, text, 4);
	json_decref(hear_exit(m, 1, 9));
	snprintf(script, sizeof(script),
		 "trap '' HUP TERM; exec 3>%s; echo up >&3; sleep 1000 & sleep 1000", path);
	say_json(m->fd, stream_request(2, script));
	hear_start(m, 2);
	await_holder(fifo);
	say_event(m, "cancel", 2);
	answer = hear_exit(m, 2, 137);
	number_is(answer, "signal", 9);
	assert_true(json_is_true(json_object_get(answer, "killed")));
	json_decref(answer);
	await_gone(fifo);
}

/* A client's commands are killed when the client closes its connection. */
static void a_client_that_goes_away(void **state)
{
	struct macos *m = *state;
	char path[128], script[256];
	int fifo = make_fifo(m, path);

	snprintf(script, sizeof(script), "exec 3>%s; echo up >&3; sleep 1000 & sleep 1000", path);
	say_json(m->fd, stream_request(1, script));
	hear_start(m, 1);
	await_holder(fifo);
	hang_up(m);
	await_gone(fifo);
}

static void a_buffered_client_that_goes_away(void **state)
{
	struct macos *m = *state;
	char path[128], text[256];
	int fifo = make_fifo(m, path);

	snprintf(text, sizeof(text),
		 "{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\",\"exec 3>%s; echo up "
		 ">&3; sleep 1000\"]}}\n",
		 path);
	say_text(m, text);
	await_holder(fifo);
	hang_up(m);
	await_gone(fifo);
}

/* The client's command waits in its write() until the client reads, and no output is lost. */
static void a_client_that_does_not_read(void **state)
{
	enum { BYTES = 5000000 };
	struct macos *m = *state;
	char *text = malloc(BYTES + 1);

	say_json(m->fd, stream_request(1, "head -c 5000000 /dev/zero; echo end >&2"));
	hear_start(m, 1);
	hear_output(m, AGENT_FRAME_STDOUT, 1, text, BYTES);
	hear_output(m, AGENT_FRAME_STDERR, 1, text, 4);
	json_decref(hear_exit(m, 1, 0));
	free(text);
}

/* --- the window of stdin --------------------------------------------------------------------- */

static json_t *windowed(json_int_t number, const char *script)
{
	json_t *request = stream_request(number, script);

	json_object_set_new(request, "stdinWindow", json_true());
	return request;
}

static void stdin_is_acknowledged(void **state)
{
	static const char chunk[65536];
	struct macos *m = *state;
	json_int_t acknowledged = 0;
	char text[16];
	json_t *answer;

	say_json(m->fd, windowed(1, "cat >/dev/null; echo all"));
	answer = hear_json(m, m->fd);
	number_is(answer, "stdinOffset", 0);
	json_decref(answer);
	for (int i = 0; i < 8; i++)
		say_stdin(m, 1, chunk, sizeof(chunk));
	while (acknowledged < 7 * 65536) {
		answer = hear_json(m, m->fd);
		text_is(answer, "event", "ack");
		acknowledged = json_integer_value(json_object_get(answer, "stdinOffset"));
		json_decref(answer);
	}
	say_event(m, "stdin-close", 1);
	while (*hear_frame(m, m->fd, &(size_t){0}) == '{') { /* the last acknowledgements */
		answer = hear_json(m, m->fd);
		text_is(answer, "event", "ack");
		json_decref(answer);
	}
	hear_output(m, AGENT_FRAME_STDOUT, 1, text, 4);
	json_decref(hear_exit(m, 1, 0));
}

static void more_than_the_window(void **state)
{
	static const char chunk[65536];
	struct macos *m = *state;
	json_t *answer;

	say_json(m->fd, windowed(1, "sleep 1000"));
	json_decref(hear_json(m, m->fd));
	for (int i = 0; i < 10; i++)
		say_stdin(m, 1, chunk, sizeof(chunk));
	do {
		answer = hear_json(m, m->fd);
		if (strcmp(json_text(answer, "event", ""), "error") == 0)
			break;
		json_decref(answer);
	} while (true);
	assert_non_null(strstr(json_text(answer, "error", ""), "window"));
	json_decref(answer);
	while (hear_more(m, m->fd))
		;
	m->in.len = 0;
}

/* The command has closed its stdin. The agent drops the bytes of the client, and still reports the
 * exit of the command. */
static void a_command_that_reads_nothing(void **state)
{
	static const char chunk[65536];
	struct macos *m = *state;

	say_json(m->fd, stream_request(1, "exec 0</dev/null; sleep 0.3; exit 5"));
	hear_start(m, 1);
	for (int i = 0; i < 20; i++)
		say_stdin(m, 1, chunk, sizeof(chunk));
	json_decref(hear_exit(m, 1, 5));
}

/* --- what there is not ----------------------------------------------------------------------- */

static void what_this_agent_has_not(void **state)
{
	static const char *const extras[][2] = {{"pty", "{\"rows\":24}"},
						{"resume", "60"},
						{"handOver", "true"},
						{"rlimits", "{\"nofile\":{\"soft\":1}}"}};
	struct macos *m = *state;
	json_t *answer;

	for (size_t i = 0; i < sizeof(extras) / sizeof(*extras); i++) {
		json_t *request = stream_request((json_int_t)i + 1, "true");

		json_object_set_new(request, extras[i][0],
				    json_loads(extras[i][1], JSON_DECODE_ANY, NULL));
		say_json(m->fd, request);
		answer = hear_exit(m, (json_int_t)i + 1, 125);
		assert_non_null(strstr(json_text(answer, "startError", ""), extras[i][0]));
		json_decref(answer);
	}
	say_json(m->fd,
		 json_pack("{s:s, s:i, s:s}", "event", "attach", "request", 5, "exec", "workload"));
	answer = hear_json(m, m->fd);
	text_is(answer, "event", "detached");
	text_is(answer, "errorCode", "not-found");
	json_decref(answer);
	say_json(m->fd, json_pack("{s:s, s:i}", "event", "release", "request", 5));
	say_json(m->fd, json_pack("{s:s, s:i, s:i, s:i}", "event", "resize", "request", 5, "rows",
				  1, "cols", 1));
	say_json(m->fd, stream_request(5, "exit 6"));
	hear_start(m, 5);
	json_decref(hear_exit(m, 5, 6));
}

static void the_same_number_twice(void **state)
{
	struct macos *m = *state;
	json_t *answer;

	say_json(m->fd, stream_request(1, "sleep 1000"));
	hear_start(m, 1);
	say_json(m->fd, stream_request(1, "true"));
	answer = hear_json(m, m->fd);
	text_is(answer, "event", "error");
	number_is(answer, "request", 1);
	assert_non_null(strstr(json_text(answer, "error", ""), "in use"));
	json_decref(answer);
}

/* Each entry is sent on a new connection, which the agent closes after the error. */
static void bad_frames(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *why;
	} rows[] = {
		{"\0\0\0\0", 4, "length 0"},
		{"\1\0\0\1", 4, "allowed"},
		{"\0\0\0\1x", 5, "neither JSON nor stdin"},
		{"\0\0\0\10\1\0\0\0\0\0\0\0", 12, "neither JSON nor stdin"},
		{"\0\0\0\11\2\0\0\0\0\0\0\0\1", 13, "neither JSON nor stdin"},
		{"\0\0\0\1{", 5, "too early"},
		{"\0\0\0\2{}", 6, "id is required"},
		{"\0\0\0\12{\"event\":1}", 14, ""},
		{"\0\0\0\14{\"event\":1}\n", 16, "event must be a string"},
		{"\0\0\0\20{\"event\":\"what\"}", 20, "request is required"},
		{"\0\0\0\34{\"event\":\"what\",\"request\":1}", 32, "unknown event"},
		{"\0\0\0\32{\"id\":\"a\",\"stream\":true  }", 30, "request is required"},
		{"\0\0\0\21{\"id\":7,\"cmd\":[]}", 21, "id must be a string"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct macos *m = *state;
		json_t *answer;

		say_bytes(m->fd, rows[i].bytes, rows[i].len);
		answer = hear_json(m, m->fd);
		text_is(answer, "event", "error");
		assert_non_null(strstr(json_text(answer, "error", ""), rows[i].why));
		json_decref(answer);
		hear_end(m);
		assert_int_equal(macos_stop(state), 0);
		assert_int_equal(macos_start(state), 0);
	}
}

/* The bytes of the requests arrive one at a time. */
static void a_slow_client(void **state)
{
	static const char text[] =
		"{\"id\":\"s\",\"request\":1,\"stream\":true,\"cmd\":[\"true\"]}";
	struct macos *m = *state;
	uint8_t bytes[sizeof(text) + 3];

	be32_put(bytes, sizeof(text) - 1);
	memcpy(bytes + 4, text, sizeof(text) - 1);
	for (size_t i = 0; i < sizeof(bytes); i++)
		say_bytes(m->fd, bytes + i, 1);
	hear_start(m, 1);
	json_decref(hear_exit(m, 1, 0));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, macos_start, macos_stop)
	const struct CMUnitTest tests[] = {
		TEST(stdin_and_output_as_they_come),
		TEST(requests_are_told_apart),
		TEST(signals_and_cancels),
		TEST(a_client_that_goes_away),
		TEST(a_buffered_client_that_goes_away),
		TEST(a_client_that_does_not_read),
		TEST(stdin_is_acknowledged),
		TEST(more_than_the_window),
		TEST(a_command_that_reads_nothing),
		TEST(what_this_agent_has_not),
		TEST(the_same_number_twice),
		TEST(bad_frames),
		TEST(a_slow_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
