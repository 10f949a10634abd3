/* SPDX-License-Identifier: MIT */
/* Tests terminals of the envelope form, through the agent. */
#include <signal.h>

#include "guest_client.h"

#include "base/base64.h"
#include "base/limits.h"
#include "guest/agent/pty_event.h"

/* A client, with the bytes that it has read of the terminal and of the connection. */
struct client {
	int fd;
	struct buf screen; /* stdout, decoded */
	char last[512];	   /* the last line that was no stdout */
};

static struct client client_new(const struct fixture *f, const char *payload)
{
	struct client c = {.fd = dial(f)};
	autofree char *request = NULL;

	assert_true(asprintf(&request, "{\"op\":\"pty\",\"payload\":%s}\n", payload) > 0);
	send_text(c.fd, request);
	return c;
}

static void client_free(struct client *c)
{
	buf_free(&c->screen);
	if (c->fd >= 0)
		close(c->fd);
}

/* NULL at the end. */
static char *read_line(int fd)
{
	struct buf line = {0};
	char byte = 0;

	while (read(fd, &byte, 1) == 1 && byte != '\n')
		assert_int_equal(buf_append(&line, &byte, 1, NULL), 0);
	if (byte != '\n') {
		buf_free(&line);
		return NULL;
	}
	return buf_steal_string(&line, NULL);
}

/* Returns false if it was not stdout, and keeps it as `last`; "" at the end. */
static bool take_line(struct client *c)
{
	autofree char *line = read_line(c->fd);
	json_auto_t *message = line ? json_load_strict(line, strlen(line), NULL) : NULL;
	const char *event = json_string_value(json_object_get(message, "event"));
	const char *data = json_string_value(json_object_get(message, "data"));

	if (event && strcmp(event, "stdout") == 0) {
		assert_non_null(data);
		assert_true(strlen(data) <= 43692); /* of 32 KiB */
		assert_int_equal(base64_decode(data, strlen(data), &c->screen, NULL), 0);
		return true;
	}
	snprintf(c->last, sizeof(c->last), "%s", line ? line : "");
	return false;
}

static void until_screen(struct client *c, const char *text)
{
	while (!strstr(buf_string(&c->screen), text))
		assert_true(take_line(c));
}

static void until_last(struct client *c, const char *line)
{
	while (take_line(c))
		;
	assert_string_equal(c->last, line);
}

static void type(const struct client *c, const char *text)
{
	autofree char *data = base64_encode(text, strlen(text), NULL), *event = NULL;

	assert_true(asprintf(&event, "{\"event\":\"stdin\",\"data\":\"%s\"}\n", data) > 0);
	send_text(c->fd, event);
}

static void typed_and_resized(void **state)
{
	struct client c = client_new(*state, "{\"command\":[\"sh\"],\"env\":{\"PS1\":\"\"},"
					     "\"cols\":100,\"rows\":30,\"cwd\":\"/\"}");

	type(&c, "stty size; tty >/dev/null && echo a-tty; pwd\n");
	until_screen(&c, "30 100\r\na-tty\r\n/\r\n");
	send_text(c.fd, "{\"event\":\"resize\",\"cols\":132,\"rows\":50}\n");
	type(&c, "stty size\n");
	until_screen(&c, "50 132\r\n");
	/* A client without a terminal of its own says it like this: the size stays. */
	send_text(c.fd, "{\"event\":\"resize\"}{\"event\":\"resize\",\"cols\":0,\"rows\":0}\n");
	type(&c, "stty size; exit 7\n");
	until_last(&c, "{\"event\":\"exit\",\"code\":7}");
	assert_non_null(strstr(buf_string(&c.screen), "50 132\r\nstty size; exit 7"));
	client_free(&c);
}

static void ends(void **state)
{
	static const struct {
		const char *payload, *last;
	} cases[] = {
		{"{\"command\":[\"true\"]}", "{\"event\":\"exit\",\"code\":0}"},
		{"{\"command\":[\"sh\",\"-c\",\"kill -TERM $$\"],\"cols\":0,\"rows\":0}",
		 "{\"event\":\"exit\",\"code\":143}"},
		{"{\"command\":[\"sleep\",\"99\"],\"timeout_sec\":1}",
		 "{\"event\":\"exit\",\"code\":124,\"timed_out\":true}"},
		{"{\"command\":[\"/none\"]}",
		 "{\"event\":\"error\",\"code\":127,\"msg\":\"cannot execute /none: "
		 "No such file or directory\"}"},
		{"{\"command\":[\"/etc/passwd\"]}",
		 "{\"event\":\"error\",\"code\":126,\"msg\":\"cannot execute /etc/passwd: "
		 "Permission denied\"}"},
		{"{\"command\":[\"true\"],\"cwd\":\"/none\"}",
		 "{\"event\":\"error\",\"code\":125,\"msg\":\"cannot enter the directory /none: "
		 "No such file or directory\"}"},
		{"{\"command\":[\"true\"],\"rows\":65536}",
		 "{\"event\":\"error\",\"code\":125,\"msg\":\"payload.rows must be from 0 to "
		 "65535\"}"},
		{"{\"command\":\"sh\"}", "{\"event\":\"error\",\"code\":125,\"msg\":\"payload."
					 "command must be an array\"}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct client c = client_new(*state, cases[i].payload);

		until_last(&c, cases[i].last);
		client_free(&c);
	}
}

/* bash or sh, whichever exists, as an interactive login shell. */
static void default_shell(void **state)
{
	static const char *const payloads[] = {"{\"cols\":80,\"rows\":24}",
					       "{\"command\":[],\"cols\":80,\"rows\":24}"};

	for (size_t i = 0; i < ARRAY_SIZE(payloads); i++) {
		struct client c = client_new(*state, payloads[i]);

		type(&c, "echo $0 $- in $((40 + 2)); exit 3\n");
		until_last(&c, "{\"event\":\"exit\",\"code\":3}");
		assert_non_null(strstr(buf_string(&c.screen),
				       access("/bin/bash", X_OK) == 0 ? "/bin/bash " : "/bin/sh "));
		assert_non_null(strstr(buf_string(&c.screen), " in 42\r\n"));
		client_free(&c);
	}
}

/* The next request waits for the terminal's end. Events that crossed it are ignored. */
static void envelopes_around_a_terminal(void **state)
{
	struct client c = client_new(*state, "{\"command\":[\"sh\",\"-c\",\"stty -echo; echo on; "
					     "read x; echo got $x\"]}");
	autofree char *answer = NULL;

	until_screen(&c, "on\r\n");
	type(&c, "it\n");
	send_text(c.fd, "{\"op\":\"exec\",\"payload\":{\"command\":[\"echo\",\"next\"]}}\n");
	send_text(c.fd, "{\"event\":\"resize\",\"cols\":9,\"rows\":9}\n{\"op\":\"dance\"}\n");
	until_last(&c, "{\"event\":\"exit\",\"code\":0}");
	assert_non_null(strstr(buf_string(&c.screen), "got it\r\n"));
	answer = read_line(c.fd);
	assert_string_equal(answer, "{\"exit_code\":0,\"stdout\":\"next\\n\",\"stderr\":\"\"}");
	free(answer);
	answer = read_line(c.fd);
	assert_string_equal(answer, "{\"error\":\"unknown op: dance\"}");
	client_free(&c);
}

/* A megabyte each way: typed faster than it is read, written faster than it is taken. */
static void much(void **state)
{
	enum { SIZE = 1 << 20 };
	struct client c =
		client_new(*state, "{\"command\":[\"sh\",\"-c\",\"stty raw -echo; echo on; "
				   "head -c 1048576 | md5sum; head -c 1048576 /dev/zero\"]}");
	autofree char *bytes = malloc(SIZE + 1);
	pid_t typist;

	memset(bytes, 'x', SIZE);
	bytes[SIZE] = 0;
	until_screen(&c, "on\n");
	typist = fork(); /* the agent reads no more while the terminal is full */
	if (typist == 0) {
		type(&c, bytes);
		_exit(0);
	}
	until_last(&c, "{\"event\":\"exit\",\"code\":0}");
	assert_int_equal(waitpid(typist, NULL, 0), typist);
	assert_non_null(strstr(buf_string(&c.screen), "b561f87202d04959e37588ee05cf5b10"));
	assert_true(c.screen.len > SIZE);
	client_free(&c);
}

/* All output of the program is in the terminal when it ends, however slowly it is taken. */
static void much_at_the_end(void **state)
{
	enum { SIZE = 1 << 20 };
	struct client c =
		client_new(*state, "{\"command\":[\"sh\",\"-c\",\"stty raw; exec head -c 1048576 "
				   "/dev/zero\"]}");
	until_last(&c, "{\"event\":\"exit\",\"code\":0}");
	assert_int_equal(c.screen.len, SIZE);
	client_free(&c);
}

/* As on a machine with other work. */
static int impatient_start(void **state)
{
	uint64_t drain = limit_get(LIMIT_EXEC_DRAIN_MS);
	int status;

	limit_set(LIMIT_EXEC_DRAIN_MS, 1);
	status = guest_start(state);
	limit_set(LIMIT_EXEC_DRAIN_MS, drain);
	return status;
}

static void breaches(void **state)

{
	static const struct {
		const char *event, *last;
	} cases[] = {
		{"{\"event\":\"dance\"}\n",
		 "{\"event\":\"error\",\"msg\":\"the guest's agent does not know the event \\\"dance\\\" of a terminal: send \\\"stdin\\\" or \\\"resize\\\"\"}"},
		{"{\"event\":5}\n", "{\"event\":\"error\",\"msg\":\"event must be a string\"}"},
		{"{}\n", "{\"event\":\"error\",\"msg\":\"event is required\"}"},
		{"[1]\n",
		 "{\"event\":\"error\",\"msg\":\"an event for a terminal of the guest must be a JSON object: correct the program that sent it\"}"},
		{"{\"event\":\"resize\",\"rows\":-1}\n",
		 "{\"event\":\"error\",\"msg\":\"rows must be from 0 to 65535\"}"},
		{"{\"event\":\"stdin\",\"data\":7}\n",
		 "{\"event\":\"error\",\"msg\":\"data must be a string\"}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct client c = client_new(*state, "{\"command\":[\"sleep\",\"99\"]}");

		send_text(c.fd, cases[i].event);
		until_last(&c, cases[i].last);
		assert_null(read_line(c.fd)); /* closed */
		client_free(&c);
	}
	struct client c = client_new(*state, "{\"command\":[\"sleep\",\"99\"]}");
	send_text(c.fd, "{\"event\":\"stdin\",\"data\":\"no base64\"}\n");
	while (take_line(&c))
		;
	assert_non_null(strstr(c.last, "{\"event\":\"error\",\"msg\":\"data: "));
	client_free(&c);
}

/* Waits for the end of the process that holds fd open: every process of the terminal. */
static void wait_for_end(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		;
}

/* Opens a FIFO that the command holds open for as long as it or a child lives. */
static int hold(const struct fixture *f, char path[64])
{
	snprintf(path, 64, "%s/fifo", f->etc);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(chmod(path, 0666), 0);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* The client goes away: SIGHUP, so that a program can clean up. */
static void hung_up(void **state)
{
	char path[64], payload[512], kept[64] = "";
	autoclose int fd = hold(*state, path);
	struct client c;

	snprintf(payload, sizeof(payload),
		 "{\"command\":[\"sh\",\"-c\",\"exec 9>%s; trap 'echo saved >&9; exit' HUP; echo "
		 "on; "
		 "while :; do sleep 0.1; done\"]}",
		 path);
	c = client_new(*state, payload);
	until_screen(&c, "on\r\n");
	client_free(&c);
	assert_int_equal(fd_nonblock(fd, false, NULL), 0);
	assert_int_equal(read(fd, kept, sizeof(kept) - 1), 6);
	assert_string_equal(kept, "saved\n");
	wait_for_end(fd);
}

/* A program that ignores it is killed with its tree. */
static void hung_up_in_vain(void **state)
{
	char path[64], payload[512];
	autoclose int fd = hold(*state, path);
	struct client c;

	snprintf(payload, sizeof(payload),
		 "{\"command\":[\"sh\",\"-c\",\"exec 9>%s; trap '' HUP; sleep 99 & echo on; "
		 "while :; do sleep 0.1; done\"]}",
		 path);
	c = client_new(*state, payload);
	until_screen(&c, "on\r\n");
	client_free(&c);
	assert_int_equal(fd_nonblock(fd, false, NULL), 0);
	wait_for_end(fd);
}

static int start_without_patience(void **state)
{
	int got;

	limit_set(LIMIT_HANG_UP_MS, 200);
	got = guest_start(state);
	limit_reset(LIMIT_HANG_UP_MS);
	return got;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(typed_and_resized, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(ends, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(default_shell, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(envelopes_around_a_terminal, guest_start,
						guest_end),
		cmocka_unit_test_setup_teardown(much, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(much_at_the_end, impatient_start, guest_end),
		cmocka_unit_test_setup_teardown(breaches, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(hung_up, guest_start, guest_end),
		cmocka_unit_test_setup_teardown(hung_up_in_vain, start_without_patience, guest_end),
	};
	int code;

	if (fixture_role(argc, argv, &code))
		return code;
	return cmocka_run_group_tests_name("guest pty", tests, NULL, NULL);
}
