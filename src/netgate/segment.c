/* SPDX-License-Identifier: MIT */
#include "netgate/segment.h"

#include <netinet/in.h>

static bool read_tcp_segment(struct bytes tcp, struct segment *s)
{
	size_t header = (size_t)(u8(tcp, 12) >> 4) * 4;

	if (header < TCP_HEADER || header > tcp.len)
		return false;
	s->sequence = u32(tcp, 4);
	s->acknowledged = u32(tcp, 8);
	s->flags = u8(tcp, 13);
	s->payload = behind(tcp, header);
	return true;
}

static bool read_datagram(struct bytes udp, struct segment *s)
{
	size_t len = u16(udp, 4);

	if (len < UDP_HEADER || len > udp.len)
		return false;
	s->payload = behind((struct bytes){udp.at, len}, UDP_HEADER);
	return true;
}

bool segment_read(const uint8_t *frame, size_t len, struct segment *s)
{
	const struct bytes whole = {frame, len};
	struct bytes ip = behind(whole, ETHERNET_HEADER);
	size_t total = u16(ip, 2);

	if (u16(whole, 12) != ETHERTYPE_OF_IPV4 || u8(ip, 0) != 0x45 || total < IPV4_HEADER ||
	    total > ip.len)
		return false;
	ip.len = total; /* there may be padding */
	const struct bytes body = behind(ip, IPV4_HEADER);
	*s = (struct segment){.protocol = (uint8_t)u8(ip, 9),
			      .from = u32(ip, 12),
			      .to = u32(ip, 16),
			      .from_port = (uint16_t)u16(body, 0),
			      .to_port = (uint16_t)u16(body, 2)};
	if (s->protocol == IPPROTO_TCP)
		return read_tcp_segment(body, s);
	return s->protocol == IPPROTO_UDP && read_datagram(body, s);
}

struct flow_key segment_flow(const struct segment *s)
{
	return (struct flow_key){.protocol = s->protocol,
				 .guest_port = s->to_port,
				 .port = s->from_port,
				 .address = s->from};
}
