/* SPDX-License-Identifier: MIT */
/* Tests the hybrid-vsock dial with every kind of listener. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "channel/dial.h"

struct rig {
	char path[64];
	int dir, listener;
	const char *answer; /* NULL: closes without one; "": says nothing until the client goes */
	struct buf *first;  /* the client's */
	size_t awaited;	    /* of it, before the answer */
	bool piecemeal;	    /* the answer comes a byte at a time */
	char heard[64];
	uint8_t *behind;
};

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	strcpy(rig->path, "/tmp/test_channel_dial.XXXXXX");
	if (!mkdtemp(rig->path))
		return -1;
	rig->dir = open(rig->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig->listener = sock_listen_at(rig->dir, "vsock.sock", NULL);
	*state = rig;
	/* The server's thread waits in accept(). */
	return rig->listener < 0 ? -1 : fd_nonblock(rig->listener, false, NULL);
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	if (rig->listener >= 0)
		close(rig->listener);
	close(rig->dir);
	path_remove_tree_at(AT_FDCWD, rig->path, NULL);
	free(rig);
	return 0;
}

static void *serve(void *data)
{
	struct rig *rig = data;
	int fd = accept(rig->listener, NULL, NULL);
	size_t len = 0;

	while (len + 1 < sizeof(rig->heard) && read(fd, rig->heard + len, 1) == 1) {
		if (rig->heard[len++] == '\n')
			break;
	}
	if (rig->awaited)
		fd_read_exact(fd, rig->behind, rig->awaited, NULL);
	for (size_t at = 0, piece; rig->answer && rig->answer[at]; at += piece) {
		piece = rig->piecemeal ? 1 : strlen(rig->answer);
		fd_write_all(fd, rig->answer + at, piece, NULL);
	}
	if (rig->answer && !*rig->answer)
		while (read(fd, rig->heard + len, 1) == 1)
			;
	close(fd);
	return NULL;
}

static int dial(struct rig *rig, const char *answer, uint64_t ms, struct error *err)
{
	pthread_t server;
	int fd;

	rig->answer = answer;
	pthread_create(&server, NULL, serve, rig);
	fd = dial_blocking(rig->dir, 2222, rig->first, clock_mono_ns() + ms * NS_PER_MS, err);
	pthread_join(server, NULL);
	return fd;
}

static void test_ok_and_what_follows_is_the_stream(void **state)
{
	struct rig *rig = *state;
	struct error err = {0};
	char rest[16] = "";
	int fd = dial(rig, "OK 1073741824\nfirst", 10000, &err);

	assert_true(fd >= 0);
	assert_string_equal(rig->heard, "CONNECT 2222\n");
	assert_int_equal(read(fd, rest, sizeof(rest)), 5);
	assert_string_equal(rest, "first");
	close(fd);
}

static void test_an_answer_in_pieces(void **state)
{
	struct rig *rig = *state;
	struct error err = {0};
	char rest[16] = "";
	int fd;

	rig->piecemeal = true;
	fd = dial(rig, "OK 1073741824\nfirst", 10000, &err);
	assert_true(fd >= 0);
	assert_int_equal(fd_read_exact(fd, rest, 5, &err), 0);
	assert_string_equal(rest, "first");
	assert_int_equal(read(fd, rest, 1), 0);
	close(fd);
}

/* The listener has all of it before anything was answered. */
static void test_what_is_said_first_goes_with_the_line(void **state)
{
	struct rig *rig = *state;
	autobuf struct buf first = BUF_INIT(0);
	struct error err = {0};
	uint8_t heard[7];
	int fd;

	assert_int_equal(buf_append(&first, "request", 7, &err), 0);
	rig->first = &first;
	rig->awaited = sizeof(heard);
	rig->behind = heard;
	fd = dial(rig, "OK 1\n", 10000, &err);
	assert_true(fd >= 0);
	assert_string_equal(rig->heard, "CONNECT 2222\n");
	assert_memory_equal(heard, "request", 7);
	assert_int_equal(first.len, 0);
	close(fd);
}

/* More than a socket takes: the rest stays in its buffer, and nobody waits until it is taken. */
static void test_what_is_said_first_may_be_long(void **state)
{
	static uint8_t bytes[4 << 20], heard[4 << 20];
	struct rig *rig = *state;
	autobuf struct buf first = BUF_INIT(0);
	struct error err = {0};
	int fd;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 24);
	assert_int_equal(buf_append(&first, bytes, sizeof(bytes), &err), 0);
	rig->first = &first;
	rig->awaited = 1;
	rig->behind = heard;
	fd = dial(rig, "OK 1\n", 10000, &err);
	assert_true(fd >= 0);
	assert_in_range(first.len, 1, sizeof(bytes) - 1);
	assert_memory_equal(buf_bytes(&first), bytes + sizeof(bytes) - first.len, first.len);
	assert_int_equal(heard[0], bytes[0]);
	close(fd);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *answer;
		enum error_code code;
	} cases[] = {
		{NULL, ERR_UNAVAILABLE},
		{"OK", ERR_UNAVAILABLE},
		{"ERR no\n", ERR_IO},
		{"OK\n", ERR_IO},
		{"\n", ERR_IO},
		{"OK 123456789012345678901234567890123456789012345678901234567890\n", ERR_IO},
	};

	struct rig *rig = *state;

	/* With and without unread bytes after the line, which turn a close into a reset. */
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		autobuf struct buf first = BUF_INIT(0);
		struct error err = {0};

		assert_int_equal(buf_append(&first, "request", 7, &err), 0);
		rig->first = i % 2 ? &first : NULL;
		assert_int_equal(dial(rig, cases[i / 2].answer, 10000, &err), -1);
		assert_int_equal(err.code, cases[i / 2].code);
	}
}

static void test_silence_ends_at_the_deadline(void **state)
{
	struct rig *rig = *state;
	struct error err = {0};
	int fd;

	/* Nobody accepts: the kernel completes the connection and no byte ever comes. */
	fd = dial_blocking(rig->dir, 2222, NULL, clock_mono_ns() + 20 * NS_PER_MS, &err);
	assert_int_equal(fd, -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
}

static void test_no_listener(void **state)
{
	struct rig *rig = *state;
	struct error err = {0};

	close(rig->listener);
	rig->listener = -1;
	assert_int_equal(dial_blocking(rig->dir, 2222, NULL, UINT64_MAX, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	unlinkat(rig->dir, "vsock.sock", 0);
	assert_int_equal(dial_blocking(rig->dir, 2222, NULL, UINT64_MAX, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ok_and_what_follows_is_the_stream, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_an_answer_in_pieces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_said_first_goes_with_the_line, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_said_first_may_be_long, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_silence_ends_at_the_deadline, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_no_listener, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
