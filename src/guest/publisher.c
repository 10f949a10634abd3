/* SPDX-License-Identifier: MIT */
/*
 * The process between vsock and the guest's TCP ports. It is not the agent, so that a flood of
 * connections costs the agent nothing; it reads nothing of what it moves.
 */
#include <sys/socket.h> /* first: vm_sockets.h needs it and does not say so */

#include <linux/vm_sockets.h>

#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/forward.h"
#include "base/limits.h"
#include "guest/console.h"
#include "guest/publish.h"
#include "guest/roles.h"

/* Two descriptors for each connection, and some. */
#define FILES 65536u

struct port {
	struct loop *loop;
	uint16_t number;
};

/* The loopback first; a program may also listen on one address of the network alone. */
static void list_addresses(struct addresses *list, uint16_t port)
{
	struct ifaddrs *all = NULL;

	addresses_add_text(list, "127.0.0.1", port);
	addresses_add_text(list, "::1", port);
	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next)
		if (one->ifa_addr && (one->ifa_flags & IFF_UP))
			addresses_add(list, one->ifa_addr, port);
	freeifaddrs(all);
}

static void *reach(void *data, reached_fn *done, void *done_data, struct error *err)
{
	const struct port *port = data;
	uint64_t deadline = clock_mono_ns() + limit_get(LIMIT_REACH_MS) * NS_PER_MS;
	struct addresses list = {0};

	list_addresses(&list, port->number);
	return connecting_new(port->loop, &list, deadline, done, done_data, err);
}

static void give_up(void *attempt)
{
	connecting_free(attempt);
}

/* A program in the guest that gets at the port through some loopback is no client of ours. */
static bool is_host(const struct sockaddr_storage *peer)
{
	const struct sockaddr_vm *vm = (const struct sockaddr_vm *)peer;

	return peer->ss_family == AF_VSOCK && vm->svm_cid == VMADDR_CID_HOST;
}

static int serve(struct port *port, int fd, struct error *err)
{
	const struct forward_spec spec = {
		.listen_fd = fd,
		.most = (unsigned)limit_get(LIMIT_PUBLISH_CONNECTIONS),
		.admits = is_host,
		.reach = reach,
		.give_up = give_up,
		.data = port,
	};
	struct forward *forward;

	if (fd_nonblock(fd, true, err) < 0 || fd_cloexec(fd, true, err) < 0)
		return -1;
	forward = forward_new(port->loop, &spec, err);
	return forward ? forward_open(forward, err) : -1;
}

static void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max < FILES ? files.rlim_max : FILES;
	setrlimit(RLIMIT_NOFILE, &files);
}

int role_publish(int argc, char **argv)
{
	struct port *ports = calloc((size_t)argc, sizeof(*ports));
	struct error err = {0};
	struct loop *loop = ports ? loop_new(&err) : NULL;
	int status = loop ? 0 : -1;

	prctl(PR_SET_NAME, "microagent-pub");
	raise_file_limit();
	for (int i = 1; i < argc && status == 0; i++) {
		ports[i] = (struct port){loop, (uint16_t)strtoul(argv[i], NULL, 10)};
		status = serve(&ports[i], PUBLISH_FD_FIRST + i - 1, &err);
	}
	if (status == 0)
		(void)loop_run(loop, &err); /* returns when it cannot go on */
	console_line("published ports: %s", err.msg);
	return 125;
}
