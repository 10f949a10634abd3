/* SPDX-License-Identifier: MIT */
/* What a resolver says of a name's addresses. */
#ifndef NETGATE_DNS_ANSWER_H
#define NETGATE_DNS_ANSWER_H

#include "netgate/dns.h"

/* More records of an address do not fit into DNS_ANSWER_MAX. */
#define DNS_ADDRESSES_MAX 76

struct dns_address {
	uint32_t address; /* in host byte order */
	uint32_t ttl;	  /* s */
};

struct dns_answer {
	bool truncated;
	size_t count;
	struct dns_address addresses[DNS_ADDRESSES_MAX];
};

/* Whether it answers that question: the same number, the same words. */
bool dns_answers(struct bytes datagram, const struct dns_question *question);
/* The addresses that the question's name has, by a chain of at most 8 other names. False: it is
 * longer than DNS_ANSWER_MAX, a record is not whole, or the chain has no end. */
bool dns_read_answer(struct bytes datagram, const struct dns_question *question,
		     struct dns_answer *answer);
/* Of one that has been read: who keeps it keeps it no longer than that. */
void dns_cap_ttls(uint8_t *datagram, size_t len, const struct dns_question *question,
		  uint32_t seconds);

#endif
