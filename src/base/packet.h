/* SPDX-License-Identifier: MIT */
/*
 * The header of a vsock packet (virtio 1.2, section 5.10.6) in the host's byte order, and the rules
 * for packets that go one behind the other over a byte stream, each with header and payload,
 * instead of through rings.
 *
 * A reader can lose its place in the stream, because the writer may be killed and started anew. So
 * the guest's end begins with HELLO, which contains a random number. It reads nothing as a packet
 * before the WELCOME that repeats this number. The host's end recognises a HELLO by its fixed bytes
 * at any place, and looks for nothing else until it has one. A HELLO ends all earlier streams. The
 * host's end sends ASK when it begins: a guest that has spoken with an earlier host's end then
 * sends HELLO again.
 */
#ifndef BASE_PACKET_H
#define BASE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#define PACKET_HEADER 44
#define PACKET_HOST_CID 2
/* For a byte stream: the number of bytes that a guest's kernel takes in one write() completely or
 * not at all. */
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

/* Operations of PACKET_LINK. The number is in src_port and dst_port. In WELCOME dst_cid is the
 * guest's. */
enum packet_link { LINK_HELLO = 1, LINK_WELCOME, LINK_ASK };

/* Flags of PACKET_SHUTDOWN; a flag that was set once stays in force. */
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
	uint32_t buf_alloc; /* bytes that the sender reserves for this stream */
	uint32_t fwd_cnt;   /* bytes that the sender's application has taken so far, modulo 2^32 */
};

void packet_decode(const uint8_t raw[PACKET_HEADER], struct packet *packet);
void packet_encode(const struct packet *packet, uint8_t raw[PACKET_HEADER]);
/* Returns a packet of the link with that number (0: none), from or to the guest with that CID. */
struct packet packet_link(enum packet_link op, uint64_t guest_cid, uint64_t number);
/* Returns whether a packet can belong to the link, only by its type, before anything is decoded. */
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
