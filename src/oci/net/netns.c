/* SPDX-License-Identifier: MIT */
#include "oci/net/netns.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The largest number of times that the network is read. The network is read again if the kernel
 * reports that something has changed in the meantime. */
#define TRIES 16

static struct netns_link *find_link(struct netns *netns, unsigned index)
{
	for (size_t i = 0; i < netns->nlinks; i++)
		if (netns->links[i].index == index)
			return &netns->links[i];
	return NULL;
}

static int refuse_count(const char *link, int most, const char *what, struct error *err)
{
	return error_set(
		err, ERR_UNSUPPORTED,
		"%s: there are more than %d %s, and a machine can have no more: remove some", link,
		most, what);
}

/* --- links ----------------------------------------------------------------------------------- */

static int take_netns_link(struct netns *netns, struct netlink_bytes body, struct error *err)
{
	struct netlink_bytes attributes, name, mac;
	struct netns_link *link;
	struct ifinfomsg head;
	size_t len;

	if (!netlink_head(body, &head, sizeof(head), &attributes) || !(head.ifi_flags & IFF_UP) ||
	    head.ifi_flags & IFF_LOOPBACK || head.ifi_index <= 0 ||
	    !netlink_attribute(attributes, IFLA_IFNAME, &name))
		return 0;
	if (netns->nlinks == NETNS_LINKS_MAX)
		return refuse_count("the namespace", NETNS_LINKS_MAX, "links that are up", err);
	link = &netns->links[netns->nlinks++];
	link->index = (unsigned)head.ifi_index;
	/* Limits the length of the name, in case the kernel's NUL is missing. */
	len = strnlen((const char *)name.data, name.len);
	len = len < IFNAMSIZ ? len : IFNAMSIZ - 1;
	memcpy(link->name, name.data, len);
	link->name[len] = '\0';
	(void)netlink_u32(attributes, IFLA_MTU, &link->mtu);
	link->ethernet = head.ifi_type == ARPHRD_ETHER &&
			 netlink_attribute(attributes, IFLA_ADDRESS, &mac) && mac.len == NETNS_MAC;
	if (link->ethernet)
		memcpy(link->mac, mac.data, NETNS_MAC);
	return 0;
}

/* --- addresses ------------------------------------------------------------------------------- */

static bool find_ip(struct netlink_bytes attributes, uint16_t type, unsigned family, struct ip *out)
{
	struct netlink_bytes value;

	return netlink_attribute(attributes, type, &value) &&
	       ip_from_bytes(family, value.data, value.len, out);
}

static bool prefix_fits(const struct ip *ip, unsigned bits)
{
	return bits <= 8 * ip_length(ip->family);
}

/* Adds an address to its link. Prefers IFA_LOCAL, since IFA_ADDRESS is the peer's address if there
 * is a peer. An IPv6 address without a peer has only IFA_ADDRESS. */
static int take_netns_address(struct netns *netns, struct netlink_bytes body, struct error *err)
{
	struct netns_address address = {0};
	struct netlink_bytes attributes;
	struct netns_link *link;
	struct ifaddrmsg head;

	if (!netlink_head(body, &head, sizeof(head), &attributes) ||
	    !(link = find_link(netns, head.ifa_index)))
		return 0;
	if ((!find_ip(attributes, IFA_LOCAL, head.ifa_family, &address.ip) &&
	     !find_ip(attributes, IFA_ADDRESS, head.ifa_family, &address.ip)) ||
	    !prefix_fits(&address.ip, head.ifa_prefixlen) || ip_is_link_local6(&address.ip))
		return 0;
	if (link->naddresses == NETNS_ADDRESSES_MAX)
		return refuse_count(link->name, NETNS_ADDRESSES_MAX, "addresses", err);
	address.bits = head.ifa_prefixlen;
	address.scope = head.ifa_scope;
	link->addresses[link->naddresses++] = address;
	return 0;
}

/* --- routes ---------------------------------------------------------------------------------- */

static bool is_wanted_route(const struct rtmsg *head, struct netlink_bytes attributes)
{
	uint32_t table = head->rtm_table;

	(void)netlink_u32(attributes, RTA_TABLE, &table);
	return table == RT_TABLE_MAIN && head->rtm_type == RTN_UNICAST &&
	       !(head->rtm_flags & RTM_F_CLONED) && head->rtm_protocol != RTPROT_RA &&
	       head->rtm_protocol != RTPROT_REDIRECT && ip_length(head->rtm_family);
}

/* Finds a route's gateway. If the gateway has another address family than the route, the gateway is
 * in RTA_VIA, after the number of its family. */
static void find_gateway(const struct rtmsg *head, struct netlink_bytes attributes, struct ip *out)
{
	struct netlink_bytes via;
	uint16_t family;

	if (find_ip(attributes, RTA_GATEWAY, head->rtm_family, out) ||
	    !netlink_attribute(attributes, RTA_VIA, &via) || via.len < sizeof(family))
		return;
	memcpy(&family, via.data, sizeof(family));
	(void)ip_from_bytes(family, via.data + sizeof(family), via.len - sizeof(family), out);
}

static bool decode_route(const struct rtmsg *head, struct netlink_bytes attributes,
			 struct netns_route *out)
{
	struct netlink_bytes metrics;

	*out = (struct netns_route){.to.family = head->rtm_family,
				    .bits = head->rtm_dst_len,
				    .scope = head->rtm_scope,
				    .onlink = head->rtm_flags & RTNH_F_ONLINK};
	if (!find_ip(attributes, RTA_DST, head->rtm_family, &out->to) && head->rtm_dst_len != 0)
		return false;
	find_gateway(head, attributes, &out->via);
	(void)find_ip(attributes, RTA_PREFSRC, head->rtm_family, &out->source);
	(void)netlink_u32(attributes, RTA_PRIORITY, &out->metric);
	if (netlink_attribute(attributes, RTA_METRICS, &metrics))
		(void)netlink_u32(metrics, RTAX_MTU, &out->mtu);
	return prefix_fits(&out->to, out->bits) && !ip_is_link_local6(&out->to);
}

static int refuse_route(const struct netns_route *route, const char *what, struct error *err)
{
	char to[IP_TEXT];

	ip_format_prefix(&route->to, route->bits, to);
	return error_set(
		err, ERR_UNSUPPORTED,
		"the route to %s has %s, which a machine cannot be given: make the container's network without it",
		to, what);
}

static int take_netns_route(struct netns *netns, struct netlink_bytes body, struct error *err)
{
	struct netlink_bytes attributes, unused;
	struct netns_link *link;
	struct netns_route route;
	struct rtmsg head;
	uint32_t index;

	if (!netlink_head(body, &head, sizeof(head), &attributes) ||
	    !is_wanted_route(&head, attributes) || !decode_route(&head, attributes, &route))
		return 0;
	if (netlink_attribute(attributes, RTA_MULTIPATH, &unused))
		return refuse_route(&route, "several next hops", err);
	if (!netlink_u32(attributes, RTA_OIF, &index) || !(link = find_link(netns, index)))
		return 0;
	if (netlink_attribute(attributes, RTA_ENCAP, &unused))
		return refuse_route(&route, "an encapsulation", err);
	if (link->nroutes == NETNS_ROUTES_MAX)
		return refuse_count(link->name, NETNS_ROUTES_MAX, "routes", err);
	link->routes[link->nroutes++] = route;
	return 0;
}

/* --- neighbours ------------------------------------------------------------------------------ */

static int take_netns_neighbour(struct netns *netns, struct netlink_bytes body, struct error *err)
{
	struct netns_neighbour neighbour = {0};
	struct netlink_bytes attributes, mac;
	struct netns_link *link;
	struct ndmsg head;

	if (!netlink_head(body, &head, sizeof(head), &attributes) ||
	    !(head.ndm_state & NUD_PERMANENT) || head.ndm_flags & NTF_PROXY ||
	    head.ndm_ifindex <= 0 || !(link = find_link(netns, (unsigned)head.ndm_ifindex)) ||
	    !find_ip(attributes, NDA_DST, head.ndm_family, &neighbour.ip) ||
	    !netlink_attribute(attributes, NDA_LLADDR, &mac) || mac.len != NETNS_MAC)
		return 0;
	if (link->nneighbours == NETNS_NEIGHBOURS_MAX)
		return refuse_count(link->name, NETNS_NEIGHBOURS_MAX, "neighbours", err);
	memcpy(neighbour.mac, mac.data, NETNS_MAC);
	link->neighbours[link->nneighbours++] = neighbour;
	return 0;
}

/* --- the whole network ----------------------------------------------------------------------- */

int netns_take(void *data, const struct netlink_reply *reply, struct error *err)
{
	struct netns *netns = data;

	switch (reply->type) {
	case RTM_NEWLINK:
		return take_netns_link(netns, reply->body, err);
	case RTM_NEWADDR:
		return take_netns_address(netns, reply->body, err);
	case RTM_NEWROUTE:
		return take_netns_route(netns, reply->body, err);
	case RTM_NEWNEIGH:
		return take_netns_neighbour(netns, reply->body, err);
	default:
		return 0;
	}
}

int netns_settle(struct netns *netns, struct error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < netns->nlinks; i++) {
		struct netns_link *link = &netns->links[i];

		if (link->naddresses == 0)
			continue;
		if (!link->ethernet)
			return error_set(
				err, ERR_UNSUPPORTED,
				"the link %s of the container's network namespace is not an Ethernet link, and a machine can have no other: use a network plugin that makes Ethernet links",
				link->name);
		if (kept != i)
			netns->links[kept] = *link;
		kept++;
	}
	netns->nlinks = kept;
	return 0;
}

static int read_netns(struct netns *netns, struct error *err)
{
	static const struct {
		uint16_t type;
		const char *what;
	} kinds[] = {{RTM_GETLINK, "links"},
		     {RTM_GETADDR, "addresses"},
		     {RTM_GETROUTE, "routes"},
		     {RTM_GETNEIGH, "neighbours"}};
	/* The fixed part of each request selects no item, so the answer has all items. The kernel
	 * accepts a struct ndmsg as the fixed part of all four requests. */
	const struct ndmsg all = {.ndm_family = AF_UNSPEC};
	autoclose int fd = netlink_open(NETLINK_ROUTE, err);

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct netlink_message message;

		netlink_begin(&message, kinds[i].type, 0, &all, sizeof(all));
		if (netlink_dump(fd, &message, netns_take, netns, err) < 0)
			return error_prefix(err, "%s", kinds[i].what);
	}
	return netns_settle(netns, err);
}

struct netns *netns_read(struct error *err)
{
	autofree struct netns *netns = malloc(sizeof(*netns));
	struct error why = {0};
	int rc = -1;

	if (!netns) {
		error_errno(err, ENOMEM, "network");
		return NULL;
	}
	for (int i = 0; i < TRIES; i++) {
		memset(netns, 0, sizeof(*netns));
		rc = read_netns(netns, &why);
		if (rc == 0 || why.errnum != EINTR)
			break;
	}
	if (rc < 0) {
		error_copy(err, &why);
		error_prefix(err, "network");
		return NULL;
	}
	return steal_ptr(&netns);
}
