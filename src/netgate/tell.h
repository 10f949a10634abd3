/* SPDX-License-Identifier: MIT */
/*
 * The lines that tell the supervisor of connections. Each line of text is one message on a
 * SOCK_SEQPACKET socket:
 *
 *   tcp 10.0.2.15:40000 -> 192.0.2.1:443
 *   udp 10.0.2.15:5353 -> 192.168.1.1:53 refused
 *   tcp 10.0.2.15:40000 -> 192.0.2.1:443 *.example.org          this rule has opened it
 *   tcp 10.0.2.15:40000 -> 192.0.2.1:443 -                      the guest has sent no words
 *   dns evil.example A refused
 *   tls 10.0.2.15:40000 -> 192.0.2.1:443 evil.example refused   the host that the words name
 *   http 10.0.2.15:40000 -> 192.0.2.1:80 - would refuse         the words name no host
 *   icmp 10.0.2.15 -> 192.0.2.1
 *   17 connections more were not listed
 *
 * In each second only a limited number of lines are sent, since a guest that opens thousands of
 * connections must not fill the host's disk. Further connections are only counted, and their number
 * is sent in a later second.
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
	int fd; /* the socket to the supervisor; -1: no line is sent */
	uint32_t guest;
	uint64_t per_second;
	uint64_t second; /* time in ns when the second began in which lines are counted */
	uint64_t told;	 /* number of lines since the time `second` */
	/* The number of connections that have got no line and are not yet in a line "N connections
	 * more were not listed". */
	uint64_t unlisted;
};

/* Tells the supervisor of a connection. `name` is the name of the rule that has opened the
 * connection; "-" if the guest has sent no words; NULL if no rule has opened the connection. */
void tell_connection(struct teller *teller, const struct flow_key *key, const char *name,
		     enum telling telling, uint64_t now);
/* Tells the supervisor of the first words of a connection. `name` is the host that the words name;
 * "-" if the words name no host; "?" if the words are unreadable. */
void tell_opening(struct teller *teller, const char *protocol, const struct flow_key *key,
		  const char *name, enum telling telling, uint64_t now);
void tell_question(struct teller *teller, const struct dns_question *question, enum telling telling,
		   uint64_t now);
/* Sends the number of unlisted connections, if a line may be sent now. Returns the time in ns after
 * which the line may be sent. Returns UINT64_MAX if the line was sent now, or if there is no line
 * to send. */
uint64_t tell_unlisted(struct teller *teller, uint64_t now);

#endif
