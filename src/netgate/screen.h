/* SPDX-License-Identifier: MIT */
/*
 * The judgement on one frame of the guest. Pure: bytes in, verdict out. Whatever is not understood
 * to the last byte that matters is dropped, so that passt never sees a frame of which it could read
 * another destination than we did:
 *
 *   Ethernet  from the guest's own address; ARP or IPv4, no VLAN tag
 *   ARP       requests and announcements of the guest's own addresses
 *   IPv4      a header of 20 bytes (no options), a total length within the frame, from the guest's
 *             own address, no fragments (passt puts none together)
 *   TCP, UDP  a whole header within the total length
 *   ICMP      echo requests
 */
#ifndef NETGATE_SCREEN_H
#define NETGATE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netgate/prefixes.h"

#define SCREEN_FRAME_MAX (14 + 65535)

struct screen {
	uint8_t guest_mac[6];
	/* Addresses in host byte order. passt answers UDP port 53 of dns for the host's resolver.
	 * resolver is that resolver's own address, where TCP port 53 of dns leads; 0: nowhere. */
	uint32_t guest, dns, resolver;
	bool by_name; /* what is public is open to names alone */
	struct prefixes prefixes;
};

enum verdict {
	VERDICT_DROP,	/* malformed, or nothing that anybody wants to know of */
	VERDICT_REFUSE, /* a destination that is shut */
	VERDICT_PASS,
	VERDICT_RESOLVER, /* of TCP, to the resolver */
	/* Only where it goes by names: */
	VERDICT_QUESTION, /* of DNS */
	VERDICT_PUBLIC	  /* a destination that a name may open */
};

/* What the frame has to do with a connection; of all but DROP. */
struct flow_key {
	uint8_t protocol;	   /* IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP; 0: with none */
	bool opening;		   /* it may be the first of its connection */
	bool ending;		   /* of TCP: the guest ends its direction, or both */
	uint16_t guest_port, port; /* ICMP: the echo's identifier, 0 */
	uint32_t address;	   /* of the destination */
	uint32_t sequence;	   /* of TCP: the frame's sequence number */
};

enum verdict screen_frame(const struct screen *screen, const uint8_t *frame, size_t len,
			  struct flow_key *key);

#endif
