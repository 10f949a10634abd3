/* SPDX-License-Identifier: MIT */
/*
 * Finds the TCP ports on which servers listen. Asks the kernel for its listening sockets
 * (sock_diag(7)). Many kernels need the module tcp_diag for this, and a guest may lack the module.
 * In that case this code reads /proc/net/tcp and /proc/net/tcp6.
 *
 * Both files have the listening sockets first (tcp_get_idx() in net/ipv4/tcp_ipv4.c), so the code
 * reads no further lines. But to find the first line after the listening sockets, the kernel
 * searches its whole table of connections. This search takes 10 ms on a machine with 24 GiB of
 * memory.
 */
#include "guest/machine/listening.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/platform/linux/netlink.h"

#define STATE_LISTEN 10 /* the value of TCP_LISTEN in include/net/tcp_states.h */

/* --- by sock_diag ---------------------------------------------------------------------------- */

static int take_socket(void *data, const struct netlink_reply *reply, struct error *err)
{
	struct netlink_bytes attributes;
	struct inet_diag_msg socket;

	if (!netlink_head(reply->body, &socket, sizeof(socket), &attributes))
		return error_set(
			err, ERR_IO,
			"the guest's kernel gave an incomplete answer about the ports that programs listen on: try again, or choose another kernel");
	port_set_add(data, ntohs(socket.id.idiag_sport));
	return 0;
}

static int add_family(struct port_set *set, int netlink, uint8_t family, struct error *err)
{
	const struct inet_diag_req_v2 wanted = {
		.sdiag_family = family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = 1u << STATE_LISTEN,
	};
	struct netlink_message message;

	netlink_begin(&message, SOCK_DIAG_BY_FAMILY, 0, &wanted, sizeof(wanted));
	return netlink_dump(netlink, &message, take_socket, set, err);
}

static int ask_kernel(struct port_set *set, struct error *err)
{
	autoclose int netlink = netlink_open(NETLINK_SOCK_DIAG, err);

	if (netlink < 0 || add_family(set, netlink, AF_INET, err) < 0 ||
	    add_family(set, netlink, AF_INET6, err) < 0)
		return -1;
	return 0;
}

/* --- by /proc -------------------------------------------------------------------------------- */

/* Reads a line of the form " 0: 0100007F:1F90 00000000:0000 0A ...". Returns true and sets *port if
 * the line's socket listens. */
static bool is_listener(const char *line, uint16_t *port)
{
	const char *slot = strchr(line, ':'), *local = slot ? strchr(slot + 1, ':') : NULL,
		   *remote = local ? strchr(local + 1, ':') : NULL,
		   *state = remote ? strchr(remote + 1, ' ') : NULL;
	unsigned long number = local ? strtoul(local + 1, NULL, 16) : 0;

	if (!state || strtoul(state, NULL, 16) != STATE_LISTEN || number > UINT16_MAX)
		return false;
	*port = (uint16_t)number;
	return true;
}

static int add_table(struct port_set *set, const char *path)
{
	autofile FILE *table = fopen(path, "re");
	char line[256];
	uint16_t port;

	/* fgets() skips the first line, which has the headings. */
	if (!table || !fgets(line, sizeof(line), table))
		return -1;
	while (fgets(line, sizeof(line), table) && is_listener(line, &port))
		port_set_add(set, port);
	return ferror(table) ? -1 : 0;
}

int listening_ports(struct port_set *out, struct error *err)
{
	/* True if the kernel has no tcp_diag. The kernel is then not asked again, since it would
	 * try to load the module at each request. */
	static bool lacks_diag;
	struct port_set asked = {0}, read = {0};
	struct error why = {0};

	if (!lacks_diag && ask_kernel(&asked, &why) == 0) {
		*out = asked;
		return 0;
	}
	lacks_diag = lacks_diag || why.errnum == ENOENT;
	if (add_table(&read, "/proc/net/tcp") < 0)
		return error_errno(err, errno, "/proc/net/tcp");
	/* The file is missing if the kernel has no IPv6. */
	if (add_table(&read, "/proc/net/tcp6") < 0 && errno != ENOENT)
		return error_errno(err, errno, "/proc/net/tcp6");
	*out = read;
	return 0;
}
