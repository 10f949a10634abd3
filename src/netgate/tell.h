/* SPDX-License-Identifier: MIT */
/*
 * What the supervisor hears of connections: one line of text a message on a SOCK_SEQPACKET socket,
 *
 *   tcp 10.0.2.15:40000 -> 192.0.2.1:443
 *   udp 10.0.2.15:5353 -> 192.168.1.1:53 refused
 *   tcp 10.0.2.15:40000 -> 192.0.2.1:443 *.example.org          by that rule
 *   tcp 10.0.2.15:40000 -> 192.0.2.1:443 -                      it says nothing
 *   dns evil.example A refused
 *   tls 10.0.2.15:40000 -> 192.0.2.1:443 evil.example refused   its first words
 *   http 10.0.2.15:40000 -> 192.0.2.1:80 - would refuse         they name nobody
 *   icmp 10.0.2.15 -> 192.0.2.1
 *   17 connections more were not listed
 *
 * at most so many a second: a guest that opens thousands must not fill the host's disk. What is
 * left out is counted, and the count told when there is room again.
 */
#ifndef NETGATE_TELL_H
#define NETGATE_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netgate/dns.h"
#include "netgate/screen.h"

#define TELL_LINE 400

enum telling { TELL_PASSED, TELL_REFUSED, TELL_WOULD_REFUSE };

struct teller {
	int fd; /* -1: nobody listens */
	uint32_t guest;
	uint64_t per_second;
	uint64_t second;   /* start of the present one, ns */
	uint64_t told;	   /* lines in it */
	uint64_t unlisted; /* not yet told */
};

/* name: of the rule that opened it, or "-"; NULL: it was none. */
void tell_connection(struct teller *teller, const struct flow_key *key, const char *name,
		     enum telling telling, uint64_t now);
/* name: "-" if there is none, "?" if it cannot be read. */
void tell_opening(struct teller *teller, const char *protocol, const struct flow_key *key,
		  const char *name, enum telling telling, uint64_t now);
void tell_question(struct teller *teller, const struct dns_question *question, enum telling telling,
		   uint64_t now);
/* Tells the count when its time has come; ns until it does, UINT64_MAX when there is none. */
uint64_t tell_unlisted(struct teller *teller, uint64_t now);

#endif
