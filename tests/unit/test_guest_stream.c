/* SPDX-License-Identifier: MIT */
/* Tests the streaming mode: output as it comes, a client that reads slowly, signals, terminals, the
 * end of a client. */
#include <signal.h>

#include "guest_stream_fixture.h"

/* A guest whose kernel has no cgroup v2. */
static int start_without_cgroups(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	*f = fixture_start(false, false);
	*state = f;
	return 0;
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

/* Returns the number in a file that a command writes again and again, when there is one. Another
 * client is served meanwhile. */
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

/* A client that does not read stops the command, and the agent's memory does not grow. When it
 * reads on, nothing is missing. */
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
	/* A message about a call that is over, or never was, gets no answer. */
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

/* The same while the agent waits for room in the command's stdin and does not read the
 * connection. */
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

/* A client that sends no more has ended its stdin once. Later actions of the command, and other
 * calls on the connection, type no further end into its terminal. */
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
	/* The terminal interprets Ctrl-C, and the end of stdin too. */
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
	assert_string_equal(
		json_string_value(json_object_get(message, "error")),
		"this machine's config has no command, so no client can attach to one: run a command in the guest instead");
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
		cmocka_unit_test_setup_teardown(slow_client, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(signal_and_cancel, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(timeout, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(cancel_kills_the_tree, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(lost_client_kills_the_tree, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(lost_client_behind_full_stdin, guest_start,
						guest_end),
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
