/* SPDX-License-Identifier: MIT */
/* Tests execs that outlive their connections: nothing is lost and nothing comes twice, and if no
 * client comes back nothing stays. */
#include "guest_client.h"

#define WINDOW 524288 /* LIMIT_STDIN_WINDOW_BYTES */
#define MOST 524288   /* LIMIT_RING_MOST_BYTES */

static void ask(int fd, const char *rest)
{
	autofree char *text = NULL;

	assert_true(asprintf(&text, "{\"id\":\"r\",\"request\":1,\"stream\":true,%s}", rest) > 0);
	send_message(fd, text);
}

static void attach(int fd, const char *exec, uint64_t out, uint64_t err)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"event\":\"attach\",\"request\":1,\"exec\":\"%s\",\"stdoutOffset\":%llu,"
		 "\"stderrOffset\":%llu}",
		 exec, (unsigned long long)out, (unsigned long long)err);
	send_message(fd, text);
}

static void ack(int fd, uint64_t out, uint64_t err)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "{\"event\":\"ack\",\"request\":1,\"stdoutOffset\":%llu,\"stderrOffset\":%llu}",
		 (unsigned long long)out, (unsigned long long)err);
	send_message(fd, text);
}

static void expect_event(int fd, const char *event, const char *code)
{
	json_auto_t *message = read_message(fd);

	assert_string_equal(json_string_value(json_object_get(message, "event")), event);
	if (code)
		assert_string_equal(json_string_value(json_object_get(message, "errorCode")), code);
}

static json_t *expect_start(int fd, uint64_t stdin_offset)
{
	json_t *message = read_message(fd);

	assert_string_equal(json_string_value(json_object_get(message, "event")), "start");
	assert_int_equal(number_of(message, "stdinOffset"), stdin_offset);
	return message;
}

/* Reads frames until len bytes of stdout have come. */
static void take_stdout(int fd, struct buf *into, size_t len)
{
	while (into->len < len) {
		size_t size = 0;
		autofree uint8_t *payload = read_frame(fd, &size);

		assert_non_null(payload);
		assert_int_equal(payload[0], 2);
		assert_int_equal(buf_append(into, payload + 9, size - 9, NULL), 0);
	}
}

/* The agent makes up an id if none is given. Bytes that were not acknowledged come again. */
static void goes_on_at_the_offset(void **state)
{
	int fd = dial(*state);
	json_auto_t *begun = NULL, *again = NULL;
	struct streamed s;
	autobuf struct buf got = {0};

	ask(fd, "\"resume\":60,\"stdin\":true,\"cmd\":[\"sh\",\"-c\",\"echo 0123456789; read x; "
		"echo $x\"]");
	begun = expect_start(fd, 0);
	take_stdout(fd, &got, 11);
	close(fd);
	fd = dial(*state);
	attach(fd, json_string_value(json_object_get(begun, "exec")), 4, 0);
	again = expect_start(fd, 0);
	assert_string_equal(json_string_value(json_object_get(again, "exec")),
			    json_string_value(json_object_get(begun, "exec")));
	assert_int_equal(number_of(begun, "pid"), number_of(again, "pid"));
	send_stdin(fd, 1, "word\n", 5);
	s = (struct streamed){.start = json_incref(again)};
	while (!take_streamed(fd, 1, &s))
		;
	assert_string_equal(buf_string(&s.out[0]), "456789\nword\n");
	streamed_free(&s);
	close(fd);
}

/* Nobody acknowledges: the command waits, with a connection or without, and goes on at the first
 * ack. */
static void waits_when_the_ring_is_full(void **state)
{
	int fd = dial(*state);
	json_auto_t *begun = NULL;
	autobuf struct buf got = {0};
	struct streamed s = {0};

	ask(fd, "\"resume\":60,\"exec\":\"flood\",\"cmd\":[\"sh\",\"-c\",\"seq 1 200000; echo end "
		">&2\"]");
	begun = expect_start(fd, 0);
	take_stdout(fd, &got, MOST);
	assert_int_equal(got.len, MOST);
	close(fd);
	fd = dial(*state);
	attach(fd, "flood", MOST - 100, 0);
	s.start = expect_start(fd, 0);
	while (!take_streamed(fd, 1, &s))
		ack(fd, MOST - 100 + s.out[0].len, s.out[1].len);
	assert_string_equal(buf_string(&s.out[1]), "end\n");
	assert_int_equal(MOST - 100 + s.out[0].len, 1288895);
	assert_memory_equal(buf_bytes(&s.out[0]), buf_bytes(&got) + MOST - 100, 100);
	assert_string_equal(buf_string(&s.out[0]) + s.out[0].len - 14, "199999\n200000\n");
	streamed_free(&s);
	close(fd);
}

/* A pipe that a command opens to show that it lives, and whose end shows that it is dead. */
static void make_fifo(const struct fixture *f, char path[64])
{
	snprintf(path, 64, "%s/fifo", f->etc);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(chmod(path, 0666), 0);
}

static void expect_death(const char *path, int reader)
{
	char byte;

	assert_int_equal(read(reader, &byte, 1), 0);
	close(reader);
	unlink(path);
}

/* An exec that ended without a client keeps its output and its exit. */
static void ends_while_nobody_is_there(void **state)
{
	const struct fixture *f = *state;
	int fd = dial(f), reader, go;
	char path[64], go_path[80], rest[256];
	struct streamed s = {0};

	make_fifo(f, path);
	snprintf(go_path, sizeof(go_path), "%s-go", path);
	assert_int_equal(mkfifo(go_path, 0666), 0);
	assert_int_equal(chmod(go_path, 0666), 0);
	snprintf(rest, sizeof(rest),
		 "\"resume\":60,\"exec\":\"late\",\"cmd\":[\"sh\",\"-c\",\"exec 7>%s; read x <%s; "
		 "echo out; echo err >&2; exit 9\"]",
		 path, go_path);
	ask(fd, rest);
	json_decref(expect_start(fd, 0));
	reader = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	go = open(go_path, O_WRONLY | O_CLOEXEC);
	send_text(go, "\n");
	close(go);
	expect_death(path, reader);
	for (int i = 0; i < 2; i++) { /* as often as one likes, until it is released */
		fd = dial(f);
		attach(fd, "late", 0, 0);
		s = read_streamed(fd, 1);
		assert_string_equal(buf_string(&s.out[0]), "out\n");
		assert_string_equal(buf_string(&s.out[1]), "err\n");
		assert_int_equal(number_of(s.exit, "exitCode"), 9);
		streamed_free(&s);
		if (i == 0)
			close(fd);
	}
	send_message(fd, "{\"event\":\"release\",\"request\":1}");
	attach(fd, "late", 0, 0);
	expect_event(fd, "detached", "not-found");
	close(fd);
}

/* A client that does not come back within the grace time has its whole tree killed. */
static void is_killed_after_the_grace(void **state)
{
	const struct fixture *f = *state;
	int fd = dial(f), reader;
	char path[64], rest[256];

	make_fifo(f, path);
	snprintf(rest, sizeof(rest),
		 "\"resume\":1,\"exec\":\"gone\",\"cmd\":[\"sh\",\"-c\",\"exec 7>%s; %s sleep 9999 "
		 "& "
		 "sleep 9999\"]",
		 path, f->cgroup[0] ? "setsid" : "");
	ask(fd, rest);
	json_decref(expect_start(fd, 0));
	reader = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	expect_death(path, reader);
	fd = dial(f);
	attach(fd, "gone", 0, 0);
	expect_event(fd, "detached", "not-found");
	close(fd);
}

static void release_kills(void **state)
{
	const struct fixture *f = *state;
	autoclose int fd = dial(f);
	char path[64], rest[256];
	int reader;

	make_fifo(f, path);
	snprintf(rest, sizeof(rest),
		 "\"resume\":60,\"cmd\":[\"sh\",\"-c\",\"exec 7>%s; sleep 9999\"]", path);
	ask(fd, rest);
	json_decref(expect_start(fd, 0));
	reader = open(path, O_RDONLY | O_CLOEXEC);
	send_message(fd, "{\"event\":\"release\",\"request\":1}");
	expect_death(path, reader);
}

static void the_newest_client_has_it(void **state)
{
	autoclose int first = dial(*state);
	autoclose int second = dial(*state);
	struct streamed s = {0};

	ask(first, "\"resume\":60,\"exec\":\"one\",\"stdin\":true,\"cmd\":[\"cat\"]");
	json_decref(expect_start(first, 0));
	attach(second, "one", 0, 0);
	s.start = expect_start(second, 0);
	expect_event(first, "detached", "conflict");
	/* The first connection is as good as before. */
	ask(first, "\"cmd\":[\"true\"]");
	expect_event(first, "start", NULL);
	expect_event(first, "exit", NULL);
	send_stdin(second, 1, "all", 3);
	send_message(second, "{\"event\":\"stdin-close\",\"request\":1}");
	while (!take_streamed(second, 1, &s))
		;
	assert_string_equal(buf_string(&s.out[0]), "all");
	streamed_free(&s);
}

static void wrong_offsets(void **state)
{
	autoclose int fd = dial(*state);
	autoclose int other = dial(*state);
	autobuf struct buf got = {0};
	char more;

	ask(fd, "\"resume\":60,\"exec\":\"ten\",\"stdin\":true,\"cmd\":[\"sh\",\"-c\",\"echo "
		"123456789; read x\"]");
	json_decref(expect_start(fd, 0));
	take_stdout(fd, &got, 10);
	attach(other, "ten", 11, 0);
	expect_event(other, "detached", "invalid");
	attach(other, "ten", 0, 1);
	expect_event(other, "detached", "invalid");
	ack(fd, 8, 0);
	ack(fd, 5, 0);		       /* late, and so without meaning */
	ask(fd, "\"cmd\":[\"true\"]"); /* a breach that is answered: the acks are in */
	expect_event(fd, "error", NULL);
	attach(other, "ten", 7, 0);
	expect_event(other, "detached", "unavailable");
	attach(other, "none", 0, 0);
	expect_event(other, "detached", "not-found");
	attach(other, "ten", 8, 0);
	json_decref(expect_start(other, 0));
	take_stdout(other, &got, 12);
	assert_memory_equal(buf_bytes(&got) + 10, "9\n", 2);
	ack(other, 11, 0);
	expect_event(other, "error", NULL);
	assert_int_equal(read(other, &more, 1), 0);
}

static void ids(void **state)
{
	autoclose int fd = dial(*state);
	static const char *const bad[] = {"\"resume\":60,\"exec\":\"workload\"",
					  "\"resume\":60,\"exec\":\"../x\"", "\"exec\":\"alone\"",
					  "\"resume\":999999999", "\"resume\":60,\"exec\":\"\""};
	char rest[256];
	struct streamed s;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(rest, sizeof(rest), "\"cmd\":[\"true\"],%s", bad[i]);
		ask(fd, rest);
		s = read_streamed(fd, 1);
		assert_int_equal(number_of(s.exit, "exitCode"), 125);
		streamed_free(&s);
	}
	ask(fd, "\"resume\":60,\"exec\":\"x\",\"cmd\":[\"sleep\",\"9999\"]");
	json_decref(expect_start(fd, 0));
	send_message(fd, "{\"id\":\"r\",\"request\":2,\"stream\":true,\"resume\":60,\"exec\":\"x\","
			 "\"cmd\":[\"true\"]}");
	s = read_streamed(fd, 2);
	assert_string_equal(json_string_value(json_object_get(s.exit, "startError")),
			    "there is an exec \"x\" already: choose another id");
	streamed_free(&s);
	send_message(fd, "{\"event\":\"release\",\"request\":1}");
	ask(fd, "\"resume\":60,\"exec\":\"x\",\"cmd\":[\"no-such-program\"]");
	s = read_streamed(fd, 1);
	assert_int_equal(number_of(s.exit, "exitCode"), 127);
	streamed_free(&s);
}

/* At attach the agent says how many bytes the command has taken, and the client sends the rest
 * again. */
static void stdin_is_sent_again(void **state)
{
	enum { SENT = 120000 };
	static uint8_t bytes[SENT];
	int fd = dial(*state);
	json_auto_t *again = NULL;
	autobuf struct buf got = {0};
	struct streamed s = {0};
	size_t taken;

	for (size_t i = 0; i < SENT; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	/* It reads when it is told to, so a pipe's worth is taken and the rest is not. */
	ask(fd, "\"resume\":60,\"exec\":\"cat\",\"stdin\":true,\"cmd\":[\"sh\",\"-c\",\"trap "
		"'cat; exit' USR1; echo; while :; do sleep 0.01; done\"]");
	json_decref(expect_start(fd, 0));
	take_stdout(fd, &got, 1);
	send_stdin(fd, 1, bytes, SENT);
	expect_event(fd, "ack", NULL); /* as much as the pipe has room for */
	close(fd);
	fd = dial(*state);
	attach(fd, "cat", 1, 0);
	again = read_message(fd);
	taken = (size_t)number_of(again, "stdinOffset");
	assert_in_range(taken, 1, SENT - 1);
	send_stdin(fd, 1, bytes + taken, SENT - taken);
	send_message(fd, "{\"event\":\"stdin-close\",\"request\":1}");
	send_message(fd, "{\"event\":\"signal\",\"request\":1,\"signal\":10}");
	s.start = json_incref(again);
	for (bool ended = false; !ended;) {
		size_t len = 0;
		autofree uint8_t *payload = read_frame(fd, &len);

		assert_non_null(payload);
		if (payload[0] == 2)
			assert_int_equal(buf_append(&s.out[0], payload + 9, len - 9, NULL), 0);
		else
			ended = strstr((char *)payload, "\"exit\"");
		ack(fd, 1 + s.out[0].len, 0);
	}
	assert_int_equal(s.out[0].len, SENT);
	assert_memory_equal(buf_bytes(&s.out[0]), bytes, SENT);
	streamed_free(&s);
	close(fd);
}

/* The client must wait for the command. Its bytes for other calls on the connection need not. */
static void stdin_has_a_window(void **state)
{
	autoclose int fd = dial(*state);
	static uint8_t bytes[WINDOW + 70000];
	json_t *message;

	ask(fd, "\"resume\":60,\"exec\":\"deaf\",\"stdin\":true,\"cmd\":[\"sleep\",\"9999\"]");
	json_decref(expect_start(fd, 0));
	send_stdin(fd, 1, bytes, WINDOW);
	message = read_message(fd); /* what went into the pipe */
	assert_string_equal(json_string_value(json_object_get(message, "event")), "ack");
	assert_in_range(number_of(message, "stdinOffset"), 32768, WINDOW - 1);
	json_decref(message);
	send_message(fd, "{\"id\":\"b\",\"request\":2,\"stream\":true,\"cmd\":[\"true\"]}");
	expect_event(fd, "start", NULL);
	expect_event(fd, "exit", NULL);
	send_stdin(fd, 1, bytes, WINDOW);
	expect_event(fd, "error", NULL);
}

static void terminal(void **state)
{
	int fd = dial(*state);
	struct streamed s = {0};
	autobuf struct buf got = {0};

	ask(fd, "\"resume\":60,\"exec\":\"tty\",\"pty\":{\"rows\":33,\"cols\":99},\"cmd\":[\"sh\","
		"\"-c\",\"stty -echo; echo up; read x; stty size; cat\"]");
	json_decref(expect_start(fd, 0));
	take_stdout(fd, &got, 4);
	close(fd);
	fd = dial(*state);
	send_message(fd, "{\"event\":\"attach\",\"request\":1,\"exec\":\"tty\",\"stdoutOffset\":4,"
			 "\"pty\":{\"rows\":40,\"cols\":120}}");
	s.start = expect_start(fd, 0);
	send_stdin(fd, 1, "x\n", 2);
	/* A client that cannot know sends it again: the terminal gets it once. */
	for (int i = 0; i < 2; i++)
		send_message(fd, "{\"event\":\"stdin-close\",\"request\":1}");
	while (!take_streamed(fd, 1, &s))
		;
	assert_string_equal(buf_string(&s.out[0]), "40 120\r\n");
	streamed_free(&s);
	close(fd);
}

/* The end of the client's sending is no end of its stdin, since a broken connection looks the
 * same. */
static void half_close(void **state)
{
	autoclose int fd = dial(*state);
	char more;
	struct streamed s;

	ask(fd, "\"resume\":60,\"exec\":\"half\",\"cmd\":[\"sh\",\"-c\",\"echo all\"]");
	shutdown(fd, SHUT_WR);
	s = read_streamed(fd, 1);
	assert_string_equal(buf_string(&s.out[0]), "all\n");
	streamed_free(&s);
	assert_int_equal(read(fd, &more, 1), 0);
}

static void as_many_as_there_may_be(void **state)
{
	enum {
		MANY = 256
	}; /* LIMIT_RESUMABLE_EXECS, and as many requests as a connection may have */
	autoclose int fd = dial(*state);
	autoclose int other = -1;
	struct streamed s;

	for (int i = 1; i <= MANY; i++) {
		char text[128];

		snprintf(text, sizeof(text),
			 "{\"id\":\"r\",\"request\":%d,\"stream\":true,\"resume\":60,\"cmd\":["
			 "\"true\"]"
			 "}",
			 i);
		send_message(fd, text);
		s = read_streamed(fd, (uint64_t)i);
		streamed_free(&s);
	}
	other = dial(*state); /* not before: one that asks for nothing is ended */
	ask(other, "\"resume\":60,\"cmd\":[\"true\"]");
	s = read_streamed(other, 1);
	assert_string_equal(
		json_string_value(json_object_get(s.exit, "startError")),
		"the guest already keeps 256 commands that can be resumed, which is the limit: release some of them first");
	streamed_free(&s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(goes_on_at_the_offset, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(waits_when_the_ring_is_full, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(ends_while_nobody_is_there, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(is_killed_after_the_grace, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(release_kills, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(the_newest_client_has_it, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(wrong_offsets, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(ids, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(stdin_is_sent_again, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(stdin_has_a_window, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(terminal, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(half_close, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(as_many_as_there_may_be, guest_start, guest_end),
	};
	int code;

	if (fixture_role(argc, argv, &code))
		return code;
	return cmocka_run_group_tests_name("guest resumable", tests, NULL, NULL);
}
