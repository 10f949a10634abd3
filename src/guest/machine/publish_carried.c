/* SPDX-License-Identifier: MIT */
/* Publishes ports through a mux. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/list.h"
#include "guest/agent/config.h"
#include "guest/agent/handed.h"
#include "guest/machine/publish.h"
#include "guest/machine/reach.h"

struct carried_port {
	struct mux_listener listener;
	struct reach_port target;
	unsigned count;	     /* the number of connections to the guest's program */
	struct list waiting; /* connections that wait until another connection ends */
};

/* A connection from the host to a published port, until the agent is connected to the guest's
 * program. */
struct arrival {
	struct list_link link;
	struct carried_port *port;
	struct mux_stream *stream;
};

static void serve_waiting(struct carried_port *port);

static void on_connection_over(void *data)
{
	struct carried_port *port = data;

	port->count--;
	serve_waiting(port);
}

static void turn_away(struct arrival *a)
{
	mux_carrier.close(a->stream);
	free(a);
}

static void on_program_reached(void *data, int fd, const struct error *why)
{
	struct arrival *a = data;
	struct carried_port *port = a->port;
	int on = 1;

	(void)why;
	if (fd < 0) {
		turn_away(a);
		on_connection_over(port);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	handed_join(port->target.loop, a->stream, fd, on_connection_over, port);
	free(a);
}

static void serve_waiting(struct carried_port *port)
{
	struct arrival *a;

	while (port->count < limit_get(LIMIT_PUBLISH_CONNECTIONS) &&
	       (a = list_first(&port->waiting, struct arrival, link))) {
		list_remove(&a->link);
		if (reach_port(&port->target, on_program_reached, a, NULL))
			port->count++;
		else
			turn_away(a);
	}
}

static void on_host_connects(void *data, struct mux_stream *stream)
{
	struct carried_port *port = data;
	struct arrival *a = malloc(sizeof(*a));

	if (!a) {
		mux_carrier.close(stream);
		return;
	}
	*a = (struct arrival){.port = port, .stream = stream};
	list_add(&port->waiting, &a->link);
	serve_waiting(port);
}

static int listen_on_carried(struct loop *loop, struct mux *mux, json_t *item, struct error *err)
{
	struct carried_port *port;
	uint16_t number;

	if (config_publish_decode(item, &number, err) < 0)
		return -1;
	if (number == 0)
		return error_set(
			err, ERR_UNSUPPORTED,
			"publish.guestPort 0, which means any port, needs vsock, and this machine has none: give a port from 1 to 65535");
	if (mux_listens(mux, PUBLISH_PORT_FIRST + number))
		return 0;
	port = calloc(1, sizeof(*port));
	if (!port)
		return error_errno(err, ENOMEM, "memory");
	port->target = (struct reach_port){loop, number};
	list_init(&port->waiting);
	port->listener = (struct mux_listener){
		.port = PUBLISH_PORT_FIRST + number,
		.accept = on_host_connects,
		.gone = free,
		.data = port,
	};
	mux_listen(mux, &port->listener);
	return 0;
}

int publish_carried(struct loop *loop, struct mux *mux, const json_t *publishes, struct error *err)
{
	json_t *item;
	size_t i;

	json_array_foreach(publishes, i, item)
	{
		if (listen_on_carried(loop, mux, item, err) < 0)
			return -1;
	}
	return 0;
}
