/* SPDX-License-Identifier: MIT */
/*
 * The judgement on one frame that the guest sends. The judgement depends only on the frame's bytes
 * and on struct screen. Every frame that is not fully understood is dropped. Otherwise netgate and
 * passt could read different destinations in the same frame. These frames are understood:
 *
 *   Ethernet  from the guest's own address; ARP or IPv4, no VLAN tag
 *   ARP       requests and announcements of the guest's own addresses
 *   IPv4      a header of 20 bytes (no options), a total length within the frame, from the guest's
 *             own address, no fragments (passt does not reassemble them)
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
	/* Addresses in host byte order. `guest` is the guest's address. `dns` is the address whose
	 * UDP port 53 passt forwards to the host's resolver. `resolver` is the real address of that
	 * resolver, to which netgate redirects connections to TCP port 53 of dns; 0: these
	 * connections are not redirected. */
	uint32_t guest, dns, resolver;
	bool by_name; /* a list of names exists, which opens public destinations */
	struct prefixes prefixes;
};

enum verdict {
	VERDICT_DROP,	/* the frame is malformed, or of a kind that no guest needs */
	VERDICT_REFUSE, /* the guest may not reach the destination */
	VERDICT_PASS,
	VERDICT_RESOLVER, /* the frame is a TCP frame that netgate must redirect to the resolver */
	/* The following verdicts are given only if by_name is set. */
	VERDICT_QUESTION, /* the frame is a question of DNS */
	VERDICT_PUBLIC	  /* the destination is public, and a name may open it */
};

/* The connection to which a frame belongs. The key is set for every verdict except VERDICT_DROP. */
struct flow_key {
	/* IPPROTO_TCP, IPPROTO_UDP or IPPROTO_ICMP; 0: the frame belongs to no connection */
	uint8_t protocol;
	bool opening; /* the frame may be the first of its connection */
	bool ending;  /* for TCP: the frame has FIN or RST */
	/* The two ports. For ICMP guest_port is the identifier of the echo, and port is 0. */
	uint16_t guest_port, port;
	uint32_t address;  /* the address of the destination */
	uint32_t sequence; /* for TCP: the sequence number of the frame */
};

enum verdict screen_frame(const struct screen *screen, const uint8_t *frame, size_t len,
			  struct flow_key *key);

#endif
