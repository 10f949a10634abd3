/* SPDX-License-Identifier: MIT */
/* Configures the guest's network card from "network" of the run config. */
#ifndef GUEST_NETWORK_H
#define GUEST_NETWORK_H

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define NETWORK_DNS_MAX 3  /* the most name servers; the C library's limit (MAXNS) */
#define NETWORK_DOMAIN 254 /* bytes of the longest name of DNS and a NUL */

struct network {
	bool dhcp; /* the values below come from a DHCP server's answer */
	/* The IPv4 values of the card. If `gateway` is 0, there is no gateway. */
	struct in_addr address, netmask, gateway;
	struct in_addr dns[NETWORK_DNS_MAX];
	size_t ndns;
	char domain[NETWORK_DOMAIN]; /* the search domain; "": there is none */
	unsigned mtu;		     /* the MTU in bytes; 0: the kernel's default */
	bool plugged;		     /* the host plugs the card in later, and the guest waits */
};

int network_decode(json_t *object, struct network *out, struct error *err);
/* Writes the text of resolv.conf for the network to `out`, which has room for `size` bytes. Returns
 * the length of the text in bytes. */
size_t network_resolv_conf(const struct network *network, char *out, size_t size);
/* Configures the card. `config` is the whole run config. Does nothing if the config has no
 * "network". May block, so the agent must not call this function in its own process. */
int network_apply(json_t *config, struct error *err);

#endif
