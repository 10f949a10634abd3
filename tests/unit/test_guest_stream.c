/* SPDX-License-Identifier: MIT */
/* The streaming mode: output as it comes, back-pressure both ways, signals, terminals, the end of a
 * client. */
#include <signal.h>

#include "guest_client.h"

/* A guest whose kernel has no cgroup v2. */
static int start_without_cgroups(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	*f = fixture_start(false, false);
	*state = f;
	return 0;
}

static void ask(int fd, unsigned request, const char *rest)
{
	autofree char *text = NULL;

	assert_true(asprintf(&text, "{\"id\":\"r%u\",\"request\":%u,\"stream\":true,%s}", request,
			     request, rest) > 0);
	send_message(fd, text);
}

static void assert_output(struct streamed *s, const char *out, const char *err)
{
	assert_string_equal(buf_string(&s->out[0]), out);
	assert_string_equal(buf_string(&s->out[1]), err);
}

static void output_and_exit(void **state)
{
	autoclose int fd = dial(*state);
	struct streamed s;

	ask(fd, 5, "\"cmd\":[\"sh\",\"-c\",\"echo out; echo err >&2; exit 3\"]");
	s = read_streamed(fd, 5);
	assert_output(&s, "out\n", "err\n");
	assert_string_equal(json_string_value(json_object_get(s.start, "id")), "r5");
	assert_true(number_of(s.start, "pid") > 1);
	assert_int_equal(number_of(s.exit, "exitCode"), 3);
	assert_true(json_is_false(json_object_get(s.exit, "killed")));
	streamed_free(&s);
}

static void many_on_one_connection(void **state)
{
	autoclose int fd = dial(*state);

	for (unsigned i = 1; i <= 50; i++) {
		char rest[64];
		struct streamed s;

		snprintf(rest, sizeof(rest), "\"cmd\":[\"sh\",\"-c\",\"exit %u\"]", i);
		ask(fd, i, rest);
		s = read_streamed(fd, i);
		assert_int_equal(number_of(s.exit, "exitCode"), i);
		streamed_free(&s);
	}
}

static void never_started(void **state)
{
	autoclose int fd = dial(*state);
	struct streamed s;

	ask(fd, 1, "\"cmd\":[\"no-such-program\"]");
	s = read_streamed(fd, 1);
	assert_null(s.start);
	assert_int_equal(number_of(s.exit, "exitCode"), 127);
	assert_non_null(json_object_get(s.exit, "startError"));
	streamed_free(&s);
	ask(fd, 2, "\"cmd\":[\"true\"],\"env\":{\"\":\"\"}");
	s = read_streamed(fd, 2);
	assert_int_equal(number_of(s.exit, "exitCode"), 125);
	streamed_free(&s);
}

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

/* The number in a file that a command writes again and again, once there is one. Another client is
 * served meanwhile. */
static long count_in(const char *path, int fd, unsigned *request)
{
	for (;;) {
		autofile FILE *file = fopen(path, "re");
		char count[32] = "";
		struct streamed s;

		if (file && fgets(count, sizeof(count), file) && strchr(count, '\n'))
			return strtol(count, NULL, 10);
		ask(fd, ++*request, "\"cmd\":[\"true\"]");
		s = read_streamed(fd, *request);
		streamed_free(&s);
	}
}

/* A client that does not read stops the command, and the agent's memory does not grow with it; when
 * it reads on, nothing is missing. */
static void slow_client(void **state)
{
	const struct fixture *f = *state;
	autoclose int fd = dial(f);
	autoclose int other = dial(f);
	char path[64], rest[256];
	unsigned request = 0;
	struct streamed s;

	snprintf(path, sizeof(path), "%s/count", f->etc);
	snprintf(rest, sizeof(rest),
		 "\"user\":\"%u\",\"cmd\":[\"sh\",\"-c\",\"i=0; while [ $i -lt 300 ]; do head -c "
		 "65536 "
		 "/dev/zero; i=$((i+1)); echo $i > %s; done\"]",
		 geteuid(), path);
	ask(fd, 1, rest);
	/* socket buffers, the queue and the pipe hold far less than 300 * 64 KiB */
	assert_true(count_in(path, other, &request) < 100);
	s = read_streamed(fd, 1);
	assert_int_equal(s.out[0].len, 300 * 65536);
	assert_int_equal(count_in(path, other, &request), 300);
	streamed_free(&s);
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

static void signal_and_cancel(void **state)
{
	autoclose int fd = dial(*state);
	struct streamed s;

	ask(fd, 1, "\"cmd\":[\"sleep\",\"1000\"]");
	send_message(fd, "{\"event\":\"signal\",\"request\":1,\"signal\":15}");
	s = read_streamed(fd, 1);
	assert_int_equal(number_of(s.exit, "exitCode"), 143);
	assert_int_equal(number_of(s.exit, "signal"), 15);
	assert_true(json_is_false(json_object_get(s.exit, "killed")));
	streamed_free(&s);
	ask(fd, 2, "\"cmd\":[\"sleep\",\"1000\"]");
	send_message(fd, "{\"event\":\"cancel\",\"request\":2}");
	s = read_streamed(fd, 2);
	assert_int_equal(number_of(s.exit, "exitCode"), 137);
	assert_true(json_is_true(json_object_get(s.exit, "killed")));
	streamed_free(&s);
	/* about what is over, or never was, there is nothing to say */
	send_message(fd, "{\"event\":\"cancel\",\"request\":2}");
	send_stdin(fd, 77, "x", 1);
	ask(fd, 3, "\"cmd\":[\"true\"]");
	s = read_streamed(fd, 3);
	streamed_free(&s);
}

static void timeout(void **state)
{
	autoclose int fd = dial(*state);
	struct streamed s;

	ask(fd, 1, "\"cmd\":[\"sh\",\"-c\",\"echo a; sleep 1000\"],\"timeoutSeconds\":1");
	s = read_streamed(fd, 1);
	assert_output(&s, "a\n", "");
	assert_int_equal(number_of(s.exit, "exitCode"), 124);
	assert_true(json_is_true(json_object_get(s.exit, "timedOut")));
	assert_true(json_is_true(json_object_get(s.exit, "killed")));
	streamed_free(&s);
}

/* The reader of a FIFO gets its end when the last process that has it for writing is gone: an event
 * for "the whole tree is dead". */
static void wait_for_death(const char *path, int reader)
{
	char rest[64];

	(void)path;
	while (read(reader, rest, sizeof(rest)) > 0)
		;
	close(reader);
}

static int make_fifo(const struct fixture *f, char path[64])
{
	snprintf(path, 64, "%s/fifo", f->etc);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(chmod(path, 0666), 0);
	return 0;
}

/* A tree: the command, a child, and with sessions also one in a session of its own. */
static void start_tree(const struct fixture *f, int fd, bool sessions, char path[64], int *reader)
{
	char rest[512], line[8] = "";

	make_fifo(f, path);
	snprintf(rest, sizeof(rest),
		 "\"cmd\":[\"sh\",\"-c\",\"exec 7>%s; %s sleep 9999 & sleep 9999 & echo up >&7; "
		 "sleep 9999\"]",
		 path, sessions ? "setsid" : "");
	ask(fd, 1, rest);
	*reader = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(*reader >= 0);
	assert_int_equal(read(*reader, line, sizeof(line)), 3);
}

static void cancel_kills_the_tree(void **state)
{
	const struct fixture *f = *state;
	autoclose int fd = dial(f);
	char path[64];
	struct streamed s;
	int reader;

	start_tree(f, fd, f->cgroup[0], path, &reader);
	send_message(fd, "{\"event\":\"cancel\",\"request\":1}");
	s = read_streamed(fd, 1);
	assert_int_equal(number_of(s.exit, "exitCode"), 137);
	streamed_free(&s);
	wait_for_death(path, reader);
}

static void lost_client_kills_the_tree(void **state)
{
	const struct fixture *f = *state;
	int fd = dial(f), reader;
	char path[64];

	start_tree(f, fd, f->cgroup[0], path, &reader);
	close(fd);
	wait_for_death(path, reader);
}

/* The same while the agent waits for room in the command's stdin and does not read the connection.
 */
static void lost_client_behind_full_stdin(void **state)
{
	const struct fixture *f = *state;
	int fd = dial(f), reader;
	char path[64], line[8] = "", rest[256];
	static uint8_t block[300000];

	make_fifo(f, path);
	snprintf(rest, sizeof(rest),
		 "\"stdin\":true,\"cmd\":[\"sh\",\"-c\",\"exec 7>%s; echo up >&7; sleep 9999\"]",
		 path);
	ask(fd, 1, rest);
	reader = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(reader, line, sizeof(line)), 3);
	send_stdin(fd, 1, block, sizeof(block));
	close(fd);
	wait_for_death(path, reader);
}

#define WINDOW 524288 /* LIMIT_STDIN_WINDOW_BYTES */

/* read_streamed() of one whose acks are not looked at: a number that goes up. */
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

/* A client that sends no more has said so once: what the command does afterwards, and others on the
 * connection, type no further end into its terminal. */
static void one_end_of_a_terminal(void **state)
{
	const struct fixture *f = *state;
	autoclose int fd = dial(f);
	struct streamed first = {0}, second = {0};
	char rest[512], go[64];

	snprintf(go, sizeof(go), "%s/go", f->etc);
	snprintf(rest, sizeof(rest),
		 "\"pty\":{},\"cmd\":[\"sh\",\"-c\",\"cat; echo one; until [ -e %s.2 ]; do sleep "
		 "0.02; "
		 "done; dd iflag=nonblock bs=1 count=1 2>/dev/null && echo two; echo over\"]",
		 go);
	ask(fd, 1, rest);
	assert_false(take_streamed(fd, 1, &first));
	snprintf(rest, sizeof(rest),
		 "\"cmd\":[\"sh\",\"-c\",\"until [ -e %s.1 ]; do sleep 0.02; done\"]", go);
	ask(fd, 2, rest);
	assert_false(take_streamed(fd, 2, &second));
	shutdown(fd, SHUT_WR);
	while (!strstr(buf_string(&first.out[0]), "one\r\n"))
		assert_false(take_streamed(fd, 1, &first));
	write_file(f->etc, "go.1", "");
	assert_true(take_streamed(fd, 2, &second));
	write_file(f->etc, "go.2", "");
	while (!take_streamed(fd, 1, &first))
		;
	assert_non_null(strstr(buf_string(&first.out[0]), "one\r\nover\r\n"));
	streamed_free(&first);
	streamed_free(&second);
}

static void terminal(void **state)
{
	autoclose int fd = dial(*state);
	struct streamed s;

	ask(fd, 1,
	    "\"cmd\":[\"sh\",\"-c\",\"stty size; tty >/dev/null && echo $TERM; read x; "
	    "stty size; echo got $x\"],\"pty\":{\"rows\":33,\"cols\":99}");
	send_message(fd, "{\"event\":\"resize\",\"request\":1,\"rows\":40,\"cols\":120}");
	send_stdin(fd, 1, "word\n", 5);
	s = read_streamed(fd, 1);
	assert_non_null(strstr(buf_string(&s.out[0]), "xterm-256color\r\n"));
	assert_non_null(strstr(buf_string(&s.out[0]), "40 120\r\ngot word\r\n"));
	assert_int_equal(number_of(s.exit, "exitCode"), 0);
	streamed_free(&s);
	/* Ctrl-C is the terminal's to understand; the end of stdin too */
	ask(fd, 2, "\"cmd\":[\"sleep\",\"1000\"],\"pty\":{}");
	s = (struct streamed){0};
	assert_false(take_streamed(fd, 2, &s)); /* before its start there is nobody to interrupt */
	send_stdin(fd, 2, "\x03", 1);
	while (!take_streamed(fd, 2, &s))
		;
	assert_int_equal(number_of(s.exit, "exitCode"), 130);
	streamed_free(&s);
	ask(fd, 3, "\"cmd\":[\"cat\"],\"pty\":{}");
	send_message(fd, "{\"event\":\"stdin-close\",\"request\":3}");
	s = read_streamed(fd, 3);
	assert_int_equal(number_of(s.exit, "exitCode"), 0);
	streamed_free(&s);
}

static void number_in_use(void **state)
{
	autoclose int fd = dial(*state);
	json_auto_t *message = NULL;
	char more;

	ask(fd, 4, "\"cmd\":[\"sleep\",\"1000\"]");
	message = read_message(fd);
	ask(fd, 4, "\"cmd\":[\"true\"]");
	json_decref(message);
	message = read_message(fd);
	assert_string_equal(json_string_value(json_object_get(message, "event")), "error");
	assert_int_equal(number_of(message, "request"), 4);
	assert_int_equal(read(fd, &more, 1), 0);
}

static void attach_without_a_workload(void **state)
{
	autoclose int fd = dial(*state);
	json_auto_t *message = NULL;

	send_message(fd, "{\"event\":\"attach\",\"request\":1,\"exec\":\"workload\"}");
	message = read_message(fd);
	assert_string_equal(json_string_value(json_object_get(message, "event")), "error");
	assert_string_equal(json_string_value(json_object_get(message, "error")),
			    "there is no workload");
}

/* A thousand connections are held, and each is served. */
static void a_thousand_connections(void **state)
{
	enum { MANY = 1000 };
	static int fds[MANY];

	for (int i = 0; i < MANY; i++)
		fds[i] = dial(*state);
	for (int i = 0; i < MANY; i += 100) {
		struct streamed s;

		ask(fds[i], 1, "\"cmd\":[\"true\"]");
		s = read_streamed(fds[i], 1);
		assert_int_equal(number_of(s.exit, "exitCode"), 0);
		streamed_free(&s);
	}
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(output_and_exit, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(many_on_one_connection, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(never_started, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(closed_stdin_by_default, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(stdin_to_its_end, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(half_close_is_the_end_of_stdin, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(bulk_both_ways, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(slow_client, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(full_stdin_stops_the_connection, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(signal_and_cancel, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(timeout, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(cancel_kills_the_tree, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(lost_client_kills_the_tree, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(lost_client_behind_full_stdin, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(a_window_keeps_the_connection, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(a_window_is_kept_to, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(bytes_through_a_window, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(one_end_of_a_terminal, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(terminal, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(number_in_use, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(attach_without_a_workload, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(a_thousand_connections, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(cancel_kills_the_tree, start_without_cgroups,
						guest_end),
		cmocka_unit_test_setup_teardown(lost_client_kills_the_tree, start_without_cgroups,
						guest_end),
		cmocka_unit_test_setup_teardown(timeout, start_without_cgroups, guest_end),
		cmocka_unit_test_setup_teardown(output_and_exit, start_without_cgroups, guest_end),
		cmocka_unit_test_setup_teardown(never_started, start_without_cgroups, guest_end),
		cmocka_unit_test_setup_teardown(terminal, start_without_cgroups, guest_end),
		cmocka_unit_test_setup_teardown(many_on_one_connection, start_without_cgroups,
						guest_end),
	};
	int code;

	if (fixture_role(argc, argv, &code))
		return code;
	return cmocka_run_group_tests_name("guest stream", tests, NULL, NULL);
}
