/* SPDX-License-Identifier: MIT */
#include "hyperv/keeper/channels.h"

#include <winsock2.h>

#include <windows.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/agent_wire.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "hyperv/keeper/hvsocket.h"
#include "hyperv/keeper/keeper_impl.h"
#include "hyperv/keeper/relay.h"
#include "hyperv/keeper/thread.h"
#include "hyperv/windows/tcp.h"

#define CHANNEL_BACKLOG 64

struct channel {
	char name[64];
	struct guid vm;
	/* The vsock port. If there is a target, it is a port of the host, otherwise a port of the
	 * guest. */
	uint32_t port;
	/* The address to which connections of the guest are joined. NULL: connections of the host
	 * are joined to the guest. */
	const char *target;
	SOCKET listener;    /* INVALID_SOCKET: not open */
	HANDLE places;	    /* a semaphore that counts how many more connections are allowed */
	volatile LONG shut; /* true: no more connections are accepted */
	/* true: the last attempt to connect to the target or to the guest has failed, and this was
	 * logged */
	volatile LONG failed;
};

struct channels {
	struct channel *list;
	size_t count;
	uint32_t *host_ports, *guest_ports;
	size_t host_port_count, guest_port_count;
};

/* An accepted connection, passed to the thread that serves it. */
struct taken {
	struct channel *channel;
	SOCKET near_side;
};

/* --- a connection ------------------------------------------------------------------------------
 */

static SOCKET reach(const struct channel *channel, struct error *err)
{
	uint64_t ms = limit_get(LIMIT_REACH_MS);

	return channel->target ? tcp_connect(channel->target, clock_mono_ns() + ms * NS_PER_MS, err)
			       : hvsocket_connect(&channel->vm, channel->port, (ULONG)ms, err);
}

/* Logs that the target or the guest cannot be reached, and the first success after failures. A
 * guest may try without end, so only the first of several failures is logged. */
static void tell_reached(struct channel *channel, const struct error *failure)
{
	LONG before = InterlockedExchange(&channel->failed, failure != NULL);

	if (failure && !before)
		keeper_log("%s: %s", channel->name, failure->msg);
	else if (!failure && before)
		keeper_log("%s: it is reached again", channel->name);
}

static void give_place(struct channel *channel)
{
	ReleaseSemaphore(channel->places, 1, NULL);
}

static DWORD WINAPI serve_taken(void *context)
{
	struct taken taken = *(struct taken *)context;
	struct error err = {0};
	SOCKET far_side;

	free(context);
	far_side = reach(taken.channel, &err);
	tell_reached(taken.channel, far_side == INVALID_SOCKET ? &err : NULL);
	if (far_side == INVALID_SOCKET)
		closesocket(taken.near_side);
	else
		relay_join(taken.near_side, far_side);
	give_place(taken.channel);
	return 0;
}

/* Starts a thread that serves a connection. If the thread cannot be started, closes the connection
 * and no longer counts it. */
static void begin_serving(struct channel *channel, SOCKET near_side)
{
	struct taken *taken = malloc(sizeof(*taken));
	HANDLE thread = NULL;

	if (taken) {
		*taken = (struct taken){channel, near_side};
		thread = keeper_thread(serve_taken, taken);
	}
	if (thread) {
		CloseHandle(thread);
		return;
	}
	free(taken);
	closesocket(near_side);
	give_place(channel);
}

/* --- a listener --------------------------------------------------------------------------------
 */

static bool take_place(struct channel *channel, DWORD patience)
{
	return WaitForSingleObject(channel->places, patience) == WAIT_OBJECT_0;
}

/* Accepts connections. If the largest number of connections is reached, a client of a published
 * port waits, and a connection from the guest is closed. */
static DWORD WINAPI take_connections(void *context)
{
	struct channel *channel = context;

	while (!channel->shut) {
		bool placed = !channel->target && take_place(channel, INFINITE);
		SOCKET near_side = accept(channel->listener, NULL, NULL);

		if (near_side != INVALID_SOCKET && channel->target)
			placed = take_place(channel, 0);
		if (near_side != INVALID_SOCKET && placed && !channel->shut) {
			begin_serving(channel, near_side);
			continue;
		}
		if (placed)
			give_place(channel);
		if (near_side != INVALID_SOCKET)
			closesocket(near_side);
		else if (!channel->shut)
			Sleep((DWORD)limit_get(LIMIT_ACCEPT_AGAIN_MS));
	}
	return 0;
}

static int begin_taking(struct channel *channel, struct error *err)
{
	HANDLE thread = keeper_thread(take_connections, channel);

	if (!thread)
		return windows_error(err, GetLastError(), "%s: thread", channel->name);
	CloseHandle(thread);
	return 0;
}

/* --- all of them -------------------------------------------------------------------------------
 */

static int add_channel(struct channels *all, const char *target, uint32_t port, struct error *err)
{
	LONG most =
		(LONG)limit_get(target ? LIMIT_LISTENER_CONNECTIONS : LIMIT_PUBLISH_CONNECTIONS);
	struct channel *channel = &all->list[all->count];

	*channel = (struct channel){.listener = INVALID_SOCKET, .target = target, .port = port};
	channel->places = CreateSemaphoreW(NULL, most, most, NULL);
	if (!channel->places)
		return windows_error(err, GetLastError(), "semaphore");
	all->count++;
	if (target)
		all->host_ports[all->host_port_count++] = port;
	else
		all->guest_ports[all->guest_port_count++] = port;
	return 0;
}

static int add_listener(struct channels *all, const char *kind, const json_t *declared,
			struct error *err)
{
	uint32_t port = (uint32_t)json_integer_value(json_object_get(declared, "port"));

	if (add_channel(all, json_text(declared, "target", ""), port, err) < 0)
		return -1;
	snprintf(all->list[all->count - 1].name, sizeof(all->list->name), "%s on port %u", kind,
		 port);
	return 0;
}

static int add_published(struct channels *all, const json_t *forward, struct error *err)
{
	const char *host = json_text(forward, "host", "");
	uint16_t host_port = (uint16_t)json_integer_value(json_object_get(forward, "hostPort"));
	uint16_t port = (uint16_t)json_integer_value(json_object_get(forward, "guestPort"));
	struct channel *channel;

	if (add_channel(all, NULL, PUBLISH_PORT_FIRST + port, err) < 0)
		return -1;
	channel = &all->list[all->count - 1];
	snprintf(channel->name, sizeof(channel->name), "publish %.46s port %u", host, host_port);
	channel->listener = tcp_take_port(host, host_port, err);
	return channel->listener == INVALID_SOCKET ? -1 : 0;
}

static int add_all(struct channels *all, const struct config *config, struct error *err)
{
	const json_t *item;
	size_t i;

	if (config->mediation && add_listener(all, "mediation", config->mediation, err) < 0)
		return -1;
	json_array_foreach(config->vsock_listeners, i, item)
	{
		if (add_listener(all, "listener", item, err) < 0)
			return -1;
	}
	json_array_foreach(config->port_forwards, i, item)
	{
		if (add_published(all, item, err) < 0)
			return -1;
	}
	return 0;
}

struct channels *channels_new(const struct config *config, struct error *err)
{
	size_t most = 1 + json_array_size(config->vsock_listeners) +
		      json_array_size(config->port_forwards);
	struct channels *all = calloc(1, sizeof(*all));

	if (all) {
		all->list = calloc(most, sizeof(*all->list));
		all->host_ports = calloc(most, sizeof(*all->host_ports));
		all->guest_ports = calloc(most, sizeof(*all->guest_ports));
	}
	if (!all || !all->list || !all->host_ports || !all->guest_ports) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	/* After a failure, does not close the bound ports. The process exits soon after a failure,
	 * and Windows then closes them. */
	return add_all(all, config, err) < 0 ? NULL : all;
}

const uint32_t *channels_host_ports(const struct channels *channels, size_t *count)
{
	*count = channels->host_port_count;
	return channels->host_ports;
}

const uint32_t *channels_guest_ports(const struct channels *channels, size_t *count)
{
	*count = channels->guest_port_count;
	return channels->guest_ports;
}

int channels_listen(struct channels *channels, const struct guid *vm, struct error *err)
{
	for (size_t i = 0; i < channels->count; i++) {
		struct channel *channel = &channels->list[i];

		channel->vm = *vm;
		if (!channel->target)
			continue;
		channel->listener = hvsocket_listen(vm, channel->port, CHANNEL_BACKLOG, err);
		if (channel->listener == INVALID_SOCKET || begin_taking(channel, err) < 0)
			return error_prefix(err, "%s", channel->name);
	}
	return 0;
}

int channels_publish(struct channels *channels, struct error *err)
{
	for (size_t i = 0; i < channels->count; i++) {
		struct channel *channel = &channels->list[i];

		if (channel->target)
			continue;
		if (listen(channel->listener, CHANNEL_BACKLOG) != 0)
			return windows_error(err, (DWORD)WSAGetLastError(), "%s", channel->name);
		if (begin_taking(channel, err) < 0)
			return -1;
	}
	return 0;
}

/* Closes the listeners, so that accept() returns in their threads. */
void channels_shut(struct channels *channels)
{
	for (size_t i = 0; i < channels->count; i++) {
		struct channel *channel = &channels->list[i];

		InterlockedExchange(&channel->shut, 1);
		if (channel->listener != INVALID_SOCKET)
			closesocket(channel->listener);
		channel->listener = INVALID_SOCKET;
	}
}
