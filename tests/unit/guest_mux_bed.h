/* SPDX-License-Identifier: MIT */
/* A mux whose host is the test, packet by packet. */
#ifndef TEST_GUEST_MUX_BED_H
#define TEST_GUEST_MUX_BED_H

#include "test_base.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "guest/agent/handed.h"
#include "guest/agent/mux.h"

#define CID 7
#define HOST_PORT 0x40000000u
#define GUEST_PORT 2222
#define CREDIT 65536

struct bed {
	struct loop *loop;
	struct mux *mux;
	int host;
	struct mux_listener listener;
	struct mux_stream *stream; /* accepted, not taken yet */
	struct framed framed;
	size_t taken;
	bool lost, ended, drained, keeps;
	uint32_t events; /* of a dial */
	unsigned hosts;	 /* that came after the first */
};

static inline void on_input(void *data)
{
	struct bed *b = data;

	b->ended = b->framed.ended;
	if (b->keeps)
		return;
	b->taken += b->framed.in.len;
	framed_drop(&b->framed, b->framed.in.len);
}

static inline void on_drained(void *data)
{
	((struct bed *)data)->drained = true;
}

static inline void on_lost(void *data, const char *why)
{
	(void)why;
	((struct bed *)data)->lost = true;
}

static const struct framed_owner owner = {
	.input = on_input, .drained = on_drained, .lost = on_lost};

static inline void on_accept(void *data, struct mux_stream *stream)
{
	struct bed *b = data;

	b->stream = stream;
}

static inline void on_dialled(struct loop *loop, int fd, uint32_t events, void *data)
{
	(void)loop, (void)fd;
	((struct bed *)data)->events = events;
}

static inline void on_host_anew(void *data)
{
	((struct bed *)data)->hosts++;
}

static inline void rounds(struct bed *b)
{
	struct error err;

	for (int i = 0; i < 20; i++)
		assert_true(loop_once(b->loop, 0, &err) >= 0);
}

static inline void host_say(struct bed *b, const struct packet *p, const void *payload)
{
	uint8_t raw[PACKET_WHOLE];

	packet_encode(p, raw);
	memset(raw + PACKET_HEADER, 'x', p->len);
	if (payload)
		memcpy(raw + PACKET_HEADER, payload, p->len);
	assert_int_equal(write(b->host, raw, PACKET_HEADER + p->len),
			 (int)(PACKET_HEADER + p->len));
	rounds(b);
}

static inline struct packet host_packet(uint32_t guest_port, enum packet_op op, uint32_t len)
{
	return (struct packet){.src_cid = PACKET_HOST_CID,
			       .dst_cid = CID,
			       .src_port = HOST_PORT,
			       .dst_port = guest_port,
			       .len = len,
			       .type = PACKET_STREAM,
			       .op = (uint16_t)op,
			       .buf_alloc = CREDIT};
}

static inline void host_op(struct bed *b, enum packet_op op)
{
	const struct packet p = host_packet(GUEST_PORT, op, 0);

	host_say(b, &p, NULL);
}

static inline bool host_hear(struct bed *b, struct packet *p, uint8_t payload[PACKET_WHOLE])
{
	uint8_t raw[PACKET_HEADER];

	rounds(b);
	if (recv(b->host, raw, sizeof(raw), MSG_DONTWAIT) != sizeof(raw))
		return false;
	packet_decode(raw, p);
	assert_true(p->len <= PACKET_PAYLOAD);
	if (p->len)
		assert_int_equal(recv(b->host, payload, p->len, MSG_WAITALL), (int)p->len);
	return true;
}

static inline struct packet host_expect(struct bed *b, unsigned op)
{
	uint8_t payload[PACKET_WHOLE];
	struct packet p;

	assert_true(host_hear(b, &p, payload));
	assert_int_equal(p.op, op);
	return p;
}

static inline void host_expect_nothing(struct bed *b)
{
	uint8_t payload[PACKET_WHOLE];
	struct packet p;

	assert_false(host_hear(b, &p, payload));
}

static inline uint64_t expect_hello(struct bed *b)
{
	struct packet p = host_expect(b, LINK_HELLO);

	assert_true(packet_is_link(&p, LINK_HELLO));
	return packet_link_number(&p);
}

static inline void welcome(struct bed *b, uint64_t number)
{
	const struct packet p = packet_link(LINK_WELCOME, CID, number);

	host_say(b, &p, NULL);
}

static inline int bed_setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	struct error err;
	int ends[2];

	assert_int_equal(fd_socketpair(ends, &err), 0);
	assert_int_equal(fd_nonblock(ends[1], true, &err), 0);
	b->host = ends[0];
	b->loop = loop_new(&err);
	b->mux = mux_open(b->loop, ends[1], false, &err);
	assert_non_null(b->mux);
	b->listener = (struct mux_listener){.port = GUEST_PORT, .accept = on_accept, .data = b};
	mux_listen(b->mux, &b->listener);
	mux_watch_host(b->mux, on_host_anew, b);
	b->framed.fd = -1;
	*state = b;
	return 0;
}

static inline int bed_teardown(void **state)
{
	struct bed *b = *state;

	framed_close(&b->framed);
	mux_free(b->mux);
	loop_free(b->loop);
	close(b->host);
	free(b);
	return 0;
}

static inline void open_stream(struct bed *b)
{
	welcome(b, expect_hello(b));
	host_op(b, PACKET_REQUEST);
	assert_int_equal(host_expect(b, PACKET_RESPONSE).src_cid, CID);
	assert_non_null(b->stream);
	framed_open_carried(&b->framed, b->loop, &mux_carrier, steal_ptr(&b->stream), 65536, &owner,
			    b);
}

static inline void queue_bytes(struct bed *b, size_t len)
{
	autofree uint8_t *bytes = calloc(1, len);

	assert_int_equal(buf_append(&b->framed.out, bytes, len, NULL), 0);
	framed_flush(&b->framed);
}

#define bed_test(f) cmocka_unit_test_setup_teardown(f, bed_setup, bed_teardown)

#endif
