/* SPDX-License-Identifier: MIT */
/* Tests the core behind a byte stream. The test plays the guest's end, byte by byte. */
#include "test_vsockd.h"

#include "vsockd/port.h"

struct line {
	struct rig *rig;
	struct port port;
	int guest; /* the guest's end */
	int ours;
};

static int line_setup(void **state)
{
	struct line *l = calloc(1, sizeof(*l));
	void *rig = NULL;
	struct error err;
	int ends[2];

	assert_non_null(l);
	l->rig = rig_make(&rig, 16);
	core_link(&l->rig->core, false);
	assert_int_equal(fd_socketpair(ends, &err), 0);
	assert_int_equal(fd_nonblock(ends[1], true, &err), 0);
	l->guest = ends[0];
	l->ours = ends[1];
	port_init(&l->port, &l->rig->core, GUEST_CID, l->ours, &l->rig->log);
	*state = l;
	return 0;
}

static int line_teardown(void **state)
{
	struct line *l = *state;
	void *rig = l->rig;

	if (l->guest >= 0)
		close(l->guest);
	close(l->ours);
	free(l);
	return rig_teardown(&rig);
}

/* Does what the loop does after an event. */
static void line_pump(struct line *l)
{
	rig_events(l->rig);
	port_event(&l->port, EPOLLIN | EPOLLOUT);
	for (int round = 0; port_pump(&l->port); round++)
		assert_true(round < 1000);
}

static void say_bytes(struct line *l, const void *data, size_t len)
{
	assert_int_equal(write(l->guest, data, len), (int)len);
	line_pump(l);
}

static void say(struct line *l, const struct packet *p, const void *payload)
{
	uint8_t raw[PACKET_HEADER + 256];

	assert_true(p->len <= 256);
	packet_encode(p, raw);
	if (payload)
		memcpy(raw + PACKET_HEADER, payload, p->len);
	say_bytes(l, raw, PACKET_HEADER + p->len);
}

static void say_op(struct line *l, uint32_t guest_port, uint32_t host_port, enum packet_op op)
{
	struct packet p = guest_packet(guest_port, host_port, op);

	say(l, &p, NULL);
}

/* Returns the next packet for the guest, whose payload is at most that of one. Returns false if
 * there is none. */
static bool hear(struct line *l, struct packet *p, uint8_t payload[PACKET_PAYLOAD])
{
	uint8_t raw[PACKET_HEADER];
	ssize_t n;

	line_pump(l);
	n = recv(l->guest, raw, sizeof(raw), MSG_DONTWAIT);
	if (n < 0)
		return false;
	assert_int_equal(n, PACKET_HEADER);
	packet_decode(raw, p);
	assert_true(p->len <= PACKET_PAYLOAD);
	for (uint32_t got = 0; got < p->len; got += (uint32_t)n) {
		line_pump(l);
		n = recv(l->guest, payload + got, p->len - got, MSG_DONTWAIT);
		assert_true(n > 0);
	}
	return true;
}

static struct packet hear_op(struct line *l, unsigned op)
{
	uint8_t payload[PACKET_PAYLOAD];
	struct packet p;

	assert_true(hear(l, &p, payload));
	assert_int_equal(p.op, op);
	return p;
}

static void hear_nothing(struct line *l)
{
	uint8_t payload[PACKET_PAYLOAD];
	struct packet p;

	assert_false(hear(l, &p, payload));
}

static void hear_link(struct line *l, enum packet_link op, uint64_t number)
{
	struct packet p = hear_op(l, op);

	assert_true(packet_is_link(&p, op));
	assert_int_equal(p.dst_cid, GUEST_CID);
	assert_int_equal(packet_link_number(&p), number);
}

static void greet(struct line *l, uint64_t number)
{
	const struct packet hello = packet_link(LINK_HELLO, 0, number);

	say(l, &hello, NULL);
	hear_link(l, LINK_WELCOME, number);
}

/* Makes a client of the host that the guest has accepted; *host_port is ours. */
static int connect_client(struct line *l, uint32_t *host_port)
{
	int fd = rig_client(l->rig, "CONNECT 5000\n");

	*host_port = hear_op(l, PACKET_REQUEST).src_port;
	say_op(l, GUEST_PORT, *host_port, PACKET_RESPONSE);
	char got[32];
	assert_true(host_read(fd, got, sizeof(got)) > 0);
	return fd;
}

/* --- the link -------------------------------------------------------------------------------- */

static void it_asks_and_welcomes(void **state)
{
	struct line *l = *state;

	line_pump(l);
	hear_link(l, LINK_ASK, 0);
	hear_nothing(l);
	greet(l, UINT64_C(0x123456789abcdef0));
	hear_nothing(l);
}

static void before_a_hello_nobody_is_there(void **state)
{
	struct line *l = *state;
	int fd;

	line_pump(l);
	hear_link(l, LINK_ASK, 0);
	fd = rig_client(l->rig, "CONNECT 5000\n");
	assert_int_equal(host_read(fd, &(char){0}, 1), 0);
	close(fd);
	say_op(l, GUEST_PORT, LISTED, PACKET_REQUEST);
	hear_nothing(l);
	assert_int_equal(streams_in_use(l->rig), 0);
}

static void a_hello_is_found_wherever_it_stands(void **state)
{
	struct line *l = *state;
	uint8_t before[1000];

	memset(before, 0xff, sizeof(before));
	line_pump(l);
	hear_link(l, LINK_ASK, 0);
	for (size_t n = 1; n <= sizeof(before); n += 111) {
		l->port.astray = true;
		say_bytes(l, before, n);
		greet(l, n);
	}
}

static void a_hello_ends_what_was_before(void **state)
{
	struct line *l = *state;
	uint32_t port;
	int fd;

	hear_link(l, LINK_ASK, 0);
	greet(l, 1);
	fd = connect_client(l, &port);
	greet(l, 2);
	assert_int_equal(host_read(fd, &(char){0}, 1), 0);
	close(fd);
	assert_int_equal(streams_in_use(l->rig), 0);
	fd = connect_client(l, &port);
	close(fd);
}

/* One agent has died with a client's request, and the next one is asked for it again. */
static void a_request_without_an_answer_is_made_again(void **state)
{
	struct line *l = *state;
	char got[32];
	int fd;

	hear_link(l, LINK_ASK, 0);
	greet(l, 1);
	fd = rig_client(l->rig, "CONNECT 5000\n");
	hear_op(l, PACKET_REQUEST);
	say_bytes(l, (const uint8_t[PACKET_HEADER]){[24] = 0xff, [27] = 0xff}, PACKET_HEADER);
	hear_nothing(l);
	int later = rig_client(l->rig, "CONNECT 5000\n");
	hear_op(l, PACKET_REQUEST); /* which nobody takes */
	greet(l, 2);
	say_op(l, GUEST_PORT, hear_op(l, PACKET_REQUEST).src_port, PACKET_RESPONSE);
	say_op(l, GUEST_PORT, hear_op(l, PACKET_REQUEST).src_port, PACKET_RESPONSE);
	assert_true(host_read(fd, got, sizeof(got)) > 0);
	assert_true(host_read(later, got, sizeof(got)) > 0);
	close(fd);
	close(later);
}

/* --- what is no packet ----------------------------------------------------------------------- */

static void expect_astray(struct line *l, const struct packet *wrong)
{
	uint32_t port;
	int fd;

	greet(l, 1);
	fd = connect_client(l, &port);
	say(l, wrong, NULL);
	assert_int_equal(host_read(fd, &(char){0}, 1), 0);
	close(fd);
	say_op(l, GUEST_PORT, LISTED, PACKET_REQUEST);
	hear_nothing(l);
	assert_int_equal(streams_in_use(l->rig), 0);
}

static void what_is_no_packet_ends_all(void **state)
{
	struct line *l = *state;
	struct packet too_long = guest_packet(GUEST_PORT, LISTED, PACKET_RW);
	const struct packet ask = packet_link(LINK_ASK, GUEST_CID, 0);
	uint8_t raw[PACKET_HEADER];
	uint32_t port;

	hear_link(l, LINK_ASK, 0);
	too_long.len = PACKET_PAYLOAD + 1;
	packet_encode(&too_long, raw);
	greet(l, 1);
	int fd = connect_client(l, &port);
	say_bytes(l, raw, sizeof(raw));
	assert_int_equal(host_read(fd, &(char){0}, 1), 0);
	close(fd);
	expect_astray(l, &ask);
	greet(l, 3);
	close(connect_client(l, &port));
}

/* --- streams --------------------------------------------------------------------------------- */

static void packets_may_come_in_pieces(void **state)
{
	struct line *l = *state;
	struct packet p;
	uint8_t raw[PACKET_HEADER + 5];
	uint32_t port;
	int fd;

	hear_link(l, LINK_ASK, 0);
	greet(l, 1);
	fd = connect_client(l, &port);
	p = guest_packet(GUEST_PORT, port, PACKET_RW);
	p.len = 5;
	packet_encode(&p, raw);
	memcpy(raw + PACKET_HEADER, "hello", 5);
	for (size_t i = 0; i < sizeof(raw); i++) {
		host_expect_nothing(fd);
		say_bytes(l, raw + i, 1);
	}
	host_expect(fd, "hello");
	close(fd);
}

static void the_guest_dials(void **state)
{
	struct line *l = *state;
	struct error err;
	int fd;

	hear_link(l, LINK_ASK, 0);
	greet(l, 1);
	say_op(l, GUEST_PORT, LISTED, PACKET_REQUEST);
	hear_op(l, PACKET_RESPONSE);
	fd = sock_accept(l->rig->listener, &err);
	assert_true(fd >= 0);
	host_write(l->rig, fd, "word");
	assert_int_equal(hear_op(l, PACKET_RW).len, 4);
	say_op(l, GUEST_PORT, UNLISTED, PACKET_REQUEST);
	hear_op(l, PACKET_RST);
	close(fd);
}

/* A guest that reads nothing: bytes that cannot be sent stay with the client. */
static void a_full_line_holds_the_client(void **state)
{
	enum { ROUNDS = 64, BLOCK = 16384 };
	static uint8_t block[BLOCK], payload[PACKET_PAYLOAD];
	struct line *l = *state;
	struct packet p;
	size_t written = 0, heard = 0;
	uint32_t port;
	int fd;

	hear_link(l, LINK_ASK, 0);
	greet(l, 1);
	fd = connect_client(l, &port);
	p = guest_packet(GUEST_PORT, port, PACKET_CREDIT_UPDATE);
	p.buf_alloc = UINT32_MAX / 2;
	say(l, &p, NULL);
	for (int i = 0; i < 10000; i++) {
		ssize_t n;

		for (size_t at = 0; at < BLOCK; at++)
			block[at] = (uint8_t)((written + at) % 251);
		n = send(fd, block, BLOCK, MSG_DONTWAIT);
		if (n < 0)
			break;
		written += (size_t)n;
		line_pump(l);
	}
	assert_true(written < 10000 * (size_t)BLOCK);
	while (heard < written && hear(l, &p, payload)) {
		assert_int_equal(p.op, PACKET_RW);
		for (uint32_t at = 0; at < p.len; at++)
			assert_int_equal(payload[at], (heard + at) % 251);
		heard += p.len;
	}
	assert_int_equal(heard, written);
	close(fd);
}

/* Packets that had been sent completely before the end are handled first. */
static void the_end_comes_last(void **state)
{
	struct line *l = *state;
	struct packet p;
	uint8_t raw[PACKET_HEADER + 3];
	uint32_t port;
	int fd;

	hear_link(l, LINK_ASK, 0);
	greet(l, 1);
	fd = connect_client(l, &port);
	p = guest_packet(GUEST_PORT, port, PACKET_RW);
	p.len = 3;
	packet_encode(&p, raw);
	memcpy(raw + PACKET_HEADER, "end", 3);
	assert_int_equal(write(l->guest, raw, sizeof(raw)), (int)sizeof(raw));
	assert_int_equal(write(l->guest, raw, 20), 20);
	close(l->guest);
	l->guest = -1;
	port_event(&l->port, EPOLLIN | EPOLLRDHUP);
	assert_false(port_has_ended(&l->port));
	while (port_pump(&l->port))
		;
	host_expect(fd, "end");
	assert_true(port_has_ended(&l->port));
	close(fd);
}

#define line_test(f) cmocka_unit_test_setup_teardown(f, line_setup, line_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		line_test(it_asks_and_welcomes),
		line_test(before_a_hello_nobody_is_there),
		line_test(a_hello_is_found_wherever_it_stands),
		line_test(a_hello_ends_what_was_before),
		line_test(a_request_without_an_answer_is_made_again),
		line_test(what_is_no_packet_ends_all),
		line_test(packets_may_come_in_pieces),
		line_test(the_guest_dials),
		line_test(a_full_line_holds_the_client),
		line_test(the_end_comes_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
