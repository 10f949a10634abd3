/* SPDX-License-Identifier: MIT */
#include "netgate/reset.h"

#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"
#include "netgate/bytes.h"

#define NS_PER_SECOND (1000 * NS_PER_MS)

static void put16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value);
}

static uint32_t sum(struct bytes b)
{
	uint32_t total = 0;

	for (size_t i = 0; i < b.len; i += 2)
		total += u16(b, i);
	return total;
}

static uint32_t checksum(uint32_t total)
{
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return ~total & 0xffff;
}

/* From where the guest sent its frame, back to it. */
static void put_ipv4(uint8_t *ip, struct bytes theirs)
{
	ip[0] = 0x45;
	put16(ip + 2, IPV4_HEADER + TCP_HEADER);
	put16(ip + 6, 0x4000); /* not to be fragmented */
	ip[8] = 64;
	ip[9] = IPPROTO_TCP;
	put32(ip + 12, u32(theirs, 16));
	put32(ip + 16, u32(theirs, 12));
	put16(ip + 10, checksum(sum((struct bytes){ip, IPV4_HEADER})));
}

/* It acknowledges the SYN and what came with it. */
static void put_tcp(uint8_t *tcp, const uint8_t *ip, struct bytes theirs, uint32_t total)
{
	uint32_t header = (u8(theirs, 12) >> 4) * 4;
	uint32_t pseudo = sum((struct bytes){ip + 12, 8}) + IPPROTO_TCP + TCP_HEADER;

	put16(tcp, u16(theirs, 2));
	put16(tcp + 2, u16(theirs, 0));
	put32(tcp + 8, u32(theirs, 4) + 1 + (total - IPV4_HEADER - header));
	tcp[12] = 0x50;
	tcp[13] = TCP_RST | TCP_ACK;
	put16(tcp + 16, checksum(pseudo + sum((struct bytes){tcp, TCP_HEADER})));
}

bool reset_answer(const uint8_t *frame, size_t len, uint8_t out[RESET_FRAME])
{
	struct bytes whole = {frame, len};
	struct bytes ip = behind(whole, ETHERNET_HEADER), tcp = behind(ip, IPV4_HEADER);

	if (tcp.len < TCP_HEADER || u16(whole, 12) != ETHERTYPE_OF_IPV4 ||
	    u8(ip, 9) != IPPROTO_TCP || (u8(whole, 0) & 1) ||
	    (u8(tcp, 13) & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) != TCP_SYN)
		return false;
	memset(out, 0, RESET_FRAME);
	memcpy(out, frame + 6, 6);
	memcpy(out + 6, frame, 6);
	put16(out + 12, ETHERTYPE_OF_IPV4);
	put_ipv4(out + ETHERNET_HEADER, ip);
	put_tcp(out + ETHERNET_HEADER + IPV4_HEADER, out + ETHERNET_HEADER, tcp, u16(ip, 2));
	return true;
}

bool resets_allow(struct resets *resets, uint64_t now)
{
	if (now - resets->second >= NS_PER_SECOND) {
		resets->second = now;
		resets->sent = 0;
	}
	return resets->sent++ < resets->per_second;
}
