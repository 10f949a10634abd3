/* SPDX-License-Identifier: MIT */
/* What the one address that a guest always reaches takes: questions of DNS, and nothing that only
 * came to its port, which would be a way out to whoever serves it. */
#ifndef NETGATE_DNS_QUERY_H
#define NETGATE_DNS_QUERY_H

#include "netgate/dns.h"

/* The longest that dns_make_query() makes: a header, a name, its type and class, and EDNS. */
#define DNS_QUERY_MAX (DNS_HEADER + DNS_NAME_MAX + DNS_TYPE_AND_CLASS + 11)

/* A standard query (RFC 1035) with one question, behind which there is nothing or the one record of
 * EDNS (RFC 6891), and not a byte more. */
bool dns_read_query(struct bytes datagram, struct dns_question *question);
/* Makes a query for the same question, under its id, in at most DNS_QUERY_MAX bytes. Returns its
 * length. Nothing that a sender may choose is in it but the name, in lower case, and the room for
 * the answer: by flags, letters and EDNS a resolver, and who owns the name, could be told anything.
 * The flag by which a sender asks a resolver not to check signatures is not set. The name is on the
 * list. */
size_t dns_make_query(uint8_t *out, const struct dns_question *question);

#endif
