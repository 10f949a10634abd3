/* SPDX-License-Identifier: MIT */
/*
 * The sockets of one run of a machine. They have names only while they are made. A client connects
 * to them by a descriptor of the socket's file (O_PATH) below /proc/self/fd. So nothing is left
 * behind, however the processes end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vsockd/core.h"

#define ROOM_PORTS 64
#define ROOM_PORT_NONE UINT32_MAX

struct room_socket {
	int listen;
	int path;
};

struct vsock_room {
	struct room_socket clients;	      /* CONNECT comes here */
	struct room_socket ports[ROOM_PORTS]; /* the sockets that the guest dials */
	int table_fd;
	struct host_port
		*table; /* in memory that vsockd's core reads: the number of each port, or none */
	int wake;	/* an eventfd: the room closes */
	int users;	/* threads and the owner */
};

/* Returns NULL with errno if it fails. */
struct vsock_room *room_open(void);
struct vsock_room *room_keep(struct vsock_room *room);
void room_drop(struct vsock_room *room);
/* Makes every caller that waits in room_accept() return. */
void room_close(struct vsock_room *room);

bool room_set_port(struct vsock_room *room, uint32_t port);
void room_clear_port(struct vsock_room *room, uint32_t port);
/* Returns the next connection of the guest, and its port. Returns -1 when the room closes. */
int room_accept(struct vsock_room *room, uint32_t *port);
/* Returns a connection to the guest's port, and our own port number. Returns -1 with errno:
 * ECONNRESET if nobody listens there. */
int room_connect(struct vsock_room *room, uint32_t port, uint32_t *source);
/* Makes a listening socket without a name. */
bool room_socket_open(struct room_socket *socket);
int room_socket_connect(const struct room_socket *socket);
void room_socket_close(struct room_socket *socket);
