/* SPDX-License-Identifier: MIT */
/* Two network namespaces and a line between them: eth0 in `near`, as a container has it, and `far`
 * at the other end. Each test is a child process, with which both vanish. */
#ifndef TEST_OCI_NET_H
#define TEST_OCI_NET_H

#include "test_base.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define NEAR_MAC "0a:58:0a:01:00:02"
#define FAR_MAC "0a:58:0a:01:00:01"

enum { SKIPPED = 77, WRONG = 1 };

struct line {
	int near, far; /* the namespaces */
};

/* Runs in children, where cmocka's own assertions cannot be used. */
#define REQUIRE(condition)                                                                 \
	do {                                                                               \
		if (!(condition)) {                                                        \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, \
				strerror(errno));                                          \
			_exit(WRONG);                                                      \
		}                                                                          \
	} while (0)
#define REQUIRE_OK(call)                                                                        \
	do {                                                                                    \
		if ((call) < 0) {                                                               \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, err.msg); \
			_exit(WRONG);                                                           \
		}                                                                               \
	} while (0)

static inline void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void run(const char *fmt, ...)
{
	char command[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	if (system(command) != 0) {
		fprintf(stderr, "failed: %s\n", command);
		_exit(WRONG);
	}
}

static inline void skip_child(const char *why)
{
	fprintf(stderr, "skipped: %s: %s\n", why, strerror(errno));
	_exit(SKIPPED);
}

static inline void enter(int namespace)
{
	REQUIRE(setns(namespace, CLONE_NEWNET) == 0);
}

static inline int new_namespace(void)
{
	if (unshare(CLONE_NEWNET) < 0)
		skip_child("a network namespace");
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	return fd;
}

/* Returns what the kernel reports in this namespace from now on. */
static inline int hear_kernel(unsigned groups)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	REQUIRE(fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
	return fd;
}

static inline bool is_running(const struct nlmsghdr *told, unsigned index)
{
	const struct ifinfomsg *link = NLMSG_DATA(told);

	return told->nlmsg_type == RTM_NEWLINK && link->ifi_index == (int)index &&
	       (link->ifi_flags & IFF_RUNNING);
}

static inline bool has_address(const struct nlmsghdr *told, unsigned index)
{
	const struct ifaddrmsg *address = NLMSG_DATA(told);

	return told->nlmsg_type == RTM_NEWADDR && address->ifa_index == index;
}

static inline void await_told(int heard, bool (*is_it)(const struct nlmsghdr *, unsigned),
			      unsigned index)
{
	bool found = false;

	while (!found) {
		char told[8192] __attribute__((aligned(NLMSG_ALIGNTO)));
		ssize_t n = recv(heard, told, sizeof(told), 0);
		struct nlmsghdr *each = (struct nlmsghdr *)told;

		REQUIRE(n > 0);
		for (; NLMSG_OK(each, (size_t)n); each = NLMSG_NEXT(each, n))
			found |= is_it(each, index);
	}
	close(heard);
}

/* Sets up both ends without link-local addresses, so that neither sends by itself. Leaves the
 * caller in near, where the link is up. A link that was just set up loses frames until the kernel's
 * link watch has run (linkwatch_do_dev()), which this function waits for. */
static inline struct line draw_line(void)
{
	struct line line;

	line.near = new_namespace();
	int near_links = hear_kernel(RTMGRP_LINK);
	line.far = new_namespace();
	int far_links = hear_kernel(RTMGRP_LINK);
	run("ip link add far address " FAR_MAC " type veth peer name eth0 address " NEAR_MAC
	    " netns /proc/%d/fd/%d",
	    (int)getpid(), line.near);
	run("ip link set far addrgenmode none up && ip link set lo up");
	run("ip address add 10.1.0.1/24 dev far");
	unsigned far = if_nametoindex("far");
	enter(line.near);
	run("ip link set eth0 addrgenmode none mtu 1400 up && ip link set lo up");
	await_told(near_links, is_running, if_nametoindex("eth0"));
	await_told(far_links, is_running, far);
	return line;
}

static inline void in_namespaces(void (*test)(struct line line))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		test(draw_line());
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip(); /* the child has said why */
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A test of cmocka, name_test, for a function that runs there. */
#define IN_NAMESPACES(name)                   \
	static void name##_test(void **state) \
	{                                     \
		(void)state;                  \
		in_namespaces(name);          \
	}

#endif
