/* SPDX-License-Identifier: MIT */
/* Tests the filter between two sockets: frames in pieces, too long ones, floods. */
#include "gate_fixture.h"

#include <fcntl.h>

#include "netgate/by_name.h"

static void frames_go_both_ways(void **state)
{
	struct fixture *f = *state;

	start(f, true, true);
	send_frame(f->vm, arp(GUEST));
	expect_frame(f->passt, arp(GUEST));
	send_frame(f->passt, tcp(GUEST, 1, 0x12));
	expect_frame(f->vm, tcp(GUEST, 1, 0x12));
}

/* Never faster than its limit, whatever the load of the machine is, and nothing is lost. */
static void a_limit_holds_each_way(void **state)
{
	struct fixture *f = *state;
	struct frame frame = udp(PUBLIC, 4);
	uint64_t began = clock_mono_ns(), bytes = 0;

	f->rate = 1 << 20;
	frame.len = 1514;
	put16(frame.bytes + 16, 1500);
	put16(frame.bytes + 38, 1480);
	start(f, true, true);
	while (bytes < f->rate / 4) {
		for (int i = 0; i < 8; i++, bytes += 4 + frame.len) {
			send_frame(f->vm, frame);
			send_frame(f->passt, frame);
		}
		for (int i = 0; i < 8; i++) {
			expect_frame(f->passt, frame);
			expect_frame(f->vm, frame);
		}
	}
	assert_true((clock_mono_ns() - began) / 1000 >= (bytes - f->rate / 10) * 1000000 / f->rate);
	close(f->passt); /* while there is no credit: it ends all the same */
	assert_true(ended_well(f));
	f->passt = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void what_is_shut_leaves_no_gap(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[8192];
	size_t len = 0;

	start(f, true, true);
	len += pack(bytes + len, tcp(ADDRESS(127, 0, 0, 1), 1, 2));
	len += pack(bytes + len, tcp(PUBLIC, 2, 2));
	len += pack(bytes + len, udp(ADDRESS(192, 168, 1, 1), 3));
	len += pack(bytes + len, udp(PUBLIC, 4));
	put(f->vm, bytes, len);
	expect_frame(f->passt, tcp(PUBLIC, 2, 2));
	expect_frame(f->passt, udp(PUBLIC, 4));
	expect_line(f, "tcp 10.0.2.15:40000 -> 127.0.0.1:1 refused");
	expect_line(f, "tcp 10.0.2.15:40000 -> 8.8.8.8:2");
	expect_line(f, "udp 10.0.2.15:40001 -> 192.168.1.1:3 refused");
	expect_line(f, "udp 10.0.2.15:40001 -> 8.8.8.8:4");
}

static void frames_may_come_byte_by_byte(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[4096];
	size_t len = pack(bytes, tcp(ADDRESS(127, 0, 0, 1), 80, 2));

	start(f, true, true);
	len += pack(bytes + len, tcp(PUBLIC, 80, 2));
	for (size_t i = 0; i < len; i++)
		put(f->vm, bytes + i, 1);
	expect_frame(f->passt, tcp(PUBLIC, 80, 2));
}

static void a_frame_that_is_too_long_is_passed_over(void **state)
{
	struct fixture *f = *state;
	static const uint32_t lengths[] = {
		0, 1, 13, SCREEN_FRAME_MAX, SCREEN_FRAME_MAX + 1, 69632, 3 * LANE_BYTES};
	uint8_t *filler = calloc(1, 3 * LANE_BYTES);

	start(f, true, true);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		uint8_t header[4];

		put32(header, lengths[i]);
		put(f->vm, header, 4);
		put(f->vm, filler, lengths[i]);
		send_frame(f->vm, udp(PUBLIC, 1000 + (unsigned)i));
		expect_frame(f->passt, udp(PUBLIC, 1000 + (unsigned)i));
	}
	free(filler);
}

static void a_connection_is_told_once(void **state)
{
	struct fixture *f = *state;

	start(f, true, true);
	for (int i = 0; i < 3; i++)
		send_frame(f->vm, tcp(PUBLIC, 80, 2));
	send_frame(f->vm, tcp(PUBLIC, 80, 0x10));
	for (int i = 0; i < 3; i++)
		send_frame(f->vm, dns_query(0));
	send_frame(f->vm, echo_request(PUBLIC));
	expect_line(f, "tcp 10.0.2.15:40000 -> 8.8.8.8:80");
	expect_line(f, "udp 10.0.2.15:40001 -> 10.0.2.3:53");
	expect_line(f, "icmp 10.0.2.15 -> 8.8.8.8");
}

/* A connection of the same ports is another one if its number differs, or if one side has ended the
 * earlier one. */
static void each_connection_is_told(void **state)
{
	static const char line[] = "tcp 10.0.2.15:40000 -> 8.8.8.8:80";
	struct fixture *f = *state;
	struct frame reset = tcp(GUEST, 40000, TCP_RST | TCP_ACK), call = tcp(PUBLIC, 80, TCP_SYN);

	start(f, true, true);
	for (uint32_t i = 1; i <= 8; i++) {
		put32(call.bytes + 38, i);
		send_frame(f->vm, call);
		expect_frame(f->passt, call);
		expect_line(f, line);
	}
	put32(reset.bytes + 26, PUBLIC);
	put16(reset.bytes + 34, 80);
	send_frame(f->passt, reset);
	expect_frame(f->vm, reset);
	send_frame(f->vm, call);
	expect_line(f, line);
	send_frame(f->vm, tcp(PUBLIC, 80, TCP_FIN | TCP_ACK));
	send_frame(f->vm, call);
	expect_line(f, line);
	/* An end of another connection, and a frame that is no end. */
	send_frame(f->vm, tcp(PUBLIC, 81, TCP_FIN | TCP_ACK));
	send_frame(f->vm, tcp(PUBLIC, 80, TCP_ACK));
	send_frame(f->vm, call);
	send_frame(f->vm, udp(PUBLIC, 4));
	expect_line(f, "udp 10.0.2.15:40001 -> 8.8.8.8:4");
}

/* By name, to a known address. */
static void start_by_name(struct fixture *f)
{
	struct host_name name;

	f->gate->screen.by_name = true;
	by_name_change(f->gate, true, "a.bc");
	assert_true(host_name_take(&name, (struct bytes){(const uint8_t *)"a.bc", 4}));
	pins_add(&f->gate->egress.pins, PUBLIC, 0, &name, UINT64_MAX);
	start(f, true, true);
}

static void a_silent_connection_is_told_in_time(void **state)
{
	struct fixture *f = *state;

	limit_set(LIMIT_NETGATE_OPENING_MS, 1);
	start_by_name(f);
	limit_reset(LIMIT_NETGATE_OPENING_MS);
	send_frame(f->vm, tcp(PUBLIC, 443, TCP_SYN));
	expect_line(f, "tcp 10.0.2.15:40000 -> 8.8.8.8:443 -");
}

static void a_silent_connection_is_told_at_the_end(void **state)
{
	struct fixture *f = *state;

	start_by_name(f);
	send_frame(f->vm, tcp(PUBLIC, 443, TCP_SYN));
	expect_frame(f->passt, tcp(PUBLIC, 443, TCP_SYN));
	shutdown(f->vm, SHUT_RDWR);
	expect_line(f, "tcp 10.0.2.15:40000 -> 8.8.8.8:443 -");
	assert_true(ended_well(f));
}

static uint32_t number(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Computes what a receiver computes: 0 for a right checksum. */
static unsigned checksum(const uint8_t *bytes, size_t len, uint32_t total)
{
	for (size_t i = 0; i < len; i += 2)
		total += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return ~total & 0xffff;
}

static void expect_reset(int fd, struct frame syn, uint32_t acknowledged)
{
	struct frame reset = {.len = COMPOSE_BARE};
	uint8_t bytes[LANE_LENGTH + COMPOSE_BARE];
	struct error err = {0};
	const uint8_t *at = reset.bytes;

	assert_ok(fd_read_exact(fd, bytes, sizeof(bytes), &err));
	assert_int_equal(number(bytes), COMPOSE_BARE);
	memcpy(reset.bytes, bytes + LANE_LENGTH, COMPOSE_BARE);
	assert_memory_equal(at, syn.bytes + 6, 6);
	assert_memory_equal(at + 6, syn.bytes, 6);
	assert_memory_equal(at + 12, syn.bytes + 12, 2);
	assert_int_equal(number(at + 14) >> 16, 0x4500);
	assert_int_equal(number(at + 14) & 0xffff, 40);
	assert_int_equal(number(at + 18), 0x4000);
	assert_int_equal(number(at + 22) >> 16, 0x4006);
	assert_memory_equal(at + 26, syn.bytes + 30, 4);
	assert_memory_equal(at + 30, syn.bytes + 26, 4);
	assert_memory_equal(at + 34, syn.bytes + 36, 2);
	assert_memory_equal(at + 36, syn.bytes + 34, 2);
	assert_int_equal(number(at + 38), 0);
	assert_int_equal(number(at + 42), acknowledged);
	assert_int_equal(number(at + 46), 0x50140000);
	assert_int_equal(number(at + 50) & 0xffff, 0);
	assert_int_equal(checksum(at + 14, 20, 0), 0);
	assert_int_equal(checksum(at + 26, 28, 6 + 20), 0);
}

static struct frame shut_syn(uint32_t sequence)
{
	struct frame f = tcp(ADDRESS(192, 168, 1, 1), 80, 2);

	put32(f.bytes + 38, sequence);
	return f;
}

/* Between the frames of passt, never within one. */
static void a_refused_connection_is_reset(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[2100];
	size_t len = pack(bytes, tcp(GUEST, 1, 0x12));
	struct frame with_data = shut_syn(1000);

	start(f, true, true);
	send_frame(f->vm, shut_syn(UINT32_MAX));
	expect_reset(f->vm, shut_syn(UINT32_MAX), 0);
	put(f->passt, bytes, len);
	put(f->passt, bytes, 9);
	expect_frame(f->vm, tcp(GUEST, 1, 0x12));
	with_data.len += 10;
	put16(with_data.bytes + 16, 50);
	send_frame(f->vm, with_data);
	expect_reset(f->vm, with_data, 1011);
	put(f->passt, bytes + 9, len - 9);
	expect_frame(f->vm, tcp(GUEST, 1, 0x12));
}

/* Returns the answer to a refused datagram or echo request of the guest. */
static void expect_prohibited(int fd, struct frame sent)
{
	uint8_t bytes[LANE_LENGTH + COMPOSE_PROHIBITED];
	const uint8_t *at = bytes + LANE_LENGTH;
	struct error err = {0};

	assert_ok(fd_read_exact(fd, bytes, sizeof(bytes), &err));
	assert_int_equal(number(bytes), COMPOSE_PROHIBITED);
	assert_memory_equal(at, sent.bytes + 6, 6);
	assert_memory_equal(at + 6, sent.bytes, 6);
	assert_int_equal(number(at + 14) & 0xffff, 20 + 8 + 28);
	assert_int_equal(at[23], 1);
	assert_memory_equal(at + 26, sent.bytes + 30, 4);
	assert_memory_equal(at + 30, sent.bytes + 26, 4);
	assert_int_equal(number(at + 34) >> 16, 3 << 8 | 13);
	assert_int_equal(number(at + 38), 0);
	assert_memory_equal(at + 42, sent.bytes + 14, 28);
	assert_int_equal(checksum(at + 14, 20, 0), 0);
	assert_int_equal(checksum(at + 34, 8 + 28, 0), 0);
}

static void a_refused_datagram_is_answered(void **state)
{
	struct fixture *f = *state;
	struct frame datagram = udp(ADDRESS(192, 168, 1, 1), 123);
	struct frame echo = echo_request(ADDRESS(10, 0, 2, 2));

	start(f, true, true);
	send_frame(f->vm, datagram);
	expect_prohibited(f->vm, datagram);
	send_frame(f->vm, datagram);
	expect_prohibited(f->vm, datagram);
	send_frame(f->vm, echo);
	expect_prohibited(f->vm, echo);
}

/* There is no answer to an answer, or to a frame for many, and no more answers than the limit. */
static void not_all_is_reset(void **state)
{
	struct fixture *f = *state;
	struct frame many = shut_syn(1);

	limit_set(LIMIT_NETGATE_REFUSALS, 1);
	start(f, true, true);
	limit_reset(LIMIT_NETGATE_REFUSALS);
	many.bytes[0] |= 1;
	send_frame(f->vm, many);
	for (unsigned flags = 0; flags < 64; flags++)
		if ((flags & 0x17) != 2)
			send_frame(f->vm, tcp(ADDRESS(192, 168, 1, 1), 80, (uint8_t)flags));
	send_frame(f->vm, udp(ADDRESS(239, 1, 1, 1), 80));
	send_frame(f->vm, shut_syn(7));
	expect_reset(f->vm, shut_syn(7), 8);
	send_frame(f->vm, udp(ADDRESS(192, 168, 1, 1), 80));
	send_frame(f->vm, tcp(PUBLIC, 80, 0x12));
	expect_frame(f->passt, tcp(PUBLIC, 80, 0x12));
}

#define RESOLVER ADDRESS(192, 0, 2, 53)

static struct frame with_addresses(struct frame f, uint32_t from, uint32_t to)
{
	put32(f.bytes + 26, from);
	put32(f.bytes + 30, to);
	return f;
}

static struct frame next_frame(int fd)
{
	struct frame f = {.len = 14 + 40};
	uint8_t length[LANE_LENGTH];
	struct error err = {0};

	assert_ok(fd_read_exact(fd, length, sizeof(length), &err));
	assert_int_equal(number(length), f.len);
	assert_ok(fd_read_exact(fd, f.bytes, f.len, &err));
	assert_int_equal(checksum(f.bytes + 14, 20, 0), 0);
	assert_int_equal(checksum(f.bytes + 26, 28, 6 + 20), 0);
	return f;
}

/* A connection to the address of DNS goes to the resolver on the other side, and only that one
 * does. */
static void dns_by_tcp_leads_to_the_resolver(void **state)
{
	struct fixture *f = *state;
	struct frame called = tcp(DNS, 53, TCP_SYN), answer = tcp(DNS, 40000, TCP_SYN | TCP_ACK);
	struct frame passed, other;

	f->gate->screen.resolver = RESOLVER;
	start(f, true, true);
	send_frame(f->vm, tcp(DNS, 54, TCP_SYN)); /* another port is shut */
	expect_reset(f->vm, tcp(DNS, 54, TCP_SYN), 1);
	expect_line(f, "tcp 10.0.2.15:40000 -> 10.0.2.3:54 refused");
	send_frame(f->vm, called);
	passed = next_frame(f->passt);
	assert_memory_equal(passed.bytes + 26, with_addresses(called, GUEST, RESOLVER).bytes + 26,
			    8);
	assert_memory_equal(passed.bytes + 34, called.bytes + 34, 16);
	expect_line(f, "tcp 10.0.2.15:40000 -> 10.0.2.3:53");
	answer = with_addresses(answer, RESOLVER, GUEST);
	put16(answer.bytes + 34, 53);
	other = answer;
	send_frame(f->passt, answer);
	passed = next_frame(f->vm);
	assert_memory_equal(passed.bytes + 26, with_addresses(answer, DNS, GUEST).bytes + 26, 8);
	/* A connection of the guest to the resolver by its own address, if that were open. */
	put16(other.bytes + 36, 40002);
	send_frame(f->passt, other);
	expect_frame(f->vm, other);
}

static void dns_by_tcp_is_shut_without_a_resolver(void **state)
{
	struct fixture *f = *state;

	start(f, true, true);
	send_frame(f->vm, tcp(DNS, 53, TCP_SYN));
	expect_reset(f->vm, tcp(DNS, 53, TCP_SYN), 1);
	expect_line(f, "tcp 10.0.2.15:40000 -> 10.0.2.3:53 refused");
}

/* More connections than may be listed: the rest is counted, and the sum is complete. */
static void a_flood_is_counted(void **state)
{
	struct fixture *f = *state;
	unsigned listed = 0, unlisted = 0, more;
	char line[256];

	limit_set(LIMIT_NETGATE_LINES, 5);
	start(f, true, true);
	limit_reset(LIMIT_NETGATE_LINES);
	for (unsigned i = 0; i < 500; i++) {
		send_frame(f->vm, tcp(ADDRESS(8, 8, i >> 8, i), 80, 2));
		expect_frame(f->passt, tcp(ADDRESS(8, 8, i >> 8, i), 80, 2));
	}
	while (listed + unlisted < 500) {
		ssize_t n = recv(f->supervisor, line, sizeof(line) - 1, 0);

		assert_true(n > 0);
		line[n] = '\0';
		if (sscanf(line, "%u connections more were not listed", &more) == 1)
			unlisted += more;
		else
			listed++;
	}
	assert_int_equal(listed + unlisted, 500);
	assert_true(unlisted > 0);
}

static void nothing_is_open_before_the_addresses_are_known(void **state)
{
	struct fixture *f = *state;
	struct prefix_wire wire = {htonl(ADDRESS(9, 9, 9, 9)), htonl(32), htonl(PREFIX_OWN)};
	uint8_t message[1 + sizeof(wire)] = {'x'};

	memcpy(message + 1, &wire, sizeof(wire));
	start(f, true, false);
	send_frame(f->vm, tcp(PUBLIC, 1, 2));
	expect_line(f, "tcp 10.0.2.15:40000 -> 8.8.8.8:1 refused");
	send_frame(f->vm, tcp(ADDRESS(200, 1, 1, 1), 1, 2));
	expect_line(f, "tcp 10.0.2.15:40000 -> 200.1.1.1:1 refused");
	/* A message of an unknown kind has no effect. */
	assert_int_equal(send(f->supervisor, message, sizeof(message), 0), sizeof(message));
	message[0] = MESSAGE_HOST;
	assert_int_equal(send(f->supervisor, message, sizeof(message), 0), sizeof(message));
	/* The refused connection is reported again when it is open. */
	for (unsigned port = 1;; port++) {
		struct pollfd ready = {.fd = f->passt, .events = POLLIN};

		send_frame(f->vm, tcp(PUBLIC, port, 2));
		if (poll(&ready, 1, 10) > 0)
			break;
	}
	send_frame(f->vm, tcp(ADDRESS(9, 9, 9, 9), 7, 2));
	for (char line[256] = ""; !strstr(line, "9.9.9.9");) {
		ssize_t n = recv(f->supervisor, line, sizeof(line) - 1, 0);

		assert_true(n > 0);
		line[n] = '\0';
		if (strstr(line, "9.9.9.9"))
			assert_non_null(strstr(line, "refused"));
	}
}

/* A lane that was at work when the message came may read some more frames before it sees the
 * message. */
static void expect_refused_soon(struct fixture *f, struct frame frame)
{
	char line[256] = "";

	for (uint16_t port = 40009; !strstr(line, " refused"); port++) {
		assert_true(port < 40009 + 10);
		put16(frame.bytes + 34, port);
		send_frame(f->vm, frame);
		ssize_t n = recv(f->supervisor, line, sizeof(line) - 1, 0);
		assert_true(n > 0);
		line[n] = '\0';
		if (!strstr(line, " refused"))
			expect_frame(f->passt, frame);
	}
	expect_reset(f->vm, frame, 1);
}

/* By the supervisor, while the filter runs. */
static void a_prefix_is_opened_and_shut(void **state)
{
	static const char allow[] = "a8.8.8.0/24", deny[] = "d8.8.8.0/24", name[] = "apypi.org";
	struct fixture *f = *state;
	struct frame first = tcp(PUBLIC, 443, 2), second = tcp(PUBLIC, 444, 2),
		     other = tcp(PUBLIC, 443, 2);

	f->gate->screen.by_name = true;
	start(f, true, true);
	send_frame(f->vm, first);
	expect_line(f, "tcp 10.0.2.15:40000 -> 8.8.8.8:443 refused");
	expect_reset(f->vm, first, 1);
	assert_true(send(f->supervisor, allow, strlen(allow), 0) > 0);
	assert_true(send(f->supervisor, name, strlen(name), 0) > 0);
	send_frame(f->vm, second);
	expect_line(f, "tcp 10.0.2.15:40000 -> 8.8.8.8:444");
	expect_frame(f->passt, second);
	assert_true(send(f->supervisor, deny, strlen(deny), 0) > 0);
	expect_refused_soon(f, other);
}

static void a_link_that_leads_nowhere_swallows_frames(void **state)
{
	struct fixture *f = *state;

	start(f, false, true);
	send_frame(f->vm, tcp(PUBLIC, 1, 2));
	expect_line(f, "tcp 10.0.2.15:40000 -> 8.8.8.8:1");
}

static void the_end_of_either_side_is_the_end(void **state)
{
	struct fixture *f = *state;

	start(f, true, true);
	shutdown(f->passt, SHUT_RDWR);
	assert_true(ended_well(f));
}

/* The VM's side ends, without passt too. */
static void the_end_of_the_vm_is_the_end(void **state)
{
	struct fixture *f = *state;

	start(f, false, true);
	shutdown(f->vm, SHUT_RDWR);
	assert_true(ended_well(f));
}

/* It ends by the parent-death signal, which a test cannot see. Until then frames go on. */
static void a_supervisor_that_has_gone_is_not_asked_again(void **state)
{
	struct fixture *f = *state;

	start(f, true, true);
	shutdown(f->supervisor, SHUT_RDWR);
	hangups = 0;
	for (unsigned i = 0; i < 200; i++) {
		send_frame(f->vm, udp(PUBLIC, 80));
		expect_frame(f->passt, udp(PUBLIC, 80));
	}
	shutdown(f->vm, SHUT_RDWR);
	assert_true(ended_well(f));
}

static void a_signal_does_not_end_it(void **state)
{
	struct fixture *f = *state;

	poll_fails = EINTR;
	start(f, true, true);
	send_frame(f->vm, udp(PUBLIC, 80));
	expect_frame(f->passt, udp(PUBLIC, 80));
	assert_int_equal(poll_fails, 0);
	poll_fails = ENOMEM;
	send_frame(f->vm, udp(PUBLIC, 80));
	assert_false(ended_well(f));
}

/* A reader that does not read: the other direction goes on, and all frames arrive in the end. */
static void a_full_side_waits(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[2100];
	size_t len = pack(bytes, udp(PUBLIC, 80)), sent = 0, count = 0;

	fd_nonblock(f->vm, true, NULL);
	start(f, true, true);
	/* Until neither the sockets nor the filter accept more, at a frame's border or not. */
	for (struct pollfd p = {.fd = f->vm, .events = POLLOUT}; poll(&p, 1, 200) > 0;) {
		ssize_t n = send(f->vm, bytes + sent, len - sent, 0);

		if (n < 0)
			continue;
		sent += (size_t)n;
		count += sent == len;
		sent %= len;
	}
	assert_true(count > 1);
	send_frame(f->passt, arp(GUEST));
	fd_nonblock(f->vm, false, NULL);
	expect_frame(f->vm, arp(GUEST));
	for (size_t i = 0; i < count; i++)
		expect_frame(f->passt, udp(PUBLIC, 80));
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(frames_go_both_ways),
		WITH(a_limit_holds_each_way),
		WITH(what_is_shut_leaves_no_gap),
		WITH(frames_may_come_byte_by_byte),
		WITH(a_frame_that_is_too_long_is_passed_over),
		WITH(a_connection_is_told_once),
		WITH(each_connection_is_told),
		WITH(a_silent_connection_is_told_in_time),
		WITH(a_silent_connection_is_told_at_the_end),
		WITH(a_refused_connection_is_reset),
		WITH(a_refused_datagram_is_answered),
		WITH(not_all_is_reset),
		WITH(dns_by_tcp_leads_to_the_resolver),
		WITH(dns_by_tcp_is_shut_without_a_resolver),
		WITH(a_flood_is_counted),
		WITH(nothing_is_open_before_the_addresses_are_known),
		WITH(a_prefix_is_opened_and_shut),
		WITH(a_link_that_leads_nowhere_swallows_frames),
		WITH(the_end_of_either_side_is_the_end),
		WITH(the_end_of_the_vm_is_the_end),
		WITH(a_supervisor_that_has_gone_is_not_asked_again),
		WITH(a_signal_does_not_end_it),
		WITH(a_full_side_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
