/* SPDX-License-Identifier: MIT */
/* The network card, as the run config's "network" describes it. */
#ifndef GUEST_NETWORK_H
#define GUEST_NETWORK_H

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define NETWORK_DNS_MAX 3  /* the C library's MAXNS */
#define NETWORK_DOMAIN 254 /* the longest name of DNS */

struct network {
	bool dhcp;				  /* a DHCP server gives the other values */
	struct in_addr address, netmask, gateway; /* gateway 0: none */
	struct in_addr dns[NETWORK_DNS_MAX];
	size_t ndns;
	char domain[NETWORK_DOMAIN]; /* "": none */
	unsigned mtu;		     /* 0: the kernel's default */
	bool plugged;		     /* the card is plugged later, so the guest waits for it */
};

int network_decode(json_t *object, struct network *out, struct error *err);
/* Writes a resolv.conf for the network. Returns the length. */
size_t network_resolv_conf(const struct network *network, char *out, size_t size);
/* Configures the card. `config` is the whole run config. Does nothing if it has no "network". May
 * block. */
int network_apply(json_t *config, struct error *err);

#endif
