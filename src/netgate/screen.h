/* SPDX-License-Identifier: MIT */
/*
 * The judgement on one frame of the guest. It is a pure function: bytes in, verdict out. Every
 * frame that is not fully understood is dropped, so that passt never gets a frame in which passt
 * could read another destination than netgate did:
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
	 * resolver is the own address of the host's resolver, to which TCP port 53 of dns is
	 * redirected; 0: nowhere. */
	uint32_t guest, dns, resolver;
	bool by_name; /* public destinations are open only by names */
	struct prefixes prefixes;
};

enum verdict {
	VERDICT_DROP,	/* malformed, or of no interest to anybody */
	VERDICT_REFUSE, /* a destination that is shut */
	VERDICT_PASS,
	VERDICT_RESOLVER, /* a TCP frame to the resolver */
	/* Only if the gate judges by names: */
	VERDICT_QUESTION, /* a question of DNS */
	VERDICT_PUBLIC	  /* a destination that a name may open */
};

/* The connection that the frame belongs to. It is set for every verdict but VERDICT_DROP. */
struct flow_key {
	uint8_t protocol;	   /* IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP; 0: no connection */
	bool opening;		   /* it may be the first of its connection */
	bool ending;		   /* of TCP: the guest ends its direction, or both */
	uint16_t guest_port, port; /* for ICMP: the echo's identifier, and 0 */
	uint32_t address;	   /* of the destination */
	uint32_t sequence;	   /* of TCP: the frame's sequence number */
};

enum verdict screen_frame(const struct screen *screen, const uint8_t *frame, size_t len,
			  struct flow_key *key);

#endif
