/* SPDX-License-Identifier: MIT */
/* Tests the filter's parts one by one, at times that the test chooses: bytes of a frame, lines
 * about connections, and a lane. */
#include "test_netgate.h"

#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "netgate/bytes.h"
#include "netgate/lane.h"
#include "netgate/refusal.h"
#include "netgate/tell.h"

#define SECOND (1000 * NS_PER_MS)

/* --- bytes ----------------------------------------------------------------------------------- */

static void behind_the_end_all_is_zero(void **state)
{
	static const uint8_t memory[] = {1, 2, 3, 0xff, 0xff, 0xff, 0xff, 0xff};
	const struct bytes three = {memory, 3};

	(void)state;
	assert_int_equal(u8(three, 2), 3);
	assert_int_equal(u8(three, 3), 0);
	assert_int_equal(u8(three, SIZE_MAX), 0);
	assert_int_equal(u16(three, 1), 0x0203);
	assert_int_equal(u16(three, 2), 0x0300);
	assert_int_equal(u32(three, 0), 0x01020300);
	assert_int_equal(u32((struct bytes){memory, 4}, 0), 0x010203ff);
	assert_int_equal(behind(three, 1).len, 2);
	assert_ptr_equal(behind(three, 1).at, memory + 1);
	assert_int_equal(behind(three, 3).len, 0);
	assert_int_equal(behind(three, 4).len, 0);
}

/* --- lines on connections -------------------------------------------------------------------- */

static struct teller make_teller(int ends[2], uint64_t per_second)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	return (struct teller){.fd = ends[0], .guest = GUEST, .per_second = per_second};
}

static void expect_line(int fd, const char *line)
{
	char got[2 * TELL_LINE] = "";
	ssize_t n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);

	assert_string_equal(got, line ? line : "");
	assert_int_equal(n, line ? (ssize_t)strlen(line) : -1);
}

static void close_both(const int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

static void the_longest_lines_fit(void **state)
{
	const struct flow_key key = {
		.protocol = 17, .guest_port = 65535, .port = 65535, .address = UINT32_MAX};
	struct dns_question question = {.type = 65535, .name = {.len = EGRESS_NAME_MAX}};
	char name[EGRESS_NAME_MAX + 1] = "", line[TELL_LINE];
	int ends[2];
	struct teller t = make_teller(ends, 9);

	(void)state;
	memset(name, 'x', EGRESS_NAME_MAX);
	memcpy(question.name.text, name, sizeof(name));
	t.guest = UINT32_MAX;
	tell_connection(&t, &key, NULL, TELL_REFUSED, SECOND);
	expect_line(ends[1], "udp 255.255.255.255:65535 -> 255.255.255.255:65535 refused");
	tell_opening(&t, "http", &key, name, TELL_WOULD_REFUSE, SECOND);
	snprintf(line, sizeof(line),
		 "http 255.255.255.255:65535 -> 255.255.255.255:65535 %s would refuse", name);
	expect_line(ends[1], line);
	tell_question(&t, &question, TELL_WOULD_REFUSE, SECOND);
	snprintf(line, sizeof(line), "dns %s TYPE65535 would refuse", name);
	expect_line(ends[1], line);
	close_both(ends);
}

static void lines_of_questions(void **state)
{
	struct dns_question question = {.type = DNS_A, .name = {8, "pypi.org"}};
	int ends[2];
	struct teller t = make_teller(ends, 9);

	(void)state;
	tell_question(&t, &question, TELL_PASSED, SECOND);
	expect_line(ends[1], "dns pypi.org A");
	question.type = DNS_AAAA;
	tell_question(&t, &question, TELL_REFUSED, SECOND);
	expect_line(ends[1], "dns pypi.org AAAA refused");
	question = (struct dns_question){.type = 16};
	tell_question(&t, &question, TELL_REFUSED, SECOND);
	expect_line(ends[1], "dns ? TXT refused");
	close_both(ends);
}

static void so_many_lines_a_second(void **state)
{
	const struct flow_key key = {.protocol = 6, .guest_port = 4, .port = 80, .address = PUBLIC};
	const char *line = "tcp 10.0.2.15:4 -> 8.8.8.8:80";
	int ends[2];
	struct teller t = make_teller(ends, 2);

	(void)state;
	assert_true(tell_unlisted(&t, 5 * SECOND) == UINT64_MAX);
	for (int i = 0; i < 3; i++)
		tell_connection(&t, &key, NULL, TELL_PASSED, 5 * SECOND);
	tell_connection(&t, &key, NULL, TELL_PASSED, 6 * SECOND - 1);
	expect_line(ends[1], line);
	expect_line(ends[1], line);
	expect_line(ends[1], NULL);
	assert_int_equal(t.unlisted, 2);
	assert_int_equal(tell_unlisted(&t, 5 * SECOND + 1), SECOND - 1);
	assert_int_equal(tell_unlisted(&t, 6 * SECOND - 1), 1);
	expect_line(ends[1], NULL);
	/* In a new second the count is one of its two lines. */
	tell_connection(&t, &key, NULL, TELL_PASSED, 6 * SECOND);
	tell_connection(&t, &key, NULL, TELL_PASSED, 6 * SECOND);
	expect_line(ends[1], "2 connections more were not listed");
	expect_line(ends[1], line);
	expect_line(ends[1], NULL);
	assert_true(tell_unlisted(&t, 7 * SECOND) == UINT64_MAX);
	expect_line(ends[1], "1 connections more were not listed");
	close_both(ends);
}

static void a_reader_that_is_behind(void **state)
{
	const struct flow_key key = {.protocol = 1, .address = PUBLIC};
	int ends[2], sent = 0;
	struct teller t = make_teller(ends, 1000000);
	char line[64];

	(void)state;
	while (!t.unlisted) {
		tell_connection(&t, &key, NULL, TELL_REFUSED, 5 * SECOND);
		sent++;
	}
	assert_int_equal(t.told, sent - 1);
	/* The answer is asked again in a second, and not before. */
	assert_int_equal(tell_unlisted(&t, 5 * SECOND + 10), SECOND - 10);
	expect_line(ends[1], "icmp 10.0.2.15 -> 8.8.8.8 refused");
	assert_int_equal(tell_unlisted(&t, 5 * SECOND + 20), SECOND - 20);
	assert_int_equal(t.unlisted, 1);
	assert_true(tell_unlisted(&t, 6 * SECOND) == UINT64_MAX);
	for (int i = 2; i < sent; i++)
		assert_true(recv(ends[1], line, sizeof(line), MSG_DONTWAIT) > 0);
	expect_line(ends[1], "1 connections more were not listed");
	close_both(ends);
}

static void nobody_listens(void **state)
{
	const struct flow_key key = {.protocol = 1, .address = PUBLIC};
	struct teller t = {.fd = -1, .per_second = 1};

	(void)state;
	tell_connection(&t, &key, NULL, TELL_REFUSED, SECOND);
	assert_int_equal(t.unlisted, 0);
	t.unlisted = 1;
	assert_true(tell_unlisted(&t, SECOND) == UINT64_MAX);
}

/* --- a lane ---------------------------------------------------------------------------------- */

struct road {
	struct lane lane;
	int in, out;   /* our ends */
	int theirs[2]; /* the lane's */
};

static int road_setup(void **state)
{
	struct road *r = calloc(1, sizeof(*r));
	int in[2], out[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out), 0);
	r->in = in[0];
	r->theirs[0] = r->lane.from = in[1];
	r->theirs[1] = r->lane.to = out[0];
	r->out = out[1];
	r->lane.longest = SCREEN_FRAME_MAX;
	r->lane.credit = UINT64_MAX;
	*state = r;
	return 0;
}

static int road_teardown(void **state)
{
	struct road *r = *state;

	close(r->in);
	close(r->out);
	close_both(r->theirs);
	free(r);
	return 0;
}

static void bytes_come_one_by_one(void **state)
{
	static const uint8_t frame[] = {0, 0, 0, 2, 'a', 'b'};
	struct road *r = *state;
	uint8_t got[16];

	assert_int_equal(lane_run(&r->lane), LANE_IDLE);
	for (size_t i = 0; i < sizeof(frame); i++) {
		assert_int_equal(recv(r->out, got, sizeof(got), MSG_DONTWAIT), -1);
		assert_int_equal(send(r->in, frame + i, 1, 0), 1);
		assert_int_equal(lane_run(&r->lane), LANE_IDLE);
	}
	assert_int_equal(recv(r->out, got, sizeof(got), MSG_DONTWAIT), sizeof(frame));
	assert_memory_equal(got, frame, sizeof(frame));
	assert_int_equal(r->lane.end, 0);
	/* A frame of no bytes is whole with its length. */
	assert_int_equal(send(r->in, "\0\0\0\0", 4, 0), 4);
	assert_int_equal(lane_run(&r->lane), LANE_IDLE);
	assert_int_equal(recv(r->out, got, sizeof(got), MSG_DONTWAIT), 4);
}

static void each_byte_of_a_length_counts(void **state)
{
	struct road *r = *state;
	struct lane *l = &r->lane;

	for (uint32_t length = UINT32_C(0x81828384); length > SCREEN_FRAME_MAX; length >>= 1) {
		l->start = l->ready = l->parsed = 0;
		put32(l->buf, length);
		l->end = LANE_LENGTH;
		lane_parse(l);
		assert_int_equal(l->skip, length);
		assert_int_equal(l->parsed, LANE_LENGTH);
		l->skip = 0;
	}
}

/* Makes frames whose bytes say where they are in the stream. */
static size_t numbered_frames(uint8_t *out, size_t size)
{
	enum { LENGTH = 1000 };
	size_t at = 0;

	for (; at + LANE_LENGTH + LENGTH <= size; at += LANE_LENGTH + LENGTH) {
		put32(out + at, LENGTH);
		for (size_t i = LANE_LENGTH; i < LANE_LENGTH + LENGTH; i++)
			out[at + i] = (uint8_t)((at + i) * 2654435761u >> 24);
	}
	return at;
}

/* The other side reads late, and in pieces that are no frames. */
static void nothing_is_lost_while_it_waits(void **state)
{
	enum { BYTES = 2 << 20 };
	struct road *r = *state;
	autofree uint8_t *frames = malloc(BYTES), *got = malloc(BYTES);
	size_t len = numbered_frames(frames, BYTES), sent = 0, read = 0;
	bool blocked = false;

	r->lane.longest = 1000; /* as long as each of them */
	while (read < len) {
		ssize_t n = send(r->in, frames + sent, len - sent, MSG_DONTWAIT);
		enum lane_state now;

		sent += n > 0 ? (size_t)n : 0;
		now = lane_run(&r->lane);
		assert_int_not_equal(now, LANE_ENDED);
		blocked |= now == LANE_BLOCKED;
		if (n > 0 && now == LANE_IDLE)
			continue;
		n = recv(r->out, got + read, 7777, MSG_DONTWAIT);
		read += n > 0 ? (size_t)n : 0;
	}
	assert_true(blocked);
	assert_memory_equal(got, frames, len);
	assert_int_equal(lane_run(&r->lane), LANE_IDLE);
}

static void either_end_ends_it(void **state)
{
	struct road *r = *state;

	assert_int_equal(send(r->in, "\0\0\0\1x", 5, 0), 5);
	shutdown(r->in, SHUT_WR);
	assert_int_equal(lane_run(&r->lane), LANE_ENDED);
	assert_int_equal(recv(r->out, (char[8]){0}, 8, MSG_DONTWAIT), 5); /* what came is whole */
}

/* A connection that ends with unread bytes is reported as a reset. */
static void a_reset_ends_it(void **state)
{
	struct road *r = *state;

	assert_int_equal(send(r->lane.from, "unread", 6, 0), 6);
	close(r->in);
	assert_int_equal(lane_run(&r->lane), LANE_ENDED);
	r->in = -1;
}

static void a_reader_that_has_gone_ends_it(void **state)
{
	struct road *r = *state;

	shutdown(r->out, SHUT_RD);
	assert_int_equal(send(r->in, "\0\0\0\1x", 5, 0), 5);
	assert_int_equal(lane_run(&r->lane), LANE_ENDED);
}

/* As many as fit to the last byte. */
static void a_lane_is_filled_to_its_end(void **state)
{
	struct road *r = *state;
	struct lane *l = &r->lane;
	static const uint8_t frame[100];

	memset(l->buf, 0xff, sizeof(l->buf));
	l->start = 1;
	l->end = LANE_BYTES - LANE_LENGTH - sizeof(frame);
	l->ready = l->parsed = l->end - 3; /* of the next frame */
	assert_false(lane_insert(l, frame, sizeof(frame) + 1));
	assert_true(lane_insert(l, frame, sizeof(frame)));
	assert_int_equal(l->end, LANE_BYTES);
	assert_memory_equal(l->buf + LANE_BYTES - 3 - sizeof(frame) - LANE_LENGTH - 1,
			    "\xff\0\0\0\x64\0", 6);
	assert_memory_equal(l->buf + LANE_BYTES - 4, "\0\xff\xff\xff", 4);
}

static void a_full_lane_takes_no_more(void **state)
{
	static struct lane lane;
	uint8_t frame[COMPOSE_BARE] = {0};
	size_t count = 0;

	(void)state;
	lane.longest = SCREEN_FRAME_MAX;
	lane.end = 7; /* the beginning of a frame */
	memcpy(lane.buf,
	       "\0\0\0\x9"
	       "abc",
	       7);
	lane_parse(&lane);
	while (lane_insert(&lane, frame, sizeof(frame)))
		count++;
	assert_int_equal(count, (LANE_BYTES - 7) / (LANE_LENGTH + COMPOSE_BARE));
	assert_int_equal(lane.end, lane.parsed + 7);
	assert_memory_equal(lane.buf + lane.parsed,
			    "\0\0\0\x9"
			    "abc",
			    7);
	assert_int_equal(lane.ready, lane.parsed);
}

/* Bytes for which there is no room stay in the socket. */
static void no_byte_is_read_behind_the_end(void **state)
{
	struct road *r = *state;
	struct lane *l = &r->lane;
	uint8_t more[100] = {0};

	l->longest = LANE_BYTES;
	put32(l->buf, LANE_BYTES - LANE_LENGTH);
	l->end = LANE_BYTES - 8;
	assert_int_equal(send(r->in, more, sizeof(more), 0), sizeof(more));
	assert_int_equal(lane_run(l), LANE_BLOCKED);
	assert_int_equal(l->end, LANE_BYTES);
	assert_int_equal(recv(l->from, more, sizeof(more), MSG_DONTWAIT), sizeof(more) - 8);
}

#define road_test(f) cmocka_unit_test_setup_teardown(f, road_setup, road_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_the_end_all_is_zero),
		cmocka_unit_test(the_longest_lines_fit),
		cmocka_unit_test(lines_of_questions),
		cmocka_unit_test(so_many_lines_a_second),
		cmocka_unit_test(a_reader_that_is_behind),
		cmocka_unit_test(nobody_listens),
		road_test(bytes_come_one_by_one),
		road_test(nothing_is_lost_while_it_waits),
		road_test(either_end_ends_it),
		road_test(each_byte_of_a_length_counts),
		road_test(a_reset_ends_it),
		road_test(a_reader_that_has_gone_ends_it),
		road_test(a_lane_is_filled_to_its_end),
		cmocka_unit_test(a_full_lane_takes_no_more),
		road_test(no_byte_is_read_behind_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
