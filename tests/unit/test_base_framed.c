/* SPDX-License-Identifier: MIT */
/* Tests framed.c over a socket pair. */
#include "test_base.h"

#include <sys/socket.h>

#include "base/frame.h"
#include "base/framed.h"
#include "base/limits.h"

#define MOST 100

struct fixture {
	struct loop *loop;
	struct framed framed;
	int peer;
	unsigned drained, lost;
	char said[64]; /* the first bytes of the frames that were handed over */
	char refuse;   /* a frame that begins so is a breach, */
	char keep;     /* stays, */
	char close;    /* ends the connection, */
	char allow;    /* allows longer ones from then on */
	bool broken;
};

static int on_frame(void *data, const uint8_t *payload, size_t len, struct error *err)
{
	struct fixture *f = data;
	char first = (char)payload[0];

	assert_true(len <= f->framed.most);
	f->said[strlen(f->said)] = first;
	if (first == f->refuse)
		return error_set(err, ERR_INVALID, "refused");
	if (first == f->close)
		framed_close(&f->framed);
	if (first == f->allow)
		f->framed.most = 2 * MOST;
	return first != f->keep;
}

static void on_input(void *data)
{
	struct fixture *f = data;
	struct error err = {0};

	f->broken = framed_take(&f->framed, on_frame, f, &err) < 0;
	if (f->framed.ended && f->framed.owner->hears_out)
		framed_close(&f->framed);
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

static const struct framed_owner owner = {on_input, on_drained, on_lost, false};
static const struct framed_owner patient = {on_input, NULL, on_lost, true};

static int set_up(void **state, const struct framed_owner *who)
{
	static struct fixture f;
	int pair[2];

	f = (struct fixture){.loop = loop_new(NULL)};
	if (!f.loop || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    framed_open(&f.framed, f.loop, pair[0], MOST, who, &f, NULL) < 0)
		return -1;
	f.peer = pair[1];
	*state = &f;
	return 0;
}

static int hasty(void **state)
{
	return set_up(state, &owner);
}

static int hears_out(void **state)
{
	return set_up(state, &patient);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	framed_close(&f->framed);
	loop_free(f->loop);
	if (f->peer >= 0)
		close(f->peer);
	return 0;
}

static void fill(struct fixture *f)
{
	static const char block[65536];

	while (!framed_is_full(&f->framed)) {
		assert_int_equal(buf_append(&f->framed.out, block, sizeof(block), NULL), 0);
		framed_flush(&f->framed);
	}
}

/* Bytes that the peer reads at once make less room than the queue holds back. */
static void read_all(struct fixture *f)
{
	static char block[1 << 20];

	while (f->framed.out.len > 0 || recv(f->peer, block, sizeof(block), MSG_DONTWAIT) > 0)
		if (recv(f->peer, block, sizeof(block), MSG_DONTWAIT) <= 0)
			return;
}

/* Runs the loop until nothing happens any more. */
static void settle(struct fixture *f)
{
	struct error err = {0};
	int made;

	do
		made = loop_once(f->loop, 0, &err);
	while (made > 0);
	assert_int_equal(made, 0);
}

static void say(struct fixture *f, char first, size_t len)
{
	autobuf struct buf b = BUF_INIT(0);
	uint8_t payload[4 * MOST] = {(uint8_t)first};

	assert_int_equal(frame_append(&b, payload, len, NULL), 0);
	assert_int_equal(send(f->peer, buf_bytes(&b), b.len, 0), b.len);
}

/* The loop tells an owner that waits for room. */
static void told_of_room(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	fill(f);
	while (framed_is_full(&f->framed)) {
		read_all(f);
		assert_int_equal(loop_run(f->loop, &err), 0);
	}
	assert_true(f->drained > 0);
}

/* Also if a send of the owner itself found the room before the loop did: an answer on a connection
 * whose command waited with its output. */
static void told_of_room_that_a_send_found(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	fill(f);
	while (f->framed.out.len > 0) {
		read_all(f);
		assert_int_equal(framed_send_line(&f->framed, "{}", NULL), 0);
	}
	read_all(f);
	assert_int_equal(f->drained, 0); /* the owner is called from the loop alone */
	assert_int_equal(loop_run(f->loop, &err), 0);
	assert_int_equal(f->drained, 1);
	assert_false(framed_is_full(&f->framed));
}

/* In however many pieces frames come, each is handed over once and whole. */
static void frames_one_at_a_time(void **state)
{
	struct fixture *f = *state;

	say(f, 'a', 1);
	say(f, 'b', MOST);
	assert_int_equal(send(f->peer, "\0\0", 2, 0), 2);
	settle(f);
	assert_string_equal(f->said, "ab");
	assert_int_equal(f->framed.in.len, 2);
	assert_int_equal(send(f->peer, "\0\3c", 3, 0), 3);
	settle(f);
	assert_string_equal(f->said, "ab");
	assert_int_equal(send(f->peer, "xx", 2, 0), 2);
	settle(f);
	assert_string_equal(f->said, "abc");
	assert_int_equal(f->framed.in.len, 0);
	assert_false(f->broken);
}

static void a_frame_that_stays(void **state)
{
	struct fixture *f = *state;

	f->keep = 'b';
	say(f, 'a', 2);
	say(f, 'b', 2);
	say(f, 'c', 2);
	settle(f);
	assert_string_equal(f->said, "ab");
	f->keep = 0;
	on_input(f);
	assert_string_equal(f->said, "abbc");
}

/* No bytes after either are taken, and the owner hears of it once. */
static void breaches(void **state)
{
	struct fixture *f = *state;

	f->refuse = 'r';
	say(f, 'r', 3);
	say(f, 'x', 3);
	settle(f);
	assert_true(f->broken);
	assert_string_equal(f->said, "r");
}

static void a_frame_above_the_most(void **state)
{
	struct fixture *f = *state;

	say(f, 'a', MOST);
	say(f, 'b', MOST + 1);
	settle(f);
	assert_true(f->broken);
	assert_string_equal(f->said, "a");
}

/* The one frame says what may come next, also for bytes that have been read already. */
static void another_most_for_what_follows(void **state)
{
	struct fixture *f = *state;

	f->allow = 'a';
	say(f, 'a', 1);
	say(f, 'b', 2 * MOST);
	settle(f);
	assert_false(f->broken);
	assert_string_equal(f->said, "ab");
	say(f, 'c', 2 * MOST + 1);
	settle(f);
	assert_true(f->broken);
	assert_string_equal(f->said, "ab");
}

static void closed_by_what_a_frame_says(void **state)
{
	struct fixture *f = *state;

	f->close = 'a';
	say(f, 'a', 1);
	say(f, 'b', 1);
	settle(f);
	assert_string_equal(f->said, "a");
	assert_false(f->broken);
	assert_false(framed_is_open(&f->framed));
	assert_int_equal(f->lost, 0); /* it was the owner's own doing */
	framed_flush(&f->framed);
	framed_close(&f->framed);
}

/* While the owner does not read, nothing is taken from the socket. Its end is noticed. */
static void not_reading(void **state)
{
	struct fixture *f = *state;

	framed_set_reading(&f->framed, false);
	say(f, 'a', 1);
	settle(f);
	assert_string_equal(f->said, "");
	framed_set_reading(&f->framed, true);
	settle(f);
	assert_string_equal(f->said, "a");
	framed_set_reading(&f->framed, false);
	close(steal_fd(&f->peer));
	settle(f);
	assert_int_equal(f->lost, 1);
}

/* It sends no more, and gets its answers. */
static void a_peer_that_closes_one_direction(void **state)
{
	struct fixture *f = *state;
	char got[16] = "";

	say(f, 'a', 1);
	assert_int_equal(shutdown(f->peer, SHUT_WR), 0);
	settle(f);
	assert_string_equal(f->said, "a");
	assert_true(f->framed.ended);
	assert_int_equal(f->lost, 0);
	assert_int_equal(framed_send(&f->framed, "{}", NULL), 0);
	assert_int_equal(recv(f->peer, got, sizeof(got), 0), 6);
	assert_memory_equal(got, "\0\0\0\2{}", 6);
}

/* Nobody wants the answers any more, */
static void a_peer_that_is_gone(void **state)
{
	struct fixture *f = *state;

	say(f, 'a', 1);
	close(steal_fd(&f->peer));
	settle(f);
	assert_string_equal(f->said, "");
	assert_int_equal(f->lost, 1);
	assert_false(framed_is_open(&f->framed));
}

/* unless the last message counts. */
static void a_peer_that_is_heard_out(void **state)
{
	struct fixture *f = *state;

	for (char c = 'a'; c < 'k'; c++)
		say(f, c, MOST);
	close(steal_fd(&f->peer));
	assert_int_equal(framed_send(&f->framed, "{}", NULL), 0); /* fails, and that is not told */
	settle(f);
	assert_string_equal(f->said, "abcdefghij");
	assert_true(f->framed.ended);
	assert_int_equal(f->lost, 0);
	assert_false(framed_is_open(&f->framed));
}

/* A send that fails is told by the loop. */
static void a_send_that_fails(void **state)
{
	struct fixture *f = *state;

	close(steal_fd(&f->peer));
	assert_int_equal(framed_send(&f->framed, "{}", NULL), 0);
	assert_int_equal(f->lost, 0);
	settle(f);
	assert_int_equal(f->lost, 1);
}

/* Nobody keeps the memory of a long message that is over. */
static void much_memory_is_given_back(void **state)
{
	struct fixture *f = *state;
	static uint8_t big[4 << 20];

	assert_int_equal(buf_append(&f->framed.in, big, sizeof(big), NULL), 0);
	framed_drop(&f->framed, sizeof(big) - 1);
	assert_int_equal(f->framed.in.len, 1);
	assert_true(f->framed.in.cap >= sizeof(big));
	framed_drop(&f->framed, 1);
	assert_int_equal(f->framed.in.cap, 0);
	assert_int_equal(buf_append(&f->framed.out, big, sizeof(big), NULL), 0);
	while (f->framed.out.len > 0) {
		read_all(f);
		framed_flush(&f->framed);
	}
	assert_int_equal(f->framed.out.cap, 0);
}

#define with(fn, start) cmocka_unit_test_setup_teardown(fn, start, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with(told_of_room, hasty),
		with(told_of_room_that_a_send_found, hasty),
		with(frames_one_at_a_time, hasty),
		with(a_frame_that_stays, hasty),
		with(breaches, hasty),
		with(a_frame_above_the_most, hasty),
		with(another_most_for_what_follows, hasty),
		with(closed_by_what_a_frame_says, hasty),
		with(not_reading, hasty),
		with(a_peer_that_closes_one_direction, hasty),
		with(a_peer_that_is_gone, hasty),
		with(a_peer_that_is_heard_out, hears_out),
		with(a_send_that_fails, hasty),
		with(much_memory_is_given_back, hasty),
	};

	alarm(60); /* a socket that tells nothing would be waited for for ever */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
