/* SPDX-License-Identifier: MIT */
/* Reads what a resolver answers about the addresses of a name. */
#ifndef NETGATE_DNS_ANSWER_H
#define NETGATE_DNS_ANSWER_H

#include "netgate/dns.h"

/* No more address records than this fit into DNS_ANSWER_MAX. */
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

/* Returns true if the message answers that question: same number, same name, type and class. */
bool dns_answers(struct bytes datagram, const struct dns_question *question);
/* Reads the addresses of the question's name, through a chain of at most 8 other names. Returns
 * false if the answer is longer than DNS_ANSWER_MAX, a record is not whole, or the chain has no
 * end. */
bool dns_read_answer(struct bytes datagram, const struct dns_question *question,
		     struct dns_answer *answer);
/* Lowers every time to live of an answer to at most seconds, so that no cache keeps the answer
 * longer. The answer has been read before (dns_read_answer()). */
void dns_cap_ttls(uint8_t *datagram, size_t len, const struct dns_question *question,
		  uint32_t seconds);

#endif
