/* SPDX-License-Identifier: MIT */
#include "guest/machine/reach.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"

/* An attempt to reach a program of the guest. The loopback address is tried first, since most
 * programs accept connections there. Then the guest's other addresses are tried. */
struct attempt {
	const struct reach_port *port;
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

/* Lists the guest's addresses other than the loopback address, since a program may listen on only
 * one address of the network. Called only after the loopback address has failed, because to list
 * the addresses takes about as long as to connect. */
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

/* Frees the attempt, and gives its result to the caller of reach_port(). The connection attempt to
 * the other addresses also calls this function with its result. */
static void settle_attempt(void *data, int fd, const struct error *why)
{
	struct attempt a = *(struct attempt *)data;

	free(data);
	a.done(a.data, fd, why);
}

static void on_loopback(void *data, int fd, const struct error *why)
{
	struct attempt *a = data;
	struct addresses list = {0};
	struct error err;

	a->connecting = NULL;
	if (fd < 0) {
		list_others(&list, a->port->number);
		a->connecting = connecting_new(a->port->loop, &list, a->deadline_ns, settle_attempt,
					       a, &err);
	}
	if (!a->connecting)
		settle_attempt(a, fd, why);
}

void *reach_port(void *data, reached_fn *done, void *done_data, struct error *err)
{
	const struct reach_port *port = data;
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

void reach_give_up(void *attempt)
{
	struct attempt *a = attempt;

	connecting_free(a->connecting);
	free(a);
}
