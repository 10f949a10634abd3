/* SPDX-License-Identifier: MIT */
#include "netgate/compose.h"

#include <netinet/in.h>
#include <string.h>

#include "netgate/packet.h"
#include "netgate/put.h"

enum { IP = ETHERNET_HEADER, BODY = ETHERNET_HEADER + IPV4_HEADER };
enum { TCP_CHECKSUM = 16, UDP_CHECKSUM = 6, UDP_LENGTH = 4 };

/* Computes the checksum of the `body` bytes behind the IPv4 header, and stores it at the offset
 * `at` of these bytes. */
static void put_checksum(uint8_t *frame, size_t body, size_t at)
{
	const struct bytes ends = {frame + IP + 12, 8};
	uint32_t pseudo = frame[IP + 9] + (uint32_t)body;

	for (size_t i = 0; i < ends.len; i += 2)
		pseudo += u16(ends, i);
	pseudo = (pseudo >> 16) + (pseudo & 0xffff);
	put16(frame + BODY + at, (pseudo >> 16) + (pseudo & 0xffff));
	packet_complete(frame, BODY + body, BODY, at);
}

static void put_total(uint8_t *frame, size_t body)
{
	put16(frame + IP + 2, (uint32_t)(IPV4_HEADER + body));
	put16(frame + IP + 10, 0);
	packet_complete(frame, BODY, IP, 10);
}

static void put_ipv4(uint8_t *out, const uint8_t *like, enum direction direction, size_t body)
{
	bool back = direction == BACK;

	memset(out, 0, BODY);
	memcpy(out, like + (back ? 6 : 0), 6);
	memcpy(out + 6, like + (back ? 0 : 6), 6);
	put16(out + 12, ETHERTYPE_OF_IPV4);
	out[IP] = 0x45;
	put16(out + IP + 6, 0x4000); /* the flag that forbids fragments */
	out[IP + 8] = 64;
	out[IP + 9] = like[IP + 9];
	memcpy(out + IP + 12, like + IP + (back ? 16 : 12), 4);
	memcpy(out + IP + 16, like + IP + (back ? 12 : 16), 4);
	put_total(out, body);
}

static void put_ports(uint8_t *out, const uint8_t *like, enum direction direction)
{
	memcpy(out + BODY, like + BODY + (direction == BACK ? 2 : 0), 2);
	memcpy(out + BODY + 2, like + BODY + (direction == BACK ? 0 : 2), 2);
}

static size_t compose_bare(uint8_t *out, const uint8_t *like, enum direction direction,
			   uint32_t sequence, uint32_t acknowledged, unsigned flags, uint32_t room)
{
	put_ipv4(out, like, direction, TCP_HEADER);
	memset(out + BODY, 0, TCP_HEADER);
	put_ports(out, like, direction);
	put32(out + BODY + 4, sequence);
	put32(out + BODY + 8, acknowledged);
	out[BODY + 12] = 0x50;
	out[BODY + 13] = (uint8_t)flags;
	put16(out + BODY + 14, room);
	put_checksum(out, TCP_HEADER, TCP_CHECKSUM);
	return BODY + TCP_HEADER;
}

size_t compose_reset(uint8_t *out, const uint8_t *like, enum direction direction, uint32_t sequence,
		     uint32_t acknowledged, unsigned flags)
{
	return compose_bare(out, like, direction, sequence, acknowledged, flags, 0);
}

size_t compose_acknowledgement(uint8_t *out, const uint8_t *like, uint32_t sequence,
			       uint32_t acknowledged)
{
	return compose_bare(out, like, BACK, sequence, acknowledged, TCP_ACK, UINT16_MAX);
}

size_t compose_datagram(uint8_t *out, const uint8_t *like, enum direction direction,
			struct bytes payload)
{
	put_ipv4(out, like, direction, UDP_HEADER + payload.len);
	put_ports(out, like, direction);
	put16(out + BODY + UDP_LENGTH, (uint32_t)(UDP_HEADER + payload.len));
	memcpy(out + BODY + UDP_HEADER, payload.at, payload.len);
	put_checksum(out, UDP_HEADER + payload.len, UDP_CHECKSUM);
	return BODY + UDP_HEADER + payload.len;
}

static void put_address(uint8_t *frame, size_t len, size_t at, uint32_t address)
{
	put32(frame + IP + at, address);
	put_total(frame, len - BODY);
	put_checksum(frame, len - BODY, TCP_CHECKSUM);
}

void compose_redirected(uint8_t *frame, size_t len, uint32_t to)
{
	put_address(frame, len, 16, to);
}

void compose_resent(uint8_t *frame, size_t len, uint32_t from)
{
	put_address(frame, len, 12, from);
}

size_t compose_prohibited(uint8_t *out, const uint8_t *like, size_t len)
{
	enum { TYPE_UNREACHABLE = 3, CODE_PROHIBITED = 13 };

	if (len < IP + COMPOSE_QUOTED)
		return 0;
	put_ipv4(out, like, BACK, ICMP_HEADER + COMPOSE_QUOTED);
	out[IP + 9] = IPPROTO_ICMP;
	put16(out + IP + 10, 0);
	packet_complete(out, BODY, IP, 10);
	memset(out + BODY, 0, ICMP_HEADER);
	out[BODY] = TYPE_UNREACHABLE;
	out[BODY + 1] = CODE_PROHIBITED;
	memcpy(out + BODY + ICMP_HEADER, like + IP, COMPOSE_QUOTED);
	packet_complete(out, COMPOSE_PROHIBITED, BODY, 2);
	return COMPOSE_PROHIBITED;
}

size_t compose_segment(uint8_t *out, const uint8_t *like, uint32_t sequence, struct bytes payload)
{
	size_t header = (size_t)(like[BODY + 12] >> 4) * 4;

	memcpy(out, like, BODY + header);
	memcpy(out + BODY + header, payload.at, payload.len);
	put32(out + BODY + 4, sequence);
	put_total(out, header + payload.len);
	put_checksum(out, header + payload.len, TCP_CHECKSUM);
	return BODY + header + payload.len;
}
