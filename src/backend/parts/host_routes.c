/* SPDX-License-Identifier: MIT */
#include "backend/parts/host_routes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/linux/netlink.h"

#define MESSAGE_BYTES 65536

/* The fewest bits of a prefix that counts as the prefix of a link, since no link has more addresses
 * than a /8. A prefix with fewer bits leads out of the host, like the default route. Some VPNs have
 * such prefixes: the halves 0.0.0.0/1 and 128.0.0.0/1. */
#define ON_LINK_BITS_MIN 8

static int open_netlink(int flags, unsigned groups, struct error *err)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return error_errno(err, errno, "rtnetlink");
	return steal_fd(&fd);
}

int host_routes_watch(struct error *err)
{
	return open_netlink(SOCK_NONBLOCK, RTMGRP_IPV4_ROUTE | RTMGRP_IPV4_IFADDR, err);
}

void host_routes_drain(int fd)
{
	char bytes[8192];

	/* ENOBUFS means that messages were lost. A lost message is also a sign of a change. */
	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		;
}

static int ask_routes(int fd, uint16_t type, struct error *err)
{
	const struct {
		struct nlmsghdr header;
		struct rtgenmsg what;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			   .nlmsg_type = type,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.what = {.rtgen_family = AF_INET},
	};

	if (send(fd, &request, sizeof(request), 0) < 0)
		return error_errno(err, errno, "rtnetlink");
	return 0;
}

static void add_prefix(struct host_routes *routes, uint32_t address_be, unsigned bits,
		       enum host_prefix_kind kind)
{
	if (routes->count == HOST_ROUTES_MAX) {
		/* The table is full. So all addresses are treated as the host's own. */
		routes->prefixes[0] = (struct host_prefix){0, 0, htonl(HOST_PREFIX_OWN)};
		return;
	}
	routes->prefixes[routes->count++] =
		(struct host_prefix){address_be, htonl(bits), htonl(kind)};
}

static void add_on_link(struct host_routes *routes, uint32_t address_be, unsigned bits)
{
	if (bits >= ON_LINK_BITS_MIN && bits <= 32)
		add_prefix(routes, address_be, bits, HOST_PREFIX_ON_LINK);
}

static bool has_gateway(struct netlink_bytes attributes)
{
	struct netlink_bytes gateway;

	return netlink_attribute(attributes, RTA_GATEWAY, &gateway) ||
	       netlink_attribute(attributes, RTA_VIA, &gateway);
}

/* Returns true if each next hop of the route has a gateway. `multipath` is the list of the hops of
 * a route with several hops. */
static bool all_have_gateways(struct netlink_bytes multipath)
{
	struct netlink_bytes attributes;
	struct rtnexthop hop;

	while (multipath.len >= sizeof(hop)) {
		memcpy(&hop, multipath.data, sizeof(hop));
		if (hop.rtnh_len < sizeof(hop) || hop.rtnh_len > multipath.len)
			break;
		attributes = (struct netlink_bytes){multipath.data + sizeof(hop),
						    hop.rtnh_len - sizeof(hop)};
		if (!has_gateway(attributes))
			return false;
		size_t step = RTNH_ALIGN((size_t)hop.rtnh_len);
		if (step >= multipath.len)
			break;
		multipath.data += step;
		multipath.len -= step;
	}
	return true;
}

static void take_route(struct host_routes *routes, struct netlink_bytes body)
{
	struct netlink_bytes attributes, found;
	uint32_t destination = 0, unused;
	struct rtmsg route;

	if (!netlink_head(body, &route, sizeof(route), &attributes))
		return;
	bool through_gateway = netlink_attribute(attributes, RTA_MULTIPATH, &found)
				       ? all_have_gateways(found)
				       : has_gateway(attributes);
	(void)netlink_u32(attributes, RTA_DST, &destination);
	if (route.rtm_type == RTN_LOCAL || route.rtm_type == RTN_BROADCAST ||
	    route.rtm_type == RTN_ANYCAST)
		add_prefix(routes, destination, route.rtm_dst_len, HOST_PREFIX_OWN);
	if (route.rtm_type != RTN_UNICAST)
		return;
	if (route.rtm_dst_len == 0 && netlink_u32(attributes, RTA_OIF, &unused))
		routes->has_default = true;
	/* A cloned route does not mean that its destination is on the link. The kernel uses such a
	 * route to remember what it has learnt about one host behind another route. */
	if (!through_gateway && !(route.rtm_flags & RTM_F_CLONED))
		add_on_link(routes, destination, route.rtm_dst_len);
}

/* Takes an address of the host. The prefix of the address is on the link, even if no route has this
 * prefix. On a point-to-point link IFA_ADDRESS is the address of the peer. */
static void take_address(struct host_routes *routes, struct netlink_bytes body)
{
	struct netlink_bytes attributes;
	struct ifaddrmsg address;
	uint32_t prefix;

	if (netlink_head(body, &address, sizeof(address), &attributes) &&
	    netlink_u32(attributes, IFA_ADDRESS, &prefix))
		add_on_link(routes, prefix, address.ifa_prefixlen);
}

/* Takes one message of the kernel. Returns 1 if more messages will come, 0 if this was the last
 * message, or -1 with an error. */
static int take_route_reply(struct host_routes *routes, const struct netlink_reply *reply,
			    struct error *err)
{
	struct netlink_bytes rest;
	struct nlmsgerr error;

	switch (reply->type) {
	case NLMSG_DONE:
		return 0;
	case NLMSG_ERROR:
		if (!netlink_head(reply->body, &error, sizeof(error), &rest))
			return error_set(
				err, ERR_IO,
				"the routes of the host cannot be read, because the kernel's answer is incomplete: this is a bug of microagent or of this kernel");
		return error_errno(err, -error.error, "rtnetlink");
	case RTM_NEWROUTE:
		take_route(routes, reply->body);
		break;
	case RTM_NEWADDR:
		take_address(routes, reply->body);
		break;
	}
	return 1;
}

int host_routes_take(struct host_routes *routes, const void *bytes, size_t len, struct error *err)
{
	struct netlink_bytes datagram = {bytes, len};
	struct netlink_reply reply;
	int more = 1;

	while (more > 0 && netlink_next(&datagram, &reply))
		more = take_route_reply(routes, &reply, err);
	return more;
}

static int receive_routes(int fd, struct host_routes *routes, struct error *err)
{
	static char bytes[MESSAGE_BYTES];
	int more = 1;

	while (more > 0) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "rtnetlink");
		more = host_routes_take(routes, bytes, n < 0 ? 0 : (size_t)n, err);
	}
	return more;
}

int host_routes_open(struct error *err)
{
	return open_netlink(0, 0, err);
}

int host_routes_read(int fd, struct host_routes *out, struct error *err)
{
	static const uint16_t lists[] = {RTM_GETROUTE, RTM_GETADDR};

	out->count = 0;
	out->has_default = false;
	/* If an earlier read has failed before its last message, other messages are still in the
	 * socket. These messages are dropped here. */
	host_routes_drain(fd);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (ask_routes(fd, lists[i], err) < 0 || receive_routes(fd, out, err) < 0)
			return -1;
	return 0;
}

bool host_resolver(const char *text, char out[16])
{
	char address[16];
	struct in_addr in;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		if (sscanf(text, "nameserver %15[0-9.]", address) != 1 ||
		    inet_pton(AF_INET, address, &in) != 1)
			continue;
		memcpy(out, address, sizeof(address));
		return true;
	}
	return false;
}
