/* SPDX-License-Identifier: MIT */
/* Tests the port that a connection says first, and the way to it; on the virtual clock. */
#include "test_base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "guest/machine/reach.h"

#define BEGUN (1000 * NS_PER_S)

struct told_stage {
	struct loop *loop;
	int server;	/* a program of the guest's */
	in_port_t port; /* as it is said */
	int host, ours; /* the ends of a connection */
	void *attempt;
	int calls, fd;
	struct error why;
};

static void on_reached(void *data, int fd, const struct error *why)
{
	struct told_stage *stage = data;

	stage->calls++;
	stage->fd = fd;
	stage->attempt = NULL;
	if (why)
		stage->why = *why;
}

static int make(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct told_stage *stage = calloc(1, sizeof(*stage));
	socklen_t len = sizeof(at);
	struct error err = {0};
	int ends[2];

	clock_set_virtual(BEGUN);
	stage->fd = -1;
	stage->loop = loop_new(NULL);
	stage->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(stage->server, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(stage->server, 4), 0);
	assert_int_equal(getsockname(stage->server, (struct sockaddr *)&at, &len), 0);
	stage->port = at.sin_port;
	assert_int_equal(fd_socketpair(ends, &err), 0);
	stage->host = ends[0];
	stage->ours = ends[1];
	stage->attempt = reach_told(stage->loop, stage->ours, on_reached, stage, &err);
	assert_non_null(stage->attempt);
	*state = stage;
	return 0;
}

static int drop(void **state)
{
	struct told_stage *stage = *state;

	if (stage->attempt)
		reach_told_give_up(stage->attempt);
	cleanup_close(&stage->fd);
	cleanup_close(&stage->host);
	close(stage->ours);
	close(stage->server);
	loop_free(stage->loop);
	free(stage);
	return 0;
}

static void rounds(struct told_stage *stage)
{
	struct error err = {0};

	for (int i = 0; i < 10; i++)
		assert_ok(loop_once(stage->loop, 0, &err));
}

static void say(struct told_stage *stage, const void *bytes, size_t len)
{
	assert_int_equal(send(stage->host, bytes, len, 0), len);
	rounds(stage);
}

static void require_reached(struct told_stage *stage)
{
	assert_int_equal(stage->calls, 1);
	assert_true(stage->fd >= 0);
	close(accept(stage->server, NULL, NULL));
}

/* The stream after it belongs to nobody yet. */
static void two_bytes_are_the_port(void **state)
{
	struct told_stage *stage = *state;
	char said[8] = "", rest[8] = "";

	memcpy(said, &stage->port, 2);
	memcpy(said + 2, "stream", 6);
	say(stage, said, 8);
	require_reached(stage);
	assert_int_equal(recv(stage->ours, rest, sizeof(rest), MSG_DONTWAIT), 6);
	assert_memory_equal(rest, "stream", 6);
}

static void in_two_pieces(void **state)
{
	struct told_stage *stage = *state;
	const char *bytes = (const char *)&stage->port;

	say(stage, bytes, 1);
	assert_int_equal(stage->calls, 0);
	say(stage, bytes + 1, 1);
	require_reached(stage);
}

static void nobody_listens_there(void **state)
{
	struct told_stage *stage = *state;

	shutdown(stage->server, SHUT_RDWR); /* the port stays its own */
	say(stage, &stage->port, 2);
	assert_int_equal(stage->calls, 1);
	assert_int_equal(stage->fd, -1);
	assert_int_equal(stage->why.errnum, ECONNREFUSED);
}

static void an_end_before_it(void **state)
{
	struct told_stage *stage = *state;

	say(stage, &stage->port, 1);
	close(stage->host);
	stage->host = -1;
	rounds(stage);
	assert_int_equal(stage->calls, 1);
	assert_int_equal(stage->fd, -1);
	assert_code(stage->why, ERR_IO);
}

static void silence(void **state)
{
	struct told_stage *stage = *state;
	uint64_t late = BEGUN + limit_get(LIMIT_REACH_MS) * NS_PER_MS;

	say(stage, &stage->port, 1);
	clock_set_virtual(late - 1);
	rounds(stage);
	assert_int_equal(stage->calls, 0);
	clock_set_virtual(late);
	rounds(stage);
	assert_int_equal(stage->calls, 1);
	assert_code(stage->why, ERR_TIMEOUT);
}

/* While it is read, and while it is being reached: the teardown gives up the rest. */
static void given_up(void **state)
{
	struct told_stage *stage = *state;
	struct error err = {0};

	reach_told_give_up(stage->attempt);
	stage->attempt = reach_told(stage->loop, stage->ours, on_reached, stage, &err);
	assert_non_null(stage->attempt);
	assert_int_equal(send(stage->host, &stage->port, 2, 0), 2);
	assert_ok(loop_once(stage->loop, 0, &err));
	assert_int_equal(stage->calls, 0);
	reach_told_give_up(stage->attempt);
	stage->attempt = NULL;
	rounds(stage);
	assert_int_equal(stage->calls, 0);
}

#define told_test(fn) cmocka_unit_test_setup_teardown(fn, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		told_test(two_bytes_are_the_port),
		told_test(in_two_pieces),
		told_test(nobody_listens_there),
		told_test(an_end_before_it),
		told_test(silence),
		told_test(given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
