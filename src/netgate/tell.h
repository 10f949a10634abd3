/* SPDX-License-Identifier: MIT */
/*
 * The lines that tell the supervisor of connections. Each line of text is one message on a
 * SOCK_SEQPACKET socket:
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
 * The lines per second are limited: a guest that opens thousands of connections must not fill the
 * host's disk. Further connections are counted, and the count is told when there is room again.
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
	uint64_t second;   /* ns, start of the present second */
	uint64_t told;	   /* lines in the present second */
	uint64_t unlisted; /* connections left out and not yet told */
};

/* Tells of a connection. name is the name of the rule that opened it, or "-"; NULL if no rule
 * did. */
void tell_connection(struct teller *teller, const struct flow_key *key, const char *name,
		     enum telling telling, uint64_t now);
/* Tells of the first words of a connection. name is "-" if they name no host, "?" if they are
 * unreadable. */
void tell_opening(struct teller *teller, const char *protocol, const struct flow_key *key,
		  const char *name, enum telling telling, uint64_t now);
void tell_question(struct teller *teller, const struct dns_question *question, enum telling telling,
		   uint64_t now);
/* Tells the count of unlisted connections when its time has come. Returns the ns until then;
 * UINT64_MAX if there is no count to tell. */
uint64_t tell_unlisted(struct teller *teller, uint64_t now);

#endif
