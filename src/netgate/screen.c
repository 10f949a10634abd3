/* SPDX-License-Identifier: MIT */
#include "netgate/screen.h"

#include <netinet/in.h>
#include <string.h>

#include "netgate/bytes.h"
#include "netgate/dns_query.h"

enum { ARP_BYTES = 28, ICMP_ECHO_REQUEST = 8 };

static bool is_guest_mac(const struct screen *s, struct bytes b, size_t offset)
{
	return b.len >= offset + 6 && memcmp(b.at + offset, s->guest_mac, 6) == 0;
}

/* --- ARP ------------------------------------------------------------------------------------- */

/* Judges an ARP frame. Only a request for Ethernet and IPv4 passes. Its sender address must be the
 * guest's, or 0.0.0.0, by which a guest asks whether an address is free. */
static enum verdict screen_arp(const struct screen *s, struct bytes arp)
{
	uint32_t sender = u32(arp, 14);

	if (arp.len < ARP_BYTES || u16(arp, 0) != 1 || u16(arp, 2) != ETHERTYPE_OF_IPV4 ||
	    u8(arp, 4) != 6 || u8(arp, 5) != 4 || u16(arp, 6) != 1)
		return VERDICT_DROP;
	if (!is_guest_mac(s, arp, 8) || (sender != s->guest && sender != 0))
		return VERDICT_DROP;
	return VERDICT_PASS;
}

/* --- TCP, UDP and ICMP ----------------------------------------------------------------------- */

static bool read_transport(uint8_t protocol, struct bytes body, struct flow_key *key)
{
	size_t header = (size_t)(u8(body, 12) >> 4) * 4;

	switch (protocol) {
	case IPPROTO_TCP:
		if (body.len < TCP_HEADER || header < TCP_HEADER || header > body.len)
			return false;
		key->guest_port = (uint16_t)u16(body, 0);
		key->port = (uint16_t)u16(body, 2);
		key->sequence = u32(body, 4);
		key->opening = (u8(body, 13) & (TCP_SYN | TCP_ACK)) == TCP_SYN;
		key->ending = u8(body, 13) & (TCP_FIN | TCP_RST);
		return true;
	case IPPROTO_UDP:
		if (body.len < UDP_HEADER || u16(body, 4) < UDP_HEADER || u16(body, 4) > body.len)
			return false;
		key->guest_port = (uint16_t)u16(body, 0);
		key->port = (uint16_t)u16(body, 2);
		key->opening = true;
		return true;
	case IPPROTO_ICMP:
		if (body.len < ICMP_HEADER || u8(body, 0) != ICMP_ECHO_REQUEST || u8(body, 1) != 0)
			return false;
		key->guest_port = (uint16_t)u16(body, 4);
		key->opening = true;
		return true;
	default:
		return false;
	}
}

/* --- IPv4 ------------------------------------------------------------------------------------ */

static bool is_sound_ipv4(const struct screen *s, struct bytes ip)
{
	size_t total = u16(ip, 2);

	return ip.len >= IPV4_HEADER && u8(ip, 0) == 0x45 && total >= IPV4_HEADER &&
	       total <= ip.len && (u16(ip, 6) & 0xbfff) == 0 && u32(ip, 12) == s->guest;
}

/* Returns true for TCP to the address and port of DNS that must be redirected to the resolver.
 * Clients use TCP after a truncated answer. If there is a list of names, returns false, and the
 * connection is refused: netgate does not judge the questions in a stream. */
static bool is_dns_by_tcp(const struct screen *s, const struct flow_key *key)
{
	return s->resolver && !s->by_name && key->address == s->dns &&
	       key->protocol == IPPROTO_TCP && key->port == DNS_PORT;
}

/* Returns true for a datagram to the address and port of DNS that is a valid question. passt
 * forwards only UDP to this address and port to the host's resolver. passt would send any other
 * frame to the machine of the host's network that has this address. */
static bool is_dns(const struct screen *s, struct bytes udp, const struct flow_key *key)
{
	struct dns_question question;

	if (key->address != s->dns || key->protocol != IPPROTO_UDP || key->port != DNS_PORT)
		return false;
	/* passt sends all bytes up to the end of the IPv4 packet, so no bytes may follow the
	 * datagram. */
	return udp.len == u16(udp, 4) && dns_read_query(behind(udp, UDP_HEADER), &question);
}

static enum verdict screen_ipv4(const struct screen *s, struct bytes ip, struct flow_key *key)
{
	if (!is_sound_ipv4(s, ip))
		return VERDICT_DROP;
	/* Bytes of the frame behind the total length of the packet are padding. */
	ip.len = u16(ip, 2);
	key->address = u32(ip, 16);
	key->protocol = (uint8_t)u8(ip, 9);
	if (!read_transport(key->protocol, behind(ip, IPV4_HEADER), key)) {
		key->protocol = 0;
		return VERDICT_DROP;
	}
	if (is_dns(s, behind(ip, IPV4_HEADER), key))
		return s->by_name ? VERDICT_QUESTION : VERDICT_PASS;
	if (is_dns_by_tcp(s, key))
		return VERDICT_RESOLVER;
	switch (prefixes_reach(&s->prefixes, key->address)) {
	case REACH_NONE:
		return VERDICT_REFUSE;
	case REACH_ALLOWED:
		return VERDICT_PASS;
	default:
		return s->by_name && !prefixes_in_egress(&s->prefixes, key->address)
			       ? VERDICT_PUBLIC
			       : VERDICT_PASS;
	}
}

enum verdict screen_frame(const struct screen *s, const uint8_t *frame, size_t len,
			  struct flow_key *key)
{
	struct bytes whole = {frame, len};
	struct bytes body = behind(whole, ETHERNET_HEADER);

	*key = (struct flow_key){0};
	if (len < ETHERNET_HEADER || len > SCREEN_FRAME_MAX || !is_guest_mac(s, whole, 6))
		return VERDICT_DROP;
	switch (u16(whole, 12)) {
	case ETHERTYPE_OF_ARP:
		return screen_arp(s, body);
	case ETHERTYPE_OF_IPV4:
		return screen_ipv4(s, body, key);
	default: /* IPv6, VLAN tags, and all other frames that netgate does not understand */
		return VERDICT_DROP;
	}
}
