/* SPDX-License-Identifier: MIT */
/* Tests stdin in the streaming mode: its end, back-pressure without a window and with one. */
#include "guest_stream_fixture.h"

static void closed_stdin_by_default(void **state)
{
	autoclose int fd = dial(*state);
	struct streamed s;

	ask(fd, 1, "\"cmd\":[\"cat\"]");
	s = read_streamed(fd, 1);
	assert_int_equal(number_of(s.exit, "exitCode"), 0);
	streamed_free(&s);
}

static void stdin_to_its_end(void **state)
{
	autoclose int fd = dial(*state);
	struct streamed s;

	ask(fd, 1, "\"cmd\":[\"cat\"],\"stdin\":true");
	send_stdin(fd, 1, "one ", 4);
	send_stdin(fd, 1, "", 0);
	send_stdin(fd, 1, "two", 3);
	send_message(fd, "{\"event\":\"stdin-close\",\"request\":1}");
	s = read_streamed(fd, 1);
	assert_output(&s, "one two", "");
	streamed_free(&s);
}

/* The client's end of sending is the end of stdin, not of the command. */
static void half_close_is_the_end_of_stdin(void **state)
{
	autoclose int fd = dial(*state);
	struct streamed s;
	char more;

	ask(fd, 1, "\"cmd\":[\"cat\"],\"stdin\":true");
	send_stdin(fd, 1, "all", 3);
	shutdown(fd, SHUT_WR);
	s = read_streamed(fd, 1);
	assert_output(&s, "all", "");
	assert_int_equal(number_of(s.exit, "exitCode"), 0);
	streamed_free(&s);
	assert_int_equal(read(fd, &more, 1), 0);
}

/* 20 MB through cat while both directions wait for each other, and every byte arrives. */
static void bulk_both_ways(void **state)
{
	enum { CHUNK = 60000, CHUNKS = 350 };
	autoclose int fd = dial(*state);
	autofree uint8_t *bytes = malloc(CHUNK);
	struct streamed s;
	pid_t writer;
	int status;

	for (size_t i = 0; i < CHUNK; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 97);
	ask(fd, 9, "\"cmd\":[\"cat\"],\"stdin\":true");
	writer = fork();
	if (writer == 0) {
		for (int i = 0; i < CHUNKS; i++)
			send_stdin(fd, 9, bytes, CHUNK);
		send_message(fd, "{\"event\":\"stdin-close\",\"request\":9}");
		_exit(0);
	}
	s = read_streamed(fd, 9);
	assert_int_equal(s.out[0].len, (size_t)CHUNK * CHUNKS);
	for (int i = 0; i < CHUNKS; i++)
		assert_memory_equal(buf_bytes(&s.out[0]) + (size_t)i * CHUNK, bytes, CHUNK);
	assert_int_equal(number_of(s.exit, "exitCode"), 0);
	streamed_free(&s);
	waitpid(writer, &status, 0);
}

/* While a command does not read its stdin the connection is not read either. */
static void full_stdin_stops_the_connection(void **state)
{
	autoclose int fd = dial(*state);
	static uint8_t block[65536];
	struct streamed s;
	size_t sent = 0;
	uint8_t head[13];

	ask(fd, 1, "\"cmd\":[\"sh\",\"-c\",\"read x; echo $x\"],\"stdin\":true");
	/* one frame of 15 MiB, whose front is not what the command waits for the end of */
	be32_put(head, 9 + 15 * 1024 * 1024);
	head[4] = 1;
	be64_put(head + 5, 1);
	block[0] = 'a';
	block[1] = '\n';
	assert_int_equal(fd_write_all(fd, head, sizeof(head), NULL), 0);
	for (; sent < 15 * 1024 * 1024; sent += sizeof(block))
		assert_int_equal(fd_write_all(fd, block, sizeof(block), NULL), 0);
	s = read_streamed(fd, 1);
	assert_output(&s, "a\n", "");
	streamed_free(&s);
	/* what it left unread is dropped, and the next request is served */
	ask(fd, 2, "\"cmd\":[\"echo\",\"next\"]");
	s = read_streamed(fd, 2);
	assert_output(&s, "next\n", "");
	streamed_free(&s);
}

#define WINDOW 524288 /* LIMIT_STDIN_WINDOW_BYTES */

/* read_streamed() for a request whose acks are not looked at: a number that goes up. */
static struct streamed read_with_acks(int fd, uint64_t request)
{
	struct streamed s = {0};
	int64_t offset = 0;

	for (bool over = false; !over;) {
		size_t len = 0;
		autofree uint8_t *payload = read_frame(fd, &len);
		json_auto_t *message = NULL;
		const char *event;

		assert_non_null(payload);
		if (payload[0] != '{') {
			assert_int_equal(be64_get(payload + 1), request);
			buf_append(&s.out[payload[0] - 2], payload + 9, len - 9, NULL);
			continue;
		}
		message = json_load_strict(payload, len, NULL);
		event = json_string_value(json_object_get(message, "event"));
		if (strcmp(event, "ack") == 0 || strcmp(event, "start") == 0) {
			assert_true(number_of(message, "stdinOffset") >= offset);
			offset = number_of(message, "stdinOffset");
			continue;
		}
		assert_string_equal(event, "exit");
		s.exit = json_incref(message);
		over = true;
	}
	return s;
}

/* With a window the connection is read on: others run, and a cancel gets through. */
static void a_window_keeps_the_connection(void **state)
{
	autoclose int fd = dial(*state);
	static uint8_t block[WINDOW];
	json_auto_t *start = NULL, *ack = NULL;
	struct streamed s;

	ask(fd, 1, "\"cmd\":[\"sleep\",\"9999\"],\"stdin\":true,\"stdinWindow\":true");
	start = read_message(fd);
	assert_int_equal(number_of(start, "stdinOffset"), 0);
	send_stdin(fd, 1, block, sizeof(block));
	ack = read_message(fd);
	assert_string_equal(json_string_value(json_object_get(ack, "event")), "ack");
	assert_in_range(number_of(ack, "stdinOffset"), 65536, WINDOW - 1);
	ask(fd, 2, "\"cmd\":[\"echo\",\"other\"]");
	s = read_streamed(fd, 2);
	assert_output(&s, "other\n", "");
	streamed_free(&s);
	send_message(fd, "{\"event\":\"cancel\",\"request\":1}");
	s = read_with_acks(fd, 1);
	assert_true(json_is_true(json_object_get(s.exit, "killed")));
	streamed_free(&s);
}

static void a_window_is_kept_to(void **state)
{
	autoclose int fd = dial(*state);
	static uint8_t block[WINDOW];
	json_auto_t *message = NULL;
	const char *event;

	ask(fd, 1, "\"cmd\":[\"sleep\",\"9999\"],\"stdin\":true,\"stdinWindow\":true");
	send_stdin(fd, 1, block, sizeof(block));
	send_stdin(fd, 1, block, sizeof(block));
	do {
		json_decref(message);
		message = read_message(fd);
		event = json_string_value(json_object_get(message, "event"));
	} while (strcmp(event, "error") != 0);
	assert_non_null(strstr(json_string_value(json_object_get(message, "error")),
			       "more than 524288 bytes of stdin"));
}

/* All of it arrives, in its order, and its end is behind it; by a half-close too. */
static void bytes_through_a_window(void **state)
{
	autoclose int fd = dial(*state);
	static uint8_t block[WINDOW];
	struct streamed s = {0};

	memset(block, 'w', sizeof(block));
	for (int half_close = 0; half_close < 2; half_close++) {
		ask(fd, 1,
		    "\"cmd\":[\"sh\",\"-c\",\"usleep 100000 2>/dev/null || sleep 0.1; "
		    "tr -d w | wc -c; echo over\"],"
		    "\"stdin\":true,\"stdinWindow\":true");
		send_stdin(fd, 1, block, sizeof(block) - 3);
		send_stdin(fd, 1, "end", 3);
		if (half_close)
			shutdown(fd, SHUT_WR);
		else
			send_message(fd, "{\"event\":\"stdin-close\",\"request\":1}");
		s = read_with_acks(fd, 1);
		assert_output(&s, "3\nover\n", "");
		streamed_free(&s);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(closed_stdin_by_default, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(stdin_to_its_end, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(half_close_is_the_end_of_stdin, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(bulk_both_ways, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(full_stdin_stops_the_connection, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(a_window_keeps_the_connection, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(a_window_is_kept_to, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(bytes_through_a_window, guest_start, guest_end),
	};
	int code;

	if (fixture_role(argc, argv, &code))
		return code;
	return cmocka_run_group_tests_name("guest stream stdin", tests, NULL, NULL);
}
