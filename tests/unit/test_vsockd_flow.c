/* SPDX-License-Identifier: MIT */
/* Tests bytes and credit. */
#include "test_vsockd.h"

#define GUEST_BUFFER 262144

/* --- to the guest ---------------------------------------------------------------------------- */

static void the_guests_credit_is_kept(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_with_credit(r, &port, 10);

	host_write(r, fd, "0123456789abcdefghij");
	guest_expect_bytes(r, "0123456789");
	guest_expect(r, PACKET_CREDIT_REQUEST); /* once */
	guest_expect_nothing(r);
	tell_credit(r, port, 10, 0); /* "still none": no reason to ask again */
	guest_expect_nothing(r);
	tell_credit(r, port, 10, 4);
	guest_expect_bytes(r, "abcd");
	guest_expect(r, PACKET_CREDIT_REQUEST);
	tell_credit(r, port, 10, 14);
	guest_expect_bytes(r, "efghij");
	guest_expect_nothing(r);
	close(fd);
}

static void counts_wrap_around(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_with_credit(r, &port, 8);
	struct stream *s = &r->core.table.streams[0];

	/* As if 4 GiB less three bytes had passed in each direction. */
	s->tx_cnt = s->peer_fwd = UINT32_MAX - 2;
	s->rx_cnt = s->fwd_cnt = s->told = UINT32_MAX - 2;
	tell_credit(r, port, 8, UINT32_MAX - 2);
	host_write(r, fd, "0123456789");
	guest_expect_bytes(r, "01234567");
	guest_expect(r, PACKET_CREDIT_REQUEST);
	tell_credit(r, port, 8, 2); /* five of them taken */
	guest_expect_bytes(r, "89");
	guest_write(r, GUEST_PORT, port, "abcdef", 6);
	host_expect(fd, "abcdef");
	assert_int_equal(s->fwd_cnt, 3);
	guest_op(r, GUEST_PORT, port, PACKET_CREDIT_REQUEST);
	assert_int_equal(guest_expect(r, PACKET_CREDIT_UPDATE).fwd_cnt, 3);
	close(fd);
}

static void nonsense_about_credit_is_left_aside(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_with_credit(r, &port, 4);

	host_write(r, fd, "0123456789");
	guest_expect_bytes(r, "0123");
	guest_expect(r, PACKET_CREDIT_REQUEST);
	tell_credit(r, port, 4, 5); /* more than was sent */
	tell_credit(r, port, 4, UINT32_MAX);
	guest_expect_nothing(r);
	tell_credit(r, port, 4, 3);
	guest_expect_bytes(r, "456");
	tell_credit(r, port, 4, 1); /* overtaken by a later one */
	guest_expect(r, PACKET_CREDIT_REQUEST);
	tell_credit(r, port, 0, 3); /* a buffer that shrinks below what is under way */
	guest_expect_nothing(r);
	tell_credit(r, port, UINT32_MAX, 3); /* and one that cannot be */
	guest_expect_bytes(r, "789");
	close(fd);
}

static void a_turn_may_fill_many_slots(void **state)
{
	enum { SLOTS = CORE_SLOTS, ROOM = 1000 };
	struct rig *r = *state;
	static uint8_t raw[SLOTS][PACKET_HEADER + ROOM];
	struct iovec iov[SLOTS];
	struct span slots[SLOTS];
	uint32_t lengths[SLOTS], port;
	int fd = open_with_credit(r, &port, 2500);
	autofree char *much = malloc(20000);

	memset(much, 'm', 20000);
	assert_int_equal(write(fd, much, 20000), 20000);
	rig_events(r);
	for (unsigned i = 0; i < SLOTS; i++) {
		iov[i] = (struct iovec){raw[i], sizeof(raw[i])};
		slots[i] = (struct span){.iov = &iov[i], .n = 1, .bytes = sizeof(raw[i])};
	}
	/* Three packets, the third as short as the rest of the credit. */
	assert_int_equal(core_output(&r->core, slots, SLOTS, lengths), 3);
	assert_int_equal(lengths[0], PACKET_HEADER + ROOM);
	assert_int_equal(lengths[1], PACKET_HEADER + ROOM);
	assert_int_equal(lengths[2], PACKET_HEADER + 500);
	for (unsigned i = 0; i < 3; i++) {
		struct packet p;

		packet_decode(raw[i], &p);
		assert_int_equal(p.op, PACKET_RW);
		assert_int_equal(p.len, lengths[i] - PACKET_HEADER);
		assert_int_equal(raw[i][lengths[i] - 1], 'm');
	}
	close(fd);
}

/* A stream that fills its room gets many slots in its next turn, unless it must send a message
 * first. */
static void only_a_busy_stream_wants_many_slots(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_with_credit(r, &port, GUEST_BUFFER);
	char text[SLOT_BYTES - PACKET_HEADER + 5];

	assert_int_equal(core_wants(&r->core), 0);
	memset(text, 't', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	host_write(r, fd, text);
	assert_int_equal(core_wants(&r->core), 1);
	guest_expect(r, PACKET_RW);
	assert_int_equal(core_wants(&r->core), CORE_SLOTS);
	guest_op(r, GUEST_PORT, port, PACKET_CREDIT_REQUEST);
	assert_int_equal(core_wants(&r->core), 1);
	guest_expect_bytes(r, "tttt");
	guest_expect_nothing(r);
	host_write(r, fd, "u");
	assert_int_equal(core_wants(&r->core), 1);
	guest_expect_bytes(r, "u");
	close(fd);
}

static void an_event_without_bytes_is_nothing(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port), line = rig_client(r, NULL);
	const union poll_ref of_line = {
		.index = 1, .generation = r->core.table.streams[1].generation, .type = POLL_STREAM};
	const union poll_ref ref = {
		.index = 0, .generation = r->core.table.streams[0].generation, .type = POLL_STREAM};

	core_stream_event(&r->core, ref, EPOLLIN);
	guest_expect_nothing(r);
	core_stream_event(&r->core, ref, EPOLLOUT);
	guest_expect_nothing(r);
	core_stream_event(&r->core, of_line, EPOLLIN);
	host_expect_nothing(line); /* its CONNECT line may still come */
	close(line);
	close(fd);
}

static void busy_streams_take_turns(void **state)
{
	enum { STREAMS = 4, TURNS = 8 };
	struct rig *r = *state;
	uint32_t ports[STREAMS];
	int fds[STREAMS];
	static const char much[65536];
	uint32_t order[STREAMS];

	for (int i = 0; i < STREAMS; i++)
		fds[i] = open_with_credit(r, &ports[i], GUEST_BUFFER);
	for (int i = 0; i < STREAMS; i++)
		assert_int_equal(write(fds[i], much, sizeof(much)), sizeof(much));
	rig_events(r);
	for (int turn = 0; turn < TURNS; turn++)
		for (int i = 0; i < STREAMS; i++) {
			uint32_t from = guest_expect(r, PACKET_RW).src_port;

			if (turn == 0)
				order[i] = from;
			assert_int_equal(from, order[i]);
		}
	for (int i = 0; i < STREAMS; i++)
		close(fds[i]);
}

static void passed_descriptors_do_not_stall(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_with_credit(r, &port, GUEST_BUFFER);
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t) "first", .iov_len = 5};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int before = open_descriptors();

	/* The kernel ends a read behind bytes that carry descriptors. */
	*c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_int_equal(sendmsg(fd, &m, 0), 5);
	assert_int_equal(write(fd, "second", 6), 6);
	rig_events(r);
	guest_expect_bytes(r, "first");
	guest_expect_bytes(r, "second");
	assert_int_equal(open_descriptors(), before);
	close(fd);
}

/* --- to the host ----------------------------------------------------------------------------- */

static void what_the_host_does_not_read_is_kept(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);
	size_t total = fill_up(r, port);

	assert_true(total > STREAM_BYTES);
	skip_updates(r);
	assert_int_equal(host_drain(r, fd), total);
	assert_int_equal(r->core.table.streams[0].fwd_cnt, total);
	skip_updates(r);
	guest_write(r, GUEST_PORT, port, "more", 4);
	host_expect(fd, "more");
	close(fd);
}

static void bytes_stay_in_order_through_the_buffer(void **state)
{
	struct rig *r = *state;
	uint32_t port, sent = 0, read = 0;
	int fd = open_from_host(r, GUEST_PORT, &port);
	struct stream *s = &r->core.table.streams[0];

	/* Uneven pieces against uneven reads, several times around the buffer. */
	while (read < 20 * STREAM_BYTES) {
		uint32_t block[1777], n;
		ssize_t got;

		while (STREAM_BYTES - (s->rx_cnt - s->fwd_cnt) >= sizeof(block)) {
			for (n = 0; n < ARRAY_SIZE(block); n++)
				block[n] = sent + n;
			guest_write(r, GUEST_PORT, port, block, sizeof(block));
			sent += n;
			skip_updates(r);
		}
		for (int i = 0; i < 3; i++) {
			got = host_read(fd, block, 4 * (size_t)(i * 500 + 1));
			if (got < 0)
				break;
			assert_int_equal(got % 4, 0);
			for (n = 0; n < (uint32_t)got / 4; n++)
				assert_int_equal(block[n], read + n);
			read += n;
		}
		rig_events(r);
	}
	close(fd);
}

static void credit_is_told_in_time(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);
	static char block[STREAM_BYTES / 4];

	guest_write(r, GUEST_PORT, port, block, sizeof(block) - 1);
	guest_expect_nothing(r);
	guest_write(r, GUEST_PORT, port, block, 1);
	struct packet p = guest_expect(r, PACKET_CREDIT_UPDATE);
	assert_int_equal(p.fwd_cnt, STREAM_BYTES / 4);
	assert_int_equal(p.buf_alloc, STREAM_BYTES);
	guest_expect_nothing(r);
	/* Not again until as many bytes have gone since. */
	guest_write(r, GUEST_PORT, port, block, sizeof(block) - 1);
	guest_expect_nothing(r);
	/* A packet that is sent anyway carries it. */
	guest_write(r, GUEST_PORT, port, block, 1);
	host_write(r, fd, "x");
	assert_int_equal(guest_expect(r, PACKET_RW).fwd_cnt, STREAM_BYTES / 2);
	guest_expect_nothing(r);
	close(fd);
}

static void more_than_the_credit_ends_the_stream(void **state)
{
	struct rig *r = *state;
	uint32_t port, other;
	int fd = open_from_host(r, GUEST_PORT, &port), beside = open_from_host(r, 6000, &other);
	size_t total = fill_up(r, port);

	skip_updates(r);
	assert_int_equal(streams_in_use(r), 2);
	guest_write(r, GUEST_PORT, port, "!", 1);
	struct packet p = guest_expect(r, PACKET_RST);
	assert_int_equal(p.src_port, port);
	assert_int_equal(streams_in_use(r), 1);
	assert_true(host_drain(r, fd) < total);
	guest_write(r, 6000, other, "not mine", 8);
	host_expect(beside, "not mine");
	close(fd);
	close(beside);
}

static void a_length_above_all_credit(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);
	static char much[STREAM_BYTES + 1];

	guest_write(r, GUEST_PORT, port, much, sizeof(much));
	guest_expect(r, PACKET_RST);
	host_expect(fd, "");
	close(fd);
}

static void payload_and_length_differ(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);
	struct packet p = guest_packet(GUEST_PORT, port, PACKET_RW);

	p.len = 3; /* what is behind it does not count */
	guest_put(r, &p, "abcdef", 6);
	host_expect(fd, "abc");
	p.len = 0;
	guest_put(r, &p, NULL, 0);
	host_expect_nothing(fd);
	p.len = 7; /* bytes that are not there */
	guest_put(r, &p, "abcdef", 6);
	guest_expect(r, PACKET_RST);
	host_expect(fd, "");
	close(fd);
	/* A length on a packet that has no payload. */
	fd = open_from_host(r, GUEST_PORT, &port);
	p = guest_packet(GUEST_PORT, port, PACKET_CREDIT_UPDATE);
	p.len = 4;
	guest_put(r, &p, "abcd", 4);
	guest_expect(r, PACKET_RST);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		rig_test(the_guests_credit_is_kept),
		rig_test(counts_wrap_around),
		rig_test(nonsense_about_credit_is_left_aside),
		rig_test(a_turn_may_fill_many_slots),
		ring_test(only_a_busy_stream_wants_many_slots),
		rig_test(an_event_without_bytes_is_nothing),
		ring_test(busy_streams_take_turns),
		rig_test(passed_descriptors_do_not_stall),
		rig_test(what_the_host_does_not_read_is_kept),
		rig_test(bytes_stay_in_order_through_the_buffer),
		ring_test(credit_is_told_in_time),
		rig_test(more_than_the_credit_ends_the_stream),
		ring_test(a_length_above_all_credit),
		ring_test(payload_and_length_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
