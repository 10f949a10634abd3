/* SPDX-License-Identifier: MIT */
/*
 * The vsock sockets of one run of a machine, which this code calls a room. A Unix socket has a path
 * only while it is created. A process later connects to it by the path /proc/self/fd/N, where N is
 * a file descriptor of the socket's file (O_PATH). So no file is left behind, even if the processes
 * are killed.
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
	struct room_socket clients;	      /* the socket for clients of the host */
	struct room_socket ports[ROOM_PORTS]; /* sockets of the ports to which the guest connects */
	int table_fd;
	struct host_port
		/* The table of ports, in memory that vsockd's core also reads. An unused entry has
		 * ROOM_PORT_NONE. */
		*table;
	int wake;  /* an eventfd that becomes readable when the room closes */
	int users; /* how many threads use the room, with the one that opened it */
};

/* Creates the sockets. Returns NULL with errno set on failure. */
struct vsock_room *room_open(void);
struct vsock_room *room_keep(struct vsock_room *room);
void room_drop(struct vsock_room *room);
/* Closes the room. A thread that waits in room_accept() then returns. */
void room_close(struct vsock_room *room);

bool room_set_port(struct vsock_room *room, uint32_t port);
void room_clear_port(struct vsock_room *room, uint32_t port);
/* Waits for the next connection from the guest. Returns the connection's file descriptor, and sets
 * *port to the port to which the guest has connected. Returns -1 when the room closes. */
int room_accept(struct vsock_room *room, uint32_t *port);
/* Connects to a port of the guest. Returns the file descriptor, and sets *source to the host's port
 * of the connection. Returns -1 with errno set on failure. ECONNRESET means that no program of the
 * guest listens on this port. */
int room_connect(struct vsock_room *room, uint32_t port, uint32_t *source);
/* Creates a listening Unix socket, and removes its path at once. Returns false with errno set on
 * failure. */
bool room_socket_open(struct room_socket *socket);
int room_socket_connect(const struct room_socket *socket);
void room_socket_close(struct room_socket *socket);
