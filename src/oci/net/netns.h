/* SPDX-License-Identifier: MIT */
/*
 * Reads what CNI or libnetwork has made of a network namespace, to hand it on to a guest: each link
 * but lo that is up and has an address, the routes of the main table, and the neighbours that were
 * entered by hand. What each kernel makes by itself is left out: link-local addresses of IPv6 and
 * the routes to them, what a router's advertisement brought, and routes that lead to no link
 * (blackhole and the like).
 *
 * What could not be handed on unchanged is refused by name: a link that is no Ethernet, a route
 * with several next hops or an encapsulation, and more items than there is room for.
 */
#ifndef OCI_NET_NETNS_H
#define OCI_NET_NETNS_H

#include <jansson.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/ip.h"
#include "base/platform/linux/netlink.h"

#define NETNS_LINKS_MAX 16 /* links that are up; the machine gets as many cards */
#define NETNS_ADDRESSES_MAX 32
#define NETNS_ROUTES_MAX 256
#define NETNS_NEIGHBOURS_MAX 256
#define NETNS_MAC 6

struct netns_address {
	struct ip ip;
	uint8_t bits;
	uint8_t scope; /* RT_SCOPE_UNIVERSE, RT_SCOPE_LINK, ... */
};

struct netns_route {
	struct ip to; /* the default route has bits 0 */
	uint8_t bits;
	uint8_t scope;	  /* as in struct netns_address: RT_SCOPE_LINK is "scope link" */
	bool onlink;	  /* via counts as reachable, though no other route leads to it */
	struct ip via;	  /* family 0: the destination is on the link; may have the other family */
	struct ip source; /* family 0: no preferred address */
	uint32_t metric;
	uint32_t mtu; /* 0: the MTU of the link */
};

struct netns_neighbour {
	struct ip ip;
	uint8_t mac[NETNS_MAC];
};

struct netns_link {
	unsigned index;
	char name[IFNAMSIZ];
	bool ethernet;
	uint8_t mac[NETNS_MAC];
	uint32_t mtu;
	size_t naddresses, nroutes, nneighbours;
	struct netns_address addresses[NETNS_ADDRESSES_MAX];
	struct netns_route routes[NETNS_ROUTES_MAX];
	struct netns_neighbour neighbours[NETNS_NEIGHBOURS_MAX];
};

struct netns {
	size_t nlinks;
	struct netns_link links[NETNS_LINKS_MAX];
};

/* Reads the namespace of the caller. The caller calls free() on the result. No links: only lo. */
struct netns *netns_read(struct error *err);

/*
 * Makes the document that tells the guest of its network:
 *
 * {"interfaces": [{
 *    "name": "eth0",                       the name for the guest's link, too
 *    "mac": "0a:58:0a:00:00:02",           by which the guest knows the card
 *    "mtu": 1450,
 *    "addresses": ["10.0.0.2/24", "2001:db8::2/64"],
 *    "routes": [{
 *       "to": "0.0.0.0/0",
 *       "via": "10.0.0.1",                 absent: on the link
 *       "source": "10.0.0.2",              absent: none preferred
 *       "scope": "link",                   absent: global
 *       "onlink": true,                    absent: false
 *       "metric": 100,                     absent: 0
 *       "mtu": 1400}],                     absent: the link's
 *    "neighbours": [{"address": "10.0.0.1", "mac": "ee:ee:ee:ee:ee:ee"}]}]}
 *
 * Routes to the prefixes of the addresses are in the list if they existed: the guest's kernel must
 * make no routes by itself.
 */
json_t *netns_document(const struct netns *netns, struct error *err);

/* --- for tests ------------------------------------------------------------------------------- */

/* Handles one message of the kernel, of any kind; data is a struct netns. */
int netns_take(void *data, const struct netlink_reply *reply, struct error *err);
/* Drops the links without an address. Fails if one of the others is no card. */
int netns_settle(struct netns *netns, struct error *err);

#endif
