/* SPDX-License-Identifier: MIT */
/*
 * Reads the network that CNI or libnetwork has set up in a network namespace, so that a guest can
 * get the same network. The result has each link (except lo) that is up and has an address, the
 * routes of the main table, and the permanent neighbours. Some items are left out, since the
 * guest's kernel makes them by itself: link-local addresses of IPv6, the routes to them, and the
 * values that a router's advertisement has set. Routes that lead to no link (blackhole and the
 * like) are left out too.
 *
 * An item that the guest cannot get unchanged is refused; the error names it. Such items are a link
 * that is not Ethernet, a route with several next hops or an encapsulation, and more items than the
 * struct has room for.
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

/* The most links that are up, without lo; the machine gets a network card for each link. */
#define NETNS_LINKS_MAX 16
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
	/* the destination; bits is the length of its prefix, 0 for the default route */
	struct ip to;
	uint8_t bits;
	uint8_t scope; /* a value such as RT_SCOPE_LINK, which ip-route(8) calls "scope link" */
	/* true: the kernel treats `via` as reachable on the link, although no other route leads
	 * there. */
	bool onlink;
	/* The next hop, whose family may differ from that of `to`. If its family is 0, there is no
	 * next hop: the destination is on the link. */
	struct ip via;
	struct ip source; /* the preferred source address; family 0: none */
	uint32_t metric;
	uint32_t mtu; /* the route's MTU in bytes; 0: the MTU of the link */
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

/* Reads the network namespace of this process. The caller frees the result with free(). The result
 * has no links if the namespace has only lo. */
struct netns *netns_read(struct error *err);

/*
 * Makes the document that describes the network for the guest:
 *
 * {"interfaces": [{
 *    "name": "eth0",                       the name of the link, also in the guest
 *    "mac": "0a:58:0a:00:00:02",           the address by which the guest finds the card
 *    "mtu": 1450,
 *    "addresses": ["10.0.0.2/24", "2001:db8::2/64"],
 *    "routes": [{
 *       "to": "0.0.0.0/0",
 *       "via": "10.0.0.1",                 absent: the destination is on the link
 *       "source": "10.0.0.2",              absent: no preferred address
 *       "scope": "link",                   absent: global
 *       "onlink": true,                    absent: false
 *       "metric": 100,                     absent: 0
 *       "mtu": 1400}],                     absent: the MTU of the link
 *    "neighbours": [{"address": "10.0.0.1", "mac": "ee:ee:ee:ee:ee:ee"}]}]}
 *
 * The caller releases the document. The list of routes also has the routes to the prefixes of the
 * addresses, if the namespace has such routes: the guest's kernel must not make them by itself.
 */
json_t *netns_document(const struct netns *netns, struct error *err);

/* --- for tests ------------------------------------------------------------------------------- */

/* Handles one message of the kernel, of any kind. `data` is a struct netns. */
int netns_take(void *data, const struct netlink_reply *reply, struct error *err);
/* Drops the links that have no address. Returns -1 with an error if a remaining link is not
 * Ethernet. */
int netns_settle(struct netns *netns, struct error *err);

#endif
