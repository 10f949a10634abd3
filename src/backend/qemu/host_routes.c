/* SPDX-License-Identifier: MIT */
#include "backend/qemu/host_routes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MESSAGE_BYTES 65536

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

	/* ENOBUFS says that some were lost, which is a change as well. */
	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		;
}

static int ask(int fd, struct error *err)
{
	const struct {
		struct nlmsghdr header;
		struct rtmsg route;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			   .nlmsg_type = RTM_GETROUTE,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.route = {.rtm_family = AF_INET},
	};

	if (send(fd, &request, sizeof(request), 0) < 0)
		return error_errno(err, errno, "rtnetlink");
	return 0;
}

static void add_own(struct host_routes *routes, uint32_t address_be, unsigned bits)
{
	if (routes->count == HOST_ROUTES_OWN_MAX) {
		routes->own[0] = (struct host_prefix){0, 0}; /* covers all */
		return;
	}
	routes->own[routes->count++] = (struct host_prefix){address_be, htonl(bits)};
}

static void take_route(struct host_routes *routes, struct nlmsghdr *header)
{
	struct rtmsg *route = NLMSG_DATA(header);
	int left = (int)RTM_PAYLOAD(header);
	uint32_t destination = 0;
	bool by_interface = false;

	for (struct rtattr *a = RTM_RTA(route); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == RTA_DST && RTA_PAYLOAD(a) == sizeof(destination))
			memcpy(&destination, RTA_DATA(a), sizeof(destination));
		if (a->rta_type == RTA_OIF)
			by_interface = true;
	}
	if (route->rtm_type == RTN_LOCAL || route->rtm_type == RTN_BROADCAST ||
	    route->rtm_type == RTN_ANYCAST)
		add_own(routes, destination, route->rtm_dst_len);
	else if (route->rtm_type == RTN_UNICAST && route->rtm_dst_len == 0 && by_interface)
		routes->has_default = true;
}

/* 1: more is to come, 0: that was all. */
static int take_message(struct host_routes *routes, struct nlmsghdr *header, struct error *err)
{
	const struct nlmsgerr *error;

	switch (header->nlmsg_type) {
	case NLMSG_DONE:
		return 0;
	case NLMSG_ERROR:
		error = NLMSG_DATA(header);
		return error_errno(err, -error->error, "rtnetlink");
	case RTM_NEWROUTE:
		take_route(routes, header);
	}
	return 1;
}

static int receive(int fd, struct host_routes *routes, struct error *err)
{
	static char bytes[MESSAGE_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));

	for (int more = 1; more;) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
		size_t left = n < 0 ? 0 : (size_t)n;

		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "rtnetlink");
		for (struct nlmsghdr *h = (void *)bytes; more && NLMSG_OK(h, left);
		     h = NLMSG_NEXT(h, left)) {
			more = take_message(routes, h, err);
			if (more < 0)
				return -1;
		}
	}
	return 0;
}

int host_routes_read(struct host_routes *out, struct error *err)
{
	autoclose int fd = open_netlink(0, 0, err);

	out->count = 0;
	out->has_default = false;
	if (fd < 0 || ask(fd, err) < 0)
		return -1;
	return receive(fd, out, err);
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
