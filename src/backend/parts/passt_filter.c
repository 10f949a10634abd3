/* SPDX-License-Identifier: MIT */
#include "backend/parts/passt_filter.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/platform/linux/isolate_filter.h"

#define NAME "passt"
/* The bits of a socket's type that are not flags (SOCK_TYPE_MASK in Linux's
 * include/linux/net.h). */
#define SOCK_TYPE 0xf

static const uint64_t families[] = {AF_INET, AF_INET6, AF_NETLINK};
static const uint64_t internet[] = {AF_INET, AF_INET6};
static const uint64_t types[] = {SOCK_STREAM, SOCK_DGRAM};
/* The protocols that socket() may get. With 0 the family chooses the protocol. 0 is also the value
 * of NETLINK_ROUTE. */
static const uint64_t protocols[] = {0, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6};

static int refuse(scmp_filter_ctx filter, int errnum, int call, unsigned conditions,
		  const struct scmp_arg_cmp *only, struct error *err)
{
	return isolate_filter_check(seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((unsigned)errnum),
							   call, conditions, only),
				    NAME, err);
}

static int refuse_sockets(scmp_filter_ctx filter, unsigned conditions,
			  const struct scmp_arg_cmp *only, struct error *err)
{
	return refuse(filter, EAFNOSUPPORT, SCMP_SYS(socket), conditions, only, err);
}

static bool is_listed(uint64_t value, const uint64_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == value)
			return true;
	return false;
}

/*
 * Refuses all values of an argument that are not in the list, which is sorted. A rule can compare
 * an argument only once. So each missing value below the last one of the list gets a rule, and one
 * more rule refuses all greater values. The filter compares the whole register, of which the kernel
 * uses 32 bits. A value in which another bit is set counts as greater, and is refused.
 */
static int refuse_unlisted(scmp_filter_ctx filter, unsigned arg, const uint64_t *list, size_t count,
			   struct error *err)
{
	const uint64_t last = list[count - 1];
	const struct scmp_arg_cmp greater = {arg, SCMP_CMP_GT, last, 0};

	for (uint64_t value = 0; value < last; value++) {
		const struct scmp_arg_cmp equal = {arg, SCMP_CMP_EQ, value, 0};

		if (!is_listed(value, list, count) && refuse_sockets(filter, 1, &equal, err) < 0)
			return -1;
	}
	return refuse_sockets(filter, 1, &greater, err);
}

/* Refuses internet sockets whose type is neither stream nor datagram. SOCK_RAW and SOCK_PACKET
 * would need capabilities, and other types make the kernel load protocols. */
static int refuse_types(scmp_filter_ctx filter, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(internet); i++)
		for (uint64_t type = 0; type <= SOCK_TYPE; type++) {
			const struct scmp_arg_cmp has[] = {
				{0, SCMP_CMP_EQ, internet[i], 0},
				{1, SCMP_CMP_MASKED_EQ, SOCK_TYPE, type}};

			if (!is_listed(type, types, ARRAY_SIZE(types)) &&
			    refuse_sockets(filter, ARRAY_SIZE(has), has, err) < 0)
				return -1;
		}
	return 0;
}

int passt_filter_open(int *fd, struct error *err)
{
	static const int rings[] = {SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
				    SCMP_SYS(io_uring_register)};
	const struct scmp_arg_cmp other_netlink[] = {{0, SCMP_CMP_EQ, AF_NETLINK, 0},
						     {2, SCMP_CMP_NE, NETLINK_ROUTE, 0}};
	autofilter filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter)
		return error_errno(err, ENOMEM, "system call filter of " NAME);
	/* A system call with the number of another architecture, such as socketcall(), ends the
	 * process. */
	if (isolate_filter_check(
		    seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), NAME,
		    err) < 0 ||
	    refuse_unlisted(filter, 0, families, ARRAY_SIZE(families), err) < 0 ||
	    refuse_unlisted(filter, 2, protocols, ARRAY_SIZE(protocols), err) < 0 ||
	    refuse_sockets(filter, ARRAY_SIZE(other_netlink), other_netlink, err) < 0 ||
	    refuse_types(filter, err) < 0 ||
	    refuse(filter, EAFNOSUPPORT, SCMP_SYS(socketpair), 0, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(rings); i++)
		if (refuse(filter, ENOSYS, rings[i], 0, NULL, err) < 0)
			return -1;
	return isolate_filter_export(filter, NAME, fd, err);
}
