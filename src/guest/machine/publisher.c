/* SPDX-License-Identifier: MIT */
/*
 * The process between vsock and the guest's TCP ports. It is not the agent, so that a flood of
 * connections costs the agent nothing; it reads nothing of what it moves.
 */
#include <sys/socket.h> /* first: vm_sockets.h needs it and does not say so */

#include <linux/vm_sockets.h>

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/forward.h"
#include "base/limits.h"
#include "guest/console.h"
#include "guest/machine/publish.h"
#include "guest/roles.h"

/* Two descriptors for each connection, and some. */
#define FILES 65536u

struct port {
	struct loop *loop;
	uint16_t number;
};

/* On the way to a program: to the loopback, where most listen, and then to where else it may be. */
struct attempt {
	const struct port *port;
	uint64_t deadline_ns;
	struct connecting *connecting;
	reached_fn *done;
	void *data;
};

static void list_loopback(struct addresses *list, uint16_t port)
{
	addresses_add_text(list, "127.0.0.1", port);
	addresses_add_text(list, "::1", port);
}

/* A program may also listen on one address of the network alone. To ask for them takes about as
 * long as to connect. */
static void list_others(struct addresses *list, uint16_t port)
{
	struct addresses all = {0};
	struct ifaddrs *interfaces = NULL;
	size_t known;

	list_loopback(&all, port);
	known = all.count;
	if (getifaddrs(&interfaces) < 0)
		return;
	for (const struct ifaddrs *one = interfaces; one; one = one->ifa_next)
		if (one->ifa_addr && (one->ifa_flags & IFF_UP))
			addresses_add(&all, one->ifa_addr, port);
	freeifaddrs(interfaces);
	for (size_t i = known; i < all.count; i++)
		list->at[list->count++] = all.at[i];
}

static void settle_attempt(struct attempt *a, int fd, const struct error *why)
{
	reached_fn *done = a->done;
	void *data = a->data;

	free(a);
	done(data, fd, why);
}

static void on_other(void *data, int fd, const struct error *why)
{
	settle_attempt(data, fd, why);
}

static void on_loopback(void *data, int fd, const struct error *why)
{
	struct attempt *a = data;
	struct addresses list = {0};
	struct error err;

	a->connecting = NULL;
	if (fd < 0) {
		list_others(&list, a->port->number);
		a->connecting =
			connecting_new(a->port->loop, &list, a->deadline_ns, on_other, a, &err);
	}
	if (!a->connecting)
		settle_attempt(a, fd, why);
}

static void *reach(void *data, reached_fn *done, void *done_data, struct error *err)
{
	const struct port *port = data;
	uint64_t now = clock_mono_ns(), limit = limit_get(LIMIT_REACH_MS) * NS_PER_MS;
	struct attempt *a = malloc(sizeof(*a));
	struct addresses list = {0};

	if (!a) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	*a = (struct attempt){
		.port = port, .deadline_ns = now + limit, .done = done, .data = done_data};
	list_loopback(&list, port->number);
	a->connecting = connecting_new(port->loop, &list, now + limit / 2, on_loopback, a, err);
	if (a->connecting)
		return a;
	free(a);
	return NULL;
}

static void give_attempt_up(void *attempt)
{
	struct attempt *a = attempt;

	connecting_free(a->connecting);
	free(a);
}

/* A program in the guest that gets at the port through some loopback is no client of ours. */
static bool is_host(const struct sockaddr_storage *peer)
{
	const struct sockaddr_vm *vm = (const struct sockaddr_vm *)peer;

	return peer->ss_family == AF_VSOCK && vm->svm_cid == VMADDR_CID_HOST;
}

static int serve_port(struct port *port, int fd, struct error *err)
{
	const struct forward_spec spec = {
		.listen_fd = fd,
		.most = (unsigned)limit_get(LIMIT_PUBLISH_CONNECTIONS),
		.admits = is_host,
		.reach = reach,
		.give_up = give_attempt_up,
		.data = port,
	};
	struct forward *forward;

	if (fd_nonblock(fd, true, err) < 0 || fd_cloexec(fd, true, err) < 0)
		return -1;
	forward = forward_new(port->loop, &spec, err);
	return forward ? forward_open(forward, err) : -1;
}

int role_publish(int argc, char **argv)
{
	struct port *ports = calloc((size_t)argc, sizeof(*ports));
	struct error err = {0};
	struct loop *loop = ports ? loop_new(&err) : NULL;
	int status = loop ? 0 : -1;

	prctl(PR_SET_NAME, "microagent-pub");
	fd_raise_limit(FILES);
	for (int i = 1; i < argc && status == 0; i++) {
		ports[i] = (struct port){loop, (uint16_t)strtoul(argv[i], NULL, 10)};
		status = serve_port(&ports[i], PUBLISH_FD_FIRST + i - 1, &err);
	}
	if (status == 0)
		(void)loop_run(loop, &err); /* returns when it cannot go on */
	console_line("published ports: %s", err.msg);
	return 125;
}
