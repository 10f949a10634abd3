/* SPDX-License-Identifier: MIT */
/* Tests the end of each direction, and of the device. */
#include "test_vsockd.h"

static void guest_shut(struct rig *r, uint32_t port, uint32_t flags)
{
	struct packet p = guest_packet(GUEST_PORT, port, PACKET_SHUTDOWN);

	p.flags = flags;
	guest_put(r, &p, NULL, 0);
}

static void host_ends_first(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	host_write(r, fd, "last");
	shutdown(fd, SHUT_WR);
	guest_expect_bytes(r, "last");
	assert_int_equal(guest_expect(r, PACKET_SHUTDOWN).flags, SHUT_SEND);
	guest_expect_nothing(r);
	guest_write(r, GUEST_PORT, port, "answer", 6);
	host_expect(fd, "answer");
	/* The guest ends too: both have all bytes, so the host's socket closes. */
	guest_shut(r, port, SHUT_SEND);
	host_expect(fd, "");
	assert_int_equal(guest_expect(r, PACKET_SHUTDOWN).flags, SHUT_BOTH);
	guest_op(r, GUEST_PORT, port, PACKET_RST);
	assert_int_equal(streams_in_use(r), 0);
	close(fd);
}

static void guest_ends_first(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);
	char text[8] = {0};

	guest_write(r, GUEST_PORT, port, "bye", 3);
	guest_shut(r, port, SHUT_SEND);
	assert_int_equal(host_read(fd, text, 7), 3);
	assert_int_equal(host_read(fd, text, 7), 0);
	guest_shut(r, port, SHUT_SEND); /* said twice */
	host_write(r, fd, "and you");
	guest_expect_bytes(r, "and you");
	guest_expect_nothing(r);
	assert_false(core_draining(&r->core));
	guest_write(r, GUEST_PORT, port, "!", 1); /* after its end: not legal */
	guest_expect(r, PACKET_RST);
	assert_int_equal(streams_in_use(r), 0);
	close(fd);
}

static void guest_takes_no_more(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	host_write(r, fd, "unread");
	guest_shut(r, port, SHUT_RECEIVE);
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
	guest_expect_nothing(r);
	guest_write(r, GUEST_PORT, port, "still", 5);
	host_expect(fd, "still");
	guest_shut(r, port, SHUT_SEND); /* the two add up */
	guest_expect(r, PACKET_RST);
	assert_int_equal(streams_in_use(r), 0);
	close(fd);
}

static void guest_closes(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	guest_write(r, GUEST_PORT, port, "all of it", 9);
	guest_shut(r, port, SHUT_BOTH);
	guest_expect(r, PACKET_RST); /* what a guest that closes waits for */
	host_expect(fd, "all of it");
	host_expect(fd, "");
	assert_int_equal(streams_in_use(r), 0);
	guest_op(r, GUEST_PORT, port, PACKET_RST);
	guest_expect_nothing(r);
	close(fd);
}

static void guest_closes_before_the_host_has_read(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);
	size_t total = fill_up(r, port);

	skip_updates(r);
	guest_shut(r, port, SHUT_BOTH);
	guest_expect(r, PACKET_RST);
	assert_true(core_draining(&r->core));
	assert_int_equal(streams_in_use(r), 1);
	/* Its ports are free again while the rest is delivered. */
	guest_op(r, GUEST_PORT, port, PACKET_CREDIT_UPDATE);
	guest_expect(r, PACKET_RST);
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(host_drain(r, fd), total);
	assert_int_equal(streams_in_use(r), 0);
	guest_expect_nothing(r);
	close(fd);
}

static void a_reader_that_leaves_while_it_is_served(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	fill_up(r, port);
	skip_updates(r);
	guest_op(r, GUEST_PORT, port, PACKET_RST);
	assert_true(core_draining(&r->core));
	close(fd);
	rig_events(r);
	assert_int_equal(streams_in_use(r), 0);
}

static void host_closes(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	host_write(r, fd, "last words");
	close(fd);
	/* The guest is told at once that nobody reads any more. It is told of the end only after
	 * the bytes. */
	guest_expect_bytes(r, "last words");
	assert_int_equal(guest_expect(r, PACKET_SHUTDOWN).flags, SHUT_BOTH);
	guest_expect_nothing(r);
	guest_write(r, GUEST_PORT, port, "under way", 9); /* dropped */
	guest_op(r, GUEST_PORT, port, PACKET_CREDIT_UPDATE);
	guest_expect_nothing(r);
	guest_op(r, GUEST_PORT, port, PACKET_RST);
	assert_int_equal(streams_in_use(r), 0);
}

/* Unread bytes make its end a reset. */
static void host_closes_with_bytes_unread(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	guest_write(r, GUEST_PORT, port, "unread", 6);
	close(fd);
	assert_int_equal(guest_expect(r, PACKET_SHUTDOWN).flags, SHUT_BOTH);
	guest_expect_nothing(r);
	guest_op(r, GUEST_PORT, port, PACKET_RST);
	assert_int_equal(streams_in_use(r), 0);
}

static void host_closes_and_the_guest_is_silent(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	close(fd);
	guest_expect(r, PACKET_SHUTDOWN);
	rig_advance(r, 8 * NS_PER_S - 1);
	guest_expect_nothing(r);
	rig_advance(r, 1);
	assert_int_equal(guest_expect(r, PACKET_RST).src_port, port);
	assert_int_equal(streams_in_use(r), 0);
}

static void host_closes_without_credit(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_with_credit(r, &port, 3);

	host_write(r, fd, "abcdef");
	guest_expect_bytes(r, "abc");
	close(fd);
	/* It may stop sending. But the end must wait until the rest fits. */
	assert_int_equal(guest_expect(r, PACKET_SHUTDOWN).flags, SHUT_RECEIVE);
	guest_expect(r, PACKET_CREDIT_REQUEST);
	guest_expect_nothing(r);
	tell_credit(r, port, 3, 3);
	guest_expect_bytes(r, "def");
	tell_credit(r, port, 3, 6);
	assert_int_equal(guest_expect(r, PACKET_SHUTDOWN).flags, SHUT_BOTH);
	guest_op(r, GUEST_PORT, port, PACKET_RST);
	assert_int_equal(streams_in_use(r), 0);
}

static void both_close_at_once(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	close(fd);
	guest_expect(r, PACKET_SHUTDOWN);
	guest_shut(r, port, SHUT_BOTH);
	guest_expect(r, PACKET_RST);
	assert_int_equal(streams_in_use(r), 0);
}

static void host_takes_no_more(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	shutdown(fd, SHUT_RD);
	rig_events(r);
	guest_write(r, GUEST_PORT, port, "nobody reads this", 17);
	assert_int_equal(guest_expect(r, PACKET_SHUTDOWN).flags, SHUT_RECEIVE);
	guest_write(r, GUEST_PORT, port, "nor this", 8);
	host_write(r, fd, "but I speak");
	guest_expect_bytes(r, "but I speak");
	assert_int_equal(r->core.table.streams[0].fwd_cnt, 25); /* dropped is forwarded */
	close(fd);
	assert_int_equal(guest_expect(r, PACKET_SHUTDOWN).flags, SHUT_BOTH);
}

static void the_device_is_reset(void **state)
{
	struct rig *r = *state;
	uint32_t port, other;
	int open = open_from_host(r, GUEST_PORT, &port), full, asked, line;
	size_t total = fill_up(r, port);

	skip_updates(r);
	full = open;
	open = open_from_guest(r, 7000);
	open_from_host(r, 6000, &other);
	asked = rig_client(r, "CONNECT 1\n");
	line = rig_client(r, "CONNECT");
	core_link(&r->core, false);
	host_expect(open, "");
	host_expect(asked, "");
	host_expect_nothing(line);
	guest_expect_nothing(r);
	assert_int_equal(host_drain(r, full), total);
	assert_int_equal(streams_in_use(r), 1);
	/* The next driver starts from nothing. */
	core_link(&r->core, true);
	host_write(r, line, " 5000\n");
	guest_expect(r, PACKET_REQUEST);
	close(open);
	close(full);
	close(asked);
	close(line);
}

static void no_client_is_taken_after_the_end(void **state)
{
	struct rig *r = *state;
	int fd;

	core_stop_listening(&r->core);
	assert_true(core_deadline(&r->core) == UINT64_MAX);
	rig_advance(r, 10 * NS_PER_S);
	fd = rig_client(r, "CONNECT 5000\n");
	guest_expect_nothing(r);
	assert_int_equal(streams_in_use(r), 0);
	close(fd);
}

/* Connections that the host began count as use. Those that the guest begins do not. */
static void the_hosts_streams_are_counted(void **state)
{
	struct rig *r = *state;
	unsigned *clients = &r->core.table.clients;
	uint32_t port;
	int early = rig_client(r, "CONN"), theirs = open_from_guest(r, 7000);

	assert_int_equal(*clients, 0);
	int one = open_from_host(r, 5000, &port), asking = rig_client(r, "CONNECT 5000\n");

	assert_int_equal(*clients, 2);
	guest_op(r, 5000, guest_expect(r, PACKET_REQUEST).src_port, PACKET_RST);
	assert_int_equal(*clients, 1);
	guest_op(r, 5000, port, PACKET_RST);
	assert_int_equal(*clients, 0);
	close(one);
	one = open_from_host(r, 5000, &port);
	core_link(&r->core, false);
	assert_int_equal(*clients, 0);
	close(one);
	close(asking);
	close(theirs);
	close(early);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		rig_test(the_hosts_streams_are_counted),
		rig_test(host_ends_first),
		rig_test(guest_ends_first),
		rig_test(guest_takes_no_more),
		rig_test(guest_closes),
		rig_test(guest_closes_before_the_host_has_read),
		rig_test(a_reader_that_leaves_while_it_is_served),
		rig_test(host_closes),
		rig_test(host_closes_with_bytes_unread),
		rig_test(host_closes_and_the_guest_is_silent),
		ring_test(host_closes_without_credit),
		rig_test(both_close_at_once),
		rig_test(host_takes_no_more),
		rig_test(the_device_is_reset),
		rig_test(no_client_is_taken_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
