/* SPDX-License-Identifier: MIT */
/* Tests the hybrid-vsock dial on a loop, on the virtual clock. */
#include "test_base.h"

#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "channel/dial.h"

#define BEGUN (1000 * NS_PER_S)
#define DEADLINE (BEGUN + 10 * NS_PER_S)

/* A loop that dials, and the listener that is dialled. */
struct stage {
	struct scratch *scratch;
	struct loop *loop;
	int listener;
	struct dial *dial;
	int calls, fd;
	struct error why;
};

static int stage_make(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	void *scratch = NULL;

	clock_set_virtual(BEGUN);
	if (scratch_make(&scratch) < 0)
		return -1;
	stage->scratch = scratch;
	stage->fd = stage->listener = -1;
	stage->loop = loop_new(NULL);
	*state = stage;
	return stage->loop ? 0 : -1;
}

static int stage_drop(void **state)
{
	struct stage *stage = *state;
	void *scratch = stage->scratch;

	if (stage->fd >= 0)
		close(stage->fd);
	if (stage->listener >= 0)
		close(stage->listener);
	loop_free(stage->loop);
	free(stage);
	return scratch_remove(&scratch);
}

static void on_reached(void *data, int fd, const struct error *why)
{
	struct stage *stage = data;

	stage->calls++;
	stage->fd = fd;
	if (why)
		stage->why = *why;
	stage->dial = NULL;
}

static void rounds(struct stage *stage)
{
	struct error err = {0};

	for (int i = 0; i < 10; i++)
		assert_ok(loop_once(stage->loop, 0, &err));
}

static void listen_with(struct stage *stage, int backlog)
{
	struct error err = {0};

	stage->listener = sock_listen_at(stage->scratch->fd, "vsock.sock", &err);
	assert_true(stage->listener >= 0);
	assert_int_equal(listen(stage->listener, backlog), 0);
}

static void begin(struct stage *stage)
{
	struct error err = {0};

	stage->dial = dial_on_loop(stage->loop, stage->scratch->fd, 2222, NULL, DEADLINE,
				   on_reached, stage, &err);
	assert_non_null(stage->dial);
	assert_int_equal(stage->calls, 0); /* never from within the call */
	rounds(stage);
}

/* Returns the accepted connection, whose request has been read. */
static int accept_dial(struct stage *stage)
{
	int fd = accept(stage->listener, NULL, NULL);
	char line[64] = "";

	assert_true(fd >= 0);
	assert_int_equal(recv(fd, line, sizeof(line) - 1, MSG_DONTWAIT), 13);
	assert_string_equal(line, "CONNECT 2222\n");
	return fd;
}

static void say(struct stage *stage, int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
	rounds(stage);
}

static void what_follows_the_line_is_the_stream(void **state)
{
	struct stage *stage = *state;
	char rest[16] = "";
	int fd;

	listen_with(stage, 4);
	begin(stage);
	fd = accept_dial(stage);
	say(stage, fd, "OK 4294967295\nfirst");
	assert_int_equal(stage->calls, 1);
	assert_true(stage->fd >= 0);
	assert_int_equal(recv(stage->fd, rest, sizeof(rest) - 1, MSG_DONTWAIT), 5);
	assert_string_equal(rest, "first");
	close(fd);
}

/* In one write with the CONNECT, and no more than there is room for. */
static void what_the_guest_hears_first(void **state)
{
	static const char whole[] = "CONNECT 65536\n\x1f\0";
	struct stage *stage = *state;
	struct error err = {0};
	autobuf struct buf first = BUF_INIT(0);
	char got[32] = "";

	assert_ok(buf_append(&first, "\x1f\0", 2, &err));
	listen_with(stage, 4);
	stage->dial = dial_on_loop(stage->loop, stage->scratch->fd, 65536, &first, DEADLINE,
				   on_reached, stage, &err);
	assert_non_null(stage->dial);
	rounds(stage);
	autoclose int fd = accept(stage->listener, NULL, NULL);
	assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), sizeof(whole) - 1);
	assert_memory_equal(got, whole, sizeof(whole) - 1);
	say(stage, fd, "OK 1\n");
	assert_int_equal(stage->calls, 1);
	assert_true(stage->fd >= 0);
	assert_ok(buf_append(&first, "0123456789abcdef0123456789abcdef0123456789abcdef", 48, &err));
	assert_null(dial_on_loop(stage->loop, stage->scratch->fd, 65536, &first, DEADLINE,
				 on_reached, stage, &err));
}

/* In two pieces, wherever it is cut. */
static void a_line_that_is_cut(void **state)
{
	static const char text[] = "OK 4294967295\nfirst";
	struct stage *stage = *state;

	listen_with(stage, 4);
	for (size_t at = 1; at < sizeof(text) - 1; at++) {
		char part[sizeof(text)] = "", rest[16] = "";
		int fd;

		memcpy(part, text, at);
		begin(stage);
		fd = accept_dial(stage);
		say(stage, fd, part);
		assert_int_equal(stage->calls, strchr(part, '\n') != NULL);
		say(stage, fd, text + at);
		assert_int_equal(stage->calls, 1);
		assert_true(stage->fd >= 0);
		assert_int_equal(recv(stage->fd, rest, sizeof(rest) - 1, MSG_DONTWAIT), 5);
		assert_string_equal(rest, "first");
		close(stage->fd);
		stage->fd = -1;
		stage->calls = 0;
		close(fd);
	}
}

/* Cut short, or too long, with a part of it taken already. */
static void no_line_in_pieces(void **state)
{
	static const struct {
		const char *begun, *more; /* NULL: a close */
		enum error_code code;
	} rows[] = {
		{"O", "R", ERR_IO},
		{"OK ", "\n", ERR_IO},
		{"OK 1111111111", "1111111111111111111", ERR_IO},
		{"OK 1", NULL, ERR_UNAVAILABLE},
	};
	struct stage *stage = *state;

	listen_with(stage, 4);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int fd;

		begin(stage);
		fd = accept_dial(stage);
		say(stage, fd, rows[i].begun);
		assert_int_equal(stage->calls, 0);
		if (rows[i].more)
			say(stage, fd, rows[i].more);
		close(fd);
		rounds(stage);
		assert_int_equal(stage->calls, 1);
		assert_int_equal(stage->fd, -1);
		assert_code(stage->why, rows[i].code);
		stage->calls = 0;
	}
}

static void a_refusal(void **state)
{
	struct stage *stage = *state;

	listen_with(stage, 4);
	begin(stage);
	close(accept_dial(stage));
	rounds(stage);
	assert_int_equal(stage->calls, 1);
	assert_int_equal(stage->fd, -1);
	assert_code(stage->why, ERR_UNAVAILABLE);
	assert_string_equal(
		stage->why.msg,
		"the guest refuses connections to its port 2222: no program of the guest listens there");
}

static void no_ok_line(void **state)
{
	static const char *const answers[] = {"ERR no\n", "OK 11111111111111111111111111111",
					      "CONNECT 2222\n"};
	struct stage *stage = *state;

	listen_with(stage, 4);
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		int fd;

		begin(stage);
		fd = accept_dial(stage);
		say(stage, fd, answers[i]);
		assert_int_equal(stage->calls, 1);
		assert_code(stage->why, ERR_IO);
		assert_non_null(strstr(
			stage->why.msg,
			"not answer with a line that begins with OK: this is a bug, or the process behind it was taken over"));
		stage->calls = 0;
		close(fd);
	}
}

static void nobody_there(void **state)
{
	struct stage *stage = *state;

	begin(stage);
	assert_int_equal(stage->calls, 1);
	assert_code(stage->why, ERR_NOT_FOUND);
}

/* Silent, or silent after a part of the line. */
static void the_deadline(void **state)
{
	static const char *const parts[] = {"", "OK 1"};
	struct stage *stage = *state;

	listen_with(stage, 4);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int fd;

		clock_set_virtual(BEGUN);
		begin(stage);
		fd = accept_dial(stage);
		say(stage, fd, parts[i]);
		clock_set_virtual(DEADLINE - 1);
		rounds(stage);
		assert_int_equal(stage->calls, 0);
		clock_set_virtual(DEADLINE);
		rounds(stage);
		assert_int_equal(stage->calls, 1);
		assert_code(stage->why, ERR_TIMEOUT);
		assert_string_equal(
			stage->why.msg,
			"the guest does not answer on its port 2222: it is paused, hangs, or has too much to do");
		stage->calls = 0;
		close(fd);
	}
}

/* Others wait to be accepted: the dial tries again, as long as its time lasts. */
static void a_full_backlog(void **state)
{
	uint64_t again = limit_get(LIMIT_ACCEPT_AGAIN_MS) * NS_PER_MS;
	struct stage *stage = *state;
	int others[8], count = 0, fd;

	listen_with(stage, 1);
	while (count < (int)ARRAY_SIZE(others) &&
	       (fd = sock_connect_now_at(stage->scratch->fd, "vsock.sock", NULL)) >= 0)
		others[count++] = fd;
	assert_in_range(count, 1, ARRAY_SIZE(others) - 1);
	begin(stage);
	clock_set_virtual(BEGUN + again);
	rounds(stage);
	assert_int_equal(stage->calls, 0);
	for (int i = 0; i < count; i++) {
		close(accept(stage->listener, NULL, NULL));
		close(others[i]);
	}
	clock_set_virtual(BEGUN + 2 * again);
	rounds(stage);
	fd = accept_dial(stage);
	say(stage, fd, "OK 1\n");
	assert_int_equal(stage->calls, 1);
	assert_true(stage->fd >= 0);
	close(fd);
}

static void given_up(void **state)
{
	struct stage *stage = *state;
	char byte;
	int fd;

	listen_with(stage, 4);
	begin(stage);
	fd = accept_dial(stage);
	dial_free(stage->dial);
	dial_free(NULL);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0); /* its end */
	clock_set_virtual(DEADLINE);
	rounds(stage);
	assert_int_equal(stage->calls, 0);
	close(fd);
}

#define stage_test(fn) cmocka_unit_test_setup_teardown(fn, stage_make, stage_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		stage_test(what_follows_the_line_is_the_stream),
		stage_test(what_the_guest_hears_first),
		stage_test(a_line_that_is_cut),
		stage_test(no_line_in_pieces),
		stage_test(a_refusal),
		stage_test(no_ok_line),
		stage_test(nobody_there),
		stage_test(the_deadline),
		stage_test(a_full_backlog),
		stage_test(given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
