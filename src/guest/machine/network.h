/* SPDX-License-Identifier: MIT */
/* The network card of the guest, as "network" in the run config describes it. */
#ifndef GUEST_NETWORK_H
#define GUEST_NETWORK_H

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define NETWORK_DNS_MAX 3  /* the most name servers, as many as the C library uses (MAXNS) */
#define NETWORK_DOMAIN 254 /* room for the longest name of DNS and a NUL */

struct network {
	bool dhcp; /* the values below come from a DHCP server */
	/* The IPv4 values of the card; a gateway of 0 means that there is none. */
	struct in_addr address, netmask, gateway;
	struct in_addr dns[NETWORK_DNS_MAX];
	size_t ndns;
	char domain[NETWORK_DOMAIN]; /* the search domain; "": there is none */
	unsigned mtu;		     /* the MTU in bytes; 0: the kernel's default */
	bool plugged;		     /* the card is plugged in later, so the guest waits for it */
};

int network_decode(json_t *object, struct network *out, struct error *err);
/* Writes a resolv.conf for the network to `out`. Returns its length in bytes. */
size_t network_resolv_conf(const struct network *network, char *out, size_t size);
/* Configures the card. `config` is the whole run config. Does nothing if the config has no
 * "network". May block. */
int network_apply(json_t *config, struct error *err);

#endif
