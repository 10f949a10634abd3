/* SPDX-License-Identifier: MIT */
/* Tests streams over a port. The test plays the host's end, packet by packet. */
#include "guest_mux_bed.h"

/* --- the link -------------------------------------------------------------------------------- */

static void nothing_counts_before_the_welcome(void **state)
{
	struct bed *b = *state;
	uint64_t number = expect_hello(b);

	host_op(b, PACKET_REQUEST);
	welcome(b, number + 1);
	assert_int_equal(write(b->host, "odd bytes", 9), 9);
	host_expect_nothing(b);
	assert_null(b->stream);
	welcome(b, number);
	host_op(b, PACKET_REQUEST);
	host_expect(b, PACKET_RESPONSE);
	mux_carrier.close(b->stream);
	assert_int_equal(host_expect(b, PACKET_SHUTDOWN).flags, SHUT_BOTH);
	host_op(b, PACKET_RST);
	host_expect_nothing(b);
}

static void a_host_that_asks_is_new(void **state)
{
	struct bed *b = *state;
	const struct packet ask = packet_link(LINK_ASK, CID, 0);

	open_stream(b);
	host_say(b, &ask, NULL);
	assert_true(b->lost);
	assert_int_equal(b->hosts, 0);
	welcome(b, expect_hello(b));
	assert_int_equal(b->hosts, 1);
	host_op(b, PACKET_REQUEST);
	host_expect(b, PACKET_RESPONSE);
	mux_carrier.close(b->stream);
}

/* A machine that was saved in the middle of everything: the rest of a packet never comes, and the
 * port was full. */
static void a_host_that_asks_in_the_middle_of_a_packet(void **state)
{
	struct bed *b = *state;
	const struct packet ask = packet_link(LINK_ASK, CID, 0);
	struct packet p;
	uint8_t raw[PACKET_HEADER + 5], rest[4096];

	open_stream(b);
	p = host_packet(GUEST_PORT, PACKET_CREDIT_UPDATE, 0);
	p.buf_alloc = UINT32_MAX / 2;
	host_say(b, &p, NULL);
	queue_bytes(b, 4 << 20);
	p = host_packet(GUEST_PORT, PACKET_RW, 1000);
	packet_encode(&p, raw);
	memset(raw + PACKET_HEADER, 'x', 5);
	assert_int_equal(write(b->host, raw, sizeof(raw)), (int)sizeof(raw));
	rounds(b);
	assert_int_equal(b->mux->chunks, MUX_CHUNKS);
	host_say(b, &ask, NULL);
	assert_true(b->lost);
	assert_int_equal(b->taken, 0);
	/* After the bytes in the port there is only the HELLO. */
	while (recv(b->host, rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
	rounds(b);
	welcome(b, expect_hello(b));
	assert_int_equal(b->hosts, 1);
}

/* A socket may have taken only the front of a packet. As many bytes as the longest packet come
 * before the HELLO, and none of them begins a packet. */
static void a_hello_over_a_socket_ends_what_was_cut(void **state)
{
	struct bed *b = *state;
	uint8_t filler[PACKET_WHOLE];
	struct error err;
	struct mux *mux;
	int ends[2];

	assert_int_equal(fd_socketpair(ends, &err), 0);
	assert_int_equal(fd_nonblock(ends[1], true, &err), 0);
	mux = mux_open(b->loop, ends[1], true, &err);
	assert_non_null(mux);
	assert_int_equal(recv(ends[0], filler, sizeof(filler), MSG_WAITALL), (int)sizeof(filler));
	for (size_t i = 0; i < sizeof(filler); i++)
		assert_int_equal(filler[i], 0xff);
	struct bed other = {.loop = b->loop, .host = ends[0]};
	expect_hello(&other);
	/* A link that was cut is not watched any more, since the loop would never rest. */
	close(ends[0]);
	rounds(b);
	assert_null(mux->watch);
	mux_free(mux);
}

/* --- bytes ----------------------------------------------------------------------------------- */

static void bytes_go_both_ways(void **state)
{
	struct bed *b = *state;
	struct packet p;
	uint8_t payload[PACKET_WHOLE];

	open_stream(b);
	p = host_packet(GUEST_PORT, PACKET_RW, 5);
	host_say(b, &p, "hello");
	assert_int_equal(b->taken, 5);
	queue_bytes(b, 3);
	assert_true(host_hear(b, &p, payload));
	assert_int_equal(p.op, PACKET_RW);
	assert_int_equal(p.len, 3);
	assert_int_equal(p.fwd_cnt, 5);
	assert_int_equal(p.dst_port, HOST_PORT);
	host_expect_nothing(b);
}

static void the_hosts_credit_is_kept(void **state)
{
	struct bed *b = *state;
	struct packet p;
	uint8_t payload[PACKET_WHOLE];
	size_t got = 0;

	open_stream(b);
	queue_bytes(b, CREDIT + 1000);
	while (host_hear(b, &p, payload))
		got += p.len;
	assert_int_equal(got, CREDIT);
	assert_int_equal(b->framed.out.len, 1000);
	p = host_packet(GUEST_PORT, PACKET_CREDIT_UPDATE, 0);
	p.fwd_cnt = 999;
	host_say(b, &p, NULL);
	assert_int_equal(host_expect(b, PACKET_RW).len, 999);
	p.fwd_cnt = 2000;
	host_say(b, &p, NULL);
	assert_int_equal(host_expect(b, PACKET_RW).len, 1);
	assert_true(b->drained);
}

static void unread_bytes_are_kept_and_no_more(void **state)
{
	struct bed *b = *state;
	struct packet p;

	open_stream(b);
	framed_set_reading(&b->framed, false);
	p = host_packet(GUEST_PORT, PACKET_RW, 16384);
	for (unsigned i = 0; i < MUX_CREDIT / 16384 + 2; i++)
		host_say(b, &p, NULL);
	assert_int_equal(b->taken, 0);
	host_expect_nothing(b);
	framed_set_reading(&b->framed, true);
	rounds(b);
	assert_int_equal(b->taken, MUX_CREDIT);
	assert_int_equal(host_expect(b, PACKET_CREDIT_UPDATE).fwd_cnt, MUX_CREDIT / 4);
}

/* A port that takes nothing: the packets wait, and later all come in order. */
static void a_full_port_is_waited_for(void **state)
{
	struct bed *b = *state;
	struct packet p;
	uint8_t payload[PACKET_WHOLE];
	size_t got = 0;

	open_stream(b);
	p = host_packet(GUEST_PORT, PACKET_CREDIT_UPDATE, 0);
	p.buf_alloc = UINT32_MAX / 2;
	host_say(b, &p, NULL);
	queue_bytes(b, 4 << 20);
	rounds(b);
	assert_true(b->framed.out.len > 0);
	while (host_hear(b, &p, payload))
		got += p.len;
	assert_int_equal(got, 4 << 20);
	assert_true(b->drained);
}

/* --- ends ------------------------------------------------------------------------------------ */

static void the_host_sends_no_more(void **state)
{
	struct bed *b = *state;
	struct packet p = host_packet(GUEST_PORT, PACKET_SHUTDOWN, 0);

	open_stream(b);
	p.flags = SHUT_SEND;
	host_say(b, &p, NULL);
	assert_true(b->ended);
	assert_false(b->lost);
	queue_bytes(b, 3);
	host_expect(b, PACKET_RW);
	framed_close(&b->framed);
	assert_int_equal(host_expect(b, PACKET_SHUTDOWN).flags, SHUT_BOTH);
}

static void the_host_closes(void **state)
{
	struct bed *b = *state;
	struct packet p = host_packet(GUEST_PORT, PACKET_SHUTDOWN, 0);

	open_stream(b);
	p.flags = SHUT_BOTH;
	host_say(b, &p, NULL);
	host_expect(b, PACKET_RST);
	assert_true(b->lost);
	host_expect_nothing(b);
}

static void a_paused_stream_hears_that_the_host_is_gone(void **state)
{
	struct bed *b = *state;

	open_stream(b);
	framed_set_reading(&b->framed, false);
	host_op(b, PACKET_RST);
	assert_true(b->lost);
}

static void strangers_are_refused(void **state)
{
	struct bed *b = *state;
	struct packet p = host_packet(4000, PACKET_REQUEST, 0);

	welcome(b, expect_hello(b));
	host_say(b, &p, NULL);
	assert_int_equal(host_expect(b, PACKET_RST).src_port, 4000);
	host_op(b, PACKET_RW);
	host_expect(b, PACKET_RST);
	host_op(b, PACKET_RST);
	host_expect_nothing(b);
}

/* --- dialling -------------------------------------------------------------------------------- */

static void the_guest_dials(void **state)
{
	struct bed *b = *state;
	uint64_t number = expect_hello(b);
	struct mux_stream *s = mux_dial(b->mux, HOST_PORT, on_dialled, b);
	struct packet p;

	host_expect_nothing(b);
	welcome(b, number);
	p = host_expect(b, PACKET_REQUEST);
	assert_int_equal(p.dst_port, HOST_PORT);
	p = host_packet(p.src_port, PACKET_RESPONSE, 0);
	host_say(b, &p, NULL);
	assert_int_equal(b->events, LOOP_OUT);
	framed_open_carried(&b->framed, b->loop, &mux_carrier, s, 65536, &owner, b);
	queue_bytes(b, 3);
	assert_int_equal(host_expect(b, PACKET_RW).len, 3);
}

static void a_dial_is_refused(void **state)
{
	struct bed *b = *state;
	struct mux_stream *s = mux_dial(b->mux, HOST_PORT, on_dialled, b);
	struct packet p;

	welcome(b, expect_hello(b));
	p = host_packet(host_expect(b, PACKET_REQUEST).src_port, PACKET_RST, 0);
	host_say(b, &p, NULL);
	assert_true(b->events & LOOP_HUP);
	mux_carrier.close(s);
	host_expect_nothing(b);
}

/* --- a descriptor ---------------------------------------------------------------------------- */

static void on_over(void *data)
{
	(*(unsigned *)data)++;
}

static void a_stream_is_joined_with_a_descriptor(void **state)
{
	struct bed *b = *state;
	struct packet p;
	struct error err;
	char got[8] = "";
	unsigned over = 0;
	int ends[2];

	open_stream(b);
	assert_int_equal(fd_socketpair(ends, &err), 0);
	handed_join(b->loop, framed_release(&b->framed), ends[0], on_over, &over);
	p = host_packet(GUEST_PORT, PACKET_RW, 4);
	host_say(b, &p, "word");
	assert_int_equal(read(ends[1], got, sizeof(got)), 4);
	assert_string_equal(got, "word");
	assert_int_equal(write(ends[1], "answer", 6), 6);
	close(ends[1]);
	assert_int_equal(host_expect(b, PACKET_RW).len, 6);
	assert_int_equal(host_expect(b, PACKET_SHUTDOWN).flags, SHUT_SEND);
	p = host_packet(GUEST_PORT, PACKET_SHUTDOWN, 0);
	p.flags = SHUT_BOTH;
	host_say(b, &p, NULL);
	host_expect(b, PACKET_RST);
	rounds(b);
	assert_int_equal(over, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		bed_test(nothing_counts_before_the_welcome),
		bed_test(a_host_that_asks_is_new),
		bed_test(a_host_that_asks_in_the_middle_of_a_packet),
		bed_test(a_hello_over_a_socket_ends_what_was_cut),
		bed_test(bytes_go_both_ways),
		bed_test(the_hosts_credit_is_kept),
		bed_test(unread_bytes_are_kept_and_no_more),
		bed_test(a_full_port_is_waited_for),
		bed_test(the_host_sends_no_more),
		bed_test(the_host_closes),
		bed_test(a_paused_stream_hears_that_the_host_is_gone),
		bed_test(strangers_are_refused),
		bed_test(the_guest_dials),
		bed_test(a_dial_is_refused),
		bed_test(a_stream_is_joined_with_a_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
