/* SPDX-License-Identifier: MIT */
/*
 * The sockets of one run of a machine. They have names only while they are made. A process connects
 * to a socket through a descriptor of the socket's file (O_PATH), by its name below /proc/self/fd.
 * So no file is left, in whatever way the processes end.
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
	struct room_socket clients;	      /* the socket for host clients with a CONNECT line */
	struct room_socket ports[ROOM_PORTS]; /* the sockets of the ports that the guest dials */
	int table_fd;
	struct host_port
		/* The table of ports, in memory that vsockd's core reads; ROOM_PORT_NONE: an unused
		 * entry. */
		*table;
	int wake;  /* an eventfd, which becomes readable when the room closes */
	int users; /* the number of threads that use the room, counting its owner */
};

/* Makes the sockets. Returns NULL with errno if this fails. */
struct vsock_room *room_open(void);
struct vsock_room *room_keep(struct vsock_room *room);
void room_drop(struct vsock_room *room);
/* Closes the room: a thread that waits in room_accept() returns. */
void room_close(struct vsock_room *room);

bool room_set_port(struct vsock_room *room, uint32_t port);
void room_clear_port(struct vsock_room *room, uint32_t port);
/* Waits for the next connection of the guest. Returns its descriptor and sets *port to the port
 * that the guest has dialled; returns -1 when the room closes. */
int room_accept(struct vsock_room *room, uint32_t *port);
/* Connects to a port of the guest. Returns the descriptor and sets *source to the host's port of
 * the connection; returns -1 with errno. ECONNRESET: no program of the guest listens at this
 * port. */
int room_connect(struct vsock_room *room, uint32_t port, uint32_t *source);
/* Makes a listening socket whose name is removed at once. Returns false with errno if this
 * fails. */
bool room_socket_open(struct room_socket *socket);
int room_socket_connect(const struct room_socket *socket);
void room_socket_close(struct room_socket *socket);
