/* SPDX-License-Identifier: MIT */
/* A part of a frame. Every byte of a frame is read through the functions of this file. These
 * functions return 0 for bytes behind the end of the part. */
#ifndef NETGATE_BYTES_H
#define NETGATE_BYTES_H

#include <stddef.h>
#include <stdint.h>

enum {
	ETHERNET_HEADER = 14,
	ETHERTYPE_OF_IPV4 = 0x0800,
	ETHERTYPE_OF_ARP = 0x0806,
	IPV4_HEADER = 20,
	TCP_HEADER = 20,
	UDP_HEADER = 8,
	ICMP_HEADER = 8,
	/* Offsets in bytes in an IPv4 frame whose IPv4 header has no options: */
	FRAME_PROTOCOL = 23,
	FRAME_FROM_PORT = 34,
	FRAME_TO_PORT = 36,
	FRAME_TCP_FLAGS = 47,
	TCP_FIN = 0x01,
	TCP_SYN = 0x02,
	TCP_RST = 0x04,
	TCP_ACK = 0x10
};

struct bytes {
	const uint8_t *at;
	size_t len;
};

static inline unsigned u8(struct bytes b, size_t offset)
{
	return offset < b.len ? b.at[offset] : 0;
}

static inline unsigned u16(struct bytes b, size_t offset)
{
	return u8(b, offset) << 8 | u8(b, offset + 1);
}

static inline uint32_t u32(struct bytes b, size_t offset)
{
	return (uint32_t)u16(b, offset) << 16 | u16(b, offset + 2);
}

static inline struct bytes behind(struct bytes b, size_t offset)
{
	return offset <= b.len ? (struct bytes){b.at + offset, b.len - offset}
			       : (struct bytes){b.at, 0};
}

#endif
