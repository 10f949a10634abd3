/* SPDX-License-Identifier: MIT */
/*
 * The header of a vsock packet (virtio 1.2, section 5.10.6) in the host's byte order, and what is
 * agreed upon where packets go one behind the other over a byte stream, header and payload, instead
 * of through rings.
 *
 * A stream can lose its place: who writes it may be killed, and started anew. So the guest's end
 * begins with HELLO, in which there is a number that it has drawn, and takes nothing for a packet
 * before the WELCOME that repeats it; the host's end knows a HELLO by its fixed bytes wherever it
 * stands, and looks for nothing else until it has one. With a HELLO all streams of before are over.
 * The host's end says ASK when it begins: a guest that has spoken with another says HELLO again.
 */
#ifndef BASE_PACKET_H
#define BASE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#define PACKET_HEADER 44
#define PACKET_HOST_CID 2
/* Of a byte stream: what a guest's kernel takes in one write() whole or not at all. */
#define PACKET_WHOLE 32768
#define PACKET_PAYLOAD (PACKET_WHOLE - PACKET_HEADER)

enum packet_type { PACKET_STREAM = 1, PACKET_LINK = 0xffff };

enum packet_op {
	PACKET_INVALID = 0,
	PACKET_REQUEST,
	PACKET_RESPONSE,
	PACKET_RST,
	PACKET_SHUTDOWN,
	PACKET_RW,
	PACKET_CREDIT_UPDATE,
	PACKET_CREDIT_REQUEST,
	PACKET_OP_COUNT
};

/* Operations of PACKET_LINK. The number is in src_port and dst_port; of WELCOME dst_cid is the
 * guest's. */
enum packet_link { LINK_HELLO = 1, LINK_WELCOME, LINK_ASK };

/* Flags of PACKET_SHUTDOWN; what has been said once stays in force. */
enum packet_shutdown {
	SHUT_RECEIVE = 1, /* the sender of the packet will take no more bytes */
	SHUT_SEND = 2,	  /* the sender of the packet has no more bytes */
	SHUT_BOTH = 3,
};

struct packet {
	uint64_t src_cid;
	uint64_t dst_cid;
	uint32_t src_port;
	uint32_t dst_port;
	uint32_t len; /* bytes of payload behind the header */
	uint16_t type;
	uint16_t op;
	uint32_t flags;
	uint32_t buf_alloc; /* bytes the sender sets aside for this stream */
	uint32_t fwd_cnt;   /* bytes its application has taken so far, modulo 2^32 */
};

void packet_decode(const uint8_t raw[PACKET_HEADER], struct packet *packet);
void packet_encode(const struct packet *packet, uint8_t raw[PACKET_HEADER]);
/* A packet of the link with that number (0: none), from the guest of that CID or for it. */
struct packet packet_link(enum packet_link op, uint64_t guest_cid, uint64_t number);
/* By its type alone, before anything is decoded. */
static inline bool packet_may_be_link(const uint8_t raw[PACKET_HEADER])
{
	return raw[28] == 0xff && raw[29] == 0xff;
}
bool packet_is_link(const struct packet *packet, enum packet_link op);
static inline uint64_t packet_link_number(const struct packet *packet)
{
	return (uint64_t)packet->src_port << 32 | packet->dst_port;
}

#endif
