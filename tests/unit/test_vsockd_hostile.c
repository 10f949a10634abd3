/* SPDX-License-Identifier: MIT */
/* Tests packets that no driver sends, and packets that a real one has sent. */
#include "test_vsockd.h"

/* --- forged ---------------------------------------------------------------------------------- */

/* The answer goes to the address that the packet gives as its sender. */
static void expect_refusal_of(struct rig *r, const struct packet *p)
{
	struct packet rst;

	assert_true(guest_get(r, &rst, NULL));
	assert_int_equal(rst.op, PACKET_RST);
	assert_int_equal(rst.src_cid, p->dst_cid);
	assert_int_equal(rst.dst_cid, p->src_cid);
	assert_int_equal(rst.src_port, p->dst_port);
	assert_int_equal(rst.dst_port, p->src_port);
	assert_int_equal(rst.type, p->type);
	assert_int_equal(rst.len, 0);
	guest_expect_nothing(r);
}

static void foreign_addresses_are_refused(void **state)
{
	static const struct {
		uint64_t src, dst;
	} cids[] = {{4, 2},
		    {2, 2},
		    {0, 2},
		    {3, 3},
		    {3, 1},
		    {3, 0},
		    {3, 4},
		    {UINT64_MAX, 2},
		    {3, UINT64_MAX},
		    {3 | UINT64_C(1) << 32, 2},
		    {3, 2 | UINT64_C(1) << 32}};
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	for (size_t i = 0; i < ARRAY_SIZE(cids); i++)
		for (unsigned op = 0; op < 12; op++) {
			/* Also with the ports of an existing stream, which must not be touched. */
			struct packet p = guest_packet(GUEST_PORT, op % 2 ? port : LISTED, op);

			p.src_cid = cids[i].src;
			p.dst_cid = cids[i].dst;
			guest_put(r, &p, NULL, 0);
			if (op == PACKET_RST)
				guest_expect_nothing(r);
			else
				expect_refusal_of(r, &p);
		}
	assert_int_equal(streams_in_use(r), 1);
	guest_write(r, GUEST_PORT, port, "untouched", 9);
	host_expect(fd, "untouched");
	close(fd);
}

static void other_types_are_refused(void **state)
{
	static const uint16_t types[] = {0, 2, 3, 256, PACKET_LINK - 1};
	struct rig *r = *state;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct packet p = guest_packet(7000, LISTED, PACKET_REQUEST);

		p.type = types[i];
		guest_put(r, &p, NULL, 0);
		expect_refusal_of(r, &p);
		p.op = PACKET_RST;
		guest_put(r, &p, NULL, 0);
		guest_expect_nothing(r);
	}
	assert_int_equal(streams_in_use(r), 0);
}

static void unknown_operations_are_refused(void **state)
{
	static const uint16_t ops[] = {PACKET_INVALID, PACKET_OP_COUNT, 9, 255, 256, UINT16_MAX};
	struct rig *r = *state;
	char c;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct packet p = guest_packet(7000, LISTED, ops[i]);
		uint32_t port;
		int fd;

		guest_put(r, &p, NULL, 0);
		expect_refusal_of(r, &p);
		fd = open_from_host(r, GUEST_PORT, &port);
		p = guest_packet(GUEST_PORT, port, ops[i]);
		guest_put(r, &p, NULL, 0);
		expect_refusal_of(r, &p);
		assert_int_equal(host_read(fd, &c, 1), 0);
		close(fd);
	}
}

static void packets_of_no_stream_are_refused(void **state)
{
	struct rig *r = *state;

	for (unsigned op = PACKET_RESPONSE; op < PACKET_OP_COUNT; op++) {
		struct packet p = guest_packet(7000, LISTED, op);

		p.flags = SHUT_BOTH;
		guest_put(r, &p, NULL, 0);
		if (op == PACKET_RST)
			guest_expect_nothing(r);
		else
			expect_refusal_of(r, &p);
	}
}

static void a_request_with_payload_is_refused(void **state)
{
	struct rig *r = *state;
	struct packet p = guest_packet(7000, LISTED, PACKET_REQUEST);

	p.len = 4;
	guest_put(r, &p, "data", 4);
	expect_refusal_of(r, &p);
}

static void unknown_flags_end_nothing(void **state)
{
	struct rig *r = *state;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);
	struct packet p = guest_packet(GUEST_PORT, port, PACKET_SHUTDOWN);

	p.flags = ~(uint32_t)SHUT_BOTH;
	guest_put(r, &p, NULL, 0);
	guest_write(r, GUEST_PORT, port, "on", 2);
	host_expect(fd, "on");
	guest_expect_nothing(r);
	close(fd);
}

static void a_storm_fills_nothing(void **state)
{
	struct rig *r = *state;
	struct packet p = guest_packet(7000, 22, PACKET_REQUEST);
	struct iovec iov = {0};
	unsigned taken = 0;
	uint32_t port;
	int fd = open_from_host(r, GUEST_PORT, &port);

	while (core_accepts(&r->core)) {
		struct span none = {.iov = &iov};

		p.src_port = taken++;
		core_input(&r->core, &p, &none);
	}
	assert_int_equal(taken, CORE_REFUSALS);
	/* Streams that end in the middle of it find their place. */
	close(fd);
	rig_events(r);
	guest_expect(r, PACKET_RST);
	assert_true(core_accepts(&r->core));
	for (unsigned i = 1; i < taken; i++)
		assert_int_equal(guest_expect(r, PACKET_RST).dst_port, i);
	guest_expect(r, PACKET_SHUTDOWN);
	guest_expect_nothing(r);
}

static void streams_that_end_in_a_storm(void **state)
{
	enum { STREAMS = 8 };
	struct rig *r = *state;
	struct packet p = guest_packet(7000, 22, PACKET_REQUEST);
	uint32_t ports[STREAMS];
	int fds[STREAMS];

	for (int i = 0; i < STREAMS; i++)
		fds[i] = open_from_host(r, GUEST_PORT, &ports[i]);
	for (int i = 0; i < STREAMS; i++)
		close(fds[i]);
	for (int i = 0; i < STREAMS; i++)
		guest_expect(r, PACKET_SHUTDOWN);
	while (core_accepts(&r->core)) {
		struct iovec iov = {0};
		struct span none = {.iov = &iov};

		core_input(&r->core, &p, &none);
	}
	rig_advance(r, 8 * NS_PER_S); /* all of them at once */
	assert_int_equal(r->core.refusals_count, CORE_REFUSALS + STREAMS);
	for (unsigned i = 0; i < CORE_REFUSALS + STREAMS; i++)
		guest_expect(r, PACKET_RST);
	guest_expect_nothing(r);
}

static void every_sequence_of_two_packets(void **state)
{
	struct rig *r = *state;

	/* Any packet after any other, on a fresh connection: nothing is left behind. */
	for (unsigned first = 0; first <= PACKET_OP_COUNT; first++)
		for (unsigned second = 0; second <= PACKET_OP_COUNT; second++)
			for (unsigned flags = 0; flags < 4; flags++) {
				struct packet p = guest_packet(7000, LISTED, first), got;
				struct error err;
				int fd;

				guest_op(r, 7000, LISTED, PACKET_REQUEST);
				fd = sock_accept(r->listener, &err);
				assert_true(fd >= 0);
				p.flags = flags;
				guest_put(r, &p, NULL, 0);
				p.op = (uint16_t)second;
				guest_put(r, &p, NULL, 0);
				close(fd);
				/* A second REQUEST may have made a second connection. */
				fd = sock_accept(r->listener, &err);
				if (fd >= 0)
					close(fd);
				while (guest_get(r, &got, NULL))
					assert_true(got.op != PACKET_INVALID &&
						    got.op < PACKET_OP_COUNT);
				guest_op(r, 7000, LISTED, PACKET_RST);
				guest_expect_nothing(r);
				assert_int_equal(streams_in_use(r), 0);
			}
}

/* --- recorded -------------------------------------------------------------------------------- */

static void decode_hex(const char *hex, struct packet *p)
{
	uint8_t raw[PACKET_HEADER], again[PACKET_HEADER];

	assert_int_equal(strlen(hex), 2 * PACKET_HEADER);
	for (unsigned i = 0; i < PACKET_HEADER; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		raw[i] = (uint8_t)byte;
	}
	packet_decode(raw, p);
	packet_encode(p, again);
	assert_memory_equal(raw, again, sizeof(raw));
}

/* The packets of Linux 6.1 when its process dialled the host, wrote six bytes and went on. */
static void a_recorded_guest_connects(void **state)
{
	struct rig *r = *state;
	struct packet p;

	decode_hex("03000000000000000200000000000000f005b2d4"
		   "000400000000000001000100000000000000040000000000",
		   &p);
	assert_int_equal(p.op, PACKET_REQUEST);
	assert_int_equal(p.src_port, 0xd4b205f0);
	assert_int_equal(p.dst_port, LISTED);
	assert_int_equal(p.buf_alloc, 262144);
	guest_put(r, &p, NULL, 0);
	guest_expect(r, PACKET_RESPONSE);
	decode_hex("03000000000000000200000000000000f005b2d4"
		   "000400000600000001000500000000000000040000000000",
		   &p);
	guest_put(r, &p, "hello\n", 6);
	struct error err;
	int fd = sock_accept(r->listener, &err);
	host_expect(fd, "hello\n");
	close(fd);
}

/* Its echo server on port 5000: answer, credit, the byte back, and two RST for our SHUTDOWN. */
static void a_recorded_echo(void **state)
{
	struct rig *r = *state;
	struct packet p;
	int fd = rig_client(r, "CONNECT 5000\n");

	assert_int_equal(guest_expect(r, PACKET_REQUEST).src_port, 0x40000000);
	decode_hex("0300000000000000020000000000000088130000"
		   "000000400000000001000200000000000000040000000000",
		   &p);
	guest_put(r, &p, NULL, 0);
	host_expect(fd, "OK 1073741824\n");
	host_write(r, fd, "x");
	guest_expect_bytes(r, "x");
	decode_hex("0300000000000000020000000000000088130000"
		   "000000400000000001000600000000000000040001000000",
		   &p);
	guest_put(r, &p, NULL, 0);
	decode_hex("0300000000000000020000000000000088130000"
		   "000000400100000001000500000000000000040001000000",
		   &p);
	guest_put(r, &p, "x", 1);
	host_expect(fd, "x");
	close(fd);
	guest_expect(r, PACKET_SHUTDOWN);
	decode_hex("0300000000000000020000000000000088130000"
		   "000000400000000001000300000000000000040001000000",
		   &p);
	guest_put(r, &p, NULL, 0);
	guest_put(r, &p, NULL, 0);
	guest_expect_nothing(r);
	assert_int_equal(streams_in_use(r), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		rig_test(foreign_addresses_are_refused),
		rig_test(other_types_are_refused),
		rig_test(unknown_operations_are_refused),
		rig_test(packets_of_no_stream_are_refused),
		rig_test(a_request_with_payload_is_refused),
		rig_test(unknown_flags_end_nothing),
		rig_test(a_storm_fills_nothing),
		rig_test(streams_that_end_in_a_storm),
		rig_test(every_sequence_of_two_packets),
		rig_test(a_recorded_guest_connects),
		rig_test(a_recorded_echo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
