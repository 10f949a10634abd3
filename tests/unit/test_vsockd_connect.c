/* SPDX-License-Identifier: MIT */
/* Tests how streams begin, or are refused, from both sides. */
#include "test_vsockd.h"

#include <sys/resource.h>

static void host_connects(void **state)
{
	struct rig *r = *state;
	int fd = rig_client(r, "CONNECT 5000\n");
	struct packet p = guest_expect(r, PACKET_REQUEST);

	assert_int_equal(p.src_cid, PACKET_HOST_CID);
	assert_int_equal(p.dst_cid, GUEST_CID);
	assert_int_equal(p.dst_port, 5000);
	assert_true(p.src_port >= CORE_PORT_FIRST);
	assert_int_equal(p.len, 0);
	assert_int_equal(p.buf_alloc, STREAM_BYTES);
	host_expect_nothing(fd);
	guest_op(r, 5000, p.src_port, PACKET_RESPONSE);
	char expected[32];
	snprintf(expected, sizeof(expected), "OK %u\n", p.src_port);
	host_expect(fd, expected);
	host_write(r, fd, "hello");
	guest_expect_bytes(r, "hello");
	guest_write(r, 5000, p.src_port, "answer", 6);
	host_expect(fd, "answer");
	guest_expect_nothing(r);
	close(fd);
}

static void each_connection_has_a_port_of_its_own(void **state)
{
	struct rig *r = *state;
	uint32_t a, b;
	int fa = open_from_host(r, 5000, &a), fb = open_from_host(r, 5000, &b);

	assert_int_not_equal(a, b);
	guest_write(r, 5000, b, "b", 1);
	guest_write(r, 5000, a, "a", 1);
	host_expect(fa, "a");
	host_expect(fb, "b");
	close(fa);
	close(fb);
}

static void ports_begin_again_and_skip_those_in_use(void **state)
{
	struct rig *r = *state;
	uint32_t first, last, next;
	int fds[3];

	fds[0] = open_from_host(r, 5000, &first);
	assert_int_equal(first, CORE_PORT_FIRST);
	r->core.next_port = CORE_PORT_LAST;
	fds[1] = open_from_host(r, 5000, &last);
	assert_int_equal(last, CORE_PORT_LAST);
	fds[2] = open_from_host(r, 5000, &next);
	assert_int_equal(next, CORE_PORT_FIRST + 1);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void refused_by_guest(void **state)
{
	struct rig *r = *state;
	int fd = rig_client(r, "CONNECT 1\n");
	struct packet p = guest_expect(r, PACKET_REQUEST);
	char c;

	guest_op(r, 1, p.src_port, PACKET_RST);
	assert_int_equal(host_read(fd, &c, 1), 0);
	assert_int_equal(streams_in_use(r), 0);
	guest_expect_nothing(r); /* an RST is not answered */
	close(fd);
}

static void bytes_behind_the_line_are_payload(void **state)
{
	struct rig *r = *state;
	int fd = rig_client(r, "CONNECT 5000\nearly bytes");
	struct packet p = guest_expect(r, PACKET_REQUEST);

	guest_expect_nothing(r);
	guest_op(r, 5000, p.src_port, PACKET_RESPONSE);
	guest_expect_bytes(r, "early bytes");
	close(fd);
}

static void an_end_behind_the_line_is_kept(void **state)
{
	struct rig *r = *state;
	int fd = rig_client(r, "CONNECT 5000\nall");

	shutdown(fd, SHUT_WR);
	struct packet p = guest_expect(r, PACKET_REQUEST);
	guest_op(r, 5000, p.src_port, PACKET_RESPONSE);
	guest_expect_bytes(r, "all");
	p = guest_expect(r, PACKET_SHUTDOWN);
	assert_int_equal(p.flags, SHUT_SEND);
	close(fd);
}

static void the_line_may_come_in_pieces(void **state)
{
	struct rig *r = *state;
	const char *line = "CONNECT 4294967295\n";
	int fd = rig_client(r, NULL);

	for (const char *c = line; *c; c++) {
		char one[2] = {*c, 0};

		guest_expect_nothing(r);
		host_write(r, fd, one);
	}
	assert_int_equal(guest_expect(r, PACKET_REQUEST).dst_port, UINT32_MAX);
	close(fd);
}

static void wrong_lines_are_closed(void **state)
{
	static const char *const wrong[] = {
		"\n",
		"CONNECT\n",
		"CONNECT \n",
		"connect 5000\n",
		"CONNECT 5000\r\n",
		"CONNECT 4294967296\n",
		"CONNECT 99999999999\n",
		"CONNECT 00000000001\n", /* more digits than any port has */
		"CONNECT -1\n",
		"CONNECT +1\n",
		"CONNECT  1\n",
		"CONNECT 1 \n",
		"CONNECT 0x1\n",
		"GET / HTTP/1.1\r\n\r\n",
		"CONNECT 0000000000000000000000000001", /* too long already */
	};
	struct rig *r = *state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		int fd = rig_client(r, wrong[i]);
		char c;

		assert_int_equal(host_read(fd, &c, 1), 0);
		close(fd);
	}
	assert_int_equal(streams_in_use(r), 0);
	guest_expect_nothing(r);
}

static void a_client_that_leaves_before_its_line(void **state)
{
	struct rig *r = *state;
	int fd = rig_client(r, "CONNECT 50");

	assert_int_equal(streams_in_use(r), 1);
	close(fd);
	rig_events(r);
	assert_int_equal(streams_in_use(r), 0);
	/* A client that only stops writing will never end its line either. */
	fd = rig_client(r, "CONNECT 50");
	shutdown(fd, SHUT_WR);
	rig_events(r);
	assert_int_equal(streams_in_use(r), 0);
	close(fd);
}

static void the_line_has_a_deadline(void **state)
{
	struct rig *r = *state;
	int fd = rig_client(r, "CONNECT ");
	char c;

	assert_int_equal(core_deadline(&r->core), START_NS + 5 * NS_PER_S);
	rig_advance(r, 5 * NS_PER_S - 1);
	host_expect_nothing(fd);
	rig_advance(r, 1);
	assert_int_equal(host_read(fd, &c, 1), 0);
	assert_int_equal(core_deadline(&r->core), UINT64_MAX);
	guest_expect_nothing(r);
	close(fd);
}

static void the_answer_has_a_deadline(void **state)
{
	struct rig *r = *state;
	int fd = rig_client(r, "CONNECT 5000\n");
	struct packet p = guest_expect(r, PACKET_REQUEST), rst;
	char c;

	rig_advance(r, 10 * NS_PER_S);
	assert_int_equal(host_read(fd, &c, 1), 0);
	rst = guest_expect(r, PACKET_RST);
	assert_int_equal(rst.src_port, p.src_port);
	assert_int_equal(rst.dst_port, 5000);
	/* It is too late: the stream is gone, and the guest is told once more. */
	guest_op(r, 5000, p.src_port, PACKET_RESPONSE);
	guest_expect(r, PACKET_RST);
	assert_int_equal(streams_in_use(r), 0);
	close(fd);
}

static void a_client_that_leaves_before_the_answer(void **state)
{
	struct rig *r = *state;
	int fd = rig_client(r, "CONNECT 5000\n");

	/* The guest has not heard of it, so nobody needs to tell it. */
	close(fd);
	guest_expect_nothing(r);
	fd = rig_client(r, "CONNECT 5000\n");
	guest_expect(r, PACKET_REQUEST);
	close(fd);
	guest_expect(r, PACKET_RST);
	assert_int_equal(streams_in_use(r), 0);
}

static void without_a_driver_nobody_waits(void **state)
{
	struct rig *r = *state;
	int fd;
	char c;

	core_link(&r->core, false);
	fd = rig_client(r, "CONNECT 5000\n");
	assert_int_equal(host_read(fd, &c, 1), 0);
	guest_expect_nothing(r);
	close(fd);
}

static void answers_that_were_not_asked_for(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, 5000, &port);
	char c;

	/* A second answer. */
	guest_op(r, 5000, port, PACKET_RESPONSE);
	assert_int_equal(guest_expect(r, PACKET_RST).src_port, port);
	assert_int_equal(host_read(fd, &c, 1), 0);
	close(fd);
	/* A guess, before the REQUEST was sent. */
	fd = rig_client(r, "CONNECT 5000\n");
	guest_op(r, 5000, port + 1, PACKET_RESPONSE);
	assert_int_equal(host_read(fd, &c, 1), 0);
	assert_int_equal(streams_in_use(r), 0);
	close(fd);
}

static void nothing_but_an_answer_is_legal_before_it(void **state)
{
	static const unsigned ops[] = {PACKET_REQUEST, PACKET_RW, PACKET_SHUTDOWN,
				       PACKET_CREDIT_UPDATE, PACKET_CREDIT_REQUEST};
	struct rig *r = *state;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		int fd = rig_client(r, "CONNECT 5000\n");
		struct packet p = guest_expect(r, PACKET_REQUEST);
		char c;

		guest_op(r, 5000, p.src_port, ops[i]);
		guest_expect(r, PACKET_RST);
		assert_int_equal(host_read(fd, &c, 1), 0);
		close(fd);
	}
}

static void guest_connects(void **state)
{
	struct rig *r = *state;
	int fd = open_from_guest(r, 7000);

	guest_write(r, 7000, LISTED, "hello", 5);
	host_expect(fd, "hello");
	host_write(r, fd, "config");
	guest_expect_bytes(r, "config");
	close(fd);
}

static void guest_is_refused(void **state)
{
	static const uint32_t ports[] = {0,	      22,	   UNLISTED,	    9999,
					 LISTED_DEAD, LISTED_NONE, CORE_PORT_FIRST, UINT32_MAX};
	struct rig *r = *state;
	int before = open_descriptors();

	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		guest_op(r, 7000, ports[i], PACKET_REQUEST);
		struct packet p = guest_expect(r, PACKET_RST);
		assert_int_equal(p.src_port, ports[i]);
		assert_int_equal(p.dst_port, 7000);
		assert_int_equal(p.src_cid, PACKET_HOST_CID);
		assert_int_equal(p.dst_cid, GUEST_CID);
	}
	assert_int_equal(streams_in_use(r), 0);
	assert_int_equal(open_descriptors(), before);
}

/* Host clients wait a second, and are not asked about meanwhile. The guest is refused. */
static void out_of_descriptors(void **state)
{
	struct rig *r = *state;
	struct rlimit was, now;
	struct error err;
	int fd = sock_connect_at(r->scratch->fd, "clients", &err), lowest = dup(fd);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	now = was;
	now.rlim_cur = (rlim_t)lowest;
	close(lowest);
	assert_int_equal(write(fd, "CONNECT 5000\n", 13), 13);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	rig_events(r);
	guest_op(r, 7000, LISTED, PACKET_REQUEST);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	guest_expect(r, PACKET_RST);
	assert_int_equal(streams_in_use(r), 0);
	assert_int_equal(core_deadline(&r->core), START_NS + NS_PER_S);
	rig_advance(r, NS_PER_S - 1);
	guest_expect_nothing(r);
	rig_advance(r, 1);
	guest_expect(r, PACKET_REQUEST);
	assert_int_equal(core_deadline(&r->core), START_NS + 11 * NS_PER_S);
	close(fd);
}

static void a_listener_that_does_not_accept(void **state)
{
	struct rig *r = *state;
	unsigned accepted = 0, refused = 0;

	/* With a backlog of 8: connections that do not fit are refused, and nothing waits. */
	assert_int_equal(listen(r->listener, 8), 0);
	for (uint32_t port = 1; port <= 15; port++) {
		struct packet p;

		guest_op(r, port, LISTED, PACKET_REQUEST);
		assert_true(guest_get(r, &p, NULL));
		accepted += p.op == PACKET_RESPONSE;
		refused += p.op == PACKET_RST;
	}
	assert_int_equal(accepted + refused, 15);
	assert_true(accepted >= 8 && refused >= 1);
	assert_int_equal(streams_in_use(r), accepted);
}

static void a_second_request_ends_the_first(void **state)
{
	struct rig *r = *state;
	int fd = open_from_guest(r, 7000);
	char c;

	guest_op(r, 7000, LISTED, PACKET_REQUEST);
	guest_expect(r, PACKET_RST);
	assert_int_equal(host_read(fd, &c, 1), 0);
	assert_int_equal(streams_in_use(r), 0);
	close(fd);
}

static int few_streams(void **state)
{
	rig_make(state, 3);
	return 0;
}

static void the_table_is_full(void **state)
{
	struct rig *r = *state;
	uint32_t ports[3];
	int fds[3], fd;
	char c;

	for (int i = 0; i < 3; i++)
		fds[i] = open_from_host(r, 5000, &ports[i]);
	fd = rig_client(r, "CONNECT 5000\n");
	assert_int_equal(host_read(fd, &c, 1), 0);
	close(fd);
	guest_op(r, 7000, LISTED, PACKET_REQUEST);
	guest_expect(r, PACKET_RST);
	guest_expect_nothing(r);
	/* One ends, and there is room for one again. */
	guest_op(r, 5000, ports[1], PACKET_RST);
	assert_int_equal(host_read(fds[1], &c, 1), 0);
	close(fds[1]);
	fds[1] = open_from_guest(r, 7000);
	guest_write(r, 5000, ports[0], "still", 5);
	host_expect(fds[0], "still");
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void a_thousand_streams(void **state)
{
	enum { MANY = 1000, FEW = 100 };
	struct rig *r = *state;
	static uint32_t ports[FEW];
	static int fds[FEW];

	/* Used again and again: entries, ports and buckets. */
	for (int round = 0; round < MANY / FEW; round++) {
		for (int i = 0; i < FEW; i++)
			fds[i] = open_from_host(r, 5000 + (uint32_t)i % 3, &ports[i]);
		for (int i = FEW - 1; i >= 0; i--) {
			char text[16];

			snprintf(text, sizeof(text), "%d", i);
			guest_write(r, 5000 + (uint32_t)i % 3, ports[i], text, strlen(text));
			host_expect(fds[i], text);
		}
		for (int i = 0; i < FEW; i++) {
			guest_op(r, 5000 + (uint32_t)i % 3, ports[i], PACKET_RST);
			close(fds[i]);
		}
		assert_int_equal(streams_in_use(r), 0);
	}
	assert_true(r->core.table.fresh <= FEW);
}

static int many_streams(void **state)
{
	rig_make(state, 128);
	return 0;
}

static void an_event_of_a_predecessor_is_not_mine(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, 5000, &port);
	union poll_ref stale = {.index = 0, .generation = 0, .type = POLL_STREAM};

	guest_op(r, 5000, port, PACKET_RST);
	close(fd);
	fd = open_from_host(r, 5000, &port);
	assert_int_equal(r->core.table.fresh, 1);
	core_stream_event(&r->core, stale, EPOLLHUP);
	stale.index = 1; /* never used */
	core_stream_event(&r->core, stale, EPOLLHUP);
	stale.index = 4000000;
	core_stream_event(&r->core, stale, EPOLLHUP);
	guest_write(r, 5000, port, "x", 1);
	host_expect(fd, "x");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		rig_test(host_connects),
		rig_test(each_connection_has_a_port_of_its_own),
		rig_test(ports_begin_again_and_skip_those_in_use),
		rig_test(refused_by_guest),
		rig_test(bytes_behind_the_line_are_payload),
		rig_test(an_end_behind_the_line_is_kept),
		rig_test(the_line_may_come_in_pieces),
		rig_test(wrong_lines_are_closed),
		rig_test(a_client_that_leaves_before_its_line),
		rig_test(the_line_has_a_deadline),
		rig_test(the_answer_has_a_deadline),
		rig_test(a_client_that_leaves_before_the_answer),
		rig_test(without_a_driver_nobody_waits),
		rig_test(answers_that_were_not_asked_for),
		rig_test(nothing_but_an_answer_is_legal_before_it),
		rig_test(guest_connects),
		rig_test(guest_is_refused),
		rig_test(out_of_descriptors),
		rig_test(a_listener_that_does_not_accept),
		rig_test(a_second_request_ends_the_first),
		cmocka_unit_test_setup_teardown(the_table_is_full, few_streams, rig_teardown),
		cmocka_unit_test_setup_teardown(a_thousand_streams, many_streams, rig_teardown),
		rig_test(an_event_of_a_predecessor_is_not_mine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
