/* SPDX-License-Identifier: MIT */
/* Reads and makes questions of DNS. A guest may always send valid questions to the address of DNS,
 * but no other datagrams. If netgate let every datagram to the port of DNS through, the guest could
 * reach any program of the host's network that has this port. */
#ifndef NETGATE_DNS_QUERY_H
#define NETGATE_DNS_QUERY_H

#include "netgate/dns.h"

/* The most bytes of a message of dns_make_query(): a header, a name, its type and class, and
 * EDNS. */
#define DNS_QUERY_MAX (DNS_HEADER + DNS_NAME_MAX + DNS_TYPE_AND_CLASS + 11)

/* Reads a standard query (RFC 1035) with one question. Behind the question only an EDNS record may
 * follow (RFC 6891). Returns false for any other message. */
bool dns_read_query(struct bytes datagram, struct dns_question *question);
/* Makes a query for the question, with the number question->id, in at most DNS_QUERY_MAX bytes.
 * Returns its length. The query has only two values from the guest: the name, in lower case, and
 * the room for the answer. Flags, upper-case letters and EDNS are not copied from the guest's
 * question, since the guest could use them to send a message to the resolver or to the owner of the
 * name. The flag that asks a resolver not to check signatures is not set. The caller must have
 * checked that the name is on the list. */
size_t dns_make_query(uint8_t *out, const struct dns_question *question);

#endif
