/* SPDX-License-Identifier: MIT */
#include "base/packet.h"

/* Fixed numbers that identify packets of type PACKET_LINK, in fields that are otherwise unused in
 * such packets. */
#define LINK_FLAGS UINT32_C(0x6d616c6b)
#define LINK_FORMAT 1

static uint64_t le_get(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

static void le_put(uint8_t *p, unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++, v >>= 8)
		p[i] = (uint8_t)v;
}

void packet_decode(const uint8_t raw[PACKET_HEADER], struct packet *packet)
{
	*packet = (struct packet){
		.src_cid = le_get(raw, 8),
		.dst_cid = le_get(raw + 8, 8),
		.src_port = (uint32_t)le_get(raw + 16, 4),
		.dst_port = (uint32_t)le_get(raw + 20, 4),
		.len = (uint32_t)le_get(raw + 24, 4),
		.type = (uint16_t)le_get(raw + 28, 2),
		.op = (uint16_t)le_get(raw + 30, 2),
		.flags = (uint32_t)le_get(raw + 32, 4),
		.buf_alloc = (uint32_t)le_get(raw + 36, 4),
		.fwd_cnt = (uint32_t)le_get(raw + 40, 4),
	};
}

void packet_encode(const struct packet *packet, uint8_t raw[PACKET_HEADER])
{
	le_put(raw, 8, packet->src_cid);
	le_put(raw + 8, 8, packet->dst_cid);
	le_put(raw + 16, 4, packet->src_port);
	le_put(raw + 20, 4, packet->dst_port);
	le_put(raw + 24, 4, packet->len);
	le_put(raw + 28, 2, packet->type);
	le_put(raw + 30, 2, packet->op);
	le_put(raw + 32, 4, packet->flags);
	le_put(raw + 36, 4, packet->buf_alloc);
	le_put(raw + 40, 4, packet->fwd_cnt);
}

struct packet packet_link(enum packet_link op, uint64_t guest_cid, uint64_t number)
{
	return (struct packet){.src_cid = op == LINK_HELLO ? guest_cid : PACKET_HOST_CID,
			       .dst_cid = op == LINK_HELLO ? PACKET_HOST_CID : guest_cid,
			       .src_port = (uint32_t)(number >> 32),
			       .dst_port = (uint32_t)number,
			       .type = PACKET_LINK,
			       .op = (uint16_t)op,
			       .flags = LINK_FLAGS,
			       .buf_alloc = LINK_FORMAT};
}

bool packet_is_link(const struct packet *packet, enum packet_link op)
{
	return packet->type == PACKET_LINK && packet->op == op && packet->flags == LINK_FLAGS &&
	       packet->buf_alloc == LINK_FORMAT && packet->len == 0 && packet->fwd_cnt == 0;
}
