/* SPDX-License-Identifier: MIT */
/* The network card, as the run config's "network" says. */
#ifndef GUEST_NETWORK_H
#define GUEST_NETWORK_H

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define NETWORK_DNS_MAX 3  /* the C library's MAXNS */
#define NETWORK_DOMAIN 254 /* a name of DNS */

struct network {
	bool dhcp;				  /* the rest is asked for on the link */
	struct in_addr address, netmask, gateway; /* gateway 0: none */
	struct in_addr dns[NETWORK_DNS_MAX];
	size_t ndns;
	char domain[NETWORK_DOMAIN]; /* "": none */
	unsigned mtu;		     /* 0: the kernel's */
	bool plugged;		     /* the card comes while the machine runs: it is waited for */
};

int network_decode(json_t *object, struct network *out, struct error *err);
/* resolv.conf for it; returns the length. */
size_t network_resolv_conf(const struct network *network, char *out, size_t size);
/* Brings the card up. config: the whole run config; without "network" nothing is done. May block.
 */
int network_apply(json_t *config, struct error *err);

#endif
