/* SPDX-License-Identifier: MIT */
/*
 * The header of a vsock packet (virtio 1.2, section 5.10.6) in the host's byte order. This header
 * also describes the link: vsock packets that are sent over a byte stream instead of through the
 * rings of a vsock device. Each packet is a header, followed by its payload. The packets follow one
 * another without gaps.
 *
 * The program that writes to the byte stream may be killed in the middle of a packet and be started
 * again. The reader then does not know where the next packet begins. So the guest first sends a
 * HELLO, which contains a random number. The guest then skips everything before the WELCOME that
 * repeats this number. The host finds a HELLO by its fixed bytes, wherever it begins in the stream,
 * and skips everything before it. A HELLO ends all open vsock streams. When the host's program
 * starts, it sends an ASK. A guest that was already connected answers the ASK with a new HELLO.
 */
#ifndef BASE_PACKET_H
#define BASE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#define PACKET_HEADER 44
#define PACKET_HOST_CID 2
/* The largest packet of the link in bytes. A guest's kernel accepts a write() of this size either
 * completely or not at all. */
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

/* The operations of PACKET_LINK. src_port and dst_port contain their random number. In a WELCOME,
 * dst_cid is the guest's CID. */
enum packet_link { LINK_HELLO = 1, LINK_WELCOME, LINK_ASK };

/* Flags of PACKET_SHUTDOWN. A flag that was sent once remains valid for the stream. */
enum packet_shutdown {
	SHUT_RECEIVE = 1, /* the sender of the packet will receive no more bytes */
	SHUT_SEND = 2,	  /* the sender of the packet will send no more bytes */
	SHUT_BOTH = 3,
};

struct packet {
	uint64_t src_cid;
	uint64_t dst_cid;
	uint32_t src_port;
	uint32_t dst_port;
	uint32_t len; /* the size of the payload after the header, in bytes */
	uint16_t type;
	uint16_t op;
	uint32_t flags;
	uint32_t buf_alloc; /* the size of the sender's receive buffer for this stream, in bytes */
	uint32_t fwd_cnt;   /* the number of bytes that the sender's application has read so far,
			     * modulo 2^32 */
};

void packet_decode(const uint8_t raw[PACKET_HEADER], struct packet *packet);
void packet_encode(const struct packet *packet, uint8_t raw[PACKET_HEADER]);
/* Returns a packet of type PACKET_LINK with the operation `op` and the random number `number` (0:
 * no number). A HELLO is addressed from the guest `guest_cid` to the host, any other packet from
 * the host to the guest. */
struct packet packet_link(enum packet_link op, uint64_t guest_cid, uint64_t number);
/* Returns true if an encoded header has the type PACKET_LINK. */
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
