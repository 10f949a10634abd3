/* SPDX-License-Identifier: MIT */
/* What the one address that a guest always reaches takes: questions of DNS, and nothing that only
 * came to its port, which would be a way out to whoever serves it. */
#ifndef NETGATE_DNS_QUERY_H
#define NETGATE_DNS_QUERY_H

#include "netgate/dns.h"

/* A standard query (RFC 1035) with one question, behind which there is nothing or the one record of
 * EDNS (RFC 6891), and not a byte more. */
bool dns_read_query(struct bytes datagram, struct dns_question *question);
/* Of a query as it was read: its sender takes no longer answers than DNS_ANSWER_MAX, and of EDNS,
 * by which a resolver may be told anything, there is no more than the wish for DNSSEC; options
 * become padding. */
void dns_tame_query(uint8_t *datagram, size_t len, const struct dns_question *question);

#endif
