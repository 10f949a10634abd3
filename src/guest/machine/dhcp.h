/* SPDX-License-Identifier: MIT */
/*
 * A DHCP client for the boot of a machine on a bridge. The client sends DISCOVER, waits for OFFER,
 * sends REQUEST, and waits for ACK. The client stops at a deadline. The client asks for the longest
 * lease that the server gives, and does not renew the lease. A bridged machine that runs longer
 * than its lease needs a DHCP client of the image.
 *
 * Pure functions, which tests can call, write and parse the messages, since bytes from the network
 * may be hostile.
 */
#ifndef GUEST_DHCP_H
#define GUEST_DHCP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "guest/machine/network.h"

#define DHCP_MESSAGE_MAX 1500

enum dhcp_kind { DHCP_DISCOVER = 1, DHCP_OFFER = 2, DHCP_REQUEST = 3, DHCP_ACK = 5, DHCP_NAK = 6 };

struct dhcp_answer {
	enum dhcp_kind kind;
	struct in_addr server;
	struct network network; /* the address, netmask, gateway, dns and mtu of the offer */
};

/* Writes the payload of a UDP datagram to port 67, and returns the payload's length in bytes. For a
 * REQUEST, `offer` is the offer that the client accepts. For a DISCOVER, `offer` is NULL. */
size_t dhcp_make(uint8_t out[DHCP_MESSAGE_MAX], enum dhcp_kind kind, uint32_t transaction,
		 const uint8_t mac[6], const struct dhcp_answer *offer);
/* Parses an answer of a server. Fails with ERR_INVALID if the bytes are no valid answer, or if the
 * answer is for another transaction or another card. */
int dhcp_read(const uint8_t *bytes, size_t len, uint32_t transaction, const uint8_t mac[6],
	      struct dhcp_answer *out, struct error *err);
/* Asks a DHCP server for a lease, for at most LIMIT_GUEST_DHCP_MS milliseconds, and stores the
 * values of the lease in *out. */
int dhcp_ask(const char *interface, struct network *out, struct error *err);

#endif
