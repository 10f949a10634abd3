/* SPDX-License-Identifier: MIT */
/* wire.c over a socket pair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "guest/wire.h"

struct fixture {
	struct loop *loop;
	struct wire wire;
	int peer;
	unsigned drained, lost;
};

static void on_input(void *data)
{
	(void)data;
}

static void on_drained(void *data)
{
	struct fixture *f = data;

	f->drained++;
	loop_stop(f->loop);
}

static void on_lost(void *data, const char *why)
{
	struct fixture *f = data;

	(void)why;
	f->lost++;
	loop_stop(f->loop);
}

static const struct wire_owner owner = {on_input, on_drained, on_lost};

static int set_up(void **state)
{
	static struct fixture f;
	int pair[2];

	f = (struct fixture){.loop = loop_new(NULL)};
	if (!f.loop || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    wire_open(&f.wire, f.loop, pair[0], &owner, &f, NULL) < 0)
		return -1;
	f.peer = pair[1];
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	wire_close(&f->wire);
	loop_free(f->loop);
	close(f->peer);
	return 0;
}

static void fill(struct fixture *f)
{
	static const char block[65536];

	while (!wire_is_full(&f->wire)) {
		assert_int_equal(buf_append(&f->wire.out, block, sizeof(block), NULL), 0);
		wire_flush(&f->wire);
	}
}

/* What the peer reads at once makes less room than the wire holds back. */
static void read_all(struct fixture *f)
{
	static char block[1 << 20];

	while (f->wire.out.len > 0 || recv(f->peer, block, sizeof(block), MSG_DONTWAIT) > 0)
		if (recv(f->peer, block, sizeof(block), MSG_DONTWAIT) <= 0)
			return;
}

/* Who waits for room is told of it by the loop. */
static void told_of_room(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	fill(f);
	while (wire_is_full(&f->wire)) {
		read_all(f);
		assert_int_equal(loop_run(f->loop, &err), 0);
	}
	assert_true(f->drained > 0);
}

/* Also when it was a send of the owner's own that found the room, before the loop did: an answer on
 * a connection whose command waited with its output. */
static void told_of_room_that_a_send_found(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	fill(f);
	while (f->wire.out.len > 0) {
		read_all(f);
		assert_int_equal(wire_send_line(&f->wire, "{}", NULL), 0);
	}
	read_all(f);
	assert_int_equal(f->drained, 0); /* the owner is called from the loop alone */
	assert_int_equal(loop_run(f->loop, &err), 0);
	assert_int_equal(f->drained, 1);
	assert_false(wire_is_full(&f->wire));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(told_of_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(told_of_room_that_a_send_found, set_up, tear_down),
	};

	alarm(60); /* a wire that tells nothing would be waited for for ever */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
