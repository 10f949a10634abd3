/* SPDX-License-Identifier: MIT */
/* Reads and makes the questions of DNS. A guest always reaches one address, and that address takes
 * only valid questions. Accepting anything that comes to the port would open a way out to whatever
 * program serves it. */
#ifndef NETGATE_DNS_QUERY_H
#define NETGATE_DNS_QUERY_H

#include "netgate/dns.h"

/* The longest message of dns_make_query(): a header, a name, its type and class, and EDNS. */
#define DNS_QUERY_MAX (DNS_HEADER + DNS_NAME_MAX + DNS_TYPE_AND_CLASS + 11)

/* Reads a standard query (RFC 1035) with one question. After the question there may only be the one
 * record of EDNS (RFC 6891). Returns false for anything else. */
bool dns_read_query(struct bytes datagram, struct dns_question *question);
/* Makes a query for the same question, under its id, in at most DNS_QUERY_MAX bytes. Returns the
 * length. A sender chooses nothing in the query but the name, in lower case, and the room for the
 * answer: flags, letters and EDNS could carry any message to a resolver or to the owner of the
 * name. The flag that asks a resolver not to check signatures is not set. The caller has checked
 * that the name is on the list. */
size_t dns_make_query(uint8_t *out, const struct dns_question *question);

#endif
