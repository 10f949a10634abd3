/* SPDX-License-Identifier: MIT */
#include "netgate/segment.h"

#include <netinet/in.h>

bool segment_read(const uint8_t *frame, size_t len, struct segment *s)
{
	const struct bytes whole = {frame, len};
	struct bytes ip = behind(whole, ETHERNET_HEADER);
	size_t total = u16(ip, 2);

	if (u16(whole, 12) != ETHERTYPE_OF_IPV4 || u8(ip, 0) != 0x45 || total < IPV4_HEADER ||
	    total > ip.len)
		return false;
	ip.len = total; /* bytes of the frame behind the packet are padding */
	const struct bytes body = behind(ip, IPV4_HEADER);
	*s = (struct segment){.protocol = (uint8_t)u8(ip, 9),
			      .from = u32(ip, 12),
			      .to = u32(ip, 16),
			      .from_port = (uint16_t)u16(body, 0),
			      .to_port = (uint16_t)u16(body, 2)};
	if (s->protocol == IPPROTO_TCP) {
		size_t header = (size_t)(u8(body, 12) >> 4) * 4;

		if (header < TCP_HEADER || header > body.len)
			return false;
		s->sequence = u32(body, 4);
		s->acknowledged = u32(body, 8);
		s->flags = u8(body, 13);
		s->payload = behind(body, header);
		return true;
	}
	size_t datagram = u16(body, 4);
	if (s->protocol != IPPROTO_UDP || datagram < UDP_HEADER || datagram > body.len)
		return false;
	s->payload = behind((struct bytes){body.at, datagram}, UDP_HEADER);
	return true;
}

struct flow_key segment_flow(const struct segment *s)
{
	return (struct flow_key){.protocol = s->protocol,
				 .guest_port = s->to_port,
				 .port = s->from_port,
				 .address = s->from};
}
