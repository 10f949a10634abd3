/* SPDX-License-Identifier: MIT */
/* Reads the answers of a resolver about the addresses of a name. */
#ifndef NETGATE_DNS_ANSWER_H
#define NETGATE_DNS_ANSWER_H

#include "netgate/dns.h"

/* The greatest number of address records that fit into DNS_ANSWER_MAX bytes. */
#define DNS_ADDRESSES_MAX 76

struct dns_address {
	uint32_t address; /* an IPv4 address in host byte order */
	uint32_t ttl;	  /* the time to live, in seconds */
};

struct dns_answer {
	bool truncated;
	size_t count;
	struct dns_address addresses[DNS_ADDRESSES_MAX];
};

/* Returns true if the message is an answer to the question: both have the same number, name, type
 * and class. */
bool dns_answers(struct bytes datagram, const struct dns_question *question);
/* Reads the addresses of the question's name. The name may be an alias, and the answer may have a
 * chain of at most 8 aliases. Returns false if the answer is longer than DNS_ANSWER_MAX, if a
 * record is not whole, or if the chain has more than 8 aliases. */
bool dns_read_answer(struct bytes datagram, const struct dns_question *question,
		     struct dns_answer *answer);
/* Lowers every time to live in an answer to at most `seconds`, so that no cache of the guest keeps
 * the answer for longer. dns_read_answer() must have returned true for the answer. */
void dns_cap_ttls(uint8_t *datagram, size_t len, const struct dns_question *question,
		  uint32_t seconds);

#endif
