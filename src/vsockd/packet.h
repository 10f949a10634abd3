/* SPDX-License-Identifier: MIT */
/* The header of a vsock packet (virtio 1.2, section 5.10.6) in the host's byte order. */
#ifndef VSOCKD_PACKET_H
#define VSOCKD_PACKET_H

#include <stdint.h>

#define PACKET_HEADER 44
#define PACKET_HOST_CID 2

enum packet_type { PACKET_STREAM = 1 };

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

#endif
