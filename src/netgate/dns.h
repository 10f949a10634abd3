/* SPDX-License-Identifier: MIT */
/* What the one address that a guest always reaches takes: questions of DNS, and nothing that only
 * came to its port, which would be a way out to whoever serves it. */
#ifndef NETGATE_DNS_H
#define NETGATE_DNS_H

#include <stdbool.h>

#include "netgate/bytes.h"

/* A standard query (RFC 1035) with one question, behind which there is nothing or the one record of
 * EDNS (RFC 6891), and not a byte more. */
bool dns_is_query(struct bytes datagram);

#endif
